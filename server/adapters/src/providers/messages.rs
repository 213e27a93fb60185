//! Anthropic's Messages: joins the pure halves (`encode`, `decode`) to the wire.

mod decode;
mod encode;

use copydesk_engine::ports::{ModelError, ModelEvent, ModelRequest};
use futures::stream::BoxStream;
use reqwest::Url;

use self::decode::Decoder;
use super::answer::{self, Outgoing};
use super::exchange::{self, Auth};
use super::http::Http;

const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// Thoughts between the calls of one turn, and arguments as they are written; other servers of the protocol may not know the header.
const BETA: (&str, &str) = ("anthropic-beta", "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14");

pub(super) fn stream(http: Http, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    answer::stream::<Decoder>(http, request, |request| {
        let url = exchange::endpoint(request, "messages")?;
        let auth = auth(&url);
        Ok(Outgoing { url, auth, body: encode::body(request).to_string() })
    })
}

pub(super) fn auth(url: &Url) -> Auth {
    let beside: &[_] = if url.host_str() == Some("api.anthropic.com") { &[VERSION, BETA] } else { &[VERSION] };
    Auth::Header { name: "x-api-key", beside }
}

/// Before the data of a thought that only the provider can read, where its signature stands: signatures are Base64 and hold no colon.
const REDACTED: &str = "redacted:";

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
