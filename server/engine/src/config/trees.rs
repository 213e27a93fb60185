//! What loading asks of whole trees of configuration.

use std::sync::Arc;

use super::Source;
use super::node::{Node, Value};

/// Later trees win.
pub(super) fn merged<'a>(trees: impl Iterator<Item = &'a Node>) -> Node {
    let nowhere = Arc::new(Source::Variable(String::new()));
    let mut result = Node::empty_map(&nowhere);
    for tree in trees {
        result.merge_config(tree.clone());
    }
    result
}

/// Of a map below `key`; none where it is something else.
pub(super) fn keys(tree: &Node, key: &str) -> Vec<String> {
    match tree.get(key).map(|node| &node.value) {
        Some(Value::Map(entries)) => entries.iter().map(|(name, _)| name.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Whether `key` stands there with anything but `false`.
pub(super) fn is_on(tree: &Node, key: &str) -> bool {
    tree.get(key).is_some_and(|node| !matches!(node.value, Value::Bool(false) | Value::Null))
}
