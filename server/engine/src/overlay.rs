//! The open documents of one connection, shared between the face that hears of them and the sessions that use them, with the log of who changed what.
//!
//! A face applies what its editor says, in the order in which it says it. Nobody else changes a document here.

use std::sync::Mutex;

use copydesk_workspace::change_log::ChangeLog;
use copydesk_workspace::document::{Change, ContentChange, Document, DocumentError, Documents};
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::path::DocKey;
use copydesk_workspace::position::PositionEncoding;
use tokio::sync::watch;

pub struct Overlay {
    state: Mutex<State>,
    /// Counts changes: whoever waits for one looks again when it moves.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    documents: Documents,
    log: ChangeLog,
}

impl Overlay {
    pub fn new() -> Self {
        Self { state: Mutex::default(), changed: watch::Sender::new(0) }
    }

    pub fn open(&self, document: Document) {
        let _ = document;
        todo!()
    }

    /// Applies a `didChange`, and books it: the agent's where it is what `expect` announced, the rest the user's.
    pub fn change(
        &self,
        uri: &str,
        version: i32,
        changes: &[ContentChange],
        encoding: PositionEncoding,
    ) -> Result<Change, DocumentError> {
        let _ = (uri, version, changes, encoding);
        todo!()
    }

    pub fn saved(&self, uri: &str) -> Result<(), DocumentError> {
        let _ = uri;
        todo!()
    }

    pub fn close(&self, uri: &str) {
        let _ = uri;
        todo!()
    }

    /// The document as it now stands; ropes are cheap to clone.
    pub fn get(&self, key: &DocKey) -> Option<Document> {
        let _ = key;
        todo!()
    }

    pub fn by_uri(&self, uri: &str) -> Option<Document> {
        let _ = uri;
        todo!()
    }

    pub fn all(&self) -> Vec<Document> {
        todo!()
    }

    /// Moves at every change of any document.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Announces an edit of the agent, so that the `didChange` that carries it is booked to `label`.
    pub fn expect(&self, key: &DocKey, edits: EditSet, label: String) {
        let _ = (key, edits, label);
        todo!()
    }

    pub fn with_log<T>(&self, read: impl FnOnce(&ChangeLog) -> T) -> T {
        let _ = read;
        todo!()
    }
}
