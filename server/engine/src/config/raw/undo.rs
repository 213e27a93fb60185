//! The key `undo`, as written.

use schemars::JsonSchema;

use super::Whole;

/// What is kept so that changes of the agent can be taken back. Taken from your own files alone.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Undo")]
pub(in crate::config) struct RawUndo {
    /// Bytes for the contents of changed files, over all sessions; 536870912 if not set. The oldest turns go first.
    pub(in crate::config) max_bytes: Option<Whole<1>>,
}
