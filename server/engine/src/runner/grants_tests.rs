use serde_json::{Value, json};

use super::*;
use crate::event::{SessionEvent, Severity};
use crate::message::{ToolStatus, TurnEnd};
use crate::permission::{Agents, Cover, Verdict};
use crate::ports::OptionKind;
use crate::workbench::{Bench, call, path};

fn write(file: &str) -> Value {
    json!({"filePath": file, "content": "text\n"})
}

/// The call must be asked, and is answered so.
async fn answer(bench: &Bench, name: &str, input: Value, kind: OptionKind) {
    let (outcome, ()) =
        tokio::join!(bench.call(name, input), async { bench.client.next_ask().await.select(kind, None) });
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
}

async fn is_asked(bench: &Bench, name: &str, input: Value) -> bool {
    let before = bench.client.asks().len();
    bench.client.answer_all(OptionKind::RejectOnce);
    let outcome = bench.call(name, input).await;
    let asked = bench.client.asks().len() > before;
    assert_eq!(outcome.stop == Some(TurnEnd::Rejected), asked, "{}", outcome.result.text);
    asked
}

fn kept(scope: GrantScope, agents: Agents, permission: &str, cover: Cover) -> KeptGrant {
    let grant = Grant { agents, permission: permission.to_owned(), cover };
    KeptGrant { id: "grt_cli".to_owned(), scope, grant, given: Millis(1) }
}

fn problems(bench: &Bench) -> Vec<String> {
    let warning = |event| match event {
        SessionEvent::Notice { severity: Severity::Warning, text } => Some(text),
        _ => None,
    };
    bench.client.events().into_iter().filter_map(warning).collect()
}

#[tokio::test]
async fn r9_1_once_is_once() {
    let bench = Bench::new();
    answer(&bench, "write", write("a"), OptionKind::AllowOnce).await;
    assert!(is_asked(&bench, "write", json!({"filePath": "a", "content": "more\n"})).await);
    assert_eq!(bench.grants.list().await, (Vec::new(), None));
}

#[tokio::test]
async fn r9_1_a_grant_of_the_session_ends_with_it_and_one_of_the_project_does_not() {
    let first = Bench::new();
    answer(&first, "bash", json!({"command": "make"}), OptionKind::AllowAlways).await;
    answer(&first, "bash", json!({"command": "docker ps"}), OptionKind::AllowInProject).await;
    let second = Bench::new().of_another_window(&first);
    assert!(is_asked(&second, "bash", json!({"command": "make"})).await);
    assert!(!is_asked(&second, "bash", json!({"command": "docker ps"})).await);
    assert!(is_asked(&second, "bash", json!({"command": "docker run x"})).await, "exactly what was said");
    let other_project = Bench::new().of_another_window(&first).of_project("/other");
    assert!(is_asked(&other_project, "bash", json!({"command": "docker ps"})).await);
}

#[tokio::test]
async fn r9_1_a_grant_holds_for_the_agent_that_was_asked() {
    for kind in [OptionKind::AllowAlways, OptionKind::AllowInProject] {
        let build = Bench::new();
        answer(&build, "bash", json!({"command": "make"}), kind).await;
        let mut review = Bench::new().agent("review");
        review.kept = build.kept.clone();
        review.grants = build.grants.clone();
        assert!(is_asked(&review, "bash", json!({"command": "make"})).await, "{kind:?}");
        review.kept.put(vec![kept(GrantScope::User, Agents::Every, "bash", Cover::Exact("make".to_owned()))]);
        assert!(!is_asked(&review, "bash", json!({"command": "make"})).await, "the user chose so");
    }
}

#[tokio::test]
async fn r9_1_what_is_given_and_revoked_in_one_window_counts_in_another_at_its_next_decision() {
    let first = Bench::new();
    let second = Bench::new().of_another_window(&first);
    let make = || json!({"command": "make"});
    assert!(is_asked(&second, "bash", make()).await);
    answer(&first, "bash", make(), OptionKind::AllowInProject).await;
    assert!(!is_asked(&second, "bash", make()).await);
    let (held, problem) = first.grants.list().await;
    assert_eq!(problem, None);
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].grant.to_string(), "bash \"make\" with any arguments (agent build)");
    assert_eq!(first.grants.revoke(std::slice::from_ref(&held[0].id)).await, Ok(1));
    assert!(is_asked(&second, "bash", make()).await);
    assert_eq!(second.grants.revoke(&[held[0].id.clone(), "grt_unknown".to_owned()]).await, Ok(0));
}

#[tokio::test]
async fn r9_1_a_grant_of_the_session_is_listed_and_revoked_too() {
    let bench = Bench::new();
    answer(&bench, "write", write("a"), OptionKind::AllowAlways).await;
    answer(&bench, "bash", json!({"command": "make"}), OptionKind::AllowAlways).await;
    let (held, _) = bench.grants.list().await;
    assert_eq!(
        held.iter().map(|held| held.scope.clone()).collect::<Vec<_>>(),
        [HeldScope::Session, HeldScope::Session]
    );
    assert_eq!(bench.grants.revoke(std::slice::from_ref(&held[0].id)).await, Ok(1));
    assert!(is_asked(&bench, "write", json!({"filePath": "a", "content": "more\n"})).await);
    assert!(!is_asked(&bench, "bash", json!({"command": "make"})).await);
}

#[tokio::test]
async fn r9_1_an_explicit_deny_beats_a_grant_and_guards_beat_all() {
    let everything = |permission| kept(GrantScope::User, Agents::Every, permission, Cover::All);
    let bench = Bench::new().rule("bash", "rm *", Verdict::Deny);
    bench.kept.put(vec![everything("bash"), everything("edit")]);
    assert!(!is_asked(&bench, "bash", json!({"command": "make"})).await);
    assert!(bench.failed("bash", json!({"command": "rm a"})).await.contains("denied by rule bash \"rm *\""));
    let plan = Bench::new().agent("plan");
    plan.kept.put(vec![everything("edit")]);
    assert!(plan.failed("write", write("a")).await.contains("denied by rule edit \"*\""));
}

#[tokio::test]
async fn r9_1_a_grant_of_one_name_is_no_pattern_for_another() {
    let bench = Bench::new();
    bench.disk.put_link(&path("/w/*"), "/w/secret");
    bench.kept.put(vec![kept(GrantScope::User, Agents::Every, "edit", Cover::Exact("*".to_owned()))]);
    assert!(is_asked(&bench, "write", write("*")).await, "the target of the link was not granted");
    assert!(is_asked(&bench, "write", write("secret")).await);
}

#[tokio::test]
async fn r9_1_a_torn_file_is_said_once_and_grants_nothing_and_the_answer_holds_for_the_session() {
    let bench = Bench::new();
    bench.kept.put(vec![kept(GrantScope::User, Agents::Every, "bash", Cover::All)]);
    assert!(!is_asked(&bench, "bash", json!({"command": "make"})).await);
    let torn = GrantStoreError::Unusable { reason: "/d/grants.json is not valid JSON.".to_owned() };
    bench.kept.break_with(Some(torn.clone()));
    assert!(is_asked(&bench, "bash", json!({"command": "make"})).await);
    assert!(is_asked(&bench, "bash", json!({"command": "make"})).await);
    assert_eq!(problems(&bench), [torn.to_string()]);
    assert_eq!(bench.grants.list().await, (Vec::new(), Some(torn.to_string())));

    let bench = Bench::new().of_another_window(&bench);
    answer(&bench, "bash", json!({"command": "make"}), OptionKind::AllowInProject).await;
    let told = problems(&bench);
    assert!(told.last().unwrap().starts_with("What you allowed holds for this session alone: "), "{told:?}");
    assert!(!is_asked(&bench, "bash", json!({"command": "make"})).await);
    bench.kept.break_with(None);
    assert_eq!(bench.kept.kept().len(), 1, "nothing was overwritten");
}

#[tokio::test]
async fn r9_5_a_grant_for_the_project_releases_what_is_asked_in_other_windows() {
    let first = Bench::new();
    let second = Bench::new().of_another_window(&first);
    let (here, there, ()) = tokio::join!(
        first.call("bash", json!({"command": "make"})),
        second.call("bash", json!({"command": "make"})),
        async {
            let (here, there) = (first.client.next_ask().await, second.client.next_ask().await);
            here.select(OptionKind::AllowInProject, None);
            drop(there);
        }
    );
    assert_eq!((here.result.status, there.result.status), (ToolStatus::Completed, ToolStatus::Completed));
}

#[tokio::test]
async fn r9_5_identical_asks_keep_one_grant() {
    let bench = Bench::new();
    let runner = bench.runner();
    let run = |id: &'static str| runner.run(call(id, "bash", r#"{"command":"make"}"#));
    let (_, _, ()) = tokio::join!(run("call_1"), run("call_2"), async {
        bench.client.next_ask().await.select(OptionKind::AllowInProject, None);
    });
    assert_eq!(bench.shell.commands().len(), 2);
    assert_eq!(bench.kept.kept().len(), 1);
}

#[tokio::test]
async fn r9_4_an_ask_names_the_rule_or_what_is_missing() {
    let bench = Bench::new().rule("bash", "make *", Verdict::Ask);
    assert!(is_asked(&bench, "bash", json!({"command": "make"})).await);
    assert!(is_asked(&bench, "write", write("a")).await);
    let reasons: Vec<String> = bench.client.asks().into_iter().map(|ask| ask.reason).collect();
    assert!(reasons[0].contains("bash \"make *\": ask (/home/user/.config/copydesk/copydesk.jsonc:3)"), "{reasons:?}");
    assert!(reasons[1].contains("asked unless a rule of yours or the mode allows them"), "{reasons:?}");
}

#[tokio::test]
async fn r9_3_edits_inside_of_the_workspace_are_free_in_the_mode_workspace() {
    let bench = Bench::new();
    assert!(is_asked(&bench, "write", write("src/a.rs")).await);
    for mode in [Mode::Workspace, Mode::Auto] {
        bench.grants.set_mode(mode);
        assert!(!is_asked(&bench, "write", write("src/a.rs")).await);
        bench.disk.put_link(&path("/w/out"), "/tmp/outside");
        for asked in [".env", ".git/hooks/pre-commit", ".vscode/tasks.json", ".copydesk/agents/a.md", "/etc/x", "out/x"]
        {
            assert!(is_asked(&bench, "write", write(asked)).await, "{asked}");
        }
        assert!(bench.files.stat(path("/w/.env")).await.is_err());
    }
    bench.grants.set_mode(Mode::Ask);
    assert!(is_asked(&bench, "write", write("src/b.rs")).await);
}

#[tokio::test]
async fn r9_3_rules_stand_in_every_mode() {
    let bench = Bench::new().rule("edit", "gen/*", Verdict::Deny).rule("edit", "docs/*", Verdict::Ask);
    bench.grants.set_mode(Mode::Auto);
    assert!(bench.failed("write", write("gen/a")).await.contains("denied by rule"));
    assert!(is_asked(&bench, "write", write("docs/a")).await);
    let plan = Bench::new().agent("plan");
    plan.grants.set_mode(Mode::Auto);
    assert!(plan.failed("write", write("a")).await.contains("denied by rule"));
}

#[tokio::test]
async fn r9_3_a_mode_chosen_meanwhile_releases_what_it_frees() {
    let bench = Bench::new();
    let (outcome, ()) = tokio::join!(bench.call("write", write("a")), async {
        let ask = bench.client.next_ask().await;
        bench.grants.set_mode(Mode::Workspace);
        while !ask.is_withdrawn() {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
}
