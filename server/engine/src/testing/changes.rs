//! Changes in memory, with the faults that a test wants of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use copydesk_workspace::hash::ContentHash;

use super::lock;
use crate::ids::SessionId;
use crate::ports::{BoxFuture, Change, ChangeId, Changes, FileContent, NewChange, NewContent, StoreError};

/// Outlives the engines that a test builds on it, as `MemoryStore` does. It keeps all, whatever it is told, unless the test lets go of it.
#[derive(Default)]
pub struct MemoryChanges {
    sessions: Mutex<BTreeMap<SessionId, Recorded>>,
    broken: Mutex<Option<StoreError>>,
    keeps_latest_alone: AtomicBool,
}

#[derive(Clone, Default)]
struct Recorded {
    /// `None`: void.
    changes: Vec<Option<Change>>,
    contents: BTreeMap<ContentHash, Bytes>,
}

impl MemoryChanges {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Every `record` fails with it, until it is `None` again.
    pub fn break_with(&self, error: Option<StoreError>) {
        *lock(&self.broken) = error;
    }

    /// The contents of all turns so far are let go.
    pub fn let_go(&self) {
        for recorded in lock(&self.sessions).values_mut() {
            recorded.contents.clear();
        }
    }

    /// From now on each `record` lets go of all contents before it, as a store does that is full.
    pub fn keep_the_latest_alone(&self) {
        self.keeps_latest_alone.store(true, Ordering::Relaxed);
    }

    /// As of `MemoryStore`.
    pub fn survivor(&self) -> Arc<Self> {
        Arc::new(Self { sessions: Mutex::new(lock(&self.sessions).clone()), ..Self::default() })
    }

    pub fn of(&self, session: &SessionId) -> Vec<Change> {
        lock(&self.sessions).get(session).map(Recorded::list).unwrap_or_default()
    }
}

impl Recorded {
    fn record(&mut self, new: NewChange) -> ChangeId {
        let id = ChangeId(self.changes.len() as i64 + 1);
        let NewChange { turn, call, at, by, path, moved_to, made_folder, before, after } = new;
        let [before, after] = [before, after].map(|content| content.map(|content| self.keep(content)));
        self.changes.push(Some(Change { id, turn, call, at, by, path, moved_to, made_folder, before, after }));
        id
    }

    fn keep(&mut self, content: NewContent) -> FileContent {
        let NewContent { hash, len, bytes, encoding, mode } = content;
        self.contents.extend(bytes.map(|bytes| (hash, bytes)));
        FileContent { hash, len, encoding, mode, is_kept: false }
    }

    fn list(&self) -> Vec<Change> {
        let kept = |content: FileContent| FileContent { is_kept: self.contents.contains_key(&content.hash), ..content };
        let changes = self.changes.iter().flatten().cloned();
        changes
            .map(|change| Change { before: change.before.map(kept), after: change.after.map(kept), ..change })
            .collect()
    }
}

impl Changes for MemoryChanges {
    fn record(
        &self,
        session: SessionId,
        changes: Vec<NewChange>,
        _most_kept: u64,
    ) -> BoxFuture<'_, Result<Vec<ChangeId>, StoreError>> {
        Box::pin(async move {
            if let Some(error) = lock(&self.broken).clone() {
                return Err(error);
            }
            let mut sessions = lock(&self.sessions);
            let recorded = sessions.entry(session).or_default();
            if !changes.is_empty() && self.keeps_latest_alone.load(Ordering::Relaxed) {
                recorded.contents.clear();
            }
            Ok(changes.into_iter().map(|change| recorded.record(change)).collect())
        })
    }

    fn void(&self, session: SessionId, changes: Vec<ChangeId>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(recorded) = lock(&self.sessions).get_mut(&session) {
                for id in changes {
                    let place = usize::try_from(id.0 - 1).ok().and_then(|place| recorded.changes.get_mut(place));
                    if let Some(change) = place {
                        *change = None;
                    }
                }
            }
            Ok(())
        })
    }

    fn list(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        let changes = self.of(&session);
        Box::pin(async move { Ok(changes) })
    }

    fn content(&self, session: SessionId, hash: ContentHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        let content = lock(&self.sessions)
            .get(&session)
            .and_then(|recorded| recorded.contents.get(&hash).map(|bytes| bytes.to_vec()));
        Box::pin(async move { Ok(content) })
    }
}
