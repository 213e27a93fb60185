//! One writer a file: edits of several sessions come one after the other (R6.5).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use copydesk_workspace::path::DocKey;
use tokio::sync::OwnedMutexGuard;

#[derive(Default)]
pub(crate) struct Locks {
    files: Mutex<HashMap<DocKey, Weak<tokio::sync::Mutex<()>>>>,
}

impl Locks {
    /// All of `keys`, taken in one order everywhere, so that two batches never wait for each other.
    pub(crate) async fn take(&self, keys: BTreeSet<DocKey>) -> Vec<OwnedMutexGuard<()>> {
        let mut guards = Vec::with_capacity(keys.len());
        for key in keys {
            guards.push(self.of(key).lock_owned().await);
        }
        guards
    }

    fn of(&self, key: DocKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|_, lock| lock.strong_count() > 0);
        let held = files.get(&key).and_then(Weak::upgrade);
        held.unwrap_or_else(|| {
            let lock = Arc::default();
            files.insert(key, Arc::downgrade(&lock));
            lock
        })
    }
}
