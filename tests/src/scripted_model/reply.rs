//! What the scripted model says: a stream of chunks as real servers write them, with gates and faults in it.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::events::{Events, Reason, Said};
use super::gate::Gate;

/// Characters of a text, or of a call's arguments, that one chunk carries.
const PIECE: usize = 12;

/// Between two pieces of what has no end.
const PACE: Duration = Duration::from_millis(20);

/// One answer, over whichever wire it is asked for. Unless it says otherwise it is a stream with status 200 that ends as it should: reason, usage, and the
/// mark of the end.
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
    Say(Said),
    Raw(Vec<u8>),
    Wait(Gate),
    /// Again and again, until the client goes away.
    Forever(Vec<u8>),
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

impl Reply {
    /// Nothing yet: what is said is added.
    pub fn empty() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            steps: vec![Step::Say(Said::Begin)],
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
        let refusal = Said::Refusal { status, message: message.to_owned() };
        Self { status, steps: vec![Step::Say(refusal)], ending: Ending::AsWritten, ..Self::empty() }
            .header("content-type", "application/json")
    }

    #[must_use]
    pub fn then_text(self, text: &str) -> Self {
        pieces(text).into_iter().fold(self, |reply, piece| reply.say(Said::Text(piece)))
    }

    /// Over Messages it is signed, and has to come back as it was said.
    #[must_use]
    pub fn then_reasoning(self, text: &str) -> Self {
        pieces(text).into_iter().fold(self, |reply, piece| reply.say(Said::Reasoning(piece)))
    }

    /// A call in fragments. Strings are sent as they are, so that they may be no JSON; anything else as JSON.
    #[must_use]
    pub fn then_call(mut self, name: &str, arguments: Value) -> Self {
        let index = self.calls;
        self.calls += 1;
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        let begun = self.say(Said::Call { index, name: name.to_owned() });
        pieces(&arguments).into_iter().fold(begun, |reply, piece| reply.say(Said::Arguments { index, piece }))
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

    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Nothing but this from here on, for as long as the client stays.
    #[must_use]
    pub fn then_forever(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Forever(bytes.into()));
        self
    }

    /// A byte a packet.
    #[must_use]
    pub fn bytewise(mut self) -> Self {
        let steps = std::mem::take(&mut self.steps).into_iter();
        self.steps = steps
            .flat_map(|step| match step {
                Step::Raw(bytes) => bytes.into_iter().map(|byte| Step::Raw(vec![byte])).collect(),
                other => vec![other],
            })
            .collect();
        self
    }

    /// `stop`, `length`, `content_filter`, … in place of what the content says; told in the wire's own words.
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
    fn say(mut self, said: Said) -> Self {
        self.steps.push(Step::Say(said));
        self
    }

    /// Chunked, so that the client can tell an end from a cut.
    pub(super) async fn write(&self, mut events: Events, stream: &mut TcpStream) -> Outcome {
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
                Step::Forever(bytes) => {
                    while write_chunk(stream, &bytes).await.is_ok() {
                        tokio::time::sleep(PACE).await;
                    }
                    return Outcome::Abandoned;
                }
                Step::Say(said) => events.say(&said),
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

    fn end(&self) -> Option<Step> {
        let reason = self.reason.clone().map_or(Reason::Usual { calls: self.calls > 0 }, Reason::Other);
        (self.ending == Ending::Proper).then_some(Step::Say(Said::End { reason, usage: self.usage }))
    }
}

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

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}
