//! Grants that outlive a session: `grants.json` in the data folder, shared by all daemons of the user. Read again only where another has replaced it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_engine::permission::KeptGrant;
use copydesk_engine::ports::{BoxFuture, GrantStore, GrantStoreError};
use copydesk_workspace::path::AbsPath;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::kept_file::{KeptFile, KeptFileError, Stamp};

/// Of the format that is written.
const VERSION: u32 = 1;

pub struct GrantFile {
    file: Arc<Looked>,
    changes: watch::Sender<u64>,
}

struct Looked {
    file: KeptFile,
    /// What was read last, and of which file.
    known: Mutex<Option<Known>>,
}

struct Known {
    of: Option<Stamp>,
    grants: Arc<Vec<KeptGrant>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    grants: Vec<KeptGrant>,
}

impl Default for Content {
    fn default() -> Self {
        Self { version: VERSION, grants: Vec::new() }
    }
}

impl GrantFile {
    pub fn in_folder(data: &AbsPath) -> Self {
        let file = KeptFile::at(data.join("grants.json").as_path());
        Self { file: Arc::new(Looked { file, known: Mutex::default() }), changes: watch::Sender::new(0) }
    }

    /// Begins anew where the file cannot be used; it is kept under the name that is returned. `None` where it can be used.
    pub fn begin_anew(&self) -> Result<Option<PathBuf>, GrantStoreError> {
        match self.file.look() {
            Err(GrantStoreError::Unusable { .. }) => self.file.file.set_aside().map_err(failure),
            Ok(_) | Err(GrantStoreError::Io { .. }) => Ok(None),
        }
    }

    /// Off the threads of the runtime.
    async fn blocking<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Looked) -> Result<R, GrantStoreError> + Send + 'static,
    ) -> Result<R, GrantStoreError> {
        let file = Arc::clone(&self.file);
        let done = tokio::task::spawn_blocking(move || work(&file)).await;
        done.unwrap_or_else(|error| Err(GrantStoreError::Io { reason: error.to_string() }))
    }

    async fn change<R: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Vec<KeptGrant>) -> Option<R> + Send + 'static,
    ) -> Result<Option<R>, GrantStoreError> {
        let changed = self.blocking(move |looked| looked.change(change)).await?;
        if changed.is_some() {
            self.changes.send_modify(|count| *count += 1);
        }
        Ok(changed)
    }
}

impl GrantStore for GrantFile {
    fn all(&self) -> BoxFuture<'_, Result<Arc<Vec<KeptGrant>>, GrantStoreError>> {
        Box::pin(self.blocking(Looked::look))
    }

    fn add(&self, grants: Vec<KeptGrant>) -> BoxFuture<'_, Result<(), GrantStoreError>> {
        let add = move |kept: &mut Vec<KeptGrant>| {
            let before = kept.len();
            for new in grants {
                if !kept.iter().any(|old| old.scope == new.scope && old.grant == new.grant) {
                    kept.push(new);
                }
            }
            (kept.len() > before).then_some(())
        };
        Box::pin(async move { self.change(add).await.map(|_| ()) })
    }

    fn remove(&self, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<KeptGrant>, GrantStoreError>> {
        let remove = move |kept: &mut Vec<KeptGrant>| {
            let removed: Vec<KeptGrant> = kept.extract_if(.., |grant| ids.contains(&grant.id)).collect();
            (!removed.is_empty()).then_some(removed)
        };
        Box::pin(async move { Ok(self.change(remove).await?.unwrap_or_default()) })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl Looked {
    fn look(&self) -> Result<Arc<Vec<KeptGrant>>, GrantStoreError> {
        // Before the reading: what is written after it is read at the next look.
        let stamp = self.file.stamp();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known
            && known.of == stamp
        {
            return Ok(Arc::clone(&known.grants));
        }
        *known = None;
        let grants = Arc::new(self.check(self.file.read().map_err(failure)?)?.grants);
        *known = Some(Known { of: stamp, grants: Arc::clone(&grants) });
        Ok(grants)
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vec<KeptGrant>) -> Option<R>) -> Result<Option<R>, GrantStoreError> {
        let mut newer = None;
        let changed = self.file.change(|content: &mut Content| match self.check_version(content.version) {
            Ok(()) => change(&mut content.grants),
            Err(error) => {
                newer = Some(error);
                None
            }
        });
        match newer {
            Some(error) => Err(error),
            None => changed.map_err(failure),
        }
    }

    fn check(&self, content: Content) -> Result<Content, GrantStoreError> {
        self.check_version(content.version).map(|()| content)
    }

    fn check_version(&self, version: u32) -> Result<(), GrantStoreError> {
        if version == VERSION {
            return Ok(());
        }
        let path = self.file.path().display();
        Err(GrantStoreError::Unusable {
            reason: format!(
                "{path} was written by another version of Copydesk (format {version}, this one knows {VERSION}): update it."
            ),
        })
    }
}

fn failure(error: KeptFileError) -> GrantStoreError {
    let reason = error.to_string();
    match error {
        KeptFileError::Io { .. } => GrantStoreError::Io { reason },
        KeptFileError::Malformed { .. } | KeptFileError::Exposed { .. } => GrantStoreError::Unusable { reason },
    }
}

#[cfg(test)]
#[path = "grant_file_tests.rs"]
mod tests;
