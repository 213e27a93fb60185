//! The web, for tools: one exchange at a time, and pages made readable. Models are reached by `Model`.

use std::net::IpAddr;
use std::time::Duration;

use super::BoxFuture;
use crate::web::WebAddress;

pub trait Http: Send + Sync {
    /// Follows no redirect: where one leads is the caller's to judge. Dropping the future ends the exchange.
    fn exchange(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer, HttpError>>;

    /// A page as text. It may be hostile: what cannot be shaped in its time or depth comes as plain text.
    fn readable(&self, page: String, form: Readable) -> BoxFuture<'_, String>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    pub address: WebAddress,
    pub headers: Vec<(&'static str, String)>,
    /// JSON, which makes it a POST; without one it is a GET.
    pub body: Option<String>,
    pub reach: Reach,
    pub limits: HttpLimits,
}

/// Which machines may be connected to. It is the address that is connected to which counts, whatever the name said a moment ago (R19.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Public,
    /// The user has named this host.
    Anywhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// Of the body, unpacked; what comes after them is not read.
    pub bytes: usize,
    pub total: Duration,
    /// Between two pieces.
    pub idle: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpAnswer {
    pub status: u16,
    /// Names in lower case, in their order.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The body is longer.
    pub is_cut: bool,
}

impl HttpAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readable {
    Markdown,
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error(
        "{host} is {address}, which is an address inside of a network and not a public one. The user can list the host in `web.private_hosts` of the own configuration"
    )]
    Inside { host: String, address: IpAddr },
    #[error("{host} was not found: {cause}")]
    NotFound { host: String, cause: String },
    #[error("{host} refuses the connection: nothing listens there")]
    Refused { host: String },
    #[error("the certificate of {host} is not trusted: {cause}")]
    Certificate { host: String, cause: String },
    #[error("{host} did not answer in full within {} s", limit.as_secs_f32())]
    TooSlow { host: String, limit: Duration },
    #[error("{host} sent nothing for {} s", limit.as_secs_f32())]
    Silent { host: String, limit: Duration },
    #[error("the connection to {host} failed: {cause}")]
    Broken { host: String, cause: String },
}

impl HttpError {
    /// Whether the same request may work a little later.
    pub fn retry(&self) -> bool {
        match self {
            Self::Inside { .. } | Self::NotFound { .. } | Self::Certificate { .. } => false,
            Self::Refused { .. } | Self::TooSlow { .. } | Self::Silent { .. } | Self::Broken { .. } => true,
        }
    }
}
