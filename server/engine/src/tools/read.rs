//! `read`: a file or a folder, in pieces, or an image or document as a whole. The editor's text where the file is open there.

mod huge;
mod notebook;
mod shown;

use std::fmt::Write as _;

use copydesk_workspace::disk::{DirEntry, DiskError, FileKind};
use copydesk_workspace::encoding::DecodeError;
use copydesk_workspace::path::AbsPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::notebook::Notebook;
use super::lines::{self, Window};
use super::{described, path, searched};
use crate::message::SeenFile;
use crate::output::Limits;
use crate::ports::Preview;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};
use crate::view::{Snapshot, ViewError};

/// Bytes of instruction files that come with one file; half of the answer at most.
const MOST_INSTRUCTIONS: usize = 32 << 10;

/// For what stands around the lines, bytes, and around cells, lines.
const FRAME: usize = 1 << 10;
const FRAME_LINES: usize = 8;

pub(super) struct Read;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    /// The file or folder, absolute or relative to the session's folder.
    file_path: String,
    /// The first line (of a folder: entry) to show, from 1.
    offset: Option<usize>,
    /// How many lines or entries to show.
    limit: Option<usize>,
    /// The first character of the first line to show, from 1: for lines too long for one call.
    column: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Wanted {
    path: AbsPath,
    window: Window,
    max_lines: usize,
}

impl Tool for Read {
    type Input = Input;
    type Prepared = Wanted;

    const NAME: &'static str = "read";
    const KIND: ToolKind = ToolKind::Read;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("read.txt"), facts).replace("{longest}", &lines::LONGEST_LINE.to_string())
    }

    fn title(&self, partial: &Value, facts: &Facts) -> String {
        path::title("Read", partial, facts)
    }

    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Read(path::resolve(&input.file_path, facts)?)])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Wanted>, ToolError> {
        let Limits { lines, bytes } = Limits::of(&ctx.facts);
        let window = Window {
            offset: input.offset.unwrap_or(1).max(1),
            limit: input.limit.unwrap_or(lines).clamp(1, lines),
            column: input.column.unwrap_or(1).max(1),
            max_bytes: bytes.saturating_sub(FRAME).max(FRAME),
        };
        let path = path::resolve(&input.file_path, &ctx.facts)?;
        // The text is read once that is allowed.
        Ok(Prepared {
            value: Wanted { path, window, max_lines: lines.saturating_sub(FRAME_LINES).max(1) },
            preview: Preview::Nothing,
        })
    }

    async fn commit(&self, wanted: Wanted, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        match ctx.view.snapshot(&wanted.path).await {
            Ok(snapshot) if !snapshot.is_editors() && shown::is_shown(&snapshot.text) => {
                let error = ViewError::Text { path: snapshot.path, error: DecodeError::Binary };
                Ok(shown::shown(&wanted.path, error, ctx).await?)
            }
            Err(error @ ViewError::TooLarge { len, .. }) => {
                match huge::part(&wanted.path, wanted.window, len, ctx).await? {
                    Some(output) => Ok(output),
                    None => Ok(shown::shown(&wanted.path, error, ctx).await?),
                }
            }
            Err(error @ ViewError::Text { .. }) => Ok(shown::shown(&wanted.path, error, ctx).await?),
            Ok(snapshot) => {
                let new =
                    ctx.instructions.first_told(&wanted.path, MOST_INSTRUCTIONS.min(wanted.window.max_bytes / 2)).await;
                let max_bytes = wanted.window.max_bytes - new.text.len().min(wanted.window.max_bytes / 2);
                let mut output =
                    of_file(&snapshot, &Wanted { window: Window { max_bytes, ..wanted.window }, ..wanted })?;
                output.text.push_str(&new.text);
                output.instructions = new.told;
                Ok(output)
            }
            Err(ViewError::Disk(DiskError::IsDirectory(_))) => {
                let entries = ctx.view.list(&wanted.path).await.map_err(ToolError::from)?;
                Ok(of_folder(&entries, &wanted)?)
            }
            Err(ViewError::Disk(DiskError::NotFound(_))) => Err(path::missing(&wanted.path, ctx).await.into()),
            Err(error) => Err(ToolError::from(error).into()),
        }
    }
}

fn of_file(snapshot: &Snapshot, wanted: &Wanted) -> Result<ToolOutput, ToolError> {
    let text = snapshot.text.to_string();
    let mut note = String::new();
    if wanted.path.name().to_lowercase().ends_with(".ipynb") {
        match Notebook::parse(&text) {
            Ok(notebook) => return of_notebook(&notebook, snapshot, wanted),
            Err(why) => note = format!(" It cannot be shown as a notebook: {why}."),
        }
    }
    let shown =
        lines::show(&text, wanted.window).map_err(|behind| ToolError::Tell(format!("{} {behind}", wanted.path)))?;
    let text = format!(
        "<path>{}</path>\n<type>file</type>\n<content>\n{}</content>\n{}{note}{}",
        wanted.path,
        shown.body,
        shown.footer,
        origin(snapshot)
    );
    Ok(ToolOutput {
        text,
        capped: true,
        seen: vec![SeenFile { path: snapshot.key.path().clone(), hash: snapshot.hash }],
        locations: vec![(wanted.path.clone(), Some(wanted.window.offset))],
        metadata: json!({"firstLine": wanted.window.offset, "lastLine": shown.last, "lines": shown.total}),
        ..ToolOutput::default()
    })
}

/// Its text is not known from this.
fn of_notebook(notebook: &Notebook, snapshot: &Snapshot, wanted: &Wanted) -> Result<ToolOutput, ToolError> {
    let shown = notebook
        .show(wanted.window, wanted.max_lines)
        .map_err(|behind| ToolError::Tell(format!("{} {behind}", wanted.path)))?;
    let text = format!(
        "<path>{}</path>\n<type>notebook</type>\n<cells>\n{}</cells>\n{}{}",
        wanted.path,
        shown.body,
        shown.footer,
        origin(snapshot)
    );
    Ok(ToolOutput {
        text,
        capped: true,
        locations: vec![(wanted.path.clone(), None)],
        metadata: json!({"firstCell": wanted.window.offset, "lastCell": shown.last, "cells": shown.total}),
        ..ToolOutput::default()
    })
}

fn origin(snapshot: &Snapshot) -> &'static str {
    if snapshot.is_editors() { " This is the editor's text, saved or not." } else { "" }
}

fn of_folder(entries: &[DirEntry], wanted: &Wanted) -> Result<ToolOutput, ToolError> {
    let total = entries.len();
    let first = wanted.window.offset;
    if first > total.max(1) {
        return Err(ToolError::Tell(format!(
            "{} has {}; offset={first} is behind its end",
            wanted.path,
            entries_of(total)
        )));
    }
    let mut body = String::new();
    let mut last = first - 1;
    for entry in entries.iter().skip(first - 1).take(wanted.window.limit) {
        let slash = if entry.kind == FileKind::Directory { "/" } else { "" };
        let name = searched::shown_name(&entry.name);
        if body.len() + name.len() + 2 > wanted.window.max_bytes {
            break;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(body, "{name}{slash}");
        last += 1;
    }
    let footer = if last >= total && first == 1 {
        format!("All of it: {}.", entries_of(total))
    } else if last >= total {
        format!("Entries {first} to {total}, the end.")
    } else {
        format!("Entries {first} to {last} of {total}; next: offset={}", last + 1)
    };
    let path = &wanted.path;
    Ok(ToolOutput {
        text: format!("<path>{path}</path>\n<type>directory</type>\n<entries>\n{body}</entries>\n{footer}"),
        capped: true,
        locations: vec![(path.clone(), None)],
        ..ToolOutput::default()
    })
}

fn entries_of(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

#[cfg(test)]
#[path = "read_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
