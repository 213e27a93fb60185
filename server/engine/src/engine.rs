//! The engine as the faces see it: sessions are opened here, and driven through their handles. What is done with stored ones stands in `stored`.

mod diffs;
mod fresh;
mod stored;
mod transitions;
mod trust;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{self, Config, EditorSays, SharedConfigs, Survey};
use crate::confinement;
use crate::ids::SessionId;
use crate::output::Retention;
use crate::ports::{Connection, Ports, SessionMeta, StoreError};
use crate::registry::Registry;
use crate::session::{Actor, Context, Parts, SessionHandle};
use crate::tool::Facts;

use fresh::Fresh;
use stored::Rows;
pub use stored::{History, Listing, Lives, LoadSession, Loaded, SessionPage, SessionSummary};
use transitions::Transitions;

/// How long the end of sessions is waited for: more than a command has from TERM to KILL, and less than what is left of the 2 s between the end of the
/// daemon's input and its own (R22.6).
const CLOSE_LIMIT: Duration = Duration::from_millis(1250);

pub struct Engine {
    ports: Ports,
    registry: Arc<Registry>,
    sessions: Mutex<BTreeMap<SessionId, Open>>,
    configs: Arc<SharedConfigs>,
    outputs: Arc<Retention>,
    transitions: Transitions,
    /// Fires when the engine ends; sessions have children of it.
    closing: CancellationToken,
    tasks: TaskTracker,
}

struct Open {
    handle: SessionHandle,
    closing: CancellationToken,
    actor: tokio::task::JoinHandle<()>,
}

pub struct NewSession {
    pub folder: AbsPath,
    /// Further roots of the workspace.
    pub additional: Vec<AbsPath>,
    pub connection: Connection,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error("session {0} is not open here")]
    UnknownSession(SessionId),
    #[error("session {0} is open in another window; close it there first")]
    OpenElsewhere(SessionId),
    #[error("{0} is not a folder")]
    NotAFolder(AbsPath),
    #[error("session {session} belongs to {folder}: open it with that folder")]
    OtherFolder { session: SessionId, folder: AbsPath },
    #[error("the cursor is not one of this list; ask for the list without one")]
    UnknownCursor,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the daemon is shutting down")]
    ShuttingDown,
}

impl Engine {
    pub fn new(ports: Ports) -> Arc<Self> {
        Self::with_registry(ports, Registry::builtin())
    }

    pub fn with_registry(ports: Ports, registry: Registry) -> Arc<Self> {
        Arc::new(Self {
            ports,
            registry: Arc::new(registry),
            sessions: Mutex::default(),
            configs: Arc::default(),
            outputs: Arc::default(),
            transitions: Transitions::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Reads the configuration of the folder and opens the store. Problems of the configuration are told as notices, once the face says that the client
    /// knows the session (`SessionHandle::opened`), and leave the rest in force.
    pub async fn new_session(&self, new: NewSession) -> Result<SessionHandle, EngineError> {
        let folder = new.folder.clone();
        if !matches!(self.ports.files.stat(folder.clone()).await, Ok(stat) if stat.kind == FileKind::Directory) {
            return Err(EngineError::NotAFolder(folder));
        }
        let roots = roots(&folder, new.additional);
        let place = self.place(folder, roots).await;
        let config = config::load(&self.ports, &place.facts, EditorSays::of(&*new.connection.editor)).await;
        self.start(place, config, new.connection).await
    }

    /// The configuration that a session in `folder` would have without its editor's settings, with where it comes from. Opens no session.
    pub async fn survey(&self, folder: AbsPath) -> Survey {
        let place = self.place(folder.clone(), vec![folder]).await;
        config::survey(&self.ports, &place.facts).await
    }

    /// What grants of a project belong to: the real path of the root of the work tree.
    pub async fn project_of(&self, folder: AbsPath) -> AbsPath {
        self.place(folder.clone(), vec![folder]).await.project
    }

    pub fn session(&self, id: &SessionId) -> Result<SessionHandle, EngineError> {
        let sessions = self.lock();
        sessions.get(id).map(|open| open.handle.clone()).ok_or_else(|| EngineError::UnknownSession(id.clone()))
    }

    /// Ends the sessions of a connection that is gone: cancels their turns and waits until their commands are gone, less than 2 s.
    pub async fn close_connection(&self, connection: &Connection) {
        let closed: Vec<Open> = {
            let mut sessions = self.lock();
            let ids: Vec<_> = sessions
                .iter()
                .filter(|(_, open)| open.handle.belongs_to(connection))
                .map(|(id, _)| id.clone())
                .collect();
            ids.iter().filter_map(|id| sessions.remove(id)).collect()
        };
        let ids: Vec<_> = closed.iter().map(|open| open.handle.id().clone()).collect();
        close(closed, Instant::now() + CLOSE_LIMIT).await;
        for id in ids {
            self.release(id).await;
        }
    }

    /// Ends one session, as if cancelled, and gives its lease back. Less than 2 s.
    pub async fn close_session(&self, id: &SessionId, connection: &Connection) -> Result<(), EngineError> {
        let _transition = self.transitions.begin(id).await;
        self.end_session(id, connection).await
    }

    /// Within a transition of the session.
    async fn end_session(&self, id: &SessionId, connection: &Connection) -> Result<(), EngineError> {
        let open = {
            let mut sessions = self.lock();
            match sessions.get(id) {
                None => return Err(EngineError::UnknownSession(id.clone())),
                Some(open) if !open.handle.belongs_to(connection) => {
                    return Err(EngineError::OpenElsewhere(id.clone()));
                }
                Some(_) => sessions.remove(id),
            }
        };
        close(open.into_iter().collect(), Instant::now() + CLOSE_LIMIT).await;
        self.release(id.clone()).await;
        Ok(())
    }

    async fn release(&self, id: SessionId) {
        if let Err(error) = self.ports.store.release(id).await {
            // It is free at the latest when this daemon ends.
            tracing::warn!(%error, "the lease of a session was not given back");
        }
    }

    /// Cancels all turns and waits until their commands are gone, less than 2 s in all.
    pub async fn shutdown(&self) {
        let deadline = Instant::now() + CLOSE_LIMIT;
        self.closing.cancel();
        let closed = std::mem::take(&mut *self.lock());
        close(closed.into_values().collect(), deadline).await;
        self.tasks.close();
        if tokio::time::timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::warn!("the session store was not flushed in time");
        }
    }

    /// With a configuration made elsewhere.
    pub(crate) async fn start(
        &self,
        place: Place,
        config: Config,
        connection: Connection,
    ) -> Result<SessionHandle, EngineError> {
        if self.closing.is_cancelled() {
            return Err(EngineError::ShuttingDown);
        }
        let id = SessionId::next(&*self.ports.ids);
        let meta = SessionMeta {
            id: id.clone(),
            created: self.ports.clock.now(),
            folder: place.facts.folder.clone(),
            roots: place.facts.roots.clone(),
        };
        let fresh = Fresh::new(id.clone(), Arc::clone(&self.ports.store), self.tasks.clone());
        self.ports.store.create(meta).await?;
        let session = self.open(id, place, config, connection, Rows::default())?;
        fresh.opened();
        Ok(session)
    }

    pub(crate) async fn place(&self, folder: AbsPath, roots: Vec<AbsPath>) -> Place {
        let found = self.version_controlled(&folder).await;
        let ambiguous = self.ambiguous_names(&folder, &roots).await;
        let folders = self.ports.environment.folders();
        let defaults = Config::default();
        let is_git = found.is_some();
        let worktree = found.unwrap_or_else(|| folder.clone());
        let project = self.ports.files.real_path(worktree.clone()).await.unwrap_or_else(|_| worktree.clone());
        Place {
            is_git,
            facts: Facts {
                worktree,
                folder,
                roots,
                ambiguous,
                platform: self.ports.environment.platform(),
                temp: confinement::temp_of(&folders, &project),
                spill: folders.data.join("tool-output"),
                max_lines: defaults.max_output_lines,
                max_bytes: defaults.max_output_bytes,
                command_timeout: defaults.command_timeout.get(),
                year: year(&self.ports.clock.today()),
            },
            project,
        }
    }

    /// Names of roots that are also names in the folder, without being the same place.
    async fn ambiguous_names(&self, folder: &AbsPath, roots: &[AbsPath]) -> Vec<String> {
        let mut names = Vec::new();
        for root in roots.iter().filter(|_| roots.len() > 1) {
            let name = root.name();
            let other = folder.join(&name);
            if name.is_empty() || other == *root || self.ports.files.stat(other.clone()).await.is_err() {
                continue;
            }
            let real = async |path: AbsPath| self.ports.files.real_path(path).await;
            if real(other).await != real(root.clone()).await {
                names.push(name);
            }
        }
        names
    }

    /// The nearest ancestor that holds `.git`, a folder or (in linked work trees) a file.
    async fn version_controlled(&self, folder: &AbsPath) -> Option<AbsPath> {
        let mut at = Some(folder.clone());
        while let Some(candidate) = at {
            if self.ports.files.stat(candidate.join(".git")).await.is_ok() {
                return Some(candidate);
            }
            at = candidate.parent();
        }
        None
    }

    fn open(
        &self,
        id: SessionId,
        mut place: Place,
        config: Config,
        connection: Connection,
        rows: Rows,
    ) -> Result<SessionHandle, EngineError> {
        place.facts.max_lines = config.max_output_lines;
        place.facts.max_bytes = config.max_output_bytes;
        place.facts.command_timeout = config.command_timeout.get();
        let context = Arc::new(Context::new(Parts {
            id: id.clone(),
            facts: place.facts,
            is_git: place.is_git,
            project: place.project,
            ports: self.ports.clone(),
            connection,
            config,
            configs: Arc::clone(&self.configs),
            outputs: Arc::clone(&self.outputs),
            registry: Arc::clone(&self.registry),
            entries: rows.entries,
            notices: rows.notices,
        }));
        let mut sessions = self.lock();
        if self.closing.is_cancelled() {
            return Err(EngineError::ShuttingDown);
        }
        if sessions.contains_key(&id) {
            // Another window was faster.
            return Err(EngineError::OpenElsewhere(id));
        }
        let (handle, mailbox) = SessionHandle::new(Arc::clone(&context));
        let closing = self.closing.child_token();
        let actor = Actor::new(context, mailbox, closing.clone(), self.tasks.clone());
        let actor = self.tasks.spawn(actor.run());
        sessions.insert(id, Open { handle: handle.clone(), closing, actor });
        Ok(handle)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Open>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// Where a session works.
pub(crate) struct Place {
    pub(crate) facts: Facts,
    pub(crate) is_git: bool,
    /// The real path of the root of the work tree.
    pub(crate) project: AbsPath,
}

/// Of a date such as `Mon Nov 30 2026`.
fn year(today: &str) -> String {
    today.rsplit(' ').next().unwrap_or_default().to_owned()
}

/// The folder first, each once.
fn roots(folder: &AbsPath, additional: Vec<AbsPath>) -> Vec<AbsPath> {
    let mut roots = vec![folder.clone()];
    for root in additional {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

/// Turns end first, all at once; a session that does not end in time is dropped, and its processes with it.
async fn close(sessions: Vec<Open>, deadline: Instant) {
    for open in &sessions {
        open.handle.cancel();
        open.closing.cancel();
    }
    for mut open in sessions {
        if tokio::time::timeout_at(deadline, &mut open.actor).await.is_err() {
            tracing::warn!(session = %open.handle.id(), "a session did not end in time and was dropped");
            open.actor.abort();
        }
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
