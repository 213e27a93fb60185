//! A request as the body of `POST …/messages`. Pure. Equal requests give equal bytes, and a longer history only adds to the end, apart from the marks that
//! tell the provider where to cache: these move along with it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use copydesk_engine::ports::{AssistantBlock, Content, ModelMessage, ModelRequest, ResultBlock, ToolSpec};
use serde_json::{Map, Value, json};

use super::REDACTED;
use crate::providers::names;

/// What options cannot replace.
const OURS: [&str; 5] = ["model", "messages", "system", "tools", "stream"];

/// Of `ModelSettings::options`, told here and never sent.
const INTERLEAVED: &str = "interleaved";

/// Sampling that the provider refuses beside thinking.
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

/// Tokens of an answer where no limit is configured: what every model since Claude 4 can give, and what older ones can.
const MAX_TOKENS: u64 = 32_000;
const OLDER_MAX_TOKENS: [(&str, u64); 5] = [
    ("claude-3-5", 8192),
    ("claude-3-7", MAX_TOKENS),
    ("claude-3", 4096),
    ("claude-2", 4096),
    ("claude-instant", 4096),
];
/// Of other vendors' models behind the same protocol.
const FOREIGN_MAX_TOKENS: u64 = 8192;

/// The whole body, keys in the order they are sent.
pub(crate) fn body(request: &ModelRequest) -> Value {
    let settings = &request.settings;
    let mut options = options(&settings.options);
    let messages = messages(request);
    if thinks(&options) && !fits_thinking(&messages) {
        options.shift_remove("thinking");
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("max_tokens".to_owned(), json!(max_tokens(request, &options)));
    let sampling = [("temperature", settings.temperature), ("top_p", settings.top_p)];
    body.extend(sampling.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))));
    let thinks = thinks(&options);
    for (key, value) in options {
        if value.is_null() {
            body.shift_remove(&key);
        } else {
            body.insert(key, value);
        }
    }
    if thinks {
        SAMPLING.iter().for_each(|key| drop(body.shift_remove(*key)));
    }
    let called = called(&request.messages);
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), tools(&request.tools));
    } else if !called.is_empty() {
        // Calls of the past must be of tools that are declared; none of them can be called.
        let tool = |name: &String| json!({"name": name, "input_schema": {"type": "object"}});
        body.insert("tools".to_owned(), called.iter().map(tool).collect());
        body.insert("tool_choice".to_owned(), json!({"type": "none"}));
    }
    if !request.system.is_empty() {
        body.insert("system".to_owned(), json!([marked(json!({"type": "text", "text": request.system}))]));
    }
    body.insert("messages".to_owned(), Value::Array(mark_users(messages)));
    Value::Object(body)
}

/// As configurations for the AI SDK spell them, in the provider's spelling.
fn options(written: &Map<String, Value>) -> Map<String, Value> {
    let mut options = Map::new();
    for (key, value) in written {
        let (key, value) = match key.as_str() {
            INTERLEAVED => continue,
            key if OURS.contains(&key) => continue,
            "thinking" => ("thinking", thinking(value.clone())),
            "effort" => ("output_config", json!({ "effort": value })),
            "topK" => ("top_k", value.clone()),
            "maxTokens" => ("max_tokens", value.clone()),
            key => (key, value.clone()),
        };
        options.insert(key.to_owned(), value);
    }
    options
}

fn thinking(mut option: Value) -> Value {
    if let Some(thinking) = option.as_object_mut()
        && let Some(budget) = thinking.shift_remove("budgetTokens")
    {
        thinking.insert("budget_tokens".to_owned(), budget);
    }
    option
}

fn thinks(options: &Map<String, Value>) -> bool {
    let kind = options.get("thinking").and_then(|thinking| thinking.get("type")).and_then(Value::as_str);
    matches!(kind, Some("enabled" | "adaptive"))
}

/// Thinking takes its budget out of the limit: the answer keeps its own beside it, as far as the model goes.
fn max_tokens(request: &ModelRequest, options: &Map<String, Value>) -> u64 {
    let limit = request.settings.max_output;
    let answer = limit.map_or_else(|| usual_max_tokens(&request.model.model), |limit| limit.min(MAX_TOKENS));
    let budget = options.get("thinking").and_then(|thinking| thinking.get("budget_tokens")).and_then(Value::as_u64);
    match budget.filter(|_| thinks(options)) {
        Some(budget) => answer.saturating_add(budget).min(limit.unwrap_or(u64::MAX)).max(budget.saturating_add(1)),
        None => answer,
    }
}

fn usual_max_tokens(model: &str) -> u64 {
    let model = model.to_ascii_lowercase();
    if !model.contains("claude") {
        return FOREIGN_MAX_TOKENS;
    }
    OLDER_MAX_TOKENS.iter().find(|(name, _)| model.contains(name)).map_or(MAX_TOKENS, |(_, tokens)| *tokens)
}

fn tools(tools: &[ToolSpec]) -> Value {
    let tool =
        |tool: &ToolSpec| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters});
    let mut tools: Vec<Value> = tools.iter().map(tool).collect();
    if let Some(last) = tools.pop() {
        tools.push(marked(last));
    }
    Value::Array(tools)
}

/// Roles alternate: results and what the user says after them are one message, results first.
fn messages(request: &ModelRequest) -> Vec<Value> {
    let unsigned = request.settings.options.get(INTERLEAVED).is_some_and(|option| *option != Value::Bool(false));
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = match message {
            ModelMessage::User(content) => ("user", content.iter().map(self::content).collect()),
            ModelMessage::Results(results) => ("user", results.iter().map(result).collect()),
            ModelMessage::Assistant(blocks) => {
                let blocks: Vec<Value> = blocks.iter().filter_map(|block| assistant(block, unsigned)).collect();
                // Thoughts alone are refused.
                let says_something = blocks.iter().any(|block| !is_thought(block));
                ("assistant", if says_something { blocks } else { Vec::new() })
            }
        };
        match out.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => out.push((role, blocks)),
        }
    }
    out.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn content(piece: &Content) -> Value {
    match piece {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Image(image) => {
            let data = BASE64_STANDARD.encode(image.bytes());
            json!({"type": "image", "source": {"type": "base64", "media_type": image.kind().mime(), "data": data}})
        }
        Content::Pdf(pdf) => {
            let data = BASE64_STANDARD.encode(pdf.bytes());
            json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}})
        }
    }
}

fn result(result: &ResultBlock) -> Value {
    let id = names::call_id(&result.id);
    // A text alone is a string, as it was before results could show anything.
    let content = match result.split() {
        (text, []) => json!(text),
        _ => result.content.iter().map(content).collect(),
    };
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// Thoughts go back as they came, with the signature of the model that is asked now: the engine has taken those of others away. Without one they are sent
/// where the configuration says so (`interleaved`), since Anthropic refuses them.
fn assistant(block: &AssistantBlock, unsigned: bool) -> Option<Value> {
    match block {
        AssistantBlock::Text(text) => Some(json!({"type": "text", "text": text})),
        AssistantBlock::Call { id, name, input } => Some(json!({
            "type": "tool_use",
            "id": names::call_id(id),
            "name": names::function_name(name),
            "input": names::input(input),
        })),
        AssistantBlock::Reasoning { text, signature } => match signature.as_deref() {
            // Of nothing, as some servers send them: refused, and it says nothing.
            Some(REDACTED) if text.is_empty() => None,
            Some(REDACTED) | None => unsigned.then(|| json!({"type": "thinking", "thinking": text, "signature": ""})),
            Some(signature) => Some(match signature.strip_prefix(REDACTED) {
                Some(data) => json!({"type": "redacted_thinking", "data": data}),
                None => json!({"type": "thinking", "thinking": text, "signature": signature}),
            }),
        },
    }
}

/// With thinking on, an assistant message whose calls are being answered must begin with a thought. It does not after a change of the model in the middle of
/// a turn; the rest of that turn goes without.
fn fits_thinking(messages: &[Value]) -> bool {
    let [.., assistant, user] = messages else { return true };
    let answers_calls = user["content"][0]["type"] == "tool_result";
    !answers_calls || is_thought(&assistant["content"][0])
}

fn is_thought(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

/// The names of all calls, sorted.
fn called(messages: &[ModelMessage]) -> Vec<String> {
    let mut called = Vec::new();
    for message in messages {
        let ModelMessage::Assistant(blocks) = message else { continue };
        called.extend(blocks.iter().filter_map(|block| match block {
            AssistantBlock::Call { name, .. } => Some(names::function_name(name)),
            AssistantBlock::Text(_) | AssistantBlock::Reasoning { .. } => None,
        }));
    }
    called.sort();
    called.dedup();
    called
}

/// The last two messages of the user: what was read for the request before is found again, and what is read now is kept for the next. With system prompt
/// and tools these are the four marks that the provider allows.
fn mark_users(mut messages: Vec<Value>) -> Vec<Value> {
    for message in messages.iter_mut().rev().filter(|message| message["role"] == "user").take(2) {
        if let Some(last) = message["content"].as_array_mut().and_then(|content| content.last_mut()) {
            *last = marked(last.take());
        }
    }
    messages
}

fn marked(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
