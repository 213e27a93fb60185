//! Snapshots of a Git work tree: before a command the index of a store of ours is made to say how the tree stands, with the contents of what the user's own
//! store does not hold; after it, what differs from that index has changed. The user's repository is read alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use copydesk_engine::ports::{SnapshotError, Unkept};

use super::blocking;
use super::folders::Folders;
use super::git::{Git, Objects, Run, items, list, path_of};
use super::look::{Look, Looker, Stat};
use super::marked::Marked;
use super::printed::Known;
use super::repository::Repository;
use super::scan::stop;
use super::seed::{self, Seeded};
use super::store::{Locked, Store, io_error};

/// Files that version control does not know are left out above this, bytes.
const LARGEST_NEW: u64 = 2 << 20;
/// Others above this.
const LARGEST_KNOWN: u64 = 16 << 20;
/// What one snapshot may add to the store, bytes.
const MOST_ADDED: u64 = 256 << 20;
/// What a store may hold, bytes; whatever is above is let go when nothing is held.
const MOST_STORED: u64 = 512 << 20;
/// What is added before the store is looked through for what nobody needs, bytes.
pub(super) const PRUNED_EVERY: u64 = 64 << 20;
/// For so long a file counts as written just now: Git's second, and the ticks of the coarsest file systems.
const TICK: Duration = Duration::from_secs(2);
/// Between two tries of a lock that another one has.
const LOCK_TRIED: Duration = Duration::from_millis(20);
/// Of a list of files, bytes: some hundred thousand.
pub(super) const MOST_LISTED: usize = 64 << 20;

/// A work tree with its store.
#[derive(Clone)]
pub(super) struct Shadow {
    pub(super) git: Git,
    pub(super) store: Store,
    pub(super) repository: Repository,
    pub(super) looker: Looker,
    /// The user's own ignore rules for all of his repositories.
    pub(super) excludes: Option<String>,
    /// Of all that one command has changed, bytes.
    pub(super) most_content: u64,
}

/// Files that were written shortly before a snapshot. Git compares stamps by whole seconds: what is written again within one may look the same.
pub(super) type Recent = BTreeMap<PathBuf, Stat>;

/// What a process knows of a tree beside what its index says, from one snapshot to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    pub(super) recent: Recent,
    /// The user's index as it was last looked at.
    users_index: Option<Stat>,
    /// Files that the user's index holds and ignore files name, of which nothing is kept.
    late: Vec<PathBuf>,
}

/// What is not in the index, or not as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) look: Look,
    pub(super) why: Unkept,
}

/// How a tree differs from an index.
#[derive(Debug, Clone, Default)]
pub(super) struct Listing {
    pub(super) known: BTreeMap<PathBuf, Known>,
    pub(super) new: BTreeSet<PathBuf>,
    /// Repositories within it.
    pub(super) nested: BTreeSet<PathBuf>,
}

impl Listing {
    /// Known files that an index does not hold yet.
    fn add(&mut self, unread: Vec<PathBuf>) {
        for path in unread {
            self.new.remove(&path);
            let known = Known { mode: 0, object: String::new(), is_gone: false };
            self.known.entry(path).or_insert(known);
        }
    }
}

impl Shadow {
    /// `is_due`: whether what nobody needs any more is looked for. `has_waited` is set where somebody else is looking at the tree.
    pub(super) async fn before(
        self,
        is_due: bool,
        memory: Memory,
        has_waited: &AtomicBool,
    ) -> Result<Marked, SnapshotError> {
        let locked = Arc::new(self.lock(has_waited).await?);
        if is_due {
            self.prune(&locked).await?;
        }
        match self.mark(&locked, memory).await {
            // The index may name what is no more, or be damaged: once from the start.
            Err(SnapshotError::Git(reason)) => {
                tracing::warn!(reason, "a snapshot is made anew");
                let renewed = Arc::clone(&locked);
                blocking(move || renewed.renew().map_err(io_error)).await?;
                self.mark(&locked, Memory::default()).await
            }
            marked => marked,
        }
    }

    /// Whoever gives up waiting leaves nothing behind that waits.
    async fn lock(&self, has_waited: &AtomicBool) -> Result<Locked, SnapshotError> {
        loop {
            let shadow = self.clone();
            let lock = move || shadow.store.try_lock(shadow.repository.is_sha256()).map_err(io_error);
            if let Some(locked) = blocking(lock).await? {
                return Ok(locked);
            }
            has_waited.store(true, Ordering::Relaxed);
            tokio::time::sleep(LOCK_TRIED).await;
        }
    }

    async fn mark(&self, locked: &Arc<Locked>, memory: Memory) -> Result<Marked, SnapshotError> {
        let users_index = std::fs::metadata(self.repository.index()).ok().map(|found| Stat::of(&found));
        let excludes = self.excludes();
        let index = locked.index();
        locked.set_excludes(&excludes).map_err(io_error)?;
        let Seeded { mut modes, unread, mut recent } = match std::fs::metadata(&index) {
            Ok(_) => {
                let is_known = users_index == memory.users_index;
                let unread = if is_known { memory.late } else { self.late(locked).await? };
                Seeded { modes: locked.modes(), unread, recent: memory.recent }
            }
            Err(_) => seed::plant(self, locked).await?,
        };
        let (mut listing, folders) = tokio::try_join!(self.list(&index), self.folders(excludes.clone()))?;
        listing.add(unread.clone());
        let unseen = self.unseen(&listing, &recent);
        listing.add(unseen.clone());
        let mut sorted = self.sorted(&listing).await?;
        if sorted.added > MOST_ADDED {
            // Of what was touched alone nothing is to be kept.
            self.update(&index, &["update-index", "-q", "--refresh"], &[], 1).await?;
            listing = self.list(&index).await?;
            listing.add(unread.clone());
            listing.add(unseen.clone());
            sorted = self.sorted(&listing).await?;
        }
        let nested = listing.nested;
        let Sorted { kept, mut gone, left_out, added, stats } = sorted;
        if added > MOST_ADDED {
            return Err(SnapshotError::TooLarge(MOST_ADDED));
        }
        let known_modes = modes.clone();
        modes.retain(|path, _| !gone.contains(path));
        for (path, stat) in &stats {
            match unusual(*stat) {
                Some(mode) => modes.insert(path.clone(), mode),
                None => modes.remove(path),
            };
        }
        // Of these Git would look at the stamps alone.
        gone.extend(unseen);
        if modes != known_modes {
            locked.set_modes(&modes).map_err(io_error)?;
        }
        if !gone.is_empty() {
            self.update(&index, &["update-index", "--force-remove", "-z", "--stdin"], &gone, 0).await?;
        }
        if !kept.is_empty() {
            // What was touched alone is found to be the same first, so that its contents are not put into the store.
            let add = ["update-index", "-q", "--refresh", "--add", "--replace", "--remove", "-z", "--stdin"];
            self.update(&index, &add, &kept, 1).await?;
        }
        let locked = Arc::clone(locked);
        let mark = blocking(move || locked.mark().map_err(io_error)).await?;
        recent.extend(stats);
        recent.retain(|_, stat| stat.is_after(mark.made - TICK));
        let late = unread.into_iter().filter(|path| left_out.contains_key(path)).collect();
        let memory = Memory { recent, users_index, late };
        Ok(Marked { shadow: self.clone(), mark, left_out, modes, nested, folders, excludes, memory, added })
    }

    /// Files that the user's index holds by now, though ignore files name them, and the store's does not.
    async fn late(&self, locked: &Arc<Locked>) -> Result<Vec<PathBuf>, SnapshotError> {
        let (users, copies) = (self.repository.index(), Arc::clone(locked));
        let Some(copy) = blocking(move || Ok(copies.copy_seed(&users))).await? else { return Ok(Vec::new()) };
        let arguments = &["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let run = |index, objects| Run { index, objects, arguments, input: Vec::new(), most: MOST_LISTED, good: 0 };
        let store = locked.index();
        let (users, ours) =
            tokio::join!(self.git.run(run(&copy, Objects::AndTheUsers)), self.git.run(run(&store, Objects::Own)));
        locked.drop_seed();
        let ours = ours?;
        let users = match users {
            Err(SnapshotError::Git(reason)) => {
                tracing::info!(reason, "the user's index is of no use for snapshots");
                return Ok(Vec::new());
            }
            users => users?,
        };
        let looker = self.looker.clone();
        blocking(move || {
            let ours: BTreeSet<_> = items(&ours).collect();
            let late: BTreeSet<_> = items(&users).filter(|path| !ours.contains(path)).map(path_of).collect();
            let is_file = |path: &&Path| looker.is_meant(path) && looker.look(path).inode().is_some();
            Ok(late.into_iter().filter(is_file).map(Path::to_owned).collect())
        })
        .await
    }

    async fn folders(&self, excludes: String) -> Result<Folders, SnapshotError> {
        let looker = self.looker.clone();
        let (stop, stopped) = stop();
        let folders = blocking(move || Folders::of(&looker, excludes, &stopped)).await;
        drop(stop);
        folders
    }

    /// Files that were written again, though nothing in the list says so.
    pub(super) fn unseen(&self, listing: &Listing, recent: &Recent) -> Vec<PathBuf> {
        let is_listed = |path: &PathBuf| listing.known.contains_key(path) || listing.new.contains(path);
        let is_same = |path: &Path, stat: &Stat| self.looker.look(path) == Look::File(*stat);
        recent
            .iter()
            .filter(|(path, stat)| !is_listed(path) && !is_same(path, stat))
            .map(|(path, _)| path.clone())
            .collect()
    }

    pub(super) fn excludes(&self) -> String {
        self.repository.excludes(self.excludes.as_deref())
    }

    pub(super) async fn list(&self, index: &Path) -> Result<Listing, SnapshotError> {
        let run =
            |arguments| Run { index, objects: Objects::Own, arguments, input: Vec::new(), most: MOST_LISTED, good: 0 };
        let known = ["diff-files", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all"];
        let new = ["ls-files", "-z", "--others", "--exclude-standard"];
        let (known, new) = tokio::try_join!(self.git.run(run(&known)), self.git.run(run(&new)))?;
        let mut listing = Listing::default();
        let mut known = items(&known);
        while let (Some(about), Some(path)) = (known.next(), known.next()) {
            let Some(entry) = Known::parse(about) else {
                return Err(SnapshotError::Git("`git diff-files` gave a list of another form".to_owned()));
            };
            let path = path_of(path);
            if self.looker.is_meant(path) {
                listing.known.insert(path.to_owned(), entry);
            }
        }
        for item in items(&new) {
            match item.strip_suffix(b"/") {
                Some(folder) => listing.nested.insert(path_of(folder).to_owned()),
                None if self.looker.is_meant(path_of(item)) => listing.new.insert(path_of(item).to_owned()),
                None => false,
            };
        }
        Ok(listing)
    }

    async fn sorted(&self, listing: &Listing) -> Result<Sorted, SnapshotError> {
        let (shadow, listing) = (self.clone(), listing.clone());
        blocking(move || Ok(shadow.sort(&listing))).await
    }

    fn sort(&self, listing: &Listing) -> Sorted {
        let mut sorted = Sorted::default();
        let known = listing.known.iter().map(|(path, known)| (path, LARGEST_KNOWN, known.is_gone));
        for (path, most, is_gone) in known.chain(listing.new.iter().map(|path| (path, LARGEST_NEW, false))) {
            // What is reached through a link is not of the tree.
            let look = if is_gone { Look::Absent } else { self.looker.look(path) };
            if matches!(look, Look::Absent | Look::Folder) {
                sorted.gone.insert(path.clone());
                continue;
            }
            match self.looker.obstacle(path, look, most) {
                Some(why) => {
                    sorted.left_out.insert(path.clone(), LeftOut { look, why });
                }
                None => {
                    if let Look::File(stat) = look {
                        sorted.added += stat.len;
                        sorted.stats.push((path.clone(), stat));
                    }
                    sorted.kept.push(path.clone());
                }
            }
        }
        sorted
    }

    pub(super) async fn update(
        &self,
        index: &Path,
        arguments: &[&str],
        paths: impl IntoIterator<Item = &PathBuf>,
        good: i32,
    ) -> Result<(), SnapshotError> {
        let input = list(paths.into_iter().map(PathBuf::as_path));
        let run = Run { index, objects: Objects::Own, arguments, input, most: MOST_LISTED, good };
        self.git.run(run).await.map(drop)
    }

    async fn prune(&self, locked: &Arc<Locked>) -> Result<(), SnapshotError> {
        let marked = locked.marked();
        let mut live = BTreeSet::new();
        for index in marked.iter().chain([&locked.index()]) {
            let arguments = &["ls-files", "-s", "-z"];
            let run = Run { index, objects: Objects::Own, arguments, input: Vec::new(), most: MOST_LISTED, good: 0 };
            match self.git.run(run).await {
                Ok(entries) => live.extend(items(&entries).filter_map(Known::of_entry).map(|(_, known)| known.object)),
                // It names nothing that can be had.
                Err(SnapshotError::Git(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let locked = Arc::clone(locked);
        let stores = self.looker.own.clone();
        let folder = self.store.folder().to_owned();
        blocking(move || {
            Store::remove_unused(&stores, &folder);
            if locked.prune(&live) > MOST_STORED {
                locked.renew().map_err(io_error)?;
            }
            Ok(())
        })
        .await
    }
}

#[derive(Debug, Default)]
struct Sorted {
    kept: Vec<PathBuf>,
    gone: BTreeSet<PathBuf>,
    left_out: BTreeMap<PathBuf, LeftOut>,
    /// Bytes.
    added: u64,
    stats: Vec<(PathBuf, Stat)>,
}

/// Where it is another than what an index knows of it.
pub(super) fn unusual(stat: Stat) -> Option<u32> {
    (stat.mode != usual(stat.mode & 0o100 != 0)).then_some(stat.mode)
}

pub(super) fn usual(is_executable: bool) -> u32 {
    if is_executable { 0o755 } else { 0o644 }
}
