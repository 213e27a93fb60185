//! Reads a bash text into `syntax`, after the manual of bash 5 and stricter than bash: whatever could be read in two ways is an error, which asks. Lists
//! and pipelines are here, the rest below `reader/`.
//!
//! The grammar of tree-sitter is not used for this: made to colour text, it reads some strings otherwise than bash does (`$'\\'` does not end for it), and
//! whatever stands in such a string would be lost. It is the second reading (`second_reading.rs`).

use std::collections::BTreeSet;

use super::syntax::{Heredoc, List, Script, Span, Statement};

mod compound;
mod heredocs;
mod simple;
mod words;

/// Of compound statements and substitutions. A stack of 2 MiB holds several times as many.
const DEEPEST: usize = 40;

/// Why a text is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) span: Span,
    pub(super) reason: String,
    /// It was read no further for being too deep, whatever stands there.
    pub(super) is_too_deep: bool,
}

pub(super) type Reading<T> = Result<T, Problem>;

/// Reads the whole of `text`. With `within`, all spans are that one: the text stands in a string of another.
pub(super) fn read(text: &str, within: Option<Span>) -> Reading<Script> {
    let mut reader = Reader::new(text, within);
    let list = reader.list()?;
    if reader.at < reader.end {
        return Err(reader.problem("a word or sign where no command can end"));
    }
    reader.finish_heredocs()?;
    Ok(Script { list, heredocs: reader.heredocs, starts: reader.starts, displaced: reader.displaced })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Where reading stops: the end of the text or of a part of it.
    end: usize,
    within: Option<Span>,
    depth: usize,
    pending: Vec<heredocs::Pending>,
    heredocs: Vec<Heredoc>,
    starts: BTreeSet<usize>,
    displaced: Vec<Span>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, within: Option<Span>) -> Self {
        Self {
            text,
            at: 0,
            end: text.len(),
            within,
            depth: 0,
            pending: Vec::new(),
            heredocs: Vec::new(),
            starts: BTreeSet::new(),
            displaced: Vec::new(),
        }
    }

    fn list(&mut self) -> Reading<List> {
        let mut list = Vec::new();
        loop {
            self.skip_lines()?;
            if self.at_end_of_list() {
                return Ok(list);
            }
            let statement = self.deeper(Self::and_or)?;
            self.skip_blanks();
            if self.looking_at(";;") || self.looking_at(";&") {
                list.push(statement);
                return Ok(list);
            }
            if self.eat("&") {
                list.push(Statement::Background(Box::new(statement)));
                continue;
            }
            list.push(statement);
            if !self.eat(";") && self.peek() != Some(b'\n') {
                return Ok(list);
            }
        }
    }

    fn at_end_of_list(&self) -> bool {
        const ENDS: [&str; 8] = ["then", "else", "elif", "fi", "do", "done", "esac", "}"];
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => self.looking_at(";;") || self.looking_at(";&"),
            _ => ENDS.iter().any(|end| self.at_reserved(end)),
        }
    }

    fn and_or(&mut self) -> Reading<Statement> {
        let mut left = self.pipeline()?;
        loop {
            self.skip_blanks();
            let join = if self.eat("&&") {
                Statement::And
            } else if self.eat("||") {
                Statement::Or
            } else {
                return Ok(left);
            };
            self.skip_lines()?;
            let right = self.pipeline()?;
            left = join(Box::new(left), Box::new(right));
        }
    }

    fn pipeline(&mut self) -> Reading<Statement> {
        self.skip_blanks();
        if self.eat_reserved("!") {
            let inner = self.deeper(Self::pipeline)?;
            return Ok(Statement::Not(Box::new(inner)));
        }
        if self.eat_reserved("time") {
            self.skip_blanks();
            self.eat_reserved("-p");
            self.skip_blanks();
            if self.peek() == Some(b'-') {
                return Err(self.problem("an option of `time`"));
            }
            return self.deeper(Self::pipeline);
        }
        let mut parts = vec![self.command()?];
        loop {
            self.skip_blanks();
            if self.looking_at("||") || !(self.eat("|&") || self.eat("|")) {
                break;
            }
            self.skip_lines()?;
            parts.push(self.command()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Statement::Pipeline(parts) })
    }

    fn command(&mut self) -> Reading<Statement> {
        self.skip_blanks();
        match self.compound()? {
            Some(statement) => {
                let mut redirects = Vec::new();
                loop {
                    self.skip_blanks();
                    match self.redirect()? {
                        Some(redirect) => redirects.push(redirect),
                        None if redirects.is_empty() => return Ok(statement),
                        None => return Ok(Statement::Redirected(Box::new(statement), redirects)),
                    }
                }
            }
            None => self.simple(),
        }
    }

    /// A list with heredocs of its own, as in `$(…)`.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Reading<T>) -> Reading<T> {
        let outer = std::mem::take(&mut self.pending);
        let start = self.at;
        let result = self.deeper(read)?;
        if !self.pending.is_empty() {
            return Err(self.problem("a heredoc that ends with its parenthesis"));
        }
        if !outer.is_empty() && self.text[start..self.at].contains('\n') {
            return Err(self.problem("a heredoc before a parenthesis of several lines"));
        }
        self.pending = outer;
        Ok(result)
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Reading<T>) -> Reading<T> {
        if self.depth >= DEEPEST {
            return Err(Problem { is_too_deep: true, ..self.problem("nested too deeply") });
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn peek(&self) -> Option<u8> {
        self.byte(self.at)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        (at < self.end).then(|| self.text.as_bytes()[at])
    }

    fn looking_at(&self, text: &str) -> bool {
        self.text.as_bytes()[self.at..self.end].starts_with(text.as_bytes())
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn expect(&mut self, text: &str) -> Reading<()> {
        if self.eat(text) { Ok(()) } else { Err(self.problem(&format!("a missing `{text}`"))) }
    }

    /// A reserved word is one only where nothing of it is quoted and a blank or an operator follows.
    fn at_reserved(&self, word: &str) -> bool {
        self.looking_at(word) && self.byte(self.at + word.len()).is_none_or(words::ends_word)
    }

    fn eat_reserved(&mut self, word: &str) -> bool {
        let found = self.at_reserved(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn expect_reserved(&mut self, word: &str) -> Reading<()> {
        self.skip_lines()?;
        if self.eat_reserved(word) { Ok(()) } else { Err(self.problem(&format!("a missing `{word}`"))) }
    }

    /// Blanks and joined lines.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.byte(self.at + 1) == Some(b'\n') => self.at += 2,
                _ => return,
            }
        }
    }

    /// Blanks, comments, and line breaks with the heredocs that stand behind them.
    fn skip_lines(&mut self) -> Reading<()> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => {
                    self.at += 1;
                    self.read_heredocs()?;
                }
                Some(b'#') => self.skip_comment(),
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// The name of a variable.
    fn name(&mut self) -> Option<String> {
        let start = self.at;
        if !self.peek().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
            return None;
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        Some(self.text[start..self.at].to_owned())
    }

    fn span(&self, start: usize) -> Span {
        self.within.clone().unwrap_or(start..self.at)
    }

    fn problem(&self, reason: &str) -> Problem {
        let end = self.text[self.at..].find('\n').map_or(self.text.len(), |length| self.at + length);
        Problem { span: self.within.clone().unwrap_or(self.at..end), reason: reason.to_owned(), is_too_deep: false }
    }
}
