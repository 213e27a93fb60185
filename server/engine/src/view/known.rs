//! Files that a session knows, around a command: what is unsaved before it, and what it has changed on the disk (R6.3).

use std::collections::{BTreeMap, BTreeSet};

use copydesk_workspace::document::Document;
use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use futures::StreamExt;

use super::View;
use crate::output;
use crate::overlay;
use crate::ports::{FileChange, FileChangeKind, Ids, ReloadReport, Unsaved};
use crate::tool::Facts;

/// Files that are looked at around a command, and how many at once.
const MOST_FILES: usize = 2000;
const AT_ONCE: usize = 16;

/// What stood in files at one moment, `None` where there was none.
#[derive(Debug)]
pub struct KnownFiles(BTreeMap<AbsPath, Option<ContentHash>>);

impl View {
    /// Open documents that differ from their files, and who has changed them.
    pub fn unsaved(&self) -> Vec<(Document, overlay::Unsaved)> {
        self.overlay.unsaved()
    }

    /// Answers those that could not be saved.
    pub async fn save(&self, uris: Vec<String>) -> Vec<Unsaved> {
        if uris.is_empty() { Vec::new() } else { self.editor.save(uris).await }
    }

    /// Of `seen` (real paths) and of all open documents.
    pub async fn known_files(&self, seen: Vec<AbsPath>) -> KnownFiles {
        let open = self.overlay.all().into_iter().map(|document| document.key.path().clone());
        let paths: BTreeSet<AbsPath> = open.chain(seen).take(MOST_FILES).collect();
        KnownFiles(self.hashes(paths).await)
    }

    /// What has changed since, told to the editor; buffers that now show their files are clean.
    pub async fn told_changes(&self, before: KnownFiles) -> (Vec<FileChange>, ReloadReport) {
        let now = self.hashes(before.0.keys().cloned().collect()).await;
        let changes: Vec<FileChange> = before
            .0
            .into_iter()
            .filter_map(|(path, before)| {
                let kind = match (before, now.get(&path).copied().flatten()) {
                    (Some(before), Some(now)) if before != now => FileChangeKind::Changed,
                    (None, Some(_)) => FileChangeKind::Created,
                    (Some(_), None) => FileChangeKind::Deleted,
                    (Some(_), Some(_)) | (None, None) => return None,
                };
                Some(FileChange { path, kind })
            })
            .collect();
        if changes.is_empty() {
            return (changes, ReloadReport::default());
        }
        let report = self.editor.files_changed(changes.clone()).await;
        for change in &changes {
            self.clean_if_shown(&change.path).await;
        }
        (changes, report)
    }

    async fn hashes(&self, paths: BTreeSet<AbsPath>) -> BTreeMap<AbsPath, Option<ContentHash>> {
        let hash = |path: AbsPath| async move {
            let bytes = self.files.read_real(path.clone()).await.ok();
            if self.editor.texts().reads
                && let Some(Ok((text, _))) = bytes.as_deref().map(encoding::decode)
            {
                self.overlay.texts.saw_on_disk(&DocKey::from_real_path(path.clone()), &text);
            }
            (path, bytes.map(|bytes| ContentHash::of(&bytes)))
        };
        futures::stream::iter(paths).map(hash).buffer_unordered(AT_ONCE).collect().await
    }

    /// An editor that reads a buffer again tells its text, not that it is saved.
    async fn clean_if_shown(&self, real: &AbsPath) {
        let key = DocKey::from_real_path(real.clone());
        let Some(document) = self.overlay.get(&key) else { return };
        let Ok(bytes) = self.files.read_real(real.clone()).await else { return };
        let on_disk = encoding::decode(&bytes).map(|(text, _)| ContentHash::of(text.as_bytes()));
        if on_disk.is_ok_and(|hash| hash == document.hash()) {
            // It was closed in this moment: then there is nothing to note.
            let _ = self.overlay.saved(&document.uri);
        }
    }
}

impl View {
    /// Keeps an output that is too long for the model in a file of ours, and says where.
    pub(crate) async fn spill(&self, text: &str, facts: &Facts, ids: &dyn Ids) -> String {
        output::spill(text, facts, &self.files, ids).await
    }
}
