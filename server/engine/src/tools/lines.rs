//! Text in lines with a gutter, bounded, with a way to go on: what `read` shows, and what others quote. Tabs stay tabs (R1.4).

use copydesk_workspace::encoding::{LineEnding, dominant_line_ending};

/// Longer lines are cut, characters; a call for one line alone gets as much of it as fits.
pub(super) const LONGEST_LINE: usize = 2000;

/// Which part of a text is wanted. Lines and columns are one-based, columns in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) offset: usize,
    pub(super) limit: usize,
    /// In the first line.
    pub(super) column: usize,
    pub(super) max_bytes: usize,
}

#[derive(Debug)]
pub(super) struct Shown {
    /// `12: text`, a line each, with notes on lines that were cut.
    pub(super) body: String,
    /// The last line that is shown.
    pub(super) last: usize,
    pub(super) total: usize,
    /// Nothing of the text was left out.
    pub(super) whole: bool,
    pub(super) footer: String,
}

/// Lines end at `\n`, `\r\n` and a lone `\r`, as editors count them. Without the breaks.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        lines.push(&rest[..at]);
        let width = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        rest = &rest[at + width..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// The window begins where there is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Behind {
    #[error("has {}; offset={offset} is behind its end", counted(*total, "line"))]
    End { offset: usize, total: usize },
    #[error("has {} in line {line}; column={column} is behind its end", counted(*total, "character"))]
    Line { line: usize, column: usize, total: usize },
}

/// `1 line`, `2 lines`.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

pub(super) fn show(text: &str, window: Window) -> Result<Shown, Behind> {
    let lines = split(text);
    let total = lines.len();
    let first = window.offset.max(1);
    if total == 0 && first == 1 {
        let footer = "The file is empty.".to_owned();
        return Ok(Shown { body: String::new(), last: 0, total, whole: true, footer });
    }
    if first > total {
        return Err(Behind::End { offset: first, total });
    }
    let column = window.column;
    if column > 1 {
        let characters = lines[first - 1].chars().count();
        if column > characters {
            return Err(Behind::Line { line: first, column, total: characters });
        }
    }
    let wanted = lines.len().min((first - 1).saturating_add(window.limit.max(1)));
    let wanted = &lines[first - 1..wanted];
    let mut body = String::new();
    let mut last = first - 1;
    let mut whole = first == 1 && wanted.len() == total && window.column <= 1;
    for (index, line) in wanted.iter().enumerate() {
        let number = first + index;
        let from = if index == 0 { window.column.max(1) } else { 1 };
        let room = window.max_bytes.saturating_sub(body.len());
        let longest = if wanted.len() == 1 || from > 1 { usize::MAX } else { LONGEST_LINE };
        let piece = if index == 0 {
            slice(number, line, from, longest, room)
        } else {
            slice(number, line, from, longest, usize::MAX)
        };
        if index > 0 && piece.text.len() > room {
            whole = false;
            break;
        }
        whole &= piece.whole;
        body.push_str(&piece.text);
        last = number;
    }
    let footer = footer(text, first, last, total, window);
    Ok(Shown { body, last, total, whole, footer })
}

struct Piece {
    text: String,
    whole: bool,
}

/// From a character on, as much as both limits allow.
fn slice(number: usize, line: &str, from: usize, longest: usize, room: usize) -> Piece {
    let start = line.char_indices().nth(from - 1).map_or(line.len(), |(at, _)| at);
    let rest = &line[start..];
    let by_characters = rest.char_indices().nth(longest).map_or(rest.len(), |(at, _)| at);
    let by_bytes = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last();
    // At least one character, so that whoever goes on gets on.
    let by_bytes = by_bytes.or_else(|| rest.chars().next().map(char::len_utf8)).unwrap_or(0);
    let end = by_characters.min(by_bytes);
    let shown = &rest[..end];
    let mut text = format!("{number}: {shown}\n");
    let whole = end == rest.len();
    if !whole {
        let next = from + shown.chars().count();
        let total = line.chars().count();
        text.push_str(&format!(
            "[line {number} goes on: characters {from} to {} of {total} are shown; next: offset={number} column={next} limit=1]\n",
            next - 1
        ));
    }
    Piece { text, whole: whole && from == 1 }
}

fn footer(text: &str, first: usize, last: usize, total: usize, window: Window) -> String {
    let mut notes = Vec::new();
    if last == total {
        notes.push(if first == 1 {
            format!("All of it: {}.", counted(total, "line"))
        } else {
            format!("Lines {first} to {last}, the end.")
        });
    } else {
        let why = if last + 1 < first.saturating_add(window.limit) {
            format!(" (at most {} bytes a call)", window.max_bytes)
        } else {
            String::new()
        };
        notes.push(format!("Lines {first} to {last} of {total}{why}; next: offset={}", last + 1));
    }
    if last == total && !text.ends_with(['\n', '\r']) {
        notes.push("The last line has no line break.".to_owned());
    }
    if dominant_line_ending(text) == LineEnding::CrLf {
        notes.push("Lines end in CRLF; `edit` and `write` keep that.".to_owned());
    }
    notes.join(" ")
}
