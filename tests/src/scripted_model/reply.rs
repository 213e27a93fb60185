//! What the scripted model says: a stream of chunks as real servers write them, with gates and faults in it.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Characters of a text, or of a call's arguments, that one chunk carries.
const PIECE: usize = 12;

/// One answer. Unless it says otherwise it is a stream with status 200 that ends as it should: reason, usage, `[DONE]`.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    steps: Vec<Step>,
    calls: usize,
    /// `None`: by what was said.
    reason: Option<String>,
    usage: (u64, u64),
    ending: Ending,
}

#[derive(Debug, Clone)]
enum Step {
    Delta(Value),
    Raw(Vec<u8>),
    Wait(Gate),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ending {
    Proper,
    /// The steps are all there is.
    AsWritten,
    /// The connection is closed in the middle.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Sent,
    Cut,
    /// The client went away.
    Abandoned,
}

/// Holds a reply until the test opens it. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    reached: Arc<watch::Sender<bool>>,
    open: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    pub fn new() -> Self {
        Self { reached: Arc::new(watch::Sender::new(false)), open: Arc::new(watch::Sender::new(false)) }
    }

    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Until a reply stands before the gate; fails the test if none comes.
    pub async fn reached(&self) {
        assert!(tokio::time::timeout(super::LIMIT, self.reached_ever()).await.is_ok(), "no reply came to the gate");
    }

    /// The same, however long it takes.
    pub async fn reached_ever(&self) {
        // The sender lives in self.
        let _ = self.reached.subscribe().wait_for(|reached| *reached).await;
    }

    async fn pass(&self) {
        self.reached.send_replace(true);
        // The sender lives in self.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}

impl Reply {
    /// Nothing yet: what is said is added.
    pub fn empty() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            steps: vec![Step::Delta(json!({"role": "assistant", "content": ""}))],
            calls: 0,
            reason: None,
            usage: (10, 5),
            ending: Ending::Proper,
        }
    }

    pub fn text(text: &str) -> Self {
        Self::empty().then_text(text)
    }

    pub fn call(name: &str, arguments: Value) -> Self {
        Self::empty().then_call(name, arguments)
    }

    /// Parallel calls.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        calls.into_iter().fold(Self::empty(), |reply, (name, arguments)| reply.then_call(name, arguments))
    }

    /// The body of a stream, byte by byte as given.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { steps: vec![Step::Raw(bytes.into())], ending: Ending::AsWritten, ..Self::empty() }
    }

    /// An error of the provider.
    pub fn refuse(status: u16, message: &str) -> Self {
        let body = json!({"error": {"message": message, "type": "scripted_refusal", "code": null}}).to_string();
        Self { status, ..Self::raw(body) }.header("content-type", "application/json")
    }

    #[must_use]
    pub fn then_text(self, text: &str) -> Self {
        pieces(text).into_iter().fold(self, |reply, piece| reply.delta(json!({"content": piece})))
    }

    #[must_use]
    pub fn then_reasoning(self, text: &str) -> Self {
        pieces(text).into_iter().fold(self, |reply, piece| reply.delta(json!({"reasoning_content": piece})))
    }

    /// A call in fragments. Strings are sent as they are, so that they may be no JSON; anything else as JSON.
    #[must_use]
    pub fn then_call(mut self, name: &str, arguments: Value) -> Self {
        let index = self.calls;
        self.calls += 1;
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        let first = json!({"index": index, "id": ID, "type": "function", "function": {"name": name, "arguments": ""}});
        pieces(&arguments).into_iter().fold(self.delta(json!({"tool_calls": [first]})), |reply, piece| {
            reply.delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
        })
    }

    #[must_use]
    pub fn then_wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    #[must_use]
    pub fn then_raw(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Raw(bytes.into()));
        self
    }

    /// `stop`, `length`, `content_filter`, … in place of what the content says.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.reason = Some(reason.to_owned());
        self
    }

    /// Tokens of the prompt and of the answer.
    #[must_use]
    pub fn usage(mut self, prompt: u64, completion: u64) -> Self {
        self.usage = (prompt, completion);
        self
    }

    /// The connection is closed after what was said so far.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.ending = Ending::Cut;
        self
    }

    /// Replaces a header of the same name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(present, _)| !present.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    fn delta(mut self, delta: Value) -> Self {
        self.steps.push(Step::Delta(delta));
        self
    }

    /// Ids are made unique per server, as those of providers are: `number` is that of the reply's request.
    pub(super) fn with_ids(mut self, number: usize) -> Self {
        for step in &mut self.steps {
            let Step::Delta(delta) = step else { continue };
            let index = delta["tool_calls"][0]["index"].clone();
            if let Some(id) = delta.pointer_mut("/tool_calls/0/id").filter(|id| **id == ID) {
                *id = json!(format!("{ID}{number}_{index}"));
            }
        }
        self
    }

    /// Chunked, so that the client can tell an end from a cut.
    pub(super) async fn write(&self, stream: &mut TcpStream) -> Outcome {
        let mut head = format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", self.status);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            head.push_str("content-type: text/event-stream\r\n");
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        if stream.write_all(head.as_bytes()).await.is_err() {
            return Outcome::Abandoned;
        }
        for step in self.steps.iter().cloned().chain(self.end()) {
            let bytes = match step {
                Step::Wait(gate) => {
                    if !wait(stream, &gate).await {
                        return Outcome::Abandoned;
                    }
                    continue;
                }
                Step::Raw(bytes) => bytes,
                Step::Delta(delta) => {
                    event(&json!([{"index": 0, "delta": delta, "finish_reason": null}]), &Value::Null)
                }
            };
            if !bytes.is_empty() && write_chunk(stream, &bytes).await.is_err() {
                return Outcome::Abandoned;
            }
        }
        match self.ending {
            Ending::Cut => Outcome::Cut,
            Ending::Proper | Ending::AsWritten => match stream.write_all(b"0\r\n\r\n").await {
                Ok(()) => Outcome::Sent,
                Err(_) => Outcome::Abandoned,
            },
        }
    }

    fn end(&self) -> Vec<Step> {
        if self.ending != Ending::Proper {
            return Vec::new();
        }
        let by_content = if self.calls == 0 { "stop" } else { "tool_calls" };
        let reason = self.reason.as_deref().unwrap_or(by_content);
        let (prompt, completion) = self.usage;
        let usage =
            json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion});
        vec![
            Step::Raw(event(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]), &Value::Null)),
            Step::Raw(event(&json!([]), &usage)),
            Step::Raw(b"data: [DONE]\n\n".to_vec()),
        ]
    }
}

/// Stands for an id until the reply is sent, and begins it.
const ID: &str = "call_scripted_";

/// False where the client closed the connection first.
async fn wait(stream: &mut TcpStream, gate: &Gate) -> bool {
    let mut byte = [0];
    tokio::select! {
        () = gate.pass() => true,
        // Clients send nothing while they are answered; an end or an error is a close.
        _ = stream.read(&mut byte) => false,
    }
}

async fn write_chunk(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk).await
}

fn event(choices: &Value, usage: &Value) -> Vec<u8> {
    let chunk = json!({"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": choices, "usage": usage});
    format!("data: {chunk}\n\n").into_bytes()
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}
