//! The key `lsp`: language servers of the daemon's own, as written.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::ports::{LanguageServer, LanguageServers};

/// `true` or `false` for all, or servers by name.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
pub(in crate::config) enum RawLsp {
    Switch(bool),
    Servers(BTreeMap<String, RawLanguageServer>),
}

impl<'de> Deserialize<'de> for RawLsp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SwitchOrServers;
        impl<'de> Visitor<'de> for SwitchOrServers {
            type Value = RawLsp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or an object of servers by name")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<RawLsp, E> {
                Ok(RawLsp::Switch(value))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawLsp, A::Error> {
                BTreeMap::deserialize(de::value::MapAccessDeserializer::new(map)).map(RawLsp::Servers)
            }
        }
        deserializer.deserialize_any(SwitchOrServers)
    }
}

impl Default for RawLsp {
    fn default() -> Self {
        Self::Switch(true)
    }
}

impl From<RawLsp> for LanguageServers {
    fn from(raw: RawLsp) -> Self {
        match raw {
            RawLsp::Switch(true) => Self::default(),
            RawLsp::Switch(false) => Self::Off,
            RawLsp::Servers(servers) => {
                Self::On(servers.into_iter().map(|(name, server)| (name, server.into())).collect())
            }
        }
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
