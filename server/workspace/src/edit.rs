//! An edit as a value: made for one text, it can be applied, inverted, composed, and moved over somebody else's edit.
//!
//! The idea of an edit that knows the length of its text is that of operational transformation and of Helix's `ChangeSet`.

use std::ops::Range;

use ropey::Rope;
use serde::{Deserialize, Serialize};

/// Replaces a byte range of the base text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextEdit {
    pub range: Range<usize>,
    pub text: String,
}

/// Edits of one text in ascending order, not overlapping, all relative to the base text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditSet {
    base_len: usize,
    edits: Vec<TextEdit>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the edit was made for a text of {expected} bytes, this one has {found}")]
    WrongBase { expected: usize, found: usize },
    #[error("two edits overlap at byte {at}")]
    Overlap { at: usize },
    #[error("byte {at} is outside the text or inside a character")]
    BadOffset { at: usize },
    /// The other author changed the same place.
    #[error("the text at byte {at} was changed by somebody else")]
    Conflict { at: usize },
}

impl EditSet {
    /// Sorts `edits`; refuses overlaps and offsets that are outside of `base` or inside a character.
    pub fn new(base: &Rope, edits: Vec<TextEdit>) -> Result<Self, EditError> {
        let _ = (base, edits);
        todo!()
    }

    /// The smallest edit by lines, then by characters inside changed lines, that makes `after` of `before`.
    pub fn between(before: &Rope, after: &Rope) -> Self {
        let _ = (before, after);
        todo!()
    }

    pub fn edits(&self) -> &[TextEdit] {
        &self.edits
    }

    pub fn base_len(&self) -> usize {
        self.base_len
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    pub fn apply(&self, base: &Rope) -> Result<Rope, EditError> {
        let _ = base;
        todo!()
    }

    /// The edit that takes the result of `apply(base)` back to `base`.
    pub fn invert(&self, base: &Rope) -> Result<EditSet, EditError> {
        let _ = base;
        todo!()
    }

    /// First `self`, then `next` (made for the text after `self`), as one edit of `base`.
    pub fn compose(&self, base: &Rope, next: &EditSet) -> Result<EditSet, EditError> {
        let _ = (base, next);
        todo!()
    }

    /// This edit, made for the same base as `theirs`, as an edit of the text after `theirs`. Touching ranges are no conflict; overlapping ones are.
    pub fn rebase(&self, theirs: &EditSet) -> Result<EditSet, EditError> {
        let _ = theirs;
        todo!()
    }

    /// Where a byte offset of the base lies after the edit; inside a replaced range it is that range's end.
    pub fn map_offset(&self, offset: usize) -> usize {
        let _ = offset;
        todo!()
    }
}
