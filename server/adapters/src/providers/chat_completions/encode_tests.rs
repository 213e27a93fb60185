//! Request bodies.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use copydesk_engine::ports::{ModelSettings, ResultBlock, WireProtocol};
use copydesk_engine::testing::{pdf, png};
use serde_json::json;

use super::*;
use crate::providers::loopback;

fn request(model: &str, messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest { messages, ..loopback::request(WireProtocol::ChatCompletions, model, "http://localhost:1/v1") }
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

fn call(id: &str, name: &str, input: Value) -> AssistantBlock {
    AssistantBlock::Call { id: id.to_owned(), name: name.to_owned(), input }
}

fn thought(text: &str) -> AssistantBlock {
    AssistantBlock::Reasoning { text: text.to_owned(), signature: None }
}

fn results(results: &[(&str, &str)]) -> ModelMessage {
    let block = |(id, text): &(&str, &str)| ResultBlock::text(*id, *text, false);
    ModelMessage::Results(results.iter().map(block).collect())
}

fn history() -> Vec<ModelMessage> {
    vec![
        user("Fix it"),
        ModelMessage::Assistant(vec![
            thought("Hm."),
            AssistantBlock::Text("I look.".to_owned()),
            call("call_01J", "read", json!({"filePath": "a.rs"})),
            call("call_02J", "list", json!({})),
        ]),
        results(&[("call_01J", "fn main() {}"), ("call_02J", "a.rs")]),
        ModelMessage::Assistant(vec![AssistantBlock::Text("Done.".to_owned())]),
        user("Thanks"),
    ]
}

#[test]
fn a_whole_request() {
    let mut request = request("local/qwen3", history());
    request.settings = ModelSettings {
        context: Some(32_768),
        max_output: Some(4096),
        temperature: Some(0.5),
        top_p: Some(0.9),
        options: json!({"reasoningEffort": "low", "top_k": 20, "model": "other", "temperature": null})
            .as_object()
            .unwrap()
            .clone(),
    };
    let parameters =
        json!({"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]});
    request.tools = vec![ToolSpec { name: "read".to_owned(), description: "Reads.".to_owned(), parameters }];
    insta::assert_snapshot!(serde_json::to_string_pretty(&body(&request)).unwrap(), @r#"
    {
      "model": "qwen3",
      "stream": true,
      "stream_options": {
        "include_usage": true
      },
      "max_tokens": 4096,
      "top_p": 0.9,
      "reasoning_effort": "low",
      "top_k": 20,
      "tools": [
        {
          "type": "function",
          "function": {
            "name": "read",
            "description": "Reads.",
            "parameters": {
              "type": "object",
              "properties": {
                "filePath": {
                  "type": "string"
                }
              },
              "required": [
                "filePath"
              ]
            }
          }
        }
      ],
      "messages": [
        {
          "role": "system",
          "content": "Be brief."
        },
        {
          "role": "user",
          "content": "Fix it"
        },
        {
          "role": "assistant",
          "content": "I look.",
          "tool_calls": [
            {
              "id": "call_01J",
              "type": "function",
              "function": {
                "name": "read",
                "arguments": "{\"filePath\":\"a.rs\"}"
              }
            },
            {
              "id": "call_02J",
              "type": "function",
              "function": {
                "name": "list",
                "arguments": "{}"
              }
            }
          ]
        },
        {
          "role": "tool",
          "tool_call_id": "call_01J",
          "content": "fn main() {}"
        },
        {
          "role": "tool",
          "tool_call_id": "call_02J",
          "content": "a.rs"
        },
        {
          "role": "assistant",
          "content": "Done."
        },
        {
          "role": "user",
          "content": "Thanks"
        }
      ]
    }
    "#);
}

#[test]
fn a_longer_history_only_adds_to_the_end() {
    let history = history();
    let texts: Vec<String> = (1..=history.len())
        .map(|length| body(&request("local/qwen3", history[..length].to_vec())).to_string())
        .collect();
    for pair in texts.windows(2) {
        let shared = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(shared), "{}\n{}", pair[0], pair[1]);
    }
    assert_eq!(body(&request("local/qwen3", history)).to_string(), texts[4]);
}

#[test]
fn reasoning_goes_back_only_where_it_is_asked_for() {
    let sent = |model: &str, option: Value| {
        let mut request = request(model, history());
        if !option.is_null() {
            request.settings.options.insert("interleaved".to_owned(), option);
        }
        let body = body(&request);
        assert!(body.get("interleaved").is_none());
        [2, 5].map(|at| {
            let message = body["messages"][at].as_object().unwrap().clone();
            message.into_iter().filter(|(key, _)| key.starts_with("reasoning")).collect::<Vec<_>>()
        })
    };
    let content = |text: &str| vec![("reasoning_content".to_owned(), json!(text))];
    assert_eq!(sent("local/qwen3", Value::Null), [vec![], vec![]]);
    assert_eq!(sent("local/qwen3", json!(false)), [vec![], vec![]]);
    assert_eq!(sent("local/qwen3", json!(true)), [content("Hm."), vec![]]);
    assert_eq!(
        sent("local/qwen3", json!({"field": "reasoning"})),
        [vec![("reasoning".to_owned(), json!("Hm."))], vec![]]
    );
    assert_eq!(sent("x/deepseek-v3.2", Value::Null), [content("Hm."), content("")]);
}

#[test]
fn mistral_wants_ids_of_nine_and_a_word_between_results_and_the_user() {
    let history = vec![
        user("Go"),
        ModelMessage::Assistant(vec![call("call_01J9ZW", "list", json!({})), call("call_01J9ZX", "list", json!({}))]),
        results(&[("call_01J9ZW", "a"), ("call_01J9ZX", "b")]),
        user("Stop"),
    ];
    let body = body(&request("mistral/devstral-small", history));
    let messages = body["messages"].as_array().unwrap();
    let ids: Vec<&str> =
        messages[2]["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{ids:?}");
    assert_ne!(ids[0], ids[1]);
    assert_eq!([&messages[3]["tool_call_id"], &messages[4]["tool_call_id"]], [ids[0], ids[1]]);
    assert_eq!(messages[5], json!({"role": "assistant", "content": "Done."}));
    assert_eq!(messages[6], json!({"role": "user", "content": "Stop"}));
    assert!(body.get("stream_options").is_none());
}

#[test]
fn what_models_once_sent_becomes_what_providers_take_back() {
    let history = vec![
        user("Go"),
        ModelMessage::Assistant(vec![
            call("ok-1", "functions.read file", json!("{\"path\": ")),
            call("", "", Value::Null),
            call(&"x".repeat(41), "read", json!([1])),
        ]),
    ];
    let body = body(&request("local/qwen3", history));
    let calls = body["messages"][2]["tool_calls"].as_array().unwrap();
    let functions: Vec<_> = calls.iter().map(|call| &call["function"]).collect();
    assert_eq!(
        functions,
        [
            &json!({"name": "functions_read_file", "arguments": "{\"value\":\"{\\\"path\\\": \"}"}),
            &json!({"name": "invalid", "arguments": "{}"}),
            &json!({"name": "read", "arguments": "{\"value\":[1]}"}),
        ]
    );
    assert_eq!(calls[0]["id"], "ok-1");
    let made: Vec<_> = calls[1..].iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert!(made.iter().all(|id| id.starts_with("call_") && id.len() == 14) && made[0] != made[1], "{made:?}");
}

#[test]
fn reasoning_alone_is_no_message_and_users_do_not_stand_in_a_row() {
    let history = vec![user("One"), ModelMessage::Assistant(vec![thought("Hm.")]), user("Two")];
    let body = body(&request("local/qwen3", history));
    assert_eq!(body["messages"].as_array().unwrap()[1..], [json!({"role": "user", "content": "One\n\nTwo"})]);
}

#[test]
fn openai_names_the_limit_in_its_own_way() {
    let mut request = request("openai/gpt-5", vec![user("Go")]);
    request.settings.max_output = Some(10);
    Arc::get_mut(&mut request.provider).unwrap().base_url = "https://api.openai.com/v1".to_owned();
    let body = body(&request);
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(10), None));
}

#[test]
fn an_image_is_a_data_url_between_the_texts() {
    let image = png(2, 3);
    let shown = |text: &str| ModelMessage::User(vec![Content::Text(text.to_owned()), Content::Image(image.clone())]);
    let url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAAAAAAAAAAAAElEQVQAAAAAAAAAAElFTkSuQmCC";
    let text = |text: &str| json!({"type": "text", "text": text});
    let picture = json!({"type": "image_url", "image_url": {"url": url}});
    let body = body(&request("p/m", vec![shown("What is this?")]));
    assert_eq!(body["messages"][1], json!({"role": "user", "content": [text("What is this?"), picture]}));

    // Two messages of the user's, with thoughts between them that are not sent.
    let thinks = ModelMessage::Assistant(vec![thought("Hm.")]);
    let messages = |first: ModelMessage, second: ModelMessage| {
        super::body(&request("p/m", vec![first, thinks.clone(), second]))["messages"][1]["content"].take()
    };
    assert_eq!(messages(user("One"), shown("two")), json!([text("One"), text("two"), picture]));
    assert_eq!(messages(shown("One"), user("two")), json!([text("One"), picture, text("two")]));
    assert_eq!(messages(user("One"), user("two")), json!("One\n\ntwo"));
}

#[test]
fn what_results_show_follows_them_as_the_user_s() {
    let shows = |id: &str, text: &str, shown: &[Content]| ResultBlock {
        content: [&[Content::Text(text.to_owned())], shown].concat(),
        ..ResultBlock::text(id, text, false)
    };
    let calls = ModelMessage::Assistant(["a", "b", "c"].map(|id| call(id, "read", json!({}))).into());
    let results = ModelMessage::Results(vec![
        shows("a", "<path>/w/1.png</path>\n…", &[Content::Image(png(2, 3))]),
        shows("b", "plain", &[]),
        shows("c", "<path>/w/2.png</path>", &[Content::Image(png(2, 3))]),
    ]);
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAAAAAAAAAAAAElEQVQAAAAAAAAAAElFTkSuQmCC"}});
    let label = |path: &str| json!({"type": "text", "text": format!("What the result shows that begins with: <path>{path}</path>")});
    let shown = json!([label("/w/1.png"), picture, label("/w/2.png"), picture]);
    let first = body(&request("p/m", vec![user("Go"), calls.clone(), results.clone()]));
    let roles: Vec<&str> =
        first["messages"].as_array().unwrap()[1..].iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "tool", "user"]);
    assert_eq!(first["messages"][3]["content"], "<path>/w/1.png</path>\n…");
    assert_eq!(first["messages"][6]["content"], shown);
    // What the user says next stands behind it.
    let next = body(&request("p/m", vec![user("Go"), calls, results, user("And now?")]));
    let mut expected = shown.as_array().unwrap().clone();
    expected.push(json!({"type": "text", "text": "And now?"}));
    assert_eq!(next["messages"][6]["content"], json!(expected));
    let document = ModelMessage::User(vec![Content::Pdf(pdf(1))]);
    assert_eq!(
        body(&request("p/m", vec![document]))["messages"][1]["content"],
        json!([{"type": "text", "text": "[a PDF of 249 bytes, which cannot be shown]"}])
    );
}
