//! A request as the body of `POST …/chat/completions`. Pure. Equal requests give equal bytes, and a longer history only adds to the end: what is fixed
//! for a session stands before the messages, so that providers can reuse what they have read.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use copydesk_engine::ports::{AssistantBlock, Content, ModelMessage, ModelRequest, ResultBlock, ToolSpec};
use serde_json::{Map, Value, json};

use crate::providers::names;

/// What options cannot replace.
const OURS: [&str; 4] = ["model", "messages", "tools", "stream"];

/// Keys of `ModelSettings::options` that are told here and never sent: where reasoning goes.
const INTERLEAVED: &str = "interleaved";

/// The whole body, keys in the order they are sent.
pub(crate) fn body(request: &ModelRequest) -> Value {
    let dialect = Dialect::of(request);
    let settings = &request.settings;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model.model));
    body.insert("stream".to_owned(), json!(true));
    if dialect.usage_on_request {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    let limits = [
        (dialect.max_tokens, settings.max_output.map(Value::from)),
        ("temperature", settings.temperature.map(Value::from)),
        ("top_p", settings.top_p.map(Value::from)),
    ];
    body.extend(limits.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    merge_options(&mut body, &settings.options);
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
    }
    body.insert("messages".to_owned(), Value::Array(messages(request, &dialect)));
    Value::Object(body)
}

/// How a family of servers differs from OpenAI's.
struct Dialect {
    /// Name of the output limit.
    max_tokens: &'static str,
    /// Sends usage when `stream_options` ask for it; others send it unasked and refuse the key.
    usage_on_request: bool,
    call_ids: CallIds,
    /// The text of an assistant message between results and a user message, where the server wants one.
    after_results: Option<&'static str>,
    /// The key of an assistant message that takes its reasoning back.
    reasoning: Option<Reasoning>,
}

#[derive(Clone, Copy)]
enum CallIds {
    /// `[A-Za-z0-9_-]`, 40 at most.
    Usual,
    /// `[A-Za-z0-9]`, exactly nine: Mistral.
    Nine,
}

struct Reasoning {
    key: String,
    /// Also on messages without reasoning: DeepSeek refuses a history where it is missing.
    always: bool,
}

impl Dialect {
    fn of(request: &ModelRequest) -> Self {
        let model = request.model.model.to_ascii_lowercase();
        let provider = &request.provider;
        let at = |host: &str| provider.base_url.contains(host);
        let mistral = provider.id == "mistral" || at("api.mistral.ai");
        let mistral_model =
            mistral || ["mistral", "devstral", "codestral", "magistral"].iter().any(|name| model.contains(name));
        Self {
            max_tokens: if at("api.openai.com") { "max_completion_tokens" } else { "max_tokens" },
            usage_on_request: !mistral,
            call_ids: if mistral_model { CallIds::Nine } else { CallIds::Usual },
            after_results: mistral_model.then_some("Done."),
            reasoning: reasoning(request.settings.options.get(INTERLEAVED), model.contains("deepseek")),
        }
    }
}

/// `true`, a key, or `{"field": key}`; without a word, only DeepSeek's models get it back.
fn reasoning(option: Option<&Value>, deepseek: bool) -> Option<Reasoning> {
    let key = match option {
        None if deepseek => "reasoning_content",
        None => return None,
        Some(Value::Bool(true)) => "reasoning_content",
        Some(value) => value.get("field").unwrap_or(value).as_str().filter(|key| !key.is_empty())?,
    };
    Some(Reasoning { key: key.to_owned(), always: deepseek })
}

/// Null takes a key out.
fn merge_options(body: &mut Map<String, Value>, options: &Map<String, Value>) {
    for (key, value) in options {
        // As configurations for the AI SDK spell them.
        let key = match key.as_str() {
            "reasoningEffort" => "reasoning_effort",
            "textVerbosity" => "verbosity",
            key => key,
        };
        if key == INTERLEAVED || OURS.contains(&key) {
            continue;
        }
        if value.is_null() {
            body.shift_remove(key);
        } else {
            body.insert(key.to_owned(), value.clone());
        }
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    })
}

fn messages(request: &ModelRequest, dialect: &Dialect) -> Vec<Value> {
    let mut out = Vec::new();
    if !request.system.is_empty() {
        out.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        match message {
            ModelMessage::User(content) => push_user(&mut out, content, dialect),
            ModelMessage::Assistant(blocks) => out.extend(assistant(blocks, dialect)),
            ModelMessage::Results(results) => {
                out.extend(results.iter().map(|result| {
                    let id = call_id(&result.id, dialect.call_ids);
                    json!({"role": "tool", "tool_call_id": id, "content": result.split().0})
                }));
                let shown: Vec<Content> = results.iter().flat_map(beside).collect();
                if !shown.is_empty() {
                    push_user(&mut out, &shown, dialect);
                }
            }
        }
    }
    out
}

/// Results are texts here: what one shows follows as the user's, behind the beginning of its text, which names a file where it is one of a file.
fn beside(result: &ResultBlock) -> Vec<Content> {
    let (text, shown) = result.split();
    if shown.is_empty() {
        return Vec::new();
    }
    let label = format!("What the result shows that begins with: {}", text.lines().next().unwrap_or_default());
    [&[Content::Text(label)], shown].concat()
}

/// What the user says in a row becomes one message: an assistant message of reasoning alone may be missing between them, and some servers want roles to
/// alternate.
fn push_user(out: &mut Vec<Value>, content: &[Content], dialect: &Dialect) {
    let role = |wanted: &str| out.last().is_some_and(|message| message["role"] == wanted);
    let (after_user, after_results) = (role("user"), role("tool"));
    match (out.last_mut(), dialect.after_results) {
        (Some(last), _) if after_user => {
            last["content"] = joined(last["content"].take(), user(content));
            return;
        }
        (_, Some(between)) if after_results => out.push(json!({"role": "assistant", "content": between})),
        _ => {}
    }
    out.push(json!({"role": "user", "content": user(content)}));
}

/// Text alone is a string: not every server takes a list.
fn user(content: &[Content]) -> Value {
    match content {
        [Content::Text(text)] => json!(text),
        pieces => pieces.iter().map(piece).collect(),
    }
}

fn piece(piece: &Content) -> Value {
    match piece {
        Content::Text(text) => text_piece(text),
        Content::Image(image) => {
            let url = format!("data:{};base64,{}", image.kind().mime(), BASE64_STANDARD.encode(image.bytes()));
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        // Nothing that the engine sends by this protocol.
        Content::Pdf(pdf) => text_piece(&format!("[a PDF of {} bytes, which cannot be shown]", pdf.bytes().len())),
    }
}

fn text_piece(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn joined(first: Value, second: Value) -> Value {
    let pieces = |content: Value| match content {
        Value::Array(pieces) => pieces,
        text => vec![text_piece(text.as_str().unwrap_or_default())],
    };
    match (first.as_str(), second.as_str()) {
        (Some(first), Some(second)) => Value::String(format!("{first}\n\n{second}")),
        _ => Value::Array([pieces(first), pieces(second)].concat()),
    }
}

/// `None` where nothing is left that this protocol can say.
fn assistant(blocks: &[AssistantBlock], dialect: &Dialect) -> Option<Value> {
    let mut texts = Vec::new();
    let mut thoughts = Vec::new();
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            AssistantBlock::Text(text) => texts.push(text.as_str()),
            AssistantBlock::Reasoning { text, .. } => thoughts.push(text.as_str()),
            AssistantBlock::Call { id, name, input } => calls.push(json!({
                "id": call_id(id, dialect.call_ids),
                "type": "function",
                "function": {"name": names::function_name(name), "arguments": names::input(input).to_string()},
            })),
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    let content = if texts.is_empty() { Value::Null } else { Value::String(texts.join("\n\n")) };
    message.insert("content".to_owned(), content);
    if let Some(reasoning) = &dialect.reasoning
        && (reasoning.always || !thoughts.is_empty())
    {
        message.insert(reasoning.key.clone(), Value::String(thoughts.join("\n\n")));
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Some(Value::Object(message))
}

/// The same id for the same id, in call and result.
fn call_id(id: &str, style: CallIds) -> String {
    match style {
        CallIds::Usual => names::call_id(id),
        CallIds::Nine => names::nine(id),
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
