//! Configuration as a tree in which every value knows where it was written, so that what is said of a key names its line even after merging.

use std::collections::HashMap;
use std::sync::Arc;

use jsonc_parser::ast;
use serde_json::Number;

use super::substitute::{Insert, Substituted};
use super::{Problem, Source};

#[derive(Clone)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// No `Debug`: texts may be secret.
#[derive(Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text {
        text: String,
        /// The environment variables that were filled into it.
        variables: Vec<String>,
        /// Whether a file was filled into it.
        from_file: bool,
        /// Of a project's text that something was filled into.
        filled: Option<Box<Filled>>,
    },
    List(Vec<Node>),
    /// In the order in which the keys first appeared, which permission rules depend on.
    Map(Vec<(String, Node)>),
}

/// How a text looked before it was filled.
#[derive(Clone)]
pub(super) struct Filled {
    pub(super) written: String,
    /// With the content of files, but not of variables.
    pub(super) with_files: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) source: Arc<Source>,
    /// One-based.
    pub(super) line: usize,
}

impl Place {
    pub(super) fn problem(&self, key: String, text: impl Into<String>) -> Problem {
        Problem {
            source: self.source.as_ref().clone(),
            line: Some(self.line),
            key: (!key.is_empty()).then_some(key),
            text: text.into(),
        }
    }
}

/// An object that is being read. Keys are found without a look at all of them: a hostile file has a hundred thousand.
#[derive(Default)]
pub(super) struct Entries {
    entries: Vec<(String, Node)>,
    places: HashMap<String, usize>,
}

impl Entries {
    /// The value of an existing key is replaced where it stands.
    pub(super) fn set(&mut self, key: String, node: Node) {
        match self.places.get(&key) {
            Some(at) => self.entries[*at].1 = node,
            None => {
                self.places.insert(key.clone(), self.entries.len());
                self.entries.push((key, node));
            }
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Map(self.entries)
    }
}

impl Value {
    /// A text that nothing was filled into.
    pub(super) fn plain(text: &str) -> Self {
        Self::Text { text: text.to_owned(), variables: Vec::new(), from_file: false, filled: None }
    }
}

impl Node {
    pub(super) fn empty_map(source: &Arc<Source>) -> Self {
        Self { place: Place { source: Arc::clone(source), line: 1 }, value: Value::Map(Vec::new()) }
    }

    pub(super) fn text(place: &Place, text: &str) -> Self {
        Self { place: place.clone(), value: Value::plain(text) }
    }

    /// Of JSON with comments and trailing commas; the error says line and column. A string that holds a file which could not be read is left out alone.
    pub(super) fn parse(
        text: &Substituted,
        source: &Arc<Source>,
        problems: &mut Vec<Problem>,
    ) -> Result<Self, Problem> {
        match Self::parse_value(text, source, problems)? {
            None => Ok(Self::empty_map(source)),
            Some(node @ Node { value: Value::Map(_), .. }) => Ok(node),
            Some(node) => Err(node.place.problem(String::new(), "expected an object in braces")),
        }
    }

    /// As `parse`, for a value of any shape. `None` for an empty text.
    pub(super) fn parse_value(
        text: &Substituted,
        source: &Arc<Source>,
        problems: &mut Vec<Problem>,
    ) -> Result<Option<Self>, Problem> {
        let parsed = jsonc_parser::parse_to_ast(&text.text, &Default::default(), &strict_but_comments());
        let parsed = parsed.map_err(|error| Problem {
            source: source.as_ref().clone(),
            line: Some(error.line_display()),
            key: None,
            text: format!("column {}: this is not valid JSON: {}", error.column_display(), error.kind()),
        })?;
        let mut reader = Reader { text, source, lines: line_starts(&text.text), path: Vec::new(), problems };
        Ok(parsed.value.and_then(|value| {
            let start = jsonc_parser::common::Ranged::start(&value);
            reader.node(value, start)
        }))
    }

    pub(super) fn entries(&self) -> &[(String, Node)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn entries_mut(&mut self) -> Option<&mut Vec<(String, Node)>> {
        match &mut self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries_mut()?.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(super) fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        let entries = self.entries_mut()?;
        let index = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(index).1)
    }

    /// How many values there are in it, itself included.
    pub(super) fn values(&self) -> usize {
        match &self.value {
            Value::Map(entries) => 1 + entries.iter().map(|(_, node)| node.values()).sum::<usize>(),
            Value::List(items) => 1 + items.iter().map(Node::values).sum::<usize>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text { .. } => 1,
        }
    }

    /// The value of an existing key is replaced where it stands.
    pub(super) fn set(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(existing) => *existing = node,
            None => {
                if let Some(entries) = self.entries_mut() {
                    entries.push((key.to_owned(), node));
                }
            }
        }
    }

    /// Objects are merged, all else is replaced by what comes later; a key stays where it first appeared.
    pub(super) fn merge(&mut self, later: Node) {
        match (&mut self.value, later.value) {
            (Value::Map(_), Value::Map(entries)) => {
                for (key, node) in entries {
                    match self.get_mut(&key) {
                        Some(existing) => existing.merge(node),
                        None => self.set(&key, node),
                    }
                }
            }
            (value, later_value) => {
                *value = later_value;
                self.place = later.place;
            }
        }
    }

    /// `merge` of whole configurations: `instructions` are joined, not replaced.
    pub(super) fn merge_config(&mut self, mut later: Node) {
        const JOINED: &str = "instructions";
        let earlier = match self.get(JOINED).map(|node| &node.value) {
            Some(Value::List(items)) => items.clone(),
            _ => Vec::new(),
        };
        if let Some(Value::List(items)) = later.get_mut(JOINED).map(|node| &mut node.value) {
            let added = std::mem::take(items);
            *items = earlier;
            for item in added {
                if !items.iter().any(|existing| existing.as_text() == item.as_text()) {
                    items.push(item);
                }
            }
        }
        self.merge(later);
    }
}

struct Reader<'a> {
    text: &'a Substituted,
    source: &'a Arc<Source>,
    lines: Vec<usize>,
    path: Vec<String>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    /// `start` is where the value's key stands, or the value itself in a list.
    fn node(&mut self, value: ast::Value<'_>, start: usize) -> Option<Node> {
        let place = Place { source: Arc::clone(self.source), line: self.lines.partition_point(|&line| line <= start) };
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
            ast::Value::NumberLit(literal) => match literal.value.parse() {
                Ok(number) => Value::Number(number),
                Err(_) => {
                    self.problems.push(place.problem(self.path.join("."), "this number cannot be represented"));
                    return None;
                }
            },
            ast::Value::StringLit(literal) => {
                let (mut variables, mut from_file) = (Vec::new(), false);
                for (range, insert) in &self.text.inserts {
                    if range.start < literal.range.start || literal.range.end < range.end {
                        continue;
                    }
                    match insert {
                        Insert::Variable(name) => variables.push(name.clone()),
                        Insert::File => from_file = true,
                        Insert::Unreadable(text) => {
                            self.problems.push(place.problem(self.path.join("."), text.clone()));
                            return None;
                        }
                    }
                }
                Value::Text { text: literal.value.into_owned(), variables, from_file, filled: None }
            }
            ast::Value::Array(array) => {
                let mut items = Vec::new();
                for (index, element) in array.elements.into_iter().enumerate() {
                    let start = jsonc_parser::common::Ranged::start(&element);
                    self.path.push(index.to_string());
                    items.extend(self.node(element, start));
                    self.path.pop();
                }
                Value::List(items)
            }
            ast::Value::Object(object) => {
                let mut entries = Entries::default();
                for property in object.properties {
                    let key = property.name.into_string();
                    self.path.push(key.clone());
                    if let Some(node) = self.node(property.value, property.range.start) {
                        entries.set(key, node);
                    }
                    self.path.pop();
                }
                entries.into_value()
            }
        };
        Some(Node { place, value })
    }
}

fn strict_but_comments() -> jsonc_parser::ParseOptions {
    jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(index, _)| index + 1)).collect()
}
