//! Rules in opencode's forms, and how they are evaluated: the last that matches wins (`allow` beats nothing, an explicit deny beats a grant).

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Itself a wildcard: `edit`, `mymcp_*`, `*`.
    pub permission: String,
    pub pattern: String,
    pub verdict: Verdict,
    /// Where it stands, for the user: `default`, `agent plan`, `~/.config/copydesk/copydesk.jsonc`, `session`.
    pub origin: String,
}

/// In order: later rules win.
pub type Ruleset = Vec<Rule>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// `None`: no rule matched, which asks.
    pub rule: Option<Rule>,
}

/// `*` is any run of characters, also of `/` and line breaks; `?` is one; a ` *` at the end is optional; `\` is `/`; all else is literal, the whole value is matched.
pub fn wildcard_match(value: &str, pattern: &str) -> bool {
    let _ = (value, pattern);
    todo!()
}

/// Of several patterns the strictest verdict. `grants` come after `rules`, but never lift a deny.
pub fn decide(permission: &str, patterns: &[String], rules: &[Rule], grants: &[Rule]) -> Decision {
    let _ = (permission, patterns, rules, grants);
    todo!()
}

/// Whether the model is not even shown the tool: the last rule for its permission denies `*`. `tool` is the tool's name.
pub fn is_hidden(tool: &str, rules: &[Rule]) -> bool {
    let _ = (tool, rules);
    todo!()
}
