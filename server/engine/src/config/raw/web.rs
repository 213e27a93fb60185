//! The keys `web` and `websearch`, as written.

use schemars::JsonSchema;

/// What may be fetched from the web. Taken from your own files alone.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Web")]
pub(in crate::config) struct RawWeb {
    /// Hosts that may be fetched from though they lie in your own network or on this machine: `wiki.corp`, `*.corp`, `localhost:3000`, `10.0.0.7`.
    pub(in crate::config) private_hosts: Vec<String>,
}

/// The service that searches the web; without one there are no searches. Taken from your own files alone.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "WebSearch")]
pub(in crate::config) struct RawWebSearch {
    /// If not set, `searxng` where there is a `url`.
    pub(in crate::config) provider: Option<RawSearchProvider>,
    /// The address of your SearXNG instance; of another service in place of its own.
    pub(in crate::config) url: Option<String>,
}

/// `exa` and `parallel` work without a key, within their limits; their keys are `EXA_API_KEY` and `PARALLEL_API_KEY`.
#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SearchProvider")]
pub(in crate::config) enum RawSearchProvider {
    Exa,
    Parallel,
    Searxng,
}
