//! Several replacements in one text, as one edit: each is looked for in the text before all of them and in the text that those before it leave, and what the
//! two disagree about is refused. So the order makes no difference, and a replacement may still build on what one before it wrote.

use super::lf::{LfText, Place};
use super::{Fit, MatchError, Matched, Replacement, fit};
use crate::edit::EditSet;

/// Which of the replacements cannot be done, zero-based, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("replacement {}: {problem}", index + 1)]
pub struct SeveralError {
    pub index: usize,
    pub problem: SeveralProblem,
}

/// Each says what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeveralProblem {
    /// Of the text before all of them.
    #[error(transparent)]
    Match(#[from] MatchError),
    #[error("the text that it replaces is also replaced by one before it: make one replacement of the two")]
    Overlap,
    #[error(
        "what it replaces is also in the text that one before it writes, so it is not clear where it is meant: give more of the text around the place, or replace in two calls"
    )]
    TwoMeanings,
    #[error("all of them together leave the text as it is: nothing was changed")]
    NoChange,
}

/// All replacements as one edit of `text`, or none. C13.
pub fn find_edits(text: &str, replacements: &[Replacement<'_>]) -> Result<Matched, SeveralError> {
    let mut all = Matched { edits: EditSet::sorted(text.len(), Vec::new()), replacements: 0, warnings: Vec::new() };
    let file = LfText::new(text);
    let first = Place::new(&file);
    let mut now = text.to_owned();
    for (index, replacement) in replacements.iter().enumerate() {
        let failed = |problem| SeveralError { index, problem };
        let next = find_next(&first, &now, &all.edits, *replacement).map_err(failed)?;
        // Edits of these very texts fit.
        let unfit = |_| failed(SeveralProblem::Overlap);
        all.edits = all.edits.then(&next.edits).map_err(unfit)?;
        now = next.edits.apply_str(&now).map_err(unfit)?;
        all.replacements += next.replacements;
        all.warnings.extend(next.warnings.into_iter().map(|warning| format!("edit {}: {warning}", index + 1)));
    }
    match replacements.len().checked_sub(1) {
        Some(last) if now == text => Err(SeveralError { index: last, problem: SeveralProblem::NoChange }),
        _ => Ok(all),
    }
}

/// The edit of `now`, which `before` made of what is at `first`.
fn find_next(
    first: &Place<'_>,
    now: &str,
    before: &EditSet,
    replacement: Replacement<'_>,
) -> Result<Matched, SeveralProblem> {
    let first = fit(first, replacement);
    if before.is_empty() {
        return Ok(first?.0);
    }
    let file = LfText::new(now);
    let here = fit(&Place::new(&file), replacement);
    match (here, first) {
        (Ok((here, how)), Ok((first, _))) => match first.edits.rebase(before) {
            // Other edits may come to the same.
            Ok(moved) if moved == here.edits || moved.apply_str(now) == here.edits.apply_str(now) => Ok(here),
            Ok(_) => Err(SeveralProblem::TwoMeanings),
            // Those before it took care of some of the places.
            Err(_) if replacement.replace_all && how == Fit::Exact => Ok(here),
            Err(_) => Err(SeveralProblem::Overlap),
        },
        // Of several exact places some were replaced before; a loose one is not meant by what is left over.
        (Ok((_, Fit::Loose)), Err(error @ MatchError::Ambiguous { .. })) => Err(error.into()),
        (Ok((here, _)), Err(_)) => Ok(here),
        // One before it wrote the same text elsewhere.
        (Err(MatchError::Ambiguous { .. }), Ok((first, _))) => match first.edits.rebase(before) {
            Ok(edits) => Ok(Matched { edits, ..first }),
            Err(_) => Err(SeveralProblem::Overlap),
        },
        (Err(_), Ok(_)) => Err(SeveralProblem::Overlap),
        (Err(_), Err(error)) => Err(error.into()),
    }
}

#[cfg(test)]
#[path = "several_tests.rs"]
mod tests;
