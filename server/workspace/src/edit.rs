//! An edit as a value: made for one text, it can be applied, inverted, composed, and moved over somebody else's edit. It does not know whose text it is.
//!
//! The idea of an edit that knows the length of its text is that of operational transformation and of Helix's `ChangeSet`.

mod between;
mod compose;

use std::ops::Range;

use ropey::Rope;
use serde::{Deserialize, Serialize};

pub(crate) use between::{LineChange, changed_lines, common_ends, equal_ends, lines};

/// Replaces a byte range of the base text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextEdit {
    pub range: Range<usize>,
    pub text: String,
}

/// Edits of one text in ascending order, not overlapping, all relative to the base text. Edits that touch are one, and none is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
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
    /// Sorts `edits`; refuses overlaps and offsets that are outside of `base` or inside a character. Of insertions at one place the first stays first.
    pub fn new(base: &Rope, edits: Vec<TextEdit>) -> Result<Self, EditError> {
        for edit in &edits {
            char_at(base, edit.range.start)?;
            char_at(base, edit.range.end)?;
        }
        Self::checked(base.len_bytes(), edits)
    }

    /// The same for a text in one piece.
    pub(crate) fn of_str(base: &str, edits: Vec<TextEdit>) -> Result<Self, EditError> {
        let mut ends = edits.iter().flat_map(|edit| [edit.range.start, edit.range.end]);
        match ends.find(|at| !base.is_char_boundary(*at)) {
            Some(at) => Err(EditError::BadOffset { at }),
            None => Self::checked(base.len(), edits),
        }
    }

    /// The smallest edit by lines, then by words and characters inside changed lines, that makes `after` of `before`.
    pub fn between(before: &Rope, after: &Rope) -> Self {
        between::between(before, after)
    }

    pub fn edits(&self) -> &[TextEdit] {
        &self.edits
    }

    /// Bytes.
    pub fn base_len(&self) -> usize {
        self.base_len
    }

    /// Bytes of the text after the edit.
    pub fn after_len(&self) -> usize {
        let removed: usize = self.edits.iter().map(|edit| edit.range.len()).sum();
        let added: usize = self.edits.iter().map(|edit| edit.text.len()).sum();
        self.base_len - removed + added
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    pub fn apply(&self, base: &Rope) -> Result<Rope, EditError> {
        self.check_base(base)?;
        let mut text = base.clone();
        // From the end, so that the offsets before stay those of the base.
        for edit in self.edits.iter().rev() {
            let (start, end) = (char_at(base, edit.range.start)?, char_at(base, edit.range.end)?);
            text.remove(start..end);
            text.insert(start, &edit.text);
        }
        Ok(text)
    }

    /// The same for a text in one piece.
    pub(crate) fn apply_str(&self, base: &str) -> Result<String, EditError> {
        if base.len() != self.base_len {
            return Err(EditError::WrongBase { expected: self.base_len, found: base.len() });
        }
        let mut text = String::with_capacity(self.after_len());
        let mut done = 0;
        for edit in &self.edits {
            text.push_str(base.get(done..edit.range.start).ok_or(EditError::BadOffset { at: edit.range.start })?);
            text.push_str(&edit.text);
            done = edit.range.end;
        }
        text.push_str(base.get(done..).ok_or(EditError::BadOffset { at: done })?);
        Ok(text)
    }

    /// The edit that takes the result of `apply(base)` back to `base`.
    pub fn invert(&self, base: &Rope) -> Result<EditSet, EditError> {
        self.check_base(base)?;
        let mut edits = Vec::with_capacity(self.edits.len());
        let (mut removed, mut added) = (0, 0);
        for edit in &self.edits {
            let old = base
                .get_byte_slice(edit.range.clone())
                .ok_or(EditError::BadOffset { at: edit.range.start })?
                .to_string();
            let start = edit.range.start - removed + added;
            edits.push(TextEdit { range: start..start + edit.text.len(), text: old });
            removed += edit.range.len();
            added += edit.text.len();
        }
        Ok(Self::from_sorted(self.after_len(), edits))
    }

    /// First `self`, then `next` (made for the text after `self`), as one edit of `base`.
    pub fn compose(&self, base: &Rope, next: &EditSet) -> Result<EditSet, EditError> {
        self.check_base(base)?;
        compose::compose(self, next)
    }

    /// This edit, made for the same base as `theirs`, as an edit of the text after `theirs`. Touching ranges are no conflict; overlapping ones are.
    /// Where both insert at one place, their text comes first.
    pub fn rebase(&self, theirs: &EditSet) -> Result<EditSet, EditError> {
        if self.base_len != theirs.base_len {
            return Err(EditError::WrongBase { expected: self.base_len, found: theirs.base_len });
        }
        let mut others = theirs.edits.iter().peekable();
        let (mut removed, mut added) = (0, 0);
        let mut edits = Vec::with_capacity(self.edits.len());
        for TextEdit { range, text } in &self.edits {
            while let Some(other) = others.next_if(|other| other.range.end <= range.start) {
                removed += other.range.len();
                added += other.text.len();
            }
            if let Some(other) = others.peek().filter(|other| other.range.start < range.end) {
                return Err(EditError::Conflict { at: range.start.max(other.range.start) });
            }
            edits.push(TextEdit {
                range: range.start - removed + added..range.end - removed + added,
                text: text.clone(),
            });
        }
        Ok(Self::from_sorted(theirs.after_len(), edits))
    }

    /// Where a byte offset of the base lies after the edit: text inserted at it comes before it, inside a replaced range it is that range's end. Beyond
    /// the text is its end.
    pub fn map_offset(&self, offset: usize) -> usize {
        let offset = offset.min(self.base_len);
        let (mut removed, mut added) = (0, 0);
        for edit in &self.edits {
            if edit.range.end <= offset {
                removed += edit.range.len();
                added += edit.text.len();
            } else if edit.range.start < offset {
                return edit.range.start - removed + added + edit.text.len();
            } else {
                break;
            }
        }
        offset - removed + added
    }

    /// The same edit with no end of a range between `\r` and `\n`, which no position of an editor can name. To be asked for before an edit is sent.
    pub fn with_whole_line_breaks(&self, base: &Rope) -> EditSet {
        let inside = |at: usize| at > 0 && base.get_byte(at) == Some(b'\n') && base.get_byte(at - 1) == Some(b'\r');
        let widened = self.edits.iter().cloned().map(|mut edit| {
            if inside(edit.range.start) {
                edit.text.insert(0, '\r');
                edit.range.start -= 1;
                if edit.range.end == edit.range.start + 1 {
                    edit.text.push('\n');
                    edit.range.end += 1;
                }
            }
            if inside(edit.range.end) {
                edit.text.push('\n');
                edit.range.end += 1;
            }
            edit
        });
        Self::from_sorted(self.base_len, widened)
    }

    /// Replaces one range of `base`, whose ends lie between characters of it, and leaves alone what is equal at its ends.
    pub(crate) fn replacing(base: &Rope, range: Range<usize>, new: &str) -> Self {
        let old = base.byte_slice(range.clone()).to_string();
        let (prefix, suffix) = common_ends(&old, new);
        let text = new[prefix..new.len() - suffix].to_owned();
        Self::single(base.len_bytes(), range.start + prefix..range.end - suffix, text)
    }

    /// One edit of a text of `base_len` bytes; the caller knows that its ends lie in that text.
    pub(crate) fn single(base_len: usize, range: Range<usize>, text: String) -> Self {
        Self::from_sorted(base_len, [TextEdit { range, text }])
    }

    /// Of edits that the caller knows to be in order and inside of the text.
    pub(crate) fn sorted(base_len: usize, edits: Vec<TextEdit>) -> Self {
        Self::from_sorted(base_len, edits)
    }

    /// First `self`, then `next`, as one.
    pub(crate) fn then(&self, next: &EditSet) -> Result<EditSet, EditError> {
        compose::compose(self, next)
    }

    /// Each edit made for the text after the one before it, as one. `edits` is not empty.
    pub(crate) fn compose_all(mut edits: Vec<EditSet>) -> Result<Option<EditSet>, EditError> {
        // In pairs, so that a thousand small edits do not copy all that came before them a thousand times.
        while edits.len() > 1 {
            edits = edits
                .chunks(2)
                .map(|pair| match pair {
                    [first, next] => compose::compose(first, next),
                    rest => Ok(rest[0].clone()),
                })
                .collect::<Result<_, _>>()?;
        }
        Ok(edits.pop())
    }

    fn checked(base_len: usize, mut edits: Vec<TextEdit>) -> Result<Self, EditError> {
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let mut end = 0;
        for edit in &edits {
            if edit.range.end > base_len || edit.range.start > edit.range.end {
                return Err(EditError::BadOffset { at: edit.range.end });
            }
            if edit.range.start < end {
                return Err(EditError::Overlap { at: edit.range.start });
            }
            end = edit.range.end;
        }
        Ok(Self::from_sorted(base_len, edits))
    }

    /// Of edits that are in order and inside of the text: joins those that touch, leaves out those that do nothing.
    fn from_sorted(base_len: usize, edits: impl IntoIterator<Item = TextEdit>) -> Self {
        let mut joined: Vec<TextEdit> = Vec::new();
        for edit in edits.into_iter().filter(|edit| !edit.range.is_empty() || !edit.text.is_empty()) {
            match joined.last_mut() {
                Some(last) if last.range.end == edit.range.start => {
                    last.range.end = edit.range.end;
                    last.text.push_str(&edit.text);
                }
                _ => joined.push(edit),
            }
        }
        Self { base_len, edits: joined }
    }

    fn check_base(&self, base: &Rope) -> Result<(), EditError> {
        if base.len_bytes() == self.base_len {
            return Ok(());
        }
        Err(EditError::WrongBase { expected: self.base_len, found: base.len_bytes() })
    }
}

/// An edit set as it comes from a store or a wire: order and ends are checked again, so that it cannot panic later.
#[derive(Deserialize)]
struct Unchecked {
    base_len: usize,
    edits: Vec<TextEdit>,
}

impl TryFrom<Unchecked> for EditSet {
    type Error = EditError;

    fn try_from(set: Unchecked) -> Result<Self, EditError> {
        Self::checked(set.base_len, set.edits)
    }
}

/// The index of the character that starts at byte `at`.
fn char_at(text: &Rope, at: usize) -> Result<usize, EditError> {
    text.try_byte_to_char(at).ok().filter(|char| text.char_to_byte(*char) == at).ok_or(EditError::BadOffset { at })
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
