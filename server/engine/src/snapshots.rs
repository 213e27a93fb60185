//! The files that a command changes: looked at around it, recorded as changes of the agent's, so that undo reaches them (R5.1), and told with all others that
//! have changed (R6.3). How files are looked at is the port's; what is said of them to whom is the tools'.

use std::collections::HashMap;
use std::sync::Arc;

use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};

use crate::ids::{CallId, MessageId, Millis, SessionId};
use crate::overlay::Overlay;
use crate::ports::{
    By, Change, ChangedFile, Changes, Clock, Confinement, FileChange, FileChangeKind, FileContent, FileState,
    NewChange, NewContent, Snapshot, SnapshotReport, SnapshotRequest, Snapshots, StoreError,
};

/// Of one call that runs a command.
#[derive(Clone)]
pub struct CommandSnapshots {
    pub(crate) port: Arc<dyn Snapshots>,
    /// `None` where the command is known to change nothing.
    pub(crate) request: Option<SnapshotRequest>,
    pub(crate) recorder: CommandRecorder,
    pub(crate) overlay: Arc<Overlay>,
}

/// Where the changes of a command are kept.
#[derive(Clone)]
pub(crate) struct CommandRecorder {
    pub(crate) changes: Arc<dyn Changes>,
    pub(crate) session: SessionId,
    pub(crate) turn: MessageId,
    pub(crate) call: CallId,
    pub(crate) clock: Arc<dyn Clock>,
    /// Bytes, over all sessions.
    pub(crate) most_kept: u64,
}

/// The files before a command.
pub struct Before {
    snapshot: Box<dyn Snapshot>,
    recorder: CommandRecorder,
    overlay: Arc<Overlay>,
    /// How often each open document had been saved.
    saves: HashMap<DocKey, u64>,
    since: Millis,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Each file once, in the order of their paths.
    pub files: Vec<FileChange>,
    /// Of what undo is not available for, and why.
    pub losses: Vec<Loss>,
    /// Repositories within a repository, which were not looked at.
    pub nested: Vec<AbsPath>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    File {
        path: AbsPath,
        reason: String,
    },
    /// A whole tree.
    Tree {
        path: AbsPath,
        reason: String,
    },
    /// All that it has changed.
    All {
        reason: String,
    },
}

impl CommandSnapshots {
    /// `None` where there is nothing to look at. Dropping the future ends all that it has started.
    pub async fn before(&self, confinement: &Confinement) -> Option<Before> {
        let request = self.request.clone().filter(|request| reaches(confinement, &request.roots))?;
        let saves = self.overlay.saves();
        let since = self.recorder.clock.now();
        let snapshot = self.port.before(request).await;
        Some(Before { snapshot, recorder: self.recorder.clone(), overlay: Arc::clone(&self.overlay), saves, since })
    }
}

/// Whether the command can change anything there.
fn reaches(confinement: &Confinement, roots: &[AbsPath]) -> bool {
    match confinement {
        Confinement::None => true,
        Confinement::Sandbox(policy) => policy
            .writable
            .iter()
            .any(|writable| roots.iter().any(|root| root.starts_with(writable) || writable.starts_with(root))),
    }
}

impl Before {
    /// Recorded when this resolves.
    pub async fn after(self) -> Footprint {
        let Self { snapshot, recorder, overlay, saves, since } = self;
        let SnapshotReport { changed, failed, nested } = snapshot.after().await;
        let mut footprint = Footprint { nested, ..Footprint::default() };
        footprint.losses = failed
            .into_iter()
            .map(|failure| Loss::Tree { path: failure.tree, reason: failure.error.to_string() })
            .collect();
        let rows = match recorder.since(since, &changed).await {
            Ok(rows) => rows,
            Err(error) => {
                footprint.files = changed.iter().map(told).collect();
                footprint.losses.push(Loss::All { reason: error.to_string() });
                return footprint;
            }
        };
        let now = overlay.saves();
        let mut recorded = Vec::new();
        for file in changed {
            let key = DocKey::from_real_path(file.path.clone());
            let is_saved = saves.get(&key) != now.get(&key);
            if is_saved && is_shown(&overlay, &key, &file.after) {
                continue;
            }
            footprint.files.push(told(&file));
            if is_saved {
                let reason = "you saved it while the command ran".to_owned();
                footprint.losses.push(Loss::File { path: file.path, reason });
                continue;
            }
            let path = file.path.clone();
            match recorder.of_the_command(file, &rows).await {
                Ok(None) => {}
                Ok(Some(change)) => recorded.push(change),
                Err(reason) => footprint.losses.push(Loss::File { path, reason }),
            }
        }
        if let Err(error) = recorder.record(recorded).await {
            footprint.losses.push(Loss::All { reason: error.to_string() });
        }
        footprint
    }
}

fn told(file: &ChangedFile) -> FileChange {
    let kind = match (&file.before, &file.after) {
        (FileState::Absent, _) => FileChangeKind::Created,
        (_, FileState::Absent) => FileChangeKind::Deleted,
        _ => FileChangeKind::Changed,
    };
    FileChange { path: file.path.clone(), kind }
}

/// Whether it is what the editor shows.
fn is_shown(overlay: &Overlay, key: &DocKey, state: &FileState) -> bool {
    let (Some(document), FileState::File { bytes, .. }) = (overlay.get(key), state) else { return false };
    encoding::decode(bytes).is_ok_and(|(text, _)| ContentHash::of(text.as_bytes()) == document.hash())
}

impl CommandRecorder {
    /// What others of the session have recorded meanwhile.
    async fn since(&self, since: Millis, changed: &[ChangedFile]) -> Result<Vec<Change>, StoreError> {
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let mut rows = self.changes.list(self.session.clone()).await?;
        rows.retain(|row| row.at >= since && !matches!(row.by, By::Accept { .. }));
        Ok(rows)
    }

    /// What of it was not recorded yet; the error says why it cannot be.
    async fn of_the_command(&self, file: ChangedFile, rows: &[Change]) -> Result<Option<NewChange>, String> {
        let ChangedFile { path, made_folder, before, after } = file;
        let after = content(after)?;
        let before = match rows.iter().rfind(|row| row.path == path || *row.target() == path) {
            None => content(before)?,
            // The edits of others are theirs: the command began where they have ended.
            Some(row) => {
                let left = if *row.target() == path { row.after } else { None };
                if left.map(|left| left.hash) == after.as_ref().map(|after| after.hash) {
                    return Ok(None);
                }
                match left {
                    None => None,
                    Some(left) => Some(self.kept(left).await?),
                }
            }
        };
        let (turn, call) = (self.turn.clone(), Some(self.call.clone()));
        let at = self.clock.now();
        Ok(Some(NewChange { turn, call, at, by: By::Command, path, moved_to: None, made_folder, before, after }))
    }

    async fn kept(&self, content: FileContent) -> Result<NewContent, String> {
        let bytes =
            self.changes.content(self.session.clone(), content.hash).await.map_err(|error| error.to_string())?;
        let bytes = bytes.ok_or("what it held in between is not kept")?;
        Ok(NewContent::new(bytes, content.mode))
    }

    async fn record(&self, changes: Vec<NewChange>) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.changes.record(self.session.clone(), changes, self.most_kept).await.map(drop)
    }
}

fn content(state: FileState) -> Result<Option<NewContent>, String> {
    match state {
        FileState::Absent => Ok(None),
        FileState::File { bytes, mode } => Ok(Some(NewContent::new(bytes, Some(mode)))),
        FileState::Link { .. } => Err("links are not taken back".to_owned()),
        FileState::Unkept(why) => Err(why.reason().to_owned()),
    }
}

#[cfg(test)]
#[path = "snapshots_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
