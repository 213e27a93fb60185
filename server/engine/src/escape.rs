//! Shows a text so that nothing in it hides: control, invisible and direction-changing characters are written out (R8.4). Or takes out what colours it.

use std::collections::BTreeSet;

/// `\u{202e}` and the like for what a reader would not see; line breaks and tabs stay.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' => shown.push_str("\\r"),
            c if is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// The same for what must stay one line: a path, a title.
pub fn escaped_line(text: &str) -> String {
    escaped(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// The characters of `text` that `escaped` would write out, line breaks of any kind aside.
pub(crate) fn hidden(text: impl Iterator<Item = char>) -> BTreeSet<char> {
    text.filter(|c| !matches!(c, '\n' | '\t' | '\r') && is_hidden(*c)).collect()
}

/// Terminals' colours: `ESC [ … letter` (ECMA-48, 5.4).
pub(crate) fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut pieces = text.split("\u{1b}[");
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let parameters = piece.find(|c: char| !matches!(c, ' '..='?')).unwrap_or(piece.len());
        plain.extend(piece[parameters..].chars().skip(1));
    }
    plain
}

/// Controls, formats, other spaces than the plain one, fillers and private use: Unicode's `Cc`, `Cf`, `Zs`, `Zl`, `Zp`, `Co`, and the letters that draw nothing.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c != ' ' && c.is_whitespace())
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e000}'..='\u{f8ff}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(escaped(text), expected);
    }

    #[test]
    fn r8_4_nothing_hides_in_a_command() {
        check("ls\n\tx é 漢 🦀", "ls\n\tx é 漢 🦀");
        check("a\rb", "a\\rb");
        check("a\u{1b}[2Kb", "a\\u{1b}[2Kb");
        check("rm \u{202e}txt", "rm \\u{202e}txt");
        check("x\u{200b}y\u{a0}z\u{2028}", "x\\u{200b}y\\u{a0}z\\u{2028}");
        check("\u{e0041}", "\\u{e0041}");
    }
}
