//! Sessions on the disk: rows that are only added.

use copydesk_workspace::path::AbsPath;
use serde::{Deserialize, Serialize};

use super::BoxFuture;
use crate::ids::{Millis, SessionId};
use crate::message::Entry;

pub trait Store: Send + Sync {
    fn create(&self, meta: SessionMeta) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Written when this resolves, so that the model never sees what is not stored; safe from a crash of the daemon, not yet of the machine.
    fn append(&self, session: SessionId, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Safe from a crash of the machine. Once a turn, off the answer's path.
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    fn load(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>>;

    /// Newest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<SessionMeta>, StoreError>>;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
    pub id: SessionId,
    pub created: Millis,
    pub folder: AbsPath,
    /// All roots, the folder first.
    pub roots: Vec<AbsPath>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StoredSession {
    pub meta: SessionMeta,
    pub entries: Vec<Entry>,
    /// Rows that could not be read, left in place (R2.5): row number and reason.
    pub damaged: Vec<(i64, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("session {0} is not known")]
    UnknownSession(SessionId),
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
            Self::UnknownSession(_) | Self::Newer { .. } | Self::Unusable { .. } => false,
        }
    }
}
