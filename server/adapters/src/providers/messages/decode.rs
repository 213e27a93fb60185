//! An answer of Messages, data by data, as `ModelEvent`s. A pure state machine: no transport, no clock.
//!
//! Events and blocks of kinds that are not known here are passed over, as the protocol asks. What is known and cannot be read is an error.

use copydesk_engine::message::{Finish, Usage};
use copydesk_engine::ports::ModelEvent;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::REDACTED;
use crate::providers::answer::{self, DecodeError};
use crate::providers::surrogates;

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// By their indexes, those of one index as they were begun. Those that have ended leave; calls wait for all before them.
    blocks: Vec<Block>,
    calls_begun: usize,
    calls_ended: usize,
    /// A call has ended without a name or in the middle of its arguments.
    has_cut_call: bool,
    /// A text or a call has come.
    content: bool,
    counts: Option<Counts>,
    /// As the provider says it.
    reason: Option<String>,
    done: bool,
}

#[derive(Debug)]
struct Block {
    index: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Text(surrogates::Deltas),
    Thinking {
        deltas: surrogates::Deltas,
        signature: String,
    },
    Call(Call),
    /// A call that has ended, while a block before it has not: calls come out in their order (R14.2).
    Waiting(ModelEvent),
    /// Told whole, or of a kind that is not known, e.g. of tools that the provider runs itself.
    Other,
}

#[derive(Debug)]
struct Call {
    slot: usize,
    id: Option<String>,
    name: String,
    /// What the block began with; counts where no piece follows.
    input: Value,
    json: String,
}

/// The provider counts what it read from its cache, and what it wrote there, apart from the input.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl answer::Decoder for Decoder {
    const PROTOCOL: &'static str = "Messages";

    fn event(&mut self, event: &Value, data: &str) -> Result<Vec<ModelEvent>, DecodeError> {
        let index = event["index"].as_u64();
        let mut events = Vec::new();
        match event["type"].as_str() {
            Some("message_start") => self.count(&event["message"]["usage"]),
            Some("content_block_start") => events = self.start(index, &event["content_block"]),
            Some("content_block_delta") => {
                events = self.delta(index, &event["delta"]).ok_or_else(|| DecodeError::malformed(data))?;
            }
            Some("content_block_stop") => events = self.stop(index),
            Some("message_delta") => {
                self.count(&event["usage"]);
                self.take_reason(&event["delta"]);
            }
            Some("message_stop") => self.done = true,
            // The answer of a server that does not stream.
            Some("message") => events = self.whole(event),
            Some(_) => {}
            None => return Err(DecodeError::malformed(data)),
        }
        self.content |= events.iter().any(|event| !matches!(event, ModelEvent::Reasoning { .. }));
        Ok(events)
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
        self.counts.map(Counts::usage)
    }

    fn end(&mut self) -> Result<Vec<ModelEvent>, DecodeError> {
        // Where it only said that it is done, nothing may be missing.
        let open_call = self.blocks.iter().any(|block| matches!(block.kind, Kind::Call(_)));
        let whole = self.reason.is_some() || self.done && self.content && !open_call && !self.has_cut_call;
        if !whole {
            return Err(DecodeError::EndedEarly);
        }
        // A block that was not closed is whole where the provider has said why it stopped.
        let blocks = std::mem::take(&mut self.blocks);
        let mut events: Vec<ModelEvent> = blocks.into_iter().flat_map(|block| self.close(block.kind)).collect();
        events.extend(self.counts.take().map(|counts| ModelEvent::Usage(counts.usage())));
        events.push(ModelEvent::Finish(finish(self.reason.as_deref(), self.calls_ended > 0)));
        Ok(events)
    }
}

impl Decoder {
    fn start(&mut self, index: Option<u64>, block: &Value) -> Vec<ModelEvent> {
        let mut events = Vec::new();
        let kind = match block["type"].as_str() {
            Some("text") => {
                let mut deltas = surrogates::Deltas::default();
                events.extend(said(&mut deltas, text(block, "text")));
                Kind::Text(deltas)
            }
            Some("thinking") => {
                let mut deltas = surrogates::Deltas::default();
                events.extend(thought(&mut deltas, text(block, "thinking")));
                Kind::Thinking { deltas, signature: text(block, "signature").to_owned() }
            }
            Some("redacted_thinking") => {
                // One of nothing is refused when it is sent back.
                let data = Some(text(block, "data")).filter(|data| !data.is_empty());
                let signature = data.map(|data| format!("{REDACTED}{data}"));
                events.extend(signature.map(|it| ModelEvent::Reasoning { text: String::new(), signature: Some(it) }));
                Kind::Other
            }
            Some("tool_use") => {
                let call = Call {
                    slot: self.calls_begun,
                    id: Some(text(block, "id").to_owned()).filter(|id| !id.is_empty()),
                    name: text(block, "name").to_owned(),
                    input: block["input"].clone(),
                    json: String::new(),
                };
                self.calls_begun += 1;
                events.push(call.progress());
                Kind::Call(call)
            }
            _ => Kind::Other,
        };
        let next = || self.blocks.last().map_or(0, |block| block.index.saturating_add(1));
        self.begin(index.unwrap_or_else(next), kind);
        events
    }

    /// The block's place.
    fn begin(&mut self, index: u64, kind: Kind) -> usize {
        let at = self.blocks.partition_point(|block| block.index <= index);
        self.blocks.insert(at, Block { index, kind });
        at
    }

    /// `None`: a piece of a call that nobody began.
    fn delta(&mut self, index: Option<u64>, delta: &Value) -> Option<Vec<ModelEvent>> {
        let kind = text(delta, "type");
        let at = match self.find(index) {
            Some(at) => at,
            // Servers that leave the beginning of a block out.
            None => {
                let kind = match kind {
                    "text_delta" => Kind::Text(surrogates::Deltas::default()),
                    "thinking_delta" => {
                        Kind::Thinking { deltas: surrogates::Deltas::default(), signature: String::new() }
                    }
                    "input_json_delta" => return None,
                    _ => return Some(Vec::new()),
                };
                self.begin(index.unwrap_or_default(), kind)
            }
        };
        let event = match (&mut self.blocks[at].kind, kind) {
            (Kind::Text(deltas), "text_delta") => said(deltas, text(delta, "text")),
            (Kind::Thinking { deltas, .. }, "thinking_delta") => thought(deltas, text(delta, "thinking")),
            (Kind::Thinking { signature, .. }, "signature_delta") => {
                signature.push_str(text(delta, "signature"));
                None
            }
            (Kind::Call(call), "input_json_delta") => {
                let piece = text(delta, "partial_json");
                call.json.push_str(piece);
                // An empty piece is nothing of an answer (C83).
                (!piece.is_empty()).then(|| call.progress())
            }
            _ => None,
        };
        Some(event.into_iter().collect())
    }

    fn stop(&mut self, index: Option<u64>) -> Vec<ModelEvent> {
        let Some(at) = self.find(index) else { return Vec::new() };
        let Block { index, kind } = self.blocks.remove(at);
        let is_call = matches!(kind, Kind::Call(_));
        let mut events = self.close(kind);
        if is_call && at > 0 {
            let waiting = events.drain(..).map(|event| Block { index, kind: Kind::Waiting(event) });
            self.blocks.splice(at..at, waiting);
            return Vec::new();
        }
        let is_waiting = |block: &Block| matches!(block.kind, Kind::Waiting(_));
        let ready = self.blocks.iter().take_while(|block| is_waiting(block)).count();
        let ready: Vec<Block> = self.blocks.drain(..ready).collect();
        events.extend(ready.into_iter().flat_map(|block| self.close(block.kind)));
        events
    }

    /// What the end of a block tells.
    fn close(&mut self, kind: Kind) -> Vec<ModelEvent> {
        match kind {
            Kind::Text(mut deltas) => deltas.finish().map(ModelEvent::Text).into_iter().collect(),
            Kind::Thinking { mut deltas, signature } => {
                let rest = deltas.finish();
                let signature = Some(signature).filter(|signature| !signature.is_empty());
                if rest.is_none() && signature.is_none() {
                    return Vec::new();
                }
                vec![ModelEvent::Reasoning { text: rest.unwrap_or_default(), signature }]
            }
            Kind::Call(call) => {
                self.calls_ended += 1;
                self.has_cut_call |= !call.is_whole();
                let arguments = call.arguments();
                vec![ModelEvent::Call { slot: call.slot, provider_id: call.id, name: call.name, arguments }]
            }
            Kind::Waiting(call) => vec![call],
            Kind::Other => Vec::new(),
        }
    }

    fn whole(&mut self, message: &Value) -> Vec<ModelEvent> {
        self.count(&message["usage"]);
        let mut events = Vec::new();
        for block in message["content"].as_array().into_iter().flatten() {
            events.extend(self.start(None, block));
            events.extend(self.stop(None));
        }
        self.take_reason(message);
        self.done = true;
        events
    }

    fn find(&self, index: Option<u64>) -> Option<usize> {
        let is_open = |block: &Block| !matches!(block.kind, Kind::Waiting(_));
        self.blocks.iter().rposition(|block| is_open(block) && index.is_none_or(|index| block.index == index))
    }

    fn take_reason(&mut self, from: &Value) {
        if let Some(reason) = from["stop_reason"].as_str().filter(|reason| !reason.is_empty()) {
            self.reason = Some(reason.to_owned());
        }
    }

    /// Later counts replace earlier ones, where they say something: some servers end with zeros.
    fn count(&mut self, usage: &Value) {
        if !usage.is_object() {
            return;
        }
        let counts = self.counts.get_or_insert_default();
        let places = [
            ("input_tokens", &mut counts.input),
            ("output_tokens", &mut counts.output),
            ("cache_read_input_tokens", &mut counts.cache_read),
            ("cache_creation_input_tokens", &mut counts.cache_write),
        ];
        for (key, place) in places {
            if let Some(count) = usage[key].as_f64().filter(|count| *count > 0.0) {
                *place = count as u64;
            }
        }
    }
}

impl Call {
    /// Arguments come as text, in pieces; where none came, with the block itself.
    fn arguments(&self) -> String {
        match &self.input {
            _ if !self.json.trim().is_empty() => surrogates::join(self.json.clone()),
            Value::Null => "{}".to_owned(),
            Value::String(text) if text.trim().is_empty() => "{}".to_owned(),
            Value::String(text) => text.clone(),
            input => input.to_string(),
        }
    }

    fn is_whole(&self) -> bool {
        !self.name.is_empty() && serde_json::from_str::<IgnoredAny>(&self.arguments()).is_ok()
    }

    fn progress(&self) -> ModelEvent {
        ModelEvent::CallProgress { slot: self.slot, name: self.name.clone(), arguments: self.json.clone() }
    }
}

impl Counts {
    fn usage(self) -> Usage {
        let Self { input, output, cache_read, cache_write } = self;
        let input = input.saturating_add(cache_read).saturating_add(cache_write);
        Usage { input, output, reasoning: 0, cache_read, cache_write }
    }
}

/// What cuts the reply off is the provider's word; otherwise what the reply holds decides (R14.3). `pause_turn` is said of tools that the provider runs, of
/// which none is offered.
fn finish(reason: Option<&str>, has_calls: bool) -> Finish {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => Finish::ContentFilter,
        _ if has_calls => Finish::ToolCalls,
        _ => Finish::Stop,
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn said(deltas: &mut surrogates::Deltas, piece: &str) -> Option<ModelEvent> {
    deltas.push(piece).map(ModelEvent::Text)
}

fn thought(deltas: &mut surrogates::Deltas, piece: &str) -> Option<ModelEvent> {
    deltas.push(piece).map(|text| ModelEvent::Reasoning { text, signature: None })
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
