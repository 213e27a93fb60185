//! Edits of open documents: one `workspace/applyEdit` with the versions that the editor sent last, believed only when the editor's text shows it.

use std::time::Duration;

use copydesk_workspace::change_log::split_by_author;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::path::{AbsPath, DocKey};
use ropey::Rope;
use tokio::time::timeout;

use super::{Applied, View};
use crate::overlay::{Arrival, ExpectationId, Overlay};
use crate::ports::{ApplyRequest, DocumentEdit, EditorError};
use crate::undo::UNDO;

/// From the editor's answer to the change that shows it.
const SHOWN_WITHIN: Duration = Duration::from_secs(1);
/// Editors may ask their user before they answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// Editors gather keystrokes for a moment before they tell of them.
const TYPING_TOLD_WITHIN: Duration = Duration::from_millis(500);

/// A checked edit of an open document.
#[derive(Debug, Clone)]
pub(super) struct OpenEdit {
    pub(super) path: AbsPath,
    pub(super) key: DocKey,
    pub(super) uri: String,
    pub(super) version: i32,
    pub(super) base: Rope,
    pub(super) edits: EditSet,
}

/// An edit that is in force.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) applied: Applied,
    /// Of the text before.
    pub(super) edits: EditSet,
}

pub(super) enum OpenFailure {
    /// Nothing is applied, and the edit no longer fits.
    Moved(String),
    Refused {
        reason: String,
        /// What the editor has applied all the same.
        shown: Vec<Shown>,
        /// The rest may be shown yet.
        may_come: bool,
    },
}

impl View {
    /// One batch, all or nothing as far as the editor keeps to it. A refusal is answered once by the same edit on the present text; a second one is final
    /// (C39).
    pub(super) async fn apply_open(&self, batch: Vec<OpenEdit>, label: &str) -> Result<Vec<Shown>, OpenFailure> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let (refusal, shown) = match self.send(&batch, label).await {
            Ok(shown) => return Ok(shown),
            Err(failure) => failure,
        };
        if refusal.unshown != Unshown::Outdated || !shown.is_empty() {
            return Err(OpenFailure::Refused { may_come: refusal.may_come(), reason: refusal.reason, shown });
        }
        self.typing_told(&batch).await;
        let batch = self.rebased(batch)?;
        self.send(&batch, label).await.map_err(|(refusal, shown)| OpenFailure::Refused {
            may_come: refusal.may_come(),
            reason: format!("conflict: {} again, also for its present text", refusal.reason),
            shown,
        })
    }

    /// `Err` with what was shown all the same.
    pub(super) async fn send(&self, batch: &[OpenEdit], label: &str) -> Result<Vec<Shown>, (Refusal, Vec<Shown>)> {
        let announced = Announced::new(&self.overlay, batch, label);
        let documents = batch.iter().map(OpenEdit::request).collect();
        let request = ApplyRequest { label: step_name(batch, label), documents };
        let apply = self.editor.apply(request);
        tokio::pin!(apply);
        let answer = tokio::select! {
            answer = timeout(ANSWERED_WITHIN, &mut apply) => answer.unwrap_or(Err(EditorError::Gone)),
            () = announced.arrived() => {
                // The change may overtake the answer. That is waited for too: a request that is dropped may be cancelled, and where the edit was lost, to
                // typing or to a close, the answer tells why.
                timeout(SHOWN_WITHIN, apply).await.unwrap_or(Ok(()))
            }
        };
        if answer.is_ok() {
            // Whether it came in time is seen below.
            let _ = timeout(SHOWN_WITHIN, announced.arrived()).await;
        }
        let shown: Vec<Shown> =
            batch.iter().zip(&announced.ids).filter_map(|(edit, id)| self.shown(edit, *id)).collect();
        if shown.len() == batch.len() {
            return Ok(shown);
        }
        let names: Vec<String> = batch.iter().map(|edit| edit.path.to_string()).collect();
        let names = names.join(", ");
        let refusal = match answer {
            Ok(()) => Refusal {
                reason: format!(
                    "the editor reported the edit of {names} as done, but its text did not change within 1 s"
                ),
                unshown: Unshown::MayCome,
            },
            Err(error) => {
                Refusal { reason: format!("{names} was not changed: {error}"), unshown: Unshown::after(&error) }
            }
        };
        Err((refusal, shown))
    }

    fn shown(&self, edit: &OpenEdit, id: ExpectationId) -> Option<Shown> {
        let now = self.overlay.by_uri(&edit.uri);
        let (after, version) = match now {
            Some(now) => (now.text, now.version),
            None => (edit.edits.apply(&edit.base).ok()?, edit.version),
        };
        // An editor that reshapes the edit, e.g. by formatting, still shows it.
        let is_shown = self.overlay.arrival(id) == Arrival::Arrived
            || version != edit.version
                && split_by_author(&edit.base, &edit.edits, &EditSet::between(&edit.base, &after)).is_some();
        let applied = Applied {
            path: edit.path.clone(),
            key: edit.key.clone(),
            before: Some(edit.base.clone()),
            after,
            open: Some((edit.uri.clone(), version)),
        };
        is_shown.then(|| Shown { applied, edits: edit.edits.clone() })
    }

    /// Waits until the change because of which the editor refused has been told, or for a moment.
    async fn typing_told(&self, batch: &[OpenEdit]) {
        let mut changes = self.overlay.watch();
        let moved = || {
            batch
                .iter()
                .any(|edit| self.overlay.by_uri(&edit.uri).is_none_or(|document| document.version != edit.version))
        };
        let told = async { while !moved() && changes.changed().await.is_ok() {} };
        // Without a change the same text is tried again.
        let _ = timeout(TYPING_TOLD_WITHIN, told).await;
    }

    fn rebased(&self, batch: Vec<OpenEdit>) -> Result<Vec<OpenEdit>, OpenFailure> {
        let rebase = |edit: OpenEdit| {
            let now = self
                .overlay
                .get(&edit.key)
                .ok_or_else(|| OpenFailure::Moved(format!("{} was closed in the editor", edit.path)))?;
            let theirs = EditSet::between(&edit.base, &now.text);
            let edits =
                edit.edits.rebase(&theirs).map_err(|error| OpenFailure::Moved(format!("{}: {error}", edit.path)))?;
            Ok(OpenEdit { uri: now.uri, version: now.version, base: now.text, edits, ..edit })
        };
        batch.into_iter().map(rebase).collect()
    }
}

impl OpenEdit {
    fn request(&self) -> DocumentEdit {
        DocumentEdit {
            uri: self.uri.clone(),
            version: self.version,
            base: self.base.clone(),
            edits: self.edits.with_whole_line_breaks(&self.base),
        }
    }
}

pub(super) struct Refusal {
    pub(super) reason: String,
    unshown: Unshown,
}

/// What becomes of an edit that the editor does not show. No other is sent while it may come: it would be done twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unshown {
    /// The present text may be accepted.
    Outdated,
    Never,
    MayCome,
}

impl Refusal {
    fn may_come(&self) -> bool {
        self.unshown == Unshown::MayCome
    }
}

impl Unshown {
    fn after(error: &EditorError) -> Self {
        if error.may_come() {
            Self::MayCome
        } else if error.retry() {
            Self::Outdated
        } else {
            Self::Never
        }
    }
}

/// Announcements of one batch, withdrawn when the batch is over.
struct Announced<'a> {
    overlay: &'a Overlay,
    ids: Vec<ExpectationId>,
}

impl<'a> Announced<'a> {
    fn new(overlay: &'a Overlay, batch: &[OpenEdit], label: &str) -> Self {
        let ids = batch.iter().map(|edit| overlay.expect(&edit.key, edit.edits.clone(), label.to_owned())).collect();
        Self { overlay, ids }
    }

    /// Resolves when nothing is outstanding.
    async fn arrived(&self) {
        let mut changes = self.overlay.watch();
        let pending = || self.ids.iter().any(|id| self.overlay.arrival(*id) == Arrival::Pending);
        while pending() && changes.changed().await.is_ok() {}
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        for id in &self.ids {
            self.overlay.forget(*id);
        }
    }
}

/// What an editor lists the undo step as.
fn step_name(batch: &[OpenEdit], label: &str) -> String {
    match batch {
        [edit] if label == UNDO => format!("Copydesk: undo in {}", edit.path.name()),
        [edit] => format!("Copydesk: edit {}", edit.path.name()),
        edits => format!("Copydesk: edit {} files", edits.len()),
    }
}
