//! What a batch of edits will do, told to the record before any of it is done.

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::encoding::TextEncoding;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::View;
use super::apply::{DiskEdit, Step};
use super::open::OpenEdit;
use super::relocate::Relocation;
use crate::ports::{ChangeId, NewContent, StoreError};
use crate::tool::{CommitError, ToolError};
use crate::undo::{FileChanged, Recorder};

/// Of a file whose write failed and `may_have_come`.
pub(super) const MAY_BE_CHANGED: &str = "MAY BE CHANGED, by halves or a while from now: look at it again";

/// Whether something of a write that failed so may be in the file. Its row stays: it holds the text before, and an undo finds by the contents what came of it.
pub(super) fn may_have_come(error: &DiskError) -> bool {
    match error {
        DiskError::Torn { .. } => true,
        DiskError::NotFound(_)
        | DiskError::Exists(_)
        | DiskError::Changed(_)
        | DiskError::IsDirectory(_)
        | DiskError::Denied(_)
        | DiskError::Other { .. } => false,
    }
}

/// The rows of one batch.
#[derive(Default)]
pub(super) struct Recorded<'a>(Option<(&'a Recorder, Vec<ChangeId>)>);

impl Recorded<'_> {
    /// Nothing of the batch is in force.
    pub(super) async fn void(self) {
        if let Some((recorder, ids)) = self.0 {
            recorder.void(ids).await;
        }
    }
}

impl View {
    /// Nothing is done yet where it fails unforeseen: whether these edits may be made without undo is decided anew (R5.4).
    pub(super) async fn record(&self, open: &[OpenEdit], disk: &[Step]) -> Result<Recorded<'_>, CommitError> {
        let Some(recorder) = &self.recorder else { return Ok(Recorded::default()) };
        let mut changes = Vec::with_capacity(open.len() + disk.len());
        for edit in open {
            changes.push(of_open(edit));
        }
        for step in disk {
            changes.push(match step {
                Step::Write(edit) => self.of_write(edit).await,
                Step::Relocate(relocation) => self.of_relocation(relocation).await,
            });
        }
        self.record_all(recorder, changes).await
    }

    pub(super) async fn record_all<'a>(
        &self,
        recorder: &'a Recorder,
        changes: Vec<FileChanged>,
    ) -> Result<Recorded<'a>, CommitError> {
        let is_decided = recorder.fails_as_known();
        match recorder.record(changes).await {
            Ok(ids) => Ok(Recorded(Some((recorder, ids)))),
            // Whoever does not hold the session any more has no say over its files either, whatever was decided before.
            Err(error @ (StoreError::Elsewhere(_) | StoreError::UnknownSession(_))) => {
                Err(ToolError::Tell(format!("{error}. Nothing was changed")).into())
            }
            Err(error) if recorder.is_needed() => Err(ToolError::Tell(error.to_string()).into()),
            Err(_) if is_decided => Ok(Recorded::default()),
            Err(error) => Err(CommitError::BaseMoved(error.to_string())),
        }
    }

    async fn of_write(&self, edit: &DiskEdit) -> FileChanged {
        let path = edit.key.path();
        let mode = self.mode(path).await;
        let before = edit.before.as_ref().map(|before| match (&before.read, before.hash) {
            (Some(bytes), Some(hash)) => NewContent::hashed(bytes.clone(), hash, before.encoding, mode),
            _ => NewContent::of_text(&before.text, before.encoding, mode),
        });
        FileChanged {
            path: path.clone(),
            moved_to: None,
            made_folder: self.missing_folder(path).await,
            before,
            after: Some(NewContent::hashed(edit.bytes.clone(), edit.hash, edit.encoding, mode)),
        }
    }

    async fn of_relocation(&self, relocation: &Relocation) -> FileChanged {
        let path = relocation.key.path();
        let mode = self.mode(path).await;
        let target = relocation.target.as_ref();
        let moved_to = target.map(|target| target.key.path().clone());
        let made_folder = match &moved_to {
            Some(to) => self.missing_folder(to).await,
            None => None,
        };
        FileChanged {
            path: path.clone(),
            moved_to,
            made_folder,
            before: Some(NewContent::new(relocation.bytes.clone(), mode)),
            after: target.map(|target| NewContent::new(target.bytes.clone(), mode)),
        }
    }

    pub(super) async fn mode(&self, path: &AbsPath) -> Option<u32> {
        self.files.stat(path.clone()).await.ok()?.mode
    }

    /// The topmost folder on the way that is not there.
    pub(super) async fn missing_folder(&self, path: &AbsPath) -> Option<AbsPath> {
        let mut missing = None;
        let mut at = path.parent();
        while let Some(folder) = at {
            if self.files.stat(folder.clone()).await.is_ok() {
                break;
            }
            at = folder.parent();
            missing = Some(folder);
        }
        missing
    }
}

/// Of the document as the editor has it.
fn of_open(edit: &OpenEdit) -> FileChanged {
    let content = |text: &Rope| Some(NewContent::of_text(text, TextEncoding::Utf8, None));
    FileChanged {
        path: edit.key.path().clone(),
        moved_to: None,
        made_folder: None,
        before: content(&edit.base),
        // One that does not fit is never sent.
        after: content(&edit.edits.apply(&edit.base).unwrap_or_else(|_| edit.base.clone())),
    }
}
