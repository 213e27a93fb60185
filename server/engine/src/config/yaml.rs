//! YAML to the same tree as JSON, for the heads of Markdown files. No anchors, no tags, one document; nothing that a hostile file could make grow.

use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Number;

use super::node::{Entries, Node, Place, Value};
use super::{Problem, Source};

/// Deeper than any configuration, and shallow enough for every stack.
const MAX_DEPTH: usize = 32;

/// `None` where there is nothing in it. `first_line` is the line of the file on which `text` begins.
pub(super) fn parse(text: &str, source: &Arc<Source>, first_line: usize) -> Result<Option<Node>, Problem> {
    let place = |line: usize| Place { source: Arc::clone(source), line: first_line + line.max(1) - 1 };
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let text = format!("column {}: this is not valid YAML: {}", error.marker().col() + 1, error.info());
            place(error.marker().line()).problem(String::new(), text)
        })?;
        let here = place(span.start.line());
        let finished = match event {
            Event::Scalar(text, style, ..) => Some(Node { value: scalar(&text, style), place: here }),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                return Err(here.problem(String::new(), "this is nested too deeply"));
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(here, Vec::new()));
                None
            }
            Event::MappingStart(..) => {
                open.push(Open::Map { place: here, entries: Entries::default(), key: None });
                None
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(Open::finish),
            Event::Alias(_) => return Err(here.problem(String::new(), "anchors and aliases are not read here")),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                None
            }
        };
        let Some(node) = finished else { continue };
        match open.last_mut() {
            None => return Ok(Some(node).filter(|node| !matches!(node.value, Value::Null))),
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                Some((name, place)) => entries.set(name, Node { place, value: node.value }),
                None => *key = Some((key_name(&node)?, node.place)),
            },
        }
    }
    Ok(None)
}

enum Open {
    List(Place, Vec<Node>),
    Map { place: Place, entries: Entries, key: Option<(String, Place)> },
}

impl Open {
    fn finish(self) -> Node {
        match self {
            Open::List(place, items) => Node { place, value: Value::List(items) },
            Open::Map { place, entries, .. } => Node { place, value: entries.into_value() },
        }
    }
}

fn key_name(node: &Node) -> Result<String, Problem> {
    match &node.value {
        Value::Text { text, .. } => Ok(text.clone()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => {
            Err(node.place.problem(String::new(), "expected a text as the name of a key"))
        }
    }
}

/// By YAML's core schema, as far as configuration needs it.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    let as_text = || Value::plain(text);
    if style != ScalarStyle::Plain {
        return as_text();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => Value::Number(number.into()),
            (Err(_), Ok(number)) => Number::from_f64(number).map_or_else(as_text, Value::Number),
            (Err(_), Err(_)) => as_text(),
        },
    }
}
