//! Reads a bash text into `syntax`, after the manual of bash 5 and stricter than bash: whatever could be read in two ways is an error, which asks. Statements
//! are here, words in `reader/words.rs`, heredocs in `reader/heredocs.rs`.
//!
//! The grammar of tree-sitter is not used for this: made to colour text, it reads some strings otherwise than bash does (`$'\\'` does not end for it), and
//! whatever stands in such a string would be lost. It is the second reading (`second_reading.rs`).

use super::syntax::{
    Assignment, For, Function, Heredoc, List, Redirect, RedirectKind, Script, Simple, Span, Statement, Test, Value,
    Word,
};

mod heredocs;
mod words;

/// Of compound statements and substitutions. A stack of 2 MiB holds several times as many.
const DEEPEST: usize = 40;

/// Why a text is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) span: Span,
    pub(super) reason: String,
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
    starts: Vec<usize>,
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
            starts: Vec::new(),
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

    fn compound(&mut self) -> Reading<Option<Statement>> {
        let statement = if self.looking_at("((") {
            self.at += 2;
            let arithmetic = self.arithmetic_until("))")?;
            Statement::Arithmetic(arithmetic)
        } else if self.eat("(") {
            let list = self.nested(Self::list)?;
            self.expect(")")?;
            Statement::Subshell(list)
        } else if self.eat_reserved("{") {
            let list = self.deeper(Self::list)?;
            self.expect_reserved("}")?;
            Statement::Group(list)
        } else if self.eat_reserved("if") {
            self.conditional()?
        } else if self.eat_reserved("while") || self.eat_reserved("until") {
            let condition = self.deeper(Self::list)?;
            Statement::While(condition, self.do_group()?)
        } else if self.eat_reserved("for") || self.eat_reserved("select") {
            self.for_loop()?
        } else if self.eat_reserved("case") {
            self.case()?
        } else if self.eat_reserved("function") {
            self.skip_blanks();
            let name = self.function_name()?;
            self.skip_blanks();
            if self.eat("(") {
                self.skip_blanks();
                self.expect(")")?;
            }
            self.function(name)?
        } else if self.eat_reserved("[[") {
            self.test()?
        } else if self.at_reserved("coproc") {
            return Err(self.problem("a coprocess"));
        } else {
            return Ok(None);
        };
        Ok(Some(statement))
    }

    fn conditional(&mut self) -> Reading<Statement> {
        let mut arms = Vec::new();
        loop {
            let condition = self.deeper(Self::list)?;
            self.expect_reserved("then")?;
            arms.push((condition, self.deeper(Self::list)?));
            if self.eat_reserved("elif") {
                continue;
            }
            let rest = if self.eat_reserved("else") { self.deeper(Self::list)? } else { Vec::new() };
            self.expect_reserved("fi")?;
            return Ok(Statement::If(arms, rest));
        }
    }

    fn do_group(&mut self) -> Reading<List> {
        self.expect_reserved("do")?;
        let body = self.deeper(Self::list)?;
        self.expect_reserved("done")?;
        Ok(body)
    }

    fn for_loop(&mut self) -> Reading<Statement> {
        self.skip_blanks();
        if self.eat("((") {
            let head = self.arithmetic_until("))")?;
            self.skip_blanks();
            self.eat(";");
            self.skip_lines()?;
            let body = self.loop_body()?;
            let head = Statement::Arithmetic(head);
            return Ok(Statement::While(vec![head], body));
        }
        let start = self.at;
        let variable = self.name().ok_or_else(|| self.problem("a `for` without a name"))?;
        let span = self.span(start);
        self.skip_lines()?;
        let values = if self.eat_reserved("in") {
            let mut values = Vec::new();
            loop {
                self.skip_blanks();
                match self.peek() {
                    Some(b';' | b'\n') => break,
                    Some(b'#') => self.skip_comment(),
                    _ => values.push(self.word()?),
                }
            }
            Some(values)
        } else {
            None
        };
        self.skip_blanks();
        self.eat(";");
        self.skip_lines()?;
        let body = self.loop_body()?;
        Ok(Statement::For(For { variable, span, values, body }))
    }

    fn loop_body(&mut self) -> Reading<List> {
        if self.eat_reserved("{") {
            let body = self.deeper(Self::list)?;
            self.expect_reserved("}")?;
            return Ok(body);
        }
        self.do_group()
    }

    fn case(&mut self) -> Reading<Statement> {
        self.skip_blanks();
        let subject = self.word()?;
        self.skip_lines()?;
        self.expect_reserved("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.eat_reserved("esac") {
                return Ok(Statement::Case(subject, arms));
            }
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                patterns.push(self.word()?);
                self.skip_blanks();
                if !self.eat("|") {
                    break;
                }
            }
            self.expect(")")?;
            let list = self.deeper(Self::list)?;
            arms.push((patterns, list));
            self.skip_blanks();
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) {
                self.skip_lines()?;
                self.expect_reserved("esac")?;
                return Ok(Statement::Case(subject, arms));
            }
        }
    }

    fn function(&mut self, name: String) -> Reading<Statement> {
        self.skip_lines()?;
        let start = self.at;
        let body = self.deeper(Self::command)?;
        if matches!(body, Statement::Simple(_) | Statement::Function(_)) {
            self.at = start;
            return Err(self.problem("a function without a body"));
        }
        Ok(Statement::Function(Function { name, body: Box::new(body) }))
    }

    fn function_name(&mut self) -> Reading<String> {
        let start = self.at;
        let word = self.word()?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/' | b'+');
        if word.raw.is_empty() || !word.raw.bytes().all(plain) || word.raw.len() != self.at - start {
            self.at = start;
            return Err(self.problem("the name of a function"));
        }
        Ok(word.raw)
    }

    /// Behind `[[`.
    fn test(&mut self) -> Reading<Statement> {
        let start = self.at;
        let mut test = Test::default();
        let mut last: Option<Word> = None;
        loop {
            self.skip_lines()?;
            if self.eat_reserved("]]") {
                test.words.extend(last);
                test.span = self.span(start);
                return Ok(Statement::Test(test));
            }
            if self.looking_at("<(") || self.looking_at(">(") {
                return Err(self.problem("a process substitution in a test"));
            }
            if ["&&", "||", "(", ")", "<", ">"].iter().any(|sign| self.eat(sign)) || self.eat_reserved("!") {
                test.words.extend(last.take());
                continue;
            }
            let word = self.word()?;
            match word.raw.as_str() {
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    self.skip_lines()?;
                    test.numbers.extend(last.take());
                    test.numbers.push(self.word()?);
                }
                "-v" | "-R" => {
                    self.skip_lines()?;
                    if !self.at_reserved("]]") {
                        test.names.push(self.word()?);
                    }
                }
                "=~" => {
                    self.skip_blanks();
                    test.words.push(self.regex()?);
                }
                _ => test.words.extend(last.replace(word)),
            }
        }
    }

    fn simple(&mut self) -> Reading<Statement> {
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
                    self.starts.retain(|&at| at != start);
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
                    self.starts.push(self.at);
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
                let head = super::syntax::Piece::Text { text: head, quoted: true };
                std::iter::once(head).chain(word.pieces.iter().cloned()).collect()
            }
            Value::Array(_) => vec![super::syntax::Piece::Opaque],
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
                values.push(Word { pieces: vec![super::syntax::Piece::Arithmetic(index)], ..Word::default() });
            }
            values.push(self.word()?);
        }
    }

    fn redirect(&mut self) -> Reading<Option<Redirect>> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let numbered = self.at > start;
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
            return Ok(Some(self.heredoc(start, sign == "<<-")?));
        }
        self.skip_blanks();
        let target = self.word()?;
        let duplicates = target.raw == "-"
            || target.raw.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()) && !target.raw.is_empty();
        let kind = match sign {
            "<<<" => RedirectKind::HereString(target),
            "<&" | ">&" if duplicates => RedirectKind::Duplicate,
            "<&" => return Err(self.problem("a file descriptor that is computed")),
            "<" => RedirectKind::Read(target),
            _ => RedirectKind::Write(target),
        };
        Ok(Some(Redirect { span: self.span(start), kind }))
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
            return Err(self.problem("nested too deeply"));
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
        Problem { span: self.within.clone().unwrap_or(self.at..end), reason: reason.to_owned() }
    }
}
