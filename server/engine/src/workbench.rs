//! For this crate's tests: a runner over a disk in memory, with an editor that edits its documents as real ones do.

mod editor;
mod shell;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use copydesk_workspace::disk::{Disk, MemoryDisk};
use copydesk_workspace::document::Document;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use copydesk_workspace::uri::uri_from_path;
use ropey::Rope;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, AgentMode};
use crate::config::Config;
use crate::format::{Formatters, Learned};
use crate::ids::{CallId, MessageId, SessionId};
use crate::jobs::{Jobs, Notices};
use crate::message::{Todo, ToolStatus};
use crate::overlay::Overlay;
use crate::permission::{Mode, Origin, Rule, Verdict, agent_rules, base_rules};
use crate::ports::{
    BoxFuture, Connection, Diagnostics, DiagnosticsReport, DiagnosticsTarget, Files, LanguageAnswer, LanguageError,
    LanguageQuestion, Ports,
};
use crate::prompt::KnownInstructions;
use crate::registry::Registry;
use crate::runner::{Call, CallOutcome, Grants, Runner, RunnerDeps, Seen};
use crate::skills::Skills;
use crate::testing::{
    DiskFiles, FakeClient, FakeClock, FakeEnvironment, FakeHttp, FakeIds, FakeModel, FakeSearch, FakeSecrets,
    MemoryChanges, MemoryGrants, MemorySnapshots, MemoryStore, MemoryTrust, MemoryVersionControl,
};
use crate::tool::{Agents, AnyTool, Facts, Todos, ToolError};
use crate::undo::Recording;
use crate::view::{KnownFiles, LargeText, View};

pub(crate) use editor::{Act, BenchEditor, Taking, Typing};
pub(crate) use shell::{Answer, BenchShell, Stuck, printed};

pub(crate) fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

/// Answers in turn, after the wait that the answer stands with; then that nobody checks. Keeps what it was asked.
#[derive(Default)]
pub(crate) struct BenchDiagnostics {
    reports: Mutex<VecDeque<(Duration, DiagnosticsReport)>>,
    asked: Mutex<Vec<(DiagnosticsTarget, Duration)>>,
    answers: Mutex<VecDeque<Result<LanguageAnswer, LanguageError>>>,
    questions: Mutex<Vec<LanguageQuestion>>,
    /// What happens during the question of that index.
    meanwhile: Mutex<Option<(usize, Meanwhile)>>,
}

type Meanwhile = Box<dyn FnOnce() + Send>;

impl BenchDiagnostics {
    pub(crate) fn will(&self, after: Duration, report: DiagnosticsReport) {
        lock(&self.reports).push_back((after, report));
    }

    pub(crate) fn asked(&self) -> Vec<(DiagnosticsTarget, Duration)> {
        lock(&self.asked).clone()
    }

    /// The answers to questions about code, in order; then nobody knows.
    pub(crate) fn knows(&self, answer: Result<LanguageAnswer, LanguageError>) {
        lock(&self.answers).push_back(answer);
    }

    pub(crate) fn questions(&self) -> Vec<LanguageQuestion> {
        lock(&self.questions).clone()
    }

    pub(crate) fn during(&self, question: usize, happens: impl FnOnce() + Send + 'static) {
        *lock(&self.meanwhile) = Some((question, Box::new(happens)));
    }
}

impl Diagnostics for BenchDiagnostics {
    fn of(&self, target: DiagnosticsTarget, wait: Duration) -> BoxFuture<'_, DiagnosticsReport> {
        lock(&self.asked).push((target, wait));
        let next = lock(&self.reports).pop_front();
        Box::pin(async move {
            let Some((after, report)) = next else { return DiagnosticsReport::Unavailable };
            tokio::time::sleep(after).await;
            report
        })
    }

    fn answer(
        &self,
        question: LanguageQuestion,
        _wait: Duration,
    ) -> BoxFuture<'_, Result<LanguageAnswer, LanguageError>> {
        let index = lock(&self.questions).len();
        lock(&self.questions).push(question);
        if let Some((_, happens)) = lock(&self.meanwhile).take_if(|(during, _)| *during == index) {
            happens();
        }
        let next = lock(&self.answers).pop_front();
        Box::pin(async move { next.unwrap_or(Err(LanguageError::Unavailable)) })
    }
}

#[derive(Default)]
pub(crate) struct BenchTodos(pub(crate) Mutex<Vec<Todo>>);

impl Todos for BenchTodos {
    fn replace(&self, todos: Vec<Todo>) -> BoxFuture<'_, Result<(), ToolError>> {
        *lock(&self.0) = todos;
        Box::pin(async { Ok(()) })
    }

    fn list(&self) -> Vec<Todo> {
        lock(&self.0).clone()
    }
}

/// Those that were switched to.
#[derive(Default)]
pub(crate) struct BenchAgents(pub(crate) Mutex<Vec<String>>);

impl Agents for BenchAgents {
    fn switch(&self, agent: &'static str) -> BoxFuture<'_, Result<(), ToolError>> {
        lock(&self.0).push(agent.to_owned());
        Box::pin(async { Ok(()) })
    }

    fn plan_file(&self) -> AbsPath {
        path("/w/.opencode/plans/ses_1.md")
    }
}

/// A session in `/w`, with the rules of `build` unless the test says otherwise.
pub(crate) struct Bench {
    pub(crate) disk: Arc<MemoryDisk>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) editor: Arc<BenchEditor>,
    pub(crate) client: Arc<FakeClient>,
    pub(crate) shell: Arc<BenchShell>,
    pub(crate) http: Arc<FakeHttp>,
    pub(crate) snapshots: Arc<MemorySnapshots>,
    pub(crate) skills: Arc<Skills>,
    pub(crate) diagnostics: Arc<BenchDiagnostics>,
    pub(crate) todos: Arc<BenchTodos>,
    pub(crate) agents: Arc<BenchAgents>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) kept: Arc<MemoryGrants>,
    pub(crate) changes: Arc<MemoryChanges>,
    recording: OnceLock<Arc<Recording>>,
    pub(crate) clock: Arc<FakeClock>,
    ids: Arc<FakeIds>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) known: Arc<KnownFiles>,
    large: Arc<LargeText>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) instructions: Arc<KnownInstructions>,
    formatters: Arc<Learned>,
    pub(crate) cancel: CancellationToken,
    pub(crate) facts: Facts,
    pub(crate) config: Config,
    agent: &'static str,
    rules: Vec<Rule>,
    tools: Vec<Arc<dyn AnyTool>>,
}

impl Bench {
    /// As configured.
    pub(crate) fn formatting(mut self, formatters: Formatters) -> Self {
        self.config.formatters = formatters;
        self
    }

    pub(crate) fn new() -> Self {
        let disk = Arc::new(MemoryDisk::new());
        let kept = MemoryGrants::new();
        disk.put_folder(&path("/w"));
        let overlay = Arc::new(Overlay::new());
        let editor = Arc::new(BenchEditor::new(&overlay, &disk));
        let facts = Facts {
            folder: path("/w"),
            roots: vec![path("/w")],
            worktree: path("/w"),
            ambiguous: Vec::new(),
            platform: "linux",
            temp: path("/tmp/copydesk"),
            spill: path("/data/tool-output"),
            max_lines: 2000,
            max_bytes: 51_200,
            command_timeout: 120_000,
            year: "2026".to_owned(),
        };
        let shell = Arc::new(BenchShell::over(disk.clone()));
        let snapshots = MemorySnapshots::new(disk.clone());
        let client = FakeClient::new();
        let notices = Notices { session: SessionId::new("ses_1"), client: client.clone() };
        Self {
            files: DiskFiles::new(disk.clone()),
            jobs: Arc::new(Jobs::new(shell.clone(), Arc::new(FakeClock::default()), notices, 0)),
            shell,
            disk,
            http: FakeHttp::new(),
            changes: MemoryChanges::new(),
            snapshots,
            recording: OnceLock::new(),
            clock: Arc::default(),
            skills: Arc::default(),
            overlay,
            editor,
            client,
            diagnostics: Arc::default(),
            todos: Arc::default(),
            agents: Arc::default(),
            grants: Arc::new(Grants::new(kept.clone(), path("/w"), Mode::default())),
            kept,
            ids: Arc::default(),
            seen: Arc::default(),
            known: Arc::default(),
            large: Arc::default(),
            instructions: Arc::default(),
            formatters: Arc::default(),
            cancel: CancellationToken::new(),
            facts,
            config: Config { key_variables: vec!["OPENAI_API_KEY".to_owned()], ..Config::default() },
            agent: "build",
            rules: Vec::new(),
            tools: Vec::new(),
        }
    }

    /// Edits need no question: a rule of the user's allows them.
    pub(crate) fn trusting() -> Self {
        Self::new().rule("edit", "*", Verdict::Allow)
    }

    pub(crate) fn rule(mut self, permission: &str, pattern: &str, verdict: Verdict) -> Self {
        let origin = Origin::Config { file: path("/home/user/.config/copydesk/copydesk.jsonc"), line: Some(3) };
        self.rules.push(Rule { permission: permission.to_owned(), pattern: pattern.to_owned(), verdict, origin });
        self
    }

    pub(crate) fn guarded(mut self, rules: Vec<Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    pub(crate) fn agent(mut self, agent: &'static str) -> Self {
        self.agent = agent;
        self
    }

    pub(crate) fn tool(mut self, tool: Arc<dyn AnyTool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// A session of another window, or of another daemon, with the same kept grants.
    pub(crate) fn of_another_window(mut self, first: &Self) -> Self {
        self.kept = Arc::clone(&first.kept);
        self.grants = Arc::new(Grants::new(self.kept.clone(), path("/w"), Mode::default()));
        self
    }

    /// A session of another project.
    pub(crate) fn of_project(mut self, root: &str) -> Self {
        self.grants = Arc::new(Grants::new(self.kept.clone(), path(root), Mode::default()));
        self
    }

    pub(crate) fn put(&self, file: &str, bytes: impl Into<Vec<u8>>) -> &Self {
        self.disk.put(&path(file), bytes);
        self
    }

    pub(crate) fn bytes(&self, file: &str) -> Vec<u8> {
        self.disk.read(&path(file)).unwrap()
    }

    pub(crate) fn text(&self, file: &str) -> String {
        String::from_utf8(self.bytes(file)).unwrap()
    }

    /// Opens the file with a text that may differ from the disk's; answers its URI.
    pub(crate) fn open(&self, file: &str, version: i32, text: &str) -> String {
        let document = self.document(file, version, text);
        let uri = document.uri.clone();
        self.overlay.open(document);
        uri
    }

    pub(crate) fn document(&self, file: &str, version: i32, text: &str) -> Document {
        let real = self.disk.real_path(&path(file)).unwrap();
        let saved = self.disk.read(&real).map_or(ContentHash::of(b"\0"), |bytes| ContentHash::of(&bytes));
        Document {
            uri: uri_from_path(&path(file)),
            key: DocKey::from_real_path(real),
            path: path(file),
            language: "text".to_owned(),
            version,
            text: Rope::from(text),
            saved,
        }
    }

    pub(crate) fn buffer(&self, file: &str) -> String {
        self.overlay.by_uri(&uri_from_path(&path(file))).unwrap().text.to_string()
    }

    fn recording(&self) -> Arc<Recording> {
        let session = SessionId::new("ses_1");
        let clock = self.clock.clone();
        Arc::clone(
            self.recording.get_or_init(|| Recording::new(session, self.changes.clone(), clock, self.client.clone())),
        )
    }

    pub(crate) fn view(&self) -> View {
        View::new(self.files.clone(), self.editor.clone(), self.overlay.clone(), SessionId::new("ses_1"))
    }

    pub(crate) fn runner(&self) -> Runner {
        let mut rules = base_rules(Some(&self.facts));
        rules.extend(agent_rules(self.agent, Some(&self.facts)));
        rules.extend(self.rules.clone());
        let agent = Agent {
            name: self.agent.to_owned(),
            description: String::new(),
            mode: AgentMode::Primary,
            hidden: false,
            prompt: None,
            model: None,
            temperature: None,
            top_p: None,
            steps: None,
            rules,
            tools: BTreeMap::new(),
        };
        let registry = Registry::builtin().with(self.tools.clone());
        // All of them, as no single model is offered; tests of single tools want each.
        let offered = registry.all().visible(&agent.rules);
        let (model, _) = FakeModel::new();
        Runner::new(RunnerDeps {
            session: SessionId::new("ses_1"),
            registry: Arc::new(registry),
            offered,
            facts: Arc::new(self.facts.clone()),
            connection: Connection {
                client: self.client.clone(),
                editor: self.editor.clone(),
                diagnostics: self.diagnostics.clone(),
                overlay: self.overlay.clone(),
            },
            ports: Ports {
                files: self.files.clone(),
                search: Arc::new(FakeSearch::new(self.disk.clone())),
                shell: self.shell.clone(),
                store: MemoryStore::new(),
                model,
                environment: FakeEnvironment::new([]),
                secrets: Arc::new(FakeSecrets(BTreeMap::new())),
                trust: MemoryTrust::new(),
                grants: self.kept.clone(),
                http: self.http.clone(),
                snapshots: self.snapshots.clone(),
                version_control: MemoryVersionControl::new(),
                changes: self.changes.clone(),
                clock: self.clock.clone(),
                ids: self.ids.clone(),
            },
            config: Arc::new(self.config.clone()),
            agent: Arc::new(agent),
            grants: self.grants.clone(),
            seen: self.seen.clone(),
            known: self.known.clone(),
            jobs: self.jobs.clone(),
            repeats: Arc::default(),
            large: self.large.clone(),
            instructions: self.instructions.clone(),
            skills: self.skills.clone(),
            formatters: self.formatters.clone(),
            recording: self.recording(),
            turn: MessageId::new("msg_1"),
            todos: self.todos.clone(),
            agents: self.agents.clone(),
            cancel: self.cancel.clone(),
        })
    }

    /// One call in a turn of its own.
    pub(crate) async fn call(&self, name: &str, input: Value) -> CallOutcome {
        self.runner().run(call("call_1", name, &input.to_string())).await
    }

    /// The text of a call that must come to its result.
    pub(crate) async fn done(&self, name: &str, input: Value) -> String {
        let outcome = self.call(name, input).await;
        assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
        outcome.result.text
    }

    /// The text of a call that must fail.
    pub(crate) async fn failed(&self, name: &str, input: Value) -> String {
        let outcome = self.call(name, input).await;
        assert_eq!(outcome.result.status, ToolStatus::Failed, "{}", outcome.result.text);
        outcome.result.text
    }
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Call {
    Call { id: CallId::new(id), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
