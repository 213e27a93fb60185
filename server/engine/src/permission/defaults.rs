//! The rules that hold before any configuration: the base of every agent, and what `build` and `plan` add.

use copydesk_workspace::path::AbsPath;

use super::guard::Guard;
use super::guarded;
use super::{Origin, Rule, Ruleset, Verdict, path_pattern};
use crate::tool::Facts;

/// The base of every agent; configuration overrides it by later rules. Without `facts` the session's own folders get no rule.
pub fn base_rules(facts: Option<&Facts>) -> Ruleset {
    let mut rules: Vec<(&str, String, Verdict)> = [
        ("*", "*", Verdict::Allow),
        ("doom_loop", "*", Verdict::Ask),
        ("external_directory", "*", Verdict::Ask),
        ("question", "*", Verdict::Deny),
        ("plan_enter", "*", Verdict::Deny),
        ("plan_exit", "*", Verdict::Deny),
        ("read", "*", Verdict::Allow),
        ("read", "*.env", Verdict::Ask),
        ("read", "*.env.*", Verdict::Ask),
        ("read", "*.env.example", Verdict::Allow),
    ]
    .map(|(permission, pattern, verdict)| (permission, pattern.to_owned(), verdict))
    .to_vec();
    let own = facts.and_then(|facts| facts.spill.parent());
    if let Some(facts) = facts {
        rules.push(("external_directory", below(&facts.spill), Verdict::Allow));
        rules.push(("external_directory", below(&facts.temp), Verdict::Allow));
    }
    rules
        .into_iter()
        .map(|(permission, pattern, verdict)| rule(permission, pattern, verdict, Origin::Default))
        .chain(guarded::secrets())
        .chain(guarded::own_files(own.as_ref()))
        .collect()
}

/// What stands between the base and the configuration. `agent` is `build` or `plan`; others add nothing.
pub fn agent_rules(agent: &str, facts: Option<&Facts>) -> Ruleset {
    let own = |permission: &str, pattern: &str, verdict| {
        rule(permission, pattern.to_owned(), verdict, Origin::Agent { name: agent.to_owned() })
    };
    let guard = |pattern: &str, verdict| Guard::Plan.rule("edit", pattern, verdict);
    match agent {
        "build" => vec![own("question", "*", Verdict::Allow), own("plan_enter", "*", Verdict::Allow)],
        "plan" => {
            let mut rules = vec![
                own("question", "*", Verdict::Allow),
                own("plan_exit", "*", Verdict::Allow),
                own("task", "general", Verdict::Deny),
                guard("*", Verdict::Deny),
                guard(".opencode/plans/*.md", Verdict::Allow),
                guard(".copydesk/plans/*.md", Verdict::Allow),
            ];
            if let Some(facts) = facts {
                let plans = facts.spill.join("../plans");
                rules.push(own("external_directory", &below(&plans), Verdict::Allow));
                rules.push(guard(&format!("{}/*.md", path_pattern(&plans, &facts.worktree)), Verdict::Allow));
            }
            rules
        }
        _ => Vec::new(),
    }
}

/// Stands behind all configuration, so that the model can page an output that was cut whatever the rules for other folders are. `None` where the
/// configuration denies exactly this.
pub fn spill_rule(facts: &Facts, rules: &[Rule]) -> Option<Rule> {
    let pattern = below(&facts.spill);
    let denied = rules.iter().any(|rule| {
        rule.permission == "external_directory" && rule.pattern == pattern && rule.verdict == Verdict::Deny
    });
    (!denied).then(|| rule("external_directory", pattern, Verdict::Allow, Origin::Default))
}

fn below(folder: &AbsPath) -> String {
    format!("{folder}/*")
}

fn rule(permission: &str, pattern: String, verdict: Verdict, origin: Origin) -> Rule {
    Rule { permission: permission.to_owned(), pattern, verdict, origin }
}
