//! A folder held open while something is done in it (C63): reached from the root without following a link, so that a link put in its way after
//! the check leads nowhere. Resolves no links itself: paths come from `Disk::real_path`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use copydesk_workspace::hash::ContentHash;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Bytes that are read at once to be compared: few calls, and still in the processor's cache.
const PIECE: usize = 64 << 10;

/// What to do about the folders of a path that are missing.
#[derive(Clone, Copy)]
pub(super) enum Missing {
    Make,
    Fail,
}

/// Opens what stands at `real`, for reading; `LOOP` where a link stands on its way.
pub(super) fn open_real(real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(CWD, real, flags, Mode::empty(), resolve) {
            // Kernels before 5.6, and containers that do not know it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    walk_to(real, flags | OFlags::NOFOLLOW)
}

/// Whether all that is read is `bytes`.
pub(super) fn gives(mut reader: impl Read, mut bytes: &[u8]) -> io::Result<bool> {
    let mut piece = vec![0; PIECE.min(bytes.len() + 1)];
    loop {
        let read = match reader.read(&mut piece) {
            Ok(0) => return Ok(bytes.is_empty()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match bytes.split_at_checked(read) {
            Some((expected, rest)) if *expected == piece[..read] => bytes = rest,
            Some(_) | None => return Ok(false),
        }
    }
}

/// The same by opening one folder after the other.
fn walk_to(real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return rustix::fs::openat(CWD, real, flags, Mode::empty());
    };
    let folder = Folder::open(parent, Missing::Fail).map_err(|error| match error {
        FolderError::Link => Errno::LOOP,
        FolderError::NotAFolder => Errno::NOTDIR,
        FolderError::Io(error) => Errno::from_io_error(&error).unwrap_or(Errno::IO),
    })?;
    match rustix::fs::openat(&folder.fd, name, flags, Mode::empty()) {
        // With `DIRECTORY` a link is no folder.
        Err(Errno::NOTDIR | Errno::MLINK) if folder.is_link(name) => Err(Errno::LOOP),
        opened => opened,
    }
}

pub(super) struct Folder {
    fd: OwnedFd,
}

#[derive(Debug)]
pub(super) enum FolderError {
    /// Something that is no folder stands where `real_path` found one.
    Link,
    NotAFolder,
    Io(io::Error),
}

impl From<Errno> for FolderError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl From<io::Error> for FolderError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Folder {
    pub(super) fn open(real: &Path, missing: Missing) -> Result<Self, FolderError> {
        let mut fd = rustix::fs::openat(CWD, "/", walk_flags(), Mode::empty())?;
        for part in real.components() {
            let Component::Normal(name) = part else { continue };
            fd = open_child(&fd, name, missing)?;
        }
        Ok(Self { fd })
    }

    /// Whether `real` still leads here.
    pub(super) fn is_at(&self, real: &Path) -> Result<bool, FolderError> {
        let here = rustix::fs::fstat(&self.fd)?;
        let there = match Self::open(real, Missing::Fail) {
            Ok(folder) => rustix::fs::fstat(&folder.fd)?,
            Err(FolderError::Link | FolderError::NotAFolder) => return Ok(false),
            Err(FolderError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        Ok(here.st_dev == there.st_dev && here.st_ino == there.st_ino)
    }

    /// Of the entry itself, links not followed; `None` where there is none.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn is_link(&self, name: &OsStr) -> bool {
        let is_link = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        self.stat(name).ok().flatten().is_some_and(is_link)
    }

    pub(super) fn may_write(&self, name: &OsStr) -> io::Result<bool> {
        match rustix::fs::accessat(&self.fd, name, rustix::fs::Access::WRITE_OK, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn hash(&self, name: &OsStr) -> io::Result<ContentHash> {
        ContentHash::of_reader(self.open_to_read(name)?)
    }

    /// Whether these are the bytes of the file.
    pub(super) fn holds(&self, name: &OsStr, bytes: &[u8]) -> io::Result<bool> {
        gives(self.open_to_read(name)?, bytes)
    }

    fn open_to_read(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?))
    }

    /// A new file beside the others, removed again unless it is renamed. `mode` is cut by the umask.
    pub(super) fn temporary(&self, mode: Mode) -> io::Result<Temporary<'_>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let suffix: String = std::iter::repeat_with(fastrand::alphanumeric).take(12).collect();
            let name = OsString::from(format!(".copydesk-{suffix}.tmp"));
            match rustix::fs::openat(&self.fd, &name, flags, mode) {
                Ok(fd) => return Ok(Temporary { folder: self, name: Some(name), file: File::from(fd) }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A file to write in its place.
    pub(super) fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?))
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// A folder in which nothing is.
    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// `AlreadyExists` where something has the new name.
    pub(super) fn rename_to_new(&self, name: &OsStr, folder: &Folder, new: &OsStr) -> io::Result<()> {
        match rename_to_new(&self.fd, name, &folder.fd, new) {
            // File systems that cannot rename without replacing.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                if folder.stat(new)?.is_some() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                Ok(rustix::fs::renameat(&self.fd, name, &folder.fd, new)?)
            }
            result => Ok(result?),
        }
    }
}

pub(super) struct Temporary<'a> {
    folder: &'a Folder,
    /// `None` once it is in its place.
    name: Option<OsString>,
    pub(super) file: File,
}

impl Temporary<'_> {
    /// Gives it owner, group and mode of `like`; false where the owner or the group may not be given.
    pub(super) fn take_owner_and_mode(&self, like: &Stat) -> io::Result<bool> {
        let own = rustix::fs::fstat(&self.file)?;
        let (owner, group) = (rustix::fs::Uid::from_raw(like.st_uid), rustix::fs::Gid::from_raw(like.st_gid));
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid)
            && rustix::fs::fchown(&self.file, Some(owner), Some(group)).is_err()
        {
            return Ok(false);
        }
        // After the change of owner, which clears set-user-id.
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(like.st_mode))?;
        Ok(true)
    }

    pub(super) fn replace(mut self, name: &OsStr) -> io::Result<()> {
        let Some(from) = self.name.as_ref() else { return Ok(()) };
        rustix::fs::renameat(&self.folder.fd, from, &self.folder.fd, name)?;
        self.name = None;
        Ok(())
    }

    /// `AlreadyExists` where something has the name by now.
    pub(super) fn place(mut self, name: &OsStr) -> io::Result<()> {
        let Some(from) = self.name.as_ref() else { return Ok(()) };
        self.folder.rename_to_new(from, self.folder, name)?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name
            && let Err(error) = self.folder.remove(name)
        {
            tracing::warn!(?name, %error, "a temporary file was left behind");
        }
    }
}

fn open_child(fd: &OwnedFd, name: &OsStr, missing: Missing) -> Result<OwnedFd, FolderError> {
    let open = || rustix::fs::openat(fd, name, walk_flags(), Mode::empty());
    let result = match (open(), missing) {
        (Err(Errno::NOENT), Missing::Make) => {
            match rustix::fs::mkdirat(fd, name, Mode::from_raw_mode(0o777)) {
                // Another program made it in the same moment.
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(error) => Err(error),
            }
        }
        (result, _) => result,
    };
    match result {
        Ok(child) => Ok(child),
        Err(Errno::LOOP | Errno::NOTDIR | Errno::MLINK) => {
            let stat = rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
            Err(if is_link { FolderError::Link } else { FolderError::NotAFolder })
        }
        Err(error) => Err(error.into()),
    }
}

/// Enough to reach what is below; on Linux this needs no permission to list the folder.
fn walk_flags() -> OFlags {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    return flags | OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    return flags | OFlags::RDONLY;
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_to_new(fd: &OwnedFd, from: &OsStr, to_fd: &OwnedFd, to: &OsStr) -> Result<(), Errno> {
    rustix::fs::renameat_with(fd, from, to_fd, to, rustix::fs::RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_to_new(_: &OwnedFd, _: &OsStr, _: &OwnedFd, _: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
