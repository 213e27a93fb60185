//! Finding the text that a model means to replace: nine stages from exact to loose (R3.1), and the nearest miss with its difference named (R1.3).
//!
//! A stage may relax white space, line endings, escapes and the look-alike characters of [`LOOK_ALIKES`]; content never. The two anchor stages
//! only find the place for the error.

use crate::edit::EditSet;
use ropey::Rope;

/// Characters that a stage may take for one another: (as models type it, as files have it).
pub const LOOK_ALIKES: &[(char, char)] = &[];

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
    /// What was relaxed, for the model: empty where the match was exact.
    pub warnings: Vec<String>,
}

/// Each says what to do next; `{}` is the text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    #[error("the old text is empty")]
    EmptyOld,
    #[error("the old and the new text are identical")]
    NoChange,
    /// C03: they differ only in line endings, which follow the file.
    #[error("no change is left after line endings are made those of the file")]
    NoChangeAfterLineEndings,
    /// C15. `line` is one-based.
    #[error("the new text is already in place at line {line}")]
    AlreadyInPlace { line: usize },
    /// One-based first lines of all matches.
    #[error("{} matches, at lines {lines:?}", lines.len())]
    Ambiguous { lines: Vec<usize> },
    #[error("the old text was not found{}", nearest.as_ref().map(|nearest| format!("; {nearest}")).unwrap_or_default())]
    NotFound { nearest: Option<NearMiss> },
}

/// The place in the file that is most like the old text, and how it differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// One-based lines of the file.
    pub first_line: usize,
    pub last_line: usize,
    pub text: String,
    /// E.g. `tab vs spaces on line 2`, `U+201C instead of U+0022 on line 1`.
    pub difference: String,
}

impl std::fmt::Display for NearMiss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the nearest text is at lines {}-{}: {}", self.first_line, self.last_line, self.difference)
    }
}

/// The edits that carry out `replacement` in `text`. The new text gets the line endings of the place that it replaces.
pub fn find_edit(text: &Rope, replacement: Replacement<'_>) -> Result<Matched, MatchError> {
    let _ = (text, replacement);
    todo!()
}
