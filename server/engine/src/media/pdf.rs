//! PDF as far as whoever sends one has to know it: whether it is whole, whether it is locked, and its pages where they are cheap to count. Reads no page.
//!
//! The format is ISO 32000-1: a file begins with `%PDF-`, and ends with the offset of its cross-reference table (`startxref`) and `%%EOF`.

use std::sync::Arc;

use copydesk_workspace::hash::ContentHash;
use memchr::memmem;

/// Of the file. Anthropic takes requests of 32 MB, and each further request of the session carries it again.
pub const MAX_PDF_BYTES: u64 = 10 << 20;

/// Anthropic's limit for models with a context of 200,000 tokens.
pub const MAX_PAGES: usize = 100;

/// Bytes at the end that hold `startxref` and `%%EOF`; readers take what others wrote behind them.
const TAIL: usize = 2048;

/// Bytes of the dictionary that a linearised file begins with.
const FIRST_OBJECT: usize = 1024;

/// One that a provider can open, as far as is known. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Pdf {
    bytes: Arc<[u8]>,
    hash: ContentHash,
    pages: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PdfError {
    #[error("it is damaged or cut off: its end is missing")]
    CutOff,
    #[error("it is protected by a password or encrypted, and models cannot open it")]
    Locked,
    #[error("it has {pages} pages, and models take {MAX_PAGES} at most")]
    TooManyPages { pages: usize },
    #[error("it has {bytes} bytes, and at most {MAX_PDF_BYTES} are sent")]
    TooLarge { bytes: u64 },
}

impl Pdf {
    /// By the first bytes of a file.
    pub fn is_one(head: &[u8]) -> bool {
        head.starts_with(b"%PDF-")
    }

    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Result<Self, PdfError> {
        let bytes = bytes.into();
        let len = bytes.len() as u64;
        if len > MAX_PDF_BYTES {
            return Err(PdfError::TooLarge { bytes: len });
        }
        if !(Self::is_one(&bytes) && is_whole(&bytes)) {
            return Err(PdfError::CutOff);
        }
        if is_locked(&bytes) {
            return Err(PdfError::Locked);
        }
        let pages = count_pages(&bytes);
        if let Some(pages) = pages.filter(|pages| *pages > MAX_PAGES) {
            return Err(PdfError::TooManyPages { pages });
        }
        let hash = ContentHash::of(&bytes);
        Ok(Self { bytes, hash, pages })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// Where the file says it outside of its compressed parts.
    pub fn pages(&self) -> Option<usize> {
        self.pages
    }
}

/// Without the bytes: requests are logged.
impl std::fmt::Debug for Pdf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pdf({} bytes, {:?})", self.bytes.len(), self.hash)
    }
}

/// Whether the end names a place where a cross-reference table, or an object that is one, begins.
fn is_whole(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
    let Some(end) = memmem::rfind(tail, b"%%EOF") else { return false };
    let Some(start) = memmem::rfind(&tail[..end], b"startxref") else { return false };
    let offset = number(&tail[start + b"startxref".len()..end]);
    let Some(table) = offset.and_then(|offset| bytes.get(offset..)).map(<[u8]>::trim_ascii_start) else { return false };
    table.starts_with(b"xref") || table.first().is_some_and(u8::is_ascii_digit)
}

/// A trailer or a cross-reference stream names its encryption by reference or as a dictionary.
fn is_locked(bytes: &[u8]) -> bool {
    const KEY: &[u8] = b"/Encrypt";
    memmem::find_iter(bytes, KEY).any(|at| {
        let value = &bytes[at + KEY.len()..];
        let plain = value.trim_ascii_start();
        plain.starts_with(b"<<") || plain.len() < value.len() && number(plain).is_some()
    })
}

fn count_pages(bytes: &[u8]) -> Option<usize> {
    let first = &bytes[..bytes.len().min(FIRST_OBJECT)];
    if memmem::find(first, b"/Linearized").is_some()
        && let Some(pages) = value_of(first, b"/N").and_then(number)
    {
        return Some(pages);
    }
    // The root of the page tree counts them all. Object by object, so that each byte is looked at a few times, whatever is in the file.
    let mut begin = 0;
    let objects = memmem::find_iter(bytes, b"endobj").map(|end| {
        let piece = &bytes[begin..end];
        begin = end;
        &piece[memmem::rfind(piece, b" obj").unwrap_or(piece.len())..]
    });
    objects.filter(|object| is_page_tree(object)).filter_map(|object| number(value_of(object, b"/Count")?)).max()
}

fn is_page_tree(object: &[u8]) -> bool {
    memmem::find_iter(object, b"/Type")
        .any(|at| object[at + b"/Type".len()..].trim_ascii_start().starts_with(b"/Pages"))
}

/// What stands behind a key of a dictionary; a longer key is another one.
fn value_of<'a>(dictionary: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    memmem::find_iter(dictionary, key)
        .map(|at| &dictionary[at + key.len()..])
        .find(|rest| rest.first().is_some_and(|next| next.is_ascii_whitespace() || b"<[(/".contains(next)))
}

fn number(text: &[u8]) -> Option<usize> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}

#[cfg(test)]
#[path = "pdf_tests.rs"]
mod tests;
