//! `multiedit`: several edits of one file as one change, with one question and one step of undo. How they go together is `workspace`'s.

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::matching::{MatchError, Replacement, SeveralError, SeveralProblem, find_edits};
use copydesk_workspace::path::AbsPath;
use ropey::Rope;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::Change;
use super::{described, edit, path};
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};
use crate::view::{Snapshot, ViewError};

pub(super) struct MultiEdit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    /// The file, absolute or relative to the session's folder.
    file_path: String,
    /// The edits, at least one.
    edits: Vec<Item>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Item {
    /// The text to replace, exactly as `read` shows it behind the line numbers.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence; otherwise there must be exactly one.
    #[serde(default)]
    replace_all: bool,
}

impl Tool for MultiEdit {
    type Input = Input;
    type Prepared = Change;

    const NAME: &'static str = "multiedit";
    const KIND: ToolKind = ToolKind::Edit;
    const GATE: Gate = Gate::Exclusive;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("multiedit.txt"), facts)
    }

    fn title(&self, partial: &Value, facts: &Facts) -> String {
        path::title("Edit", partial, facts)
    }

    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(path::resolve(&input.file_path, facts)?)])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Change>, ToolError> {
        let path = path::resolve(&input.file_path, &ctx.facts)?;
        let Some(first) = input.edits.first() else {
            return Err(ToolError::Tell(format!("{path} was not changed: `edits` is empty; give at least one")));
        };
        let change = match ctx.view.snapshot(&path).await {
            Ok(base) => modify(base, &input.edits, ctx),
            Err(ViewError::Disk(DiskError::NotFound(_))) if first.old_string.is_empty() => create(path, &input.edits),
            Err(error) => Err(path::unread(&path, error, ctx).await),
        };
        Ok(change?.formatted(ctx).await?.prepared())
    }

    async fn commit(&self, change: Change, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        change.commit(ctx).await
    }
}

fn modify(base: Snapshot, edits: &[Item], ctx: &ToolContext) -> Result<Change, ToolError> {
    let matched =
        find_edits(&base.joined(), &replacements(edits)).map_err(|error| unmatched(&base, error, edits, ctx))?;
    let mut notes = vec![counted(edits.len(), matched.replacements)];
    notes.extend(matched.warnings.into_iter().map(|warning| format!("Note on {warning}")));
    Change::modify(base, matched.edits, notes, ctx)
}

/// The first of the edits writes the text that the others change.
fn create(path: AbsPath, edits: &[Item]) -> Result<Change, ToolError> {
    let matched = match find_edits("", &replacements(edits)) {
        Ok(matched) => matched,
        // An empty file is made from nothing.
        Err(_) if matches!(edits, [only] if only.new_string.is_empty()) => {
            return Change::create(path, String::new());
        }
        Err(error) => {
            let which = numbered(error.index, edits.len());
            return Err(ToolError::Tell(format!("{path} was not created: {which}: {}.", error.problem)));
        }
    };
    let text = matched.edits.apply(&Rope::new()).map_err(|error| ToolError::Tell(error.to_string()))?;
    Change::create(path, text.to_string())
}

fn replacements(edits: &[Item]) -> Vec<Replacement<'_>> {
    edits
        .iter()
        .map(|item| Replacement { old: &item.old_string, new: &item.new_string, replace_all: item.replace_all })
        .collect()
}

fn counted(edits: usize, replacements: usize) -> String {
    let edits = if edits == 1 { "1 edit".to_owned() } else { format!("{edits} edits") };
    let places = if replacements == 1 { "1 place".to_owned() } else { format!("{replacements} places") };
    format!("{edits} at {places}.")
}

fn numbered(index: usize, of: usize) -> String {
    format!("edit {} of {of}", index + 1)
}

/// The number is told only to those who may know the text: by it one could try out many guesses at once.
fn unmatched(base: &Snapshot, error: SeveralError, edits: &[Item], ctx: &ToolContext) -> ToolError {
    let SeveralError { index, problem } = error;
    let which = numbered(index, edits.len());
    let no_match = || edit::unmatched(base, MatchError::NotFound { nearest: None }, ctx);
    match problem {
        SeveralProblem::Match(error) => match edit::unmatched(base, error, ctx) {
            ToolError::Quote { text, withheld, seen } => ToolError::Quote {
                text: format!("None of the edits was made, because of {which}. {text}"),
                withheld,
                seen,
            },
            ToolError::Tell(text) => ToolError::Tell(format!("None of the edits was made, because of {which}. {text}")),
            other => other,
        },
        problem @ (SeveralProblem::Overlap | SeveralProblem::TwoMeanings | SeveralProblem::NoChange) => {
            let withheld = match no_match() {
                ToolError::Quote { withheld, .. } => withheld,
                other => return other,
            };
            let text = format!("{} was not changed, because of {which}: {problem}.", base.path);
            ToolError::Quote { text, withheld, seen: Vec::new() }
        }
    }
}

#[cfg(test)]
#[path = "multiedit_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
