//! `write`: a whole file, new or replaced. What the model has not seen as it now stands is not replaced (R6.4).

use std::borrow::Cow;

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{LineEnding, dominant_line_ending};
use ropey::Rope;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Change};
use super::{described, path};
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};
use crate::view::{Snapshot, ViewError};

pub(super) struct Write;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    /// The file, absolute or relative to the session's folder. Missing folders are made.
    file_path: String,
    /// The whole text of the file.
    content: String,
}

impl Tool for Write {
    type Input = Input;
    type Prepared = Change;

    const NAME: &'static str = "write";
    const KIND: ToolKind = ToolKind::Edit;
    const GATE: Gate = Gate::Exclusive;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("write.txt"), facts)
    }

    fn title(&self, partial: &Value, facts: &Facts) -> String {
        path::title("Write", partial, facts)
    }

    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(path::resolve(&input.file_path, facts)?)])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Change>, ToolError> {
        let path = path::resolve(&input.file_path, &ctx.facts)?;
        let change = match ctx.view.snapshot(&path).await {
            Ok(base) => replace(base, &input.content, ctx),
            Err(ViewError::Disk(DiskError::NotFound(_))) => Change::create(path, input.content.clone()),
            Err(ViewError::Disk(DiskError::IsDirectory(_))) => Err(path::folder(&path)),
            Err(error) => {
                Err(ToolError::Tell(format!("{error}. Nothing was written; to replace it, delete it first.")))
            }
        };
        Ok(change?.formatted(ctx).await?.prepared())
    }

    async fn commit(&self, change: Change, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        change.commit(ctx).await
    }
}

fn replace(base: Snapshot, content: &str, ctx: &ToolContext) -> Result<Change, ToolError> {
    let seen = ctx.seen.get(base.key.path());
    if base.text.len_bytes() > 0 && seen != Some(base.hash) {
        let why = match seen {
            None => "exists already, and you have not read it".to_owned(),
            Some(_) => format!("has changed since you last saw it{}", change::by_whom(&base, ctx)),
        };
        let path = &base.path;
        let (quote, seen) = change::quote(&base, None);
        let next = if seen.is_empty() {
            "Read the rest of it, then repeat the call if it is still to be replaced as a whole"
        } else {
            "Repeat the call if this is still to be replaced as a whole"
        };
        let text = format!("{path} {why}; nothing was written. {next}, or use `edit` for a part of it.");
        let withheld = format!("{path} {why}; nothing was written.\n{}", change::WITHHELD);
        return Err(ToolError::Quote { text: format!("{text}\nIts present text:\n{quote}"), withheld, seen });
    }
    let old = base.text.to_string();
    let content = with_endings_of(&old, content.strip_prefix('\u{feff}').unwrap_or(content));
    let edits = EditSet::between(&base.text, &Rope::from(content.as_ref()));
    if edits.is_empty() {
        return Err(ToolError::Tell(format!("{} has exactly this text already; nothing was changed", base.path)));
    }
    let converted = matches!(content, Cow::Owned(_));
    let notes = converted.then(|| "Its line endings were kept as they are in the file.".to_owned());
    Ok(Change::modify(base, edits, notes.into_iter().collect(), ctx)?.known())
}

/// The file keeps its style of line endings (R1.2); one without any line break has none.
pub(super) fn with_endings_of<'a>(old: &str, content: &'a str) -> Cow<'a, str> {
    if !old.contains(['\n', '\r']) {
        return Cow::Borrowed(content);
    }
    let ending = match dominant_line_ending(old) {
        LineEnding::Lf => "\n",
        LineEnding::CrLf => "\r\n",
        LineEnding::Cr => "\r",
    };
    let plain = content.replace("\r\n", "\n").replace('\r', "\n");
    let kept = if ending == "\n" { plain } else { plain.replace('\n', ending) };
    if kept == content { Cow::Borrowed(content) } else { Cow::Owned(kept) }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
