//! A patch from its text. Whatever is not of the grammar is an error that names its line and what was expected: a line that is skipped is a change that is
//! lost. Lenient only where nothing can be lost: a here-document around the patch, white space after and outside of what lines say, blank lines between
//! files, and blank lines of the context that lack their leading space.

use super::{FilePatch, Hunk, HunkLine, Patch};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("the patch is empty: write `*** Begin Patch`, at least one file and `*** End Patch`")]
    Empty,
    /// `line` is one-based, of the text as it was given.
    #[error("line {line} of the patch is `{found}`; expected {expected}")]
    Unexpected { line: usize, found: String, expected: &'static str },
    #[error("the patch ends after line {line}; expected {expected}")]
    Unfinished { line: usize, expected: &'static str },
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

const A_FILE: &str = "`*** Add File: <path>`, `*** Delete File: <path>`, `*** Update File: <path>` or `*** End Patch`";
const A_HUNK: &str = "`@@`, or a line of the file behind a space, `-` or `+`";
const A_HUNK_LINE: &str = "a line of the file behind a space (kept), `-` (removed) or `+` (added), or else `@@`, the next file or `*** End Patch`";

/// Enough of a line to know it by, characters.
const CLIPPED: usize = 100;

pub fn parse(text: &str) -> Result<Patch, ParseError> {
    let mut reader = Reader::new(text)?;
    let mut files = Vec::new();
    while let Some((number, line)) = reader.next_filled() {
        files.push(reader.file(number, line)?);
    }
    if files.is_empty() {
        return Err(ParseError::Empty);
    }
    Ok(Patch { files })
}

/// The files that a patch names as far as it has come, its last line left out: that may be half of one.
pub fn paths(partial: &str) -> impl Iterator<Item = &str> {
    let complete = partial.rsplit_once('\n').map_or("", |(complete, _)| complete);
    complete.lines().filter_map(|line| {
        let path = [ADD, DELETE, UPDATE].iter().find_map(|header| line.trim_end().strip_prefix(header))?.trim();
        (!path.is_empty()).then_some(path)
    })
}

/// The lines between the first and the last one of a patch, with their one-based numbers.
struct Reader<'a> {
    lines: std::iter::Peekable<std::vec::IntoIter<(usize, &'a str)>>,
    /// The number of the last line of the patch.
    end: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        let mut lines = without_here_document(filled(lines(text)));
        let (Some((first, begin)), Some((last, end))) = (lines.first().copied(), lines.pop()) else {
            return Err(ParseError::Empty);
        };
        if begin.trim() != BEGIN {
            return Err(unexpected(first, begin, "`*** Begin Patch`"));
        }
        if end.trim() == END {
            let inner = lines.split_off(1);
            return Ok(Self { lines: inner.into_iter().peekable(), end: last });
        }
        if lines.iter().any(|(_, line)| line.trim() == END) {
            let expected = "nothing after `*** End Patch`; several patches are one with several files";
            return Err(unexpected(last, end, expected));
        }
        Err(ParseError::Unfinished { line: last, expected: "`*** End Patch`" })
    }

    fn file(&mut self, number: usize, line: &str) -> Result<FilePatch, ParseError> {
        let header = line.trim();
        if let Some(path) = header.strip_prefix(ADD) {
            let path = named(number, line, path)?;
            let text = self.new_text();
            self.file_ends("a line of the new file behind a `+`, the next file or `*** End Patch`")?;
            return Ok(FilePatch::Add { path, text });
        }
        if let Some(path) = header.strip_prefix(DELETE) {
            let path = named(number, line, path)?;
            self.file_ends(A_FILE)?;
            return Ok(FilePatch::Delete { path });
        }
        if let Some(path) = header.strip_prefix(UPDATE) {
            let path = named(number, line, path)?;
            let move_to = self.move_to()?;
            let hunks = self.hunks()?;
            if hunks.is_empty() && move_to.is_none() {
                return Err(self.unexpected_next(A_HUNK));
            }
            return Ok(FilePatch::Update { path, move_to, hunks });
        }
        Err(unexpected(number, line, A_FILE))
    }

    fn new_text(&mut self) -> String {
        let mut text = String::new();
        while let Some((_, line)) = self.lines.next_if(|(_, line)| line.starts_with('+')) {
            text.push_str(&line[1..]);
            text.push('\n');
        }
        text
    }

    fn move_to(&mut self) -> Result<Option<String>, ParseError> {
        match self.lines.next_if(|(_, line)| line.trim().starts_with(MOVE)) {
            Some((number, line)) => named(number, line, &line.trim()[MOVE.len()..]).map(Some),
            None => Ok(None),
        }
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>, ParseError> {
        let mut hunks = Vec::new();
        loop {
            self.skip_blank();
            let Some(&(line, text)) = self.lines.peek() else { return Ok(hunks) };
            if is_file(text) {
                return Ok(hunks);
            }
            if !(text.starts_with("@@") || hunks.is_empty() && is_hunk_line(text)) {
                return Err(self.unexpected_next(if hunks.is_empty() { A_HUNK } else { A_HUNK_LINE }));
            }
            hunks.push(self.hunk(line)?);
        }
    }

    fn hunk(&mut self, line: usize) -> Result<Hunk, ParseError> {
        let mut anchors = Vec::new();
        while let Some((number, text)) = self.lines.next_if(|(_, text)| text.starts_with("@@")) {
            anchors.extend(anchor(number, text)?);
        }
        let mut lines = Vec::new();
        while let Some((_, text)) = self.lines.next_if(|(_, text)| is_hunk_line(text)) {
            lines.push(hunk_line(text));
        }
        // They are the blank lines before what comes next as often as they are context.
        while lines.last() == Some(&Read::Bare) {
            lines.pop();
        }
        let lines: Vec<HunkLine> = lines.into_iter().map(Read::line).collect();
        let at_end = self.lines.next_if(|(_, text)| text.trim_end() == END_OF_FILE).is_some();
        if lines.is_empty() {
            return Err(self.unexpected_next("a line of the file behind a space, `-` or `+`"));
        }
        if lines.iter().all(|line| matches!(line, HunkLine::Context(_))) {
            return Err(
                self.unexpected_next("a line that is removed (`-`) or added (`+`): the hunk before it has none")
            );
        }
        Ok(Hunk { line, anchors, lines, at_end })
    }

    fn next_filled(&mut self) -> Option<(usize, &'a str)> {
        self.skip_blank();
        self.lines.next()
    }

    fn file_ends(&mut self, expected: &'static str) -> Result<(), ParseError> {
        self.skip_blank();
        match self.lines.peek() {
            Some((_, line)) if !is_file(line) => Err(self.unexpected_next(expected)),
            Some(_) | None => Ok(()),
        }
    }

    fn skip_blank(&mut self) {
        while self.lines.next_if(|(_, line)| line.trim().is_empty()).is_some() {}
    }

    fn unexpected_next(&mut self, expected: &'static str) -> ParseError {
        match self.lines.peek() {
            Some((number, line)) => unexpected(*number, line, expected),
            None => unexpected(self.end, END, expected),
        }
    }
}

/// Line breaks of the patch are `\n`, or `\r\n` throughout.
fn lines<'a>(text: &'a str) -> Vec<(usize, &'a str)> {
    let text = text.trim_start_matches('\u{feff}');
    let is_crlf = text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count();
    let plain = |line: &'a str| line.strip_suffix('\r').filter(|_| is_crlf).unwrap_or(line);
    text.split('\n').enumerate().map(|(index, line)| (index + 1, plain(line))).collect()
}

/// Without blank lines at both ends.
fn filled(mut lines: Vec<(usize, &str)>) -> Vec<(usize, &str)> {
    while lines.pop_if(|(_, line)| line.trim().is_empty()).is_some() {}
    let blank = lines.iter().take_while(|(_, line)| line.trim().is_empty()).count();
    lines.split_off(blank)
}

/// What a shell would have taken for the patch: models that learned to call a command write `apply_patch <<'EOF'`.
fn without_here_document(mut lines: Vec<(usize, &str)>) -> Vec<(usize, &str)> {
    let word = lines.first().and_then(|(_, line)| here_document(line));
    if let Some(word) = word
        && lines.len() > 1
        && lines.last().is_some_and(|(_, line)| line.trim() == word)
    {
        lines.pop();
        lines.remove(0);
        return filled(lines);
    }
    lines
}

/// The word that ends it.
fn here_document(line: &str) -> Option<&str> {
    let (command, word) = line.trim().split_once("<<")?;
    let is_known = matches!(command.trim(), "" | "cat" | "apply_patch" | "applypatch");
    let word = word.trim_start_matches('-').trim();
    let quoted = |quote: char| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    let word = quoted('\'').or_else(|| quoted('"')).unwrap_or(word);
    let is_word = !word.is_empty() && word.chars().all(|char| char.is_alphanumeric() || char == '_');
    (is_known && is_word).then_some(word)
}

fn is_file(line: &str) -> bool {
    [ADD, DELETE, UPDATE].iter().any(|header| line.trim().starts_with(header))
}

fn is_hunk_line(line: &str) -> bool {
    line.is_empty() || line == "\r" || line.starts_with([' ', '-', '+'])
}

/// A line of a hunk, or a blank one without anything in front of it.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Bare,
    Line(HunkLine),
}

impl Read {
    fn line(self) -> HunkLine {
        match self {
            Self::Bare => HunkLine::Context(String::new()),
            Self::Line(line) => line,
        }
    }
}

/// Of a line that `is_hunk_line`. Line breaks are the file's, so that a `\r` at the end is none of the text.
fn hunk_line(line: &str) -> Read {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let text = line.get(1..).unwrap_or_default().to_owned();
    match line.as_bytes().first() {
        None => Read::Bare,
        Some(b'-') => Read::Line(HunkLine::Remove(text)),
        Some(b'+') => Read::Line(HunkLine::Add(text)),
        Some(_) => Read::Line(HunkLine::Context(text)),
    }
}

/// `None` for an `@@` alone.
fn anchor(number: usize, line: &str) -> Result<Option<String>, ParseError> {
    let text = line.get(2..).unwrap_or_default().trim_end();
    let text = text.strip_prefix(' ').unwrap_or(text);
    if is_range(text) {
        return Err(unexpected(
            number,
            line,
            "`@@` alone or with a line of the file, e.g. `@@ fn main() {`; there are no line numbers in this format",
        ));
    }
    Ok((!text.trim().is_empty()).then(|| text.to_owned()))
}

/// `-1,3 +1,4 @@`, as in a unified diff.
fn is_range(text: &str) -> bool {
    let numbers = |part: Option<&str>, sign: char| {
        let digits = part.and_then(|part| part.strip_prefix(sign)).unwrap_or_default();
        !digits.is_empty() && digits.chars().all(|char| char.is_ascii_digit() || char == ',')
    };
    let mut parts = text.split_whitespace();
    numbers(parts.next(), '-') && numbers(parts.next(), '+')
}

fn named(number: usize, line: &str, path: &str) -> Result<String, ParseError> {
    match path.trim() {
        "" => Err(unexpected(number, line, "a path behind the colon")),
        path => Ok(path.to_owned()),
    }
}

fn unexpected(line: usize, found: &str, expected: &'static str) -> ParseError {
    let found = found.trim_end();
    let clipped = found.char_indices().nth(CLIPPED).map(|(end, _)| format!("{}…", &found[..end]));
    ParseError::Unexpected { line, found: clipped.unwrap_or_else(|| found.to_owned()), expected }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
