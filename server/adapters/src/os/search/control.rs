//! What ends a search before it has seen everything: a cancel, the time, the bytes. Asked at each file, and inside of files at each read.

use std::io::{self, Read};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use copydesk_engine::ports::{SearchError, SearchLimits, SearchStop};
use tokio_util::sync::CancellationToken;

pub(super) struct Control<'a> {
    cancel: &'a CancellationToken,
    deadline: Option<Instant>,
    bytes: AtomicU64,
    most_bytes: u64,
    stopped: OnceLock<SearchStop>,
}

impl<'a> Control<'a> {
    pub(super) fn new(limits: &SearchLimits, cancel: &'a CancellationToken) -> Self {
        Self {
            cancel,
            deadline: Instant::now().checked_add(limits.time),
            bytes: AtomicU64::new(0),
            most_bytes: limits.bytes,
            stopped: OnceLock::new(),
        }
    }

    pub(super) fn goes_on(&self) -> bool {
        if self.stopped.get().is_some() || self.cancel.is_cancelled() {
            return false;
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.stop(SearchStop::Time);
            return false;
        }
        true
    }

    /// Why the search saw less than there is.
    pub(super) fn outcome(&self) -> Result<Option<SearchStop>, SearchError> {
        if self.cancel.is_cancelled() { Err(SearchError::Cancelled) } else { Ok(self.stopped.get().copied()) }
    }

    pub(super) fn guard<R: Read>(&self, reader: R) -> Guarded<'_, R> {
        Guarded { control: self, reader }
    }

    fn spend(&self, bytes: usize) {
        let before = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if before.saturating_add(bytes as u64) > self.most_bytes {
            self.stop(SearchStop::Bytes);
        }
    }

    /// The first reason counts.
    fn stop(&self, why: SearchStop) {
        let _ = self.stopped.set(why);
    }
}

/// Fails once the search is over.
pub(super) struct Guarded<'a, R> {
    control: &'a Control<'a>,
    reader: R,
}

impl<R: Read> Read for Guarded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.control.goes_on() {
            return Err(io::Error::other("the search is over"));
        }
        let read = self.reader.read(buffer)?;
        self.control.spend(read);
        Ok(read)
    }
}
