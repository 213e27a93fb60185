//! `todowrite`: replaces the session's list of things to do.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::described;
use crate::message::Todo;
use crate::ports::Preview;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

pub(super) struct TodoWrite;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// The whole list as it is to be from now on.
    todos: Vec<Item>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Item {
    /// What is to be done, in one line.
    content: String,
    /// pending, in_progress, completed or cancelled.
    status: String,
    /// high, medium or low.
    priority: String,
}

impl Tool for TodoWrite {
    type Input = Input;
    type Prepared = Vec<Todo>;

    const NAME: &'static str = "todowrite";
    const KIND: ToolKind = ToolKind::Think;
    const GATE: Gate = Gate::Exclusive;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("todowrite.txt"), facts)
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        let todos = partial.get("todos").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_open = |todo: &&Value| todo.get("status").and_then(Value::as_str) != Some("completed");
        format!("{} todos", todos.iter().filter(is_open).count())
    }

    fn access(&self, _input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Session { permission: Self::NAME }])
    }

    async fn prepare(&self, input: &Input, _ctx: &ToolContext) -> Result<Prepared<Vec<Todo>>, ToolError> {
        let todo = |item: &Item| Todo {
            content: item.content.clone(),
            status: item.status.clone(),
            priority: item.priority.clone(),
        };
        Ok(Prepared { value: input.todos.iter().map(todo).collect(), preview: Preview::Nothing })
    }

    async fn commit(&self, todos: Vec<Todo>, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let text = shown(&todos)?;
        let metadata = json!({"todos": todos});
        ctx.todos.replace(todos).await?;
        Ok(ToolOutput { text, metadata, ..ToolOutput::default() })
    }
}

pub(super) fn shown(todos: &[Todo]) -> Result<String, ToolError> {
    serde_json::to_string_pretty(todos).map_err(|error| ToolError::Tell(error.to_string()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use serde_json::json;

    use crate::message::Todo;
    use crate::workbench::Bench;

    #[tokio::test]
    async fn replaces_the_whole_list() {
        let bench = Bench::new();
        let item = |content: &str, status: &str| json!({"content": content, "status": status, "priority": "high"});
        bench.call("todowrite", json!({"todos": [item("old", "pending")]})).await;
        let todos = json!([item("a", "completed"), item("b", "in_progress")]);
        let outcome = bench.call("todowrite", json!({"todos": todos})).await;
        assert_eq!(outcome.result.title, "1 todos");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&outcome.result.text).unwrap(), todos);
        let list = bench.todos.0.lock().unwrap().clone();
        let b = Todo { content: "b".to_owned(), status: "in_progress".to_owned(), priority: "high".to_owned() };
        assert_eq!((list.len(), &list[1]), (2, &b));
        let text = bench.failed("todowrite", json!({"todos": [{"content": "a", "status": "x"}]})).await;
        assert!(text.contains("`priority` is missing in `todos.0`"), "{text}");
    }
}
