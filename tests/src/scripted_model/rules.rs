//! What a request must keep: for each wire the union of what strict providers refuse. Pure; answers with everything that is wrong.

mod chat_completions;
mod messages;

use std::collections::{BTreeSet, HashSet};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::SeenRequest;
use super::wire::Wire;

pub(super) fn check(request: &SeenRequest) -> Vec<String> {
    let Some(wire) = request.wire() else {
        return vec![format!("{} {} is not served", request.method, request.path)];
    };
    let mut wrong = Vec::new();
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
    match wire {
        Wire::ChatCompletions => chat_completions::check(body, &mut wrong),
        Wire::Messages => messages::check(&request.headers, body, &mut wrong),
    }
    wrong
}

/// Calls of the conversation, and which of the last message wait for their results.
#[derive(Default)]
struct Calls<'a> {
    ids: HashSet<&'a str>,
    open: BTreeSet<&'a str>,
}

impl<'a> Calls<'a> {
    /// `limit`: of the id, in characters.
    fn begin(&mut self, id: &'a str, limit: usize, name: &str, wrong: &mut Vec<String>) {
        if !is_name(id, limit) {
            wrong.push(format!("call id `{id}` is not 1 to {limit} of [A-Za-z0-9_-]"));
        }
        if !self.ids.insert(id) {
            wrong.push(format!("call id `{id}` stands for two calls"));
        }
        self.open.insert(id);
        if !is_name(name, 64) {
            wrong.push(format!("call `{id}` names `{name}`, which is not 1 to 64 of [A-Za-z0-9_-]"));
        }
    }

    fn answer(&mut self, id: &str, wrong: &mut Vec<String>) {
        if !self.open.remove(id) {
            wrong.push(format!("a result for `{id}`, which is no call before it without one"));
        }
    }

    fn expect_none_open(&mut self, wrong: &mut Vec<String>) {
        let open = std::mem::take(&mut self.open);
        wrong.extend(open.into_iter().map(|id| format!("call `{id}` has no result directly after it")));
    }
}

/// Name, description, and parameters of a tool, and what else is wrong with it.
struct Declared<'a> {
    name: &'a str,
    description: &'a Value,
    parameters: &'a Value,
    also: Vec<String>,
}

fn check_tools<'a>(tools: &'a Value, read: impl Fn(&'a Value) -> Declared<'a>, wrong: &mut Vec<String>) {
    let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
    if tools.is_empty() {
        wrong.push("`tools` is empty or no list".to_owned());
    }
    let mut names = HashSet::new();
    for tool in tools {
        let Declared { name, description, parameters, also } = read(tool);
        let mut add = |text: &str| wrong.push(format!("tool `{name}`: {text}"));
        also.iter().for_each(|text| add(text));
        if !is_name(name, 64) {
            add("its name is not 1 to 64 of [A-Za-z0-9_-]");
        }
        if !names.insert(name) {
            add("there are two of this name");
        }
        if !is_text(description) {
            add("it has no description");
        }
        if parameters["type"] != "object" {
            add("the root of its parameters is no object");
        }
        let properties = parameters.get("properties").map(|properties| properties.as_object());
        if properties == Some(None) {
            add("its `properties` are no object");
        }
        let required = parameters.get("required").map(|required| required.as_array());
        if required.is_some_and(|required| !required.is_some_and(|required| are_known(required, properties.flatten())))
        {
            add("it requires what is no property");
        }
    }
}

fn are_known(required: &[Value], known: Option<&Map<String, Value>>) -> bool {
    required.iter().all(|name| name.as_str().is_some_and(|name| known.is_some_and(|known| known.contains_key(name))))
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// One of the four kinds that every provider takes, in base64 that holds something.
fn is_image(kind: &str, base64: &str) -> bool {
    ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&kind)
        && BASE64_STANDARD.decode(base64).is_ok_and(|bytes| !bytes.is_empty())
}

/// A PDF file in base64.
fn is_pdf(base64: &str) -> bool {
    BASE64_STANDARD.decode(base64).is_ok_and(|bytes| bytes.starts_with(b"%PDF-"))
}

fn is_name(name: &str, limit: usize) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=limit).contains(&name.len()) && name.bytes().all(usual)
}
