//! Content hashes: how staleness is judged. Times of modification are never consulted.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

/// BLAKE3 of a file's bytes or of a document's text in UTF-8, cut to 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContentHash([u8; 16]);

/// Bytes that are given to the hasher at once: of a rope's chunks, below 1 KiB each, it can do no two side by side, which takes twelve times as long.
const TOGETHER: usize = 64 << 10;

impl ContentHash {
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hasher(blake3::Hasher::new().update(bytes))
    }

    /// Of all that is read, without holding it.
    pub fn of_reader(reader: impl Read) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(reader)?;
        Ok(Self::from_hasher(&hasher))
    }

    /// The same value as `of` on the whole text, without joining all of its chunks.
    pub fn of_rope(text: &ropey::Rope) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut together = Vec::with_capacity(TOGETHER.min(text.len_bytes()));
        for chunk in text.chunks() {
            if together.len() + chunk.len() > TOGETHER {
                hasher.update(&together);
                together.clear();
            }
            together.extend_from_slice(chunk.as_bytes());
        }
        Self::from_hasher(hasher.update(&together))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ropey::Rope;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_rope_and_a_reader_have_the_hash_of_their_bytes(
            repeated in "\\PC{1,40}",
            times in 0_usize..6000,
            edits in proptest::collection::vec((any::<prop::sample::Index>(), "\\PC{0,3000}"), 0..6),
        ) {
            let mut text = Rope::from(repeated.repeat(times));
            for (at, new) in edits {
                text.insert(at.index(text.len_chars() + 1), &new);
            }
            let bytes = String::from(&text).into_bytes();
            prop_assert_eq!(ContentHash::of_rope(&text), ContentHash::of(&bytes));
            prop_assert_eq!(ContentHash::of_reader(&bytes[..]).ok(), Some(ContentHash::of(&bytes)));
        }
    }
}
