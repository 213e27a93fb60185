//! The hits that come first in the order of their paths, whatever the order in which threads find them: so that a limit never makes an answer depend on
//! chance, and what is behind the last kept hit need not be looked at.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub(super) struct Kept<T> {
    limit: usize,
    /// By any thread.
    found: AtomicUsize,
    state: Mutex<State<T>>,
    /// `by_path` alone is as many hits as the limit lets through: from here on its last path is a bound.
    full: AtomicBool,
    more: AtomicBool,
}

struct State<T> {
    /// What threads have found while there was room, each run in order.
    runs: Vec<Run<T>>,
    by_path: BTreeMap<Place, Vec<T>>,
    /// In `by_path`.
    count: usize,
}

type Run<T> = Vec<(Place, Vec<T>)>;

/// Of one thread. As long as there is room its hits are its own: nobody waits for a lock, and they are put in order beside those of the others.
pub(super) struct Finder<'a, T> {
    kept: &'a Kept<T>,
    run: Run<T>,
}

impl<T> Finder<'_, T> {
    /// All hits of one file, in order.
    pub(super) fn add(&mut self, path: &Path, hits: Vec<T>) {
        let before = self.kept.found.fetch_add(hits.len(), Ordering::Relaxed);
        if before < self.kept.limit {
            self.run.push((Place::of(path), hits));
        } else {
            self.kept.add(path, hits);
        }
    }

    pub(super) fn note_more(&self) {
        self.kept.note_more();
    }
}

impl<T> Drop for Finder<'_, T> {
    fn drop(&mut self) {
        let mut run = std::mem::take(&mut self.run);
        run.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        self.kept.lock().runs.push(run);
    }
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

    /// No name holds a zero.
    fn into_path(self) -> PathBuf {
        let mut bytes = self.0.into_vec();
        bytes.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b'/');
        OsString::from_vec(bytes).into()
    }
}

impl<T> Kept<T> {
    /// `limit` is at least 1.
    pub(super) fn new(limit: usize) -> Self {
        let state = Mutex::new(State { runs: Vec::new(), by_path: BTreeMap::new(), count: 0 });
        let (full, more) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { limit: limit.max(1), found: AtomicUsize::new(0), state, full, more }
    }

    /// Its hits are there when it is dropped.
    pub(super) fn finder(&self) -> Finder<'_, T> {
        Finder { kept: self, run: Vec::new() }
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

    fn add(&self, path: &Path, hits: Vec<T>) {
        let place = Place::of(path);
        let mut state = self.lock();
        let State { by_path, count, .. } = &mut *state;
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

    fn note_more(&self) {
        self.more.store(true, Ordering::Relaxed);
    }

    /// In order, and whether there may be more.
    pub(super) fn into_hits(self) -> (Vec<T>, bool) {
        let limit = self.limit;
        let (all, more) = self.into_run();
        (all.into_iter().flat_map(|(_, hits)| hits).take(limit).collect(), more)
    }

    fn into_run(self) -> (Run<T>, bool) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let more = self.more.into_inner() || self.found.into_inner() > self.limit;
        let mut all = Vec::with_capacity(state.runs.iter().map(Vec::len).sum::<usize>() + state.by_path.len());
        for mut run in state.runs {
            all.append(&mut run);
        }
        all.extend(state.by_path);
        // Stable: it merges what is in order piece by piece.
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        // A file that was removed while it is open may have been met twice.
        all.dedup_by(|(one, _), (other, _)| one == other);
        (all, more)
    }

    /// A poisoned lock holds hits all the same: they were added whole.
    fn lock(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files that are the hits themselves, each once.
impl Kept<()> {
    /// As `into_hits`.
    pub(super) fn into_paths(self) -> (Vec<PathBuf>, bool) {
        let limit = self.limit;
        let (all, more) = self.into_run();
        (all.into_iter().take(limit).map(|(place, _)| place.into_path()).collect(), more)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_in_the_order_of_paths(one in "(/[a-b .-]{1,3}){0,3}", other in "(/[a-b .-]{1,3}){0,3}") {
            // What begins with a dot alone is no normal path.
            prop_assume!(![&one, &other].iter().any(|path| path.split('/').any(|part| part == "." || part == "..")));
            let (one, other) = (Path::new(&one), Path::new(&other));
            prop_assert_eq!(Place::of(one).cmp(&Place::of(other)), one.cmp(other));
            let again = Place::of(one).into_path();
            prop_assert_eq!(again.as_os_str(), one.as_os_str());
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
            let mut finders = [kept.finder(), kept.finder()];
            for (at, (path, count)) in shuffled.into_iter().enumerate() {
                let path = PathBuf::from(path);
                if kept.has_room(&path) {
                    finders[at % 2].add(&path, (0..*count).map(|at| (path.clone(), at)).collect());
                }
            }
            drop(finders);
            let (hits, more) = kept.into_hits();
            prop_assert_eq!(&hits[..], &whole[..whole.len().min(limit)]);
            let paths = Kept::new(limit);
            let mut finder = paths.finder();
            files.keys().for_each(|path| finder.add(Path::new(path), vec![()]));
            drop(finder);
            let sorted: Vec<PathBuf> = files.keys().map(PathBuf::from).take(limit).collect();
            prop_assert_eq!(paths.into_paths(), (sorted, files.len() > limit));
            prop_assert_eq!(more, whole.len() > limit);
        }
    }
}
