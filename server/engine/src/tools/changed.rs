//! The files that a command has changed, in words for the model; the editor is told too. Shared by the tools that run commands or look after them.

use std::sync::Arc;

use copydesk_workspace::path::AbsPath;

use super::path;
use crate::event::Severity;
use crate::jobs::Notices;
use crate::ports::{Clock, FileChange, FileChangeKind, ReloadReport};
use crate::runner::Seen;
use crate::snapshots::{Footprint, Loss};
use crate::tool::{Facts, ToolContext};
use crate::view::{KnownFiles, View};

/// That are named in one result.
pub(super) const MOST_NAMES: usize = 20;
const MOST_LOSSES: usize = 5;

/// What is needed to look at the files of a session, also after the call that began it.
#[derive(Clone)]
pub(super) struct Files {
    view: View,
    known: Arc<KnownFiles>,
    seen: Arc<Seen>,
    facts: Arc<Facts>,
    notices: Notices,
    clock: Arc<dyn Clock>,
}

impl Files {
    pub(super) fn of(ctx: &ToolContext) -> Self {
        Self {
            view: ctx.view.clone(),
            known: Arc::clone(&ctx.known),
            seen: Arc::clone(&ctx.seen),
            facts: Arc::clone(&ctx.facts),
            notices: ctx.notices.clone(),
            clock: Arc::clone(&ctx.clock),
        }
    }

    pub(super) async fn note(&self) {
        self.view.note_files(&self.known, &self.seen, self.clock.now()).await;
    }

    /// What has changed since the last look, with what a command has left. Of a conflict the user is told as well: his text and the file's are two now.
    pub(super) async fn changes(&self, left: Footprint) -> Vec<String> {
        let Footprint { files, losses, nested } = left;
        let (changes, reloaded) = self.view.told_changes(&self.known, &self.seen, self.clock.now(), files).await;
        for name in &reloaded.conflicts {
            self.notices.tell(Severity::Warning, conflict(name)).await;
        }
        self.warn(&losses, &nested).await;
        let (known, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| self.is_known(&change.path));
        let named = named(&others, &self.facts).into_iter();
        told(&known, &reloaded, &self.facts).into_iter().chain(named).chain(lost(&losses, &self.facts)).collect()
    }

    /// Of what the user could not expect: each once a session.
    async fn warn(&self, losses: &[Loss], nested: &[AbsPath]) {
        let of_losses = losses.iter().filter_map(|loss| match loss {
            Loss::File { .. } => None,
            Loss::Tree { .. } | Loss::All { .. } => Some((Severity::Warning, lost_line(loss, &self.facts))),
        });
        let of_nested = nested.iter().map(|folder| {
            let name = path::shown(folder, &self.facts);
            (
                Severity::Info,
                format!("{name} is a repository of its own: what commands change there is not taken back by undo"),
            )
        });
        for (severity, text) in of_losses.chain(of_nested) {
            if self.known.is_news(&text) {
                self.notices.tell(severity, text).await;
            }
        }
    }

    /// Whether the model has seen the file, or the editor has it open.
    fn is_known(&self, path: &AbsPath) -> bool {
        self.seen.get(path).is_some() || self.view.is_open(path)
    }
}

/// Files that nobody had looked at, in one line.
fn named(changes: &[FileChange], facts: &Facts) -> Option<String> {
    let of = |kind: FileChangeKind, verb: &str| {
        let names = changes.iter().take(MOST_NAMES).filter(|change| change.kind == kind);
        let names: Vec<String> = names.map(|change| path::shown(&change.path, facts)).collect();
        (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
    };
    let kinds = [
        of(FileChangeKind::Created, "created"),
        of(FileChangeKind::Changed, "changed"),
        of(FileChangeKind::Deleted, "deleted"),
    ];
    let more = changes.len().saturating_sub(MOST_NAMES);
    let more = (more > 0).then(|| format!("{more} more"));
    let parts: Vec<String> = kinds.into_iter().chain([more]).flatten().collect();
    (!parts.is_empty()).then(|| format!("files on the disk: {}", parts.join("; ")))
}

/// The first ones, and how many there are besides.
fn lost(losses: &[Loss], facts: &Facts) -> Vec<String> {
    let more = |more| format!("undo is not available for {more} more");
    first(MOST_LOSSES, losses.iter().map(|loss| lost_line(loss, facts)), more)
}

/// `most` of the lines, and a last one for the number of those that are left out.
pub(super) fn first(
    most: usize,
    mut lines: impl ExactSizeIterator<Item = String>,
    more: impl Fn(usize) -> String,
) -> Vec<String> {
    let mut shown: Vec<String> = lines.by_ref().take(most).collect();
    shown.extend((lines.len() > 0).then(|| more(lines.len())));
    shown
}

fn lost_line(loss: &Loss, facts: &Facts) -> String {
    match loss {
        Loss::File { path, reason } => {
            format!("undo is not available for {}: {reason}", path::shown(path, facts))
        }
        Loss::Tree { path, reason } => {
            format!("undo is not available for what this command changed in {}: {reason}", path::shown(path, facts))
        }
        Loss::All { reason } => format!("undo is not available for what this command changed: {reason}"),
    }
}

fn told(changes: &[FileChange], report: &ReloadReport, facts: &Facts) -> Vec<String> {
    let line = |change: &FileChange| {
        let verb = match change.kind {
            FileChangeKind::Created => "created",
            FileChangeKind::Changed => "changed",
            FileChangeKind::Deleted => "deleted",
        };
        format!("{} was {verb} meanwhile: what you know of it is old", path::shown(&change.path, facts))
    };
    let conflict = |name: &String| format!("conflict: {}", conflict(name));
    let more = |more| {
        format!("{more} more files that you know were changed meanwhile: read a file again before you rely on it")
    };
    let more_conflicts =
        |more| format!("conflict: {more} more files have unsaved text in the editor and were changed on the disk too");
    let mut told = first(MOST_NAMES, changes.iter().map(line), more);
    told.extend(first(MOST_NAMES, report.conflicts.iter().map(conflict), more_conflicts));
    told
}

fn conflict(name: &str) -> String {
    format!("{name} has unsaved text in the editor and was changed on the disk too; the editor's text was left alone")
}
