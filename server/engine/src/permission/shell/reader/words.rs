//! Words of a bash text: quoting, expansions, and what is computed as a number.

use super::{Reader, Reading};
use crate::permission::shell::syntax::{Arithmetic, Change, List, Parameter, Piece, Word};

/// Whether a word ends before this byte where it is not quoted.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>')
}

/// Without the backslashes that join lines.
pub(super) fn joined(raw: &str) -> String {
    raw.replace("\\\n", "")
}

impl Reader<'_> {
    pub(super) fn word(&mut self) -> Reading<Word> {
        let start = self.at;
        if self.looking_at("<(") || self.looking_at(">(") {
            self.at += 2;
            let list = self.nested(Self::list)?;
            self.expect(")")?;
            if self.peek().is_some_and(|byte| !ends_word(byte)) {
                return Err(self.problem("a process substitution within a word"));
            }
            return Ok(self.finished(start, vec![Piece::Process(list)]));
        }
        if self.looking_at("#") {
            return Err(self.problem("a comment where a word should be"));
        }
        let mut pieces = Pieces::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.byte(self.at + 1) == Some(b'(') => {
                    return Err(self.problem("a process substitution within a word"));
                }
                b'<' | b'>'
                    if self.text[start..self.at].starts_with('{') && self.text[start..self.at].ends_with('}') =>
                {
                    return Err(self.problem("a file descriptor in a variable"));
                }
                _ if ends_word(byte) => break,
                _ => self.unquoted(&mut pieces)?,
            }
        }
        if self.at == start {
            return Err(self.problem("a sign where a word should be"));
        }
        Ok(self.finished(start, pieces.0))
    }

    /// What stands behind `=`, which may be nothing.
    pub(super) fn value(&mut self) -> Reading<Word> {
        match self.peek() {
            Some(b'<' | b'>') if self.byte(self.at + 1) == Some(b'(') => {
                Err(self.problem("a process substitution within a word"))
            }
            Some(byte) if !ends_word(byte) => self.word(),
            _ => Ok(self.finished(self.at, Vec::new())),
        }
    }

    /// Behind `=~`: parentheses and bars belong to it.
    pub(super) fn regex(&mut self) -> Reading<Word> {
        let start = self.at;
        let mut pieces = Pieces::default();
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b'|' => {}
                b' ' if open > 0 => {}
                _ if ends_word(byte) => break,
                _ => {
                    self.unquoted(&mut pieces)?;
                    continue;
                }
            }
            self.at += 1;
        }
        if open > 0 || self.at == start {
            return Err(self.problem("a regular expression"));
        }
        Ok(self.finished(start, pieces.0))
    }

    fn finished(&self, start: usize, pieces: Vec<Piece>) -> Word {
        Word { span: self.span(start), raw: joined(&self.text[start..self.at]), pieces }
    }

    /// One character, quoted string or expansion.
    fn unquoted(&mut self, pieces: &mut Pieces) -> Reading<()> {
        match self.peek() {
            Some(b'\\') => {
                self.at += 1;
                if self.eat("\n") {
                    // Bash joins the lines before it looks for words and signs.
                    return match self.peek() {
                        Some(byte) if !matches!(byte, b' ' | b'\t' | b'\n') => {
                            Err(self.problem("a word that is joined over two lines"))
                        }
                        _ => Ok(()),
                    };
                }
                match self.take_char() {
                    Some(escaped) => pieces.push(escaped, true),
                    None => return Err(self.problem("a backslash at the end")),
                }
            }
            Some(b'\'') => {
                let start = self.at + 1;
                let length = self.text[start..self.end].find('\'');
                let Some(length) = length else { return Err(self.problem("a quote without its end")) };
                pieces.push_str(&self.text[start..start + length], true);
                self.at = start + length + 1;
            }
            Some(b'"') => {
                self.at += 1;
                pieces.push_str("", true);
                self.deeper(|reader| reader.double_quoted(pieces))?;
                self.expect("\"")?;
            }
            Some(b'$') if self.looking_at("$'") => self.ansi_quoted(pieces)?,
            Some(b'$') if self.looking_at("$\"") => return Err(self.problem("a string that is translated")),
            Some(b'$') => self.dollar(pieces, false)?,
            Some(b'`') => self.backquoted(pieces, false)?,
            _ => {
                if let Some(plain) = self.take_char() {
                    pieces.push(plain, false);
                }
            }
        }
        Ok(())
    }

    /// Up to the closing quote, or to the end of what is read (a heredoc).
    pub(super) fn double_quoted(&mut self, pieces: &mut Pieces) -> Reading<()> {
        self.expanded_text(pieces, true)
    }

    pub(super) fn heredoc_text(&mut self) -> Reading<Vec<Piece>> {
        let mut pieces = Pieces::default();
        self.expanded_text(&mut pieces, false)?;
        Ok(pieces.0)
    }

    fn expanded_text(&mut self, pieces: &mut Pieces, ends_at_quote: bool) -> Reading<()> {
        loop {
            match self.peek() {
                None => return Ok(()),
                Some(b'"') if ends_at_quote => return Ok(()),
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'\n') => self.at += 1,
                        Some(escaped @ (b'$' | b'`' | b'\\')) => {
                            pieces.push(char::from(escaped), true);
                            self.at += 1;
                        }
                        Some(b'"') if ends_at_quote => {
                            pieces.push('"', true);
                            self.at += 1;
                        }
                        _ => pieces.push('\\', true),
                    }
                }
                Some(b'$') => self.dollar(pieces, true)?,
                Some(b'`') => self.backquoted(pieces, ends_at_quote)?,
                Some(_) => {
                    if let Some(plain) = self.take_char() {
                        pieces.push(plain, true);
                    }
                }
            }
        }
    }

    /// `$'…'`. Escapes that are not decoded make it opaque.
    fn ansi_quoted(&mut self, pieces: &mut Pieces) -> Reading<()> {
        self.at += 2;
        let mut text = String::new();
        let mut opaque = false;
        loop {
            match self.take_char() {
                None => return Err(self.problem("a quote without its end")),
                Some('\'') => break,
                Some('\\') => match self.take_char() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(same @ ('\\' | '\'' | '"' | '?')) => text.push(same),
                    Some(_) => opaque = true,
                    None => return Err(self.problem("a quote without its end")),
                },
                Some(plain) => text.push(plain),
            }
        }
        if opaque {
            pieces.0.push(Piece::Opaque);
        } else {
            pieces.push_str(&text, true);
        }
        Ok(())
    }

    fn dollar(&mut self, pieces: &mut Pieces, quoted: bool) -> Reading<()> {
        let start = self.at;
        if self.eat("$((") {
            pieces.0.push(Piece::Arithmetic(self.arithmetic_until("))")?));
        } else if self.eat("$(") {
            let list = self.nested(Self::list)?;
            self.expect(")")?;
            pieces.0.push(Piece::Substitution(list));
        } else if self.eat("${") {
            let parameter = self.deeper(|reader| reader.braced(start, quoted))?;
            pieces.0.push(Piece::Parameter(parameter));
        } else if self.looking_at("$[") {
            return Err(self.problem("arithmetic in its old form"));
        } else {
            self.at += 1;
            if self.looking_at("\\\n") {
                return Err(self.problem("an expansion that is joined over two lines"));
            }
            match self.parameter_name() {
                Some(name) => {
                    if self.looking_at("\\\n") {
                        return Err(self.problem("an expansion that is joined over two lines"));
                    }
                    let span = self.span(start);
                    let parameter = Parameter { span, name, quoted, change: Change::None, subscript: None };
                    pieces.0.push(Piece::Parameter(parameter));
                }
                None => pieces.push('$', true),
            }
        }
        Ok(())
    }

    /// Of more than one digit only within braces.
    fn parameter_name(&mut self) -> Option<String> {
        match self.peek() {
            Some(sign @ (b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.at += 1;
                Some(char::from(sign).to_string())
            }
            _ => self.name(),
        }
    }

    /// Behind `${`.
    fn braced(&mut self, start: usize, quoted: bool) -> Reading<Parameter> {
        if self.looking_at("!") {
            return self.indirect(start, quoted);
        }
        let counts = self.looking_at("#") && !self.looking_at("#}");
        if counts {
            self.at += 1;
        }
        let name = if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            let digits = self.at;
            while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                self.at += 1;
            }
            self.text[digits..self.at].to_owned()
        } else {
            self.parameter_name().ok_or_else(|| self.problem("an expansion"))?
        };
        let subscript = self.subscript()?;
        let change = if counts { Change::Length } else { self.change(quoted)? };
        self.expect("}")?;
        Ok(Parameter { span: self.span(start), name, quoted, change, subscript })
    }

    /// `${!array[@]}` and `${!prefix*}` list names; `${!x}` expands what a value names, which may run a command.
    fn indirect(&mut self, start: usize, quoted: bool) -> Reading<Parameter> {
        self.at += 1;
        let name = self.name();
        let lists = self.eat("[@]}") || self.eat("[*]}") || self.eat("@}") || self.eat("*}");
        match name {
            Some(name) if lists => {
                Ok(Parameter { span: self.span(start), name, quoted, change: Change::Length, subscript: None })
            }
            _ => Err(self.problem("an expansion of what a value names")),
        }
    }

    fn subscript(&mut self) -> Reading<Option<Arithmetic>> {
        if !self.eat("[") {
            return Ok(None);
        }
        if self.eat("@]") || self.eat("*]") {
            return Ok(Some(Arithmetic::default()));
        }
        Ok(Some(self.arithmetic_until("]")?))
    }

    fn change(&mut self, quoted: bool) -> Reading<Change> {
        const DEFAULTS: [&str; 6] = [":-", ":+", ":?", "-", "+", "?"];
        // In quotes a single quote is itself in `${x-'a'}`, but quotes in `${x#'a'}`.
        const PATTERNS: [&str; 9] = ["##", "#", "%%", "%", "^^", "^", ",,", ",", "/"];
        if self.looking_at("}") {
            return Ok(Change::None);
        }
        if self.eat(":=") || self.eat("=") {
            return Ok(Change::Assign(self.expansion_words(quoted)?));
        }
        if DEFAULTS.iter().chain(&PATTERNS).any(|sign| self.eat(sign)) {
            return Ok(Change::Words(self.expansion_words(quoted)?));
        }
        if self.eat(":") {
            let slice = self.arithmetic_until("}")?;
            self.at -= 1;
            return Ok(Change::Slice(slice));
        }
        // Others, as `@P`, expand a value once more.
        if ["@Q", "@U", "@u", "@L"].iter().any(|sign| self.eat(sign)) {
            return Ok(Change::None);
        }
        Err(self.problem("an expansion that is not known"))
    }

    /// Up to the brace that closes `${`.
    fn expansion_words(&mut self, quoted: bool) -> Reading<Vec<Piece>> {
        let mut pieces = Pieces::default();
        loop {
            match self.peek() {
                None => return Err(self.problem("a missing `}`")),
                Some(b'}') => return Ok(pieces.0),
                Some(b'{') => return Err(self.problem("a brace within an expansion")),
                Some(b'<' | b'>') if self.byte(self.at + 1) == Some(b'(') => {
                    return Err(self.problem("a process substitution within an expansion"));
                }
                Some(b'\'' | b'"') if quoted => {
                    return Err(self.problem("a quote within an expansion within quotes"));
                }
                Some(b'\\') if quoted => {
                    self.at += 1;
                    if self.take_char().is_none() {
                        return Err(self.problem("a missing `}`"));
                    }
                    pieces.0.push(Piece::Opaque);
                }
                Some(b'$') if quoted => self.dollar(&mut pieces, true)?,
                Some(b'`') if quoted => self.backquoted(&mut pieces, true)?,
                Some(_) => self.unquoted(&mut pieces)?,
            }
        }
    }

    /// Behind its opening sign, up to and with `end`: `))`, `]`, or `}`.
    pub(super) fn arithmetic_until(&mut self, end: &str) -> Reading<Arithmetic> {
        self.deeper(|reader| reader.arithmetic(end))
    }

    fn arithmetic(&mut self, end: &str) -> Reading<Arithmetic> {
        let start = self.at;
        let mut arithmetic = Arithmetic::default();
        let mut open: Vec<u8> = Vec::new();
        loop {
            let Some(byte) = self.peek() else { return Err(self.problem(&format!("a missing `{end}`"))) };
            if open.is_empty() && self.eat(end) {
                arithmetic.span = self.span(start);
                return Ok(arithmetic);
            }
            match byte {
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                b')' | b']' => {
                    if open.pop() != Some(byte) {
                        return Err(self.problem("a parenthesis without its other"));
                    }
                }
                b'$' => {
                    let mut pieces = Pieces::default();
                    self.dollar(&mut pieces, true)?;
                    arithmetic.pieces.extend(pieces.0);
                    continue;
                }
                b'`' => {
                    let mut pieces = Pieces::default();
                    self.backquoted(&mut pieces, false)?;
                    arithmetic.pieces.extend(pieces.0);
                    continue;
                }
                b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                    arithmetic.names.extend(self.name());
                    continue;
                }
                b'0'..=b'9' => {
                    self.skip_number();
                    continue;
                }
                b' ' | b'\t' | b'\n' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|'
                | b'^' | b'~' | b'?' | b':' | b',' => {}
                // The three parts of `for ((…))`.
                b';' if end == "))" => {}
                _ => return Err(self.problem("a sign in arithmetic that is not known")),
            }
            self.at += 1;
        }
    }

    /// `10`, `0x1f`, `16#ff`: their letters name nothing.
    fn skip_number(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b'@' | b'_')) {
            self.at += 1;
        }
    }

    /// `` `…` ``: its backslashes are taken away before it is read.
    fn backquoted(&mut self, pieces: &mut Pieces, quoted: bool) -> Reading<()> {
        self.at += 1;
        let start = self.at;
        let mut text = String::new();
        let mut escapes = false;
        loop {
            match self.take_char() {
                None => return Err(self.problem("a backquote without its end")),
                Some('`') => break,
                Some('\\') => match self.peek() {
                    Some(escaped @ (b'`' | b'$' | b'\\')) => {
                        text.push(char::from(escaped));
                        self.at += 1;
                        escapes = true;
                    }
                    Some(b'"') if quoted => return Err(self.problem("a quote in backquotes in quotes")),
                    _ => text.push('\\'),
                },
                Some(plain) => text.push(plain),
            }
        }
        let list = if escapes { self.displaced(start, &text)? } else { self.in_place(start)? };
        pieces.0.push(Piece::Substitution(list));
        Ok(())
    }

    fn displaced(&mut self, start: usize, text: &str) -> Reading<List> {
        let span = self.span(start - 1);
        if text.contains("<<") {
            return Err(self.problem("a heredoc in backquotes"));
        }
        let script = self.deeper(|reader| {
            let mut inner = Reader::new(text, Some(span.clone()));
            inner.depth = reader.depth;
            inner.whole()
        })?;
        self.displaced.push(start..self.at);
        Ok(script)
    }

    fn in_place(&mut self, start: usize) -> Reading<List> {
        let (behind, end) = (self.at, self.end);
        if self.text[start..behind].contains("<<") {
            return Err(self.problem("a heredoc in backquotes"));
        }
        self.at = start;
        self.end = behind - 1;
        let list = self.nested(Self::list)?;
        if self.at != self.end {
            return Err(self.problem("a word or sign where no command can end"));
        }
        (self.at, self.end) = (behind, end);
        Ok(list)
    }

    fn whole(&mut self) -> Reading<List> {
        let list = self.list()?;
        if self.at < self.end {
            return Err(self.problem("a word or sign where no command can end"));
        }
        Ok(list)
    }

    fn take_char(&mut self) -> Option<char> {
        let next = self.text[self.at..self.end].chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }
}

/// Characters of the same quoting are kept in one piece.
#[derive(Default)]
pub(super) struct Pieces(Vec<Piece>);

impl Pieces {
    fn push(&mut self, added: char, is_quoted: bool) {
        self.push_str(added.encode_utf8(&mut [0; 4]), is_quoted);
    }

    fn push_str(&mut self, added: &str, is_quoted: bool) {
        match self.0.last_mut() {
            Some(Piece::Text { text, quoted }) if *quoted == is_quoted => text.push_str(added),
            _ => self.0.push(Piece::Text { text: added.to_owned(), quoted: is_quoted }),
        }
    }
}
