//! The server over Messages: the daemon's own client, and the rules one by one.

use std::sync::Arc;

use copydesk_adapters::providers::Providers;
use copydesk_engine::message::{Finish, Usage};
use copydesk_engine::ports::{
    AssistantBlock, Model, ModelError, ModelErrorKind, ModelEvent, ModelMessage, ModelRequest, ModelSettings,
    ProviderSettings, ResultBlock, WireProtocol,
};
use futures::TryStreamExt;
use serde_json::{Value, json};

use super::events::messages::signature;
use super::*;

async fn ask(model: &ScriptedModel, messages: Vec<ModelMessage>) -> Result<Vec<ModelEvent>, ModelError> {
    let thinking = json!({ "type": "enabled", "budget_tokens": 2000 });
    let request = ModelRequest {
        model: "scripted/claude".parse().unwrap(),
        provider: Arc::new(ProviderSettings {
            id: "scripted".to_owned(),
            wire: WireProtocol::Messages,
            base_url: model.base_url(),
            key: Some("sk-test".to_owned()),
            headers: Default::default(),
            header_timeout: LIMIT,
            chunk_timeout: LIMIT,
            max_retries: 5,
        }),
        settings: ModelSettings {
            options: [("thinking".to_owned(), thinking)].into_iter().collect(),
            ..Default::default()
        },
        system: "Be brief.".to_owned(),
        messages,
        tools: vec![copydesk_engine::ports::ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        }],
    };
    let events: Vec<ModelEvent> = Providers::default().stream(request).try_collect().await?;
    Ok(events.into_iter().filter(|event| !matches!(event, ModelEvent::CallProgress { .. })).collect())
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

#[tokio::test]
async fn r14_6_the_same_script_over_messages() {
    let model = ScriptedModel::start([
        Reply::empty()
            .then_reasoning("I have to think about it.")
            .then_text("I look.")
            .then_call("read", json!({"path": "größe.rs"}))
            .then_call("read", json!({})),
        Reply::text("Done.").usage(30, 2),
    ])
    .await;
    let first = ask(&model, vec![user("Fix it")]).await.unwrap();
    let thought = "I have to think about it.";
    let signed = signature(0, 0, thought);
    let mut said = (String::new(), String::new(), Vec::new());
    for event in &first {
        match event {
            ModelEvent::Text(text) => said.0 += text,
            ModelEvent::Reasoning { text, signature } => {
                said.1 += text;
                assert!(signature.as_ref().is_none_or(|signature| *signature == signed));
            }
            ModelEvent::Call { provider_id, arguments, .. } => {
                said.2.push((provider_id.clone().unwrap(), arguments.as_str()))
            }
            _ => {}
        }
    }
    let calls = ["toolu_scripted_1_0", "toolu_scripted_1_1"].map(str::to_owned);
    assert_eq!((said.0.as_str(), said.1.as_str()), ("I look.", thought));
    assert_eq!(said.2, [(calls[0].clone(), r#"{"path":"größe.rs"}"#), (calls[1].clone(), "{}")]);
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    assert_eq!(first[first.len() - 2..], [ModelEvent::Usage(usage), ModelEvent::Finish(Finish::ToolCalls)]);
    let mut blocks = vec![
        AssistantBlock::Reasoning { text: thought.to_owned(), signature: Some(signed) },
        AssistantBlock::Text("I look.".to_owned()),
    ];
    blocks.extend(calls.iter().map(|id| AssistantBlock::Call {
        id: id.clone(),
        name: "read".to_owned(),
        input: json!({}),
    }));
    let results = calls.iter().map(|id| ResultBlock::text(id.clone(), format!("result of {id}"), false));
    let history = vec![user("Fix it"), ModelMessage::Assistant(blocks), ModelMessage::Results(results.collect())];
    assert_eq!(ask(&model, history).await.unwrap().last(), Some(&ModelEvent::Finish(Finish::Stop)));
    let seen = model.requests();
    assert_eq!(seen[1].results(), ["result of toolu_scripted_1_0", "result of toolu_scripted_1_1"]);
    assert_eq!((seen[0].last_text(), seen[0].system(), seen[0].tool_names()), ("Fix it", "Be brief.", vec!["read"]));
    assert_eq!((seen[1].last_text(), seen[1].said()), ("result of toolu_scripted_1_1", vec!["I look."]));
    assert_eq!(seen[0].headers["x-api-key"], "sk-test");
    model.finish();
}

#[tokio::test]
async fn faults_in_the_words_of_the_wire() {
    let model = ScriptedModel::start([
        Reply::refuse(529, "busy").header("retry-after", "2"),
        Reply::text("Half").cut(),
        Reply::text("Half").finish("length"),
    ])
    .await;
    let overloaded = ask(&model, vec![user("Hello")]).await.unwrap_err();
    assert_eq!(overloaded.kind, ModelErrorKind::Overloaded { retry_after: Some(Duration::from_secs(2)) });
    assert_eq!(ask(&model, vec![user("Hello")]).await.unwrap_err().kind, ModelErrorKind::Connection);
    assert_eq!(ask(&model, vec![user("Hello")]).await.unwrap().last(), Some(&ModelEvent::Finish(Finish::Length)));
    model.finish();
}

/// Rules broken by `change`, applied to a conversation that keeps them all.
#[track_caller]
fn check(change: impl FnOnce(&mut Value), expected: &[&str]) {
    check_with(&["x-api-key", "anthropic-version"], change, expected);
}

#[track_caller]
fn check_with(headers: &[&str], change: impl FnOnce(&mut Value), expected: &[&str]) {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "r"});
    let thought = |calls, thoughts| json!({"type": "thinking", "thinking": "Hm.", "signature": signature(calls, thoughts, "Hm.")});
    let mut body = json!({
        "model": "m",
        "stream": true,
        "max_tokens": 4000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "system": [text("s")],
        "messages": [
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": [thought(0, 0), text("t"), call("a"), thought(1, 1), call("b")]},
            {"role": "user", "content": [result("a"), result("b"), text("u")]},
            {"role": "assistant", "content": [text("t")]},
            {"role": "user", "content": [text("u")]},
        ],
        "tools": [{"name": "read", "description": "d", "input_schema": {"type": "object", "properties": {}}}],
    });
    change(&mut body);
    let headers = headers.iter().map(|name| ((*name).to_owned(), "x".to_owned()));
    let request = SeenRequest {
        method: "POST".to_owned(),
        path: "/v1/messages".to_owned(),
        headers: headers.chain([("content-type".to_owned(), "application/json".to_owned())]).collect(),
        raw_body: body.to_string(),
        body,
    };
    assert_eq!(rules::check(&request), expected);
}

fn content(body: &mut Value, at: usize) -> &mut Vec<Value> {
    body["messages"][at]["content"].as_array_mut().unwrap()
}

#[test]
fn r14_6_the_headers_of_the_api() {
    check(|_| {}, &[]);
    check_with(&[], |_| {}, &["the header `x-api-key` is missing", "the header `anthropic-version` is missing"]);
    check_with(&["authorization", "anthropic-version"], |_| {}, &["the header `x-api-key` is missing"]);
}

#[test]
fn r14_6_calls_and_results_belong_together() {
    let (missing, stray) = (
        "messages[2]: call `b` has no result directly after it",
        "messages[2]: a result for `a`, which is no call before it without one",
    );
    check(|body| drop(content(body, 2).remove(1)), &[missing]);
    check(|body| content(body, 2)[1]["tool_use_id"] = json!("a"), &[stray, missing]);
    check(|body| content(body, 2).swap(1, 2), &["messages[2]: a result stands behind what is none"]);
    check(
        |body| content(body, 1)[4]["id"] = json!("a"),
        &[
            "messages[1]: call id `a` stands for two calls",
            "messages[2]: a result for `b`, which is no call before it without one",
        ],
    );
    check(
        |body| content(body, 1)[4]["input"] = json!("{}"),
        &["messages[1]: the input of call `b` is no object: \"{}\""],
    );
    check(
        |body| body["messages"].as_array_mut().unwrap().truncate(2),
        &[
            "call `a` has no result directly after it",
            "call `b` has no result directly after it",
            "the last message is of role `assistant`",
        ],
    );
    check(
        |body| drop(body.as_object_mut().unwrap().shift_remove("tools")),
        &[
            "messages[1]: call `a`, and the request declares no tools",
            "messages[1]: call `b`, and the request declares no tools",
        ],
    );
}

#[test]
fn r14_6_thoughts_stay_in_their_place_as_they_were_said() {
    let moved = "messages[1]: a thought is not as it was said, or not where it was said";
    check(|body| content(body, 1)[0]["thinking"] = json!("Hm!"), &[moved]);
    check(|body| content(body, 1)[3]["signature"] = json!(""), &[moved]);
    check(|body| content(body, 1).swap(3, 4), &[moved, "messages[1]: the last block is a thought"]);
    let headless = "messages[1]: calls are answered, and the message does not begin with its thoughts";
    check(|body| drop(content(body, 1).remove(0)), &[moved, headless]);
    check(|body| content(body, 1).retain(|block| block["type"] != "thinking"), &[headless]);
    check(
        |body| {
            content(body, 1).retain(|block| block["type"] != "thinking");
            body.as_object_mut().unwrap().shift_remove("thinking");
        },
        &[],
    );
    check(|body| content(body, 1)[0] = json!({"type": "redacted_thinking", "data": "x"}), &[moved]);
    check(|body| body["temperature"] = json!(0.5), &["thinking: `temperature` and `top_k` may not be set"]);
    check(
        |body| body["thinking"]["budget_tokens"] = json!(4000),
        &["thinking: `budget_tokens` is not from 1024 to below `max_tokens`"],
    );
    check(
        |body| body["tool_choice"] = json!({"type": "any"}),
        &["tool_choice: a call cannot be forced while the model thinks"],
    );
}

#[test]
fn r14_6_roles_alternate_and_nothing_is_empty() {
    check(
        |body| drop(body["messages"].as_array_mut().unwrap().remove(3)),
        &["messages[3]: role `user` cannot follow `user`"],
    );
    check(
        |body| drop(body["messages"].as_array_mut().unwrap().remove(0)),
        &["messages[0]: role `assistant` cannot follow ``"],
    );
    for empty in [json!(""), json!(" \n"), json!([]), Value::Null] {
        check(|body| body["messages"][4]["content"] = empty.clone(), &["messages[4]: the content is empty"]);
    }
    check(|body| content(body, 4)[0]["text"] = json!(" "), &["messages[4]: a text block is empty"]);
    check(|body| content(body, 2)[1]["content"] = json!(""), &["messages[2]: the result of `b` is empty"]);
    check(|body| body["system"] = json!([]), &["`system` is empty"]);
    check(|body| body["system"][0]["text"] = json!(""), &["system: a text block is empty"]);
}

#[test]
fn r14_6_no_field_that_the_api_does_not_know() {
    check(|body| body["stream_options"] = json!({}), &["the field `stream_options` is not known"]);
    check(|body| body["messages"][0]["name"] = json!("x"), &["messages[0]: the field `name` is not known"]);
    check(|body| content(body, 2)[0]["id"] = json!("x"), &["messages[2]: the field `id` is not known"]);
    check(|body| content(body, 1)[2]["function"] = json!({}), &["messages[1]: the field `function` is not known"]);
    check(|body| body["thinking"]["effort"] = json!("low"), &["thinking: the field `effort` is not known"]);
    check(|body| body["tools"][0]["parameters"] = json!({}), &["tool `read`: the field `parameters` is not known"]);
    check(|body| content(body, 4)[0]["type"] = json!("input_text"), &["messages[4]: a block `input_text` of the user"]);
    check(
        |body| content(body, 4)[0]["cache_control"] = json!({"type": "for ever"}),
        &["messages[4]: `cache_control` is not of type `ephemeral`"],
    );
    check(
        |body| {
            for (at, block) in [(1, 1), (1, 2), (2, 0), (2, 2), (4, 0)] {
                content(body, at)[block]["cache_control"] = json!({"type": "ephemeral"});
            }
        },
        &["5 blocks with `cache_control`, of 4 at most"],
    );
    check(
        |body| body["max_tokens"] = json!(0),
        &["`max_tokens` is no positive number", "thinking: `budget_tokens` is not from 1024 to below `max_tokens`"],
    );
    check(|body| body["tools"][0]["name"] = json!("a b"), &["tool `a b`: its name is not 1 to 64 of [A-Za-z0-9_-]"]);
    check(
        |body| drop(body["tools"][0].as_object_mut().unwrap().shift_remove("description")),
        &["tool `read`: it has no description"],
    );
}
