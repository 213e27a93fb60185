//! What the guards of files watch over, as rules: files that usually hold secrets, and what Copydesk keeps for itself. A table; nothing is looked up.

use copydesk_workspace::path::AbsPath;

use super::guard::Guard;
use super::{Rule, Ruleset, Verdict};

/// Files that usually hold secrets, in lower case; names are held against them without regard to capitals. Keys and key stores, files in which programs
/// keep passwords and tokens, and what is loaded into environments.
const SECRETS: [&str; 40] = [
    "*.env",
    "*.env.*",
    "*.envrc",
    "*id_rsa",
    "*id_dsa",
    "*id_ecdsa",
    "*id_ecdsa_sk",
    "*id_ed25519",
    "*id_ed25519_sk",
    "*.pem",
    "*.key",
    "*.ppk",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.netrc",
    "*_netrc",
    "*.npmrc",
    "*.yarnrc.yml",
    "*.pypirc",
    "*.pgpass",
    "*.my.cnf",
    "*.htpasswd",
    "*.git-credentials",
    "credentials",
    "*/credentials",
    "*credentials.json",
    "*credentials.toml",
    "*.cargo/credentials",
    "*.docker/config.json",
    "*.kube/config",
    "*.config/gh/hosts.yml",
    "*.gnupg/*",
    "*.vault-token",
    "*/opencode/auth.json",
    "*/.codex/auth.json",
    "*/.claude/.credentials.json",
    "*.terraformrc",
];

/// Examples that are made to be shown.
const SHOWN: [&str; 3] = ["*.env.example", "*.env.sample", "*.env.template"];

/// The last of them that matches holds, as among all rules.
pub(super) fn secrets() -> Ruleset {
    let rule = |pattern: &str, verdict| Guard::Secrets.rule("read", pattern, verdict);
    let asked = SECRETS.iter().map(|pattern| rule(pattern, Verdict::Ask));
    asked.chain(SHOWN.iter().map(|pattern| rule(pattern, Verdict::Allow))).collect()
}

/// The daemon's own folder, without the outputs and plans that are made to be read; and what processes hold in memory, the keys of providers among it.
/// `data` is that folder, where it is known.
pub(super) fn own_files(data: Option<&AbsPath>) -> Ruleset {
    let mut rules: Ruleset =
        ["/proc/*/environ", "/proc/*/mem"].map(|pattern| closed("read", pattern.to_owned())).into();
    if let Some(data) = data {
        rules.extend(["read", "edit"].map(|permission| closed(permission, format!("{data}/*"))));
        rules.push(Guard::OwnFiles.rule("read", format!("{data}/tool-output/*"), Verdict::Allow));
        rules.extend(
            ["read", "edit"]
                .map(|permission| Guard::OwnFiles.rule(permission, format!("{data}/plans/*.md"), Verdict::Allow)),
        );
    }
    rules
}

/// Edits of the user's own configuration: what these patterns match.
pub fn own_configuration(patterns: impl IntoIterator<Item = String>) -> Ruleset {
    patterns.into_iter().map(|pattern| Guard::OwnFiles.rule("edit", pattern, Verdict::Ask)).collect()
}

fn closed(permission: &str, pattern: String) -> Rule {
    Guard::OwnFiles.rule(permission, pattern, Verdict::Deny)
}
