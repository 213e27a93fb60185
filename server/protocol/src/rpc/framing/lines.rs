//! One message a line. A byte order mark at the start and blank lines are skipped; `\r\n` ends a line too.

use super::{Frame, MAX_BODY, Skim, take_line};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[derive(Debug, Default)]
pub struct LinesDecoder {
    line: Vec<u8>,
    /// The line is over the limit: the rest of it is skipped.
    skipping: Option<Skim>,
    past_first_line: bool,
}

impl LinesDecoder {
    pub fn decode(&mut self, input: &mut &[u8]) -> Option<Frame> {
        while !input.is_empty() {
            let (piece, ended) = take_line(input);
            // One more than the limit is let in, for the `\r` that may end the line.
            let room = MAX_BODY + 1 + BYTE_ORDER_MARK.len() - self.line.len();
            match &mut self.skipping {
                Some(skim) => skim.feed(piece),
                None if piece.len() <= room => self.line.extend_from_slice(piece),
                None => {
                    let mut skim = Skim::default();
                    skim.feed(&std::mem::take(&mut self.line));
                    skim.feed(piece);
                    self.skipping = Some(skim);
                }
            }
            if ended && let Some(frame) = self.finish_line() {
                return Some(frame);
            }
        }
        None
    }

    pub fn held(&self) -> usize {
        self.line.len() + self.skipping.as_ref().map_or(0, Skim::held)
    }

    fn finish_line(&mut self) -> Option<Frame> {
        let first = !std::mem::replace(&mut self.past_first_line, true);
        if let Some(skim) = self.skipping.take() {
            return Some(Frame::TooLarge(skim));
        }
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if first && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.len() > MAX_BODY {
            let mut skim = Skim::default();
            skim.feed(&line);
            return Some(Frame::TooLarge(skim));
        }
        (!line.iter().all(u8::is_ascii_whitespace)).then_some(Frame::Body(line))
    }
}
