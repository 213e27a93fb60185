#![expect(clippy::unwrap_used, reason = "a test may panic")]

use copydesk_engine::event::ToolCallView;
use copydesk_engine::ids::{AskId, CallId, MessageId};
use copydesk_engine::message::ToolStatus;
use copydesk_engine::ports::{AskOption, OptionKind, Preview};
use copydesk_engine::registry::Registry;
use copydesk_engine::testing::{FakeModel, World, config};
use copydesk_engine::tool::ToolKind;
use copydesk_protocol::rpc::{self, CancelDialect, Framing, Handler, Notification, Options, Reply, Request, RpcError};
use tokio::sync::mpsc::UnboundedReceiver;

use serde_json::Value;

use super::*;

struct Silent;

impl Notices for Silent {
    fn show(&self, _: Severity, _: &str) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Records what the client is told, and answers asks with what it was made with.
struct Recorder {
    told: mpsc::UnboundedSender<(Instant, Value)>,
    answer: Result<Value, RpcError>,
}

impl Handler for Recorder {
    fn request(&self, request: Request) -> Reply {
        assert_eq!(request.method, "session/request_permission");
        let _ = self.told.send((Instant::now(), json!({ "asked": request.params["toolCall"]["toolCallId"] })));
        Reply::Now(self.answer.clone())
    }

    fn notification(&self, notification: Notification) {
        let told = match notification.method.as_str() {
            "session/update" => notification.params["update"].clone(),
            method => json!({ "method": method, "params": notification.params }),
        };
        let _ = self.told.send((Instant::now(), told));
    }
}

struct Quiet;

impl Handler for Quiet {
    fn request(&self, request: Request) -> Reply {
        Reply::Now(Err(RpcError::method_not_found(&request.method)))
    }

    fn notification(&self, _: Notification) {}
}

/// A client of a session, and what its editor hears.
async fn connect(
    answer: Result<Value, RpcError>,
) -> (Arc<SessionClient>, SessionId, UnboundedReceiver<(Instant, Value)>) {
    connect_with(NoticeStyle::Own(Arc::new(Silent)), answer).await
}

async fn connect_with(
    notices: NoticeStyle,
    answer: Result<Value, RpcError>,
) -> (Arc<SessionClient>, SessionId, UnboundedReceiver<(Instant, Value)>) {
    connect_taking(Takes { forms: Box::new(|| Forms::None), changed: Box::new(|| false) }, notices, answer).await
}

async fn connect_taking(
    takes: Takes,
    notices: NoticeStyle,
    answer: Result<Value, RpcError>,
) -> (Arc<SessionClient>, SessionId, UnboundedReceiver<(Instant, Value)>) {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let options = || Options { framing: Framing::Lines, cancel: CancelDialect::Lsp };
    let (told, heard) = mpsc::unbounded_channel();
    let (reads, writes) = tokio::io::split(theirs);
    tokio::spawn(rpc::serve(Box::new(reads), Box::new(writes), options(), |_| Arc::new(Recorder { told, answer })));
    let (reads, writes) = tokio::io::split(ours);
    let (made, peer) = oneshot::channel();
    tokio::spawn(rpc::serve(Box::new(reads), Box::new(writes), options(), |peer| {
        let _ = made.send(peer);
        Arc::new(Quiet)
    }));
    let client = SessionClient::start(peer.await.unwrap(), notices, takes);
    let world = World::new(FakeModel::new().0);
    let engine = world.engine(Registry::builtin());
    let session = world.session(&engine, config()).await.unwrap();
    let id = session.id().clone();
    client.add(session);
    world.keep(engine);
    (client, id, heard)
}

fn text(delta: impl Into<String>) -> SessionEvent {
    SessionEvent::Text { message: MessageId::new("msg_1"), delta: delta.into() }
}

fn call(state: ToolCallState, text: &str) -> ToolCallView {
    ToolCallView {
        call: CallId::new("call_1"),
        name: "bash".to_owned(),
        kind: ToolKind::Execute,
        title: "ls".to_owned(),
        state,
        input: json!({}),
        text: text.to_owned(),
        diffs: Vec::new(),
        media: Vec::new(),
        locations: Vec::new(),
        allowed_by: Vec::new(),
    }
}

fn ask() -> Ask {
    Ask {
        id: AskId::new("per_1"),
        call: CallId::new("call_1"),
        title: "ls".to_owned(),
        reason: "every command is asked for".to_owned(),
        input: json!({}),
        preview: Preview::Nothing,
        options: vec![AskOption { id: "0".to_owned(), label: "Allow once".to_owned(), kind: OptionKind::AllowOnce }],
    }
}

fn drain(heard: &mut UnboundedReceiver<(Instant, Value)>) -> Vec<(Instant, Value)> {
    std::iter::from_fn(|| heard.try_recv().ok()).collect()
}

async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn r21_1_deltas_are_merged_never_dropped_and_at_most_thirty_a_second() {
    let (client, session, mut heard) = connect(Ok(Value::Null)).await;
    let mut sent = String::new();
    let began = Instant::now();
    for index in 0..5_000 {
        let delta = format!("{index} ");
        sent.push_str(&delta);
        client.update(session.clone(), text(delta)).await;
        tokio::time::sleep(Duration::from_micros(400)).await;
    }
    client.flush().await;
    let seconds = began.elapsed().as_secs_f64();
    settle().await;
    let updates = drain(&mut heard);
    let received: String = updates.iter().map(|(_, update)| update["content"]["text"].as_str().unwrap()).collect();
    assert_eq!(received, sent);
    #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
    let rate = updates.len() as f64 / seconds;
    assert!(rate <= 31.0, "{} updates in {seconds} s", updates.len());
}

#[tokio::test(start_paused = true)]
async fn r4_2_another_list_of_changes_is_told_to_clients_that_take_it() {
    for takes in [true, false] {
        let takes_changed = Takes { forms: Box::new(|| Forms::None), changed: Box::new(move || takes) };
        let (client, session, mut heard) =
            connect_taking(takes_changed, NoticeStyle::Own(Arc::new(Silent)), Ok(Value::Null)).await;
        client.update(session.clone(), text("before")).await;
        client.update(session.clone(), SessionEvent::Changes).await;
        client.flush().await;
        settle().await;
        let told: Vec<Value> = drain(&mut heard).into_iter().map(|(_, told)| told).collect();
        let changed = json!({ "method": "_copydesk/changed", "params": { "sessionId": session } });
        assert_eq!(told.len(), if takes { 2 } else { 1 }, "{told:?}");
        assert_eq!(told.contains(&changed), takes, "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lone_delta_is_not_held_back() {
    let (client, session, mut heard) = connect(Ok(Value::Null)).await;
    let began = Instant::now();
    client.update(session, text("hello")).await;
    let (at, update) = heard.recv().await.unwrap();
    assert_eq!(update["content"]["text"], "hello");
    assert!(at - began < WINDOW, "{:?}", at - began);
}

#[tokio::test(start_paused = true)]
async fn the_order_of_events_is_kept_where_deltas_are_merged() {
    let (client, session, mut heard) = connect(Ok(Value::Null)).await;
    let running = |text: &str| SessionEvent::ToolCallUpdate(call(ToolCallState::Running, text));
    let events = [
        text("a"),
        text("b"),
        SessionEvent::ToolCall(call(ToolCallState::Pending, "")),
        running("1"),
        running("2"),
        running("3"),
        SessionEvent::ToolCallUpdate(call(ToolCallState::Ended(ToolStatus::Completed), "done")),
        text("c"),
    ];
    for event in events {
        client.update(session.clone(), event).await;
    }
    client.flush().await;
    settle().await;
    let told: Vec<String> = drain(&mut heard)
        .iter()
        .map(|(_, update)| {
            let text = update["content"]["text"].as_str().or(update["content"][0]["content"]["text"].as_str());
            format!("{} {}", update["sessionUpdate"].as_str().unwrap(), text.unwrap_or_default())
        })
        .collect();
    let expected = [
        "agent_message_chunk ab",
        "tool_call ",
        "tool_call_update 3",
        "tool_call_update done",
        "agent_message_chunk c",
    ];
    // The first delta may have gone out before the second came.
    let told = told.join("|").replace("agent_message_chunk a|agent_message_chunk b|", "agent_message_chunk ab|");
    assert_eq!(told.replace("tool_call_update 1|", "").replace("tool_call_update 2|", ""), expected.join("|"));
}

#[tokio::test(start_paused = true)]
async fn an_ask_comes_after_all_that_was_told_before_it() {
    let answer = json!({ "outcome": { "outcome": "selected", "optionId": "0" } });
    let (client, session, mut heard) = connect(Ok(answer)).await;
    client.update(session.clone(), SessionEvent::ToolCall(call(ToolCallState::Pending, ""))).await;
    client.update(session.clone(), text("so ")).await;
    client.update(session.clone(), text("far")).await;
    let outcome = client.ask(session, ask()).await;
    assert_eq!(outcome, AskOutcome::Selected { option: "0".to_owned(), message: None });
    let told = drain(&mut heard);
    assert_eq!(told.first().unwrap().1["sessionUpdate"], "tool_call");
    assert_eq!(told.last().unwrap().1, json!({ "asked": "call_1" }));
}

#[tokio::test(start_paused = true)]
async fn r16_2_no_consent_without_a_valid_answer() {
    let answers = [
        Ok(Value::Null),
        Ok(json!({})),
        Ok(json!({ "outcome": "yes" })),
        Ok(json!({ "outcome": { "outcome": "approved" } })),
        Err(RpcError::method_not_found("session/request_permission")),
    ];
    for answer in answers {
        let (client, session, _heard) = connect(answer.clone()).await;
        let outcome = client.ask(session, ask()).await;
        assert!(matches!(outcome, AskOutcome::Undeliverable { .. }), "{answer:?}: {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejection_carries_the_users_words() {
    let selected = json!({ "outcome": "selected", "optionId": "1", "_meta": { "copydesk": { "message": "use rg" } } });
    let (client, session, _heard) = connect(Ok(json!({ "outcome": selected }))).await;
    let outcome = client.ask(session.clone(), ask()).await;
    assert_eq!(outcome, AskOutcome::Selected { option: "1".to_owned(), message: Some("use rg".to_owned()) });
    let (client, session, _heard) = connect(Ok(json!({ "outcome": { "outcome": "cancelled" } }))).await;
    assert_eq!(client.ask(session, ask()).await, AskOutcome::Cancelled);
}

fn notice(severity: Severity, text: &str) -> SessionEvent {
    SessionEvent::Notice { severity, text: text.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_knows_notices_is_told_at_once() {
    let (client, session, mut heard) = connect_with(NoticeStyle::Update, Ok(Value::Null)).await;
    client.update(session, notice(Severity::Warning, "a key is unknown\nLine 3.")).await;
    let expected = json!({
        "sessionUpdate": "notice", "severity": "warning", "title": "a key is unknown", "description": "Line 3."
    });
    assert_eq!(heard.recv().await.unwrap().1, expected);
}

#[tokio::test(start_paused = true)]
async fn without_notices_warnings_stand_before_the_text_of_the_turn() {
    let (client, session, mut heard) = connect_with(NoticeStyle::Text, Ok(Value::Null)).await;
    client.update(session.clone(), notice(Severity::Warning, "one\nand more")).await;
    client.update(session.clone(), notice(Severity::Info, "nothing of weight")).await;
    client.update(session.clone(), notice(Severity::Error, "two")).await;
    client.update(session, text("hello")).await;
    let (warned, said) = (heard.recv().await.unwrap().1, heard.recv().await.unwrap().1);
    assert_eq!(warned["sessionUpdate"], "agent_message_chunk");
    assert_eq!(warned["content"]["text"], "> **Copydesk:**\n> one\n> and more\n\n> **Copydesk:**\n> two\n\n");
    assert_eq!(said["content"]["text"], "hello");
    assert_ne!(said["messageId"], warned["messageId"]);
}

#[tokio::test(start_paused = true)]
async fn without_notices_a_turn_without_text_ends_with_them() {
    let (client, session, mut heard) = connect_with(NoticeStyle::Text, Ok(Value::Null)).await;
    client.update(session.clone(), notice(Severity::Error, "no model")).await;
    client.turn_ends(&session).await;
    assert_eq!(heard.recv().await.unwrap().1["content"]["text"], "> **Copydesk:**\n> no model\n\n");
    client.turn_ends(&session).await;
    assert!(heard.try_recv().is_err(), "told once");
}

struct Panicking;

impl Notices for Panicking {
    fn show(&self, _: Severity, text: &str) -> BoxFuture<'static, ()> {
        panic!("on purpose: {text}")
    }
}

#[tokio::test(start_paused = true)]
async fn r22_7_a_panic_costs_one_update_and_no_flush_waits_for_ever() {
    let (client, session, mut heard) = connect_with(NoticeStyle::Own(Arc::new(Panicking)), Ok(Value::Null)).await;
    let notice = SessionEvent::Notice { severity: Severity::Info, text: "lost".to_owned() };
    client.update(session.clone(), text("before")).await;
    client.update(session.clone(), notice).await;
    client.update(session.clone(), text("after")).await;
    client.turn_ends(&session).await;
    settle().await;
    let texts: Vec<_> =
        drain(&mut heard).iter().map(|(_, update)| update["content"]["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(texts, ["before", "after"]);
}

#[tokio::test(start_paused = true)]
async fn r21_1_a_text_of_any_length_comes_in_updates_of_a_bounded_size() {
    let (client, session, mut heard) = connect(Ok(Value::Null)).await;
    // Three bytes a character, so that no limit in bytes falls between two of them by itself.
    let long = "€".repeat(3 * UPDATE_LIMIT / 3 + 10);
    let thought = SessionEvent::Reasoning { message: MessageId::new("msg_1"), delta: long.clone() };
    for event in [text(long.clone()), thought] {
        client.update(session.clone(), event).await;
        client.flush().await;
        settle().await;
        let updates = drain(&mut heard);
        let texts: Vec<_> = updates.iter().map(|(_, update)| update["content"]["text"].as_str().unwrap()).collect();
        assert_eq!(texts.concat(), long);
        assert!(texts.len() == 4 && texts.iter().all(|text| text.len() <= UPDATE_LIMIT), "{}", texts.len());
    }
}
