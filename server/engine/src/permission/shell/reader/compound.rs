//! Compound statements of a bash text: conditions, loops, functions, tests.

use super::{Reader, Reading};
use crate::permission::shell::syntax::{For, Function, List, Statement, Test, Word};

impl Reader<'_> {
    pub(super) fn compound(&mut self) -> Reading<Option<Statement>> {
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

    pub(super) fn function(&mut self, name: String) -> Reading<Statement> {
        self.skip_lines()?;
        let start = self.at;
        let body = self.deeper(Self::command)?;
        if matches!(body, Statement::Simple(_) | Statement::Function(_)) {
            self.at = start;
            return Err(self.problem("a function without a body"));
        }
        Ok(Statement::Function(Function { name, body: Box::new(body) }))
    }

    pub(super) fn function_name(&mut self) -> Reading<String> {
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
}
