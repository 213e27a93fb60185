//! The tools of a session by name, and what the model is told of them. Adding a built-in tool is one line here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::escape::escaped_line;
use crate::permission::{self, Rule};
use crate::ports::ToolSpec;
use crate::tool::{AnyTool, Facts, ToolKind, portable};

/// What a call of an unknown tool becomes; never offered to the model.
pub const INVALID: &str = "invalid";

const APPLY_PATCH: &str = "apply_patch";

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

    /// What the model may call under these rules, sorted by name. `model` is the provider's own name of it.
    pub fn specs(&self, facts: &Facts, rules: &[Rule], model: &str) -> Vec<ToolSpec> {
        self.offered(rules, model)
            .map(|tool| ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description(facts),
                parameters: portable(&tool.parameters()),
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

    pub(crate) fn offered<'a>(
        &'a self,
        rules: &'a [Rule],
        model: &'a str,
    ) -> impl Iterator<Item = &'a Arc<dyn AnyTool>> {
        self.tools.values().filter(move |tool| {
            let name = tool.name();
            name != INVALID && self.suits(name, model) && !permission::is_hidden(name, rules)
        })
    }

    /// Of two ways to change files a model gets the one that it was trained for. Without a tool for patches every model edits.
    fn suits(&self, tool: &str, model: &str) -> bool {
        let patches = self.tools.contains_key(APPLY_PATCH) && writes_patches(model);
        match tool {
            APPLY_PATCH => patches,
            "edit" | "multiedit" | "write" => !patches,
            _ => true,
        }
    }
}

/// OpenAI's models since GPT-5 know its patch format; their open models and GPT-4 do not.
fn writes_patches(model: &str) -> bool {
    model.contains("gpt-") && !model.contains("oss") && !model.contains("gpt-4")
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
