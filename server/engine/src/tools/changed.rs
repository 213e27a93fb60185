//! The files that a command has changed, in words for the model; the editor is told too. Shared by the tools that run commands or look after them.

use std::sync::Arc;

use super::path;
use crate::event::Severity;
use crate::jobs::Notices;
use crate::ports::{Clock, FileChange, FileChangeKind, ReloadReport};
use crate::runner::Seen;
use crate::tool::{Facts, ToolContext};
use crate::view::{KnownFiles, View};

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

    /// What has changed since the last look. Of a conflict the user is told as well: his text and the file's are two now.
    pub(super) async fn changes(&self) -> Vec<String> {
        let (changes, reloaded) = self.view.told_changes(&self.known, &self.seen, self.clock.now()).await;
        for name in &reloaded.conflicts {
            self.notices.tell(Severity::Warning, conflict(name)).await;
        }
        told(&changes, &reloaded, &self.facts)
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
    changes.iter().map(line).chain(report.conflicts.iter().map(conflict)).collect()
}

fn conflict(name: &str) -> String {
    format!("{name} has unsaved text in the editor and was changed on the disk too; the editor's text was left alone")
}
