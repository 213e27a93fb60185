//! The large text that was read or written last, for as long as a turn runs: for the next edit it need be neither read, nor checked, nor hashed, nor built
//! again. Whether the file still holds it is judged by its bytes each time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use copydesk_workspace::hash::ContentHash;
use ropey::Rope;

/// A smaller text is read and built in a few milliseconds, bytes.
const LARGE: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct LargeText(Mutex<Option<Kept>>);

/// Of a file in UTF-8 without a mark: its bytes are the text.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) bytes: Bytes,
    pub(super) hash: ContentHash,
    pub(super) text: Rope,
}

impl LargeText {
    pub(super) fn keep(&self, bytes: &Bytes, hash: ContentHash, text: &Rope) {
        if bytes.len() >= LARGE {
            *self.lock() = Some(Kept { bytes: bytes.clone(), hash, text: text.clone() });
        }
    }

    /// Where it may be that of a file of so many bytes.
    pub(super) fn of_length(&self, len: u64) -> Option<Kept> {
        self.lock().as_ref().filter(|kept| kept.bytes.len() as u64 == len).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
