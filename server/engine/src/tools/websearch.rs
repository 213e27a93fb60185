//! `websearch`: asks a search service of the user's choice. How services are spoken to stands in `services`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::described;
use super::services::{self, Query};
use crate::ports::Preview;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

const LIMIT: Duration = Duration::from_secs(25);
/// Results that are asked for.
const DEFAULT_RESULTS: u64 = 8;
const MOST_RESULTS: u64 = 20;
/// Characters, for services that are told.
const MOST_CHARACTERS: u64 = 50_000;

pub(super) struct WebSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    /// What is searched, in words.
    query: String,
    /// How many results are wanted: 8 if not set, 20 at most.
    num_results: Option<u64>,
    /// Whether pages are fetched anew (`preferred`) or only where the service has no copy (`fallback`, if not set).
    livecrawl: Option<Livecrawl>,
    /// `auto` (if not set), `fast` or `deep`.
    #[serde(rename = "type")]
    depth: Option<Depth>,
    /// How many characters all results may have together.
    context_max_characters: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Livecrawl {
    Fallback,
    Preferred,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Depth {
    Auto,
    Fast,
    Deep,
}

impl Tool for WebSearch {
    type Input = Input;
    type Prepared = Query;

    const NAME: &'static str = "websearch";
    const KIND: ToolKind = ToolKind::Search;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("websearch.txt"), facts).replace("{usual}", &DEFAULT_RESULTS.to_string())
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        services::title("Search the web", partial)
    }

    fn access(&self, input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        services::access(Self::NAME, &input.query)
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Query>, ToolError> {
        let results = input.num_results.unwrap_or(DEFAULT_RESULTS).clamp(1, MOST_RESULTS);
        let mut arguments = json!({
            "query": input.query.trim(),
            "type": input.depth.unwrap_or(Depth::Auto),
            "numResults": results,
            "livecrawl": input.livecrawl.unwrap_or(Livecrawl::Fallback),
        });
        if let Some(most) = input.context_max_characters {
            arguments["contextMaxCharacters"] = most.clamp(1, MOST_CHARACTERS).into();
        }
        let value = Query {
            words: input.query.trim().to_owned(),
            results: usize::try_from(results).unwrap_or(usize::MAX),
            exa_tool: "web_search_exa",
            exa_arguments: arguments,
            limit: LIMIT,
        };
        let preview = Preview::Access(services::shown(&value, ctx)?);
        Ok(Prepared { value, preview })
    }

    async fn commit(&self, query: Query, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        services::search(query, ctx).await
    }
}

#[cfg(test)]
#[path = "websearch_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
