//! `Snapshots` of a disk in memory: all its files, without ignore files and repositories. It can be made to fail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use copydesk_workspace::disk::{Disk, FileKind, MemoryDisk};
use copydesk_workspace::path::AbsPath;

use super::lock;
use crate::ports::{
    BoxFuture, ChangedFile, FileState, MayOpen, Snapshot, SnapshotError, SnapshotFailure, SnapshotReport,
    SnapshotRequest, Snapshots, Unkept,
};

#[derive(Default)]
pub struct MemorySnapshots {
    disk: Arc<MemoryDisk>,
    taken: AtomicUsize,
    fault: Mutex<Option<SnapshotError>>,
    nested: Mutex<Vec<AbsPath>>,
}

struct Taken {
    disk: Arc<MemoryDisk>,
    request: SnapshotRequest,
    before: BTreeMap<AbsPath, Vec<u8>>,
    report: SnapshotReport,
}

impl MemorySnapshots {
    pub fn new(disk: Arc<MemoryDisk>) -> Arc<Self> {
        Arc::new(Self { disk, ..Self::default() })
    }

    /// How many were taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    /// From now on nothing can be looked at.
    pub fn fail(&self, error: SnapshotError) {
        *lock(&self.fault) = Some(error);
    }

    /// There are repositories within the repository.
    pub fn nest(&self, folder: AbsPath) {
        lock(&self.nested).push(folder);
    }
}

impl Snapshots for MemorySnapshots {
    fn before(&self, request: SnapshotRequest) -> BoxFuture<'_, Box<dyn Snapshot>> {
        self.taken.fetch_add(1, Ordering::SeqCst);
        let failure = |error: &SnapshotError| {
            Some(SnapshotFailure { tree: request.roots.first()?.clone(), error: error.clone() })
        };
        let failed: Vec<_> = lock(&self.fault).as_ref().and_then(failure).into_iter().collect();
        let before = if failed.is_empty() { files(&self.disk, &request.roots) } else { BTreeMap::new() };
        let report = SnapshotReport { failed, nested: lock(&self.nested).clone(), ..SnapshotReport::default() };
        let taken = Taken { disk: Arc::clone(&self.disk), request, before, report };
        Box::pin(async move { Box::new(taken) as Box<dyn Snapshot> })
    }
}

impl Snapshot for Taken {
    fn after(self: Box<Self>) -> BoxFuture<'static, SnapshotReport> {
        Box::pin(async move {
            let Self { disk, request, mut before, mut report } = *self;
            if !report.failed.is_empty() {
                return report;
            }
            let mut after = files(&disk, &request.roots);
            let paths: BTreeSet<AbsPath> = before.keys().chain(after.keys()).cloned().collect();
            for path in paths {
                let (before, after) = (before.remove(&path), after.remove(&path));
                if before != after {
                    let state = |bytes: Option<Vec<u8>>| state(bytes, &path, &request.may_keep);
                    report.changed.push(ChangedFile {
                        path: path.clone(),
                        made_folder: None,
                        before: state(before),
                        after: state(after),
                    });
                }
            }
            report
        })
    }
}

fn state(bytes: Option<Vec<u8>>, path: &AbsPath, may_keep: &MayOpen) -> FileState {
    match bytes {
        None => FileState::Absent,
        Some(_) if !may_keep(path.as_path()) => FileState::Unkept(Unkept::Withheld),
        Some(bytes) => FileState::File { bytes, mode: 0o644 },
    }
}

fn files(disk: &MemoryDisk, roots: &[AbsPath]) -> BTreeMap<AbsPath, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = roots.to_vec();
    while let Some(folder) = folders.pop() {
        for entry in disk.list(&folder).unwrap_or_default() {
            let path = folder.join(&entry.name);
            match entry.kind {
                _ if entry.is_link || entry.name == ".git" => {}
                FileKind::Directory => folders.push(path),
                FileKind::File => {
                    files.extend(disk.read(&path).ok().map(|bytes| (path, bytes)));
                }
                FileKind::Other => {}
            }
        }
    }
    files
}
