//! Taking an edit back out of a text that somebody has gone on with: a merge of three texts by lines, as diff3 does it. It does not know whose texts they
//! are, and writes no marks of conflicts: what both have changed stays as it is now.

use std::collections::HashSet;
use std::ops::Range;

use ropey::Rope;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::edit::{EditSet, TextEdit, lines};

/// What there is to do, and what cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenBack {
    /// Of the present text.
    pub edits: EditSet,
    /// In order; none touches an edit.
    pub conflicts: Vec<Conflict>,
}

/// A place where the edit and what came later changed the same lines, or lines that touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Lines of the present text, from zero; empty where they were deleted.
    pub now: Range<usize>,
    /// Lines of the text before the edit, from zero.
    pub before: Range<usize>,
}

/// Takes the edit that made `after` of `before` out of `now`, which was made of `after`. A hunk of it is taken back where nobody has changed its lines since,
/// nor a line directly beside them, and where `now` has the lines of `before` there is nothing left to do. Without a change since then, the result is `before`
/// byte for byte.
pub fn take_back(before: &Rope, after: &Rope, now: &Rope) -> TakenBack {
    if now == after {
        return TakenBack { edits: EditSet::between(now, before), conflicts: Vec::new() };
    }
    let texts = [before, after, now].map(Rope::to_string);
    let [before_lines, after_lines, now_lines] = texts.each_ref().map(|text| lines(text));
    let back = hunks(&after_lines, &before_lines);
    let since = hunks(&after_lines, &now_lines);
    let starts = starts(&now_lines);
    let mut edits = Vec::new();
    let mut conflicts = Vec::new();
    for place in places(&back, &since) {
        let old = &before_lines[place.back.clone()];
        let now = &now_lines[place.since.clone()];
        if place.is_since && !is_back(now, &after_lines[place.ours.clone()], old) {
            conflicts.push(Conflict { now: place.since, before: place.back });
        } else if !place.is_since {
            edits.push(TextEdit { range: starts[place.since.start]..starts[place.since.end], text: old.concat() });
        }
    }
    let all = EditSet::sorted(now.len_bytes(), edits);
    // Smaller inside of the lines, where cursors and marks stand.
    let edits = all.apply(now).map_or(all, |result| EditSet::between(now, &result));
    TakenBack { edits, conflicts }
}

/// Whether nothing of the edit is there: `now` is what was before it, or has that in it and none of what the edit brought.
fn is_back(now: &[&str], after: &[&str], before: &[&str]) -> bool {
    if now == before {
        return true;
    }
    if before.is_empty() || !has_run(now, before) {
        return false;
    }
    let [is_old, is_there] = [before, now].map(|lines| lines.iter().collect::<HashSet<_>>());
    !after.iter().any(|line| !is_old.contains(line) && is_there.contains(line))
}

/// Whether the lines of `run` stand in `lines`, one after the other: Knuth, Morris and Pratt (1977), since both may be long, and their lines all alike.
fn has_run(lines: &[&str], run: &[&str]) -> bool {
    // How many lines at the start of `run` stand at the end of each of its starts, too.
    let mut again = vec![0; run.len()];
    let mut found = 0;
    for at in 1..run.len() {
        while found > 0 && run[at] != run[found] {
            found = again[found - 1];
        }
        found += usize::from(run[at] == run[found]);
        again[at] = found;
    }
    found = 0;
    for line in lines {
        while found > 0 && *line != run[found] {
            found = again[found - 1];
        }
        found += usize::from(run.get(found) == Some(line));
        if found == run.len() {
            return true;
        }
    }
    run.is_empty()
}

/// A run of lines of the text after the edit, and what stands for it in the other two.
struct Place {
    ours: Range<usize>,
    back: Range<usize>,
    since: Range<usize>,
    /// Whether somebody has changed it since.
    is_since: bool,
}

/// One hunk: lines of the text after the edit, and lines of the other text in their place.
#[derive(Debug, Clone)]
struct Hunk {
    ours: Range<usize>,
    other: Range<usize>,
}

/// Every place that the edit has changed, hunks that touch put together.
fn places(back: &[Hunk], since: &[Hunk]) -> Vec<Place> {
    let mut places = Vec::new();
    let (mut back, mut since) = (Side::new(back), Side::new(since));
    while let Some(first) = back.peek() {
        let mut run = first.ours.clone();
        // What was changed before this place and does not touch it.
        while since.peek().is_some_and(|other| other.ours.end < run.start) {
            since.pass();
        }
        if let Some(other) = since.peek().filter(|other| touches(&other.ours, &run)) {
            run.start = run.start.min(other.ours.start);
        }
        let start = run.start;
        let (back_start, since_start) = (back.map(start), since.map(start));
        let mut is_since = false;
        loop {
            if let Some(hunk) = back.peek().filter(|hunk| touches(&hunk.ours, &run)) {
                run.end = run.end.max(hunk.ours.end);
                back.pass();
            } else if let Some(hunk) = since.peek().filter(|hunk| touches(&hunk.ours, &run)) {
                run.end = run.end.max(hunk.ours.end);
                is_since = true;
                since.pass();
            } else {
                break;
            }
        }
        places.push(Place {
            ours: run.clone(),
            back: back_start..back.map(run.end),
            since: since_start..since.map(run.end),
            is_since,
        });
    }
    places
}

/// Hunks from the first on, and how far those that were passed have moved the lines behind them.
struct Side<'a> {
    left: std::slice::Iter<'a, Hunk>,
    removed: usize,
    added: usize,
}

impl<'a> Side<'a> {
    fn new(hunks: &'a [Hunk]) -> Self {
        Self { left: hunks.iter(), removed: 0, added: 0 }
    }

    fn peek(&self) -> Option<&'a Hunk> {
        self.left.as_slice().first()
    }

    fn pass(&mut self) {
        if let Some(hunk) = self.left.next() {
            self.removed += hunk.ours.len();
            self.added += hunk.other.len();
        }
    }

    /// Of a line that no hunk ahead comes before.
    fn map(&self, line: usize) -> usize {
        line + self.added - self.removed
    }
}

/// Without a line between them that both leave alone.
fn touches(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start <= b.end && b.start <= a.end
}

fn hunks(ours: &[&str], other: &[&str]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, ours, other) {
        if let DiffOp::Equal { .. } = op {
            continue;
        }
        let (ours, other) = (op.old_range(), op.new_range());
        match hunks.last_mut() {
            Some(last) if last.ours.end == ours.start && last.other.end == other.start => {
                last.ours.end = ours.end;
                last.other.end = other.end;
            }
            _ => hunks.push(Hunk { ours, other }),
        }
    }
    hunks
}

/// Where each line starts, in bytes, and where the last one ends.
fn starts(lines: &[&str]) -> Vec<usize> {
    let ends = lines.iter().scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
