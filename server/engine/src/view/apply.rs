//! A batch of file edits: all checked before any is written, open documents first, a late failure takes the rest back (C23).

use bytes::Bytes;
use copydesk_workspace::change_log::{Author, LoggedEdit};
use copydesk_workspace::disk::{DiskError, Expected};
use copydesk_workspace::document::Document;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{TextEncoding, encode_rope, of_new_file};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::held::{Silent, is_asked};
use super::open::{OpenEdit, OpenFailure};
use super::record::{MAY_BE_CHANGED, Recorded, may_have_come};
use super::relocate::Relocation;
use super::revert::Reverted;
use super::through::{Route, Through};
use super::{Applied, FileEdit, Snapshot, Source, View, ViewError};
use crate::ports::encoded;
use crate::tool::{CommitError, ToolError};

/// A checked edit of a file that is not open.
#[derive(Debug, Clone)]
pub(super) struct DiskEdit {
    pub(super) path: AbsPath,
    pub(super) key: DocKey,
    /// `None` for a new file.
    pub(super) before: Option<OnDisk>,
    pub(super) after: Rope,
    /// Those of `after`, as they are written, and their hash.
    pub(super) bytes: Bytes,
    pub(super) hash: ContentHash,
    pub(super) encoding: TextEncoding,
    edits: EditSet,
    pub(super) route: Route,
}

#[derive(Debug, Clone)]
pub(super) struct OnDisk {
    pub(super) text: Rope,
    pub(super) encoding: TextEncoding,
    /// The file's. `None`: the text is the editor's alone.
    pub(super) hash: Option<ContentHash>,
    /// The bytes of `text`, where they were read from the file.
    pub(super) read: Option<Bytes>,
}

impl View {
    /// Applies all of `edits` or none. `label` names the agent in the change log. An edit whose base has moved is not applied:
    /// `BaseMoved`, to be prepared again. From the first write on `cancel` is not looked at: what is begun is brought to its end.
    pub async fn apply(
        &self,
        edits: Vec<FileEdit>,
        label: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<Applied>, CommitError> {
        let keys = self.keys(&edits).await?;
        let _locks = self.overlay.locks.take(keys.into_iter().collect()).await;
        let mut open = Vec::new();
        let mut disk = Vec::new();
        let mut relocations = Vec::new();
        for edit in edits {
            match self.check(edit).await? {
                Checked::Open(edit) => open.push(edit),
                Checked::Disk(edit) => disk.push(Step::Write(edit)),
                Checked::Relocation(relocation) => relocations.push(relocation),
            }
        }
        // What is hardest to take back comes last.
        relocations.sort_by_key(Relocation::is_deletion);
        disk.extend(relocations.iter().cloned().map(Step::Relocate));
        if cancel.is_cancelled() {
            return Err(ToolError::Cancelled.into());
        }
        let recorded = self.record(&open, &disk).await?;
        let applied = match self.apply_open(open, label).await {
            Ok(shown) => shown,
            Err(OpenFailure::Moved(reason)) => {
                recorded.void().await;
                return Err(CommitError::BaseMoved(reason));
            }
            Err(OpenFailure::Refused { reason, shown, may_come }) => {
                let reverted = self.revert(&shown, &[], label).await;
                // What may be shown yet stays recorded, so that an undo finds it.
                if reverted.is_all && !may_come {
                    recorded.void().await;
                }
                return Err(tell(&reason, reverted.states, &disk));
            }
        };
        for index in 0..disk.len() {
            match self.step(&mut disk[index]).await {
                Ok(()) => {}
                Err(failure) => {
                    let (done, rest) = disk.split_at(index);
                    return Err(self.late_failure(failure, &applied, done, rest, label, recorded).await);
                }
            }
        }
        let mut applied: Vec<Applied> = applied.into_iter().map(|shown| shown.applied).collect();
        for step in disk {
            applied.push(match &step {
                Step::Write(edit) => {
                    self.book(edit, label);
                    edit.applied()
                }
                Step::Relocate(relocation) => relocation.applied(),
            });
        }
        self.relocated(&relocations, label).await;
        Ok(applied)
    }

    async fn keys(&self, edits: &[FileEdit]) -> Result<Vec<DocKey>, CommitError> {
        let mut keys = Vec::with_capacity(edits.len());
        for edit in edits {
            let paths = match edit {
                FileEdit::Modify { base, .. } | FileEdit::Delete { base } => vec![&base.path],
                FileEdit::Create { path, .. } => vec![path],
                FileEdit::Move { base, to, .. } => vec![&base.path, to],
                FileEdit::Carry { file, to } => std::iter::once(&file.path).chain(to).collect(),
            };
            for path in paths {
                let key = self.key(path).await.map_err(ToolError::from)?;
                if !self.scope.writes(key.path()) {
                    return Err(ToolError::from(ViewError::NotGranted(path.clone())).into());
                }
                keys.push(key);
            }
        }
        Ok(keys)
    }

    async fn check(&self, edit: FileEdit) -> Result<Checked, CommitError> {
        match edit {
            FileEdit::Modify { base, edits } => self.check_modify(base, edits).await,
            FileEdit::Create { path, text } => self.check_create(path, text).await.map(Checked::Disk),
            FileEdit::Delete { base } => self.check_delete(base).await.map(Checked::Relocation),
            FileEdit::Move { base, to, edits } => self.check_move(base, to, &edits).await.map(Checked::Relocation),
            FileEdit::Carry { file, to } => self.check_carry(file, to).await.map(Checked::Relocation),
        }
    }

    /// Compares with what is there now, cheaply: a large text is neither decoded nor hashed again.
    async fn check_modify(&self, base: Snapshot, edits: EditSet) -> Result<Checked, CommitError> {
        let moved = || CommitError::BaseMoved(format!("{} was changed by somebody else", base.path));
        let key = self.key(&base.path).await.map_err(ToolError::from)?;
        if key != base.key {
            return Err(moved());
        }
        match (self.overlay.get(&key), &base.source) {
            (Some(now), Source::Open { .. }) if now.text == base.text => {
                let Document { uri, version, text, .. } = now;
                Ok(Checked::Open(OpenEdit { path: base.path, key, uri, version, base: text, edits }))
            }
            (None, Source::Disk { encoding, bytes }) => {
                let disk = Some((*encoding, *bytes));
                self.check_on_disk(&base.path, &key, disk, base.read.as_ref()).await?;
                let access = self.editor.texts();
                if access.reads && is_asked(*encoding, &base.text) {
                    match self.held(&base.path, &key).await {
                        Err(Silent) => return Err(silent(&base.path)),
                        Ok(Some(_)) => return Err(moved()),
                        Ok(None) => {}
                    }
                }
                // An editor that only takes texts is asked to take those that it can hold.
                let route = if access.writes && !access.reads && *encoding == TextEncoding::Utf8 {
                    Route::Editor(Through::plainly(key.path().clone()))
                } else {
                    Route::Disk
                };
                disk_edit(base, key, edits, disk, route)
            }
            (None, Source::Held { held, disk, is_unsaved }) => {
                let (held, disk) = (held.clone(), *disk);
                self.check_on_disk(&base.path, &key, disk, base.read.as_ref()).await?;
                match self.held(&base.path, &key).await {
                    Err(Silent) => return Err(silent(&base.path)),
                    Ok(now) if now.as_ref() != Some(&held) => return Err(moved()),
                    Ok(_) => {}
                }
                let route = match self.editor.texts().writes {
                    true => Route::Editor(Through::like(held, &base.text)),
                    // A clean buffer is read again by its editor.
                    false if !is_unsaved => Route::Disk,
                    false => {
                        let text = "has unsaved text in the editor, which can only be changed there. Nothing was changed; ask the user to save it, then read it and repeat the call";
                        return Err(ToolError::Tell(format!("{} {text}", base.path)).into());
                    }
                };
                disk_edit(base, key, edits, disk, route)
            }
            (Some(_), Source::Open { .. } | Source::Disk { .. } | Source::Held { .. })
            | (None, Source::Open { .. }) => Err(moved()),
        }
    }

    async fn check_on_disk(
        &self,
        path: &AbsPath,
        key: &DocKey,
        expected: Option<(TextEncoding, ContentHash)>,
        read: Option<&Bytes>,
    ) -> Result<(), CommitError> {
        let real = key.path().clone();
        let expected = expected.map(|(_, hash)| hash);
        let is_as_it_was = match (read, expected) {
            (Some(read), Some(_)) => self.files.holds_real(real, read.clone()).await,
            (Some(_), None) | (None, _) => self.files.hash_real(real).await.map(|now| Some(now) == expected),
        };
        match is_as_it_was {
            Ok(true) => Ok(()),
            Err(DiskError::NotFound(_)) if expected.is_none() => Ok(()),
            Ok(false) | Err(DiskError::NotFound(_)) => {
                Err(CommitError::BaseMoved(format!("{path} was changed by somebody else")))
            }
            Err(error) => Err(ToolError::Tell(error.to_string()).into()),
        }
    }

    async fn check_create(&self, path: AbsPath, text: String) -> Result<DiskEdit, CommitError> {
        let key = self.key(&path).await.map_err(ToolError::from)?;
        let access = self.editor.texts();
        if self.is_there(&path, &key).await {
            return Err(CommitError::BaseMoved(format!("{path} exists by now")));
        }
        let (text, encoding) = of_new_file(&text);
        let after = Rope::from(text);
        let edits = EditSet::between(&Rope::new(), &after);
        let route = if access.writes && encoding == TextEncoding::Utf8 {
            Route::Editor(Through::plainly(key.path().clone()))
        } else {
            Route::Disk
        };
        let (bytes, hash) = encoded(&after, encoding);
        Ok(DiskEdit { path, key, before: None, after, bytes, hash, encoding, edits, route })
    }

    async fn step(&self, step: &mut Step) -> Result<(), DiskError> {
        match step {
            Step::Write(edit) => self.write(edit).await,
            Step::Relocate(relocation) => self.relocate(relocation).await,
        }
    }

    /// Leaves in `edit` which way it went, and the text afterwards, where that may be another one than was written.
    async fn write(&self, edit: &mut DiskEdit) -> Result<(), DiskError> {
        if self.overlay.get(&edit.key).is_some() {
            return Err(DiskError::Changed(edit.path.clone()));
        }
        if let Route::Editor(through) = &edit.route {
            match self.write_through(edit, through).await {
                Ok(after) => {
                    edit.after = after;
                    return Ok(());
                }
                // The editor may take no files from outside of its project; where there is none, nothing of its can be lost.
                Err(error) if edit.before.is_none() => {
                    tracing::debug!(%error, "a new file is written without the editor");
                    edit.route = if may_have_come(&error) { Route::DiskBeforeEditor } else { Route::Disk };
                }
                Err(error) => return Err(error),
            }
        }
        let written = self.files.write_real(edit.key.path().clone(), edit.bytes.clone(), edit.expected()).await;
        match (written, &edit.route) {
            (Ok(()), _) => {
                if edit.encoding == TextEncoding::Utf8 {
                    self.large.keep(&edit.bytes, edit.hash, &edit.after);
                }
                Ok(())
            }
            (Err(error), Route::DiskBeforeEditor) => {
                Err(DiskError::Torn { path: edit.path.clone(), reason: error.to_string() })
            }
            (Err(error), Route::Disk | Route::Editor(_)) => Err(error),
        }
    }

    async fn late_failure(
        &self,
        error: DiskError,
        shown: &[super::open::Shown],
        done: &[Step],
        rest: &[Step],
        label: &str,
        recorded: Recorded<'_>,
    ) -> CommitError {
        let may_come = may_have_come(&error);
        let moved = matches!(error, DiskError::Changed(_) | DiskError::Exists(_));
        if moved && shown.is_empty() && done.is_empty() {
            recorded.void().await;
            return CommitError::BaseMoved(error.to_string());
        }
        let Reverted { mut states, is_all } = self.revert(shown, done, label).await;
        // As of an open document: an undo finds it.
        if is_all && !may_come {
            recorded.void().await;
        }
        let untouched = match rest {
            [failed, untouched @ ..] if may_come => {
                states.push(format!("{}: {MAY_BE_CHANGED}", failed.path()));
                untouched
            }
            _ => rest,
        };
        tell(&error.to_string(), states, untouched)
    }

    fn book(&self, edit: &DiskEdit, label: &str) {
        self.overlay.record(LoggedEdit {
            key: edit.key.clone(),
            author: Author::Agent { label: label.to_owned() },
            version: None,
            edits: edit.edits.clone(),
        });
    }
}

/// `disk`: how the base stands on the disk, `None` where it does not.
fn disk_edit(
    base: Snapshot,
    key: DocKey,
    edits: EditSet,
    disk: Option<(TextEncoding, ContentHash)>,
    route: Route,
) -> Result<Checked, CommitError> {
    let after = edits.apply(&base.text).map_err(|error| ToolError::Tell(error.to_string()))?;
    let (encoding, hash) = disk.map_or((TextEncoding::Utf8, None), |(encoding, hash)| (encoding, Some(hash)));
    let before = Some(OnDisk { text: base.text, encoding, hash, read: base.read });
    let (bytes, hash) = encoded(&after, encoding);
    Ok(Checked::Disk(DiskEdit { path: base.path, key, before, after, bytes, hash, encoding, edits, route }))
}

/// Nothing is written where there may be unsaved text.
pub(super) fn silent(path: &AbsPath) -> CommitError {
    let text = "the editor does not answer whether it has unsaved text of it. Nothing was changed; try again, and ask the user to look at the editor if it goes on";
    ToolError::Tell(format!("{path}: {text}")).into()
}

enum Checked {
    Open(OpenEdit),
    Disk(DiskEdit),
    Relocation(Relocation),
}

/// One change of the disk.
pub(super) enum Step {
    Write(DiskEdit),
    Relocate(Relocation),
}

impl Step {
    pub(super) fn path(&self) -> &AbsPath {
        match self {
            Self::Write(edit) => &edit.path,
            Self::Relocate(relocation) => &relocation.path,
        }
    }
}

impl OnDisk {
    /// Those of `text` as the file stores it: byte for byte what was read.
    pub(super) fn bytes(&self) -> Bytes {
        self.read.clone().unwrap_or_else(|| encode_rope(&self.text, self.encoding).into())
    }
}

impl DiskEdit {
    fn expected(&self) -> Expected {
        match &self.before {
            Some(OnDisk { hash: Some(_), read: Some(read), .. }) => Expected::Exactly(read.clone()),
            Some(OnDisk { hash: Some(hash), read: None, .. }) => Expected::Bytes(*hash),
            Some(OnDisk { hash: None, .. }) | None => Expected::Absent,
        }
    }

    fn applied(&self) -> Applied {
        Applied {
            path: self.path.clone(),
            key: self.key.clone(),
            before: self.before.as_ref().map(|before| before.text.clone()),
            after: self.after.clone(),
            open: None,
        }
    }
}

fn tell(reason: &str, mut states: Vec<String>, untouched: &[Step]) -> CommitError {
    states.extend(untouched.iter().map(|step| format!("{}: unchanged", step.path())));
    let states = if states.is_empty() { String::new() } else { format!("\n{}", states.join("\n")) };
    ToolError::Tell(format!("{reason}. Nothing of this call stays in force unless it is listed as such; read the file before the next try.{states}"))
        .into()
}
