//! Sessions on the disk: rows that are only added.

use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use serde::{Deserialize, Serialize};

use super::BoxFuture;
use crate::ids::{Millis, SessionId};
use crate::media::Media;
use crate::message::Entry;

/// Several daemons may share one store. A session is written by the daemon that holds its lease, and read by all; the lease of a dead daemon is free.
pub trait Store: Send + Sync {
    /// The session's lease is this daemon's.
    fn create(&self, meta: SessionMeta) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Written when this resolves, so that the model never sees what is not stored; safe from a crash of the daemon, not yet of the machine.
    /// `StoreError::Elsewhere` without the lease.
    fn append(&self, session: SessionId, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Keeps the images and documents that entries to come will name, as `append` keeps these. One that is there already stays.
    fn keep_media(&self, session: SessionId, media: Vec<Media>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// `None` where it is gone or damaged.
    fn media(&self, session: SessionId, hash: ContentHash) -> BoxFuture<'_, Result<Option<Media>, StoreError>>;

    /// Safe from a crash of the machine. Once a turn, off the answer's path.
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    fn meta(&self, session: SessionId) -> BoxFuture<'_, Result<SessionMeta, StoreError>>;

    /// The rows behind the row `after` (0: from the start), at most `limit` of them.
    fn page(&self, session: SessionId, after: i64, limit: usize) -> BoxFuture<'_, Result<StoredPage, StoreError>>;

    /// Asks for the session's lease.
    fn take(&self, session: SessionId, elsewhere: Elsewhere) -> BoxFuture<'_, Result<Lease, StoreError>>;

    /// Gives the lease back, where it is this daemon's.
    fn release(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes the session with all of its rows, images and documents; nothing where it is gone already. `StoreError::Elsewhere` where another daemon holds it.
    fn delete(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// In any order. A session whose own row is damaged is left out.
    fn list(&self) -> BoxFuture<'_, Result<Vec<ListedSession>, StoreError>>;

    /// The first prompt that can be read.
    fn first_prompt(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Entry>, StoreError>>;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
    pub id: SessionId,
    pub created: Millis,
    pub folder: AbsPath,
    /// All roots, the folder first.
    pub roots: Vec<AbsPath>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    pub meta: SessionMeta,
    /// When a turn of it last began or ended; when it was created, where none did.
    pub updated: Millis,
    /// Whether anything was asked in it.
    pub has_prompt: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredPage {
    pub entries: Vec<Entry>,
    /// Rows that could not be read, left in place (R2.5): row number and reason.
    pub damaged: Vec<(i64, String)>,
    /// The last row of the page, damaged or not; `None` where there was none.
    pub last: Option<i64>,
}

/// What is to happen to a session that another daemon, which is alive, holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// It stays there.
    Leave,
    /// The other daemon can no longer write it.
    TakeOver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// This daemon has held it all the time: nobody else has written.
    Kept,
    /// It is this daemon's from now on.
    Taken,
    /// Another daemon holds it.
    Elsewhere,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("session {0} is not known")]
    UnknownSession(SessionId),
    #[error(
        "session {0} is open in another Copydesk, and only there it can be continued: go on there, close it there, or load it here again and take it over"
    )]
    Elsewhere(SessionId),
    #[error(
        "the session store at {path} was made by a newer Copydesk (format {found}, this one knows {known}); update, or move the file away"
    )]
    Newer { path: String, found: i64, known: i64 },
    #[error("the session store at {path} cannot be used: {reason}")]
    Unusable { path: String, reason: String },
    /// The disk is full, or another program holds the file.
    #[error("the session store could not be written: {reason}")]
    Busy { reason: String },
}

impl StoreError {
    pub fn retry(&self) -> bool {
        match self {
            Self::Busy { .. } => true,
            Self::UnknownSession(_) | Self::Elsewhere(_) | Self::Newer { .. } | Self::Unusable { .. } => false,
        }
    }
}
