//! The folder in which snapshots of one work tree are kept: a Git object store of its own, with an index of how the tree stood last. Made, locked and kept
//! small here; what stands in it is `shadow`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, FileTimes, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use copydesk_engine::ports::SnapshotError;
use copydesk_workspace::hash::ContentHash;

use super::git::{items, path_of};

/// Stores that nobody used for so long are removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Contents are taken as they are: no conversion of line ends, no filter, no keyword, no encoding, whatever the files of the tree say. These rules stand above
/// those of the tree. `!`: of an encoding Git knows no other no.
const ATTRIBUTES: &str = "* -text -eol -crlf -ident -filter !working-tree-encoding -diff -merge -export-subst\n";

#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: PathBuf,
}

/// One process and one snapshot at a time.
pub(super) struct Locked {
    store: Store,
    lock: File,
    is_sha256: bool,
}

/// The index of a snapshot, removed when this is dropped. As long as it is held, what it names stays in the store.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) index: PathBuf,
    /// When it was made, by the clock of files.
    pub(super) made: SystemTime,
    held: PathBuf,
    _lock: File,
}

impl Drop for Mark {
    fn drop(&mut self) {
        // Of a git that was ended while it wrote the index.
        let _ = fs::remove_file(self.index.with_extension("lock"));
        let _ = fs::remove_file(&self.index);
        let _ = fs::remove_file(&self.held);
    }
}

impl Store {
    /// Below `stores`, by the root's real path.
    pub(super) fn of(stores: &Path, work_tree: &Path) -> Self {
        let hash = ContentHash::of(work_tree.as_os_str().as_encoded_bytes());
        Self { folder: stores.join(format!("{hash:?}")) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// `None` while another process, or another command, takes a snapshot of the same tree.
    pub(super) fn try_lock(&self, is_sha256: bool) -> io::Result<Option<Locked>> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let lock = private().open(self.folder.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let locked = Locked { store: self.clone(), lock, is_sha256 };
        locked.prepare()?;
        Ok(Some(locked))
    }

    /// Removes stores that were not used for long, and those that hold nothing.
    pub(super) fn remove_unused(stores: &Path, kept: &Path) {
        for entry in fs::read_dir(stores).into_iter().flatten().flatten() {
            let folder = entry.path();
            let used = fs::metadata(folder.join("lock")).and_then(|lock| lock.modified());
            let is_old = used.is_ok_and(|used| used.elapsed().is_ok_and(|since| since > UNUSED));
            let lock = File::open(folder.join("lock"));
            if folder != kept && is_old && lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
                let _ = fs::remove_dir_all(&folder);
            }
        }
    }
}

impl Locked {
    pub(super) fn index(&self) -> PathBuf {
        self.store.folder.join("index")
    }

    fn marks(&self) -> PathBuf {
        self.store.folder.join("marks")
    }

    fn objects(&self) -> PathBuf {
        self.store.folder.join("objects")
    }

    fn prepare(&self) -> io::Result<()> {
        let folder = &self.store.folder;
        self.lock.set_times(FileTimes::new().set_modified(SystemTime::now()))?;
        let config = config(self.is_sha256);
        if fs::read_to_string(folder.join("config")).is_ok_and(|found| found != config) {
            // Of another time: nothing of it can be used.
            self.wipe()?;
        }
        for name in ["objects/info", "objects/pack", "refs", "info", "marks"] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder.join(name))?;
        }
        write_if_other(&folder.join("config"), &config)?;
        write_if_other(&folder.join("HEAD"), "ref: refs/heads/none\n")?;
        write_if_other(&folder.join("info/attributes"), ATTRIBUTES)?;
        // Whoever left it was killed: the store is ours alone.
        for name in ["index.lock", "seed", "seed.lock"] {
            let _ = fs::remove_file(folder.join(name));
        }
        Ok(())
    }

    /// What the tree ignores beside what its own files say.
    pub(super) fn set_excludes(&self, excludes: &str) -> io::Result<()> {
        write_if_other(&self.store.folder.join("info/exclude"), excludes)
    }

    /// Lets the attributes of the tree count, until `seal`.
    pub(super) fn unseal(&self, users: Option<&str>) -> io::Result<()> {
        fs::write(self.store.folder.join("info/attributes"), users.unwrap_or_default())
    }

    pub(super) fn seal(&self) -> io::Result<()> {
        write_if_other(&self.store.folder.join("info/attributes"), ATTRIBUTES)
    }

    /// A copy of the user's index. `None` where there is none.
    pub(super) fn copy_seed(&self, users: &Path) -> Option<PathBuf> {
        let seed = self.store.folder.join("seed");
        copy_with_time(users, &seed).ok()?;
        Some(seed)
    }

    pub(super) fn drop_seed(&self) {
        let _ = fs::remove_file(self.store.folder.join("seed"));
    }

    pub(super) fn plant(&self, seed: &Path) -> io::Result<()> {
        fs::rename(seed, self.index())
    }

    /// Of files whose permission bits are others than those that an index knows, by their paths below the root.
    pub(super) fn modes(&self) -> BTreeMap<PathBuf, u32> {
        let bytes = fs::read(self.store.folder.join("modes")).unwrap_or_default();
        let mode = |item: &[u8]| {
            let at = item.iter().position(|byte| *byte == b' ')?;
            let (mode, path) = item.split_at(at);
            Some((path_of(path.get(1..)?).to_owned(), u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?))
        };
        items(&bytes).filter_map(mode).collect()
    }

    pub(super) fn set_modes(&self, modes: &BTreeMap<PathBuf, u32>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (path, mode) in modes {
            bytes.extend(format!("{mode:o} ").into_bytes());
            bytes.extend(path.as_os_str().as_encoded_bytes());
            bytes.push(0);
        }
        fs::write(self.store.folder.join("modes"), bytes)
    }

    /// Keeps the index as it is now. Its time is that of the original: by it Git knows which files may have been written since.
    pub(super) fn mark(&self) -> io::Result<Mark> {
        let name: String = std::iter::repeat_with(fastrand::alphanumeric).take(16).collect();
        let held = self.marks().join(&name).with_extension("held");
        let lock = private().open(&held)?;
        lock.lock()?;
        let made = lock.metadata()?.modified()?;
        let index = self.marks().join(&name);
        match copy_with_time(&self.index(), &index) {
            // Nothing was ever put into it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => copied?,
        }
        Ok(Mark { index, made, held, _lock: lock })
    }

    /// The indexes of snapshots that are held; those of processes that are gone are removed.
    pub(super) fn marked(&self) -> Vec<PathBuf> {
        let mut marked = Vec::new();
        for entry in fs::read_dir(self.marks()).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "held") {
                continue;
            }
            let index = path.with_extension("");
            if File::open(&path).is_ok_and(|held| held.try_lock().is_ok()) {
                let _ = fs::remove_file(index.with_extension("lock"));
                let _ = fs::remove_file(&index);
                let _ = fs::remove_file(&path);
            } else {
                marked.push(index);
            }
        }
        marked
    }

    /// Removes the objects that `live` does not name. Answers the bytes of those that stay.
    pub(super) fn prune(&self, live: &BTreeSet<String>) -> u64 {
        let mut kept = 0;
        for folder in fs::read_dir(self.objects()).into_iter().flatten().flatten() {
            let prefix = folder.file_name().to_string_lossy().into_owned();
            if prefix.len() != 2 {
                continue;
            }
            for object in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let name = format!("{prefix}{}", object.file_name().to_string_lossy());
                if live.contains(&name) {
                    kept += object.metadata().map_or(0, |found| found.len());
                } else {
                    let _ = fs::remove_file(object.path());
                }
            }
        }
        kept
    }

    /// Begins from the start. What snapshots stand on that are held stays.
    pub(super) fn renew(&self) -> io::Result<()> {
        if self.marked().is_empty() {
            self.wipe()?;
        } else {
            self.forget_index()?;
        }
        self.prepare()
    }

    fn wipe(&self) -> io::Result<()> {
        self.forget_index()?;
        for name in ["objects", "marks", "info"] {
            found(fs::remove_dir_all(self.store.folder.join(name)))?;
        }
        Ok(())
    }

    fn forget_index(&self) -> io::Result<()> {
        found(fs::remove_file(self.index()))?;
        found(fs::remove_file(self.store.folder.join("modes")))
    }
}

/// What is gone need not be removed.
fn found(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// No hook, no filter, no monitor, no maintenance; modes and links as they are.
fn config(is_sha256: bool) -> String {
    let format = if is_sha256 {
        "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
    } else {
        "\trepositoryformatversion = 0\n"
    };
    format!(
        "[core]\n{format}[core]\n\tbare = false\n\tfilemode = true\n\tsymlinks = true\n\tautocrlf = false\n\tsafecrlf = false\n\tfsmonitor = false\n\
         \tuntrackedCache = false\n\tsplitIndex = false\n\thooksPath = /dev/null\n\tattributesFile = /dev/null\n\texcludesFile = /dev/null\n\
         \tlogAllRefUpdates = false\n\tlooseCompression = 1\n[index]\n\tsparse = false\n\tskipHash = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n\
         [submodule]\n\trecurse = false\n"
    )
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options
}

fn write_if_other(path: &Path, text: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) { Ok(()) } else { fs::write(path, text) }
}

/// The copy looks as old as the original.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let modified = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    OpenOptions::new().write(true).open(to)?.set_times(FileTimes::new().set_modified(modified))
}

pub(super) fn io_error(error: io::Error) -> SnapshotError {
    SnapshotError::Io(error.to_string())
}
