//! Requests that fail and are sent again, as the client and the model see it.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::config::Config;
use crate::cost::{Prices, Rates};
use crate::event::{Retry, SessionEvent, ToolCallState};
use crate::message::{Entry, Finish, PromptPart, ToolStatus, TurnEnd};
use crate::ports::{AssistantBlock, BoxFuture, ModelErrorKind, ModelMessage};
use crate::registry::Registry;
use crate::session::SessionHandle;
use crate::testing::{Boundaries, FakeModel, ModelPlayer, Toy, ToyTool, World, config};
use crate::tool::AnyTool;

async fn open_with(config: Config) -> (World, SessionHandle, ModelPlayer) {
    let (model, player) = FakeModel::new();
    let world = World::new(model);
    let echo = ToyTool::new("echo", Toy::Echo, "free", Boundaries::default());
    let engine = world.engine(Registry::new([echo as Arc<dyn AnyTool>]));
    let session = world.session(&engine, config).await.unwrap();
    world.keep(engine);
    (world, session, player)
}

fn prompt(session: &SessionHandle) -> BoxFuture<'static, TurnEnd> {
    session.prompt(vec![PromptPart::Text { text: "go".to_owned() }]).unwrap()
}

fn retries(world: &World) -> Vec<Retry> {
    let retry = |event| if let SessionEvent::Retry(retry) = event { Some(retry) } else { None };
    world.client.events().into_iter().filter_map(retry).collect()
}

#[tokio::test(start_paused = true)]
async fn r14_5_a_refusal_is_waited_out_and_the_same_request_sent_again() {
    let (world, session, mut model) = open_with(config()).await;
    let end = prompt(&session);
    let began = Instant::now();
    let reply = model.next_request().await;
    let first = reply.request.clone();
    reply.fail(ModelErrorKind::RateLimited { retry_after: Some(Duration::from_secs(20)) }, "slow down.");
    let reply = model.next_request().await;
    assert!(began.elapsed() >= Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(reply.request.messages, first.messages);
    let [retry] = &retries(&world)[..] else { panic!("{:?}", retries(&world)) };
    assert_eq!((retry.attempt, retry.of), (1, 5));
    assert!(retry.to_string().starts_with("slow down. Trying again in 2"), "{retry}");
    reply.text("Hi");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(world.client.text(), "Hi");
}

#[tokio::test(start_paused = true)]
async fn r14_5_after_five_further_tries_the_error_is_final() {
    let (world, session, mut model) = open_with(config()).await;
    let end = prompt(&session);
    let began = Instant::now();
    for _ in 0..6 {
        model.next_request().await.fail(ModelErrorKind::Connection, "nothing listens.");
    }
    assert_eq!(end.await, TurnEnd::Failed { message: "nothing listens.".to_owned() });
    assert_eq!(retries(&world).iter().map(|retry| retry.attempt).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let waited: Duration = retries(&world).iter().map(|retry| retry.wait).sum();
    assert!(began.elapsed() >= waited && waited >= Duration::from_secs(60), "{waited:?}");
    // The next turn counts anew.
    let end = prompt(&session);
    model.next_request().await.fail(ModelErrorKind::Connection, "nothing listens.");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn r14_5_c83_what_was_shown_is_not_shown_again() {
    let (world, session, mut model) = open_with(config()).await;
    let end = prompt(&session);
    let reply = model.next_request().await;
    let first = reply.request.messages.clone();
    reply.text("One, two, ").progress(0, "echo", "{");
    reply.fail(ModelErrorKind::Broken, "it broke off.");
    // Broken off again before it says anything new.
    let reply = model.next_request().await;
    reply.text("One");
    reply.fail(ModelErrorKind::Broken, "it broke off.");
    let reply = model.next_request().await;
    assert_eq!(reply.request.messages, first);
    reply.text("One, ").text("two, three").text(".");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(world.client.text(), "One, two, three.");
    let texts = |entry| if let Entry::Text { text, .. } = entry { Some(text) } else { None };
    let stored: Vec<String> = world.store.entries(session.id()).into_iter().filter_map(texts).collect();
    assert_eq!(stored, ["One, two, three."]);
}

#[tokio::test(start_paused = true)]
async fn r14_5_another_answer_clearly_replaces_what_was_shown() {
    for (second, last) in [("One or", " two"), ("Uno", ""), ("One", "")] {
        let (world, session, mut model) = open_with(config()).await;
        let end = prompt(&session);
        let reply = model.next_request().await;
        reply.text("One, two, ");
        reply.fail(ModelErrorKind::Broken, "it broke off.");
        let reply = model.next_request().await;
        reply.text(second).text(last);
        reply.finish(Finish::Stop);
        assert_eq!(end.await, TurnEnd::Done);
        let anew = "\n\n---\n\n*The connection broke off. The answer begins anew:*\n\n";
        assert_eq!(world.client.text(), format!("One, two, {anew}{second}{last}"));
        let end = prompt(&session);
        let reply = model.next_request().await;
        let said = ModelMessage::Assistant(vec![AssistantBlock::Text(format!("{second}{last}"))]);
        assert_eq!(reply.request.messages[1], said);
        reply.finish(Finish::Stop);
        assert_eq!(end.await, TurnEnd::Done);
    }
}

#[tokio::test(start_paused = true)]
async fn r14_5_calls_of_a_broken_reply_are_withdrawn() {
    let (world, session, mut model) = open_with(config()).await;
    let end = prompt(&session);
    let reply = model.next_request().await;
    let first = reply.request.messages.clone();
    reply.call("a", "echo", r#"{"text":"x"}"#);
    reply.fail(ModelErrorKind::TimedOut, "silence.");
    let reply = model.next_request().await;
    assert_eq!(reply.request.messages, first);
    reply.call("b", "echo", r#"{"text":"x"}"#);
    reply.finish(Finish::ToolCalls);
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let states = |event| if let SessionEvent::ToolCallUpdate(view) = event { Some(view.state) } else { None };
    let ended: Vec<_> =
        world.client.events().into_iter().filter_map(states).filter(|s| matches!(s, ToolCallState::Ended(_))).collect();
    assert_eq!(ended, [ToolStatus::Cancelled, ToolStatus::Completed].map(ToolCallState::Ended));
    let calls = world.store.entries(session.id()).iter().filter(|e| matches!(e, Entry::ToolCall { .. })).count();
    assert_eq!(calls, 1);
}

#[tokio::test(start_paused = true)]
async fn r14_5_an_error_that_stays_keeps_what_was_shown() {
    let (world, session, mut model) = open_with(config()).await;
    let end = prompt(&session);
    for _ in 0..6 {
        let reply = model.next_request().await;
        reply.text("One, ");
        reply.fail(ModelErrorKind::Broken, "it broke off.");
    }
    assert!(matches!(end.await, TurnEnd::Failed { .. }));
    assert_eq!(world.client.text(), "One, ");
    let end = prompt(&session);
    let reply = model.next_request().await;
    assert_eq!(reply.request.messages[1], ModelMessage::Assistant(vec![AssistantBlock::Text("One, ".to_owned())]));
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

fn thoughts(world: &World) -> String {
    let thought = |event| if let SessionEvent::Reasoning { delta, .. } = event { Some(delta) } else { None };
    world.client.events().into_iter().filter_map(thought).collect()
}

#[tokio::test(start_paused = true)]
async fn r14_5_thoughts_alone_are_begun_anew() {
    let anew = "\n\n---\n\n*The connection broke off. The thoughts begin anew:*\n\n";
    for (second, last, expected) in [
        ("H", "m, so", "Hm, so".to_owned()),
        ("Hm", "", "Hm".to_owned()),
        ("", "", "Hm".to_owned()),
        ("Hmm", "", "Hmm".to_owned()),
        ("Ah", " so", format!("Hm{anew}Ah so")),
        ("H", "", format!("Hm{anew}H")),
    ] {
        let (world, session, mut model) = open_with(config()).await;
        let end = prompt(&session);
        let reply = model.next_request().await;
        let first = reply.request.messages.clone();
        reply.reasoning("Hm");
        reply.fail(ModelErrorKind::Broken, "it broke off.");
        let reply = model.next_request().await;
        assert_eq!(reply.request.messages, first);
        reply.reasoning(second).reasoning(last);
        reply.finish(Finish::Stop);
        assert_eq!(end.await, TurnEnd::Done);
        assert_eq!(thoughts(&world), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn r14_5_thoughts_and_text_are_each_gone_on_with() {
    let (world, session, mut model) = open_with(config()).await;
    let end = prompt(&session);
    for _ in 0..3 {
        let reply = model.next_request().await;
        reply.reasoning("Hm. ").text("One, ").reasoning("And").text("two");
        reply.fail(ModelErrorKind::Broken, "it broke off.");
    }
    let reply = model.next_request().await;
    reply.reasoning("Hm.").reasoning(" ").text("One, two").reasoning("And?").text(".");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!((thoughts(&world), world.client.text()), ("Hm. And?".to_owned(), "One, two.".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn r2_4_a_cancel_ends_the_wait_at_once() {
    let (world, session, mut model) = open_with(config()).await;
    let end = prompt(&session);
    let overloaded = ModelErrorKind::Overloaded { retry_after: Some(Duration::from_secs(600)) };
    model.next_request().await.fail(overloaded, "overloaded.");
    world.client.wait_for(|event| matches!(event, SessionEvent::Retry(_))).await;
    let began = Instant::now();
    session.cancel();
    assert_eq!(end.await, TurnEnd::Cancelled);
    assert!(began.elapsed() < Duration::from_secs(1));
    assert!(model.waiting().is_none());
    let entries = world.store.entries(session.id());
    let ended = entries.iter().filter(|entry| matches!(entry, Entry::StepEnded { .. })).count();
    assert_eq!(ended, 1, "{entries:?}");
}

#[tokio::test(start_paused = true)]
async fn the_cost_of_a_session_adds_up() {
    let rates = Rates { input: 1.0, output: 2.0, cache_read: 0.0, cache_write: 0.0 };
    let mut config = config();
    config.models[0].prices = Some(Prices { base: rates, long_context: None });
    let (world, session, mut model) = open_with(config).await;
    for _ in 0..2 {
        let end = prompt(&session);
        let reply = model.next_request().await;
        reply.text("Hi").usage(1_000_000, 500_000);
        reply.finish(Finish::Stop);
        assert_eq!(end.await, TurnEnd::Done);
    }
    let cost = |event| if let SessionEvent::Usage { cost, .. } = event { cost } else { None };
    assert_eq!(world.client.events().into_iter().filter_map(cost).collect::<Vec<_>>(), [2.0, 4.0]);
}
