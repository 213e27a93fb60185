//! LSP's framing. Taken as peers really send it: header names in any case, `\n` alone as line end, headers in any order, unknown headers, stray blank lines.
//! What is no header is garbage, and decoding goes on at the next `Content-Length`, even one that stands in the middle of a line.

use super::{Frame, MAX_BODY, MAX_GARBAGE, Skim, take_line};

/// Longest line of a header, in bytes; a longer one is garbage.
const MAX_LINE: usize = 4096;

/// A length above this, in bytes, is no honest length, and is not waited for.
const MAX_SKIPPED_BODY: u64 = 1024 * 1024 * 1024;

const NAME: &[u8] = b"content-length";

#[derive(Debug, Default)]
pub struct ContentLengthDecoder {
    state: State,
    /// Bytes taken since the last good header.
    garbage: u64,
}

#[derive(Debug)]
enum State {
    Headers {
        line: Vec<u8>,
        length: Option<u64>,
        /// A header of this frame came already.
        begun: bool,
        /// Garbage that was reported already: silent until the next length.
        lost: bool,
    },
    Body {
        bytes: Vec<u8>,
        length: usize,
    },
    Skip {
        left: u64,
        skim: Skim,
    },
}

impl Default for State {
    fn default() -> Self {
        Self::headers(false)
    }
}

impl State {
    fn headers(lost: bool) -> Self {
        Self::Headers { line: Vec::new(), length: None, begun: false, lost }
    }
}

impl ContentLengthDecoder {
    pub fn decode(&mut self, input: &mut &[u8]) -> Option<Frame> {
        while !input.is_empty() {
            let frame = match &mut self.state {
                State::Headers { .. } => self.decode_headers(input),
                State::Body { bytes, length } => {
                    let taken = (*length - bytes.len()).min(input.len());
                    bytes.extend_from_slice(&input[..taken]);
                    *input = &input[taken..];
                    if bytes.len() < *length {
                        return None;
                    }
                    let body = std::mem::take(bytes);
                    self.state = State::default();
                    Some(Frame::Body(body))
                }
                State::Skip { left, skim } => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                    skim.feed(&input[..taken]);
                    *left -= taken as u64;
                    *input = &input[taken..];
                    if *left > 0 {
                        return None;
                    }
                    let skim = std::mem::take(skim);
                    self.state = State::default();
                    Some(Frame::TooLarge(skim))
                }
            };
            if frame.is_some() {
                return frame;
            }
        }
        None
    }

    pub fn held(&self) -> usize {
        match &self.state {
            State::Headers { line, .. } => line.len(),
            State::Body { bytes, .. } => bytes.len(),
            State::Skip { skim, .. } => skim.held(),
        }
    }

    /// Takes one line, or the piece of it that is there.
    fn decode_headers(&mut self, input: &mut &[u8]) -> Option<Frame> {
        let State::Headers { line, length, begun, lost } = &mut self.state else { return None };
        // Never more than one byte over the limit, however the bytes come in: what is found does not depend on how they were split.
        let mut window = &input[..input.len().min(MAX_LINE + 1 - line.len())];
        let (piece, ended) = take_line(&mut window);
        line.extend_from_slice(piece);
        let taken = piece.len() + usize::from(ended);
        *input = &input[taken..];
        self.garbage += taken as u64;
        if self.garbage > MAX_GARBAGE {
            self.garbage = 0;
            self.state = State::headers(true);
            return Some(Frame::Lost);
        }
        if !ended {
            if line.len() <= MAX_LINE {
                return None;
            }
            // What follows may still hold a header: its first bytes are kept.
            let keep = line.len() - 2 * NAME.len();
            line.drain(..keep);
            let reported = std::mem::replace(lost, true);
            return (!reported).then_some(Frame::Garbage);
        }

        let text = std::mem::take(line);
        let text = text.strip_suffix(b"\r").unwrap_or(&text);
        match classify(text) {
            Line::Empty => {
                if let Some(length) = *length {
                    self.garbage = 0;
                    return self.begin_body(length);
                }
                // Blank lines between frames are nothing; a block of headers without a length is a frame that cannot be read.
                let broken = std::mem::take(begun) && !*lost;
                if broken {
                    *lost = true;
                }
                broken.then_some(Frame::Garbage)
            }
            Line::Length { value, preceded } => {
                let report = preceded && !*lost;
                *lost = false;
                *begun = true;
                *length = Some(value);
                report.then_some(Frame::Garbage)
            }
            Line::Other if *lost => None,
            Line::Other => {
                *begun = true;
                None
            }
            Line::Garbage => {
                *length = None;
                *begun = false;
                let reported = std::mem::replace(lost, true);
                (!reported).then_some(Frame::Garbage)
            }
        }
    }

    fn begin_body(&mut self, length: u64) -> Option<Frame> {
        match usize::try_from(length) {
            Ok(0) => {
                self.state = State::default();
                Some(Frame::Body(Vec::new()))
            }
            // The room grows with what arrives: a header alone costs nothing.
            Ok(length) if length <= MAX_BODY => {
                self.state = State::Body { bytes: Vec::with_capacity(length.min(64 * 1024)), length };
                None
            }
            _ => {
                self.state = State::Skip { left: length, skim: Skim::default() };
                None
            }
        }
    }
}

enum Line {
    Empty,
    Length {
        value: u64,
        /// Something that is no header stands before it in the line.
        preceded: bool,
    },
    /// Some other header.
    Other,
    Garbage,
}

fn classify(line: &[u8]) -> Line {
    if line.is_empty() {
        return Line::Empty;
    }
    if let Some(start) = line.windows(NAME.len()).rposition(|window| window.eq_ignore_ascii_case(NAME)) {
        let rest = line[start + NAME.len()..].trim_ascii_start();
        return match rest.strip_prefix(b":").and_then(|value| parse_length(value.trim_ascii())) {
            Some(value) => Line::Length { value, preceded: !line[..start].trim_ascii().is_empty() },
            None => Line::Garbage,
        };
    }
    match line.iter().position(|&byte| byte == b':') {
        Some(end) if end > 0 && line[..end].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') => {
            Line::Other
        }
        _ => Line::Garbage,
    }
}

fn parse_length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (value <= MAX_SKIPPED_BODY).then_some(value)
}
