//! What models write otherwise than the file has it, outside of R3.1.

use super::inside::all_lines;
use crate::dice::Dice;
use crate::edits::{Line, Meant, indent, words};
use crate::sources::Source;

/// One of the lines that the old text has and that fits, changed on both sides where it stays.
pub(super) fn one_line(lines: &[Line], dice: &mut Dice, change: impl Fn(&str) -> Option<String>) -> Option<Vec<Line>> {
    let fitting: Vec<usize> = (0..lines.len())
        .filter(|index| lines[*index].old.as_deref().is_some_and(|old| change(old).is_some_and(|new| new != old)))
        .collect();
    if fitting.is_empty() {
        return None;
    }
    let at = *dice.one_of(&fitting);
    let mut believed = lines.to_vec();
    let line = &lines[at];
    believed[at].old = line.old.as_deref().and_then(&change);
    believed[at].new = line.new.as_ref().map(|new| change(new).unwrap_or_else(|| new.clone()));
    Some(believed)
}

/// Lines that stay and have others before and behind them.
pub(super) fn inner(lines: &[Line], fits: impl Fn(&Line) -> bool) -> Vec<usize> {
    let olds: Vec<usize> = (0..lines.len())
        .filter(|index| lines[*index].old.as_deref().is_some_and(|old| !old.trim().is_empty()))
        .collect();
    let (Some(first), Some(last)) = (olds.first(), olds.last()) else { return Vec::new() };
    (first + 1..*last).filter(|index| lines[*index].is_kept() && fits(&lines[*index])).collect()
}

pub(super) fn stale(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let number = dice.below(1000);
    one_line(lines, dice, |text| {
        let all: Vec<(usize, &str)> = words(text).collect();
        let (from, _) = all.get(all.len() / 2)?;
        Some(format!("{}former_{number}(){}", &text[..*from], &text[*from + all[all.len() / 2].1.len()..]))
    })
}

pub(super) fn misremembered(lines: &[Line], meant: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let at = if dice.once_in(2) { 0 } else { lines.len() - 1 };
    let line = lines.get(at).filter(|line| line.is_kept() && !meant.is_part)?;
    let old = line.old.as_deref()?;
    let (start, word) = words(old).last()?;
    let mut believed = lines.to_vec();
    believed[at] = Line::kept(&format!("{}other_{word}{}", &old[..start], &old[start + word.len()..]));
    Some(believed)
}

pub(super) fn line_left_out(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let inner = inner(lines, |line| line.old.as_deref().is_some_and(|old| !old.trim().is_empty()));
    let at = *inner.get(dice.below(inner.len().max(1)))?;
    Some([&lines[..at], &lines[at + 1..]].concat())
}

pub(super) fn line_invented(lines: &[Line], meant: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let between: Vec<usize> =
        (1..lines.len()).filter(|at| lines[at - 1].old.is_some() && lines[*at].old.is_some()).collect();
    let at = *between.get(dice.below(between.len().max(1))).filter(|_| !meant.is_part)?;
    let like = lines[at].old.as_deref()?;
    let invented = Line::kept(&format!("{}invented({})", indent(like), dice.below(1000)));
    Some([&lines[..at], &[invented], &lines[at..]].concat())
}

pub(super) fn swapped(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let fits = |at: &usize| lines[*at].is_kept() && lines[at + 1].is_kept() && lines[*at] != lines[at + 1];
    let pairs: Vec<usize> = (0..lines.len().saturating_sub(1)).filter(fits).collect();
    let at = *pairs.get(dice.below(pairs.len().max(1)))?;
    let mut believed = lines.to_vec();
    believed.swap(at, at + 1);
    Some(believed)
}

pub(super) fn blank_line_left_out(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let inner = inner(lines, |line| line.old.as_deref().is_some_and(|old| old.trim().is_empty()));
    let at = *inner.get(dice.below(inner.len().max(1)))?;
    Some([&lines[..at], &lines[at + 1..]].concat())
}

pub(super) fn blank_line_added(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let fits =
        |at: &usize| [at - 1, *at].iter().all(|at| lines[*at].old.as_deref().is_some_and(|old| !old.trim().is_empty()));
    let between: Vec<usize> = (1..lines.len()).filter(fits).collect();
    let at = *between.get(dice.below(between.len().max(1)))?;
    Some([&lines[..at], &[Line::kept("")], &lines[at..]].concat())
}

pub(super) fn numbered(lines: &[Line], meant: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let style = dice.below(3);
    if meant.is_part {
        return None;
    }
    let (mut old, mut new) = (meant.first, meant.first);
    let mut next = |text: &Option<String>, at: fn(&mut usize, &mut usize) -> usize| {
        let text = text.as_ref()?;
        let number = at(&mut old, &mut new);
        Some(match style {
            0 => format!("{number}: {text}"),
            1 => format!("{number:>6}\t{text}"),
            _ => format!("{number:05}| {text}"),
        })
    };
    let old_number: fn(&mut usize, &mut usize) -> usize = |old, _| {
        *old += 1;
        *old
    };
    let new_number: fn(&mut usize, &mut usize) -> usize = |_, new| {
        *new += 1;
        *new
    };
    Some(lines.iter().map(|line| Line { old: next(&line.old, old_number), new: next(&line.new, new_number) }).collect())
}

pub(super) fn entities(lines: &[Line], _: &Meant, _: &Source, _: &mut Dice) -> Option<Vec<Line>> {
    all_lines(lines, |text| Some(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")))
}

pub(super) fn ellipsis(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let inner = inner(lines, |_| true);
    let from = *inner.get(dice.below(inner.len().max(1)))?;
    let to = inner
        .iter()
        .copied()
        .skip_while(|at| *at < from)
        .enumerate()
        .take_while(|(index, at)| *at == from + index)
        .last()?
        .1;
    let depth = indent(lines[from].old.as_deref()?);
    let sign = *dice.one_of(&["...", "// ...", "# ... existing code ...", "\u{2026}"]);
    Some([&lines[..from], &[Line::kept(&format!("{depth}{sign}"))], &lines[to + 1..]].concat())
}

pub(super) fn other_quotes(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    one_line(lines, dice, |text| {
        let swap = |c| match c {
            '"' => '\'',
            '\'' => '"',
            other => other,
        };
        Some(text.chars().map(swap).collect())
    })
}

pub(super) fn other_case(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    one_line(lines, dice, |text| {
        let (start, word) = words(text).next()?;
        let swapped = if word.chars().any(char::is_lowercase) { word.to_uppercase() } else { word.to_lowercase() };
        Some(format!("{}{swapped}{}", &text[..start], &text[start + word.len()..]))
    })
}

pub(super) fn mark_left_out(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let inner = inner(lines, |line| {
        line.old.as_deref().is_some_and(|old| old.trim_end().ends_with([';', ',', ')', '}', '{', ':', '.']))
    });
    let at = *inner.get(dice.below(inner.len().max(1)))?;
    let old = lines[at].old.as_deref()?.trim_end();
    let mut believed = lines.to_vec();
    believed[at] = Line::kept(&old[..old.len() - 1]);
    Some(believed)
}

pub(super) fn unlisted(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let (plain, other) = *dice.one_of(&[
        ('a', '\u{430}'),
        ('e', '\u{435}'),
        (';', '\u{37e}'),
        ('(', '\u{ff08}'),
        (':', '\u{a789}'),
        ('.', '\u{2024}'),
    ]);
    one_line(lines, dice, |text| Some(text.replacen(plain, &other.to_string(), 1)))
}

pub(super) fn invisible(lines: &[Line], _: &Meant, _: &Source, dice: &mut Dice) -> Option<Vec<Line>> {
    let sign = *dice.one_of(&['\u{200b}', '\u{200d}', '\u{feff}', '\u{ad}']);
    one_line(lines, dice, |text| {
        let (start, word) = words(text).next()?;
        let middle = word.char_indices().nth(word.chars().count() / 2)?.0;
        Some(format!("{}{sign}{}", &text[..start + middle], &text[start + middle..]))
    })
}
