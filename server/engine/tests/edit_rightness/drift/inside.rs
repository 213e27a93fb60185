//! What models write otherwise than the file has it, inside of R3.1.

use copydesk_workspace::matching::LOOK_ALIKES;

use super::files::{BLANKS, leading, look_alike};
use crate::dice::Dice;
use crate::edits::{Line, Meant, indent};
use crate::sources::Source;

/// What is new in place of what goes may take over something of it or not: the edit does not say.
pub(super) fn replaces(lines: &[Line]) -> bool {
    lines.iter().any(|line| line.new.is_none()) && lines.iter().any(Line::is_added)
}

/// Lines of the file, old and new; none where nothing would be different.
pub(super) fn known_lines(lines: &[Line], belief: impl Fn(&str) -> String) -> Option<Vec<Line>> {
    let believed = |line: &Line| match line.is_added() {
        true => line.clone(),
        false => Line { old: line.old.as_deref().map(&belief), new: line.new.as_deref().map(&belief) },
    };
    differing(lines, lines.iter().map(believed).collect())
}

pub(super) fn all_lines(lines: &[Line], belief: impl Fn(&str) -> Option<String>) -> Option<Vec<Line>> {
    let of = |side: &Option<String>| match side {
        Some(text) => belief(text).map(Some),
        None => Some(None),
    };
    let believed = lines.iter().map(|line| Some(Line { old: of(&line.old)?, new: of(&line.new)? }));
    differing(lines, believed.collect::<Option<Vec<_>>>()?)
}

/// An old text that is as it should be has no drift.
pub(super) fn differing(lines: &[Line], believed: Vec<Line>) -> Option<Vec<Line>> {
    let olds = |lines: &[Line]| lines.iter().filter_map(|line| line.old.clone()).collect::<Vec<_>>();
    (olds(lines) != olds(&believed)).then_some(believed)
}

pub(super) fn without_blanks_at_ends(lines: &[Line], meant: &Meant, _: &Source, _: &mut Dice) -> Option<Vec<Line>> {
    if meant.is_part || replaces(lines) {
        return None;
    }
    known_lines(lines, |text| text.trim_end().to_owned())
}

pub(super) fn with_blanks_at_ends(lines: &[Line], meant: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let blanks = *dice.one_of(BLANKS);
    // A part of a line goes on in the file.
    if meant.is_part || replaces(lines) {
        return None;
    }
    known_lines(lines, |text| format!("{text}{blanks}"))
}

pub(super) fn common_indent(lines: &[Line]) -> Option<usize> {
    let depth = |text: &String| indent(text).len();
    let all = lines.iter().flat_map(|line| [&line.old, &line.new]).flatten();
    all.filter(|text| !text.trim().is_empty()).map(depth).min().filter(|depth| *depth > 0)
}

pub(super) fn dedented(lines: &[Line], meant: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let all = common_indent(lines).filter(|_| !meant.is_part)?;
    let cut = if dice.once_in(2) { all } else { 1 + dice.below(all) };
    all_lines(
        lines,
        |text| if text.trim().is_empty() { Some(text.to_owned()) } else { text.get(cut..).map(str::to_owned) },
    )
}

pub(super) fn deeper(lines: &[Line], meant: &Meant, source: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let has_tabs = source.lines.iter().any(|line| line.starts_with('\t'));
    let more = if has_tabs { "\t".repeat(1 + dice.below(2)) } else { " ".repeat(*dice.one_of(&[1, 2, 4, 8])) };
    if meant.is_part {
        return None;
    }
    all_lines(lines, |text| Some(if text.trim().is_empty() { text.to_owned() } else { format!("{more}{text}") }))
}

pub(super) fn first_indent_lost(lines: &[Line], meant: &Meant, _: &Source, _: &mut Dice) -> Option<Vec<Line>> {
    let old = lines.iter().position(|line| line.old.is_some())?;
    let new = lines.iter().position(|line| line.new.is_some())?;
    let (first_old, first_new) = (lines[old].old.clone()?, lines[new].new.clone()?);
    if meant.is_part || indent(&first_old) != indent(&first_new) || first_old.trim().is_empty() {
        return None;
    }
    let mut believed = lines.to_vec();
    believed[old].old = Some(first_old.trim_start().to_owned());
    believed[new].new = Some(first_new.trim_start().to_owned());
    differing(lines, believed)
}

pub(super) fn tabs_as_spaces(lines: &[Line], meant: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let unit = " ".repeat(*dice.one_of(&[2, 4, 8]));
    if meant.is_part {
        return None;
    }
    all_lines(lines, |text| Some(format!("{}{}", indent(text).replace('\t', &unit), &text[indent(text).len()..])))
}

pub(super) fn spaces_as_tabs(lines: &[Line], meant: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let unit = *dice.one_of(&[2, 4]);
    if meant.is_part {
        return None;
    }
    all_lines(lines, |text| {
        let depth = leading(text, ' ');
        (depth.is_multiple_of(unit)).then(|| format!("{}{}", "\t".repeat(depth / unit), &text[depth..]))
    })
}

pub(super) fn other_unit(lines: &[Line], meant: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let (times, by) = *dice.one_of(&[(2, 1), (1, 2)]);
    if meant.is_part {
        return None;
    }
    all_lines(lines, |text| {
        let depth = leading(text, ' ');
        (depth * times).is_multiple_of(by).then(|| format!("{}{}", " ".repeat(depth * times / by), &text[depth..]))
    })
}

pub(super) fn collapsed(lines: &[Line], _: &Meant, _: &Source, _: &mut Dice) -> Option<Vec<Line>> {
    if replaces(lines) {
        return None;
    }
    known_lines(lines, |text| {
        let depth = indent(text);
        format!("{depth}{}", text.trim().split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
    })
}

pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            other => out.push(other),
        }
    }
    out
}

pub(super) fn quotes_escaped(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let quote = *dice.one_of(&['"', '\'', '`']);
    let has_backslash = lines.iter().flat_map(|line| [&line.old, &line.new]).flatten().any(|text| text.contains('\\'));
    if has_backslash {
        return None;
    }
    all_lines(lines, |text| Some(text.replace(quote, &format!("\\{quote}"))))
}

pub(super) fn typed_plain(lines: &[Line], _: &Meant, _: &Source, _: &mut Dice) -> Option<Vec<Line>> {
    let plain = |c: char| LOOK_ALIKES.iter().find(|(_, other)| *other == c).map_or(c, |(plain, _)| *plain);
    if replaces(lines) {
        return None;
    }
    known_lines(lines, |text| text.chars().map(|c| if c == '\u{a0}' { ' ' } else { plain(c) }).collect())
}

pub(super) fn typed_typographic(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let (double, single, dash) = (look_alike("\"", dice)?, look_alike("'", dice)?, look_alike("-", dice)?);
    let typed = |text: &str| {
        text.replace('"', &double.to_string()).replace('\'', &single.to_string()).replace('-', &dash.to_string())
    };
    let believed = |line: &Line| match (&line.old, line.is_kept()) {
        (Some(old), true) => Line::kept(&typed(old)),
        _ => line.clone(),
    };
    differing(lines, lines.iter().map(believed).collect())
}

pub(super) fn blank_lines_around(lines: &[Line], meant: &Meant, source: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let is_blank = |line: Option<&String>| line.is_none_or(|line| line.trim().is_empty());
    let before = meant.first.checked_sub(1).and_then(|index| source.lines.get(index));
    let beside = [before, source.lines.get(meant.end)];
    let at_edge = meant.after.last() != source.lines.last() || meant.end + 1 >= source.lines.len();
    if meant.is_part || beside.into_iter().any(is_blank) || at_edge {
        return None;
    }
    // The break of the line above or below is there; one more is not.
    let blank = || vec![Line::kept(""); 2];
    Some(match dice.below(3) {
        0 => [blank(), lines.to_vec()].concat(),
        1 => [lines.to_vec(), blank()].concat(),
        _ => [blank(), lines.to_vec(), blank()].concat(),
    })
}
