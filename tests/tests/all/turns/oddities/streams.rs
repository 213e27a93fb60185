//! Pieces of streams, as servers of each wire write them.

use copydesk_tests::scripted_model::{Reply, Wire};
use serde_json::{Value, json};

// Chat Completions

pub(super) const DONE: &str = "data: [DONE]\n\n";

pub(super) fn chunk(choices: Value, usage: Value) -> String {
    format!("data: {}\n\n", json!({ "choices": choices, "usage": usage }))
}

pub(super) fn delta(delta: Value) -> String {
    chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null)
}

pub(super) fn fragments(fragments: Value) -> String {
    delta(json!({ "tool_calls": fragments }))
}

/// Reason, usage, and the mark of the end.
pub(super) fn chat_end(reason: &str) -> String {
    let last = chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), Value::Null);
    last + &chunk(json!([]), prompt_usage()) + DONE
}

pub(super) fn prompt_usage() -> Value {
    json!({ "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12 })
}

pub(super) fn chat(pieces: &[String]) -> Option<Reply> {
    Some(Reply::raw(pieces.concat()))
}

// Messages

pub(super) fn event(event: Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
}

pub(super) fn start_with_usage(usage: Value) -> String {
    event(json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": null, "usage": usage,
    } }))
}

pub(super) fn message_start() -> String {
    start_with_usage(json!({ "input_tokens": 9, "output_tokens": 1 }))
}

pub(super) fn block(index: usize, block: Value) -> String {
    event(json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

pub(super) fn tool_use(index: usize, id: &str) -> String {
    block(index, json!({ "type": "tool_use", "id": id, "name": "read", "input": {} }))
}

pub(super) fn grow(index: usize, delta: Value) -> String {
    event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

pub(super) fn arguments(index: usize, piece: &str) -> String {
    grow(index, json!({ "type": "input_json_delta", "partial_json": piece }))
}

pub(super) fn block_stop(index: usize) -> String {
    event(json!({ "type": "content_block_stop", "index": index }))
}

pub(super) fn message_delta(reason: Value, usage: Value) -> String {
    event(json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": usage }))
}

pub(super) fn message_stop() -> String {
    event(json!({ "type": "message_stop" }))
}

/// Reason, usage, and the mark of the end.
pub(super) fn messages_end(reason: &str) -> String {
    message_delta(json!(reason), json!({ "output_tokens": 3 })) + &message_stop()
}

pub(super) fn text_block(text: &str) -> String {
    block(0, json!({ "type": "text", "text": "" }))
        + &grow(0, json!({ "type": "text_delta", "text": text }))
        + &block_stop(0)
}

pub(super) fn messages(pieces: &[String]) -> Option<Reply> {
    Some(Reply::raw(pieces.concat()))
}

/// An honest stream that says `Grüß Gott`.
pub(super) fn plain(wire: Wire) -> String {
    match wire {
        Wire::ChatCompletions => {
            delta(json!({ "role": "assistant", "content": "Grüß " }))
                + &delta(json!({ "content": "Gott" }))
                + &chat_end("stop")
        }
        Wire::Messages => message_start() + &text_block("Grüß Gott") + &messages_end("end_turn"),
    }
}
