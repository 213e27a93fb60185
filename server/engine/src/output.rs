//! The cap on what a model is told (R10.1): head, or head and tail, within the limits of lines and bytes; all of it in a file that `read` can page.

mod retention;

use std::sync::Arc;

use copydesk_workspace::disk::Expected;
use copydesk_workspace::path::AbsPath;

use crate::ports::{Files, Ids};
use crate::tool::Facts;

pub(crate) use retention::{Retention, sweep};

/// Before the `_` of the names of files for outputs.
const SPILLED: &str = "tool";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub lines: usize,
    pub bytes: usize,
}

impl Limits {
    pub fn of(facts: &Facts) -> Self {
        Self { lines: facts.max_lines, bytes: facts.max_bytes }
    }

    /// Of anything at all, so that head and tail of what does not fit never overlap.
    pub fn half(self) -> Self {
        Self { lines: (self.lines / 2).max(1), bytes: (self.bytes / 2).max(1) }
    }

    pub fn fit(self, text: &str) -> bool {
        text.len() <= self.bytes && text.lines().count() <= self.lines
    }
}

/// A new file for an output that is too long.
pub fn spill_path(facts: &Facts, ids: &dyn Ids) -> AbsPath {
    facts.spill.join(ids.next(SPILLED))
}

/// The text itself where it fits, else its head with the place of the whole.
pub async fn cap(text: String, facts: &Facts, files: &Arc<dyn Files>, ids: &dyn Ids) -> String {
    let limits = Limits::of(facts);
    if limits.fit(&text) {
        return text;
    }
    let kept = head(&text, limits);
    let rest = &text[kept.len()..];
    let note = left_out(rest.lines().count(), rest.len());
    let place = spill(&text, facts, files, ids).await;
    format!("{}\n\n[{note}. {place}]", kept.trim_end_matches('\n'))
}

/// Writes the whole text and says where it is, or why it is nowhere.
pub async fn spill(text: &str, facts: &Facts, files: &Arc<dyn Files>, ids: &dyn Ids) -> String {
    let path = spill_path(facts, ids);
    match files.write(path.clone(), text.as_bytes().to_vec(), Expected::Absent).await {
        Ok(()) => whole_in(&path),
        Err(error) => format!("The rest could not be kept: {error}"),
    }
}

pub fn whole_in(path: &AbsPath) -> String {
    format!(
        "The whole output is in {path}: look for what you need with `read` (offset, limit) or a search, not all of it"
    )
}

pub fn left_out(lines: usize, bytes: usize) -> String {
    format!("{lines} more lines, {bytes} bytes, are left out here")
}

/// Whole lines from the start; a first line that alone is too long is cut inside.
pub fn head(text: &str, limits: Limits) -> &str {
    let end = text.split_inclusive('\n').take(limits.lines).map(str::len).scan(0, |sum, len| {
        *sum += len;
        Some(*sum)
    });
    match end.take_while(|end| *end <= limits.bytes).last() {
        Some(end) => &text[..end],
        None => &text[..floor_boundary(text, limits.bytes)],
    }
}

/// Whole lines from the end; a last line that alone is too long is cut inside.
pub fn tail(text: &str, limits: Limits) -> &str {
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev().take(limits.lines) {
        if text.len() - (start - line.len()) > limits.bytes {
            break;
        }
        start -= line.len();
    }
    if start == text.len() {
        start = ceil_boundary(text, text.len().saturating_sub(limits.bytes));
    }
    &text[start..]
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil_boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, lines: usize, bytes: usize, first: &str, last: &str) {
        let limits = Limits { lines, bytes };
        assert_eq!((head(text, limits), tail(text, limits)), (first, last), "{text:?} {limits:?}");
    }

    #[test]
    fn keeps_whole_lines_and_cuts_only_one_that_is_too_long() {
        check("a\nb\nc\n", 2, 100, "a\nb\n", "b\nc\n");
        check("aa\nbb\ncc", 9, 5, "aa\n", "bb\ncc");
        check("aa\nbb\ncc", 9, 4, "aa\n", "cc");
        check("\u{1f680}\u{1f680}", 9, 5, "\u{1f680}", "\u{1f680}");
        check("", 9, 5, "", "");
        check("a\n", 9, 5, "a\n", "a\n");
    }
}
