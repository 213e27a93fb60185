//! Tools that do nothing but what a test needs to see: one that answers, one that waits, one that fails, one that asks, one that panics.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::Boundaries;
use crate::ports::{BoxFuture, Preview};
use crate::tool::{Access, AnyTool, CommitError, Facts, Gate, Prepared, ToolContext, ToolError, ToolKind, ToolOutput};

/// What the toy does in `commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toy {
    /// Answers with its arguments.
    Echo,
    /// Waits for the end of the turn.
    Hang,
    /// Ignores the end of the turn, in a call that is given time to end what it has begun.
    Deaf,
    Tell,
    Fatal,
    Panic,
}

pub struct ToyTool {
    name: &'static str,
    toy: Toy,
    /// The permission that it asks for.
    permission: &'static str,
    boundaries: Boundaries,
    started: AtomicUsize,
}

impl ToyTool {
    pub fn new(name: &'static str, toy: Toy, permission: &'static str, boundaries: Boundaries) -> Arc<Self> {
        Arc::new(Self { name, toy, permission, boundaries, started: AtomicUsize::new(0) })
    }

    /// Commits that were started.
    pub fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }
}

impl AnyTool for ToyTool {
    fn name(&self) -> &str {
        self.name
    }

    fn kind(&self, _partial: &Value) -> ToolKind {
        ToolKind::Other
    }

    fn gate(&self) -> Gate {
        if self.toy == Toy::Deaf { Gate::Exclusive } else { Gate::Parallel }
    }

    fn description(&self, _facts: &Facts) -> String {
        "A toy.".to_owned()
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {"text": {"type": "string"}}})
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        match partial.get("text").and_then(Value::as_str) {
            Some(text) => format!("{} {text}", self.name),
            None => self.name.to_owned(),
        }
    }

    fn decode(&self, input: Value) -> Result<Box<dyn Any + Send + Sync>, ToolError> {
        if input.is_object() {
            Ok(Box::new(input))
        } else {
            Err(ToolError::Tell("the arguments must be an object".to_owned()))
        }
    }

    fn access(&self, _input: &(dyn Any + Send + Sync), _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Session { permission: self.permission }])
    }

    fn prepare<'a>(
        &'a self,
        input: &'a (dyn Any + Send + Sync),
        _ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Prepared<Box<dyn Any + Send>>, ToolError>> {
        let value = input.downcast_ref::<Value>().cloned().unwrap_or_default();
        Box::pin(
            async move { Ok(Prepared { value: Box::new(value) as Box<dyn Any + Send>, preview: Preview::Nothing }) },
        )
    }

    fn commit<'a>(
        &'a self,
        prepared: Box<dyn Any + Send>,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CommitError>> {
        Box::pin(async move {
            self.started.fetch_add(1, Ordering::SeqCst);
            self.boundaries.tick();
            let value = prepared.downcast::<Value>().map(|value| *value).unwrap_or_default();
            match self.toy {
                Toy::Echo => Ok(ToolOutput { text: value.to_string(), ..ToolOutput::default() }),
                Toy::Hang => {
                    ctx.cancel.cancelled().await;
                    Err(ToolError::Cancelled.into())
                }
                Toy::Deaf => std::future::pending().await,
                Toy::Tell => Err(ToolError::Tell("the toy is broken; take another".to_owned()).into()),
                Toy::Fatal => Err(ToolError::Fatal("the toy has burnt down".to_owned()).into()),
                Toy::Panic => panic!("the toy panicked, as it was asked to"),
            }
        })
    }
}
