//! All ports of one daemon and one client, in memory, around a project folder; and sessions in it without configuration files.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_workspace::disk::MemoryDisk;
use copydesk_workspace::path::AbsPath;

use super::{
    Boundaries, DiskFiles, FakeClient, FakeClock, FakeDiagnostics, FakeEditor, FakeEnvironment, FakeHttp, FakeIds,
    FakeSearch, FakeSecrets, FakeShell, MemoryChanges, MemoryGrants, MemorySnapshots, MemoryStore, MemoryTrust,
    MemoryVersionControl, lock,
};
use crate::agent::{self, Agent, AgentMode};
use crate::config::{Config, ConfiguredModel};
use crate::engine::{Engine, EngineError, History, LoadSession};
use crate::history::Takes;
use crate::ids::SessionId;
use crate::message::ModelRef;
use crate::overlay::Overlay;
use crate::permission::{Origin, Rule, Verdict};
use crate::ports::{Connection, Elsewhere, Model, ModelSettings, Ports, ProviderSettings, WireProtocol};
use crate::registry::Registry;
use crate::session::SessionHandle;

/// The permission that `config` asks for; all else is allowed.
pub const ASKED: &str = "asked";

pub struct World {
    pub disk: Arc<MemoryDisk>,
    pub files: Arc<DiskFiles<MemoryDisk>>,
    pub store: Arc<MemoryStore>,
    pub changes: Arc<MemoryChanges>,
    pub grants: Arc<MemoryGrants>,
    pub client: Arc<FakeClient>,
    pub shell: Arc<FakeShell>,
    pub http: Arc<FakeHttp>,
    pub version_control: Arc<MemoryVersionControl>,
    pub editor: Arc<FakeEditor>,
    pub trust: Arc<MemoryTrust>,
    pub boundaries: Boundaries,
    pub ports: Ports,
    pub connection: Connection,
    kept: Mutex<Vec<Arc<Engine>>>,
}

impl World {
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self::ticking(model, Boundaries::default())
    }

    pub fn ticking(model: Arc<dyn Model>, boundaries: Boundaries) -> Self {
        let store = MemoryStore::ticking(boundaries.clone());
        Self::on(store, FakeIds::default(), model, boundaries)
    }

    /// A daemon that finds a store of another. `ids` go on where those ended.
    pub fn after(store: Arc<MemoryStore>, ids: FakeIds, model: Arc<dyn Model>) -> Self {
        Self::on(store, ids, model, Boundaries::default())
    }

    fn on(store: Arc<MemoryStore>, ids: FakeIds, model: Arc<dyn Model>, boundaries: Boundaries) -> Self {
        let disk = Arc::new(MemoryDisk::new());
        disk.put_folder(&path("/home/user/project/.git"));
        let files = DiskFiles::ticking(Arc::clone(&disk), boundaries.clone());
        let client = FakeClient::ticking(boundaries.clone());
        let shell = FakeShell::ticking(boundaries.clone());
        let editor = Arc::<FakeEditor>::default();
        let trust = MemoryTrust::new();
        let grants = MemoryGrants::new();
        let http = FakeHttp::new();
        let version_control = MemoryVersionControl::new();
        let changes = store.changes();
        let ports = Ports {
            files: files.clone(),
            search: Arc::new(FakeSearch::new(disk.clone())),
            shell: shell.clone(),
            store: store.clone(),
            changes: changes.clone(),
            model,
            environment: FakeEnvironment::new([]),
            secrets: Arc::<FakeSecrets>::default(),
            trust: trust.clone(),
            grants: grants.clone(),
            http: http.clone(),
            snapshots: MemorySnapshots::new(disk.clone()),
            version_control: version_control.clone(),
            clock: Arc::<FakeClock>::default(),
            ids: Arc::new(ids),
        };
        let connection = Connection {
            client: client.clone(),
            editor: editor.clone(),
            diagnostics: Arc::<FakeDiagnostics>::default(),
            overlay: Arc::new(Overlay::new()),
        };
        Self {
            disk,
            files,
            store,
            changes,
            grants,
            client,
            shell,
            http,
            version_control,
            editor,
            trust,
            boundaries,
            ports,
            connection,
            kept: Mutex::default(),
        }
    }

    /// The folder of its sessions.
    pub fn folder(&self) -> AbsPath {
        path("/home/user/project")
    }

    /// A second client of the same daemon.
    pub fn another_client(&self) -> (Arc<FakeClient>, Connection) {
        let client = FakeClient::new();
        (client.clone(), Connection { client, ..self.connection.clone() })
    }

    pub fn engine(&self, registry: Registry) -> Arc<Engine> {
        Engine::with_registry(self.ports.clone(), registry)
    }

    /// Lets the engine, and with it its sessions, live as long as the world.
    pub fn keep(&self, engine: Arc<Engine>) {
        lock(&self.kept).push(engine);
    }

    pub async fn session(&self, engine: &Engine, config: Config) -> Result<SessionHandle, EngineError> {
        let place = engine.place(self.folder(), vec![self.folder()]).await;
        engine.start(place, config, self.connection.clone()).await
    }

    /// Opens a stored session again, without a replay.
    pub async fn load(&self, engine: &Engine, id: &SessionId, config: Config) -> Result<SessionHandle, EngineError> {
        let load = LoadSession { history: History::Known, ..self.load_of(id) };
        let place = engine.place(self.folder(), vec![self.folder()]).await;
        Ok(engine.resume(load, place, config).await?.session)
    }

    /// A load with a replay that takes nothing from anybody.
    pub fn load_of(&self, id: &SessionId) -> LoadSession {
        LoadSession {
            id: id.clone(),
            folder: self.folder(),
            additional: Vec::new(),
            connection: self.connection.clone(),
            history: History::Replayed,
            elsewhere: Elsewhere::Leave,
        }
    }
}

/// Two models, `p/m` in force and `q/n`; the agents `build` and `plan` may do anything but what `ASKED` guards.
pub fn config() -> Config {
    let rule = |permission: &str, verdict| Rule {
        permission: permission.to_owned(),
        pattern: "*".to_owned(),
        verdict,
        origin: Origin::Default,
    };
    let agent = |name: &str| Agent {
        description: format!("The agent {name}"),
        mode: AgentMode::Primary,
        rules: vec![rule("*", Verdict::Allow), rule(ASKED, Verdict::Ask)],
        ..Agent::new(name, None)
    };
    Config {
        model: Some(reference("p", "m")),
        agents: [agent::BUILD, agent::PLAN].map(|name| (name.to_owned(), agent(name))).into(),
        models: vec![model("p", "m"), model("q", "n")],
        ..Config::default()
    }
}

fn model(provider: &str, name: &str) -> ConfiguredModel {
    let settings = ProviderSettings {
        id: provider.to_owned(),
        wire: WireProtocol::ChatCompletions,
        base_url: format!("http://{provider}.example/v1"),
        key: None,
        headers: Default::default(),
        header_timeout: Duration::from_secs(60),
        chunk_timeout: Duration::from_secs(60),
        max_retries: 5,
    };
    ConfiguredModel {
        model: reference(provider, name),
        sent_as: reference(provider, name),
        name: format!("Model {name}"),
        provider: Arc::new(settings),
        settings: ModelSettings { context: Some(1000), ..ModelSettings::default() },
        takes_temperature: true,
        takes: Takes { images: true, documents: false },
        prices: None,
    }
}

fn reference(provider: &str, model: &str) -> ModelRef {
    ModelRef { provider: provider.to_owned(), model: model.to_owned() }
}

fn path(text: &str) -> AbsPath {
    match AbsPath::new(text) {
        Some(path) => path,
        None => panic!("{text} is not absolute"),
    }
}
