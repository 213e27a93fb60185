//! The built program, started clean: its own home, no environment but `PATH`. What it says to its log is kept for the message of a failing test.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// The folders of one user, temporary, removed when the last clone is dropped.
#[derive(Clone)]
pub struct Home {
    root: Arc<TempDir>,
    variables: Vec<(String, String)>,
    /// Runs the program, a copy in the home.
    user: Option<u32>,
    /// Starts the program, where it is not empty.
    launcher: Vec<String>,
}

impl Home {
    #[expect(clippy::new_without_default, reason = "it makes folders")]
    pub fn new() -> Self {
        let home = Self {
            root: Arc::new(tempfile::tempdir().expect("a temporary folder")),
            variables: Vec::new(),
            user: None,
            launcher: Vec::new(),
        };
        for folder in [home.config(), home.data(), home.state(), home.cache(), home.workspace()] {
            std::fs::create_dir_all(folder).expect("a folder of the home");
        }
        home
    }

    /// `$HOME`, without links in it.
    pub fn path(&self) -> PathBuf {
        self.root.path().canonicalize().expect("the home")
    }

    /// `$XDG_CONFIG_HOME`.
    pub fn config(&self) -> PathBuf {
        self.path().join(".config")
    }

    /// `$XDG_DATA_HOME`.
    pub fn data(&self) -> PathBuf {
        self.path().join(".local/share")
    }

    /// `$XDG_STATE_HOME`.
    pub fn state(&self) -> PathBuf {
        self.path().join(".local/state")
    }

    /// `$XDG_CACHE_HOME`.
    pub fn cache(&self) -> PathBuf {
        self.path().join(".cache")
    }

    /// A project to work in; the program starts there.
    pub fn workspace(&self) -> PathBuf {
        self.path().join("project")
    }

    /// Writes a file below the project, with the folders above it.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.workspace().join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder of a file");
        std::fs::write(&file, text).expect("a file of the project");
        file
    }

    /// The user's configuration: one model, at this address.
    pub fn use_model(&self, base_url: &str) {
        self.use_model_with(base_url, json!({}), json!({}));
    }

    /// As [`Self::use_model`], with further options of the provider and further keys at the top. Commands have the network, on which they tell tests that
    /// they run.
    pub fn use_model_with(&self, base_url: &str, options: Value, keys: Value) {
        let mut config = json!({
            "model": "scripted/model",
            "provider": { "scripted": { "options": { "baseURL": base_url, "apiKey": "key" }, "models": { "model": {} } } },
            "sandbox": { "network": true },
        });
        merge(&mut config["provider"]["scripted"]["options"], options);
        merge(&mut config, keys);
        self.configure(&config.to_string());
    }

    /// The text of the user's configuration.
    pub fn configure(&self, text: &str) {
        let folder = self.config().join("copydesk");
        std::fs::create_dir_all(&folder).expect("the folder of the configuration");
        std::fs::write(folder.join("copydesk.jsonc"), text).expect("the configuration");
    }

    /// A further variable of the program's environment.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Where the tests are run by root, the program is run by nobody from now on, who owns the home. To be called when all files are written.
    pub fn give_up_root(&mut self) {
        const NOBODY: u32 = 65_534;
        if std::fs::metadata("/proc/self").expect("this process").uid() != 0 {
            return;
        }
        std::fs::copy(program(), self.path().join("copydesk")).expect("a copy of the program");
        give(&self.path(), NOBODY);
        self.user = Some(NOBODY);
    }

    /// The program is started by this command, to which its path and its arguments are added. It changes to the user by itself.
    pub fn start_by(&mut self, launcher: &[&str]) {
        self.launcher = launcher.iter().map(|word| (*word).to_owned()).collect();
    }

    /// What the program has written to its standard error so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// What lies in the program's folders of data and of caches, and is not among the paths that `docs/privacy.md` names.
    pub fn unnamed(&self) -> Vec<String> {
        let privacy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/privacy.md");
        let privacy = std::fs::read_to_string(privacy).expect("the document");
        let names = |shown: &str| {
            let paths: Vec<&str> = privacy.split('`').filter_map(|quoted| quoted.strip_prefix(shown)).collect();
            move |name: &str| paths.iter().any(|path| !path.is_empty() && name.starts_with(path))
        };
        let (of_data, of_cache) = (names("…/"), names("~/.cache/copydesk/"));
        let mut unnamed = entries(&self.data().join("copydesk"));
        unnamed.retain(|name| !of_data(name));
        unnamed.extend(entries(&self.cache().join("copydesk")).into_iter().filter(|name| !of_cache(name)));
        unnamed
    }

    /// A command of the program in this home, with pipes for input and output; killed when its handle is dropped.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let log = std::fs::File::options().create(true).append(true).open(self.log_file()).expect("the log");
        let program = self.user.map_or_else(program, |_| self.path().join("copydesk"));
        let mut command = match &self.launcher[..] {
            [launcher, words @ ..] => {
                let mut command = Command::new(launcher);
                command.args(words).arg(program);
                command
            }
            [] => Command::new(program),
        };
        if let Some(user) = self.user.filter(|_| self.launcher.is_empty()) {
            command.uid(user);
        }
        command
            .args(arguments)
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("XDG_CONFIG_HOME", self.config())
            .env("XDG_DATA_HOME", self.data())
            .env("XDG_STATE_HOME", self.state())
            .env("XDG_CACHE_HOME", self.cache())
            .env("TMPDIR", std::env::temp_dir())
            .env("COPYDESK_LOG", "debug")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        command
    }

    /// The program with these arguments, without input and with a quiet log, up to its end: exit code, standard output and standard error.
    pub async fn ended(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stderr(Stdio::piped()).env("COPYDESK_LOG", "error");
        let output = tokio::time::timeout(Duration::from_secs(30), command.output()).await.expect("an end in time");
        let Output { status, stdout, stderr } = output.expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (status.code(), text(stdout), text(stderr))
    }

    /// `copydesk serve`.
    pub fn serve(&self) -> Child {
        self.command(&["serve"]).spawn().expect("the program starts")
    }

    fn log_file(&self) -> PathBuf {
        self.path().join("stderr.log")
    }
}

/// Names, those of folders with a `/` behind.
fn entries(folder: &Path) -> Vec<String> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| {
        let end = if entry.path().is_dir() { "/" } else { "" };
        format!("{}{end}", entry.file_name().to_string_lossy())
    };
    found.map(name).collect()
}

fn give(path: &Path, user: u32) {
    std::os::unix::fs::chown(path, Some(user), Some(user)).expect("a file is given away");
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder of the home") {
            give(&entry.expect("a file of the home").path(), user);
        }
    }
}

fn merge(into: &mut Value, keys: Value) {
    if let (Value::Object(into), Value::Object(keys)) = (into, keys) {
        into.extend(keys);
    }
}

/// The program that stands in the same target folder as the running test.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.ancestors().nth(2).expect("the folder of the build");
    let program = folder.join(format!("copydesk{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: run `cargo build -p copydesk` first", program.display());
    program
}
