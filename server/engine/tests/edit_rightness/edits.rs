//! Plausible edits of a real text, and the text that each must make of it. How a model would write them down wrongly is `drift`'s.

use copydesk_workspace::matching::LOOK_ALIKES;

use crate::dice::Dice;
use crate::sources::Source;

/// A line of an edit as the model writes it: both where it stays or changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
}

impl Line {
    pub(crate) fn kept(text: &str) -> Self {
        Self { old: Some(text.to_owned()), new: Some(text.to_owned()) }
    }

    fn changed(old: &str, new: String) -> Self {
        Self { old: Some(old.to_owned()), new: Some(new) }
    }

    fn gone(old: &str) -> Self {
        Self { old: Some(old.to_owned()), new: None }
    }

    pub(crate) fn added(new: String) -> Self {
        Self { old: None, new: Some(new) }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.old == self.new
    }

    pub(crate) fn is_added(&self) -> bool {
        self.old.is_none()
    }
}

/// An edit as it is meant.
#[derive(Debug, Clone)]
pub(crate) struct Meant {
    pub(crate) what: &'static str,
    /// Zero-based lines of the file that the old text covers, the last one exclusive.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// Of a part of one line (`is_part`) only that part.
    pub(crate) lines: Vec<Line>,
    pub(crate) is_part: bool,
    /// The lines of the file afterwards.
    pub(crate) after: Vec<String>,
}

pub(crate) fn joined(lines: &[Line], side: fn(&Line) -> Option<&String>) -> String {
    lines.iter().filter_map(side).cloned().collect::<Vec<_>>().join("\n")
}

pub(crate) fn old(lines: &[Line]) -> String {
    joined(lines, |line| line.old.as_ref())
}

pub(crate) fn new(lines: &[Line]) -> String {
    joined(lines, |line| line.new.as_ref())
}

const KINDS: &[Kind] = &[
    ("rename in a few lines", rename),
    ("insert lines", insert),
    ("wrap in a block", wrap),
    ("delete lines", delete),
    ("change a condition", condition),
    ("replace a body", body),
    ("edit the first line", first_line),
    ("edit the last line", last_line),
    ("edit a comment", comment),
    ("edit a string", string),
    ("edit a part of a line", part),
];

type Kind = (&'static str, fn(&[String], &mut Dice) -> Option<Core>);

/// What is changed, without lines around it.
struct Core {
    first: usize,
    lines: Vec<Line>,
    has_context: bool,
}

/// An edit somewhere in `source`, at or near line `near` where one is wanted. `None` where the dice found nothing to edit.
pub(crate) fn meant(source: &Source, near: Option<usize>, dice: &mut Dice) -> Option<Meant> {
    let (what, make) = *dice.one_of(KINDS);
    let (lines, shift) = match near {
        // What is made of the lines around is an edit of the whole.
        Some(near) if !matches!(what, "edit the first line" | "edit the last line") => {
            let from = near.saturating_sub(4);
            (&source.lines[from..source.lines.len().min(near + 5)], from)
        }
        _ => (&source.lines[..], 0),
    };
    let Core { first, lines: core, has_context } = make(lines, dice)?;
    let first = first + shift;
    let end = first + core.iter().filter(|line| line.old.is_some()).count();
    let (before, after) = if has_context { (dice.below(4), dice.below(4)) } else { (0, 0) };
    let (from, to) = (first.saturating_sub(before), source.lines.len().min(end + after));
    let kept = |range: std::ops::Range<usize>| source.lines[range].iter().map(|line| Line::kept(line));
    let lines: Vec<Line> = kept(from..first).chain(core).chain(kept(end..to)).collect();
    if lines.iter().all(|line| line.old.as_ref().is_none_or(|old| old.trim().is_empty())) {
        return None;
    }
    let new = lines.iter().filter_map(|line| line.new.clone());
    let after: Vec<String> =
        source.lines[..from].iter().cloned().chain(new).chain(source.lines[to..].iter().cloned()).collect();
    let meant = Meant { what, first: from, end: to, lines, is_part: false, after };
    let is_blank = |lines: &[String]| lines.last().is_none_or(|line| line.trim().is_empty());
    // What becomes of blank lines and breaks at the very end is another rule's.
    if meant.after == source.lines || is_blank(&meant.after) || is_blank(&source.lines) {
        return None;
    }
    Some(if what == "edit a part of a line" { cut(meant, dice) } else { meant })
}

/// Whole words on both sides of what changes in the one line.
fn cut(meant: Meant, dice: &mut Dice) -> Meant {
    let [Line { old: Some(old), new: Some(new) }] = &meant.lines[..] else { return meant };
    let same = |(a, b): &(char, char)| a == b;
    let prefix: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix: usize =
        old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let starts: Vec<usize> = words(old).map(|(at, _)| at).filter(|at| *at <= prefix).collect();
    let ends: Vec<usize> =
        words(old).map(|(at, word)| at + word.len()).filter(|at| *at + suffix >= old.len()).collect();
    let (Some(_), Some(_)) = (starts.first(), ends.first()) else { return meant };
    let (start, end) = (*dice.one_of(&starts), *dice.one_of(&ends));
    let line = Line::changed(&old[start..end], new[start..new.len() - (old.len() - end)].to_owned());
    Meant { lines: vec![line], is_part: true, ..meant }
}

pub(crate) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Names with where they start.
pub(crate) fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.split(move |c| !is_word(c))
        .filter(|word| word.chars().next().is_some_and(|c| c.is_alphabetic()))
        .map(|word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
}

fn some_line(lines: &[String], dice: &mut Dice, fits: impl Fn(&str) -> bool) -> Option<usize> {
    let fitting: Vec<usize> = (0..lines.len()).filter(|index| fits(&lines[*index])).collect();
    if fitting.is_empty() { None } else { Some(*dice.one_of(&fitting)) }
}

fn renamed(line: &str, dice: &mut Dice) -> Option<String> {
    let all: Vec<(usize, &str)> = words(line).collect();
    let (at, word) = *all.get(dice.below(all.len().max(1)))?;
    let new = match dice.below(3) {
        0 => format!("{word}_new"),
        1 => format!("renamed{}", dice.below(100)),
        _ => format!("my_{word}"),
    };
    Some(format!("{}{new}{}", &line[..at], &line[at + word.len()..]))
}

/// As models type what is new: no blanks at the end, no typographic characters.
fn typed(text: &str) -> String {
    let plain = |c: char| LOOK_ALIKES.iter().find(|(_, other)| *other == c).map_or(c, |(plain, _)| *plain);
    text.trim_end().chars().map(|c| if c == '\u{a0}' { ' ' } else { plain(c) }).collect()
}

fn has_word(line: &str) -> bool {
    words(line).next().is_some()
}

fn rename(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let first = some_line(lines, dice, has_word)?;
    let (_, word) = words(&lines[first]).max_by_key(|(_, word)| word.len())?;
    let new = format!("{word}_{}", dice.below(10));
    let end = lines.len().min(first + 1 + dice.below(5));
    let swap = |line: &String| {
        let mut out = String::new();
        let mut done = 0;
        for (at, _) in words(line).filter(|(_, other)| *other == word) {
            out.push_str(&line[done..at]);
            out.push_str(&new);
            done = at + word.len();
        }
        out + &line[done..]
    };
    let lines = lines[first..end].iter().map(|line| Line::changed(line, swap(line))).collect();
    Some(Core { first, lines, has_context: true })
}

fn insert(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let first = some_line(lines, dice, has_word)?;
    let anchor = &lines[first];
    let mut added = Vec::new();
    for _ in 0..1 + dice.below(3) {
        // Of the kind that stands there already, under another name.
        let model = some_line(lines, dice, |line| has_word(line) && indent(line) == indent(anchor))?;
        added.push(Line::added(typed(&renamed(&lines[model], dice)?)));
    }
    if dice.once_in(4) {
        added.push(Line::added(String::new()));
    }
    let anchor = Line::kept(anchor);
    let lines =
        if dice.once_in(3) { added.into_iter().chain([anchor]).collect() } else { [vec![anchor], added].concat() };
    Some(Core { first, lines, has_context: true })
}

/// Some lines of one depth, moved into a block.
fn wrap(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let first = some_line(lines, dice, has_word)?;
    let outer = indent(&lines[first]);
    let depths = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line));
    let unit = match depths.filter(|depth| !depth.is_empty()).min_by_key(|depth| depth.len()) {
        Some(tab) if tab.starts_with('\t') => "\t",
        Some("  ") => "  ",
        _ => "    ",
    };
    let alike =
        lines[first..].iter().take(1 + dice.below(3)).take_while(|line| has_word(line) && indent(line) == outer);
    let mut made = vec![Line::added(format!("{outer}if wrapped {{"))];
    made.extend(alike.map(|line| Line::changed(line, format!("{unit}{line}"))));
    made.push(Line::added(format!("{outer}}}")));
    Some(Core { first, lines: made, has_context: true })
}

fn delete(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let first = some_line(lines, dice, has_word)?;
    let end = lines.len().min(first + 1 + dice.below(5));
    let lines = lines[first..end].iter().map(|line| Line::gone(line)).collect();
    Some(Core { first, lines, has_context: true })
}

const SIGNS: &[(&str, &str)] = &[
    (" == ", " != "),
    (" && ", " || "),
    (" < ", " <= "),
    (" > ", " >= "),
    (" and ", " or "),
    ("if ", "if not "),
    (" + ", " - "),
    (" = ", " += "),
];

fn condition(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let first = some_line(lines, dice, |line| SIGNS.iter().any(|(sign, _)| line.contains(sign)))?;
    let line = &lines[first];
    let (sign, other) = SIGNS.iter().find(|(sign, _)| line.contains(sign))?;
    let lines = vec![Line::changed(line, line.replacen(sign, other, 1))];
    Some(Core { first, lines, has_context: true })
}

/// A line and the deeper ones below it, which become others.
fn body(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let deeper = |index: usize| {
        let head = indent(&lines[index]).len();
        let below = lines[index + 1..].iter().take_while(|line| line.trim().is_empty() || indent(line).len() > head);
        let count = below.count();
        lines[index + 1..index + 1 + count].iter().rev().skip_while(|line| line.trim().is_empty()).count()
    };
    let heads: Vec<usize> =
        (0..lines.len()).filter(|index| has_word(&lines[*index]) && (1..16).contains(&deeper(*index))).collect();
    if heads.is_empty() {
        return None;
    }
    let first = *dice.one_of(&heads);
    let gone = &lines[first + 1..first + 1 + deeper(first)];
    let base = indent(gone.first()?);
    let mut made = vec![Line::kept(&lines[first])];
    made.extend(gone.iter().map(|line| Line::gone(line)));
    for _ in 0..1 + dice.below(3) {
        let model = dice.one_of(gone);
        let body = renamed(model.trim(), dice).unwrap_or_else(|| format!("replaced({})", dice.below(1000)));
        made.push(Line::added(format!("{base}{}", typed(&body))));
    }
    Some(Core { first, lines: made, has_context: true })
}

fn first_line(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let line = lines.first()?;
    let changed = Line::changed(line, renamed(line, dice)?);
    let above = Line::added(format!("{}{}", indent(line), typed(&renamed(line.trim(), dice)?)));
    let lines = if dice.once_in(2) { vec![changed] } else { vec![above, Line::kept(line)] };
    Some(Core { first: 0, lines, has_context: true })
}

fn last_line(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let line = lines.last()?;
    let first = lines.len() - 1;
    let lines = match (dice.below(3), renamed(line, dice)) {
        (0, Some(new)) => vec![Line::changed(line, new)],
        (1, _) => vec![Line::kept(line), Line::added(format!("{}appended({})", indent(line), dice.below(1000)))],
        _ => vec![Line::gone(line)],
    };
    Some(Core { first, lines, has_context: true })
}

fn comment(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let marks = ["//", "#", "/*", "*", "--", "<!--"];
    let first =
        some_line(lines, dice, |line| marks.iter().any(|mark| line.trim_start().starts_with(mark)) && has_word(line))?;
    let lines = vec![Line::changed(&lines[first], renamed(&lines[first], dice)?)];
    Some(Core { first, lines, has_context: true })
}

fn string(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let quoted = |line: &str| {
        let mut parts = line.split(['"', '\'']);
        let at = parts.next()?.len() + 1;
        let inside = parts.next()?;
        (parts.next().is_some() && has_word(inside)).then_some(at..at + inside.len())
    };
    let first = some_line(lines, dice, |line| quoted(line).is_some())?;
    let line = &lines[first];
    let range = quoted(line)?;
    let new = renamed(&line[range.clone()], dice)?;
    let new = format!("{}{new}{}", &line[..range.start], &line[range.end..]);
    Some(Core { first, lines: vec![Line::changed(line, new)], has_context: true })
}

fn part(lines: &[String], dice: &mut Dice) -> Option<Core> {
    let first = some_line(lines, dice, |line| words(line).count() > 2)?;
    let lines = vec![Line::changed(&lines[first], renamed(&lines[first], dice)?)];
    Some(Core { first, lines, has_context: false })
}
