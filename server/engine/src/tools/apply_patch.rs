//! `apply_patch`: changes of several files in one call, all of them or none (C23). Reading patches and finding their places are `workspace`'s; of several
//! faults all are told at once, so that one correction suffices.

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::matching::{HunkError, HunkProblem, find_hunks};
use copydesk_workspace::patch::{self, FilePatch, Hunk, Patch};
use copydesk_workspace::path::AbsPath;
use ropey::Rope;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Change};
use super::write::with_endings_of;
use super::{described, path};
use crate::message::SeenFile;
use crate::ports::{LARGEST_BINARY, Preview};
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};
use crate::view::{RawFile, Snapshot, ViewError};

/// How many files a title names.
const MOST_NAMES: usize = 3;

pub(super) struct ApplyPatch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    /// The whole patch, from `*** Begin Patch` to `*** End Patch`.
    patch_text: String,
}

impl Tool for ApplyPatch {
    type Input = Input;
    type Prepared = Vec<Change>;

    const NAME: &'static str = "apply_patch";
    const KIND: ToolKind = ToolKind::Edit;
    const GATE: Gate = Gate::Exclusive;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("apply_patch.txt"), facts)
    }

    fn title(&self, partial: &Value, facts: &Facts) -> String {
        let text = partial.get("patchText").and_then(Value::as_str).unwrap_or_default();
        let shown = |name: &str| path::resolve(name, facts).map_or(name.to_owned(), |path| path::shown(&path, facts));
        let mut names: Vec<String> = patch::paths(text).map(shown).collect();
        names.dedup();
        let more = match names.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        names.truncate(MOST_NAMES);
        format!("Patch {}{more}", names.join(", ")).trim_end().to_owned()
    }

    /// Sources and targets alike.
    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        let mut access = Vec::new();
        for file in parsed(input)?.files {
            access.push(Access::Write(path::resolve(file.path(), facts)?));
            if let FilePatch::Update { move_to: Some(to), .. } = &file {
                access.push(Access::Write(path::resolve(to, facts)?));
            }
        }
        access.dedup();
        Ok(access)
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Vec<Change>>, ToolError> {
        let planned = planned(parsed(input)?, ctx).await?;
        let mut changes = Vec::with_capacity(planned.len());
        let mut faults = Faults::default();
        for (path, plan) in planned {
            match change(path, plan, ctx).await {
                Ok(change) => changes.push(change),
                Err(error) => faults.add(error)?,
            }
        }
        faults.none()?;
        let mut faults = Faults::default();
        let mut formatted = Vec::with_capacity(changes.len());
        for change in changes {
            match change.formatted(ctx).await {
                Ok(change) => formatted.push(change),
                Err(error) => faults.add(error)?,
            }
        }
        faults.none()?;
        let changes = formatted;
        let preview = Preview::Edit(changes.iter().flat_map(Change::diffs).collect());
        Ok(Prepared { value: changes, preview })
    }

    async fn commit(&self, changes: Vec<Change>, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        change::commit_all("The patch was applied", changes, ctx).await
    }
}

fn parsed(input: &Input) -> Result<Patch, ToolError> {
    patch::parse(&input.patch_text).map_err(|error| ToolError::Tell(format!("Nothing was changed: {error}.")))
}

/// What becomes of one file.
enum Plan {
    Add {
        text: String,
    },
    Delete,
    /// Deleted and added in one patch.
    Replace {
        text: String,
    },
    Update {
        to: Option<AbsPath>,
        hunks: Vec<Hunk>,
    },
}

/// Each file once. Sections of one file are joined where they are one change; others contradict each other.
async fn planned(patch: Patch, ctx: &ToolContext) -> Result<Vec<(AbsPath, Plan)>, ToolError> {
    let mut planned: Vec<(AbsPath, AbsPath, Plan)> = Vec::new();
    let mut targets: Vec<AbsPath> = Vec::new();
    for file in patch.files {
        let path = path::resolve(file.path(), &ctx.facts)?;
        let real = ctx.view.real_path(&path).await?;
        let plan = match file {
            FilePatch::Add { text, .. } => Plan::Add { text },
            FilePatch::Delete { .. } => Plan::Delete,
            FilePatch::Update { move_to, hunks, .. } => {
                let to = move_to.map(|to| path::resolve(&to, &ctx.facts)).transpose()?;
                if let Some(to) = &to {
                    targets.push(ctx.view.real_path(to).await?);
                }
                Plan::Update { to, hunks }
            }
        };
        match planned.iter_mut().find(|(_, known, _)| *known == real) {
            None => planned.push((path, real, plan)),
            Some((_, _, before)) => match (&mut *before, plan) {
                (Plan::Delete, Plan::Add { text }) => *before = Plan::Replace { text },
                (Plan::Update { to: to @ None, hunks }, Plan::Update { to: then, hunks: more }) => {
                    hunks.extend(more);
                    *to = then;
                }
                (_, _) => return Err(twice(&path)),
            },
        }
    }
    let reals = planned.iter().map(|(_, real, _)| real).chain(&targets);
    let mut reals: Vec<&AbsPath> = reals.collect();
    reals.sort();
    if let Some(pair) = reals.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(twice(pair[0]));
    }
    Ok(planned.into_iter().map(|(path, _, plan)| (path, plan)).collect())
}

fn twice(path: &AbsPath) -> ToolError {
    ToolError::Tell(format!(
        "Nothing was changed: the patch says two things of {path}. Give each file one section, and leave it out as the target of a move."
    ))
}

async fn change(path: AbsPath, plan: Plan, ctx: &ToolContext) -> Result<Change, ToolError> {
    match plan {
        Plan::Add { text } => {
            if !is_free(&path, ctx).await? {
                return Err(ToolError::Tell(format!(
                    "{path} exists already. Change it with `*** Update File`; to replace the whole file, delete and add it in one patch."
                )));
            }
            Change::create(path, text)
        }
        Plan::Delete => match whole(&path, ctx).await? {
            Whole::Text(base) => Ok(Change::delete(as_seen(base, ctx)?)),
            Whole::Raw(file) => Ok(Change::carried(file, None)),
        },
        Plan::Replace { text } => {
            let base = as_seen(present(&path, ctx).await?, ctx)?;
            let text = with_endings_of(&base.text.to_string(), &text).into_owned();
            let edits = EditSet::between(&base.text, &Rope::from(text));
            if edits.is_empty() {
                return Err(ToolError::Tell(format!("{path} has exactly this text already.")));
            }
            Ok(Change::modify(base, edits, Vec::new(), ctx)?.known())
        }
        Plan::Update { to, hunks } => {
            let base = match &to {
                None => present(&path, ctx).await?,
                Some(to) => match whole(&path, ctx).await? {
                    Whole::Text(base) => base,
                    Whole::Raw(file) if hunks.is_empty() => {
                        must_be_free(&path, to, ctx).await?;
                        return Ok(Change::carried(file, Some(to.clone())));
                    }
                    Whole::Raw(_) => present(&path, ctx).await?,
                },
            };
            let (edits, warnings) = if hunks.is_empty() {
                (EditSet::between(&base.text, &base.text), Vec::new())
            } else {
                let matched = find_hunks(&base.joined(), &hunks).map_err(|error| unmatched(&base, &error, ctx))?;
                (matched.edits, matched.warnings)
            };
            let notes = warnings.into_iter().map(|warning| format!("Note: {warning}")).collect();
            let Some(to) = to else { return Change::modify(base, edits, notes, ctx) };
            must_be_free(&path, &to, ctx).await?;
            Change::moved(base, to, edits, notes, ctx)
        }
    }
}

async fn present(path: &AbsPath, ctx: &ToolContext) -> Result<Snapshot, ToolError> {
    match ctx.view.snapshot(path).await {
        Ok(base) => Ok(base),
        Err(error) => Err(path::unread(path, error, ctx).await),
    }
}

/// A file that goes, or gets another path.
enum Whole {
    Text(Snapshot),
    Raw(RawFile),
}

/// What a link leads to is not taken for the link: it would be lost by one name and stay away from the other.
async fn whole(path: &AbsPath, ctx: &ToolContext) -> Result<Whole, ToolError> {
    match ctx.view.snapshot(path).await {
        Ok(_) | Err(ViewError::Text { .. }) if ctx.view.is_link(path).await? => Err(ToolError::Tell(format!(
            "{path} is a link to a file. Name that file by its own path to delete or move it; a link itself is removed or moved by a command."
        ))),
        Ok(base) => Ok(Whole::Text(base)),
        Err(ViewError::Text { .. }) => {
            // Of a larger one undo keeps nothing, and to know its bytes takes long.
            let len = ctx.view.stat(path).await?.len;
            if len > LARGEST_BINARY {
                return Err(ToolError::Tell(format!(
                    "{path} has {len} bytes and is no text: more than {LARGEST_BINARY} cannot be taken back. Delete or move it by a command."
                )));
            }
            Ok(Whole::Raw(ctx.view.raw(path).await?))
        }
        Err(error) => Err(path::unread(path, error, ctx).await),
    }
}

/// Of a file that goes as a whole: what anybody has changed in it since the model saw it would be lost (R6.4, R6.5).
fn as_seen(base: Snapshot, ctx: &ToolContext) -> Result<Snapshot, ToolError> {
    if change::is_seen(&base, ctx) || ctx.seen.get(base.key.path()).is_none() {
        return Ok(base);
    }
    let path = &base.path;
    let told = change::unseen(&base, ctx);
    let (quote, seen) = change::quote(&base, None);
    let next = if seen.is_empty() { " Read the rest of it first." } else { "" };
    Err(ToolError::Quote {
        text: format!("{path}: {told}{next} Its present text:\n{quote}"),
        withheld: format!("{path}: {told} {}", change::WITHHELD),
        seen,
    })
}

/// Whatever stands there is left alone (C22): text or not, on the disk or in the editor alone.
async fn is_free(path: &AbsPath, ctx: &ToolContext) -> Result<bool, ToolError> {
    match ctx.view.snapshot(path).await {
        Err(ViewError::Disk(DiskError::NotFound(_))) => Ok(true),
        Err(error @ ViewError::NotGranted(_)) => Err(error.into()),
        Ok(_) | Err(_) => Ok(false),
    }
}

async fn must_be_free(from: &AbsPath, to: &AbsPath, ctx: &ToolContext) -> Result<(), ToolError> {
    if is_free(to, ctx).await? {
        return Ok(());
    }
    Err(ToolError::Tell(format!(
        "{to} exists already, so {from} cannot be moved there. Choose another path, or delete it first in a patch of its own."
    )))
}

fn unmatched(base: &Snapshot, error: &HunkError, ctx: &ToolContext) -> ToolError {
    let path = &base.path;
    let is_seen = change::is_seen(base, ctx);
    let (nearest, is_missing) = match &error.problem {
        HunkProblem::NotFound { nearest } | HunkProblem::AnchorMissing { nearest, .. } => (nearest.as_ref(), true),
        _ => (None, false),
    };
    // What the model has seen needs no second showing, unless it is taken for something else.
    let (quoted, seen) = if nearest.is_some() || is_missing && !is_seen {
        change::quote(base, nearest.map(|near| near.first_line))
    } else {
        (String::new(), Vec::new())
    };
    let quoted = if quoted.is_empty() { quoted } else { format!("\nThe present text there:\n{quoted}") };
    let told = change::unseen_of_another(base, ctx).filter(|_| is_missing);
    let told = told.map(|told| format!(" {told}")).unwrap_or_default();
    ToolError::Quote {
        text: format!("{path}: {error}.{told}{quoted}"),
        withheld: format!("{path}: a hunk does not fit its present text. {}", change::WITHHELD),
        seen,
    }
}

/// What is wrong with the files of one patch.
#[derive(Default)]
struct Faults {
    texts: Vec<String>,
    withheld: Vec<String>,
    seen: Vec<SeenFile>,
    quotes: bool,
}

impl Faults {
    /// `Err` with what is no fault of the patch.
    fn add(&mut self, error: ToolError) -> Result<(), ToolError> {
        match error {
            ToolError::Tell(text) => {
                self.withheld.push(text.clone());
                self.texts.push(text);
            }
            ToolError::Quote { text, withheld, seen } => {
                self.texts.push(text);
                self.withheld.push(withheld);
                self.seen.extend(seen);
                self.quotes = true;
            }
            ToolError::Fatal(_)
            | ToolError::Rejected(_)
            | ToolError::Ended(_)
            | ToolError::Cancelled
            | ToolError::Interrupted(_) => return Err(error),
        }
        Ok(())
    }

    fn none(self) -> Result<(), ToolError> {
        if self.texts.is_empty() {
            return Ok(());
        }
        let whole = |texts: &[String]| {
            format!("Nothing was changed.\n{}\nCorrect this and send the whole patch again.", texts.join("\n"))
        };
        let (text, withheld) = (whole(&self.texts), whole(&self.withheld));
        Err(match self.quotes {
            true => ToolError::Quote { text, withheld, seen: self.seen },
            false => ToolError::Tell(text),
        })
    }
}

#[cfg(test)]
#[path = "apply_patch_tests.rs"]
mod tests;
