//! The output of a command: head and tail in memory, all of it in a file once that is more (R7.4). Knows nothing of processes.

use std::io;

use copydesk_engine::ports::CapturedOutput;
use copydesk_workspace::path::AbsPath;
use tokio::io::AsyncWriteExt as _;

// Together a little below what a tool's result may have (2,000 lines, 50 KiB), so that what is kept here is not cut again.
const HEAD: Limit = Limit { bytes: 16 * 1024, lines: 600 };
/// Larger than the head: errors stand at the end.
const TAIL: Limit = Limit { bytes: 32 * 1024, lines: 1300 };
/// The file ends here, in bytes: a command that writes without end must not fill the disk.
const MAX_FILE: u64 = 256 * 1024 * 1024;

#[derive(Clone, Copy)]
struct Limit {
    bytes: usize,
    lines: usize,
}

pub(super) struct Capture {
    /// A character of which only the beginning has come.
    partial: Vec<u8>,
    /// All of the text, until it is more than head and tail; then the head.
    head: String,
    head_lines: usize,
    rest: Option<Rest>,
    overflow: AbsPath,
}

/// What follows the head.
struct Rest {
    tail: String,
    omitted_bytes: u64,
    omitted_lines: u64,
    file: Option<OverflowFile>,
}

struct OverflowFile {
    path: AbsPath,
    file: tokio::fs::File,
    written: u64,
}

impl Capture {
    pub(super) fn new(overflow: AbsPath) -> Self {
        Self { partial: Vec::new(), head: String::new(), head_lines: 0, rest: None, overflow }
    }

    /// Returns the text of these bytes; what is not UTF-8 is replaced by U+FFFD, a character that is cut at the end waits for the rest of it.
    pub(super) async fn push(&mut self, bytes: &[u8]) -> String {
        let text = decode(&mut self.partial, bytes);
        self.push_text(&text).await;
        text
    }

    pub(super) async fn finish(mut self) -> CapturedOutput {
        if !self.partial.is_empty() {
            self.push_text("\u{FFFD}").await;
        }
        let Some(mut rest) = self.rest else {
            return CapturedOutput { head: self.head, ..CapturedOutput::default() };
        };
        rest.trim();
        let file = match rest.file {
            Some(file) => file.close().await,
            None => None,
        };
        CapturedOutput {
            head: self.head,
            tail: rest.tail,
            omitted_bytes: rest.omitted_bytes,
            omitted_lines: rest.omitted_lines,
            file,
        }
    }

    async fn push_text(&mut self, text: &str) {
        if let Some(rest) = &mut self.rest {
            return rest.push(text).await;
        }
        self.head.push_str(text);
        self.head_lines += lines(text);
        if self.head.len() > HEAD.bytes + TAIL.bytes || self.head_lines > HEAD.lines + TAIL.lines {
            let mut rest =
                Rest { tail: String::new(), omitted_bytes: 0, omitted_lines: 0, file: open(&self.overflow).await };
            if let Some(file) = &mut rest.file {
                file.write(&self.head).await;
            }
            rest.tail = self.head.split_off(end_of_head(&self.head));
            rest.trim();
            self.rest = Some(rest);
        }
    }
}

impl Rest {
    async fn push(&mut self, text: &str) {
        if let Some(file) = &mut self.file {
            file.write(text).await;
        }
        self.tail.push_str(text);
        // Not at each piece, as it moves all of the tail.
        if self.tail.len() > 4 * TAIL.bytes {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let start = start_of_tail(&self.tail);
        self.omitted_bytes += start as u64;
        self.omitted_lines += lines(&self.tail[..start]) as u64;
        self.tail.drain(..start);
    }
}

impl OverflowFile {
    /// An error is told in the log: the command goes on, and what was written stays.
    async fn write(&mut self, text: &str) {
        if self.written >= MAX_FILE {
            return;
        }
        self.written += text.len() as u64;
        let mut result = self.file.write_all(text.as_bytes()).await;
        if result.is_ok() && self.written >= MAX_FILE {
            result = self.file.write_all(b"\n[The rest of the output was not kept.]\n").await;
        }
        if let Err(error) = result {
            tracing::warn!(path = %self.path, %error, "the output of a command could not be kept in full");
            self.written = MAX_FILE;
        }
    }

    async fn close(mut self) -> Option<AbsPath> {
        if let Err(error) = self.file.flush().await {
            tracing::warn!(path = %self.path, %error, "the output of a command could not be kept in full");
        }
        Some(self.path)
    }
}

async fn open(path: &AbsPath) -> Option<OverflowFile> {
    match create(path).await {
        Ok(file) => Some(OverflowFile { path: path.clone(), file, written: 0 }),
        Err(error) => {
            tracing::warn!(%path, %error, "the output of a command could not be kept in full");
            None
        }
    }
}

async fn create(path: &AbsPath) -> io::Result<tokio::fs::File> {
    if let Some(folder) = path.parent() {
        tokio::fs::create_dir_all(folder.as_path()).await?;
    }
    // Readable by the user alone: output may hold secrets.
    tokio::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path.as_path()).await
}

fn decode(partial: &mut Vec<u8>, bytes: &[u8]) -> String {
    partial.extend_from_slice(bytes);
    let bytes = std::mem::take(partial);
    let mut text = String::with_capacity(bytes.len());
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        let bad = chunk.invalid();
        let is_cut =
            chunks.peek().is_none() && std::str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
        if is_cut {
            bad.clone_into(partial);
        } else if !bad.is_empty() {
            text.push('\u{FFFD}');
        }
    }
    text
}

/// After a line's end where that loses little, else after a character.
fn end_of_head(text: &str) -> usize {
    let by_lines = text.match_indices('\n').nth(HEAD.lines - 1).map_or(text.len(), |(at, _)| at + 1);
    let end = boundary(text, (0..=by_lines.min(HEAD.bytes)).rev());
    match text[..end].rfind('\n') {
        Some(at) if at >= end / 2 => at + 1,
        _ => end,
    }
}

fn start_of_tail(text: &str) -> usize {
    let ended = text.strip_suffix('\n').unwrap_or(text);
    let by_lines = ended.rmatch_indices('\n').nth(TAIL.lines - 1).map_or(0, |(at, _)| at + 1);
    let by_bytes = boundary(text, text.len().saturating_sub(TAIL.bytes)..=text.len());
    if by_lines >= by_bytes {
        return by_lines;
    }
    match text[by_bytes..].find('\n') {
        Some(at) if at < (text.len() - by_bytes) / 2 => by_bytes + at + 1,
        _ => by_bytes,
    }
}

/// The first of these places that is between two characters.
fn boundary(text: &str, mut places: impl Iterator<Item = usize>) -> usize {
    places.find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
