//! `batch`: several calls in one. The calls in it are made beside it, each a call of its own: announced, judged, asked, counted, run and stored as if the
//! model had made it by itself (`run/reply.rs`). Here stands what they are, and what the model is told of them. Off by default.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::described;
use crate::ports::Preview;
use crate::runner::arguments;
use crate::tool::{
    Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput, erase,
};

pub(crate) const BATCH: &str = "batch";

/// opencode's.
const MOST: usize = 25;

pub(super) struct Batch;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// The calls, in the order in which they count; at most 25.
    #[schemars(length(min = 1))]
    tool_calls: Vec<Inner>,
}

/// A call in a batch.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(crate) struct Inner {
    /// The name of the tool.
    pub(crate) tool: String,
    /// Its arguments.
    pub(crate) parameters: Map<String, Value>,
}

/// Those that are made; none where the arguments are no batch. No batch is in it. The arguments are taken as the call of the batch takes them, which says
/// what was made.
pub(crate) fn inner_calls(arguments: &str) -> Vec<Inner> {
    let decoded = arguments::parse(arguments).ok().and_then(|input| erase(Batch).decode(input).ok());
    let Some(Ok(input)) = decoded.map(|input| input.downcast::<Input>()) else { return Vec::new() };
    input.tool_calls.into_iter().take(MOST).filter(|inner| !is_batch(inner)).collect()
}

fn is_batch(inner: &Inner) -> bool {
    inner.tool.eq_ignore_ascii_case(BATCH)
}

impl Tool for Batch {
    type Input = Input;
    type Prepared = String;

    const NAME: &'static str = BATCH;
    const KIND: ToolKind = ToolKind::Other;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("batch.txt"), facts).replace("{limit}", &MOST.to_string())
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        let calls = partial.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len);
        format!("{calls} call{} at once", if calls == 1 { "" } else { "s" })
    }

    fn access(&self, _input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    async fn prepare(&self, input: &Input, _ctx: &ToolContext) -> Result<Prepared<String>, ToolError> {
        let made = input.tool_calls.iter().take(MOST).filter(|inner| !is_batch(inner)).count();
        let mut text = match made {
            0 => String::new(),
            1 => "1 call was made as a call of its own: its result stands beside this one.".to_owned(),
            _ => format!("{made} calls were made as calls of their own: their results stand beside this one."),
        };
        if input.tool_calls.iter().take(MOST).any(is_batch) {
            text.push_str(" A batch in a batch is not run: put its calls into this one.");
        }
        if let Some(left) = input.tool_calls.len().checked_sub(MOST).filter(|left| *left > 0) {
            text.push_str(&format!(" The last {left} were not run: a batch takes {MOST}. Call them in another one."));
        }
        if made == 0 {
            return Err(ToolError::Tell(text.trim_start().to_owned()));
        }
        Ok(Prepared { value: text, preview: Preview::Nothing })
    }

    async fn commit(&self, text: String, _ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        Ok(ToolOutput { text, ..ToolOutput::default() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workbench::Bench;

    fn tools(names: &[&str]) -> Value {
        let calls: Vec<Value> = names.iter().map(|name| json!({"tool": name, "parameters": {"a": 1}})).collect();
        json!({ "tool_calls": calls })
    }

    #[test]
    fn the_calls_in_it_are_those_that_are_no_batch_and_at_most_25() {
        let names =
            |input: Value| inner_calls(&input.to_string()).into_iter().map(|inner| inner.tool).collect::<Vec<_>>();
        assert_eq!(names(tools(&["read", "batch", "Batch", "grep"])), ["read", "grep"]);
        assert_eq!(names(tools(&["read"; 30])).len(), 25);
        for none in ["", "{", "{}", "[]", r#"{"tool_calls": []}"#, r#"{"tool_calls": [{"tool": "read"}]}"#] {
            assert_eq!(inner_calls(none), [], "{none}");
        }
    }

    #[tokio::test]
    async fn the_model_is_told_what_is_run_and_what_is_not() {
        let bench = Bench::new();
        let text = bench.done("batch", tools(&["read", "grep"])).await;
        assert_eq!(text, "2 calls were made as calls of their own: their results stand beside this one.");
        let text = bench.done("batch", tools(&["read", "batch"])).await;
        assert!(text.starts_with("1 call was made") && text.contains("A batch in a batch is not run"), "{text}");
        let text = bench.done("batch", tools(&["read"; 27])).await;
        assert!(text.starts_with("25 calls") && text.contains("The last 2 were not run"), "{text}");
        let text = bench.failed("batch", tools(&["batch"])).await;
        assert!(text.starts_with("A batch in a batch is not run"), "{text}");
        bench.failed("batch", json!({"tool_calls": []})).await;
    }
}
