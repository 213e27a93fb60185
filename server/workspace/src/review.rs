//! The agent's changes of one text as hunks that the user decides on one by one. Knows no files, no rows and nobody to tell.
//!
//! Two texts are kept: `now`, and `base`, which is `now` without what the agent changed and the user has not decided on. Where no hunk is, both are the same:
//! what the user types there goes into both. Whatever goes in and out is whole lines.

mod hunks;
mod typed;

use std::collections::BTreeSet;
use std::ops::Range;

use ropey::Rope;
use serde::{Deserialize, Serialize};

use crate::edit::{EditError, EditSet, TextEdit, changed_lines, common_ends};
use hunks::{Hunk, mapped, replace};

/// The same for as long as the hunk is there, however lines move; no other hunk of the session has it. Below 2^53, so that every JSON reader keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HunkId(pub u64);

/// How a hunk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HunkState {
    Undecided,
    Accepted,
    Rejected,
    /// The user has overwritten it: there is nothing left to decide.
    Outdated,
}

/// The hunks of one text at one moment. Equal edits in equal order give equal hunks with equal ids.
#[derive(Debug, Clone)]
pub struct Review {
    base: Rope,
    now: Rope,
    /// Undecided, in their order, not overlapping.
    hunks: Vec<Hunk>,
    settled: Vec<Settled>,
}

/// A hunk that is no difference any more.
#[derive(Debug, Clone)]
struct Settled {
    id: HunkId,
    state: HunkState,
    changes: Vec<u64>,
    /// Bytes of `now`: where it stands in it, as far as it still does.
    at: Range<usize>,
    old: String,
    new: String,
}

/// A hunk as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedHunk {
    pub id: HunkId,
    pub state: HunkState,
    /// The numbers of the edits that made it, in their order.
    pub changes: Vec<u64>,
    /// Bytes of `base` and of `now`, whole lines.
    pub base: Range<usize>,
    pub now: Range<usize>,
    pub old: String,
    pub new: String,
}

impl Review {
    pub fn new(text: Rope) -> Self {
        Self { base: text.clone(), now: text, hunks: Vec::new(), settled: Vec::new() }
    }

    /// The text without the undecided hunks.
    pub fn base(&self) -> &Rope {
        &self.base
    }

    pub fn now(&self) -> &Rope {
        &self.now
    }

    pub fn is_decided(&self) -> bool {
        self.hunks.is_empty()
    }

    /// Whether it has any, decided or not.
    pub fn has_hunks(&self) -> bool {
        !(self.hunks.is_empty() && self.settled.is_empty())
    }

    /// All of them by their place in `now`, also those that were decided.
    pub fn hunks(&self) -> Vec<ReviewedHunk> {
        let text = |rope: &Rope, range: &Range<usize>| rope.byte_slice(range.clone()).to_string();
        let undecided = self.hunks.iter().map(|hunk| ReviewedHunk {
            id: hunk.id,
            state: HunkState::Undecided,
            changes: hunk.changes.clone(),
            base: hunk.base.clone(),
            now: hunk.now.clone(),
            old: text(&self.base, &hunk.base),
            new: text(&self.now, &hunk.now),
        });
        let settled = self.settled.iter().map(|settled| ReviewedHunk {
            id: settled.id,
            state: settled.state,
            changes: settled.changes.clone(),
            base: self.in_base(settled.at.start)..self.in_base(settled.at.end),
            now: settled.at.clone(),
            old: settled.old.clone(),
            new: settled.new.clone(),
        });
        let mut all: Vec<ReviewedHunk> = undecided.chain(settled).collect();
        all.sort_by_key(|hunk| (hunk.now.start, hunk.now.end));
        all
    }

    /// The agent made `after` of the present text. `change` is the number of this edit, larger than those before it: hunks are named by it.
    ///
    /// Hunks that it touches become one with it, and are told apart anew by their lines: the oldest keeps its id, a part without one gets its own.
    pub fn agent_edit(&mut self, after: &Rope, change: u64) {
        self.authored(after, change, |_| true);
    }

    /// The user made `after` of the present text: outside of hunks both texts follow.
    ///
    /// Of a hunk that only adds lines, those that the user leaves alone stay one hunk, or two around his own, the first with the id. Any other hunk that he
    /// changes is his: outdated, or gone where he has restored what was there before.
    pub fn user_edit(&mut self, after: &Rope) {
        // From the end, so that what is before a change still stands where the change says.
        for change in changed_lines(&self.now, after).into_iter().rev() {
            let text = after.byte_slice(change.new).to_string();
            self.typed(&change.old, &text);
        }
        self.now = after.clone();
        self.settle_broken_lines();
    }

    /// The user had earlier edits of the agent taken back, which made `after` of the present text. What that does to hunks is done as by the agent, so that a
    /// hunk of which nothing is left is gone; elsewhere he has decided himself.
    pub fn taken_back(&mut self, after: &Rope, change: u64) {
        self.authored(after, change, |is_in_hunk| is_in_hunk);
    }

    /// The hunk's text stays. `false` where it is not undecided.
    pub fn accept(&mut self, id: HunkId) -> bool {
        let Some(index) = self.index(id) else { return false };
        let hunk = &self.hunks[index];
        let text = self.now.byte_slice(hunk.now.clone()).to_string();
        self.settle(index, HunkState::Accepted, &text);
        true
    }

    /// The edit of `now` that puts the base's lines into the place of the undecided ones among `ids`, and moves nothing else.
    pub fn rejection(&self, ids: &BTreeSet<HunkId>) -> Result<EditSet, EditError> {
        let edits = self.hunks.iter().filter(|hunk| ids.contains(&hunk.id)).map(|hunk| {
            let old = self.now.byte_slice(hunk.now.clone()).to_string();
            let new = self.base.byte_slice(hunk.base.clone()).to_string();
            let (prefix, suffix) = common_ends(&old, &new);
            let text = new[prefix..new.len() - suffix].to_owned();
            TextEdit { range: hunk.now.start + prefix..hunk.now.end - suffix, text }
        });
        EditSet::new(&self.now, edits.collect())
    }

    /// The base's lines are in the hunk's place again. `false` where it is not undecided.
    pub fn reject(&mut self, id: HunkId) -> bool {
        let Some(index) = self.index(id) else { return false };
        let hunk = &self.hunks[index];
        let text = self.base.byte_slice(hunk.base.clone()).to_string();
        self.settle(index, HunkState::Rejected, &text);
        true
    }

    /// What is undecided is the user's now: he has made another thing of the whole.
    pub fn outdate(&mut self) {
        while let Some(index) = self.hunks.len().checked_sub(1) {
            let text = self.now.byte_slice(self.hunks[index].now.clone()).to_string();
            self.settle(index, HunkState::Outdated, &text);
        }
    }

    pub fn state(&self, id: HunkId) -> Option<HunkState> {
        if self.index(id).is_some() {
            return Some(HunkState::Undecided);
        }
        self.settled.iter().rfind(|settled| settled.id == id).map(|settled| settled.state)
    }

    fn index(&self, id: HunkId) -> Option<usize> {
        self.hunks.iter().position(|hunk| hunk.id == id)
    }

    /// Puts `text` into the hunk's place in both texts: it is no difference any more.
    fn settle(&mut self, index: usize, state: HunkState, text: &str) {
        let hunk = self.hunks.remove(index);
        let old = self.base.byte_slice(hunk.base.clone()).to_string();
        let new = self.now.byte_slice(hunk.now.clone()).to_string();
        if old != text {
            replace(&mut self.base, &hunk.base, text);
        }
        if new != text {
            self.replace_now(&hunk.now, text);
        }
        self.shift(index, &hunk.base, text.len(), &hunk.now, text.len());
        let at = hunk.now.start..hunk.now.start + text.len();
        self.settled.push(Settled { id: hunk.id, state, changes: hunk.changes, at, old, new });
    }

    /// Moves the hunks from `index` on, behind a place where both texts were changed.
    fn shift(&mut self, index: usize, base: &Range<usize>, base_len: usize, now: &Range<usize>, now_len: usize) {
        let shifted = |range: &Range<usize>, place: &Range<usize>, len: usize| {
            range.start - place.len() + len..range.end - place.len() + len
        };
        for hunk in &mut self.hunks[index..] {
            hunk.base = shifted(&hunk.base, base, base_len);
            hunk.now = shifted(&hunk.now, now, now_len);
        }
    }

    /// Changes `now`, and moves what is settled.
    fn replace_now(&mut self, place: &Range<usize>, text: &str) {
        replace(&mut self.now, place, text);
        for settled in &mut self.settled {
            settled.at = mapped(&settled.at, place, text.len());
        }
    }

    /// Where a byte of `now` stands in `base`; inside of a hunk it is the hunk's start.
    fn in_base(&self, at: usize) -> usize {
        let before = self.hunks.partition_point(|hunk| hunk.now.end <= at);
        if let Some(around) = self.hunks.get(before).filter(|hunk| hunk.now.start < at) {
            return around.base.start;
        }
        match before.checked_sub(1).map(|last| &self.hunks[last]) {
            Some(last) => last.base.end + (at - last.now.end),
            None => at,
        }
    }
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;
