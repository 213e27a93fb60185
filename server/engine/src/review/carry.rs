//! What a rejection does to a file: an edit of its text through the view, or the file as a whole on the disk, with the editor told. Its row is stored before,
//! and taken back where nothing was done.

use std::collections::BTreeSet;

use copydesk_workspace::disk::{DiskError, Expected};
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{self, TextEncoding};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use copydesk_workspace::review::HunkId;
use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::decide::Failure;
use super::file::{FileReview, Side, Undoing};
use super::listing::Desk;
use crate::ids::MessageId;
use crate::ports::{By, ChangeId, FileChange, FileChangeKind, FileContent, NewChange, NewContent, StoreError};
use crate::tool::{CommitError, ToolError};
use crate::view::{FileEdit, Snapshot};

/// As whose edits the overlay books rejections: the user's own will.
const LABEL: &str = "review";

/// A step that is ready.
struct Step {
    row: NewChange,
    work: Work,
}

enum Work {
    Edit(FileEdit),
    Write { bytes: Vec<u8>, mode: Option<u32>, expected: Expected },
    Remove(ContentHash),
    Rename { to: AbsPath, hash: ContentHash },
}

impl Desk<'_> {
    /// Where the file stands afterwards, where that is another path. The outer error is the store's: nothing was done.
    pub(super) async fn carry_out(
        &self,
        file: &FileReview,
        undoing: &Undoing,
        hunks: &[HunkId],
    ) -> Result<Result<Option<AbsPath>, Failure>, StoreError> {
        let step = match self.prepare(file, undoing, hunks).await {
            Ok(step) => step,
            Err(failure) => return Ok(Err(failure)),
        };
        let moved_to = step.row.moved_to.clone();
        let row = self.store(step.row).await?;
        let done = match step.work {
            Work::Edit(edit) => self.edit(edit).await,
            other => self.change_file(file, other).await,
        };
        if done.is_err() {
            self.changes.void(self.session.clone(), vec![row]).await?;
        }
        Ok(done.map(|()| moved_to))
    }

    pub(super) async fn record(
        &self,
        by: By,
        path: &AbsPath,
        moved_to: Option<AbsPath>,
        before: Option<NewContent>,
        after: Option<NewContent>,
    ) -> Result<ChangeId, StoreError> {
        self.store(self.row(by, path, moved_to, before, after)).await
    }

    /// What stands at the path: the editor's text where it has one, in UTF-8, else the bytes of the file.
    pub(super) async fn content(&self, path: &AbsPath) -> Option<NewContent> {
        match self.view.snapshot(path).await {
            Ok(snapshot) if snapshot.is_editors() => {
                Some(NewContent::new(snapshot.text.to_string().into_bytes(), None))
            }
            Ok(_) | Err(_) => {
                let bytes = self.view.bytes(path).await.ok()?;
                Some(NewContent::new(bytes, self.mode(path).await))
            }
        }
    }

    async fn prepare(&self, file: &FileReview, undoing: &Undoing, hunks: &[HunkId]) -> Result<Step, Failure> {
        let path = file.path();
        if self.present(path).await != Some(file.now()) {
            return Err(Failure::Moved);
        }
        let before = self.content(path).await;
        let row = |moved_to: Option<&AbsPath>, after: Option<NewContent>| {
            self.row(By::Reject { hunks: hunks.to_vec() }, path, moved_to.cloned(), before.clone(), after)
        };
        let hash = || before.as_ref().map(|before| before.hash).ok_or(Failure::Moved);
        let is_text = matches!(file.now(), Side::Text(_));
        match undoing {
            Undoing::Edit(edits) => {
                let base = self.snapshot(path).await?;
                let encoding = before.as_ref().and_then(|before| before.encoding);
                let after = edits.apply(&base.text).map_err(|_| Failure::Moved)?;
                let after = NewContent::new(encoded(&after, encoding, &base), None);
                Ok(Step {
                    row: row(None, Some(after)),
                    work: Work::Edit(FileEdit::Modify { base, edits: edits.clone() }),
                })
            }
            Undoing::Remove if is_text => {
                let base = self.snapshot(path).await?;
                Ok(Step { row: row(None, None), work: Work::Edit(FileEdit::Delete { base }) })
            }
            Undoing::Remove => Ok(Step { row: row(None, None), work: Work::Remove(hash()?) }),
            Undoing::Restore { text, stored } => {
                let bytes = self.bytes_of(text.as_ref(), *stored).await?;
                let mode = stored.and_then(|stored| stored.mode);
                let expected = match &before {
                    Some(before) => Expected::Bytes(before.hash),
                    None => Expected::Absent,
                };
                let after = NewContent::new(bytes.clone(), mode);
                Ok(Step { row: row(None, Some(after)), work: Work::Write { bytes, mode, expected } })
            }
            Undoing::MoveBack { to } if is_text => {
                let base = self.snapshot(path).await?;
                let edits = EditSet::between(&base.text, &base.text);
                let work = Work::Edit(FileEdit::Move { base, to: to.clone(), edits });
                Ok(Step { row: row(Some(to), before.clone()), work })
            }
            Undoing::MoveBack { to } => {
                let work = Work::Rename { to: to.clone(), hash: hash()? };
                Ok(Step { row: row(Some(to), before.clone()), work })
            }
        }
    }

    async fn edit(&self, edit: FileEdit) -> Result<(), Failure> {
        match self.view.apply(vec![edit], LABEL, &CancellationToken::new()).await {
            Ok(_) => Ok(()),
            Err(CommitError::BaseMoved(_) | CommitError::Leads(_)) => Err(Failure::Moved),
            Err(CommitError::Tool(ToolError::Tell(reason))) => Err(Failure::Failed(reason)),
            Err(CommitError::Tool(error)) => Err(Failure::Failed(error.to_string())),
        }
    }

    /// Under the lock of the file, and never behind an open document.
    async fn change_file(&self, file: &FileReview, work: Work) -> Result<(), Failure> {
        let path = file.path();
        let keys = [Some(path), work.target()].into_iter().flatten().map(|path| DocKey::from_real_path(path.clone()));
        let keys: BTreeSet<DocKey> = keys.collect();
        let _locks = self.view.overlay.locks.take(keys.clone()).await;
        if keys.iter().any(|key| self.view.overlay.get(key).is_some()) {
            return Err(Failure::Failed(
                "it is open in the editor: close it there, then reject the change again".to_owned(),
            ));
        }
        let files = &self.view.files;
        let (done, told) = match work {
            Work::Edit(edit) => return self.edit(edit).await,
            Work::Write { bytes, mode, expected: Expected::Absent } => {
                let written = match mode {
                    Some(mode) => files.create_real(path.clone(), bytes, mode).await,
                    None => files.write_real(path.clone(), bytes, Expected::Absent).await,
                };
                (written, vec![(path.clone(), FileChangeKind::Created)])
            }
            Work::Write { bytes, expected, .. } => {
                let written = files.write_real(path.clone(), bytes, expected).await;
                (written, vec![(path.clone(), FileChangeKind::Changed)])
            }
            Work::Remove(hash) => {
                (files.remove_real(path.clone(), hash).await, vec![(path.clone(), FileChangeKind::Deleted)])
            }
            Work::Rename { to, hash } => {
                let told = vec![(path.clone(), FileChangeKind::Deleted), (to.clone(), FileChangeKind::Created)];
                (files.rename_real(path.clone(), to, hash).await, told)
            }
        };
        match done {
            Ok(()) => {
                let changes = told.into_iter().map(|(path, kind)| FileChange { path, kind }).collect();
                self.view.editor.files_changed(changes).await;
                Ok(())
            }
            Err(DiskError::Changed(_) | DiskError::Exists(_)) => Err(Failure::Moved),
            Err(error) => Err(Failure::Failed(error.to_string())),
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

    async fn mode(&self, path: &AbsPath) -> Option<u32> {
        self.view.stat(path).await.ok()?.mode
    }

    fn row(
        &self,
        by: By,
        path: &AbsPath,
        moved_to: Option<AbsPath>,
        before: Option<NewContent>,
        after: Option<NewContent>,
    ) -> NewChange {
        NewChange {
            turn: MessageId::next(self.ids),
            call: None,
            at: self.clock.now(),
            by,
            path: path.clone(),
            moved_to,
            made_folder: None,
            before,
            after,
        }
    }

    async fn store(&self, row: NewChange) -> Result<ChangeId, StoreError> {
        let ids = self.changes.record(self.session.clone(), vec![row], self.most_kept).await?;
        Ok(ids.into_iter().next().unwrap_or(ChangeId(0)))
    }
}

impl Work {
    /// Where the file stands afterwards, where that is another path.
    fn target(&self) -> Option<&AbsPath> {
        match self {
            Self::Rename { to, .. } | Self::Edit(FileEdit::Move { to, .. }) => Some(to),
            Self::Edit(_) | Self::Write { .. } | Self::Remove(_) => None,
        }
    }
}

/// As the file will hold it; of the editor's text in UTF-8.
fn encoded(text: &Rope, encoding: Option<TextEncoding>, base: &Snapshot) -> Vec<u8> {
    match encoding.filter(|_| !base.is_editors()) {
        Some(encoding) => encoding::encode(&text.to_string(), encoding),
        None => text.to_string().into_bytes(),
    }
}
