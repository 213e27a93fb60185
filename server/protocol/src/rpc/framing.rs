//! Bytes to frames and back, without input or output: a decoder is fed whatever arrived, in any pieces, and never fails for good. What a body says is not
//! looked at, but for the outline of one that is too long to be held.

mod content_length;
pub mod fuzz;
mod lines;
mod skim;

pub use content_length::ContentLengthDecoder;
pub use lines::LinesDecoder;
pub use skim::Skim;

/// Longest body that is taken, in bytes.
pub const MAX_BODY: usize = 16 * 1024 * 1024;

/// Garbage without a frame in it, in bytes, after which the framing counts as lost.
pub const MAX_GARBAGE: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Headers, an empty line, and as many bytes as `Content-Length` says: LSP.
    ContentLength,
    /// One message a line: ACP.
    Lines,
}

/// What a decoder found, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Body(Vec<u8>),
    /// A body over [`MAX_BODY`]; it was skipped.
    TooLarge(Skim),
    /// Bytes that are no frame, reported once a stretch; they are skipped up to the next header.
    Garbage,
    /// [`MAX_GARBAGE`] bytes without a frame: nothing good will come any more.
    Lost,
}

#[derive(Debug)]
pub enum Decoder {
    ContentLength(ContentLengthDecoder),
    Lines(LinesDecoder),
}

impl Decoder {
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::ContentLength => Self::ContentLength(ContentLengthDecoder::default()),
            Framing::Lines => Self::Lines(LinesDecoder::default()),
        }
    }

    /// Takes bytes off the front of `input` until a frame is complete; `None` once all of it is taken.
    pub fn decode(&mut self, input: &mut &[u8]) -> Option<Frame> {
        match self {
            Self::ContentLength(decoder) => decoder.decode(input),
            Self::Lines(decoder) => decoder.decode(input),
        }
    }

    /// Bytes that the decoder holds between two calls; never more than [`MAX_BODY`] and a line of headers.
    pub fn held(&self) -> usize {
        match self {
            Self::ContentLength(decoder) => decoder.held(),
            Self::Lines(decoder) => decoder.held(),
        }
    }
}

impl Framing {
    /// The frame of a body, which is JSON without line ends.
    pub fn encode(self, body: &[u8]) -> Vec<u8> {
        match self {
            Self::ContentLength => {
                let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
                frame.extend_from_slice(body);
                frame
            }
            Self::Lines => {
                let mut frame = Vec::with_capacity(body.len() + 1);
                frame.extend_from_slice(body);
                frame.push(b'\n');
                frame
            }
        }
    }
}

/// Takes bytes up to and with the next `\n` off the front of `input`: what stood before it, and whether there was one.
fn take_line<'a>(input: &mut &'a [u8]) -> (&'a [u8], bool) {
    match input.iter().position(|&byte| byte == b'\n') {
        Some(end) => {
            let line = &input[..end];
            *input = &input[end + 1..];
            (line, true)
        }
        None => (std::mem::take(input), false),
    }
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
