//! What the user's own edit does to hunks: nothing of his is ever inside of one.

use std::ops::Range;

use ropey::Rope;

use super::hunks::{Hunk, replace};
use super::{HunkState, Review, Settled};

impl Review {
    /// The user has put `text` into the place `old` of `now`, whole lines both.
    pub(super) fn typed(&mut self, old: &Range<usize>, text: &str) {
        let first = self.hunks.partition_point(|hunk| hunk.now.end <= old.start);
        let count = self.hunks[first..].iter().take_while(|hunk| hunk.now.start < old.end).count();
        let touched = first..first + count;
        let (base, now) = self.around_hunks(old, touched.clone());
        let before = self.now.byte_slice(now.start..old.start).to_string();
        let behind = self.now.byte_slice(old.end..now.end).to_string();
        let whole = format!("{before}{text}{behind}");
        let is_restored = !touched.is_empty() && self.base.byte_slice(base.clone()) == whole.as_str();
        let hunks: Vec<Hunk> = self.hunks.drain(touched.clone()).collect();
        let texts: Vec<(String, String)> = hunks.iter().map(|hunk| self.texts(hunk)).collect();
        self.replace_now(old, text);
        let after = now.start..now.start + whole.len();
        if is_restored {
            self.shift(touched.start, &base, base.len(), &now, whole.len());
            return;
        }
        // Lines of a hunk that only adds stay the agent's: those before the user's, and those behind.
        let adds = |hunk: Option<&Hunk>| hunk.filter(|hunk| hunk.base.is_empty()).cloned();
        let left = adds(hunks.first()).filter(|_| !before.is_empty());
        let right = adds(hunks.last()).filter(|_| !behind.is_empty());
        let is_one = hunks.len() == 1;
        let users = match (&left, &right) {
            (Some(_), Some(_)) => text.to_owned(),
            (Some(_), None) => format!("{text}{behind}"),
            (None, Some(_)) => format!("{before}{text}"),
            (None, None) => whole.clone(),
        };
        replace(&mut self.base, &base, &users);
        let start = after.start + if left.is_some() { before.len() } else { 0 };
        let end = after.end - if right.is_some() { behind.len() } else { 0 };
        for (hunk, (old, new)) in hunks.iter().zip(texts) {
            let is_kept = [&left, &right].into_iter().flatten().any(|kept| kept.id == hunk.id);
            let is_taken_away = hunk.base.is_empty() && text.is_empty();
            if !is_kept && !is_taken_away {
                let (id, changes) = (hunk.id, hunk.changes.clone());
                self.settled.push(Settled { id, state: HunkState::Outdated, changes, at: start..end, old, new });
            }
        }
        let mut kept: Vec<Hunk> = Vec::new();
        if let Some(mut left) = left {
            left.base = base.start..base.start;
            left.now = after.start..after.start + before.len();
            kept.push(left);
        }
        if let Some(mut right) = right {
            let at = base.start + users.len();
            let now = after.end - behind.len()..after.end;
            match kept.last_mut() {
                // With nothing of the user's between them they are one.
                Some(left) if text.is_empty() => {
                    if right.changes.first() < left.changes.first() {
                        left.id = right.id;
                    }
                    left.changes.extend(right.changes);
                    left.changes.sort_unstable();
                    left.changes.dedup();
                    left.now.end = now.end;
                }
                left => {
                    if left.is_some() && is_one {
                        // Named by its place in the whole, so that it stays the same when what is before it is divided again.
                        let mut offset = (old.end - right.now.start) as u64;
                        right.id = self.new_id(&hunks, *b"part", right.id.0, &mut offset);
                    }
                    (right.base, right.now) = (at..at, now);
                    kept.push(right);
                }
            }
        }
        let count = kept.len();
        self.hunks.splice(touched.start..touched.start, kept);
        self.shift(touched.start + count, &base, users.len(), &now, whole.len());
    }

    /// A hunk is whole lines of both texts: where the user has taken the line break before it away, or has written behind a last line without one, it is his.
    pub(super) fn settle_broken_lines(&mut self) {
        let is_broken = |review: &Self, hunk: &Hunk| {
            [(&review.base, &hunk.base), (&review.now, &hunk.now)].into_iter().any(|(text, range)| {
                !ends_line(text, range.start) || !ends_line(text, range.end) && range.end < text.len_bytes()
            })
        };
        while let Some(index) = self.hunks.iter().position(|hunk| is_broken(self, hunk)) {
            let text = self.now.byte_slice(self.hunks[index].now.clone()).to_string();
            self.settle(index, HunkState::Outdated, &text);
        }
    }

    fn texts(&self, hunk: &Hunk) -> (String, String) {
        let text = |rope: &Rope, range: &Range<usize>| rope.byte_slice(range.clone()).to_string();
        (text(&self.base, &hunk.base), text(&self.now, &hunk.now))
    }
}

fn ends_line(text: &Rope, at: usize) -> bool {
    at.checked_sub(1).and_then(|last| text.get_byte(last)).is_none_or(|last| matches!(last, b'\n' | b'\r'))
}
