//! `skill`: hands the model the text of a skill. Runs nothing of it.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::described;
use crate::escape::escaped_line;
use crate::ports::Preview;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

pub(super) struct LoadSkill;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// The name of the skill.
    name: String,
}

impl Tool for LoadSkill {
    type Input = Input;
    type Prepared = ();

    const NAME: &'static str = crate::skills::SKILL;
    const KIND: ToolKind = ToolKind::Read;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("skill.txt"), facts)
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        format!("Load skill {}", partial.get("name").and_then(Value::as_str).unwrap_or_default()).trim_end().to_owned()
    }

    fn access(&self, input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Skill(input.name.trim().to_owned())])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<()>, ToolError> {
        if ctx.skill.exists() {
            return Ok(Prepared { value: (), preview: Preview::Nothing });
        }
        let names = ctx.skill.names();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Err(ToolError::Tell(format!("There is no skill {:?}. Skills: {known}.", input.name.trim())))
    }

    async fn commit(&self, (): (), ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let skill =
            ctx.skill.load().await.map_err(|error| ToolError::Tell(format!("The skill cannot be read: {error}")))?;
        let (name, folder) = (&skill.name, &skill.folder);
        let mut text = format!(
            "<skill_content name=\"{}\">\n# Skill: {name}\n\n{}\n\n",
            escaped_line(&name.replace('"', "&quot;")),
            skill.body
        );
        let _ = writeln!(text, "Base directory for this skill: {folder}");
        let _ = writeln!(text, "Paths in it (such as scripts/ and reference/) are relative to that directory.");
        let _ = writeln!(text, "The list of files may not be whole.\n\n<skill_files>");
        for file in &skill.files {
            let _ = writeln!(text, "<file>{file}</file>");
        }
        text.push_str("</skill_files>\n</skill_content>");
        let metadata = json!({"name": name, "dir": folder});
        Ok(ToolOutput { text, metadata, ..ToolOutput::default() })
    }
}
