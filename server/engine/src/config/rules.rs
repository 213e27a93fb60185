//! Permission rules out of a checked tree, each with the place where it stands.

use copydesk_workspace::path::AbsPath;

use super::Source;
use super::node::{Node, Place, Value};
use super::raw::verdict;
use crate::permission::{Origin, Rule, Ruleset, Verdict};

/// Who wrote the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    User,
    /// A project that is not trusted: its rules only tighten.
    Project,
    /// A project whose permissions the user trusts.
    TrustedProject,
}

/// The rules of `owner`, a configuration or an agent of one: those of the old `tools` map, then those of `permission`.
pub(super) fn rules(owner: Option<&Node>, author: Author, home: &AbsPath) -> Ruleset {
    let Some(owner) = owner else { return Vec::new() };
    let switches = owner.get("tools").map(Node::entries).unwrap_or_default().iter().filter_map(|(tool, node)| {
        let verdict = match node.value {
            Value::Bool(true) => Verdict::Allow,
            Value::Bool(false) => Verdict::Deny,
            _ => return None,
        };
        Some(rule(switched(tool), "*", verdict, &node.place, author, home))
    });
    let permissions = owner.get("permission").map(Node::entries).unwrap_or_default().iter().flat_map(|(name, node)| {
        let by_pattern = node.entries().iter().map(|(pattern, node)| (pattern.as_str(), node));
        std::iter::once(("*", node)).chain(by_pattern).filter_map(move |(pattern, node)| {
            let verdict = verdict(node.as_text()?)?;
            Some(rule(name, pattern, verdict, &node.place, author, home))
        })
    });
    switches.chain(permissions).collect()
}

/// The permission that a switch of `tools` is a rule for. The ways to change files are one for opencode; that of patches is switched by itself, so that a
/// model which prefers it can be made to edit.
fn switched(tool: &str) -> &str {
    match tool {
        "write" | "edit" | "patch" => "edit",
        other => other,
    }
}

fn rule(permission: &str, pattern: &str, verdict: Verdict, place: &Place, author: Author, home: &AbsPath) -> Rule {
    let line = Some(place.line);
    let origin = match (place.source.as_ref(), author) {
        (Source::File(file), Author::User) => Origin::Config { file: file.clone(), line },
        (Source::File(file), Author::Project) => Origin::Project { file: file.clone(), line },
        (Source::File(file), Author::TrustedProject) => Origin::Trusted { file: file.clone(), line },
        (Source::Editor, _) => Origin::Editor,
        (Source::Variable(name), _) => Origin::Variable { name: name.clone() },
    };
    Rule { permission: permission.to_owned(), pattern: expand_home(pattern, home), verdict, origin }
}

/// A leading `~/` or `$HOME`, or `~` alone; nothing else.
pub(super) fn expand_home(pattern: &str, home: &AbsPath) -> String {
    let rest = match pattern {
        "~" => "",
        _ if pattern.starts_with("~/") => &pattern[1..],
        _ => match pattern.strip_prefix("$HOME") {
            Some(rest) => rest,
            None => return pattern.to_owned(),
        },
    };
    format!("{home}{rest}")
}
