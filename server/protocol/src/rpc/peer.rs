//! The sending half: requests and notifications of ours, and the answers that are waited for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::error::{CallError, Closed, RpcError};
use super::message;
use super::output::Output;

/// How a request of ours is cancelled; the other side may use either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelDialect {
    /// `$/cancelRequest` `{id}`.
    Lsp,
    /// `$/cancel_request` `{requestId}`.
    Acp,
}

/// A handle to the other side of a connection. Cheap to clone; holding one does not keep the connection alive.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) output: Output,
    /// Fires when this side wants to end.
    pub(super) ended: CancellationToken,
    cancel: CancelDialect,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    last: u64,
    waiting: HashMap<u64, Waiting>,
    closed: bool,
}

struct Waiting {
    answer: oneshot::Sender<Result<Value, RpcError>>,
    /// Until the answer, whoever waits for it.
    held: Option<Box<dyn Send>>,
}

impl Peer {
    pub(super) fn new(output: Output, cancel: CancelDialect) -> (Self, Arc<Shared>) {
        let shared = Arc::new(Shared { output, ended: CancellationToken::new(), cancel, calls: Mutex::default() });
        (Self { shared: Arc::clone(&shared) }, shared)
    }

    /// Sends a request and waits for its answer, however long that takes. Waits for room in the output first. Dropping the future sends the cancel notification
    /// and forgets the id: an answer that comes all the same is ignored. Null `params` are left out.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, CallError> {
        self.ask(method, params, None).await
    }

    /// As `request`. What is `held` is dropped when the other side has done with the request: before the answer is given, also where the future was dropped
    /// earlier, or with the end of the connection. So it is never cancelled: one that is may be answered at once, and go on all the same.
    pub async fn request_holding(
        &self,
        method: &str,
        params: Value,
        held: impl Send + 'static,
    ) -> Result<Value, CallError> {
        self.ask(method, params, Some(Box::new(held))).await
    }

    async fn ask(&self, method: &str, params: Value, held: Option<Box<dyn Send>>) -> Result<Value, CallError> {
        let (answer, receiver) = oneshot::channel();
        let id = self.shared.register(Waiting { answer, held })?;
        let mut call = Call { shared: &self.shared, id, sent: false };
        let body = message::call(Some(id), method, params);
        let place = self.shared.output.place(body.len()).await?;
        self.shared.output.put(place, &body)?;
        call.sent = true;
        let outcome = receiver.await;
        Ok(outcome.map_err(|_| CallError::Closed)??)
    }

    /// Resolves when the notification is queued, behind everything that was queued before; waits for room in the output. Null `params` are left out.
    pub async fn notify(&self, method: &str, params: Value) -> Result<(), Closed> {
        let body = message::call(None, method, params);
        let place = self.shared.output.place(body.len()).await?;
        self.shared.output.put(place, &body)
    }

    /// Ends the connection from this side: what is queued is still written, nothing more is read.
    pub fn end(&self) {
        self.shared.ended.cancel();
    }
}

impl Shared {
    /// Gives the answer to whoever waits for it. Never waits.
    pub(super) fn answered(&self, id: Option<u64>, outcome: Result<Value, RpcError>) {
        match id.and_then(|id| self.calls().waiting.remove(&id)) {
            Some(Waiting { answer, held }) => {
                drop(held);
                // A receiver that is gone has lost interest.
                drop(answer.send(outcome));
            }
            None => tracing::debug!(?id, "an answer to no request that waits for one"),
        }
    }

    /// No answer will come any more: all who wait are told.
    pub(super) fn no_more_answers(&self) {
        let waiting = {
            let mut calls = self.calls();
            calls.closed = true;
            std::mem::take(&mut calls.waiting)
        };
        // Behind the lock: with them goes what they hold.
        drop(waiting);
    }

    fn register(&self, waiting: Waiting) -> Result<u64, Closed> {
        let mut calls = self.calls();
        if calls.closed {
            return Err(Closed);
        }
        calls.last += 1;
        let id = calls.last;
        calls.waiting.insert(id, waiting);
        Ok(id)
    }

    /// Whether it is to be cancelled. What is held for a request that was sent is held until the answer.
    fn given_up(&self, id: u64, was_sent: bool) -> bool {
        let mut calls = self.calls();
        let is_held = calls.waiting.get(&id).is_some_and(|waiting| waiting.held.is_some());
        if was_sent && is_held {
            return false;
        }
        let waiting = calls.waiting.remove(&id);
        drop(calls);
        was_sent && waiting.is_some()
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of ours that is under way.
struct Call<'a> {
    shared: &'a Shared,
    id: u64,
    sent: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.shared.given_up(self.id, self.sent) {
            return;
        }
        let body = match self.shared.cancel {
            CancelDialect::Lsp => message::call(None, "$/cancelRequest", json!({ "id": self.id })),
            CancelDialect::Acp => message::call(None, "$/cancel_request", json!({ "requestId": self.id })),
        };
        if self.shared.output.put_at_once(&body).is_err() {
            tracing::debug!(id = self.id, "a cancel was not sent: the connection has ended");
        }
    }
}
