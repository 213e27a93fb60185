//! The session's entries: stored first, then known here, in one order for everybody who adds to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copydesk_workspace::hash::ContentHash;

use crate::event::SessionEvent;
use crate::ids::SessionId;
use crate::media::Media;
use crate::message::{Entry, Todo};
use crate::ports::{BoxFuture, Client, Store, StoreError};
use crate::tool::{Todos, ToolError};

pub(crate) struct Journal {
    session: SessionId,
    store: Arc<dyn Store>,
    entries: Mutex<Vec<Entry>>,
    /// The queue of those who write: rows are stored in the order in which they stand in `entries`. It guards no data.
    queue: tokio::sync::Mutex<()>,
}

impl Journal {
    /// `entries` are stored already.
    pub(crate) fn new(session: SessionId, store: Arc<dyn Store>, entries: Vec<Entry>) -> Self {
        Self { session, store, entries: Mutex::new(entries), queue: tokio::sync::Mutex::default() }
    }

    /// Returns the index of the first of the new entries.
    pub(crate) async fn append(&self, new: Vec<Entry>) -> Result<usize, StoreError> {
        let _turn = self.queue.lock().await;
        self.store.append(self.session.clone(), new.clone()).await?;
        let mut entries = self.lock();
        let index = entries.len();
        entries.extend(new);
        Ok(index)
    }

    /// The media first: no entry names one that is not stored.
    pub(crate) async fn append_with(&self, media: Vec<Media>, entry: Entry) -> Result<usize, StoreError> {
        if !media.is_empty() {
            self.store.keep_media(self.session.clone(), media).await?;
        }
        self.append(vec![entry]).await
    }

    /// Adds those of `wanted` that `held` lacks. What is gone, or cannot be read now, is left out.
    pub(crate) async fn fetch_media(&self, wanted: BTreeSet<ContentHash>, held: &mut BTreeMap<ContentHash, Media>) {
        for hash in wanted {
            if held.contains_key(&hash) {
                continue;
            }
            match self.store.media(self.session.clone(), hash).await {
                Ok(Some(media)) => drop(held.insert(hash, media)),
                Ok(None) => {
                    tracing::warn!(session = %self.session, ?hash, "an image or document of the session is lost")
                }
                Err(error) => tracing::warn!(session = %self.session, %error, "an image or document could not be read"),
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&[Entry]) -> T) -> T {
        read(&self.lock())
    }

    /// At most `limit` entries from `start` on.
    pub(crate) fn page(&self, start: usize, limit: usize) -> Vec<Entry> {
        self.lock().iter().skip(start).take(limit).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The list of things to do: stored, then told to the client.
pub(crate) struct SessionTodos {
    pub(crate) session: SessionId,
    pub(crate) journal: Arc<Journal>,
    pub(crate) client: Arc<dyn Client>,
}

impl Todos for SessionTodos {
    fn replace(&self, todos: Vec<Todo>) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let entry = Entry::Todos { todos: todos.clone() };
            self.journal.append(vec![entry]).await.map_err(|error| ToolError::Fatal(error.to_string()))?;
            self.client.update(self.session.clone(), SessionEvent::Plan(todos)).await;
            Ok(())
        })
    }

    fn list(&self) -> Vec<Todo> {
        let todos = |entry: &Entry| match entry {
            Entry::Todos { todos } => Some(todos.clone()),
            _ => None,
        };
        self.journal.read(|entries| entries.iter().rev().find_map(todos)).unwrap_or_default()
    }
}
