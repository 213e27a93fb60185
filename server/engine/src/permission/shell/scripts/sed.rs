//! Scripts of sed, after the manual of GNU sed and POSIX: which files they read and write, and what they run.

use super::Work;

/// Seds differ in whether a delimiter in brackets (`s/[/]/x/`) ends the pattern: each reading that some sed accepts counts.
pub(super) fn work(script: &str) -> Work {
    let readings = [true, false].map(|brackets| Reading { brackets, work: Work::default() }.read(script));
    let mut accepted = readings.into_iter().filter_map(|reading| match reading {
        Ok(work) => Some(work),
        Err(Refusal::Wrong) => None,
        Err(Refusal::Unclear) => Some(Work::unclear()),
    });
    match accepted.next() {
        Some(first) => accepted.fold(first, Work::with),
        None => Work::unclear(),
    }
}

enum Refusal {
    /// No sed of this kind takes it.
    Wrong,
    /// Some may.
    Unclear,
}

struct Reading {
    /// A delimiter in brackets is a part of the pattern.
    brackets: bool,
    work: Work,
}

impl Reading {
    fn read(mut self, script: &str) -> Result<Work, Refusal> {
        let mut rest = script;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '}'));
            if rest.is_empty() {
                return Ok(self.work);
            }
            rest = self.command(rest)?;
        }
    }

    /// Gives what stands behind it.
    fn command<'a>(&mut self, script: &'a str) -> Result<&'a str, Refusal> {
        let rest = self.addresses(script)?;
        let mut chars = rest.chars();
        let command = chars.next().ok_or(Refusal::Wrong)?;
        let behind = chars.as_str();
        match command {
            '{' => Ok(behind),
            '#' => Ok(line(behind).1),
            'p' | 'd' | 'q' | 'Q' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | '=' | 'l' | 'z' | 'F' => {
                ended(behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '))
            }
            ':' | 'b' | 't' | 'T' => {
                let label = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                ended(behind.trim_start_matches(' ').trim_start_matches(label))
            }
            'a' | 'i' | 'c' => Ok(behind_text(behind)),
            's' => self.substitution(behind),
            'y' => {
                let (delimiter, list) = delimiter(behind)?;
                let list = delimited(list, delimiter, false).ok_or(Refusal::Wrong)?;
                ended(delimited(list, delimiter, false).ok_or(Refusal::Wrong)?)
            }
            'r' | 'R' => Ok(named(behind, &mut self.work.reads)),
            'w' | 'W' => Ok(named(behind, &mut self.work.writes)),
            'e' => {
                let (command, rest) = line(behind);
                match command.trim() {
                    "" => self.work.is_unclear = true,
                    command => self.work.runs.push(command.to_owned()),
                }
                Ok(rest)
            }
            // Commands are letters.
            command if command.is_ascii_punctuation() => Err(Refusal::Wrong),
            _ => Err(Refusal::Unclear),
        }
    }

    fn substitution<'a>(&mut self, behind: &'a str) -> Result<&'a str, Refusal> {
        let (delimiter, pattern) = delimiter(behind)?;
        let replacement = delimited(pattern, delimiter, self.brackets).ok_or(Refusal::Wrong)?;
        let mut flags = delimited(replacement, delimiter, false).ok_or(Refusal::Wrong)?;
        loop {
            let mut chars = flags.chars();
            match chars.next() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' | ' ') => flags = chars.as_str(),
                // It runs what the line is then.
                Some('e') => {
                    self.work.is_unclear = true;
                    flags = chars.as_str();
                }
                Some('w') => return Ok(named(chars.as_str(), &mut self.work.writes)),
                None | Some(';' | '}' | '\n' | '#') => return Ok(flags),
                Some('\r' | '\t') => return Err(Refusal::Unclear),
                Some(_) => return Err(Refusal::Wrong),
            }
        }
    }

    /// Numbers, `$`, `/pattern/`, `\cpatternc`, two of them with a comma, `!`.
    fn addresses<'a>(&self, script: &'a str) -> Result<&'a str, Refusal> {
        let mut rest = script;
        loop {
            let pattern = match rest.strip_prefix('/') {
                Some(pattern) => Some(('/', pattern)),
                None => match rest.strip_prefix('\\') {
                    Some(behind) => Some(delimiter(behind)?),
                    None => None,
                },
            };
            let before = rest.len();
            if let Some((delimiter, pattern)) = pattern {
                let behind = delimited(pattern, delimiter, self.brackets).ok_or(Refusal::Wrong)?;
                rest = behind.trim_start_matches(['I', 'M']);
            }
            rest =
                rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+' | '!' | ' '));
            if rest.len() == before {
                return Ok(rest);
            }
        }
    }
}

fn ended(rest: &str) -> Result<&str, Refusal> {
    let is_ended = rest.is_empty() || rest.starts_with([';', '}', '\n', '#']);
    is_ended.then_some(rest).ok_or(Refusal::Unclear)
}

fn line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// The name of a file goes on to the end of the line, whatever stands in it.
fn named<'a>(text: &'a str, names: &mut Vec<String>) -> &'a str {
    let (name, rest) = line(text);
    names.push(name.trim_start().to_owned());
    rest
}

/// A text goes on to the end of the line, and further behind a backslash.
fn behind_text(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if c == '\n' && !escaped {
            return &text[at..];
        }
        escaped = c == '\\' && !escaped;
    }
    ""
}

fn delimiter(text: &str) -> Result<(char, &str), Refusal> {
    let mut chars = text.chars();
    let first = chars.next().ok_or(Refusal::Wrong)?;
    // Letters and signs with a meaning of their own are read in several ways.
    let is_plain = !first.is_alphanumeric() && first.is_ascii_graphic() && !"\\[]^$*.{}".contains(first);
    if is_plain { Ok((first, chars.as_str())) } else { Err(Refusal::Unclear) }
}

/// What stands behind the next `delimiter` that is not escaped, nor in brackets where these hide it.
fn delimited(text: &str, delimiter: char, brackets: bool) -> Option<&str> {
    let mut escaped = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == delimiter => return Some(&text[at + c.len_utf8()..]),
            '\n' => return None,
            '[' if brackets => {
                let end = at + 1 + bracket(&text[at + 1..])?;
                while chars.clone().next().is_some_and(|(at, _)| at < end) {
                    chars.next();
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the brackets end that were opened before `text`: `^]a-z[:alpha:]]`.
fn bracket(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('^').unwrap_or(text);
    let mut at = text.len() - inside.strip_prefix(']').unwrap_or(inside).len();
    loop {
        let rest = text.get(at..)?;
        let first = rest.chars().next()?;
        let class = ["[:", "[.", "[="].into_iter().find(|class| rest.starts_with(class));
        at += match (first, class) {
            (']', _) => return Some(at + 1),
            ('\n', _) => return None,
            (_, Some(class)) => 2 + rest[2..].find(&format!("{}]", &class[1..]))? + 2,
            (_, None) => first.len_utf8(),
        };
    }
}
