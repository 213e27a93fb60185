//! Permission as a pure function: rules, agent, grants and the access asked for give allow, ask or deny, with the rule that decided. Asks nobody.

mod defaults;
mod rules;

pub use defaults::{agent_rules, base_rules};
pub use rules::{Decision, Rule, Ruleset, Verdict, decide, is_hidden, wildcard_match};
