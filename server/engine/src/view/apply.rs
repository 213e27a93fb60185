//! A batch of file edits: all checked before any is written, open documents first, a late failure takes the rest back (C23).

use copydesk_workspace::change_log::{Author, LoggedEdit};
use copydesk_workspace::disk::{DiskError, Expected};
use copydesk_workspace::document::Document;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{TextEncoding, encode, of_new_file};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::open::{OpenEdit, OpenFailure};
use super::{Applied, FileEdit, Snapshot, Source, View, ViewError};
use crate::tool::{CommitError, ToolError};

/// A checked edit of a file that is not open.
#[derive(Debug, Clone)]
pub(super) struct DiskEdit {
    pub(super) path: AbsPath,
    pub(super) key: DocKey,
    /// `None` for a new file.
    pub(super) before: Option<OnDisk>,
    after: Rope,
    pub(super) bytes: Vec<u8>,
    edits: EditSet,
}

#[derive(Debug, Clone)]
pub(super) struct OnDisk {
    pub(super) text: Rope,
    pub(super) encoding: TextEncoding,
    bytes: ContentHash,
}

impl View {
    /// Applies all of `edits` or none. `label` names the undo step, and the agent in the change log. An edit whose base has moved is not applied:
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
        for edit in edits {
            match self.check(edit).await? {
                Checked::Open(edit) => open.push(edit),
                Checked::Disk(edit) => disk.push(edit),
            }
        }
        if cancel.is_cancelled() {
            return Err(ToolError::Cancelled.into());
        }
        let mut applied = match self.apply_open(open, label).await {
            Ok(shown) => shown,
            Err(OpenFailure::Moved(reason)) => return Err(CommitError::BaseMoved(reason)),
            Err(OpenFailure::Refused { reason, shown }) => {
                let states = self.revert(&shown, &[], label).await;
                return Err(tell(&reason, &states, &disk));
            }
        };
        for (index, edit) in disk.iter().enumerate() {
            if let Err(error) = self.write(edit).await {
                let (done, rest) = disk.split_at(index);
                return Err(self.late_failure(error, &applied, done, rest, label).await);
            }
        }
        for edit in disk {
            self.book(&edit, label);
            applied.push(super::open::Shown::of_disk(edit.applied(), edit.edits));
        }
        Ok(applied.into_iter().map(|shown| shown.applied).collect())
    }

    async fn keys(&self, edits: &[FileEdit]) -> Result<Vec<DocKey>, CommitError> {
        let mut keys = Vec::with_capacity(edits.len());
        for edit in edits {
            let path = match edit {
                FileEdit::Modify { base, .. } => &base.path,
                FileEdit::Create { path, .. } => path,
            };
            let key = self.key(path).await.map_err(ToolError::from)?;
            if !self.scope.writes(key.path()) {
                return Err(ToolError::from(ViewError::NotGranted(path.clone())).into());
            }
            keys.push(key);
        }
        Ok(keys)
    }

    async fn check(&self, edit: FileEdit) -> Result<Checked, CommitError> {
        match edit {
            FileEdit::Modify { base, edits } => self.check_modify(base, edits).await,
            FileEdit::Create { path, text } => self.check_create(path, text).await.map(Checked::Disk),
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
                let (encoding, bytes) = (*encoding, *bytes);
                match self.files.read(key.path().clone()).await {
                    Ok(now) if ContentHash::of(&now) == bytes => {}
                    Ok(_) | Err(DiskError::NotFound(_)) => return Err(moved()),
                    Err(error) => return Err(ToolError::Tell(error.to_string()).into()),
                }
                let after = edits.apply(&base.text).map_err(|error| ToolError::Tell(error.to_string()))?;
                let new = encode(&after.to_string(), encoding);
                let before = Some(OnDisk { text: base.text, encoding, bytes });
                Ok(Checked::Disk(DiskEdit { path: base.path, key, before, after, bytes: new, edits }))
            }
            (Some(_), Source::Open { .. } | Source::Disk { .. }) | (None, Source::Open { .. }) => Err(moved()),
        }
    }

    async fn check_create(&self, path: AbsPath, text: String) -> Result<DiskEdit, CommitError> {
        let key = self.key(&path).await.map_err(ToolError::from)?;
        let exists = self.overlay.get(&key).is_some() || self.files.stat(key.path().clone()).await.is_ok();
        if exists {
            return Err(CommitError::BaseMoved(format!("{path} exists by now")));
        }
        let (text, encoding) = of_new_file(&text);
        let after = Rope::from(text);
        let edits = EditSet::between(&Rope::new(), &after);
        Ok(DiskEdit { path, key, before: None, after, bytes: encode(text, encoding), edits })
    }

    async fn write(&self, edit: &DiskEdit) -> Result<(), DiskError> {
        if self.overlay.get(&edit.key).is_some() {
            return Err(DiskError::Changed(edit.path.clone()));
        }
        self.files.write_real(edit.key.path().clone(), edit.bytes.clone(), edit.expected()).await
    }

    async fn late_failure(
        &self,
        error: DiskError,
        shown: &[super::open::Shown],
        done: &[DiskEdit],
        rest: &[DiskEdit],
        label: &str,
    ) -> CommitError {
        let moved = matches!(error, DiskError::Changed(_) | DiskError::Exists(_));
        if moved && shown.is_empty() && done.is_empty() {
            return CommitError::BaseMoved(error.to_string());
        }
        let states = self.revert(shown, done, label).await;
        tell(&error.to_string(), &states, rest)
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

enum Checked {
    Open(OpenEdit),
    Disk(DiskEdit),
}

impl DiskEdit {
    fn expected(&self) -> Expected {
        match &self.before {
            Some(before) => Expected::Bytes(before.bytes),
            None => Expected::Absent,
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

fn tell(reason: &str, states: &[String], untouched: &[DiskEdit]) -> CommitError {
    let untouched = untouched.iter().map(|edit| format!("{}: unchanged", edit.path));
    let states: Vec<String> = states.iter().cloned().chain(untouched).collect();
    let states = if states.is_empty() { String::new() } else { format!("\n{}", states.join("\n")) };
    ToolError::Tell(format!("{reason}. Nothing of this call stays in force unless it is listed as such; read the file before the next try.{states}"))
        .into()
}
