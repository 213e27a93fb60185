//! The key `lsp`: language servers of the daemon's own, as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

use super::switched::{Switchable, Switched};
use crate::ports::{LanguageServer, LanguageServers};

pub(in crate::config) type RawLsp = Switched<RawLanguageServer>;

impl Switchable for RawLanguageServer {
    const PLURAL: &'static str = "servers";
}

impl Default for RawLsp {
    fn default() -> Self {
        Self::Switch(true)
    }
}

impl From<RawLsp> for LanguageServers {
    fn from(raw: RawLsp) -> Self {
        raw.named().map_or(Self::Off, Self::On)
    }
}

/// A language server. What is not set is what is known of the server of that name.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "LanguageServer")]
pub(in crate::config) struct RawLanguageServer {
    disabled: Option<bool>,
    /// The program and its arguments. It speaks LSP on its standard input and output.
    command: Option<Vec<String>>,
    /// Extensions of the files that it looks at.
    extensions: Option<Vec<String>>,
    /// Variables of its environment.
    env: BTreeMap<String, String>,
    /// Its `initializationOptions`.
    initialization: serde_json::Map<String, Value>,
}

impl From<RawLanguageServer> for LanguageServer {
    fn from(raw: RawLanguageServer) -> Self {
        let RawLanguageServer { disabled, command, extensions, env, initialization } = raw;
        Self {
            disabled: disabled.unwrap_or(false),
            command: command.filter(|command| !command.is_empty()),
            extensions,
            env,
            initialization: if initialization.is_empty() { Value::Null } else { Value::Object(initialization) },
        }
    }
}
