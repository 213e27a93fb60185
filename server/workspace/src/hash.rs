//! Content hashes: how staleness is judged. Times of modification are never consulted.

use serde::{Deserialize, Serialize};

/// BLAKE3 of a file's bytes or of a document's text in UTF-8, cut to 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContentHash([u8; 16]);

impl ContentHash {
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hasher(blake3::Hasher::new().update(bytes))
    }

    /// The same value as `of` on the whole text, without joining its chunks.
    pub fn of_rope(text: &ropey::Rope) -> Self {
        let mut hasher = blake3::Hasher::new();
        for chunk in text.chunks() {
            hasher.update(chunk.as_bytes());
        }
        Self::from_hasher(&hasher)
    }

    fn from_hasher(hasher: &blake3::Hasher) -> Self {
        let mut short = [0; 16];
        short.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(short)
    }
}

impl std::fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
