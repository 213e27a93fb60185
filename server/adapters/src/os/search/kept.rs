//! The hits that come first in the order of their paths, whatever the order in which threads find them: so that a limit never makes an answer depend on
//! chance, and what is behind the last kept hit need not be looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

pub(super) struct Kept<T> {
    limit: usize,
    state: Mutex<State<T>>,
    /// As many hits as the limit lets through: from here on the state's last path is a bound.
    full: AtomicBool,
    more: AtomicBool,
}

struct State<T> {
    /// Paths compare component by component, so that all of a folder stands together.
    by_path: BTreeMap<PathBuf, Vec<T>>,
    count: usize,
}

impl<T> Kept<T> {
    /// `limit` is at least 1.
    pub(super) fn new(limit: usize) -> Self {
        let state = Mutex::new(State { by_path: BTreeMap::new(), count: 0 });
        Self { limit: limit.max(1), state, full: AtomicBool::new(false), more: AtomicBool::new(false) }
    }

    /// Whether a hit in this file, or below this folder, could still be kept. Where not, the answer will say that there may be more.
    pub(super) fn has_room(&self, path: &Path) -> bool {
        if !self.full.load(Ordering::Acquire) {
            return true;
        }
        let has_room = self.lock().by_path.last_key_value().is_none_or(|(last, _)| path <= last.as_path());
        if !has_room {
            self.note_more();
        }
        has_room
    }

    /// All hits of one file, in order.
    pub(super) fn add(&self, path: PathBuf, hits: Vec<T>) {
        let mut state = self.lock();
        let State { by_path, count } = &mut *state;
        *count += hits.len();
        by_path.insert(path, hits);
        // What the others fill alone is not needed.
        while let Some(last) = by_path.last_entry()
            && *count - last.get().len() >= self.limit
        {
            *count -= last.remove().len();
            self.note_more();
        }
        if *count >= self.limit {
            self.full.store(true, Ordering::Release);
        }
    }

    pub(super) fn note_more(&self) {
        self.more.store(true, Ordering::Relaxed);
    }

    /// In order, and whether there may be more.
    pub(super) fn into_hits(self) -> (Vec<T>, bool) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let more = self.more.into_inner() || state.count > self.limit;
        (state.by_path.into_values().flatten().take(self.limit).collect(), more)
    }

    /// A poisoned lock holds hits all the same: they were added whole.
    fn lock(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the order, the kept hits are those of a complete search, cut.
        #[test]
        fn the_first_in_order_are_kept(
            files in proptest::collection::btree_map("[ab]/[a-c]{1,2}", 1_usize..4, 0..9),
            order in any::<u64>(),
            limit in 1_usize..8,
        ) {
            let mut sorted: Vec<_> = files.iter().map(|(path, count)| (PathBuf::from(path), *count)).collect();
            sorted.sort();
            let whole: Vec<(PathBuf, usize)> =
                sorted.into_iter().flat_map(|(path, count)| (0..count).map(move |at| (path.clone(), at))).collect();
            let mut shuffled: Vec<_> = files.iter().collect();
            let len = shuffled.len().max(1);
            shuffled.rotate_left(usize::try_from(order % len as u64).unwrap_or(0));
            if order % 2 == 1 {
                shuffled.reverse();
            }
            let kept = Kept::new(limit);
            for (path, count) in shuffled {
                let path = PathBuf::from(path);
                if kept.has_room(&path) {
                    kept.add(path.clone(), (0..*count).map(|at| (path.clone(), at)).collect());
                }
            }
            let (hits, more) = kept.into_hits();
            prop_assert_eq!(&hits[..], &whole[..whole.len().min(limit)]);
            prop_assert_eq!(more, whole.len() > limit);
        }
    }
}
