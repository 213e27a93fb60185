//! What the model is told before the conversation: who it is, where it is, and what the instruction files say; and the notes that single requests carry.
//! Our own words stand in the Markdown files of `prompt/`. Reads files; keeps nothing.

mod glob;
mod instructions;
mod nested;

use std::fmt::Write;
use std::sync::Arc;

use copydesk_workspace::path::AbsPath;

use crate::agent::{self, Agent};
use crate::message::Entry;
use crate::ports::Ports;
use crate::registry::Offered;
use crate::skills::Skills;
use crate::tool::Facts;

pub use instructions::{InstructionFile, Instructions, read_instructions};
pub use nested::{FolderInstructions, KnownInstructions, NewInstructions};

const COPYDESK: &str = include_str!("prompt/copydesk.md");
const PLAN: &str = include_str!("prompt/plan.md");
const PLAN_EXIT: &str = "When the plan is complete and nothing is open, write it there and call `plan_exit`: the user is asked, and the work begins.";
const BUILD: &str = include_str!("prompt/build.md");

/// Tells the model that the turn ends with this request.
pub const LAST_STEP: &str = include_str!("prompt/last_step.md");

/// What a run tells of its surroundings. Computed once a run, so that the system prompt is the same, byte for byte, in each of its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    environment: String,
    instructions: String,
    skills: Arc<Skills>,
}

impl Surroundings {
    /// `problems` of the instructions are the caller's to tell.
    pub fn new(environment: String, instructions: &Instructions) -> Self {
        let mut text = String::new();
        for file in &instructions.files {
            let _ = write!(text, "\n\nInstructions from: {}\n{}", file.path, file.text.trim_end());
        }
        Self { environment, instructions: text, skills: Arc::default() }
    }

    pub fn with_skills(self, skills: Arc<Skills>) -> Self {
        Self { skills, ..self }
    }

    /// Whether there are any that this agent may load.
    pub fn has_skills(&self, agent: &Agent) -> bool {
        self.skills.allowed(&agent.rules).next().is_some()
    }

    pub fn system(&self, agent: &Agent) -> String {
        let first = agent.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty()).unwrap_or(COPYDESK);
        let skills = self.skills.told(&agent.rules).map(|text| format!("\n\n{text}")).unwrap_or_default();
        format!("{}\n\n{}{}{skills}", first.trim_end(), self.environment, self.instructions)
    }
}

/// The block that names folder, roots, platform and date.
pub fn environment(ports: &Ports, facts: &Facts, is_git: bool) -> String {
    let mut text = String::from("<environment>\n");
    let _ = writeln!(text, "Folder, the base of relative paths: {}", facts.folder);
    if facts.worktree != facts.folder {
        let _ = writeln!(text, "Root of the project: {}", facts.worktree);
    }
    if facts.roots.len() > 1 {
        text.push_str("Roots of the workspace, by name:\n");
        for root in &facts.roots {
            let _ = writeln!(text, "- {}: {}", root.name(), root);
        }
    }
    let _ = writeln!(text, "Git repository: {}", if is_git { "yes" } else { "no" });
    let _ = writeln!(text, "Platform: {}", facts.platform);
    let _ = writeln!(text, "Today: {}", ports.clock.today());
    text.push_str("</environment>");
    text
}

/// What the agent in force adds to the last user message: recomputed for each request, never stored.
pub fn mode_note(agent: &str, entries: &[Entry], plan: &AbsPath, offered: &Offered) -> Option<String> {
    if agent == agent::PLAN {
        let way_out = if offered.names().any(|name| name == "plan_exit") { PLAN_EXIT } else { "" };
        return Some(PLAN.replace("{plan}", &plan.to_string()).replace("{way_out}", way_out.trim()));
    }
    // Judged before the last prompt, so that the note stays the same in all steps that answer it.
    let last_user = entries.iter().rposition(|entry| matches!(entry, Entry::User { .. }))?;
    let before = entries[..last_user].iter().rev().find_map(|entry| match entry {
        Entry::StepStarted { agent, .. } => Some(agent.as_str()),
        _ => None,
    });
    (before == Some(agent::PLAN)).then(|| BUILD.replace("{plan}", &plan.to_string()))
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
