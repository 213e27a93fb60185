//! Permission as a pure function: rules, agent, grants and the access asked for give allow, ask or deny, with the rule that decided. Asks nobody.

mod defaults;
mod grant;
mod guard;
mod guarded;
mod mode;
mod paths;
mod rules;
mod sensitive;
pub mod shell;
mod wildcard;

pub use defaults::{agent_rules, base_rules, spill_rule};
pub use grant::{Agents, Cover, Grant, GrantScope, KeptGrant};
pub use guard::{Guard, Guards};
pub use guarded::own_configuration;
pub use mode::Mode;
pub use paths::path_pattern;
pub use rules::{
    Decision, Origin, Rule, RulesFor, Ruleset, Verdict, at_worst, catch_all, decide, is_hidden, may_meet, permission_of,
};
pub use sensitive::is_sensitive;
pub use wildcard::{Shape, wildcard_match};
