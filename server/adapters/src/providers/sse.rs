//! Server-sent events out of a stream of bytes, as the HTML standard defines them. Knows nothing of what the events hold.
//!
//! `eventsource-stream` reads fields and events. Four things are settled before it sees the bytes, because as of 0.2.3 it panics on a byte order mark,
//! stalls on bytes that are no UTF-8, holds back an event that ends in a lone CR, and drops a last event without its blank line.

use eventsource_stream::{EventStream, EventStreamError};
use futures::stream::{self, Stream, StreamExt};

/// What has not ended after so many bytes is no event: 64 MiB.
const MAX_EVENT: usize = 64 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SseError<E> {
    Transport(E),
    /// A line or an event passed `MAX_EVENT`.
    TooLong,
}

/// The `data` of each event, lines joined by LF. Comments and events without data do not appear.
pub(crate) fn data<S, B, E>(bytes: S) -> impl Stream<Item = Result<String, SseError<E>>>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
{
    bounded_data(bytes, MAX_EVENT)
}

fn bounded_data<S, B, E>(bytes: S, limit: usize) -> impl Stream<Item = Result<String, SseError<E>>>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
{
    EventStream::new(whole_lines(bytes, limit)).map(|event| match event {
        Ok(event) => Ok(event.data),
        Err(EventStreamError::Transport(error)) => Err(error),
        // Lines are valid UTF-8 here, and the grammar takes any line.
        Err(EventStreamError::Utf8(_) | EventStreamError::Parser(_)) => Err(SseError::TooLong),
    })
}

/// Whole lines ended by LF, without byte order mark; after the last byte a blank line, so that an unfinished event is still told.
fn whole_lines<S, B, E>(bytes: S, limit: usize) -> impl Stream<Item = Result<String, SseError<E>>>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
{
    let mut lines = Lines { limit, ..Lines::default() };
    bytes.map(Some).chain(stream::once(std::future::ready(None))).map(move |piece| match piece {
        Some(Ok(piece)) => lines.push(piece.as_ref()),
        Some(Err(error)) => Err(SseError::Transport(error)),
        None => Ok(lines.finish()),
    })
}

#[derive(Default)]
struct Lines {
    /// Bytes that a line, and the lines of an event together, may have.
    limit: usize,
    /// Of the event that has not ended yet: bytes of its lines that have. Comments are no part of it.
    event: usize,
    /// The line that has not ended yet.
    open: Vec<u8>,
    after_cr: bool,
    started: bool,
}

impl Lines {
    fn push<E>(&mut self, piece: &[u8]) -> Result<String, SseError<E>> {
        // Of the line that has not ended, and behind the last that has.
        let mut start = 0;
        let mut end = 0;
        for &byte in piece {
            match byte {
                b'\n' if self.after_cr => self.after_cr = false,
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    match &self.open[start..] {
                        [] => self.event = 0,
                        [b':', ..] => {}
                        line => self.event += line.len(),
                    }
                    if self.event > self.limit {
                        return Err(SseError::TooLong);
                    }
                    self.open.push(b'\n');
                    end = self.open.len();
                    start = end;
                }
                _ => {
                    self.after_cr = false;
                    self.open.push(byte);
                }
            }
        }
        if self.open.len() - end > self.limit {
            return Err(SseError::TooLong);
        }
        let rest = self.open.split_off(end);
        Ok(self.text(rest))
    }

    fn finish(&mut self) -> String {
        let mut text = self.text(Vec::new());
        text.push_str("\n\n");
        text
    }

    /// What `open` holds, with `rest` in its place. A line end never lies inside a character, so that nothing is cut here.
    fn text(&mut self, rest: Vec<u8>) -> String {
        let lines = std::mem::replace(&mut self.open, rest);
        let mut lines = lines.as_slice();
        if !self.started && !lines.is_empty() {
            self.started = true;
            lines = lines.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(lines);
        }
        String::from_utf8_lossy(lines).into_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use futures::FutureExt;

    fn read(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<String> {
        let pieces: Vec<Result<Vec<u8>, ()>> = pieces.into_iter().map(Ok).collect();
        data(stream::iter(pieces)).map(|event| event.unwrap()).collect().now_or_never().unwrap()
    }

    /// The same events, however the bytes are split.
    #[track_caller]
    fn check(body: impl AsRef<[u8]>, expected: &[&str]) {
        let body = body.as_ref();
        assert_eq!(read([body.to_vec()]), expected, "in one piece");
        assert_eq!(read(body.iter().map(|byte| vec![*byte])), expected, "a byte a piece");
        for at in 0..body.len() {
            assert_eq!(read([body[..at].to_vec(), body[at..].to_vec()]), expected, "split at {at}");
        }
    }

    #[test]
    fn r21_1_an_event_without_an_end_is_an_error_however_it_comes() {
        let bounded = |body: &str, size: usize| {
            let pieces: Vec<Result<Vec<u8>, ()>> =
                body.as_bytes().chunks(size).map(|piece| Ok(piece.to_vec())).collect();
            let events: Vec<_> = bounded_data(stream::iter(pieces), 1000).collect().now_or_never().unwrap();
            events.into_iter().find_map(Result::err)
        };
        for line in ["data: aaaa\n", "data: aaaa\r\n", "data\n", "id: 1\n", "x\n"] {
            for size in [1, 7, 1 << 20] {
                let events = format!("{}\n", line.repeat(20)).repeat(50);
                assert_eq!(bounded(&events, size), None, "{line:?}: many events");
                assert_eq!(bounded(&line.repeat(1001), size), Some(SseError::TooLong), "{line:?}: one event");
                let comments = format!("{line}{}\n", ": ping\n".repeat(1001));
                assert_eq!(bounded(&comments, size), None, "{line:?}: comments are no part of it");
            }
        }
        for start in ["data: ", ": "] {
            assert_eq!(bounded(&format!("{start}{}", "a".repeat(1001)), 7), Some(SseError::TooLong), "{start:?}");
        }
    }

    #[test]
    fn r14_1_comments_are_no_events() {
        check(": ping\n\n:\n\ndata: a\n: ping\ndata: b\n\n: end\n\n", &["a\nb"]);
    }

    #[test]
    fn r14_1_all_line_ends() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\r\n\ndata: b\r\r\n", &["a", "b"]);
    }

    #[test]
    fn r14_1_an_event_that_ends_in_a_lone_cr_is_told_at_once() {
        let bytes = stream::iter([Ok::<_, ()>("data: a\r\r")]).chain(stream::pending());
        let events = std::pin::pin!(data(bytes));
        assert_eq!(events.into_future().now_or_never().and_then(|(event, _)| event), Some(Ok("a".to_owned())));
    }

    #[test]
    fn r14_1_several_data_lines_and_other_fields() {
        check("event: x\nid: 1\nretry: 5\ndata: {\ndata: }\nunknown: y\n\n", &["{\n}"]);
        check("data:a\n\ndata:  b\n\n", &["a", " b"]);
    }

    #[test]
    fn r14_1_no_final_blank_line() {
        check("data: a\n\ndata: b\n", &["a", "b"]);
        check("data: a\n\ndata: b", &["a", "b"]);
        check("", &[]);
    }

    #[test]
    fn r14_1_byte_order_mark_and_characters_of_several_bytes() {
        check("\u{feff}data: é😀\u{feff}\n\n", &["é😀\u{feff}"]);
    }

    #[test]
    fn r14_1_bytes_that_are_no_utf8_cost_one_character() {
        check(b"data: a\xFFb\n\ndata: c\n\n", &["a\u{fffd}b", "c"]);
    }

    #[test]
    fn r14_1_a_transport_error_keeps_what_came_before() {
        let bytes = stream::iter([Ok("data: a\n\ndata: b"), Err("reset")]);
        let events: Vec<_> = data(bytes).take(2).collect().now_or_never().unwrap();
        assert_eq!(events, [Ok("a".to_owned()), Err(SseError::Transport("reset"))]);
    }
}
