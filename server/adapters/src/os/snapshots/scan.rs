//! Snapshots of a folder without version control, or where `git` is not installed: all files are read into a file that has no name, as far as they are few and
//! small. What stays the same from one command to the next is not read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use copydesk_engine::ports::{ChangedFile, FileState, SnapshotError, Unkept};
use copydesk_workspace::path::AbsPath;
use ignore::DirEntry;

use super::created::{Since, is_creation};
use super::folders::{Folders, walk};
use super::look::{Look, Looker, Stat, read};
use super::rules::{Named, OF_WALKS, Rules};
use super::store::io_error;
use super::{MOST_CHANGED, MOST_CONTENT, TreeReport, blocking};

/// Files above this are left out, bytes.
const LARGEST: u64 = 2 << 20;
/// A file that was written so short a time before it was read may be written again under the same stamp: the ticks of the coarsest file systems.
const TICK: Duration = Duration::from_secs(2);

/// What is read of one folder at the most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) files: usize,
    pub(super) bytes: u64,
}

impl Default for Limits {
    /// A second or two of a cold disk.
    fn default() -> Self {
        Self { files: 20_000, bytes: 64 << 20 }
    }
}

/// What was read last of each folder.
#[derive(Default)]
pub(super) struct Kept {
    scans: Mutex<HashMap<PathBuf, Arc<Scan>>>,
    pub(super) limits: Limits,
}

/// A folder as it stood.
pub(super) struct Scan {
    looker: Looker,
    /// Folders in it that are looked at by themselves.
    others: Vec<PathBuf>,
    limits: Limits,
    files: BTreeMap<PathBuf, Entry>,
    folders: Folders,
    spool: Arc<Spool>,
    start: SystemTime,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    File {
        stat: Stat,
        /// In the spool, bytes.
        at: u64,
        len: u64,
    },
    Link {
        stat: Stat,
        target: Vec<u8>,
    },
    LeftOut {
        look: Look,
        why: Unkept,
    },
}

impl Entry {
    fn inode(&self) -> Option<u32> {
        match self {
            Self::File { stat, .. } | Self::Link { stat, .. } => Some(stat.inode()),
            Self::LeftOut { look, .. } => look.inode(),
        }
    }
}

/// Contents one behind the other.
struct Spool {
    file: File,
    len: Mutex<u64>,
}

/// Ends a scan when it is dropped.
pub(super) struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Kept {
    pub(super) async fn before(
        self: Arc<Self>,
        looker: Looker,
        others: Vec<PathBuf>,
        excludes: String,
    ) -> Result<Arc<Scan>, SnapshotError> {
        let earlier = self.lock().get(&looker.root).cloned();
        let (stop, stopped) = stop();
        let limits = self.limits;
        let scan = blocking(move || Scan::take(looker, others, excludes, limits, earlier.as_deref(), &stopped)).await?;
        drop(stop);
        let scan = Arc::new(scan);
        self.lock().insert(scan.looker.root.clone(), Arc::clone(&scan));
        Ok(scan)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Arc<Scan>>> {
        self.scans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn stop() -> (Stop, Arc<AtomicBool>) {
    let stopped = Arc::new(AtomicBool::new(false));
    (Stop(Arc::clone(&stopped)), stopped)
}

impl Scan {
    fn take(
        looker: Looker,
        others: Vec<PathBuf>,
        excludes: String,
        limits: Limits,
        earlier: Option<&Self>,
        stopped: &AtomicBool,
    ) -> Result<Self, SnapshotError> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&looker.own).map_err(io_error)?;
        // One that holds mostly what is of yesterday is begun anew.
        let earlier = earlier.filter(|earlier| earlier.spool.len() < 2 * limits.bytes);
        let spool = match earlier {
            Some(earlier) => Arc::clone(&earlier.spool),
            None => Arc::new(Spool::new(&looker.own)?),
        };
        let start = now(&looker.own)?;
        let mut folders = Folders::new(Rules::new(OF_WALKS, excludes));
        let (known, seen) = (BTreeMap::new(), Folders::default());
        let mut scan = Self { looker, others, limits, files: known, folders: seen, spool, start };
        let mut total = 0;
        let files = scan.walk(stopped, |below, entry| {
            if let Ok(found) = entry.metadata() {
                folders.note(&scan.looker.root, below, &found);
            }
        })?;
        scan.folders = folders;
        for below in files {
            check(stopped)?;
            let look = scan.looker.look(&below);
            let entry = match (scan.looker.obstacle(&below, look, LARGEST), look) {
                (_, Look::Absent | Look::Folder | Look::Other) => continue,
                (Some(why), _) => Entry::LeftOut { look, why },
                (None, Look::Link(stat)) => match scan.looker.state(&below, LARGEST) {
                    FileState::Link { target } => Entry::Link { stat, target },
                    _ => continue,
                },
                (None, Look::File(stat)) => {
                    total += stat.len;
                    if total > limits.bytes {
                        return Err(SnapshotError::TooLarge(limits.bytes));
                    }
                    match earlier.and_then(|earlier| earlier.same(&below, stat)) {
                        Some(same) => same,
                        None => scan.read(&below, look)?,
                    }
                }
            };
            scan.files.insert(below, entry);
        }
        Ok(scan)
    }

    /// What is known of a file that was not written since.
    fn same(&self, below: &Path, now: Stat) -> Option<Entry> {
        let entry = self.files.get(below)?;
        let Entry::File { stat, .. } = entry else { return None };
        (*stat == now && !stat.is_after(self.start - TICK)).then(|| entry.clone())
    }

    fn read(&self, below: &Path, look: Look) -> Result<Entry, SnapshotError> {
        match read(&self.looker.root.join(below), LARGEST) {
            Some((bytes, stat)) => {
                let at = self.spool.push(&bytes)?;
                Ok(Entry::File { stat, at, len: bytes.len() as u64 })
            }
            None => Ok(Entry::LeftOut { look, why: Unkept::Unreadable }),
        }
    }

    /// The files; `folder` is called for each folder.
    fn walk(
        &self,
        stopped: &AtomicBool,
        mut folder: impl FnMut(&Path, &DirEntry),
    ) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let root = &self.looker.root;
        let others = self.others.clone();
        let is_meant = move |entry: &DirEntry| entry.depth() == 0 || !others.iter().any(|other| other == entry.path());
        let mut files = BTreeSet::new();
        for entry in walk(root, is_meant).build() {
            check(stopped)?;
            // What cannot be listed is not known before, and not after.
            let Ok(entry) = entry else { continue };
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let Ok(below) = entry.path().strip_prefix(root) else { continue };
            if !self.looker.is_meant(below) {
                continue;
            }
            if is_folder {
                folder(below, &entry);
                continue;
            }
            if files.len() >= self.limits.files {
                return Err(SnapshotError::TooManyFiles(self.limits.files));
            }
            files.insert(below.to_owned());
        }
        Ok(files)
    }

    pub(super) async fn after(self: Arc<Self>) -> Result<TreeReport, SnapshotError> {
        let (stop, stopped) = stop();
        let report = blocking(move || self.report(&stopped)).await;
        drop(stop);
        report
    }

    fn report(&self, stopped: &AtomicBool) -> Result<TreeReport, SnapshotError> {
        let mut changed = Vec::new();
        let mut folders = HashMap::new();
        for (below, entry) in &self.files {
            check(stopped)?;
            let is_gone = self.looker.is_behind_a_link(below, &mut folders);
            let Some((before, after)) = self.compared(below, entry, is_gone)? else { continue };
            changed.push((below.clone(), before, after));
        }
        let now = self.walk(stopped, |_, _| {})?;
        let new: Vec<_> = now.into_iter().filter(|below| !self.files.contains_key(below)).collect();
        let root = &self.looker.root;
        let may_see_more = self.folders.rules.differ_around(root, &new);
        let named = Named::new(&self.folders.rules, root);
        let files = self.files.values().filter_map(Entry::inode).collect();
        // A walk goes into repositories.
        let nested = &BTreeSet::new();
        let since = Since { start: self.start, may_see_more, files, folders: &self.folders, nested, named };
        for below in new {
            check(stopped)?;
            let after = since.judged(&self.looker, &below, self.looker.state(&below, MOST_CONTENT));
            if after != FileState::Absent {
                changed.push((below, FileState::Absent, after));
            }
        }
        if changed.len() > MOST_CHANGED
            || changed.iter().map(|(_, before, after)| len(before) + len(after)).sum::<u64>() > MOST_CONTENT
        {
            for (_, before, after) in &mut changed {
                (*before, *after) = (without_content(before), without_content(after));
            }
        }
        let file = |(below, before, after): (PathBuf, _, _)| {
            let is_creation = is_creation(&before, &after);
            let made_folder = if is_creation { since.made_folder(&self.looker, &below) } else { None };
            Some(ChangedFile { path: AbsPath::new(root.join(&below))?, made_folder, before, after })
        };
        let mut changed: Vec<_> = changed.into_iter().filter_map(file).collect();
        changed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(TreeReport { changed, nested: Vec::new() })
    }

    fn compared(
        &self,
        below: &Path,
        entry: &Entry,
        is_gone: bool,
    ) -> Result<Option<(FileState, FileState)>, SnapshotError> {
        let now = if is_gone { Look::Absent } else { self.looker.look(below) };
        let after = || if is_gone { FileState::Absent } else { self.looker.state(below, MOST_CONTENT) };
        let pair = match entry {
            Entry::LeftOut { look, why } if *look != now => {
                let after = if now == Look::Absent { FileState::Absent } else { FileState::Unkept(*why) };
                return Ok(Some((FileState::Unkept(*why), after)));
            }
            Entry::LeftOut { .. } => return Ok(None),
            Entry::Link { target, .. } => (FileState::Link { target: target.clone() }, after()),
            Entry::File { stat, .. } if now == Look::File(*stat) && !stat.is_after(self.start - TICK) => {
                return Ok(None);
            }
            Entry::File { stat, at, len } => {
                let before = FileState::File { bytes: self.spool.get(*at, *len)?, mode: stat.mode };
                (before, after())
            }
        };
        Ok(Some(pair).filter(|(before, after)| before != after))
    }
}

impl Spool {
    fn new(folder: &Path) -> Result<Self, SnapshotError> {
        let file = tempfile::tempfile_in(folder).map_err(io_error)?;
        Ok(Self { file, len: Mutex::default() })
    }

    fn len(&self) -> u64 {
        *self.len.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, bytes: &[u8]) -> Result<u64, SnapshotError> {
        let at = {
            let mut len = self.len.lock().unwrap_or_else(PoisonError::into_inner);
            let at = *len;
            *len += bytes.len() as u64;
            at
        };
        self.file.write_all_at(bytes, at).map_err(io_error)?;
        Ok(at)
    }

    fn get(&self, at: u64, len: u64) -> Result<Vec<u8>, SnapshotError> {
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        self.file.read_exact_at(&mut bytes, at).map_err(io_error)?;
        Ok(bytes)
    }
}

pub(super) fn check(stopped: &AtomicBool) -> Result<(), SnapshotError> {
    // Nobody waits for the result.
    if stopped.load(Ordering::Relaxed) { Err(SnapshotError::Io("it was cut off".to_owned())) } else { Ok(()) }
}

/// By the clock of files.
fn now(folder: &Path) -> Result<SystemTime, SnapshotError> {
    let file = tempfile::tempfile_in(folder).map_err(io_error)?;
    file.metadata().and_then(|found| found.modified()).map_err(io_error)
}

fn len(state: &FileState) -> u64 {
    match state {
        FileState::File { bytes, .. } => bytes.len() as u64,
        FileState::Absent | FileState::Link { .. } | FileState::Unkept(_) => 0,
    }
}

fn without_content(state: &FileState) -> FileState {
    match state {
        FileState::Absent => FileState::Absent,
        FileState::File { .. } | FileState::Link { .. } => FileState::Unkept(Unkept::TooMany),
        FileState::Unkept(why) => FileState::Unkept(*why),
    }
}
