//! The v1 JSON Schema of ACP as the official npm SDK ships it, installed by `cargo xtask tools`: what every message of a session is checked against.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Who serves a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Agent,
    Client,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Of a request or a notification.
    Params,
    Result,
}

/// What is wrong with a message; `None`: nothing. Extensions are not ACP's, and pass; so does what the schema does not know by this side.
pub fn fault(method: &str, side: Side, part: Part, value: &Value) -> Option<String> {
    let schema = AcpSchema::get();
    let definition = schema.definitions.get(&(method.to_owned(), side, part))?;
    schema.fault_of(definition, value).map(|fault| format!("{method} is no {definition}: {fault}: {value}"))
}

/// The same for a value that is no message of its own.
pub fn fault_of(definition: &str, value: &Value) -> Option<String> {
    AcpSchema::get().fault_of(definition, value).map(|fault| format!("no {definition}: {fault}: {value}"))
}

/// Whether the schema has this method.
pub fn knows(method: &str, side: Side) -> bool {
    AcpSchema::get().definitions.contains_key(&(method.to_owned(), side, Part::Params))
}

/// What is wrong with a recorded connection: messages of both directions in their order, as a client wrote them down without saying who sent which. A method
/// tells its direction; an answer that may be to either side's request has to fit one of them. What was refused need not have been right.
pub fn faults_of_trace(messages: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open: HashMap<(String, Side), (String, Value)> = HashMap::new();
    for message in messages {
        let id = message.get("id").map(Value::to_string);
        match (message["method"].as_str(), id) {
            (Some(method), id) => {
                let sides: Vec<_> =
                    [Side::Agent, Side::Client].into_iter().filter(|side| knows(method, *side)).collect();
                if sides.is_empty() {
                    faults.push(format!("{method} is no method of ACP"));
                }
                for side in sides {
                    match id.clone() {
                        Some(id) => drop(open.insert((id, side), (method.to_owned(), message["params"].clone()))),
                        None => faults.extend(fault(method, side, Part::Params, &message["params"])),
                    }
                }
            }
            (None, Some(id)) => {
                let asked: Vec<_> = [Side::Agent, Side::Client]
                    .into_iter()
                    .filter_map(|side| Some((side, open.get(&(id.clone(), side))?.clone())))
                    .collect();
                let found = |(side, (method, params)): &(Side, (String, Value))| match message.get("result") {
                    Some(result) => fault(method, *side, Part::Params, params)
                        .or_else(|| fault(method, *side, Part::Result, result)),
                    None => None,
                };
                let found: Vec<_> = asked.iter().map(found).collect();
                match found.iter().position(Option::is_none) {
                    Some(fits) => drop(open.remove(&(id, asked[fits].0))),
                    None if asked.is_empty() => faults.push(format!("an answer to no request: {message}")),
                    None => faults.extend(found.into_iter().flatten()),
                }
            }
            (None, None) => faults.push(format!("a message that is nothing: {message}")),
        }
    }
    faults
}

struct AcpSchema {
    definitions: HashMap<(String, Side, Part), String>,
    /// `$defs`, all of it.
    all: Value,
    /// Each is made at its first use: that is slow.
    validators: Mutex<HashMap<String, &'static Validator>>,
}

impl AcpSchema {
    fn get() -> &'static Self {
        static SCHEMA: OnceLock<AcpSchema> = OnceLock::new();
        SCHEMA.get_or_init(Self::read)
    }

    fn read() -> Self {
        let path = tools().join("acp/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!("ACP's schema is not installed, run `cargo xtask tools`: {}: {error}", path.display())
        });
        let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
        let all = schema["$defs"].clone();
        let mut definitions = HashMap::new();
        for (name, definition) in all.as_object().expect("a map of definitions") {
            let sides: &[Side] = match definition["x-side"].as_str() {
                Some("agent") => &[Side::Agent],
                Some("client") => &[Side::Client],
                Some(_) => &[Side::Agent, Side::Client],
                None => continue,
            };
            let method = definition["x-method"].as_str().expect("a side has a method");
            let part = if name.ends_with("Response") { Part::Result } else { Part::Params };
            for side in sides {
                definitions.insert((method.to_owned(), *side, part), name.clone());
            }
        }
        Self { definitions, all, validators: Mutex::default() }
    }

    fn fault_of(&self, definition: &str, value: &Value) -> Option<String> {
        self.validator(definition).validate(value).err().map(|error| error.to_string())
    }

    fn validator(&self, definition: &str) -> &'static Validator {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        validators.entry(definition.to_owned()).or_insert_with(|| {
            let schema = json!({ "$ref": format!("#/$defs/{definition}"), "$defs": self.all });
            let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
            // A few of them, for as long as the tests run.
            Box::leak(Box::new(validator))
        })
    }
}

/// Where `cargo xtask tools` installs.
pub fn tools() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the repository");
    repository.join("target/tools")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, side: Side, part: Part, value: Value, is_right: bool) {
        let fault = fault(method, side, part, &value);
        assert_eq!(fault.is_none(), is_right, "{fault:?}");
    }

    #[test]
    fn the_schema_finds_what_it_is_there_for() {
        let update = |update: Value| json!({ "sessionId": "s", "update": update });
        let text = json!({ "type": "text", "text": "hello" });
        let chunk = json!({ "sessionUpdate": "agent_message_chunk", "content": text });
        check("session/update", Side::Client, Part::Params, update(chunk), true);
        check("session/update", Side::Client, Part::Params, update(json!({ "sessionUpdate": "nobody_knows" })), false);
        let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "t", "kind": "nobody knows" });
        check("session/update", Side::Client, Part::Params, update(call), false);
        check("session/prompt", Side::Agent, Part::Result, json!({ "stopReason": "end_turn" }), true);
        check("session/prompt", Side::Agent, Part::Result, json!({ "stopReason": "tired" }), false);
        check("session/prompt", Side::Agent, Part::Params, json!({ "sessionId": "s", "prompt": [text] }), true);
        check("session/prompt", Side::Agent, Part::Params, json!({ "sessionId": "s" }), false);
        check("$/cancel_request", Side::Client, Part::Params, json!({ "requestId": 1 }), true);
        let request = |id: u64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = |id: u64, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
        let opened = [
            request(1, "session/new", json!({ "cwd": "/", "mcpServers": [] })),
            request(1, "fs/read_text_file", json!({ "sessionId": "s", "path": "/a" })),
            answer(1, json!({ "content": "a" })),
        ];
        let trace = |last: Value| faults_of_trace(&[opened.as_slice(), &[last]].concat());
        assert_eq!(trace(answer(1, json!({ "sessionId": "s" }))), [] as [String; 0]);
        for wrong in [answer(1, json!({})), answer(2, json!({})), request(2, "nobody/knows", json!({}))] {
            assert_eq!(trace(wrong.clone()).len(), 1, "{wrong}");
        }
        assert!(knows("fs/read_text_file", Side::Client) && !knows("fs/read_text_file", Side::Agent));
    }
}
