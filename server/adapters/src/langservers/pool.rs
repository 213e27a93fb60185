//! The engine's `Diagnostics` by language servers: which server for which file, one for each root, shared by all sessions, started at the first need.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use copydesk_engine::ports::{BoxFuture, Diagnostics, DiagnosticsReport, DiagnosticsScope, DiagnosticsTarget};
use copydesk_workspace::path::AbsPath;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::client::Text;
use super::process::{self, Launch};
use super::server::{Launcher, Recipe, ServerHandle};
use super::servers::{Server, language, servers};
use crate::os::environment::Variables;

/// All servers together have this long to end.
const SHUTDOWN: Duration = Duration::from_millis(1_250);

/// Starts nothing by itself, and nothing outside of sessions.
pub struct LanguageServerPool(Arc<Pool>);

struct Pool {
    variables: Variables,
    launcher: Launcher,
    servers: Mutex<HashMap<Key, ServerHandle>>,
    tasks: TaskTracker,
    closing: CancellationToken,
    /// Without `shutdown` the servers end with the pool.
    _end: DropGuard,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    command: Vec<String>,
    root: AbsPath,
}

/// The pool as one session may use it.
struct SessionServers {
    pool: Arc<Pool>,
    servers: Arc<[Server]>,
    scope: DiagnosticsScope,
}

impl LanguageServerPool {
    pub fn new(variables: Variables) -> Self {
        let of_servers = variables.clone();
        Self::with_launcher(variables, Arc::new(move |launch| process::start(launch, &of_servers)))
    }

    pub(super) fn with_launcher(variables: Variables, launcher: Launcher) -> Self {
        let closing = CancellationToken::new();
        let end = closing.clone().drop_guard();
        let (servers, tasks) = (Mutex::default(), TaskTracker::new());
        Self(Arc::new(Pool { variables, launcher, servers, tasks, closing, _end: end }))
    }

    /// Ends all servers in order, and kills what is left; within 1.3 s.
    pub async fn shutdown(&self) {
        self.0.closing.cancel();
        self.0.tasks.close();
        if timeout(SHUTDOWN, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("language servers did not end in time");
        }
    }
}

impl Diagnostics for LanguageServerPool {
    fn of(&self, _target: DiagnosticsTarget, _wait: Duration) -> BoxFuture<'_, DiagnosticsReport> {
        Box::pin(async { DiagnosticsReport::Unavailable })
    }

    fn for_session(&self, scope: &DiagnosticsScope) -> Option<Arc<dyn Diagnostics>> {
        let servers = servers(&scope.servers).into();
        Some(Arc::new(SessionServers { pool: Arc::clone(&self.0), servers, scope: scope.clone() }))
    }
}

impl Diagnostics for SessionServers {
    fn of(&self, target: DiagnosticsTarget, wait: Duration) -> BoxFuture<'_, DiagnosticsReport> {
        Box::pin(async move {
            let deadline = Instant::now() + wait;
            let Some((server, program, root)) = self.choose(&target.path).await else {
                return DiagnosticsReport::Unavailable;
            };
            let handle = self.handle(&server, program, root.clone());
            let others = self.unsaved(&server, &root);
            let target = text(target.path, target.text);
            if wait.is_zero() {
                handle.known(target, others)
            } else {
                handle.ask(target, others, deadline.saturating_duration_since(Instant::now())).await
            }
        })
    }
}

impl SessionServers {
    /// The first server for this file whose program is found, and the root for it. `None` for files outside of the workspace.
    async fn choose(&self, path: &AbsPath) -> Option<(Server, PathBuf, AbsPath)> {
        let extension = path.extension()?.to_owned();
        if !self.servers.iter().any(|server| server.looks_at(&extension)) {
            return None;
        }
        let within = self.scope.roots.iter().filter(|root| path.starts_with(root));
        let within = within.max_by_key(|root| root.as_path().components().count())?.clone();
        let (servers, pool, path) = (Arc::clone(&self.servers), Arc::clone(&self.pool), path.clone());
        let found = spawn_blocking(move || {
            let fitting = servers.iter().filter(|server| server.looks_at(&extension));
            fitting.into_iter().find_map(|server| {
                let program = program(&server.command, &pool.variables)?;
                let root = marked_folder(&path, &within, &server.markers);
                let root = root.or_else(|| (!server.needs_marker).then(|| within.clone()))?;
                Some((server.clone(), program, root))
            })
        });
        // A panic there is logged by its thread; it costs this report.
        found.await.ok().flatten()
    }

    fn handle(&self, server: &Server, program: PathBuf, root: AbsPath) -> ServerHandle {
        let key = Key { command: server.command.clone(), root: root.clone() };
        let mut servers = self.pool.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            let recipe = Recipe {
                name: server.name.clone(),
                launch: Launch {
                    program,
                    arguments: server.command[1..].to_vec(),
                    folder: root.clone(),
                    env: server.env.clone(),
                    hidden_vars: self.scope.hidden_vars.clone(),
                    passed_vars: self.scope.passed_vars.clone(),
                },
                root,
                initialization: server.initialization.clone(),
                launcher: Arc::clone(&self.pool.launcher),
            };
            let (handle, actor) = ServerHandle::start(recipe, self.pool.closing.child_token());
            self.pool.tasks.spawn(actor);
            handle
        };
        servers.entry(key).or_insert_with(start).clone()
    }

    /// Texts that the server would read from the disk in an older form.
    fn unsaved(&self, server: &Server, root: &AbsPath) -> Vec<Text> {
        let documents = self.scope.overlay.all().into_iter();
        let concerned = documents.filter(|document| {
            document.path.starts_with(root)
                && document.path.extension().is_some_and(|extension| server.looks_at(extension))
                && document.is_dirty()
        });
        concerned.map(|document| text(document.path, document.text)).collect()
    }
}

fn text(path: AbsPath, text: ropey::Rope) -> Text {
    let language = language(path.extension().unwrap_or_default()).to_owned();
    Text { path, language, text }
}

fn program(command: &[String], variables: &Variables) -> Option<PathBuf> {
    let program = command.first()?;
    match AbsPath::new(program) {
        Some(path) => std::fs::metadata(path.as_path()).is_ok_and(|found| found.is_file()).then(|| program.into()),
        None => variables.find_program(program),
    }
}

/// The nearest folder above `path`, not above `within`, in which one of the markers stands.
fn marked_folder(path: &AbsPath, within: &AbsPath, markers: &[String]) -> Option<AbsPath> {
    let mut folder = path.parent()?;
    while folder.starts_with(within) {
        if markers.iter().any(|marker| folder.join(marker).as_path().exists()) {
            return Some(folder);
        }
        folder = folder.parent()?;
    }
    None
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
