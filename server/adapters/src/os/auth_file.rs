//! Stored keys: `auth.json` in the data folder, in opencode's shape (`{"<provider>": {"type": "api", "key": "…"}}`), mode 0600, replaced whole. Entries of other
//! kinds are kept as they are. No key is ever part of an error or a log line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use copydesk_workspace::path::AbsPath;
use serde_json::{Map, Value, json};

use super::kept_file::{KeptFile, KeptFileError};

/// No key is longer, in bytes.
pub const MAX_KEY: usize = 16 << 10;

/// Entries by provider.
type Entries = Map<String, Value>;

#[derive(Debug, Clone)]
pub struct AuthFile {
    file: KeptFile,
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
    #[error(transparent)]
    File(KeptFileError),
    #[error(
        "Other users can reach {path} (mode {mode:o}), so its keys are not used. Run `chmod 600` on it, and replace the keys if somebody may have read them."
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("A key is one line of printable ASCII characters, 16 KiB at most; nothing was stored.")]
    NoKey,
    #[error("A provider has the name that it has in the configuration, such as `anthropic`; nothing was stored.")]
    NoProvider,
}

impl AuthFile {
    /// In our data folder.
    pub fn in_folder(data: &AbsPath) -> Self {
        Self::at(data.join("auth.json").as_path())
    }

    /// Another program's, to import from.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { file: KeptFile::at(path) }
    }

    pub fn path(&self) -> &Path {
        self.file.path()
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
        if !is_key(key) {
            return Err(AuthError::NoKey);
        }
        if !is_provider(provider) {
            return Err(AuthError::NoProvider);
        }
        self.change(|entries| {
            entries.insert(provider.to_owned(), json!({"type": "api", "key": key}));
            Some(())
        })?;
        Ok(())
    }

    /// False where nothing was stored.
    pub fn remove(&self, provider: &str) -> Result<bool, AuthError> {
        Ok(self.change(|entries| entries.shift_remove(provider))?.is_some())
    }

    /// Takes over the keys of another file for providers that have none here; returns whose. What [`Self::store`] would refuse is left where it is.
    pub fn import(&self, from: &Self) -> Result<Vec<String>, AuthError> {
        let found = from.read()?;
        let taken = self.change(|entries| {
            let mut taken = Vec::new();
            for (provider, entry) in found {
                let provider = provider.trim_end_matches('/');
                if let Some(key) = api_key(&entry).filter(|key| is_key(key))
                    && is_provider(provider)
                    && !entries.contains_key(provider)
                {
                    entries.insert(provider.to_owned(), json!({"type": "api", "key": key}));
                    taken.push(provider.to_owned());
                }
            }
            (!taken.is_empty()).then_some(taken)
        })?;
        Ok(taken.unwrap_or_default())
    }

    /// No file is no entries.
    fn read(&self) -> Result<Entries, AuthError> {
        Ok(self.file.read()?)
    }

    /// A file that others could read gets its right mode first.
    fn change<R>(&self, change: impl FnOnce(&mut Entries) -> Option<R>) -> Result<Option<R>, AuthError> {
        self.file.close_to_others()?;
        Ok(self.file.change(change)?)
    }
}

impl From<KeptFileError> for AuthError {
    fn from(error: KeptFileError) -> Self {
        match error {
            KeptFileError::Exposed { path, mode } => Self::Exposed { path, mode },
            other @ (KeptFileError::Io { .. } | KeptFileError::Malformed { .. }) => Self::File(other),
        }
    }
}

/// What a header can carry.
fn is_key(key: &str) -> bool {
    let is_sendable = key.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    !key.is_empty() && key.len() <= MAX_KEY && is_sendable
}

fn is_provider(name: &str) -> bool {
    !name.trim().is_empty() && !name.contains(char::is_control)
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
