//! A JSON file of the data folder that is the user's alone: mode 0600, in a folder of mode 0700 where none was, read whole, replaced whole under a lock. It does
//! not know what is in it.

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

#[derive(Debug, Clone)]
pub struct KeptFile {
    path: PathBuf,
}

/// Equal where nobody has replaced the file in between. Every write of ours makes a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds of the last change of content, and of content or mode.
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Debug, thiserror::Error)]
pub enum KeptFileError {
    #[error("{path} cannot be {doing}: {cause}.")]
    Io { path: PathBuf, doing: &'static str, cause: std::io::Error },
    #[error(
        "{path} is not valid JSON of its kind (line {line}, column {column}); nothing was changed. Correct it or move it away, and try again."
    )]
    Malformed { path: PathBuf, line: usize, column: usize },
    #[error(
        "Other users can reach {path} (mode {mode:o}), so it is not used. Run `chmod 600` on it after a look at what is in it."
    )]
    Exposed { path: PathBuf, mode: u32 },
}

impl KeptFile {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `None` where there is no file.
    pub fn stamp(&self) -> Option<Stamp> {
        let found = std::fs::metadata(&self.path).ok()?;
        Some(Stamp {
            inode: found.ino(),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// No file is the default. What others could have written is not read.
    pub fn read<T: DeserializeOwned + Default>(&self) -> Result<T, KeptFileError> {
        match std::fs::metadata(&self.path) {
            Ok(found) if found.mode() & 0o077 != 0 => {
                Err(KeptFileError::Exposed { path: self.path.clone(), mode: found.mode() & 0o7777 })
            }
            Ok(_) => self.parse(),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
            Err(cause) => Err(self.io("read", cause)),
        }
    }

    /// Reads, changes and replaces while no other process can do so. Where `change` gives `None`, nothing is written.
    pub fn change<T: Serialize + DeserializeOwned + Default, R>(
        &self,
        change: impl FnOnce(&mut T) -> Option<R>,
    ) -> Result<Option<R>, KeptFileError> {
        let _lock = self.lock()?;
        let mut content = self.read()?;
        let Some(result) = change(&mut content) else { return Ok(None) };
        self.write(&content)?;
        Ok(Some(result))
    }

    /// Gives a file that is not to be used another name beside it; `None` where there is none.
    pub fn set_aside(&self) -> Result<Option<PathBuf>, KeptFileError> {
        let _lock = self.lock()?;
        if !self.path.exists() {
            return Ok(None);
        }
        let free =
            (1..).map(|number: u32| beside(&self.path, "", &format!(".damaged-{number}"))).find(|name| !name.exists());
        let Some(aside) = free else { return Ok(None) };
        std::fs::rename(&self.path, &aside).map_err(|cause| self.io("moved away", cause))?;
        Ok(Some(aside))
    }

    /// Replaces a file that others could reach by one that they cannot, with the same content.
    pub fn close_to_others(&self) -> Result<(), KeptFileError> {
        match std::fs::set_permissions(&self.path, std::fs::Permissions::from_mode(0o600)) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => Err(self.io("made yours alone", cause)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, KeptFileError> {
        let bytes = std::fs::read(&self.path).map_err(|cause| self.io("read", cause))?;
        serde_json::from_slice(&bytes).map_err(|error| KeptFileError::Malformed {
            path: self.path.clone(),
            line: error.line(),
            column: error.column(),
        })
    }

    /// Of the folder, so that no file of the lock is left behind; held until the value is dropped, or its process is gone.
    fn lock(&self) -> Result<std::fs::File, KeptFileError> {
        let folder = self.folder();
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let locked = made.and_then(|()| {
            let folder = std::fs::File::open(folder)?;
            folder.lock()?;
            Ok(folder)
        });
        locked.map_err(|cause| self.io("locked", cause))
    }

    /// Beside it, flushed, then in its place: nobody sees half of it, and nobody else ever reads it. A link stays one: what it leads to is replaced.
    fn write<T: Serialize>(&self, content: &T) -> Result<(), KeptFileError> {
        let io = |cause| self.io("written", cause);
        let text = format!("{}\n", serde_json::to_string_pretty(content).map_err(|error| io(error.into()))?);
        let place = match std::fs::canonicalize(&self.path) {
            Ok(place) => place,
            Err(cause) if cause.kind() == ErrorKind::NotFound && !self.path.is_symlink() => self.path.clone(),
            Err(cause) => return Err(io(cause)),
        };
        let beside = beside(&place, ".", &format!(".{}", std::process::id()));
        let written = (|| {
            let mut file =
                std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, &place)
        })();
        written.map_err(|cause| {
            // What cannot be removed either is overwritten by the next try.
            let _ = std::fs::remove_file(&beside);
            io(cause)
        })
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    fn io(&self, doing: &'static str, cause: std::io::Error) -> KeptFileError {
        KeptFileError::Io { path: self.path.clone(), doing, cause }
    }
}

fn beside(path: &Path, before: &str, behind: &str) -> PathBuf {
    let mut name = OsString::from(before);
    name.push(path.file_name().unwrap_or_default());
    name.push(behind);
    path.with_file_name(name)
}

#[cfg(test)]
#[path = "kept_file_tests.rs"]
mod tests;
