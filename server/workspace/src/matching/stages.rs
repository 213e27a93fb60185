//! The stages one after the other, strictest first: the first that finds a place decides. Each gives edits of the text with `\n` for line breaks.

use std::borrow::Cow;

use memchr::memmem;
use ropey::Rope;

use super::MatchError;
use super::escapes::{Escapes, literal_line_break, unescaped};
use super::indent::indent;
use super::lf::{LfText, Lines};
use super::look_alikes::plain;
use super::near_miss::{NearMiss, unclear_indentation};
use super::rewrite::{Window, within};
use super::windows::{Fold, windows};
use crate::edit::{EditSet, TextEdit};

/// What a stage has found: one place, or all of them where all are to be replaced.
pub(super) struct Found {
    pub(super) edits: Vec<TextEdit>,
    pub(super) replacements: usize,
    pub(super) warnings: Vec<String>,
    /// Zero-based, of the first place.
    pub(super) line: usize,
}

/// One old and one new text, both with `\n` for line breaks, and the file to find them in.
pub(super) struct Search<'a> {
    pub(super) file: &'a LfText<'a>,
    pub(super) lines: &'a Lines<'a>,
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) replace_all: bool,
}

/// How many places that match but for their indentation are judged by it: with more, the old text says too little, and each costs its length.
const MAX_JUDGED: usize = 32;

/// `None` where the stage finds no place.
pub(super) type Outcome = Result<Option<Found>, MatchError>;

impl Search<'_> {
    /// Places where the old text stands as it is.
    pub(super) fn exact(&self) -> Outcome {
        let text = self.file.text.as_bytes();
        let mut starts: Vec<usize> = memmem::find_iter(text, self.old.as_bytes()).collect();
        if let [only] = starts[..]
            && !self.replace_all
        {
            // One that overlaps it starts before its end.
            let end = text.len().min(only + 2 * self.old.len() - 1);
            starts.extend(memmem::find(&text[only + 1..end], self.old.as_bytes()).map(|next| only + 1 + next));
        }
        self.exact_at(&starts)
    }

    pub(super) fn exact_at(&self, starts: &[usize]) -> Outcome {
        let Some(first) = starts.first() else { return Ok(None) };
        self.only(starts.len(), || starts.iter().map(|start| self.lines.at(*start)).collect())?;
        if let Some(place) = self.in_place_around(*first)
            && starts.iter().all(|start| self.in_place_around(*start).is_some())
        {
            return Err(MatchError::AlreadyInPlace { line: self.lines.at(place) + 1 });
        }
        let all =
            |fits: &dyn Fn(usize) -> Option<usize>| starts.iter().map(|start| fits(*start)).collect::<Option<Vec<_>>>();
        // Whole lines go with the indentation before the first of them.
        if self.new.is_empty()
            && self.old.ends_with('\n')
            && let Some(places) = all(&|start| self.left_out(start))
        {
            return self.at_lines(&places, Fold::SpaceAround).map(Some);
        }
        if let Some(line) = starts.iter().find_map(|start| self.unclear_depth(*start)) {
            let first = self.old.lines().next().unwrap_or_default();
            // So deep does the model take it to be, and the new lines in proportion.
            if !indent(first).is_empty()
                && let Some(places) = all(&|start| self.unclear_depth(start))
            {
                return self.at_lines(&places, Fold::SpaceAround).map(Some);
            }
            return Err(MatchError::NotFound { nearest: Some(unclear_indentation(self.lines, line, &[first], 0)) });
        }
        let change = EditSet::between(&Rope::from_str(self.old), &Rope::from_str(self.new));
        let mut edits = Vec::new();
        for start in starts {
            let at_end = start + self.old.len() == self.file.text.len();
            let kept = at_end.then(|| self.with_final_break_kept());
            let kept = kept.filter(|new| new != self.new);
            let kept = kept.map(|new| EditSet::between(&Rope::from_str(self.old), &Rope::from_str(&new)));
            edits.extend(kept.as_ref().unwrap_or(&change).edits().iter().map(|edit| TextEdit {
                range: start + edit.range.start..start + edit.range.end,
                text: edit.text.clone(),
            }));
        }
        let warnings = self.literal_line_break().into_iter().collect();
        Ok(Some(Found { edits, replacements: starts.len(), warnings, line: self.lines.at(*first) }))
    }

    /// The zero-based line where one line was given without all of its indentation, and further new lines that do not have it either: theirs may be left out
    /// too, or meant.
    fn unclear_depth(&self, start: usize) -> Option<usize> {
        let mut old = self.old.lines();
        let first = old.next().filter(|first| !first.trim().is_empty() && old.all(|line| line.trim().is_empty()))?;
        let line = self.left_out(start).filter(|line| self.lines.line(*line).trim() == first.trim())?;
        let depth = indent(self.lines.line(line));
        let mut more = self.new.lines().skip(1).filter(|line| !line.trim().is_empty());
        more.any(|line| !line.starts_with(depth)).then_some(line)
    }

    /// The zero-based line of a place that has some of its indentation before it, and nothing else.
    fn left_out(&self, start: usize) -> Option<usize> {
        let line = self.lines.at(start);
        let before = &self.file.text[self.lines.start(line)..start];
        (!before.is_empty() && before.trim().is_empty()).then_some(line)
    }

    /// All stages but the exact one.
    pub(super) fn relaxed(&self) -> Outcome {
        if self.old.trim().is_empty() {
            return Ok(None);
        }
        if let Some(found) = self.whole_lines()? {
            return Ok(Some(found));
        }
        if let Some(found) = self.within_lines()? {
            return Ok(Some(found));
        }
        if let Some(found) = self.without_blank_edges()? {
            return Ok(Some(found));
        }
        if let Some(found) = self.unescaped()? {
            return Ok(Some(found));
        }
        self.trimmed()
    }

    fn whole_lines(&self) -> Outcome {
        let old: Vec<&str> = Lines::new(self.old).iter().collect();
        for fold in Fold::ALL {
            let mut starts = windows(self.lines, &old, fold, !self.replace_all);
            let window = |first: usize| Window { file: self.lines, first, old: &old };
            if fold == Fold::SpaceAround && (2..=MAX_JUDGED).contains(&starts.len()) && !self.replace_all {
                // Of several the one whose lines are all moved alike.
                let regular: Vec<usize> =
                    starts.iter().copied().filter(|first| window(*first).indentation().is_regular()).collect();
                if regular.len() == 1 {
                    starts = regular;
                }
            }
            if starts.is_empty() {
                continue;
            }
            self.only(starts.len(), || starts.clone())?;
            return self.at_lines(&starts, fold).map(Some);
        }
        Ok(None)
    }

    /// Changes the lines at all of `starts` (at least one, zero-based), which equal the old ones as `fold` sees them.
    fn at_lines(&self, starts: &[usize], fold: Fold) -> Result<Found, MatchError> {
        let mut edits = Vec::new();
        let mut pairs = Vec::new();
        for start in starts {
            let (old, new) = self.lines_at(start + Lines::new(self.old).len());
            let window = Window { file: self.lines, first: *start, old: &old };
            edits.extend(window.rewrite(&new).map_err(|unclear| MatchError::NotFound {
                nearest: Some(unclear_indentation(self.lines, *start, &old, unclear.line)),
            })?);
            if pairs.is_empty() {
                pairs = old.into_iter().enumerate().map(|(index, old)| (old, self.lines.line(start + index))).collect();
            }
        }
        let warning = fold.warning(pairs.into_iter());
        let warnings = std::iter::once(warning).chain(self.literal_line_break()).collect();
        Ok(Found { edits, replacements: starts.len(), warnings, line: starts.first().copied().unwrap_or_default() })
    }

    /// Old and new lines where those of the old text end before line `end` of the file. A break at the end of one of the two alone means what it means in an
    /// exact match.
    fn lines_at(&self, end: usize) -> (Vec<&str>, Vec<&str>) {
        let (mut old, mut new): (Vec<&str>, Vec<&str>) =
            (Lines::new(self.old).iter().collect(), Lines::new(self.new).iter().collect());
        let is_last = end >= self.lines.len();
        match (self.old.ends_with('\n'), self.new.ends_with('\n')) {
            // With its break the line goes, without it an empty one stays.
            (false, false) if new.is_empty() => new.push(""),
            (false, true) if !is_last || self.file.text.ends_with('\n') => new.push(""),
            // A break that goes takes the empty line along that it would have ended.
            (true, false) if !new.is_empty() && !is_last && self.lines.line(end).trim().is_empty() => old.push(""),
            _ => {}
        }
        (old, new)
    }

    /// Whole lines without the blank ones before and behind them, which the new text has too.
    fn without_blank_edges(&self) -> Outcome {
        let lines = |text: &'_ str| -> Vec<String> { Lines::new(text).iter().map(str::to_owned).collect() };
        let (old, new) = (lines(self.old), lines(self.new));
        let blank = |line: &&String| line.trim().is_empty();
        let lead = |lines: &[String]| lines.iter().take_while(blank).count();
        let tail = |lines: &[String]| lines.iter().rev().take_while(blank).count();
        let (before, after) = (lead(&old), tail(&old));
        if before + after == 0 {
            return Ok(None);
        }
        let start = before.min(lead(&new));
        let end = (new.len() - after.min(tail(&new))).max(start);
        let joined = |lines: &[String]| lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>();
        let (old, new) = (joined(&old[before..old.len() - after]), joined(&new[start..end]));
        let search = Search { old: &old, new: &new, ..*self };
        Ok(search.whole_lines()?.map(|mut found| {
            found
                .warnings
                .insert(0, "blank lines around the old text are not in the file and were left out".to_owned());
            found
        }))
    }

    /// An old text of one line, anywhere in a line.
    fn within_lines(&self) -> Outcome {
        let old = self.old.strip_suffix('\n').unwrap_or(self.old);
        if old.contains('\n') {
            return Ok(None);
        }
        let new = trimmed_like(self.new.strip_suffix('\n').unwrap_or(self.new), old);
        let wanted = Fold::LookAlikes.apply(old);
        let finder = memmem::Finder::new(wanted.as_bytes());
        let mut spans = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            if finder.find(Fold::LookAlikes.apply(line).as_bytes()).is_none() {
                continue;
            }
            let (text, places) = folded_places(line);
            spans.extend(finder.find_iter(text.as_bytes()).map(|at| {
                let (start, end) = (places[at].0, places[at + wanted.len() - 1].1);
                (index, self.lines.start(index) + start, &line[start..end])
            }));
        }
        let Some((first, ..)) = spans.first().copied() else { return Ok(None) };
        self.only(spans.len(), || spans.iter().map(|(line, ..)| *line).collect())?;
        let edits = spans.iter().flat_map(|(_, at, file)| within(old.trim(), file, new, *at)).collect();
        let spaced = spans.iter().all(|(.., file)| Fold::SpaceWithin.apply(file) == Fold::SpaceWithin.apply(old));
        let fold = if spaced { Fold::SpaceWithin } else { Fold::LookAlikes };
        let warning = fold.warning(spans.iter().map(|(.., file)| (old, *file)));
        let warnings = std::iter::once(warning).chain(self.literal_line_break()).collect();
        Ok(Some(Found { edits, replacements: spans.len(), warnings, line: first }))
    }

    fn unescaped(&self) -> Outcome {
        for escapes in [Escapes::Quotes, Escapes::All] {
            let Some(old) = unescaped(self.old, escapes) else { continue };
            let new = unescaped(self.new, escapes).map_or(Cow::Borrowed(self.new), Cow::Owned);
            // Without a real line break nobody can tell which are meant, but hardly ever two characters outside of a string.
            let is_one_line = !self.old.contains('\n') && !self.new.contains('\n');
            if escapes == Escapes::Quotes && is_one_line && literal_line_break(&new).is_some() {
                continue;
            }
            let search = Search { old: &old, new: &new, ..*self };
            let found = match search.exact()? {
                None if old.trim().is_empty() => None,
                None => match search.whole_lines()? {
                    None => search.without_blank_edges()?,
                    found => found,
                },
                found => found,
            };
            if let Some(mut found) = found {
                if old == new {
                    return Err(MatchError::NoChange);
                }
                found.warnings.insert(
                    0,
                    "the old text was found only after escapes such as \\n and \\\" in it were read as what they stand for; the same was done to the new text"
                        .to_owned(),
                );
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The old text without white space around it.
    fn trimmed(&self) -> Outcome {
        let old = self.old.trim();
        if old == self.old {
            return Ok(None);
        }
        let search = Search { old, new: trimmed_like(self.new, self.old), ..*self };
        let found = search.exact()?.map(|mut found| {
            found.warnings.insert(0, "white space around the old text is not in the file and was left out".to_owned());
            found
        });
        Ok(found)
    }

    /// Several places are an error unless all are to be replaced (R3.2). `lines` are zero-based.
    fn only(&self, count: usize, lines: impl FnOnce() -> Vec<usize>) -> Result<(), MatchError> {
        if count < 2 || self.replace_all {
            return Ok(());
        }
        Err(MatchError::Ambiguous { lines: lines().into_iter().map(|line| line + 1).collect() })
    }

    /// C15: where the new text stands around this place already. New text without a letter or digit proves nothing: one more bracket may well be meant.
    fn in_place_around(&self, start: usize) -> Option<usize> {
        memmem::find_iter(self.new.as_bytes(), self.old.as_bytes()).take(16).find_map(|offset| {
            let (head, tail) = (&self.new[..offset], &self.new[offset + self.old.len()..]);
            let added = head.contains(char::is_alphanumeric) || tail.contains(char::is_alphanumeric);
            let place = start.checked_sub(offset).filter(|_| added)?;
            stands_at(&self.file.text, place..place + self.new.len(), self.new).then_some(place)
        })
    }

    /// C18: what looks like a line break that was escaped once too often is written as it came, and said.
    fn literal_line_break(&self) -> Option<String> {
        let line = literal_line_break(self.new).filter(|_| literal_line_break(self.old).is_none())?;
        Some(format!(
            "line {line} of the new text holds a backslash and the letter n, and was written so; if a line break was meant, edit it again with a real one"
        ))
    }

    /// C17: at the end of the file a final line break stays, or stays absent, unless that is the whole change.
    fn with_final_break_kept(&self) -> String {
        let (old, new) = (self.old, self.new);
        match (old.strip_suffix('\n'), new.strip_suffix('\n')) {
            (Some(bare), None) if !new.is_empty() && bare != new => format!("{new}\n"),
            (None, Some(bare)) if bare != old => new.trim_end_matches('\n').to_owned(),
            _ => new.to_owned(),
        }
    }
}

/// The one-based line at which `new` stands, as whole words and with a letter or digit in it. Only at `place`, the nearest to the old text, where one is given.
pub(super) fn in_place(file: &LfText<'_>, lines: &Lines<'_>, new: &str, place: Option<&NearMiss>) -> Option<usize> {
    let new = new.trim_matches('\n');
    if !new.contains(char::is_alphanumeric) {
        return None;
    }
    let stands = |start: &usize| stands_at(&file.text, *start..start + new.len(), new);
    let starts = memmem::find_iter(file.text.as_bytes(), new.as_bytes()).filter(stands);
    let mut spans = starts.map(|start| (lines.at(start) + 1, lines.at(start + new.len() - 1) + 1));
    spans
        .find(|(first, last)| place.is_none_or(|near| *first <= near.last_line && near.first_line <= *last))
        .map(|(first, _)| first)
}

/// Whether `new` stands there, cut off from words around it.
fn stands_at(text: &str, place: std::ops::Range<usize>, new: &str) -> bool {
    let is_word = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    text.get(place.clone()) == Some(new)
        && !(is_word(text[..place.start].chars().next_back()) && is_word(new.chars().next()))
        && !(is_word(text[place.end..].chars().next()) && is_word(new.chars().next_back()))
}

/// `new` without the white space at an end where `old` has some that the file does not have there.
fn trimmed_like<'a>(new: &'a str, old: &str) -> &'a str {
    let new = if indent(old).is_empty() { new } else { new.trim_start() };
    if old.trim_end().len() == old.len() { new } else { new.trim_end() }
}

/// The line as `Fold::LookAlikes` makes it, and of each of its bytes the character (start and end) of the line that it came from.
fn folded_places(line: &str) -> (String, Vec<(usize, usize)>) {
    let mut text = String::with_capacity(line.len());
    let mut places: Vec<(usize, usize)> = Vec::with_capacity(line.len());
    for (at, char) in line.char_indices() {
        let end = at + char.len_utf8();
        if char.is_whitespace() {
            match places.last_mut() {
                None => {}
                Some(last) if text.ends_with(' ') => last.1 = end,
                Some(_) => {
                    text.push(' ');
                    places.push((at, end));
                }
            }
            continue;
        }
        text.push(plain(char));
        places.resize(text.len(), (at, end));
    }
    (text, places)
}
