//! How the files of a workspace stood before a command, and which of them are others after it: what the undo of commands stands on (R5.1).

use std::time::Duration;

use copydesk_workspace::path::AbsPath;

use super::{BoxFuture, MayOpen};

pub trait Snapshots: Send + Sync {
    /// Looks at all files below the roots that version control would hold: what ignore files name, repositories within a repository and what `may_keep`
    /// refuses stay out. Never fails: what could not be looked at is told with the report. Whoever drops the future ends all that it has started.
    fn before(&self, request: SnapshotRequest) -> BoxFuture<'_, Box<dyn Snapshot>>;
}

/// The files as they stood. Dropping it gives back what it holds.
pub trait Snapshot: Send {
    /// What is another thing now. Whoever drops the future ends all that it has started.
    fn after(self: Box<Self>) -> BoxFuture<'static, SnapshotReport>;
}

#[derive(Clone)]
pub struct SnapshotRequest {
    /// Folders; of those in a work tree of version control the whole tree is looked at.
    pub roots: Vec<AbsPath>,
    /// Whether the contents of a file, by its real path, may be kept.
    pub may_keep: MayOpen,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotReport {
    /// Each file once, in the order of their paths.
    pub changed: Vec<ChangedFile>,
    /// Trees of which nothing is known.
    pub failed: Vec<SnapshotFailure>,
    /// Repositories within a repository, which were not looked at.
    pub nested: Vec<AbsPath>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotFailure {
    pub tree: AbsPath,
    pub error: SnapshotError,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its real path.
    pub path: AbsPath,
    /// The topmost folder that was made for it, where the system tells.
    pub made_folder: Option<AbsPath>,
    pub before: FileState,
    pub after: FileState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    Absent,
    File {
        bytes: Vec<u8>,
        /// Permission bits.
        mode: u32,
    },
    Link {
        /// The bytes of the path that it holds.
        target: Vec<u8>,
    },
    /// There was something, of which the contents are not known.
    Unkept(Unkept),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unkept {
    TooLarge,
    /// Its contents may not be kept.
    Withheld,
    Unreadable,
    /// The command changed more than is kept of one.
    TooMany,
    /// It was not seen before, and yet may have been there.
    Older,
}

impl Unkept {
    /// Why, of a file.
    pub fn reason(self) -> &'static str {
        match self {
            Self::TooLarge => "it is too large",
            Self::Withheld => "it may hold secrets",
            Self::Unreadable => "it could not be read",
            Self::TooMany => "the command changed more files than are kept of one",
            Self::Older => "it may have been there before, where ignore files hid it",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    #[error("looking at its files took longer than {} s", .0.as_secs())]
    TooSlow(Duration),
    #[error("it has more than {0} files")]
    TooManyFiles(usize),
    #[error("more than {0} bytes of its files would have to be kept")]
    TooLarge(u64),
    #[error("git failed: {0}")]
    Git(String),
    #[error("{0}")]
    Io(String),
}

impl SnapshotError {
    pub fn retry(&self) -> bool {
        match self {
            Self::TooSlow(_) | Self::Git(_) | Self::Io(_) => true,
            Self::TooManyFiles(_) | Self::TooLarge(_) => false,
        }
    }
}
