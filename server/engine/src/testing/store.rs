//! The store in memory, with the faults that a test wants of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use copydesk_workspace::hash::ContentHash;
use tokio::sync::Notify;

use super::{Boundaries, MemoryChanges, lock};
use crate::ids::SessionId;
use crate::media::Media;
use crate::message::Entry;
use crate::ports::{BoxFuture, Elsewhere, Lease, ListedSession, SessionMeta, Store, StoreError, StoredPage};

/// Sessions in memory. It outlives the engines that a test builds on it, as the real one outlives the daemon.
#[derive(Default)]
pub struct MemoryStore {
    sessions: Mutex<BTreeMap<SessionId, (SessionMeta, Vec<Entry>)>>,
    media: Mutex<BTreeMap<(SessionId, ContentHash), Media>>,
    broken: Mutex<Option<StoreError>>,
    damaged: Mutex<Vec<(i64, String)>>,
    /// Sessions whose lease another daemon has.
    elsewhere: Mutex<BTreeSet<SessionId>>,
    /// Sessions whose lease is this daemon's.
    held: Mutex<BTreeSet<SessionId>>,
    /// Of the same file.
    changes: Arc<MemoryChanges>,
    flushes: AtomicUsize,
    pages: AtomicUsize,
    boundaries: Boundaries,
    /// What the next `create` waits for once it has written, as one whose answer is on its way.
    answer: Mutex<Option<Arc<Notify>>>,
}

impl MemoryStore {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Ticks after each append.
    pub fn ticking(boundaries: Boundaries) -> Arc<Self> {
        Arc::new(Self { boundaries, ..Self::default() })
    }

    pub fn changes(&self) -> Arc<MemoryChanges> {
        Arc::clone(&self.changes)
    }

    pub fn entries(&self, session: &SessionId) -> Vec<Entry> {
        lock(&self.sessions).get(session).map(|(_, entries)| entries.clone()).unwrap_or_default()
    }

    /// Every append fails with it, until it is `None` again.
    pub fn break_with(&self, error: Option<StoreError>) {
        *lock(&self.broken) = error;
    }

    /// The next session's row is written, and not answered before this is told.
    pub fn hold_answer(&self) -> Arc<Notify> {
        let answer = Arc::new(Notify::new());
        *lock(&self.answer) = Some(Arc::clone(&answer));
        answer
    }

    /// A row of every session that cannot be read from now on, as `load` reports it.
    pub fn damage(&self, row: i64, reason: &str) {
        lock(&self.damaged).push((row, reason.to_owned()));
    }

    /// Another daemon takes the session, or opens it as the first.
    pub fn hold_elsewhere(&self, session: &SessionId) {
        lock(&self.held).remove(session);
        lock(&self.elsewhere).insert(session.clone());
    }

    /// Whether this daemon has the session's lease.
    pub fn holds(&self, session: &SessionId) -> bool {
        lock(&self.held).contains(session)
    }

    /// As the other daemon would.
    pub fn append_elsewhere(&self, session: &SessionId, entries: Vec<Entry>) {
        if let Some((_, stored)) = lock(&self.sessions).get_mut(session) {
            stored.extend(entries);
        }
    }

    /// All images and documents are gone.
    pub fn lose_media(&self) {
        lock(&self.media).clear();
    }

    /// Pages that were read so far.
    pub fn pages(&self) -> usize {
        self.pages.load(Ordering::SeqCst)
    }

    pub fn flushes(&self) -> usize {
        self.flushes.load(Ordering::SeqCst)
    }

    /// What a dead daemon leaves: the same rows in a store that no old engine reaches.
    pub fn survivor(&self) -> Arc<Self> {
        Arc::new(Self {
            sessions: Mutex::new(lock(&self.sessions).clone()),
            media: Mutex::new(lock(&self.media).clone()),
            changes: self.changes.survivor(),
            ..Self::default()
        })
    }
}

impl Store for MemoryStore {
    fn create(&self, meta: SessionMeta) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            lock(&self.held).insert(meta.id.clone());
            lock(&self.sessions).insert(meta.id.clone(), (meta, Vec::new()));
            let answer = lock(&self.answer).take();
            if let Some(answer) = answer {
                answer.notified().await;
            }
            Ok(())
        })
    }

    fn append(&self, session: SessionId, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(error) = lock(&self.broken).clone() {
                return Err(error);
            }
            if !lock(&self.held).contains(&session) {
                return Err(StoreError::Elsewhere(session));
            }
            match lock(&self.sessions).get_mut(&session) {
                Some((_, stored)) => stored.extend(entries),
                None => return Err(StoreError::UnknownSession(session)),
            }
            self.boundaries.tick();
            Ok(())
        })
    }

    fn keep_media(&self, session: SessionId, media: Vec<Media>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(error) = lock(&self.broken).clone() {
                return Err(error);
            }
            let named = media.into_iter().map(|media| ((session.clone(), media.hash()), media));
            lock(&self.media).extend(named);
            Ok(())
        })
    }

    fn media(&self, session: SessionId, hash: ContentHash) -> BoxFuture<'_, Result<Option<Media>, StoreError>> {
        let media = lock(&self.media).get(&(session, hash)).cloned();
        Box::pin(async { Ok(media) })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.flushes.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    }

    fn meta(&self, session: SessionId) -> BoxFuture<'_, Result<SessionMeta, StoreError>> {
        Box::pin(async move {
            let sessions = lock(&self.sessions);
            sessions.get(&session).map(|(meta, _)| meta.clone()).ok_or(StoreError::UnknownSession(session))
        })
    }

    fn page(&self, session: SessionId, after: i64, limit: usize) -> BoxFuture<'_, Result<StoredPage, StoreError>> {
        Box::pin(async move {
            self.pages.fetch_add(1, Ordering::SeqCst);
            let damaged = lock(&self.damaged).clone();
            let sessions = lock(&self.sessions);
            let (_, stored) = sessions.get(&session).ok_or(StoreError::UnknownSession(session))?;
            let start = usize::try_from(after).unwrap_or(0);
            let mut page = StoredPage::default();
            for (row, entry) in (1_i64..).zip(stored).skip(start).take(limit) {
                page.last = Some(row);
                match damaged.iter().find(|(damaged, _)| *damaged == row) {
                    Some(damaged) => page.damaged.push(damaged.clone()),
                    None => page.entries.push(entry.clone()),
                }
            }
            Ok(page)
        })
    }

    fn take(&self, session: SessionId, elsewhere: Elsewhere) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            if lock(&self.held).contains(&session) {
                return Ok(Lease::Kept);
            }
            let is_elsewhere = lock(&self.elsewhere).contains(&session);
            if is_elsewhere && elsewhere == Elsewhere::Leave {
                return Ok(Lease::Elsewhere);
            }
            lock(&self.elsewhere).remove(&session);
            lock(&self.held).insert(session);
            Ok(Lease::Taken)
        })
    }

    fn release(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        lock(&self.held).remove(&session);
        Box::pin(async { Ok(()) })
    }

    fn delete(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if lock(&self.elsewhere).contains(&session) {
                return Err(StoreError::Elsewhere(session));
            }
            lock(&self.held).remove(&session);
            lock(&self.sessions).remove(&session);
            lock(&self.media).retain(|(of, _), _| *of != session);
            Ok(())
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ListedSession>, StoreError>> {
        Box::pin(async move {
            let listed = |(meta, entries): &(SessionMeta, Vec<Entry>)| {
                let time = |entry: &Entry| match entry {
                    Entry::User { at, .. } | Entry::TurnEnded { at, .. } => Some(*at),
                    _ => None,
                };
                ListedSession {
                    meta: meta.clone(),
                    updated: entries.iter().rev().find_map(time).unwrap_or(meta.created),
                    has_prompt: entries.iter().any(|entry| matches!(entry, Entry::User { .. })),
                }
            };
            Ok(lock(&self.sessions).values().map(listed).collect())
        })
    }

    fn first_prompt(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Entry>, StoreError>> {
        let entries = self.entries(&session);
        Box::pin(async move { Ok(entries.into_iter().find(|entry| matches!(entry, Entry::User { .. }))) })
    }
}
