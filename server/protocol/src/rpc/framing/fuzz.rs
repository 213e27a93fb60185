//! What must hold of the decoders whatever bytes come: one function, called by the fuzz targets and by a test of every run.

use super::{Decoder, Frame, Framing, MAX_BODY};
use crate::rpc::message;

/// Beyond a body a decoder holds a line of headers or a mark.
const SLACK: usize = 8 * 1024;

/// Panics if the frames depend on how the bytes were split, if a decoder holds more than its bound, or if a body brings the parser down.
///
/// The first byte says in how many sizes of pieces the rest comes (at most 15), the next ones are those sizes, less one; the last size is repeated.
pub fn check(framing: Framing, data: &[u8]) {
    let Some((&count, rest)) = data.split_first() else { return };
    let (sizes, stream) = rest.split_at(usize::from(count % 16).min(rest.len()));
    let sizes: Vec<usize> = sizes.iter().map(|&size| usize::from(size) + 1).collect();

    let whole = decode(framing, stream, &[stream.len().max(1)]);
    assert_eq!(decode(framing, stream, &sizes), whole, "in pieces of {sizes:?}");
    assert_eq!(decode(framing, stream, &[1]), whole, "byte by byte");
    for frame in whole {
        if let Frame::Body(body) = frame {
            message::parse(&body);
        }
    }
}

fn decode(framing: Framing, stream: &[u8], sizes: &[usize]) -> Vec<Frame> {
    let mut decoder = Decoder::new(framing);
    let mut frames = Vec::new();
    let last = sizes.last().copied().unwrap_or(1);
    let mut sizes = sizes.iter().copied().chain(std::iter::repeat(last));
    let mut rest = stream;
    while let Some(size) = sizes.next().filter(|_| !rest.is_empty()) {
        let (mut piece, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        while let Some(frame) = decoder.decode(&mut piece) {
            frames.push(frame);
            assert!(frames.len() <= stream.len() + 1, "every frame takes something");
        }
        assert!(piece.is_empty(), "all of a piece is taken");
        assert!(decoder.held() <= MAX_BODY + SLACK, "{} bytes are held", decoder.held());
    }
    frames
}
