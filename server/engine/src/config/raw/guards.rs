//! The guards that a configuration switches off, as written.

use schemars::JsonSchema;

use crate::permission::{Guard, Guards};

/// `off` lifts a guard, for everything that it watches over.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object of `on` or `off` by the names of guards")]
#[schemars(rename = "Guards")]
pub(in crate::config) struct RawGuards {
    /// The agent `plan` edits no file but plans, and is asked for every command that is not known to change nothing.
    plan: Option<Switch>,
    /// Commands that discard work (`git reset --hard`, `git clean` …) are asked.
    discard: Option<Switch>,
    /// Files that usually hold secrets are asked before they are read, unless a rule names them.
    secrets: Option<Switch>,
    /// What Copydesk keeps for itself (keys, sessions, grants) is closed; edits of your own configuration are asked.
    own_files: Option<Switch>,
    /// Configuration of a project waits until you trust it.
    trust: Option<Switch>,
}

#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Switch")]
enum Switch {
    On,
    Off,
}

impl From<&RawGuards> for Guards {
    fn from(raw: &RawGuards) -> Self {
        let RawGuards { plan, discard, secrets, own_files, trust } = *raw;
        let switches = [
            (Guard::Plan, plan),
            (Guard::Discard, discard),
            (Guard::Secrets, secrets),
            (Guard::OwnFiles, own_files),
            (Guard::Trust, trust),
        ];
        Guards::without(switches.into_iter().filter(|(_, switch)| *switch == Some(Switch::Off)).map(|(guard, _)| guard))
    }
}
