//! What a rejection does to a file: an edit of its text, or the file as a whole. Both go through the view, which stores the row before anything is done.

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{self, TextEncoding};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::review::HunkId;
use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::decide::Failure;
use super::file::{FileReview, Undoing};
use super::listing::{Desk, Standing};
use crate::ids::MessageId;
use crate::ports::{By, FileContent, NewContent, StoreError};
use crate::tool::{CommitError, ToolError};
use crate::undo::{FileChanged, Recorder};
use crate::view::{FileBytes, FileEdit, Rewrite, Snapshot, Source};

/// As whose edits the overlay books rejections: the agent's undo, not the user's typing.
const LABEL: &str = "review";

/// A step that is ready.
enum Step {
    Edit(FileEdit),
    Rewrite(Rewrite),
}

impl Desk<'_> {
    /// The outer error is the store's: nothing was done.
    pub(super) async fn carry_out(
        &self,
        file: &FileReview,
        undoing: &Undoing,
        hunks: &[HunkId],
    ) -> Result<Result<(), Failure>, StoreError> {
        // What cannot be stored is not done: a decision that nobody knows of would come back as a question.
        self.changes.record(self.session.clone(), Vec::new(), self.most_kept).await?;
        let step = match self.prepare(file, undoing).await {
            Ok(step) => step,
            Err(failure) => return Ok(Err(failure)),
        };
        let view = self.view.recorded(self.recorder(By::Reject { hunks: hunks.to_vec() }));
        let done = match step {
            Step::Edit(edit) => view.apply(vec![edit], LABEL, &CancellationToken::new()).await.map(|_| ()),
            Step::Rewrite(rewrite) => view.rewrite(rewrite, LABEL).await,
        };
        Ok(match done {
            Ok(()) => Ok(()),
            Err(CommitError::BaseMoved(_) | CommitError::Leads(_)) => Err(Failure::Moved),
            Err(CommitError::Tool(ToolError::Tell(reason))) => Err(Failure::Failed(reason)),
            Err(CommitError::Tool(error)) => Err(Failure::Failed(error.to_string())),
        })
    }

    /// Stores that the hunks of the file stay, with what stands at its path.
    pub(super) async fn accepted(
        &self,
        path: &AbsPath,
        standing: Standing,
        hunks: Vec<HunkId>,
    ) -> Result<(), StoreError> {
        let now = self.content(path, standing).await;
        let (before, after) = (now.clone(), now);
        let row = FileChanged { path: path.clone(), moved_to: None, made_folder: None, before, after };
        self.recorder(By::Accept { hunks }).record(vec![row]).await?;
        Ok(())
    }

    fn recorder(&self, by: By) -> Recorder {
        self.recording.recorder(MessageId::next(self.ids), None, by, self.most_kept)
    }

    /// The editor's text in UTF-8, where it is the editor's; else the bytes of the file. `None` where there is none.
    async fn content(&self, path: &AbsPath, standing: Standing) -> Option<NewContent> {
        let mode = async || self.view.stat(path).await.ok().and_then(|stat| stat.mode);
        match standing {
            Standing::Nothing => None,
            Standing::Text(Snapshot { text, source, .. }) => Some(match source {
                Source::Disk { encoding, .. } | Source::Held { disk: Some((encoding, _)), is_unsaved: false, .. } => {
                    NewContent::of_text(&text, encoding, mode().await)
                }
                Source::Open { .. } | Source::Held { .. } => NewContent::of_text(&text, TextEncoding::Utf8, None),
            }),
            Standing::Bytes(bytes) => Some(NewContent::new(bytes, mode().await)),
        }
    }

    /// What is compared is what the step is made for: what comes later is seen where it is carried out.
    async fn prepare(&self, file: &FileReview, undoing: &Undoing) -> Result<Step, Failure> {
        let path = file.path();
        let standing = self.standing(path).await.map_err(failed)?;
        if standing.side() != file.now() {
            return Err(Failure::Moved);
        }
        let rewrite = |expected: Option<ContentHash>, after: Option<FileBytes>, moved_to: Option<AbsPath>| {
            Step::Rewrite(Rewrite { path: path.clone(), expected, after, moved_to })
        };
        Ok(match (undoing, standing) {
            (Undoing::Edit(edits), Standing::Text(base)) => Step::Edit(FileEdit::Modify { base, edits: edits.clone() }),
            (Undoing::Remove, Standing::Text(base)) => Step::Edit(FileEdit::Delete { base }),
            (Undoing::MoveBack { to }, Standing::Text(base)) => {
                let edits = EditSet::between(&base.text, &base.text);
                Step::Edit(FileEdit::Move { base, to: to.clone(), edits })
            }
            (Undoing::Remove, Standing::Bytes(bytes)) => rewrite(Some(ContentHash::of(&bytes)), None, None),
            (Undoing::MoveBack { to }, Standing::Bytes(bytes)) => {
                rewrite(Some(ContentHash::of(&bytes)), Some(FileBytes { bytes, mode: None }), Some(to.clone()))
            }
            (Undoing::Restore { text, stored }, standing) => {
                let bytes = self.bytes_of(text.as_ref(), *stored).await?;
                let after = FileBytes { bytes, mode: stored.and_then(|stored| stored.mode) };
                rewrite(self.on_disk(&standing).await?, Some(after), None)
            }
            (Undoing::Edit(_), Standing::Bytes(_) | Standing::Nothing)
            | (Undoing::Remove | Undoing::MoveBack { .. }, Standing::Nothing) => {
                return Err(failed(DiskError::NotFound(path.clone())));
            }
        })
    }

    /// The bytes of the file, where they are what was read.
    async fn on_disk(&self, standing: &Standing) -> Result<Option<ContentHash>, Failure> {
        let snapshot = match standing {
            Standing::Nothing => return Ok(None),
            Standing::Bytes(bytes) => return Ok(Some(ContentHash::of(bytes))),
            Standing::Text(snapshot) => snapshot,
        };
        let path = &snapshot.path;
        match &snapshot.source {
            Source::Disk { bytes, .. } | Source::Held { disk: Some((_, bytes)), is_unsaved: false, .. } => {
                Ok(Some(*bytes))
            }
            Source::Open { .. } | Source::Held { .. } => {
                let bytes = self.view.bytes(path).await.map_err(failed)?;
                if is_text_of(&bytes, &snapshot.text) {
                    return Ok(Some(ContentHash::of(&bytes)));
                }
                Err(Failure::Failed(format!("{path} has another text in the editor, which is not saved")))
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
        let encoding = stored.and_then(|stored| stored.encoding).unwrap_or(TextEncoding::Utf8);
        let is_same = |bytes: &Vec<u8>| is_text_of(bytes, text);
        Ok(kept.filter(is_same).unwrap_or_else(|| encoding::encode_rope(text, encoding)))
    }
}

fn is_text_of(bytes: &[u8], text: &Rope) -> bool {
    encoding::decode(bytes).is_ok_and(|(decoded, _)| *text == decoded.as_ref() as &str)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}
