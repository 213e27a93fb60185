//! A disk in memory, for tests: files, folders, symbolic links, and failures that are put in on purpose. It blocks nobody and loses all of it when dropped.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::OsString;
use std::ops::Bound;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{DirEntry, Disk, DiskError, Expected, FileKind, Stamp, Stat};
use crate::hash::ContentHash;
use crate::path::AbsPath;

#[derive(Debug, Default)]
pub struct MemoryDisk {
    state: Mutex<State>,
}

/// What can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Read,
    Stat,
    List,
    Write,
    SetMode,
    Remove,
    Rename,
}

#[derive(Debug, Default)]
struct State {
    /// By path with all links resolved but the last. The root is not in it: it always exists.
    nodes: BTreeMap<PathBuf, Node>,
    /// How many nodes were put there before each.
    stamps: HashMap<PathBuf, u64>,
    /// Of files that were given one.
    given_stamps: HashMap<PathBuf, Stamp>,
    modes: HashMap<PathBuf, u32>,
    puts: u64,
    failures: HashMap<(Operation, AbsPath), DiskError>,
}

#[derive(Debug, Clone)]
enum Node {
    File(Vec<u8>),
    Folder,
    Link(PathBuf),
}

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

impl MemoryDisk {
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file there, over whatever is there, with its folders; as another program would, so that no failure and no expectation applies.
    pub fn put(&self, path: &AbsPath, bytes: impl Into<Vec<u8>>) {
        let mut state = self.lock();
        if let Ok(real) = state.resolve(path) {
            state.insert(real.as_path(), Node::File(bytes.into()));
        }
    }

    pub fn put_folder(&self, path: &AbsPath) {
        let mut state = self.lock();
        if let Ok(real) = state.resolve(path) {
            state.insert(real.as_path(), Node::Folder);
        }
    }

    /// A symbolic link at `path`. `target` may be relative to the link's folder, dangle, or lead back to the link.
    pub fn put_link(&self, path: &AbsPath, target: impl Into<PathBuf>) {
        let mut state = self.lock();
        if let Ok(place) = state.entry(path) {
            state.insert(place.as_path(), Node::Link(target.into()));
        }
    }

    /// Gives a file permission bits; 644 else.
    pub fn put_mode(&self, path: &AbsPath, mode: u32) {
        let mut state = self.lock();
        if let Ok(real) = state.resolve(path) {
            state.modes.insert(real.as_path().to_owned(), mode);
        }
    }

    /// Gives a file this stamp, whatever is written there later: as where that comes within one tick of the clock.
    pub fn put_stamp(&self, path: &AbsPath, stamp: Stamp) {
        let mut state = self.lock();
        if let Ok(real) = state.resolve(path) {
            state.given_stamps.insert(real.as_path().to_owned(), stamp);
        }
    }

    /// Removes whatever is there, folders with all that is in them.
    pub fn take(&self, path: &AbsPath) {
        let mut state = self.lock();
        if let Ok(place) = state.entry(path) {
            state.nodes.retain(|node, _| !node.starts_with(place.as_path()));
            state.modes.retain(|node, _| !node.starts_with(place.as_path()));
        }
    }

    /// From now on `operation` on `path`, by that spelling or the real one, fails with `error`.
    pub fn fail(&self, operation: Operation, path: &AbsPath, error: DiskError) {
        self.lock().failures.insert((operation, path.clone()), error);
    }

    pub fn mend(&self, operation: Operation, path: &AbsPath) {
        self.lock().failures.remove(&(operation, path.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for MemoryDisk {
    fn read(&self, path: &AbsPath) -> Result<Vec<u8>, DiskError> {
        let state = self.lock();
        let real = state.checked(Operation::Read, path)?;
        state.file(&real, path).map(<[u8]>::to_vec)
    }

    fn read_range(&self, path: &AbsPath, offset: u64, len: usize) -> Result<Vec<u8>, DiskError> {
        let state = self.lock();
        let real = state.checked(Operation::Read, path)?;
        let bytes = state.file(&real, path)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(len).min(bytes.len());
        Ok(bytes[start..end].to_vec())
    }

    fn hash_real(&self, real: &AbsPath) -> Result<ContentHash, DiskError> {
        self.without_links(real)?;
        let state = self.lock();
        let file = state.checked(Operation::Read, real)?;
        state.file(&file, real).map(ContentHash::of)
    }

    fn holds_real(&self, real: &AbsPath, bytes: &[u8]) -> Result<bool, DiskError> {
        self.without_links(real)?;
        let state = self.lock();
        let file = state.checked(Operation::Read, real)?;
        Ok(state.file(&file, real)? == bytes)
    }

    fn stat(&self, path: &AbsPath) -> Result<Stat, DiskError> {
        let state = self.lock();
        let real = state.checked(Operation::Stat, path)?;
        let inode = state.stamps.get(real.as_path()).copied().unwrap_or_default();
        let given = state.given_stamps.get(real.as_path()).copied();
        let stamp = given.unwrap_or(Stamp { inode, ..Stamp::default() });
        let mode = Some(state.modes.get(real.as_path()).copied().unwrap_or(0o644));
        match state.node(real.as_path()) {
            Some(Node::File(bytes)) => Ok(Stat { kind: FileKind::File, len: bytes.len() as u64, stamp, mode }),
            Some(Node::Folder) => Ok(Stat { kind: FileKind::Directory, len: 0, stamp, mode: Some(0o755) }),
            Some(Node::Link(_)) | None => Err(DiskError::NotFound(path.clone())),
        }
    }

    fn list(&self, folder: &AbsPath) -> Result<Vec<DirEntry>, DiskError> {
        let state = self.lock();
        let real = state.checked(Operation::List, folder)?;
        match state.node(real.as_path()) {
            Some(Node::Folder) => {}
            Some(_) => return Err(not_a_folder(folder)),
            None => return Err(DiskError::NotFound(folder.clone())),
        }
        // Paths are in the order of their components: those below stand in a row.
        let behind = state.nodes.range::<Path, _>((Bound::Excluded(real.as_path()), Bound::Unbounded));
        let below = behind.take_while(|(path, _)| path.starts_with(real.as_path()));
        let children = below.filter(|(path, _)| path.parent() == Some(real.as_path()));
        let mut entries: Vec<DirEntry> = children
            .map(|(path, node)| DirEntry {
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                kind: state.kind(path),
                is_link: matches!(node, Node::Link(_)),
            })
            .collect();
        entries.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(entries)
    }

    fn real_path(&self, path: &AbsPath) -> Result<AbsPath, DiskError> {
        self.lock().resolve(path)
    }

    fn write(&self, path: &AbsPath, bytes: &[u8], expected: Expected) -> Result<(), DiskError> {
        let mut state = self.lock();
        let real = state.checked(Operation::Write, path)?;
        match (state.node(real.as_path()), &expected) {
            (Some(Node::Folder), _) => return Err(DiskError::IsDirectory(path.clone())),
            (Some(_), Expected::Absent) => return Err(DiskError::Exists(path.clone())),
            (None, Expected::Bytes(_) | Expected::Exactly(_)) => return Err(DiskError::NotFound(path.clone())),
            (None, Expected::Absent) => {}
            (Some(_), Expected::Bytes(_) | Expected::Exactly(_)) => {
                let now = state.file(&real, path)?;
                let is_as_expected = match &expected {
                    Expected::Bytes(hash) => ContentHash::of(now) == *hash,
                    Expected::Exactly(bytes) => now == &bytes[..],
                    Expected::Absent => false,
                };
                if !is_as_expected {
                    return Err(DiskError::Changed(path.clone()));
                }
                // Nobody is meant to write here.
                if state.modes.get(real.as_path()).is_some_and(|mode| mode & 0o222 == 0) {
                    return Err(DiskError::Denied(path.clone()));
                }
            }
        }
        state.insert(real.as_path(), Node::File(bytes.to_vec()));
        Ok(())
    }

    fn create_real(&self, real: &AbsPath, bytes: &[u8], mode: u32) -> Result<(), DiskError> {
        self.write_real(real, bytes, Expected::Absent)?;
        self.set_mode_real(real, mode)
    }

    fn set_mode_real(&self, real: &AbsPath, mode: u32) -> Result<(), DiskError> {
        self.without_links(real)?;
        let mut state = self.lock();
        state.checked(Operation::SetMode, real)?;
        state.file(real, real)?;
        state.modes.insert(real.as_path().to_owned(), mode);
        Ok(())
    }

    fn remove_folder_real(&self, real: &AbsPath) -> Result<(), DiskError> {
        self.without_links(real)?;
        let mut state = self.lock();
        state.checked(Operation::Remove, real)?;
        match state.node(real.as_path()) {
            Some(Node::Folder) => {}
            Some(_) => return Err(not_a_folder(real)),
            None => return Err(DiskError::NotFound(real.clone())),
        }
        if state.nodes.keys().any(|path| path.parent() == Some(real.as_path())) {
            return Err(DiskError::Other { path: real.clone(), reason: "something is in it".into() });
        }
        state.nodes.remove(real.as_path());
        Ok(())
    }

    fn remove(&self, path: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        let mut state = self.lock();
        let real = state.checked(Operation::Remove, path)?;
        if ContentHash::of(state.file(&real, path)?) != expected {
            return Err(DiskError::Changed(path.clone()));
        }
        state.nodes.remove(real.as_path());
        state.modes.remove(real.as_path());
        Ok(())
    }

    fn rename_real(&self, from: &AbsPath, to: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        self.without_links(from)?;
        self.without_links(to)?;
        let mut state = self.lock();
        state.checked(Operation::Rename, from)?;
        if ContentHash::of(state.file(from, from)?) != expected {
            return Err(DiskError::Changed(from.clone()));
        }
        if state.node(to.as_path()).is_some() {
            return Err(DiskError::Exists(to.clone()));
        }
        if let Some(node) = state.nodes.remove(from.as_path()) {
            state.insert(to.as_path(), node);
            if let Some(mode) = state.modes.remove(from.as_path()) {
                state.modes.insert(to.as_path().to_owned(), mode);
            }
        }
        Ok(())
    }
}

impl State {
    /// The real path, unless a failure was put in for this one.
    fn checked(&self, operation: Operation, path: &AbsPath) -> Result<AbsPath, DiskError> {
        let real = self.resolve(path)?;
        let failure = [path, &real].into_iter().find_map(|path| self.failures.get(&(operation, path.clone())));
        failure.map_or(Ok(real), |error| Err(error.clone()))
    }

    fn resolve(&self, path: &AbsPath) -> Result<AbsPath, DiskError> {
        let mut left: VecDeque<OsString> = parts(path.as_path());
        let mut real = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = left.pop_front() {
            if part == ".." {
                real.pop();
                continue;
            }
            if matches!(self.node(&real), Some(Node::File(_))) {
                return Err(not_a_folder(path));
            }
            let next = real.join(&part);
            let Some(Node::Link(target)) = self.nodes.get(&next) else {
                real = next;
                continue;
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(DiskError::Other { path: path.clone(), reason: "too many symbolic links".into() });
            }
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            for part in parts(target).into_iter().rev() {
                left.push_front(part);
            }
        }
        AbsPath::new(&real).ok_or_else(|| DiskError::NotFound(path.clone()))
    }

    /// The place of the entry itself: the links of its folder resolved, not its own.
    fn entry(&self, path: &AbsPath) -> Result<AbsPath, DiskError> {
        match (path.parent(), path.as_path().file_name()) {
            (Some(folder), Some(name)) => Ok(self.resolve(&folder)?.join(name)),
            _ => Ok(path.clone()),
        }
    }

    fn node(&self, real: &Path) -> Option<&Node> {
        if real.parent().is_none() { Some(&Node::Folder) } else { self.nodes.get(real) }
    }

    fn kind(&self, path: &Path) -> FileKind {
        let real = AbsPath::new(path).and_then(|path| self.resolve(&path).ok());
        match real.and_then(|real| self.node(real.as_path())) {
            Some(Node::File(_)) => FileKind::File,
            Some(Node::Folder) => FileKind::Directory,
            Some(Node::Link(_)) | None => FileKind::Other,
        }
    }

    fn file(&self, real: &AbsPath, path: &AbsPath) -> Result<&[u8], DiskError> {
        match self.node(real.as_path()) {
            Some(Node::File(bytes)) => Ok(bytes),
            Some(Node::Folder) => Err(DiskError::IsDirectory(path.clone())),
            Some(Node::Link(_)) | None => Err(DiskError::NotFound(path.clone())),
        }
    }

    fn insert(&mut self, place: &Path, node: Node) {
        self.puts += 1;
        self.stamps.insert(place.to_owned(), self.puts);
        for folder in place.ancestors().skip(1).filter(|folder| folder.parent().is_some()) {
            self.nodes.entry(folder.to_owned()).or_insert(Node::Folder);
        }
        self.nodes.insert(place.to_owned(), node);
    }
}

/// `..` is kept: it is only known what it leaves once the links before it are resolved.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

fn not_a_folder(path: &AbsPath) -> DiskError {
    DiskError::Other { path: path.clone(), reason: "not a directory".into() }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
