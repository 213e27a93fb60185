//! The large text that was read or written last, for as long as a turn runs: for the next edit its rope need not be built again. What is in the file is
//! judged by its bytes each time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use copydesk_workspace::hash::ContentHash;
use ropey::Rope;

/// A smaller text is built in a millisecond, bytes.
const LARGE: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct LargeText(Mutex<Option<(ContentHash, Rope)>>);

impl LargeText {
    /// `hash` is that of the text in UTF-8.
    pub(super) fn keep(&self, hash: ContentHash, text: &Rope) {
        if text.len_bytes() >= LARGE {
            *self.lock() = Some((hash, text.clone()));
        }
    }

    pub(super) fn of(&self, hash: ContentHash) -> Option<Rope> {
        self.lock().as_ref().filter(|(kept, _)| *kept == hash).map(|(_, text)| text.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<(ContentHash, Rope)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
