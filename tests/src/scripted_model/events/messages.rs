//! Events of Messages: blocks that begin, grow and stop, thoughts with a signature that the rules know again.

use serde_json::{Value, json};

use super::{Reason, Said, data};

pub(in crate::scripted_model) struct Events {
    number: usize,
    /// The block that has not stopped, with its index.
    open: Option<(usize, Block)>,
    blocks: usize,
    calls: usize,
    thoughts: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Block {
    Text,
    /// With all that was thought in it.
    Thinking(String),
    Call,
}

/// Proves where a thought stood in its reply and that nobody changed it: behind so many calls and thoughts, with this text.
pub(in crate::scripted_model) fn signature(calls: usize, thoughts: usize, text: &str) -> String {
    // FNV-1a, 64 bits.
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("scripted.{calls}.{thoughts}.{hash:016x}")
}

impl Events {
    pub(super) fn new(number: usize) -> Self {
        Self { number, open: None, blocks: 0, calls: 0, thoughts: 0 }
    }

    pub(super) fn say(&mut self, said: &Said) -> Vec<u8> {
        let text = match said {
            Said::Begin => {
                let usage = json!({"input_tokens": 10, "output_tokens": 1});
                let message = json!({
                    "id": format!("msg_scripted_{}", self.number), "type": "message", "role": "assistant", "model": "scripted",
                    "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
                });
                event(&json!({"type": "message_start", "message": message}))
            }
            Said::Text(text) => {
                let begun = self.begin(Block::Text, &json!({"type": "text", "text": ""}));
                begun + &self.delta(&json!({"type": "text_delta", "text": text}))
            }
            Said::Reasoning(text) => {
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                let begun = self.begin(Block::Thinking(String::new()), &block);
                if let Some((_, Block::Thinking(thought))) = &mut self.open {
                    thought.push_str(text);
                }
                begun + &self.delta(&json!({"type": "thinking_delta", "thinking": text}))
            }
            Said::Call { index, name } => {
                let id = format!("toolu_scripted_{}_{index}", self.number);
                let stopped = self.stop();
                self.calls += 1;
                stopped + &self.begin(Block::Call, &json!({"type": "tool_use", "id": id, "name": name, "input": {}}))
            }
            Said::Arguments { piece, .. } => self.delta(&json!({"type": "input_json_delta", "partial_json": piece})),
            Said::End { reason, usage: (prompt, completion) } => {
                let stopped = self.stop();
                let usage = json!({"input_tokens": prompt, "output_tokens": completion});
                let delta = json!({"stop_reason": stop_reason(reason), "stop_sequence": null});
                stopped
                    + &event(&json!({"type": "message_delta", "delta": delta, "usage": usage}))
                    + &event(&json!({"type": "message_stop"}))
            }
            Said::Refusal { status, message } => {
                json!({"type": "error", "error": {"type": error_type(*status), "message": message}}).to_string()
            }
        };
        text.into_bytes()
    }

    /// Goes on with a block of the same kind, else stops the one before and begins this.
    fn begin(&mut self, kind: Block, block: &Value) -> String {
        if self.open.as_ref().is_some_and(|(_, open)| std::mem::discriminant(open) == std::mem::discriminant(&kind)) {
            return String::new();
        }
        let stopped = self.stop();
        let index = self.blocks;
        self.blocks += 1;
        self.open = Some((index, kind));
        // Pings come anywhere.
        stopped
            + &event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
            + &event(&json!({"type": "ping"}))
    }

    fn delta(&self, delta: &Value) -> String {
        let index = self.blocks.saturating_sub(1);
        event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
    }

    fn stop(&mut self) -> String {
        let Some((index, block)) = self.open.take() else { return String::new() };
        let signed = if let Block::Thinking(text) = &block {
            let signature = signature(self.calls, self.thoughts, text);
            self.thoughts += 1;
            self.delta(&json!({"type": "signature_delta", "signature": signature}))
        } else {
            String::new()
        };
        signed + &event(&json!({"type": "content_block_stop", "index": index}))
    }
}

fn stop_reason(reason: &Reason) -> &str {
    match reason {
        Reason::Usual { calls: true } => "tool_use",
        Reason::Usual { calls: false } => "end_turn",
        Reason::Other(reason) => match reason.as_str() {
            "stop" => "end_turn",
            "length" => "max_tokens",
            "tool_calls" => "tool_use",
            "content_filter" => "refusal",
            other => other,
        },
    }
}

/// As the API's page of errors has them.
fn error_type(status: u16) -> &'static str {
    match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    }
}

fn event(event: &Value) -> String {
    format!("event: {}\n{}", event["type"].as_str().unwrap_or_default(), data(event))
}
