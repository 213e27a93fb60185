//! Text as the agent sees it, and the one way to change it: open documents over the disk (R6.1), edits through the editor or an atomic write (R6.2).

mod apply;
mod held;
mod known;
mod large;
mod locks;
mod open;
mod record;
mod relocate;
mod revert;
mod rewrite;
mod scope;
mod through;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use copydesk_workspace::change_log::Author;
use copydesk_workspace::disk::{DirEntry, DiskError, FileKind, Stat};
use copydesk_workspace::document::Document;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{self, DecodeError, TextEncoding};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use ropey::Rope;

use crate::ids::SessionId;
use crate::overlay::Overlay;
use crate::ports::{Editor, Files};
use crate::tool::ToolError;
use crate::undo::{Recorder, UNDO};

pub use held::Held;
pub(crate) use held::KnownTexts;
pub use known::KnownFiles;
pub(crate) use known::is_fresh;
use large::Kept;
pub(crate) use large::LargeText;
pub(crate) use locks::Locks;
pub(crate) use rewrite::{FileBytes, Rewrite};
pub(crate) use scope::{Granted, Scope};

/// Files above this are no text that a model works on as a whole, bytes.
pub const LARGEST_TEXT: u64 = 64 << 20;

/// What is looked at before a file is loaded, bytes.
const HEAD: usize = 8 << 10;

/// Narrowed to what a call was granted.
#[derive(Clone)]
pub struct View {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) editor: Arc<dyn Editor>,
    pub(crate) overlay: Arc<Overlay>,
    /// In whose name the editor is asked.
    session: SessionId,
    scope: Arc<Scope>,
    large: Arc<LargeText>,
    /// Told of each edit before it is made; `None`: nobody is.
    recorder: Option<Recorder>,
}

/// The text of a file at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub path: AbsPath,
    pub key: DocKey,
    pub text: Rope,
    pub hash: ContentHash,
    pub source: Source,
    /// The bytes of the file, where these are the text in UTF-8 and nothing else.
    pub(crate) read: Option<Bytes>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Open {
        uri: String,
        version: i32,
    },
    Disk {
        encoding: TextEncoding,
        bytes: ContentHash,
    },
    /// The editor was asked for its text. `disk` is the file's state, `None` where there is no file; `is_unsaved` where the snapshot is the editor's text and
    /// not the file's.
    Held {
        held: Held,
        disk: Option<(TextEncoding, ContentHash)>,
        is_unsaved: bool,
    },
}

impl Snapshot {
    /// The text in one piece, copied only where it was not read so.
    pub fn joined(&self) -> Cow<'_, str> {
        let read = self.read.as_deref().and_then(|read| std::str::from_utf8(read).ok());
        read.map_or_else(|| Cow::from(&self.text), Cow::Borrowed)
    }

    /// URI and version, where the document is open.
    pub fn open(&self) -> Option<(String, i32)> {
        match &self.source {
            Source::Open { uri, version } => Some((uri.clone(), *version)),
            Source::Disk { .. } | Source::Held { .. } => None,
        }
    }

    /// Whether it is the editor's text, saved or not.
    pub fn is_editors(&self) -> bool {
        match self.source {
            Source::Open { .. } => true,
            Source::Held { is_unsaved, .. } => is_unsaved,
            Source::Disk { .. } => false,
        }
    }
}

/// A prepared change of one file.
#[derive(Debug, Clone)]
pub enum FileEdit {
    Modify {
        base: Snapshot,
        edits: EditSet,
    },
    Create {
        path: AbsPath,
        text: String,
    },
    Delete {
        base: Snapshot,
    },
    /// `edits` are of the text, which may change on the way.
    Move {
        base: Snapshot,
        to: AbsPath,
        edits: EditSet,
    },
    /// Of what is no text: deleted, or with `to` moved byte for byte.
    Carry {
        file: RawFile,
        to: Option<AbsPath>,
    },
}

/// A file that is no text at one moment.
#[derive(Debug, Clone)]
pub struct RawFile {
    pub path: AbsPath,
    pub key: DocKey,
    /// Bytes.
    pub len: u64,
    pub(crate) hash: ContentHash,
}

/// What an applied edit came to.
#[derive(Debug, Clone)]
pub struct Applied {
    pub path: AbsPath,
    pub key: DocKey,
    pub before: Option<Rope>,
    /// With what the user typed meanwhile.
    pub after: Rope,
    pub open: Option<(String, i32)>,
}

/// Each text says what to do next; it is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("{path} cannot be read as text: {error}")]
    Text { path: AbsPath, error: DecodeError },
    #[error(
        "{path} has {len} bytes, more than the {LARGEST_TEXT} that are read as text; use bash with `sed -n`, `grep` or `tail` for a part of it"
    )]
    TooLarge { path: AbsPath, len: u64 },
    #[error("this call was not granted access to {0}; name the path itself in a call of its own")]
    NotGranted(AbsPath),
}

impl From<ViewError> for ToolError {
    fn from(error: ViewError) -> Self {
        ToolError::Tell(error.to_string())
    }
}

impl View {
    /// Of everything; `narrowed` takes away.
    pub fn new(files: Arc<dyn Files>, editor: Arc<dyn Editor>, overlay: Arc<Overlay>, session: SessionId) -> Self {
        Self { files, editor, overlay, session, scope: Arc::new(Scope::All), large: Arc::default(), recorder: None }
    }

    pub(crate) fn recorded(&self, recorder: Recorder) -> Self {
        Self { recorder: Some(recorder), ..self.clone() }
    }

    /// With the large text of the turn.
    pub(crate) fn with_large(self, large: Arc<LargeText>) -> Self {
        Self { large, ..self }
    }

    /// For what is changed past the view.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    pub(crate) fn narrowed(&self, scope: Scope) -> Self {
        Self { scope: Arc::new(scope), ..self.clone() }
    }

    /// The editor's text where the document is open or the editor has unsaved text of it, else the file's.
    pub async fn snapshot(&self, path: &AbsPath) -> Result<Snapshot, ViewError> {
        let key = self.key(path).await?;
        match self.overlay.get(&key) {
            Some(document) => Ok(of_document(path, document)),
            None => self.of_editor_or_disk(path, key).await,
        }
    }

    /// The open document of a path, however the path is spelled.
    pub async fn document(&self, path: &AbsPath) -> Result<Option<Document>, ViewError> {
        Ok(self.overlay.get(&self.key(path).await?))
    }

    /// By its real path.
    pub(crate) fn is_open(&self, real: &AbsPath) -> bool {
        self.overlay.get(&DocKey::from_real_path(real.clone())).is_some()
    }

    /// Links resolved, and granted.
    pub async fn real_path(&self, path: &AbsPath) -> Result<AbsPath, ViewError> {
        Ok(self.key(path).await?.path().clone())
    }

    pub async fn stat(&self, path: &AbsPath) -> Result<Stat, ViewError> {
        Ok(self.files.stat(self.real_path(path).await?).await?)
    }

    pub async fn list(&self, folder: &AbsPath) -> Result<Vec<DirEntry>, ViewError> {
        Ok(self.files.list_real(self.real_path(folder).await?).await?)
    }

    /// The bytes of a file, whatever the editor has of it: of what is no text, there is nothing else.
    pub async fn bytes(&self, path: &AbsPath) -> Result<Vec<u8>, ViewError> {
        Ok(self.files.read_real(self.real_path(path).await?).await?)
    }

    /// A file of which nothing is known but its bytes.
    pub(crate) async fn raw(&self, path: &AbsPath) -> Result<RawFile, ViewError> {
        let key = self.key(path).await?;
        let len = self.files.stat(key.path().clone()).await?.len;
        let hash = self.files.hash_real(key.path().clone()).await?;
        Ok(RawFile { path: path.clone(), key, len, hash })
    }

    /// Whether a granted path is itself the name of a link, as against one that leads through links to a file.
    pub(crate) async fn is_link(&self, path: &AbsPath) -> Result<bool, ViewError> {
        let real = self.real_path(path).await?;
        let (Some(folder), Some(name)) = (path.parent(), path.as_path().file_name()) else { return Ok(false) };
        Ok(self.files.real_path(folder).await?.join(name) != real)
    }

    /// Its first bytes, `len` at most.
    pub async fn head(&self, path: &AbsPath, len: usize) -> Result<Vec<u8>, ViewError> {
        self.range(path, 0, len).await
    }

    /// Its bytes from `offset` on, `len` at most.
    pub async fn range(&self, path: &AbsPath, offset: u64, len: usize) -> Result<Vec<u8>, ViewError> {
        Ok(self.files.read_range_real(self.real_path(path).await?, offset, len).await?)
    }

    /// The names beside a granted path: for the suggestions of a missing file.
    pub async fn neighbours(&self, path: &AbsPath) -> Result<Vec<DirEntry>, ViewError> {
        let real = self.real_path(path).await?;
        let folder = real.parent().ok_or_else(|| ViewError::NotGranted(path.clone()))?;
        Ok(self.files.list_real(folder).await?)
    }

    /// Of any path, granted or not: for suggestions too.
    pub(crate) async fn is_there_at_all(&self, path: &AbsPath) -> bool {
        self.files.stat(path.clone()).await.is_ok()
    }

    /// The other session of this client whose edit of the file is its latest (R6.5). What other processes do is not known here.
    pub(crate) fn other_writer(&self, key: &DocKey) -> Option<String> {
        self.overlay.with_log(|log| match &log.of(key).last()?.author {
            Author::Agent { label } => {
                let session = label.split(' ').next().filter(|session| *session != UNDO)?;
                (session != self.session.as_str()).then(|| session.to_owned())
            }
            Author::User => None,
        })
    }

    async fn key(&self, path: &AbsPath) -> Result<DocKey, ViewError> {
        let real = self.files.real_path(path.clone()).await?;
        if self.scope.reads(&real) {
            Ok(DocKey::from_real_path(real))
        } else {
            Err(ViewError::NotGranted(path.clone()))
        }
    }

    async fn of_disk(&self, path: &AbsPath, key: DocKey) -> Result<Snapshot, ViewError> {
        let real = key.path();
        let stat = self.files.stat(real.clone()).await?;
        match stat.kind {
            FileKind::File => {}
            FileKind::Directory => return Err(DiskError::IsDirectory(path.clone()).into()),
            FileKind::Other => {
                let reason = "it is a device, a socket or a pipe".to_owned();
                return Err(DiskError::Other { path: path.clone(), reason }.into());
            }
        }
        if let Some(Kept { bytes, hash, text }) = self.large.of_length(stat.len)
            && self.files.holds_real(real.clone(), bytes.clone()).await?
        {
            let source = Source::Disk { encoding: TextEncoding::Utf8, bytes: hash };
            return Ok(Snapshot { path: path.clone(), key, text, hash, source, read: Some(bytes) });
        }
        let as_text = |error| ViewError::Text { path: path.clone(), error };
        encoding::sniff(&self.files.read_range_real(real.clone(), 0, HEAD).await?).map_err(as_text)?;
        if stat.len > LARGEST_TEXT {
            return Err(ViewError::TooLarge { path: path.clone(), len: stat.len });
        }
        let bytes = Bytes::from(self.files.read_real(real.clone()).await?);
        let (text, encoding) = encoding::decode(&bytes).map_err(as_text)?;
        let hash = ContentHash::of(text.as_bytes());
        let is_plain = encoding == TextEncoding::Utf8;
        let source = Source::Disk { encoding, bytes: if is_plain { hash } else { ContentHash::of(&bytes) } };
        let text = Rope::from(text);
        if is_plain {
            self.large.keep(&bytes, hash, &text);
        }
        Ok(Snapshot { path: path.clone(), key, text, hash, source, read: is_plain.then_some(bytes) })
    }
}

fn of_document(path: &AbsPath, document: Document) -> Snapshot {
    let hash = document.hash();
    let source = Source::Open { uri: document.uri, version: document.version };
    Snapshot { path: path.clone(), key: document.key, text: document.text, hash, source, read: None }
}

#[cfg(test)]
#[path = "view_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;

#[cfg(test)]
#[path = "view_held_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod held_tests;
