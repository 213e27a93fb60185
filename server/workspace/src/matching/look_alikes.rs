//! Characters that models type for others: what a stage may take for one another (R3.1), and nothing else. White space of every width is white space
//! and not in this list.

use std::borrow::Cow;

/// Characters that a stage may take for one another: (as models type it, as files have it).
pub const LOOK_ALIKES: &[(char, char)] = &[
    ('"', '\u{201C}'),
    ('"', '\u{201D}'),
    ('"', '\u{201E}'),
    ('"', '\u{201F}'),
    ('"', '\u{2033}'),
    ('"', '\u{FF02}'),
    ('\'', '\u{2018}'),
    ('\'', '\u{2019}'),
    ('\'', '\u{201A}'),
    ('\'', '\u{201B}'),
    ('\'', '\u{2032}'),
    ('\'', '\u{02BC}'),
    ('\'', '\u{FF07}'),
    ('-', '\u{2010}'),
    ('-', '\u{2011}'),
    ('-', '\u{2012}'),
    ('-', '\u{2013}'),
    ('-', '\u{2014}'),
    ('-', '\u{2015}'),
    ('-', '\u{2212}'),
    ('-', '\u{FE63}'),
    ('-', '\u{FF0D}'),
];

/// Every character as models type it.
pub(super) fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(|char| plain(char) != char) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(plain).collect())
}

pub(super) fn plain(char: char) -> char {
    if char.is_ascii() {
        return char;
    }
    LOOK_ALIKES.iter().find(|(_, other)| *other == char).map_or(char, |(plain, _)| *plain)
}

/// The look-alikes of `file` that stand where `old` has others, by code points; both are equal but for those and white space.
pub(super) fn taken(old: &str, file: &str) -> Vec<String> {
    let visible = |text: &str| text.chars().filter(|char| !char.is_whitespace()).collect::<Vec<_>>();
    let mut taken = Vec::new();
    for (old, file) in visible(old).into_iter().zip(visible(file)).filter(|(old, file)| old != file) {
        let named = format!("U+{:04X} for U+{:04X}", u32::from(file), u32::from(old));
        if !taken.contains(&named) {
            taken.push(named);
        }
    }
    taken
}
