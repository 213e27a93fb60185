//! Positions of editors (line and column in a negotiated unit) to byte offsets of ropes and back. Never panics: positions are clamped.

use ropey::Rope;

/// The unit of a column, as negotiated in `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionEncoding {
    Utf8,
    Utf16,
    Utf32,
}

/// Zero-based line, and zero-based column in the units of the negotiated encoding. Lines end at `\n`, `\r\n` and lone `\r`, as in LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// The byte offset of `position`: beyond the end of its line is the end of the line (before its line break), beyond the last line the end of the text;
/// inside a character is its start.
pub fn offset_of(text: &Rope, position: Position, encoding: PositionEncoding) -> usize {
    let _ = (text, position, encoding);
    todo!()
}

/// The position of a byte offset; an offset beyond the end is the end.
pub fn position_of(text: &Rope, offset: usize, encoding: PositionEncoding) -> Position {
    let _ = (text, offset, encoding);
    todo!()
}
