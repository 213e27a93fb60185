//! The documents that the editor has open: its text, as it has told it. Applying changes is all they do; nothing here asks the disk.

use std::collections::HashMap;

use ropey::Rope;

use crate::edit::EditSet;
use crate::hash::ContentHash;
use crate::path::{AbsPath, DocKey};
use crate::position::{Position, PositionEncoding, offset_of};
use crate::uri::path_from_uri;

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
    /// The text at the last save. At opening: the hash of the decoded file where there is one, so that a document that opens with other text is dirty.
    pub saved: ContentHash,
}

impl Document {
    /// Reads the whole text.
    pub fn hash(&self) -> ContentHash {
        ContentHash::of_rope(&self.text)
    }

    /// Whether the text differs from the last save. Reads the whole text.
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

/// All open documents. A file may be open several times, by the URIs of links to it: the editor keeps each with text and version of its own. Under
/// the file's key stands the one that was changed last; one that is only opened never takes the place of one with unsaved text.
#[derive(Debug, Default)]
pub struct Documents {
    documents: HashMap<Spelling, Document>,
    /// The spellings of each file, the one that stands for it last.
    spellings: HashMap<DocKey, Vec<Spelling>>,
}

/// A URI in the form in which all spellings are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Spelling {
    Path(AbsPath),
    /// Not a file: compared as it is.
    Uri(String),
}

impl Documents {
    /// Opening an open document again replaces it.
    pub fn open(&mut self, document: Document) {
        self.close(&document.uri);
        let spelling = Spelling::of(&document.uri);
        let has_unsaved = self.get(&document.key).is_some_and(Document::is_dirty);
        let spellings = self.spellings.entry(document.key.clone()).or_default();
        spellings.insert(spellings.len() - usize::from(has_unsaved), spelling.clone());
        self.documents.insert(spelling, document);
    }

    /// Ranges are clamped, never a panic. A version that does not grow is refused and changes nothing.
    pub fn change(
        &mut self,
        uri: &str,
        version: i32,
        changes: &[ContentChange],
        encoding: PositionEncoding,
    ) -> Result<Change, DocumentError> {
        let document = self.open_document(uri)?;
        if version <= document.version {
            return Err(DocumentError::OldVersion { uri: uri.to_owned(), have: document.version, found: version });
        }
        let before = document.text.clone();
        let mut steps = Vec::with_capacity(changes.len());
        for change in changes {
            let (text, edits) = step(&document.text, change, encoding);
            document.text = text;
            steps.push(edits);
        }
        document.version = version;
        let after = document.text.clone();
        let edits = match EditSet::compose_all(steps) {
            Ok(Some(edits)) => edits,
            Ok(None) => EditSet::single(before.len_bytes(), 0..0, String::new()),
            Err(_) => EditSet::between(&before, &after),
        };
        let key = document.key.clone();
        self.put_last(&key, uri);
        Ok(Change { key, before, after, edits, version })
    }

    pub fn saved(&mut self, uri: &str) -> Result<(), DocumentError> {
        let document = self.open_document(uri)?;
        document.saved = document.hash();
        Ok(())
    }

    /// `None` where it was not open.
    pub fn close(&mut self, uri: &str) -> Option<Document> {
        let spelling = Spelling::of(uri);
        let document = self.documents.remove(&spelling)?;
        if let Some(spellings) = self.spellings.get_mut(&document.key) {
            spellings.retain(|other| *other != spelling);
            if spellings.is_empty() {
                self.spellings.remove(&document.key);
            }
        }
        Some(document)
    }

    pub fn get(&self, key: &DocKey) -> Option<&Document> {
        self.documents.get(self.spellings.get(key)?.last()?)
    }

    pub fn by_uri(&self, uri: &str) -> Option<&Document> {
        self.documents.get(&Spelling::of(uri))
    }

    /// Each of a file that is open several times.
    pub fn iter(&self) -> impl Iterator<Item = &Document> {
        self.documents.values()
    }

    fn put_last(&mut self, key: &DocKey, uri: &str) {
        let spelling = Spelling::of(uri);
        if let Some(spellings) = self.spellings.get_mut(key)
            && spellings.last() != Some(&spelling)
        {
            spellings.retain(|other| *other != spelling);
            spellings.push(spelling);
        }
    }

    fn open_document(&mut self, uri: &str) -> Result<&mut Document, DocumentError> {
        self.documents.get_mut(&Spelling::of(uri)).ok_or_else(|| DocumentError::NotOpen(uri.to_owned()))
    }
}

impl Spelling {
    fn of(uri: &str) -> Self {
        path_from_uri(uri).map_or_else(|_| Self::Uri(uri.to_owned()), Self::Path)
    }
}

/// The text after one change, and the change as an edit without what is equal at its ends. It costs the size of the change, unless that is the whole text.
fn step(text: &Rope, change: &ContentChange, encoding: PositionEncoding) -> (Rope, EditSet) {
    let Some((from, to)) = change.range else {
        let after = Rope::from_str(&change.text);
        let edits = EditSet::between(text, &after);
        return (after, edits);
    };
    let (from, to) = (offset_of(text, from, encoding), offset_of(text, to, encoding));
    let range = from.min(to)..from.max(to);
    let (start, end) = (text.byte_to_char(range.start), text.byte_to_char(range.end));
    let mut after = text.clone();
    after.remove(start..end);
    after.insert(start, &change.text);
    (after, EditSet::replacing(text, range, &change.text))
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
