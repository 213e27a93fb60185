//! Tools that change the turn itself: those that switch the agent, and calls that are made of calls.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;

use serde_json::{Value, json};

use crate::agent::{self, BUILD, PLAN};
use crate::config::Config;
use crate::event::SessionEvent;
use crate::message::{Entry, Finish, ToolStatus, TurnEnd};
use crate::ports::{Content, ModelMessage, ModelRequest, OptionKind};
use crate::registry::Registry;
use crate::run::TurnLimits;
use crate::run::tests::{prompt, results};
use crate::session::SessionHandle;
use crate::testing::{ASKED, Boundaries, FakeModel, ModelPlayer, Toy, ToyTool, World, config};
use crate::tool::AnyTool;

async fn open(config: Config) -> (World, SessionHandle, ModelPlayer) {
    let (model, player) = FakeModel::new();
    let world = World::new(model);
    let toy = |name, permission| ToyTool::new(name, Toy::Echo, permission, Boundaries::default()) as Arc<dyn AnyTool>;
    let engine = world.engine(Registry::builtin().with([toy("echo", "free"), toy("asks", ASKED)]));
    let session = world.session(&engine, config).await.unwrap();
    world.keep(engine);
    (world, session, player)
}

fn offers(request: &ModelRequest, tool: &str) -> bool {
    request.tools.iter().any(|spec| spec.name == tool)
}

/// All that the user has said, with the notes.
fn said(request: &ModelRequest) -> String {
    let text = |content: &Content| match content {
        Content::Text(text) => text.clone(),
        _ => String::new(),
    };
    let user = |message: &ModelMessage| match message {
        ModelMessage::User(content) => content.iter().map(text).collect(),
        _ => String::new(),
    };
    request.messages.iter().map(user).collect()
}

/// With the built-in agents and their rules.
fn planning() -> Config {
    Config { agents: agent::built_in(None), ..config() }
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_the_user_approves_is_carried_out_in_the_same_turn() {
    let (world, session, mut player) = open(planning()).await;
    session.choose_agent(PLAN).await.unwrap();
    let end = prompt(&session, "plan it");
    let reply = player.next_request().await;
    assert!(offers(&reply.request, "plan_exit") && !offers(&reply.request, "plan_enter"));
    let plan = format!("/home/user/project/.opencode/plans/{}.md", session.id());
    let told = said(&reply.request);
    assert!(told.contains(&plan) && told.contains("`plan_exit`"), "{told}");
    reply.call("a", "plan_exit", "{}");
    reply.finish(Finish::ToolCalls);
    let pending = world.client.next_inquiry().await;
    assert!(pending.inquiry.questions[0].text.contains(&plan));
    pending.say(&[&["Yes"]]);

    let reply = player.next_request().await;
    assert!(!offers(&reply.request, "plan_exit"), "the next step is another agent's");
    assert!(!said(&reply.request).contains("plan mode"), "{}", said(&reply.request));
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(session.choices().agent, BUILD);
    let chosen = |entry: &Entry| matches!(entry, Entry::Chosen { agent: Some(agent), .. } if agent == BUILD);
    assert!(world.store.entries(session.id()).iter().any(chosen), "the choice outlives the daemon");
    world.client.wait_for(|event| matches!(event, SessionEvent::Chosen { agent, .. } if agent == BUILD)).await;
    assert!(results(&world, &session)[0].text.contains("approved"));
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_the_user_does_not_approve_ends_the_turn() {
    let (world, session, mut player) = open(planning()).await;
    session.choose_agent(PLAN).await.unwrap();
    let end = prompt(&session, "plan it");
    let reply = player.next_request().await;
    reply.call("a", "plan_exit", "{}");
    reply.finish(Finish::ToolCalls);
    world.client.next_inquiry().await.say(&[&["No"]]);
    assert_eq!(end.await, TurnEnd::Rejected);
    assert_eq!(session.choices().agent, PLAN);
}

#[tokio::test(start_paused = true)]
async fn the_way_into_plan_mode_is_off_until_it_is_switched_on() {
    let (_world, session, mut player) = open(planning()).await;
    let end = prompt(&session, "go");
    let reply = player.next_request().await;
    assert!(!offers(&reply.request, "plan_enter") && !offers(&reply.request, "batch"));
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);

    let mut config = planning();
    config.agents.get_mut(BUILD).unwrap().tools.insert("plan_enter".to_owned(), true);
    let (world, session, mut player) = open(config).await;
    let end = prompt(&session, "go");
    let reply = player.next_request().await;
    assert!(offers(&reply.request, "plan_enter"));
    reply.call("a", "plan_enter", "{}");
    reply.finish(Finish::ToolCalls);
    world.client.next_inquiry().await.say(&[&["Yes"]]);
    let reply = player.next_request().await;
    assert!(offers(&reply.request, "plan_exit") && said(&reply.request).contains("plan mode"));
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(session.choices().agent, PLAN);
}

fn batching() -> Config {
    let mut config = config();
    config.agents.get_mut(BUILD).unwrap().tools.insert("batch".to_owned(), true);
    config
}

fn batch(tools: &[(&str, &str)]) -> String {
    let call = |(tool, text): &(&str, &str)| json!({"tool": tool, "parameters": {"text": text}});
    json!({ "tool_calls": tools.iter().map(call).collect::<Vec<Value>>() }).to_string()
}

#[tokio::test(start_paused = true)]
async fn each_call_in_a_batch_is_announced_asked_run_and_stored_as_its_own() {
    let (world, session, mut player) = open(batching()).await;
    let end = prompt(&session, "go");
    let reply = player.next_request().await;
    let calls = [("echo", "one"), ("asks", "two"), ("batch", "x"), ("never", "three"), ("ECHO", "four")];
    reply.call("a", "batch", &batch(&calls)).call("b", "echo", r#"{"text":"five"}"#);
    reply.finish(Finish::ToolCalls);
    let pending = world.client.next_ask().await;
    let asked = pending.ask.call.clone();
    pending.select(OptionKind::AllowOnce, None);

    let reply = player.next_request().await;
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let announced: Vec<(String, String)> = world
        .client
        .events()
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::ToolCall(view) => Some((view.call.to_string(), view.title)),
            _ => None,
        })
        .collect();
    let titles: Vec<&str> = announced.iter().map(|(_, title)| title.as_str()).collect();
    assert_eq!(titles, ["5 calls at once", "echo one", "asks two", "never", "echo four", "echo five"]);
    assert_eq!(announced[2].0, asked.to_string());

    let entries = world.store.entries(session.id());
    let stored: Vec<String> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::ToolCall { call, .. } => Some(call.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(stored, announced.iter().map(|(call, _)| call.clone()).collect::<Vec<_>>());
    let result = |call: &String| {
        entries.iter().find_map(|entry| match entry {
            Entry::ToolResult { call: of, result, .. } if *of.as_str() == *call => Some(result.clone()),
            _ => None,
        })
    };
    let texts: Vec<String> = stored.iter().map(|call| result(call).unwrap().text).collect();
    assert!(texts[0].starts_with("4 calls were made") && texts[0].contains("A batch in a batch"), "{}", texts[0]);
    assert_eq!(texts[1], r#"{"text":"one"}"#);
    assert_eq!(texts[2], r#"{"text":"two"}"#);
    assert!(texts[3].starts_with("There is no tool \"never\""), "{}", texts[3]);
    assert_eq!(texts[5], r#"{"text":"five"}"#);
}

#[tokio::test(start_paused = true)]
async fn the_calls_in_a_batch_count_against_the_limit_of_calls() {
    let mut config = batching();
    config.limits = TurnLimits { calls: Some(3), ..TurnLimits::default() };
    let (world, session, mut player) = open(config).await;
    let end = prompt(&session, "go");
    let reply = player.next_request().await;
    reply.call("a", "batch", &batch(&[("echo", "1"), ("echo", "2"), ("echo", "3")]));
    reply.finish(Finish::ToolCalls);
    assert!(matches!(end.await, TurnEnd::Limit { .. }));
    assert_eq!(results(&world, &session).len(), 4);
    assert!(results(&world, &session).iter().all(|result| result.status == ToolStatus::Failed));
}

/// Whatever forms of arguments the tool takes: what it says was made is made, and nothing else (C79).
#[tokio::test(start_paused = true)]
async fn c79_a_batch_makes_the_calls_that_it_says_it_made() {
    let (world, session, mut player) = open(batching()).await;
    let end = prompt(&session, "go");
    let made = batch(&[("echo", "one"), ("echo", "two")]);
    let inner = r#"[{"tool": "echo", "parameters": {"text": "one"}}]"#;
    let forms = [
        Value::String(made.clone()).to_string(),
        made.replacen('{', r#"{"note": null, "#, 1),
        format!(r#"{{"tool_calls": [], "tool_calls": {inner}}}"#),
        format!(r#"{{"tool_calls": {inner}, "tool_calls": []}}"#),
        format!(r#"{{"tool_calls": {}}}"#, Value::String(inner.to_owned())),
        r#"{"tool_calls": [{"tool": "echo", "parameters": {"text": "one"}}, {"tool": "echo"}]}"#.to_owned(),
    ];
    for form in &forms {
        let reply = player.next_request().await;
        let before = results(&world, &session).len();
        reply.call("a", "batch", form);
        reply.finish(Finish::ToolCalls);
        let reply = player.next_request().await;
        let results = results(&world, &session).split_off(before);
        let told = results.iter().find(|result| result.title.ends_with("at once")).unwrap();
        let count = told.text.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
        assert_eq!(results.len() - 1, count, "{form}: {}", told.text);
        reply.call("b", "echo", &json!({ "text": form }).to_string());
        reply.finish(Finish::ToolCalls);
    }
    player.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_not_offered_makes_no_calls() {
    let (world, session, mut player) = open(config()).await;
    let end = prompt(&session, "go");
    let reply = player.next_request().await;
    reply.call("a", "batch", &batch(&[("echo", "1")]));
    reply.finish(Finish::ToolCalls);
    player.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let [result] = &results(&world, &session)[..] else { panic!("one result") };
    assert!(result.text.starts_with("batch is not offered now"), "{}", result.text);
}

#[tokio::test(start_paused = true)]
async fn r2_3_a_cancel_ends_each_call_of_a_batch() {
    let (world, session, mut player) = open(batching()).await;
    let end = prompt(&session, "go");
    let reply = player.next_request().await;
    reply.call("a", "batch", &batch(&[("echo", "1"), ("asks", "2")]));
    reply.finish(Finish::ToolCalls);
    let pending = world.client.next_ask().await;
    session.cancel();
    assert_eq!(end.await, TurnEnd::Cancelled);
    assert!(pending.is_withdrawn());
    assert_eq!(results(&world, &session).len(), 3, "every call has its result");
    let end = prompt(&session, "go on");
    player.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}
