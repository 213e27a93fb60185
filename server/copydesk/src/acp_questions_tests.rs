#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use copydesk_engine::ids::{AskId, CallId};

use super::*;

fn question(text: &str, labels: &[&str], multiple: bool, free: bool) -> Question {
    let choice = |label: &&str| Choice { label: (*label).to_owned(), description: format!("about {label}") };
    let choices = labels.iter().map(choice).collect();
    Question { text: text.to_owned(), header: "Head".to_owned(), choices, multiple, free }
}

fn inquiry() -> Inquiry {
    let questions = vec![
        question("Which way?", &["a", "b"], false, true),
        question("What else?", &["c", "d"], true, false),
        question("Sure?", &["Yes", "No"], false, false),
        question("Say it", &[], false, true),
    ];
    Inquiry { id: AskId::new("per_1"), call: CallId::new("call_1"), questions }
}

#[test]
fn questions_are_fields_of_one_form() {
    let option = |label: &str| json!({ "const": label, "title": label, "description": format!("about {label}") });
    let other = json!({ "type": "string", "title": "Something else", "description": "In your own words" });
    let expected = json!({
        "sessionId": "ses_1",
        "toolCallId": "call_1",
        "mode": "form",
        "message": "1. Which way?\n2. What else?\n3. Sure?\n4. Say it",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "q01": { "type": "string", "title": "Head", "description": "Which way?", "oneOf": [option("a"), option("b")] },
                "q01_other": other,
                "q02": {
                    "type": "array", "title": "Head", "description": "What else?", "items": { "anyOf": [option("c"), option("d")] },
                },
                "q03": { "type": "string", "title": "Head", "description": "Sure?", "oneOf": [option("Yes"), option("No")] },
                "q04_other": { "type": "string", "title": "Say it", "description": "In your own words" },
            },
            "required": ["q03"],
        },
        "_meta": { "copydesk": { "ask": "per_1" } },
    });
    assert_eq!(serde_json::to_value(request("ses_1", &inquiry())).unwrap(), expected);
}

#[track_caller]
fn check(answer: Value, expected: &[&[&str]]) {
    let owned = |answer: &&[&str]| answer.iter().map(|part| (*part).to_owned()).collect();
    assert_eq!(
        outcome(&inquiry(), answer.clone()),
        InquiryOutcome::Answered(expected.iter().map(owned).collect()),
        "{answer}"
    );
}

#[test]
fn what_is_filled_in_is_checked_here_too() {
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    check(accept(json!({})), &[&[], &[], &[], &[]]);
    check(json!({ "action": "accept" }), &[&[], &[], &[], &[]]);
    check(
        accept(json!({ "q01": "b", "q02": ["d", "c"], "q03": "No", "q04_other": "x" })),
        &[&["b"], &["d", "c"], &["No"], &["x"]],
    );
    check(accept(json!({ "q01": "b", "q01_other": " but " })), &[&["b", "but"], &[], &[], &[]]);
    check(accept(json!({ "q01": "own", "q02": ["z", "c", "c"], "q03": "z" })), &[&["own"], &["c"], &[], &[]]);
    check(accept(json!({ "q01": 3, "q02": true, "q09": "a" })), &[&[], &[], &[], &[]]);
}

#[test]
fn fields_that_were_left_empty_do_not_cost_the_others() {
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let nothing: &[&[&str]] = &[&[], &[], &[], &[]];
    check(accept(json!([])), nothing);
    check(accept(Value::Null), nothing);
    check(
        accept(json!({ "q01": "b", "q01_other": null, "q02": null, "q03": "No", "q04_other": null })),
        &[&["b"], &[], &["No"], &[]],
    );
    assert_eq!(typed_line(accept(json!([]))).as_ref().map(Typed::reveal), Some(""));
    assert_eq!(typed_line(accept(json!({ "line": null }))).as_ref().map(Typed::reveal), Some(""));
    let numbers = Inquiry { questions: vec![question("How many?", &["3", "true", "1.5"], false, true)], ..inquiry() };
    for (given, expected) in [(json!(3), "3"), (json!(true), "true"), (json!(1.5), "1.5"), (json!("3"), "3")] {
        let answers = InquiryOutcome::Answered(vec![vec![expected.to_owned()]]);
        assert_eq!(outcome(&numbers, accept(json!({ "q01": given }))), answers);
    }
}

#[test]
fn what_is_no_answer_is_none() {
    for action in ["decline", "cancel"] {
        assert_eq!(outcome(&inquiry(), json!({ "action": action })), InquiryOutcome::Dismissed);
    }
    for answer in [Value::Null, json!({}), json!([]), json!({ "action": "later" })] {
        let outcome = outcome(&inquiry(), answer.clone());
        assert!(matches!(outcome, InquiryOutcome::Undeliverable { .. }), "{answer}: {outcome:?}");
    }
}

#[test]
fn only_clients_that_say_so_take_forms() {
    assert_eq!(Forms::of(&json!({ "elicitation": { "form": {} } })), Forms::Plain);
    for other in
        [json!({}), json!({ "elicitation": {} }), json!({ "elicitation": { "form": null, "url": {} } }), Value::Null]
    {
        assert_eq!(Forms::of(&other), Forms::None, "{other}");
    }
}

#[test]
fn c49_secrets_go_to_clients_that_say_that_they_keep_them() {
    let check = |meta: Value, expected| {
        assert_eq!(Forms::of(&json!({ "elicitation": { "form": { "_meta": meta } } })), expected, "{meta}");
    };
    check(json!({ "copydesk": { "secrets": true } }), Forms::WithSecrets);
    for other in [json!({ "copydesk": { "secrets": 1 } }), json!({ "copydesk": true }), json!({ "secrets": true })] {
        check(other, Forms::Plain);
    }
}

#[test]
fn c49_what_a_command_waits_for_is_a_form_of_one_field() {
    let wanted = |text: &str, is_secret| WantedLine {
        id: AskId::new("per_1"),
        call: CallId::new("call_1"),
        prompt: TerminalPrompt { text: text.to_owned(), is_secret },
    };
    let expected = json!({
        "sessionId": "ses_1",
        "toolCallId": "call_1",
        "mode": "form",
        "message": "The command asks: Password:",
        "requestedSchema": { "type": "object", "properties": { "line": { "type": "string", "title": "Password:" } } },
        "_meta": { "copydesk": { "ask": "per_1", "input": true, "secret": true } },
    });
    assert_eq!(serde_json::to_value(line_request("ses_1", &wanted("Password:", true))).unwrap(), expected);
    let unnamed = serde_json::to_value(line_request("ses_1", &wanted("", false))).unwrap();
    assert_eq!(unnamed["message"], "The command waits for a line of input.");
    assert_eq!(unnamed["_meta"]["copydesk"]["secret"], false);
}

#[test]
fn c49_a_line_is_given_or_it_is_not() {
    let check = |answer: Value, expected: Option<&str>| {
        let typed = typed_line(answer.clone());
        assert_eq!(typed.as_ref().map(Typed::reveal), expected, "{answer}");
        assert!(!format!("{typed:?}").contains("hunter2"));
    };
    check(json!({ "action": "accept", "content": { "line": "hunter2" } }), Some("hunter2"));
    check(json!({ "action": "accept", "content": { "line": " a b \nrm -rf x\r" } }), Some(" a b "));
    check(json!({ "action": "accept", "content": { "line": "a\u{4}\u{3}b" } }), Some("ab"));
    check(json!({ "action": "accept", "content": {} }), Some(""));
    check(json!({ "action": "accept" }), Some(""));
    let wrong = [
        Value::Null,
        json!({}),
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept", "content": { "line": ["hunter2"] } }),
        json!({ "action": "later", "content": { "line": "hunter2" } }),
    ];
    wrong.into_iter().for_each(|answer| check(answer, None));
}
