//! `edit`: replaces a text in a file by another one. Finding the place is `workspace`'s; a failed search comes back with the nearest text (R1.3).

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::matching::{MatchError, NearMiss, Replacement, find_edit};
use ropey::Rope;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Change};
use super::{described, path};
use crate::message::SeenFile;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};
use crate::view::{Snapshot, ViewError};

/// How many places of an ambiguous text are named.
const MOST_LINES: usize = 20;

pub(super) struct Edit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    /// The file, absolute or relative to the session's folder.
    file_path: String,
    /// The text to replace, exactly as `read` shows it behind the line numbers. Empty only to make a new file.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence; otherwise there must be exactly one.
    #[serde(default)]
    replace_all: bool,
}

impl Tool for Edit {
    type Input = Input;
    type Prepared = Change;

    const NAME: &'static str = "edit";
    const KIND: ToolKind = ToolKind::Edit;
    const GATE: Gate = Gate::Exclusive;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("edit.txt"), facts)
    }

    fn title(&self, partial: &Value, facts: &Facts) -> String {
        path::title("Edit", partial, facts)
    }

    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(path::resolve(&input.file_path, facts)?)])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Change>, ToolError> {
        let path = path::resolve(&input.file_path, &ctx.facts)?;
        let change = match ctx.view.snapshot(&path).await {
            Ok(base) if base.text.len_bytes() == 0 && input.old_string.is_empty() => fill(base, &input.new_string, ctx),
            Ok(base) => replace(base, input, ctx),
            Err(ViewError::Disk(DiskError::NotFound(_))) if input.old_string.is_empty() => {
                Change::create(path, input.new_string.clone())
            }
            Err(error) => Err(path::unread(&path, error, ctx).await),
        };
        Ok(change?.formatted(ctx).await?.prepared())
    }

    async fn commit(&self, change: Change, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        change.commit(ctx).await
    }
}

/// An empty file is as good as none.
fn fill(base: Snapshot, text: &str, ctx: &ToolContext) -> Result<Change, ToolError> {
    let edits = EditSet::between(&base.text, &Rope::from(text));
    if edits.is_empty() {
        return Err(ToolError::Tell(format!("{} is empty and `newString` too; nothing was changed", base.path)));
    }
    Ok(Change::modify(base, edits, Vec::new(), ctx)?.known())
}

fn replace(base: Snapshot, input: &Input, ctx: &ToolContext) -> Result<Change, ToolError> {
    let replacement = Replacement { old: &input.old_string, new: &input.new_string, replace_all: input.replace_all };
    let matched = find_edit(&base.joined(), replacement).map_err(|error| unmatched(&base, error, ctx))?;
    if matched.edits.is_empty() {
        return Err(unmatched(&base, MatchError::NoChange, ctx));
    }
    let mut notes = Vec::new();
    if matched.replacements > 1 {
        notes.push(format!("{} occurrences were replaced.", matched.replacements));
    }
    notes.extend(matched.warnings.into_iter().map(|warning| format!("Note: {warning}")));
    Change::modify(base, matched.edits, notes, ctx)
}

/// For the model, of the text as it stands.
pub(super) fn unmatched(base: &Snapshot, error: MatchError, ctx: &ToolContext) -> ToolError {
    let path = &base.path;
    let unchanged = |text: String| format!("{path} was not changed: {text}");
    let (text, seen) = match error {
        MatchError::EmptyOld => {
            return ToolError::Tell(unchanged("`oldString` is empty, but the file exists and has text. Give the text to replace, or use `write` to replace the file.".to_owned()));
        }
        MatchError::NoChangeAfterLineEndings => return ToolError::Tell(unchanged(format!("{error}."))),
        MatchError::NoChange => (unchanged("`oldString` and `newString` are identical.".to_owned()), Vec::new()),
        MatchError::AlreadyInPlace { line } => {
            (unchanged(format!("no change is needed, the new text is already in place at line {line}.")), Vec::new())
        }
        MatchError::Ambiguous { lines } => (unchanged(ambiguous(&lines)), Vec::new()),
        MatchError::NotFound { nearest } => not_found(base, nearest, ctx),
    };
    // One text for all, so that nobody learns a secret by asking for many edits of it.
    let withheld = format!("{} {}", unchanged("the edit does not fit its present text.".to_owned()), change::WITHHELD);
    ToolError::Quote { text, withheld, seen }
}

fn ambiguous(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(MOST_LINES).map(ToString::to_string).collect();
    let more = match lines.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{} matches of `oldString`, at lines {}{more}. Give more of the text around the one that you mean, or set `replaceAll`.",
        lines.len(),
        shown.join(", ")
    )
}

fn not_found(base: &Snapshot, nearest: Option<NearMiss>, ctx: &ToolContext) -> (String, Vec<SeenFile>) {
    let is_seen = change::is_seen(base, ctx);
    let state = match (is_seen, change::unseen_of_another(base, ctx)) {
        (true, _) => String::new(),
        (false, None) => " You have not seen the file as it now stands.".to_owned(),
        (false, Some(told)) => format!(" {told}"),
    };
    let text = format!("{} was not changed: `oldString` was not found in it.{state}", base.path);
    let miss = nearest.as_ref().map(|near| {
        format!("The nearest text is at lines {}-{}, and differs: {}", near.first_line, near.last_line, near.difference)
    });
    let (quoted, seen) = change::quote(base, nearest.as_ref().map(|near| near.first_line));
    let place = match (&nearest, is_seen) {
        // The model knows the file: the place is enough.
        (None, true) => "Nothing in the file is like it: check the path, and take the text from `read`.".to_owned(),
        (_, _) => format!("The present text there:\n{quoted}\nRepeat the call with `oldString` copied from it."),
    };
    (std::iter::once(text).chain(miss).chain([place]).collect::<Vec<_>>().join("\n"), seen)
}

#[cfg(test)]
#[path = "edit_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
