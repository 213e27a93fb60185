//! Deleting and moving files. Always ours, on the disk, and told to the editor afterwards: editors do these by halves. What the user has not saved is
//! neither deleted nor moved.

use bytes::Bytes;
use copydesk_workspace::change_log::{Author, LoggedEdit};
use copydesk_workspace::disk::{DiskError, Expected};
use copydesk_workspace::document::Document;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{self, DecodeError, encode_rope};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use ropey::Rope;

use super::apply::silent;
use super::held::{Silent, is_asked};
use super::record::may_have_come;
use super::{Applied, RawFile, Snapshot, Source, View};
use crate::overlay::Unsaved;
use crate::ports::{FileChange, FileChangeKind};
use crate::tool::{CommitError, ToolError};

/// A checked deletion or move.
#[derive(Debug, Clone)]
pub(super) struct Relocation {
    pub(super) path: AbsPath,
    pub(super) key: DocKey,
    /// The whole file, as it is.
    pub(super) bytes: Bytes,
    before: Rope,
    /// `None` for a deletion.
    pub(super) target: Option<Target>,
}

#[derive(Debug, Clone)]
pub(super) struct Target {
    path: AbsPath,
    pub(super) key: DocKey,
    after: Rope,
    pub(super) bytes: Bytes,
}

impl View {
    pub(super) async fn check_delete(&self, base: Snapshot) -> Result<Relocation, CommitError> {
        let bytes = self.check_relocated(&base).await?;
        Ok(Relocation { path: base.path, key: base.key, bytes, before: base.text, target: None })
    }

    pub(super) async fn check_move(
        &self,
        base: Snapshot,
        to: AbsPath,
        edits: &EditSet,
    ) -> Result<Relocation, CommitError> {
        let bytes = self.check_relocated(&base).await?;
        let key = self.check_free(&to).await?;
        let after = edits.apply(&base.text).map_err(|error| ToolError::Tell(error.to_string()))?;
        let new = match encoding::decode(&bytes) {
            Ok((old, _)) if base.text == *old && edits.is_empty() => bytes.clone(),
            Ok((_, encoding)) => encode_rope(&after, encoding).into(),
            Err(error) => return Err(ToolError::Tell(format!("{} cannot be moved: {error}", base.path)).into()),
        };
        let target = Some(Target { path: to, key, after, bytes: new });
        Ok(Relocation { path: base.path, key: base.key, bytes, before: base.text, target })
    }

    pub(super) async fn check_carry(&self, file: RawFile, to: Option<AbsPath>) -> Result<Relocation, CommitError> {
        let moved = || CommitError::BaseMoved(format!("{} was changed by somebody else", file.path));
        // An editor that has it open knows more of it than its bytes.
        let key = self.key(&file.path).await.map_err(ToolError::from)?;
        if key != file.key || self.overlay.get(&key).is_some() {
            return Err(moved());
        }
        let bytes = match self.files.read_real(key.path().clone()).await {
            Ok(bytes) => Bytes::from(bytes),
            Err(DiskError::NotFound(_)) => return Err(moved()),
            Err(error) => return Err(ToolError::Tell(error.to_string()).into()),
        };
        if ContentHash::of(&bytes) != file.hash {
            return Err(moved());
        }
        let target = match to {
            Some(path) => {
                let key = self.check_free(&path).await?;
                Some(Target { path, key, after: Rope::new(), bytes: bytes.clone() })
            }
            None => None,
        };
        Ok(Relocation { path: file.path, key, bytes, before: Rope::new(), target })
    }

    async fn check_free(&self, path: &AbsPath) -> Result<DocKey, CommitError> {
        let key = self.key(path).await.map_err(ToolError::from)?;
        if self.is_there(path, &key).await {
            return Err(CommitError::BaseMoved(format!("{path} exists by now")));
        }
        Ok(key)
    }

    /// The bytes of the file, where its text is still that of `base` and nobody's unsaved text would be lost.
    async fn check_relocated(&self, base: &Snapshot) -> Result<Bytes, CommitError> {
        let moved = || CommitError::BaseMoved(format!("{} was changed by somebody else", base.path));
        let unsaved = || {
            let text = "has unsaved text of the user in the editor. Nothing was changed; ask the user to save it, then repeat the call";
            CommitError::from(ToolError::Tell(format!("{} {text}", base.path)))
        };
        if self.key(&base.path).await.map_err(ToolError::from)? != base.key {
            return Err(moved());
        }
        let bytes = match self.files.read_real(base.key.path().clone()).await {
            Ok(bytes) => Bytes::from(bytes),
            Err(DiskError::NotFound(_)) => {
                let text =
                    "is only in the editor, not on the disk. Nothing was changed; ask the user to save or close it";
                return Err(ToolError::Tell(format!("{} {text}", base.path)).into());
            }
            Err(error) => return Err(ToolError::Tell(error.to_string()).into()),
        };
        let now = self.overlay.get(&base.key);
        match (&base.source, now) {
            (Source::Open { .. }, Some(now)) if now.text == base.text => {
                let of_user = |(document, by): &(Document, Unsaved)| document.key == base.key && *by == Unsaved::User;
                if self.overlay.unsaved().iter().any(of_user) {
                    Err(unsaved())
                } else if is_shown(&now, &bytes) {
                    Ok(bytes)
                } else {
                    let text = "was changed on the disk, and the editor does not show that yet. Nothing was changed; ask the user to load it again or to save it, then repeat the call";
                    Err(ToolError::Tell(format!("{} {text}", base.path)).into())
                }
            }
            (Source::Held { is_unsaved: true, .. }, None) => Err(unsaved()),
            (Source::Disk { encoding, bytes: hash }, None) if ContentHash::of(&bytes) == *hash => {
                if !(self.editor.texts().reads && is_asked(*encoding, &base.text)) {
                    return Ok(bytes);
                }
                match self.held(&base.path, &base.key).await {
                    Ok(None) => Ok(bytes),
                    Ok(Some(_)) => Err(moved()),
                    Err(Silent) => Err(silent(&base.path)),
                }
            }
            (Source::Held { disk: Some((_, hash)), is_unsaved: false, held }, None)
                if ContentHash::of(&bytes) == *hash =>
            {
                match self.held(&base.path, &base.key).await {
                    Ok(now) if now.as_ref() == Some(held) => Ok(bytes),
                    Ok(_) => Err(moved()),
                    Err(Silent) => Err(silent(&base.path)),
                }
            }
            _ => Err(moved()),
        }
    }

    pub(super) async fn is_there(&self, path: &AbsPath, key: &DocKey) -> bool {
        self.overlay.get(key).is_some()
            || self.files.stat(key.path().clone()).await.is_ok()
            || self.editor.texts().reads
                && matches!(self.held(path, key).await, Ok(Some(held)) if !held.text.is_empty())
    }

    pub(super) async fn relocate(&self, relocation: &Relocation) -> Result<(), DiskError> {
        let (path, hash) = (relocation.key.path(), ContentHash::of(&relocation.bytes));
        let Some(target) = &relocation.target else { return self.files.remove_real(path.clone(), hash).await };
        let to = target.key.path();
        let write = async || match target.bytes == relocation.bytes {
            true => Ok(()),
            false => self.files.write_real(to.clone(), target.bytes.clone(), Expected::Bytes(hash)).await,
        };
        self.moved(path, to, hash, write()).await
    }

    /// Gives the file its other name, and lets `change` be done there. Where that fails it goes back: as if nothing had begun. Where something of it may be
    /// done all the same, or it cannot go back, the error is `Torn`.
    pub(super) async fn moved(
        &self,
        from: &AbsPath,
        to: &AbsPath,
        hash: ContentHash,
        change: impl Future<Output = Result<(), DiskError>>,
    ) -> Result<(), DiskError> {
        self.files.rename_real(from.clone(), to.clone(), hash).await?;
        let Err(error) = change.await else { return Ok(()) };
        let torn = |reason: String| DiskError::Torn { path: from.clone(), reason };
        let stands = format!("{error}; it stands at {to} by now");
        if may_have_come(&error) {
            return Err(torn(stands));
        }
        match self.files.rename_real(to.clone(), from.clone(), hash).await {
            Ok(()) => Err(error),
            Err(stays) => Err(torn(format!("{stands}: {stays}"))),
        }
    }

    pub(super) async fn restore(&self, relocation: &Relocation) -> Result<(), String> {
        let path = relocation.key.path();
        let Some(target) = &relocation.target else {
            let back = self.files.write_real(path.clone(), relocation.bytes.clone(), Expected::Absent).await;
            return back.map_err(|error| error.to_string());
        };
        let to = target.key.path();
        let ours = ContentHash::of(&target.bytes);
        if target.bytes != relocation.bytes {
            let back = self.files.write_real(to.clone(), relocation.bytes.clone(), Expected::Bytes(ours)).await;
            back.map_err(|error| error.to_string())?;
        }
        let before = ContentHash::of(&relocation.bytes);
        self.files.rename_real(to.clone(), path.clone(), before).await.map_err(|error| error.to_string())
    }

    /// Books what was done, and tells the editor.
    pub(super) async fn relocated(&self, relocations: &[Relocation], label: &str) {
        let mut changes = Vec::new();
        for relocation in relocations {
            let nothing = Rope::new();
            self.book_relocated(&relocation.key, &relocation.before, &nothing, label);
            changes.push(FileChange { path: relocation.key.path().clone(), kind: FileChangeKind::Deleted });
            if let Some(target) = &relocation.target {
                self.book_relocated(&target.key, &nothing, &target.after, label);
                changes.push(FileChange { path: target.key.path().clone(), kind: FileChangeKind::Created });
            }
        }
        if !changes.is_empty() {
            // A buffer whose file is gone stays with the user, as after a command.
            self.editor.files_changed(changes).await;
        }
    }

    fn book_relocated(&self, key: &DocKey, before: &Rope, after: &Rope, label: &str) {
        self.overlay.record(LoggedEdit {
            key: key.clone(),
            author: Author::Agent { label: label.to_owned() },
            version: None,
            edits: EditSet::between(before, after),
        });
    }
}

/// Whether the file holds the text that the editor has, or has saved last. Of what is in another encoding only the editor knows.
fn is_shown(document: &Document, bytes: &[u8]) -> bool {
    match encoding::decode(bytes) {
        Ok((text, _)) => document.text == *text || document.saved == ContentHash::of(text.as_bytes()),
        Err(DecodeError::Unsupported { .. }) => true,
        Err(DecodeError::Binary) => false,
    }
}

impl Relocation {
    pub(super) fn is_deletion(&self) -> bool {
        self.target.is_none()
    }

    /// Under the path where it ends; a deleted file has no text.
    pub(super) fn applied(&self) -> Applied {
        let (path, key, after) = match &self.target {
            Some(target) => (&target.path, &target.key, target.after.clone()),
            None => (&self.path, &self.key, Rope::new()),
        };
        let before = Some(self.before.clone());
        Applied { path: path.clone(), key: key.clone(), before, after, open: None }
    }
}
