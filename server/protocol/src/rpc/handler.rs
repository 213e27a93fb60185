//! What serves the incoming messages of a connection, and the shapes in which it is asked and answers.

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::error::RpcError;
use super::message::RequestId;

/// Both functions are called in arrival order on the reading task, so they must not block. A panic in them, or in a future that they return, costs that one
/// message: a request is answered −32603.
pub trait Handler: Send + Sync + 'static {
    /// What must be in order is done before this returns or before the returned future first yields: it is polled once at once, and without the
    /// runtime's budget, so that a send into a queue with room is done in that poll.
    fn request(&self, request: Request) -> Reply;

    /// Is done with what must be seen by later requests when it returns. Unknown ones are ignored.
    fn notification(&self, notification: Notification);

    /// Whether what is no message is answered by an error without an id, as a server does. A client skips what its server prints by mistake (R11.3).
    fn answers_malformed(&self) -> bool {
        true
    }
}

#[derive(Debug, Clone)]
pub struct Request {
    pub id: RequestId,
    pub method: String,
    /// An object or an array; null where absent.
    pub params: Value,
    /// Fires when the client cancels this request, and when the connection ends.
    pub cancelled: CancellationToken,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    pub method: String,
    /// An object or an array; null where absent.
    pub params: Value,
}

/// How a request is going to be answered.
pub enum Reply {
    Now(Result<Value, RpcError>),
    /// On cancel the future is dropped and −32800 answered at once.
    Abortable(BoxFuture<'static, Result<Value, RpcError>>),
    /// On cancel only [`Request::cancelled`] fires; the future finishes by itself, then −32800 is answered, whatever it returned (C98).
    WindsDown(BoxFuture<'static, Result<Value, RpcError>>),
    /// `work` as `Abortable`. Once its result is queued for the output `then` runs: what must not reach the client before it. Never behind an error.
    Followed {
        work: BoxFuture<'static, Result<Value, RpcError>>,
        then: BoxFuture<'static, ()>,
    },
}
