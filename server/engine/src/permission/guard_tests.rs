#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::super::shell::Effect;
use super::*;
use crate::permission::decide;

fn command(text: &str, effect: Effect) -> SimpleCommand {
    SimpleCommand {
        span: 0..text.len(),
        pattern: text.to_owned(),
        aliases: Vec::new(),
        without_options: Vec::new(),
        shapes: Vec::new(),
        prefix: None,
        effect,
    }
}

fn reading() -> Effect {
    Effect { reads_only: true, ..Effect::default() }
}

fn discarding() -> Effect {
    Effect { loses: Some("uncommitted changes of tracked files"), ..Effect::default() }
}

fn check(guards: &Guards, agent: &str, effect: Effect, expected: &[Guard]) {
    let text = "git reset --hard";
    let raised = guards.of_command(agent, &command(text, effect));
    let found: Vec<Guard> = raised.iter().map(guard_of).collect();
    assert_eq!(found, expected);
    let allowing =
        |origin| Rule { permission: "bash".to_owned(), pattern: text.to_owned(), verdict: Verdict::Allow, origin };
    let mut rules = raised;
    rules.push(allowing(Origin::Variable { name: "COPYDESK_PERMISSION".to_owned() }));
    let decision = decide("bash", &[text.to_owned()], &rules, &[allowing(Origin::Grant)]);
    let verdict = if expected.is_empty() { Verdict::Allow } else { Verdict::Ask };
    assert_eq!(decision.verdict, verdict, "{:?}", decision.rule);
}

fn guard_of(rule: &Rule) -> Guard {
    match rule.origin {
        Origin::Guard { guard } => guard,
        _ => panic!("{rule} is no guard's"),
    }
}

#[test]
fn r5_5_no_rule_and_no_grant_lifts_the_question_for_a_command_that_discards_work() {
    let all = Guards::default();
    check(&all, "build", discarding(), &[Guard::Discard]);
    check(&all, "build", Effect::default(), &[]);
    check(&all, "plan", discarding(), &[Guard::Plan, Guard::Discard]);
    check(&Guards::without([Guard::Discard]), "build", discarding(), &[]);
    check(&Guards::without([Guard::Plan]), "build", discarding(), &[Guard::Discard]);
}

#[test]
fn plan_is_asked_for_every_command_that_is_not_proven_to_read_only() {
    let all = Guards::default();
    check(&all, "plan", Effect::default(), &[Guard::Plan]);
    check(&all, "plan", reading(), &[]);
    check(&Guards::without([Guard::Plan]), "plan", Effect::default(), &[]);
    assert_eq!(
        all.of_unknown("plan", "eval \"$x\"", Gap::Part).iter().map(guard_of).collect::<Vec<_>>(),
        [Guard::Plan]
    );
    assert_eq!(all.of_unknown("build", "eval \"$x\"", Gap::Part), []);
    let unread = all.of_unknown("build", "echo $[1]", Gap::Unread);
    assert_eq!(unread.iter().map(guard_of).collect::<Vec<_>>(), [Guard::Discard]);
}

#[test]
fn a_guard_says_how_it_is_lifted() {
    let rule = Guard::OwnFiles.rule("read", "*", Verdict::Deny).to_string();
    assert_eq!(
        rule,
        r#"read "*": deny (guard own_files, which only "guards": {"own_files": "off"} in your own configuration lifts)"#
    );
    for guard in Guard::ALL {
        let written = serde_json::to_value(guard).unwrap();
        assert_eq!(written, guard.name(), "one name everywhere");
    }
}
