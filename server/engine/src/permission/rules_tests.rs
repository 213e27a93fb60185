#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use copydesk_workspace::path::AbsPath;
use proptest::prelude::*;

use super::*;
use crate::permission::{agent_rules, base_rules, spill_rule};
use crate::tool::Facts;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn facts() -> Facts {
    Facts {
        folder: path("/code/app"),
        roots: vec![path("/code/app")],
        worktree: path("/code/app"),
        ambiguous: Vec::new(),
        platform: "linux",
        temp: path("/tmp/copydesk"),
        spill: path("/home/u/.local/share/copydesk/tool-output"),
        max_lines: 2000,
        max_bytes: 51200,
        command_timeout: 120_000,
        year: "2026".to_owned(),
    }
}

fn rule(permission: &str, pattern: &str, verdict: Verdict, origin: Origin) -> Rule {
    Rule { permission: permission.to_owned(), pattern: pattern.to_owned(), verdict, origin }
}

fn configured(permission: &str, pattern: &str, verdict: Verdict) -> Rule {
    rule(permission, pattern, verdict, Origin::Config { file: path("/home/u/copydesk.jsonc"), line: Some(3) })
}

fn grant(permission: &str, pattern: &str) -> Rule {
    rule(permission, pattern, Verdict::Allow, Origin::Grant)
}

fn check(permission: &str, patterns: &[&str], rules: &[Rule], grants: &[Rule], expected: Verdict) -> Decision {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    let decision = decide(permission, &patterns, rules, grants);
    assert_eq!(decision.verdict, expected, "{permission} {patterns:?} was decided by {:?}", decision.rule);
    decision
}

fn agent(name: &str, config: &[Rule]) -> Ruleset {
    [base_rules(Some(&facts())), agent_rules(name, Some(&facts())), config.to_vec()].concat()
}

#[test]
fn last_match_wins() {
    use Verdict::*;
    let rules =
        [configured("bash", "*", Ask), configured("bash", "git *", Allow), configured("bash", "git push *", Deny)];
    check("bash", &["git log"], &rules, &[], Allow);
    check("bash", &["git push"], &rules, &[], Deny);
    check("bash", &["ls"], &rules, &[], Ask);
    let reversed: Vec<Rule> = rules.iter().rev().cloned().collect();
    check("bash", &["git push"], &reversed, &[], Ask);
}

#[test]
fn names_of_permissions_are_wildcards() {
    let rules = [configured("mymcp_*", "*", Verdict::Deny)];
    check("mymcp_search", &["*"], &rules, &[], Verdict::Deny);
    check("other_search", &["*"], &rules, &[], Verdict::Ask);
}

#[test]
fn strictest_of_several_patterns() {
    use Verdict::*;
    let rules = [configured("edit", "*", Allow), configured("edit", "b*", Ask), configured("edit", "c*", Deny)];
    check("edit", &["a", "b"], &rules, &[], Ask);
    let decision = check("edit", &["c1", "a", "b"], &rules, &[], Deny);
    assert_eq!(decision.rule.unwrap().pattern, "c*");
}

#[test]
fn r8_2_nothing_matched_or_nothing_named_asks() {
    let decision = check("edit", &["a"], &[], &[], Verdict::Ask);
    assert_eq!(decision.rule, None);
    check("edit", &[], &[configured("*", "*", Verdict::Allow)], &[], Verdict::Ask);
}

#[test]
fn grants_lift_asks_but_no_deny() {
    use Verdict::*;
    let rules = [configured("edit", "*", Ask), configured("edit", "secret/*", Deny)];
    check("edit", &["a"], &rules, &[grant("edit", "*")], Allow);
    check("edit", &["secret/a"], &rules, &[grant("edit", "*")], Deny);
    check("edit", &["a", "secret/a"], &rules, &[grant("edit", "*")], Deny);
}

#[test]
fn an_allow_tells_whether_the_user_gave_it() {
    use Verdict::*;
    let by_default = check("bash", &["ls"], &agent("build", &[]), &[], Allow);
    assert!(!by_default.is_allowed_by_user());
    let by_config = check("bash", &["ls"], &agent("build", &[configured("bash", "ls *", Allow)]), &[], Allow);
    assert!(by_config.is_allowed_by_user());
    let by_grant = check("bash", &["ls"], &agent("build", &[]), &[grant("bash", "ls")], Allow);
    assert!(by_grant.is_allowed_by_user());
    let half = check("bash", &["ls", "cat x"], &agent("build", &[configured("bash", "ls *", Allow)]), &[], Allow);
    assert!(!half.is_allowed_by_user(), "one of two commands is allowed by default alone");
}

#[test]
fn plan_stays_read_only_under_any_rule_and_grant() {
    use Verdict::*;
    let config = [configured("*", "*", Allow), configured("edit", "*", Allow)];
    let rules = agent("plan", &config);
    let decision = check("edit", &["src/main.rs"], &rules, &[grant("edit", "*")], Deny);
    assert_eq!(decision.rule.unwrap().origin, Origin::Guard { guard: Guard::Plan });
    check("edit", &[".copydesk/plans/next.md"], &rules, &[], Allow);
    check("edit", &["../../home/u/.local/share/copydesk/plans/next.md"], &rules, &[], Allow);
    check("edit", &[".copydesk/plans/next.md"], &agent("plan", &[configured("edit", "*", Deny)]), &[], Deny);
    check("edit", &["src/main.rs"], &agent("build", &config), &[], Allow);
}

#[test]
fn an_answer_lifts_what_an_untrusted_project_asks_but_not_what_it_denies() {
    use Verdict::*;
    let project =
        |pattern, verdict| rule("edit", pattern, verdict, Origin::Project { file: path("/p/x.json"), line: None });
    let rules = [project("a", Ask), project("b", Deny), configured("edit", "*", Allow)];
    check("edit", &["a"], &rules, &[], Ask);
    check("edit", &["a"], &rules, &[grant("edit", "*")], Allow);
    check("edit", &["b"], &rules, &[grant("edit", "*")], Deny);
    check("edit", &["c"], &rules, &[], Allow);
}

#[test]
fn r19_1_a_trusted_project_overrides_the_users_rules_but_lifts_no_deny_of_his() {
    use Verdict::*;
    let project = |pattern, verdict| {
        let origin = Origin::Trusted { file: path("/p/opencode.json"), line: Some(2) };
        rule("bash", pattern, verdict, origin)
    };
    let rules = agent(
        "build",
        &[
            configured("bash", "*", Ask),
            configured("bash", "rm *", Deny),
            configured("bash", "rm build/*", Ask),
            project("*", Allow),
            project("git push *", Ask),
            project("curl *", Deny),
        ],
    );
    let allowed = check("bash", &["make"], &rules, &[], Allow);
    assert!(allowed.is_allowed_by_user(), "the user's trust is his word");
    let denied = check("bash", &["rm x"], &rules, &[grant("bash", "*")], Deny);
    assert_eq!(denied.rule.unwrap().origin, Origin::Config { file: path("/home/u/copydesk.jsonc"), line: Some(3) });
    check("bash", &["rm build/x"], &rules, &[], Allow);
    check("bash", &["git push origin"], &rules, &[], Ask);
    check("bash", &["curl x"], &rules, &[grant("bash", "*")], Deny);
    // A default is no deny of the user's.
    let allow = rule("question", "*", Allow, Origin::Trusted { file: path("/p/opencode.json"), line: None });
    let rules = [base_rules(Some(&facts())), vec![allow]].concat();
    check("question", &["*"], &rules, &[], Allow);
    assert!(!is_hidden("question", &rules));
    // What he denies altogether is not even shown.
    let allow = rule("edit", "*", Allow, Origin::Trusted { file: path("/p/opencode.json"), line: None });
    assert!(is_hidden("edit", &[configured("edit", "*", Deny), allow]));
}

#[test]
fn secrets_are_asked_by_default() {
    use Verdict::*;
    let rules = agent("build", &[]);
    check("read", &["src/a.rs"], &rules, &[], Allow);
    for secret in [".env", "app/.env", "prod.env", ".env.local"] {
        check("read", &[secret], &rules, &[], Ask);
    }
    check("read", &[".env.example"], &rules, &[], Allow);
}

#[test]
fn c61_well_known_secrets_are_asked_until_they_are_named() {
    use Verdict::*;
    let all = [configured("*", "*", Allow), configured("read", "*", Allow), configured("read", "certs/*", Allow)];
    let rules = agent("build", &all);
    let secrets = [
        ".env",
        ".ENV",
        "app/.env.local",
        ".envrc",
        "../../home/u/.ssh/id_rsa",
        "id_ed25519",
        "certs/server.pem",
        "certs/Server.KEY",
        ".npmrc",
        ".netrc",
        "../../home/u/.aws/credentials",
        "credentials",
        "service/credentials.json",
        "../../home/u/.config/gh/hosts.yml",
        "../../home/u/.local/share/opencode/auth.json",
    ];
    for secret in secrets {
        check("read", &[secret], &rules, &[], Ask);
        check("read", &[secret], &rules, &[grant("read", "*")], Ask);
        check("read", &[secret], &rules, &[grant("read", secret)], Allow);
        let named = [rules.clone(), vec![configured("read", secret, Allow)]].concat();
        check("read", &[secret], &named, &[], Allow);
        check(
            "read",
            &[secret],
            &[named, vec![configured("read", "*", Deny)]].concat(),
            &[grant("read", secret)],
            Deny,
        );
    }
    for open in
        [".env.example", "src/credentials/store.rs", "certs/readme.md", "id_rsa.pub", "src/keys.rs", "public.pem.md"]
    {
        check("read", &[open], &rules, &[], Allow);
    }
    let certificates = [rules, vec![configured("read", "certs/*.pem", Allow)]].concat();
    check("read", &["certs/server.pem"], &certificates, &[], Allow);
    check("read", &["certs/Server.KEY"], &certificates, &[], Ask);
}

#[test]
fn other_folders_are_asked_except_our_own() {
    use Verdict::*;
    let rules = agent("build", &[]);
    check("external_directory", &["/etc/*"], &rules, &[], Ask);
    check("external_directory", &["/tmp/copydesk/x/*"], &rules, &[], Allow);
    check("external_directory", &["/home/u/.local/share/copydesk/tool-output/*"], &rules, &[], Allow);
    check("external_directory", &["/home/u/.local/share/copydesk/*"], &rules, &[], Ask);
}

#[test]
fn outputs_that_were_cut_stay_readable() {
    let denied = agent("build", &[configured("external_directory", "*", Verdict::Deny)]);
    let spill = spill_rule(&facts(), &denied).unwrap();
    let rules = [denied, vec![spill.clone()]].concat();
    check("external_directory", &["/home/u/.local/share/copydesk/tool-output/*"], &rules, &[], Verdict::Allow);
    check("external_directory", &["/etc/*"], &rules, &[], Verdict::Deny);
    assert_eq!(spill_rule(&facts(), &[configured("external_directory", &spill.pattern, Verdict::Deny)]), None);
}

#[test]
fn tools_for_people_are_denied_where_the_agent_does_not_allow_them() {
    check("question", &["*"], &base_rules(Some(&facts())), &[], Verdict::Deny);
    check("question", &["*"], &agent("build", &[]), &[], Verdict::Allow);
    check("plan_exit", &["*"], &agent("plan", &[]), &[], Verdict::Allow);
    check("plan_exit", &["*"], &agent("build", &[]), &[], Verdict::Deny);
}

#[test]
fn tools_are_hidden_by_a_deny_of_everything() {
    use Verdict::*;
    let all = [configured("edit", "*", Deny)];
    for tool in ["edit", "write", "apply_patch"] {
        assert!(is_hidden(tool, &all), "{tool}");
    }
    assert!(!is_hidden("read", &all));
    let but_documents = [configured("edit", "*", Deny), configured("edit", "*.md", Allow)];
    assert!(!is_hidden("edit", &but_documents));
    assert!(is_hidden("bash", &agent("build", &[configured("*", "*", Deny)])));
    assert!(!is_hidden("edit", &agent("plan", &[])), "plans may be written");
    assert!(is_hidden("edit", &agent("plan", &all)));
}

#[test]
fn a_rule_says_where_it_stands() {
    let shown = configured("edit", "*.md", Verdict::Deny).to_string();
    assert_eq!(shown, r#"edit "*.md": deny (/home/u/copydesk.jsonc:3)"#);
}

fn is_guard(rule: &Rule) -> bool {
    matches!(rule.origin, Origin::Guard { .. })
}

#[test]
fn what_nobody_can_name_is_asked_where_something_is_excepted() {
    use Verdict::*;
    let worst = |rules: &[Rule]| at_worst("read", rules).verdict;
    let mut rules = agent("build", &[]);
    assert_eq!(worst(&rules), Ask, "files named .env are asked");
    rules.push(configured("read", "*", Allow));
    assert_eq!(worst(&rules), Allow);
    rules.push(configured("read", "secrets/*", Deny));
    assert_eq!(worst(&rules), Ask);
    rules.push(configured("read", "*", Deny));
    rules.push(configured("read", "open/*", Allow));
    assert_eq!(worst(&rules), Deny, "nobody can say that it is one of the exceptions");
    assert_eq!(at_worst("edit", &agent("plan", &[configured("*", "*", Allow)])).verdict, Deny);
    assert_eq!(worst(&[]), Ask);
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![Just(Verdict::Allow), Just(Verdict::Ask), Just(Verdict::Deny)]
}

fn any_rules() -> impl Strategy<Value = Ruleset> {
    let origin = prop_oneof![
        Just(Origin::Default),
        prop::sample::select(Guard::ALL.to_vec()).prop_map(|guard| Origin::Guard { guard }),
        Just(Origin::Project { file: path("/code/app/opencode.json"), line: None }),
        Just(Origin::Trusted { file: path("/code/app/opencode.json"), line: None }),
        Just(Origin::Variable { name: "X".to_owned() })
    ];
    let rule = ("(edit|bash|\\*|e\\*)", "[ab*?]{0,3}", any_verdict(), origin)
        .prop_map(|(permission, pattern, verdict, origin)| Rule { permission, pattern, verdict, origin });
    prop::collection::vec(rule, 0..8)
}

fn any_grants() -> impl Strategy<Value = Ruleset> {
    let rule = ("(edit|bash|\\*)", "[ab*?]{0,3}").prop_map(|(permission, pattern)| grant(&permission, &pattern));
    prop::collection::vec(rule, 0..4)
}

proptest! {
    #[test]
    fn rules_made_ready_for_many_values_decide_alike(rules in any_rules(), value in "[ab]{0,3}") {
        let ready = RulesFor::new("edit", &rules);
        let (verdict, rule) = ready.decide(&value);
        let decision = decide("edit", &[value], &rules, &[]);
        prop_assert_eq!((verdict, rule), (decision.verdict, decision.rule.as_ref()));
    }

    #[test]
    fn a_last_deny_denies(rules in any_rules(), grants in any_grants(), patterns in prop::collection::vec("[ab]{0,3}", 1..4)) {
        let mut rules = rules;
        rules.push(configured("edit", &patterns[0], Verdict::Deny));
        prop_assert_eq!(decide("edit", &patterns, &rules, &grants).verdict, Verdict::Deny);
    }

    #[test]
    fn guards_are_never_lifted(rules in any_rules(), later in any_rules(), grants in any_grants(), pattern in "[ab]{0,3}") {
        let mut all = rules;
        all.extend(later.into_iter().filter(|rule| !is_guard(rule)));
        all.insert(0, rule("edit", "*", Verdict::Deny, Origin::Guard { guard: Guard::Plan }));
        all.retain(|rule| !is_guard(rule) || rule.verdict == Verdict::Deny);
        prop_assert_eq!(decide("edit", &[pattern], &all, &grants).verdict, Verdict::Deny);
    }

    #[test]
    fn an_untrusted_project_is_never_milder(rules in any_rules(), project in any_rules(), grants in any_grants(), pattern in "[ab]{0,3}") {
        let patterns = [pattern];
        let mut all = rules;
        all.retain(|rule| !rule.origin.is_in(Layer::Project));
        let without = decide("edit", &patterns, &all, &grants);
        let hidden_without = is_hidden("edit", &all);
        all.extend(project.into_iter().map(|rule| Rule { origin: Origin::Project { file: path("/p"), line: None }, ..rule }));
        prop_assert!(decide("edit", &patterns, &all, &grants).verdict >= without.verdict);
        prop_assert!(is_hidden("edit", &all) || !hidden_without);
    }

    #[test]
    fn r19_1_a_trusted_project_lifts_no_deny_of_the_users(rules in any_rules(), project in any_rules(), grants in any_grants(), pattern in "[ab]{0,3}") {
        let patterns = [pattern];
        let mut all = rules;
        all.retain(|rule| rule.origin.is_own());
        let without = decide("edit", &patterns, &all, &[]);
        let hidden_without = is_hidden("edit", &all);
        all.extend(project.into_iter().map(|rule| Rule { origin: Origin::Trusted { file: path("/p"), line: None }, ..rule }));
        let with = decide("edit", &patterns, &all, &grants);
        prop_assert!(without.verdict != Verdict::Deny || with.verdict == Verdict::Deny);
        prop_assert!(is_hidden("edit", &all) || !hidden_without);
    }

    #[test]
    fn one_more_pattern_is_never_milder(rules in any_rules(), grants in any_grants(), patterns in prop::collection::vec("[ab]{0,3}", 1..4), more in "[ab]{0,3}") {
        let before = decide("edit", &patterns, &rules, &grants);
        let mut patterns = patterns;
        patterns.push(more);
        let after = decide("edit", &patterns, &rules, &grants);
        prop_assert!(after.verdict >= before.verdict);
        prop_assert!(!after.is_allowed_by_user() || before.is_allowed_by_user());
    }

    #[test]
    fn what_nobody_can_name_is_judged_no_milder_than_any_value(rules in any_rules(), value in "[ab]{0,3}") {
        let mut rules = rules;
        rules.retain(|rule| !is_guard(rule) || rule.pattern == "*");
        let worst = at_worst("edit", &rules);
        let decision = decide("edit", &[value], &rules, &[]);
        prop_assert!(worst.verdict >= decision.verdict.min(Verdict::Ask), "{:?} {:?}", worst, decision);
    }

    #[test]
    fn never_panics(permission in any::<String>(), patterns in prop::collection::vec(any::<String>(), 0..3), rules in any_rules(), grants in any_grants()) {
        decide(&permission, &patterns, &rules, &grants);
        is_hidden(&permission, &rules);
    }
}
