//! The key `sandbox`, as written.

use schemars::JsonSchema;

/// The sandbox of commands.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Sandbox")]
pub(in crate::config) struct RawSandbox {
    /// `true` if not set.
    pub(in crate::config) enabled: Option<bool>,
    /// Folders and files that commands may change, besides the workspace and their temporary folder: absolute, below `~/`, or relative to the workspace.
    pub(in crate::config) writable: Vec<String>,
    /// Of the places of secrets that commands cannot read, those that they can: e.g. `~/.npmrc`.
    pub(in crate::config) readable: Vec<String>,
    /// Further places that commands cannot read.
    pub(in crate::config) unreadable: Vec<String>,
    /// Whether every command may use the network; `false` if not set.
    pub(in crate::config) network: Option<bool>,
    /// Environment variables that commands get besides the usual ones, in the sandbox and outside of it. `*` at the end of a name stands for any rest.
    pub(in crate::config) environment: Vec<String>,
}
