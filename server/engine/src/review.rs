//! Review of what the agent changed, hunk by hunk: the values that a session's handle lists and takes (R4.2). Where the texts come from and how a decision is
//! carried out stands below; faces turn these values into their own protocols.

mod book;
mod carry;
mod decide;
mod file;
mod listing;
mod told;

use std::ops::Range;

use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use crate::ids::MessageId;
use crate::ports::StoreError;

pub use copydesk_workspace::review::{HunkId, HunkState};
pub(crate) use decide::Rejected;
pub(crate) use listing::{Desk, Reviews};
pub(crate) use told::told;

/// Of which edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangesScope {
    Session,
    /// Of the newest turn that changed something.
    LastTurn,
    Turn(MessageId),
}

/// What the agent changed, at one moment.
#[derive(Debug, Clone, Default)]
pub struct ChangesView {
    /// By path.
    pub files: Vec<ChangedFile>,
    /// Lines of the hunks that are undecided, over all files.
    pub added: usize,
    pub removed: usize,
}

/// What the agent changed in one file.
#[derive(Debug, Clone)]
pub struct ChangedFile {
    /// Real; where the file stands now, or stood last.
    pub path: AbsPath,
    pub kind: ChangedKind,
    /// URI and version of the open document that `now` is the text of.
    pub open: Option<(String, i32)>,
    /// It is no text: its one hunk is the whole file, and both texts are empty.
    pub is_binary: bool,
    /// The text without the undecided hunks: what it was, with what was accepted and what the user typed.
    pub base: Rope,
    pub now: Rope,
    /// From the top of the file down.
    pub hunks: Vec<HunkView>,
    /// Lines of the hunks that are undecided.
    pub added: usize,
    pub removed: usize,
}

/// What happened to a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedKind {
    Created,
    Modified,
    Deleted,
    Moved { from: AbsPath },
}

/// One run of lines that the agent changed; of a file that came, went or moved as a whole, or is no text, the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkView {
    pub id: HunkId,
    /// The last turn that changed it.
    pub turn: MessageId,
    /// Lines of the file's `base`, from 0; of a hunk that was decided or is outdated, which is no difference any more, where it stands in it.
    pub before: Range<usize>,
    /// Lines of the file's `now`, from 0.
    pub after: Range<usize>,
    /// With its line breaks.
    pub old_text: String,
    pub new_text: String,
    pub state: HunkState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It stays.
    Accept,
    /// It is taken back, and the model is told.
    Reject,
}

/// Which hunks a decision is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkChoice {
    /// All of the scope that are undecided.
    All,
    /// Those of the scope that are undecided in these files.
    Files(Vec<AbsPath>),
    Hunks(Vec<HunkId>),
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decided {
    pub hunks: Vec<HunkId>,
    pub undecided: Vec<Undecided>,
}

/// A hunk that could not be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecided {
    pub id: HunkId,
    pub why: WhyUndecided,
    /// For the user.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyUndecided {
    /// No undecided hunk has this id, be it that it was decided already.
    Gone,
    /// The user has overwritten it.
    Outdated,
    /// The text could not be changed as the decision wants it.
    Conflict,
}

/// Each text is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    #[error("what the agent changed cannot be listed: {0}")]
    Store(#[from] StoreError),
}

impl ReviewError {
    pub fn retry(&self) -> bool {
        match self {
            Self::Store(error) => error.retry(),
        }
    }
}

#[cfg(test)]
#[path = "review/book_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod book_tests;
