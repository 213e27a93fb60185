//! A Jupyter notebook as its cells: the source whole, outputs in short, images named. Follows nbformat 4 (nbformat.readthedocs.io); what is none is read as
//! the text that it is.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::lines::{Window, counted};
use crate::escape::without_escapes;
use crate::output::Limits;

/// Of the outputs of one cell.
const MOST_OUTPUT_LINES: usize = 20;
const MOST_OUTPUT_BYTES: usize = 2 << 10;

/// Of a kind, an id or a language, bytes: no notebook has longer ones by itself.
const LONGEST_ATTRIBUTE: usize = 80;

/// For the tags around a cell and notes on it.
const CELL_FRAME: Limits = Limits { lines: 8, bytes: 512 };

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notebook {
    language: Option<String>,
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cell {
    kind: String,
    id: Option<String>,
    source: String,
    /// Outputs that are none of text are named.
    outputs: Vec<String>,
}

/// A page of cells.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) body: String,
    /// One-based; below the first where there are no cells.
    pub(super) last: usize,
    pub(super) total: usize,
    pub(super) footer: String,
}

impl Notebook {
    /// `Err` with what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file: Value = serde_json::from_str(text).map_err(|error| format!("it is no valid JSON: {error}"))?;
        if let Some(format) = file["nbformat"].as_u64().filter(|format| *format < 4) {
            return Err(format!("it has the format {format}, and cells are known since 4"));
        }
        let cells = file["cells"].as_array().ok_or("it has no list of cells")?;
        let metadata = &file["metadata"];
        let language = [&metadata["language_info"]["name"], &metadata["kernelspec"]["language"]];
        Ok(Self {
            language: language.into_iter().find_map(Value::as_str).map(str::to_owned),
            cells: cells.iter().map(cell).collect(),
        })
    }

    /// Offset and limit count cells, the column characters in the source of the first. `Err` with what is asked for behind the end.
    pub(super) fn show(&self, window: Window, max_lines: usize) -> Result<Shown, String> {
        let total = self.cells.len();
        let first = window.offset;
        if first > total.max(1) {
            return Err(format!("has {}; offset={first} is behind its end", counted(total, "cell")));
        }
        let mut body = String::new();
        let mut last = first - 1;
        for cell in self.cells.iter().skip(first - 1).take(window.limit) {
            let is_first = last + 1 == first;
            let column = if is_first { window.column } else { 1 };
            let room = Limits {
                lines: max_lines.saturating_sub(body.lines().count()),
                bytes: window.max_bytes.saturating_sub(body.len()),
            };
            match self.shown(cell, last + 1, column, room)? {
                Piece { text, whole } if is_first || whole && room.fit(&text) => body.push_str(&text),
                // The next call begins with it.
                _ => break,
            }
            last += 1;
        }
        let cells = counted(total, "cell");
        let what = match (first, last) {
            _ if total == 0 => "The notebook has no cells.".to_owned(),
            (1, last) if last == total => format!("All of it: {cells}."),
            (first, last) if last == total => format!("Cells {first} to {last}, the end."),
            (first, last) => format!("Cells {first} to {last} of {total}; next: offset={}", last + 1),
        };
        let footer = format!(
            "{what}\nThe file is JSON, with the lines of each source as texts: for `edit`, take `oldString` from what `grep` finds in this file."
        );
        Ok(Shown { body, last, total, footer })
    }

    fn shown(&self, cell: &Cell, number: usize, column: usize, room: Limits) -> Result<Piece, String> {
        let characters = cell.source.chars().count();
        if column > characters.max(1) {
            return Err(format!(
                "has {} in cell {number}; column={column} is behind its end",
                counted(characters, "character")
            ));
        }
        let start = cell.source.char_indices().nth(column - 1).map_or(0, |(at, _)| at);
        let rest = &cell.source[start..];
        let outputs = outputs(&cell.outputs, MOST_OUTPUT_BYTES.min(room.bytes / 2));
        let bytes = room.bytes.saturating_sub(CELL_FRAME.bytes + outputs.len());
        let lines = room.lines.saturating_sub(CELL_FRAME.lines + outputs.lines().count()).max(1);
        let by_lines = rest.match_indices('\n').nth(lines - 1).map_or(rest.len(), |(at, _)| at + 1);
        // At least one character, so that whoever goes on gets on.
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
        let fits = ends.take_while(|end| *end <= bytes.min(by_lines)).last();
        let end = fits.or_else(|| rest.chars().next().map(char::len_utf8)).unwrap_or(0);
        let mut text = format!("<cell number=\"{number}\" type=\"{}\"", attribute(&cell.kind));
        let language = self.language.as_ref().filter(|_| cell.kind == "code");
        for (name, value) in [("id", cell.id.as_ref()), ("language", language)] {
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = write!(text, " {name}=\"{}\"", attribute(value));
            }
        }
        let _ = write!(text, ">\n{}", ended(&rest[..end]));
        let whole = end == rest.len();
        if !whole {
            let next = column + rest[..end].chars().count();
            let _ = writeln!(
                text,
                "[cell {number} goes on: characters {column} to {} of {characters} are shown; next: offset={number} column={next} limit=1]",
                next - 1
            );
        }
        text.push_str("</cell>\n");
        text.push_str(&outputs);
        Ok(Piece { text, whole })
    }
}

struct Piece {
    text: String,
    whole: bool,
}

fn cell(cell: &Value) -> Cell {
    Cell {
        kind: cell["cell_type"].as_str().unwrap_or("unknown").to_owned(),
        id: cell["id"].as_str().map(str::to_owned),
        source: joined(&cell["source"]),
        outputs: cell["outputs"].as_array().into_iter().flatten().map(output).collect(),
    }
}

/// A text, or its lines.
fn joined(text: &Value) -> String {
    match text {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn output(output: &Value) -> String {
    match output["output_type"].as_str() {
        Some("stream") => joined(&output["text"]),
        Some("error") => {
            let text = |key: &str| output[key].as_str().unwrap_or_default();
            format!("{}: {}", text("ename"), text("evalue"))
        }
        _ => {
            let data = output["data"].as_object();
            let plain = data.and_then(|data| data.get("text/plain")).map(joined).unwrap_or_default();
            let others = data.into_iter().flatten().filter(|(kind, _)| *kind != "text/plain");
            let others: Vec<String> =
                others.map(|(kind, value)| format!("[{kind}, {} bytes in the file]", size(value))).collect();
            std::iter::once(plain).chain(others).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
        }
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(_) | Value::Array(_) => joined(value).len(),
        other => other.to_string().len(),
    }
}

/// In short, as a command that runs the notebook again would show them.
fn outputs(outputs: &[String], most_bytes: usize) -> String {
    let all: String = outputs.iter().map(|output| without_escapes(output)).map(|output| ended(&output)).collect();
    if all.is_empty() {
        return String::new();
    }
    let mut kept = String::new();
    let mut lines = all.split_inclusive('\n');
    for line in lines.by_ref().take(MOST_OUTPUT_LINES) {
        let room = most_bytes.saturating_sub(kept.len());
        let end =
            line.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last().unwrap_or(0);
        kept.push_str(&line[..end]);
        if end < line.len() {
            break;
        }
    }
    let left = all.len() - kept.len();
    let mut text = format!("<outputs>\n{}", ended(&kept));
    if left > 0 {
        let _ = writeln!(text, "[{left} more bytes of output are left out]");
    }
    text.push_str("</outputs>\n");
    text
}

fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

fn attribute(value: &str) -> String {
    let end = value.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= LONGEST_ATTRIBUTE).last();
    value[..end.unwrap_or(0)].replace(['"', '<', '>', '\n', '\r'], "_")
}

#[cfg(test)]
#[path = "notebook_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
