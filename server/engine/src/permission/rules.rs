//! Rules in opencode's forms, and how they are evaluated: of those that match the last wins; a deny beats a grant, and each guard beats all.

use std::borrow::Cow;
use std::fmt;

use copydesk_workspace::path::AbsPath;
use serde::{Deserialize, Serialize};

use super::guard::Guard;
use super::wildcard::{Shape, Wildcard};
use super::wildcard_match;

/// In order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Itself a wildcard: `edit`, `mymcp_*`, `*`.
    pub permission: String,
    pub pattern: String,
    pub verdict: Verdict,
    pub origin: Origin,
}

/// For the user and the model (R9.4): `edit "*.md": deny (/home/u/.config/copydesk/copydesk.jsonc:4)`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}: {} ({})", self.permission, self.pattern, self.verdict, self.origin)
    }
}

/// Where a rule stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Origin {
    /// The base of every agent.
    Default,
    /// What a built-in agent adds to the base; configuration overrides it.
    Agent { name: String },
    /// What holds whatever configuration and grants say.
    Guard { guard: Guard },
    /// Configuration of a project that nobody has trusted: it makes a verdict stricter, never milder.
    Project { file: AbsPath, line: Option<usize> },
    /// Configuration of a project whose permissions the user trusts.
    Trusted { file: AbsPath, line: Option<usize> },
    /// The editor's settings, which may be the project's.
    Editor,
    /// `line` is one-based.
    Config { file: AbsPath, line: Option<usize> },
    /// An environment variable that holds configuration.
    Variable { name: String },
    /// The user's answer to an ask.
    Grant,
}

impl Origin {
    /// Whether the user wrote or said it, as against what holds without a word of his.
    pub fn is_users(&self) -> bool {
        match self {
            Origin::Default | Origin::Agent { .. } | Origin::Guard { .. } | Origin::Project { .. } | Origin::Editor => {
                false
            }
            Origin::Config { .. } | Origin::Trusted { .. } | Origin::Variable { .. } | Origin::Grant => true,
        }
    }

    /// Whether it stands in the user's own configuration.
    fn is_own(&self) -> bool {
        matches!(self, Origin::Config { .. } | Origin::Variable { .. })
    }

    fn is_in_trusted_project(&self) -> bool {
        matches!(self, Origin::Trusted { .. })
    }

    fn is_in(&self, layer: Layer) -> bool {
        match self {
            Origin::Default
            | Origin::Agent { .. }
            | Origin::Config { .. }
            | Origin::Variable { .. }
            | Origin::Grant => matches!(layer, Layer::Own | Layer::Open),
            Origin::Trusted { .. } => layer == Layer::Open,
            Origin::Project { .. } | Origin::Editor => layer == Layer::Project,
            Origin::Guard { guard } => layer == Layer::Guard(*guard),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("built-in default"),
            Origin::Agent { name } => write!(f, "built into agent {name}"),
            Origin::Guard { guard } => guard.fmt(f),
            Origin::Config { file, line: Some(line) }
            | Origin::Project { file, line: Some(line) }
            | Origin::Trusted { file, line: Some(line) } => {
                write!(f, "{file}:{line}")
            }
            Origin::Config { file, line: None }
            | Origin::Project { file, line: None }
            | Origin::Trusted { file, line: None } => file.fmt(f),
            Origin::Editor => f.write_str("the editor's settings"),
            Origin::Variable { name } => write!(f, "variable {name}"),
            Origin::Grant => f.write_str("your answer to an earlier question"),
        }
    }
}

/// In each of these the last match wins by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    /// What holds without any project.
    Own,
    /// The same with the rules of a trusted project, in order.
    Open,
    /// Of a project that nobody has trusted.
    Project,
    Guard(Guard),
}

impl Layer {
    fn all() -> impl Iterator<Item = Self> {
        [Self::Own, Self::Open, Self::Project].into_iter().chain(Guard::ALL.map(Self::Guard))
    }

    /// The value as the rules of this layer are held against it: what holds secrets is known however its name is spelled.
    fn sees<'a>(&self, value: &'a str) -> Cow<'a, str> {
        if *self == Layer::Guard(Guard::Secrets) && value.contains(char::is_uppercase) {
            Cow::Owned(value.to_lowercase())
        } else {
            Cow::Borrowed(value)
        }
    }
}

/// In order: later rules win.
pub type Ruleset = Vec<Rule>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// `None`: no rule matched, which asks.
    pub rule: Option<Rule>,
}

impl Decision {
    /// Allowed for every pattern by a rule or a grant of the user's, not merely by a built-in rule.
    pub fn is_allowed_by_user(&self) -> bool {
        self.verdict == Verdict::Allow && self.rule.as_ref().is_some_and(|rule| rule.origin.is_users())
    }

    /// Asked by a guard, so that no answer stands for good.
    pub fn is_asked_by_guard(&self) -> bool {
        let by = self.rule.as_ref().map(|rule| &rule.origin);
        self.verdict == Verdict::Ask && matches!(by, Some(Origin::Guard { guard }) if !guard.yields_to_names())
    }

    /// Of equal ones the first.
    pub(crate) fn or_stricter(self, next: Self) -> Self {
        if next.strictness() > self.strictness() { next } else { self }
    }

    /// Of two allows the built-in one is the stricter, so that `is_allowed_by_user` speaks of all patterns.
    fn strictness(&self) -> (Verdict, bool) {
        (self.verdict, !self.rule.as_ref().is_some_and(|rule| rule.origin.is_users()))
    }
}

/// Of several patterns the strictest verdict, of equal ones the first; without any pattern it asks. `grants` come after `rules`, but lift no deny. Rules
/// of a trusted project stand among the user's, but lift no deny of his. Rules of an untrusted project and guards stand beside the others, wherever they stand in the list: each can only make the verdict stricter, and of the two
/// grants lift only what the project asks.
pub fn decide(permission: &str, patterns: &[String], rules: &[Rule], grants: &[Rule]) -> Decision {
    patterns
        .iter()
        .map(|pattern| decide_one(permission, pattern, rules, grants))
        .reduce(Decision::or_stricter)
        .unwrap_or(Decision { verdict: Verdict::Ask, rule: None })
}

fn decide_one(permission: &str, pattern: &str, rules: &[Rule], grants: &[Rule]) -> Decision {
    let matching =
        |rule: &&Rule| wildcard_match(permission, &rule.permission) && wildcard_match(pattern, &rule.pattern);
    let last = |layer: Layer| {
        let value = layer.sees(pattern);
        let of_layer = rules.iter().rev().filter(|rule| rule.origin.is_in(layer));
        of_layer
            .filter(|rule| wildcard_match(permission, &rule.permission))
            .find(|rule| wildcard_match(&value, &rule.pattern))
    };
    let decisive = decisive(last, grants.iter().rev().find(matching));
    Decision { verdict: verdict_of(decisive), rule: decisive.cloned() }
}

/// Of the last match in each layer, and the grant that matches.
fn decisive<'a>(last: impl Fn(Layer) -> Option<&'a Rule>, granted: Option<&'a Rule>) -> Option<&'a Rule> {
    let open = match (last(Layer::Open), last(Layer::Own)) {
        // What the user has denied himself, no project lifts.
        (_, Some(own)) if is_own_deny(own) => Some(own),
        (open, _) => open,
    };
    let ruled = stricter(open, last(Layer::Project));
    let open = match ruled {
        Some(rule) if rule.verdict == Verdict::Deny => Some(rule),
        _ => granted.or(ruled),
    };
    let guards = Guard::ALL.into_iter().map(|guard| last(Layer::Guard(guard)));
    guards.fold(open, |strictest, guard| match guard {
        Some(rule) if is_named(rule, open) => strictest,
        // What is asked each time is said to be.
        Some(rule) if rule.verdict == Verdict::Ask && verdict_of(strictest) == Verdict::Ask && !yields(rule) => guard,
        guard => stricter(strictest, guard),
    })
}

/// Whether the user has spoken of the very files that the guard of secrets asks for, be it by a rule or by an answer: one for all files or for a whole
/// folder does not speak of what happens to lie in it.
fn is_named(guard: &Rule, open: Option<&Rule>) -> bool {
    let names =
        |pattern: &str| pattern.rsplit(['/', '\\']).next().is_some_and(|name| name.contains(char::is_alphanumeric));
    let is_spoken = |rule: &Rule| rule.origin.is_users() && !rule.origin.is_in_trusted_project();
    yields(guard) && open.is_some_and(|rule| is_spoken(rule) && names(&rule.pattern))
}

fn yields(guard: &Rule) -> bool {
    matches!(guard.origin, Origin::Guard { guard } if guard.yields_to_names())
}

/// The rules that speak of one permission, for many values: as `decide` without grants.
#[derive(Debug, Clone)]
pub struct RulesFor {
    layers: Vec<(Layer, Vec<(Wildcard, Rule)>)>,
}

impl RulesFor {
    pub fn new(permission: &str, rules: &[Rule]) -> Self {
        let speaking: Vec<(Wildcard, &Rule)> = rules
            .iter()
            .filter(|rule| wildcard_match(permission, &rule.permission))
            .map(|rule| (Wildcard::new(&rule.pattern), rule))
            .collect();
        let of_layer = |layer| {
            let rules = speaking.iter().filter(|(_, rule)| rule.origin.is_in(layer));
            rules.map(|(pattern, rule)| (pattern.clone(), (*rule).clone())).collect::<Vec<_>>()
        };
        let layers =
            Layer::all().map(|layer| (layer, of_layer(layer))).filter(|(_, rules)| !rules.is_empty()).collect();
        Self { layers }
    }

    /// With the rule that decides; without any rule it asks.
    pub fn decide(&self, value: &str) -> (Verdict, Option<&Rule>) {
        let rule = decisive(|layer| self.last(layer, value), None);
        (verdict_of(rule), rule)
    }

    /// With the rules that grants make for this very value.
    pub fn decide_granted(&self, value: &str, granted: &[Rule]) -> Verdict {
        verdict_of(decisive(|layer| self.last(layer, value), granted.last()))
    }

    fn last(&self, layer: Layer, value: &str) -> Option<&Rule> {
        let (_, of_layer) = self.layers.iter().find(|(of, _)| *of == layer)?;
        let value = layer.sees(value);
        of_layer.iter().rev().find(|(pattern, _)| pattern.matches(&value)).map(|(_, rule)| rule)
    }
}

/// Of what nobody can name: denied where all but some exceptions are, asked where any rule that may be meant asks or denies. A rule of the user's that
/// allows everything speaks for what stood before it, and for the exceptions of guards.
pub fn at_worst(permission: &str, rules: &[Rule]) -> Decision {
    let everything = catch_all(permission, rules);
    let is_allowed_by_user = everything.is_some_and(|rule| {
        rule.verdict == Verdict::Allow && rule.origin.is_users() && !rule.origin.is_in_trusted_project()
    });
    let mut worst = Decision { verdict: verdict_of(everything), rule: everything.cloned() };
    for layer in Layer::all() {
        let is_exempt =
            |rule: &Rule| is_allowed_by_user && rule.pattern != "*" && matches!(rule.origin, Origin::Guard { .. });
        // A trusted project overrides all but the user's own denies.
        let counts = |rule: &Rule| layer != Layer::Own || is_own_deny(rule);
        for rule in in_force(permission, rules, layer).iter().filter(|rule| counts(rule) && !is_exempt(rule)) {
            let verdict = if rule.pattern == "*" { rule.verdict } else { rule.verdict.min(Verdict::Ask) };
            if verdict > worst.verdict {
                worst = Decision { verdict, rule: Some((*rule).clone()) };
            }
        }
    }
    worst
}

/// A rule that asks or denies one of the texts that a thing may be, and that no later one for all of them overrides. Guards say elsewhere what they say.
pub fn may_meet(permission: &str, shapes: &[Shape], rules: &[Rule]) -> Option<Rule> {
    let mut met: Option<&Rule> = None;
    for (layer, shape) in [Layer::Own, Layer::Open, Layer::Project]
        .iter()
        .flat_map(|layer| shapes.iter().map(move |shape| (layer, shape)))
    {
        let counts = |rule: &Rule| *layer != Layer::Own || is_own_deny(rule);
        let of_layer = rules.iter().rev().filter(|rule| rule.origin.is_in(*layer));
        let speaking = of_layer.filter(|rule| wildcard_match(permission, &rule.permission));
        let narrower = speaking.take_while(|rule| !shape.is_covered_by(&rule.pattern));
        let stricter = narrower.filter(|rule| rule.verdict > Verdict::Allow && counts(rule));
        let found = stricter.filter(|rule| shape.may_match(&rule.pattern)).max_by_key(|rule| rule.verdict);
        if found.is_some_and(|rule| met.is_none_or(|met| rule.verdict > met.verdict)) {
            met = found;
        }
    }
    met.cloned()
}

/// The last rule for every value of the permission, guards and untrusted projects aside.
pub fn catch_all<'a>(permission: &str, rules: &'a [Rule]) -> Option<&'a Rule> {
    in_force(permission, rules, Layer::Open).into_iter().next().filter(|rule| rule.pattern == "*")
}

/// Those of a layer that no later rule for everything overrides, in order.
fn in_force<'a>(permission: &str, rules: &'a [Rule], layer: Layer) -> Vec<&'a Rule> {
    let speaks = |rule: &&Rule| rule.origin.is_in(layer) && wildcard_match(permission, &rule.permission);
    let speaking: Vec<&Rule> = rules.iter().filter(speaks).collect();
    let from = speaking.iter().rposition(|rule| rule.pattern == "*").unwrap_or(0);
    speaking[from..].to_vec()
}

/// `added` where it is stricter than what stands without it.
fn stricter<'a>(base: Option<&'a Rule>, added: Option<&'a Rule>) -> Option<&'a Rule> {
    match added {
        Some(rule) if rule.verdict > verdict_of(base) => Some(rule),
        _ => base,
    }
}

fn is_own_deny(rule: &Rule) -> bool {
    rule.verdict == Verdict::Deny && rule.origin.is_own()
}

fn verdict_of(rule: Option<&Rule>) -> Verdict {
    rule.map_or(Verdict::Ask, |rule| rule.verdict)
}

/// Whether the model is not even shown the tool: the last rule for its permission denies `*`. `tool` is the tool's name.
pub fn is_hidden(tool: &str, rules: &[Rule]) -> bool {
    let permission = permission_of(tool);
    // A default is there for a trusted project to lift.
    let counts = |rule: &Rule, layer| layer != Layer::Own || rule.origin.is_own();
    Layer::all().any(|layer| {
        rules
            .iter()
            .rev()
            .filter(|rule| rule.origin.is_in(layer))
            .find(|rule| wildcard_match(permission, &rule.permission))
            .is_some_and(|rule| rule.pattern == "*" && rule.verdict == Verdict::Deny && counts(rule, layer))
    })
}

/// The name under which rules know a tool: those that change files share `edit`.
pub fn permission_of(tool: &str) -> &str {
    match tool {
        "write" | "edit" | "multiedit" | "patch" | "apply_patch" => "edit",
        other => other,
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
