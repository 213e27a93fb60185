//! The text of one file or document: which lines match, and what is shown of them.

use std::io::{self, Read};

use copydesk_engine::ports::{LinePattern, SearchError};
use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};

/// The longest line, and for patterns across lines the longest file, bytes: what one search holds in memory for each of its threads.
const HEAP: usize = 16 << 20;

/// Of a compiled pattern, and of what its matcher builds as it goes, bytes: models write patterns that would grow without end.
const REGEX_SIZE: usize = 10 << 20;

/// Bytes that are shown of a hit, and how many of them stand before it.
const SHOWN: usize = 500;
const BEFORE: usize = 100;

pub(super) struct LineMatcher {
    regex: RegexMatcher,
    across_lines: bool,
}

/// A hit without its path.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) column: Option<usize>,
}

pub(super) enum Searched {
    Lines {
        lines: Vec<Line>,
        more: bool,
    },
    Binary,
    /// A line is too long, or the reader failed.
    Failed,
}

impl LineMatcher {
    pub(super) fn new(pattern: &LinePattern) -> Result<Self, SearchError> {
        let build = |across_lines: bool| {
            let mut builder = RegexMatcherBuilder::new();
            builder.multi_line(true).unicode(true).crlf(true).size_limit(REGEX_SIZE).dfa_size_limit(REGEX_SIZE);
            if across_lines {
                builder.line_terminator(None);
            }
            match pattern {
                LinePattern::Regex(regex) => builder.build(regex),
                LinePattern::Literal(text) => builder.fixed_strings(true).build(text),
            }
        };
        let (built, across_lines) = match build(false) {
            Err(error) if matches!(error.kind(), ErrorKind::NotAllowed(_)) => (build(true), true),
            built => (built, false),
        };
        let regex = built.map_err(|error| SearchError::BadPattern(error.to_string()))?;
        Ok(Self { regex, across_lines })
    }

    /// For one thread.
    pub(super) fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .multi_line(self.across_lines)
            .binary_detection(BinaryDetection::quit(b'\0'))
            .heap_limit(Some(HEAP))
            .build()
    }

    pub(super) fn search(&self, searcher: &mut Searcher, text: impl Read, most: usize) -> Searched {
        let mut sink = Lines { matcher: &self.regex, most, lines: Vec::new(), more: false, binary: false };
        match searcher.search_reader(&self.regex, text, &mut sink) {
            Ok(()) if sink.binary => Searched::Binary,
            Ok(()) => Searched::Lines { lines: sink.lines, more: sink.more },
            Err(_) => Searched::Failed,
        }
    }
}

struct Lines<'a> {
    matcher: &'a RegexMatcher,
    most: usize,
    lines: Vec<Line>,
    more: bool,
    binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.lines.len() == self.most {
            self.more = true;
            return Ok(false);
        }
        let bytes = without_break(found.bytes());
        let first = if bytes.len() > SHOWN {
            self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start())
        } else {
            0
        };
        let (text, column) = excerpt(bytes, first);
        self.lines.push(Line { number: found.line_number().unwrap_or(0), text, column });
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn without_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// All of a short line; of a long one the bytes around `first`, cut between characters, with the column at which they begin.
fn excerpt(line: &[u8], first: usize) -> (String, Option<usize>) {
    if line.len() <= SHOWN {
        return (String::from_utf8_lossy(line).into_owned(), None);
    }
    let is_inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    let snapped = |at: usize| (at.saturating_sub(3)..=at).rev().find(|at| !is_inside(*at)).unwrap_or(at);
    let start = snapped(first.saturating_sub(BEFORE).min(line.len() - SHOWN));
    let end = snapped((start + SHOWN).min(line.len()));
    let column = (0..start).filter(|at| !is_inside(*at)).count() + 1;
    (String::from_utf8_lossy(&line[start..end]).into_owned(), Some(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_around_the_hit_between_characters() {
        let line = format!("{}needle{}", "\u{e9}".repeat(400), "x".repeat(1000));
        let (text, column) = excerpt(line.as_bytes(), 800);
        assert!(text.starts_with('\u{e9}') && text.contains("needle") && !text.contains('\u{fffd}'), "{text}");
        assert_eq!((text.len(), column), (SHOWN, Some(351)));
        assert_eq!(excerpt(&b"x".repeat(600), 599).1, Some(101), "the end is shown whole");
        assert_eq!(excerpt(b"short", 2), ("short".to_owned(), None));
    }
}
