//! An answer of Chat Completions, data by data, as `ModelEvent`s. A pure state machine: no transport, no clock.
//!
//! Servers that call themselves compatible differ in every detail; what is tolerated here is what was seen in the field. What cannot be read is an error,
//! never skipped.

use copydesk_engine::message::{Finish, Usage};
use copydesk_engine::ports::ModelEvent;
use serde_json::Value;

use super::calls::Calls;
use crate::providers::answer::{self, DecodeError};
use crate::providers::{failure, surrogates};

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    calls: Calls,
    text: surrogates::Deltas,
    reasoning: surrogates::Deltas,
    /// Providers repeat it, cumulated: the last one counts.
    usage: Option<Usage>,
    /// As the provider says it.
    reason: Option<String>,
    /// Something that the user sees has come.
    content: bool,
    done: bool,
}

impl answer::Decoder for Decoder {
    const PROTOCOL: &'static str = "Chat Completions";

    fn event(&mut self, chunk: &Value, _: &str) -> Result<Vec<ModelEvent>, DecodeError> {
        let choice = chunk.get("choices").and_then(first_choice);
        if let Some(usage) = find_usage(chunk, choice) {
            self.usage = Some(usage);
        }
        match choice {
            Some(choice) => self.choice(choice),
            None => Ok(Vec::new()),
        }
    }

    fn set_done(&mut self) {
        self.done = true;
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_finished(&self) -> bool {
        self.done || self.reason.is_some()
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn end(&mut self) -> Result<Vec<ModelEvent>, DecodeError> {
        let anything = self.content || !self.calls.is_empty();
        let whole = match &self.reason {
            Some(_) => true,
            None if self.done => anything && self.calls.whole(),
            // A text may end anywhere.
            None => self.calls.evidently_whole(),
        };
        if !whole {
            return Err(DecodeError::EndedEarly);
        }
        let mut events = Vec::new();
        events.extend(self.reasoning.finish().map(reasoning_event));
        events.extend(self.text.finish().map(ModelEvent::Text));
        let has_calls = !self.calls.is_empty();
        events.extend(self.calls.finish());
        events.extend(self.usage.take().map(ModelEvent::Usage));
        events.push(ModelEvent::Finish(finish(self.reason.as_deref(), has_calls)));
        Ok(events)
    }
}

impl Decoder {
    fn choice(&mut self, choice: &Value) -> Result<Vec<ModelEvent>, DecodeError> {
        if let Some(error) = failure::provider_error(choice) {
            return Err(DecodeError::Provider(error));
        }
        let mut events = Vec::new();
        let delta = choice.get("delta").filter(|delta| delta.is_object());
        // Some servers close a stream with the whole message once more.
        let whole = choice.get("message").filter(|_| !self.content && self.calls.is_empty());
        if let Some(message) = delta.or(whole) {
            self.message(message, &mut events);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
            self.reason = Some(reason.to_owned());
        }
        Ok(events)
    }

    fn message(&mut self, message: &Value, events: &mut Vec<ModelEvent>) {
        let thought = ["reasoning_content", "reasoning", "reasoning_text"]
            .iter()
            .find_map(|key| message.get(key)?.as_str().filter(|text| !text.is_empty()));
        if let Some(delta) = thought.and_then(|text| self.reasoning.push(text)) {
            events.push(reasoning_event(delta));
        }
        match message.get("content") {
            Some(Value::String(text)) => self.push_text(text, events),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, events)),
            _ => {}
        }
        if let Some(text) = message.get("refusal").and_then(Value::as_str) {
            self.push_text(text, events);
        }
        if let Some(fragments) = message.get("tool_calls").and_then(Value::as_array) {
            events.extend(self.calls.push(fragments));
        } else if let Some(legacy) = message.get("function_call").filter(|call| call.is_object()) {
            events.extend(self.calls.push_legacy(legacy));
        }
    }

    /// Mistral's models send lists: texts, and thoughts that are lists of texts.
    fn part(&mut self, part: &Value, events: &mut Vec<ModelEvent>) {
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            self.push_text(text, events);
        }
        match part.get("thinking") {
            Some(Value::String(text)) => events.extend(self.reasoning.push(text).map(reasoning_event)),
            Some(Value::Array(parts)) => {
                for text in parts.iter().filter_map(|part| part.get("text")?.as_str()) {
                    events.extend(self.reasoning.push(text).map(reasoning_event));
                }
            }
            _ => {}
        }
    }

    fn push_text(&mut self, text: &str, events: &mut Vec<ModelEvent>) {
        self.content |= !text.is_empty();
        events.extend(self.text.push(text).map(ModelEvent::Text));
    }
}

/// We never ask for more than one.
fn first_choice(choices: &Value) -> Option<&Value> {
    let choices = choices.as_array()?;
    choices.iter().find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
}

/// Beside the choices, in one (Moonshot), or under a key of Groq's.
fn find_usage(chunk: &Value, choice: Option<&Value>) -> Option<Usage> {
    let usage = [chunk.get("usage"), choice.and_then(|choice| choice.get("usage")), chunk.pointer("/x_groq/usage")];
    let usage = usage.into_iter().flatten().find(|usage| usage.is_object())?;
    let count = |pointers: &[&str]| {
        let number = |pointer: &&str| usage.pointer(pointer).and_then(Value::as_f64);
        // Counts are small and whole; some servers write them as floats.
        pointers.iter().find_map(number).map_or(0, |count| count as u64)
    };
    Some(Usage {
        input: count(&["/prompt_tokens"]),
        output: count(&["/completion_tokens"]),
        reasoning: count(&["/completion_tokens_details/reasoning_tokens", "/reasoning_tokens"]),
        cache_read: count(&["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens", "/cached_tokens"]),
        cache_write: count(&["/prompt_tokens_details/cache_write_tokens", "/cache_creation_input_tokens"]),
    })
}

/// What cuts the reply off is the provider's word; otherwise what the reply holds decides (R14.3).
fn finish(reason: Option<&str>, has_calls: bool) -> Finish {
    match reason {
        Some("length" | "max_tokens" | "model_length") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        Some("error" | "network_error") => {
            Finish::Failed { message: "The provider broke off its answer with an error. Try again.".to_owned() }
        }
        _ if has_calls => Finish::ToolCalls,
        _ => Finish::Stop,
    }
}

fn reasoning_event(text: String) -> ModelEvent {
    ModelEvent::Reasoning { text, signature: None }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
