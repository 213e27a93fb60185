//! An open document, and positions in it, worked out without the daemon's code.

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub language: String,
    pub version: i64,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

impl Document {
    /// Applies LSP text edits, all of them on the text as it is: the content changes that tell them, last place first. An error says what is wrong with them.
    pub(super) fn apply(&mut self, edits: &[Value], encoding: Encoding) -> Result<Vec<Value>, String> {
        let mut places = Vec::new();
        for edit in edits {
            let start = self.byte_of(&edit["range"]["start"], encoding)?;
            let end = self.byte_of(&edit["range"]["end"], encoding)?;
            let text = edit["newText"].as_str().ok_or_else(|| format!("an edit without a text: {edit}"))?;
            if start > end {
                return Err(format!("an edit ends before it starts: {edit}"));
            }
            places.push((start, end, text, edit["range"].clone()));
        }
        places.sort_by_key(|&(start, end, ..)| (start, end));
        if let Some(pair) = places.windows(2).find(|pair| pair[0].1 > pair[1].0) {
            return Err(format!("edits overlap: {:?} and {:?}", pair[0], pair[1]));
        }
        let mut changes = Vec::new();
        for (start, end, text, range) in places.into_iter().rev() {
            self.text.replace_range(start..end, text);
            changes.push(json!({ "range": range, "text": text }));
        }
        Ok(changes)
    }

    /// A place in `char`s, as LSP writes it.
    pub(super) fn position(&self, (line, column): (usize, usize), encoding: Encoding) -> Value {
        let text = self.text.split('\n').nth(line).unwrap_or_else(|| panic!("there is no line {line}"));
        let units: usize = text.chars().take(column).map(|c| encoding.width(c)).sum();
        json!({ "line": line, "character": units })
    }

    /// The daemon must name places that there are: nothing is clamped.
    fn byte_of(&self, position: &Value, encoding: Encoding) -> Result<usize, String> {
        let wrong = || format!("there is no place {position} in a text of {} bytes", self.text.len());
        let number = |key: &str| position[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let (Some(line), Some(character)) = (number("line"), number("character")) else { return Err(wrong()) };
        let start = match line {
            0 => 0,
            line => self.text.match_indices('\n').nth(line - 1).ok_or_else(wrong)?.0 + 1,
        };
        let text = self.text[start..].split('\n').next().unwrap_or_default();
        let text = text.strip_suffix('\r').unwrap_or(text);
        let mut units = 0;
        for (at, c) in text.char_indices() {
            if units == character {
                return Ok(start + at);
            }
            units += encoding.width(c);
        }
        if units == character { Ok(start + text.len()) } else { Err(wrong()) }
    }
}
