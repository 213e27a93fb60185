//! One request to a provider and the data of its answer, whatever the wire protocol: address, headers, limits, and faults of the way there as errors for the user.

use std::time::Duration;

use copydesk_engine::ports::{ModelError, ModelErrorKind, ModelRequest, ProviderSettings};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use jiff::Timestamp;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Response, Url};
use tokio::time::timeout;

use super::failure::{self, Refusal};
use super::http::{Http, Obstacle};
use super::sse::{self, SseError};

/// The data of an answer, an event at a time; the whole body where it is no stream.
pub(super) type Events = BoxStream<'static, Result<String, ModelError>>;

/// A body that is no stream ends here: 32 MiB.
const MAX_BODY: usize = 32 << 20;

/// Of the body of a refusal, as much is read, for so long: 64 KiB.
const MAX_REFUSAL: usize = 64 << 10;
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(10);

/// How a wire protocol carries the key, and what else it wants in its headers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Auth {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// A header of its own, and others beside it; those that are configured replace them.
    Header { name: &'static str, beside: &'static [(&'static str, &'static str)] },
}

impl Auth {
    pub(super) fn beside(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Bearer => &[],
            Self::Header { beside, .. } => beside,
        }
    }

    /// Name and value of the key's header. Keys that come out of files end in a line end.
    pub(super) fn key(self, provider: &ProviderSettings) -> Option<(&'static str, String)> {
        let key = provider.key.as_deref().map(str::trim).filter(|key| !key.is_empty())?;
        Some(match self {
            Self::Bearer => ("authorization", format!("Bearer {key}")),
            Self::Header { name, .. } => (name, key.to_owned()),
        })
    }
}

/// `path` below the provider's base; a base that ends in it already is taken as it is.
pub(super) fn endpoint(request: &ModelRequest, path: &str) -> Result<Url, ModelError> {
    let provider = &request.provider;
    let parsed = Url::parse(&provider.base_url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(mut url) = parsed else {
        let text = format!(
            "The address of {0} is no http(s) URL: \"{1}\". Set `provider.{0}.options.baseURL`, e.g. to \"http://127.0.0.1:11434/v1\".",
            provider.id, provider.base_url
        );
        return Err(failure::error(request, ModelErrorKind::Setup, text));
    };
    let base = url.path().trim_end_matches('/').to_owned();
    if !base.ends_with(&format!("/{path}")) {
        url.set_path(&format!("{base}/{path}"));
    }
    Ok(url)
}

/// An address as users may see it: without user, password and query, where keys hide.
pub(super) fn shown(url: &Url) -> String {
    match url.port() {
        Some(port) => format!("{}://{}:{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path()),
        None => format!("{}://{}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path()),
    }
}

/// Sends the JSON text `body` and waits for the headers of a success.
pub(super) async fn post(
    http: &Http,
    request: &ModelRequest,
    url: &Url,
    auth: Auth,
    body: String,
) -> Result<Events, ModelError> {
    let headers = headers(request, auth)?;
    let client = http.client(url).await.map_err(|text| failure::error(request, ModelErrorKind::Setup, text))?;
    let sent = client.post(url.clone()).headers(headers).body(body).send();
    let response = match timeout(request.provider.header_timeout, sent).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(unreached(request, url, &error)),
        Err(_) => {
            let text = format!(
                "{} has not begun to answer within {} s. A local server may still be loading the model: try again, or raise `provider.{}.options.headerTimeout`.",
                shown(url),
                request.provider.header_timeout.as_secs(),
                request.provider.id
            );
            return Err(failure::error(request, ModelErrorKind::TimedOut, text));
        }
    };
    if !response.status().is_success() {
        let refusal = refusal(response).await;
        return Err(failure::refused(request, &shown(url), &refusal));
    }
    let slim = ModelRequest { messages: Vec::new(), tools: Vec::new(), ..request.clone() };
    Ok(stream::once(read(response, slim, shown(url))).try_flatten().boxed())
}

/// For an answer that began and then paused for longer than `chunk_timeout`.
pub(super) fn silent(request: &ModelRequest, url: &str) -> ModelError {
    let provider = &request.provider;
    let text = format!(
        "{url} has sent nothing for {} s in the middle of its answer. Try again, or raise `provider.{}.options.chunkTimeout`.",
        provider.chunk_timeout.as_secs(),
        provider.id
    );
    failure::error(request, ModelErrorKind::TimedOut, text)
}

fn headers(request: &ModelRequest, auth: Auth) -> Result<HeaderMap, ModelError> {
    let provider = &request.provider;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    let beside = auth.beside().iter();
    headers.extend(beside.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))));
    if let Some((name, value)) = auth.key(provider) {
        let Ok(mut value) = HeaderValue::try_from(value) else {
            let text = format!(
                "The API key of {} holds characters that no key has. Check where it is taken from.",
                provider.id
            );
            return Err(failure::error(request, ModelErrorKind::Auth, text));
        };
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    for (name, value) in &provider.headers {
        let (Ok(header), Ok(mut value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) else {
            let text = format!(
                "`provider.{}.options.headers` has a header that cannot be sent: \"{name}\". Names and values take no line ends or control characters.",
                provider.id
            );
            return Err(failure::error(request, ModelErrorKind::Setup, text));
        };
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

async fn refusal(response: Response) -> Refusal {
    let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
    let mut refusal = Refusal {
        status: response.status().as_u16(),
        retry_after: failure::retry_after(header, Timestamp::now()),
        location: header(LOCATION.as_str()).map(|to| Url::parse(&to).map_or(to, |url| shown(&url))),
        body: String::new(),
    };
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
    // What came before a fault or the limit is still worth telling.
    let _ = timeout(REFUSAL_TIMEOUT, async {
        while let Some(Ok(piece)) = bytes.next().await {
            body.extend_from_slice(&piece);
            if body.len() >= MAX_REFUSAL {
                break;
            }
        }
    })
    .await;
    body.truncate(MAX_REFUSAL);
    refusal.body = String::from_utf8_lossy(&body).into_owned();
    refusal
}

/// By what the body begins with: servers send streams, objects and web pages under any content type.
async fn read(response: Response, request: ModelRequest, url: String) -> Result<Events, ModelError> {
    let broke = {
        let (request, url) = (request.clone(), url.clone());
        move |error: reqwest::Error| broken(&request, &url, &error)
    };
    let mut bytes = response.bytes_stream().map_ok(|piece| piece.to_vec()).map_err(broke);
    let mut head = Vec::new();
    while head.is_empty() {
        let Some(piece) = bytes.try_next().await? else { break };
        head.extend(piece.into_iter().skip_while(u8::is_ascii_whitespace));
    }
    match head.first() {
        Some(b'{' | b'[') => {
            while let Some(piece) = bytes.try_next().await? {
                head.extend(piece);
                if head.len() > MAX_BODY {
                    return Err(too_long(&request, &url));
                }
            }
            let body = String::from_utf8_lossy(&head).into_owned();
            Ok(stream::once(std::future::ready(Ok(body))).boxed())
        }
        Some(b'<') => {
            let text = format!(
                "{url} answers with a web page. Check `provider.{}.options.baseURL`: most end in /v1.",
                request.provider.id
            );
            Err(failure::error(&request, ModelErrorKind::Protocol, text))
        }
        _ => {
            let bytes = stream::once(std::future::ready(Ok(head))).chain(bytes);
            let events = sse::data(bytes).map_err(move |error| match error {
                SseError::Transport(error) => error,
                SseError::TooLong => too_long(&request, &url),
            });
            Ok(events.boxed())
        }
    }
}

fn too_long(request: &ModelRequest, url: &str) -> ModelError {
    failure::error(request, ModelErrorKind::Protocol, format!("The answer of {url} has no end. Check the address."))
}

/// No answer came.
fn unreached(request: &ModelRequest, url: &Url, error: &reqwest::Error) -> ModelError {
    let shown = shown(url);
    let id = &request.provider.id;
    let (kind, text) = match Obstacle::of(error) {
        Obstacle::Refused => (
            ModelErrorKind::Connection,
            format!(
                "Nothing answers at {shown}. Is the server running? The address is `provider.{id}.options.baseURL`."
            ),
        ),
        Obstacle::Certificate(cause) => (
            ModelErrorKind::Setup,
            format!(
                "No trusted connection to {shown}: {cause}. Install the certificates of your network or set SSL_CERT_FILE to them."
            ),
        ),
        Obstacle::Tls(cause) => (
            ModelErrorKind::Setup,
            format!(
                "{shown} does not answer as an https server does: {cause}. If the server is local, its address may begin with http://."
            ),
        ),
        Obstacle::Other(cause) => (
            ModelErrorKind::Connection,
            format!("{shown} cannot be reached: {cause}. Check the address and your network."),
        ),
    };
    failure::error(request, kind, text)
}

/// The answer had begun.
fn broken(request: &ModelRequest, url: &str, error: &reqwest::Error) -> ModelError {
    let cause = match Obstacle::of(error) {
        Obstacle::Refused => "the connection was refused".to_owned(),
        Obstacle::Certificate(cause) | Obstacle::Tls(cause) | Obstacle::Other(cause) => cause,
    };
    let text = format!("The connection to {url} broke in the middle of the answer: {cause}. Try again.");
    failure::error(request, ModelErrorKind::Connection, text)
}
