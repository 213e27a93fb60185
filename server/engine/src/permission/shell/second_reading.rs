//! A second reading of a bash text, by the grammar of tree-sitter: where it finds an error, or a command that `reader` did not find, one of both is wrong
//! about the text, and it is not understood. Nothing else is taken from it.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser};

use super::syntax::Script;

/// Steps of the parser (each some hundred of its operations) for a text, and for each of its bytes. Ordinary texts need less than one for ten bytes.
const STEPS: usize = 2_000;
const STEPS_PER_BYTE: usize = 1;

/// `None`: it agrees. Else the bytes of `text` that it reads otherwise.
pub(super) fn disagreement(text: &str, script: &Script) -> Option<Range<usize>> {
    if let Some(unreadable) = unreadable(text) {
        return Some(unreadable);
    }
    let whole = 0..text.len();
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return Some(whole);
    }
    let mut left = STEPS + STEPS_PER_BYTE * text.len();
    let mut count = |_: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut count);
    let Some(tree) =
        parser.parse_with_options(&mut |at, _| text.as_bytes().get(at..).unwrap_or_default(), None, Some(options))
    else {
        return Some(whole);
    };
    if tree.root_node().has_error() {
        return Some(first_error(tree.root_node()).unwrap_or(whole));
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if let Some(start) = command_start(node, text) {
            let known = script.starts.contains(&start) || script.displaced.iter().any(|part| part.contains(&start));
            if !known {
                return Some(node.byte_range());
            }
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

/// Behind a brace and digits the grammar's scanner asks C's `isdigit` of whatever comes (tree-sitter-bash 0.25.1, `brace_start`), which looks it up in a
/// table of 256: letters of the high planes lie so far behind its end that the process dies.
fn unreadable(text: &str) -> Option<Range<usize>> {
    text.match_indices('{').find_map(|(start, _)| {
        let behind = text[start + 1..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let letter = behind.chars().next().filter(|letter| *letter > '\u{ff}')?;
        Some(start..text.len() - behind.len() + letter.len_utf8())
    })
}

fn command_start(node: Node<'_>, text: &str) -> Option<usize> {
    let is_command = match node.kind() {
        // A reserved word, but not to this grammar.
        "command_name" => &text[node.byte_range()] != "time",
        "declaration_command" | "unset_command" => true,
        "test_command" => !text[node.byte_range()].starts_with("[["),
        _ => false,
    };
    is_command.then(|| node.start_byte())
}

fn first_error(root: Node<'_>) -> Option<Range<usize>> {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return Some(node.byte_range());
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}
