//! What a tool gets beside its input: the view, the search and the sandbox, each no wider than what was judged.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::access::Resolved;
use super::command::{MayChange, Reach};
use super::decide::{Decided, decide};
use super::{Runner, RunnerDeps};
use crate::agent::PLAN;
use crate::confinement::{NetworkRight, Rights, WorkspaceRight, confine};
use crate::format::Formatting;
use crate::ids::CallId;
use crate::jobs::Notices;
use crate::ports::{By, Confinement, Connection, SnapshotRequest};
use crate::prompt::FolderInstructions;
use crate::search::GrantedSearch;
use crate::snapshots::{CommandRecorder, CommandSnapshots};
use crate::tool::{Progress, ToolContext, User};
use crate::undo::Recorder;
use crate::view::{Scope, View};
use crate::web::GrantedWeb;

impl Runner {
    /// Takes scope, roots and address out of what was resolved.
    pub(super) fn context(&self, resolved: &mut Resolved, call: &CallId, progress: Progress) -> ToolContext {
        let scope = mem::replace(&mut resolved.scope, Scope::Paths(Vec::new()));
        let roots = mem::take(&mut resolved.searched);
        let RunnerDeps { connection, ports, .. } = &self.deps;
        let Connection { editor, overlay, .. } = connection;
        let session = self.deps.session.clone();
        let view = View::new(Arc::clone(&ports.files), Arc::clone(editor), Arc::clone(overlay), session);
        let view = view.with_large(Arc::clone(&self.deps.large));
        ToolContext {
            facts: Arc::clone(&self.deps.facts),
            view: view.narrowed(scope).recorded(self.recorder(call)),
            may_quote: self.may_quote(resolved),
            search: GrantedSearch {
                port: Arc::clone(&ports.search),
                overlay: Arc::clone(&connection.overlay),
                roots,
                cancel: self.deps.cancel.clone(),
            },
            shell: Arc::clone(&ports.shell),
            diagnostics: Arc::clone(&connection.diagnostics),
            formatting: self.formatting(),
            todos: Arc::clone(&self.deps.todos),
            agents: Arc::clone(&self.deps.agents),
            user: User {
                client: Arc::clone(&connection.client),
                session: self.deps.session.clone(),
                call: call.clone(),
                ids: Arc::clone(&ports.ids),
            },
            seen: Arc::clone(&self.deps.seen),
            known: Arc::clone(&self.deps.known),
            jobs: Arc::clone(&self.deps.jobs),
            snapshots: self.snapshots(resolved, call),
            notices: Notices { session: self.deps.session.clone(), client: Arc::clone(&connection.client) },
            clock: Arc::clone(&ports.clock),
            instructions: FolderInstructions {
                files: Arc::clone(&ports.files),
                facts: Arc::clone(&self.deps.facts),
                agent: Arc::clone(&self.deps.agent),
                known: Arc::clone(&self.deps.instructions),
                call: call.to_string(),
            },
            ids: Arc::clone(&ports.ids),
            cancel: self.deps.cancel.clone(),
            progress,
            label: format!("{} {call}", self.deps.session),
            skill: self.deps.skills.granted(resolved.skill.take(), &self.deps),
            web: GrantedWeb {
                port: Arc::clone(&ports.http),
                settings: self.deps.config.web.clone(),
                granted: mem::take(&mut resolved.web),
                session: self.deps.session.to_string(),
            },
            hidden_vars: self.deps.config.key_variables.clone(),
            passed_vars: self.deps.config.sandbox.environment.clone(),
            confinement: self.confinement(&resolved.reach),
            largest_image: self.deps.config.max_image_base64_bytes,
        }
    }

    /// Around a command that may change something.
    fn snapshots(&self, resolved: &mut Resolved, call: &CallId) -> CommandSnapshots {
        let RunnerDeps { session, turn, facts, ports, config, connection, .. } = &self.deps;
        let may_keep = resolved.may_keep.take().filter(|_| resolved.may_change == MayChange::Something);
        let roots = [&facts.worktree].into_iter().chain(&facts.roots).cloned().collect();
        CommandSnapshots {
            port: Arc::clone(&ports.snapshots),
            request: may_keep.map(|may_keep| SnapshotRequest { roots, may_keep }),
            recorder: CommandRecorder {
                changes: Arc::clone(&ports.changes),
                session: session.clone(),
                turn: turn.clone(),
                call: call.clone(),
                clock: Arc::clone(&ports.clock),
                most_kept: config.max_undo_bytes,
            },
            overlay: Arc::clone(&connection.overlay),
        }
    }

    pub(super) fn recorder(&self, call: &CallId) -> Recorder {
        let RunnerDeps { recording, turn, config, .. } = &self.deps;
        recording.recorder(turn.clone(), Some(call.clone()), By::Agent, config.max_undo_bytes)
    }

    pub(super) fn may_quote(&self, resolved: &Resolved) -> bool {
        resolved.quoting.iter().all(|need| decide(&self.deps, need) == Decided::Allowed)
    }

    fn formatting(&self) -> Formatting {
        let RunnerDeps { config, facts, ports, connection, .. } = &self.deps;
        let rights = Rights { workspace: WorkspaceRight::Read, network: NetworkRight::AsSet };
        let flag = |name: &str| ports.environment.is_on(name);
        Formatting {
            config: Arc::clone(config),
            trusts_programs: config.trusts_programs(connection.editor.workspace_trust()),
            files: Arc::clone(&ports.files),
            shell: Arc::clone(&ports.shell),
            ids: Arc::clone(&ports.ids),
            facts: Arc::clone(facts),
            cancel: self.deps.cancel.clone(),
            confinement: confine(&config.sandbox, &ports.shell.sandbox(), facts, &*ports.environment, rights),
            experimental_oxfmt: flag("OPENCODE_EXPERIMENTAL_OXFMT") || flag("COPYDESK_EXPERIMENTAL_OXFMT"),
            learned: Arc::clone(&self.deps.formatters),
            left_out: AtomicBool::new(false),
        }
    }

    /// Of a command that was not granted to run outside of the sandbox. What its words reach for is asked before it runs, and then open to it.
    fn confinement(&self, reach: &Reach) -> Confinement {
        let RunnerDeps { config, facts, ports, agent, .. } = &self.deps;
        let workspace = if agent.name == PLAN { WorkspaceRight::Read } else { WorkspaceRight::Change };
        let network = if reach.network { NetworkRight::Full } else { NetworkRight::AsSet };
        let rights = Rights { workspace, network };
        let mut confinement = confine(&config.sandbox, &ports.shell.sandbox(), facts, &*ports.environment, rights);
        if let (Confinement::Sandbox(policy), WorkspaceRight::Change) = (&mut confinement, workspace) {
            policy.writable.extend(reach.writable.iter().cloned());
        }
        confinement
    }
}
