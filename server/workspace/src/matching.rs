//! Finding the text that a model means to replace: nine stages from exact to loose (R3.1), and the nearest miss with its difference named (R1.3).
//!
//! A stage may relax white space, line endings, escapes and the look-alike characters of [`LOOK_ALIKES`]; content never. The two anchor stages
//! only find the place for the error.

mod escapes;
mod hunks;
mod indent;
mod lf;
mod look_alikes;
mod near_miss;
mod rewrite;
mod several;
mod stages;
mod windows;

use memchr::memmem;

use crate::edit::{EditError, EditSet, TextEdit};
use lf::{LfText, Place, normalised};
use stages::{Found, Search};

pub use hunks::{HunkError, HunkProblem, find_hunks};
pub use look_alikes::LOOK_ALIKES;
pub use near_miss::NearMiss;
pub use several::{SeveralError, SeveralProblem, find_edits};

/// What an `edit` call asks for.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub replace_all: bool,
}

#[derive(Debug, Clone)]
pub struct Matched {
    pub edits: EditSet,
    pub replacements: usize,
    /// For the model: what was relaxed, and what looks like a mistake of its own.
    pub warnings: Vec<String>,
}

/// Each says what to do next; `{}` is the text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    #[error("the old text is empty: give the text to replace, or use write to replace the file")]
    EmptyOld,
    #[error("the old and the new text are identical: nothing was changed")]
    NoChange,
    /// C03: they differ only in line endings, which follow the file.
    #[error("no change is left after line-ending normalisation: line breaks of the new text follow the file")]
    NoChangeAfterLineEndings,
    /// C15. `line` is one-based.
    #[error("the new text is already in place at line {line}: nothing was changed")]
    AlreadyInPlace { line: usize },
    /// One-based first lines of all matches.
    #[error("{} matches, at lines {}: give more of the text around the one that is meant, or replace all", lines.len(), listed(lines))]
    Ambiguous { lines: Vec<usize> },
    #[error("the old text was not found{}", nearest.as_ref().map_or_else(|| ": read the file again".to_owned(), |nearest| format!("; {nearest}")))]
    NotFound { nearest: Option<NearMiss> },
}

/// The edits that carry out `replacement` in `text`. The new text gets the line endings of the place that it replaces. At a place that matches only
/// loosely, what the edit does not change stays as the file has it.
pub fn find_edit(text: &str, replacement: Replacement<'_>) -> Result<Matched, MatchError> {
    let file = LfText::new(text);
    fit(&Place::new(&file), replacement).map(|(matched, _)| matched)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Exact,
    Loose,
}

/// With how the old text was found.
fn fit(place: &Place<'_>, replacement: Replacement<'_>) -> Result<(Matched, Fit), MatchError> {
    let file = place.file;
    let Replacement { old, new, replace_all } = replacement;
    if old == new {
        return Err(MatchError::NoChange);
    }
    if old.is_empty() {
        return Ok((fill(file.original, new)?, Fit::Exact));
    }
    let (old_lf, new_lf) = (normalised(old).0, normalised(new).0);
    if old_lf == new_lf {
        return Err(MatchError::NoChangeAfterLineEndings);
    }
    let search = Search { file, lines: &place.lines, old: &old_lf, new: &new_lf, replace_all };
    let found = match literal_place(file, replacement) {
        Some(start) => search.exact_at(&[start])?,
        None => search.exact()?,
    };
    let (found, fit) = match found {
        Some(found) => (Some(found), Fit::Exact),
        None => (search.relaxed()?, Fit::Loose),
    };
    match found {
        Some(found) => Ok((finished(file, found)?, fit)),
        None => Err(missed(&search, old)),
    }
}

/// `old` is as the model sent it.
fn missed(search: &Search<'_>, old: &str) -> MatchError {
    let nearest = near_miss::nearest(search.file, search.lines, old);
    // Lines that stand elsewhere are better evidence than a new text that stands somewhere.
    let place = nearest.as_ref().filter(|_| search.old.trim().contains('\n'));
    match stages::in_place(search.file, search.lines, search.new, place) {
        Some(line) => MatchError::AlreadyInPlace { line },
        None => MatchError::NotFound { nearest },
    }
}

/// An empty file has no text to replace.
fn fill(text: &str, new: &str) -> Result<Matched, MatchError> {
    if !text.is_empty() {
        return Err(MatchError::EmptyOld);
    }
    let edits = EditSet::single(0, 0..0, new.to_owned());
    Ok(Matched { edits, replacements: 1, warnings: Vec::new() })
}

/// The place of an old text with `\r` in it, where it stands exactly once with those: then it is told apart from the same lines with other endings.
fn literal_place(file: &LfText<'_>, replacement: Replacement<'_>) -> Option<usize> {
    let old = replacement.old.as_bytes();
    if replacement.replace_all || memchr::memchr(b'\r', old).is_none() {
        return None;
    }
    let text = file.original.as_bytes();
    let at = memmem::find(text, old)?;
    let again = memmem::find(&text[at + 1..], old);
    let (start, end) = (file.normalised_offset(at), file.normalised_offset(at + old.len()));
    (again.is_none() && file.original_offset(start) == at && file.original_offset(end) == at + old.len())
        .then_some(start)
}

fn finished(file: &LfText<'_>, found: Found) -> Result<Matched, MatchError> {
    let edits = edits_of(file, &found.edits).map_err(|_| MatchError::NotFound { nearest: None })?;
    if edits.is_empty() {
        return Err(MatchError::AlreadyInPlace { line: found.line + 1 });
    }
    Ok(Matched { edits, replacements: found.replacements, warnings: found.warnings })
}

/// Edits of the text with `\n` for line breaks, as those of the original; without those that change nothing of it.
fn edits_of<'a>(file: &LfText<'_>, edits: impl IntoIterator<Item = &'a TextEdit>) -> Result<EditSet, EditError> {
    let edits = edits.into_iter().map(|edit| file.to_original(edit));
    let changes = |edit: &TextEdit| file.original.get(edit.range.clone()).is_none_or(|old| old != edit.text);
    EditSet::of_str(file.original, edits.filter(changes).collect())
}

/// As many as a reader can use.
fn listed(lines: &[usize]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = lines.iter().take(SHOWN).map(usize::to_string).collect();
    format!("{}{}", shown.join(", "), if lines.len() > SHOWN { ", …" } else { "" })
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
