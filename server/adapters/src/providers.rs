//! Language models over HTTP: one shared client, one file a wire protocol. Holds no history and retries nothing; that is the engine's.

mod answer;
mod chat_completions;
mod discovery;
mod exchange;
mod failure;
pub(crate) mod http;
#[cfg(test)]
mod loopback;
mod messages;
mod names;
mod sse;
mod surrogates;

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::ports::{BoxFuture, Model, ModelError, ModelEvent, ModelRequest, ProviderSettings, WireProtocol};
use futures::stream::BoxStream;

pub use http::Http;

/// The port of all providers. Cheap to make: nothing is opened before the first request.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    http: Http,
}

impl Providers {
    pub fn new(http: Http) -> Self {
        Self { http }
    }
}

/// The address of a provider as users may see it: without user, password and query, where keys hide. What is no address is not shown.
pub fn shown_address(base_url: &str) -> String {
    reqwest::Url::parse(base_url).map_or_else(
        |_| "an address that is no URL".to_owned(),
        |url| exchange::shown(&url).trim_end_matches('/').to_owned(),
    )
}

impl Model for Providers {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match request.provider.wire {
            WireProtocol::ChatCompletions => chat_completions::stream(self.http.clone(), request),
            WireProtocol::Messages => messages::stream(self.http.clone(), request),
        }
    }

    fn offered(
        &self,
        provider: Arc<ProviderSettings>,
        limit: Duration,
    ) -> BoxFuture<'_, Result<Option<Vec<String>>, ModelError>> {
        Box::pin(async move { discovery::offered(self.http.clone(), &provider, limit).await })
    }
}
