//! Agents: who the model is to be, with which rules, model and limit of steps. Built-in ones and those of the configuration.

use crate::message::ModelRef;
use crate::permission::Ruleset;

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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentMode {
    Primary,
    Subagent,
    All,
}
