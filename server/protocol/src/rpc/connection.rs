//! One connection from its first byte to its end: reads, hands out, answers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::RpcError;
use super::framing::{Decoder, Frame, Framing};
use super::handler::{Handler, Notification, Reply, Request};
use super::message::{self, Incoming, RequestId};
use super::output::Output;
use super::peer::{CancelDialect, Peer, Shared};

/// Requests of the other side that may wait for their answers at once.
pub const MAX_PENDING: usize = 16_384;

/// How long requests may go on by themselves after the input has ended: what was piped in is answered.
const FINISH: Duration = Duration::from_millis(100);
/// How long they may wind down once their cancellation has fired.
const WIND_DOWN: Duration = Duration::from_millis(200);
/// How long they may take once no answer will come any more, and how long dropped futures may take to be gone.
const DROP: Duration = Duration::from_millis(50);
/// How long the other side may take to read what is still queued.
const FLUSH: Duration = Duration::from_millis(150);

const READ_SIZE: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub framing: Framing,
    /// How requests of ours are cancelled; both dialects are understood.
    pub cancel: CancelDialect,
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The input ended.
    Eof,
    /// [`Peer::end`].
    Ended,
    /// Nothing but garbage came, and nothing good will come any more.
    FramingLost,
    /// The output is closed, or the other side reads nothing of it.
    WriteFailed,
}

/// Runs the connection to its end, within 600 ms of whatever ends it: then the handler's futures are cancelled, requests of ours that wait get
/// [`CallError::Closed`](super::CallError::Closed), and what is queued is written if the other side still reads. Must run inside of a tokio runtime.
pub async fn serve(
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    options: Options,
    make_handler: impl FnOnce(Peer) -> Arc<dyn Handler>,
) -> End {
    let (output, output_task) = Output::new(options.framing);
    let (peer, shared) = Peer::new(output, options.cancel);
    let closing = CancellationToken::new();
    let writing = tokio::spawn(output_task.run(writer, closing.clone()));
    let connection = Connection {
        handler: make_handler(peer),
        requests: Arc::new(Requests { shared: Arc::clone(&shared), pending: Mutex::default() }),
        tasks: TaskTracker::new(),
        all: CancellationToken::new(),
        dropped: CancellationToken::new(),
        closing,
        malformed: false,
    };
    connection.run(reader, options.framing, writing).await
}

struct Connection {
    handler: Arc<dyn Handler>,
    requests: Arc<Requests>,
    tasks: TaskTracker,
    /// The parent of the cancellation of every request.
    all: CancellationToken,
    /// Fires when futures are dropped, finished or not.
    dropped: CancellationToken,
    /// Fires when nothing more will be queued for the output.
    closing: CancellationToken,
    /// The last frame was answered as malformed: garbage right behind it is of the same fault.
    malformed: bool,
}

/// The requests of the other side that wait for their answers.
struct Requests {
    shared: Arc<Shared>,
    pending: Mutex<HashMap<RequestId, CancellationToken>>,
}

enum Refused {
    InUse,
    TooMany,
}

impl Connection {
    async fn run(
        mut self,
        reader: Box<dyn AsyncRead + Send + Unpin>,
        framing: Framing,
        mut writing: tokio::task::JoinHandle<()>,
    ) -> End {
        let shared = Arc::clone(&self.requests.shared);
        let end = self.read(reader, framing).await;
        tracing::debug!(?end, "the connection ends");

        self.tasks.close();
        self.wind_down(end).await;
        shared.no_more_answers();
        shared.output.close();
        self.closing.cancel();
        if tokio::time::timeout(FLUSH, &mut writing).await.is_err() {
            tracing::info!("the other side does not read: what was queued is dropped");
            writing.abort();
        }
        end
    }

    /// Lets requests end by themselves, then cancels them, then tells them that no answer of the other side will come, then drops them: in this order, so that
    /// nothing takes the end of the connection for a "no" to its question and goes on.
    async fn wind_down(&self, end: End) {
        if end == End::Eof && self.all_end_within(FINISH).await {
            return;
        }
        self.all.cancel();
        if self.all_end_within(WIND_DOWN).await {
            return;
        }
        self.requests.shared.no_more_answers();
        if self.all_end_within(DROP).await {
            return;
        }
        self.dropped.cancel();
        if !self.all_end_within(DROP).await {
            tracing::warn!(tasks = self.tasks.len(), "handlers block their threads and are left behind");
        }
    }

    async fn all_end_within(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.tasks.wait()).await.is_ok()
    }

    async fn read(&mut self, mut reader: Box<dyn AsyncRead + Send + Unpin>, framing: Framing) -> End {
        let shared = Arc::clone(&self.requests.shared);
        let mut decoder = Decoder::new(framing);
        let mut buffer = Vec::with_capacity(READ_SIZE);
        loop {
            buffer.clear();
            let read = tokio::select! {
                biased;
                () = shared.ended.cancelled() => return End::Ended,
                () = shared.output.failed().cancelled() => return End::WriteFailed,
                read = reader.read_buf(&mut buffer) => read,
            };
            match read {
                Ok(0) => return End::Eof,
                Ok(_) => {}
                Err(error) => {
                    tracing::info!(%error, "the input failed");
                    return End::Eof;
                }
            }
            let mut input = buffer.as_slice();
            while let Some(frame) = decoder.decode(&mut input) {
                if frame == Frame::Lost {
                    return End::FramingLost;
                }
                self.take(frame).await;
                if shared.ended.is_cancelled() {
                    return End::Ended;
                }
            }
        }
    }

    async fn take(&mut self, frame: Frame) {
        let after_malformed = std::mem::take(&mut self.malformed);
        let incoming = match frame {
            Frame::Body(body) => message::parse(&body),
            Frame::TooLarge(skim) => message::too_large(&skim),
            Frame::Garbage | Frame::Lost if after_malformed => return,
            Frame::Garbage | Frame::Lost => {
                let error = RpcError::parse_error("there is no header `Content-Length`; skipped up to the next one");
                return self.refuse(&RequestId::Null, error);
            }
        };
        match incoming {
            Incoming::Request { id, method, params } => self.request(id, method, params).await,
            Incoming::Notification { method, params } => self.notification(method, params),
            Incoming::Response { id, outcome } => self.requests.shared.answered(id, outcome),
            Incoming::Invalid { id, error } => {
                tracing::warn!(%id, %error, "a message cannot be served");
                self.malformed = error.code == RpcError::PARSE_ERROR;
                self.refuse(&id, error);
            }
            Incoming::Ignored { reason } => tracing::warn!(reason, "a notification is ignored"),
        }
    }

    fn refuse(&self, id: &RequestId, error: RpcError) {
        if *id == RequestId::Null && !self.handler.answers_malformed() {
            return tracing::debug!(%error, "skipped");
        }
        self.requests.answer_at_once(id, Err(error));
    }

    fn notification(&self, method: String, params: Value) {
        let cancelled = match method.as_str() {
            "$/cancelRequest" => params.get("id"),
            "$/cancel_request" => params.get("requestId"),
            _ => {
                let name = method.clone();
                let handled = AssertUnwindSafe(|| self.handler.notification(Notification { method, params }));
                if catch_unwind(handled).is_err() {
                    tracing::error!(method = name, "the handler of a notification panicked");
                }
                return;
            }
        };
        match cancelled.and_then(RequestId::from_value) {
            Some(id) => self.requests.cancel(&id),
            None => tracing::warn!(method, "a cancel names no request"),
        }
    }

    async fn request(&mut self, id: RequestId, method: String, params: Value) {
        let cancelled = self.all.child_token();
        match self.requests.begin(&id, &cancelled) {
            Ok(()) => {}
            Err(Refused::InUse) => {
                let error = RpcError::invalid_request(format!("a request with the id {id} is not answered yet"));
                return self.requests.answer_at_once(&id, Err(error));
            }
            Err(Refused::TooMany) => return self.requests.answer_at_once(&id, Err(RpcError::overloaded())),
        }
        let request = Request { id: id.clone(), method: method.clone(), params, cancelled: cancelled.clone() };
        let reply = match catch_unwind(AssertUnwindSafe(|| self.handler.request(request))) {
            Ok(reply) => reply,
            Err(_) => Reply::Now(Err(panicked(&method))),
        };
        let nothing = || futures::future::ready(()).boxed();
        let (mut work, on_cancel, then) = match reply {
            Reply::Now(outcome) => return self.requests.finish_at_once(&id, outcome),
            Reply::Abortable(future) => (caught(future, method), OnCancel::Drop, nothing()),
            Reply::WindsDown(future) => (caught(future, method), OnCancel::Finish, nothing()),
            Reply::Followed { work, then } => (caught(work, method), OnCancel::Drop, then),
        };
        // Without the budget of this task, which would make a ready channel look full (see `Handler::request`).
        match futures::poll!(tokio::task::unconstrained(&mut work)) {
            Poll::Ready(outcome) => {
                drop_caught(work);
                let is_result = outcome.is_ok();
                self.requests.finish_at_once(&id, outcome);
                if is_result {
                    self.follow(then);
                }
            }
            Poll::Pending => {
                let requests = Arc::clone(&self.requests);
                let dropped = self.dropped.clone();
                self.tasks.spawn(async move {
                    let answered = async {
                        if requests.wait_and_answer(&id, work, on_cancel, cancelled).await {
                            followed(then).await;
                        }
                    };
                    tokio::select! {
                        biased;
                        () = dropped.cancelled() => requests.forget(&id),
                        () = answered => {}
                    }
                });
            }
        }
    }
}

impl Connection {
    /// Nothing is spawned where nothing follows.
    fn follow(&self, then: BoxFuture<'static, ()>) {
        let mut then = Box::pin(followed(then));
        if then.as_mut().now_or_never().is_some() {
            return;
        }
        let dropped = self.dropped.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = dropped.cancelled() => {}
                () = then => {}
            }
        });
    }
}

/// Also where the future of [`serve`] is dropped: nothing that belongs to the connection outlives it, and nobody waits for what will not come.
impl Drop for Connection {
    fn drop(&mut self) {
        self.all.cancel();
        self.dropped.cancel();
        self.requests.shared.no_more_answers();
        self.requests.shared.output.close();
        self.closing.cancel();
    }
}

#[derive(Clone, Copy)]
enum OnCancel {
    Drop,
    Finish,
}

impl Requests {
    /// From here on the request can be cancelled.
    fn begin(&self, id: &RequestId, cancelled: &CancellationToken) -> Result<(), Refused> {
        let mut pending = self.pending();
        let count = pending.len();
        match pending.entry(id.clone()) {
            Entry::Occupied(_) => Err(Refused::InUse),
            Entry::Vacant(_) if count >= MAX_PENDING => Err(Refused::TooMany),
            Entry::Vacant(entry) => {
                entry.insert(cancelled.clone());
                Ok(())
            }
        }
    }

    /// Harmless for a request that is answered, or that never was.
    fn cancel(&self, id: &RequestId) {
        let token = self.pending().get(id).cloned();
        match token {
            Some(token) => token.cancel(),
            None => tracing::debug!(%id, "a cancel of no request that waits"),
        }
    }

    /// Whether a result was sent.
    async fn wait_and_answer(
        &self,
        id: &RequestId,
        mut work: BoxFuture<'static, Result<Value, RpcError>>,
        on_cancel: OnCancel,
        cancelled: CancellationToken,
    ) -> bool {
        let outcome = match on_cancel {
            OnCancel::Drop => tokio::select! {
                biased;
                () = cancelled.cancelled() => Err(RpcError::cancelled()),
                outcome = &mut work => outcome,
            },
            OnCancel::Finish => {
                let outcome = work.as_mut().await;
                if cancelled.is_cancelled() { Err(RpcError::cancelled()) } else { outcome }
            }
        };
        // What it holds is given back before anybody sees the answer.
        drop_caught(work);
        let is_result = outcome.is_ok();
        let body = message::answer(id, outcome);
        let place = self.shared.output.place(body.len()).await;
        self.forget(id);
        let is_sent = place.and_then(|place| self.shared.output.put(place, &body)).is_ok();
        if !is_sent {
            tracing::debug!(%id, "an answer was not sent: the connection has ended");
        }
        is_result && is_sent
    }

    fn finish_at_once(&self, id: &RequestId, outcome: Result<Value, RpcError>) {
        self.forget(id);
        self.answer_at_once(id, outcome);
    }

    /// On the reading task, which must not wait.
    fn answer_at_once(&self, id: &RequestId, outcome: Result<Value, RpcError>) {
        if self.shared.output.put_at_once(&message::answer(id, outcome)).is_err() {
            tracing::debug!(%id, "an answer was not sent: the other side does not read");
        }
    }

    fn forget(&self, id: &RequestId) {
        self.pending().remove(id);
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn caught(
    future: BoxFuture<'static, Result<Value, RpcError>>,
    method: String,
) -> BoxFuture<'static, Result<Value, RpcError>> {
    Box::pin(async move { AssertUnwindSafe(future).catch_unwind().await.unwrap_or_else(|_| Err(panicked(&method))) })
}

async fn followed(then: BoxFuture<'static, ()>) {
    if AssertUnwindSafe(then).catch_unwind().await.is_err() {
        tracing::error!("what follows an answer panicked");
    }
}

/// A destructor that panics costs nothing but a line in the log.
fn drop_caught(work: BoxFuture<'static, Result<Value, RpcError>>) {
    if catch_unwind(AssertUnwindSafe(|| drop(work))).is_err() {
        tracing::error!("the handler of a request panicked while it was dropped");
    }
}

fn panicked(method: &str) -> RpcError {
    tracing::error!(method, "the handler of a request panicked");
    RpcError::internal(format!("`{method}` failed inside of the program; its log says where"))
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
