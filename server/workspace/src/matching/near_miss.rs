//! The place that is most like an old text that was not found, and the difference named (R1.3). It finds and tells; it matches nothing.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::indent::indent;
use super::lf::{LfText, Lines};
use super::look_alikes::plain;
use super::windows::{Fold, collapsed};

/// The place in the file that is most like the old text, and how it differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// One-based lines of the file.
    pub first_line: usize,
    pub last_line: usize,
    /// Those lines, with `\n` for every line break.
    pub text: String,
    /// E.g. `tab vs spaces on line 2`, `U+201C instead of U+0022 on line 1`. Lines are the file's.
    pub difference: String,
}

impl std::fmt::Display for NearMiss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the nearest text is at lines {}-{}: {}", self.first_line, self.last_line, self.difference)
    }
}

/// How many places of one old line are followed up: enough to find the place, and it keeps repeated lines from costing more than the file is long.
const MAX_PLACES: usize = 8;

/// In how many lines of the file a word may stand and still say where one is.
const MAX_RARE: usize = 32;

/// How many blank lines more than the old text has the place may have.
const MAX_EXTRA: usize = 8;

/// `old` is as the model sent it; `lines` are those of `file`.
pub(super) fn nearest(file: &LfText<'_>, lines: &Lines<'_>, old: &str) -> Option<NearMiss> {
    if let Some(found) = stray_return(file, lines, old) {
        return Some(found);
    }
    let (old, _) = super::lf::normalised(old);
    let old: Vec<&str> = Lines::new(&old).iter().collect();
    let folded: Vec<Cow<'_, str>> = old.iter().map(|line| Fold::LookAlikes.apply(line)).collect();
    let first = place_by_votes(lines, &folded).or_else(|| place_by_words(lines, &folded))?;
    let first = first.min(lines.len().checked_sub(1)?);
    let (difference, len) = difference(file, lines, first, &old, &folded);
    Some(at(lines, first, len, difference))
}

/// Lines that match but for white space that could not be carried over to the new text.
pub(super) fn unclear_indentation(lines: &Lines<'_>, first: usize, old: &[&str], line: usize) -> NearMiss {
    let differs = |index: usize| indent(old[index]) != indent(lines.line(first + index));
    // The nearest line above, or else below, from which the indentation would have been learned.
    let index = (0..=line.min(old.len() - 1)).rev().chain(line..old.len()).find(|index| differs(*index)).unwrap_or(0);
    let named = white_space(old[index], lines.line(first + index), first + index + 1);
    at(lines, first, old.len(), format!("{named}; the indentation of the new lines cannot be told from it"))
}

fn at(lines: &Lines<'_>, first: usize, len: usize, difference: String) -> NearMiss {
    let last = (first + len.max(1)).min(lines.len());
    let text: Vec<&str> = (first..last).map(|index| lines.line(index)).collect();
    NearMiss { first_line: first + 1, last_line: last, text: text.join("\n"), difference }
}

/// An old text that would be found without its lone `\r`s.
fn stray_return(file: &LfText<'_>, lines: &Lines<'_>, old: &str) -> Option<NearMiss> {
    let without = old.replace("\r\n", "\n").replace('\r', "");
    if without.trim().is_empty() || without.len() == old.replace("\r\n", "\n").len() {
        return None;
    }
    let start = memchr::memmem::find(file.text.as_bytes(), without.as_bytes())?;
    let line = old[..old.replace("\r\n", "\n\n").find('\r')?].matches('\n').count();
    let first = lines.at(start);
    let difference = format!("CR (U+000D) in the old text that line {} does not have", first + line + 1);
    Some(at(lines, first, lines.at(start + without.len() - 1) - first + 1, difference))
}

/// Every line that the two have in common votes for where the old text would start, a line with words more than a bracket; and so does every word that is
/// rare in the file.
fn place_by_votes(lines: &Lines<'_>, folded: &[Cow<'_, str>]) -> Option<usize> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut rare: HashMap<&str, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (index, line) in folded.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let known = places.entry(line).or_default();
        if known.len() < MAX_PLACES {
            known.push(index);
        }
        for word in words(line) {
            let (known, _) = rare.entry(word).or_default();
            if known.len() < MAX_PLACES && known.last() != Some(&index) {
                known.push(index);
            }
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        let line = Fold::LookAlikes.apply(line);
        let weight = if line.contains(char::is_alphanumeric) { 4 } else { 1 };
        for place in places.get(&*line).into_iter().flatten() {
            *votes.entry(index.saturating_sub(*place)).or_default() += weight;
        }
        for word in words(&line) {
            if let Some((_, found)) = rare.get_mut(word)
                && found.len() <= MAX_RARE
                && found.last() != Some(&index)
            {
                found.push(index);
            }
        }
    }
    let is_by_lines = !votes.is_empty();
    for (known, found) in rare.values().filter(|(_, found)| found.len() <= MAX_RARE) {
        let starts = known.iter().flat_map(|place| found.iter().filter_map(move |index| index.checked_sub(*place)));
        for start in starts {
            *votes.entry(start).or_default() += 1;
        }
    }
    // Of equals the first in the file, so that the answer is always the same.
    let (start, count) = votes.into_iter().max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)))?;
    let longest = folded.iter().map(|line| words(line).count()).max()?;
    if !is_by_lines && count * 2 < longest {
        return None;
    }
    // Where blank lines are too many or too few, most lines vote for a start beside that of the first.
    let lead = folded.iter().position(|line| !line.is_empty())?;
    let from = (start + lead).saturating_sub(MAX_EXTRA);
    let near = (from..lines.len()).take(2 * MAX_EXTRA + 1);
    let leads = near.filter(|index| Fold::LookAlikes.apply(lines.line(*index)) == folded[lead]);
    let nearest = leads.min_by_key(|index| index.abs_diff(start + lead));
    Some(nearest.map_or(start, |index| index.saturating_sub(lead)))
}

/// By the line that shares most words with the old text's longest line, at least half of them.
fn place_by_words(lines: &Lines<'_>, folded: &[Cow<'_, str>]) -> Option<usize> {
    let (index, key) = folded.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let wanted: HashSet<&str> = words(key).collect();
    let shared = |line: &str| words(line).filter(|word| wanted.contains(word)).collect::<HashSet<_>>().len();
    let scores = lines.iter().enumerate().map(|(at, line)| (shared(line), std::cmp::Reverse(at)));
    let (score, std::cmp::Reverse(at)) = scores.max()?;
    (score > 0 && score * 2 >= wanted.len()).then(|| at.saturating_sub(index))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

/// The first difference, and how many lines of the file the old text would have covered.
fn difference(
    file: &LfText<'_>,
    lines: &Lines<'_>,
    first: usize,
    old: &[&str],
    folded: &[Cow<'_, str>],
) -> (String, usize) {
    let mut at = first;
    for (index, wanted) in folded.iter().enumerate() {
        if at >= lines.len() {
            return (format!("the file ends after line {}", lines.len()), old.len());
        }
        let found = Fold::LookAlikes.apply(lines.line(at));
        if found == *wanted {
            at += 1;
            continue;
        }
        if let Some((named, left)) = blank_lines(file, lines, at, &folded[index..]) {
            return (named, at - first + left);
        }
        let number = at + 1;
        let text = clipped(lines.line(at));
        let is_last = index + 1 == folded.len();
        let named = if is_last && !wanted.is_empty() && found.starts_with(&**wanted) {
            format!("partial last line: the old text ends inside line {number}, which is `{text}`")
        } else if index == 0 && !wanted.is_empty() && found.ends_with(&**wanted) {
            format!("partial first line: the old text starts inside line {number}, which is `{text}`")
        } else {
            characters(&collapsed(old[index]), &collapsed(lines.line(at)), number).unwrap_or_else(|| {
                format!("line {number} is `{text}`, where the old text has `{}`", clipped(old[index]))
            })
        };
        return (named, old.len());
    }
    let raw = (0..old.len()).find(|index| old[*index] != lines.line(first + index)).unwrap_or(0);
    (white_space(old[raw], lines.line(first + raw), first + raw + 1), old.len())
}

/// Where line `at` of the file and the first of `wanted` differ only in how many blank lines come before what follows. With it the number of lines from
/// `at` that the old text would have covered.
fn blank_lines(file: &LfText<'_>, lines: &Lines<'_>, at: usize, wanted: &[Cow<'_, str>]) -> Option<(String, usize)> {
    let is_blank = |index: &usize| lines.line(*index).trim().is_empty();
    let found = (at..lines.len()).take(MAX_EXTRA).take_while(is_blank).count();
    let expected = wanted.iter().take_while(|line| line.is_empty()).count();
    let next = lines.start(at + found) < lines.start(lines.len());
    let equal = match wanted.get(expected) {
        Some(line) => next && Fold::LookAlikes.apply(lines.line(at + found)) == *line,
        None => found < expected,
    };
    if found == expected || !equal {
        return None;
    }
    let left = found + wanted.len() - expected;
    // The blank lines before `at` that both have belong to the run.
    let before = (0..at).rev().take_while(is_blank).count();
    let (from, number) = (at - before, before + found);
    if found > 0 && file.has_lone_cr(lines.start(from.saturating_sub(1)), lines.start(at + found)) {
        return Some((format!("CR (U+000D) that stands alone and ends a line after line {from}"), left));
    }
    let expected = before + expected;
    Some((format!("blank-line count: {number} after line {from}, where the old text has {expected}"), left))
}

/// The one character that differs, by code points, where a reader could not see it.
fn characters(wanted: &str, found: &str, line: usize) -> Option<String> {
    let differs = |(a, b): &(char, char)| plain(*a) != plain(*b);
    let mut different = wanted.chars().zip(found.chars()).filter(differs);
    let (a, b) = different.next()?;
    let unseen = |char: char| !char.is_ascii() || char.is_control();
    let only = different.next().is_none() && wanted.chars().count() == found.chars().count();
    (only && (unseen(a) || unseen(b)))
        .then(|| format!("U+{:04X} instead of U+{:04X} on line {line}", u32::from(b), u32::from(a)))
}

fn white_space(old: &str, file: &str, line: usize) -> String {
    let (wanted, found) = (indent(old), indent(file));
    if wanted == found {
        let place = if old.trim() == file.trim() { "at the end of" } else { "within" };
        return format!("white space {place} line {line}");
    }
    let kind = if wanted.contains('\t') == found.contains('\t') { "indentation" } else { "tab vs spaces" };
    format!("{kind} on line {line}: the file has {}, the old text {}", counted(found), counted(wanted))
}

fn counted(indent: &str) -> String {
    let tabs = indent.matches('\t').count();
    let others = indent.chars().count() - tabs;
    let number = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    match (tabs, others) {
        (0, _) => number(others, "space"),
        (_, 0) => number(tabs, "tab"),
        _ => format!("{} and {}", number(tabs, "tab"), number(others, "space")),
    }
}

/// Enough of a line to know it by.
fn clipped(line: &str) -> Cow<'_, str> {
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]).into(),
        None => line.into(),
    }
}
