//! Takes the types off a tool, so that tools of all kinds stand in one registry.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::Value;

use super::{
    Access, AnyTool, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput, schema,
};
use crate::ports::BoxFuture;

pub fn erase<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    Arc::new(Erased { tool, checks: OnceLock::new() })
}

struct Erased<T> {
    tool: T,
    /// Made at the first call.
    checks: OnceLock<Checks>,
}

struct Checks {
    parameters: Value,
    /// `None` where the schema itself is wrong, which leaves the decoder alone to judge.
    validator: Option<Validator>,
}

impl Checks {
    fn of(parameters: Value) -> Self {
        Self { validator: jsonschema::validator_for(&parameters).ok(), parameters }
    }
}

impl<T: Tool> AnyTool for Erased<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn kind(&self, partial: &Value) -> ToolKind {
        self.tool.kind(partial)
    }

    fn gate(&self) -> Gate {
        T::GATE
    }

    fn description(&self, facts: &Facts) -> String {
        self.tool.description(facts)
    }

    fn parameters(&self) -> Value {
        schema::of::<T::Input>()
    }

    fn title(&self, partial: &Value, facts: &Facts) -> String {
        self.tool.title(partial, facts)
    }

    fn identity(&self, arguments: &Value) -> Option<Value> {
        self.tool.identity(arguments)
    }

    fn decode(&self, input: Value) -> Result<Box<dyn Any + Send + Sync>, ToolError> {
        let checks = self.checks.get_or_init(|| Checks::of(self.parameters()));
        let input = schema::with_whole_numbers(schema::without_nulls(input, &checks.parameters));
        if let Some(validator) = &checks.validator {
            schema::check(T::NAME, validator, &input)?;
        }
        match serde_json::from_value::<T::Input>(input) {
            Ok(input) => Ok(Box::new(input)),
            Err(error) => Err(schema::wrong(T::NAME, &[error.to_string()])),
        }
    }

    fn access(&self, input: &(dyn Any + Send + Sync), facts: &Facts) -> Result<Vec<Access>, ToolError> {
        self.tool.access(typed(input)?, facts)
    }

    fn reaches(&self) -> bool {
        T::REACHES
    }

    fn reach<'a>(
        &'a self,
        input: &'a (dyn Any + Send + Sync),
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Vec<Access>, ToolError>> {
        Box::pin(async move { self.tool.reach(typed(input)?, ctx).await })
    }

    fn prepare<'a>(
        &'a self,
        input: &'a (dyn Any + Send + Sync),
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Prepared<Box<dyn Any + Send>>, ToolError>> {
        Box::pin(async move {
            let Prepared { value, preview } = self.tool.prepare(typed(input)?, ctx).await?;
            Ok(Prepared { value: Box::new(value) as Box<dyn Any + Send>, preview })
        })
    }

    fn commit<'a>(
        &'a self,
        prepared: Box<dyn Any + Send>,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CommitError>> {
        Box::pin(async move {
            let prepared = prepared.downcast::<T::Prepared>().map_err(|_| foreign())?;
            self.tool.commit(*prepared, ctx).await
        })
    }
}

fn typed<T: 'static>(input: &(dyn Any + Send + Sync)) -> Result<&T, ToolError> {
    input.downcast_ref().ok_or_else(foreign)
}

/// Only a fault of the caller's leads here: a value of one tool handed to another.
fn foreign() -> ToolError {
    ToolError::Tell("the call was mixed up with another one inside Copydesk; make it again".to_owned())
}
