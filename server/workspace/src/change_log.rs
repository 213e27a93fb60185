//! Who changed what: every edit of a document or file with its author, in order. What undo by author stands on.

use crate::edit::EditSet;
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
pub fn split_by_author(base: &ropey::Rope, expected: &EditSet, seen: &EditSet) -> Option<EditSet> {
    let _ = (base, expected, seen);
    todo!()
}
