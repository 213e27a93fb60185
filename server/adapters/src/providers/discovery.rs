//! Which models a server offers: `GET <base>/models`, OpenAI's list, which local servers and Anthropic speak too. Talks to no model.

use std::time::Duration;

use copydesk_engine::ports::{ModelError, ModelErrorKind, ProviderSettings, WireProtocol};
use futures::StreamExt;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use tokio::time::timeout;

use super::exchange::{Auth, shown};
use super::http::{Http, Obstacle};
use super::messages;

/// A list of models ends here: 4 MiB.
const MAX_LIST: usize = 4 << 20;

/// Models that Anthropic lists at once at most; it lists 20 where nothing is said.
const LONGEST_PAGE: &str = "1000";

/// Where models are listed, beside the place where they are asked: a configured address may name that place whole.
fn endpoint(base: &str) -> Option<Url> {
    let mut url = Url::parse(base).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let path = url.path().trim_end_matches('/');
    let base = ["/chat/completions", "/messages"].into_iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
    url.set_path(&format!("{base}/models"));
    Some(url)
}

/// The names as the server knows them, in its order; `None` where it answers and has no list. `limit` is for the whole exchange.
pub(super) async fn offered(
    http: Http,
    provider: &ProviderSettings,
    limit: Duration,
) -> Result<Option<Vec<String>>, ModelError> {
    let error = |kind, message: String| ModelError { kind, message };
    let Some(mut url) = endpoint(&provider.base_url) else {
        let text = format!("The address of {} is no http(s) URL.", provider.id);
        return Err(error(ModelErrorKind::Setup, text));
    };
    let shown = shown(&url);
    let auth = match provider.wire {
        WireProtocol::ChatCompletions => Auth::Bearer,
        WireProtocol::Messages => {
            url.query_pairs_mut().append_pair("limit", LONGEST_PAGE);
            messages::auth(&url)
        }
    };
    match timeout(limit, list(http, headers(provider, auth), url)).await {
        Ok(Ok(names)) => Ok(names),
        Ok(Err((kind, cause))) => Err(error(kind, format!("{shown}: {cause}"))),
        Err(_) => {
            let text = format!("{shown} has not answered within {} ms.", limit.as_millis());
            Err(error(ModelErrorKind::TimedOut, text))
        }
    }
}

async fn list(http: Http, headers: HeaderMap, url: Url) -> Result<Option<Vec<String>>, (ModelErrorKind, String)> {
    let client = http.client(&url).await.map_err(|cause| (ModelErrorKind::Setup, cause))?;
    let response = match client.get(url).headers(headers).send().await {
        Ok(response) => response,
        Err(error) => {
            return Err(match Obstacle::of(&error) {
                Obstacle::Refused => (ModelErrorKind::Connection, "nothing listens there.".to_owned()),
                Obstacle::Certificate(cause) => (
                    ModelErrorKind::Setup,
                    format!(
                        "no trusted connection: {cause}. Install the certificates of your network or set SSL_CERT_FILE to them."
                    ),
                ),
                Obstacle::Tls(cause) | Obstacle::Other(cause) => (ModelErrorKind::Connection, format!("{cause}.")),
            });
        }
    };
    let status = response.status();
    if matches!(status.as_u16(), 401 | 403) {
        return Err((ModelErrorKind::Auth, format!("the server refuses the key, or wants one (status {status}).")));
    }
    match status.as_u16() {
        _ if status.is_success() => {}
        404 | 405 | 501 => return Ok(None),
        429 => {
            let kind = ModelErrorKind::RateLimited { retry_after: None };
            return Err((kind, format!("the server answers no more requests for now (status {status}).")));
        }
        _ => return Err((ModelErrorKind::Setup, format!("the server lists no models (status {status})."))),
    }
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| (ModelErrorKind::Connection, "the connection broke.".to_owned()))?;
        body.extend_from_slice(&piece);
        if body.len() > MAX_LIST {
            return Err((ModelErrorKind::Protocol, "the list of models has no end.".to_owned()));
        }
    }
    match serde_json::from_slice::<List>(&body) {
        Ok(list) => Ok(Some(list.data.into_iter().map(|model| model.id).filter(|id| !id.trim().is_empty()).collect())),
        Err(_) => Err((ModelErrorKind::Protocol, "the answer is no list of models.".to_owned())),
    }
}

/// What cannot be sent is left out: the request that talks to the model names it. Configured headers replace those of the protocol.
fn headers(provider: &ProviderSettings, auth: Auth) -> HeaderMap {
    let beside = auth.beside().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let key = auth.key(provider).map(|(name, value)| (name.to_owned(), value));
    let own = provider.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    let mut headers = HeaderMap::new();
    for (name, value) in beside.chain(key).chain(own) {
        if let (Ok(name), Ok(mut value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    headers
}

#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
