//! Trees to typed values through serde, in such a way that a broken key is named with its line and left out alone. Values never get into an error.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Unexpected, Visitor};

use super::Problem;
use super::node::{Node, Value};

/// What cannot be decoded is taken out of the tree and told; a permission that cannot be read asks.
pub(super) fn decode<T: de::DeserializeOwned + Default>(tree: &mut Node, problems: &mut Vec<Problem>) -> T {
    loop {
        let error = match T::deserialize(&*tree) {
            Ok(value) => return value,
            Err(error) => error,
        };
        let path: Vec<String> = error.path.into_iter().rev().collect();
        let Some((place, asks)) = drop_at(tree, &path) else { return T::default() };
        let consequence = if asks { "; until it is mended, this asks" } else { "" };
        problems.push(place.problem(path.join("."), format!("{}{consequence}", error.text)));
    }
}

/// Where it stood, and whether an `ask` stands there now.
fn drop_at(tree: &mut Node, path: &[String]) -> Option<(super::node::Place, bool)> {
    let (last, parents) = path.split_last()?;
    let mut parent = tree;
    for step in parents {
        parent = child(parent, step)?;
    }
    let in_permission = match path {
        [first, ..] if first == "permission" => true,
        [first, _, third, ..] => (first == "agent" || first == "mode") && third == "permission",
        _ => false,
    };
    if in_permission {
        let broken = parent.get_mut(last)?;
        *broken = Node::text(&broken.place, "ask");
        return Some((broken.place.clone(), true));
    }
    let dropped = match &mut parent.value {
        Value::List(items) => {
            let index = last.parse::<usize>().ok().filter(|&index| index < items.len())?;
            items.remove(index)
        }
        _ => parent.take(last)?,
    };
    Some((dropped.place, false))
}

fn child<'a>(node: &'a mut Node, step: &str) -> Option<&'a mut Node> {
    match &mut node.value {
        Value::List(items) => items.get_mut(step.parse::<usize>().ok()?),
        Value::Map(entries) => entries.iter_mut().find(|(name, _)| name == step).map(|(_, node)| node),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text { .. } => None,
    }
}

#[derive(Debug)]
pub(super) struct Error {
    /// From the inside out.
    path: Vec<String>,
    text: String,
}

impl Error {
    fn below(mut self, step: &str) -> Self {
        self.path.push(step.to_owned());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self { path: Vec::new(), text: text.to_string() }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("expected {expected}, found {}", kind(found)))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("expected {expected}"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!("expected one of `{}`", expected.join("`, `")))
    }
}

fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "true or false",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a whole number",
        Unexpected::Float(_) => "a number with a fraction",
        Unexpected::Str(_) | Unexpected::Char(_) => "a text",
        Unexpected::Seq => "a list",
        Unexpected::Map => "an object",
        _ => "something else",
    }
}

impl<'de> Deserializer<'de> for &Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (None, Some(value)) => visitor.visit_i64(value),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::Text { text, .. } => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(Items { items: items.iter().enumerate() }),
            Value::Map(entries) => visitor.visit_map(Entries { entries: entries.iter(), current: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.as_text() {
            Some(text) => visitor.visit_enum(text.into_deserializer()),
            None => Err(de::Error::unknown_variant("", variants)),
        }
    }

    /// Derived visitors would take a list for the fields in their order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.value {
            Value::List(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map identifier
        ignored_any
    }
}

struct Items<'a> {
    items: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some((index, item)) = self.items.next() else { return Ok(None) };
        seed.deserialize(item).map(Some).map_err(|error| error.below(&index.to_string()))
    }
}

/// `null` is as good as absent.
struct Entries<'a> {
    entries: std::slice::Iter<'a, (String, Node)>,
    current: Option<&'a (String, Node)>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.current = self.entries.find(|(_, node)| !matches!(node.value, Value::Null));
        let Some((key, _)) = self.current else { return Ok(None) };
        seed.deserialize(key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some((key, node)) = self.current.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(node).map_err(|error| error.below(key))
    }
}
