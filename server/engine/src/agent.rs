//! Agents: who the model is to be, with which rules, model and limit of steps. The built-in ones; `config` adds those that users write.

use std::collections::BTreeMap;

use crate::message::ModelRef;
use crate::permission::{Ruleset, agent_rules, base_rules};
use crate::registry::Switches;
use crate::tool::Facts;

pub const BUILD: &str = "build";
pub const PLAN: &str = "plan";

#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub name: String,
    pub description: String,
    pub mode: AgentMode,
    pub hidden: bool,
    /// Replaces the first part of the system prompt.
    pub prompt: Option<String>,
    pub model: Option<ModelRef>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    /// Model requests a turn.
    pub steps: Option<u32>,
    /// All of them in order: base, the agent's own, the user's, the user's for this agent.
    pub rules: Ruleset,
    /// Tools that are switched on or off.
    pub tools: Switches,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentMode {
    Primary,
    Subagent,
    All,
}

impl Agent {
    /// Whether a user can talk to it.
    pub fn is_selectable(&self) -> bool {
        !self.hidden && self.mode != AgentMode::Subagent
    }

    /// One that nothing is said of yet: its rules are the base alone.
    pub fn new(name: &str, facts: Option<&Facts>) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            mode: AgentMode::All,
            hidden: false,
            prompt: None,
            model: None,
            temperature: None,
            top_p: None,
            steps: None,
            rules: [base_rules(facts), agent_rules(name, facts)].concat(),
            tools: Switches::new(),
        }
    }
}

/// Those that are always there, by name, before any configuration. Without `facts` the rules for the session's own folders are left out.
pub fn built_in(facts: Option<&Facts>) -> BTreeMap<String, Agent> {
    [
        (BUILD, "Works on the files and runs commands, as far as the permissions go"),
        (PLAN, "Reads, thinks and writes a plan; changes no other file"),
    ]
    .into_iter()
    .map(|(name, description)| {
        let agent = Agent { description: description.to_owned(), mode: AgentMode::Primary, ..Agent::new(name, facts) };
        (name.to_owned(), agent)
    })
    .collect()
}
