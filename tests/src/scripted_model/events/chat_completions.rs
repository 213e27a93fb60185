//! Chunks of Chat Completions: reason, usage and `[DONE]` at the end, as real servers write them.

use serde_json::{Value, json};

use super::{Reason, Said, data};

pub(in crate::scripted_model) struct Events {
    pub(super) number: usize,
}

impl Events {
    pub(super) fn say(&self, said: &Said) -> Vec<u8> {
        let text = match said {
            Said::Begin => delta(&json!({"role": "assistant", "content": ""})),
            Said::Text(text) => delta(&json!({"content": text})),
            Said::Reasoning(text) => delta(&json!({"reasoning_content": text})),
            Said::Call { index, name } => {
                let id = format!("call_scripted_{}_{index}", self.number);
                let function = json!({"name": name, "arguments": ""});
                fragment(&json!({"index": index, "id": id, "type": "function", "function": function}))
            }
            Said::Arguments { index, piece } => fragment(&json!({"index": index, "function": {"arguments": piece}})),
            Said::End { reason, usage: (prompt, completion) } => {
                let reason = match reason {
                    Reason::Usual { calls: true } => "tool_calls",
                    Reason::Usual { calls: false } => "stop",
                    Reason::Other(reason) => reason,
                };
                let total = prompt + completion;
                let usage = json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total});
                let last = chunk(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]), &Value::Null);
                last + &chunk(&json!([]), &usage) + "data: [DONE]\n\n"
            }
            Said::Refusal { message, .. } => {
                json!({"error": {"message": message, "type": "scripted_refusal", "code": null}}).to_string()
            }
        };
        text.into_bytes()
    }
}

fn fragment(call: &Value) -> String {
    delta(&json!({"tool_calls": [call]}))
}

fn delta(delta: &Value) -> String {
    chunk(&json!([{"index": 0, "delta": delta, "finish_reason": null}]), &Value::Null)
}

fn chunk(choices: &Value, usage: &Value) -> String {
    data(
        &json!({"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": choices, "usage": usage}),
    )
}
