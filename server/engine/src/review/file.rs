//! One file under review: its text line by line, or the file as a whole where it came, went, moved or is no text. Pure: contents are the caller's.

use std::collections::BTreeSet;

use copydesk_workspace::edit::EditSet;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::review::{HunkId, HunkState, Review, ReviewedHunk};
use ropey::Rope;

use super::ChangedKind;
use crate::ports::FileContent;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Side {
    Absent,
    Text(Rope),
    /// It is no text, or too large for one.
    Opaque(ContentHash),
}

/// A file with all that the agent has done to it, in the order in which it is told.
#[derive(Debug, Clone)]
pub(super) struct FileReview {
    path: AbsPath,
    /// Where the file stood before the agent's first change.
    first: AbsPath,
    /// Where the file is to stand if the move is rejected.
    origin: AbsPath,
    moved: Option<Whole>,
    is_new: bool,
    content: Content,
    /// How the base was last stored: its encoding and mode, and its bytes where it is just that.
    stored: Option<FileContent>,
    /// Of the file as a whole, and of texts that it has no longer.
    settled: Vec<ReviewedHunk>,
}

/// An undecided hunk that is the whole file.
#[derive(Debug, Clone)]
struct Whole {
    id: HunkId,
    changes: Vec<u64>,
}

#[derive(Debug, Clone)]
enum Content {
    /// `created`: in the base there is no file, and the base of the lines is empty.
    Lines { review: Review, created: Option<Whole> },
    /// Not text on both sides. Without a hunk both are the same.
    Whole { base: Side, now: Side, hunk: Option<Whole> },
}

/// What has to be done so that a rejected hunk is gone.
#[derive(Debug, Clone)]
pub(super) enum Undoing {
    /// An edit of the present text.
    Edit(EditSet),
    /// The file is the agent's alone.
    Remove,
    /// The content of before, in the place of what stands there now, be it nothing.
    Restore {
        text: Option<Rope>,
        stored: Option<FileContent>,
    },
    MoveBack {
        to: AbsPath,
    },
}

impl Side {
    fn text(&self) -> Option<&Rope> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Opaque(_) => None,
        }
    }
}

impl FileReview {
    /// `before` is what stood at `path` when the agent changed it first.
    pub(super) fn new(path: AbsPath, before: Side, stored: Option<FileContent>) -> Self {
        Self {
            first: path.clone(),
            origin: path.clone(),
            path,
            moved: None,
            is_new: before == Side::Absent,
            content: Content::same(before),
            stored,
            settled: Vec::new(),
        }
    }

    /// Where the file stands, or stood last.
    pub(super) fn path(&self) -> &AbsPath {
        &self.path
    }

    pub(super) fn now(&self) -> Side {
        match &self.content {
            Content::Lines { review, .. } => Side::Text(review.now().clone()),
            Content::Whole { now, .. } => now.clone(),
        }
    }

    /// Both texts, empty where there is none.
    pub(super) fn texts(&self) -> (Rope, Rope) {
        match &self.content {
            Content::Lines { review, .. } => (review.base().clone(), review.now().clone()),
            Content::Whole { base, now, .. } => {
                let text = |side: &Side| side.text().cloned().unwrap_or_default();
                (text(base), text(now))
            }
        }
    }

    pub(super) fn is_binary(&self) -> bool {
        let is_opaque = |side: &Side| matches!(side, Side::Opaque(_));
        matches!(&self.content, Content::Whole { base, now, .. } if is_opaque(base) || is_opaque(now))
    }

    pub(super) fn kind(&self) -> ChangedKind {
        let is_deletion = match &self.content {
            Content::Whole { base, now: Side::Absent, .. } => *base != Side::Absent || !self.is_new,
            Content::Lines { .. } | Content::Whole { .. } => false,
        };
        if is_deletion {
            ChangedKind::Deleted
        } else if self.is_new {
            ChangedKind::Created
        } else if self.first != self.path {
            ChangedKind::Moved { from: self.first.clone() }
        } else {
            ChangedKind::Modified
        }
    }

    /// Whether there is anything to list.
    pub(super) fn has_hunks(&self) -> bool {
        let has_lines = matches!(&self.content, Content::Lines { review, .. } if review.has_hunks());
        has_lines || !self.settled.is_empty() || self.whole().is_some() || self.moved.is_some()
    }

    /// The hunks of the file as a whole first, then those of its lines from the top down.
    pub(super) fn hunks(&self) -> Vec<ReviewedHunk> {
        let moved = self.moved.as_ref().map(|moved| moved.listed("", "", HunkState::Undecided));
        let (base, now, lines) = match &self.content {
            Content::Lines { review, .. } => (Rope::new(), Rope::new(), review.hunks()),
            Content::Whole { .. } => {
                let (base, now) = self.texts();
                (base, now, Vec::new())
            }
        };
        let listed = |whole: &Whole| whole.listed(&base.to_string(), &now.to_string(), HunkState::Undecided);
        let whole = self.whole().map(listed);
        self.settled.iter().cloned().chain(moved).chain(whole).chain(lines).collect()
    }

    pub(super) fn state(&self, id: HunkId) -> Option<HunkState> {
        let of_lines = match &self.content {
            Content::Lines { review, .. } => review.state(id),
            Content::Whole { .. } => None,
        };
        let is_undecided = || self.whole().into_iter().chain(&self.moved).any(|whole| whole.id == id);
        of_lines
            .or_else(|| is_undecided().then_some(HunkState::Undecided))
            .or_else(|| self.settled.iter().rfind(|hunk| hunk.id == id).map(|hunk| hunk.state))
    }

    /// The undecided hunk that is all of the content.
    fn whole(&self) -> Option<&Whole> {
        match &self.content {
            // Of an empty file there are no lines to decide on.
            Content::Lines { review, created } => {
                created.as_ref().filter(|_| review.now().len_bytes() == 0 && review.is_decided())
            }
            Content::Whole { hunk, .. } => hunk.as_ref(),
        }
    }

    /// The user, or whoever is not the agent, made the file what it is now.
    pub(super) fn user(&mut self, after: &Side) {
        match (&mut self.content, after) {
            (Content::Lines { review, .. }, Side::Text(text)) => review.user_edit(text),
            (Content::Whole { base, now, hunk }, after) => {
                if now == after {
                    return;
                }
                if base != after && hunk.is_some() {
                    self.settle_whole(HunkState::Outdated);
                }
                self.content = Content::same(after.clone());
            }
            (Content::Lines { review, created }, _) => {
                // The agent's own file, taken away by hand, is no proposal any more, and nothing of it is left to show.
                if created.is_none() || *after != Side::Absent {
                    review.outdate();
                    self.settled.extend(review.hunks().into_iter().map(nowhere));
                }
                self.content = Content::same(after.clone());
            }
        }
        if *after == Side::Absent
            && let Some(moved) = self.moved.take()
        {
            self.settled.push(moved.listed("", "", HunkState::Outdated));
        }
    }

    /// The agent made the file what it is now. `change` is the number of the edit, larger than those before it.
    pub(super) fn agent(&mut self, after: &Side, change: u64) {
        let whole = || Whole { id: HunkId::named(*b"file", change, 0), changes: vec![change] };
        let content = match (&mut self.content, after) {
            (Content::Lines { review, .. }, Side::Text(text)) => return review.agent_edit(text, change),
            (Content::Lines { review, created }, _) => {
                let base = if created.is_some() { Side::Absent } else { Side::Text(review.base().clone()) };
                let mut changes: Vec<u64> = undecided(review).flat_map(|hunk| hunk.changes).collect();
                changes.push(change);
                changes.sort_unstable();
                changes.dedup();
                let settled = review.hunks().into_iter().filter(|hunk| hunk.state != HunkState::Undecided);
                self.settled.extend(settled.map(nowhere));
                if base == *after {
                    Content::same(base)
                } else {
                    Content::Whole { base, now: after.clone(), hunk: Some(Whole { changes, ..whole() }) }
                }
            }
            (Content::Whole { base, now, .. }, after) if now == after || base == after => {
                if now == after {
                    return;
                }
                Content::same(after.clone())
            }
            (Content::Whole { base: Side::Text(base), .. }, Side::Text(text)) => {
                let mut review = Review::new(base.clone());
                review.agent_edit(text, change);
                Content::Lines { review, created: None }
            }
            (Content::Whole { base: Side::Absent, hunk, .. }, Side::Text(text)) => {
                let mut review = Review::new(Rope::new());
                review.agent_edit(text, change);
                let created = hunk.take().map_or_else(whole, |hunk| hunk.with(change));
                Content::Lines { review, created: Some(created) }
            }
            (Content::Whole { base, hunk, .. }, after) => {
                let hunk = hunk.take().map_or_else(whole, |hunk| hunk.with(change));
                Content::Whole { base: base.clone(), now: after.clone(), hunk: Some(hunk) }
            }
        };
        if let Content::Lines { created: Some(_), .. } = &content {
            self.is_new = true;
        }
        self.content = content;
    }

    /// Earlier changes of the agent were taken back for the user, which made the file what it is now.
    pub(super) fn undone(&mut self, after: &Side, change: u64) {
        match (&mut self.content, after) {
            (Content::Lines { review, .. }, Side::Text(text)) => review.taken_back(text, change),
            (Content::Lines { created: Some(_), .. }, Side::Absent) => self.content = Content::same(Side::Absent),
            (Content::Whole { hunk: Some(_), .. }, _) => self.agent(after, change),
            // What he had accepted, and took back after all.
            (Content::Lines { .. } | Content::Whole { hunk: None, .. }, _) => self.user(after),
        }
    }

    pub(super) fn moved(&mut self, to: AbsPath, change: u64) {
        let moved = self.moved.take();
        self.path = to;
        if self.is_new && self.is_undecided_creation() {
            (self.first, self.origin) = (self.path.clone(), self.path.clone());
        } else if self.path != self.origin {
            let new = || Whole { id: HunkId::named(*b"move", change, 0), changes: vec![change] };
            self.moved = Some(moved.map_or_else(new, |moved| moved.with(change)));
        }
    }

    /// What the agent did cannot be told any more, only what the file is now, where even that is known.
    pub(super) fn lost(&mut self, after: Side) {
        self.outdate();
        self.content = Content::same(after);
    }

    /// Another file stands at its path now.
    pub(super) fn outdate(&mut self) {
        if let Content::Lines { review, .. } = &mut self.content {
            review.outdate();
            self.settled.extend(review.hunks().into_iter().map(nowhere));
        }
        self.settle_whole(HunkState::Outdated);
        if let Some(moved) = self.moved.take() {
            self.settled.push(moved.listed("", "", HunkState::Outdated));
        }
        self.content = Content::same(self.now());
    }

    /// How the base is stored, where the agent changes the file for the first time since it was decided on.
    pub(super) fn stored(&mut self, before: Option<FileContent>) {
        let is_settled = match &self.content {
            Content::Lines { review, created } => review.is_decided() && created.is_none(),
            Content::Whole { hunk, .. } => hunk.is_none(),
        };
        if is_settled {
            self.stored = before;
        }
    }

    pub(super) fn accept(&mut self, id: HunkId) -> bool {
        if let Some(moved) = self.moved.take_if(|moved| moved.id == id) {
            self.origin = self.path.clone();
            self.settled.push(moved.listed("", "", HunkState::Accepted));
            return true;
        }
        match &mut self.content {
            Content::Lines { review, created } => {
                if review.accept(id) {
                    *created = None;
                    return true;
                }
                let Some(created) = created.take_if(|created| created.id == id) else { return false };
                self.settled.push(created.listed("", "", HunkState::Accepted));
                true
            }
            Content::Whole { now, hunk, .. } => {
                if hunk.as_ref().is_none_or(|hunk| hunk.id != id) {
                    return false;
                }
                let now = now.clone();
                self.settle_whole(HunkState::Accepted);
                self.content = Content::same(now);
                true
            }
        }
    }

    pub(super) fn reject(&mut self, id: HunkId) -> bool {
        if let Some(moved) = self.moved.take_if(|moved| moved.id == id) {
            self.path = self.origin.clone();
            self.settled.push(moved.listed("", "", HunkState::Rejected));
            return true;
        }
        match &mut self.content {
            Content::Lines { review, created } => {
                let whole = created.take_if(|created| created.id == id);
                if whole.is_none() && !review.reject(id) {
                    return false;
                }
                let is_gone = whole.is_some() || created.is_some() && review.now().len_bytes() == 0;
                self.settled.extend(whole.map(|whole| whole.listed("", "", HunkState::Rejected)));
                if is_gone {
                    self.settled.extend(review.hunks().into_iter().map(nowhere));
                    self.content = Content::same(Side::Absent);
                }
                true
            }
            Content::Whole { base, hunk, .. } => {
                if hunk.as_ref().is_none_or(|hunk| hunk.id != id) {
                    return false;
                }
                let base = base.clone();
                self.settle_whole(HunkState::Rejected);
                self.content = Content::same(base);
                true
            }
        }
    }

    /// Those of them that are undecided.
    pub(super) fn accept_all(&mut self, ids: &[HunkId]) {
        for id in ids {
            self.accept(*id);
        }
    }

    /// Those of them that are undecided.
    pub(super) fn reject_all(&mut self, ids: &[HunkId]) {
        for id in ids {
            self.reject(*id);
        }
    }

    /// What makes those of `ids` gone that are undecided, each step with the ids that it is for; in this order.
    pub(super) fn undoing(&self, ids: &BTreeSet<HunkId>) -> Vec<(Vec<HunkId>, Undoing)> {
        let mut steps = Vec::new();
        match &self.content {
            Content::Lines { review, created } => {
                if let Some(created) = created.as_ref().filter(|created| ids.contains(&created.id)) {
                    steps.push((vec![created.id], Undoing::Remove));
                } else if let Ok(edits) = review.rejection(ids) {
                    let chosen: Vec<HunkId> =
                        undecided(review).map(|hunk| hunk.id).filter(|hunk| ids.contains(hunk)).collect();
                    if !chosen.is_empty() {
                        let leaves_nothing = created.is_some() && edits.after_len() == 0;
                        steps.push((chosen, if leaves_nothing { Undoing::Remove } else { Undoing::Edit(edits) }));
                    }
                }
            }
            Content::Whole { base, hunk: Some(hunk), .. } if ids.contains(&hunk.id) => {
                let undoing = match base {
                    Side::Absent => Undoing::Remove,
                    Side::Text(text) => Undoing::Restore { text: Some(text.clone()), stored: self.stored },
                    Side::Opaque(_) => Undoing::Restore { text: None, stored: self.stored },
                };
                steps.push((vec![hunk.id], undoing));
            }
            Content::Whole { .. } => {}
        }
        if let Some(moved) = self.moved.as_ref().filter(|moved| ids.contains(&moved.id)) {
            steps.push((vec![moved.id], Undoing::MoveBack { to: self.origin.clone() }));
        }
        steps
    }

    fn is_undecided_creation(&self) -> bool {
        match &self.content {
            Content::Lines { created, .. } => created.is_some(),
            Content::Whole { base, .. } => *base == Side::Absent,
        }
    }

    fn settle_whole(&mut self, state: HunkState) {
        let (base, now) = self.texts();
        if let Content::Whole { hunk, .. } = &mut self.content
            && let Some(hunk) = hunk.take()
        {
            self.settled.push(nowhere(hunk.listed(&base.to_string(), &now.to_string(), state)));
        }
    }
}

impl Content {
    /// With nothing to decide on.
    fn same(side: Side) -> Self {
        match side {
            Side::Text(text) => Self::Lines { review: Review::new(text), created: None },
            other => Self::Whole { base: other.clone(), now: other, hunk: None },
        }
    }
}

impl Whole {
    fn with(mut self, change: u64) -> Self {
        self.changes.push(change);
        self
    }

    fn listed(&self, old: &str, new: &str, state: HunkState) -> ReviewedHunk {
        ReviewedHunk {
            id: self.id,
            state,
            changes: self.changes.clone(),
            base: 0..old.len(),
            now: 0..new.len(),
            old: old.to_owned(),
            new: new.to_owned(),
        }
    }
}

fn undecided(review: &Review) -> impl Iterator<Item = ReviewedHunk> {
    review.hunks().into_iter().filter(|hunk| hunk.state == HunkState::Undecided)
}

/// Of a text that the file has no longer.
fn nowhere(hunk: ReviewedHunk) -> ReviewedHunk {
    ReviewedHunk { base: 0..0, now: 0..0, ..hunk }
}
