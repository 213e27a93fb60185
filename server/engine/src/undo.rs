//! Undo by author: what is asked for, and what came of each file.

mod back;
mod net;
mod ops;
mod plan;
mod recorder;

use std::fmt;

use copydesk_workspace::path::AbsPath;

use crate::escape::escaped_line;
use crate::ids::{CallId, MessageId};
use crate::message::FileDiff;
use crate::ports::StoreError;

pub(crate) use back::{Back, UNDO};
pub(crate) use net::{is_of_agent, newest_undo, of_turn, rows_of_newest_undo, turns_in_force};
pub use recorder::{FileChanged, Recorder, Recording};

/// Contents of changed files that are kept over all sessions where the user sets nothing else, bytes.
pub const MOST_KEPT: u64 = 512 << 20;

/// What is to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoWhat {
    /// The newest turn of which something is in force.
    Last,
    /// By the message of its first prompt.
    Turn(MessageId),
    Call(CallId),
    /// The newest undo that was not taken back itself.
    Redo,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoReport {
    /// The turn that was taken back or put back.
    pub turn: Option<MessageId>,
    /// The first line of its prompt; empty where that is not known.
    pub title: String,
    /// Each file once, in the order of their paths.
    pub files: Vec<UndoneFile>,
    /// What the undo itself changed.
    pub diffs: Vec<FileDiff>,
}

impl UndoReport {
    /// Whether all that was asked for was done.
    pub fn is_whole(&self) -> bool {
        self.files.iter().all(|file| match file.outcome {
            UndoOutcome::Restored | UndoOutcome::Removed | UndoOutcome::MovedBack { .. } | UndoOutcome::Unchanged => {
                true
            }
            UndoOutcome::Conflict { .. } | UndoOutcome::Unavailable { .. } | UndoOutcome::Failed { .. } => false,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneFile {
    /// Where the file stood before the undo, or stands now where there was none.
    pub path: AbsPath,
    pub outcome: UndoOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The agent's changes are out of it, or in it again.
    Restored,
    /// It was the agent's own, and is gone.
    Removed,
    /// It was given back its name.
    MovedBack { to: AbsPath },
    /// There was nothing of them in it any more.
    Unchanged,
    /// The user has changed the same lines since, which stay as they are. `reason` names them; where `partly`, the rest was taken back.
    Conflict { reason: String, partly: bool },
    /// What the file held is not known any more. It was left alone.
    Unavailable { reason: String },
    /// It was left alone; trying again may help.
    Failed { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    #[error("there is nothing to undo in this session")]
    NothingToUndo,
    #[error("there is nothing to redo in this session")]
    NothingToRedo,
    #[error("the turn is running: cancel it first, then undo it")]
    Running,
    #[error("this session has no turn {0} that changed files")]
    UnknownTurn(MessageId),
    #[error("this session has no call {0} that changed files")]
    UnknownCall(CallId),
    #[error("the session is closed")]
    Closed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl UndoError {
    pub fn retry(&self) -> bool {
        match self {
            Self::Store(error) => error.retry(),
            Self::Running => true,
            Self::NothingToUndo | Self::NothingToRedo | Self::UnknownTurn(_) | Self::UnknownCall(_) | Self::Closed => {
                false
            }
        }
    }
}

/// A line for the user and the model.
impl fmt::Display for UndoneFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = escaped_line(&self.path.to_string());
        match &self.outcome {
            UndoOutcome::Restored => write!(f, "{path}: restored"),
            UndoOutcome::Removed => write!(f, "{path}: removed"),
            UndoOutcome::MovedBack { to } => write!(f, "{path}: moved back to {}", escaped_line(&to.to_string())),
            UndoOutcome::Unchanged => write!(f, "{path}: unchanged, there was nothing to do"),
            UndoOutcome::Conflict { reason, partly: false } => write!(f, "{path}: CONFLICT, left as it is: {reason}"),
            UndoOutcome::Conflict { reason, partly: true } => {
                write!(f, "{path}: restored but for a CONFLICT, which stays as it is: {reason}")
            }
            UndoOutcome::Unavailable { reason } | UndoOutcome::Failed { reason } => {
                write!(f, "{path}: left as it is: {reason}")
            }
        }
    }
}

/// For the user, as the answer to `/undo` and `/redo`.
impl fmt::Display for UndoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.title.as_str() {
            "" => writeln!(f, "The agent's changes:")?,
            title => writeln!(f, "The agent's changes of the turn \"{title}\":")?,
        }
        for file in &self.files {
            writeln!(f, "- {file}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "undo_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
