//! What `glob` and `grep` have in common: where they look, and what they say of what they did not look at.

use std::borrow::Cow;

use copydesk_workspace::disk::{DiskError, FileKind};
use copydesk_workspace::path::AbsPath;
use serde_json::Value;

use super::path;
use crate::ports::{Found, SearchError, SearchStop};
use crate::search::MOST_TIME;
use crate::tool::{Facts, ToolContext, ToolError};
use crate::view::ViewError;

/// Ignored names that an answer lists.
const MOST_IGNORED: usize = 10;

#[derive(Debug)]
pub(super) struct Place {
    pub(super) roots: Vec<AbsPath>,
    /// By the call, as against all of the workspace.
    pub(super) named: bool,
}

impl Place {
    /// `None` and blanks mean the whole workspace.
    pub(super) fn of(path: Option<&str>, facts: &Facts) -> Result<Self, ToolError> {
        match path.filter(|path| !path.trim().is_empty()) {
            Some(path) => Ok(Self { roots: vec![path::resolve(path, facts)?], named: true }),
            None => Ok(Self { roots: facts.roots.clone(), named: false }),
        }
    }

    /// Where the call named it.
    pub(super) async fn must_exist(&self, ctx: &ToolContext) -> Result<Option<FileKind>, ToolError> {
        let [root] = self.roots.as_slice() else { return Ok(None) };
        if !self.named {
            return Ok(None);
        }
        match ctx.view.stat(root).await {
            Ok(stat) => Ok(Some(stat.kind)),
            // A new document of the editor has no file yet.
            Err(_) if matches!(ctx.view.document(root).await, Ok(Some(_))) => Ok(Some(FileKind::File)),
            Err(ViewError::Disk(DiskError::NotFound(_))) => Err(path::missing(root, ctx).await),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn must_be_folder(&self, ctx: &ToolContext) -> Result<(), ToolError> {
        match self.must_exist(ctx).await? {
            None | Some(FileKind::Directory) => Ok(()),
            Some(FileKind::File | FileKind::Other) => Err(ToolError::Tell(format!(
                "`path` must be a folder, and {} is none. Name the folder that it is in.",
                self.roots.iter().map(ToString::to_string).collect::<String>()
            ))),
        }
    }
}

/// The folder that an absolute pattern begins with, and the pattern from there; `None` where it names no folder.
pub(super) fn split_absolute(pattern: &str) -> Option<(AbsPath, String)> {
    let is_literal = |part: &&str| !part.contains(['*', '?', '[', '{']);
    let parts: Vec<&str> = pattern.strip_prefix('/')?.split('/').collect();
    let literal = parts.iter().take(parts.len() - 1).take_while(|part| is_literal(part)).count();
    let folder = AbsPath::new(format!("/{}", parts[..literal].join("/")))?;
    // With a slash, it is held against the path and not against names at any depth.
    (literal > 0).then(|| (folder, format!("/{}", parts[literal..].join("/"))))
}

/// From arguments that may still be streaming.
pub(super) fn title(verb: &str, partial: &Value) -> String {
    let text = |key: &str| partial.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut title = verb.to_owned();
    for (before, part) in [(" ", text("pattern")), (" in ", text("path").or(text("include")))] {
        if let Some(part) = part {
            title.push_str(before);
            title.push_str(part);
        }
    }
    title
}

/// A path on a line of its own: names with line breaks and the like are quoted.
pub(super) fn shown(path: &AbsPath) -> String {
    shown_name(&path.to_string()).into_owned()
}

/// On one line, whatever it holds.
pub(super) fn shown_name(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_control) { Cow::Owned(format!("{name:?}")) } else { Cow::Borrowed(name) }
}

pub(super) fn told(error: SearchError) -> ToolError {
    match error {
        SearchError::Cancelled => ToolError::Cancelled,
        SearchError::BadPattern(_) | SearchError::NotFound(_) | SearchError::Failed(_) => {
            ToolError::Tell(format!("{error}. Nothing was searched."))
        }
    }
}

/// What both say of what they left out.
pub(super) fn notes<T>(found: &Found<T>) -> Vec<String> {
    let mut notes = Vec::new();
    let smaller = "it is incomplete: name a smaller folder in `path`";
    match found.stopped {
        Some(SearchStop::Time) => {
            notes.push(format!("The search was stopped after {} seconds, {smaller}.", MOST_TIME.as_secs()));
        }
        Some(SearchStop::Bytes) => notes.push(format!("The search was stopped, having read too much; {smaller}.")),
        None => {}
    }
    let skipped = &found.skipped;
    if skipped.binary > 0 {
        notes.push(format!("{} skipped as binary.", files(skipped.binary)));
    }
    if skipped.unreadable > 0 {
        notes.push(format!("{} or folders could not be read.", files(skipped.unreadable)));
    }
    if !skipped.ignored.is_empty() {
        let names: Vec<&str> = skipped.ignored.iter().take(MOST_IGNORED).map(String::as_str).collect();
        let others = match skipped.ignored.len() - names.len() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        notes.push(format!(
            "Not searched, since ignore files name them: {}{others}, and what they name further down. To search one, give it as `path`.",
            names.join(", ")
        ));
    } else if found.hits.is_empty() {
        notes.push("What ignore files name was not searched.".to_owned());
    }
    notes
}

pub(super) fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

pub(super) fn with_notes(mut text: String, notes: &[String]) -> String {
    if !notes.is_empty() {
        text.push_str("\n(");
        text.push_str(&notes.join("\n"));
        text.push_str(")\n");
    }
    text
}
