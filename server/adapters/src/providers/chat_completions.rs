//! OpenAI-compatible Chat Completions: joins the pure halves (`encode`, `decode`) to the wire. Decides when an answer is over.

mod calls;
mod decode;
mod encode;
mod surrogates;

use std::time::Duration;

use copydesk_engine::ports::{ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use tokio::time::timeout;

use self::decode::{DecodeError, Decoder};
use super::exchange::{self, Events};
use super::failure;
use super::http::Http;

/// How long usage is waited for once the provider has said why it stopped: some neither send `[DONE]` nor close.
const AFTER_FINISH: Duration = Duration::from_secs(5);

pub(super) fn stream(http: Http, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    stream::once(open(http, request))
        .map_ok(|reply| stream::try_unfold(Some(reply), step).map_ok(|batch| stream::iter(batch).map(Ok)).try_flatten())
        .try_flatten()
        .boxed()
}

struct Reply {
    /// Without its messages and tools, which are sent.
    request: ModelRequest,
    url: String,
    events: Events,
    decoder: Decoder,
}

async fn open(http: Http, mut request: ModelRequest) -> Result<Reply, ModelError> {
    let url = exchange::endpoint(&request, "chat/completions")?;
    let body = encode::body(&request);
    request.messages = Vec::new();
    request.tools = Vec::new();
    let events = exchange::post(&http, &request, &url, body.to_string()).await?;
    Ok(Reply { url: exchange::shown(&url), events, decoder: Decoder::default(), request })
}

/// The next events, and the reply while there is more to come of it.
async fn step(reply: Option<Reply>) -> Result<Option<(Vec<ModelEvent>, Option<Reply>)>, ModelError> {
    let Some(mut reply) = reply else { return Ok(None) };
    loop {
        if reply.decoder.is_done() {
            return Ok(Some((reply.end()?, None)));
        }
        let patience = reply.request.provider.chunk_timeout;
        let patience = if reply.decoder.is_finished() { patience.min(AFTER_FINISH) } else { patience };
        match timeout(patience, reply.events.next()).await {
            Ok(Some(Ok(data))) => {
                let events = reply.decoder.data(&data).map_err(|error| reply.error(error))?;
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

impl Reply {
    fn end(&mut self) -> Result<Vec<ModelEvent>, ModelError> {
        self.decoder.end().map_err(|error| self.error(error))
    }

    fn error(&self, error: DecodeError) -> ModelError {
        let provider = &self.request.provider.id;
        let text = match error {
            DecodeError::Provider(body) => return failure::told(&self.request, &self.url, &body),
            DecodeError::Malformed(data) => {
                format!(
                    "{provider} sent what is no answer of Chat Completions: {data}. Check that {} is the right address.",
                    self.url
                )
            }
            DecodeError::EndedEarly => format!(
                "The stream ended early: the answer of {provider} broke off before it was whole. Try again; if it keeps happening, look at the server's log."
            ),
        };
        failure::error(&self.request, ModelErrorKind::Protocol, text)
    }
}

#[cfg(test)]
#[path = "chat_completions_tests.rs"]
mod tests;
