//! Files byte for byte: what is no text, what an undo gives back as it was, other permission bits. Always ours, on the disk; what the user has not saved is
//! never overwritten.

use copydesk_workspace::change_log::{Author, LoggedEdit};
use copydesk_workspace::disk::{DiskError, Expected};
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use ropey::Rope;

use super::record::{MAY_BE_CHANGED, Recorded, may_have_come};
use super::{View, ViewError};
use crate::ports::{FileChange, FileChangeKind, NewContent};
use crate::tool::{CommitError, ToolError};
use crate::undo::FileChanged;

/// The permission bits that let somebody write.
const WRITABLE: u32 = 0o222;

/// What stands at a path, or is to stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileBytes {
    pub(crate) bytes: Vec<u8>,
    /// Permission bits; `None`: as the file has them, or a new one gets them.
    pub(crate) mode: Option<u32>,
}

/// A prepared change of one file.
#[derive(Debug, Clone)]
pub(crate) struct Rewrite {
    /// Real.
    pub(crate) path: AbsPath,
    /// Of the bytes that stand there; `None`: there is no file.
    pub(crate) expected: Option<ContentHash>,
    /// `None`: there is to be no file.
    pub(crate) after: Option<FileBytes>,
    /// The real path under which the file goes on.
    pub(crate) moved_to: Option<AbsPath>,
}

impl View {
    /// Of one that no longer fits nothing is done: `BaseMoved`. What is begun is brought to its end.
    pub(crate) async fn rewrite(&self, rewrite: Rewrite, label: &str) -> Result<(), CommitError> {
        let key = self.key_to_write(&rewrite.path).await?;
        let target = match &rewrite.moved_to {
            Some(to) => self.key_to_write(to).await?,
            None => key.clone(),
        };
        let _locks = self.overlay.locks.take([key.clone(), target.clone()].into()).await;
        let before = self.check_rewrite(&rewrite, &key, &target).await?;
        let recorded = match &self.recorder {
            Some(recorder) => {
                let change = self.of_rewrite(&rewrite, before.as_ref()).await;
                self.record_all(recorder, vec![change]).await?
            }
            None => Recorded::default(),
        };
        match self.bring(&rewrite, before.as_ref()).await {
            Ok(()) => {
                self.rewritten(&key, &target, before.as_ref(), rewrite.after.as_ref(), label).await;
                Ok(())
            }
            Err(error) => {
                let may_come = may_have_come(&error);
                if !may_come {
                    recorded.void().await;
                }
                Err(match error {
                    DiskError::Changed(_) | DiskError::Exists(_) => CommitError::BaseMoved(error.to_string()),
                    _ if may_come => ToolError::Tell(format!("{error}; {MAY_BE_CHANGED}")).into(),
                    _ => ToolError::Tell(error.to_string()).into(),
                })
            }
        }
    }

    async fn key_to_write(&self, path: &AbsPath) -> Result<DocKey, CommitError> {
        let key = self.key(path).await.map_err(ToolError::from)?;
        if key.path() != path {
            return Err(CommitError::BaseMoved(DiskError::Changed(path.clone()).to_string()));
        }
        if !self.scope.writes(key.path()) {
            return Err(ToolError::from(ViewError::NotGranted(path.clone())).into());
        }
        Ok(key)
    }

    /// The file as it stands.
    async fn check_rewrite(
        &self,
        rewrite: &Rewrite,
        key: &DocKey,
        target: &DocKey,
    ) -> Result<Option<FileBytes>, CommitError> {
        let path = &rewrite.path;
        let before = match self.files.read_real(path.clone()).await {
            Ok(bytes) => Some(bytes),
            Err(DiskError::NotFound(_)) => None,
            Err(error) => return Err(ToolError::Tell(error.to_string()).into()),
        };
        if before.as_deref().map(ContentHash::of) != rewrite.expected {
            return Err(CommitError::BaseMoved(format!("{path} was changed by somebody else")));
        }
        if key != target && self.is_there(target.path(), target).await {
            return Err(CommitError::BaseMoved(format!("{} exists by now", target.path())));
        }
        // A buffer that holds the text which comes, or the one which is there, loses nothing.
        if let Some(document) = self.overlay.get(key) {
            let is_of = |bytes: &[u8]| encoding::decode(bytes).is_ok_and(|(text, _)| document.text == *text);
            let sides = [before.as_deref(), rewrite.after.as_ref().map(|after| &after.bytes[..])];
            // Where the bytes stay, only the mode changes.
            let is_same = sides[0].is_some() && sides[0] == sides[1] && rewrite.moved_to.is_none();
            if !is_same && !sides.into_iter().flatten().any(is_of) {
                let text = format!("{path} has another text in the editor, which is not saved");
                return Err(ToolError::Tell(text).into());
            }
        }
        Ok(match before {
            Some(bytes) => Some(FileBytes { mode: self.mode(path).await, bytes }),
            None => None,
        })
    }

    async fn of_rewrite(&self, rewrite: &Rewrite, before: Option<&FileBytes>) -> FileChanged {
        let content = |file: &FileBytes, mode| NewContent::new(file.bytes.clone(), mode);
        let target = rewrite.moved_to.as_ref().unwrap_or(&rewrite.path);
        let mode = before.and_then(|before| before.mode);
        FileChanged {
            path: rewrite.path.clone(),
            moved_to: rewrite.moved_to.clone(),
            made_folder: if rewrite.after.is_some() { self.missing_folder(target).await } else { None },
            before: before.map(|before| content(before, before.mode)),
            after: rewrite.after.as_ref().map(|after| content(after, after.mode.or(mode))),
        }
    }

    async fn bring(&self, rewrite: &Rewrite, before: Option<&FileBytes>) -> Result<(), DiskError> {
        let path = rewrite.path.clone();
        let (from, to) = match (before, &rewrite.after) {
            (None, None) => return Ok(()),
            (None, Some(FileBytes { bytes, mode: Some(mode) })) => {
                return self.files.create_real(path, bytes.clone(), *mode).await;
            }
            (None, Some(FileBytes { bytes, mode: None })) => {
                return self.files.write_real(path, bytes.clone().into(), Expected::Absent).await;
            }
            (Some(from), None) => return self.files.remove_real(path, ContentHash::of(&from.bytes)).await,
            (Some(from), Some(to)) => (from, to),
        };
        let Some(target) = &rewrite.moved_to else { return self.change(&path, from, to).await };
        let hash = ContentHash::of(&from.bytes);
        self.moved(&path, target, hash, self.change(target, from, to)).await
    }

    /// Of a file that stays where it is.
    async fn change(&self, path: &AbsPath, from: &FileBytes, to: &FileBytes) -> Result<(), DiskError> {
        let hash = ContentHash::of(&from.bytes);
        let mode = to.mode.filter(|mode| from.mode != Some(*mode));
        let by_halves = |error: DiskError, reason: String| {
            let reason = format!("{error}; {reason}");
            DiskError::Torn { path: path.clone(), reason }
        };
        let write = async || match from.bytes == to.bytes {
            true => Ok(()),
            false => self.files.write_real(path.clone(), to.bytes.clone().into(), Expected::Bytes(hash)).await,
        };
        match (from.mode, mode) {
            // As it is nobody may write it.
            (Some(old), Some(new)) if old & WRITABLE == 0 && new & WRITABLE != 0 => {
                self.files.set_mode_real(path.clone(), new).await?;
                let Err(error) = write().await else { return Ok(()) };
                Err(match self.files.set_mode_real(path.clone(), old).await {
                    Ok(()) => error,
                    Err(stays) => by_halves(error, format!("its permission bits are others by now: {stays}")),
                })
            }
            (_, Some(new)) => {
                write().await?;
                let set = self.files.set_mode_real(path.clone(), new).await;
                let is_written = from.bytes != to.bytes;
                set.map_err(|error| if is_written { by_halves(error, "its text is written".to_owned()) } else { error })
            }
            (_, None) => write().await,
        }
    }

    /// Books what was done, and tells the editor.
    async fn rewritten(
        &self,
        key: &DocKey,
        target: &DocKey,
        before: Option<&FileBytes>,
        after: Option<&FileBytes>,
        label: &str,
    ) {
        let (nothing, before, after) = (Rope::new(), before.map(text_of), after.map(text_of));
        let mut changes = Vec::new();
        let mut tell = |key: &DocKey, before: Option<&Rope>, after: Option<&Rope>| {
            self.overlay.record(LoggedEdit {
                key: key.clone(),
                author: Author::Agent { label: label.to_owned() },
                version: None,
                edits: EditSet::between(before.unwrap_or(&nothing), after.unwrap_or(&nothing)),
            });
            let kind = match (before, after) {
                (None, _) => FileChangeKind::Created,
                (Some(_), Some(_)) => FileChangeKind::Changed,
                (Some(_), None) => FileChangeKind::Deleted,
            };
            changes.push(FileChange { path: key.path().clone(), kind });
        };
        if key == target {
            tell(key, before.as_ref(), after.as_ref());
        } else {
            tell(key, before.as_ref(), None);
            tell(target, None, after.as_ref());
        }
        self.editor.files_changed(changes).await;
    }
}

/// Of what is no text, none.
fn text_of(file: &FileBytes) -> Rope {
    encoding::decode(&file.bytes).map_or_else(|_| Rope::new(), |(text, _)| Rope::from(text))
}
