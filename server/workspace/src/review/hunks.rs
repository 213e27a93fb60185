//! What an edit of the agent does to hunks: they grow, join and fall apart, and keep their ids as far as their lines do.

use std::ops::Range;

use ropey::Rope;

use super::{HunkId, Review};
use crate::edit::{LineChange, changed_lines};

/// A difference of `base` and `now` that the user has not decided on.
#[derive(Debug, Clone)]
pub(super) struct Hunk {
    pub(super) id: HunkId,
    /// Bytes of `base`.
    pub(super) base: Range<usize>,
    /// Bytes of `now`.
    pub(super) now: Range<usize>,
    pub(super) changes: Vec<u64>,
}

/// The place of one change, with the hunks that it touches.
struct Region {
    hunks: Range<usize>,
    base: Range<usize>,
    now: Range<usize>,
}

impl Review {
    /// `is_agents`: whether a change is, that touches hunks or none.
    pub(super) fn authored(&mut self, after: &Rope, change: u64, is_agents: impl Fn(bool) -> bool) {
        let mut named = 0;
        // From the end, so that what is before a change still stands where the change says.
        for LineChange { old, new } in changed_lines(&self.now, after).into_iter().rev() {
            let text = after.byte_slice(new).to_string();
            let region = self.region(&old);
            if is_agents(!region.hunks.is_empty()) {
                self.redivide(region, &old, &text, change, &mut named);
            } else {
                self.typed(&old, &text);
            }
        }
        self.now = after.clone();
        self.settle_broken_lines();
    }

    /// The hunks that a change of these bytes of `now` overlaps or touches, with all the lines of either.
    fn region(&self, old: &Range<usize>) -> Region {
        let first = self.hunks.partition_point(|hunk| hunk.now.end < old.start);
        let count = self.hunks[first..].iter().take_while(|hunk| hunk.now.start <= old.end).count();
        self.around(old, first..first + count)
    }

    /// The lines of these hunks and of the change, which overlaps or touches them all.
    pub(super) fn around_hunks(&self, old: &Range<usize>, hunks: Range<usize>) -> (Range<usize>, Range<usize>) {
        let Region { base, now, .. } = self.around(old, hunks);
        (base, now)
    }

    fn around(&self, old: &Range<usize>, hunks: Range<usize>) -> Region {
        let start = match hunks.start.checked_sub(1).map(|last| &self.hunks[last]) {
            Some(last) => last.base.end + (old.start - last.now.end),
            None => old.start,
        };
        let touched = &self.hunks[hunks.clone()];
        let (Some(first), Some(last)) = (touched.first(), touched.last()) else {
            return Region { hunks, base: start..start + old.len(), now: old.clone() };
        };
        let before = first.now.start.saturating_sub(old.start);
        let behind = old.end.saturating_sub(last.now.end);
        Region {
            hunks,
            base: first.base.start - before..last.base.end + behind,
            now: first.now.start - before..last.now.end + behind,
        }
    }

    /// Puts `text` into the place `old` of `now`, and tells the lines of the region apart anew.
    fn redivide(&mut self, region: Region, old: &Range<usize>, text: &str, change: u64, named: &mut u64) {
        let Region { hunks, base, now } = region;
        self.replace_now(old, text);
        let delta = |at: usize| at - old.len() + text.len();
        let now = now.start..delta(now.end);
        let edited = old.start..old.start + text.len();
        let mut parents: Vec<Hunk> = self.hunks.drain(hunks.clone()).collect();
        for parent in &mut parents {
            parent.now = mapped(&parent.now, old, text.len());
        }
        // The oldest first: where several become one, its id stays.
        parents.sort_by_key(|parent| (parent.changes.first().copied(), parent.base.start));
        let (before, after) = (self.base.byte_slice(base.clone()).into(), self.now.byte_slice(now.clone()).into());
        let runs = changed_lines(&before, &after);
        let parts = runs.into_iter().map(|run| Hunk {
            id: HunkId(0),
            base: base.start + run.old.start..base.start + run.old.end,
            now: now.start + run.new.start..now.start + run.new.end,
            changes: Vec::new(),
        });
        let mut parts: Vec<Hunk> = parts.collect();
        let mut has_id = vec![false; parts.len()];
        for parent in &parents {
            let of = |is_part: fn(&Hunk, &Hunk) -> bool| {
                parts.iter().enumerate().position(|(index, part)| !has_id[index] && is_part(part, parent))
            };
            if let Some(index) = of(overlaps).or_else(|| of(touches)) {
                has_id[index] = true;
                parts[index].id = parent.id;
            }
        }
        for part in &mut parts {
            let is_edited = meets(&part.now, &edited);
            let mut changes: Vec<u64> = Vec::new();
            for parent in parents.iter().filter(|parent| touches(part, parent)) {
                changes.extend(&parent.changes);
            }
            if is_edited || changes.is_empty() {
                changes.push(change);
            }
            changes.sort_unstable();
            changes.dedup();
            part.changes = changes;
        }
        let (base_len, now_len) = (base.len(), now.len());
        for (part, has_id) in parts.iter_mut().zip(has_id) {
            if !has_id {
                part.id = self.new_id(&parents, *b"made", change, named);
            }
        }
        let count = parts.len();
        self.hunks.splice(hunks.start..hunks.start, parts);
        let was = now.start..now.end - text.len() + old.len();
        self.shift(hunks.start + count, &(base.start..base.start + base_len), base_len, &was, now_len);
    }

    /// An id that none of this text's hunks has, nor had, nor one of `others`; `number` moves on.
    pub(super) fn new_id(&self, others: &[Hunk], kind: [u8; 4], of: u64, number: &mut u64) -> HunkId {
        loop {
            let id = HunkId::named(kind, of, *number);
            *number += 1;
            let is_taken = self.state(id).is_some() || others.iter().any(|hunk| hunk.id == id);
            if !is_taken {
                return id;
            }
        }
    }
}

impl HunkId {
    /// Bits of an id.
    const BITS: u32 = 53;

    /// The same for the same: by the kind of its making, what it was made of, and a number within that.
    pub fn named(kind: [u8; 4], of: u64, number: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&kind).update(&of.to_le_bytes()).update(&number.to_le_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Self(u64::from_le_bytes(first) >> (u64::BITS - Self::BITS))
    }
}

/// Whether both have lines of one text in common.
fn overlaps(a: &Hunk, b: &Hunk) -> bool {
    let in_common = |a: &Range<usize>, b: &Range<usize>| a.start.max(b.start) < a.end.min(b.end);
    in_common(&a.base, &b.base) || in_common(&a.now, &b.now)
}

fn touches(a: &Hunk, b: &Hunk) -> bool {
    meets(&a.base, &b.base) || meets(&a.now, &b.now)
}

fn meets(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// Where a range lies after `len` bytes were put into `place`: text that is put in at one of its ends is outside of it.
pub(super) fn mapped(range: &Range<usize>, place: &Range<usize>, len: usize) -> Range<usize> {
    let start = if range.start >= place.end { range.start - place.len() + len } else { range.start.min(place.start) };
    let end = if range.end <= place.start {
        range.end
    } else if range.end >= place.end {
        range.end - place.len() + len
    } else {
        place.start + len
    };
    start..end.max(start)
}

/// The ends of `place` lie between characters.
pub(super) fn replace(text: &mut Rope, place: &Range<usize>, new: &str) {
    let (start, end) = (text.byte_to_char(place.start), text.byte_to_char(place.end));
    text.remove(start..end);
    text.insert(start, new);
}
