//! Files that a session knows, around a command: what is unsaved before it, and what it has changed on the disk (R6.3). What a file holds decides, times
//! say only where to look: a file that was touched has not changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use copydesk_workspace::disk::{FileKind, Stamp, Stat};
use copydesk_workspace::document::Document;
use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use futures::StreamExt;
use tokio::sync::Mutex;

use super::View;
use crate::ids::Millis;
use crate::output;
use crate::overlay;
use crate::ports::{FileChange, FileChangeKind, Ids, ReloadReport, Unsaved};
use crate::runner::Seen;
use crate::tool::Facts;

/// Files that are looked at around a command, and how many at once.
const MOST_FILES: usize = 2000;
const AT_ONCE: usize = 16;

/// Of larger files, in bytes, a new stamp is a change.
const LARGEST: u64 = 1 << 20;

/// A file that was changed so short a time before it was looked at may be changed again under the same stamp: the ticks of the coarsest file systems, in
/// milliseconds.
const TICK: i64 = 2000;

/// How the files of a session stood when they were last looked at, by their real paths. Whoever looks holds it, so that a change is told once.
#[derive(Debug, Default)]
pub struct KnownFiles {
    files: Mutex<BTreeMap<AbsPath, Known>>,
    /// What was said of them, so that nothing is said twice.
    said: std::sync::Mutex<BTreeSet<String>>,
}

impl KnownFiles {
    /// Whether it was not said before.
    pub(crate) fn is_news(&self, text: &str) -> bool {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Absent,
    File {
        stamp: Stamp,
        /// The stamp does not tell of a change that came right after it.
        is_fresh: bool,
        content: Content,
    },
    /// It was never looked at; this is what the model has seen of it.
    Seen(ContentHash),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Bytes(ContentHash),
    Text(ContentHash),
    Unread,
}

/// What is looked at, and when.
struct Look<'a> {
    view: &'a View,
    seen: &'a Seen,
    now: Millis,
}

impl View {
    /// Open documents that differ from their files, and who has changed them.
    pub fn unsaved(&self) -> Vec<(Document, overlay::Unsaved)> {
        self.overlay.unsaved()
    }

    /// Answers those that could not be saved.
    pub async fn save(&self, uris: Vec<String>) -> Vec<Unsaved> {
        if uris.is_empty() { Vec::new() } else { self.editor.save(uris).await }
    }

    /// Notes how all open documents and all `seen` files stand; what has changed before is nobody's news.
    pub async fn note_files(&self, known: &KnownFiles, seen: &Seen, now: Millis) {
        let look = Look { view: self, seen, now };
        let mut known = known.files.lock().await;
        let of = |path: AbsPath| {
            let before = known.get(&path).copied();
            let look = &look;
            async move {
                let after = look.noted(&path, before).await;
                (path, after)
            }
        };
        let noted = futures::stream::iter(self.looked_at(seen)).map(of).buffer_unordered(AT_ONCE).collect().await;
        *known = noted;
    }

    /// What has changed since, told to the editor; buffers that now show their files are clean. With what was `found` by other means, of which the editor has
    /// nothing to read again.
    pub async fn told_changes(
        &self,
        known: &KnownFiles,
        seen: &Seen,
        now: Millis,
        found: Vec<FileChange>,
    ) -> (Vec<FileChange>, ReloadReport) {
        let (looked_at, mut changes) = self.changes(known, seen, now).await;
        let mut report = ReloadReport::default();
        if !changes.is_empty() {
            report = self.editor.files_changed(changes.clone()).await;
            for change in &changes {
                self.clean_if_shown(&change.path).await;
            }
        }
        // Of those that were looked at it is known better what they held.
        changes.extend(found.into_iter().filter(|change| !looked_at.contains(&change.path)));
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        (changes, report)
    }

    async fn changes(&self, known: &KnownFiles, seen: &Seen, now: Millis) -> (BTreeSet<AbsPath>, Vec<FileChange>) {
        let look = Look { view: self, seen, now };
        let mut known = known.files.lock().await;
        let paths: BTreeSet<AbsPath> = known.keys().cloned().chain(self.looked_at(seen)).collect();
        let of = |path: AbsPath| {
            let before = known.get(&path).copied().or_else(|| look.first(&path));
            let look = &look;
            async move {
                let (after, kind) = look.changed(&path, before).await;
                (path, after, kind)
            }
        };
        let found: Vec<_> = futures::stream::iter(paths.clone()).map(of).buffer_unordered(AT_ONCE).collect().await;
        let mut changes = Vec::new();
        for (path, after, kind) in found {
            changes.extend(kind.map(|kind| FileChange { path: path.clone(), kind }));
            known.insert(path, after);
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        (paths, changes)
    }

    fn looked_at(&self, seen: &Seen) -> BTreeSet<AbsPath> {
        let open = self.overlay.all().into_iter().map(|document| document.key.path().clone());
        open.chain(seen.paths()).take(MOST_FILES).collect()
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

/// Whether the stamp does not tell of a change that came right after it. The time of modification can be put back, as by `cp -p`: then that of the change
/// says how old it is.
pub(crate) fn is_fresh(stamp: Stamp, now: Millis) -> bool {
    let oldest = now.0.saturating_sub(TICK);
    stamp.modified > oldest || stamp.changed > i128::from(oldest) * 1_000_000
}

impl Look<'_> {
    async fn noted(&self, path: &AbsPath, before: Option<Known>) -> Known {
        let Some(stat) = self.stat(path).await else { return Known::Absent };
        match before {
            Some(Known::File { stamp, is_fresh: false, content }) if stamp == stat.stamp => {
                // The model may have seen another text since: only of what was read itself the old word holds.
                let content = if matches!(content, Content::Text(_)) { self.known(path) } else { content };
                return self.file(stat, content);
            }
            _ if stat.len > LARGEST => return self.file(stat, Content::Unread),
            _ => {}
        }
        // An open document's file is read; of the others it is known what the model has seen.
        let is_open = self.document(path).is_some();
        if !is_open && !self.view.editor.texts().reads {
            return self.file(stat, self.known(path));
        }
        match self.read(path).await {
            Some((bytes, _)) => self.file(stat, Content::Bytes(bytes)),
            None => Known::Absent,
        }
    }

    async fn changed(&self, path: &AbsPath, before: Option<Known>) -> (Known, Option<FileChangeKind>) {
        let Some(stat) = self.stat(path).await else {
            let was_there = !matches!(before, Some(Known::Absent) | None);
            return (Known::Absent, was_there.then_some(FileChangeKind::Deleted));
        };
        let content = match before {
            Some(Known::File { stamp, is_fresh, content }) => {
                if stamp == stat.stamp && !is_fresh {
                    return (self.file(stat, content), None);
                }
                if stat.len > LARGEST {
                    let has_moved = stamp != stat.stamp;
                    return (self.file(stat, Content::Unread), has_moved.then_some(FileChangeKind::Changed));
                }
                if content == Content::Unread && stamp == stat.stamp {
                    return (self.file(stat, content), None);
                }
                Some(content)
            }
            Some(Known::Seen(hash)) => Some(Content::Text(hash)),
            Some(Known::Absent) => None,
            // It was opened since, and holds what it held then.
            None => return (self.noted(path, None).await, None),
        };
        if stat.len > LARGEST {
            let kind = content.is_none().then_some(FileChangeKind::Created);
            return (self.file(stat, Content::Unread), kind);
        }
        let Some((bytes, text)) = self.read(path).await else { return (Known::Absent, None) };
        let after = self.file(stat, Content::Bytes(bytes));
        let kind = match content {
            Some(Content::Bytes(hash)) if hash == bytes => None,
            Some(Content::Text(hash)) if hash == text => None,
            // Written by the agent or the editor themselves.
            _ if self.is_known(path, text) => None,
            Some(_) => Some(FileChangeKind::Changed),
            None => Some(FileChangeKind::Created),
        };
        (after, kind)
    }

    fn first(&self, path: &AbsPath) -> Option<Known> {
        if self.document(path).is_some() { None } else { self.seen.get(path).map(Known::Seen) }
    }

    fn file(&self, stat: Stat, content: Content) -> Known {
        Known::File { stamp: stat.stamp, is_fresh: is_fresh(stat.stamp, self.now), content }
    }

    fn known(&self, path: &AbsPath) -> Content {
        self.seen.get(path).map_or(Content::Unread, Content::Text)
    }

    /// Whether the editor, of an open document, or else the model knows the file by this text.
    fn is_known(&self, path: &AbsPath, text: ContentHash) -> bool {
        match self.document(path) {
            Some(document) => document.saved == text,
            None => self.seen.get(path) == Some(text),
        }
    }

    fn document(&self, path: &AbsPath) -> Option<Document> {
        self.view.overlay.get(&DocKey::from_real_path(path.clone()))
    }

    async fn stat(&self, path: &AbsPath) -> Option<Stat> {
        self.view.files.stat(path.clone()).await.ok().filter(|stat| stat.kind == FileKind::File)
    }

    /// The hashes of its bytes and of its text; of bytes that are no text twice the same.
    async fn read(&self, path: &AbsPath) -> Option<(ContentHash, ContentHash)> {
        let bytes = self.view.files.read_real(path.clone()).await.ok()?;
        let hash = ContentHash::of(&bytes);
        let Ok((text, _)) = encoding::decode(&bytes) else { return Some((hash, hash)) };
        if self.view.editor.texts().reads {
            self.view.overlay.texts.saw_on_disk(&DocKey::from_real_path(path.clone()), &text);
        }
        Some((hash, ContentHash::of(text.as_bytes())))
    }
}

impl View {
    /// Keeps an output that is too long for the model in a file of ours, and says where.
    pub(crate) async fn spill(&self, text: &str, facts: &Facts, ids: &dyn Ids) -> String {
        output::spill(text, facts, &self.files, ids).await
    }

    /// A piece of an output that is kept in a file of ours; `None` where there is none.
    pub(crate) async fn spilled(&self, file: &AbsPath, from: u64, len: usize) -> Option<Vec<u8>> {
        self.files.read_range(file.clone(), from, len).await.ok().filter(|bytes| !bytes.is_empty())
    }
}
