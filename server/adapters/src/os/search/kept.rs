//! The hits that come first in the order of their paths, whatever the order in which threads find them: so that a limit never makes an answer depend on
//! chance, and what is behind the last kept hit need not be looked at.

use std::collections::BTreeMap;
use std::path::Path;
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
    by_path: BTreeMap<Place, Vec<T>>,
    count: usize,
}

/// Where a path stands among others: component by component, as `Path` orders itself, so that all of a folder stands together. In one piece of memory,
/// since a search compares millions of them: a separator sorts before whatever a name may hold.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place(Box<[u8]>);

impl Place {
    /// `path` is normal: no separator stands twice, none at the end.
    fn of(path: &Path) -> Self {
        let bytes = path.as_os_str().as_encoded_bytes();
        Self(bytes.iter().map(|byte| if *byte == b'/' { 0 } else { *byte }).collect())
    }
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
        let place = Place::of(path);
        let has_room = self.lock().by_path.last_key_value().is_none_or(|(last, _)| place <= *last);
        if !has_room {
            self.note_more();
        }
        has_room
    }

    /// All hits of one file, in order.
    pub(super) fn add(&self, path: &Path, hits: Vec<T>) {
        let place = Place::of(path);
        let mut state = self.lock();
        let State { by_path, count } = &mut *state;
        *count += hits.len();
        by_path.insert(place, hits);
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
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_in_the_order_of_paths(one in "(/[a-b .-]{1,3}){0,3}", other in "(/[a-b .-]{1,3}){0,3}") {
            // What begins with a dot alone is no normal path.
            prop_assume!(![&one, &other].iter().any(|path| path.split('/').any(|part| part == "." || part == "..")));
            let (one, other) = (Path::new(&one), Path::new(&other));
            prop_assert_eq!(Place::of(one).cmp(&Place::of(other)), one.cmp(other));
        }

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
                    kept.add(&path, (0..*count).map(|at| (path.clone(), at)).collect());
                }
            }
            let (hits, more) = kept.into_hits();
            prop_assert_eq!(&hits[..], &whole[..whole.len().min(limit)]);
            prop_assert_eq!(more, whole.len() > limit);
        }
    }
}
