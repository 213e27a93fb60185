//! A writer for people: what it is given may quote files of others, and draws nothing on the terminal.

use std::io::{self, Write};

use copydesk_engine::escape::escaped;

/// Escapes control and invisible characters, line ends and tabs aside. Each piece that is written must end between two characters.
pub struct Printable<W>(pub W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.write_all(escaped(&String::from_utf8_lossy(piece)).as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn text_stays_and_nothing_else_draws() {
        let mut out = Vec::new();
        let quoted = "\u{1b}[2J\u{7}";
        write!(Printable(&mut out), "a\tb\né {quoted} \u{202e}x\n").unwrap();
        Printable(&mut out).write_all(b"\xffz").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\tb\né \\u{1b}[2J\\u{7} \\u{202e}x\n\u{fffd}z");
    }
}
