//! The engine's `Diagnostics` by language servers: which server for which file, one for each root, shared by all sessions, started at the first need.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use copydesk_engine::ports::{
    BoxFuture, Diagnostics, DiagnosticsReport, DiagnosticsScope, DiagnosticsTarget, LanguageAnswer, LanguageChange,
    LanguageError, LanguageFound, LanguageQuestion,
};
use copydesk_workspace::path::AbsPath;
use futures::future::join_all;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::client::Text;
use super::known::Known;
use super::language;
use super::process::{self, Launch};
use super::server::{Launcher, Recipe, ServerHandle, Troubles};
use super::servers::{Chosen, Server, Surroundings, choose, servers};
use super::table::language_id;
use crate::os::environment::Variables;

/// All servers together have this long to end.
const SHUTDOWN: Duration = Duration::from_millis(1_250);

/// Starts nothing by itself, and nothing outside of sessions.
pub struct LanguageServerPool(Arc<Pool>);

struct Pool {
    variables: Variables,
    launcher: Launcher,
    servers: Mutex<HashMap<Key, ServerHandle>>,
    troubles: Troubles,
    tasks: TaskTracker,
    closing: CancellationToken,
    /// Without `shutdown` the servers end with the pool.
    _end: DropGuard,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    program: PathBuf,
    arguments: Vec<String>,
    root: AbsPath,
    env: BTreeMap<String, String>,
    /// As JSON.
    initialization: String,
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
        let (servers, troubles, tasks) = (Mutex::default(), Troubles::default(), TaskTracker::new());
        Self(Arc::new(Pool { variables, launcher, servers, troubles, tasks, closing, _end: end }))
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
    /// Of all servers that look at the file, together.
    fn of(&self, target: DiagnosticsTarget, wait: Duration) -> BoxFuture<'_, DiagnosticsReport> {
        Box::pin(async move {
            let deadline = Instant::now() + wait;
            let chosen = self.choose(&target.path).await;
            let target = text(target.path, target.text);
            let asked = chosen.into_iter().map(|chosen| {
                let (handle, others, target) = (self.handle(&chosen), self.unsaved(&chosen), target.clone());
                async move {
                    let left = deadline.saturating_duration_since(Instant::now());
                    let report = match wait.is_zero() {
                        true => handle.known(target, others),
                        false => handle.ask(target, others, left).await,
                    };
                    (chosen.server.name, report)
                }
            });
            together(join_all(asked).await)
        })
    }

    fn troubles(&self) -> Vec<String> {
        self.pool.troubles.take()
    }

    /// The first server that knows how.
    fn answer(
        &self,
        question: LanguageQuestion,
        wait: Duration,
    ) -> BoxFuture<'_, Result<LanguageAnswer, LanguageError>> {
        Box::pin(async move {
            let chosen = self.choose(&question.file.path).await;
            let mut failure = LanguageError::Unavailable;
            let deadline = Instant::now() + wait;
            for chosen in chosen {
                match timeout_at(deadline, self.of_server(&chosen, &question)).await {
                    Ok(Err(error @ (LanguageError::Unsupported { .. } | LanguageError::Unavailable))) => {
                        failure = error
                    }
                    Ok(answer) => return answer,
                    Err(_) => return Err(LanguageError::NotReady),
                }
            }
            Err(failure)
        })
    }
}

/// Who cannot speak of the file has no part in it.
fn together(reports: Vec<(String, DiagnosticsReport)>) -> DiagnosticsReport {
    let (mut found, mut missing, mut presumed) = (Vec::new(), Vec::new(), Vec::new());
    let mut has_spoken = false;
    for (name, report) in reports {
        let of_server = match report {
            DiagnosticsReport::Ready(of_server) => of_server,
            DiagnosticsReport::Partly { found, missing: others, presumed: by } => {
                missing.extend(others);
                presumed.extend(by);
                found
            }
            DiagnosticsReport::NotReady => {
                missing.push(name);
                continue;
            }
            DiagnosticsReport::Unavailable => continue,
        };
        has_spoken = true;
        for problem in of_server {
            if !found.contains(&problem) {
                found.push(problem);
            }
        }
    }
    found.sort_by_key(|problem| (problem.line, problem.column));
    match (has_spoken, missing.is_empty()) {
        (true, true) if presumed.is_empty() => DiagnosticsReport::Ready(found),
        (true, _) => DiagnosticsReport::Partly { found, missing, presumed },
        (false, false) => DiagnosticsReport::NotReady,
        (false, true) => DiagnosticsReport::Unavailable,
    }
}

impl SessionServers {
    /// None for files outside of the workspace.
    async fn choose(&self, path: &AbsPath) -> Vec<Chosen> {
        if !self.servers.iter().any(|server| server.looks_at(path)) {
            return Vec::new();
        }
        let within = self.scope.roots.iter().filter(|root| path.starts_with(root));
        let Some(within) = within.max_by_key(|root| root.as_path().components().count()).cloned() else {
            return Vec::new();
        };
        let (servers, pool, path) = (Arc::clone(&self.servers), Arc::clone(&self.pool), path.clone());
        let is_trusted = self.scope.trusts_programs;
        let found = spawn_blocking(move || {
            let at = Surroundings { variables: &pool.variables, is_trusted };
            let is_down = |chosen: &Chosen| {
                let servers = pool.servers.lock().unwrap_or_else(PoisonError::into_inner);
                servers.get(&Key::of(chosen)).is_some_and(ServerHandle::is_down)
            };
            choose(&servers, &path, &within, &at, is_down)
        });
        // A panic there is logged by its thread; it costs this report.
        found.await.unwrap_or_default()
    }

    /// The answer is about just the texts of the question.
    async fn of_server(&self, chosen: &Chosen, question: &LanguageQuestion) -> Result<LanguageAnswer, LanguageError> {
        let mut texts = self.unsaved(chosen);
        let given = question.others.iter().map(|(path, rope)| text(path.clone(), rope.clone()));
        let given: Vec<Text> = given.chain([text(question.file.path.clone(), question.file.text.clone())]).collect();
        texts.retain(|unsaved| given.iter().all(|given| given.path != unsaved.path));
        texts.extend(given.iter().cloned());
        let line = self.handle(chosen).line(texts).await.ok_or(LanguageError::Unavailable)?;
        let name = chosen.server.name.clone();
        if !line.offers(language::method(&question.about)) {
            return Err(LanguageError::Unsupported { by: name });
        }
        // It was told of documents by their paths, however the editor spells them.
        let mut asked = question.clone();
        asked.file.open = None;
        let mut answer = language::ask(&asked, line.known.problems(&question.file.path), &line).await?;
        // Another question may have told it of other texts meanwhile.
        let still = |given: &Text| line.known.text(&given.path).is_some_and(|(_, text)| text == given.text);
        if given.iter().all(still) && is_of_told(&mut answer, &line.known) {
            Ok(answer)
        } else {
            Err(LanguageError::NotReady)
        }
    }

    fn handle(&self, chosen: &Chosen) -> ServerHandle {
        let Chosen { server, program, arguments, root, initialization } = chosen.clone();
        let mut servers = self.pool.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            let recipe = Recipe {
                name: server.name,
                launch: Launch {
                    program,
                    arguments,
                    folder: root.clone(),
                    env: server.env,
                    hidden_vars: self.scope.hidden_vars.clone(),
                    passed_vars: self.scope.passed_vars.clone(),
                },
                root,
                initialization,
                launcher: Arc::clone(&self.pool.launcher),
                troubles: self.pool.troubles.clone(),
            };
            let (handle, actor) = ServerHandle::start(recipe, self.pool.closing.child_token());
            self.pool.tasks.spawn(actor);
            handle
        };
        servers.entry(Key::of(chosen)).or_insert_with(start).clone()
    }

    /// Texts that the server would read from the disk in an older form.
    fn unsaved(&self, chosen: &Chosen) -> Vec<Text> {
        let documents = self.scope.overlay.all().into_iter();
        let concerned = documents.filter(|document| {
            document.path.starts_with(&chosen.root) && chosen.server.looks_at(&document.path) && document.is_dirty()
        });
        concerned.map(|document| text(document.path, document.text)).collect()
    }
}

/// Whether its edits are of the versions that the server was told of, which are nobody else's: they are taken out.
fn is_of_told(answer: &mut LanguageAnswer, known: &Known) -> bool {
    let LanguageFound::Changes(changes) = &mut answer.found else { return true };
    changes.iter_mut().all(|change| match change {
        LanguageChange::Edit { path, version, .. } => match (version.take(), known.text(path)) {
            (Some(of), Some((told, _))) => of == told,
            (None, _) | (_, None) => true,
        },
        LanguageChange::Create { .. } | LanguageChange::Move { .. } | LanguageChange::Delete { .. } => true,
    })
}

impl Key {
    fn of(chosen: &Chosen) -> Self {
        let Chosen { server, program, arguments, root, initialization } = chosen;
        Self {
            program: program.clone(),
            arguments: arguments.clone(),
            root: root.clone(),
            env: server.env.clone(),
            initialization: initialization.to_string(),
        }
    }
}

fn text(path: AbsPath, text: ropey::Rope) -> Text {
    let name = path.name();
    let language = language_id(path.extension().unwrap_or(&name)).to_owned();
    Text { path, language, text }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
