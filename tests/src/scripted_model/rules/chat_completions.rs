//! The rules of Chat Completions.

use serde_json::{Map, Value};

use super::{Calls, Declared, check_tools, is_image, is_text};

pub(super) fn check(body: &Map<String, Value>, wrong: &mut Vec<String>) {
    if let Some(tools) = body.get("tools") {
        check_tools(tools, declared, wrong);
    }
    match body.get("messages").and_then(Value::as_array) {
        Some(messages) => Conversation::default().check(messages, wrong),
        None => wrong.push("`messages` is no list".to_owned()),
    }
}

fn declared(tool: &Value) -> Declared<'_> {
    let function = &tool["function"];
    let also = if tool["type"] == "function" { Vec::new() } else { vec!["its type is not `function`".to_owned()] };
    Declared {
        name: function["name"].as_str().unwrap_or_default(),
        description: &function["description"],
        parameters: &function["parameters"],
        also,
    }
}

/// What has been seen of the messages so far.
#[derive(Default)]
struct Conversation<'a> {
    last_role: &'a str,
    calls: Calls<'a>,
}

impl<'a> Conversation<'a> {
    fn check(&mut self, messages: &'a [Value], wrong: &mut Vec<String>) {
        for (at, message) in messages.iter().enumerate() {
            let mut here = Vec::new();
            let role = message["role"].as_str().unwrap_or_default();
            if role != "tool" {
                self.calls.expect_none_open(&mut here);
            }
            let allowed: &[&str] = match self.last_role {
                "" => &["system", "user"],
                "system" => &["user"],
                "user" => &["assistant"],
                // With calls it is followed by `tool`, which `calls` sees to.
                "assistant" => &["user", "tool"],
                _ => &["tool", "assistant", "user"],
            };
            if !allowed.contains(&role) {
                here.push(format!("role `{role}` cannot follow `{}`", self.last_role));
            }
            match role {
                "assistant" => self.check_assistant(message, &mut here),
                "tool" => self.check_result(message, &mut here),
                _ => check_content(role, &message["content"], &mut here),
            }
            self.last_role = role;
            wrong.extend(here.into_iter().map(|text| format!("messages[{at}]: {text}")));
        }
        self.calls.expect_none_open(wrong);
        if !matches!(self.last_role, "user" | "tool") {
            wrong.push(format!("the last message is of role `{}`", self.last_role));
        }
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
            check_content("assistant", &message["content"], wrong);
        }
        for call in calls {
            self.check_call(call, wrong);
        }
    }

    fn check_call(&mut self, call: &'a Value, wrong: &mut Vec<String>) {
        let id = call["id"].as_str().unwrap_or_default();
        self.calls.begin(id, 40, call["function"]["name"].as_str().unwrap_or_default(), wrong);
        if call["type"] != "function" {
            wrong.push(format!("call `{id}` is of no type `function`"));
        }
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
            wrong.push(format!("arguments of call `{id}` are no JSON object: {arguments}"));
        }
    }

    fn check_result(&mut self, message: &'a Value, wrong: &mut Vec<String>) {
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        self.calls.answer(id, wrong);
        check_content("tool", &message["content"], wrong);
    }
}

fn check_content(role: &str, content: &Value, wrong: &mut Vec<String>) {
    let whole = match content {
        Value::Array(parts) => {
            !parts.is_empty() && parts.iter().all(|part| part["type"] != "text" || is_text(&part["text"]))
        }
        text => is_text(text),
    };
    if !whole {
        wrong.push("the content is empty".to_owned());
    }
    for part in content.as_array().into_iter().flatten() {
        match part["type"].as_str() {
            Some("text") => {}
            Some("image_url") if role == "user" => {
                let url = part["image_url"]["url"].as_str().and_then(|url| url.strip_prefix("data:"));
                if !url.and_then(|url| url.split_once(";base64,")).is_some_and(|(kind, data)| is_image(kind, data)) {
                    wrong.push("an image is no data URL of an image".to_owned());
                }
            }
            kind => wrong.push(format!("a piece of type {kind:?} in a message of role `{role}`")),
        }
    }
}
