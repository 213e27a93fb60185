//! The server with the daemon's own client, and its rules one by one.

use std::sync::Arc;

use copydesk_adapters::providers::Providers;
use copydesk_engine::message::{Finish, Usage};
use copydesk_engine::ports::{
    AssistantBlock, Model, ModelErrorKind, ModelEvent, ModelMessage, ModelRequest, ModelSettings, ProviderSettings,
    ResultBlock, ToolSpec, WireProtocol,
};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::*;

fn request(base_url: String, messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest {
        model: "scripted/model".parse().unwrap(),
        provider: Arc::new(ProviderSettings {
            id: "scripted".to_owned(),
            wire: WireProtocol::ChatCompletions,
            base_url,
            key: Some("sk-test".to_owned()),
            headers: Default::default(),
            header_timeout: LIMIT,
            chunk_timeout: LIMIT,
            max_retries: 5,
        }),
        settings: ModelSettings::default(),
        system: "Be brief.".to_owned(),
        messages,
        tools: vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        }],
    }
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

async fn ask(
    model: &ScriptedModel,
    messages: Vec<ModelMessage>,
) -> Result<Vec<ModelEvent>, copydesk_engine::ports::ModelError> {
    let events: Vec<ModelEvent> =
        Providers::default().stream(request(model.base_url(), messages)).try_collect().await?;
    Ok(events.into_iter().filter(|event| !matches!(event, ModelEvent::CallProgress { .. })).collect())
}

fn text_of(events: &[ModelEvent]) -> String {
    events
        .iter()
        .filter_map(|event| if let ModelEvent::Text(text) = event { Some(text.as_str()) } else { None })
        .collect()
}

#[tokio::test]
async fn a_turn_of_two_steps() {
    let model = ScriptedModel::start([
        Reply::text("I look at it.").then_call("read", json!({"path": "größe.rs"})).then_call("read", json!({})),
        Reply::empty().then_reasoning("Seen.").then_text("Done.").usage(30, 2),
    ])
    .await;
    let mut messages = vec![user("Fix it")];
    let first = ask(&model, messages.clone()).await.unwrap();
    assert_eq!(text_of(&first), "I look at it.");
    let calls: Vec<_> = first
        .iter()
        .filter_map(|event| match event {
            ModelEvent::Call { provider_id, name, arguments, .. } => {
                Some((provider_id.clone().unwrap(), name.as_str(), arguments.as_str()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("call_scripted_1_0".to_owned(), "read", r#"{"path":"größe.rs"}"#),
            ("call_scripted_1_1".to_owned(), "read", "{}"),
        ]
    );
    assert_eq!(
        first[first.len() - 2..],
        [ModelEvent::Usage(Usage { input: 10, output: 5, ..Usage::default() }), ModelEvent::Finish(Finish::ToolCalls),]
    );
    let blocks = calls.iter().map(|(id, name, _)| AssistantBlock::Call {
        id: id.clone(),
        name: (*name).to_owned(),
        input: json!({}),
    });
    messages.push(ModelMessage::Assistant(blocks.collect()));
    let results = calls.iter().map(|(id, ..)| ResultBlock::text(id.clone(), format!("result of {id}"), false));
    messages.push(ModelMessage::Results(results.collect()));
    let second = ask(&model, messages).await.unwrap();
    assert_eq!(second.last(), Some(&ModelEvent::Finish(Finish::Stop)));
    let seen = model.requests();
    assert_eq!(seen[1].results(), ["result of call_scripted_1_0", "result of call_scripted_1_1"]);
    assert_eq!(
        (seen[0].authorization(), seen[0].last_text(), seen[0].system()),
        (Some("Bearer sk-test"), "Fix it", "Be brief.")
    );
    assert_eq!(seen[0].tool_names(), ["read"]);
    model.finish();
}

#[tokio::test]
async fn a_function_answers_and_gates_hold() {
    let gate = Gate::new();
    let held = gate.clone();
    let script =
        Script::function(move |request| Reply::text("You said: ").then_wait(&held).then_text(request.last_text()));
    let model = ScriptedModel::start(script).await;
    let mut events = Providers::default().stream(request(model.base_url(), vec![user("Hello")]));
    assert_eq!(events.next().await, Some(Ok(ModelEvent::Text("You said: ".to_owned()))));
    gate.reached().await;
    gate.open();
    let rest: Vec<_> = events.try_collect().await.unwrap();
    assert_eq!(text_of(&rest), "Hello");
    model.finish();
}

#[tokio::test]
async fn a_client_that_goes_away_is_noticed() {
    let gate = Gate::new();
    let model = ScriptedModel::start([Reply::text("A").then_wait(&gate).then_text("B")]).await;
    let mut events = Providers::default().stream(request(model.base_url(), vec![user("Hello")]));
    assert!(events.next().await.unwrap().is_ok());
    gate.reached().await;
    drop(events);
    model.wait_for_abandoned(1).await;
    model.finish();
}

#[tokio::test]
async fn faults() {
    let model = ScriptedModel::start([
        Reply::refuse(429, "slow down").header("retry-after", "2"),
        Reply::text("Half").cut(),
        Reply::raw("data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"length\"}]}\n\n"),
    ])
    .await;
    let limited = ask(&model, vec![user("Hello")]).await.unwrap_err();
    assert_eq!(limited.kind, ModelErrorKind::RateLimited { retry_after: Some(Duration::from_secs(2)) });
    assert_eq!(ask(&model, vec![user("Hello")]).await.unwrap_err().kind, ModelErrorKind::Connection);
    assert_eq!(ask(&model, vec![user("Hello")]).await.unwrap().last(), Some(&ModelEvent::Finish(Finish::Length)));
    model.finish();
}

#[tokio::test]
async fn a_request_that_breaks_a_rule_is_refused_and_kept() {
    let model = ScriptedModel::start([Reply::text("never")]).await;
    let error = ask(&model, vec![user(" ")]).await.unwrap_err();
    assert!(error.kind == ModelErrorKind::Invalid && error.message.contains("the content is empty"), "{error}");
    assert_eq!(model.take_violations(), ["request 1: messages[1]: the content is empty"]);
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.finish()));
    assert!(dropped.is_err(), "a reply is left");
}

#[tokio::test]
async fn a_violation_fails_the_test_at_the_latest_in_drop() {
    let model = ScriptedModel::start(Vec::new()).await;
    assert!(ask(&model, vec![user("One too many")]).await.is_err());
    assert_eq!(model.violations(), ["request 1: the script has no reply to \"One too many\""]);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(model))).is_err());
}

/// Rules broken by `change`, applied to a conversation that keeps them all.
#[track_caller]
fn check(change: impl FnOnce(&mut Value), expected: &[&str]) {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let mut body = json!({
        "model": "m",
        "stream": true,
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
            {"role": "tool", "tool_call_id": "a", "content": "r"},
            {"role": "tool", "tool_call_id": "b", "content": "r"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": "t"},
            {"role": "user", "content": "u"},
        ],
        "tools": [{"type": "function", "function": {"name": "read", "description": "d", "parameters": {"type": "object", "properties": {}}}}],
    });
    change(&mut body);
    let request = SeenRequest {
        method: "POST".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        headers: [("content-type".to_owned(), "application/json".to_owned())].into(),
        raw_body: body.to_string(),
        body,
    };
    assert_eq!(rules::check(&request), expected);
}

fn remove(body: &mut Value, at: usize) {
    body["messages"].as_array_mut().unwrap().remove(at);
}

#[test]
fn r2_1_calls_and_results_belong_together() {
    check(|_| {}, &[]);
    check(|body| remove(body, 4), &["messages[4]: call `b` has no result directly after it"]);
    check(
        |body| body["messages"].as_array_mut().unwrap().swap(4, 5),
        &[
            "messages[4]: call `b` has no result directly after it",
            "messages[5]: role `tool` cannot follow `user`",
            "messages[5]: a result for `b`, which is no call before it without one",
            "messages[6]: role `assistant` cannot follow `tool`",
        ][..3],
    );
    check(
        |body| body["messages"][4]["tool_call_id"] = json!("a"),
        &[
            "messages[4]: a result for `a`, which is no call before it without one",
            "messages[5]: call `b` has no result directly after it",
        ],
    );
    check(|body| body["messages"].as_array_mut().unwrap().truncate(4), &["call `b` has no result directly after it"]);
    check(
        |body| body["messages"][2]["tool_calls"][1]["id"] = json!("a"),
        &[
            "messages[2]: call id `a` stands for two calls",
            "messages[4]: a result for `b`, which is no call before it without one",
        ],
    );
    check(
        |body| body["messages"][2]["tool_calls"][0]["id"] = json!(""),
        &[
            "messages[2]: call id `` is not 1 to 40 of [A-Za-z0-9_-]",
            "messages[3]: a result for `a`, which is no call before it without one",
            "messages[5]: call `` has no result directly after it",
        ],
    );
    check(
        |body| body["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!("{\"a\":"),
        &["messages[2]: arguments of call `a` are no JSON object: {\"a\":"],
    );
}

#[test]
fn r2_1_roles_and_contents() {
    check(|body| remove(body, 6), &["messages[6]: role `user` cannot follow `user`"]);
    check(|body| remove(body, 7), &["the last message is of role `assistant`"]);
    check(|body| remove(body, 1), &["messages[1]: role `assistant` cannot follow `system`"]);
    for empty in [json!(""), json!(" \n"), json!([]), Value::Null, json!([{"type": "text", "text": ""}])] {
        for at in [0, 1, 3, 6] {
            check(
                |body| body["messages"][at]["content"] = empty.clone(),
                &[&format!("messages[{at}]: the content is empty")],
            );
        }
    }
    check(|body| body["messages"][2]["content"] = json!(""), &["messages[2]: the content is empty"]);
    check(|body| body["messages"][6]["tool_calls"] = json!([]), &["messages[6]: `tool_calls` is empty or no list"]);
}

#[test]
fn tools_and_the_rest() {
    check(|body| body["tools"] = json!([]), &["`tools` is empty or no list"]);
    let function =
        |change: fn(&mut Value), expected: &str| check(|body| change(&mut body["tools"][0]["function"]), &[expected]);
    function(|f| f["name"] = json!("a b"), "tool `a b`: its name is not 1 to 64 of [A-Za-z0-9_-]");
    function(|f| f["description"] = json!(""), "tool `read`: it has no description");
    function(|f| f["parameters"]["type"] = json!("string"), "tool `read`: the root of its parameters is no object");
    function(|f| f["parameters"]["required"] = json!(["path"]), "tool `read`: it requires what is no property");
    check(
        |body| {
            let tool = body["tools"][0].clone();
            body["tools"].as_array_mut().unwrap().push(tool);
        },
        &["tool `read`: there are two of this name"],
    );
    check(|body| body["stream"] = json!(false), &["`stream` is not true"]);
    check(|body| body["model"] = json!(""), &["`model` is missing"]);
    check(|body| *body = json!([]), &["the body is no JSON object"]);
}

#[test]
fn a_script_file_that_is_wrong_names_the_place() {
    let error = ScriptFile::parse("{\"replies\": [\n{\"txet\": \"a\"}]}").unwrap_err();
    assert!(error.contains("txet") && error.contains("line 2"), "{error}");
}
