//! A Git work tree as it stood, and what of it is another thing after a command: what the index of the mark says, held against the files as they are now.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::ports::{ChangedFile, FileState, SnapshotError, Unkept};
use copydesk_workspace::path::AbsPath;
use tokio::time::timeout;

use super::created::{Since, is_creation};
use super::folders::Folders;
use super::git::{Objects, Run, items};
use super::index;
use super::look::Look;
use super::printed::{Known, next_content};
use super::rules::Named;
use super::shadow::{LeftOut, Listing, MOST_LISTED, Memory, Shadow, usual};
use super::store::Mark;
use super::{MOST_CHANGED, TreeReport, blocking};

const LINK: u32 = 0o120_000;
/// For reading what may only have been touched: half of what a look at a tree may take.
const MOST_REFRESH: Duration = Duration::from_secs(5);

/// A work tree as it stood.
pub(super) struct Marked {
    pub(super) shadow: Shadow,
    pub(super) mark: Mark,
    pub(super) left_out: BTreeMap<PathBuf, LeftOut>,
    pub(super) modes: BTreeMap<PathBuf, u32>,
    pub(super) nested: BTreeSet<PathBuf>,
    pub(super) folders: Folders,
    pub(super) excludes: String,
    pub(super) memory: Memory,
    /// What was put into the store, bytes.
    pub(super) added: u64,
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
        let unseen = self.shadow.unseen(&listing, &self.memory.recent);
        let unseen = if unseen.is_empty() { Vec::new() } else { self.known(&unseen).await? };
        listing.known.extend(unseen.clone());
        let this = Arc::new(self);
        let (mut listed, mut is_too_much) = Arc::clone(&this).judged(listing).await?;
        if is_too_much && !listed.known.is_empty() {
            // What was only touched is not told, nor counted.
            let (shadow, index) = (&this.shadow, &this.mark.index);
            let refresh = shadow.update(index, &["update-index", "-q", "--refresh"], &[], 1);
            match timeout(MOST_REFRESH, refresh).await.unwrap_or(Err(SnapshotError::TooSlow(MOST_REFRESH))) {
                Ok(()) => {
                    let mut listing = shadow.list(index).await?;
                    listing.known.extend(unseen);
                    (listed, is_too_much) = Arc::clone(&this).judged(listing).await?;
                }
                // The names are better than nothing.
                Err(error) => tracing::info!(%error, "what was only touched is told among what was changed"),
            }
        }
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

    /// What may have changed, and whether it is too much.
    async fn judged(self: Arc<Self>, listing: Listing) -> Result<(Listed, bool), SnapshotError> {
        blocking(move || {
            let listed = self.listed(listing);
            let is_too_much = self.is_too_much(&listed);
            Ok((listed, is_too_much))
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
        let new: Vec<_> = listing.new.into_iter().filter(|path| !self.left_out.contains_key(path)).collect();
        let may_see_more = !self.nested.is_subset(&listing.nested) || self.shadow.excludes() != self.excludes;
        let root = &self.shadow.looker.root;
        let may_see_more = may_see_more || self.folders.rules.differ_around(root, &new);
        Listed {
            known: listing.known.into_iter().filter(|(path, _)| !self.left_out.contains_key(path)).collect(),
            new,
            nested: listing.nested.iter().filter_map(|path| AbsPath::new(root.join(path))).collect(),
            may_see_more,
        }
    }

    fn is_too_much(&self, listed: &Listed) -> bool {
        let len = |path: &PathBuf| match self.shadow.looker.look(path) {
            Look::File(stat) if stat.len <= self.shadow.most_content => stat.len,
            _ => 0,
        };
        let paths = || listed.known.iter().map(|(path, _)| path).chain(&listed.new);
        listed.new.len() > MOST_CHANGED || paths().map(len).sum::<u64>() > self.shadow.most_content
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
        let most = usize::try_from(self.shadow.most_content).unwrap_or(usize::MAX);
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
        let may_see_more = listed.may_see_more;
        let files = if listed.new.is_empty() { HashSet::new() } else { self.inodes() };
        let named = Named::new(&self.folders.rules, &looker.root);
        let nested = &self.nested;
        let since = Since { start: self.mark.made, may_see_more, files, folders: &self.folders, nested, named };
        let mut changed = match contents {
            Some(contents) => self.compared(listed, contents, &since),
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
            let is_creation = is_creation(&before, &after);
            let made_folder = if is_creation { since.made_folder(looker, path) } else { None };
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
        since: &Since<'_>,
    ) -> Vec<(&'a PathBuf, FileState, FileState)> {
        let looker = &self.shadow.looker;
        let mut changed = Vec::new();
        for ((path, known), content) in listed.known.iter().zip(contents) {
            let before = match content {
                None => FileState::Unkept(Unkept::Unreadable),
                Some(target) if known.mode == LINK => FileState::Link { target: target.clone() },
                Some(bytes) => FileState::File { bytes: bytes.clone(), mode: self.mode(path, known) },
            };
            let after = if known.is_gone { FileState::Absent } else { looker.state(path, self.shadow.most_content) };
            if before != after {
                changed.push((path, before, after));
            }
        }
        for path in &listed.new {
            let after = since.judged(looker, path, looker.state(path, self.shadow.most_content));
            if after != FileState::Absent {
                changed.push((path, FileState::Absent, after));
            }
        }
        changed
    }

    /// Of all files that were seen.
    fn inodes(&self) -> HashSet<u32> {
        let object = if self.shadow.repository.is_sha256() { 32 } else { 20 };
        // Where nothing was ever seen there is none.
        let index = std::fs::read(&self.mark.index).unwrap_or_default();
        let mut inodes = index::inodes(&index, object).unwrap_or_default();
        inodes.extend(self.left_out.values().filter_map(|left_out| left_out.look.inode()));
        inodes
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
