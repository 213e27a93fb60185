//! Which adapter stands behind which port. Opens nothing: every adapter waits for its first use.

use std::ffi::OsString;
use std::sync::Arc;

use copydesk_adapters::checks::check_command::CheckCommands;
use copydesk_adapters::first_available::FirstAvailable;
use copydesk_adapters::langservers::LanguageServerPool;
use copydesk_adapters::os::disk::OsDisk;
use copydesk_adapters::os::environment::{OsClock, OsEnvironment, OsIds, OsSecrets, Variables};
use copydesk_adapters::os::files::DiskFiles;
use copydesk_adapters::os::git_head::GitHead;
use copydesk_adapters::os::grant_file::GrantFile;
use copydesk_adapters::os::search::OsSearch;
use copydesk_adapters::os::shell::OsShell;
use copydesk_adapters::os::snapshots::OsSnapshots;
use copydesk_adapters::os::trust_file::TrustFile;
use copydesk_adapters::providers::{Http, Providers};
use copydesk_adapters::store::sqlite::SqliteStore;
use copydesk_adapters::web::Web;
use copydesk_engine::engine::Engine;
use copydesk_engine::ports::{Environment, Ports};

use crate::lsp::Services;

/// The word by which this program is started as the supervisor of a command: no user's.
pub const SUPERVISE: &str = "supervise-command";

/// The adapters of one process.
pub struct Adapters {
    pub ports: Ports,
    shell: Arc<OsShell>,
    disk: Arc<OsDisk>,
    checks: Arc<CheckCommands>,
    language_servers: Arc<LanguageServerPool>,
}

impl Adapters {
    pub fn of_process() -> Self {
        let variables = Variables::of_process();
        let environment = Arc::new(OsEnvironment::new(variables.clone()));
        Self::in_environment(variables, environment)
    }

    /// Folders are those of `environment`; children get `variables`.
    pub fn in_environment(variables: Variables, environment: Arc<dyn Environment>) -> Self {
        let folders = environment.folders();
        let disk = Arc::new(OsDisk);
        let shell = Arc::new(OsShell::new(variables.clone(), supervisor()));
        let http = Http::default();
        let store = Arc::new(SqliteStore::new(folders.data.join("copydesk.db")));
        let ports = Ports {
            files: Arc::new(DiskFiles::new(disk.clone())),
            search: Arc::new(OsSearch),
            shell: shell.clone(),
            store: store.clone(),
            changes: store,
            model: Arc::new(Providers::new(http.clone())),
            http: Arc::new(Web::new(http)),
            environment,
            secrets: Arc::new(OsSecrets::new(variables.clone(), &folders.data)),
            trust: Arc::new(TrustFile::in_folder(&folders.data)),
            grants: Arc::new(GrantFile::in_folder(&folders.data)),
            snapshots: Arc::new(OsSnapshots::new(variables.clone(), &folders.data)),
            version_control: Arc::new(GitHead::new(variables.clone())),
            clock: Arc::new(OsClock),
            ids: Arc::new(OsIds::default()),
        };
        let language_servers = Arc::new(LanguageServerPool::new(variables.clone()));
        Self { ports, shell, disk, checks: Arc::new(CheckCommands::new(variables)), language_servers }
    }

    pub fn into_services(self) -> Services {
        Services {
            files: self.ports.files.clone(),
            data: self.ports.environment.folders().data,
            engine: Engine::new(self.ports),
            checks: Arc::new(FirstAvailable(vec![self.language_servers.clone(), self.checks])),
            language_servers: self.language_servers,
            disk: self.disk,
            shell: self.shell,
        }
    }
}

/// This program, as it is: its file may have been replaced since.
fn supervisor() -> Vec<OsString> {
    let itself = if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() };
    itself.map(|program| vec![program.into_os_string(), SUPERVISE.into()]).unwrap_or_default()
}
