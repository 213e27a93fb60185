//! The two streams that are written: the answer, and what is said beside it. Each piece is written whole, in the order in which it was given.

use std::io::{self, Write as _};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;

pub(super) struct Screen {
    output: Mutex<Output>,
}

struct Output {
    stream: Box<dyn AsyncWrite + Send + Unpin>,
    /// Whether the last character was the end of a line.
    at_start: bool,
    /// Nobody reads any more: the rest is dropped.
    is_closed: bool,
}

impl Screen {
    pub(super) fn new(stream: Box<dyn AsyncWrite + Send + Unpin>) -> Self {
        Self { output: Mutex::new(Output { stream, at_start: true, is_closed: false }) }
    }

    /// To standard output. `false` where nobody reads it any more.
    pub(super) async fn write(&self, text: &str) -> bool {
        let mut output = self.output.lock().await;
        output.write(text).await;
        !output.is_closed
    }

    /// To standard output, on a line of its own.
    pub(super) async fn write_line(&self, text: &str) -> bool {
        let mut output = self.output.lock().await;
        output.start_line().await;
        output.write(text).await;
        !output.is_closed
    }

    /// To standard error, behind what standard output has got so far.
    pub(super) async fn tell(&self, text: &str) {
        let _turn = self.output.lock().await;
        error(text);
    }

    /// The same, with the answer's line ended before.
    pub(super) async fn tell_apart(&self, text: &str) {
        let mut output = self.output.lock().await;
        output.start_line().await;
        error(text);
    }

    pub(super) async fn end_line(&self) {
        self.output.lock().await.start_line().await;
    }
}

impl Output {
    async fn start_line(&mut self) {
        if !self.at_start {
            self.write("\n").await;
        }
    }

    async fn write(&mut self, text: &str) {
        if text.is_empty() || self.is_closed {
            return;
        }
        let written = match self.stream.write_all(text.as_bytes()).await {
            Ok(()) => self.stream.flush().await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::debug!(%error, "standard output is closed");
            self.is_closed = true;
        }
        self.at_start = text.ends_with('\n');
    }
}

/// Short, and to a stream that is not read by programs.
fn error(text: &str) {
    // There is no other place to tell that nobody can be told.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
