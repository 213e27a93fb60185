//! What the rules, the grants and the editor say to each need of a call. Asks nobody.

use std::borrow::Cow;
use std::path::Path;

use super::RunnerDeps;
use super::access::{Need, Subject, UNCONFINED};
use crate::permission::{self, Decision, Mode, Rule, Verdict};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decided {
    Allowed,
    /// Why, for the user (R9.4).
    Asked(String),
    /// Why, for the model.
    Denied(String),
}

pub(super) fn decide(deps: &RunnerDeps, need: &Need) -> Decided {
    let decision = by_rules(deps, need);
    let rule = || match &decision.rule {
        Some(rule) => format!("rule {rule}"),
        None => "no rule allows it".to_owned(),
    };
    match decision.verdict {
        Verdict::Deny => Decided::Denied(format!("{}: denied by {}", need.what, rule())),
        Verdict::Ask => Decided::Asked(format!("{}: {}", need.what, rule())),
        Verdict::Allow => match reservation(deps, need, &decision) {
            Some(reservation) => Decided::Asked(format!("{}: {reservation}", need.what)),
            None => Decided::Allowed,
        },
    }
}

fn by_rules(deps: &RunnerDeps, need: &Need) -> Decision {
    let rules = &deps.agent.rules;
    let by_alias: Cow<'_, [Rule]> = match &need.subject {
        // Other patterns are relative, and meant for the relative names.
        Subject::Read | Subject::Edit { .. } => {
            rules.iter().filter(|rule| is_absolute(&rule.pattern)).cloned().collect()
        }
        Subject::Folder(_) | Subject::Command(_) | Subject::Unconfined(_) | Subject::Search | Subject::Session => {
            rules.into()
        }
    };
    let by_alias: Vec<Decision> = need
        .aliases
        .iter()
        .map(|alias| permission::decide(&need.permission, std::slice::from_ref(alias), &by_alias, &[]))
        .collect();
    if let Some(denied) = by_alias.iter().find(|decision| decision.verdict == Verdict::Deny) {
        return denied.clone();
    }
    let grants: Vec<_> = need.values.iter().flat_map(|value| deps.grants.rules_for(&need.permission, value)).collect();
    let decision = permission::decide(&need.permission, &need.values, rules, &grants);
    match by_alias.into_iter().find(Decision::is_asked_by_guard) {
        Some(asked) if decision.verdict == Verdict::Allow => asked,
        _ => decision,
    }
}

/// Whether it is asked each time, whatever the answer was.
pub(super) fn is_always_asked(deps: &RunnerDeps, need: &Need) -> bool {
    by_rules(deps, need).is_asked_by_guard()
}

pub(super) fn is_absolute(pattern: &str) -> bool {
    Path::new(pattern).is_absolute()
}

/// Why an allowing rule is not enough.
fn reservation(deps: &RunnerDeps, need: &Need, decision: &Decision) -> Option<String> {
    match &need.subject {
        Subject::Read | Subject::Folder(_) | Subject::Search | Subject::Session => None,
        Subject::Edit { key, is_plain } => {
            let editor = &deps.connection.editor;
            let is_shown = editor.edits_are_free() && deps.connection.overlay.get(key).is_some();
            let is_free = is_shown || *is_plain && deps.mode() >= Mode::Workspace;
            let text = "edits that the editor cannot show and take back are asked unless a rule of yours allows them";
            (!is_free && !decision.is_allowed_by_user()).then(|| text.to_owned())
        }
        // A rule for everything was not written with this in mind.
        Subject::Unconfined(_) if !decision.rule.as_ref().is_some_and(|rule| rule.permission == UNCONFINED) => {
            Some(format!("that is asked unless a rule of yours for {UNCONFINED} allows it"))
        }
        Subject::Command(text) | Subject::Unconfined(text) => {
            if !decision.is_allowed_by_user() {
                return Some("commands are asked unless a rule of yours allows them".to_owned());
            }
            let rule = decision.rule.as_ref()?;
            let is_whole = rule.pattern == "*" || rule.pattern == *text;
            (!is_whole && !is_simple(text))
                .then(|| format!("rule {rule} covers single commands, and this text may hold several"))
        }
    }
}

/// One command without anything that could start another: what a pattern like `git *` speaks of.
fn is_simple(command: &str) -> bool {
    !command.contains(|c: char| ";|&<>$`(){}!\n\r\\".contains(c) || c.is_control())
}
