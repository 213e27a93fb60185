//! A text with `\n` for every line break, as models see it, and the way back to the text as it is.

use std::borrow::Cow;

use crate::edit::TextEdit;

/// Offsets are bytes of `text`.
pub(super) struct LfText<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) original: &'a str,
    /// Offsets of the `\n` that are two bytes in the original.
    pairs: Vec<usize>,
}

impl<'a> LfText<'a> {
    pub(super) fn new(original: &'a str) -> Self {
        let (text, pairs) = normalised(original);
        Self { text, original, pairs }
    }

    /// The offset in the original.
    pub(super) fn original_offset(&self, at: usize) -> usize {
        at + self.pairs.partition_point(|pair| *pair < at)
    }

    /// The offset of an offset of the original that is not between `\r` and `\n`.
    pub(super) fn normalised_offset(&self, at: usize) -> usize {
        let (mut low, mut high) = (at.saturating_sub(self.pairs.len()), at.min(self.text.len()));
        while low < high {
            let middle = low.midpoint(high);
            if self.original_offset(middle) < at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The edit of the original; new line breaks are those of the place.
    pub(super) fn to_original(&self, edit: &TextEdit) -> TextEdit {
        let text = match self.line_break(edit) {
            "\n" => edit.text.clone(),
            other => edit.text.replace('\n', other),
        };
        TextEdit { range: self.original_offset(edit.range.start)..self.original_offset(edit.range.end), text }
    }

    /// Whether the range holds a `\r` that stands alone.
    pub(super) fn has_lone_cr(&self, start: usize, end: usize) -> bool {
        let text = &self.original.as_bytes()[self.original_offset(start)..self.original_offset(end)];
        memchr::memchr_iter(b'\r', text).any(|at| text.get(at + 1) != Some(&b'\n'))
    }

    /// The break of the replaced text or else of the line, or of the line before where it is the last.
    fn line_break(&self, edit: &TextEdit) -> &'a str {
        if matches!(self.text, Cow::Borrowed(_)) {
            return "\n";
        }
        let text = self.text.as_bytes();
        let after = memchr::memchr(b'\n', &text[edit.range.start..]).map(|at| at + edit.range.start);
        let found = after.or_else(|| memchr::memrchr(b'\n', &text[..edit.range.start]));
        found.map_or("\n", |at| &self.original[self.original_offset(at)..self.original_offset(at + 1)])
    }
}

/// With `\n` for `\r\n` and lone `\r`, and the offsets of those that were two bytes.
pub(super) fn normalised(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    let bytes = text.as_bytes();
    if memchr::memchr(b'\r', bytes).is_none() {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut out = String::with_capacity(text.len());
    let mut pairs = Vec::new();
    let mut done = 0;
    for at in memchr::memchr_iter(b'\r', bytes) {
        out.push_str(&text[done..at]);
        done = at + 1;
        if bytes.get(done) == Some(&b'\n') {
            pairs.push(out.len());
            done += 1;
        }
        out.push('\n');
    }
    out.push_str(&text[done..]);
    (Cow::Owned(out), pairs)
}

/// A text that is looked into, gone over once however often that is.
pub(super) struct Place<'a> {
    pub(super) file: &'a LfText<'a>,
    /// Of the text with `\n` for line breaks.
    pub(super) lines: Lines<'a>,
}

impl<'a> Place<'a> {
    pub(super) fn new(file: &'a LfText<'a>) -> Self {
        #[cfg(test)]
        GONE_OVER.set(GONE_OVER.get() + file.original.len());
        Self { file, lines: Lines::new(&file.text) }
    }
}

#[cfg(test)]
thread_local! {
    /// Bytes of the texts that were looked into.
    pub(super) static GONE_OVER: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The lines of a text with `\n`, without their breaks. A break at the end starts no further line.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes());
        // Counting is much faster than growing the list of a large text.
        let mut starts = Vec::with_capacity(breaks.clone().count() + 1);
        starts.extend(std::iter::once(0).chain(breaks.map(|at| at + 1)).filter(|start| *start < text.len()));
        Self { text, starts }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn line(&self, index: usize) -> &'a str {
        let line = &self.text[self.start(index)..self.start(index + 1)];
        line.strip_suffix('\n').unwrap_or(line)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> + '_ {
        (0..self.len()).map(|index| self.line(index))
    }

    /// Where the line starts; beyond the last it is the end of the text.
    pub(super) fn start(&self, index: usize) -> usize {
        self.starts.get(index).copied().unwrap_or(self.text.len())
    }

    /// Zero-based line of an offset.
    pub(super) fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }
}
