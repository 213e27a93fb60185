use std::time::Duration;

use serde_json::{Value, json};

use crate::inquiry::InquiryOutcome;
use crate::message::{ToolStatus, TurnEnd};
use crate::permission::Verdict;
use crate::workbench::{Bench, call};

fn which(labels: &[&str]) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({"label": label, "description": format!("about {label}")})).collect();
    json!({"question": "Which way?", "header": "Way", "options": options})
}

#[tokio::test]
async fn the_answers_come_in_the_order_of_the_questions() {
    let bench = Bench::new();
    let several = json!({"question": "What else?", "header": "More", "options": [], "multiple": true});
    let input = json!({"questions": [which(&["a", "b"]), several, which(&["c"])]});
    let (outcome, ()) = tokio::join!(bench.call("question", input), async {
        let pending = bench.client.next_inquiry().await;
        let [first, second, _] = &pending.inquiry.questions[..] else { panic!("three questions") };
        assert_eq!((first.text.as_str(), first.header.as_str(), first.choices.len()), ("Which way?", "Way", 2));
        assert_eq!((first.multiple, first.free, second.multiple), (false, true, true));
        pending.say(&[&["b"], &["x", "own words"], &[]]);
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed);
    assert_eq!(outcome.result.title, "Asked 3 questions");
    assert_eq!(outcome.result.metadata, json!({"answers": [["b"], ["x", "own words"], []]}));
    let said = "\"Which way?\"=\"b\", \"What else?\"=\"x, own words\", \"Which way?\"=\"Unanswered\"";
    assert!(outcome.result.text.contains(said), "{}", outcome.result.text);
    assert!(bench.client.asks().is_empty(), "to be asked needs no permission");
}

#[tokio::test]
async fn no_permission_is_asked_for_a_question() {
    let bench = Bench::new().rule("*", "*", Verdict::Ask);
    let (outcome, ()) = tokio::join!(bench.call("question", json!({"questions": [which(&["a"])]})), async {
        bench.client.next_inquiry().await.say(&[&["a"]]);
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed);
    assert!(bench.client.asks().is_empty());
}

#[tokio::test]
async fn a_dismissed_question_ends_the_turn() {
    for goes_on in [false, true] {
        let mut bench = Bench::new();
        bench.config.continue_on_reject = goes_on;
        let (outcome, ()) = tokio::join!(bench.call("question", json!({"questions": [which(&["a"])]})), async {
            bench.client.next_inquiry().await.answer(InquiryOutcome::Dismissed);
        });
        assert_eq!(outcome.result.status, ToolStatus::Failed);
        assert!(outcome.result.text.contains("dismissed"), "{}", outcome.result.text);
        assert_eq!(outcome.stop, (!goes_on).then_some(TurnEnd::Rejected));
    }
}

#[tokio::test]
async fn a_client_that_ends_the_turn_gives_no_answer() {
    let bench = Bench::new();
    let (outcome, ()) = tokio::join!(bench.call("question", json!({"questions": [which(&["a"])]})), async {
        bench.client.next_inquiry().await.answer(InquiryOutcome::Cancelled);
    });
    assert_eq!((outcome.result.status, outcome.stop), (ToolStatus::Cancelled, Some(TurnEnd::Cancelled)));
}

#[tokio::test(start_paused = true)]
async fn r16_2_a_question_that_nobody_can_be_asked_is_answered_at_once() {
    let bench = Bench::new();
    let input = json!({"questions": [which(&["a"])]});
    let call = tokio::time::timeout(Duration::from_secs(1), bench.call("question", input));
    let (outcome, ()) = tokio::join!(call, async {
        let reason = "no client is connected".to_owned();
        bench.client.next_inquiry().await.answer(InquiryOutcome::Undeliverable { reason });
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.result.status, outcome.stop), (ToolStatus::Failed, None));
    let text = outcome.result.text;
    assert!(text.contains("no client is connected") && text.contains("as your reply"), "{text}");
}

#[tokio::test]
async fn r16_3_questions_wait_beside_each_other_and_are_answered_in_any_order() {
    let bench = Bench::new();
    bench.put("/w/a", "x\n");
    let runner = bench.runner();
    let ask = |id: &'static str, label: &'static str| {
        let input = json!({"questions": [which(&[label])]});
        runner.run(call(id, "question", &input.to_string()))
    };
    let read = async {
        let read = runner.run(call("call_3", "read", r#"{"filePath": "a"}"#)).await;
        assert_eq!(read.result.status, ToolStatus::Completed, "nothing waits for a question");
    };
    let play = async {
        let first = bench.client.next_inquiry().await;
        let second = bench.client.next_inquiry().await;
        assert_ne!(first.inquiry.id, second.inquiry.id);
        second.say(&[&["two"]]);
        first.say(&[&["one"]]);
    };
    let (one, two, (), ()) = tokio::join!(ask("call_1", "one"), ask("call_2", "two"), read, play);
    assert!(one.result.text.contains("\"one\"") && two.result.text.contains("\"two\""));
}

#[tokio::test]
async fn r2_3_a_cancel_withdraws_the_question() {
    let bench = Bench::new();
    let (outcome, ()) = tokio::join!(bench.call("question", json!({"questions": [which(&["a"])]})), async {
        let pending = bench.client.next_inquiry().await;
        bench.cancel.cancel();
        tokio::time::timeout(Duration::from_secs(10), async {
            while !pending.is_withdrawn() {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
    });
    assert_eq!(outcome.result.status, ToolStatus::Cancelled);
}

#[tokio::test]
async fn a_client_that_knows_choices_alone_is_asked_by_them() {
    let bench = Bench::new();
    bench.client.know_choices_alone();
    let (outcome, ()) = tokio::join!(bench.call("question", json!({"questions": [which(&["a", "b"])]})), async {
        let pending = bench.client.next_ask().await;
        assert_eq!(pending.ask.title, "Which way?");
        pending.select(crate::ports::OptionKind::Answer, None);
    });
    assert!(outcome.result.text.contains("\"Which way?\"=\"a\""), "{}", outcome.result.text);
}

#[tokio::test]
async fn what_cannot_be_asked_is_told() {
    let bench = Bench::new();
    let failed = async |questions: Value| bench.failed("question", json!({ "questions": questions })).await;
    assert!(failed(json!([])).await.contains("questions"));
    assert!(failed(json!([which(&["a", "a"])])).await.contains("there twice"));
    assert!(failed(json!([which(&["a", " "])])).await.contains("is empty"));
    assert!(failed(json!([{"question": " ", "header": "", "options": []}])).await.contains("`question` is empty"));
}
