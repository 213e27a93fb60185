//! The tools of a session by name, which of them a request offers, and what the model is told of them. Adding a built-in tool is one line in
//! `tools::builtin`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::agent::Agent;
use crate::escape::escaped_line;
use crate::message::ModelRef;
use crate::permission;
use crate::ports::ToolSpec;
use crate::tool::{AnyTool, Facts, Tool, ToolKind, erase, portable};

/// What a call of an unknown tool becomes; never offered to the model.
pub const INVALID: &str = "invalid";

const APPLY_PATCH: &str = "apply_patch";

const BASH: &str = "bash";

/// Characters: more than a line of any window shows.
const LONGEST_TITLE: usize = 300;

/// By name: on or off, whatever the table says. Of the configuration and of variables.
pub type Switches = BTreeMap<String, bool>;

/// In the order in which they were given, which is that of lists for people.
pub struct Registry {
    tools: Vec<Listed>,
}

/// A tool with when it is offered. What rules hide is hidden besides.
#[derive(Clone)]
pub struct Listed {
    tool: Arc<dyn AnyTool>,
    /// Where no switch says otherwise.
    is_on: fn(&Situation<'_>) -> bool,
    /// Whatever the switches say.
    suits: fn(&Situation<'_>) -> bool,
}

/// What decides which tools a request offers.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    pub agent: &'a Agent,
    /// As the provider knows it.
    pub model: &'a ModelRef,
    /// Whether anybody is there to be asked.
    pub has_user: bool,
    /// Whether there are any that the agent may load.
    pub has_skills: bool,
}

/// The tools of one request, sorted by name: what the calls of its reply are judged against, whatever is offered by then.
#[derive(Clone, Default)]
pub struct Offered {
    tools: Vec<Arc<dyn AnyTool>>,
}

impl Registry {
    pub fn builtin() -> Self {
        Self { tools: crate::tools::builtin() }
    }

    /// Tools that are always on. Of two with one name the later one stays, in the place of the first.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Self {
        Self { tools: Vec::new() }.with(tools)
    }

    #[must_use]
    pub fn with(mut self, tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Self {
        for tool in tools {
            let listed = Listed::always(tool);
            match self.tools.iter_mut().find(|known| known.tool.name() == listed.tool.name()) {
                Some(known) => *known = listed,
                None => self.tools.push(listed),
            }
        }
        self
    }

    /// What the model may call in this situation.
    pub fn offered(&self, situation: &Situation<'_>) -> Offered {
        let listed = self.tools.iter().filter(|listed| listed.is_offered(situation));
        Offered::new(listed.map(|listed| Arc::clone(&listed.tool)))
    }

    /// All that could be offered to anybody.
    pub fn all(&self) -> Offered {
        let tools = self.tools.iter().map(|listed| &listed.tool).filter(|tool| tool.name() != INVALID);
        Offered::new(tools.cloned())
    }

    /// In the order of lists for people.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|listed| listed.tool.name())
    }

    /// Names and schemas of the parameters of all tools, sorted by name.
    pub fn parameters(&self) -> impl Iterator<Item = (String, Value)> {
        self.all().tools.into_iter().map(|tool| (tool.name().to_owned(), tool.parameters()))
    }

    /// A line for people; for an unknown tool its name. It goes with each update of the call (R21.1): only that of a command is left as long as it is.
    pub fn title(&self, name: &str, partial: &Value, facts: &Facts) -> String {
        match self.find(name) {
            Some(tool) if tool.kind(partial) == ToolKind::Execute => escaped_line(&tool.title(partial, facts)),
            Some(tool) => short_line(&tool.title(partial, facts)),
            None => short_line(name),
        }
    }

    /// Of a call with these arguments, which may be incomplete or wrong.
    pub fn kind(&self, name: &str, partial: &Value) -> ToolKind {
        self.find(name).map_or(ToolKind::Other, |tool| tool.kind(partial))
    }

    /// By name, whether it is offered or not.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        named(self.tools.iter().map(|listed| &listed.tool), name)
    }
}

impl Listed {
    /// Offered unless it is switched off.
    pub(crate) fn on<T: Tool>(tool: T) -> Self {
        Self::always(erase(tool))
    }

    /// Offered where it is switched on.
    pub(crate) fn off<T: Tool>(tool: T) -> Self {
        Self::on(tool).on_if(|_| false)
    }

    /// Offered where this holds, unless a switch says otherwise.
    #[must_use]
    pub(crate) fn on_if(self, is_on: fn(&Situation<'_>) -> bool) -> Self {
        Self { is_on, ..self }
    }

    /// Offered only where this holds, whatever the switches say.
    #[must_use]
    pub(crate) fn only_if(self, suits: fn(&Situation<'_>) -> bool) -> Self {
        Self { suits, ..self }
    }

    fn always(tool: Arc<dyn AnyTool>) -> Self {
        Self { tool, is_on: |_| true, suits: |_| true }
    }

    fn is_offered(&self, situation: &Situation<'_>) -> bool {
        let name = self.tool.name();
        let is_on = situation.switch(name).unwrap_or_else(|| (self.is_on)(situation));
        is_on && (self.suits)(situation) && !permission::is_hidden(name, &situation.agent.rules)
    }
}

impl Situation<'_> {
    /// Of two ways to change files a model gets the one that it was trained for: this one, unless it is switched off.
    pub(crate) fn takes_patches(&self) -> bool {
        writes_patches(&self.model.model) && self.switch(APPLY_PATCH) != Some(false)
    }

    pub(crate) fn takes_edits(&self) -> bool {
        !self.takes_patches()
    }

    pub(crate) fn runs_commands(&self) -> bool {
        self.switch(BASH) != Some(false) && !permission::is_hidden(BASH, &self.agent.rules)
    }

    fn switch(&self, tool: &str) -> Option<bool> {
        self.agent.tools.get(tool).copied()
    }
}

/// OpenAI's models since GPT-5 know its patch format; their open models and GPT-4 do not.
fn writes_patches(model: &str) -> bool {
    model.contains("gpt-") && !model.contains("oss") && !model.contains("gpt-4")
}

impl Offered {
    fn new(tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Self {
        let mut tools: Vec<_> = tools.into_iter().collect();
        tools.sort_by(|one, other| one.name().cmp(other.name()));
        Self { tools }
    }

    /// Without those that the rules hide.
    #[cfg(test)]
    pub(crate) fn visible(mut self, rules: &[permission::Rule]) -> Self {
        self.tools.retain(|tool| !permission::is_hidden(tool.name(), rules));
        self
    }

    /// What the model is told.
    pub fn specs(&self, facts: &Facts) -> Vec<ToolSpec> {
        let spec = |tool: &Arc<dyn AnyTool>| ToolSpec {
            name: tool.name().to_owned(),
            description: tool.description(facts),
            parameters: portable(&tool.parameters()),
        };
        self.tools.iter().map(spec).collect()
    }

    /// Models also write names in other letters than they were given.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        named(self.tools.iter(), name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name())
    }

    /// The names, in words.
    pub(crate) fn listed(&self) -> String {
        let names: Vec<&str> = self.names().collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

fn short_line(title: &str) -> String {
    match title.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => escaped_line(&title[..end]) + "…",
        None => escaped_line(title),
    }
}

/// The one of that name, else the only one whose name differs in capitals alone.
fn named<'a>(tools: impl Iterator<Item = &'a Arc<dyn AnyTool>> + Clone, name: &str) -> Option<&'a Arc<dyn AnyTool>> {
    tools.clone().find(|tool| tool.name() == name).or_else(|| {
        let mut alike = tools.filter(|tool| tool.name().eq_ignore_ascii_case(name));
        alike.next().filter(|_| alike.next().is_none())
    })
}

#[cfg(test)]
#[path = "registry_page_tests.rs"]
#[expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failed unwrap fails the test, which compares a committed file"
)]
mod page_tests;

#[cfg(test)]
#[path = "registry_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;

#[cfg(test)]
#[path = "registry_wires_tests.rs"]
mod wires_tests;
