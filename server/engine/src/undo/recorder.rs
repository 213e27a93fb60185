//! Records what is changed, before it is changed: of a session, and of one author in it. What is done with the rows is `undo`'s.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_workspace::path::AbsPath;

use crate::event::{SessionEvent, Severity};
use crate::ids::{CallId, MessageId, SessionId};
use crate::ports::{By, ChangeId, Changes, Client, Clock, NewChange, NewContent, StoreError};

/// The record of one session.
pub struct Recording {
    session: SessionId,
    changes: Arc<dyn Changes>,
    clock: Arc<dyn Clock>,
    client: Arc<dyn Client>,
    /// How often recording has begun to fail or to work again: odd while the last change could not be recorded.
    turned: AtomicU64,
    /// The turn of which the user was told that it cannot be undone.
    told: Mutex<Option<MessageId>>,
}

/// Records what one author changes.
#[derive(Clone)]
pub struct Recorder {
    recording: Arc<Recording>,
    turn: MessageId,
    call: Option<CallId>,
    by: By,
    most_kept: u64,
    /// As `Recording::turned` was when this was made.
    known: u64,
}

/// A change that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChanged {
    /// Real, as the others.
    pub path: AbsPath,
    pub moved_to: Option<AbsPath>,
    /// The topmost folder that will be made for it.
    pub made_folder: Option<AbsPath>,
    pub before: Option<NewContent>,
    pub after: Option<NewContent>,
}

impl Recording {
    pub fn new(
        session: SessionId,
        changes: Arc<dyn Changes>,
        clock: Arc<dyn Clock>,
        client: Arc<dyn Client>,
    ) -> Arc<Self> {
        Arc::new(Self { session, changes, clock, client, turned: AtomicU64::new(0), told: Mutex::default() })
    }

    /// Whether undo will reach what is done next, as far as is known.
    pub fn works(&self) -> bool {
        self.turned().is_multiple_of(2)
    }

    fn turned(&self) -> u64 {
        self.turned.load(Ordering::Relaxed)
    }

    pub fn changes(&self) -> &Arc<dyn Changes> {
        &self.changes
    }

    /// `most_kept`: bytes of contents, over all sessions.
    pub fn recorder(self: &Arc<Self>, turn: MessageId, call: Option<CallId>, by: By, most_kept: u64) -> Recorder {
        Recorder { recording: Arc::clone(self), turn, call, by, most_kept, known: self.turned() }
    }

    /// Once a turn.
    async fn tell(&self, turn: &MessageId, error: &StoreError) {
        let is_told = {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.replace(turn.clone()).as_ref() == Some(turn)
        };
        if !is_told {
            let text = format!("What is changed now is not recorded, and undo will not take it back: {error}");
            self.client.update(self.session.clone(), SessionEvent::Notice { severity: Severity::Warning, text }).await;
        }
    }
}

impl Recorder {
    /// The same for what somebody else changes in the same call.
    pub fn by(&self, by: By) -> Self {
        Self { by, ..self.clone() }
    }

    /// Whether these changes are never made without being recorded: what the user takes back.
    pub(crate) fn is_needed(&self) -> bool {
        match self.by {
            By::Undo { .. } | By::Accept { .. } | By::Reject { .. } => true,
            By::Agent | By::Command => false,
        }
    }

    /// Whether recording has failed ever since this was made: what was decided meanwhile was decided for changes that undo does not reach.
    pub(crate) fn fails_as_known(&self) -> bool {
        let turned = self.recording.turned();
        turned == self.known && !turned.is_multiple_of(2)
    }

    /// Stored when this resolves. Of an error the user has been told that undo will not reach these changes, unless they need it and so are not made.
    pub async fn record(&self, changes: Vec<FileChanged>) -> Result<Vec<ChangeId>, StoreError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let Recording { session, changes: store, clock, turned, .. } = &*self.recording;
        let at = clock.now();
        let new = changes.into_iter().map(|change| NewChange {
            turn: self.turn.clone(),
            call: self.call.clone(),
            at,
            by: self.by.clone(),
            path: change.path,
            moved_to: change.moved_to,
            made_folder: change.made_folder,
            before: change.before,
            after: change.after,
        });
        let recorded = store.record(session.clone(), new.collect(), self.most_kept).await;
        let has_worked = |turned: u64| turned.is_multiple_of(2);
        let turn = |now: u64| (has_worked(now) != recorded.is_ok()).then_some(now + 1);
        // Unchanged is no error.
        let _ = turned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, turn);
        if let Err(error) = &recorded {
            tracing::warn!(%error, "a change was not recorded");
            if !self.is_needed() {
                self.recording.tell(&self.turn, error).await;
            }
        }
        recorded
    }

    /// These were not made after all. Where that cannot be stored it does no harm: an undo of them finds nothing to do.
    pub async fn void(&self, changes: Vec<ChangeId>) {
        if changes.is_empty() {
            return;
        }
        if let Err(error) = self.recording.changes.void(self.recording.session.clone(), changes).await {
            tracing::warn!(%error, "changes that were not made stay recorded");
        }
    }
}
