//! Positions of editors (line and column in a negotiated unit) to byte offsets of ropes and back. Never panics: positions are clamped.
//!
//! Lines are those of the rope, whose build features make them LSP's (`Cargo.toml` of the workspace).

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
    let line = position.line as usize;
    if line >= text.len_lines() {
        return text.len_bytes();
    }
    let start = text.line_to_byte(line);
    let end = line_end(text, line);
    let column = position.column as usize;
    match encoding {
        PositionEncoding::Utf8 => floor_char(text, start.saturating_add(column).min(end)),
        PositionEncoding::Utf16 => {
            let units_at = |byte| text.char_to_utf16_cu(text.byte_to_char(byte));
            let unit = units_at(start).saturating_add(column).min(units_at(end));
            text.char_to_byte(text.utf16_cu_to_char(unit))
        }
        PositionEncoding::Utf32 => {
            let char = text.byte_to_char(start).saturating_add(column).min(text.byte_to_char(end));
            text.char_to_byte(char)
        }
    }
}

/// The position of a byte offset; an offset beyond the end is the end, one inside a character or a line break its start.
pub fn position_of(text: &Rope, offset: usize, encoding: PositionEncoding) -> Position {
    let offset = floor_char(text, offset.min(text.len_bytes()));
    let line = text.byte_to_line(offset);
    let offset = offset.min(line_end(text, line));
    let start = text.line_to_byte(line);
    let column = match encoding {
        PositionEncoding::Utf8 => offset - start,
        PositionEncoding::Utf16 => {
            text.char_to_utf16_cu(text.byte_to_char(offset)) - text.char_to_utf16_cu(text.byte_to_char(start))
        }
        PositionEncoding::Utf32 => text.byte_to_char(offset) - text.byte_to_char(start),
    };
    Position { line: clamp(line), column: clamp(column) }
}

/// The end of the line's text in bytes, before its line break.
fn line_end(text: &Rope, line: usize) -> usize {
    if line + 1 >= text.len_lines() {
        return text.len_bytes();
    }
    let start = text.line_to_byte(line);
    let end = text.line_to_byte(line + 1);
    let crlf = end >= start + 2 && text.byte(end - 1) == b'\n' && text.byte(end - 2) == b'\r';
    end - if crlf { 2 } else { 1 }
}

fn floor_char(text: &Rope, offset: usize) -> usize {
    text.char_to_byte(text.byte_to_char(offset))
}

fn clamp(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "position_tests.rs"]
mod tests;
