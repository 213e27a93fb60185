//! One file of a tree, as it stands on the disk: looked at and read without following a link. Decides what of it may be kept; keeps nothing.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use copydesk_engine::ports::{FileState, MayOpen, Unkept};
use rustix::fs::{Access, OFlags};

use crate::os::folder::open_real;

/// What a tree is looked at with.
#[derive(Clone)]
pub(super) struct Looker {
    /// The real path of the tree.
    pub(super) root: PathBuf,
    /// Where snapshots themselves are kept.
    pub(super) own: PathBuf,
    pub(super) may_keep: MayOpen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Absent,
    File(Stat),
    Link(Stat),
    Folder,
    /// A pipe, a socket, a device.
    Other,
}

impl Look {
    /// Of a file or a link.
    pub(super) fn inode(&self) -> Option<u32> {
        match self {
            Self::File(stat) | Self::Link(stat) => Some(stat.inode()),
            Self::Absent | Self::Folder | Self::Other => None,
        }
    }
}

/// What moves when a file is written, renamed, or another is put in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    /// Bytes.
    pub(super) len: u64,
    /// Permission bits.
    pub(super) mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: (u64, u64),
}

impl Stat {
    pub(super) fn of(found: &std::fs::Metadata) -> Self {
        Self {
            len: found.len(),
            mode: found.mode() & 0o7777,
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            inode: (found.dev(), found.ino()),
        }
    }

    /// As far as an index of Git knows it.
    #[expect(clippy::cast_possible_truncation, reason = "this is what Git does")]
    pub(super) fn inode(&self) -> u32 {
        self.inode.1 as u32
    }

    /// Whether anything about the file has changed since.
    pub(super) fn is_after(&self, time: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else { return false };
        UNIX_EPOCH + Duration::new(seconds, nanoseconds) >= time
    }
}

impl Looker {
    pub(super) fn look(&self, below: &Path) -> Look {
        let Ok(found) = std::fs::symlink_metadata(self.root.join(below)) else { return Look::Absent };
        let kind = found.file_type();
        if kind.is_symlink() {
            Look::Link(Stat::of(&found))
        } else if kind.is_file() {
            Look::File(Stat::of(&found))
        } else if kind.is_dir() {
            Look::Folder
        } else {
            Look::Other
        }
    }

    /// Whether a link leads to the file by now, so that it is another one. `folders` remembers what was looked at.
    pub(super) fn is_behind_a_link(&self, below: &Path, folders: &mut HashMap<PathBuf, bool>) -> bool {
        let Some(folder) = below.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return false };
        if let Some(known) = folders.get(folder) {
            return *known;
        }
        let is_link = matches!(self.look(folder), Look::Link(_)) || self.is_behind_a_link(folder, folders);
        folders.insert(folder.to_owned(), is_link);
        is_link
    }

    /// Whether it is a file of the tree at all: neither version control's own nor ours.
    pub(super) fn is_meant(&self, below: &Path) -> bool {
        let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
        !below.components().any(is_git) && !self.root.join(below).starts_with(&self.own)
    }

    /// What keeps the contents of a file from being kept, whose length must not pass `most` bytes.
    pub(super) fn obstacle(&self, below: &Path, look: Look, most: u64) -> Option<Unkept> {
        let path = self.root.join(below);
        let stat = match look {
            Look::Absent | Look::Folder => return None,
            Look::Other => return Some(Unkept::Unreadable),
            Look::File(stat) | Look::Link(stat) => stat,
        };
        if !(self.may_keep)(&path) {
            Some(Unkept::Withheld)
        } else if stat.len > most {
            Some(Unkept::TooLarge)
        } else if matches!(look, Look::File(_)) && rustix::fs::access(&path, Access::READ_OK).is_err() {
            Some(Unkept::Unreadable)
        } else {
            None
        }
    }

    /// With its contents, of `most` bytes at the most.
    pub(super) fn state(&self, below: &Path, most: u64) -> FileState {
        let look = self.look(below);
        if matches!(look, Look::Absent | Look::Folder) {
            return FileState::Absent;
        }
        if let Some(obstacle) = self.obstacle(below, look, most) {
            return FileState::Unkept(obstacle);
        }
        let path = self.root.join(below);
        let read = match look {
            Look::Link(_) => std::fs::read_link(&path)
                .ok()
                .map(|target| FileState::Link { target: target.as_os_str().as_bytes().to_vec() }),
            _ => read(&path, most).map(|(bytes, stat)| FileState::File { bytes, mode: stat.mode }),
        };
        read.unwrap_or(FileState::Unkept(Unkept::Unreadable))
    }
}

/// Of a real path; no more than `most` bytes of a file that grows meanwhile.
pub(super) fn read(path: &Path, most: u64) -> Option<(Vec<u8>, Stat)> {
    let file = File::from(open_real(path, OFlags::NONBLOCK).ok()?);
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::with_capacity(usize::try_from(found.len().min(most)).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then(|| (bytes, Stat::of(&found)))
}
