//! The one way out: a queue in front of the task that owns the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::error::Closed;
use super::framing::Framing;

/// Bytes that are queued before senders wait.
pub const QUEUED_OUTPUT: usize = 4 * 1024 * 1024;

/// Bytes that are queued, what the reading task put in without waiting included, before the connection ends.
pub const MAX_QUEUED_OUTPUT: usize = 64 * 1024 * 1024;

/// What a message costs at least: many small ones are bounded too.
const MIN_COST: usize = 256;

/// Frames that are written together at most.
const BURST: usize = 64;

pub(super) struct Output {
    framing: Framing,
    queue: mpsc::UnboundedSender<Queued>,
    room: Arc<Semaphore>,
    queued: Arc<AtomicUsize>,
    /// Nobody takes the output any more.
    failed: CancellationToken,
}

struct Queued {
    frame: Vec<u8>,
    cost: usize,
    /// Given back when it is written.
    _room: Option<OwnedSemaphorePermit>,
}

/// A place in the queue, paid for.
pub(super) struct Place(OwnedSemaphorePermit);

impl Output {
    pub(super) fn new(framing: Framing) -> (Self, Writer) {
        let (queue, receiver) = mpsc::unbounded_channel();
        let queued = Arc::new(AtomicUsize::new(0));
        let failed = CancellationToken::new();
        let writer = Writer { receiver, queued: Arc::clone(&queued), failed: failed.clone() };
        (Self { framing, queue, room: Arc::new(Semaphore::new(QUEUED_OUTPUT)), queued, failed }, writer)
    }

    /// Waits for room for a body of so many bytes.
    pub(super) async fn place(&self, bytes: usize) -> Result<Place, Closed> {
        let cost = cost(bytes).min(QUEUED_OUTPUT);
        let permits = u32::try_from(cost).unwrap_or(u32::MAX);
        Arc::clone(&self.room).acquire_many_owned(permits).await.map(Place).map_err(|_| Closed)
    }

    pub(super) fn put(&self, place: Place, body: &[u8]) -> Result<(), Closed> {
        self.queue(body, Some(place.0))
    }

    /// Without waiting; over [`MAX_QUEUED_OUTPUT`] the output counts as failed.
    pub(super) fn put_at_once(&self, body: &[u8]) -> Result<(), Closed> {
        if self.queued.load(Ordering::Relaxed) + body.len() > MAX_QUEUED_OUTPUT {
            self.failed.cancel();
            return Err(Closed);
        }
        self.queue(body, None)
    }

    pub(super) fn failed(&self) -> &CancellationToken {
        &self.failed
    }

    /// Whoever waits for room is told that the connection has ended.
    pub(super) fn close(&self) {
        self.room.close();
    }

    fn queue(&self, body: &[u8], room: Option<OwnedSemaphorePermit>) -> Result<(), Closed> {
        let cost = cost(body.len());
        self.queued.fetch_add(cost, Ordering::Relaxed);
        self.queue.send(Queued { frame: self.framing.encode(body), cost, _room: room }).map_err(|_| Closed)
    }
}

fn cost(bytes: usize) -> usize {
    bytes.max(MIN_COST)
}

pub(super) struct Writer {
    receiver: mpsc::UnboundedReceiver<Queued>,
    queued: Arc<AtomicUsize>,
    failed: CancellationToken,
}

impl Writer {
    /// Writes until the output fails, or `closing` fires and the queue is empty.
    pub(super) async fn run(mut self, mut writer: Box<dyn AsyncWrite + Send + Unpin>, closing: CancellationToken) {
        let mut burst = Vec::with_capacity(BURST);
        let mut bytes = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = closing.cancelled(), if !self.receiver.is_closed() => {
                    self.receiver.close();
                    continue;
                }
                count = self.receiver.recv_many(&mut burst, BURST) => if count == 0 { break },
            }
            bytes.clear();
            for message in &burst {
                bytes.extend_from_slice(&message.frame);
            }
            let written = async {
                writer.write_all(&bytes).await?;
                writer.flush().await
            };
            if let Err(error) = written.await {
                tracing::info!(%error, "the output is closed");
                self.failed.cancel();
                return;
            }
            let cost = burst.drain(..).map(|message| message.cost).sum();
            self.queued.fetch_sub(cost, Ordering::Relaxed);
            bytes.shrink_to(64 * 1024);
        }
        if let Err(error) = writer.shutdown().await {
            tracing::debug!(%error, "the output could not be closed");
        }
    }
}
