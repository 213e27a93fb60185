//! Where programs keep what lets others act as the user: a table of places below the home folder. Files of the workspace are none of its business.

use copydesk_workspace::path::AbsPath;

use crate::ports::Folders;

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
