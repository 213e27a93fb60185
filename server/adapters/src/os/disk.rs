//! The disk of the system. Knows no open documents and no permission; `folder` holds the parent open while a file is replaced.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use copydesk_workspace::disk::{DirEntry, Disk, DiskError, Expected, FileKind, Stamp, Stat};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::folder::{Folder, FolderError, Missing, gives, open_real};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;
/// Of a mode: who may do what, and the three special bits.
const PERMISSIONS: u32 = 0o7777;

#[derive(Debug, Clone, Copy, Default)]
pub struct OsDisk;

impl Disk for OsDisk {
    fn read(&self, path: &AbsPath) -> Result<Vec<u8>, DiskError> {
        let mut bytes = Vec::new();
        open_file(path)?.read_to_end(&mut bytes).map_err(|error| disk_error(path, error))?;
        Ok(bytes)
    }

    fn read_range(&self, path: &AbsPath, offset: u64, len: usize) -> Result<Vec<u8>, DiskError> {
        range(open_file(path)?, offset, len).map_err(|error| disk_error(path, error))
    }

    fn stat(&self, path: &AbsPath) -> Result<Stat, DiskError> {
        let metadata = fs::metadata(path.as_path()).map_err(|error| disk_error(path, error))?;
        let stamp = Stamp {
            modified: metadata.mtime().saturating_mul(1000).saturating_add(metadata.mtime_nsec() / 1_000_000),
            changed: i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()),
            inode: metadata.ino(),
        };
        Ok(Stat {
            kind: kind_of(metadata.file_type()),
            len: metadata.len(),
            stamp,
            mode: Some(metadata.mode() & PERMISSIONS),
        })
    }

    fn list(&self, folder: &AbsPath) -> Result<Vec<DirEntry>, DiskError> {
        if self.stat(folder)?.kind != FileKind::Directory {
            return Err(other(folder, "is not a directory"));
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder.as_path()).map_err(|error| disk_error(folder, error))? {
            let entry = entry.map_err(|error| disk_error(folder, error))?;
            // An entry that is gone again is not listed.
            let Ok(file_type) = entry.file_type() else { continue };
            let is_link = file_type.is_symlink();
            let kind = if is_link {
                fs::metadata(entry.path()).map_or(FileKind::Other, |target| kind_of(target.file_type()))
            } else {
                kind_of(file_type)
            };
            entries.push(DirEntry { name: entry.file_name().to_string_lossy().into_owned(), kind, is_link });
        }
        entries.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(entries)
    }

    fn read_real(&self, real: &AbsPath) -> Result<Vec<u8>, DiskError> {
        let mut bytes = Vec::new();
        open_file_at(real)?.read_to_end(&mut bytes).map_err(|error| disk_error(real, error))?;
        Ok(bytes)
    }

    fn hash_real(&self, real: &AbsPath) -> Result<ContentHash, DiskError> {
        ContentHash::of_reader(open_file_at(real)?).map_err(|error| disk_error(real, error))
    }

    fn holds_real(&self, real: &AbsPath, bytes: &[u8]) -> Result<bool, DiskError> {
        gives(open_file_at(real)?, bytes).map_err(|error| disk_error(real, error))
    }

    fn read_range_real(&self, real: &AbsPath, offset: u64, len: usize) -> Result<Vec<u8>, DiskError> {
        range(open_file_at(real)?, offset, len).map_err(|error| disk_error(real, error))
    }

    fn list_real(&self, real: &AbsPath) -> Result<Vec<DirEntry>, DiskError> {
        let folder = open_real(real.as_path(), OFlags::DIRECTORY).map_err(|errno| real_error(real, errno))?;
        let listed = |errno: Errno| disk_error(real, errno.into());
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&folder).map_err(listed)? {
            let entry = entry.map_err(listed)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            // An entry that is gone again is not listed.
            let Ok(own) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let is_link = FileType::from_raw_mode(own.st_mode) == FileType::Symlink;
            let meant = if is_link { rustix::fs::statat(&folder, name, AtFlags::empty()).ok() } else { Some(own) };
            let kind = meant.map_or(FileKind::Other, |stat| match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => FileKind::File,
                FileType::Directory => FileKind::Directory,
                _ => FileKind::Other,
            });
            entries.push(DirEntry { name: name.to_string_lossy().into_owned(), kind, is_link });
        }
        entries.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(entries)
    }

    fn real_path(&self, path: &AbsPath) -> Result<AbsPath, DiskError> {
        let real = resolve(path.as_path()).map_err(|error| disk_error(path, error))?;
        AbsPath::new(real).ok_or_else(|| other(path, "resolves to no absolute path"))
    }

    fn write(&self, path: &AbsPath, bytes: &[u8], expected: Expected) -> Result<(), DiskError> {
        self.write_real(&self.real_path(path)?, bytes, expected).map_err(|error| named(error, path))
    }

    fn write_real(&self, real: &AbsPath, bytes: &[u8], expected: Expected) -> Result<(), DiskError> {
        write_in_folder(real, bytes, expected, || ())
    }

    fn create_real(&self, real: &AbsPath, bytes: &[u8], mode: u32) -> Result<(), DiskError> {
        let io_error = |error| disk_error(real, error);
        let (parent, name) = parent_and_name(real)?;
        let folder = Folder::open(parent, Missing::Make).map_err(|error| folder_error(real, error))?;
        if folder.stat(name).map_err(io_error)?.is_some() {
            return Err(DiskError::Exists(real.clone()));
        }
        let mut temporary = folder.temporary(Mode::from_raw_mode(0o600)).map_err(io_error)?;
        temporary.file.write_all(bytes).map_err(io_error)?;
        rustix::fs::fchmod(&temporary.file, Mode::from_raw_mode(mode & PERMISSIONS))
            .map_err(|errno| io_error(errno.into()))?;
        temporary.place(name).map_err(io_error)
    }

    fn set_mode_real(&self, real: &AbsPath, mode: u32) -> Result<(), DiskError> {
        let file = open_file_at(real)?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & PERMISSIONS))
            .map_err(|errno| disk_error(real, errno.into()))
    }

    fn remove_folder_real(&self, real: &AbsPath) -> Result<(), DiskError> {
        let (parent, name) = parent_and_name(real)?;
        let folder = Folder::open(parent, Missing::Fail).map_err(|error| folder_error(real, error))?;
        folder.remove_folder(name).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => DiskError::Changed(real.clone()),
            io::ErrorKind::DirectoryNotEmpty => other(real, "something is in it"),
            _ => disk_error(real, error),
        })
    }

    fn remove(&self, path: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        remove_real(&self.real_path(path)?, expected).map_err(|error| named(error, path))
    }

    fn remove_real(&self, real: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        remove_real(real, expected)
    }

    fn rename_real(&self, from: &AbsPath, to: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        let io_error = |error| disk_error(from, error);
        let (parent, name) = parent_and_name(from)?;
        let folder = Folder::open(parent, Missing::Fail).map_err(|error| folder_error(from, error))?;
        let stat = folder.stat(name).map_err(io_error)?;
        regular(from, &stat.ok_or_else(|| DiskError::NotFound(from.clone()))?)?;
        if folder.hash(name).map_err(io_error)? != expected {
            return Err(DiskError::Changed(from.clone()));
        }
        let (new_parent, new_name) = parent_and_name(to)?;
        let target = Folder::open(new_parent, Missing::Make).map_err(|error| folder_error(to, error))?;
        folder.rename_to_new(name, &target, new_name).map_err(|error| match error.kind() {
            io::ErrorKind::CrossesDevices => {
                other(from, &format!("{to} is on another file system; move it with a command"))
            }
            _ => disk_error(to, error),
        })
    }
}

fn remove_real(real: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
    let io_error = |error| disk_error(real, error);
    let (parent, name) = parent_and_name(real)?;
    let folder = Folder::open(parent, Missing::Fail).map_err(|error| folder_error(real, error))?;
    let stat = folder.stat(name).map_err(io_error)?;
    regular(real, &stat.ok_or_else(|| DiskError::NotFound(real.clone()))?)?;
    if folder.hash(name).map_err(io_error)? != expected {
        return Err(DiskError::Changed(real.clone()));
    }
    folder.remove(name).map_err(io_error)
}

/// `before_rename` runs when the new bytes stand beside the file: the last moment at which another program can come between.
fn write_in_folder(
    real: &AbsPath,
    bytes: &[u8],
    expected: Expected,
    before_rename: impl FnOnce(),
) -> Result<(), DiskError> {
    let io_error = |error| disk_error(real, error);
    let (parent, name) = parent_and_name(real)?;
    let folder = Folder::open(parent, Missing::Make).map_err(|error| folder_error(real, error))?;
    let check = || -> Result<Option<rustix::fs::Stat>, DiskError> {
        let stat = folder.stat(name).map_err(io_error)?;
        if let Some(stat) = &stat {
            regular(real, stat)?;
        }
        let is_as_expected = match (&expected, &stat) {
            (Expected::Absent, None) => return Ok(None),
            (Expected::Absent, Some(_)) => return Err(DiskError::Exists(real.clone())),
            (Expected::Bytes(_) | Expected::Exactly(_), None) => return Err(DiskError::NotFound(real.clone())),
            (Expected::Bytes(hash), Some(_)) => folder.hash(name).map_err(io_error)? == *hash,
            (Expected::Exactly(bytes), Some(_)) => folder.holds(name, bytes).map_err(io_error)?,
        };
        if is_as_expected { Ok(stat) } else { Err(DiskError::Changed(real.clone())) }
    };
    let still_there = || match folder.is_at(parent) {
        Ok(true) => Ok(()),
        Ok(false) => Err(DiskError::Changed(real.clone())),
        Err(error) => Err(folder_error(real, error)),
    };

    let Some(present) = check()? else {
        let mut temporary = folder.temporary(Mode::from_raw_mode(0o666)).map_err(io_error)?;
        temporary.file.write_all(bytes).map_err(io_error)?;
        before_rename();
        still_there()?;
        return temporary.place(name).map_err(io_error);
    };

    // A rename would replace a file that may not be written; even root is held to the mode, as it says that nobody is meant to write here.
    if present.st_mode & 0o222 == 0 || !folder.may_write(name).map_err(io_error)? {
        return Err(DiskError::Denied(real.clone()));
    }
    // A rename would part a file from its other names.
    let temporary = match (present.st_nlink == 1).then(|| folder.temporary(Mode::from_raw_mode(0o600))).transpose() {
        Ok(None) => None,
        Ok(Some(mut temporary)) => {
            temporary.file.write_all(bytes).map_err(io_error)?;
            temporary.take_owner_and_mode(&present).map_err(io_error)?.then_some(temporary)
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        Err(error) => return Err(io_error(error)),
    };
    before_rename();
    check()?;
    still_there()?;
    match temporary {
        Some(temporary) => temporary.replace(name).map_err(io_error),
        None => overwrite(real, folder.open_to_write(name).map_err(io_error)?, bytes),
    }
}

/// Without a temporary file: for a folder in which none can be made, and for a file whose owner or whose other names a rename would take. Not atomic.
fn overwrite(real: &AbsPath, mut file: File, bytes: &[u8]) -> Result<(), DiskError> {
    let written = file.write_all(bytes).and_then(|()| file.set_len(bytes.len() as u64));
    written.map_err(|error| DiskError::Torn { path: real.clone(), reason: error.to_string() })
}

/// Walks by hand, since the system's own resolution stops at what does not exist.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut pending: Vec<_> = components_reversed(path);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = pending.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        real.push(&name);
        match fs::read_link(&real) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(rustix::io::Errno::LOOP.into());
                }
                real.pop();
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                pending.extend(components_reversed(&target));
            }
            // No link, or nothing there, or below a file: taken as it is written.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(real)
}

fn components_reversed(path: &Path) -> Vec<std::ffi::OsString> {
    path.components()
        .rev()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsStr::from_bytes(b"..").to_owned()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}

fn range(mut file: File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(len as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As `open_file`, without following a link (C63).
fn open_file_at(real: &AbsPath) -> Result<File, DiskError> {
    let file = File::from(open_real(real.as_path(), OFlags::NONBLOCK).map_err(|errno| real_error(real, errno))?);
    plain(real, file)
}

fn real_error(real: &AbsPath, errno: Errno) -> DiskError {
    match errno {
        Errno::LOOP => DiskError::Changed(real.clone()),
        other => disk_error(real, other.into()),
    }
}

/// Never waits for the other end of a pipe, and refuses what is endless.
fn open_file(path: &AbsPath) -> Result<File, DiskError> {
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path.as_path())
        .map_err(|error| disk_error(path, error))?;
    plain(path, file)
}

fn plain(path: &AbsPath, file: File) -> Result<File, DiskError> {
    match kind_of(file.metadata().map_err(|error| disk_error(path, error))?.file_type()) {
        FileKind::File => Ok(file),
        FileKind::Directory => Err(DiskError::IsDirectory(path.clone())),
        FileKind::Other => Err(other(path, "is not a regular file")),
    }
}

fn regular(real: &AbsPath, stat: &rustix::fs::Stat) -> Result<(), DiskError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(DiskError::IsDirectory(real.clone())),
        // `real` had no link when it was resolved.
        FileType::Symlink => Err(DiskError::Changed(real.clone())),
        _ => Err(other(real, "is not a regular file")),
    }
}

fn parent_and_name(real: &AbsPath) -> Result<(&Path, &OsStr), DiskError> {
    match (real.as_path().parent(), real.as_path().file_name()) {
        (Some(parent), Some(name)) => Ok((parent, name)),
        _ => Err(DiskError::IsDirectory(real.clone())),
    }
}

fn kind_of(file_type: fs::FileType) -> FileKind {
    if file_type.is_file() {
        FileKind::File
    } else if file_type.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    }
}

fn folder_error(path: &AbsPath, error: FolderError) -> DiskError {
    match error {
        FolderError::Link => DiskError::Changed(path.clone()),
        FolderError::NotAFolder => other(path, "a folder on its way is a file"),
        FolderError::Io(error) => disk_error(path, error),
    }
}

fn disk_error(path: &AbsPath, error: io::Error) -> DiskError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => DiskError::NotFound(path.clone()),
        io::ErrorKind::AlreadyExists => DiskError::Exists(path.clone()),
        io::ErrorKind::IsADirectory => DiskError::IsDirectory(path.clone()),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => DiskError::Denied(path.clone()),
        _ => other(path, &error.to_string()),
    }
}

/// The same error about the path as the caller spells it.
fn named(error: DiskError, path: &AbsPath) -> DiskError {
    let path = path.clone();
    match error {
        DiskError::NotFound(_) => DiskError::NotFound(path),
        DiskError::Exists(_) => DiskError::Exists(path),
        DiskError::Changed(_) => DiskError::Changed(path),
        DiskError::IsDirectory(_) => DiskError::IsDirectory(path),
        DiskError::Denied(_) => DiskError::Denied(path),
        DiskError::Other { reason, .. } => DiskError::Other { path, reason },
        DiskError::Torn { reason, .. } => DiskError::Torn { path, reason },
    }
}

fn other(path: &AbsPath, reason: &str) -> DiskError {
    DiskError::Other { path: path.clone(), reason: reason.to_owned() }
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
