//! The rules that hold before any configuration: the base of every agent, and what `build` and `plan` add.

use super::Ruleset;
use crate::tool::Facts;

pub fn base_rules(facts: &Facts) -> Ruleset {
    let _ = facts;
    todo!()
}

/// `agent` is `build` or `plan`; others add nothing.
pub fn agent_rules(agent: &str, facts: &Facts) -> Ruleset {
    let _ = (agent, facts);
    todo!()
}
