//! Heredocs: which lines belong to one, and what is expanded in them.

use super::{Reader, Reading};
use crate::permission::shell::syntax::{Heredoc, Piece, Redirect, RedirectKind, Word};

/// Its lines begin behind the next line break.
pub(super) struct Pending {
    index: usize,
    delimiter: String,
    /// Then nothing is expanded.
    quoted: bool,
    strips_tabs: bool,
}

impl Reader<'_> {
    /// Behind `<<` or `<<-`.
    pub(super) fn heredoc(&mut self, start: usize, strips_tabs: bool, feeds: bool) -> Reading<Redirect> {
        self.skip_blanks();
        let word = self.word()?;
        let mut delimiter = String::new();
        let mut quoted = false;
        for piece in &word.pieces {
            let Piece::Text { text, quoted: is_quoted } = piece else {
                return Err(self.problem("the end of a heredoc is an expansion"));
            };
            delimiter.push_str(text);
            quoted |= is_quoted;
        }
        if word.raw.contains('$') || delimiter.is_empty() || delimiter.contains(['\n', '\\', '$', '`']) {
            return Err(self.problem("the end of a heredoc"));
        }
        let index = self.heredocs.len();
        self.heredocs.push(Heredoc { body: Word::default() });
        self.pending.push(Pending { index, delimiter, quoted, strips_tabs });
        Ok(Redirect { span: self.span(start), kind: RedirectKind::Heredoc(index), feeds })
    }

    /// Behind a line break.
    pub(super) fn read_heredocs(&mut self) -> Reading<()> {
        for pending in std::mem::take(&mut self.pending) {
            self.read_heredoc(&pending)?;
        }
        Ok(())
    }

    pub(super) fn finish_heredocs(&mut self) -> Reading<()> {
        if self.pending.is_empty() { Ok(()) } else { Err(self.problem("a heredoc without its lines")) }
    }

    fn read_heredoc(&mut self, pending: &Pending) -> Reading<()> {
        let start = self.at;
        loop {
            if self.at >= self.end {
                return Err(self.problem("a heredoc without its end"));
            }
            let length = self.text[self.at..self.end].find('\n');
            let line_end = length.map_or(self.end, |length| self.at + length);
            let line = &self.text[self.at..line_end];
            let compared = if pending.strips_tabs { line.trim_start_matches('\t') } else { line };
            if compared == pending.delimiter {
                let body = self.body(start, self.at, pending.quoted)?;
                self.heredocs[pending.index].body = body;
                self.at = if length.is_some() { line_end + 1 } else { line_end };
                return Ok(());
            }
            if !pending.quoted && line.ends_with('\\') {
                self.at = line_end;
                return Err(self.problem("a joined line in a heredoc"));
            }
            self.at = length.map_or(self.end, |length| self.at + length + 1);
        }
    }

    fn body(&mut self, start: usize, end: usize, quoted: bool) -> Reading<Word> {
        let raw = self.text[start..end].to_owned();
        let span = self.within.clone().unwrap_or(start..end);
        if quoted {
            let text = Piece::Text { text: raw.clone(), quoted: true };
            return Ok(Word { span, raw, pieces: vec![text] });
        }
        let (at, outer_end) = (self.at, self.end);
        (self.at, self.end) = (start, end);
        let pieces = self.deeper(Self::heredoc_text)?;
        (self.at, self.end) = (at, outer_end);
        Ok(Word { span, raw, pieces })
    }
}
