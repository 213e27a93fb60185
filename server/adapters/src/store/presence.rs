//! Whether a daemon is alive, told by a file that it holds locked: the system frees the lock when the daemon dies, however it dies. Knows no SQL and no
//! sessions; which daemon holds which session is a row of the database.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use copydesk_workspace::path::AbsPath;

/// Of this daemon. Its file is made with the first question for its name, and removed with this value.
pub(super) struct Presence {
    folder: PathBuf,
    held: Mutex<Option<Held>>,
}

struct Held {
    name: String,
    path: PathBuf,
    /// Locked as long as it is open. Children do not inherit it.
    _file: File,
}

impl Presence {
    /// The files stand in the folder `daemons` beside the database.
    pub(super) fn new(database: &AbsPath) -> Self {
        let beside = database.as_path().parent().unwrap_or(Path::new("/"));
        Self { folder: beside.join("daemons"), held: Mutex::default() }
    }

    /// No other daemon has had it, or ever will.
    pub(super) fn name(&self) -> io::Result<String> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = held.as_ref() {
            return Ok(held.name.clone());
        }
        let made = Held::make(&self.folder)?;
        let name = made.name.clone();
        *held = Some(made);
        Ok(name)
    }

    /// `false` also for a name that nobody has.
    pub(super) fn is_alive(&self, name: &str) -> io::Result<bool> {
        if self.held.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|held| held.name == name) {
            return Ok(true);
        }
        is_locked(&file_of(&self.folder, name))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some(held) = self.held.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            // Otherwise removed by whoever finds it without its lock.
            let _ = fs::remove_file(&held.path);
        }
    }
}

impl Held {
    fn make(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        sweep(folder)?;
        let random: String = std::iter::repeat_with(fastrand::alphanumeric).take(22).collect();
        let name = format!("{}-{random}", std::process::id());
        // Under its name it is never without its lock, so that nobody takes it for a dead daemon's.
        let unlocked = folder.join(format!("{name}.new"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unlocked)?;
        file.lock()?;
        let path = file_of(folder, &name);
        fs::rename(&unlocked, &path)?;
        Ok(Self { name, path, _file: file })
    }
}

fn file_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.lock"))
}

/// Removes what dead daemons have left.
fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "lock") && !is_locked(&path)? {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

fn is_locked(path: &Path) -> io::Result<bool> {
    // Shared, so that two that ask at once do not take each other for the owner.
    match File::open(path).map(|file| file.try_lock_shared()) {
        Ok(Ok(())) => Ok(false),
        Ok(Err(TryLockError::WouldBlock)) => Ok(true),
        Ok(Err(TryLockError::Error(error))) => Err(error),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn a_daemon_is_alive_as_long_as_it_holds_its_file() {
        let temp = tempfile::tempdir().unwrap();
        let database = AbsPath::new(temp.path().join("copydesk.db")).unwrap();
        let (one, two) = (Presence::new(&database), Presence::new(&database));
        let (first, second) = (one.name().unwrap(), two.name().unwrap());
        assert_ne!(first, second);
        assert_eq!(one.name().unwrap(), first, "for good");
        for asked in [&first, &second] {
            assert!(one.is_alive(asked).unwrap() && two.is_alive(asked).unwrap());
        }
        assert!(!one.is_alive("nobody").unwrap());

        // Killed: the lock goes and the file stays.
        let left = one.held.lock().unwrap().take().unwrap().path;
        assert!(!two.is_alive(&first).unwrap());
        assert!(left.exists());
        drop(two);
        let three = Presence::new(&database);
        let name = three.name().unwrap();
        assert!(!left.exists(), "swept");
        let files: Vec<_> = fs::read_dir(temp.path().join("daemons")).unwrap().collect();
        assert_eq!(files.len(), 1, "{files:?} of {name}");
    }
}
