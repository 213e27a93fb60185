//! An editor that edits its documents as real ones do, and takes whole texts where the test says so.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use copydesk_workspace::disk::{Disk, MemoryDisk};
use copydesk_workspace::document::ContentChange;
use copydesk_workspace::path::{AbsPath, DocKey};
use copydesk_workspace::position::{PositionEncoding, position_of};
use tokio::sync::oneshot;

use super::{lock, path};
use crate::ids::SessionId;
use crate::overlay::Overlay;
use crate::ports::{
    ApplyRequest, BoxFuture, Editor, EditorError, FileChange, FileChangeKind, FreeEdits, ReloadReport, TextAccess,
    Unsaved,
};

/// What the editor does with the next edit.
pub(crate) enum Act {
    Refuse,
    /// Has no means to edit.
    Lack,
    /// Says yes and does nothing.
    Lie,
    /// Somebody types first, and the version no longer fits.
    TypeAndRefuse(Typing),
    /// Applies, and somebody types before the change is told.
    ApplyAndType(Typing),
    /// Applies, and does something else of its own.
    ApplyAnd(Box<dyn FnOnce() + Send>),
    /// Says that it was asked, and applies once it is told to.
    ApplyOnce {
        asked: oneshot::Sender<()>,
        told: oneshot::Receiver<()>,
    },
}

/// What an editor that tells of no documents does with the text of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taking {
    /// Into the buffer, if there is one, and the file.
    Saves,
    /// Into the buffer alone.
    Keeps,
    Refuses,
    /// Has no means to write.
    Lacks,
    /// Says nothing, and does nothing yet.
    Waits,
    /// Says yes and does nothing.
    Lies,
    /// Saves it with this text in front.
    Formats(&'static str),
}

/// Inserts a text at a byte of a file's document.
#[derive(Debug, Clone)]
pub(crate) struct Typing {
    pub(crate) at: usize,
    pub(crate) text: &'static str,
}

pub(crate) struct BenchEditor {
    overlay: Arc<Overlay>,
    disk: Arc<MemoryDisk>,
    pub(crate) free: Mutex<FreeEdits>,
    acts: Mutex<VecDeque<Act>>,
    requests: Mutex<Vec<ApplyRequest>>,
    saves: Mutex<Vec<String>>,
    told: Mutex<Vec<FileChange>>,
    pub(crate) texts: Mutex<TextAccess>,
    /// Buffers of files that it tells nobody of; what has none is read from the disk.
    buffers: Mutex<BTreeMap<AbsPath, String>>,
    taking: Mutex<Taking>,
    written: Mutex<Vec<(AbsPath, String)>>,
    is_silent: Mutex<bool>,
}

impl BenchEditor {
    pub(crate) fn new(overlay: &Arc<Overlay>, disk: &Arc<MemoryDisk>) -> Self {
        Self {
            overlay: overlay.clone(),
            disk: disk.clone(),
            free: Mutex::new(FreeEdits { shown: true, undoable: false }),
            acts: Mutex::default(),
            requests: Mutex::default(),
            saves: Mutex::default(),
            told: Mutex::default(),
            texts: Mutex::default(),
            buffers: Mutex::default(),
            taking: Mutex::new(Taking::Saves),
            written: Mutex::default(),
            is_silent: Mutex::default(),
        }
    }

    pub(crate) fn will(&self, act: Act) {
        lock(&self.acts).push_back(act);
    }

    pub(crate) fn requests(&self) -> Vec<ApplyRequest> {
        lock(&self.requests).clone()
    }

    pub(crate) fn saves(&self) -> Vec<String> {
        lock(&self.saves).clone()
    }

    pub(crate) fn told(&self) -> Vec<FileChange> {
        lock(&self.told).clone()
    }

    /// It is asked for texts, and takes them like this.
    pub(crate) fn serves_texts(&self, access: TextAccess, taking: Taking) {
        *lock(&self.texts) = access;
        *lock(&self.taking) = taking;
    }

    pub(crate) fn put_buffer(&self, file: &str, text: &str) {
        lock(&self.buffers).insert(path(file), text.to_owned());
    }

    pub(crate) fn held_text(&self, file: &str) -> Option<String> {
        lock(&self.buffers).get(&path(file)).cloned()
    }

    /// It does not answer when it is asked for a text, or does again.
    pub(crate) fn is_silent(&self, is_silent: bool) {
        *lock(&self.is_silent) = is_silent;
    }

    /// Texts that it was given.
    pub(crate) fn written(&self) -> Vec<(AbsPath, String)> {
        lock(&self.written).clone()
    }

    fn take(&self, file: &AbsPath, text: String) -> Result<(), EditorError> {
        lock(&self.written).push((file.clone(), text.clone()));
        let taking = *lock(&self.taking);
        let text = match taking {
            Taking::Refuses => return Err(EditorError::Refused { reason: Some("not mine".to_owned()) }),
            Taking::Lacks => return Err(EditorError::Unsupported),
            Taking::Waits => return Err(EditorError::Gone),
            Taking::Lies => return Ok(()),
            Taking::Saves | Taking::Keeps => text,
            Taking::Formats(front) => format!("{front}{text}"),
        };
        if let Some(buffer) = lock(&self.buffers).get_mut(file) {
            *buffer = text.clone();
        }
        if taking != Taking::Keeps {
            self.disk.put(file, text);
        }
        Ok(())
    }

    /// The user types.
    pub(crate) fn types(&self, uri: &str, typing: &Typing) {
        let document = self.overlay.by_uri(uri).unwrap();
        let at = position_of(&document.text, typing.at, PositionEncoding::Utf16);
        let change = ContentChange { range: Some((at, at)), text: typing.text.to_owned() };
        self.overlay.change(uri, document.version + 1, &[change], PositionEncoding::Utf16).unwrap();
    }

    fn applies(&self, request: &ApplyRequest, typing: Option<&Typing>) -> Result<(), EditorError> {
        for edit in &request.documents {
            let document = self.overlay.by_uri(&edit.uri).unwrap();
            if document.version != edit.version {
                return Err(EditorError::Refused { reason: Some("outdated".to_owned()) });
            }
        }
        for edit in &request.documents {
            let at = |offset| position_of(&edit.base, offset, PositionEncoding::Utf16);
            let mut changes: Vec<ContentChange> = edit
                .edits
                .edits()
                .iter()
                .rev()
                .map(|edit| ContentChange {
                    range: Some((at(edit.range.start), at(edit.range.end))),
                    text: edit.text.clone(),
                })
                .collect();
            if let Some(typing) = typing {
                let after = edit.edits.apply(&edit.base).unwrap();
                let at = position_of(&after, typing.at, PositionEncoding::Utf16);
                changes.push(ContentChange { range: Some((at, at)), text: typing.text.to_owned() });
            }
            self.overlay.change(&edit.uri, edit.version + 1, &changes, PositionEncoding::Utf16).unwrap();
        }
        Ok(())
    }
}

impl Editor for BenchEditor {
    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, Result<(), EditorError>> {
        Box::pin(async move {
            lock(&self.requests).push(request.clone());
            let act = lock(&self.acts).pop_front();
            let refused = Err(EditorError::Refused { reason: Some("not now".to_owned()) });
            match act {
                None => self.applies(&request, None),
                Some(Act::Refuse) => refused,
                Some(Act::Lack) => Err(EditorError::Unsupported),
                Some(Act::Lie) => Ok(()),
                Some(Act::TypeAndRefuse(typing)) => {
                    self.types(&request.documents[0].uri, &typing);
                    refused
                }
                Some(Act::ApplyAndType(typing)) => self.applies(&request, Some(&typing)),
                Some(Act::ApplyOnce { asked, told }) => {
                    asked.send(()).unwrap();
                    told.await.unwrap();
                    self.applies(&request, None)
                }
                Some(Act::ApplyAnd(act)) => self.applies(&request, None).inspect(|()| act()),
            }
        })
    }

    fn save(&self, uris: Vec<String>) -> BoxFuture<'_, Vec<Unsaved>> {
        Box::pin(async move {
            for uri in &uris {
                let document = self.overlay.by_uri(uri).unwrap();
                self.disk.put(&document.path, document.text.to_string());
                self.overlay.saved(uri).unwrap();
            }
            lock(&self.saves).extend(uris);
            Vec::new()
        })
    }

    fn files_changed(&self, changes: Vec<FileChange>) -> BoxFuture<'_, ReloadReport> {
        Box::pin(async move {
            let mut report = ReloadReport::default();
            for change in &changes {
                let Some(document) = self.overlay.get(&DocKey::from_real_path(change.path.clone())) else { continue };
                if document.is_dirty() || change.kind == FileChangeKind::Deleted {
                    report.conflicts.push(document.uri);
                    continue;
                }
                let text = String::from_utf8(self.disk.read(&change.path).unwrap()).unwrap();
                let whole = ContentChange { range: None, text };
                let version = document.version + 1;
                self.overlay.change(&document.uri, version, &[whole], PositionEncoding::Utf16).unwrap();
                report.reloaded.push(document.uri);
            }
            lock(&self.told).extend(changes);
            report
        })
    }

    fn texts(&self) -> TextAccess {
        *lock(&self.texts)
    }

    fn read_text(&self, _: &SessionId, path: &AbsPath) -> BoxFuture<'_, Result<String, EditorError>> {
        if *lock(&self.is_silent) {
            return Box::pin(async { Err(EditorError::Gone) });
        }
        let held = lock(&self.buffers).get(path).cloned();
        let text = held.or_else(|| String::from_utf8(self.disk.read(path).ok()?).ok());
        Box::pin(async move { text.ok_or(EditorError::Refused { reason: Some("no such file".to_owned()) }) })
    }

    fn write_text(&self, _: &SessionId, path: &AbsPath, text: String) -> BoxFuture<'_, Result<(), EditorError>> {
        let taken = self.take(path, text);
        Box::pin(async move { taken })
    }

    fn free_edits(&self) -> FreeEdits {
        *lock(&self.free)
    }
}
