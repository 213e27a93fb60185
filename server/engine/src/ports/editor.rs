//! The editor: applies edits to its open documents, saves, and is told of files that changed. Reading documents is the overlay's.

use copydesk_workspace::edit::EditSet;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::{BoxFuture, WorkspaceTrust};
use crate::ids::SessionId;

pub trait Editor: Send + Sync {
    /// Sends one `workspace/applyEdit` with the versions named. `Ok` is the editor's word alone: what was done is what the overlay shows next.
    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, Result<(), EditorError>>;

    /// Saves open documents; answers those that could not be saved.
    fn save(&self, uris: Vec<String>) -> BoxFuture<'_, Vec<Unsaved>>;

    /// Files changed on the disk: clean buffers are read again. Resolves when that is done.
    fn files_changed(&self, changes: Vec<FileChange>) -> BoxFuture<'_, ReloadReport>;

    /// The section `copydesk` of the editor's settings, as it stands now: a configuration like a project's, since editors read settings from folders too.
    fn settings(&self) -> Option<serde_json::Value> {
        None
    }

    /// Whether its user trusts the workspace, as it stands now.
    fn workspace_trust(&self) -> WorkspaceTrust {
        WorkspaceTrust::default()
    }

    /// What of `read_text` and `write_text` it answers: for editors that tell of no documents.
    fn texts(&self) -> TextAccess {
        TextAccess::default()
    }

    /// The text of a file as the editor has it, unsaved or not. `session` is the one that wants it.
    fn read_text(&self, _session: &SessionId, _path: &AbsPath) -> BoxFuture<'_, Result<String, EditorError>> {
        Box::pin(async { Err(EditorError::Unsupported) })
    }

    /// Makes `text` the whole text of the file, in the editor and on the disk; makes the file where there is none.
    fn write_text(
        &self,
        _session: &SessionId,
        _path: &AbsPath,
        _text: String,
    ) -> BoxFuture<'_, Result<(), EditorError>> {
        Box::pin(async { Err(EditorError::Unsupported) })
    }

    /// Which edits need no ask (design §7).
    fn free_edits(&self) -> FreeEdits;
}

/// Edits that the user sees, and that he can take back: none where he could only read of them afterwards (R20.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FreeEdits {
    /// Of open documents: the editor itself shows them, and takes them back by one undo.
    pub shown: bool,
    /// Of the workspace's files, open or not: the client shows what was changed and has a way to undo it.
    pub undoable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextAccess {
    pub reads: bool,
    pub writes: bool,
}

#[derive(Debug, Clone)]
pub struct ApplyRequest {
    /// Names the undo step.
    pub label: String,
    pub documents: Vec<DocumentEdit>,
}

#[derive(Debug, Clone)]
pub struct DocumentEdit {
    /// The editor's own spelling.
    pub uri: String,
    pub version: i32,
    /// The text of that version: positions are computed on it.
    pub base: Rope,
    pub edits: EditSet,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditorError {
    /// The document has moved on, or the user said no.
    #[error("the editor refused the edit{}", reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    Refused { reason: Option<String> },
    #[error("the editor cannot edit documents")]
    Unsupported,
    #[error("the editor did not answer")]
    Gone,
}

impl EditorError {
    /// Whether trying again with the present text makes sense.
    pub fn retry(&self) -> bool {
        match self {
            Self::Refused { .. } => true,
            Self::Unsupported | Self::Gone => false,
        }
    }

    /// Whether it may be done all the same, or be done yet.
    pub fn may_come(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::Unsupported => false,
            Self::Gone => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsaved {
    pub uri: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub path: AbsPath,
    pub kind: FileChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChangeKind {
    Created,
    Changed,
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReloadReport {
    /// Clean buffers that now show the file.
    pub reloaded: Vec<String>,
    /// Buffers with unsaved text, left alone.
    pub conflicts: Vec<String>,
}
