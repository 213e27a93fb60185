use serde_json::json;

use super::canonical;

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
