//! Stored keys: `auth.json` in the data folder, in opencode's shape (`{"<provider>": {"type": "api", "key": "…"}}`), mode 0600, replaced whole. Entries of other
//! kinds are kept as they are. No key is ever part of an error or a log line.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use copydesk_workspace::path::AbsPath;
use serde_json::{Map, Value, json};

/// Entries by provider.
type Entries = Map<String, Value>;

#[derive(Debug, Clone)]
pub struct AuthFile {
    path: PathBuf,
}

/// One entry as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    pub provider: String,
    /// A key with all but its ends hidden; else the kind of the entry.
    pub shown: String,
}

#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("{path} cannot be {doing}: {cause}.")]
    Io { path: PathBuf, doing: &'static str, cause: std::io::Error },
    #[error(
        "{path} is not valid JSON (line {line}, column {column}); nothing was changed. Correct it or move it away, and try again."
    )]
    Malformed { path: PathBuf, line: usize, column: usize },
    #[error(
        "Other users can reach {path} (mode {mode:o}), so its keys are not used. Run `chmod 600` on it, and replace the keys if somebody may have read them."
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("A key is one line of printable characters; nothing was stored.")]
    NoKey,
}

impl AuthFile {
    /// In our data folder.
    pub fn in_folder(data: &AbsPath) -> Self {
        Self { path: data.join("auth.json").as_path().to_owned() }
    }

    /// Another program's, to import from.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The key of a provider, if one is stored.
    pub fn key(&self, provider: &str) -> Result<Option<String>, AuthError> {
        Ok(self.read()?.get(provider).and_then(api_key))
    }

    /// In the order of their names.
    pub fn list(&self) -> Result<Vec<StoredKey>, AuthError> {
        let shown = |(provider, entry): (&String, &Value)| StoredKey {
            provider: provider.clone(),
            shown: match api_key(entry) {
                Some(key) => mask(&key),
                None => format!("({})", entry["type"].as_str().unwrap_or("unknown kind")),
            },
        };
        let entries = self.read()?;
        let sorted: BTreeMap<&String, &Value> = entries.iter().collect();
        Ok(sorted.into_iter().map(shown).collect())
    }

    /// Replaces what was stored for the provider.
    pub fn store(&self, provider: &str, key: &str) -> Result<(), AuthError> {
        let key = key.trim();
        if key.is_empty() || key.chars().any(char::is_control) {
            return Err(AuthError::NoKey);
        }
        let mut entries = self.read_for_writing()?;
        entries.insert(provider.to_owned(), json!({"type": "api", "key": key}));
        self.write(&entries)
    }

    /// False where nothing was stored.
    pub fn remove(&self, provider: &str) -> Result<bool, AuthError> {
        let mut entries = self.read_for_writing()?;
        if entries.shift_remove(provider).is_none() {
            return Ok(false);
        }
        self.write(&entries)?;
        Ok(true)
    }

    /// Takes over the keys of another file for providers that have none here; returns whose.
    pub fn import(&self, from: &Self) -> Result<Vec<String>, AuthError> {
        let found = from.read()?;
        let mut entries = self.read_for_writing()?;
        let mut taken = Vec::new();
        for (provider, entry) in found {
            let provider = provider.trim_end_matches('/');
            if let Some(key) = api_key(&entry)
                && !entries.contains_key(provider)
            {
                entries.insert(provider.to_owned(), json!({"type": "api", "key": key}));
                taken.push(provider.to_owned());
            }
        }
        if !taken.is_empty() {
            self.write(&entries)?;
        }
        Ok(taken)
    }

    /// No file is no entries.
    fn read(&self) -> Result<Entries, AuthError> {
        match std::fs::metadata(&self.path) {
            Ok(found) if found.mode() & 0o077 != 0 => {
                return Err(AuthError::Exposed { path: self.path.clone(), mode: found.mode() & 0o7777 });
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Entries::new()),
            Err(cause) => return Err(self.io("read", cause)),
        }
        self.parse()
    }

    /// A file that others could read is written anew with its right mode.
    fn read_for_writing(&self) -> Result<Entries, AuthError> {
        if self.path.exists() { self.parse() } else { Ok(Entries::new()) }
    }

    fn parse(&self) -> Result<Entries, AuthError> {
        let bytes = std::fs::read(&self.path).map_err(|cause| self.io("read", cause))?;
        serde_json::from_slice(&bytes).map_err(|error| AuthError::Malformed {
            path: self.path.clone(),
            line: error.line(),
            column: error.column(),
        })
    }

    /// Beside it, flushed, then in its place: nobody sees half of it, and nobody else ever reads it.
    fn write(&self, entries: &Entries) -> Result<(), AuthError> {
        let io = |cause| self.io("written", cause);
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder).map_err(io)?;
        let text = format!("{}\n", serde_json::to_string_pretty(entries).map_err(|error| io(error.into()))?);
        let beside = folder.join(format!(".auth.json.{}", std::process::id()));
        let written = (|| {
            let mut file =
                std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        })();
        written.map_err(|cause| {
            // What cannot be removed either is overwritten by the next try.
            let _ = std::fs::remove_file(&beside);
            io(cause)
        })
    }

    fn io(&self, doing: &'static str, cause: std::io::Error) -> AuthError {
        AuthError::Io { path: self.path.clone(), doing, cause }
    }
}

/// Keys are often stored with a line's end behind them, which no header may carry.
fn api_key(entry: &Value) -> Option<String> {
    let key = entry["key"].as_str().filter(|_| entry["type"] == "api")?.trim();
    (!key.is_empty()).then(|| key.to_owned())
}

/// The ends of a long key, enough to tell two apart; nothing of a short one.
fn mask(key: &str) -> String {
    let characters: Vec<char> = key.chars().collect();
    match characters.len() {
        0..16 => "…".to_owned(),
        count => {
            let ends = |range: std::ops::Range<usize>| characters[range].iter().collect::<String>();
            format!("{}…{}", ends(0..4), ends(count - 4..count))
        }
    }
}

#[cfg(test)]
#[path = "auth_file_tests.rs"]
mod tests;
