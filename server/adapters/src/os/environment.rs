//! The process's surroundings: variables, folders, stored keys, time and ids. Variables are read once, by `Variables::of_process`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use copydesk_engine::ids::Millis;
use copydesk_engine::ports::{Clock, Environment, Folders, Ids, Secrets};
use copydesk_workspace::path::AbsPath;

use super::auth_file::AuthFile;

/// Environment variables as a value, so that nothing else looks at the process.
#[derive(Debug, Clone, Default)]
pub struct Variables(BTreeMap<OsString, OsString>);

impl Variables {
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The first executable file of that name in the absolute folders of `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(self.get("PATH")?)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|path| std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0))
    }

    fn folder(&self, name: &str) -> Option<AbsPath> {
        AbsPath::new(self.get(name)?)
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

#[derive(Debug, Clone)]
pub struct OsEnvironment {
    variables: Variables,
    folders: Folders,
}

impl OsEnvironment {
    /// `XDG_…` variables that are not absolute are ignored, as the XDG base directory specification asks.
    pub fn new(variables: Variables) -> Self {
        let home =
            variables.folder("HOME").or_else(|| std::env::home_dir().and_then(AbsPath::new)).unwrap_or_else(root);
        let user = rustix::process::getuid().as_raw();
        let folders = Folders {
            config: variables.folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            data: variables.folder("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share")).join("copydesk"),
            // With the user's number: the folder above belongs to everybody.
            temp: variables.folder("TMPDIR").unwrap_or_else(|| root().join("tmp")).join(format!("copydesk-{user}")),
            home,
        };
        Self { variables, folders }
    }
}

impl Environment for OsEnvironment {
    fn var(&self, name: &str) -> Option<String> {
        self.variables.get(name)?.to_str().map(str::to_owned)
    }

    fn folders(&self) -> Folders {
        self.folders.clone()
    }

    fn platform(&self) -> &'static str {
        std::env::consts::OS
    }
}

/// Keys from variables and from stored ones.
#[derive(Debug, Clone)]
pub struct OsSecrets {
    variables: Variables,
    file: AuthFile,
}

impl OsSecrets {
    pub fn new(variables: Variables, data: &AbsPath) -> Self {
        Self { variables, file: AuthFile::in_folder(data) }
    }

    /// `None` with a warning in the log where the file cannot be trusted or read.
    fn stored(&self, provider: &str) -> Option<String> {
        self.file.key(provider).unwrap_or_else(|error| {
            tracing::warn!(%error, "stored keys are not used");
            None
        })
    }
}

impl Secrets for OsSecrets {
    fn key(&self, provider: &str, names: &[String]) -> Option<String> {
        names.iter().find_map(|name| usable(self.variables.get(name)?.to_str()?)).or_else(|| self.stored(provider))
    }
}

/// Keys are often stored with a line's end behind them, which no header may carry.
fn usable(key: &str) -> Option<String> {
    let key = key.trim();
    (!key.is_empty()).then(|| key.to_owned())
}

#[derive(Debug, Clone, Copy, Default)]
pub struct OsClock;

impl Clock for OsClock {
    fn now(&self) -> Millis {
        let millis = |duration: std::time::Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Millis(match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => millis(since),
            Err(before) => -millis(before.duration()),
        })
    }

    fn today(&self) -> String {
        jiff::ZonedDateTime::now().strftime("%a %b %d %Y").to_string()
    }
}

/// Ids that sort in the order of making: 14 hexadecimal digits of a counter that is at least `milliseconds * 4096`, then 12 random base-62 characters.
#[derive(Debug, Default)]
pub struct OsIds {
    last: AtomicU64,
}

impl Ids for OsIds {
    fn next(&self, prefix: &str) -> String {
        let now = u64::try_from(OsClock.now().0).unwrap_or(0) << 12;
        // Also where the clock stands still or goes back.
        let step = |last: u64| Some(now.max(last + 1));
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap_or_else(|last| last);
        let count = now.max(last + 1);
        let random: String = std::iter::repeat_with(fastrand::alphanumeric).take(12).collect();
        format!("{prefix}_{count:014x}{random}")
    }
}

#[expect(clippy::expect_used, reason = "a root is absolute")]
fn root() -> AbsPath {
    AbsPath::new("/").expect("a root is absolute")
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
