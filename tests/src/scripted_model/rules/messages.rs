//! The rules of Messages: what Anthropic's API refuses with a 400, and no more fields than it knows.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Calls, Declared, check_tools, is_image, is_pdf, is_text};
use crate::scripted_model::events::messages::signature;

const HEADERS: [&str; 2] = ["x-api-key", "anthropic-version"];

const FIELDS: [&str; 17] = [
    "container",
    "context_management",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// Marks of what is kept for the next request.
const MAX_CACHE_MARKS: usize = 4;

const LEAST_BUDGET: u64 = 1024;

pub(super) fn check(headers: &BTreeMap<String, String>, body: &Map<String, Value>, wrong: &mut Vec<String>) {
    for name in HEADERS {
        if headers.get(name).is_none_or(|value| value.trim().is_empty()) {
            wrong.push(format!("the header `{name}` is missing"));
        }
    }
    check_fields(body, &FIELDS, wrong);
    let max_tokens = body.get("max_tokens").and_then(Value::as_u64).filter(|tokens| *tokens > 0);
    if max_tokens.is_none() {
        wrong.push("`max_tokens` is no positive number".to_owned());
    }
    if body.get("temperature").is_some_and(|value| !value.as_f64().is_some_and(|value| (0.0..=1.0).contains(&value))) {
        wrong.push("`temperature` is not from 0 to 1".to_owned());
    }
    let thinks = check_thinking(body, max_tokens.unwrap_or_default(), wrong);
    match body.get("system") {
        None | Some(Value::String(_)) => {}
        Some(system) => {
            let mut here = Vec::new();
            system.as_array().into_iter().flatten().for_each(|block| check_text(block, &mut here));
            wrong.extend(here.into_iter().map(|text| format!("system: {text}")));
        }
    }
    if body.get("system").is_some_and(is_empty) {
        wrong.push("`system` is empty".to_owned());
    }
    if let Some(tools) = body.get("tools") {
        let declares_past = body.get("tool_choice").is_some_and(|choice| choice["type"] == "none");
        check_tools(tools, |tool| declared(tool, declares_past), wrong);
    }
    if let Some(choice) = body.get("tool_choice") {
        check_choice(choice, thinks, body.contains_key("tools"), wrong);
    }
    let marks = count_marks(&Value::Object(body.clone()));
    if marks > MAX_CACHE_MARKS {
        wrong.push(format!("{marks} blocks with `cache_control`, of {MAX_CACHE_MARKS} at most"));
    }
    match body.get("messages").and_then(Value::as_array) {
        Some(messages) => {
            let declares = body.contains_key("tools");
            Conversation { thinks, declares, ..Conversation::default() }.check(messages, wrong);
        }
        None => wrong.push("`messages` is no list".to_owned()),
    }
}

/// Whether it is on.
fn check_thinking(body: &Map<String, Value>, max_tokens: u64, wrong: &mut Vec<String>) -> bool {
    let Some(thinking) = body.get("thinking") else { return false };
    let fields: &[&str] = match thinking["type"].as_str() {
        Some("enabled") => &["type", "budget_tokens"],
        Some("adaptive") => &["type", "display"],
        Some("disabled") => &["type"],
        _ => {
            wrong.push("thinking: an unknown type".to_owned());
            return false;
        }
    };
    if let Some(object) = thinking.as_object() {
        let mut here = Vec::new();
        check_fields(object, fields, &mut here);
        wrong.extend(here.into_iter().map(|text| format!("thinking: {text}")));
    }
    if thinking["type"] == "enabled" {
        let budget = thinking["budget_tokens"].as_u64().unwrap_or_default();
        if !(LEAST_BUDGET..max_tokens).contains(&budget) {
            wrong.push(format!("thinking: `budget_tokens` is not from {LEAST_BUDGET} to below `max_tokens`"));
        }
    }
    let is_on = thinking["type"] != "disabled";
    if is_on && (body.get("temperature").is_some_and(|value| *value != 1) || body.contains_key("top_k")) {
        wrong.push("thinking: `temperature` and `top_k` may not be set".to_owned());
    }
    is_on
}

fn check_choice(choice: &Value, thinks: bool, has_tools: bool, wrong: &mut Vec<String>) {
    let kind = choice["type"].as_str().unwrap_or_default();
    if !["auto", "any", "tool", "none"].contains(&kind) {
        wrong.push(format!("tool_choice: an unknown type `{kind}`"));
    }
    if thinks && !["auto", "none"].contains(&kind) {
        wrong.push("tool_choice: a call cannot be forced while the model thinks".to_owned());
    }
    if !has_tools {
        wrong.push("tool_choice: there are no tools".to_owned());
    }
}

/// Tools of the past, which cannot be called, need no description.
fn declared(tool: &Value, is_past: bool) -> Declared<'_> {
    static UNTOLD: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| Value::from("of the past"));
    let mut also = Vec::new();
    if let Some(object) = tool.as_object() {
        let known = ["name", "description", "input_schema", "type", "cache_control", "strict"];
        check_fields(object, &known, &mut also);
        check_mark(object, &mut also);
    }
    let description = match tool.get("description") {
        None if is_past => &UNTOLD,
        _ => &tool["description"],
    };
    Declared { name: tool["name"].as_str().unwrap_or_default(), description, parameters: &tool["input_schema"], also }
}

/// What has been seen of the messages so far.
#[derive(Default)]
struct Conversation<'a> {
    thinks: bool,
    /// The request declares tools.
    declares: bool,
    last_role: &'a str,
    calls: Calls<'a>,
}

impl<'a> Conversation<'a> {
    fn check(&mut self, messages: &'a [Value], wrong: &mut Vec<String>) {
        for (at, message) in messages.iter().enumerate() {
            let mut here = Vec::new();
            let role = message["role"].as_str().unwrap_or_default();
            let expected = if self.last_role == "user" { "assistant" } else { "user" };
            if role != expected {
                here.push(format!("role `{role}` cannot follow `{}`", self.last_role));
            }
            if let Some(object) = message.as_object() {
                check_fields(object, &["role", "content"], &mut here);
            }
            let content = match &message["content"] {
                Value::Array(blocks) => blocks.as_slice(),
                _ => &[],
            };
            if is_empty(&message["content"]) {
                here.push("the content is empty".to_owned());
            }
            match role {
                "assistant" => {
                    self.calls.expect_none_open(&mut here);
                    self.check_assistant(content, &mut here);
                    if self.thinks && is_answered(messages.get(at + 1)) && !content.first().is_some_and(is_thought) {
                        here.push("calls are answered, and the message does not begin with its thoughts".to_owned());
                    }
                }
                _ => {
                    self.check_user(content, &mut here);
                    self.calls.expect_none_open(&mut here);
                }
            }
            self.last_role = role;
            wrong.extend(here.into_iter().map(|text| format!("messages[{at}]: {text}")));
        }
        self.calls.expect_none_open(wrong);
        if self.last_role != "user" {
            wrong.push(format!("the last message is of role `{}`", self.last_role));
        }
    }

    fn check_assistant(&mut self, blocks: &'a [Value], wrong: &mut Vec<String>) {
        let (mut calls, mut thoughts) = (0, 0);
        for block in blocks {
            let kind = block["type"].as_str().unwrap_or_default();
            match kind {
                "text" => check_text(block, wrong),
                "tool_use" => {
                    self.check_call(block, wrong);
                    calls += 1;
                }
                "thinking" => {
                    check_block(block, &["thinking", "signature"], wrong);
                    let text = block["thinking"].as_str().unwrap_or_default();
                    if block["signature"] != signature(calls, thoughts, text) {
                        wrong.push("a thought is not as it was said, or not where it was said".to_owned());
                    }
                    thoughts += 1;
                }
                "redacted_thinking" => {
                    check_block(block, &["data"], wrong);
                    if !is_text(&block["data"]) {
                        wrong.push("a redacted thought holds nothing".to_owned());
                    }
                }
                kind => wrong.push(format!("a block `{kind}` of the assistant")),
            }
        }
        if blocks.last().is_some_and(is_thought) {
            wrong.push("the last block is a thought".to_owned());
        }
    }

    fn check_call(&mut self, call: &'a Value, wrong: &mut Vec<String>) {
        check_block(call, &["id", "name", "input", "cache_control"], wrong);
        let id = call["id"].as_str().unwrap_or_default();
        let name = call["name"].as_str().unwrap_or_default();
        self.calls.begin(id, 64, name, wrong);
        if !call["input"].is_object() {
            wrong.push(format!("the input of call `{id}` is no object: {}", call["input"]));
        }
        if !self.declares {
            wrong.push(format!("call `{id}`, and the request declares no tools"));
        }
    }

    fn check_user(&mut self, blocks: &'a [Value], wrong: &mut Vec<String>) {
        let mut others = false;
        for block in blocks {
            match block["type"].as_str().unwrap_or_default() {
                "tool_result" => {
                    self.check_result(block, wrong);
                    if others {
                        wrong.push("a result stands behind what is none".to_owned());
                    }
                    continue;
                }
                "text" => check_text(block, wrong),
                "image" => check_picture(block, wrong),
                "document" => check_document(block, wrong),
                kind => wrong.push(format!("a block `{kind}` of the user")),
            }
            others = true;
        }
    }

    fn check_result(&mut self, block: &'a Value, wrong: &mut Vec<String>) {
        check_block(block, &["tool_use_id", "content", "is_error", "cache_control"], wrong);
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        self.calls.answer(id, wrong);
        let content = &block["content"];
        if is_empty(content) {
            wrong.push(format!("the result of `{id}` is empty"));
        }
        for inner in content.as_array().into_iter().flatten() {
            match inner["type"].as_str().unwrap_or_default() {
                "text" => check_text(inner, wrong),
                "image" => check_picture(inner, wrong),
                "document" => check_document(inner, wrong),
                kind => wrong.push(format!("a block `{kind}` in the result of `{id}`")),
            }
            if block["is_error"] == true && inner["type"] != "text" {
                wrong.push(format!("the result of `{id}` is an error, and more than text"));
            }
        }
    }
}

fn check_picture(block: &Value, wrong: &mut Vec<String>) {
    check_block(block, &["source", "cache_control"], wrong);
    let source = &block["source"];
    let text = |key: &str| source[key].as_str().unwrap_or_default();
    if source["type"] != "base64" || !is_image(text("media_type"), text("data")) {
        wrong.push("an image is no base64 of an image".to_owned());
    }
}

fn check_document(block: &Value, wrong: &mut Vec<String>) {
    check_block(block, &["source", "title", "context", "citations", "cache_control"], wrong);
    let source = &block["source"];
    let is_pdf = source["media_type"] == "application/pdf" && is_pdf(source["data"].as_str().unwrap_or_default());
    if source["type"] != "base64" || !is_pdf {
        wrong.push("a document is no base64 of a PDF".to_owned());
    }
}

/// By the message behind it.
fn is_answered(next: Option<&Value>) -> bool {
    next.is_some_and(|next| next["content"][0]["type"] == "tool_result")
}

fn is_thought(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn is_empty(content: &Value) -> bool {
    match content {
        Value::Array(blocks) => blocks.is_empty(),
        text => !is_text(text),
    }
}

fn check_text(block: &Value, wrong: &mut Vec<String>) {
    check_block(block, &["text", "cache_control", "citations"], wrong);
    if block["type"] != "text" || !is_text(&block["text"]) {
        wrong.push("a text block is empty".to_owned());
    }
}

fn check_block(block: &Value, known: &[&str], wrong: &mut Vec<String>) {
    let Some(object) = block.as_object() else {
        wrong.push("a block is no object".to_owned());
        return;
    };
    let known: Vec<&str> = known.iter().copied().chain(["type"]).collect();
    check_fields(object, &known, wrong);
    check_mark(object, wrong);
}

fn check_fields(object: &Map<String, Value>, known: &[&str], wrong: &mut Vec<String>) {
    let unknown = object.keys().filter(|key| !known.contains(&key.as_str()));
    wrong.extend(unknown.map(|key| format!("the field `{key}` is not known")));
}

fn check_mark(object: &Map<String, Value>, wrong: &mut Vec<String>) {
    if object.get("cache_control").is_some_and(|mark| mark["type"] != "ephemeral") {
        wrong.push("`cache_control` is not of type `ephemeral`".to_owned());
    }
}

fn count_marks(value: &Value) -> usize {
    match value {
        Value::Object(object) => {
            usize::from(object.contains_key("cache_control")) + object.values().map(count_marks).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count_marks).sum(),
        _ => 0,
    }
}
