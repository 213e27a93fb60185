//! What `read` makes of files that are no text: images and documents are shown, the rest is described. Nothing is loaded whole that cannot be shown.

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;
use serde_json::json;

use crate::media::{MAX_PDF_BYTES, Media, MediaType, Pdf};
use crate::tool::{ToolContext, ToolError, ToolOutput};
use crate::view::ViewError;

/// What is looked at to tell kinds of files apart, bytes.
const HEAD: usize = 512;

/// Images that are refused are told by their limit; above this they are not even loaded, bytes.
const LARGEST_LOADED: u64 = 64 << 20;

/// Shows the file, or says what it is and why it is not shown. `error` is why it is no text.
pub(super) async fn shown(path: &AbsPath, error: ViewError, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let len = match ctx.view.stat(path).await {
        Ok(stat) if stat.kind == FileKind::File => stat.len,
        Ok(_) | Err(_) => return Err(error.into()),
    };
    let head = ctx.view.head(path, HEAD).await?;
    let Some(kind) = MediaType::of(&head) else { return Err(ToolError::Tell(described(&error, &head, len))) };
    let too_large = |limit: u64| {
        ToolError::Tell(format!(
            "{path} ({}) is not shown: it has {len} bytes, and at most {limit} are loaded. {}",
            name(kind),
            advice(kind)
        ))
    };
    match kind {
        MediaType::Pdf if len > MAX_PDF_BYTES => return Err(too_large(MAX_PDF_BYTES)),
        MediaType::Image(_) if len > LARGEST_LOADED => return Err(too_large(LARGEST_LOADED)),
        MediaType::Pdf | MediaType::Image(_) => {}
    }
    let media = Media::new(ctx.view.bytes(path).await?).map_err(|error| refused(path, kind, &error))?;
    if let Media::Image(image) = &media {
        image.check_size(ctx.largest_image).map_err(|error| refused(path, kind, &error))?;
    }
    Ok(output(path, media))
}

/// A PDF file may be plain text to its last byte.
pub(super) fn is_shown(text: &ropey::Rope) -> bool {
    text.get_byte_slice(..text.len_bytes().min(5)).is_some_and(|head| Pdf::is_one(head.to_string().as_bytes()))
}

fn output(path: &AbsPath, media: Media) -> ToolOutput {
    let (kind, what) = (media.kind(), described_media(&media));
    let tag = match kind {
        MediaType::Image(_) => "image",
        MediaType::Pdf => "pdf",
    };
    ToolOutput {
        text: format!("<path>{path}</path>\n<type>{tag}</type>\n{what}"),
        capped: true,
        locations: vec![(path.clone(), None)],
        metadata: json!({"mime": kind.mime(), "size": media.bytes().len()}),
        media: vec![media],
        ..ToolOutput::default()
    }
}

fn described_media(media: &Media) -> String {
    let bytes = media.bytes().len();
    match media {
        Media::Image(image) => match imagesize::blob_size(image.bytes()) {
            Ok(size) => format!("{}, {} × {} pixels, {bytes} bytes.", name(media.kind()), size.width, size.height),
            Err(_) => format!("{}, {bytes} bytes.", name(media.kind())),
        },
        Media::Pdf(pdf) => match pdf.pages() {
            Some(1) => format!("PDF, 1 page, {bytes} bytes."),
            Some(pages) => format!("PDF, {pages} pages, {bytes} bytes."),
            None => format!("PDF, {bytes} bytes."),
        },
    }
}

fn refused(path: &AbsPath, kind: MediaType, error: &dyn std::error::Error) -> ToolError {
    ToolError::Tell(format!("{path} ({}) is not shown: {error}. {}", name(kind), advice(kind)))
}

fn advice(kind: MediaType) -> &'static str {
    match kind {
        MediaType::Image(_) => "A command can convert or shrink a copy of it, where one is installed.",
        MediaType::Pdf => "A command such as `pdftotext` can give its text, where it is installed.",
    }
}

fn name(kind: MediaType) -> &'static str {
    match kind.mime() {
        "image/png" => "PNG image",
        "image/jpeg" => "JPEG image",
        "image/gif" => "GIF image",
        "image/webp" => "WebP image",
        _ => "PDF",
    }
}

/// The kind and the size, so that nobody has to look at the bytes.
fn described(error: &ViewError, head: &[u8], len: u64) -> String {
    let kind = KINDS.iter().find(|(offset, magic, _)| head.get(*offset..).is_some_and(|rest| rest.starts_with(magic)));
    let what = kind.map(|(_, _, name)| format!("{name}, ")).unwrap_or_default();
    match error {
        ViewError::Text { .. } => format!(
            "{error} ({what}{len} bytes). It is not shown; a command such as `file`, `strings`, `xxd` or a program of its own kind tells more."
        ),
        _ => error.to_string(),
    }
}

/// Offset, first bytes there, name: from the documentation of the formats.
const KINDS: [(usize, &[u8], &str); 20] = [
    (0, b"PK\x03\x04", "a ZIP archive or a format made of one"),
    (0, b"\x1f\x8b", "gzip"),
    (0, b"BZh", "bzip2"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x7fELF", "an ELF program or library"),
    (0, b"MZ", "a Windows program or library"),
    (0, b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (0, b"\xca\xfe\xba\xbe", "Java bytecode or a Mach-O program"),
    (0, b"\0asm", "WebAssembly"),
    (0, b"!<arch>\n", "a static library"),
    (0, b"SQLite format 3\0", "a SQLite database"),
    (0, b"BM", "a BMP image"),
    (0, b"\0\0\x01\0", "an icon"),
    (0, b"II*\0", "a TIFF image"),
    (0, b"OggS", "Ogg sound or video"),
    (0, b"ID3", "MP3 sound"),
    (4, b"ftyp", "MP4 video or sound, or a HEIF image"),
];

#[cfg(test)]
#[path = "shown_tests.rs"]
mod tests;
