//! Snapshots of a Git work tree: before a command the index of a store of ours is made to say how the tree stands, with the contents of what the user's own
//! store does not hold; after it, what differs from that index has changed. The user's repository is read alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::ports::{ChangedFile, FileState, SnapshotError, Unkept};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;

use super::created::{Since, is_ignore_file, made_folder};
use super::git::{Git, Objects, Run, items, list, path_of};
use super::look::{Look, Looker, Stat};
use super::printed::{Known, next_content};
use super::repository::Repository;
use super::seed::{self, Seeded};
use super::store::{Locked, Mark, Store, io_error};
use super::{MOST_CHANGED, MOST_CONTENT, TreeReport, blocking};

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
}

/// A work tree as it stood.
pub(super) struct Marked {
    shadow: Shadow,
    mark: Mark,
    left_out: BTreeMap<PathBuf, LeftOut>,
    modes: BTreeMap<PathBuf, u32>,
    nested: BTreeSet<PathBuf>,
    excludes: String,
    pub(super) recent: Recent,
    /// What was put into the store, bytes.
    pub(super) added: u64,
}

/// Files that were written shortly before a snapshot. Git compares stamps by whole seconds: what is written again within one may look the same.
pub(super) type Recent = BTreeMap<PathBuf, Stat>;

/// What is not in the index, or not as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeftOut {
    look: Look,
    why: Unkept,
}

/// How a tree differs from an index.
#[derive(Debug, Clone, Default)]
struct Listing {
    known: BTreeMap<PathBuf, Known>,
    new: BTreeSet<PathBuf>,
    /// Repositories within it.
    nested: BTreeSet<PathBuf>,
}

const LINK: u32 = 0o120_000;

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
    /// `is_due`: whether what nobody needs any more is looked for.
    pub(super) async fn before(self, is_due: bool, recent: Recent) -> Result<Marked, SnapshotError> {
        let shadow = self.clone();
        let is_sha256 = self.repository.is_sha256();
        let locked = Arc::new(blocking(move || shadow.store.lock(is_sha256).map_err(io_error)).await?);
        if is_due {
            self.prune(&locked).await?;
        }
        match self.mark(&locked, recent).await {
            // The index may name what is no more, or be damaged: once from the start.
            Err(SnapshotError::Git(reason)) => {
                tracing::warn!(reason, "a snapshot is made anew");
                let renewed = Arc::clone(&locked);
                blocking(move || renewed.renew().map_err(io_error)).await?;
                self.mark(&locked, Recent::new()).await
            }
            marked => marked,
        }
    }

    async fn mark(&self, locked: &Arc<Locked>, recent: Recent) -> Result<Marked, SnapshotError> {
        let excludes = self.excludes();
        let index = locked.index();
        locked.set_excludes(&excludes).map_err(io_error)?;
        let Seeded { mut modes, unread, mut recent } = match std::fs::metadata(&index) {
            Ok(_) => Seeded { modes: locked.modes(), unread: Vec::new(), recent },
            Err(_) => seed::plant(self, locked).await?,
        };
        let mut listing = self.list(&index).await?;
        listing.add(unread);
        let unseen = self.unseen(&listing, &recent);
        listing.add(unseen.clone());
        let mut sorted = self.sorted(&listing).await?;
        if sorted.added > MOST_ADDED {
            // Of what was touched alone nothing is to be kept.
            self.update(&index, &["update-index", "-q", "--refresh"], &[], 1).await?;
            listing = self.list(&index).await?;
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
        Ok(Marked { shadow: self.clone(), mark, left_out, modes, nested, excludes, recent, added })
    }

    /// Files that were written again, though nothing in the list says so.
    fn unseen(&self, listing: &Listing, recent: &Recent) -> Vec<PathBuf> {
        let is_listed = |path: &PathBuf| listing.known.contains_key(path) || listing.new.contains(path);
        let is_same = |path: &Path, stat: &Stat| self.looker.look(path) == Look::File(*stat);
        recent
            .iter()
            .filter(|(path, stat)| !is_listed(path) && !is_same(path, stat))
            .map(|(path, _)| path.clone())
            .collect()
    }

    fn excludes(&self) -> String {
        let own = self.repository.excludes();
        [self.excludes.as_deref().unwrap_or_default(), own.as_deref().unwrap_or_default()].join("\n")
    }

    async fn list(&self, index: &Path) -> Result<Listing, SnapshotError> {
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

fn usual(is_executable: bool) -> u32 {
    if is_executable { 0o755 } else { 0o644 }
}

/// What may have changed.
#[derive(Debug)]
struct Listed {
    known: Vec<(PathBuf, Known)>,
    new: Vec<PathBuf>,
    nested: Vec<AbsPath>,
    /// Whether files may be seen that were not seen before, though they were there.
    may_see_more: bool,
}

impl Marked {
    pub(super) async fn after(self) -> Result<TreeReport, SnapshotError> {
        let mut listing = self.shadow.list(&self.mark.index).await?;
        let unseen = self.shadow.unseen(&listing, &self.recent);
        if !unseen.is_empty() {
            listing.known.extend(self.known(&unseen).await?);
        }
        let this = Arc::new(self);
        let marked = Arc::clone(&this);
        let (listed, is_too_much) = blocking(move || {
            let listed = marked.listed(listing);
            let is_too_much = marked.is_too_much(&listed);
            Ok((listed, is_too_much))
        })
        .await?;
        let contents = if is_too_much { None } else { this.contents(&listed.known).await? };
        blocking(move || {
            let mut changed = this.changed(&listed, contents.as_deref());
            if contents.is_some() && changed.len() > MOST_CHANGED {
                changed = this.changed(&listed, None);
            }
            Ok(TreeReport { changed, nested: listed.nested })
        })
        .await
    }

    async fn known(&self, paths: &[PathBuf]) -> Result<Vec<(PathBuf, Known)>, SnapshotError> {
        let arguments = &["ls-files", "-s", "-z"];
        let run = Run {
            index: &self.mark.index,
            objects: Objects::Own,
            arguments,
            input: Vec::new(),
            most: MOST_LISTED,
            good: 0,
        };
        let entries = self.shadow.git.run(run).await?;
        Ok(items(&entries).filter_map(Known::of_entry).filter(|(path, _)| paths.contains(path)).collect())
    }

    fn listed(&self, listing: Listing) -> Listed {
        let touches_rules = listing.known.keys().chain(&listing.new).any(|path| is_ignore_file(path));
        let may_see_more =
            touches_rules || !self.nested.is_subset(&listing.nested) || self.shadow.excludes() != self.excludes;
        let root = &self.shadow.looker.root;
        Listed {
            known: listing.known.into_iter().filter(|(path, _)| !self.left_out.contains_key(path)).collect(),
            new: listing.new.into_iter().filter(|path| !self.left_out.contains_key(path)).collect(),
            nested: listing.nested.iter().filter_map(|path| AbsPath::new(root.join(path))).collect(),
            may_see_more,
        }
    }

    fn is_too_much(&self, listed: &Listed) -> bool {
        let len = |path: &PathBuf| match self.shadow.looker.look(path) {
            Look::File(stat) if stat.len <= MOST_CONTENT => stat.len,
            _ => 0,
        };
        let paths = || listed.known.iter().map(|(path, _)| path).chain(&listed.new);
        listed.new.len() > MOST_CHANGED || paths().map(len).sum::<u64>() > MOST_CONTENT
    }

    /// What the known files held, each `None` where the stores do not hold it any more; `None` where it is too much.
    async fn contents(&self, known: &[(PathBuf, Known)]) -> Result<Option<Vec<Option<Vec<u8>>>>, SnapshotError> {
        if known.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let mut input = Vec::new();
        for (_, known) in known {
            input.extend(known.object.as_bytes());
            input.push(b'\n');
        }
        let most = usize::try_from(MOST_CONTENT).unwrap_or(usize::MAX);
        let arguments = &["cat-file", "--batch"];
        let run = Run { index: &self.mark.index, objects: Objects::AndTheUsers, arguments, input, most, good: 0 };
        let answer = match self.shadow.git.run(run).await {
            Err(SnapshotError::TooLarge(_)) => return Ok(None),
            answer => answer?,
        };
        let mut rest = answer.as_slice();
        let mut contents = Vec::with_capacity(known.len());
        for _ in known {
            let (content, left) = next_content(rest)
                .ok_or_else(|| SnapshotError::Git("`git cat-file` gave contents of another form".to_owned()))?;
            contents.push(content.map(<[u8]>::to_vec));
            rest = left;
        }
        Ok(Some(contents))
    }

    fn changed(&self, listed: &Listed, contents: Option<&[Option<Vec<u8>>]>) -> Vec<ChangedFile> {
        let looker = &self.shadow.looker;
        let mut changed = match contents {
            Some(contents) => self.compared(listed, contents),
            None => self.named(listed),
        };
        for (path, LeftOut { look, why }) in &self.left_out {
            let now = looker.look(path);
            if now != *look {
                let after = if now == Look::Absent { FileState::Absent } else { FileState::Unkept(*why) };
                changed.push((path, FileState::Unkept(*why), after));
            }
        }
        let file = |(path, before, after): (&PathBuf, FileState, FileState)| {
            let is_made = before == FileState::Absent && after != FileState::Absent;
            let made_folder = if is_made { made_folder(looker, path, self.mark.made) } else { None };
            Some(ChangedFile { path: AbsPath::new(looker.root.join(path))?, made_folder, before, after })
        };
        let mut changed: Vec<_> = changed.into_iter().filter_map(file).collect();
        changed.sort_by(|a, b| a.path.cmp(&b.path));
        changed
    }

    fn compared<'a>(
        &self,
        listed: &'a Listed,
        contents: &[Option<Vec<u8>>],
    ) -> Vec<(&'a PathBuf, FileState, FileState)> {
        let looker = &self.shadow.looker;
        let mut changed = Vec::new();
        let mut gone = BTreeSet::new();
        for ((path, known), content) in listed.known.iter().zip(contents) {
            let before = match content {
                None => FileState::Unkept(Unkept::Unreadable),
                Some(target) if known.mode == LINK => FileState::Link { target: target.clone() },
                Some(bytes) => FileState::File { bytes: bytes.clone(), mode: self.mode(path, known) },
            };
            let after = if known.is_gone { FileState::Absent } else { looker.state(path, MOST_CONTENT) };
            if let (FileState::File { bytes, .. }, FileState::Absent) = (&before, &after) {
                gone.insert(ContentHash::of(bytes));
            }
            if before != after {
                changed.push((path, before, after));
            }
        }
        let since = Since { start: self.mark.made, may_see_more: listed.may_see_more, gone };
        for path in &listed.new {
            let after = since.judged(looker, path, looker.state(path, MOST_CONTENT));
            if after != FileState::Absent {
                changed.push((path, FileState::Absent, after));
            }
        }
        changed
    }

    /// Without what they hold: it is too much.
    fn named<'a>(&self, listed: &'a Listed) -> Vec<(&'a PathBuf, FileState, FileState)> {
        let many = FileState::Unkept(Unkept::TooMany);
        let after = |known: &Known| if known.is_gone { FileState::Absent } else { many.clone() };
        let known = listed.known.iter().map(|(path, known)| (path, many.clone(), after(known)));
        known.chain(listed.new.iter().map(|path| (path, FileState::Absent, many.clone()))).collect()
    }

    fn mode(&self, path: &Path, known: &Known) -> u32 {
        self.modes.get(path).copied().unwrap_or_else(|| usual(known.mode & 0o100 != 0))
    }
}
