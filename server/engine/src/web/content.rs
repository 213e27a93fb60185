//! What the bytes of an answer are: text in whatever encoding, a page, an image, or nothing that a model could read. Judged by the declared type and by the
//! bytes, neither of which is believed alone.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

use crate::image::ImageType;

/// Where pages name their encoding (HTML standard, 13.2.3.2).
const PRESCAN: usize = 1024;
/// Bytes that are looked at for signs of a binary.
const SNIFFED: usize = 8192;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Page(String),
    Text(String),
    Image {
        mime: String,
        /// In pixels, where the head can be read.
        size: Option<(usize, usize)>,
    },
    /// Not for a model: it is described, not shown.
    Binary {
        mime: String,
    },
}

/// `declared` is the `Content-Type`, parameters included.
pub fn content(declared: Option<&str>, bytes: &[u8]) -> Content {
    let (mime, charset) = parts(declared.unwrap_or_default());
    if let Some(kind) = ImageType::of(bytes) {
        return image(kind.mime().to_owned(), bytes);
    }
    if mime.starts_with("image/") && mime != "image/svg+xml" {
        return image(mime, bytes);
    }
    let known_by = charset.as_deref().and_then(|label| Encoding::for_label(label.as_bytes()));
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let may_hold_nul = marked.or(known_by).is_some_and(|encoding| !encoding.is_ascii_compatible());
    let head = &bytes[..bytes.len().min(SNIFFED)];
    if !is_textual(&mime) || !may_hold_nul && is_binary(head) {
        let mime = if mime.is_empty() { "application/octet-stream".to_owned() } else { mime };
        return Content::Binary { mime };
    }
    let is_page =
        matches!(mime.as_str(), "text/html" | "application/xhtml+xml") || mime.is_empty() && looks_like_page(head);
    let named = || if is_page { named_in_page(head) } else { None };
    let encoding = marked.or(known_by).or_else(named).unwrap_or_else(|| guessed(bytes));
    let (text, _, _) = encoding.decode(bytes);
    if is_page { Content::Page(text.into_owned()) } else { Content::Text(text.into_owned()) }
}

fn image(mime: String, bytes: &[u8]) -> Content {
    let size = imagesize::blob_size(bytes).ok().map(|size| (size.width, size.height));
    Content::Image { mime, size }
}

/// Type in lower case, and the charset where one is named.
fn parts(declared: &str) -> (String, Option<String>) {
    let mut parts = declared.split(';');
    let mime = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    });
    (mime, charset)
}

/// What servers call what they do not know counts as unknown: the bytes decide.
fn is_textual(mime: &str) -> bool {
    const TEXTS: [&str; 18] = [
        "",
        "application/octet-stream",
        "binary/octet-stream",
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/json",
        "application/sql",
        "application/toml",
        "application/typescript",
        "application/x-httpd-php",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
        "image/svg+xml",
    ];
    let is_kind = mime.ends_with("+json") || mime.ends_with("+xml") || mime.ends_with("+yaml");
    mime.starts_with("text/") || mime.starts_with("message/") || is_kind || TEXTS.contains(&mime)
}

/// A NUL, or one control character among ten.
fn is_binary(head: &[u8]) -> bool {
    let is_control = |byte: &&u8| **byte < 32 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    head.contains(&0) || head.iter().filter(is_control).count() * 10 > head.len()
}

fn looks_like_page(head: &[u8]) -> bool {
    let start = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| start.starts_with(tag))
}

/// `<meta charset="…">` and its older form. One that names UTF-16 means UTF-8, since it could be read.
fn named_in_page(head: &[u8]) -> Option<&'static Encoding> {
    let text = String::from_utf8_lossy(&head[..head.len().min(PRESCAN)]).to_ascii_lowercase();
    let meta = text.match_indices("<meta").find_map(|(start, _)| {
        let tag = text[start..].split('>').next()?;
        let (_, value) = tag.split_once("charset")?;
        let value = value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let label: String = value.chars().take_while(|c| !c.is_whitespace() && !"\"';/".contains(*c)).collect();
        Encoding::for_label(label.as_bytes())
    })?;
    Some(if meta.is_ascii_compatible() { meta } else { UTF_8 })
}

fn guessed(bytes: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(bytes).is_ok() || std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
    {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(declared: &str, bytes: &[u8], expected: &Content) {
        assert_eq!(&content(Some(declared).filter(|text| !text.is_empty()), bytes), expected, "{declared}");
    }

    fn text(text: &str) -> Content {
        Content::Text(text.to_owned())
    }

    fn page(text: &str) -> Content {
        Content::Page(text.to_owned())
    }

    fn binary(mime: &str) -> Content {
        Content::Binary { mime: mime.to_owned() }
    }

    #[test]
    fn encodings_by_mark_by_header_by_the_page_and_by_guess() {
        check("text/plain; charset=ISO-8859-1", b"caf\xe9", &text("caf\u{e9}"));
        check(
            "text/plain; Charset=\"windows-1251\"",
            b"\xcf\xf0\xe8\xe2\xe5\xf2",
            &text("\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}"),
        );
        check("text/plain", "na\u{ef}ve".as_bytes(), &text("na\u{ef}ve"));
        // The mark wins over the header.
        check("text/plain; charset=latin1", b"\xef\xbb\xbfx\xc3\xa9", &text("x\u{e9}"));
        check("text/plain", b"\xff\xfeh\0i\0", &text("hi"));
        check("text/plain; charset=utf-16be", b"\0h\0i", &text("hi"));
        check("text/html", b"<meta charset=\"euc-jp\">\xa4\xa2", &page("<meta charset=\"euc-jp\">\u{3042}"));
        let old = b"<META http-equiv=Content-Type content='text/html; charset=koi8-r'>\xc1";
        let expected = "<META http-equiv=Content-Type content='text/html; charset=koi8-r'>\u{430}";
        check("text/html", old, &page(expected));
        // A page that can be read so far is not UTF-16, whatever it says.
        check("text/html", b"<meta charset=utf-16>\xc3\xa9", &page("<meta charset=utf-16>\u{e9}"));
        check("text/plain; charset=nonsense", b"x", &text("x"));
        // Cut in the middle of a character by the cap.
        check("text/plain", b"x\xc3", &text("x\u{fffd}"));
    }

    #[test]
    fn c66_binaries_are_known_by_type_and_by_bytes() {
        check("application/pdf", b"%PDF-1.7", &binary("application/pdf"));
        check("text/html", b"\0\0\x01\x02", &binary("text/html"));
        check("", b"\x7fELF\0\0", &binary("application/octet-stream"));
        check("application/octet-stream", b"plain words", &text("plain words"));
        check("application/ld+json", b"{}", &text("{}"));
        check("image/svg+xml", b"<svg/>", &text("<svg/>"));
        check("", b"  <!DOCTYPE html><p>x", &page("  <!DOCTYPE html><p>x"));
        check("application/zip", b"PK", &binary("application/zip"));
    }

    #[test]
    fn images_are_known_by_their_bytes() {
        let png = crate::testing::png_bytes(3, 2);
        let expected = Content::Image { mime: "image/png".to_owned(), size: Some((3, 2)) };
        check("image/png", &png, &expected);
        check("text/html", &png, &expected);
        check("image/x-odd", b"??", &Content::Image { mime: "image/x-odd".to_owned(), size: None });
    }
}
