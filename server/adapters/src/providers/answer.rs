//! The answer to one request, whatever the wire protocol: bytes in, events of the engine out, and the limits in between. Decides when an answer is over; what
//! its pieces mean is the decoder's.

use std::time::Duration;

use copydesk_engine::message::{Finish, Usage};
use copydesk_engine::ports::{ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use reqwest::Url;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::exchange::{self, Auth, Events};
use super::failure::{self, ProviderError};
use super::http::Http;
use super::surrogates;

/// How long usage is waited for once the provider has said why it stopped: some neither say that they are done nor close.
const AFTER_FINISH: Duration = Duration::from_secs(5);

/// A pure state machine out of the data of an answer. It has no transport and no clock.
pub(super) trait Decoder: Default + Send + 'static {
    /// For people, e.g. `Chat Completions`.
    const PROTOCOL: &'static str;

    /// One event's data, or the whole body of an answer that is no stream. Nothing counts after the end. OpenAI's `[DONE]` is one for all: gateways in front of
    /// other providers end streams by it too.
    fn data(&mut self, data: &str) -> Result<Vec<ModelEvent>, DecodeError> {
        let data = data.trim();
        if self.is_done() || data.is_empty() {
            return Ok(Vec::new());
        }
        if data == "[DONE]" {
            self.set_done();
            return Ok(Vec::new());
        }
        let event = surrogates::parse(data).map_err(|_| DecodeError::unreadable(data))?;
        if !event.is_object() {
            return Err(DecodeError::malformed(data));
        }
        match failure::provider_error(&event) {
            Some(error) => Err(DecodeError::Provider(error)),
            None => self.event(&event, data),
        }
    }

    /// An object that reports no error, of an answer that is not done; `data` is its text.
    fn event(&mut self, event: &Value, data: &str) -> Result<Vec<ModelEvent>, DecodeError>;

    fn set_done(&mut self);

    /// Nothing more will be read: the provider has said so.
    fn is_done(&self) -> bool;

    /// The provider has said why it stopped; at most usage follows.
    fn is_finished(&self) -> bool;

    /// What the provider has counted so far.
    fn usage(&self) -> Option<Usage>;

    /// The stream is over, by its own word or because it ended.
    fn end(&mut self) -> Result<Vec<ModelEvent>, DecodeError>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DecodeError {
    /// The provider reports an error in place of an answer.
    Provider(ProviderError),
    /// No JSON object, or none that an answer consists of; the data, cut.
    Malformed(String),
    /// Begins as a JSON object and is none: a piece that lost something on its way; the data, cut.
    Damaged(String),
    /// The stream ended, and what came is not whole.
    EndedEarly,
}

impl DecodeError {
    pub(super) fn malformed(data: &str) -> Self {
        Self::Malformed(cut(data))
    }

    fn unreadable(data: &str) -> Self {
        if data.starts_with('{') { Self::Damaged(cut(data)) } else { Self::malformed(data) }
    }
}

/// What is sent, ready for the wire.
pub(super) struct Outgoing {
    pub(super) url: Url,
    pub(super) auth: Auth,
    pub(super) body: String,
}

/// `outgoing` is made of the request as it is; messages and tools are not kept.
pub(super) fn stream<D: Decoder>(
    http: Http,
    request: ModelRequest,
    outgoing: impl FnOnce(&ModelRequest) -> Result<Outgoing, ModelError> + Send + 'static,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    stream::once(open::<D>(http, request, outgoing))
        .map_ok(|reply| stream::try_unfold(Some(reply), step).map_ok(|batch| stream::iter(batch).map(Ok)).try_flatten())
        .try_flatten()
        .boxed()
}

struct Reply<D> {
    /// Without its messages and tools, which are sent.
    request: ModelRequest,
    url: String,
    events: Events,
    decoder: D,
    /// Some of the answer was read.
    begun: bool,
    /// What was told of it last. It is told as soon as it is known: who breaks off pays too (R13.3).
    usage: Option<Usage>,
    /// When something of the answer came last; comments, pings and empty pieces are nothing of it (C83).
    progress: Instant,
}

async fn open<D: Decoder>(
    http: Http,
    mut request: ModelRequest,
    outgoing: impl FnOnce(&ModelRequest) -> Result<Outgoing, ModelError>,
) -> Result<Reply<D>, ModelError> {
    let Outgoing { url, auth, body } = outgoing(&request)?;
    request.messages = Vec::new();
    request.tools = Vec::new();
    let events = exchange::post(&http, &request, &url, auth, body).await?;
    let url = exchange::shown(&url);
    Ok(Reply { url, events, decoder: D::default(), begun: false, usage: None, progress: Instant::now(), request })
}

/// The next events, and the reply while there is more to come of it.
async fn step<D: Decoder>(reply: Option<Reply<D>>) -> Result<Option<(Vec<ModelEvent>, Option<Reply<D>>)>, ModelError> {
    let Some(mut reply) = reply else { return Ok(None) };
    loop {
        if reply.decoder.is_done() {
            return Ok(Some((reply.end()?, None)));
        }
        let patience = reply.request.provider.chunk_timeout;
        let patience = if reply.decoder.is_finished() { patience.min(AFTER_FINISH) } else { patience };
        let left = patience.saturating_sub(reply.progress.elapsed());
        match timeout(left, reply.events.next()).await {
            Ok(Some(Ok(data))) => {
                let was_finished = reply.decoder.is_finished();
                let mut events = match reply.decoder.data(&data) {
                    Ok(events) => events,
                    // What comes after a finished answer takes nothing away from it.
                    Err(error) if was_finished => match reply.decoder.end() {
                        Ok(events) if !has_failed(&events) => return Ok(Some((reply.news(events), None))),
                        Ok(_) | Err(_) => return Err(reply.error(error)),
                    },
                    Err(error) => return Err(reply.error(error)),
                };
                reply.begun = true;
                if !events.is_empty() || reply.decoder.is_finished() != was_finished {
                    reply.progress = Instant::now();
                }
                // That of a finished answer is told at its end.
                if !reply.decoder.is_finished() {
                    events.extend(reply.decoder.usage().map(ModelEvent::Usage));
                }
                let events = reply.news(events);
                if !events.is_empty() {
                    return Ok(Some((events, Some(reply))));
                }
            }
            Ok(None) => return Ok(Some((reply.end()?, None))),
            Ok(Some(Err(_))) | Err(_) if reply.decoder.is_finished() => return Ok(Some((reply.end()?, None))),
            Ok(Some(Err(error))) => return Err(error),
            Err(_) => return Err(exchange::silent(&reply.request, &reply.url)),
        }
    }
}

impl<D: Decoder> Reply<D> {
    fn end(&mut self) -> Result<Vec<ModelEvent>, ModelError> {
        let events = self.decoder.end().map_err(|error| self.error(error))?;
        Ok(self.news(events))
    }

    /// Without counts that were told already.
    fn news(&mut self, mut events: Vec<ModelEvent>) -> Vec<ModelEvent> {
        events.retain(|event| match event {
            ModelEvent::Usage(usage) => self.usage.replace(*usage) != Some(*usage),
            _ => true,
        });
        events
    }

    fn error(&self, error: DecodeError) -> ModelError {
        let provider = &self.request.provider.id;
        let (kind, text) = match error {
            DecodeError::Provider(body) => return failure::told(&self.request, &self.url, &body),
            DecodeError::Damaged(data) => damaged(provider, &data),
            // In the middle of an answer it is damage; at its beginning somebody else answers.
            DecodeError::Malformed(data) if self.begun => damaged(provider, &data),
            DecodeError::Malformed(data) => (
                ModelErrorKind::Protocol,
                format!(
                    "{provider} sent what is no answer of {}: {data}. Check that {} is the right address.",
                    D::PROTOCOL,
                    self.url
                ),
            ),
            DecodeError::EndedEarly => (
                ModelErrorKind::Broken,
                format!(
                    "The stream ended early: the answer of {provider} broke off before it was whole. If it keeps happening, look at the server's log."
                ),
            ),
        };
        failure::error(&self.request, kind, text)
    }
}

fn has_failed(events: &[ModelEvent]) -> bool {
    matches!(events.last(), Some(ModelEvent::Finish(Finish::Failed { .. })))
}

fn damaged(provider: &str, data: &str) -> (ModelErrorKind, String) {
    (ModelErrorKind::Broken, format!("A piece of the answer of {provider} is damaged: {data}."))
}

fn cut(data: &str) -> String {
    failure::quote(&data.chars().take(200).collect::<String>())
}
