//! What a command's terminal shows: pure, but for the time of its last change. What was typed is taken out of it, also where a program writes it itself.

use std::time::{Duration, Instant};

/// A shorter text that was typed is taken out only right behind its typing: elsewhere `y` is any `y`. In bytes; a PIN has four.
const TELLING: usize = 4;
const HIDDEN: &[u8] = b"[typed]";
/// What programs show for each character of a secret (sudo's `pwfeedback`, systemd-ask-password): together they tell how long it is.
const MASKS: [&str; 2] = ["*", "\u{2022}"];
/// How they take one of these back.
const ERASED: &str = "\u{8} \u{8}";
/// Of a prompt, in characters.
const PROMPT: usize = 200;
/// Of the last line, in bytes.
const LINE: usize = 4096;

pub(super) struct Screen {
    /// What stands behind the last end of a line.
    line: Vec<u8>,
    changed: Instant,
    /// All that was typed and tells something, the longest first.
    secrets: Vec<Vec<u8>>,
    /// What was typed last, until something else is shown.
    last: Vec<u8>,
    /// What may stand for it, and for its taking back, until something else is shown.
    masks: Vec<Vec<u8>>,
    /// Whether the terminal itself is about to show it.
    is_echoed: bool,
    /// The beginning of something that was typed, perhaps.
    held: Vec<u8>,
}

enum Holds {
    /// So many bytes that were typed, or that stand for these.
    Typed(usize),
    /// So many bytes that take a mask back.
    Erased(usize),
    /// All of it begins what was typed.
    Beginning,
    Nothing,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self {
            line: Vec::new(),
            changed: Instant::now(),
            secrets: Vec::new(),
            last: Vec::new(),
            masks: Vec::new(),
            is_echoed: false,
            held: Vec::new(),
        }
    }

    /// What of it is to be seen; the end waits where it could become what was typed.
    pub(super) fn show(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.changed = Instant::now();
        let mut input = std::mem::take(&mut self.held);
        input.extend(bytes);
        let mut shown = Vec::with_capacity(input.len());
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            match self.holds(rest) {
                Holds::Typed(length) => {
                    at += length;
                    if !std::mem::take(&mut self.is_echoed) {
                        shown.extend(HIDDEN);
                    }
                    self.last.clear();
                }
                Holds::Erased(length) => at += length,
                Holds::Beginning => {
                    self.held = rest.to_vec();
                    break;
                }
                Holds::Nothing => {
                    // The newline of the typing itself stands before what the program makes of it.
                    if !matches!(rest[0], b'\r' | b'\n') {
                        self.last.clear();
                        self.masks.clear();
                        self.is_echoed = false;
                    }
                    shown.push(rest[0]);
                    at += 1;
                }
            }
        }
        self.note(&shown);
        shown
    }

    /// What stands at the beginning of these bytes.
    fn holds(&self, rest: &[u8]) -> Holds {
        let typed = || self.secrets.iter().chain([&self.last]).chain(&self.masks).filter(|typed| !typed.is_empty());
        match typed().find(|typed| rest.starts_with(typed)) {
            Some(typed) if typed.starts_with(ERASED.as_bytes()) => Holds::Erased(typed.len()),
            Some(typed) => Holds::Typed(typed.len()),
            None if typed().any(|typed| typed.starts_with(rest)) => Holds::Beginning,
            None => Holds::Nothing,
        }
    }

    /// The rest, at the end.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// It will not be shown. What comes now is another line.
    pub(super) fn typed(&mut self, text: &str, is_echoed: bool) {
        self.changed = Instant::now();
        self.line.clear();
        self.last = text.as_bytes().to_vec();
        self.is_echoed = is_echoed && !text.is_empty();
        // Some count characters, some bytes: the longer one comes first.
        let lengths = [text.len(), text.chars().count()].into_iter().filter(|length| *length >= TELLING && !is_echoed);
        let of = |length: usize| MASKS.into_iter().chain([ERASED]).map(move |mask| mask.repeat(length).into_bytes());
        self.masks = lengths.flat_map(of).collect();
        if text.len() >= TELLING && !self.secrets.iter().any(|known| known == text.as_bytes()) {
            self.secrets.push(text.as_bytes().to_vec());
            self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// How long nothing has come, and nothing was typed.
    pub(super) fn quiet(&self) -> Duration {
        self.changed.elapsed()
    }

    /// The last line without control sequences and characters; where nothing stands behind the last end of a line it is empty.
    pub(super) fn line(&self) -> String {
        let text = String::from_utf8_lossy(&self.line);
        let mut plain = String::new();
        let mut rest = text.chars();
        while let Some(char) = rest.next() {
            match char {
                // ECMA-48: parameters, then a letter; other sequences are one character long.
                '\u{1b}' if rest.next() == Some('[') => {
                    rest.by_ref().find(|end| ('@'..='~').contains(end));
                }
                char if char.is_control() => {}
                char => plain.push(char),
            }
        }
        let skipped = plain.chars().count().saturating_sub(PROMPT);
        plain.chars().skip(skipped).collect::<String>().trim().to_owned()
    }

    fn note(&mut self, shown: &[u8]) {
        match shown.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(end) => self.line = shown[end + 1..].to_vec(),
            None => self.line.extend(shown),
        }
        let excess = self.line.len().saturating_sub(LINE);
        self.line.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of these pieces after the text was typed.
    #[track_caller]
    fn check(typed: &str, pieces: &[&str], expected: &str) {
        check_with(typed, false, pieces, expected);
    }

    #[track_caller]
    fn check_with(typed: &str, is_echoed: bool, pieces: &[&str], expected: &str) {
        let mut screen = Screen::new();
        screen.typed(typed, is_echoed);
        let mut shown: Vec<u8> = pieces.iter().flat_map(|piece| screen.show(piece.as_bytes())).collect();
        shown.extend(screen.finish());
        assert_eq!(String::from_utf8_lossy(&shown), expected, "{typed:?} {pieces:?}");
    }

    #[test]
    fn c49_r7_2_what_was_typed_is_shown_nowhere() {
        check("hunter2", &["it is hunter2\n"], "it is [typed]\n");
        check("hunter2", &["it is hun", "ter", "2, hunter2!\n"], "it is [typed], [typed]!\n");
        check("hunter2", &["it is hun", "dred\n"], "it is hundred\n");
        check("hunter2", &["hunt"], "hunt");
        check("hunter2", &["hunthunter2"], "hunt[typed]");
        check("aab1", &["aaab1 aab"], "a[typed] aab");
    }

    #[test]
    fn c49_a_short_answer_is_taken_out_where_it_was_typed_alone() {
        check("y", &["y\r\nyes, they say\n"], "[typed]\r\nyes, they say\n");
        check("y", &["\r\ny\n"], "\r\n[typed]\n");
        check("y", &["on they go\n"], "on they go\n");
        check("", &["y\n"], "y\n");
    }

    #[test]
    fn c49_the_echo_of_the_terminal_itself_is_nothing_to_show() {
        check_with("hunter2", true, &["hun", "ter2\nit is hunter2\n"], "\nit is [typed]\n");
        check_with("y", true, &["y\nyes, they say\n"], "\nyes, they say\n");
        check_with("hunter2", true, &["busy\n", "hunter2\n"], "busy\n[typed]\n");
        check_with("", true, &["\ny\n"], "\ny\n");
    }

    #[test]
    fn c49_what_stands_for_a_secret_does_not_tell_how_long_it_is() {
        check("hunter2", &["*******\nit is fine\n"], "[typed]\nit is fine\n");
        check("hunter2", &["***", "****", &ERASED.repeat(3), &ERASED.repeat(4), "\r\n# "], "[typed]\r\n# ");
        check("h\u{fc}nter", &["\u{2022}".repeat(6).as_str(), "\n"], "[typed]\n");
        check("h\u{fc}nter", &["*******\n"], "[typed]\n");
        // Of what is shown later, and of what is no secret, nothing.
        check("hunter2", &["done\n*******\n"], "done\n*******\n");
        check("hunter2", &["*** done\n"], "*** done\n");
        check("y", &["* one\n* two\n"], "* one\n* two\n");
        check_with("hunter2", true, &["hunter2\n*******\n"], "\n*******\n");
    }

    #[test]
    fn c49_a_prompt_is_the_last_line_in_plain_characters() {
        let mut screen = Screen::new();
        let mut check = |piece: &str, line: &str| {
            screen.show(piece.as_bytes());
            assert_eq!(screen.line(), line, "{piece:?}");
        };
        check("one\ntwo", "two");
        check(" and ", "two and");
        check("\u{1b}[1;31mthree\u{1b}[0m: \u{7}", "two and three:");
        check("\r\u{e9}t\u{e9}? ", "\u{e9}t\u{e9}?");
        check("\n", "");
        check(&"x".repeat(10_000), &"x".repeat(PROMPT));
        screen.typed("an answer", false);
        assert_eq!(screen.line(), "");
    }
}
