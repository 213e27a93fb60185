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
    /// What stands last on standard error and goes as soon as anything else is written.
    passing: Option<Standing>,
    passed: u64,
}

/// Lines that pass; each time they have a number of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passing(u64);

struct Standing {
    passing: Passing,
    lines: usize,
}

/// To the beginning of the line, and nothing behind it (ECMA-48).
const CLEAR_LINE: &str = "\r\u{1b}[K";
const UP: &str = "\u{1b}[1A";
/// A line that is too long is cut at the edge, so that each takes one row (DECAWM).
const NO_WRAP: &str = "\u{1b}[?7l";
const WRAP: &str = "\u{1b}[?7h";

impl Screen {
    pub(super) fn new(stream: Box<dyn AsyncWrite + Send + Unpin>) -> Self {
        Self { output: Mutex::new(Output { stream, at_start: true, is_closed: false, passing: None, passed: 0 }) }
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
        let mut output = self.output.lock().await;
        output.clear_passing();
        error(text);
    }

    /// The same, with the answer's line ended before.
    pub(super) async fn tell_apart(&self, text: &str) {
        let mut output = self.output.lock().await;
        output.start_line().await;
        error(text);
    }

    /// Lines on standard error that pass.
    pub(super) async fn begin_passing(&self, text: &str) -> Passing {
        let mut output = self.output.lock().await;
        output.start_line().await;
        output.passed += 1;
        let passing = Passing(output.passed);
        output.pass(passing, text);
        passing
    }

    /// `false` where they have passed.
    pub(super) async fn renew(&self, passing: Passing, text: &str) -> bool {
        let mut output = self.output.lock().await;
        let stands = output.stands(passing);
        if stands {
            output.clear_passing();
            output.pass(passing, text);
        }
        stands
    }

    pub(super) async fn clear_passing(&self, line: Passing) {
        let mut output = self.output.lock().await;
        if output.stands(line) {
            output.clear_passing();
        }
    }

    pub(super) async fn end_line(&self) {
        self.output.lock().await.start_line().await;
    }
}

impl Output {
    fn stands(&self, passing: Passing) -> bool {
        self.passing.as_ref().is_some_and(|standing| standing.passing == passing)
    }

    fn pass(&mut self, passing: Passing, text: &str) {
        let text = text.trim_end_matches('\n');
        self.passing = Some(Standing { passing, lines: text.split('\n').count() });
        error(&format!("{NO_WRAP}{text}{WRAP}"));
    }

    fn clear_passing(&mut self) {
        if let Some(Standing { lines, .. }) = self.passing.take() {
            error(&format!("{CLEAR_LINE}{}", [UP, CLEAR_LINE].concat().repeat(lines - 1)));
        }
    }

    async fn start_line(&mut self) {
        self.clear_passing();
        if !self.at_start {
            self.write("\n").await;
        }
    }

    async fn write(&mut self, text: &str) {
        if text.is_empty() || self.is_closed {
            return;
        }
        self.clear_passing();
        let written = match self.stream.write_all(text.as_bytes()).await {
            Ok(()) => self.stream.flush().await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::debug!(%error, "standard output is closed");
            self.is_closed = true;
            // A reader that has seen enough is no failure.
            if error.kind() != io::ErrorKind::BrokenPipe {
                self::error(&format!("Standard output cannot be written: {error}.\n"));
            }
        }
        self.at_start = text.ends_with('\n');
    }
}

/// Short, and to a stream that is not read by programs.
fn error(text: &str) {
    // There is no other place to tell that nobody can be told.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
