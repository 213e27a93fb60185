//! The files below the editor, as a plain synchronous trait, and a disk in memory for tests. The real one is in `adapters`.

mod memory;

pub use memory::{MemoryDisk, Operation};

use bytes::Bytes;

use crate::hash::ContentHash;
use crate::path::AbsPath;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub kind: FileKind,
    /// Bytes.
    pub len: u64,
    pub stamp: Stamp,
    /// Permission bits (12 of them), where the system has such.
    pub mode: Option<u32>,
}

/// What moves when a file is written or another is put in its place. A write within one tick of the system's clock, which may be seconds on some file
/// systems, need not move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Milliseconds since 1970 in UTC.
    pub modified: i64,
    /// When the file or anything about it was changed, by the system alone: nanoseconds since 1970 in UTC.
    pub changed: i128,
    pub inode: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    pub name: String,
    /// Of the target, where it is a link; `Other` where that is missing.
    pub kind: FileKind,
    pub is_link: bool,
}

/// What must be true of the file when it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    Absent,
    /// Its bytes still have this hash.
    Bytes(ContentHash),
    /// Its bytes are still these: of a large file they are compared in a fraction of the time that a hash takes.
    Exactly(Bytes),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    #[error("{0} does not exist")]
    NotFound(AbsPath),
    #[error("{0} exists already")]
    Exists(AbsPath),
    /// The file is not what the caller expected it to be.
    #[error("{0} was changed by another program")]
    Changed(AbsPath),
    #[error("{0} is a directory")]
    IsDirectory(AbsPath),
    #[error("no permission for {0}")]
    Denied(AbsPath),
    /// Refused or failed otherwise, and nothing was done.
    #[error("{path}: {reason}")]
    Other { path: AbsPath, reason: String },
    /// Something of the change may be there, or come yet.
    #[error("{path}: {reason}")]
    Torn { path: AbsPath, reason: String },
}

/// All of it blocks. `adapters` calls it on the blocking pool, behind the engine's `Files` port.
pub trait Disk: Send + Sync + 'static {
    fn read(&self, path: &AbsPath) -> Result<Vec<u8>, DiskError>;

    /// At most `len` bytes from `offset` (bytes).
    fn read_range(&self, path: &AbsPath, offset: u64, len: usize) -> Result<Vec<u8>, DiskError>;

    /// Of the target, where `path` is a link.
    fn stat(&self, path: &AbsPath) -> Result<Stat, DiskError>;

    /// Entries in order of their names' bytes.
    fn list(&self, folder: &AbsPath) -> Result<Vec<DirEntry>, DiskError>;

    /// As `read`, of a path that `real_path` gave and that was judged since: where a link stands on its way by now, it is `Changed` (C63). A disk of the
    /// system must close the gap between this check and the opening, which this default leaves open; so for the next two.
    fn read_real(&self, real: &AbsPath) -> Result<Vec<u8>, DiskError> {
        self.without_links(real)?;
        self.read(real)
    }

    /// Of the bytes that `read_real` would give, without holding them.
    fn hash_real(&self, real: &AbsPath) -> Result<ContentHash, DiskError> {
        Ok(ContentHash::of(&self.read_real(real)?))
    }

    /// Whether `read_real` would give these bytes, without holding them twice.
    fn holds_real(&self, real: &AbsPath, bytes: &[u8]) -> Result<bool, DiskError> {
        Ok(self.read_real(real)? == bytes)
    }

    fn read_range_real(&self, real: &AbsPath, offset: u64, len: usize) -> Result<Vec<u8>, DiskError> {
        self.without_links(real)?;
        self.read_range(real, offset, len)
    }

    fn list_real(&self, real: &AbsPath) -> Result<Vec<DirEntry>, DiskError> {
        self.without_links(real)?;
        self.list(real)
    }

    /// The check of the defaults.
    fn without_links(&self, real: &AbsPath) -> Result<(), DiskError> {
        if self.real_path(real)? == *real { Ok(()) } else { Err(DiskError::Changed(real.clone())) }
    }

    /// Links resolved. Of a path that does not exist: its deepest existing ancestor resolved, a dangling link followed to where it points.
    fn real_path(&self, path: &AbsPath) -> Result<AbsPath, DiskError>;

    /// Atomically: a temporary file beside it, then a rename. Keeps the mode, writes through links, makes missing folders. A file that is expected and
    /// gone is `NotFound`.
    fn write(&self, path: &AbsPath, bytes: &[u8], expected: Expected) -> Result<(), DiskError>;

    /// As `write`, to a path that `real_path` gave and that was judged since: where a link stands on its way by now, it is `Changed` and nothing is
    /// written (C63). A disk of the system must close the gap between this check and the write, which this default leaves open.
    fn write_real(&self, real: &AbsPath, bytes: &[u8], expected: Expected) -> Result<(), DiskError> {
        self.without_links(real)?;
        self.write(real, bytes, expected)
    }

    /// As `write_real` of a file that is not there, with these permission bits from the first moment on.
    fn create_real(&self, real: &AbsPath, bytes: &[u8], mode: u32) -> Result<(), DiskError>;

    /// Gives a file other permission bits, with the guard of `write_real`.
    fn set_mode_real(&self, real: &AbsPath, mode: u32) -> Result<(), DiskError>;

    /// Removes a folder in which nothing is, with the guard of `write_real`. `Other` where something is.
    fn remove_folder_real(&self, real: &AbsPath) -> Result<(), DiskError>;

    /// Removes a file, through links as `write` writes, while its bytes have that hash.
    fn remove(&self, path: &AbsPath, expected: ContentHash) -> Result<(), DiskError>;

    /// As `remove`, with the guard of `write_real`.
    fn remove_real(&self, real: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        self.without_links(real)?;
        self.remove(real, expected)
    }

    /// Gives a file another name, mode and owner with it, while its bytes have that hash and nothing has the new name. Both paths came from `real_path`:
    /// where a link stands on the way of one by now, it is `Changed`. Makes missing folders; does not reach from one file system to another.
    fn rename_real(&self, from: &AbsPath, to: &AbsPath, expected: ContentHash) -> Result<(), DiskError>;
}
