//! The files of a tree: which there are, in several threads, and each one's text searched where it is found.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use copydesk_engine::ports::{FileGlob, Found, LineHit, SearchError, SearchTree, Skipped};
use copydesk_workspace::path::AbsPath;
use grep_searcher::Searcher;
use ignore::{DirEntry, WalkBuilder, WalkState};
use ropey::Rope;
use rustix::fs::OFlags;
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::control::Control;
use super::kept::{Finder, Kept};
use super::lines::{Line, LineMatcher, Searched};
use crate::os::folder::open_real;

/// ripgrep's own bound; beyond it the disk is what is waited for.
const MOST_THREADS: usize = 12;

/// Of a larger root nothing is said of what ignore files leave out of it.
const MOST_NAMES: usize = 1000;

/// Entries of one thread between two looks at the clock and at the token, which all threads share.
const UNASKED: usize = 64;

/// One search of one tree.
pub(super) struct Tree<'a> {
    tree: &'a SearchTree,
    root: &'a Path,
    open: HashMap<&'a Path, &'a Rope>,
    control: Control<'a>,
    refused: AtomicUsize,
    binary: AtomicUsize,
    unreadable: AtomicUsize,
}

impl<'a> Tree<'a> {
    pub(super) fn new(tree: &'a SearchTree, cancel: &'a CancellationToken) -> Self {
        Self {
            tree,
            root: tree.root.as_path(),
            open: tree.open.iter().map(|(path, text)| (path.as_path(), text)).collect(),
            control: Control::new(&tree.limits, cancel),
            refused: AtomicUsize::new(0),
            binary: AtomicUsize::new(0),
            unreadable: AtomicUsize::new(0),
        }
    }

    pub(super) fn files(self) -> Result<Found<AbsPath>, SearchError> {
        let kept = Kept::new(self.tree.limits.results);
        self.each_file(&kept, || {
            let mut finder = kept.finder();
            move |path: &Path| finder.add(path, vec![()])
        })?;
        let (paths, more) = kept.into_paths();
        let mut found = self.found(paths.into_iter().filter_map(AbsPath::of).collect(), more)?;
        // In order, the files of a folder stand around those of the folders in it.
        let mut above: Vec<(PathBuf, bool)> = Vec::new();
        found.hits.retain(|hit| {
            let folder = split(hit.as_path()).0;
            loop {
                match above.last() {
                    // By bytes: a comparison of components a file is what costs.
                    Some((last, known)) if last.as_os_str() == folder.as_os_str() => return *known,
                    Some((last, _)) if !folder.starts_with(last) => above.pop(),
                    _ => {
                        let known = leads_to_no_link(folder);
                        above.push((folder.to_owned(), known));
                        return known;
                    }
                };
            }
        });
        Ok(found)
    }

    pub(super) fn lines(self, matcher: &LineMatcher) -> Result<Found<LineHit>, SearchError> {
        let kept = Kept::new(self.tree.limits.results);
        self.each_file(&kept, || {
            let mut searcher = matcher.searcher();
            let (tree, mut finder) = (&self, kept.finder());
            move |path: &Path| tree.lines_of(path, matcher, &mut searcher, &mut finder)
        })?;
        let (hits, more) = kept.into_hits();
        self.found(hits, more)
    }

    /// Calls a function for each file that is to be searched; `make` gives each thread its own.
    fn each_file<T: Send, F: FnMut(&Path) + Send>(
        &self,
        kept: &Kept<T>,
        make: impl Fn() -> F,
    ) -> Result<(), SearchError> {
        let is_folder = match std::fs::metadata(self.root) {
            Ok(metadata) => metadata.is_dir(),
            Err(_) if self.open.contains_key(self.root) => false,
            Err(_) => return Err(SearchError::NotFound(self.tree.root.clone())),
        };
        if !is_folder {
            if self.is_allowed(self.root) {
                make()(self.root);
            }
            return Ok(());
        }
        let mut builder = self.walk();
        // What the glob leaves out is not handed from thread to thread.
        let (glob, root) = (self.tree.glob.clone(), self.root.to_owned());
        let is_wanted = move |entry: &DirEntry| {
            let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir());
            is_folder || is_meant(glob.as_ref(), &root, entry.path())
        };
        builder.filter_entry(move |entry| is_looked_at(entry) && is_wanted(entry));
        builder.threads(std::thread::available_parallelism().map_or(1, |count| count.get().min(MOST_THREADS)));
        builder.build_parallel().run(|| {
            let mut visit = make();
            let mut entries = 0_usize;
            Box::new(move |entry| {
                let is_asked = entries.is_multiple_of(UNASKED);
                entries += 1;
                if is_asked && !self.control.goes_on() {
                    return WalkState::Quit;
                }
                self.step(entry, kept, &mut visit)
            })
        });
        let mut visit = make();
        for path in self.open_without_a_file() {
            if self.control.goes_on()
                && kept.has_room(path)
                && is_meant(self.tree.glob.as_ref(), self.root, path)
                && self.is_allowed(path)
            {
                visit(path);
            }
        }
        Ok(())
    }

    fn step<T>(
        &self,
        entry: Result<DirEntry, ignore::Error>,
        kept: &Kept<T>,
        visit: &mut impl FnMut(&Path),
    ) -> WalkState {
        let Ok(entry) = entry else {
            self.unreadable.fetch_add(1, Ordering::Relaxed);
            return WalkState::Continue;
        };
        let path = entry.path();
        // Links are neither files nor folders here.
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if entry.depth() > 0 && !kept.has_room(path) {
            return WalkState::Skip;
        }
        if is_file && self.is_allowed(path) {
            visit(path);
        }
        WalkState::Continue
    }

    /// Ignore files count whether or not the tree is under version control.
    fn walk(&self) -> WalkBuilder {
        let mut builder = WalkBuilder::new(self.root);
        builder
            .hidden(!self.tree.hidden)
            .follow_links(false)
            .require_git(false)
            .current_dir(self.root)
            .filter_entry(is_looked_at);
        builder
    }

    fn is_allowed(&self, path: &Path) -> bool {
        let allowed = (self.tree.may_open)(path);
        if !allowed {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        allowed
    }

    /// New documents, which no walk over the disk can meet. Ignore files are not asked: the user is writing them.
    fn open_without_a_file(&self) -> BTreeSet<&'a Path> {
        let is_dotted = |path: &Path| {
            let below = path.strip_prefix(self.root).unwrap_or(path);
            below.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
        };
        let new = self.open.keys().copied().filter(|path| {
            path.starts_with(self.root)
                && (self.tree.hidden || !is_dotted(path))
                && std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        });
        new.collect()
    }

    fn lines_of(&self, path: &Path, matcher: &LineMatcher, searcher: &mut Searcher, finder: &mut Finder<'_, LineHit>) {
        let most = self.tree.limits.results.max(1);
        let searched = match self.open.get(path) {
            Some(text) => {
                let text = Pieces { pieces: text.chunks(), rest: &[] };
                matcher.search(searcher, self.control.guard(text), most)
            }
            None => match open(path) {
                Ok(file) => matcher.search(searcher, self.control.guard(file), most),
                Err(_) => Searched::Failed,
            },
        };
        match searched {
            Searched::Lines { lines, more } => {
                if more {
                    finder.note_more();
                }
                let Some(name) = AbsPath::new(path).filter(|_| !lines.is_empty()) else { return };
                let hit = |line: Line| LineHit {
                    path: name.clone(),
                    line: line.number,
                    text: line.text,
                    column: line.column,
                };
                finder.add(path, lines.into_iter().map(hit).collect());
            }
            Searched::Binary => {
                self.binary.fetch_add(1, Ordering::Relaxed);
            }
            // The end of the search makes reads fail as well.
            Searched::Failed if self.control.goes_on() => {
                self.unreadable.fetch_add(1, Ordering::Relaxed);
            }
            Searched::Failed => {}
        }
    }

    fn found<T>(self, hits: Vec<T>, more: bool) -> Result<Found<T>, SearchError> {
        let stopped = self.control.outcome()?;
        let ignored = self.ignored_names();
        let skipped = Skipped {
            refused: self.refused.into_inner(),
            binary: self.binary.into_inner(),
            unreadable: self.unreadable.into_inner(),
            ignored,
        };
        Ok(Found { hits, more, stopped, skipped })
    }

    /// Of a root that is a folder.
    fn ignored_names(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.root) else { return Vec::new() };
        let mut names: Vec<(PathBuf, bool)> = Vec::new();
        for (count, entry) in entries.flatten().enumerate() {
            if count == MOST_NAMES {
                return Vec::new();
            }
            let name = entry.file_name();
            if name == ".git" || (!self.tree.hidden && name.as_encoded_bytes().starts_with(b".")) {
                continue;
            }
            names.push((entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir())));
        }
        names.sort();
        let walked: BTreeSet<PathBuf> =
            self.walk().max_depth(Some(1)).build().flatten().map(DirEntry::into_path).collect();
        let ignored = names.into_iter().filter(|(path, _)| !walked.contains(path));
        let name = |(path, is_folder): (PathBuf, bool)| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            Some(if is_folder { format!("{name}/") } else { name })
        };
        ignored.filter_map(name).collect()
    }
}

fn is_looked_at(entry: &DirEntry) -> bool {
    entry.depth() == 0 || split(entry.path()).1 != ".git"
}

fn is_meant(glob: Option<&FileGlob>, root: &Path, path: &Path) -> bool {
    match (glob, below(root, path)) {
        (Some(glob), Some(below)) => glob.matches_named(below, split(below).1),
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

/// `path` without the root. By bytes where it is as the walk makes it, which saves a comparison of components a file.
fn below<'p>(root: &Path, path: &'p Path) -> Option<&'p Path> {
    let whole = path.as_os_str().as_bytes().strip_prefix(root.as_os_str().as_bytes());
    match whole.and_then(|rest| rest.strip_prefix(b"/")) {
        Some(rest) if !rest.starts_with(b"/") => Some(Path::new(OsStr::from_bytes(rest))),
        _ => path.strip_prefix(root).ok(),
    }
}

/// Folder and name of a normal path, which ends in a name. By bytes: to take the components of each file apart is what costs.
fn split(path: &Path) -> (&Path, &OsStr) {
    let bytes = path.as_os_str().as_bytes();
    let start = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let folder = if start > 1 { &bytes[..start - 1] } else { &bytes[..start] };
    (Path::new(OsStr::from_bytes(folder)), OsStr::from_bytes(&bytes[start..]))
}

/// Neither follows a link that was put on the file's way meanwhile (C63), nor waits for the other end of a pipe.
fn open(path: &Path) -> io::Result<File> {
    Ok(File::from(open_real(path, OFlags::NONBLOCK)?))
}

/// Whether the folder, as it was walked, is reached without a link by now: else the names in it may be those of another. What is not on the disk is that
/// of a document.
fn leads_to_no_link(folder: &Path) -> bool {
    !matches!(open_real(folder, OFlags::NONBLOCK | OFlags::DIRECTORY), Err(Errno::LOOP | Errno::NOTDIR))
}

/// A rope as a reader, without a copy of it.
struct Pieces<'a, I> {
    pieces: I,
    rest: &'a [u8],
}

impl<'a, I: Iterator<Item = &'a str>> Read for Pieces<'a, I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.pieces.next() {
                Some(piece) => self.rest = piece.as_bytes(),
                None => return Ok(0),
            }
        }
        self.rest.read(buffer)
    }
}
