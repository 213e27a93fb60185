//! Text that a provider has escaped once too often (C18).

/// How much is taken for an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// `\"`, `\'`, `` \` ``, `\$`: line breaks of the text are real, so that its `\n` may be one of the program's.
    Quotes,
    /// Those and `\n`, `\t`, `\r`, `\\`, and a backslash before a line break.
    All,
}

/// `None` where there is nothing to unescape.
pub(super) fn unescaped(text: &str, escapes: Escapes) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let meant = match (char, chars.peek()) {
            ('\\', Some(quote @ ('"' | '\'' | '`' | '$'))) => Some(*quote),
            ('\\', Some(other)) if escapes == Escapes::All => match other {
                'n' | '\n' => Some('\n'),
                't' => Some('\t'),
                'r' => Some('\r'),
                '\\' => Some('\\'),
                _ => None,
            },
            _ => None,
        };
        if meant.is_some() {
            chars.next();
            changed = true;
        }
        out.push(meant.unwrap_or(char));
    }
    changed.then_some(out)
}

/// The one-based line of the first `\n` in two characters that is not inside a quoted string of its line.
pub(super) fn literal_line_break(text: &str) -> Option<usize> {
    text.split('\n').position(has_bare_break).map(|index| index + 1)
}

fn has_bare_break(line: &str) -> bool {
    let mut quote = None;
    let mut inside = false;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => {
                let is_break = chars.next() == Some('n');
                if is_break && quote.is_none() {
                    return true;
                }
                inside |= is_break;
            }
            '"' | '\'' | '`' if quote == Some(char) => {
                quote = None;
                inside = false;
            }
            '"' | '\'' | '`' if quote.is_none() => quote = Some(char),
            _ => {}
        }
    }
    // What opened and never closed was an apostrophe.
    inside
}
