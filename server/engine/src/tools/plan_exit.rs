//! `plan_exit`: asks the user whether the plan is to be carried out, and goes on as `build`. Only the agent `plan` has it, by the rules.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::described;
use crate::agent::BUILD;
use crate::inquiry::{Choice, Question};
use crate::ports::Preview;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

pub(super) struct PlanExit;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {}

impl Tool for PlanExit {
    type Input = Input;
    type Prepared = ();

    const NAME: &'static str = "plan_exit";
    const KIND: ToolKind = ToolKind::SwitchMode;
    // What comes behind it in the same step was meant for the other agent.
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("plan_exit.txt"), facts)
    }

    fn title(&self, _partial: &Value, _facts: &Facts) -> String {
        "Leave plan mode".to_owned()
    }

    fn access(&self, _input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    async fn prepare(&self, _input: &Input, _ctx: &ToolContext) -> Result<Prepared<()>, ToolError> {
        Ok(Prepared { value: (), preview: Preview::Nothing })
    }

    async fn commit(&self, (): (), ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let plan = ctx.agents.plan_file();
        let text = format!("The plan ({plan}) is complete. Switch to the agent `{BUILD}` and carry it out?");
        let stay = "Stay in plan mode: the turn ends, and you can say what to change";
        agree(ctx, text, "Build Agent", ["Start with the plan now", stay]).await?;
        ctx.agents.switch(BUILD).await?;
        Ok(ToolOutput {
            text: format!(
                "The user approved the plan. You are the agent `{BUILD}` from now on and may edit files and run commands. Carry out the plan ({plan})."
            ),
            ..ToolOutput::default()
        })
    }
}

/// Anything but a yes is none, and ends the turn.
pub(super) async fn agree(
    ctx: &ToolContext,
    text: String,
    header: &str,
    [yes, no]: [&str; 2],
) -> Result<(), ToolError> {
    let choice =
        |label: &str, description: &str| Choice { label: label.to_owned(), description: description.to_owned() };
    let choices = vec![choice("Yes", yes), choice("No", no)];
    let question = Question { text, header: header.to_owned(), choices, multiple: false, free: false };
    let answers = ctx.user.ask(vec![question]).await?;
    if answers.first().is_some_and(|answer| *answer == ["Yes"]) {
        return Ok(());
    }
    Err(ToolError::Rejected("The user said no. The agent stays as it is.".to_owned()))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
