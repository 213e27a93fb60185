//! What a project's own configuration may not do before the user trusts it (R19.1): run something, widen a permission, redirect a key, read outside. Such
//! keys are its claims. Finds them and takes them out; whether they are trusted is not decided here. All else stays, denies and asks among it.

use std::collections::BTreeSet;
use std::sync::Arc;

use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use serde_json::Value as Json;

use super::node::{Node, Place, Value};
use super::raw::is_address;
use super::substitute::has_placeholder;
use super::survey::is_secret;
use super::{Problem, Source};
use crate::agent::{BUILD, PLAN};
use crate::ports::Capability;

/// One thing that a source of the project would have.
pub(super) struct Claim {
    pub(super) capability: Capability,
    /// Dotted.
    pub(super) key: String,
    pub(super) place: Place,
    /// The value as JSON, as a question shows it: what is filled in from files in place, except where it may be secret.
    pub(super) shown: String,
    /// The value as JSON, as it is compared: with the text of files, which may be the project's, and the names of variables, which are the user's.
    pub(super) compared: String,
    /// What is taken out where it is not trusted. `None`: it takes away rather than gives, and stays; what it limits is trusted with it.
    path: Option<Vec<Step>>,
}

impl Claim {
    /// To run a formatter that the repository brings along: what it is made of counts.
    pub(super) fn of_formatter(name: &str, path: &AbsPath, bytes: &[u8]) -> Self {
        Self {
            capability: Capability::Programs,
            key: format!("formatter.{name}"),
            place: Place { source: Arc::new(Source::File(path.clone())), line: 1 },
            shown: Json::String(path.to_string()).to_string(),
            compared: format!("{path} {:?}", ContentHash::of(bytes)),
            path: Some(Vec::new()),
        }
    }

    pub(super) fn stays(&self) -> bool {
        self.path.is_none()
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    Index(usize),
}

/// Those of `Capability::Outside`, of a tree as it was parsed. `fills`: whether placeholders of this source would be filled in.
pub(super) fn claims_outside(tree: &Node, fills: bool) -> Vec<Claim> {
    let mut claims = Claims::default();
    if fills {
        claims.placeholders(tree, &mut Vec::new());
    }
    if let Some(Value::List(items)) = tree.get("instructions").map(|node| &node.value) {
        for (index, item) in items.iter().enumerate() {
            if item.as_text().is_some_and(|text| leads_outside(text) && !(fills && has_placeholder(text))) {
                let path = vec![Step::Key("instructions".to_owned()), Step::Index(index)];
                claims.add(Capability::Outside, "instructions".to_owned(), item, Some(path));
            }
        }
    }
    for (path, item) in skill_paths(tree) {
        if item.as_text().is_some_and(|text| leads_outside(text) && !(fills && has_placeholder(text))) {
            claims.add(Capability::Outside, "skills".to_owned(), item, Some(path));
        }
    }
    claims.found
}

/// The folders that `skills` names, in both of its forms. Addresses are not asked about: `tidy` takes them out.
fn skill_paths(tree: &Node) -> Vec<(Vec<Step>, &Node)> {
    let Some(skills) = tree.get("skills") else { return Vec::new() };
    let key = |names: &[&str]| names.iter().map(|name| Step::Key((*name).to_owned())).collect::<Vec<_>>();
    let (prefix, list) = match skills.get("paths") {
        Some(paths) => (key(&["skills", "paths"]), paths),
        None => (key(&["skills"]), skills),
    };
    let Value::List(items) = &list.value else { return Vec::new() };
    let paths = items.iter().enumerate().filter(|(_, item)| !item.as_text().is_some_and(is_address));
    paths.map(|(index, item)| ([&prefix[..], &[Step::Index(index)]].concat(), item)).collect()
}

/// All others, of a tree that is checked, normalised and `tidied`. `agents` are those that exist without the project.
pub(super) fn claims(tree: &Node, agents: &BTreeSet<String>) -> Vec<Claim> {
    let mut claims = Claims::default();
    for key in ["mcp", "lsp", "formatter", "plugin", "shell"] {
        let Some(node) = tree.get(key).filter(|node| !matches!(node.value, Value::Bool(false))) else { continue };
        // As a whole: an object that is left empty may switch something on.
        let path = vec![Step::Key(key.to_owned())];
        if node.entries().is_empty() {
            claims.add(Capability::Programs, key.to_owned(), node, Some(path.clone()));
        }
        for (name, node) in node.entries() {
            claims.add(Capability::Programs, format!("{key}.{name}"), node, Some(path.clone()));
        }
    }
    for (name, command) in tree.get("command").map(Node::entries).unwrap_or_default() {
        if command.get("template").and_then(Node::as_text).is_some_and(|template| template.contains("!`")) {
            let path = vec![Step::Key("command".to_owned()), Step::Key(name.clone())];
            claims.add(Capability::Programs, format!("command.{name}"), command, Some(path));
        }
    }

    claims.take(tree, &[], "default_agent", Capability::Permissions);
    if let Some(experimental) = tree.get("experimental")
        && matches!(experimental.get("continue_loop_on_deny").map(|node| &node.value), Some(Value::Bool(true)))
    {
        claims.take(experimental, &["experimental"], "continue_loop_on_deny", Capability::Permissions);
    }
    claims.rules(tree, &[]);
    for (name, agent) in tree.get("agent").map(Node::entries).unwrap_or_default() {
        let prefix = ["agent", name.as_str()];
        claims.rules(agent, &prefix);
        if agents.contains(name) {
            // Any of these can make the session start with another agent, one with milder rules.
            for key in ["disable", "mode", "hidden"] {
                claims.take(agent, &prefix, key, Capability::Permissions);
            }
        }
    }

    for (id, provider) in tree.get("provider").map(Node::entries).unwrap_or_default() {
        let prefix = ["provider", id.as_str()];
        for key in ["npm", "api", "env"] {
            claims.take(provider, &prefix, key, Capability::Keys);
        }
        if let Some(options) = provider.get("options") {
            for key in ["apiKey", "baseURL", "headers"] {
                claims.take(options, &[&prefix[..], &["options"]].concat(), key, Capability::Keys);
            }
        }
        for (name, model) in provider.get("models").map(Node::entries).unwrap_or_default() {
            let prefix = [&prefix[..], &["models", name]].concat();
            for key in ["provider", "headers"] {
                claims.take(model, &prefix, key, Capability::Keys);
            }
            if let Some(options) = model.get("options") {
                let prefix = [&prefix[..], &["options"]].concat();
                for (key, _) in options.entries().iter().filter(|(key, _)| !only_tunes(key)) {
                    claims.take(options, &prefix, key, Capability::Keys);
                }
            }
        }
    }
    claims.found
}

/// Options of a model go into its requests as they are. Those that turn a knob of the model itself are free to a project; any other may name an address to
/// which the provider sends the text on (`api_base` of a proxy, servers of tools), or what is done with it there.
const TUNING: [&str; 21] = [
    "chattemplatekwargs",
    "effort",
    "enablethinking",
    "frequencypenalty",
    "interleaved",
    "maxcompletiontokens",
    "maxtokens",
    "minp",
    "paralleltoolcalls",
    "presencepenalty",
    "reasoning",
    "reasoningeffort",
    "repetitionpenalty",
    "seed",
    "stop",
    "temperature",
    "textverbosity",
    "thinking",
    "topk",
    "topp",
    "verbosity",
];

/// In whichever spelling.
fn only_tunes(option: &str) -> bool {
    let plain: String = option.chars().filter(|char| !matches!(char, '_' | '-')).collect();
    TUNING.contains(&plain.to_ascii_lowercase().as_str())
}

/// Takes out what nobody is asked about: a `null` would unset what the user wrote, guards and the sandbox are his alone to lift, and the built-in agents
/// are primary anyway, which projects often say.
pub(super) fn tidy(tree: &mut Node, problems: &mut Vec<Problem>) {
    drop_nulls(tree);
    let mut say = |node: &Node, key: &str| {
        let text = "left out, since this is a project's configuration, and only your own lifts guards, widens the sandbox, reaches for the web and says what is kept for undo";
        problems.push(node.place.problem(key.to_owned(), text));
    };
    for key in ["undo", "web", "websearch"] {
        if let Some(node) = tree.take(key) {
            say(&node, key);
        }
    }
    if let Some(skills) = tree.get_mut("skills") {
        if let Some(urls) = skills.take("urls") {
            say(&urls, "skills.urls");
        }
        if let Value::List(items) = &mut skills.value {
            let is_url = |item: &Node| item.as_text().is_some_and(is_address);
            items.iter().filter(|item| is_url(item)).for_each(|item| say(item, "skills"));
            items.retain(|item| !is_url(item));
        }
    }
    if let Some(guards) = tree.take("guards") {
        say(&guards, "guards");
    }
    if let Some(sandbox) = tree.get_mut("sandbox") {
        let is = |node: &Node, wide: bool| matches!(node.value, Value::Bool(value) if value == wide);
        for key in ["enabled", "network", "writable", "readable", "environment"] {
            let widens = match key {
                "enabled" => sandbox.get(key).is_some_and(|node| is(node, false)),
                "network" => sandbox.get(key).is_some_and(|node| is(node, true)),
                _ => true,
            };
            if widens && let Some(node) = sandbox.take(key) {
                say(&node, &format!("sandbox.{key}"));
            }
        }
    }
    for (name, agent) in tree.get_mut("agent").and_then(Node::entries_mut).into_iter().flatten() {
        let is_built_in = name == BUILD || name == PLAN;
        if is_built_in && agent.get("mode").and_then(Node::as_text) == Some("primary") {
            agent.take("mode");
        }
    }
}

fn drop_nulls(tree: &mut Node) {
    match &mut tree.value {
        Value::Map(entries) => {
            entries.retain(|(_, node)| !matches!(node.value, Value::Null));
            entries.iter_mut().for_each(|(_, node)| drop_nulls(node));
        }
        Value::List(items) => {
            items.retain(|node| !matches!(node.value, Value::Null));
            items.iter_mut().for_each(drop_nulls);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text { .. } => {}
    }
}

/// Takes out of the tree what these claims of it would have.
pub(super) fn strip<'a>(tree: &mut Node, claims: impl Iterator<Item = &'a Claim>) {
    let mut paths: Vec<&Vec<Step>> = claims.filter_map(|claim| claim.path.as_ref()).collect();
    // The last first, so that the places of the others in a list stay what they are.
    paths.sort_unstable();
    for path in paths.into_iter().rev() {
        remove(tree, path);
    }
}

/// An empty path leads to nothing in the tree.
fn remove(tree: &mut Node, path: &[Step]) {
    match (path, &mut tree.value) {
        ([Step::Key(key)], Value::Map(entries)) => entries.retain(|(name, _)| name != key),
        ([Step::Index(index)], Value::List(items)) if *index < items.len() => {
            items.remove(*index);
        }
        ([Step::Key(key), rest @ ..], Value::Map(entries)) => {
            if let Some((_, node)) = entries.iter_mut().find(|(name, _)| name == key) {
                remove(node, rest);
            }
        }
        ([Step::Index(index), rest @ ..], Value::List(items)) => {
            if let Some(node) = items.get_mut(*index) {
                remove(node, rest);
            }
        }
        // An earlier claim has taken it with what holds it.
        _ => {}
    }
}

#[derive(Default)]
struct Claims {
    found: Vec<Claim>,
}

impl Claims {
    fn add(&mut self, capability: Capability, key: String, node: &Node, path: Option<Vec<Step>>) {
        let name = key.rsplit('.').next().unwrap_or_default();
        let shows_files = capability != Capability::Outside && !is_secret(&["", name]);
        self.found.push(Claim {
            capability,
            shown: json(node, shows_files, true).to_string(),
            compared: json(node, capability != Capability::Outside, false).to_string(),
            key,
            place: node.place.clone(),
            path,
        });
    }

    /// The key of `owner`, which stands at `prefix`, where it is set.
    fn take(&mut self, owner: &Node, prefix: &[&str], key: &str, capability: Capability) {
        if let Some(node) = owner.get(key) {
            let path = [prefix, &[key]].concat();
            self.at(&path, node, capability, Takes::Out);
        }
    }

    fn at(&mut self, path: &[&str], node: &Node, capability: Capability, takes: Takes) {
        let steps = path.iter().map(|key| Step::Key((*key).to_owned())).collect();
        let path_out = match takes {
            Takes::Out => Some(steps),
            Takes::Nothing => None,
        };
        self.add(capability, path.join("."), node, path_out);
        // A dot may stand in a name too: `a.b` and `c` are not `a` and `b.c`.
        if let Some(claim) = self.found.last_mut() {
            claim.compared = serde_json::json!([path, claim.compared]).to_string();
        }
    }

    /// What is allowed. What is denied or asked belongs to it: an allow with an exception is another one than without.
    fn rules(&mut self, owner: &Node, prefix: &[&str]) {
        for (tool, node) in owner.get("tools").map(Node::entries).unwrap_or_default() {
            let takes = if matches!(node.value, Value::Bool(true)) { Takes::Out } else { Takes::Nothing };
            self.at(&[prefix, &["tools", tool]].concat(), node, Capability::Permissions, takes);
        }
        for (name, node) in owner.get("permission").map(Node::entries).unwrap_or_default() {
            let takes = |node: &Node| if node.as_text() == Some("allow") { Takes::Out } else { Takes::Nothing };
            let path = [prefix, &["permission", name]].concat();
            match &node.value {
                Value::Map(entries) => {
                    for (pattern, node) in entries {
                        let path = [&path[..], &[pattern]].concat();
                        self.at(&path, node, Capability::Permissions, takes(node));
                    }
                }
                _ => self.at(&path, node, Capability::Permissions, takes(node)),
            }
        }
    }

    fn placeholders(&mut self, node: &Node, path: &mut Vec<Step>) {
        match &node.value {
            Value::Text { text, filled, .. } => {
                if filled.is_some() || has_placeholder(text) {
                    let names = path.iter().map(|step| match step {
                        Step::Key(key) => key.clone(),
                        Step::Index(index) => index.to_string(),
                    });
                    let key = names.collect::<Vec<_>>().join(".");
                    self.add(Capability::Outside, key, node, Some(path.clone()));
                }
            }
            Value::Map(entries) => {
                for (key, node) in entries {
                    path.push(Step::Key(key.clone()));
                    self.placeholders(node, path);
                    path.pop();
                }
            }
            Value::List(items) => {
                for (index, node) in items.iter().enumerate() {
                    path.push(Step::Index(index));
                    self.placeholders(node, path);
                    path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

enum Takes {
    Out,
    Nothing,
}

/// `hides`: keys by whose name their value may be secret have what is written in place of what a file holds.
fn json(node: &Node, with_files: bool, hides: bool) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(number) => Json::Number(number.clone()),
        Value::Text { filled: Some(filled), .. } if with_files => filled.with_files.as_str().into(),
        Value::Text { filled: Some(filled), .. } => filled.written.as_str().into(),
        Value::Text { text, .. } => text.as_str().into(),
        Value::List(items) => items.iter().map(|item| json(item, with_files, hides)).collect(),
        Value::Map(entries) => {
            let entry = |(name, node): &(String, Node)| {
                let with_files = with_files && !(hides && is_secret(&["", name]));
                (name.clone(), json(node, with_files, hides))
            };
            Json::Object(entries.iter().map(entry).collect())
        }
    }
}

/// An address, an absolute path, one below the home folder, or one that climbs.
pub(super) fn leads_outside(pattern: &str) -> bool {
    let unified = pattern.replace('\\', "/");
    unified.starts_with(['/', '~', '$']) || unified.contains(':') || unified.split('/').any(|part| part == "..")
}
