//! The tools of a session by name, and what the model is told of them. Adding a built-in tool is one line here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::escape::escaped_line;
use crate::permission::{self, Rule};
use crate::ports::ToolSpec;
use crate::tool::{AnyTool, Facts, ToolKind};

/// What a call of an unknown tool becomes; never offered to the model.
pub const INVALID: &str = "invalid";

pub struct Registry {
    tools: BTreeMap<String, Arc<dyn AnyTool>>,
}

impl Registry {
    pub fn builtin() -> Self {
        Self::new(crate::tools::builtin())
    }

    /// Of two tools with one name the later one stays.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Self {
        Self { tools: tools.into_iter().map(|tool| (tool.name().to_owned(), tool)).collect() }
    }

    /// What the model may call under these rules, sorted by name.
    pub fn specs(&self, facts: &Facts, rules: &[Rule]) -> Vec<ToolSpec> {
        self.offered(rules)
            .map(|tool| ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description(facts),
                parameters: tool.parameters(),
            })
            .collect()
    }

    /// Names and schemas of the parameters of all tools, sorted by name.
    pub fn parameters(&self) -> impl Iterator<Item = (String, Value)> {
        let known = self.tools.values().filter(|tool| tool.name() != INVALID);
        known.map(|tool| (tool.name().to_owned(), tool.parameters()))
    }

    /// A line for people; for an unknown tool its name.
    pub fn title(&self, name: &str, partial: &Value, facts: &Facts) -> String {
        escaped_line(&self.find(name).map_or_else(|| name.to_owned(), |tool| tool.title(partial, facts)))
    }

    pub fn kind(&self, name: &str) -> ToolKind {
        self.find(name).map_or(ToolKind::Other, |tool| tool.kind())
    }

    /// By name; models also write names in capitals.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.tools.get(name).or_else(|| self.tools.get(&name.to_lowercase()))
    }

    pub(crate) fn offered<'a>(&'a self, rules: &'a [Rule]) -> impl Iterator<Item = &'a Arc<dyn AnyTool>> {
        self.tools.values().filter(|tool| tool.name() != INVALID && !permission::is_hidden(tool.name(), rules))
    }
}
