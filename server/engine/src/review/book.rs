//! What stands in the rows of a session, replayed: each file with its hunks as they were behind the last row. What the user did in between is whatever differs
//! between one row's end and the next one's start. Pure: contents are the caller's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::file::{FileReview, Side};
use crate::ids::MessageId;
use crate::ports::{By, Change, ChangeId, FileContent};

#[derive(Debug, Clone, Default)]
pub(super) struct Book {
    /// Also those whose path another file has now.
    files: Vec<Filed>,
    at: BTreeMap<AbsPath, usize>,
    /// The rows that it is made of, in their order.
    rows: Vec<ChangeId>,
    /// The turn that each change belongs to; of what was taken back or put back, that of the agent's own change.
    turns: BTreeMap<u64, MessageId>,
    /// The rows by which something was taken back: what takes these back puts it there again.
    undos: BTreeSet<ChangeId>,
    last_turn: Option<MessageId>,
}

#[derive(Debug, Clone)]
pub(super) struct Filed {
    /// Shared with the books that this one goes on from: only the files of further rows are copied.
    pub(super) file: Arc<FileReview>,
    /// How many rows it is made of.
    pub(super) rows: usize,
}

/// Contents by their hash; without those that are not kept.
pub(super) type Contents = BTreeMap<ContentHash, Vec<u8>>;

impl Book {
    pub(super) fn files(&self) -> &[Filed] {
        &self.files
    }

    /// Of the file that stands at the path, or stood there last.
    pub(super) fn index(&self, path: &AbsPath) -> Option<usize> {
        self.at.get(path).copied()
    }

    /// The newest turn that changed something.
    pub(super) fn last_turn(&self) -> Option<&MessageId> {
        self.last_turn.as_ref()
    }

    pub(super) fn turn(&self, change: u64) -> Option<&MessageId> {
        self.turns.get(&change)
    }

    /// Of all rows of the session those that are not in it yet; `None` where it holds some that are not among them: then it has to be made anew.
    pub(super) fn news<'a>(&self, rows: &'a [Change]) -> Option<&'a [Change]> {
        let (known, news) = rows.split_at_checked(self.rows.len())?;
        known.iter().map(|row| row.id).eq(self.rows.iter().copied()).then_some(news)
    }

    /// The next row.
    pub(super) fn add(&mut self, row: &Change, contents: &Contents) {
        self.rows.push(row.id);
        let number = number(row.id);
        let [before, after] = [&row.before, &row.after].map(|content| side(content.as_ref(), contents));
        let index = self.file_at(&row.path, &before, row.before);
        let filed = &mut self.files[index];
        filed.rows += 1;
        let (Some(before), Some(after)) = (before, after) else {
            self.add_lost(index, row, contents);
            return;
        };
        let file = Arc::make_mut(&mut filed.file);
        file.user(&before);
        match &row.by {
            By::Accept { hunks } => file.accept_all(hunks),
            By::Reject { hunks } => {
                file.reject_all(hunks);
                if file.now() != after {
                    file.user(&after);
                }
            }
            By::Agent | By::Command => {
                file.stored(row.before);
                file.agent(&after, number);
                self.last_turn = Some(row.turn.clone());
                self.turns.insert(number, row.turn.clone());
            }
            By::Undo { of } => {
                let puts_back = of.iter().any(|of| self.undos.contains(of));
                if puts_back {
                    file.agent(&after, number);
                } else {
                    file.undone(&after, number);
                    self.undos.insert(row.id);
                }
                let turn = of.first().and_then(|of| self.turns.get(&self::number(*of)));
                let turn = turn.unwrap_or(&row.turn).clone();
                self.turns.insert(number, turn);
            }
        }
        let is_decision = matches!(row.by, By::Accept { .. } | By::Reject { .. });
        if let Some(to) = row.moved_to.clone().filter(|_| !is_decision) {
            Arc::make_mut(&mut self.files[index].file).moved(to, number);
        }
        self.place(index, row);
    }

    /// Of a row without its contents: what it did is not known, and so nothing of it is offered.
    fn add_lost(&mut self, index: usize, row: &Change, contents: &Contents) {
        let after = side(row.after.as_ref(), contents);
        let unknown = || row.after.map_or(Side::Absent, |after| Side::Opaque(after.hash));
        let file = Arc::make_mut(&mut self.files[index].file);
        match &row.by {
            By::Accept { hunks } => file.accept_all(hunks),
            By::Reject { .. } | By::Agent | By::Command | By::Undo { .. } => {
                file.lost(after.unwrap_or_else(unknown));
            }
        }
        self.place(index, row);
    }

    fn file_at(&mut self, path: &AbsPath, before: &Option<Side>, stored: Option<FileContent>) -> usize {
        if let Some(index) = self.at.get(path) {
            return *index;
        }
        let unknown = || stored.map_or(Side::Absent, |stored| Side::Opaque(stored.hash));
        let before = before.clone().unwrap_or_else(unknown);
        self.files.push(Filed { file: Arc::new(FileReview::new(path.clone(), before, stored)), rows: 0 });
        let index = self.files.len() - 1;
        self.at.insert(path.clone(), index);
        index
    }

    /// Where the file stands after the row.
    fn place(&mut self, index: usize, row: &Change) {
        let to = self.files[index].file.path().clone();
        if to == row.path {
            return;
        }
        self.at.remove(&row.path);
        if let Some(other) = self.at.insert(to, index)
            && other != index
        {
            Arc::make_mut(&mut self.files[other].file).outdate();
            self.files[other].rows += 1;
        }
    }
}

fn number(change: ChangeId) -> u64 {
    u64::try_from(change.0).unwrap_or_default()
}

/// `None` where it is not kept.
fn side(content: Option<&FileContent>, contents: &Contents) -> Option<Side> {
    let Some(content) = content else { return Some(Side::Absent) };
    if content.encoding.is_none() {
        return Some(Side::Opaque(content.hash));
    }
    let (text, _) = encoding::decode(contents.get(&content.hash)?).ok()?;
    Some(Side::Text(Rope::from(text)))
}
