//! The real change between old and new text, carried over to a place of the file that matches only loosely: lines that the edit does not change stay as
//! the file has them, changed lines keep the rest of theirs, new lines get the file's indentation.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use ropey::Rope;

use super::indent::{Indentation, indent};
use super::lf::Lines;
use super::look_alikes::plain;
use crate::edit::{EditSet, TextEdit};

/// Why a place that matches is not written: the file's indentation for a new line cannot be told.
#[derive(Debug)]
pub(super) struct Unclear {
    /// Zero-based line of the window.
    pub(super) line: usize,
}

/// A window of the file with the lines that it matches.
pub(super) struct Window<'a> {
    pub(super) file: &'a Lines<'a>,
    /// Zero-based.
    pub(super) first: usize,
    pub(super) old: &'a [&'a str],
}

impl<'a> Window<'a> {
    pub(super) fn indentation(&self) -> Indentation<'a> {
        let file = (0..self.old.len()).map(|index| self.file.line(self.first + index));
        Indentation::learn(self.old.iter().copied().zip(file))
    }

    /// Edits of the file's text that do to the window what makes `new` of the old lines.
    pub(super) fn rewrite(&self, new: &[&str]) -> Result<Vec<TextEdit>, Unclear> {
        self.rewrite_by(new, |old, new| capture_diff_slices(Algorithm::Myers, old, new))
    }

    /// The same, where it is told which lines stay.
    pub(super) fn rewrite_by(
        &self,
        new: &[&str],
        changes: impl Fn(&[&str], &[&str]) -> Vec<DiffOp>,
    ) -> Result<Vec<TextEdit>, Unclear> {
        let Some((index, wrong, right)) = self.first_indent() else {
            return self.rewrite_as_it_is(new, &changes(self.old, new));
        };
        let first = format!("{right}{}", self.old[index].trim_start());
        let mut old = self.old.to_vec();
        old[index] = &first;
        let mut new = new.to_vec();
        // Where the first line goes, the new text may begin with another of the old lines: that one stays as it is.
        let is_other = |at: usize| {
            changes(self.old, &new).iter().any(|op| match *op {
                DiffOp::Equal { old_index, new_index, len } => {
                    (new_index..new_index + len).contains(&at) && old_index + at != new_index + index
                }
                _ => false,
            })
        };
        let first_new = new.iter().position(|line| !line.trim().is_empty());
        let first_new = first_new.filter(|at| indent(new[*at]) == wrong && !is_other(*at));
        let indented = first_new.map(|at| (at, format!("{right}{}", new[at].trim_start())));
        if let Some((at, line)) = &indented {
            new[*at] = line;
        }
        let changes = changes(&old, &new);
        Window { file: self.file, first: self.first, old: &old }.rewrite_as_it_is(&new, &changes)
    }

    /// Where the first line that is not blank was copied from its first letter on, as the new text's was then, and the others as they are: its index, its
    /// indentation and the file's.
    fn first_indent(&self) -> Option<(usize, &'a str, &'a str)> {
        let pairs = self.old.iter().enumerate().map(|(at, old)| (at, *old, self.file.line(self.first + at)));
        let mut pairs =
            pairs.filter(|(_, old, _)| !old.trim().is_empty()).map(|(at, old, file)| (at, indent(old), indent(file)));
        let first = pairs.next().filter(|(_, old, file)| old.is_empty() && !file.is_empty())?;
        let mut rest = pairs.peekable();
        (rest.peek().is_some() && rest.all(|(_, old, file)| old == file)).then_some(first)
    }

    fn rewrite_as_it_is(&self, new: &[&str], changes: &[DiffOp]) -> Result<Vec<TextEdit>, Unclear> {
        let mut writer = Writer { window: self, indentation: self.indentation(), edits: Vec::new() };
        for op in changes {
            match *op {
                DiffOp::Equal { .. } => {}
                DiffOp::Delete { old_index, old_len, .. } => writer.delete(old_index, old_len),
                DiffOp::Insert { old_index, new_index, new_len } => {
                    writer.insert(old_index, &new[new_index..new_index + new_len])?;
                }
                DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                    writer.replace(old_index, old_len, &new[new_index..new_index + new_len])?;
                }
            }
        }
        Ok(writer.edits)
    }
}

struct Writer<'a, 'w> {
    window: &'w Window<'a>,
    indentation: Indentation<'a>,
    edits: Vec<TextEdit>,
}

impl Writer<'_, '_> {
    fn delete(&mut self, index: usize, len: usize) {
        if len == 0 {
            return;
        }
        let file = self.window.file;
        let first = self.window.first + index;
        let (start, end) = (file.start(first), file.start(first + len));
        // The last line of a text without a final break takes the break before it along.
        let whole = file.line(first + len - 1).len() < end - file.start(first + len - 1);
        self.push(if whole { start } else { start.saturating_sub(1) }, end, String::new());
    }

    fn insert(&mut self, index: usize, lines: &[&str]) -> Result<(), Unclear> {
        let file = self.window.file;
        let at = self.window.first + index;
        let lines: Vec<String> = lines.iter().map(|line| self.adapted(index, line)).collect::<Result<_, _>>()?;
        let text: String = if at == file.len() && !self.ends_with_break() {
            lines.iter().flat_map(|line| ["\n", line]).collect()
        } else {
            lines.iter().flat_map(|line| [line, "\n"]).collect()
        };
        self.push(file.start(at), file.start(at), text);
        Ok(())
    }

    /// Pairs lines whose text is equal but for the indentation, then the others in order.
    fn replace(&mut self, index: usize, len: usize, new: &[&str]) -> Result<(), Unclear> {
        let old = &self.window.old[index..index + len];
        let bodies = |lines: &[&str]| lines.iter().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
        for op in capture_diff_slices(Algorithm::Myers, &bodies(old), &bodies(new)) {
            let (olds, news) = (op.old_range(), op.new_range());
            let both = olds.len().min(news.len());
            for pair in 0..both {
                self.change(index + olds.start + pair, new[news.start + pair])?;
            }
            self.delete(index + olds.start + both, olds.len() - both);
            if news.len() > both {
                self.insert(index + olds.end, &new[news.start + both..news.end])?;
            }
        }
        Ok(())
    }

    fn change(&mut self, index: usize, new: &str) -> Result<(), Unclear> {
        let old = self.window.old[index];
        if old == new {
            return Ok(());
        }
        let line = self.window.first + index;
        let file = self.window.file.line(line);
        let start = self.window.file.start(line);
        if old.trim().is_empty() || new.trim().is_empty() {
            let new = self.adapted(index, new)?;
            self.push(start, start + file.len(), new);
            return Ok(());
        }
        let (old_indent, file_indent, new_indent) = (indent(old), indent(file), indent(new));
        if old_indent != new_indent {
            let text = self.indentation.translate(new_indent).ok_or(Unclear { line: index })?;
            self.push(start, start + file_indent.len(), text);
        }
        let body = start + file_indent.len();
        self.edits.extend(within(old.trim(), file.trim(), new.trim(), body));
        let (old_tail, new_tail) = (tail(old), tail(new));
        if old_tail != new_tail {
            self.push(body + file.trim().len(), start + file.len(), new_tail.to_owned());
        }
        Ok(())
    }

    fn adapted(&self, index: usize, line: &str) -> Result<String, Unclear> {
        if line.trim().is_empty() {
            return Ok(String::new());
        }
        let indented = indent(line);
        let text = self.indentation.translate(indented).ok_or(Unclear { line: index })?;
        Ok(text + &line[indented.len()..])
    }

    fn ends_with_break(&self) -> bool {
        let file = self.window.file;
        file.len() == 0 || file.start(file.len() - 1) + file.line(file.len() - 1).len() < file.start(file.len())
    }

    fn push(&mut self, start: usize, end: usize, text: String) {
        self.edits.push(TextEdit { range: start..end, text });
    }
}

/// What makes `new` of `old`, done to `file`, which equals `old` but for white space and look-alikes and stands at byte `at`. Where the change cannot be
/// told apart from such a difference, or makes another text altogether, all of `file` is replaced: a space or a quote that two texts share by chance must not
/// bring the file's look-alike of it into the new one.
pub(super) fn within(old: &str, file: &str, new: &str, at: usize) -> Vec<TextEdit> {
    if old == new {
        return Vec::new();
    }
    if !shares_half(old, new) {
        return vec![TextEdit { range: at..at + file.len(), text: new.to_owned() }];
    }
    let change = EditSet::between(&Rope::from_str(old), &Rope::from_str(new));
    let mapped = aligned(old, file).and_then(|places| {
        let edits = change.edits().iter().map(|edit| {
            let (start, end) = (places[edit.range.start]?, places[edit.range.end]?);
            Some(TextEdit { range: at + start..at + end, text: edit.text.clone() })
        });
        edits.collect::<Option<Vec<_>>>()
    });
    mapped.unwrap_or_else(|| vec![TextEdit { range: at..at + file.len(), text: new.to_owned() }])
}

/// Whether half of the words and marks of both, taken together, are the same in the same order.
fn shares_half(old: &str, new: &str) -> bool {
    let (old, new) = (tokens(old), tokens(new));
    let shared: usize = capture_diff_slices(Algorithm::Myers, &old, &new)
        .iter()
        .map(|op| if let DiffOp::Equal { len, .. } = op { *len } else { 0 })
        .sum();
    4 * shared >= old.len() + new.len()
}

/// Words, and each mark alone; no white space.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end =
            if is_word(first) { rest.find(|char| !is_word(char)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, behind) = rest.split_at(end);
        tokens.push(token);
        rest = behind.trim_start();
    }
    tokens
}

/// For each byte of `old` the same place in `file`; `None` inside of characters and of white space that differs.
fn aligned(old: &str, file: &str) -> Option<Vec<Option<usize>>> {
    let mut places = vec![None; old.len() + 1];
    let (mut at, mut there) = (0, 0);
    while at < old.len() {
        places[at] = Some(there);
        let (space, file_space) = (indent(&old[at..]), indent(&file[there..]));
        if space.is_empty() && file_space.is_empty() {
            let (char, other) = (old[at..].chars().next()?, file[there..].chars().next()?);
            if plain(char) != plain(other) {
                return None;
            }
            at += char.len_utf8();
            there += other.len_utf8();
            continue;
        }
        if space.is_empty() != file_space.is_empty() {
            return None;
        }
        if space == file_space {
            for (inside, _) in space.char_indices() {
                places[at + inside] = Some(there + inside);
            }
        }
        at += space.len();
        there += file_space.len();
    }
    places[old.len()] = Some(there);
    (there == file.len()).then_some(places)
}

fn tail(line: &str) -> &str {
    &line[line.trim_end().len()..]
}
