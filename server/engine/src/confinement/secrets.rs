//! Where programs keep what lets others act as the user: a table of places below the home folder, and of variables that
//! name others. Files of the workspace are none of its business.

use copydesk_workspace::path::AbsPath;

use crate::ports::{Environment, Folders};

/// Below the home folder.
const HOME: &[&str] = &[
    // Keys and passwords.
    ".ssh",
    ".gnupg",
    ".password-store",
    ".pki",
    ".netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/op",
    "Library/Keychains",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".kube",
    ".boto",
    ".s3cfg",
    ".config/rclone",
    ".config/doctl",
    ".terraform.d/credentials.tfrc.json",
    ".docker/config.json",
    ".config/containers/auth.json",
    // Forges and registries.
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    // Configuration of ours, in which keys may stand, and which says what is guarded.
    ".config/copydesk/copydesk.json",
    ".config/copydesk/copydesk.jsonc",
    ".copydesk/copydesk.json",
    ".copydesk/copydesk.jsonc",
    ".config/opencode/config.json",
    ".config/opencode/opencode.json",
    ".config/opencode/opencode.jsonc",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
    // Other agents.
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/github-copilot",
    ".local/share/opencode/auth.json",
    ".local/share/opencode/mcp-auth.json",
    // Browsers and mail: passwords, cookies.
    ".mozilla",
    ".thunderbird",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    "snap/chromium",
    "snap/firefox",
    ".var/app/com.google.Chrome",
    ".var/app/org.chromium.Chromium",
    ".var/app/org.mozilla.firefox",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Microsoft Edge",
    "Library/Cookies",
    "Library/Safari",
    // What was typed, passwords among it.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".histfile",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
];

/// Variables that name such a place, and where in it the secret lies; nothing: the place itself. Several places are separated by colons, as in `PATH`.
const NAMED: &[(&str, &[&str])] = &[
    // Ours and opencode's, in which keys may stand.
    ("COPYDESK_CONFIG", &[]),
    ("COPYDESK_CONFIG_DIR", &["copydesk.json", "copydesk.jsonc"]),
    ("OPENCODE_CONFIG", &[]),
    ("OPENCODE_CONFIG_DIR", &["opencode.json", "opencode.jsonc"]),
    // Keys and passwords.
    ("GNUPGHOME", &[]),
    ("NETRC", &[]),
    ("PASSWORD_STORE_DIR", &[]),
    ("PGPASSFILE", &[]),
    // Clouds and clusters.
    ("AWS_CONFIG_FILE", &[]),
    ("AWS_SHARED_CREDENTIALS_FILE", &[]),
    ("AZURE_CONFIG_DIR", &[]),
    ("BOTO_CONFIG", &[]),
    ("CLOUDSDK_CONFIG", &[]),
    ("DOCKER_CONFIG", &["config.json"]),
    ("GOOGLE_APPLICATION_CREDENTIALS", &[]),
    ("KUBECONFIG", &[]),
    ("RCLONE_CONFIG", &[]),
    ("REGISTRY_AUTH_FILE", &[]),
    // Forges and registries.
    ("CARGO_HOME", &["credentials", "credentials.toml"]),
    ("GH_CONFIG_DIR", &[]),
    ("GLAB_CONFIG_DIR", &[]),
    ("NPM_CONFIG_USERCONFIG", &[]),
    ("npm_config_userconfig", &[]),
    ("PIP_CONFIG_FILE", &[]),
    // Other agents.
    ("CLAUDE_CONFIG_DIR", &[".credentials.json"]),
    ("CODEX_HOME", &["auth.json"]),
    // What was typed.
    ("HISTFILE", &[]),
];

/// Whether they exist or not. Our own data folder is among them as a whole: keys, sessions, what the user has allowed and trusted, and copies of all that.
pub fn secrets(folders: &Folders) -> Vec<AbsPath> {
    let below = |folder: &AbsPath, names: &[&str]| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
    let mut places = below(&folders.home, HOME);
    places.push(folders.data.clone());
    // Where the folders of the XDG specification were moved.
    let moved = |standard: &str, folder: &AbsPath| {
        let under = HOME.iter().filter_map(|name| name.strip_prefix(standard)).collect::<Vec<_>>();
        below(folder, &under)
    };
    places.extend(moved(".config/", &folders.config));
    places.extend(folders.data.parent().iter().flat_map(|data| moved(".local/share/", data)));
    places
}

/// Where the user's variables have moved them. `folder` is what relative paths belong to. A place that holds the home folder, or a device, is none:
/// without it nothing would run.
pub fn named_secrets(environment: &dyn Environment, folder: &AbsPath) -> Vec<AbsPath> {
    let home = environment.folders().home;
    let places = |(variable, inside): &(&str, &[&str])| {
        let value = environment.var(variable).unwrap_or_default();
        let named = value.split(':').filter(|place| !place.is_empty()).map(|place| folder.join(place));
        let secrets = |place: AbsPath| match inside {
            [] => vec![place],
            names => names.iter().map(|name| place.join(name)).collect(),
        };
        named.flat_map(secrets).collect::<Vec<_>>()
    };
    let is_secret = |place: &AbsPath| !home.starts_with(place) && !place.as_path().starts_with("/dev");
    NAMED.iter().flat_map(places).filter(is_secret).collect()
}
