//! Bytes of files to text and back (R1.2, R18.1): what cannot be written back as it was read is refused, never damaged.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use ropey::Rope;
use serde::{Deserialize, Serialize};

/// How a text file stores its characters; kept when it is written again. UTF-16 always has a byte order mark: without one it counts as binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextEncoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    Lf,
    CrLf,
    Cr,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// NUL bytes or many control characters.
    #[error("the file is binary")]
    Binary,
    /// `guess` names the most likely encoding, for the error's text only.
    #[error("the file is not UTF-8 or UTF-16{}", guess.map(|guess| format!(" (it may be {guess})")).unwrap_or_default())]
    Unsupported { guess: Option<&'static str> },
}

/// The text of a whole file without its byte order mark, line endings as they are. `encode` of the result gives the same bytes.
pub fn decode(bytes: &[u8]) -> Result<(Cow<'_, str>, TextEncoding), DecodeError> {
    let (encoding, body) = by_mark(bytes)?;
    let text = match utf_16(encoding) {
        Some(utf_16) => utf_16
            .decode_without_bom_handling_and_without_replacement(body)
            .ok_or(DecodeError::Unsupported { guess: None })?,
        None => std::str::from_utf8(body).map_err(|_| foreign(body))?.into(),
    };
    if is_binary(&text) { Err(DecodeError::Binary) } else { Ok((text, encoding)) }
}

pub fn encode(text: &str, encoding: TextEncoding) -> Vec<u8> {
    encode_chunks(std::iter::once(text), text.len(), encoding)
}

/// As `encode`, without joining the text's chunks.
pub fn encode_rope(text: &Rope, encoding: TextEncoding) -> Vec<u8> {
    encode_chunks(text.chunks(), text.len_bytes(), encoding)
}

fn encode_chunks<'a>(chunks: impl Iterator<Item = &'a str>, len: usize, encoding: TextEncoding) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + UTF_8_MARK.len());
    bytes.extend_from_slice(match encoding {
        TextEncoding::Utf8 => &[],
        TextEncoding::Utf8Bom => UTF_8_MARK,
        TextEncoding::Utf16Le => UTF_16LE_MARK,
        TextEncoding::Utf16Be => UTF_16BE_MARK,
    });
    for chunk in chunks {
        match encoding {
            TextEncoding::Utf8 | TextEncoding::Utf8Bom => bytes.extend_from_slice(chunk.as_bytes()),
            TextEncoding::Utf16Le => bytes.extend(chunk.encode_utf16().flat_map(u16::to_le_bytes)),
            TextEncoding::Utf16Be => bytes.extend(chunk.encode_utf16().flat_map(u16::to_be_bytes)),
        }
    }
    bytes
}

/// Judges the first bytes of a file (8 KiB or all of it), so that a large binary is never loaded whole. A character cut at the end is no fault.
pub fn sniff(head: &[u8]) -> Result<TextEncoding, DecodeError> {
    let (encoding, body) = by_mark(head)?;
    let text = match utf_16(encoding) {
        Some(utf_16) => utf_16
            .decode_without_bom_handling_and_without_replacement(without_cut_utf_16(body, encoding))
            .ok_or(DecodeError::Unsupported { guess: None })?,
        None => match std::str::from_utf8(body) {
            Ok(text) => text.into(),
            Err(error) if error.error_len().is_none() => String::from_utf8_lossy(&body[..error.valid_up_to()]),
            Err(_) => return Err(foreign(body)),
        },
    };
    if is_binary(&text) { Err(DecodeError::Binary) } else { Ok(encoding) }
}

/// The text of a new file and how it is stored: a byte order mark at its start is no part of the text.
pub fn of_new_file(text: &str) -> (&str, TextEncoding) {
    match text.strip_prefix(MARK) {
        Some(text) => (text, TextEncoding::Utf8Bom),
        None => (text, TextEncoding::Utf8),
    }
}

/// Whether `decode` would give `text` back once it is written: it refuses binary files, and takes a mark at the start for none of the text.
pub fn stays_text(text: &str) -> bool {
    !text.starts_with(MARK) && !is_binary(text)
}

/// The style that new lines get: the one that most of the text's lines have, `\n` where there are none.
pub fn dominant_line_ending(text: &str) -> LineEnding {
    let (mut lf, mut crlf, mut cr) = (0_usize, 0_usize, 0_usize);
    let bytes = text.as_bytes();
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        match (bytes[at], bytes.get(at + 1)) {
            (b'\r', Some(b'\n')) => crlf += 1,
            (b'\r', _) => cr += 1,
            _ if at > 0 && bytes[at - 1] == b'\r' => {}
            _ => lf += 1,
        }
    }
    if crlf > lf && crlf >= cr {
        LineEnding::CrLf
    } else if cr > lf {
        LineEnding::Cr
    } else {
        LineEnding::Lf
    }
}

impl LineEnding {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

const MARK: char = '\u{feff}';
const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF_16LE_MARK: &[u8] = b"\xff\xfe";
const UTF_16BE_MARK: &[u8] = b"\xfe\xff";
const UTF_32LE_MARK: &[u8] = b"\xff\xfe\0\0";

/// The encoding that the byte order mark names, and the bytes after it.
fn by_mark(bytes: &[u8]) -> Result<(TextEncoding, &[u8]), DecodeError> {
    if bytes.starts_with(UTF_32LE_MARK) {
        return Err(DecodeError::Unsupported { guess: Some("UTF-32") });
    }
    Ok(if let Some(body) = bytes.strip_prefix(UTF_8_MARK) {
        (TextEncoding::Utf8Bom, body)
    } else if let Some(body) = bytes.strip_prefix(UTF_16LE_MARK) {
        (TextEncoding::Utf16Le, body)
    } else if let Some(body) = bytes.strip_prefix(UTF_16BE_MARK) {
        (TextEncoding::Utf16Be, body)
    } else {
        (TextEncoding::Utf8, bytes)
    })
}

fn utf_16(encoding: TextEncoding) -> Option<&'static Encoding> {
    match encoding {
        TextEncoding::Utf8 | TextEncoding::Utf8Bom => None,
        TextEncoding::Utf16Le => Some(UTF_16LE),
        TextEncoding::Utf16Be => Some(UTF_16BE),
    }
}

/// Leaves out half a unit, and the first half of a surrogate pair, at the end.
fn without_cut_utf_16(body: &[u8], encoding: TextEncoding) -> &[u8] {
    let even = &body[..body.len() / 2 * 2];
    let high = match (encoding, even) {
        (TextEncoding::Utf16Le, [.., _, high]) | (TextEncoding::Utf16Be, [.., high, _]) => *high,
        _ => return even,
    };
    if (0xd8..=0xdb).contains(&high) { &even[..even.len() - 2] } else { even }
}

/// A text in Unicode is binary from one NUL, or from three control characters in ten (the share that opencode's reader takes): it may hold the escape
/// sequences of a terminal's log.
fn is_binary(text: &str) -> bool {
    memchr::memchr(0, text.as_bytes()).is_some() || {
        let is_much = |controls: usize| controls * 10 > text.len() * 3;
        // With line breaks among them it is counted ten times faster, and for most texts enough is known then.
        is_much(below_space(text.as_bytes())) && is_much(text.bytes().filter(|byte| is_control(*byte)).count())
    }
}

/// What bytes that are no Unicode are. One control character in fifty is enough for binary: the old encodings of text have none, random bytes one in ten.
fn foreign(bytes: &[u8]) -> DecodeError {
    let head = &bytes[..bytes.len().min(64 * 1024)];
    let controls = head.iter().filter(|byte| is_control(**byte)).count();
    if head.contains(&0) || controls * 50 > head.len() {
        return DecodeError::Binary;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, head.len() == bytes.len());
    DecodeError::Unsupported { guess: Some(detector.guess(None, Utf8Detection::Deny).name()) }
}

/// Counts in single bytes as long as none can overflow, which processors do many at a time.
fn below_space(bytes: &[u8]) -> usize {
    let few = |chunk: &[u8]| usize::from(chunk.iter().map(|byte| u8::from(*byte < 0x20)).sum::<u8>());
    bytes.chunks(usize::from(u8::MAX)).map(few).sum()
}

fn is_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b)
}

#[cfg(test)]
#[path = "encoding_tests.rs"]
mod tests;
