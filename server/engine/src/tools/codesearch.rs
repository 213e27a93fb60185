//! `codesearch`: asks Exa for pieces of public code. Off unless the user switches it on.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::described;
use super::services::{self, Query};
use crate::ports::Preview;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

const LIMIT: Duration = Duration::from_secs(30);
const DEFAULT_TOKENS: u64 = 5000;
const LEAST_TOKENS: u64 = 1000;
const MOST_TOKENS: u64 = 50_000;

pub(super) struct CodeSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    /// What is searched: the library or interface, and what of it.
    query: String,
    /// How much is wanted, in tokens: 1000 to 50000, 5000 if not set.
    #[schemars(range(min = LEAST_TOKENS, max = MOST_TOKENS))]
    tokens_num: Option<u64>,
}

impl Tool for CodeSearch {
    type Input = Input;
    type Prepared = Query;

    const NAME: &'static str = "codesearch";
    const KIND: ToolKind = ToolKind::Search;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("codesearch.txt"), facts)
            .replace("{usual}", &DEFAULT_TOKENS.to_string())
            .replace("{least}", &LEAST_TOKENS.to_string())
            .replace("{limit}", &MOST_TOKENS.to_string())
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        services::title("Search public code", partial)
    }

    fn access(&self, input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        services::access(Self::NAME, &input.query)
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Query>, ToolError> {
        let words = input.query.trim().to_owned();
        let tokens = input.tokens_num.unwrap_or(DEFAULT_TOKENS).clamp(LEAST_TOKENS, MOST_TOKENS);
        let arguments = json!({"query": words, "tokensNum": tokens});
        let value =
            Query { words, results: 0, exa_tool: "get_code_context_exa", exa_arguments: arguments, limit: LIMIT };
        let preview = Preview::Access(services::shown(&value, ctx)?);
        Ok(Prepared { value, preview })
    }

    async fn commit(&self, query: Query, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        services::search(query, ctx).await
    }
}
