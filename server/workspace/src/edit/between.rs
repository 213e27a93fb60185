//! The smallest edit that makes one text of another: by lines, then by words, then by characters. What is equal at both ends is stripped first, so that the
//! cost is that of the changed part.

use std::ops::Range;

use ropey::Rope;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::{EditSet, TextEdit};

/// Bytes of a changed run of lines above which it is replaced as a whole, without looking for equal words.
const MAX_REFINED: usize = 16 * 1024;

/// Bytes that are compared at once.
const BLOCK: usize = 64;

pub(super) fn between(before: &Rope, after: &Rope) -> EditSet {
    let mut edits = Vec::new();
    changed_runs(before, after, &mut |at, old, new| refine(old, new, at, &mut edits));
    EditSet::from_sorted(before.len_bytes(), edits).with_whole_line_breaks(before)
}

/// A run of whole lines that differs, in bytes of either text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineChange {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// In ascending order; between two of them stands at least one line that is the same in both.
pub(crate) fn changed_lines(before: &Rope, after: &Rope) -> Vec<LineChange> {
    let mut changes = Vec::new();
    let (mut removed, mut added) = (0, 0);
    changed_runs(before, after, &mut |at, old, new| {
        let start = at - removed + added;
        changes.push(LineChange { old: at..at + old.len(), new: start..start + new.len() });
        removed += old.len();
        added += new.len();
    });
    changes
}

/// Calls `changed` with offset, old and new text of every run of lines that differs.
fn changed_runs(before: &Rope, after: &Rope, changed: &mut dyn FnMut(usize, &str, &str)) {
    let base_len = before.len_bytes();
    if before.is_instance(after) {
        return;
    }
    let (prefix, suffix) = equal_ends(before, after);
    if prefix == base_len && prefix == after.len_bytes() {
        return;
    }
    let start = line_start(before, prefix).min(line_start(after, prefix));
    let kept = |text: &Rope| text.len_bytes() - next_line_start(text, text.len_bytes() - suffix);
    let end = kept(before).min(kept(after));
    let old = before.byte_slice(start..base_len - end).to_string();
    let new = after.byte_slice(start..after.len_bytes() - end).to_string();
    let (old_lines, new_lines) = (lines(&old), lines(&new));
    diff(&old, &old_lines, &new, &new_lines, start, changed);
}

/// A changed run of lines.
fn refine(old: &str, new: &str, at: usize, edits: &mut Vec<TextEdit>) {
    if old.is_empty() || new.is_empty() || old.len() + new.len() > MAX_REFINED {
        strip(old, new, at, edits);
    } else {
        diff(old, &words(old), new, &words(new), at, &mut |at, old, new| strip(old, new, at, edits));
    }
}

/// A changed run without what is equal at its ends.
fn strip(old: &str, new: &str, at: usize, edits: &mut Vec<TextEdit>) {
    let (prefix, suffix) = common_ends(old, new);
    edits.push(TextEdit {
        range: at + prefix..at + old.len() - suffix,
        text: new[prefix..new.len() - suffix].to_owned(),
    });
}

/// Bytes that are equal at the start and at the end, in whole characters and not overlapping.
pub(crate) fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let len = |(char, _): (char, char)| char.len_utf8();
    let prefix: usize = old.chars().zip(new.chars()).take_while(same).map(len).sum();
    let (old, new) = (&old[prefix..], &new[prefix..]);
    (prefix, old.chars().rev().zip(new.chars().rev()).take_while(same).map(len).sum())
}

/// Calls `changed` with offset, old and new text of every run of `old_parts` (which make up `old`) that differs.
fn diff(
    old: &str,
    old_parts: &[&str],
    new: &str,
    new_parts: &[&str],
    at: usize,
    changed: &mut dyn FnMut(usize, &str, &str),
) {
    let (old_ends, new_ends) = (offsets(old_parts), offsets(new_parts));
    let mut run: Option<(Range<usize>, Range<usize>)> = None;
    for op in capture_diff_slices(Algorithm::Myers, old_parts, new_parts) {
        let old_range = old_ends[op.old_range().start]..old_ends[op.old_range().end];
        let new_range = new_ends[op.new_range().start]..new_ends[op.new_range().end];
        if let DiffOp::Equal { .. } = op {
            if let Some((was, is)) = run.take() {
                changed(at + was.start, &old[was], &new[is]);
            }
            continue;
        }
        run = Some(match run {
            Some((was, is)) => (was.start..old_range.end, is.start..new_range.end),
            None => (old_range, new_range),
        });
    }
    if let Some((was, is)) = run {
        changed(at + was.start, &old[was], &new[is]);
    }
}

/// Where each part starts, and where the last one ends.
fn offsets(parts: &[&str]) -> Vec<usize> {
    std::iter::once(0)
        .chain(parts.iter().scan(0, |end, part| {
            *end += part.len();
            Some(*end)
        }))
        .collect()
}

/// Lines with their breaks.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut lines = Vec::new();
    let mut start = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
            continue;
        }
        lines.push(&text[start..=at]);
        start = at + 1;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// Names and numbers whole, line breaks whole, every other character alone.
fn words(text: &str) -> Vec<&str> {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = if is_word(first) {
            rest.find(|char| !is_word(char)).unwrap_or(rest.len())
        } else if rest.starts_with("\r\n") {
            2
        } else {
            first.len_utf8()
        };
        let (word, tail) = rest.split_at(len);
        words.push(word);
        rest = tail;
    }
    words
}

/// Bytes that are equal at the start, in whole characters, and at the end; not overlapping.
pub(crate) fn equal_ends(before: &Rope, after: &Rope) -> (usize, usize) {
    let prefix = common_prefix(before, after);
    let shorter = before.len_bytes().min(after.len_bytes());
    let suffix = if prefix == shorter { 0 } else { common_suffix(before, after).min(shorter - prefix) };
    (prefix, suffix)
}

/// How many bytes at the start are the same: at once those that two ropes share. Blocks are compared as a whole, which is much faster than one byte after the other.
fn same_start(a: &[u8], b: &[u8]) -> usize {
    if std::ptr::eq(a.as_ptr(), b.as_ptr()) {
        return a.len().min(b.len());
    }
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(a, b)| a == b).count()
}

/// How many at the end.
fn same_end(a: &[u8], b: &[u8]) -> usize {
    if std::ptr::eq(a.as_ptr_range().end, b.as_ptr_range().end) {
        return a.len().min(b.len());
    }
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    let (a, b) = (&a[..a.len() - blocks], &b[..b.len() - blocks]);
    blocks + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

fn common_prefix(before: &Rope, after: &Rope) -> usize {
    let len = same_bytes(before.chunks(), after.chunks(), same_start, |chunk, len| &chunk[len..]);
    before.char_to_byte(before.byte_to_char(len))
}

fn common_suffix(before: &Rope, after: &Rope) -> usize {
    same_bytes(chunks_from_end(before), chunks_from_end(after), same_end, |chunk, len| &chunk[..chunk.len() - len])
}

fn chunks_from_end(text: &Rope) -> ropey::iter::Chunks<'_> {
    text.chunks_at_byte(text.len_bytes()).0.reversed()
}

/// Bytes that two texts in chunks have in common, from the end that `same` looks at and `cut` takes off.
fn same_bytes<'a>(
    mut before: impl Iterator<Item = &'a str>,
    mut after: impl Iterator<Item = &'a str>,
    same: impl Fn(&[u8], &[u8]) -> usize,
    cut: impl for<'c> Fn(&'c [u8], usize) -> &'c [u8],
) -> usize {
    let mut total = 0;
    let (mut a, mut b): (&[u8], &[u8]) = (&[], &[]);
    loop {
        while a.is_empty() {
            let Some(chunk) = before.next() else { return total };
            a = chunk.as_bytes();
        }
        while b.is_empty() {
            let Some(chunk) = after.next() else { return total };
            b = chunk.as_bytes();
        }
        let len = same(a, b);
        total += len;
        if len < a.len().min(b.len()) {
            return total;
        }
        a = cut(a, len);
        b = cut(b, len);
    }
}

fn line_start(text: &Rope, at: usize) -> usize {
    text.line_to_byte(text.byte_to_line(at))
}

/// `at` itself where a line starts there; the end of the text where none follows.
fn next_line_start(text: &Rope, at: usize) -> usize {
    let line = text.byte_to_line(at);
    if text.line_to_byte(line) == at { at } else { text.line_to_byte(line + 1) }
}
