//! Snapshots around commands: which trees the roots of a workspace belong to, and by which means each is looked at. A tree of Git has a store of ours, every other
//! one, and every one where `git` is not installed, is scanned. What a changed file means is the engine's.

mod created;
mod folders;
mod git;
mod index;
mod look;
mod marked;
mod printed;
mod repository;
mod rules;
mod scan;
mod seed;
mod shadow;
mod store;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use copydesk_engine::ports::{
    BoxFuture, ChangedFile, Snapshot, SnapshotError, SnapshotFailure, SnapshotReport, SnapshotRequest, Snapshots,
};
use copydesk_workspace::path::AbsPath;
use futures::future::join_all;

use super::environment::Variables;
use git::Git;
use look::Looker;
use marked::Marked;
use repository::Repository;
use scan::Scan;
use shadow::{Memory, PRUNED_EVERY, Shadow};
use store::Store;

/// What a command waits for a snapshot at the most.
const LIMIT: Duration = Duration::from_secs(10);
/// A tree that is too much to look at is not looked at again for so long.
const REFUSED: Duration = Duration::from_secs(600);
/// Files of one command of which contents are told.
const MOST_CHANGED: usize = 2000;
/// Of all that it has changed, bytes.
const MOST_CONTENT: u64 = 128 << 20;

/// Opens nothing before its first use.
pub struct OsSnapshots {
    variables: Variables,
    /// Where stores are kept.
    folder: PathBuf,
    scans: Arc<scan::Kept>,
    used: Mutex<HashMap<PathBuf, Used>>,
    /// Trees that were too much to look at, and when.
    refused: Mutex<HashMap<AbsPath, (Instant, SnapshotError)>>,
    limit: Duration,
    /// `MOST_CONTENT`, for trees of Git.
    most_content: u64,
}

/// What this process knows of a store beside what stands in it.
#[derive(Debug, Clone, Default)]
struct Used {
    /// What was put into it since it was last looked through, bytes.
    added: u64,
    memory: Memory,
}

/// What was found of one tree.
#[derive(Debug, Default)]
struct TreeReport {
    changed: Vec<ChangedFile>,
    nested: Vec<AbsPath>,
}

/// A tree with the means by which it is looked at.
enum Means {
    Shadow(Box<Shadow>),
    Scan { looker: Looker, others: Vec<PathBuf>, excludes: String },
}

enum Taken {
    Shadow(Box<Marked>),
    Scan(Arc<Scan>),
}

struct TakenSnapshot {
    trees: Vec<(AbsPath, Taken)>,
    failed: Vec<SnapshotFailure>,
    limit: Duration,
}

impl OsSnapshots {
    /// `data` is the folder of all that is ours.
    pub fn new(variables: Variables, data: &AbsPath) -> Self {
        Self {
            variables,
            folder: data.join("undo").as_path().to_owned(),
            scans: Arc::default(),
            used: Mutex::default(),
            refused: Mutex::default(),
            limit: LIMIT,
            most_content: MOST_CONTENT,
        }
    }

    async fn before(&self, request: SnapshotRequest) -> TakenSnapshot {
        let (variables, folder, most_content) = (self.variables.clone(), self.folder.clone(), self.most_content);
        let first = request.roots.first().cloned();
        let means = blocking(move || Ok(means(&variables, folder, most_content, &request))).await;
        let means = match means {
            Ok(means) => means,
            Err(error) => {
                let failed = first.into_iter().map(|tree| SnapshotFailure { tree, error: error.clone() }).collect();
                return TakenSnapshot { trees: Vec::new(), failed, limit: self.limit };
            }
        };
        let taking = means.into_iter().map(|(tree, means)| async move {
            if let Some(error) = self.refusal(&tree) {
                return (tree, Err(error));
            }
            let has_waited = AtomicBool::new(false);
            let taken = tokio::time::timeout(self.limit, self.take(means, &has_waited)).await;
            let taken = taken.unwrap_or(Err(SnapshotError::TooSlow(self.limit)));
            let is_too_much = match &taken {
                // The time may have gone into the waiting for somebody else.
                Err(SnapshotError::TooSlow(_)) => !has_waited.into_inner(),
                Err(SnapshotError::TooManyFiles(_) | SnapshotError::TooLarge(_)) => true,
                Ok(_) | Err(SnapshotError::Git(_) | SnapshotError::Io(_)) => false,
            };
            if let Some(error) = taken.as_ref().err().filter(|_| is_too_much) {
                lock(&self.refused).insert(tree.clone(), (Instant::now(), error.clone()));
            }
            (tree, taken)
        });
        let (mut trees, mut failed) = (Vec::new(), Vec::new());
        for (tree, taken) in join_all(taking).await {
            match taken {
                Ok(taken) => trees.push((tree, taken)),
                Err(error) => failed.push(SnapshotFailure { tree, error }),
            }
        }
        TakenSnapshot { trees, failed, limit: self.limit }
    }

    /// Not every command waits for the same answer.
    fn refusal(&self, tree: &AbsPath) -> Option<SnapshotError> {
        let mut refused = lock(&self.refused);
        refused.retain(|_, (since, _)| since.elapsed() < REFUSED);
        refused.get(tree).map(|(_, error)| error.clone())
    }

    async fn take(&self, means: Means, has_waited: &AtomicBool) -> Result<Taken, SnapshotError> {
        match means {
            Means::Scan { looker, others, excludes } => {
                Arc::clone(&self.scans).before(looker, others, excludes).await.map(Taken::Scan)
            }
            Means::Shadow(shadow) => {
                let folder = shadow.store.folder().to_owned();
                let used = lock(&self.used).get(&folder).cloned();
                let is_due = used.as_ref().is_none_or(|used| used.added > PRUNED_EVERY);
                let Used { added, memory } = used.unwrap_or_default();
                let marked = shadow.before(is_due, memory, has_waited).await?;
                let added = if is_due { 0 } else { added } + marked.added;
                lock(&self.used).insert(folder, Used { added, memory: marked.memory.clone() });
                Ok(Taken::Shadow(Box::new(marked)))
            }
        }
    }
}

impl Snapshots for OsSnapshots {
    fn before(&self, request: SnapshotRequest) -> BoxFuture<'_, Box<dyn Snapshot>> {
        Box::pin(async move { Box::new(self.before(request).await) as Box<dyn Snapshot> })
    }
}

impl Snapshot for TakenSnapshot {
    fn after(self: Box<Self>) -> BoxFuture<'static, SnapshotReport> {
        Box::pin(async move {
            let Self { trees, failed, limit } = *self;
            let looking = trees.into_iter().map(|(tree, taken)| async move {
                let found = async {
                    match taken {
                        Taken::Shadow(marked) => marked.after().await,
                        Taken::Scan(scan) => scan.after().await,
                    }
                };
                (tree, tokio::time::timeout(limit, found).await.unwrap_or(Err(SnapshotError::TooSlow(limit))))
            });
            let mut report = SnapshotReport { failed, ..SnapshotReport::default() };
            for (tree, found) in join_all(looking).await {
                match found {
                    Ok(TreeReport { changed, nested }) => {
                        report.changed.extend(changed);
                        report.nested.extend(nested);
                    }
                    Err(error) => report.failed.push(SnapshotFailure { tree, error }),
                }
            }
            report.changed.sort_by(|a, b| a.path.cmp(&b.path));
            // A root that its repository ignores may hold files that the repository knows.
            report.changed.dedup_by(|a, b| a.path == b.path);
            report
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Each tree once; and each root by itself that no tree holds, or that the one around it ignores.
fn means(variables: &Variables, own: PathBuf, most_content: u64, request: &SnapshotRequest) -> Vec<(AbsPath, Means)> {
    let program = variables.find_program("git");
    let excludes = ignore::gitignore::gitconfig_excludes_path().and_then(|path| repository::text(&path));
    let mut trees: BTreeMap<PathBuf, Option<Repository>> = BTreeMap::new();
    for root in &request.roots {
        // A root that is not there has no files.
        let Ok(root) = std::fs::canonicalize(root.as_path()) else { continue };
        let repository = Repository::around(&root);
        let is_held = |repository: &Repository| !repository.ignores(&root, &repository.excludes(excludes.as_deref()));
        if !repository.as_ref().is_some_and(is_held) {
            trees.insert(root, None);
        }
        if let Some(repository) = repository {
            trees.insert(repository.work_tree.clone(), Some(repository));
        }
    }
    let roots: Vec<PathBuf> = trees.keys().cloned().collect();
    let mut all = Vec::new();
    for (root, repository) in trees {
        let Some(tree) = AbsPath::new(&root) else { continue };
        let looker = Looker { root: root.clone(), own: own.clone(), may_keep: Arc::clone(&request.may_keep) };
        let means = match (repository, &program) {
            (Some(repository), Some(program)) => {
                let store = Store::of(&own, &root);
                let git = Git {
                    program: program.clone(),
                    path: variables.get("PATH").unwrap_or_default().to_owned(),
                    store: store.folder().to_owned(),
                    work_tree: root,
                    users_objects: repository.objects(),
                };
                Means::Shadow(Box::new(Shadow {
                    git,
                    store,
                    repository,
                    looker,
                    excludes: excludes.clone(),
                    most_content,
                }))
            }
            (repository, _) => {
                let excludes = match repository {
                    Some(repository) => repository.excludes(excludes.as_deref()),
                    None => excludes.clone().unwrap_or_default(),
                };
                let others =
                    roots.iter().filter(|other| **other != root && other.starts_with(&root)).cloned().collect();
                Means::Scan { looker, others, excludes }
            }
        };
        all.push((tree, means));
    }
    all
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SnapshotError> + Send + 'static,
) -> Result<T, SnapshotError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(SnapshotError::Io(error.to_string())))
}

#[cfg(test)]
#[path = "snapshots_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
