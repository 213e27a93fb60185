//! The demo's model: a script that looks at the results of its calls, so that it can only go on where the tools have really worked.

use copydesk_engine::message::{Finish, Usage};
use copydesk_engine::ports::{Model, ModelError, ModelErrorKind, ModelEvent, ModelMessage, ModelRequest};
use futures::stream::{BoxStream, StreamExt, iter};
use serde_json::{Value, json};

/// Names the script as the model in use.
pub(super) const CONFIG: &str = r#"{
    "model": "demo/scripted",
    "provider": { "demo": { "name": "Demo", "options": { "baseURL": "http://127.0.0.1:9/none", "apiKey": "none" }, "models": { "scripted": { "name": "Scripted model" } } } }
}"#;

/// One step: what the last result must hold, what is said, and what is called.
struct Step {
    expects: &'static str,
    says: &'static str,
    calls: fn() -> Option<(&'static str, Value)>,
}

const STEPS: &[Step] = &[
    Step {
        expects: "",
        says: "(I am a scripted model.) I read the file first.",
        calls: || Some(("read", json!({ "filePath": "greet.rs" }))),
    },
    Step {
        expects: "Hello {name}",
        says: "The greeting lacks its comma. I put it in, and make a mistake on purpose.",
        calls: || {
            Some((
                "edit",
                json!({
                    "filePath": "greet.rs",
                    "oldString": "    format!(\"Hello {name}\")",
                    "newString": "    \"Hello, {name}!\"",
                }),
            ))
        },
    },
    Step {
        expects: "mismatched types",
        says: "The result of my edit carries the compiler's error: a `String` is expected. I mend it.",
        calls: || {
            Some((
                "edit",
                json!({
                    "filePath": "greet.rs",
                    "oldString": "    \"Hello, {name}!\"",
                    "newString": "    format!(\"Hello, {name}!\")",
                }),
            ))
        },
    },
    Step {
        expects: "Fixed by this edit",
        says: "Fixed. Now I run the test.",
        calls: || {
            Some((
                "bash",
                json!({
                    "command": "rustc --edition 2021 --test greet.rs -o greet-test && ./greet-test",
                    "description": "Compile and run the test",
                }),
            ))
        },
    },
    Step { expects: "1 passed", says: "The test passes. I am done.", calls: || None },
];

pub(super) struct Scripted;

impl Scripted {
    pub(super) fn new() -> Self {
        Self
    }
}

impl Model for Scripted {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        iter(answer(&request)).boxed()
    }
}

fn answer(request: &ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
    let done = request.messages.iter().filter(|message| matches!(message, ModelMessage::Assistant(_))).count();
    let last = match request.messages.last() {
        Some(ModelMessage::Results(results)) => {
            results.iter().map(|result| result.split().0).collect::<Vec<_>>().join("\n")
        }
        Some(ModelMessage::User(_) | ModelMessage::Assistant(_)) | None => String::new(),
    };
    let Some(step) = STEPS.get(done) else { return vec![Err(unexpected("the script is over"))] };
    if !last.contains(step.expects) {
        return vec![Err(unexpected(&format!(
            "step {} expected {:?} in this result:\n{last}",
            done + 1,
            step.expects
        )))];
    }
    let mut events: Vec<_> = step.says.split_inclusive(' ').map(|word| Ok(ModelEvent::Text(word.to_owned()))).collect();
    let finish = match (step.calls)() {
        Some((name, arguments)) => {
            let arguments = arguments.to_string();
            events.push(Ok(ModelEvent::Call { slot: 0, provider_id: None, name: name.to_owned(), arguments }));
            Finish::ToolCalls
        }
        None => Finish::Stop,
    };
    events.push(Ok(ModelEvent::Usage(Usage::default())));
    events.push(Ok(ModelEvent::Finish(finish)));
    events
}

fn unexpected(message: &str) -> ModelError {
    ModelError { kind: ModelErrorKind::Protocol, message: format!("the demo's script: {message}") }
}
