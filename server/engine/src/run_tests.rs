#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use crate::config::Config;
use crate::event::{SessionEvent, ToolCallState};
use crate::message::{Entry, Finish, PromptPart, ToolResult, ToolStatus, TurnEnd, Usage};
use crate::ports::{
    AssistantBlock, BoxFuture, Content, ModelErrorKind, ModelMessage, ModelRequest, OptionKind, StoreError,
};
use crate::registry::Registry;
use crate::session::SessionHandle;
use crate::testing::{ASKED, Boundaries, FakeModel, ModelPlayer, Toy, ToyTool, World, config};
use crate::tool::AnyTool;

fn toys() -> Registry {
    let toy = |name, toy, permission| ToyTool::new(name, toy, permission, Boundaries::default()) as Arc<dyn AnyTool>;
    Registry::new([
        toy("echo", Toy::Echo, "free"),
        toy("asks", Toy::Echo, ASKED),
        toy("tells", Toy::Tell, "free"),
        toy("burns", Toy::Fatal, "free"),
        toy("panics", Toy::Panic, "free"),
    ])
}

pub(super) async fn open_with(config: Config) -> (World, SessionHandle, ModelPlayer) {
    let (model, player) = FakeModel::new();
    let world = World::new(model);
    let engine = world.engine(toys());
    let session = world.session(&engine, config).await.unwrap();
    world.keep(engine);
    (world, session, player)
}

async fn open() -> (World, SessionHandle, ModelPlayer) {
    open_with(config()).await
}

pub(super) fn prompt(session: &SessionHandle, text: &str) -> BoxFuture<'static, TurnEnd> {
    session.prompt(vec![PromptPart::Text { text: text.to_owned() }]).unwrap()
}

pub(super) fn results(world: &World, session: &SessionHandle) -> Vec<ToolResult> {
    let result = |entry| match entry {
        Entry::ToolResult { result, .. } => Some(result),
        _ => None,
    };
    world.store.entries(session.id()).into_iter().filter_map(result).collect()
}

fn last_user(request: &ModelRequest) -> String {
    let user = |message: &ModelMessage| match message {
        ModelMessage::User(content) => match content.last() {
            Some(Content::Text(text)) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    request.messages.iter().rev().find_map(user).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_turn_streams_stores_and_ends() {
    let (world, session, mut model) = open().await;
    let end = prompt(&session, "what is there?");
    let reply = model.next_request().await;
    reply.reasoning("hm").text("I ").text("look.").call("call_1", "echo", r#"{"text":"x"}"#).usage(10, 5);
    reply.finish(Finish::ToolCalls);
    let reply = model.next_request().await;
    assert_eq!(
        reply.request.messages[1..],
        [
            ModelMessage::Assistant(vec![
                AssistantBlock::Reasoning { text: "hm".to_owned(), signature: None },
                AssistantBlock::Text("I look.".to_owned()),
                AssistantBlock::Call {
                    id: call_ids(&reply.request)[0].clone(),
                    name: "echo".to_owned(),
                    input: json!({"text": "x"})
                },
            ]),
            ModelMessage::Results(vec![crate::ports::ResultBlock::text(
                call_ids(&reply.request)[0].clone(),
                r#"{"text":"x"}"#,
                false,
            )]),
        ]
    );
    reply.text("done");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(world.client.text(), "I look.done");
    let kinds: Vec<&str> = world.store.entries(session.id()).iter().map(kind).collect();
    insta::assert_snapshot!(kinds.join(" "), @"user started reasoning text call result ended started text ended turn");
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    let told = |event: &SessionEvent| matches!(event, SessionEvent::Usage { usage: of, context: Some(1000), cost: None, .. } if *of == usage);
    world.client.wait_for(told).await;
}

#[tokio::test(start_paused = true)]
async fn r14_3_calls_run_whatever_the_finish_reason_says() {
    let (world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.call("a", "echo", "{}");
    reply.finish(Finish::Stop);
    model.next_request().await.finish(Finish::ToolCalls);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(results(&world, &session).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn c82_cut_calls_are_not_run_and_the_model_is_told_to_write_in_parts() {
    let (world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    for round in 0..3 {
        let reply = model.next_request().await;
        if round == 1 {
            assert_eq!(results(&world, &session).len(), 2);
            for result in results(&world, &session) {
                assert_eq!(result.status, ToolStatus::Failed);
                assert!(result.text.contains("output limit") && result.text.contains("parts"), "{}", result.text);
            }
        }
        // One that came cut, one whose end never came.
        reply.call("a", "echo", r#"{"text":"def"#);
        reply.progress(1, "echo", r#"{"te"#);
        reply.finish(Finish::Length);
    }
    assert_eq!(end.await, TurnEnd::MaxTokens);
    assert_eq!(results(&world, &session).len(), 6);
    let running = |event: &SessionEvent| matches!(event, SessionEvent::ToolCallUpdate(view) if view.state == ToolCallState::Running);
    assert!(!world.client.events().iter().any(running), "nothing was run");
    let end = prompt(&session, "go on");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn c82_a_whole_reply_in_between_starts_the_count_again() {
    let (_world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    for round in 0..5 {
        let reply = model.next_request().await;
        reply.call("a", "echo", "{}");
        reply.finish(if round == 2 { Finish::ToolCalls } else { Finish::Length });
    }
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn a_text_cut_by_the_output_limit_ends_the_turn() {
    let (_world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.text("a long");
    reply.finish(Finish::Length);
    assert_eq!(end.await, TurnEnd::MaxTokens);
    let end = prompt(&session, "go");
    model.next_request().await.finish(Finish::ContentFilter);
    assert_eq!(end.await, TurnEnd::Refused);
}

#[tokio::test(start_paused = true)]
async fn r13_3_at_the_limit_of_steps_the_model_sums_up_without_tools() {
    let mut config = config();
    config.agents.get_mut("build").unwrap().steps = Some(3);
    let (world, session, mut model) = open_with(config).await;
    let end = prompt(&session, "go");
    for _ in 0..2 {
        let reply = model.next_request().await;
        assert!(!reply.request.tools.is_empty());
        reply.call("a", "echo", "{}");
        reply.finish(Finish::ToolCalls);
    }
    let reply = model.next_request().await;
    assert_eq!(reply.request.tools, vec![]);
    assert!(last_user(&reply.request).contains("limit of steps"));
    // It calls all the same.
    reply.text("so far").call("b", "echo", "{}");
    reply.finish(Finish::ToolCalls);
    assert_eq!(end.await, TurnEnd::MaxSteps);
    let results = results(&world, &session);
    assert_eq!(results.iter().map(|result| result.status).collect::<Vec<_>>(), {
        use ToolStatus::{Completed, Failed};
        [Completed, Completed, Failed]
    });
}

#[tokio::test(start_paused = true)]
async fn a_model_error_ends_the_turn_and_leaves_the_session_usable() {
    let (world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.text("I was ab").call("a", "echo", "{}").progress(7, "echo", "{");
    reply.fail(ModelErrorKind::Invalid, "p knows no model m; choose another");
    let message = "p knows no model m; choose another".to_owned();
    assert_eq!(end.await, TurnEnd::Failed { message });
    // The client shows no call for ever.
    assert_eq!(open_calls(&world), Vec::<String>::new());
    let end = prompt(&session, "again");
    let reply = model.next_request().await;
    assert_eq!(last_user(&reply.request), "again");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn without_a_model_the_user_is_told_what_to_do() {
    let (_world, session, _model) = open_with(Config { models: Vec::new(), model: None, ..config() }).await;
    let TurnEnd::Failed { message } = prompt(&session, "go").await else { panic!() };
    insta::assert_snapshot!(message, @r#"
    No model is set, and no model server was found on this machine (Ollama, LM Studio and llama.cpp were looked for on their usual ports). Start one and send the prompt again, or put `model` and `provider` into /home/user/.config/copydesk/copydesk.jsonc and open a new session. For a server elsewhere, for example:

    {"model": "mine/NAME",
     "provider": {"mine": {"options": {"baseURL": "https://models.example.com/v1"},
      "models": {"NAME": {}}}}}

    NAME is the model's name as the server knows it.
    "#);
    // The next prompt is answered as well.
    assert!(matches!(prompt(&session, "go").await, TurnEnd::Failed { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_reject_without_a_message_ends_the_turn_one_with_a_message_goes_to_the_model() {
    let (world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.call("a", "asks", "{}");
    reply.finish(Finish::ToolCalls);
    world.client.next_ask().await.select(OptionKind::RejectOnce, Some("use the other file"));
    let reply = model.next_request().await;
    assert!(results(&world, &session)[0].text.contains("use the other file"));
    reply.call("b", "asks", "{}").call("c", "asks", r#"{"text":"other"}"#);
    reply.finish(Finish::ToolCalls);
    world.client.next_ask().await.select(OptionKind::RejectOnce, None);
    assert_eq!(end.await, TurnEnd::Rejected);
    assert_eq!(results(&world, &session).len(), 3);
    let end = prompt(&session, "rather this");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn with_continue_on_reject_the_model_goes_on() {
    let (world, session, mut model) = open_with(Config { continue_on_reject: true, ..config() }).await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.call("a", "asks", "{}");
    reply.finish(Finish::ToolCalls);
    world.client.next_ask().await.select(OptionKind::RejectOnce, None);
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn faults_of_tools_cost_their_call_or_their_turn_never_the_session() {
    let (world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.call("a", "tells", "{}").call("b", "panics", "{}").call("c", "nonsense", "{}").call("d", "echo", "{\"cut");
    reply.finish(Finish::ToolCalls);
    let reply = model.next_request().await;
    let statuses: Vec<_> = results(&world, &session).iter().map(|result| result.status).collect();
    assert_eq!(statuses, [ToolStatus::Failed; 4]);
    reply.call("e", "burns", "{}");
    reply.finish(Finish::ToolCalls);
    assert_eq!(end.await, TurnEnd::Failed { message: "the toy has burnt down".to_owned() });
    let end = prompt(&session, "again");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_ends_the_turn_before_the_model_is_called() {
    let (world, session, mut model) = open().await;
    let broken = StoreError::Busy { reason: "the disk is full".to_owned() };
    world.store.break_with(Some(broken.clone()));
    assert_eq!(prompt(&session, "lost").await, TurnEnd::Failed { message: broken.to_string() });
    assert!(model.waiting().is_none());
    world.store.break_with(None);
    let end = prompt(&session, "kept");
    let reply = model.next_request().await;
    assert_eq!(last_user(&reply.request), "kept");
    reply.call("a", "echo", "{}");
    world.client.wait_for(|event| matches!(event, SessionEvent::ToolCall(_))).await;
    world.store.break_with(Some(broken.clone()));
    reply.finish(Finish::ToolCalls);
    assert_eq!(end.await, TurnEnd::Failed { message: broken.to_string() });
    assert_eq!(open_calls(&world), Vec::<String>::new());
    world.store.break_with(None);
    let end = prompt(&session, "after");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn the_prefix_is_the_same_byte_for_byte_in_every_step() {
    let (_world, session, mut model) = open().await;
    session.choose_agent("plan").await.unwrap();
    let mut before: Option<ModelRequest> = None;
    for turn in ["first", "second"] {
        let end = prompt(&session, turn);
        for step in 0..3 {
            let reply = model.next_request().await;
            if let Some(before) = before.as_ref().filter(|_| step > 0) {
                assert_eq!(reply.request.system, before.system);
                assert_eq!(format!("{:?}", reply.request.tools), format!("{:?}", before.tools));
                let prefix = &reply.request.messages[..before.messages.len()];
                assert_eq!(format!("{prefix:?}"), format!("{:?}", before.messages));
            }
            assert!(last_user(&reply.request).starts_with(turn) && last_user(&reply.request).contains("read-only"));
            before = Some(reply.request.clone());
            if step < 2 {
                reply.text("on").call("call_1", "echo", "{}");
            }
            reply.finish(Finish::ToolCalls);
        }
        assert_eq!(end.await, TurnEnd::Done);
    }
    session.choose_agent("build").await.unwrap();
    let _end = prompt(&session, "third");
    let reply = model.next_request().await;
    assert!(last_user(&reply.request).contains("left plan mode"));
    assert!(!format!("{:?}", reply.request.messages).contains("read-only"), "the reminder is not stored");
}

#[tokio::test(start_paused = true)]
async fn c79_arguments_of_every_kind_leave_a_valid_history() {
    let (world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    for arguments in ["", "  ", "null", "[1]", "\"text\"", "{\"a\":", r#""{\"text\":\"inner\"}""#] {
        reply.call("", "echo", arguments);
    }
    reply.finish(Finish::ToolCalls);
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let inputs: Vec<_> = world
        .store
        .entries(session.id())
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::ToolCall { input, .. } => Some(input),
            _ => None,
        })
        .collect();
    assert_eq!(inputs[..3], [json!({}), json!({}), json!({})]);
    let results = results(&world, &session);
    assert!(results.iter().filter(|result| result.status == ToolStatus::Completed).count() >= 3, "{results:#?}");
    assert_eq!(results.len(), 7);
}

#[tokio::test(start_paused = true)]
async fn c87_ids_of_the_provider_never_matter() {
    let (world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    for _ in 0..2 {
        let reply = model.next_request().await;
        reply.call("call_1", "echo", r#"{"text":"a"}"#).call("call_1", "echo", r#"{"text":"b"}"#);
        reply.call("", "echo", r#"{"text":"c"}"#);
        reply.finish(Finish::ToolCalls);
    }
    let reply = model.next_request().await;
    let ModelMessage::Results(results) = &reply.request.messages[2] else { panic!() };
    let texts: Vec<&str> = results.iter().map(|result| result.split().0).collect();
    assert_eq!(texts, [r#"{"text":"a"}"#, r#"{"text":"b"}"#, r#"{"text":"c"}"#]);
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    // Another provider takes over; the strict check of the fake is the proof.
    session.choose_model("q/n").await.unwrap();
    let end = prompt(&session, "go on");
    let reply = model.next_request().await;
    assert_eq!(reply.request.model.to_string(), "q/n");
    assert_eq!(reply.request.provider.id, "q");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let provider_ids = world.store.entries(session.id()).into_iter().filter_map(|entry| match entry {
        Entry::ToolCall { provider_id, .. } => provider_id,
        _ => None,
    });
    assert_eq!(provider_ids.filter(|id| id == "call_1").count(), 4, "kept beside ours");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_announced_once_and_retitled_as_its_arguments_come() {
    let (world, session, mut model) = open().await;
    let _end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.progress(0, "echo", "").progress(0, "echo", r#"{"text": "a"#).progress(0, "echo", r#"{"text": "a"}"#);
    reply.call("x", "echo", r#"{"text": "a"}"#);
    world
        .client
        .wait_for(|event| matches!(event, SessionEvent::ToolCallUpdate(view) if view.input == json!({"text": "a"})))
        .await;
    let titles: Vec<String> = world
        .client
        .events()
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::ToolCall(view) => Some(format!("new {}", view.title)),
            SessionEvent::ToolCallUpdate(view) => Some(view.title),
            _ => None,
        })
        .collect();
    assert_eq!(titles[..2], ["new echo", "echo a"]);
    assert_eq!(titles.iter().filter(|title| title.starts_with("new")).count(), 1);
}

fn call_ids(request: &ModelRequest) -> Vec<String> {
    let mut ids = Vec::new();
    for message in &request.messages {
        if let ModelMessage::Assistant(blocks) = message {
            for block in blocks {
                if let AssistantBlock::Call { id, .. } = block {
                    ids.push(id.clone());
                }
            }
        }
    }
    ids
}

/// Calls that the client was told of and that have not ended.
fn open_calls(world: &World) -> Vec<String> {
    let mut open = Vec::new();
    for event in world.client.events() {
        match event {
            SessionEvent::ToolCall(view) => open.push(view.call.to_string()),
            SessionEvent::ToolCallUpdate(view) if matches!(view.state, ToolCallState::Ended(_)) => {
                open.retain(|call| *call != view.call.to_string());
            }
            _ => {}
        }
    }
    open
}

fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::User { .. } => "user",
        Entry::StepStarted { .. } => "started",
        Entry::Text { .. } => "text",
        Entry::Reasoning { .. } => "reasoning",
        Entry::ToolCall { .. } => "call",
        Entry::ToolResult { .. } => "result",
        Entry::StepEnded { .. } => "ended",
        Entry::TurnEnded { .. } => "turn",
        Entry::Chosen { .. } => "chosen",
        Entry::Todos { .. } => "todos",
        Entry::Told { .. } => "told",
        Entry::Titled { .. } => "titled",
        Entry::Command { .. } => "command",
        Entry::Answer { .. } => "answer",
    }
}

#[tokio::test(start_paused = true)]
async fn r14_2_a_call_keeps_the_id_under_which_its_own_progress_was_told() {
    let (world, session, mut model) = open().await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.progress(0, "echo", r#"{"text":"first"#).progress(1, "echo", r#"{"text":"second"#);
    reply.call_of(1, "b", "echo", r#"{"text":"second"}"#).call_of(0, "a", "echo", r#"{"text":"first"}"#);
    reply.finish(Finish::ToolCalls);
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let mut inputs = BTreeMap::<_, BTreeSet<String>>::new();
    for event in world.client.events() {
        let (SessionEvent::ToolCall(view) | SessionEvent::ToolCallUpdate(view)) = event else { continue };
        inputs.entry(view.call).or_default().insert(view.input["text"].as_str().unwrap().to_owned());
    }
    let told: Vec<_> = inputs.into_values().collect();
    assert_eq!(told, ["first", "second"].map(|text| BTreeSet::from([text.to_owned()])), "each call has one input");
}
