//! Who changed what: every edit of a document or file with its author, in order. What undo by author stands on.

use ropey::Rope;

use crate::edit::{EditSet, TextEdit, common_ends};
use crate::path::DocKey;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    User,
    /// `label` names session, turn and call, as the engine writes it.
    Agent {
        label: String,
    },
}

#[derive(Debug, Clone)]
pub struct LoggedEdit {
    pub key: DocKey,
    pub author: Author,
    /// The document's version after the edit; `None` for files that were not open.
    pub version: Option<i32>,
    pub edits: EditSet,
}

/// Edits of all documents in the order in which they came.
#[derive(Debug, Default)]
pub struct ChangeLog {
    edits: Vec<LoggedEdit>,
}

impl ChangeLog {
    pub fn record(&mut self, edit: LoggedEdit) {
        self.edits.push(edit);
    }

    pub fn of<'a>(&'a self, key: &'a DocKey) -> impl Iterator<Item = &'a LoggedEdit> {
        self.edits.iter().filter(move |edit| edit.key == *key)
    }
}

/// Splits the change `seen` (what a `didChange` did to the base) into the agent's expected edit and the user's remainder (an edit of the text after
/// the agent's). `None` where the agent's edit is not in it.
///
/// The agent's edit is in it where all that it removes is removed, and all that it adds stands in its place, whole and in order. The two are compared as
/// they came, and where that fails as differences of the texts: an editor may report one change by other ranges than it was sent.
pub fn split_by_author(base: &Rope, expected: &EditSet, seen: &EditSet) -> Option<EditSet> {
    let ours = expected.apply(base).ok()?;
    let result = seen.apply(base).ok()?;
    if ours == result {
        return EditSet::new(&ours, Vec::new()).ok();
    }
    let split = |expected: &EditSet, seen: &EditSet| {
        let rest = EditSet::new(&ours, remainder(base, expected, seen)?).ok()?;
        rest.apply(&ours).is_ok_and(|after| after == result).then_some(rest)
    };
    split(expected, seen).or_else(|| split(&EditSet::between(base, &ours), &EditSet::between(base, &result)))
}

/// What is left of `seen` without `expected`, as edits of the text after `expected`.
fn remainder(base: &Rope, expected: &EditSet, seen: &EditSet) -> Option<Vec<TextEdit>> {
    let mut rest = Vec::new();
    let mut left = expected.edits();
    let mut delta = Delta::default();
    for edit in seen.edits() {
        let inside = |ours: &TextEdit| edit.range.start <= ours.range.start && ours.range.end <= edit.range.end;
        let count = left.iter().take_while(|ours| inside(ours)).count();
        let (ours, others) = left.split_at(count);
        left = others;
        let users = between_ours(base, edit, ours)?;
        let mut at = edit.range.start;
        for (index, text) in users.into_iter().enumerate() {
            let end = ours.get(index).map_or(edit.range.end, |next| next.range.start);
            let kept = base.get_byte_slice(at..end)?.to_string();
            let (prefix, suffix) = common_ends(&kept, text);
            rest.push(TextEdit {
                range: delta.map(at + prefix)..delta.map(end - suffix),
                text: text[prefix..text.len() - suffix].to_owned(),
            });
            if let Some(next) = ours.get(index) {
                delta.add(next);
                at = next.range.end;
            }
        }
    }
    // An edit that starts before the one that should hold it stops all that follow.
    left.is_empty().then_some(rest)
}

/// The texts before, between and after `ours` in the text of `edit`, whose range holds them: one more than `ours`.
fn between_ours<'a>(base: &Rope, edit: &'a TextEdit, ours: &[TextEdit]) -> Option<Vec<&'a str>> {
    let mut texts = Vec::with_capacity(ours.len() + 1);
    let mut rest = edit.text.as_str();
    let mut at = edit.range.start;
    for next in ours {
        // The user has most often left alone what stood before; else the first place that fits.
        let kept = base.get_byte_slice(at..next.range.start)?.to_string();
        let untouched = rest.strip_prefix(kept.as_str()).filter(|rest| rest.starts_with(&next.text));
        let start = if untouched.is_some() { kept.len() } else { rest.find(&next.text)? };
        texts.push(&rest[..start]);
        rest = &rest[start + next.text.len()..];
        at = next.range.end;
    }
    texts.push(rest);
    Some(texts)
}

/// How far the agent's edits have moved what follows them.
#[derive(Default)]
struct Delta {
    removed: usize,
    added: usize,
}

impl Delta {
    fn add(&mut self, edit: &TextEdit) {
        self.removed += edit.range.len();
        self.added += edit.text.len();
    }

    fn map(&self, at: usize) -> usize {
        at - self.removed + self.added
    }
}

#[cfg(test)]
#[path = "change_log_tests.rs"]
mod tests;
