//! Simple commands of a bash text: assignments, words and redirects.

use super::{Reader, Reading, words};
use crate::permission::shell::syntax::{Assignment, Piece, Redirect, RedirectKind, Simple, Statement, Value, Word};

impl Reader<'_> {
    pub(super) fn simple(&mut self) -> Reading<Statement> {
        let start = self.at;
        let mut simple = Simple {
            span: 0..0,
            assignments: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            raw: String::new(),
        };
        let mut last = start;
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') if !self.looking_at("&>") => break,
                Some(b'#') => {
                    self.skip_comment();
                    break;
                }
                Some(b'(') => {
                    let alone = simple.assignments.is_empty() && simple.redirects.is_empty() && simple.words.len() == 1;
                    if !alone {
                        return Err(self.problem("a parenthesis in a command"));
                    }
                    self.at = start;
                    let name = self.function_name()?;
                    self.starts.remove(&start);
                    self.skip_blanks();
                    self.expect("(")?;
                    self.skip_blanks();
                    self.expect(")")?;
                    return self.function(name);
                }
                _ => {}
            }
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
            } else if let Some(assignment) = self.assignment(&simple.words)? {
                // Behind `export` and its like it is a word too.
                if !simple.words.is_empty() {
                    simple.words.push(self.assignment_as_word(&assignment));
                }
                simple.assignments.push(assignment);
            } else {
                if simple.words.is_empty() {
                    self.starts.insert(self.at);
                }
                simple.words.push(self.word()?);
            }
            last = self.at;
        }
        if last == start {
            return Err(self.problem("a sign where a command should be"));
        }
        simple.span = self.within.clone().unwrap_or(start..last);
        simple.raw = words::joined(&self.text[start..last]);
        Ok(Statement::Simple(simple))
    }

    fn assignment_as_word(&self, assignment: &Assignment) -> Word {
        let raw = assignment.raw.clone();
        let pieces = match &assignment.value {
            Value::Word(word) => {
                let head = raw.strip_suffix(word.raw.as_str()).unwrap_or_default().to_owned();
                let head = Piece::Text { text: head, quoted: true };
                std::iter::once(head).chain(word.pieces.iter().cloned()).collect()
            }
            Value::Array(_) => vec![Piece::Opaque],
        };
        Word { span: assignment.span.clone(), raw, pieces }
    }

    /// `NAME=value`, `NAME+=value`, `NAME[i]=value`, `NAME=(…)`, where one may stand.
    fn assignment(&mut self, before: &[Word]) -> Reading<Option<Assignment>> {
        const DECLARING: [&str; 5] = ["declare", "typeset", "export", "readonly", "local"];
        let declares = before.first().is_some_and(|word| DECLARING.contains(&word.raw.as_str()));
        if !before.is_empty() && !declares {
            return Ok(None);
        }
        let start = self.at;
        let Some(name) = self.name() else { return Ok(None) };
        let mut subscript = None;
        if self.peek() == Some(b'[') {
            self.at += 1;
            subscript = Some(self.arithmetic_until("]")?);
        }
        if !(self.eat("=") || self.eat("+=")) {
            self.at = start;
            return Ok(None);
        }
        let value = if self.eat("(") { Value::Array(self.array()?) } else { Value::Word(self.value()?) };
        Ok(Some(Assignment {
            span: self.span(start),
            name,
            subscript,
            value,
            raw: words::joined(&self.text[start..self.at]),
        }))
    }

    /// Behind `=(`.
    fn array(&mut self) -> Reading<Vec<Word>> {
        let mut values = Vec::new();
        loop {
            self.skip_lines()?;
            if self.eat(")") {
                return Ok(values);
            }
            if self.peek() == Some(b'[') {
                self.at += 1;
                let index = self.arithmetic_until("]")?;
                self.expect("=")?;
                values.push(Word { pieces: vec![Piece::Arithmetic(index)], ..Word::default() });
            }
            values.push(self.word()?);
        }
    }

    pub(super) fn redirect(&mut self) -> Reading<Option<Redirect>> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let number = self.at;
        let numbered = number > start;
        let feeds = self.text[start..number].trim_start_matches('0').is_empty();
        if self.looking_at("<(") || self.looking_at(">(") {
            if numbered {
                return Err(self.problem("a process substitution behind a number"));
            }
            return Ok(None);
        }
        const SIGNS: [&str; 12] = ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|", "<", ">"];
        let sign = SIGNS.iter().find(|sign| self.looking_at(sign)).copied();
        let sign = match sign {
            Some(sign) if !(numbered && sign.starts_with('&')) => sign,
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        self.at += sign.len();
        if matches!(sign, "<<" | "<<-") {
            return Ok(Some(self.heredoc(start, sign == "<<-", feeds)?));
        }
        self.skip_blanks();
        let target = self.word()?;
        let duplicates = target.raw == "-"
            || target.raw.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()) && !target.raw.is_empty();
        let feeds = feeds && (numbered || sign.starts_with('<')) && target.raw != "-";
        let kind = match sign {
            "<<<" => RedirectKind::HereString(target),
            "<&" | ">&" if duplicates => RedirectKind::Duplicate,
            "<&" => return Err(self.problem("a file descriptor that is computed")),
            "<" => RedirectKind::Read(target),
            _ => RedirectKind::Write(target),
        };
        Ok(Some(Redirect { span: self.span(start), kind, feeds }))
    }
}
