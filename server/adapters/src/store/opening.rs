//! The moment at which the store's file is opened: one daemon after the other, and never with the log of another file that stood in its place. Knows no SQL.
//!
//! SQLite takes whatever log and index stand beside a file for its own. Those that were noted beside another file go out of the way; what is not known is left
//! to SQLite: a store that was copied or moved together with its log keeps it. A file that was overwritten in place cannot be told from what it was before.

use std::fs;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use copydesk_workspace::path::AbsPath;
use serde::{Deserialize, Serialize};

/// Which file stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileId {
    device: u64,
    number: u64,
    /// Numbers are given anew. Nanoseconds since 1970, where the file system tells. On macOS it moves with the time of modification, and APFS gives none anew.
    born: Option<u64>,
}

/// While it is held, no other daemon opens the file or brings it up to the present format. In the locked file stands what was open when it was held last.
pub(super) struct Opening {
    lock: fs::File,
    /// Links resolved, as SQLite does.
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Noted {
    database: FileId,
    log: Option<FileId>,
    index: Option<FileId>,
}

impl Opening {
    /// Waits for other daemons.
    pub(super) fn begin(path: &AbsPath) -> io::Result<Self> {
        let mut options = fs::File::options();
        let lock = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        // A link that leads to nothing yet is followed by SQLite, and there is nothing beside it.
        let real = fs::canonicalize(path.as_path()).unwrap_or_else(|_| path.as_path().to_owned());
        let mut opening = Self { lock: lock.open(format!("{path}.opening"))?, path: real };
        opening.lock.lock()?;
        opening.put_aside()?;
        Ok(opening)
    }

    /// Once the file is open with its log. Its identity is that of the file that was opened, as long as nobody puts another one there in the same moment.
    pub(super) fn end(mut self) -> io::Result<FileId> {
        let database = FileId::of(&self.path)?;
        let (log, index) = (FileId::of(&self.beside("-wal")).ok(), FileId::of(&self.beside("-shm")).ok());
        let noted = serde_json::to_vec(&Noted { database, log, index })?;
        let written = self.lock.set_len(0).and_then(|()| self.lock.rewind()).and_then(|()| self.lock.write_all(&noted));
        // An older note puts nothing aside that it does not name.
        if let Err(error) = written {
            tracing::warn!(path = %self.path.display(), %error, "which log belongs to the session store was not noted");
        }
        Ok(database)
    }

    fn put_aside(&mut self) -> io::Result<()> {
        let mut noted = Vec::new();
        self.lock.read_to_end(&mut noted)?;
        let Ok(noted) = serde_json::from_slice::<Noted>(&noted) else { return Ok(()) };
        if FileId::of(&self.path).ok() == Some(noted.database) {
            return Ok(());
        }
        let is_noted = |path: &Path, noted: Option<FileId>| noted.is_some() && FileId::of(path).ok() == noted;
        let (log, index) = (self.beside("-wal"), self.beside("-shm"));
        // Whoever has it open keeps it. It only tells where in the log to look.
        if is_noted(&index, noted.index) {
            fs::remove_file(&index)?;
        }
        if !is_noted(&log, noted.log) {
            return Ok(());
        }
        if fs::metadata(&log)?.len() == 0 {
            return fs::remove_file(&log);
        }
        let names = (1_u64..).map(|number| self.beside(&format!(".replaced-{number}-wal")));
        let Some(aside) = names.into_iter().find(|name| !name.exists()) else { return Ok(()) };
        tracing::warn!(aside = %aside.display(), "the session store was removed or replaced; the log of the old one was put aside");
        fs::rename(&log, &aside)
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        name.into()
    }
}

impl FileId {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        let since = |born: SystemTime| u64::try_from(born.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok();
        let born = if cfg!(target_vendor = "apple") { None } else { file.created().ok().and_then(since) };
        Ok(Self { device: file.dev(), number: file.ino(), born })
    }

    /// The same, of a file that has been open all the while: its number is given to no other.
    pub(super) fn is_still(self, other: Self) -> bool {
        (self.device, self.number) == (other.device, other.number)
    }
}
