//! The closed list of error codes, and what a call of ours can come back with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `error` of a JSON-RPC response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// What arrived is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// JSON, but no request that can be served: no method, a bad id, a batch, an id that is already in use, a body over the limit.
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL_ERROR: i64 = -32603;
    /// ACP: authenticate first.
    pub const AUTH_REQUIRED: i64 = -32000;
    /// Too many requests wait for their answers: send this one again later.
    pub const OVERLOADED: i64 = -32001;
    /// ACP: there is no such session, file or other thing. The same number as [`Self::SERVER_NOT_INITIALIZED`].
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// LSP: a request came before `initialize`.
    pub const SERVER_NOT_INITIALIZED: i64 = -32002;
    /// LSP and ACP: cancelled on the client's wish.
    pub const REQUEST_CANCELLED: i64 = -32800;
    /// LSP: well-formed and understood, but it could not be done.
    pub const REQUEST_FAILED: i64 = -32803;

    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(Self::PARSE_ERROR, message)
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// `method` is the name that is not known.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("there is no method {method:?}"))
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL_ERROR, message)
    }

    pub fn auth_required(message: impl Into<String>) -> Self {
        Self::new(Self::AUTH_REQUIRED, message)
    }

    pub fn overloaded() -> Self {
        Self::new(Self::OVERLOADED, "too many requests wait for their answers; send this one again later")
    }

    pub fn resource_not_found(message: impl Into<String>) -> Self {
        Self::new(Self::RESOURCE_NOT_FOUND, message)
    }

    pub fn server_not_initialized() -> Self {
        Self::new(Self::SERVER_NOT_INITIALIZED, "the first request must be `initialize`")
    }

    pub fn cancelled() -> Self {
        Self::new(Self::REQUEST_CANCELLED, "the request was cancelled")
    }

    pub fn request_failed(message: impl Into<String>) -> Self {
        Self::new(Self::REQUEST_FAILED, message)
    }
}

/// Why a request of ours has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The other side answered with an error.
    #[error(transparent)]
    Remote(#[from] RpcError),
    /// No answer will come.
    #[error("the connection has ended")]
    Closed,
}

impl From<Closed> for CallError {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

/// The connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection has ended")]
pub struct Closed;
