//! What files have that models overlook. Each gives the line near which the edit must be, where it matters.

use copydesk_workspace::matching::LOOK_ALIKES;

use crate::dice::Dice;
use crate::edits::indent;
use crate::sources::Source;

pub(super) fn as_it_is(_: &mut Source, _: &mut Dice) -> Option<Option<usize>> {
    Some(None)
}

/// Changes some of the lines that fit; the edit must be near one of them.
pub(super) fn some_lines(
    source: &mut Source,
    dice: &mut Dice,
    change: impl Fn(&str, &mut Dice) -> Option<String>,
) -> Option<Option<usize>> {
    let mut changed = Vec::new();
    for _ in 0..24 {
        let at = dice.below(source.lines.len());
        if let Some(line) = change(&source.lines[at], dice).filter(|_| !changed.contains(&at)) {
            source.lines[at] = line;
            changed.push(at);
        }
    }
    if changed.is_empty() { None } else { Some(Some(*dice.one_of(&changed))) }
}

pub(super) const BLANKS: &[&str] = &[" ", "  ", "\t", "    "];

pub(super) fn blanks_at_ends(source: &mut Source, dice: &mut Dice) -> Option<Option<usize>> {
    some_lines(source, dice, |line, dice| Some(format!("{line}{}", dice.one_of(BLANKS))))
}

pub(super) fn blanks_in_blank_lines(source: &mut Source, dice: &mut Dice) -> Option<Option<usize>> {
    some_lines(source, dice, |line, dice| line.is_empty().then(|| dice.one_of(BLANKS).to_string()))
}

pub(super) fn leading(line: &str, sign: char) -> usize {
    line.len() - line.trim_start_matches(sign).len()
}

pub(super) fn tabs(source: &mut Source, dice: &mut Dice) -> Option<Option<usize>> {
    let unit = if source.lines.iter().any(|line| leading(line, ' ') == 2) { 2 } else { 4 };
    for line in &mut source.lines {
        let depth = leading(line, ' ');
        *line = format!("{}{}{}", "\t".repeat(depth / unit), " ".repeat(depth % unit), &line[depth..]);
    }
    let indented: Vec<usize> = (0..source.lines.len()).filter(|index| source.lines[*index].starts_with('\t')).collect();
    if indented.is_empty() { None } else { Some(Some(*dice.one_of(&indented))) }
}

pub(super) fn spaces(source: &mut Source, dice: &mut Dice) -> Option<Option<usize>> {
    for line in &mut source.lines {
        let depth = leading(line, '\t');
        *line = format!("{}{}", "    ".repeat(depth), &line[depth..]);
    }
    let indented: Vec<usize> = (0..source.lines.len()).filter(|index| source.lines[*index].starts_with("  ")).collect();
    if indented.is_empty() { None } else { Some(Some(*dice.one_of(&indented))) }
}

pub(super) fn aligned(source: &mut Source, dice: &mut Dice) -> Option<Option<usize>> {
    some_lines(source, dice, |line, dice| {
        let body = line.trim();
        let at = body.find([' '])?;
        let more = " ".repeat(1 + dice.below(5));
        Some(format!("{}{}{more}{}", indent(line), &body[..at], &body[at..]))
    })
}

pub(super) fn crlf(source: &mut Source, _: &mut Dice) -> Option<Option<usize>> {
    source.line_break = "\r\n";
    Some(None)
}

pub(super) fn lf(source: &mut Source, _: &mut Dice) -> Option<Option<usize>> {
    source.line_break = "\n";
    Some(None)
}

pub(super) fn typographic(source: &mut Source, dice: &mut Dice) -> Option<Option<usize>> {
    some_lines(source, dice, |line, dice| {
        let at =
            line.char_indices().filter(|(_, c)| matches!(c, '"' | '\'' | '-')).map(|(at, _)| at).collect::<Vec<_>>();
        let at = *at.get(dice.below(at.len().max(1)))?;
        Some(format!("{}{}{}", &line[..at], look_alike(&line[at..=at], dice)?, &line[at + 1..]))
    })
}

pub(super) fn look_alike(plain: &str, dice: &mut Dice) -> Option<char> {
    let alike: Vec<char> =
        LOOK_ALIKES.iter().filter(|(typed, _)| plain.starts_with(*typed)).map(|(_, other)| *other).collect();
    (!alike.is_empty()).then(|| *dice.one_of(&alike))
}

pub(super) fn no_break_spaces(source: &mut Source, dice: &mut Dice) -> Option<Option<usize>> {
    some_lines(source, dice, |line, _| {
        let depth = indent(line).len();
        let at = line[depth..].find(' ')? + depth;
        Some(format!("{}\u{a0}{}", &line[..at], &line[at + 1..]))
    })
}

pub(super) fn no_last_break(source: &mut Source, _: &mut Dice) -> Option<Option<usize>> {
    source.ends_with_break = false;
    Some(Some(source.lines.len() - 1))
}
