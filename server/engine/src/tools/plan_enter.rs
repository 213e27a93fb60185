//! `plan_enter`: asks the user whether to plan first, and goes on as `plan`. Off by default.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::described;
use super::plan_exit::agree;
use crate::agent::PLAN;
use crate::ports::Preview;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

pub(super) struct PlanEnter;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {}

impl Tool for PlanEnter {
    type Input = Input;
    type Prepared = ();

    const NAME: &'static str = "plan_enter";
    const KIND: ToolKind = ToolKind::SwitchMode;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("plan_enter.txt"), facts)
    }

    fn title(&self, _partial: &Value, _facts: &Facts) -> String {
        "Enter plan mode".to_owned()
    }

    fn access(&self, _input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    async fn prepare(&self, _input: &Input, _ctx: &ToolContext) -> Result<Prepared<()>, ToolError> {
        Ok(Prepared { value: (), preview: Preview::Nothing })
    }

    async fn commit(&self, (): (), ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let plan = ctx.agents.plan_file();
        let text =
            format!("Plan first? The agent `{PLAN}` reads and writes a plan ({plan}) and changes no other file.");
        let stay = "Stay as it is: the turn ends, and you can say how to go on";
        agree(ctx, text, "Plan Mode", ["Work out a plan before anything is changed", stay]).await?;
        ctx.agents.switch(PLAN).await?;
        Ok(ToolOutput {
            text: format!(
                "The user wants a plan first. You are the agent `{PLAN}` from now on: read and search, change nothing but the plan file ({plan})."
            ),
            ..ToolOutput::default()
        })
    }
}
