//! A part of a text that is too large to be loaded: its lines are counted from the start to the part, and nothing behind it is read. In UTF-8 alone; whatever
//! else is that large is described by `shown`.

use copydesk_workspace::encoding::{self, TextEncoding};
use copydesk_workspace::path::AbsPath;
use serde_json::json;

use super::super::lines::{Behind, LONGEST_LINE, Window};
use crate::media::MediaType;
use crate::tool::{ToolContext, ToolError, ToolOutput};

/// What is looked at to tell what the file is, bytes.
const HEAD: usize = 8 << 10;

/// What is read at once to count lines, bytes.
const CHUNK: usize = 1 << 20;

/// For the number of a line and what is said of its rest, bytes.
const LINE_FRAME: usize = 256;

/// `None`: it is none of those texts.
pub(super) async fn part(
    path: &AbsPath,
    window: Window,
    len: u64,
    ctx: &ToolContext,
) -> Result<Option<ToolOutput>, ToolError> {
    let head = ctx.view.range(path, 0, HEAD).await?;
    let start = match encoding::sniff(&head) {
        Ok(TextEncoding::Utf8) if MediaType::of(&head).is_none() => 0,
        Ok(TextEncoding::Utf8Bom) => 3,
        Ok(_) | Err(_) => return Ok(None),
    };
    let file = File { path, ctx };
    let start = file.line(start, window.offset).await?;
    let start = file.column(start, window.offset, window.column).await?;
    let bytes = file.read(start, window.max_bytes).await?;
    if bytes.is_empty() {
        return Err(file.behind(Behind::End { offset: window.offset, total: window.offset - 1 }));
    }
    let reaches_end = start + bytes.len() as u64 >= len;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // A character cut at the end.
        Err(error) if error.error_len().is_none() && !reaches_end => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err(file.no_text(window.offset)),
    };
    if text.contains('\0') {
        return Err(file.no_text(window.offset));
    }
    Ok(Some(output(path, window, len, &shown(text, window, reaches_end))))
}

/// A file in pieces.
struct File<'a> {
    path: &'a AbsPath,
    ctx: &'a ToolContext,
}

impl File<'_> {
    /// Where a line begins, counted as `lines` counts them. `at` is the beginning of the text.
    async fn line(&self, mut at: u64, wanted: usize) -> Result<u64, ToolError> {
        let (mut line, mut is_ended) = (1, true);
        while line < wanted {
            let bytes = self.read(at, CHUNK).await?;
            if bytes.is_empty() {
                let total = if is_ended { line - 1 } else { line };
                return Err(self.behind(Behind::End { offset: wanted, total }));
            }
            // The last one may be the first half of a break.
            let is_half = bytes.len() == CHUNK && bytes.last() == Some(&b'\r');
            let whole = &bytes[..bytes.len() - usize::from(is_half)];
            for index in memchr::memchr2_iter(b'\n', b'\r', whole) {
                if bytes[index] == b'\r' && bytes.get(index + 1) == Some(&b'\n') {
                    continue;
                }
                line += 1;
                if line == wanted {
                    return Ok(at + index as u64 + 1);
                }
            }
            is_ended = matches!(whole.last(), Some(b'\n' | b'\r'));
            at += whole.len() as u64;
        }
        Ok(at)
    }

    /// Where a character of the line begins that begins at `start`.
    async fn column(&self, start: u64, line: usize, wanted: usize) -> Result<u64, ToolError> {
        if wanted == 1 {
            return Ok(start);
        }
        let (mut at, mut total) = (start, 0);
        loop {
            let bytes = self.read(at, CHUNK).await?;
            let of_line = &bytes[..memchr::memchr2(b'\n', b'\r', &bytes).unwrap_or(bytes.len())];
            for (index, byte) in of_line.iter().enumerate() {
                total += usize::from(byte & 0b1100_0000 != 0b1000_0000);
                if total == wanted {
                    return Ok(at + index as u64);
                }
            }
            if of_line.len() < bytes.len() || bytes.is_empty() {
                return Err(self.behind(Behind::Line { line, column: wanted, total }));
            }
            at += bytes.len() as u64;
        }
    }

    async fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, ToolError> {
        Ok(self.ctx.view.range(self.path, at, len).await?)
    }

    fn behind(&self, behind: Behind) -> ToolError {
        ToolError::Tell(format!("{} {behind}", self.path))
    }

    fn no_text(&self, line: usize) -> ToolError {
        ToolError::Tell(format!(
            "{} is no UTF-8 text around line {line}. It is not shown; a command such as `strings` or `xxd` tells more.",
            self.path
        ))
    }
}

struct Shown {
    body: String,
    last: usize,
    reaches_end: bool,
}

/// The lines at the start of `text`, as many as fit. The last of them may be cut where the text does not reach the end of the file.
fn shown(text: &str, window: Window, reaches_end: bool) -> Shown {
    let mut body = String::new();
    let (mut rest, mut last) = (text, window.offset - 1);
    while last + 1 - window.offset < window.limit && !rest.is_empty() {
        let end = memchr::memchr2(b'\n', b'\r', rest.as_bytes());
        let is_first = body.is_empty();
        if end.is_none() && !reaches_end && !is_first {
            break;
        }
        let line = &rest[..end.unwrap_or(rest.len())];
        let from = if is_first { window.column } else { 1 };
        let longest = if window.limit == 1 || from > 1 { usize::MAX } else { LONGEST_LINE };
        let room = window.max_bytes.saturating_sub(body.len() + LINE_FRAME);
        let by_characters = line.char_indices().nth(longest).map_or(line.len(), |(at, _)| at);
        if !is_first && by_characters > room {
            break;
        }
        let fits = line.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last();
        let piece = &line[..by_characters.min(fits.unwrap_or(0))];
        last += 1;
        body.push_str(&format!("{last}: {piece}\n"));
        if piece.len() < line.len() || end.is_none() && !reaches_end {
            let to = from + piece.chars().count();
            body.push_str(&format!(
                "[line {last} goes on: characters {from} to {} are shown; next: offset={last} column={to} limit=1]\n",
                to - 1
            ));
        }
        rest = match end {
            Some(at) => &rest[at + if rest[at..].starts_with("\r\n") { 2 } else { 1 }..],
            None => "",
        };
    }
    Shown { body, last, reaches_end: reaches_end && rest.is_empty() }
}

fn output(path: &AbsPath, window: Window, len: u64, shown: &Shown) -> ToolOutput {
    let Shown { body, last, reaches_end } = shown;
    let lines = format!("Lines {} to {last}", window.offset);
    let footer = match reaches_end {
        true => format!("{lines}, the end."),
        false => format!(
            "{lines} of a file of {len} bytes, whose lines are not all counted; next: offset={}. `grep` finds the numbers of lines in it.",
            last + 1
        ),
    };
    ToolOutput {
        text: format!("<path>{path}</path>\n<type>file</type>\n<content>\n{body}</content>\n{footer}"),
        capped: true,
        locations: vec![(path.clone(), Some(window.offset))],
        metadata: json!({"firstLine": window.offset, "lastLine": last}),
        ..ToolOutput::default()
    }
}

#[cfg(test)]
#[path = "huge_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
