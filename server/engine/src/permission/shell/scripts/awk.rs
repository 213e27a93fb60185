//! Programs of awk, after POSIX and the manual of gawk: which files they read and write, and what they run. Only what stands there as one plain string can
//! be told.

use super::Work;

pub(super) fn work(program: &str) -> Work {
    if only_prints(program) {
        return Work::default();
    }
    match tokens(program) {
        Some(tokens) => Reading { tokens: &tokens, work: Work::default() }.read(),
        None => Work::unclear(),
    }
}

/// Nothing in it could be a redirect, a pipe or a call that runs something, whatever is a string of it and what is not.
fn only_prints(program: &str) -> bool {
    const RISKY: [&str; 8] = ["system", "getline", "|", ">", "@", "ARG", "PROCINFO", "SYMTAB"];
    let program = program.replace("||", " ").replace(">=", " ");
    !RISKY.iter().any(|word| program.contains(word))
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// `None`: with escapes that are not read here.
    Text(Option<String>),
    Pattern,
    Word(String),
    Number,
    Sign(&'static str),
    Other(char),
    Line,
}

/// `None`: could be read in several ways.
fn tokens(program: &str) -> Option<Vec<Token>> {
    const SIGNS: [&str; 12] = ["||", "&&", ">=", "<=", "==", "!=", ">>", "|&", "++", "--", "**", "!~"];
    let mut tokens = Vec::new();
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        if c == '\n' {
            tokens.push(Token::Line);
            rest = behind;
        } else if c.is_whitespace() {
            rest = behind;
        } else if c == '#' {
            rest = behind.find('\n').map_or("", |end| &behind[end..]);
        } else if c == '\\' {
            rest = behind.strip_prefix('\n')?;
        } else if c == '"' {
            let (text, behind) = string(behind)?;
            tokens.push(Token::Text(text));
            rest = behind;
        } else if c == '/' && is_value(tokens.last()) {
            // A division, behind a number surely. Else it may be a pattern all the same, which would have an end.
            let line = behind.split('\n').next().unwrap_or_default();
            if line.contains('/') && tokens.last() != Some(&Token::Number) {
                return None;
            }
            tokens.push(Token::Other('/'));
            rest = behind;
        } else if c == '/' {
            tokens.push(Token::Pattern);
            rest = pattern(behind)?;
        } else if c.is_ascii_digit() || c == '.' {
            tokens.push(Token::Number);
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        } else if c.is_ascii_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else if c.is_ascii_punctuation() && !matches!(c, '@' | '`' | '\'') {
            tokens.push(Token::Other(c));
            rest = behind;
        } else {
            return None;
        }
    }
    Some(tokens)
}

/// Behind it `/` divides.
fn is_value(token: Option<&Token>) -> bool {
    // `case` is the name of a variable to some.
    const BEFORE_PATTERNS: [&str; 6] = ["print", "printf", "return", "in", "else", "do"];
    match token {
        Some(Token::Word(word)) => !BEFORE_PATTERNS.contains(&word.as_str()),
        Some(Token::Text(_) | Token::Pattern | Token::Number | Token::Sign("++" | "--")) => true,
        Some(Token::Other(c)) => matches!(c, ')' | ']' | '$'),
        Some(Token::Sign(_) | Token::Line) | None => false,
    }
}

fn string(text: &str) -> Option<(Option<String>, &str)> {
    let mut value = Some(String::new());
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\n' => return None,
            '\\' => {
                chars.next();
                value = None;
            }
            _ => value.iter_mut().for_each(|value| value.push(c)),
        }
    }
    None
}

/// What stands behind the end. `None` where awks differ in which `/` that is: in brackets that hold `/`, `[`, `]` or escapes of these.
fn pattern(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let c = rest.chars().next()?;
        let behind = &rest[c.len_utf8()..];
        rest = match c {
            '/' => return Some(behind),
            '\n' => return None,
            '\\' => &behind[behind.chars().next().filter(|c| *c != '\n')?.len_utf8()..],
            '[' => bracket(behind)?,
            _ => behind,
        };
    }
}

/// What stands behind brackets that all awks read alike.
fn bracket(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix('^').unwrap_or(text);
    let mut is_empty = true;
    loop {
        let c = rest.chars().next()?;
        let behind = &rest[c.len_utf8()..];
        rest = match c {
            ']' => return (!is_empty).then_some(behind),
            '[' => {
                let (class, behind) = behind.strip_prefix(':')?.split_once(":]")?;
                class.bytes().all(|byte| byte.is_ascii_lowercase()).then_some(behind)?
            }
            '\\' => &behind[behind.chars().next().filter(|c| c.is_ascii_alphanumeric() || *c == '.')?.len_utf8()..],
            '/' | '\n' => return None,
            _ => behind,
        };
        is_empty = false;
    }
}

struct Reading<'a> {
    tokens: &'a [Token],
    work: Work,
}

impl Reading<'_> {
    fn read(mut self) -> Work {
        // Parentheses that were opened since the last `print`; `None` outside of one.
        let mut printing: Option<usize> = None;
        for at in 0..self.tokens.len() {
            match &self.tokens[at] {
                Token::Word(word) if word == "print" || word == "printf" => printing = Some(0),
                Token::Word(word) if word == "system" => self.call(at),
                Token::Word(word) if word == "getline" => self.get_line(at),
                Token::Word(word) if word.starts_with("ARG") || word == "PROCINFO" || word == "SYMTAB" => {
                    self.work.is_unclear = true
                }
                Token::Line if self.goes_on(at, printing) => {}
                Token::Line | Token::Other(';' | '}') => printing = None,
                Token::Other('(') => printing = printing.map(|depth| depth + 1),
                Token::Other(')') => printing = printing.map(|depth| depth.saturating_sub(1)),
                Token::Other('>') | Token::Sign(">>") if printing == Some(0) => match self.alone(at + 1) {
                    Some(file) => self.work.writes.push(file),
                    None => self.work.is_unclear = true,
                },
                // Nothing else has this sign.
                Token::Sign(">>" | "|&") => self.work.is_unclear = true,
                Token::Other('|') if self.is_word(at + 1, "getline") => {
                    // What stands before the string is a part of the command, unless a new expression begins with it.
                    let begins = |token: Option<&Token>| {
                        matches!(token, None | Some(Token::Line | Token::Other('{' | ';' | '(' | '}')))
                    };
                    let before = at.checked_sub(2).map(|before| &self.tokens[before]);
                    match at.checked_sub(1).map(|text| &self.tokens[text]) {
                        Some(Token::Text(Some(command))) if begins(before) => self.work.runs.push(command.clone()),
                        _ => self.work.is_unclear = true,
                    }
                }
                Token::Other('|') => match self.alone(at + 1) {
                    Some(command) if printing == Some(0) => self.work.runs.push(command),
                    _ => self.work.is_unclear = true,
                },
                _ => {}
            }
        }
        if self.work.reads.iter().chain(&self.work.writes).any(|file| file.starts_with("/inet")) {
            self.work.is_unclear = true;
        }
        self.work
    }

    /// Whether the line at whose end `at` stands is continued in the next one.
    fn goes_on(&self, at: usize, depth: Option<usize>) -> bool {
        let before = at.checked_sub(1).map(|before| &self.tokens[before]);
        let is_open = matches!(before, Some(Token::Other(',' | '?' | ':') | Token::Sign("&&" | "||") | Token::Line));
        is_open || depth.is_some_and(|depth| depth > 0)
    }

    /// `system("…")`.
    fn call(&mut self, at: usize) {
        match (self.tokens.get(at + 1), self.tokens.get(at + 2), self.tokens.get(at + 3)) {
            (Some(Token::Other('(')), Some(Token::Text(Some(command))), Some(Token::Other(')'))) => {
                self.work.runs.push(command.clone());
            }
            _ => self.work.is_unclear = true,
        }
    }

    /// `getline`, `getline x`, `getline x < "file"`. Without a file it takes the next line of what is read anyway.
    fn get_line(&mut self, at: usize) {
        let ends = |token: Option<&Token>| matches!(token, None | Some(Token::Line | Token::Other(';' | '}' | ')')));
        let at = match self.tokens.get(at + 1) {
            Some(Token::Word(_)) => at + 2,
            _ => at + 1,
        };
        match (self.tokens.get(at), self.tokens.get(at + 1)) {
            (Some(Token::Other('<')), Some(Token::Text(Some(file)))) if ends(self.tokens.get(at + 2)) => {
                self.work.reads.push(file.clone());
            }
            (token, _) if ends(token) || matches!(token, Some(Token::Other('>') | Token::Sign("==" | "!=" | "&&"))) => {
            }
            _ => self.work.is_unclear = true,
        }
    }

    /// The string that stands there by itself.
    fn alone(&self, at: usize) -> Option<String> {
        let is_end = matches!(self.tokens.get(at + 1), None | Some(Token::Line | Token::Other(';' | '}')));
        match self.tokens.get(at) {
            Some(Token::Text(text)) if is_end => text.clone(),
            _ => None,
        }
    }

    fn is_word(&self, at: usize, expected: &str) -> bool {
        matches!(self.tokens.get(at), Some(Token::Word(word)) if word == expected)
    }
}
