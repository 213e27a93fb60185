//! Language models: one request out, one stream of events back, the same for every provider.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use serde_json::Value;

use super::BoxFuture;
use crate::image::Image;
use crate::media::Pdf;
use crate::message::{Finish, ModelRef, Usage};

pub trait Model: Send + Sync {
    /// The stream ends after `Finish` or an error. Dropping it ends the request.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;

    /// The names of the models that a provider offers, as it knows them; `None` where it answers and lists none. `limit` is for the whole exchange.
    fn offered(
        &self,
        provider: Arc<ProviderSettings>,
        limit: Duration,
    ) -> BoxFuture<'_, Result<Option<Vec<String>>, ModelError>> {
        let _ = (provider, limit);
        Box::pin(std::future::ready(Ok(None)))
    }
}

#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub model: ModelRef,
    pub provider: Arc<ProviderSettings>,
    pub settings: ModelSettings,
    /// Joined by blank lines. Equal in every step of a turn, so that providers can cache it.
    pub system: String,
    /// Valid: each call is followed by its one result, ids are unique, nothing is empty.
    pub messages: Vec<ModelMessage>,
    /// Sorted by name.
    pub tools: Vec<ToolSpec>,
}

/// Where and how a provider is reached.
#[derive(Clone, PartialEq)]
pub struct ProviderSettings {
    pub id: String,
    pub wire: WireProtocol,
    /// Without a slash at its end.
    pub base_url: String,
    pub key: Option<String>,
    pub headers: BTreeMap<String, String>,
    /// To the answer's headers, and between two pieces of content.
    pub header_timeout: Duration,
    pub chunk_timeout: Duration,
    /// Further tries of a request that failed in a way that passes.
    pub max_retries: u32,
}

impl ProviderSettings {
    /// Whether it runs on this machine or in this network: such servers read a long prompt for minutes before they say a word.
    pub fn is_local(&self) -> bool {
        is_local(&self.base_url)
    }
}

/// By what the host of an address says; no name is looked up.
pub(crate) fn is_local(url: &str) -> bool {
    let authority =
        url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            address.is_loopback() || address.is_private() || address.is_link_local() || address.is_unspecified()
        }
        Ok(IpAddr::V6(address)) => {
            address.is_loopback()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_unspecified()
        }
        Err(_) => {
            let host = host.to_ascii_lowercase();
            host == "localhost" || [".localhost", ".local", ".internal"].iter().any(|end| host.ends_with(end))
        }
    }
}

/// Leaves out the key and the values of headers.
impl std::fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderSettings")
            .field("id", &self.id)
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireProtocol {
    /// OpenAI's, which most servers speak.
    ChatCompletions,
    /// Anthropic's.
    Messages,
}

impl WireProtocol {
    /// Whether a document can be sent by it to a model that reads such.
    pub fn carries_documents(self) -> bool {
        match self {
            Self::Messages => true,
            Self::ChatCompletions => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelSettings {
    /// Tokens.
    pub context: Option<u64>,
    pub max_output: Option<u64>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    /// The provider's own options, merged into the request body. `interleaved` is none of them: it names the key that takes reasoning back (`true`:
    /// `reasoning_content`).
    pub options: serde_json::Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema in the subset of `tool::portable`, keys in a fixed order. An encoder narrows it where its provider takes less.
    pub parameters: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ModelMessage {
    User(Vec<Content>),
    Assistant(Vec<AssistantBlock>),
    /// The results of the calls in the assistant message before it.
    Results(Vec<ResultBlock>),
}

impl ModelMessage {
    /// The user says `text` and nothing else.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(vec![Content::Text(text.into())])
    }

    /// What the user says or results show.
    pub fn content(&self) -> Vec<&Content> {
        match self {
            Self::User(content) => content.iter().collect(),
            Self::Results(results) => results.iter().flat_map(|result| &result.content).collect(),
            Self::Assistant(_) => Vec::new(),
        }
    }
}

/// A piece of what a model is shown. Two texts never stand beside each other.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    Image(Image),
    /// Only to models of protocols that take documents.
    Pdf(Pdf),
}

/// Adds a paragraph.
pub fn push_text(content: &mut Vec<Content>, text: &str) {
    match content.last_mut() {
        Some(Content::Text(last)) => {
            last.push_str("\n\n");
            last.push_str(text);
        }
        Some(Content::Image(_) | Content::Pdf(_)) | None => content.push(Content::Text(text.to_owned())),
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum AssistantBlock {
    Text(String),
    Reasoning { text: String, signature: Option<String> },
    Call { id: String, name: String, input: Value },
}

#[derive(Debug, Clone, PartialEq)]
pub struct ResultBlock {
    pub id: String,
    /// A text, and behind it what the result shows; an error is a text alone.
    pub content: Vec<Content>,
    pub is_error: bool,
}

impl ResultBlock {
    pub fn text(id: impl Into<String>, text: impl Into<String>, is_error: bool) -> Self {
        Self { id: id.into(), content: vec![Content::Text(text.into())], is_error }
    }

    /// Its content as a protocol takes it whose results are text alone: the text, and what is to be shown by other means.
    pub fn split(&self) -> (&str, &[Content]) {
        match self.content.split_first() {
            Some((Content::Text(text), shown)) => (text, shown),
            _ => ("", &self.content),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    Text(String),
    /// `signature` comes with the last piece of what it signs; it may come with a text of nothing.
    Reasoning {
        text: String,
        signature: Option<String>,
    },
    /// A call's arguments are streaming: `arguments` is all of them so far. For display only.
    CallProgress {
        slot: usize,
        name: String,
        arguments: String,
    },
    /// A whole call, of the slot in which its progress was told. Empty arguments arrive as `{}`; what is no JSON arrives as it is, and the engine tells
    /// the model.
    Call {
        slot: usize,
        provider_id: Option<String>,
        name: String,
        arguments: String,
    },
    /// As far as it is known, as soon as it is: a later one replaces it.
    Usage(Usage),
    /// The last event. `reason` is what the provider says; what the reply holds decides (R14.3).
    Finish(Finish),
}

/// What went wrong, by code and status, never by message text (R10.3).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// For the user: what happened and what to do next. No key in it.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// Key missing or refused.
    Auth,
    ContextOverflow,
    RateLimited {
        retry_after: Option<Duration>,
    },
    Overloaded {
        retry_after: Option<Duration>,
    },
    /// Refused for what it holds, and will be again.
    Invalid,
    /// Refused for what stands around it, whatever it holds: the address, the model's name, the account, the certificates. Only the user can mend that.
    Setup,
    /// Nothing listens, or the connection broke.
    Connection,
    TimedOut,
    /// An answer began and is not whole: by an error of the provider's, by a piece that is damaged, or because it just ended.
    Broken,
    /// The answer makes no sense.
    Protocol,
}

impl ModelError {
    /// How long the provider asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.kind {
            ModelErrorKind::RateLimited { retry_after } | ModelErrorKind::Overloaded { retry_after } => retry_after,
            ModelErrorKind::Auth
            | ModelErrorKind::ContextOverflow
            | ModelErrorKind::Invalid
            | ModelErrorKind::Setup
            | ModelErrorKind::Connection
            | ModelErrorKind::TimedOut
            | ModelErrorKind::Broken
            | ModelErrorKind::Protocol => None,
        }
    }

    /// Whether the same request may succeed later.
    pub fn retry(&self) -> bool {
        match self.kind {
            ModelErrorKind::RateLimited { .. }
            | ModelErrorKind::Overloaded { .. }
            | ModelErrorKind::Connection
            | ModelErrorKind::TimedOut
            | ModelErrorKind::Broken => true,
            ModelErrorKind::Auth
            | ModelErrorKind::ContextOverflow
            | ModelErrorKind::Invalid
            | ModelErrorKind::Setup
            | ModelErrorKind::Protocol => false,
        }
    }
}
