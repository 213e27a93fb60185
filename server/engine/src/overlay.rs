//! The open documents of one connection, shared between the face that hears of them and the sessions that use them, with the log of who changed what.
//!
//! A face applies what its editor says, in the order in which it says it. Nobody else changes a document here.

mod authors;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use copydesk_workspace::change_log::{Author, ChangeLog, LoggedEdit};
use copydesk_workspace::document::{Change, ContentChange, Document, DocumentError, Documents};
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::path::DocKey;
use copydesk_workspace::position::PositionEncoding;
use tokio::sync::watch;

use crate::view::{KnownTexts, Locks};

pub struct Overlay {
    state: Mutex<State>,
    /// Counts changes: whoever waits for one looks again when it moves.
    changed: watch::Sender<u64>,
    /// One writer a file, over all sessions of the connection (R6.5).
    pub(crate) locks: Locks,
    /// What the files that the editor is asked for had in them.
    pub(crate) texts: KnownTexts,
}

/// An announced edit, until the editor has shown it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExpectationId(u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    Pending,
    Arrived,
    /// The same place was changed by somebody else, or the document was closed.
    Lost,
}

/// Who has changed an open document since it was last the same as its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsaved {
    AgentAlone,
    User,
}

#[derive(Default)]
struct State {
    documents: Documents,
    log: ChangeLog,
    /// In the order of their announcement.
    expected: Vec<Expectation>,
    next: u64,
    /// How many edits of a document were logged when it was last clean; absent where it was opened with unsaved text.
    clean_at: HashMap<DocKey, usize>,
    saves: HashMap<DocKey, u64>,
}

struct Expectation {
    id: ExpectationId,
    key: DocKey,
    arrival: Arrival,
    /// What is still to come, as an edit of the document's present text.
    outstanding: Option<EditSet>,
    label: String,
}

impl Expectation {
    fn waits_for(&self, key: &DocKey) -> bool {
        self.key == *key && self.arrival == Arrival::Pending
    }

    /// Moves what is announced over somebody else's change.
    fn rebase(&mut self, theirs: &EditSet) {
        self.outstanding = self.outstanding.take().and_then(|edits| edits.rebase(theirs).ok());
        if self.outstanding.is_none() {
            self.arrival = Arrival::Lost;
        }
    }
}

impl Default for Overlay {
    fn default() -> Self {
        Self::new()
    }
}

impl Overlay {
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: watch::Sender::new(0),
            locks: Locks::default(),
            texts: KnownTexts::default(),
        }
    }

    pub fn open(&self, document: Document) {
        let mut state = self.lock();
        let key = document.key.clone();
        if document.is_dirty() {
            state.clean_at.remove(&key);
        }
        state.lose(&key);
        state.documents.open(document);
        state.note_clean(&key);
        self.moved(state);
    }

    /// Applies a `didChange`, and books it: the agent's where it is what `expect` announced, the rest the user's.
    pub fn change(
        &self,
        uri: &str,
        version: i32,
        changes: &[ContentChange],
        encoding: PositionEncoding,
    ) -> Result<Change, DocumentError> {
        let mut state = self.lock();
        let change = state.documents.change(uri, version, changes, encoding)?;
        state.book(&change);
        self.moved(state);
        Ok(change)
    }

    /// The document is what its file is: after a save, or when its buffer was read again.
    pub fn saved(&self, uri: &str) -> Result<(), DocumentError> {
        let mut state = self.lock();
        state.documents.saved(uri)?;
        if let Some(key) = state.documents.by_uri(uri).map(|document| document.key.clone()) {
            *state.saves.entry(key.clone()).or_default() += 1;
            state.note_clean(&key);
        }
        self.moved(state);
        Ok(())
    }

    pub fn close(&self, uri: &str) {
        let mut state = self.lock();
        if let Some(document) = state.documents.close(uri) {
            state.lose(&document.key);
            if state.documents.get(&document.key).is_none() {
                state.clean_at.remove(&document.key);
            }
        }
        self.moved(state);
    }

    /// The document as it now stands; ropes are cheap to clone.
    pub fn get(&self, key: &DocKey) -> Option<Document> {
        self.lock().documents.get(key).cloned()
    }

    pub fn by_uri(&self, uri: &str) -> Option<Document> {
        self.lock().documents.by_uri(uri).cloned()
    }

    pub fn all(&self) -> Vec<Document> {
        self.lock().documents.iter().cloned().collect()
    }

    /// The documents that differ from their files.
    pub fn unsaved(&self) -> Vec<(Document, Unsaved)> {
        let state = self.lock();
        let dirty = state.documents.iter().filter(|document| document.is_dirty());
        dirty.map(|document| (document.clone(), state.changed_by(&document.key))).collect()
    }

    /// How often each document that is or was open has been saved.
    pub(crate) fn saves(&self) -> HashMap<DocKey, u64> {
        self.lock().saves.clone()
    }

    /// Moves at every change of any document.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Announces an edit of the document's present text by the agent, so that the `didChange` that carries it is booked to `label`. Kept until `forget`.
    pub fn expect(&self, key: &DocKey, edits: EditSet, label: String) -> ExpectationId {
        let mut state = self.lock();
        state.next += 1;
        let id = ExpectationId(state.next);
        let (key, arrival, outstanding) = (key.clone(), Arrival::Pending, Some(edits));
        state.expected.push(Expectation { id, key, arrival, outstanding, label });
        id
    }

    pub fn forget(&self, id: ExpectationId) {
        self.lock().expected.retain(|expectation| expectation.id != id);
    }

    pub fn arrival(&self, id: ExpectationId) -> Arrival {
        let state = self.lock();
        state.expected.iter().find(|expectation| expectation.id == id).map_or(Arrival::Lost, |found| found.arrival)
    }

    /// Books a change of a file that is not open.
    pub fn record(&self, edit: LoggedEdit) {
        self.lock().log.record(edit);
    }

    pub fn with_log<T>(&self, read: impl FnOnce(&ChangeLog) -> T) -> T {
        read(&self.lock().log)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who wait, once they can look.
    fn moved(&self, state: MutexGuard<'_, State>) {
        drop(state);
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl State {
    fn book(&mut self, change: &Change) {
        if change.edits.is_empty() {
            return;
        }
        let position = self.expected.iter().position(|expectation| expectation.waits_for(&change.key));
        let split = position.and_then(|position| {
            let edits = self.expected[position].outstanding.as_ref()?;
            Some((position, authors::split(&change.before, edits, &change.edits)?))
        });
        for (index, expectation) in self.expected.iter_mut().enumerate() {
            let is_split = split.as_ref().is_some_and(|(position, _)| *position == index);
            if expectation.waits_for(&change.key) && !is_split {
                expectation.rebase(&change.edits);
            }
        }
        let Some((position, split)) = split else {
            self.record(change, Author::User, change.edits.clone());
            return;
        };
        let expectation = &mut self.expected[position];
        expectation.arrival = if split.outstanding.is_some() { Arrival::Pending } else { Arrival::Arrived };
        expectation.outstanding = split.outstanding;
        let author = Author::Agent { label: expectation.label.clone() };
        self.record(change, author, split.agents);
        if !split.users.is_empty() {
            self.record(change, Author::User, split.users);
        }
    }

    /// Where nothing that is open of the file is unsaved.
    fn note_clean(&mut self, key: &DocKey) {
        let is_dirty = |document: &Document| document.key == *key && document.is_dirty();
        if !self.documents.iter().any(is_dirty) {
            self.clean_at.insert(key.clone(), self.log.of(key).count());
        }
    }

    fn lose(&mut self, key: &DocKey) {
        for expectation in self.expected.iter_mut().filter(|expectation| expectation.waits_for(key)) {
            expectation.arrival = Arrival::Lost;
        }
    }

    fn record(&mut self, change: &Change, author: Author, edits: EditSet) {
        self.log.record(LoggedEdit { key: change.key.clone(), author, version: Some(change.version), edits });
    }

    fn changed_by(&self, key: &DocKey) -> Unsaved {
        let Some(clean) = self.clean_at.get(key) else { return Unsaved::User };
        let agent_alone = self.log.of(key).skip(*clean).all(|edit| matches!(edit.author, Author::Agent { .. }));
        if agent_alone { Unsaved::AgentAlone } else { Unsaved::User }
    }
}

#[cfg(test)]
#[path = "overlay_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
