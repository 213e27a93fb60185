//! The configuration of a folder with where each piece of it comes from, for those who look after it. What is in force is decided by `load`.

use serde_json::Value as Json;

use super::known::KNOWN_PROVIDERS;
use super::load::Layer;
use super::node::{Node, Value};
use super::raw::config_schema;
use super::{Config, Source};

/// What `load` gives, and what it was made of.
pub struct Survey {
    pub config: Config,
    /// From the weakest to the strongest.
    pub places: Vec<LookedAt>,
    pub(super) layers: Vec<Layer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookedAt {
    pub source: Source,
    pub found: Found,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Absent,
    Taken,
    /// As a whole; the problems say why.
    LeftOut,
}

/// What one source says of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Dotted.
    pub key: String,
    /// As JSON; keys of providers, headers and whatever was filled in from elsewhere are hidden.
    pub value: String,
    pub source: Source,
    /// One-based.
    pub line: usize,
    /// Otherwise something stronger replaces it.
    pub in_force: bool,
}

impl Survey {
    /// All that is said of `key` (dotted, e.g. `provider.ollama.options.baseURL`) and of the keys below it, from the weakest to the strongest. An empty
    /// key stands for everything.
    pub fn explain(&self, key: &str) -> Vec<Statement> {
        let merged = |of: &dyn Fn(&Layer) -> bool| {
            let mut layers = self.layers.iter().filter(|layer| of(layer)).map(|layer| layer.tree.clone());
            let mut tree = layers.next()?;
            layers.for_each(|layer| tree.merge(layer));
            Some(tree)
        };
        let (all, user, project) =
            (merged(&|_| true), merged(&|layer| !layer.of_project), merged(&|layer| layer.of_project));
        let mut statements = Vec::new();
        for layer in &self.layers {
            let Some((path, node)) = find(&layer.tree, key) else { continue };
            let mut leaves = Vec::new();
            leaves_of(path, node, &mut leaves);
            for (path, node) in leaves {
                let path_of: Vec<&str> = path.iter().map(String::as_str).collect();
                // A project's rules stand beside the user's and replace none of them; lists of instructions are joined.
                let winner = match (is_permission(&path_of), layer.of_project) {
                    (true, true) => project.as_ref(),
                    (true, false) => user.as_ref(),
                    (false, _) => all.as_ref(),
                };
                let winner = winner.and_then(|tree| tree.at(&path_of));
                statements.push(Statement {
                    in_force: path_of == ["instructions"] || winner.is_some_and(|winner| winner.place == node.place),
                    value: shown(&path_of, node),
                    source: node.place.source.as_ref().clone(),
                    line: node.place.line,
                    key: path.join("."),
                });
            }
        }
        statements
    }
}

/// What the schema says of a key; `None` for one that is not known here.
pub fn describe(key: &str) -> Option<String> {
    let schema = config_schema();
    let found = below(&schema, &schema, key)?;
    Some(found.get("description").and_then(Json::as_str).unwrap_or_default().to_owned())
}

/// Names may hold dots themselves.
fn find<'a>(node: &'a Node, key: &str) -> Option<(Vec<String>, &'a Node)> {
    if key.is_empty() {
        return Some((Vec::new(), node));
    }
    node.entries().iter().find_map(|(name, child)| {
        let rest = key.strip_prefix(name.as_str())?;
        let rest = if rest.is_empty() { rest } else { rest.strip_prefix('.').filter(|rest| !rest.is_empty())? };
        let (mut path, found) = find(child, rest)?;
        path.insert(0, name.clone());
        Some((path, found))
    })
}

fn leaves_of<'a>(path: Vec<String>, node: &'a Node, leaves: &mut Vec<(Vec<String>, &'a Node)>) {
    if node.entries().is_empty() {
        if !path.is_empty() {
            leaves.push((path, node));
        }
        return;
    }
    for (name, child) in node.entries() {
        leaves_of([path.as_slice(), std::slice::from_ref(name)].concat(), child, leaves);
    }
}

fn is_permission(path: &[&str]) -> bool {
    matches!(path, ["permission", ..] | ["permission_mode"] | ["agent", _, "permission", ..])
}

fn shown(path: &[&str], node: &Node) -> String {
    if is_secret(path) { "\"(hidden)\"".to_owned() } else { json(node).to_string() }
}

pub(super) fn is_secret(path: &[&str]) -> bool {
    let [.., parent, name] = path else { return false };
    let name = name.to_ascii_lowercase();
    *parent == "headers"
        || ["key", "token", "secret", "password", "authorization"].iter().any(|word| name.ends_with(word))
}

fn json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(number) => Json::Number(number.clone()),
        Value::Text { variables, from_file, .. } if !variables.is_empty() || *from_file => "(hidden)".into(),
        Value::Text { text, .. } => text.as_str().into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(entries) => {
            let entry = |(name, node): &(String, Node)| {
                let value = if is_secret(&["", name]) { "(hidden)".into() } else { json(node) };
                (name.clone(), value)
            };
            Json::Object(entries.iter().map(entry).collect())
        }
    }
}

/// The schema of `key` below `schema`; `root` holds the definitions.
fn below<'a>(root: &'a Json, schema: &'a Json, key: &str) -> Option<&'a Json> {
    if key.is_empty() {
        return Some(schema);
    }
    let schema = resolved(root, schema);
    let properties = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
    let named = properties.filter_map(|(name, schema)| {
        let rest = key.strip_prefix(name.as_str())?;
        let rest = if rest.is_empty() { rest } else { rest.strip_prefix('.')? };
        Some((schema, rest))
    });
    let others = schema.get("additionalProperties").filter(|schema| schema.is_object() || **schema == Json::Bool(true));
    // A name holds a dot only where it is a provider's or a pattern, which nothing is below of.
    let whole = |schema: &Json| {
        !key.contains('.')
            || resolved(root, schema).get("properties").is_none()
            || KNOWN_PROVIDERS.iter().any(|known| known.id == key)
    };
    let others = others.into_iter().flat_map(|schema| {
        let ends = key.match_indices('.').map(|(dot, _)| &key[dot + 1..]);
        ends.chain(whole(schema).then_some("")).map(move |rest| (schema, rest))
    });
    let choices = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|word| schema.get(word)?.as_array()).flatten();
    let mut candidates = named.chain(others).chain(choices.map(|schema| (schema, key)));
    candidates.find_map(|(schema, rest)| below(root, schema, rest))
}

fn resolved<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let reference = schema.get("$ref").and_then(Json::as_str).and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
