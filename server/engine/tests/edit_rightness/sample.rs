//! One edit as a model writes it, with what must come of it. Whether a text stands in a file more than once is counted here by rules of its own, so that the
//! matcher is not judged by itself.

use std::collections::HashMap;

use copydesk_workspace::matching::LOOK_ALIKES;

use crate::dice::Dice;
use crate::drift::{Class, DRIFTS, Drift, Write};
use crate::edits::{self, Line, Meant, indent, words};
use crate::sources::Source;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Edit,
    MultiEdit,
    ApplyPatch,
}

/// What must come of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Must {
    Land,
    /// Or be refused, where what is written does not tell how deep a new line is. Never lands otherwise.
    LandOrBeRefused,
    BeRefused,
}

/// One replacement, as it is written and as it is meant.
#[derive(Debug, Clone)]
pub(crate) struct Replacement {
    pub(crate) old: String,
    pub(crate) new: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) tool: Tool,
    /// The row of the table.
    pub(crate) kind: String,
    pub(crate) edit: &'static str,
    pub(crate) source: String,
    pub(crate) must: Must,
    /// The file before, and after what is meant.
    pub(crate) text: String,
    pub(crate) oracle: String,
    pub(crate) written: Vec<Replacement>,
    pub(crate) right: Vec<Replacement>,
    /// Of `apply_patch`: the hunk as it is written, and as it is meant.
    pub(crate) hunk: String,
    pub(crate) right_hunk: String,
    /// One-based first and last line of the place, and all lines of the file.
    pub(crate) place: (usize, usize),
    pub(crate) lines: Vec<String>,
    pub(crate) reads_before: bool,
}

/// `None` where the dice made nothing of this source.
pub(crate) fn sample(source: &Source, tool: Tool, dice: &mut Dice) -> Option<Sample> {
    if dice.once_in(20) {
        return ambiguous(source, tool, dice);
    }
    let usable: Vec<&Drift> = DRIFTS.iter().filter(|drift| drift.in_patches || tool != Tool::ApplyPatch).collect();
    let mut drifts = vec![*dice.one_of(&usable)];
    if dice.once_in(4) {
        let more = *dice.one_of(&usable);
        if drifts[0].goes_with(more) {
            drifts.push(more);
        }
    }
    of(source, tool, &drifts, dice)
}

fn of(source: &Source, tool: Tool, drifts: &[&Drift], dice: &mut Dice) -> Option<Sample> {
    let mut source = source.clone();
    let mut near = None;
    for drift in drifts {
        near = (drift.prepare)(&mut source, dice)?.or(near);
    }
    let meant = edits::meant(&source, near, dice)?;
    if tool == Tool::ApplyPatch && meant.is_part {
        return None;
    }
    let mut lines = meant.lines.clone();
    let mut texts: Vec<fn(&str) -> String> = Vec::new();
    for drift in drifts {
        match drift.write {
            Write::Lines(write) => lines = write(&lines, &meant, &source, dice)?,
            Write::Text(write) => texts.push(write),
        }
    }
    let is_outside = drifts.iter().any(|drift| drift.class == Class::Outside);
    let mut written = replacement(&lines, &meant, &source)?;
    let right = replacement(&meant.lines, &meant, &source)?;
    for write in texts {
        let before = written.clone();
        written = Replacement { old: write(&written.old), new: write(&written.new) };
        if before.old == written.old {
            return None;
        }
    }
    let whole = source.lines.join("\n") + if source.ends_with_break { "\n" } else { "" };
    if count(&whole, &right.old) != 1 || right.old == right.new || written.old == written.new {
        return None;
    }
    let is_plain = drifts.iter().all(|drift| drift.name == "none");
    // What is written may be nearer to another place than to the one that is meant, and nobody can tell.
    if !is_plain && places(&source.lines, &edits::old(&meant.lines)) > 1 {
        return None;
    }
    // The blanks that were left out then stand behind all of the new text, or behind its first line: the edit does not say.
    if drifts.iter().any(|drift| drift.name.contains("blanks") && drift.name.ends_with("left out"))
        && count(&whole, &written.old) == 1
    {
        return None;
    }
    let must = if is_outside {
        // It must be like nothing in the file, however one looks at it.
        if !stands_nowhere(&source.lines, &edits::old(&lines)) {
            return None;
        }
        Must::BeRefused
    } else if !tells_depths(&meant.lines, &lines) {
        Must::LandOrBeRefused
    } else {
        Must::Land
    };
    let kind = match drifts {
        [only] => only.name.to_owned(),
        _ if is_outside => "two, one of them outside".to_owned(),
        _ => "two inside".to_owned(),
    };
    let second = if tool == Tool::MultiEdit && dice.once_in(2) { another(&source, &meant, dice) } else { None };
    let mut after = meant.after.clone();
    let mut right = vec![right];
    let mut written = vec![written];
    if let Some((index, old, new)) = second {
        let place = if index < meant.first { index } else { index + after.len() - source.lines.len() };
        after[place] = new.clone();
        let whole = Replacement { old, new };
        let at = dice.below(2);
        right.insert(at, whole.clone());
        written.insert(at, whole);
    }
    let crlf = |hunk: String| {
        if drifts.iter().any(|drift| drift.name.ends_with("CRLF written")) { hunk.replace('\n', "\r\n") } else { hunk }
    };
    Some(Sample {
        tool,
        kind,
        edit: meant.what,
        source: source.name.clone(),
        must,
        text: source.text(&source.lines),
        oracle: source.text(&after),
        written,
        right,
        hunk: crlf(hunk(&lines)),
        right_hunk: hunk(&meant.lines),
        place: (meant.first + 1, meant.end),
        lines: source.lines.clone(),
        reads_before: dice.once_in(2),
    })
}

/// A short text that stands at several places, and is meant at one of them.
fn ambiguous(source: &Source, tool: Tool, dice: &mut Dice) -> Option<Sample> {
    let whole = source.lines.join("\n");
    let several = |line: &String| match tool {
        Tool::ApplyPatch => source.lines.iter().filter(|other| *other == line).count() > 1,
        _ => count(&whole, line.trim()) > 1,
    };
    let fitting: Vec<usize> = (0..source.lines.len())
        .filter(|at| words(&source.lines[*at]).next().is_some() && several(&source.lines[*at]))
        .collect();
    let at = *fitting.get(dice.below(fitting.len().max(1)))?;
    let line = &source.lines[at];
    let new = format!("changed_{}", line.trim());
    let mut after = source.lines.clone();
    after[at] = format!("{}{new}", indent(line));
    let pair = Line { old: Some(line.clone()), new: Some(after[at].clone()) };
    let around = |range: std::ops::Range<usize>| source.lines[range].iter().map(|line| Line::kept(line));
    let (from, to) = (at.saturating_sub(8), source.lines.len().min(at + 9));
    let wide: Vec<Line> = around(from..at).chain([pair.clone()]).chain(around(at + 1..to)).collect();
    let right = Replacement { old: edits::old(&wide), new: edits::new(&wide) };
    if count(&whole, &right.old) != 1 {
        return None;
    }
    Some(Sample {
        tool,
        kind: "text that stands at several places".to_owned(),
        edit: "change a line",
        source: source.name.clone(),
        must: Must::BeRefused,
        text: source.text(&source.lines),
        oracle: source.text(&after),
        written: vec![Replacement { old: line.trim().to_owned(), new }],
        right: vec![right],
        hunk: hunk(&[pair]),
        right_hunk: hunk(&wide),
        place: (at + 1, at + 1),
        lines: source.lines.clone(),
        reads_before: dice.once_in(2),
    })
}

/// Old and new text, with the last line break along where nothing stays.
fn replacement(lines: &[Line], meant: &Meant, source: &Source) -> Option<Replacement> {
    let (old, new) = (edits::old(lines), edits::new(lines));
    if lines.iter().any(|line| line.new.is_some()) {
        return Some(Replacement { old, new });
    }
    let has_break = meant.end < source.lines.len() || source.ends_with_break;
    has_break.then(|| Replacement { old: old + "\n", new })
}

fn hunk(lines: &[Line]) -> String {
    let mut out = String::from("@@\n");
    let mut added = String::new();
    for line in lines {
        match (&line.old, &line.new) {
            (Some(old), Some(new)) if old == new => {
                out.push_str(&std::mem::take(&mut added));
                out.push_str(&format!(" {old}\n"));
            }
            (old, new) => {
                out.extend(old.iter().map(|old| format!("-{old}\n")));
                added.extend(new.iter().map(|new| format!("+{new}\n")));
            }
        }
    }
    out + &added
}

/// A line far from the edit and unlike all others, and what becomes of it.
fn another(source: &Source, meant: &Meant, dice: &mut Dice) -> Option<(usize, String, String)> {
    let squeezed: Vec<String> = source.lines.iter().map(|line| squeeze(line)).collect();
    let fits = |at: &usize| {
        let far = *at + 3 < meant.first || *at > meant.end + 3;
        far && words(&source.lines[*at]).count() > 1
            && squeezed.iter().filter(|other| other.contains(&squeezed[*at])).count() == 1
            && count(&meant.after.join("\n"), &source.lines[*at]) == 1
    };
    let fitting: Vec<usize> = (0..source.lines.len()).filter(fits).collect();
    let at = *fitting.get(dice.below(fitting.len().max(1)))?;
    let old = source.lines[at].clone();
    let (start, word) = words(&old).next()?;
    let new = format!("{}second_{word}{}", &old[..start], &old[start + word.len()..]);
    Some((at, old, new))
}

/// All white space left out, look-alikes typed plain: looser than the matcher may ever be.
fn squeeze(line: &str) -> String {
    let plain = |c: char| LOOK_ALIKES.iter().find(|(_, other)| *other == c).map_or(c, |(plain, _)| *plain);
    line.chars().filter(|c| !c.is_whitespace()).map(plain).collect()
}

/// Overlapping ones too.
fn count(text: &str, wanted: &str) -> usize {
    if wanted.is_empty() {
        return 0;
    }
    let mut count = 0;
    let mut from = 0;
    while let Some(at) = text[from..].find(wanted) {
        count += 1;
        from += at + wanted.chars().next().map_or(1, char::len_utf8);
    }
    count
}

/// Places at which the lines stand but for white space and look-alikes; one line alone may be a part of one. Blank lines at its ends may be left out.
fn places(lines: &[String], old: &str) -> usize {
    let squeezed: Vec<String> = lines.iter().map(|line| squeeze(line)).collect();
    let old: Vec<String> = old.split('\n').map(squeeze).collect();
    let start = old.iter().position(|line| !line.is_empty()).unwrap_or(0);
    let end = old.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    match &old[start.min(end)..end] {
        [] => usize::MAX,
        [only] => squeezed.iter().map(|line| line.matches(only.as_str()).count()).sum(),
        several => squeezed.windows(several.len()).filter(|window| *window == several).count(),
    }
}

fn stands_nowhere(lines: &[String], old: &str) -> bool {
    let whole: String = lines.iter().map(|line| squeeze(line) + "\n").collect();
    let old: Vec<String> = old.split('\n').map(squeeze).collect();
    count(&whole, old.join("\n").trim_matches('\n')) == 0
}

/// Whether the old lines, as written and as they are, tell the true indentation of every new one: by one of the same depth. One line that is given from its
/// first letter on does not tell whether others are.
fn tells_depths(meant: &[Line], written: &[Line]) -> bool {
    let mut known: HashMap<&str, Option<&str>> = HashMap::new();
    let olds: Vec<&String> =
        written.iter().filter_map(|line| line.old.as_ref()).filter(|old| !old.trim().is_empty()).collect();
    let news = written.iter().filter_map(|line| line.new.as_ref()).filter(|new| !new.trim().is_empty());
    if matches!(olds[..], [only] if indent(only).is_empty()) && news.count() > 1 {
        return meant == written;
    }
    if meant.len() != written.len() {
        return true;
    }
    for (right, wrong) in meant.iter().zip(written) {
        let (Some(right), Some(wrong)) = (&right.old, &wrong.old) else { continue };
        if right.trim().is_empty() {
            continue;
        }
        let entry = known.entry(indent(wrong)).or_insert(Some(indent(right)));
        if *entry != Some(indent(right)) {
            *entry = None;
        }
    }
    if known.iter().all(|(wrong, right)| Some(*wrong) == *right) {
        return true;
    }
    meant.iter().zip(written).all(|(right, wrong)| {
        let (Some(right_new), Some(wrong_new)) = (&right.new, &wrong.new) else { return true };
        let same_depth = right.old.as_deref().map(indent) == Some(indent(right_new));
        right_new.trim().is_empty() || same_depth || known.get(indent(wrong_new)) == Some(&Some(indent(right_new)))
    })
}
