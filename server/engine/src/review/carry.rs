//! What a rejection does to a file: an edit of its text, or the file as a whole. Both go through the view, which stores the row before anything is done.

use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{self, TextEncoding};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::review::HunkId;
use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::decide::Failure;
use super::file::{FileReview, Side, Undoing};
use super::listing::Desk;
use crate::ids::MessageId;
use crate::ports::{By, FileContent, NewContent, StoreError};
use crate::tool::{CommitError, ToolError};
use crate::undo::{FileChanged, Recorder};
use crate::view::{FileBytes, FileEdit, Rewrite, Snapshot};

/// As whose edits the overlay books rejections: the agent's undo, not the user's typing.
const LABEL: &str = "review";

/// A step that is ready.
enum Step {
    Edit(FileEdit),
    Rewrite(Rewrite),
}

impl Desk<'_> {
    /// Where the file stands afterwards, where that is another path. The outer error is the store's: nothing was done.
    pub(super) async fn carry_out(
        &self,
        file: &FileReview,
        undoing: &Undoing,
        hunks: &[HunkId],
    ) -> Result<Result<Option<AbsPath>, Failure>, StoreError> {
        // What cannot be stored is not done: a decision that nobody knows of would come back as a question.
        self.changes.record(self.session.clone(), Vec::new(), self.most_kept).await?;
        let step = match self.prepare(file, undoing).await {
            Ok(step) => step,
            Err(failure) => return Ok(Err(failure)),
        };
        let moved_to = match undoing {
            Undoing::MoveBack { to } => Some(to.clone()),
            Undoing::Edit(_) | Undoing::Remove | Undoing::Restore { .. } => None,
        };
        let view = self.view.recorded(self.recorder(By::Reject { hunks: hunks.to_vec() }));
        let done = match step {
            Step::Edit(edit) => view.apply(vec![edit], LABEL, &CancellationToken::new()).await.map(|_| ()),
            Step::Rewrite(rewrite) => view.rewrite(rewrite, LABEL).await,
        };
        Ok(match done {
            Ok(()) => Ok(moved_to),
            Err(CommitError::BaseMoved(_) | CommitError::Leads(_)) => Err(Failure::Moved),
            Err(CommitError::Tool(ToolError::Tell(reason))) => Err(Failure::Failed(reason)),
            Err(CommitError::Tool(error)) => Err(Failure::Failed(error.to_string())),
        })
    }

    /// Stores that the hunks of the file stay, with the text that they stand in.
    pub(super) async fn accepted(&self, path: &AbsPath, hunks: Vec<HunkId>) -> Result<(), StoreError> {
        let now = self.content(path).await;
        let (before, after) = (now.clone(), now);
        let row = FileChanged { path: path.clone(), moved_to: None, made_folder: None, before, after };
        self.recorder(By::Accept { hunks }).record(vec![row]).await?;
        Ok(())
    }

    fn recorder(&self, by: By) -> Recorder {
        self.recording.recorder(MessageId::next(self.ids), None, by, self.most_kept)
    }

    /// What stands at the path: the editor's text where it has one, in UTF-8, else the bytes of the file.
    async fn content(&self, path: &AbsPath) -> Option<NewContent> {
        match self.view.snapshot(path).await {
            Ok(snapshot) if snapshot.is_editors() => {
                Some(NewContent::new(snapshot.text.to_string().into_bytes(), None))
            }
            Ok(_) | Err(_) => {
                let bytes = self.view.bytes(path).await.ok()?;
                let mode = self.view.stat(path).await.ok().and_then(|stat| stat.mode);
                Some(NewContent::new(bytes, mode))
            }
        }
    }

    async fn prepare(&self, file: &FileReview, undoing: &Undoing) -> Result<Step, Failure> {
        let path = file.path();
        if self.present(path).await != Some(file.now()) {
            return Err(Failure::Moved);
        }
        let is_text = matches!(file.now(), Side::Text(_));
        let rewrite = |bytes: Option<&Vec<u8>>, after: Option<FileBytes>, moved_to: Option<AbsPath>| {
            let expected = bytes.map(|bytes| ContentHash::of(bytes));
            Step::Rewrite(Rewrite { path: path.clone(), expected, after, moved_to })
        };
        match undoing {
            Undoing::Edit(edits) => {
                let base = self.snapshot(path).await?;
                Ok(Step::Edit(FileEdit::Modify { base, edits: edits.clone() }))
            }
            Undoing::Remove if is_text => Ok(Step::Edit(FileEdit::Delete { base: self.snapshot(path).await? })),
            Undoing::MoveBack { to } if is_text => {
                let base = self.snapshot(path).await?;
                let edits = EditSet::between(&base.text, &base.text);
                Ok(Step::Edit(FileEdit::Move { base, to: to.clone(), edits }))
            }
            Undoing::Remove => Ok(rewrite(Some(&self.bytes(path).await?), None, None)),
            Undoing::MoveBack { to } => {
                let bytes = self.bytes(path).await?;
                let after = FileBytes { bytes: bytes.clone(), mode: None };
                Ok(rewrite(Some(&bytes), Some(after), Some(to.clone())))
            }
            Undoing::Restore { text, stored } => {
                let bytes = self.bytes_of(text.as_ref(), *stored).await?;
                let after = FileBytes { bytes, mode: stored.and_then(|stored| stored.mode) };
                let now = match file.now() {
                    Side::Absent => None,
                    Side::Text(_) | Side::Opaque(_) => Some(self.bytes(path).await?),
                };
                Ok(rewrite(now.as_ref(), Some(after), None))
            }
        }
    }

    /// Byte for byte as it was stored, where it is just that.
    async fn bytes_of(&self, text: Option<&Rope>, stored: Option<FileContent>) -> Result<Vec<u8>, Failure> {
        let kept = match stored {
            Some(stored) => self.changes.content(self.session.clone(), stored.hash).await.ok().flatten(),
            None => None,
        };
        let Some(text) = text else {
            return kept.ok_or_else(|| Failure::Failed("what the file held before is not kept".to_owned()));
        };
        let is_same = |bytes: &Vec<u8>| encoding::decode(bytes).is_ok_and(|(kept, _)| *text == kept.as_ref() as &str);
        let encoding = stored.and_then(|stored| stored.encoding).unwrap_or(TextEncoding::Utf8);
        Ok(kept.filter(is_same).unwrap_or_else(|| encoding::encode(&text.to_string(), encoding)))
    }

    async fn snapshot(&self, path: &AbsPath) -> Result<Snapshot, Failure> {
        self.view.snapshot(path).await.map_err(|error| Failure::Failed(error.to_string()))
    }

    async fn bytes(&self, path: &AbsPath) -> Result<Vec<u8>, Failure> {
        self.view.bytes(path).await.map_err(|error| Failure::Failed(error.to_string()))
    }
}
