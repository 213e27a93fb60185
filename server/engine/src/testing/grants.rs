//! Kept grants in memory: several engines on one of them are several daemons of one user.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::lock;
use crate::permission::KeptGrant;
use crate::ports::{BoxFuture, GrantStore, GrantStoreError};

pub struct MemoryGrants {
    kept: Mutex<Arc<Vec<KeptGrant>>>,
    torn: Mutex<Option<GrantStoreError>>,
    changes: watch::Sender<u64>,
}

impl MemoryGrants {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), torn: Mutex::default(), changes: watch::Sender::new(0) })
    }

    /// As another process writes them: nobody is told.
    pub fn put(&self, grants: Vec<KeptGrant>) {
        *lock(&self.kept) = Arc::new(grants);
    }

    pub fn kept(&self) -> Vec<KeptGrant> {
        lock(&self.kept).to_vec()
    }

    /// Every look and every change fails with it, until it is `None` again.
    pub fn break_with(&self, error: Option<GrantStoreError>) {
        *lock(&self.torn) = error;
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vec<KeptGrant>) -> R) -> Result<R, GrantStoreError> {
        if let Some(error) = lock(&self.torn).clone() {
            return Err(error);
        }
        let mut kept = lock(&self.kept);
        let mut grants = kept.to_vec();
        let result = change(&mut grants);
        *kept = Arc::new(grants);
        drop(kept);
        self.changes.send_modify(|count| *count += 1);
        Ok(result)
    }
}

impl GrantStore for MemoryGrants {
    fn all(&self) -> BoxFuture<'_, Result<Arc<Vec<KeptGrant>>, GrantStoreError>> {
        let all = match lock(&self.torn).clone() {
            Some(error) => Err(error),
            None => Ok(Arc::clone(&lock(&self.kept))),
        };
        Box::pin(async { all })
    }

    fn add(&self, grants: Vec<KeptGrant>) -> BoxFuture<'_, Result<(), GrantStoreError>> {
        let added = self.change(|kept| {
            for new in grants {
                if !kept.iter().any(|old| old.scope == new.scope && old.grant == new.grant) {
                    kept.push(new);
                }
            }
        });
        Box::pin(async { added })
    }

    fn remove(&self, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<KeptGrant>, GrantStoreError>> {
        let removed = self.change(|kept| kept.extract_if(.., |grant| ids.contains(&grant.id)).collect());
        Box::pin(async { removed })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
