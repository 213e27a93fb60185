//! `todoread`: the session's list of things to do, as it stands. Off by default, since `todowrite` answers with the whole list.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{described, todowrite};
use crate::ports::Preview;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

pub(super) struct TodoRead;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {}

impl Tool for TodoRead {
    type Input = Input;
    type Prepared = ();

    const NAME: &'static str = "todoread";
    const KIND: ToolKind = ToolKind::Think;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("todoread.txt"), facts)
    }

    fn title(&self, _partial: &Value, _facts: &Facts) -> String {
        "Look at the list of things to do".to_owned()
    }

    fn access(&self, _input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Session { permission: Self::NAME }])
    }

    async fn prepare(&self, _input: &Input, _ctx: &ToolContext) -> Result<Prepared<()>, ToolError> {
        Ok(Prepared { value: (), preview: Preview::Nothing })
    }

    async fn commit(&self, (): (), ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let todos = ctx.todos.list();
        let text = todowrite::shown(&todos)?;
        Ok(ToolOutput { text, metadata: json!({ "todos": todos }), ..ToolOutput::default() })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use serde_json::{Value, json};

    use crate::workbench::Bench;

    #[tokio::test]
    async fn reads_what_was_written() {
        let bench = Bench::new();
        assert_eq!(bench.done("todoread", json!({})).await, "[]");
        let todos = json!([{"content": "a", "status": "in_progress", "priority": "low"}]);
        bench.call("todowrite", json!({ "todos": todos })).await;
        let outcome = bench.call("todoread", json!({})).await;
        assert_eq!(serde_json::from_str::<Value>(&outcome.result.text).unwrap(), todos);
        assert_eq!(outcome.result.metadata, json!({ "todos": todos }));
    }
}
