//! Undo as the user asks for it: which changes are meant, one at a time, and told to the model. How they are taken back is `undo::Back`'s.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::{Context, SessionHandle};
use crate::ids::MessageId;
use crate::message::{Entry, PromptPart};
use crate::ports::{By, Change, StoreError};
use crate::undo::{
    Back, UndoError, UndoOutcome, UndoReport, UndoWhat, UndoneFile, is_of_agent, newest_undo, of_turn,
    rows_of_newest_undo, turns_in_force,
};

/// The longest title of a turn, in characters.
const LONGEST_TITLE: usize = 80;

#[derive(Default)]
pub(super) struct Undoing {
    one_at_a_time: tokio::sync::Mutex<()>,
    /// By the message of its first prompt.
    running: Mutex<Option<MessageId>>,
}

impl Undoing {
    pub(super) fn runs(&self, turn: Option<MessageId>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = turn;
    }

    /// Resolves when no undo is under way that has begun by now.
    pub(super) async fn over(&self) {
        drop(self.one_at_a_time.lock().await);
    }

    fn running(&self) -> Option<MessageId> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl SessionHandle {
    /// Takes the agent's changes back, and leaves the user's (R5.2). The outcome is told to the model with its next request.
    pub async fn undo(&self, what: UndoWhat) -> Result<UndoReport, UndoError> {
        if self.is_closed() {
            return Err(UndoError::Closed);
        }
        self.context.undo(what, &CancellationToken::new()).await
    }
}

impl Context {
    pub(super) async fn undo(&self, what: UndoWhat, cancel: &CancellationToken) -> Result<UndoReport, UndoError> {
        let _alone = self.undoing.one_at_a_time.lock().await;
        let running = self.undoing.running();
        if running.is_some() && what == UndoWhat::Last {
            return Err(UndoError::Running);
        }
        let changes = &self.ports.changes;
        let most_kept = self.config().max_undo_bytes;
        if let Err(error @ (StoreError::Elsewhere(_) | StoreError::UnknownSession(_))) =
            changes.record(self.id.clone(), Vec::new(), most_kept).await
        {
            return Err(error.into());
        }
        let files = &self.ports.files;
        let view = self.view();
        let id = MessageId::next(&*self.ports.ids);
        let back = Back { session: &self.id, view: &view, files, recording: &self.recording, id: &id, most_kept };
        let mut all = changes.list(self.id.clone()).await?;
        let never = back.never_done(&rows_of_newest_undo(&all), &all).await;
        if !never.is_empty() {
            changes.void(self.id.clone(), never).await?;
            all = changes.list(self.id.clone()).await?;
        }
        let mut meant = self.meant(&all, &what)?;
        if let Some(running) = running
            && meant.iter().any(|(_, changes)| changes.iter().any(|change| change.turn == running))
        {
            return Err(UndoError::Running);
        }
        let mut report = UndoReport::default();
        let is_last = what == UndoWhat::Last;
        for (turn, changes) in meant.drain(..) {
            report = back.take_back(&changes, cancel).await;
            report.title = self.title(&turn);
            report.turn = Some(turn);
            // Nothing of this turn was in force any more.
            if !(is_last && report.files.iter().all(|file| file.outcome == UndoOutcome::Unchanged)) {
                break;
            }
        }
        if is_last && report.files.iter().all(|file| file.outcome == UndoOutcome::Unchanged) {
            return Err(UndoError::NothingToUndo);
        }
        self.tell_of_undo(&what, &report).await;
        self.tell_of_changes().await;
        Ok(report)
    }

    /// The changes, with the turn that they are shown as.
    fn meant<'a>(&self, all: &'a [Change], what: &UndoWhat) -> Result<Vec<(MessageId, Vec<&'a Change>)>, UndoError> {
        match what {
            UndoWhat::Last => {
                let in_force = turns_in_force(all).into_iter();
                let turns: Vec<_> = in_force.map(|turn| (turn.clone(), of_turn(all, &turn))).collect();
                if turns.is_empty() { Err(UndoError::NothingToUndo) } else { Ok(turns) }
            }
            UndoWhat::Turn(turn) => match of_turn(all, turn) {
                changes if changes.is_empty() => Err(UndoError::UnknownTurn(turn.clone())),
                changes => Ok(vec![(turn.clone(), changes)]),
            },
            UndoWhat::Call(call) => {
                let changes: Vec<_> =
                    all.iter().filter(|change| is_of_agent(change) && change.call.as_ref() == Some(call)).collect();
                match changes.first() {
                    Some(first) => Ok(vec![(first.turn.clone(), changes)]),
                    None => Err(UndoError::UnknownCall(call.clone())),
                }
            }
            UndoWhat::Redo => {
                let undo = newest_undo(all).ok_or(UndoError::NothingToRedo)?;
                let changes: Vec<_> = all.iter().filter(|change| change.turn == undo).collect();
                let of = changes.iter().find_map(|change| match &change.by {
                    By::Undo { of } => of.first(),
                    _ => None,
                });
                let turn = all.iter().find(|change| Some(&change.id) == of).map(|change| change.turn.clone());
                Ok(vec![(turn.unwrap_or(undo), changes)])
            }
        }
    }

    /// The first line of a turn's prompt.
    fn title(&self, turn: &MessageId) -> String {
        self.journal.read(|entries| {
            let parts = entries.iter().find_map(|entry| match entry {
                Entry::User { message, parts, .. } if message == turn => Some(parts),
                _ => None,
            });
            let text = parts.into_iter().flatten().find_map(|part| match part {
                PromptPart::Text { text } => text.lines().map(str::trim).find(|line| !line.is_empty()),
                _ => None,
            });
            let text = text.unwrap_or_default();
            let end = text.char_indices().nth(LONGEST_TITLE).map(|(at, _)| at);
            end.map_or_else(|| text.to_owned(), |end| format!("{}…", &text[..end]))
        })
    }

    async fn tell_of_undo(&self, what: &UndoWhat, report: &UndoReport) {
        let changed: Vec<&UndoneFile> =
            report.files.iter().filter(|file| file.outcome != UndoOutcome::Unchanged).collect();
        if changed.is_empty() {
            return;
        }
        let verb = if *what == UndoWhat::Redo { "put your changes back" } else { "took your changes back" };
        let of = if report.title.is_empty() { String::new() } else { format!(" of the turn \"{}\"", report.title) };
        let files: Vec<String> = changed.iter().map(|file| format!("- {file}")).collect();
        let text = format!("The user {verb}{of}. Read a file of these again before you edit it:\n{}", files.join("\n"));
        let entry = Entry::Told { at: self.ports.clock.now(), text };
        if let Err(error) = self.journal.append(vec![entry]).await {
            tracing::warn!(%error, "the model is not told of an undo");
        }
    }
}
