//! Characters that a server cut in two: escapes of half a UTF-16 pair (`\ud83d` in one chunk, `\ude00` in the next), which no JSON reader takes. Halves
//! travel as private characters until they meet.

use serde_json::Value;

/// A half `0xD800 + n` stands as this plus `n`. Of the last private plane, which no text uses.
const MARK: u32 = 0x0010_F000;

/// JSON, with lone halves as marks.
pub(super) fn parse(data: &str) -> serde_json::Result<Value> {
    match serde_json::from_str(data) {
        Err(error) if data.contains("\\u") => serde_json::from_str(&mark(data)).map_err(|_| error),
        parsed => parsed,
    }
}

/// Pairs of marks become characters, lone ones U+FFFD.
pub(super) fn join(text: String) -> String {
    if !text.contains(|c| half(c).is_some()) {
        return text;
    }
    let units = text.chars().flat_map(|c| {
        let mut buffer = [0; 2];
        match half(c) {
            Some(unit) => vec![unit],
            None => c.encode_utf16(&mut buffer).to_vec(),
        }
    });
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// A text that comes in pieces: a first half at the end of one waits for the next.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    waiting: Option<char>,
}

impl Deltas {
    pub(super) fn push(&mut self, piece: &str) -> Option<String> {
        let mut text: String = self.waiting.take().into_iter().collect();
        text.push_str(piece);
        if text.chars().next_back().and_then(half).is_some_and(|unit| unit < 0xDC00) {
            self.waiting = text.pop();
        }
        (!text.is_empty()).then(|| join(text))
    }

    pub(super) fn finish(&mut self) -> Option<String> {
        self.waiting.take().map(|_| char::REPLACEMENT_CHARACTER.to_string())
    }
}

fn half(c: char) -> Option<u16> {
    let offset = u32::from(c).checked_sub(MARK).filter(|offset| *offset < 0x800)?;
    u16::try_from(0xD800 + offset).ok()
}

/// Every escape of a half that has no other half beside it, as its mark.
fn mark(data: &str) -> String {
    let mut out = String::with_capacity(data.len());
    let mut rest = data;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match (escaped_unit(rest), rest.get(6..).and_then(escaped_unit)) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => 12,
            (Some(unit @ 0xD800..0xE000), _) => {
                out.extend(char::from_u32(MARK + (unit - 0xD800)));
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out + rest
}

fn escaped_unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}
