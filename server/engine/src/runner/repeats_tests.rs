use serde_json::json;

use super::{canonical, without_times};

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
