//! Differences of two texts, for people and models. Edits that are applied are `EditSet`s, not these. Diffs of whole files stand in `files`.

mod files;

use std::fmt::Write as _;

use ropey::{Rope, RopeSlice};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use crate::edit::equal_ends;

pub use files::{Content, Diff, DiffedFile, FileVersion, Kind, of_file};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineCounts {
    pub added: usize,
    pub removed: usize,
}

impl std::ops::AddAssign for LineCounts {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.removed += other.removed;
    }
}

/// A unified diff with `context` lines around each hunk; empty where the texts are equal. `name` stands in both headers.
pub fn unified(name: &str, before: &Rope, after: &Rope, context: usize) -> String {
    let (hunks, _) = hunks(before, after, context);
    if hunks.is_empty() { hunks } else { format!("--- {name}\n+++ {name}\n{hunks}") }
}

/// A changed line counts on both sides.
pub fn line_counts(before: &Rope, after: &Rope) -> LineCounts {
    let (start, end) = whole_lines(before, equal_ends(before, after));
    let changed = |text: &Rope| String::from(text.byte_slice(start..text.len_bytes() - end));
    let (before, after) = (changed(before), changed(after));
    counts(&capture_diff_slices(Algorithm::Myers, &lines(&before), &lines(&after)))
}

/// Whether two texts are the same: what they share, as a text and its edited copy do, is not looked at.
pub fn is_same(before: &Rope, after: &Rope) -> bool {
    let len = before.len_bytes();
    len == after.len_bytes() && equal_ends(before, after).0 == len
}

/// The part of `after` that `before` does not have at its start or at its end, in whole characters.
pub fn changed_part<'a>(before: &Rope, after: &'a Rope) -> RopeSlice<'a> {
    let (start, end) = equal_ends(before, after);
    let (start, end) = (after.byte_to_char(start), char_end(after, after.len_bytes() - end));
    after.slice(start..end)
}

/// The character that ends at the byte, or around it.
fn char_end(text: &Rope, at: usize) -> usize {
    let char = text.byte_to_char(at);
    if text.char_to_byte(char) < at { char + 1 } else { char }
}

/// Of bytes that two texts have in common at both ends, those in whole lines.
fn whole_lines(text: &Rope, (start, end): (usize, usize)) -> (usize, usize) {
    let len = text.len_bytes();
    let head = text.byte_slice(..start);
    let mut line = start;
    for chunk in head.chunks_at_byte(start).0.reversed() {
        line -= chunk.len();
        if let Some(found) = memchr::memrchr(b'\n', chunk.as_bytes()) {
            line += found + 1;
            break;
        }
    }
    // The common end may begin inside of a character.
    let mut at = text.char_to_byte(char_end(text, len - end));
    for chunk in text.byte_slice(at..).chunks() {
        match memchr::memchr(b'\n', chunk.as_bytes()) {
            Some(found) => return (line, len - at - found - 1),
            None => at += chunk.len(),
        }
    }
    (line, 0)
}

/// The hunks alone, in the form that `patch` and `git apply` read.
fn hunks(before: &Rope, after: &Rope, context: usize) -> (String, LineCounts) {
    let (before, after) = (before.to_string(), after.to_string());
    let (old, new) = (lines(&before), lines(&after));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let counts = counts(&ops);
    let mut text = String::new();
    for group in group_diff_ops(ops, context) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let was = range(first.old_range().start, last.old_range().end);
        let is = range(first.new_range().start, last.new_range().end);
        let _ = writeln!(text, "@@ -{was} +{is} @@");
        for op in &group {
            match op.tag() {
                DiffTag::Equal => push_lines(&mut text, ' ', &old[op.old_range()]),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    push_lines(&mut text, '-', &old[op.old_range()]);
                    push_lines(&mut text, '+', &new[op.new_range()]);
                }
            }
        }
    }
    (text, counts)
}

/// As `patch` counts them: a carriage return alone ends no line.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn counts(ops: &[DiffOp]) -> LineCounts {
    let changed = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    changed.fold(LineCounts::default(), |mut counts, op| {
        counts += LineCounts { added: op.new_range().len(), removed: op.old_range().len() };
        counts
    })
}

/// From 1; an empty range is named by the line before it, and a single line needs no count.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

fn push_lines(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
