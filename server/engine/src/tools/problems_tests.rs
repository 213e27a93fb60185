use std::time::Duration;

use ropey::Rope;
use serde_json::json;

use super::changed;
use crate::message::ToolStatus;
use crate::ports::{Diagnostic, DiagnosticSeverity, DiagnosticsReport};
use crate::workbench::Bench;

fn problem(severity: DiagnosticSeverity, line: usize, message: &str) -> Diagnostic {
    Diagnostic { line, column: 5, severity, message: message.to_owned(), source: Some("rustc".to_owned()) }
}

fn error(line: usize, message: &str) -> Diagnostic {
    problem(DiagnosticSeverity::Error, line, message)
}

fn ready(problems: impl IntoIterator<Item = Diagnostic>) -> DiagnosticsReport {
    DiagnosticsReport::Ready(problems.into_iter().collect())
}

fn check(before: DiagnosticsReport, after: DiagnosticsReport, base: &str, now: &str, expected: &str) {
    assert_eq!(changed(&before, &after, &Rope::from(base), &Rope::from(now)), expected);
}

#[test]
fn r17_3_new_and_fixed_ones_errors_first() {
    check(
        ready([error(1, "old"), error(2, "stays")]),
        ready([problem(DiagnosticSeverity::Warning, 1, "w"), error(3, "stays"), error(4, "new")]),
        "a\nb\nc\n",
        "x\na\nb\nc\n",
        "New problems in this file:\n- error 4:5: new (rustc)\n- warning 1:5: w (rustc)\nFixed by this edit:\n- error 1:5: old (rustc)",
    );
}

#[test]
fn r17_3_a_problem_that_only_moved_is_neither() {
    let base = "a\nb\n";
    check(
        ready([error(2, "e")]),
        ready([error(4, "e")]),
        base,
        "x\ny\na\nb\n",
        "The edit changed none of the 1 problems in this file.",
    );
    // A second one of the same words on another line is new.
    check(
        ready([error(2, "e")]),
        ready([error(1, "e"), error(2, "e")]),
        base,
        "A\nb\n",
        "New problems in this file:\n- error 1:5: e (rustc)",
    );
    check(ready([]), ready([]), base, "A\nb\n", "");
}

#[test]
fn r17_3_no_more_than_twenty_are_shown() {
    let many = |count| (1..=count).map(|line| error(line, "e"));
    let text = changed(&ready([]), &ready(many(50)), &Rope::from("a"), &Rope::from("b"));
    assert_eq!(text.lines().filter(|line| line.contains("error")).count(), 20);
    assert!(text.ends_with("- and 30 more"), "{text}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the time that the work itself takes is what is looked at")]
fn r17_3_thousands_of_problems_and_long_messages_do_not_hold_up_the_edit() {
    let of = |name: &str| ready((1..=20_000).map(|line| error(line, &format!("{name} {line}"))));
    let started = std::time::Instant::now();
    let text = changed(&of("old"), &of("new"), &Rope::from("x\n"), &Rope::from("y\n"));
    assert!(text.contains("- error 1:5: new 1 (rustc)\n") && text.contains("- and 19980 more"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let text = changed(&ready([]), &ready([error(1, &"é".repeat(100_000))]), &Rope::new(), &Rope::new());
    assert!(text.ends_with("é… (rustc)") && text.chars().count() < 1100, "{}", text.len());
}

#[test]
fn r17_1_without_a_report_nothing_is_claimed() {
    let not_ready = "Diagnostics of the new text were not ready in time.";
    check(ready([error(1, "old")]), DiagnosticsReport::NotReady, "a", "b", not_ready);
    check(ready([error(1, "old")]), DiagnosticsReport::Unavailable, "a", "b", "");
    let now = "Problems in this file now:\n- error 1:5: e (rustc)";
    check(DiagnosticsReport::NotReady, ready([error(1, "e")]), "a", "b", now);
}

#[test]
fn r17_1_what_is_only_presumed_to_be_of_the_new_text_is_said_to_be() {
    let presumed = |problems: &[Diagnostic], missing: &[&str]| DiagnosticsReport::Partly {
        found: problems.to_vec(),
        missing: missing.iter().map(|&name| name.to_owned()).collect(),
        presumed: vec!["yaml-ls".to_owned()],
    };
    let note = "yaml-ls names no version of the text: this is what it said last, after it was sent the new one.";
    let (old, new) = ([error(1, "old")], [error(1, "new")]);
    let told = format!(
        "New problems in this file:\n- error 1:5: new (rustc)\nFixed by this edit:\n- error 1:5: old (rustc)\n{note}"
    );
    check(presumed(&old, &[]), presumed(&new, &[]), "a", "b", &told);
    let none = format!("The edit changed none of the 1 problems in this file.\n{note}");
    check(presumed(&old, &[]), presumed(&old, &[]), "a", "b", &none);
    // Where there is nothing to tell, nothing is presumed.
    check(presumed(&[], &[]), presumed(&[], &[]), "a", "b", "");
    // Those who were missing before may have had it all along.
    let now = format!("Problems in this file now:\n- error 1:5: new (rustc)\n{note}");
    check(presumed(&old, &["eslint"]), presumed(&new, &[]), "a", "b", &now);
    let partly =
        format!("New problems in this file:\n- error 1:5: new (rustc)\n{note}\nNot in time with the new text: eslint.");
    check(presumed(&old, &[]), presumed(&new, &["eslint"]), "a", "b", &partly);
}

async fn written(bench: &Bench) -> String {
    bench.put("/w/a", "one\n");
    bench.open("/w/a", 4, "one\n");
    bench.done("read", json!({"filePath": "a"})).await;
    bench.done("write", json!({"filePath": "a", "content": "two\n"})).await
}

#[tokio::test(start_paused = true)]
async fn r17_1_problems_of_the_new_version_are_asked_for() {
    let bench = Bench::trusting();
    bench.diagnostics.will(Duration::ZERO, ready([error(1, "old")]));
    bench.diagnostics.will(Duration::from_millis(900), ready([error(1, "new")]));
    let text = written(&bench).await;
    assert!(text.contains("New problems in this file:\n- error 1:5: new") && text.contains("Fixed"), "{text}");
    let asked = bench.diagnostics.asked();
    let versions: Vec<_> = asked.iter().map(|(target, wait)| (target.open.clone().unwrap().1, *wait)).collect();
    assert_eq!(versions, [(4, Duration::ZERO), (5, Duration::from_millis(1500))]);
    assert_eq!(asked[1].0.text.to_string(), "two\n");
}

#[tokio::test(start_paused = true)]
async fn r17_2_c97_diagnostics_that_never_come_hold_the_edit_for_a_second_and_a_half() {
    let bench = Bench::trusting();
    bench.diagnostics.will(Duration::ZERO, ready([error(1, "of version 4")]));
    // Nobody ever answers for version 5.
    bench.diagnostics.will(Duration::from_secs(3600), ready([error(1, "too late")]));
    let started = tokio::time::Instant::now();
    let text = written(&bench).await;
    assert_eq!(text, "Changed a: 1 line added, 1 removed.\nDiagnostics of the new text were not ready in time.");
    let waited = started.elapsed();
    assert!((Duration::from_millis(1500)..Duration::from_secs(2)).contains(&waited), "{waited:?}");
    assert_eq!(bench.buffer("/w/a"), "two\n");
}

#[tokio::test(start_paused = true)]
async fn r17_2_a_cancel_does_not_wait_for_diagnostics() {
    let bench = Bench::trusting();
    bench.put("/w/a", "");
    bench.diagnostics.will(Duration::ZERO, ready([]));
    bench.diagnostics.will(Duration::from_secs(1), ready([]));
    let started = tokio::time::Instant::now();
    let (outcome, ()) = tokio::join!(bench.call("write", json!({"filePath": "a", "content": "x\n"})), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        bench.cancel.cancel();
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    assert!(started.elapsed() < Duration::from_millis(500));
    assert_eq!(bench.text("/w/a"), "x\n");
}
