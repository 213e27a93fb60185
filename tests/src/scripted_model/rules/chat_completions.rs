//! What a request must keep: the union of what strict providers refuse. Pure; answers with everything that is wrong.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::SeenRequest;

pub(super) fn check(request: &SeenRequest) -> Vec<String> {
    let mut wrong = Vec::new();
    if (request.method.as_str(), request.path.as_str()) != ("POST", "/v1/chat/completions") {
        return vec![format!("{} {} is not served", request.method, request.path)];
    }
    if !request.headers.get("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        wrong.push("content-type is not application/json".to_owned());
    }
    let Some(body) = request.body.as_object() else {
        wrong.push("the body is no JSON object".to_owned());
        return wrong;
    };
    if !body.get("model").is_some_and(is_text) {
        wrong.push("`model` is missing".to_owned());
    }
    if body.get("stream") != Some(&Value::Bool(true)) {
        wrong.push("`stream` is not true".to_owned());
    }
    if let Some(tools) = body.get("tools") {
        check_tools(tools, &mut wrong);
    }
    match body.get("messages").and_then(Value::as_array) {
        Some(messages) => Conversation::default().check(messages, &mut wrong),
        None => wrong.push("`messages` is no list".to_owned()),
    }
    wrong
}

/// What has been seen of the messages so far.
#[derive(Default)]
struct Conversation<'a> {
    last_role: &'a str,
    ids: HashSet<&'a str>,
    /// Calls of the last assistant message that have no result yet.
    open: BTreeSet<&'a str>,
}

impl<'a> Conversation<'a> {
    fn check(&mut self, messages: &'a [Value], wrong: &mut Vec<String>) {
        for (at, message) in messages.iter().enumerate() {
            let mut here = Vec::new();
            let role = message["role"].as_str().unwrap_or_default();
            if role != "tool" {
                self.expect_no_open_calls(&mut here);
            }
            let allowed: &[&str] = match self.last_role {
                "" => &["system", "user"],
                "system" => &["user"],
                "user" => &["assistant"],
                // With calls it is followed by `tool`, which `open` sees to.
                "assistant" => &["user", "tool"],
                _ => &["tool", "assistant", "user"],
            };
            if !allowed.contains(&role) {
                here.push(format!("role `{role}` cannot follow `{}`", self.last_role));
            }
            match role {
                "assistant" => self.check_assistant(message, &mut here),
                "tool" => self.check_result(message, &mut here),
                _ => check_content(&message["content"], &mut here),
            }
            self.last_role = role;
            wrong.extend(here.into_iter().map(|text| format!("messages[{at}]: {text}")));
        }
        self.expect_no_open_calls(wrong);
        if !matches!(self.last_role, "user" | "tool") {
            wrong.push(format!("the last message is of role `{}`", self.last_role));
        }
    }

    fn expect_no_open_calls(&mut self, wrong: &mut Vec<String>) {
        let open = std::mem::take(&mut self.open);
        wrong.extend(open.into_iter().map(|id| format!("call `{id}` has no result directly after it")));
    }

    fn check_assistant(&mut self, message: &'a Value, wrong: &mut Vec<String>) {
        let calls = match message.get("tool_calls") {
            None => &[][..],
            Some(Value::Array(calls)) if !calls.is_empty() => calls.as_slice(),
            Some(_) => {
                wrong.push("`tool_calls` is empty or no list".to_owned());
                &[]
            }
        };
        if calls.is_empty() || !message["content"].is_null() {
            check_content(&message["content"], wrong);
        }
        for call in calls {
            self.check_call(call, wrong);
        }
    }

    fn check_call(&mut self, call: &'a Value, wrong: &mut Vec<String>) {
        let id = call["id"].as_str().unwrap_or_default();
        if !is_name(id, 40) {
            wrong.push(format!("call id `{id}` is not 1 to 40 of [A-Za-z0-9_-]"));
        }
        if !self.ids.insert(id) {
            wrong.push(format!("call id `{id}` stands for two calls"));
        }
        self.open.insert(id);
        if call["type"] != "function" {
            wrong.push(format!("call `{id}` is of no type `function`"));
        }
        let name = call["function"]["name"].as_str().unwrap_or_default();
        if !is_name(name, 64) {
            wrong.push(format!("call `{id}` names `{name}`, which is not 1 to 64 of [A-Za-z0-9_-]"));
        }
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
            wrong.push(format!("arguments of call `{id}` are no JSON object: {arguments}"));
        }
    }

    fn check_result(&mut self, message: &'a Value, wrong: &mut Vec<String>) {
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        if !self.open.remove(id) {
            wrong.push(format!("a result for `{id}`, which is no call before it without one"));
        }
        check_content(&message["content"], wrong);
    }
}

fn check_content(content: &Value, wrong: &mut Vec<String>) {
    let whole = match content {
        Value::Array(parts) => {
            !parts.is_empty() && parts.iter().all(|part| part["type"] != "text" || is_text(&part["text"]))
        }
        text => is_text(text),
    };
    if !whole {
        wrong.push("the content is empty".to_owned());
    }
}

fn check_tools(tools: &Value, wrong: &mut Vec<String>) {
    let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
    if tools.is_empty() {
        wrong.push("`tools` is empty or no list".to_owned());
    }
    let mut names = HashSet::new();
    for tool in tools {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let mut add = |text: &str| wrong.push(format!("tool `{name}`: {text}"));
        if tool["type"] != "function" {
            add("its type is not `function`");
        }
        if !is_name(name, 64) {
            add("its name is not 1 to 64 of [A-Za-z0-9_-]");
        }
        if !names.insert(name) {
            add("there are two of this name");
        }
        if !is_text(&function["description"]) {
            add("it has no description");
        }
        let parameters = &function["parameters"];
        if parameters["type"] != "object" {
            add("the root of its parameters is no object");
        }
        let properties = parameters.get("properties").map(|properties| properties.as_object());
        if properties == Some(None) {
            add("its `properties` are no object");
        }
        let known = properties.flatten();
        let required = parameters.get("required").map(|required| required.as_array());
        let all_known = |required: &Vec<Value>| {
            required
                .iter()
                .all(|name| name.as_str().is_some_and(|name| known.is_some_and(|known| known.contains_key(name))))
        };
        if required.is_some_and(|required| !required.is_some_and(all_known)) {
            add("it requires what is no property");
        }
    }
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn is_name(name: &str, limit: usize) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=limit).contains(&name.len()) && name.bytes().all(usual)
}
