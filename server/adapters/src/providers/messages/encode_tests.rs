//! Request bodies.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use copydesk_engine::ports::WireProtocol;
use copydesk_engine::testing::{pdf, pdf_bytes, png};

use super::*;
use crate::providers::loopback;

fn request(model: &str, messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest {
        messages,
        tools: vec![tool("bash"), tool("read")],
        ..loopback::request(WireProtocol::Messages, model, "http://localhost:1/v1")
    }
}

fn tool(name: &str) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {}});
    ToolSpec { name: name.to_owned(), description: format!("Does {name}."), parameters }
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

fn call(id: &str, name: &str, input: Value) -> AssistantBlock {
    AssistantBlock::Call { id: id.to_owned(), name: name.to_owned(), input }
}

fn thought(text: &str, signature: Option<&str>) -> AssistantBlock {
    AssistantBlock::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

fn results(results: &[(&str, &str, bool)]) -> ModelMessage {
    let block = |(id, text, is_error): &(&str, &str, bool)| ResultBlock::text(*id, *text, *is_error);
    ModelMessage::Results(results.iter().map(block).collect())
}

fn history() -> Vec<ModelMessage> {
    vec![
        user("Fix it"),
        ModelMessage::Assistant(vec![
            thought("Hm.", Some("c2ln")),
            thought("", Some("redacted:ZGF0YQ==")),
            AssistantBlock::Text("I look.".to_owned()),
            call("call_01J", "read", json!({"filePath": "a.rs"})),
            call("call_02J", "bash", json!({})),
        ]),
        results(&[("call_01J", "fn main() {}", false), ("call_02J", "no such command", true)]),
        user("Hurry"),
        ModelMessage::Assistant(vec![thought("So.", None), AssistantBlock::Text("Done.".to_owned())]),
        user("Thanks"),
    ]
}

fn options(request: &mut ModelRequest, options: Value) {
    request.settings.options = options.as_object().unwrap().clone();
}

#[test]
fn a_whole_request() {
    let mut request = request("anthropic/claude-sonnet-4-5", history());
    request.settings.max_output = Some(64_000);
    request.settings.temperature = Some(0.5);
    options(&mut request, json!({"topK": 5, "model": "other", "stream": false}));
    insta::assert_snapshot!(serde_json::to_string_pretty(&body(&request)).unwrap(), @r#"
    {
      "model": "claude-sonnet-4-5",
      "stream": true,
      "max_tokens": 32000,
      "temperature": 0.5,
      "top_k": 5,
      "tools": [
        {
          "name": "bash",
          "description": "Does bash.",
          "input_schema": {
            "type": "object",
            "properties": {}
          }
        },
        {
          "name": "read",
          "description": "Does read.",
          "input_schema": {
            "type": "object",
            "properties": {}
          },
          "cache_control": {
            "type": "ephemeral"
          }
        }
      ],
      "system": [
        {
          "type": "text",
          "text": "Be brief.",
          "cache_control": {
            "type": "ephemeral"
          }
        }
      ],
      "messages": [
        {
          "role": "user",
          "content": [
            {
              "type": "text",
              "text": "Fix it"
            }
          ]
        },
        {
          "role": "assistant",
          "content": [
            {
              "type": "thinking",
              "thinking": "Hm.",
              "signature": "c2ln"
            },
            {
              "type": "redacted_thinking",
              "data": "ZGF0YQ=="
            },
            {
              "type": "text",
              "text": "I look."
            },
            {
              "type": "tool_use",
              "id": "call_01J",
              "name": "read",
              "input": {
                "filePath": "a.rs"
              }
            },
            {
              "type": "tool_use",
              "id": "call_02J",
              "name": "bash",
              "input": {}
            }
          ]
        },
        {
          "role": "user",
          "content": [
            {
              "type": "tool_result",
              "tool_use_id": "call_01J",
              "content": "fn main() {}"
            },
            {
              "type": "tool_result",
              "tool_use_id": "call_02J",
              "content": "no such command",
              "is_error": true
            },
            {
              "type": "text",
              "text": "Hurry",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        },
        {
          "role": "assistant",
          "content": [
            {
              "type": "text",
              "text": "Done."
            }
          ]
        },
        {
          "role": "user",
          "content": [
            {
              "type": "text",
              "text": "Thanks",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        }
      ]
    }
    "#);
}

/// The body without the marks, which are no part of what is cached.
fn unmarked(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.shift_remove("cache_control");
                map.values_mut().for_each(walk);
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut value);
    value
}

#[test]
fn a_longer_history_only_adds_to_the_end() {
    let history = history();
    let texts: Vec<String> = [1, 3, 6]
        .map(|length| unmarked(body(&request("anthropic/claude-sonnet-4-5", history[..length].to_vec()))).to_string())
        .into();
    for pair in texts.windows(2) {
        // The end of the last message, where its content may grow.
        let shared = pair[0].strip_suffix("]}]}").unwrap();
        assert!(pair[1].starts_with(shared), "{}\n{}", pair[0], pair[1]);
    }
}

#[test]
fn four_marks_at_most_and_at_the_ends_of_what_stays() {
    for length in 1..=6 {
        let body = body(&request("anthropic/claude-sonnet-4-5", history()[..length].to_vec()));
        let marks = body.to_string().matches("\"cache_control\":{\"type\":\"ephemeral\"}").count();
        assert!((3..=4).contains(&marks), "{marks} in {body}");
        assert!(body["system"][0]["cache_control"].is_object() && body["tools"][1]["cache_control"].is_object());
        let users = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
        for user in users.rev().take(2) {
            let last = user["content"].as_array().unwrap().last().unwrap();
            assert!(last["cache_control"].is_object(), "{user}");
        }
    }
}

#[test]
fn thinking_has_its_budget_beside_the_answer_and_no_sampling() {
    let sent = |model: &str, max_output: Option<u64>, written: Value| {
        let mut request = request(model, vec![user("Go")]);
        request.settings.max_output = max_output;
        request.settings.temperature = Some(0.5);
        options(&mut request, written);
        let body = body(&request);
        (body["max_tokens"].clone(), body["thinking"].clone(), body["temperature"].is_null())
    };
    let budget = |tokens: u64| json!({"thinking": {"type": "enabled", "budgetTokens": tokens}});
    let thinking = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    let sonnet = "anthropic/claude-sonnet-4-5";
    assert_eq!(sent(sonnet, None, json!({})), (json!(32_000), Value::Null, false));
    assert_eq!(sent(sonnet, Some(64_000), budget(16_000)), (json!(48_000), thinking(16_000), true));
    assert_eq!(sent(sonnet, Some(40_000), budget(16_000)), (json!(40_000), thinking(16_000), true));
    assert_eq!(sent(sonnet, Some(1000), budget(16_000)), (json!(16_001), thinking(16_000), true));
    let adaptive = json!({"type": "adaptive"});
    assert_eq!(sent(sonnet, None, json!({"thinking": adaptive})), (json!(32_000), adaptive, true));
    assert_eq!(sent("anthropic/claude-3-5-haiku-latest", None, json!({})).0, json!(8192));
    assert_eq!(sent("anthropic/claude-3-haiku-20240307", None, json!({})).0, json!(4096));
    assert_eq!(sent("kimi/kimi-k2", None, json!({})).0, json!(8192));
    assert_eq!(sent("kimi/kimi-k2", None, json!({"max_tokens": 5})).0, json!(5));
}

#[test]
fn effort_goes_where_the_provider_reads_it() {
    let mut request = request("anthropic/claude-opus-4-5", vec![user("Go")]);
    options(&mut request, json!({"effort": "low", "temperature": null}));
    request.settings.temperature = Some(1.0);
    let body = body(&request);
    assert_eq!(body["output_config"], json!({"effort": "low"}));
    assert!(body.get("temperature").is_none() && body.get("effort").is_none());
}

#[test]
fn a_turn_whose_calls_were_made_without_thinking_goes_on_without() {
    let thinking = json!({"thinking": {"type": "enabled", "budgetTokens": 2000}});
    let sent = |first: Vec<AssistantBlock>, last: &[ModelMessage]| {
        let mut history = vec![user("Go"), ModelMessage::Assistant(first), results(&[("a", "x", false)])];
        history.extend(last.iter().cloned());
        let mut request = request("anthropic/claude-sonnet-4-5", history);
        options(&mut request, thinking.clone());
        body(&request)["thinking"].is_object()
    };
    let calls = || call("a", "read", json!({}));
    assert!(!sent(vec![calls()], &[]));
    assert!(!sent(vec![thought("of another model", None), calls()], &[]));
    assert!(sent(vec![thought("Hm", Some("c2ln")), calls()], &[]));
    assert!(sent(vec![calls()], &[ModelMessage::Assistant(vec![AssistantBlock::Text("Done".into())]), user("More")]));
}

#[test]
fn thoughts_without_a_signature_go_back_only_where_it_is_asked_for() {
    let sent = |option: Value| {
        let history = vec![
            user("Go"),
            ModelMessage::Assistant(vec![thought("Hm", None), AssistantBlock::Text("Yes".to_owned())]),
            user("On"),
        ];
        let mut request = request("minimax/m2", history);
        options(&mut request, option);
        let body = body(&request);
        assert!(body.get("interleaved").is_none());
        body["messages"][1]["content"].as_array().unwrap().len()
    };
    assert_eq!((sent(json!({})), sent(json!({"interleaved": false})), sent(json!({"interleaved": true}))), (1, 1, 2));
}

#[test]
fn thoughts_alone_are_no_message() {
    let history = vec![user("One"), ModelMessage::Assistant(vec![thought("Hm", Some("c2ln"))]), user("Two")];
    let body = unmarked(body(&request("anthropic/claude-sonnet-4-5", history)));
    let content = json!([{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]);
    assert_eq!(body["messages"], json!([{"role": "user", "content": content}]));
}

#[test]
fn without_tools_those_of_the_past_are_declared_and_cannot_be_called() {
    let mut request = request("anthropic/claude-sonnet-4-5", history());
    request.tools = Vec::new();
    let sent = body(&request);
    let declared = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
    assert_eq!(sent["tools"], json!([declared("bash"), declared("read")]));
    assert_eq!(sent["tool_choice"], json!({"type": "none"}));
    request.messages = vec![user("Hi")];
    assert!(body(&request).get("tools").is_none());
}

#[test]
fn what_models_once_sent_becomes_what_providers_take_back() {
    let blocks = vec![call("ok-1", "functions.read file", json!("{\"path\": ")), call("", "", Value::Null)];
    let history = vec![user("Go"), ModelMessage::Assistant(blocks), results(&[("ok-1", "x", false), ("", "y", false)])];
    let body = body(&request("anthropic/claude-sonnet-4-5", history));
    let calls = body["messages"][1]["content"].as_array().unwrap();
    assert_eq!(calls[0]["name"], "functions_read_file");
    assert_eq!(calls[0]["input"], json!({"value": "{\"path\": "}));
    assert_eq!((&calls[1]["name"], &calls[1]["input"]), (&json!("invalid"), &json!({})));
    assert_eq!(body["messages"][2]["content"][1]["tool_use_id"], calls[1]["id"]);
}

#[test]
fn an_image_is_a_block_and_carries_the_mark_where_it_is_the_last() {
    let image = png(2, 3);
    let text = || Content::Text("What is this?".to_owned());
    let shown = |content: Vec<Content>| ModelMessage::User(content);
    let source = json!({
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAAAAAAAAAAAAElEQVQAAAAAAAAAAElFTkSuQmCC",
    });
    let last = body(&request("anthropic/claude-sonnet-4-5", vec![shown(vec![text(), Content::Image(image.clone())])]));
    assert_eq!(
        last["messages"][0]["content"],
        json!([
            {"type": "text", "text": "What is this?"},
            {"type": "image", "source": source, "cache_control": {"type": "ephemeral"}},
        ])
    );
    let first = body(&request("anthropic/claude-sonnet-4-5", vec![shown(vec![Content::Image(image), text()])]));
    assert_eq!(
        first["messages"][0]["content"],
        json!([
            {"type": "image", "source": source},
            {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral"}},
        ])
    );
}

#[test]
fn r2_1_redacted_thoughts_of_nothing_are_not_sent_back() {
    for (interleaved, kept) in
        [(false, json!([])), (true, json!([{"type": "thinking", "thinking": "Hm.", "signature": ""}]))]
    {
        let blocks = vec![
            thought("", Some("redacted:")),
            thought("Hm.", Some("redacted:")),
            AssistantBlock::Text("a".to_owned()),
        ];
        let mut request =
            request("anthropic/claude-sonnet-4-5", vec![user("b"), ModelMessage::Assistant(blocks), user("c")]);
        request.settings.options.insert(INTERLEAVED.to_owned(), json!(interleaved));
        let mut expected = kept.as_array().unwrap().clone();
        expected.push(json!({"type": "text", "text": "a"}));
        assert_eq!(body(&request)["messages"][1]["content"], Value::Array(expected));
    }
    // Alone they are no message.
    let alone = ModelMessage::Assistant(vec![thought("", Some("redacted:"))]);
    let body = body(&request("anthropic/claude-sonnet-4-5", vec![user("b"), alone, user("c")]));
    assert_eq!(body["messages"].as_array().unwrap().len(), 1, "{body}");
}

#[test]
fn r22_7_a_budget_without_bounds_does_not_overflow() {
    let mut request = request("anthropic/claude-sonnet-4-5", vec![user("b")]);
    request.settings.options.insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": u64::MAX}));
    assert_eq!(body(&request)["max_tokens"], json!(u64::MAX));
}

#[test]
fn what_a_result_shows_stands_in_it_behind_its_text() {
    let call = AssistantBlock::Call { id: "a".to_owned(), name: "read".to_owned(), input: json!({}) };
    let text = Content::Text("Two files".to_owned());
    let result = ResultBlock {
        content: vec![text, Content::Image(png(2, 3)), Content::Pdf(pdf(1))],
        ..ResultBlock::text("a", "", false)
    };
    let go = ModelMessage::User(vec![Content::Text("Go".to_owned())]);
    let messages = vec![go, ModelMessage::Assistant(vec![call]), ModelMessage::Results(vec![result])];
    let body = body(&request("anthropic/claude-sonnet-4-5", messages));
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAAAAAAAAAAAAElEQVQAAAAAAAAAAElFTkSuQmCC";
    let pdf = BASE64_STANDARD.encode(pdf_bytes(1));
    assert_eq!(
        body["messages"][2]["content"],
        json!([{
            "type": "tool_result",
            "tool_use_id": "a",
            "content": [
                {"type": "text", "text": "Two files"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": pdf}},
            ],
            "cache_control": {"type": "ephemeral"},
        }])
    );
}
