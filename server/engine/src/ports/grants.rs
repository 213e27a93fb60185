//! Grants that outlive a session: what the user has allowed in a project or everywhere, kept outside of every repository.

use std::sync::Arc;

use tokio::sync::watch;

use super::BoxFuture;
use crate::permission::KeptGrant;

/// Shared by all daemons of a user: what one writes is seen by the others at their next look.
pub trait GrantStore: Send + Sync {
    /// All that are kept, of every project. Cheap where nothing has changed since the last look.
    fn all(&self) -> BoxFuture<'_, Result<Arc<Vec<KeptGrant>>, GrantStoreError>>;

    /// Kept when this resolves. One that allows the same in the same scope as another is not added.
    fn add(&self, grants: Vec<KeptGrant>) -> BoxFuture<'_, Result<(), GrantStoreError>>;

    /// Removes those with these ids, and returns them.
    fn remove(&self, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<KeptGrant>, GrantStoreError>>;

    /// Counts the changes that were made through this port.
    fn changes(&self) -> watch::Receiver<u64>;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantStoreError {
    /// None of its grants holds, and nothing is written to it.
    #[error(
        "{reason} Until then nothing that you have allowed in a project or everywhere holds; `copydesk permissions clear` keeps a copy of the file and begins anew."
    )]
    Unusable { reason: String },
    /// The disk is full, say.
    #[error("{reason}")]
    Io { reason: String },
}

impl GrantStoreError {
    pub fn retry(&self) -> bool {
        match self {
            Self::Io { .. } => true,
            Self::Unusable { .. } => false,
        }
    }
}
