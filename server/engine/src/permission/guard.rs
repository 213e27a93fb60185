//! Guards: what holds whatever rules, answers and modes say. Each has a name, under which the user's own configuration can switch it off; nothing else
//! does. What a guard says of files stands among the rules of an agent, what it says of commands is made here for each of them.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::shell::{Gap, SimpleCommand};
use super::{Origin, Rule, Verdict};
use crate::agent::PLAN;

/// Its name in the configuration is that of the variant in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// The agent `plan` edits nothing but plans, and each command of its that may change something is asked.
    Plan,
    /// Commands that discard work are asked (R5.5).
    Discard,
    /// Files that usually hold secrets are asked, unless a rule names them.
    Secrets,
    /// What Copydesk keeps for itself is closed to the model; edits of the user's configuration are asked.
    OwnFiles,
    /// Configuration of a project waits for the user's trust (R19.1).
    Trust,
}

impl Guard {
    pub const ALL: [Self; 5] = [Self::Plan, Self::Discard, Self::Secrets, Self::OwnFiles, Self::Trust];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Discard => "discard",
            Self::Secrets => "secrets",
            Self::OwnFiles => "own_files",
            Self::Trust => "trust",
        }
    }

    /// Whether a rule or an answer lifts it that speaks of just what it asks for.
    pub(super) fn yields_to_names(self) -> bool {
        self == Self::Secrets
    }

    pub(crate) fn rule(self, permission: &str, pattern: impl Into<String>, verdict: Verdict) -> Rule {
        let origin = Origin::Guard { guard: self };
        Rule { permission: permission.to_owned(), pattern: pattern.into(), verdict, origin }
    }
}

/// `guard discard, which only "guards": {"discard": "off"} in your own configuration lifts`
impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        write!(f, "guard {name}, which only \"guards\": {{\"{name}\": \"off\"}} in your own configuration lifts")
    }
}

/// Which guards are in force: all but those that the user switched off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guards {
    off: BTreeSet<Guard>,
}

impl Guards {
    pub fn without(off: impl IntoIterator<Item = Guard>) -> Self {
        Self { off: off.into_iter().collect() }
    }

    pub fn is_on(&self, guard: Guard) -> bool {
        !self.off.contains(&guard)
    }

    /// Whether the rule stands: all do but those of guards that are off.
    pub fn keep(&self, rule: &Rule) -> bool {
        !matches!(rule.origin, Origin::Guard { guard } if !self.is_on(guard))
    }

    /// What guards say of one command that an agent would run: to be held against it beside the agent's rules, where no rule and no grant lifts them.
    pub fn of_command(&self, agent: &str, command: &SimpleCommand) -> Vec<Rule> {
        let in_plan = agent == PLAN && !command.effect.reads_only;
        let raised = [(Guard::Plan, in_plan), (Guard::Discard, command.effect.loses.is_some())];
        raised
            .into_iter()
            .filter(|(guard, is_raised)| *is_raised && self.is_on(*guard))
            .map(|(guard, _)| guard.rule("bash", &command.pattern, Verdict::Ask))
            .collect()
    }

    /// For a command whose files show that it discards work.
    pub fn of_loss(&self, text: &str) -> Vec<Rule> {
        self.is_on(Guard::Discard).then(|| Guard::Discard.rule("bash", text, Verdict::Ask)).into_iter().collect()
    }

    /// The same for a part of a command that is not understood.
    /// One that is not read may hold any command, of which some discard work.
    pub fn of_unknown(&self, agent: &str, text: &str, gap: Gap) -> Vec<Rule> {
        let raised = [(Guard::Plan, agent == PLAN), (Guard::Discard, gap != Gap::Part)];
        raised
            .into_iter()
            .filter(|(guard, is_raised)| *is_raised && self.is_on(*guard))
            .map(|(guard, _)| guard.rule("bash", text, Verdict::Ask))
            .collect()
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
