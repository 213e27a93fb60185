//! What a project's own configuration may not do before anyone has trusted it (R19.1): run something, widen a permission, redirect a key. Such keys are
//! taken out of its tree and named; all else stays, denies and asks among it.

use std::collections::BTreeSet;

use super::Problem;
use super::node::{Node, Value};
use super::substitute::has_placeholder;
use crate::agent::{BUILD, PLAN};

/// Why a key was left out.
#[derive(Clone, Copy)]
enum Fault {
    Runs,
    Widens,
    Redirects,
    ReadsOutside,
}

/// `tree` is checked and normalised. `agents` are those that exist without the project.
pub(super) fn restrict(tree: &mut Node, agents: &BTreeSet<String>, problems: &mut Vec<Problem>) {
    let mut left_out = LeftOut { problems };
    left_out.sweep(tree, "", |_, node| match &node.value {
        // A `null` would unset what the user wrote.
        Value::Null => Some(None),
        Value::Text { text, .. } if has_placeholder(text) => Some(Some(Fault::ReadsOutside)),
        _ => None,
    });

    for key in ["mcp", "lsp", "formatter", "plugin", "shell"] {
        left_out.take(tree, "", key, |node| (!matches!(node.value, Value::Bool(false))).then_some(Fault::Runs));
    }
    let runs_shell = |command: &Node| {
        command.get("template").and_then(Node::as_text).is_some_and(|template| template.contains("!`"))
    };
    left_out.each(tree, "command", "", |node| runs_shell(node).then_some(Fault::Runs));

    for key in ["default_agent", "guards"] {
        left_out.take(tree, "", key, |_| Some(Fault::Widens));
    }
    if let Some(sandbox) = tree.get_mut("sandbox") {
        for (key, wide) in [("enabled", false), ("network", true)] {
            let widens =
                |node: &Node| matches!(node.value, Value::Bool(value) if value == wide).then_some(Fault::Widens);
            left_out.take(sandbox, "sandbox.", key, widens);
        }
        for key in ["writable", "readable", "environment"] {
            left_out.take(sandbox, "sandbox.", key, |_| Some(Fault::Widens));
        }
    }
    if let Some(experimental) = tree.get_mut("experimental") {
        let widens = |node: &Node| matches!(node.value, Value::Bool(true)).then_some(Fault::Widens);
        left_out.take(experimental, "experimental.", "continue_loop_on_deny", widens);
    }
    left_out.allows(tree, "");
    for (name, agent) in tree.get_mut("agent").and_then(Node::entries_mut).into_iter().flatten() {
        let prefix = format!("agent.{name}.");
        left_out.allows(agent, &prefix);
        if agents.contains(name) {
            if is_built_in(name) && agent.get("mode").and_then(Node::as_text) == Some("primary") {
                agent.take("mode");
            }
            // Any of these can make the session start with another agent, one with milder rules.
            for key in ["disable", "mode", "hidden"] {
                left_out.take(agent, &prefix, key, |_| Some(Fault::Widens));
            }
        }
    }

    for (id, provider) in tree.get_mut("provider").and_then(Node::entries_mut).into_iter().flatten() {
        let prefix = format!("provider.{id}.");
        for key in ["npm", "api", "env"] {
            left_out.take(provider, &prefix, key, |_| Some(Fault::Redirects));
        }
        if let Some(options) = provider.get_mut("options") {
            for key in ["apiKey", "baseURL", "headers"] {
                left_out.take(options, &format!("{prefix}options."), key, |_| Some(Fault::Redirects));
            }
        }
        for (name, model) in provider.get_mut("models").and_then(Node::entries_mut).into_iter().flatten() {
            for key in ["provider", "headers"] {
                left_out.take(model, &format!("{prefix}models.{name}."), key, |_| Some(Fault::Redirects));
            }
        }
    }

    if let Some(Value::List(items)) = tree.get_mut("instructions").map(|node| &mut node.value) {
        items.retain(|item| {
            let leads_outside = item.as_text().is_some_and(leads_outside);
            if leads_outside {
                left_out.say(item, "instructions", Fault::ReadsOutside);
            }
            !leads_outside
        });
    }
}

/// These are primary anyway, and projects often say so.
fn is_built_in(agent: &str) -> bool {
    agent == BUILD || agent == PLAN
}

struct LeftOut<'a> {
    problems: &'a mut Vec<Problem>,
}

impl LeftOut<'_> {
    fn say(&mut self, node: &Node, key: &str, fault: Fault) {
        let reason = match fault {
            Fault::Runs => "it would run a program",
            Fault::Widens => "it would allow more than your own configuration does",
            Fault::Redirects => "it decides where a provider's key and your text are sent",
            Fault::ReadsOutside => "it would read from outside of the project",
        };
        let text = format!(
            "left out, since this is a project's configuration and {reason}; put it into your own configuration if you want it"
        );
        self.problems.push(node.place.problem(key.to_owned(), text));
    }

    fn take(&mut self, owner: &mut Node, prefix: &str, key: &str, judge: impl Fn(&Node) -> Option<Fault>) {
        if let Some(fault) = owner.get(key).and_then(judge)
            && let Some(node) = owner.take(key)
        {
            self.say(&node, &format!("{prefix}{key}"), fault);
        }
    }

    /// Judges every entry of the object `key` of `owner`.
    fn each(&mut self, owner: &mut Node, key: &str, prefix: &str, judge: impl Fn(&Node) -> Option<Fault>) {
        let Some(entries) = owner.get_mut(key).and_then(Node::entries_mut) else { return };
        entries.retain(|(name, node)| match judge(node) {
            Some(fault) => {
                self.say(node, &format!("{prefix}{key}.{name}"), fault);
                false
            }
            None => true,
        });
    }

    fn allows(&mut self, owner: &mut Node, prefix: &str) {
        let is_allow = |node: &Node| (node.as_text() == Some("allow")).then_some(Fault::Widens);
        self.each(owner, "tools", prefix, |node| matches!(node.value, Value::Bool(true)).then_some(Fault::Widens));
        self.each(owner, "permission", prefix, is_allow);
        if let Some(permission) = owner.get_mut("permission") {
            let names: Vec<String> = permission.entries().iter().map(|(name, _)| name.clone()).collect();
            for name in names {
                self.each(permission, &name, &format!("{prefix}permission."), is_allow);
            }
        }
    }

    /// Judges every value of the tree; what is judged is taken out, and said where there is a fault.
    fn sweep(&mut self, node: &mut Node, path: &str, judge: impl Fn(&str, &Node) -> Option<Option<Fault>> + Copy) {
        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let keep = |this: &mut Self, key: String, child: &mut Node| match judge(&key, child) {
            Some(fault) => {
                if let Some(fault) = fault {
                    this.say(child, &key, fault);
                }
                false
            }
            None => {
                this.sweep(child, &key, judge);
                true
            }
        };
        match &mut node.value {
            Value::Map(entries) => entries.retain_mut(|(key, child)| keep(self, below(key), child)),
            Value::List(items) => {
                let mut index = 0;
                items.retain_mut(|child| {
                    index += 1;
                    keep(self, below(&(index - 1).to_string()), child)
                });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text { .. } => {}
        }
    }
}

/// An address, an absolute path, one below the home folder, or one that climbs.
fn leads_outside(pattern: &str) -> bool {
    let unified = pattern.replace('\\', "/");
    unified.starts_with(['/', '~', '$']) || unified.contains(':') || unified.split('/').any(|part| part == "..")
}
