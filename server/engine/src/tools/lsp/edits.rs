//! The edits of a language server as changes of ours. They are only taken for the very texts that they were made for: a server may have read a file long ago.

use std::ops::Range;

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::edit::{EditSet, TextEdit};
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::{Position, PositionEncoding, offset_of};
use ropey::Rope;

use super::super::change::Change;
use crate::ports::{LanguageAbout, LanguageChange};
use crate::tool::{Access, ToolContext, ToolError};
use crate::view::{Snapshot, ViewError};

pub(super) fn access(changes: &[LanguageChange]) -> Result<Vec<Access>, ToolError> {
    let mut access: Vec<Access> = Vec::new();
    for change in changes {
        let paths = match change {
            LanguageChange::Edit { path, .. } | LanguageChange::Create { path } | LanguageChange::Delete { path } => {
                vec![path]
            }
            LanguageChange::Move { from, to } => vec![from, to],
        };
        for path in paths {
            let write = Access::Write(path.clone());
            if !access.contains(&write) {
                access.push(write);
            }
        }
    }
    Ok(access)
}

/// The present texts of all files that it would change.
pub(super) async fn texts(changes: &[LanguageChange], ctx: &ToolContext) -> Result<Vec<(AbsPath, Rope)>, ToolError> {
    let mut texts: Vec<(AbsPath, Rope)> = Vec::new();
    for change in changes {
        let path = match change {
            LanguageChange::Edit { path, .. } | LanguageChange::Delete { path } => path,
            LanguageChange::Move { from, .. } => from,
            LanguageChange::Create { .. } => continue,
        };
        match ctx.view.snapshot(path).await {
            Ok(base) if texts.iter().all(|(known, _)| known != path) => texts.push((path.clone(), base.text)),
            // One that the same edit makes or moves here.
            Ok(_) | Err(ViewError::Disk(DiskError::NotFound(_))) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(texts)
}

/// What the server was asked about, and in which terms it answers.
pub(super) struct Asked<'a> {
    /// Of the files that it would change.
    pub(super) texts: Vec<(AbsPath, Rope)>,
    /// The file of the question.
    pub(super) base: &'a Snapshot,
    pub(super) encoding: PositionEncoding,
    /// The name that a rename replaces.
    pub(super) old: Option<&'a str>,
}

impl Asked<'_> {
    /// Whether the edits were made for this text.
    fn is_about(&self, now: &Snapshot) -> bool {
        let is_same = |(path, text): (&AbsPath, &Rope)| *path != now.path || *text == now.text;
        let texts = self.texts.iter().map(|(path, text)| (path, text));
        texts.clone().any(|(path, _)| *path == now.path)
            && texts.chain([(&self.base.path, &self.base.text)]).all(is_same)
    }
}

/// The name that is renamed, as it stands in the text.
pub(super) fn word_at(text: &Rope, about: &LanguageAbout) -> Option<String> {
    let LanguageAbout::Rename { at, .. } = about else { return None };
    let at = text.byte_to_char((*at).min(text.len_bytes()));
    let is_part = |c: &char| c.is_alphanumeric() || *c == '_' || *c == '$';
    let before = text.chars_at(at).reversed().take_while(is_part).count();
    let after = text.chars_at(at).take_while(is_part).count();
    (before + after > 0).then(|| text.slice(at - before..at + after).to_string())
}

/// What becomes of one file.
struct Plan {
    /// Where it is by now.
    path: AbsPath,
    /// `None` of a new file.
    base: Option<Snapshot>,
    text: Rope,
    edits: Option<EditSet>,
    is_deleted: bool,
}

pub(super) async fn planned(
    changes: &[LanguageChange],
    asked: &Asked<'_>,
    ctx: &ToolContext,
) -> Result<Vec<Change>, ToolError> {
    let mut plans: Vec<Plan> = Vec::new();
    for change in changes {
        match change {
            LanguageChange::Edit { path, version, edits } => {
                let plan = plan(&mut plans, path, asked, ctx).await?;
                let moved = plan.base.as_ref().and_then(Snapshot::open).zip(*version);
                if moved.is_some_and(|((_, now), of)| now != of) {
                    return Err(outdated(path));
                }
                plan.edit(edits, asked)?;
            }
            LanguageChange::Create { path } => {
                if is_taken(&plans, path, ctx).await? {
                    return Err(nothing(format_args!("{path} would be made, and exists already")));
                }
                plans.push(Plan::new(path, None));
            }
            LanguageChange::Move { from, to } => {
                if is_taken(&plans, to, ctx).await? {
                    return Err(nothing(format_args!("{from} would be moved there, but {to} exists already")));
                }
                plan(&mut plans, from, asked, ctx).await?.path = to.clone();
            }
            LanguageChange::Delete { path } => plan(&mut plans, path, asked, ctx).await?.is_deleted = true,
        }
    }
    let changes: Result<Vec<Option<Change>>, ToolError> = plans.into_iter().map(|plan| plan.change(ctx)).collect();
    let changes: Vec<Change> = changes?.into_iter().flatten().collect();
    if changes.is_empty() {
        return Err(ToolError::Tell("Nothing was changed: the texts are that way already.".to_owned()));
    }
    Ok(changes)
}

/// Whether something stands there, or will by what comes before.
async fn is_taken(plans: &[Plan], path: &AbsPath, ctx: &ToolContext) -> Result<bool, ToolError> {
    match ctx.view.snapshot(path).await {
        Err(ViewError::NotGranted(_)) => Err(outdated(path)),
        Err(ViewError::Disk(DiskError::NotFound(_))) => Ok(plans.iter().any(|plan| plan.path == *path)),
        Ok(_) | Err(_) => Ok(true),
    }
}

async fn plan<'a>(
    plans: &'a mut Vec<Plan>,
    path: &AbsPath,
    asked: &Asked<'_>,
    ctx: &ToolContext,
) -> Result<&'a mut Plan, ToolError> {
    let index = match plans.iter().position(|plan| plan.path == *path) {
        Some(index) if plans[index].is_deleted => {
            return Err(nothing(format_args!("{path} is gone by what comes before")));
        }
        Some(index) => index,
        None => {
            let base = ctx.view.snapshot(path).await.map_err(|error| match error {
                ViewError::NotGranted(_) => outdated(path),
                error => nothing(format_args!("{error}")),
            })?;
            if !asked.is_about(&base) {
                return Err(outdated(path));
            }
            let same = |plan: &&Plan| plan.base.as_ref().is_some_and(|known| known.key == base.key);
            if let Some(other) = plans.iter().find(same) {
                return Err(nothing(format_args!("{path} and {} are one file", other.path)));
            }
            plans.push(Plan::new(path, Some(base)));
            plans.len() - 1
        }
    };
    Ok(&mut plans[index])
}

fn nothing(why: std::fmt::Arguments<'_>) -> ToolError {
    ToolError::Tell(format!("Nothing was changed: {why}."))
}

fn outdated(path: &AbsPath) -> ToolError {
    ToolError::Tell(format!(
        "Nothing was changed: the language server speaks of another text of {path} than is there now. Repeat the call."
    ))
}

impl Plan {
    fn new(path: &AbsPath, base: Option<Snapshot>) -> Self {
        let text = base.as_ref().map(|base| base.text.clone()).unwrap_or_default();
        Self { path: path.clone(), base, text, edits: None, is_deleted: false }
    }

    fn edit(&mut self, edits: &[(Range<Position>, String)], asked: &Asked<'_>) -> Result<(), ToolError> {
        let path = &self.path;
        let tell = |error: String| nothing(format_args!("the edits of {path} do not fit: {error}"));
        let mut made = Vec::with_capacity(edits.len());
        for (range, new) in edits {
            let [start, end] = [range.start, range.end].map(|at| offset_of(&self.text, at, asked.encoding));
            if (range.start.line, range.start.column) > (range.end.line, range.end.column) || start > end {
                return Err(tell("one ends before it begins".to_owned()));
            }
            let edit = TextEdit { range: start..end, text: new.clone() };
            let replaced = self.text.byte_slice(edit.range.clone()).to_string();
            // A rename replaces the name alone, or puts something beside it.
            if asked.old.is_some_and(|old| !replaced.is_empty() && !replaced.contains(old)) {
                return Err(outdated(path));
            }
            made.push(edit);
        }
        let set = EditSet::new(&self.text, made).map_err(|error| tell(error.to_string()))?;
        let after = set.apply(&self.text).map_err(|error| tell(error.to_string()))?;
        self.edits = Some(match (&self.edits, &self.base) {
            (Some(earlier), Some(base)) => {
                earlier.compose(&base.text, &set).map_err(|error| tell(error.to_string()))?
            }
            _ => set,
        });
        self.text = after;
        Ok(())
    }

    /// `None` where nothing becomes of it.
    fn change(self, ctx: &ToolContext) -> Result<Option<Change>, ToolError> {
        let Some(base) = self.base else {
            return if self.is_deleted { Ok(None) } else { Change::create(self.path, self.text.to_string()).map(Some) };
        };
        if self.is_deleted {
            return Ok(Some(Change::delete(base)));
        }
        let edits = self.edits.unwrap_or_else(|| EditSet::between(&base.text, &base.text));
        if self.path != base.path {
            return Change::moved(base, self.path, edits, Vec::new(), ctx).map(Some);
        }
        if edits.is_empty() || self.text == base.text {
            return Ok(None);
        }
        Change::modify(base, edits, Vec::new(), ctx).map(Some)
    }
}
