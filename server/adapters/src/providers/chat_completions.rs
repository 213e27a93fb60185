//! OpenAI-compatible Chat Completions: joins the pure halves (`encode`, `decode`) to the wire.

mod calls;
mod decode;
mod encode;

use copydesk_engine::ports::{ModelError, ModelEvent, ModelRequest};
use futures::stream::BoxStream;

use self::decode::Decoder;
use super::answer::{self, Outgoing};
use super::exchange::{self, Auth};
use super::http::Http;

pub(super) fn stream(http: Http, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    answer::stream::<Decoder>(http, request, |request| {
        let url = exchange::endpoint(request, "chat/completions")?;
        Ok(Outgoing { url, auth: Auth::Bearer, body: encode::body(request).to_string() })
    })
}

#[cfg(test)]
#[path = "chat_completions_tests.rs"]
mod tests;
