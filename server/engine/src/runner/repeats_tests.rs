use serde_json::{Value, json};

use super::{canonical, without_times};
use crate::message::ToolStatus;
use crate::permission::Verdict;
use crate::ports::OptionKind;
use crate::workbench::{Bench, call};

#[test]
fn r13_1_arguments_are_compared_by_what_they_say() {
    let check = |a, b, expected| assert_eq!(canonical(&a) == canonical(&b), expected, "{a} {b}");
    check(json!({"a": 1, "b": {"c": [1, 2], "d": "x"}}), json!({"b": {"d": "x", "c": [1, 2]}, "a": 1.0}), true);
    check(json!({"a": 1, "b": null}), json!({"a": 1}), true);
    check(json!({"a": "1"}), json!({"a": 1}), false);
    check(json!({"a": [1, 2]}), json!({"a": [2, 1]}), false);
    check(json!({"a": "x,b"}), json!({"a": "x", "b": ""}), false);
    check(json!({"a": 1.5}), json!({"a": 1}), false);
}

#[test]
fn r13_1_results_that_differ_in_times_alone_are_the_same() {
    let check = |a, b, expected| assert_eq!(without_times(a) == without_times(b), expected, "{a} {b}");
    check("Mon Nov 30 11:04:32 UTC 2026", "Mon Nov 30 11:05:01 UTC 2026", true);
    check("[2026-11-30T11:04:32.123Z] fail", "[2026-12-01T01:14:02.9Z] fail", true);
    check("finished in 1.24s", "finished in 12.3s", true);
    check("ok (0.03 seconds)", "ok (1 seconds)", true);
    check("took 120ms", "took 7ms", true);
    check("server (pid 4711) died", "server (pid 12) died", true);
    check("1795000000", "1795000007", true);
    check("1795000000123 up", "1795000900123 up", true);
    check("5 tests failed", "4 tests failed", false);
    check("a.rs:12:5 error", "a.rs:13:5 error", false);
    check("a.rs:102:5 error", "a.rs:103:5 error", false);
    check("version 1.2.3", "version 1.2.4", false);
    check("x1 y", "x2 y", false);
    check("3 seconds left of 5 tasks", "3 seconds left of 4 tasks", false);
    check("v10s", "v11s", false);
}

/// The calls in one turn, one after the other: all but the last are not asked, the last is asked as a repetition, and those from `noticed` on say so.
async fn goes_round(bench: &Bench, calls: &[(&str, Value)], noticed: usize) {
    bench.client.answer_all(OptionKind::RejectOnce);
    let runner = bench.runner();
    for (at, (tool, input)) in calls.iter().enumerate() {
        let outcome = runner.run(call(&format!("call_{at}"), tool, &input.to_string())).await;
        let (text, asks) = (outcome.result.text, bench.client.asks());
        let is_last = at + 1 == calls.len();
        assert_eq!(asks.len(), usize::from(is_last), "call {at} of {tool}: {text}");
        if let Some(ask) = asks.first() {
            let words =
                format!("run {tool} again, though this call gave the same result 3 times: asked by rule doom_loop");
            assert!(ask.reason.contains(&words), "{}", ask.reason);
            assert_eq!(outcome.result.status, ToolStatus::Failed, "{text}");
        }
        let is_noticed = text.contains("(This call gave this same result 3 times in this turn.");
        assert_eq!(is_noticed, at >= noticed && !is_last, "call {at} of {tool}: {text}");
    }
}

#[tokio::test]
async fn c93_the_same_write_is_told_at_the_third_same_result_and_asked_then() {
    let write = ("write", json!({"filePath": "a", "content": "same\n"}));
    let bench = Bench::trusting();
    bench.put("/w/a", "same\n");
    bench.runner().run(call("call_r", "read", r#"{"filePath":"a"}"#)).await;
    goes_round(&bench, &[(); 4].map(|()| write.clone()), 2).await;
    // One that writes something comes before.
    goes_round(&Bench::trusting(), &[(); 5].map(|()| write.clone()), 3).await;
}

#[tokio::test]
async fn c93_two_reads_in_turns_are_told_and_asked() {
    let bench = Bench::new();
    bench.put("/w/a", "a\n").put("/w/b", "b\n");
    let calls: Vec<(&str, Value)> =
        ["a", "b"].iter().cycle().take(7).map(|file| ("read", json!({"filePath": file}))).collect();
    goes_round(&bench, &calls, 4).await;
}

#[tokio::test]
async fn c93_a_command_that_tells_the_same_each_time_is_told_and_asked() {
    let bench = Bench::new().rule("bash", "git status *", Verdict::Allow);
    let status = ("bash", json!({"command": "git status"}));
    goes_round(&bench, &[(); 4].map(|()| status.clone()), 2).await;
    assert_eq!(bench.shell.commands().len(), 3);
}
