//! `invalid`: what a call of a tool that does not exist becomes. Never offered to the model.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

pub(super) struct Invalid;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// The name that was called.
    tool: String,
    /// What is wrong, for the model.
    error: String,
}

impl Tool for Invalid {
    type Input = Input;
    type Prepared = std::convert::Infallible;

    const NAME: &'static str = crate::registry::INVALID;
    const KIND: ToolKind = ToolKind::Other;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, _facts: &Facts) -> String {
        "Not to be called.".to_owned()
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        match partial.get("tool").and_then(Value::as_str) {
            Some(tool) => format!("Unknown tool {tool}"),
            None => "Unknown tool".to_owned(),
        }
    }

    fn access(&self, _input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    async fn prepare(&self, input: &Input, _ctx: &ToolContext) -> Result<Prepared<Self::Prepared>, ToolError> {
        tracing::debug!(tool = input.tool, "the model called an unknown tool");
        Err(ToolError::Tell(input.error.clone()))
    }

    async fn commit(&self, prepared: Self::Prepared, _ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        match prepared {}
    }
}
