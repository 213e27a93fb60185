use std::sync::Arc;

use super::*;
use crate::testing::FakeClient;

fn question(text: &str, labels: &[&str], multiple: bool, free: bool) -> Question {
    let choice = |label: &&str| Choice { label: (*label).to_owned(), description: format!("about {label}") };
    let choices = labels.iter().map(choice).collect();
    Question { text: text.to_owned(), header: "Head".to_owned(), choices, multiple, free }
}

/// Asks, and picks one option after the other: by label, or with a message.
async fn played(questions: Vec<Question>, picks: &[(&str, Option<&str>)]) -> (InquiryOutcome, Arc<FakeClient>) {
    let client = FakeClient::new();
    let inquiry = Inquiry { id: AskId::new("per_1"), call: CallId::new("call_1"), questions };
    let play = async {
        for (label, message) in picks {
            let pending = client.next_ask().await;
            let found = pending.ask.options.iter().find(|option| option.label == *label);
            let option = found.map_or_else(|| (*label).to_owned(), |option| option.id.clone());
            pending.answer(AskOutcome::Selected { option, message: message.map(str::to_owned) });
        }
    };
    let (outcome, ()) = tokio::join!(by_choice(&*client, SessionId::new("ses_1"), inquiry), play);
    (outcome, client)
}

fn answered(answers: &[&[&str]]) -> InquiryOutcome {
    let owned = |answer: &&[&str]| answer.iter().map(|part| (*part).to_owned()).collect();
    InquiryOutcome::Answered(answers.iter().map(owned).collect())
}

const NONE: &str = "None of these: I will say it myself";

#[tokio::test]
async fn each_question_is_a_choice() {
    let questions = vec![question("Which?", &["a", "b"], false, true), question("When?", &["now"], false, true)];
    let (outcome, client) = played(questions, &[("b", None), ("now", None)]).await;
    assert_eq!(outcome, answered(&[&["b"], &["now"]]));
    let asks = client.asks();
    let labels: Vec<&str> = asks[0].options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(labels, ["a", "b", NONE]);
    assert_eq!(asks[0].title, "Which?");
    assert_eq!(asks[0].reason, "Head (question 1 of 2)\n- a: about a\n- b: about b");
    let mut ids: Vec<&str> = asks.iter().map(|ask| ask.id.as_str()).collect();
    ids.extend(asks.iter().flat_map(|ask| &ask.options).map(|option| option.id.as_str()));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "no id means two things");
}

#[tokio::test]
async fn several_are_chosen_one_after_the_other() {
    let several = || vec![question("Which?", &["a", "b", "c"], true, true)];
    let (outcome, client) = played(several(), &[("c", None), ("a", None), ("That is all: c, a", None)]).await;
    assert_eq!(outcome, answered(&[&["c", "a"]]));
    let labels: Vec<String> = client.asks()[2].options.iter().map(|option| option.label.clone()).collect();
    assert_eq!(labels, ["b", "That is all: c, a", NONE]);
    let (outcome, _) = played(several(), &[("a", None), ("b", None), ("c", None)]).await;
    assert_eq!(outcome, answered(&[&["a", "b", "c"]]), "nothing is left to choose");
    let (outcome, _) = played(several(), &[("a", None), (NONE, Some("and d"))]).await;
    assert_eq!(outcome, answered(&[&["a", "and d"]]));
}

#[tokio::test]
async fn what_is_said_instead_is_the_answer_where_it_may_be() {
    let (outcome, _) = played(vec![question("Which?", &["a"], false, true)], &[(NONE, Some("b, please"))]).await;
    assert_eq!(outcome, answered(&[&["b, please"]]));
    let (outcome, _) = played(vec![question("Which?", &["a"], false, true)], &[(NONE, Some("  "))]).await;
    assert_eq!(outcome, InquiryOutcome::Dismissed);
    let closed = vec![question("Which?", &["a"], false, false)];
    let (outcome, _) = played(closed, &[("Dismiss the question", Some("b"))]).await;
    assert_eq!(outcome, InquiryOutcome::Dismissed);
}

#[tokio::test]
async fn an_answer_that_was_not_offered_is_none() {
    let (outcome, _) = played(vec![question("Which?", &["a"], false, true)], &[("per_1_0_0_9", None)]).await;
    assert!(matches!(outcome, InquiryOutcome::Undeliverable { .. }), "{outcome:?}");
    let client = FakeClient::new();
    let questions = vec![question("Which?", &["a"], false, true)];
    let inquiry = Inquiry { id: AskId::new("per_1"), call: CallId::new("call_1"), questions };
    let asked = by_choice(&*client, SessionId::new("ses_1"), inquiry);
    let play = async { client.next_ask().await.answer(AskOutcome::Cancelled) };
    assert_eq!(tokio::join!(asked, play).0, InquiryOutcome::Cancelled);
}
