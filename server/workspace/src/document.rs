//! The documents that the editor has open: its text, as it has told it. Applying changes is all they do; nothing here asks the disk.

use ropey::Rope;

use crate::edit::EditSet;
use crate::hash::ContentHash;
use crate::path::{AbsPath, DocKey};
use crate::position::{Position, PositionEncoding};

#[derive(Debug, Clone)]
pub struct Document {
    /// As the editor spells it; goes back to the editor unchanged.
    pub uri: String,
    pub key: DocKey,
    pub path: AbsPath,
    pub language: String,
    pub version: i32,
    /// The text, line endings as the editor sends them.
    pub text: Rope,
    /// The text at the last save, or at opening: the document is dirty while it differs.
    pub saved: ContentHash,
}

impl Document {
    pub fn hash(&self) -> ContentHash {
        ContentHash::of_rope(&self.text)
    }

    pub fn is_dirty(&self) -> bool {
        self.hash() != self.saved
    }
}

/// One item of `didChange`: a range with its new text, or (without range) the whole text.
#[derive(Debug, Clone)]
pub struct ContentChange {
    pub range: Option<(Position, Position)>,
    pub text: String,
}

/// What a `didChange` did.
#[derive(Debug, Clone)]
pub struct Change {
    pub key: DocKey,
    pub before: Rope,
    pub after: Rope,
    /// From `before` to `after`.
    pub edits: EditSet,
    pub version: i32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("{0} is not open")]
    NotOpen(String),
    #[error("version {found} of {uri} is not after {have}")]
    OldVersion { uri: String, have: i32, found: i32 },
}

/// All open documents by key, found by any spelling of their URI.
#[derive(Debug, Default)]
pub struct Documents {
    _private: (),
}

impl Documents {
    /// Opening an open document again replaces it. `disk` is the hash of the decoded file, where it exists: the document is clean where the texts are equal.
    pub fn open(&mut self, document: Document) {
        let _ = document;
        todo!()
    }

    /// Ranges are clamped, never a panic. A version that does not grow is refused and changes nothing.
    pub fn change(
        &mut self,
        uri: &str,
        version: i32,
        changes: &[ContentChange],
        encoding: PositionEncoding,
    ) -> Result<Change, DocumentError> {
        let _ = (uri, version, changes, encoding);
        todo!()
    }

    pub fn saved(&mut self, uri: &str) -> Result<(), DocumentError> {
        let _ = uri;
        todo!()
    }

    pub fn close(&mut self, uri: &str) -> Option<Document> {
        let _ = uri;
        todo!()
    }

    pub fn get(&self, key: &DocKey) -> Option<&Document> {
        let _ = key;
        todo!()
    }

    pub fn by_uri(&self, uri: &str) -> Option<&Document> {
        let _ = uri;
        todo!()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Document> {
        std::iter::empty()
    }
}
