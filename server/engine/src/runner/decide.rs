//! What the rules, the grants, the mode and the editor say to each need of a call. Asks nobody.

use std::path::Path;

use super::RunnerDeps;
use super::access::{Need, Subject, UNCONFINED, WEBFETCH};
use super::command::Line;
use crate::permission::{self, Decision, Mode, Rule, Shape, Verdict};
use crate::web::{WebAddress, pattern};
use copydesk_workspace::path::DocKey;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decided {
    Allowed,
    /// Why, for the user (R9.4).
    Asked(String),
    /// Why, for the model.
    Denied(String),
}

/// What allows a call that is about to run, a line for each need, for people (R9.4). Each once, the first of many.
pub(super) fn grounds<'n>(deps: &RunnerDeps, needs: impl Iterator<Item = &'n Need>) -> Vec<String> {
    const MOST: usize = 32;
    let mut grounds: Vec<String> = Vec::new();
    for need in needs {
        if grounds.len() == MOST {
            break;
        }
        let ground = ground(deps, need);
        if !grounds.contains(&ground) {
            grounds.push(ground);
        }
    }
    grounds
}

fn ground(deps: &RunnerDeps, need: &Need) -> String {
    let granted = |permission: &str, value: &str| deps.grants.rules_for(&deps.agent.name, permission, value);
    let what = &need.what;
    let decision = by_rules(deps, need, &granted);
    if decide(deps, need) != Decided::Allowed {
        return format!("{what}: your answer to this question");
    }
    if decision.verdict != Verdict::Allow || reservation(deps, need, &decision).is_some() {
        return format!("{what}: this very command is allowed");
    }
    let mode = deps.mode();
    match (&need.subject, &decision.rule) {
        (_, Some(rule)) if rule.origin.is_users() => format!("{what}: rule {rule}"),
        (Subject::Command(simple), _) if simple.free_in == Some(Mode::Ask) => {
            format!("{what}: it is known to do nothing but read")
        }
        (Subject::Command(_) | Subject::Written { .. }, _) => format!("{what}: mode {mode}"),
        (Subject::Edit { key, is_plain }, _) => match is_reached(deps, key, *is_plain) {
            Some(by) => format!("{what}: {by}"),
            None => format!("{what}: mode {mode}"),
        },
        (_, Some(rule)) => format!("{what}: rule {rule}"),
        (_, None) => format!("{what}: every command is allowed"),
    }
}

/// The rules that grants make for one value of a permission.
type Granted<'a> = dyn Fn(&str, &str) -> Vec<Rule> + 'a;

pub(super) fn decide(deps: &RunnerDeps, need: &Need) -> Decided {
    decide_with(deps, need, &|permission, value| deps.grants.rules_for(&deps.agent.name, permission, value))
}

/// Whether an answer for good would be one: what a guard asks is asked every time.
pub(super) fn can_be_granted(deps: &RunnerDeps, need: &Need) -> bool {
    let agent = &deps.agent.name;
    let grants = need.grants(agent);
    let granted = |permission: &str, value: &str| {
        grants.iter().filter_map(|grant| grant.rule_for(agent, permission, value)).collect()
    };
    decide_with(deps, need, &granted) == Decided::Allowed
}

/// The rule that speaks of it, grants left aside.
pub(super) fn rule_of(deps: &RunnerDeps, need: &Need) -> Option<Rule> {
    by_rules(deps, need, &|_, _| Vec::new()).rule
}

fn decide_with(deps: &RunnerDeps, need: &Need, granted: &Granted<'_>) -> Decided {
    let decision = by_rules(deps, need, granted);
    let what = &need.what;
    let asked_by = match (decision.verdict, &decision.rule) {
        (Verdict::Deny, Some(rule)) => return Decided::Denied(format!("{what}: denied by rule {rule}")),
        (Verdict::Deny, None) => return Decided::Denied(format!("{what}: denied")),
        (Verdict::Ask, Some(rule)) => Some(format!("asked by rule {rule}")),
        (Verdict::Ask, None) => Some("no rule allows it".to_owned()),
        (Verdict::Allow, _) => reservation(deps, need, &decision),
    };
    match asked_by {
        Some(reason) if decision.is_asked_by_guard() || !is_allowed_as_text(deps, need, granted) => {
            Decided::Asked(format!("{what}: {reason}"))
        }
        Some(_) | None => Decided::Allowed,
    }
}

fn by_rules(deps: &RunnerDeps, need: &Need, granted: &Granted<'_>) -> Decision {
    let rules = &deps.agent.rules;
    let with_aliases = |rules: &[Rule], speaks: &dyn Fn(&&Rule) -> bool| {
        let of_alias: Vec<Rule> = rules.iter().filter(speaks).cloned().collect();
        let mut is_granted = false;
        let mut decision: Option<Decision> = None;
        for value in &need.values {
            // Each with its own grants: as a pattern, that of one value could match another.
            let grants = granted(&need.permission, value);
            is_granted |= !grants.is_empty();
            let next = permission::decide(&need.permission, std::slice::from_ref(value), rules, &grants);
            decision = Some(decision.map_or(next.clone(), |strictest| strictest.or_stricter(next)));
        }
        let decision = decision.unwrap_or(Decision { verdict: Verdict::Ask, rule: None });
        strictest(decision, by_aliases(need, &of_alias, is_granted))
    };
    match &need.subject {
        // Patterns that are not absolute are relative, and meant for the relative names.
        Subject::Read | Subject::Edit { .. } | Subject::Written { .. } => {
            with_aliases(rules, &|rule| is_absolute(&rule.pattern))
        }
        // What is said of every command was said of the command itself.
        Subject::Command(simple) => {
            let decision = with_aliases(&[rules.as_slice(), &simple.guards].concat(), &|rule| rule.pattern != "*");
            let decision = strictest(decision, by_shapes(need, &simple.shapes, rules, granted));
            strictest(decision, by_spellings_without_options(need, &simple.without_options, rules, granted))
        }
        // Whoever allows every command says so in `reservation`.
        Subject::Together => Decision { verdict: Verdict::Allow, rule: None },
        // What is said of every address was said of the address itself.
        Subject::Fetch(address) => with_aliases(&of_address(rules, address), &|rule| rule.pattern != "*"),
        Subject::Folder(_) | Subject::Unconfined | Subject::Search | Subject::Session => with_aliases(rules, &|_| true),
        Subject::Anywhere { .. } => permission::at_worst(&need.permission, rules),
        Subject::Unclear { guards } => unclear(deps, need, guards, granted),
    }
}

/// The rules as they are held against an address: in its spelling, those that allow some hosts against its host alone.
fn of_address(rules: &[Rule], address: &WebAddress) -> Vec<Rule> {
    let speaking = rules.iter().filter(|rule| permission::wildcard_match(WEBFETCH, &rule.permission));
    let spelled = speaking.map(|rule| Rule { pattern: pattern::spelled(&rule.pattern), ..rule.clone() });
    spelled.filter(|rule| rule.verdict != Verdict::Allow || pattern::is_of_host(&rule.pattern, address)).collect()
}

/// A rule that the thing meets under a further name: it denies, or asks where nothing was granted; it never allows.
fn by_aliases(need: &Need, rules: &[Rule], is_granted: bool) -> Option<Decision> {
    let decisions = need
        .aliases
        .iter()
        .map(|alias| permission::decide(&need.permission, std::slice::from_ref(alias), rules, &[]))
        .filter(|decision| decision.rule.is_some());
    let is_named_freely = matches!(need.subject, Subject::Command(_) | Subject::Fetch(_));
    decisions
        .filter(|decision| match decision.verdict {
            Verdict::Deny => true,
            Verdict::Ask => decision.is_asked_by_guard() || is_named_freely && !is_granted,
            Verdict::Allow => false,
        })
        .max_by_key(|decision| decision.verdict)
}

/// A narrower rule that may be meant once the disk, the input or a variable has told the words: asked at least.
fn by_shapes(need: &Need, shapes: &[Shape], rules: &[Rule], granted: &Granted<'_>) -> Option<Decision> {
    let met = permission::may_meet(&need.permission, shapes, rules)?;
    let is_granted = || need.values.iter().any(|value| !granted(&need.permission, value).is_empty());
    let is_lifted = met.verdict == Verdict::Ask && is_granted();
    (!is_lifted).then_some(Decision { verdict: Verdict::Ask, rule: Some(met) })
}

/// A rule that speaks of the command as it is without options, and not of it as it stands: it denies, or asks where nothing was granted.
fn by_spellings_without_options(
    need: &Need,
    spellings: &[String],
    rules: &[Rule],
    granted: &Granted<'_>,
) -> Option<Decision> {
    let meets = |rule: &Rule, value: &String| permission::wildcard_match(value, &rule.pattern);
    let others = rules.iter().filter(|rule| !need.values.iter().any(|value| meets(rule, value)));
    let others: Vec<Rule> = others.cloned().collect();
    let is_granted = || need.values.iter().any(|value| !granted(&need.permission, value).is_empty());
    spellings
        .iter()
        .map(|spelling| permission::decide(&need.permission, std::slice::from_ref(spelling), &others, &[]))
        .filter(|decision| decision.rule.is_some())
        .filter(|decision| match decision.verdict {
            Verdict::Deny => true,
            Verdict::Ask => !is_granted(),
            Verdict::Allow => false,
        })
        .max_by_key(|decision| decision.verdict)
}

fn strictest(decision: Decision, other: Option<Decision>) -> Decision {
    match other {
        Some(other) if other.verdict > decision.verdict => other,
        _ => decision,
    }
}

/// Only who allows every command, with none excepted, allows what is not understood: it could be any of them.
fn unclear(deps: &RunnerDeps, need: &Need, guards: &[Rule], granted: &Granted<'_>) -> Decision {
    let rules = &deps.agent.rules;
    let names = [need.values.as_slice(), &need.aliases].concat();
    let denied = permission::decide(&need.permission, &names, rules, &[]);
    if denied.verdict == Verdict::Deny {
        return denied;
    }
    if let Some(guard) = guards.first() {
        return Decision { verdict: Verdict::Ask, rule: Some(guard.clone()) };
    }
    let worst = permission::at_worst(&need.permission, rules);
    // Which value it is makes no difference to an answer for all of them, and no other covers this one.
    match granted(&need.permission, "").into_iter().next() {
        Some(grant) if worst.verdict != Verdict::Deny => Decision { verdict: Verdict::Allow, rule: Some(grant) },
        _ => worst,
    }
}

/// Whether the user has allowed the whole command line as it stands, by an answer or by a rule without wildcards: what its parts would be asked for was
/// then answered too.
fn is_allowed_as_text(deps: &RunnerDeps, need: &Need, granted: &Granted<'_>) -> bool {
    let Some(part) = &need.part else { return false };
    let Line { text, .. } = &*part.line;
    let (permission, value) = part.line.whole();
    let has_answered = !granted(permission, &value).is_empty();
    let text = text.trim();
    let decision = permission::decide("bash", &[text.to_owned()], &deps.agent.rules, &[]);
    let is_exact = |rule: &Rule| rule.pattern == text && !rule.pattern.contains(['*', '?']);
    has_answered || decision.is_allowed_by_user() && decision.rule.as_ref().is_some_and(is_exact)
}

/// Whether the user sees the edit of this file and can take it back: by what, in words for him. What starts a program as soon as it is saved is not taken
/// back by that, be it open or not.
fn is_reached(deps: &RunnerDeps, key: &DocKey, is_plain: bool) -> Option<&'static str> {
    if !is_plain {
        return None;
    }
    let free = deps.connection.editor.free_edits();
    if free.shown && deps.connection.overlay.get(key).is_some() {
        return Some("the editor shows it and can take it back");
    }
    (free.undoable && deps.recording.works()).then_some("it is shown, and undo takes it back")
}

pub(super) fn is_absolute(pattern: &str) -> bool {
    Path::new(pattern).is_absolute()
}

/// Why an allowing rule is not enough.
fn reservation(deps: &RunnerDeps, need: &Need, decision: &Decision) -> Option<String> {
    let is_allowed = decision.is_allowed_by_user();
    let allows_every_command = || {
        let rule = permission::catch_all("bash", &deps.agent.rules);
        rule.is_some_and(|rule| rule.verdict == Verdict::Allow && rule.origin.is_users())
    };
    let (is_free, text) = match &need.subject {
        Subject::Read | Subject::Folder(_) | Subject::Search | Subject::Session => return None,
        Subject::Edit { key, is_plain } => {
            let is_free = is_reached(deps, key, *is_plain).is_some() || *is_plain && deps.mode() >= Mode::Workspace;
            (
                is_free,
                "edits that nothing here shows and takes back are asked unless a rule of yours or the mode allows them",
            )
        }
        Subject::Written { is_plain, is_reserved } => {
            let is_free = !is_reserved || *is_plain && deps.mode() >= Mode::Workspace || allows_every_command();
            (is_free, "what a command writes past the editor is asked unless a rule of yours allows its edit")
        }
        Subject::Anywhere { is_reserved } => {
            (!is_reserved || allows_every_command(), "files that its words do not name are asked")
        }
        Subject::Command(simple) => {
            let is_free = simple.free_in.is_some_and(|least| deps.mode() >= least);
            let text = "commands are asked unless a rule of yours allows them";
            if let Some(unseen) = simple.unseen.as_ref().filter(|_| !is_free && !is_allowed) {
                return Some(format!("{text}, and the words of this one do not tell all that runs ({unseen})"));
            }
            (is_free, text)
        }
        Subject::Together => {
            (allows_every_command(), "run it by itself to keep the network from it, or allow the whole command")
        }
        // A rule for everything was not written with this in mind.
        Subject::Unconfined => {
            let is_named = decision.rule.as_ref().is_some_and(|rule| rule.permission == UNCONFINED);
            let text = format!("that is asked unless a rule of yours for {UNCONFINED} allows it");
            return (!is_named || !is_allowed).then_some(text);
        }
        Subject::Fetch(_) => (false, "addresses are asked unless a rule of yours allows them"),
        Subject::Unclear { .. } => {
            (false, "what is not understood is asked unless a rule of yours allows every command")
        }
    };
    (!is_free && !is_allowed).then(|| text.to_owned())
}
