//! The end of a job's output in memory, by its place in the whole. The whole is kept in a file by whoever runs the command.

/// At least so much is kept, in bytes: what is older has reached the file.
const KEPT: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct Output {
    recent: String,
    /// Where `recent` begins.
    start: u64,
}

/// A piece of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub text: String,
    /// Where it begins: later than asked for where that is no longer in memory.
    pub from: u64,
}

impl Output {
    pub(super) fn push(&mut self, piece: &str) {
        self.recent.push_str(piece);
        // Not at each piece, as it moves all that is kept.
        if self.recent.len() > 2 * KEPT {
            let cut = boundary(&self.recent, self.recent.len() - KEPT);
            self.recent.drain(..cut);
            self.start += cut as u64;
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.start + self.recent.len() as u64
    }

    pub(super) fn read(&self, from: u64) -> Read {
        let offset = usize::try_from(from.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.recent.len());
        let offset = boundary(&self.recent, offset);
        Read { text: self.recent[offset..].to_owned(), from: self.start + offset as u64 }
    }
}

/// The first place between two characters from `at` on.
fn boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_5_places_stay_what_they_were_while_the_beginning_is_dropped() {
        let mut output = Output::default();
        assert_eq!(output.read(7), Read { text: String::new(), from: 0 });
        output.push("\u{e9}a");
        // Inside of a character: the next one.
        assert_eq!(output.read(1), Read { text: "a".to_owned(), from: 2 });
        let line = "0123456789abcde\n";
        for _ in 0..100_000 {
            output.push(line);
        }
        assert_eq!(output.len(), 3 + 1_600_000);
        assert!(output.recent.len() <= 2 * KEPT);
        let read = output.read(0);
        assert!(read.text.len() >= KEPT && read.from + read.text.len() as u64 == output.len());
        assert_eq!(output.read(output.len() - 3).text, "de\n");
        assert_eq!(output.read(u64::MAX), Read { text: String::new(), from: output.len() });
    }
}
