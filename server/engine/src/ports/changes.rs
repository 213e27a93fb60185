//! What the agent has changed, on the disk: one row for each edit of a file, and the contents before and after it. What undo and review stand on.

use bytes::Bytes;
use copydesk_workspace::encoding::{self, TextEncoding};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::review::HunkId;
use ropey::Rope;
use serde::{Deserialize, Serialize};

use super::{BoxFuture, StoreError};
use crate::ids::{CallId, MessageId, Millis, SessionId};
use crate::view::LARGEST_TEXT;

/// Files that are no text and are larger than this are not kept, bytes.
pub const LARGEST_BINARY: u64 = 8 << 20;

/// Stands beside `Store`, under the same leases.
pub trait Changes: Send + Sync {
    /// All of them or none, written when this resolves: safe from a crash of the daemon. Ids ascend within a session and are never given twice.
    ///
    /// `most_kept` bytes are kept over all sessions: beyond it the contents of the oldest turns are let go, each turn's at once, but never those of the turn
    /// that is recorded here, nor those of the newest turn of a session that some daemon has open. `StoreError::Elsewhere` without the session's lease.
    fn record(
        &self,
        session: SessionId,
        changes: Vec<NewChange>,
        most_kept: u64,
    ) -> BoxFuture<'_, Result<Vec<ChangeId>, StoreError>>;

    /// Takes back rows of changes that were not done after all.
    fn void(&self, session: SessionId, changes: Vec<ChangeId>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// In the order in which they were recorded. A row that cannot be read is left out, with a warning in the log.
    fn list(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Change>, StoreError>>;

    /// `None` where it was never kept, was let go, or is damaged.
    fn content(&self, session: SessionId, hash: ContentHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;
}

/// The number of a change in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChangeId(pub i64);

/// Who changed a file, and to what end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum By {
    /// The agent, by a tool that edits.
    Agent,
    /// A command that the agent ran; found around it.
    Command,
    /// The user had `of` taken back; where these are an undo's own, put back. Before and after are equal where nothing of them could be.
    Undo { of: Vec<ChangeId> },
    /// The user accepted hunks of the file. Before and after are the text that they stood in, and equal.
    Accept { hunks: Vec<HunkId> },
    /// The user rejected hunks of the file.
    Reject { hunks: Vec<HunkId> },
}

/// One edit of one file, of its author alone: what the user typed meanwhile is in neither content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChange {
    /// The first prompt of the turn; of what the user does between turns, an id of its own.
    pub turn: MessageId,
    pub call: Option<CallId>,
    pub at: Millis,
    pub by: By,
    /// The real path of the file, before a move.
    pub path: AbsPath,
    /// Where it stands afterwards, where that is another path; real too.
    pub moved_to: Option<AbsPath>,
    /// The topmost folder that was made for the file.
    pub made_folder: Option<AbsPath>,
    /// `None`: there was no file.
    pub before: Option<NewContent>,
    /// `None`: there is no file.
    pub after: Option<NewContent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewContent {
    /// Of the bytes.
    pub hash: ContentHash,
    /// Bytes.
    pub len: u64,
    /// `None` where they are too many to be kept.
    pub bytes: Option<Bytes>,
    /// How the bytes are text; `None` where they are none. A document of the editor is its text in UTF-8, however its file stores it.
    pub encoding: Option<TextEncoding>,
    /// Permission bits of the file, where they are known.
    pub mode: Option<u32>,
}

impl NewContent {
    pub fn new(bytes: impl Into<Bytes>, mode: Option<u32>) -> Self {
        let bytes = bytes.into();
        let encoding = match bytes.len() as u64 {
            ..=LARGEST_TEXT => encoding::decode(&bytes).ok().map(|(_, encoding)| encoding),
            _ => None,
        };
        let hash = ContentHash::of(&bytes);
        Self::decoded(bytes, hash, encoding, mode)
    }

    /// Of a text, by what its bytes are known to be.
    pub fn of_text(text: &Rope, encoding: TextEncoding, mode: Option<u32>) -> Self {
        let (bytes, hash) = encoded(text, encoding);
        Self::hashed(bytes, hash, encoding, mode)
    }

    /// Of a text that is encoded already; `hash` is that of `bytes`.
    pub fn hashed(bytes: Bytes, hash: ContentHash, encoding: TextEncoding, mode: Option<u32>) -> Self {
        Self::decoded(bytes, hash, Some(encoding), mode)
    }

    fn decoded(bytes: Bytes, hash: ContentHash, encoding: Option<TextEncoding>, mode: Option<u32>) -> Self {
        let len = bytes.len() as u64;
        let encoding = encoding.filter(|_| len <= LARGEST_TEXT);
        let most = if encoding.is_some() { LARGEST_TEXT } else { LARGEST_BINARY };
        Self { hash, len, bytes: (len <= most).then_some(bytes), encoding, mode }
    }
}

/// The bytes of a text, and their hash.
pub(crate) fn encoded(text: &Rope, encoding: TextEncoding) -> (Bytes, ContentHash) {
    let bytes = Bytes::from(encoding::encode_rope(text, encoding));
    let hash = ContentHash::of(&bytes);
    (bytes, hash)
}

/// A stored change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub id: ChangeId,
    pub turn: MessageId,
    pub call: Option<CallId>,
    pub at: Millis,
    pub by: By,
    pub path: AbsPath,
    pub moved_to: Option<AbsPath>,
    pub made_folder: Option<AbsPath>,
    pub before: Option<FileContent>,
    pub after: Option<FileContent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileContent {
    pub hash: ContentHash,
    /// Bytes.
    pub len: u64,
    pub encoding: Option<TextEncoding>,
    pub mode: Option<u32>,
    /// Whether the bytes are there.
    pub is_kept: bool,
}

impl Change {
    /// Where the file stands after the change.
    pub fn target(&self) -> &AbsPath {
        self.moved_to.as_ref().unwrap_or(&self.path)
    }
}
