//! Bytes of files to text and back (R1.2, R18.1): what cannot be written back as it was read is refused, never damaged.

/// How a text file stores its characters; kept when it is written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEncoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
}

/// The style that new lines get: the one that most of the text's lines have (`\n` where there are none).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    Lf,
    CrLf,
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
pub fn decode(bytes: &[u8]) -> Result<(String, TextEncoding), DecodeError> {
    let _ = bytes;
    todo!()
}

pub fn encode(text: &str, encoding: TextEncoding) -> Vec<u8> {
    let _ = (text, encoding);
    todo!()
}

/// Judges the first bytes of a file (8 KiB or all of it), so that a large binary is never loaded whole. A character cut at the end is no fault.
pub fn sniff(head: &[u8]) -> Result<TextEncoding, DecodeError> {
    let _ = head;
    todo!()
}

pub fn dominant_line_ending(text: &str) -> LineEnding {
    let _ = text;
    todo!()
}
