//! Configuration: what was written in files becomes one typed value, problems included. Reads through `Files` and `Environment`; runs nothing.

mod load;

use std::collections::BTreeMap;
use std::sync::Arc;

use copydesk_workspace::path::AbsPath;

use crate::agent::Agent;
use crate::message::ModelRef;
use crate::ports::{ModelSettings, ProviderSettings};

pub use load::load;

#[derive(Debug, Clone, Default)]
pub struct Config {
    pub model: Option<ModelRef>,
    pub default_agent: String,
    /// By name; `build` and `plan` are always there unless disabled.
    pub agents: BTreeMap<String, Agent>,
    pub models: Vec<ConfiguredModel>,
    /// Paths and globs, as written, of further instruction files.
    pub instructions: Vec<String>,
    pub max_output_lines: usize,
    pub max_output_bytes: usize,
    /// opencode's `experimental.continue_loop_on_deny`.
    pub continue_on_reject: bool,
    /// Shown to the user when a session opens.
    pub problems: Vec<Problem>,
    /// Every variable whose value is a key of a provider; hidden from children (R19.3).
    pub key_variables: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct ConfiguredModel {
    pub model: ModelRef,
    pub name: String,
    pub provider: Arc<ProviderSettings>,
    pub settings: ModelSettings,
}

/// Something in a configuration that was not taken; the rest is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: AbsPath,
    /// One-based; `None` where it concerns the whole file.
    pub line: Option<usize>,
    /// Dotted, e.g. `agent.build.steps`.
    pub key: Option<String>,
    /// What is wrong and what is expected.
    pub text: String,
}
