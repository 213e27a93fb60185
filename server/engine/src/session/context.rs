//! What the actor, its runs and the handle share: the session's ports, configuration and journal, and what the user has chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copydesk_workspace::path::AbsPath;

use super::trust::TrustState;
use super::undo::Undoing;
use super::{Choices, Choose, Journal};
use crate::agent::{self, Agent};
use crate::config::{self, Config, ConfiguredModel, EditorSays, SharedConfigs};
use crate::event::{SessionEvent, Severity, ToolCallState, ToolCallView};
use crate::format::Learned;
use crate::ids::{CallId, SessionId};
use crate::jobs::{Jobs, Notices};
use crate::message::{Entry, ModelRef, ToolStatus};
use crate::output::Retention;
use crate::permission::Mode;
use crate::ports::{Client, Connection, Diagnostics, DiagnosticsScope, Ports, SandboxSupport};
use crate::prompt::KnownInstructions;
use crate::registry::Registry;
use crate::review::Reviews;
use crate::run::MediaVerdicts;
use crate::runner::{Grants, Seen};
use crate::skills::{self, FetchedSkills, Skills};
use crate::tool::Facts;
use crate::tools::JOB;
use crate::undo::Recording;
use crate::view::{KnownFiles, View};

pub(crate) struct Context {
    pub(crate) id: SessionId,
    pub(crate) facts: Arc<Facts>,
    pub(crate) is_git: bool,
    pub(crate) ports: Ports,
    connection: Connection,
    configs: Arc<SharedConfigs>,
    pub(super) outputs: Arc<Retention>,
    loaded: Mutex<Loaded>,
    pub(super) trust: TrustState,
    pub(crate) registry: Arc<Registry>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) known: Arc<KnownFiles>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) reviews: Reviews,
    pub(crate) instructions: Arc<KnownInstructions>,
    /// As the present run has found them.
    skills: Mutex<Arc<Skills>>,
    /// What is wrong with the fetched ones; fetched once.
    fetched_skills: tokio::sync::OnceCell<FetchedSkills>,
    pub(crate) formatters: Arc<Learned>,
    pub(crate) recording: Arc<Recording>,
    pub(super) undoing: Undoing,
    pub(crate) verdicts: MediaVerdicts,
    chosen: Mutex<Chosen>,
    /// Models of this machine that were found, besides those of the configuration.
    offered: Mutex<Vec<ModelRef>>,
    /// What the user is told when the session opens.
    problems: Vec<(Severity, String)>,
    /// Notices that were given, so that none is given twice.
    told: Mutex<BTreeSet<String>>,
    /// Calls that the client was told of and that have not ended.
    open_calls: Mutex<BTreeMap<CallId, ToolCallView>>,
}

/// The configuration in force, and what is made of it.
struct Loaded {
    config: Arc<Config>,
    diagnostics: Arc<dyn Diagnostics>,
}

impl Loaded {
    fn new(config: Arc<Config>, connection: &Connection, facts: &Facts) -> Self {
        let scope = DiagnosticsScope {
            servers: config.language_servers.clone(),
            roots: facts.roots.clone(),
            overlay: Arc::clone(&connection.overlay),
            hidden_vars: config.key_variables.clone(),
            passed_vars: config.sandbox.environment.clone(),
            trusts_programs: config.trusts_programs(connection.editor.workspace_trust()),
        };
        let diagnostics = connection.diagnostics.for_session(&scope);
        Self { config, diagnostics: diagnostics.unwrap_or_else(|| Arc::clone(&connection.diagnostics)) }
    }
}

/// What a session is made of.
pub(crate) struct Parts {
    pub(crate) id: SessionId,
    pub(crate) facts: Facts,
    pub(crate) is_git: bool,
    /// The real path of the root of the work tree: what grants of a project belong to.
    pub(crate) project: AbsPath,
    pub(crate) ports: Ports,
    pub(crate) connection: Connection,
    pub(crate) config: Config,
    pub(crate) configs: Arc<SharedConfigs>,
    pub(crate) outputs: Arc<Retention>,
    pub(crate) registry: Arc<Registry>,
    /// Stored already.
    pub(crate) entries: Vec<Entry>,
    /// What the user is told when the session opens, beside the problems of the configuration.
    pub(crate) notices: Vec<String>,
}

/// `None`: what the configuration says.
#[derive(Default)]
struct Chosen {
    agent: Option<String>,
    model: Option<ModelRef>,
}

impl Context {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            id,
            facts,
            is_git,
            project,
            ports,
            connection,
            config,
            configs,
            outputs,
            registry,
            entries,
            notices,
        } = parts;
        let mut chosen = Chosen::default();
        let mut chosen_mode = None;
        let mut results = Vec::new();
        for entry in &entries {
            match entry {
                Entry::Chosen { agent, model, mode, .. } => {
                    chosen.agent = agent.clone().or(chosen.agent);
                    chosen.model = model.clone().or(chosen.model);
                    chosen_mode = mode.or(chosen_mode);
                }
                Entry::ToolResult { result, .. } => results.push(result),
                _ => {}
            }
        }
        let earlier = results.iter().filter(|result| result.metadata.get(JOB).is_some()).count() as u64;
        let told_of_jobs = Notices { session: id.clone(), client: Arc::clone(&connection.client) };
        let jobs = Jobs::new(Arc::clone(&ports.shell), Arc::clone(&ports.clock), told_of_jobs, earlier);
        let recording = Recording::new(
            id.clone(),
            Arc::clone(&ports.changes),
            Arc::clone(&ports.clock),
            Arc::clone(&connection.client),
        );
        let instructions = Arc::new(KnownInstructions::rebuild(results.iter().copied()));
        let seen = Arc::new(Seen::rebuild(results));
        let warnings = config.problems.iter().map(ToString::to_string).chain(notices);
        let warnings = warnings.map(|text| (Severity::Warning, text));
        let problems = warnings.chain(super::trust::notices(&config.trust)).collect();
        let trust = TrustState::new(connection.editor.workspace_trust());
        let mode = chosen_mode.unwrap_or(config.permission_mode);
        let loaded = Mutex::new(Loaded::new(configs.share(config), &connection, &facts));
        let journal = Arc::new(Journal::new(id.clone(), Arc::clone(&ports.store), entries));
        let grants = Grants::new(Arc::clone(&ports.grants), project, mode);
        Self {
            id,
            facts: Arc::new(facts),
            is_git,
            ports,
            connection,
            configs,
            outputs,
            loaded,
            trust,
            registry,
            journal,
            grants: Arc::new(grants),
            seen,
            known: Arc::default(),
            jobs: Arc::new(jobs),
            reviews: Reviews::default(),
            instructions,
            skills: Mutex::default(),
            fetched_skills: tokio::sync::OnceCell::new(),
            formatters: Arc::default(),
            recording,
            undoing: Undoing::default(),
            verdicts: MediaVerdicts::default(),
            chosen: Mutex::new(chosen),
            offered: Mutex::default(),
            problems,
            told: Mutex::default(),
            open_calls: Mutex::default(),
        }
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&lock(&self.loaded).config)
    }

    /// With the diagnostics of the session.
    pub(crate) fn connection(&self) -> Connection {
        let diagnostics = Arc::clone(&lock(&self.loaded).diagnostics);
        Connection { diagnostics, ..self.connection.clone() }
    }

    pub(crate) fn client(&self) -> &Arc<dyn Client> {
        &self.connection.client
    }

    /// Of everything.
    pub(crate) fn view(&self) -> View {
        let Connection { editor, overlay, .. } = &self.connection;
        View::new(self.ports.files.clone(), editor.clone(), overlay.clone(), self.id.clone())
    }

    /// Reads the configuration again; in force from the next look at it on.
    pub(super) async fn reload(&self) {
        let editor = EditorSays::of(&*self.connection.editor);
        let config = config::load(&self.ports, &self.facts, editor).await;
        let problems = config.problems.iter().map(ToString::to_string).collect();
        *lock(&self.loaded) = Loaded::new(self.configs.share(config), &self.connection, &self.facts);
        self.warn(problems).await;
    }

    pub(crate) fn skills(&self) -> Arc<Skills> {
        Arc::clone(&lock(&self.skills))
    }

    /// Looks for the skills anew; those of other machines are fetched once in the life of a session.
    pub(crate) async fn find_skills(&self) -> Arc<Skills> {
        let config = self.config();
        let fetched = self.fetched_skills.get_or_init(|| skills::fetch(&self.ports, &config.skills)).await;
        let found = Arc::new(Skills::find(&self.ports, &self.facts, &config.skills, fetched).await);
        *lock(&self.skills) = Arc::clone(&found);
        self.warn(found.problems().to_vec()).await;
        found
    }

    pub(crate) async fn emit(&self, event: SessionEvent) {
        if let SessionEvent::ToolCall(view) | SessionEvent::ToolCallUpdate(view) = &event {
            let mut open = lock(&self.open_calls);
            if matches!(view.state, ToolCallState::Ended(_)) {
                open.remove(&view.call);
            } else {
                open.insert(view.call.clone(), view.clone());
            }
        }
        self.connection.client.update(self.id.clone(), event).await;
    }

    /// After a turn, however it ended: no client shows a call as running for ever.
    pub(crate) async fn end_open_calls(&self) {
        let open = std::mem::take(&mut *lock(&self.open_calls));
        for view in open.into_values() {
            let state = ToolCallState::Ended(ToolStatus::Cancelled);
            self.emit(SessionEvent::ToolCallUpdate(ToolCallView { state, ..view })).await;
        }
    }

    /// Tells the user of each problem once.
    pub(crate) async fn warn(&self, problems: Vec<String>) {
        self.tell(problems.into_iter().map(|text| (Severity::Warning, text)).collect()).await;
    }

    /// Each once.
    pub(super) async fn tell(&self, notices: Vec<(Severity, String)>) {
        for (severity, text) in notices {
            let is_new = lock(&self.told).insert(text.clone());
            if is_new {
                self.emit(SessionEvent::Notice { severity, text }).await;
            }
        }
    }

    /// Of what is wrong with the configuration and with what was stored.
    pub(crate) async fn warn_at_opening(&self) {
        self.tell(self.problems.clone()).await;
        self.warn_of_mode().await;
    }

    /// Where the mode promises a sandbox that this system does not have.
    pub(super) async fn warn_of_mode(&self) {
        if self.grants.mode() == Mode::Auto
            && let SandboxSupport::Missing { reason } = self.ports.shell.sandbox()
        {
            let text = format!(
                "The permission mode `auto` needs a sandbox, and there is none here ({reason}): it is the mode `workspace`, in which commands are asked."
            );
            self.warn(vec![text]).await;
        }
    }

    /// To the client: all that is chosen.
    pub(super) async fn tell_choices(&self) {
        let Choices { agent, model, mode, .. } = self.choices();
        self.emit(SessionEvent::Chosen { agent, model, mode }).await;
    }

    /// The agent in force: the one chosen, else the default, else any that can be talked to.
    pub(crate) fn agent(&self) -> Agent {
        let chosen = lock(&self.chosen).agent.clone();
        let named = chosen.as_deref().and_then(|name| self.selectable(name));
        let config = self.config();
        named
            .or_else(|| self.selectable(&config.default_agent))
            .or_else(|| config.agents.values().find(|agent| agent.is_selectable()).cloned())
            .unwrap_or_else(|| Agent { mode: agent::AgentMode::Primary, ..Agent::new(agent::BUILD, Some(&self.facts)) })
    }

    pub(crate) fn selectable(&self, name: &str) -> Option<Agent> {
        self.config().agents.get(name).filter(|agent| agent.is_selectable()).cloned()
    }

    /// The error is for the user.
    pub(super) fn model(&self, agent: &Agent) -> Result<ConfiguredModel, String> {
        let Some(wanted) = self.model_of(agent) else {
            return Err("No model is set.".to_owned());
        };
        let config = self.config();
        config.model(&wanted).ok_or_else(|| {
            let known: Vec<String> = config.models.iter().map(|model| model.model.to_string()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!(
                "The model {wanted} is set, but no provider \"{}\" is configured. Configured models: {known}.",
                wanted.provider
            )
        })
    }

    pub(crate) fn choices(&self) -> Choices {
        let agent = self.agent();
        let model = self.model_of(&agent);
        let config = self.config();
        let selectable = config.agents.values().filter(|agent| agent.is_selectable());
        let mut models: Vec<_> =
            config.models.iter().map(|listed| (listed.model.clone(), listed.name.clone())).collect();
        for offered in lock(&self.offered).iter() {
            if !models.iter().any(|(listed, _)| listed == offered) {
                models.push((offered.clone(), offered.to_string()));
            }
        }
        if let Some(model) = &model
            && !models.iter().any(|(listed, _)| listed == model)
            && let Some(unlisted) = config.model(model)
        {
            models.insert(0, (unlisted.model, unlisted.name));
        }
        Choices {
            agent: agent.name,
            agents: selectable.map(|agent| (agent.name.clone(), agent.description.clone())).collect(),
            model,
            models,
            mode: self.grants.mode(),
            grants: self.grants.held(),
        }
    }

    /// In force at once, then stored and told.
    pub(super) async fn chosen(&self, choice: Choose) {
        self.choose(&choice);
        let (agent, model, mode) = match choice {
            Choose::Agent(name) => (Some(name), None, None),
            Choose::Model(model) => (None, Some(model), None),
            Choose::Mode(mode) => (None, None, Some(mode)),
        };
        let entry = Entry::Chosen { at: self.ports.clock.now(), agent, model, mode };
        if let Err(error) = self.journal.append(vec![entry]).await {
            // In force all the same; the store's trouble is told by the next prompt.
            tracing::warn!(%error, "a choice was not stored");
        }
        self.tell_choices().await;
    }

    fn choose(&self, choice: &Choose) {
        let mut chosen = lock(&self.chosen);
        match choice {
            Choose::Agent(name) => chosen.agent = Some(name.clone()),
            Choose::Model(model) => chosen.model = Some(model.clone()),
            Choose::Mode(mode) => self.grants.set_mode(*mode),
        }
    }

    /// In place of what was offered before: a server may have ended since.
    pub(super) fn offer(&self, models: Vec<ModelRef>) {
        *lock(&self.offered) = models;
    }

    /// The user's choice comes before the agent's own model, that before the configuration's, that before one chosen in an earlier session.
    pub(super) fn model_of(&self, agent: &Agent) -> Option<ModelRef> {
        let chosen = lock(&self.chosen).model.clone();
        let config = self.config();
        chosen
            .or_else(|| agent.model.clone())
            .or_else(|| config.model.clone())
            .or_else(|| config.remembered.clone().filter(|model| config.model(model).is_some()))
            .or_else(|| config.models.first().map(|listed| listed.model.clone()))
    }
}

/// A poisoned lock holds whole values: every change behind one is a single step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
