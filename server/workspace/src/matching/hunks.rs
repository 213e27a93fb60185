//! Where the hunks of a patch belong, and what they do there. The lines of a hunk must be found as those of an edit must (R3.1), and nowhere else (R3.2):
//! anchors and the order of the hunks say which of several places is meant, never that one will do. How a patch is written is `patch`'s.

use std::collections::HashSet;
use std::ops::Range;

use ropey::Rope;
use similar::DiffOp;

use super::lf::{LfText, Lines, Place};
use super::near_miss::{nearest, unclear_indentation};
use super::rewrite::Window;
use super::windows::{Fold, windows};
use super::{Matched, NearMiss, listed};
use crate::edit::{EditSet, TextEdit};
use crate::patch::{Hunk, HunkLine};

/// `{}` is the text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the hunk at line {line} of the patch {problem}")]
pub struct HunkError {
    /// One-based line of the patch.
    pub line: usize,
    pub problem: HunkProblem,
}

/// All lines are one-based lines of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HunkProblem {
    /// C21: lines to add, and nothing that says where.
    #[error("names no place: give lines around the new ones, an anchor behind `@@`, or `*** End of File`")]
    NoPlace,
    #[error("has the anchor `{anchor}`, which is no line of the file{}", near(nearest.as_ref()))]
    AnchorMissing { anchor: String, nearest: Option<NearMiss> },
    #[error(
        "has an anchor that stands at lines {}: give lines around the new ones, or a further anchor",
        listed(lines)
    )]
    AnchorAmbiguous { lines: Vec<usize> },
    #[error("fits at lines {}: give more lines around the change, or an anchor behind `@@`", listed(lines))]
    Ambiguous { lines: Vec<usize> },
    #[error("was not found{}", near(nearest.as_ref()))]
    NotFound { nearest: Option<NearMiss> },
    #[error("fits at line {line}, but that is above its anchor")]
    AboveAnchor { line: usize },
    #[error("fits at line {line}, but that is not the end of the file, where `*** End of File` puts it")]
    NotAtEnd { line: usize },
    /// C15.
    #[error("is already in place at line {line}")]
    AlreadyInPlace { line: usize },
    #[error("changes nothing: it removes and adds the same")]
    NoChange,
    #[error("changes lines that another hunk before it changes: make them one")]
    Overlap,
}

/// The edits that carry out `hunks`, all of them found in `text` as it is. Line endings, the final newline and, at a place that matches only loosely, what
/// the hunk does not change stay as the file has them.
pub fn find_hunks(text: &str, hunks: &[Hunk]) -> Result<Matched, HunkError> {
    let file = LfText::new(text);
    let Place { file, lines } = &Place::new(&file);
    let mut search = Search { file, lines, from: 0 };
    let mut placed: Vec<Placed<'_>> = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        let fail = |problem| HunkError { line: hunk.line, problem };
        let place = search.place(hunk).map_err(fail)?;
        if placed.iter().any(|other| other.collides(&place)) {
            return Err(fail(HunkProblem::Overlap));
        }
        search.from = place.lines.end;
        placed.push(place);
    }
    let line = hunks.first().map_or(1, |hunk| hunk.line);
    let edits = super::edits_of(file, placed.iter().flat_map(|place| &place.edits))
        .map_err(|_| HunkError { line, problem: HunkProblem::Overlap })?;
    if edits.is_empty() {
        return Err(HunkError { line, problem: HunkProblem::NoChange });
    }
    let warnings = placed.into_iter().flat_map(|place| place.warnings).collect();
    Ok(Matched { edits, replacements: hunks.len(), warnings })
}

struct Search<'a> {
    file: &'a LfText<'a>,
    lines: &'a Lines<'a>,
    /// Hunks stand in the order of the file: the line after the one before, zero-based.
    from: usize,
}

struct Placed<'h> {
    hunk: &'h Hunk,
    /// Zero-based.
    lines: Range<usize>,
    /// Of the text with `\n` for line breaks.
    edits: Vec<TextEdit>,
    warnings: Vec<String>,
}

impl Placed<'_> {
    fn collides(&self, other: &Placed<'_>) -> bool {
        if self.lines.end < other.lines.start || other.lines.end < self.lines.start {
            return false;
        }
        let any_two = |meet: fn(&TextEdit, &TextEdit) -> bool| {
            self.edits.iter().any(|edit| other.edits.iter().any(|other| meet(edit, other)))
        };
        let theirs: HashSet<usize> = other.taken().collect();
        self.lines == other.lines && self.hunk.lines == other.hunk.lines
            || self.taken().any(|line| theirs.contains(&line))
            || any_two(|a, b| a.range.start < b.range.end && b.range.start < a.range.end)
            // Of two edits that touch, one may take the line break that the other counts on: it does where its line is the other's.
            || (self.taken().any(|line| other.lines.contains(&line)) || theirs.iter().any(|line| self.lines.contains(line)))
                && any_two(|a, b| a.range.start <= b.range.end && b.range.start <= a.range.end)
    }

    /// The lines that it takes out, zero-based: the edits of it may touch less of them.
    fn taken(&self) -> impl Iterator<Item = usize> {
        let old = self.hunk.lines.iter().filter(|line| !matches!(line, HunkLine::Add(_)));
        let taken = old.enumerate().filter(|(_, line)| matches!(line, HunkLine::Remove(_)));
        taken.map(|(index, _)| self.lines.start + index)
    }
}

/// How a place was found: `None` for one that is exactly the hunk's.
type Loosely = Option<Fold>;

impl<'a> Search<'a> {
    fn place<'h>(&self, hunk: &'h Hunk) -> Result<Placed<'h>, HunkProblem> {
        let (old, new) = (hunk.old(), hunk.new_lines());
        if old == new {
            return Err(HunkProblem::NoChange);
        }
        let anchors = self.anchors(&hunk.anchors)?;
        if old.is_empty() {
            return self.insertion(hunk, &anchors, &new);
        }
        match self.found(hunk, &anchors, &old, &new)? {
            Some(placed) => Ok(placed),
            None => match self.without_blank_end(hunk, &anchors, &old, &new)? {
                Some(placed) => Ok(placed),
                None => Err(self.missed(hunk, &old, &new)),
            },
        }
    }

    /// The lines (zero-based) that may be the innermost anchor; empty where there is none.
    fn anchors(&self, anchors: &[String]) -> Result<Vec<usize>, HunkProblem> {
        let mut places: Option<Vec<usize>> = None;
        for anchor in anchors {
            let found = self.everywhere(&[anchor]).map(|(starts, _)| starts).unwrap_or_default();
            let next = match places {
                None => found,
                Some(outer) => {
                    let below = |outer: &usize| found.iter().copied().find(|line| line > outer);
                    unique(outer.iter().filter_map(below))
                }
            };
            if next.is_empty() {
                let nearest = nearest(self.file, self.lines, anchor);
                return Err(HunkProblem::AnchorMissing { anchor: anchor.clone(), nearest });
            }
            places = Some(next);
        }
        Ok(places.unwrap_or_default())
    }

    /// C21: only lines to add.
    fn insertion<'h>(&self, hunk: &'h Hunk, anchors: &[usize], new: &[&str]) -> Result<Placed<'h>, HunkProblem> {
        let at = if hunk.at_end || self.lines.len() == 0 {
            self.lines.len()
        } else {
            let later: Vec<usize> = anchors.iter().copied().filter(|anchor| *anchor >= self.from).collect();
            match (anchors, later.as_slice()) {
                ([], _) => return Err(HunkProblem::NoPlace),
                ([only], _) | (_, [only]) => only + 1,
                (several, _) => return Err(HunkProblem::AnchorAmbiguous { lines: one_based(several) }),
            }
        };
        let before = at.checked_sub(new.len()).filter(|_| hunk.at_end);
        if let Some(line) =
            [Some(at), before].into_iter().flatten().find(|at| says_something(hunk) && self.stands(*at, new))
        {
            return Err(HunkProblem::AlreadyInPlace { line: line + 1 });
        }
        Ok(Placed { hunk, lines: at..at, edits: self.exactly(at, 0, new), warnings: Vec::new() })
    }

    fn found<'h>(
        &self,
        hunk: &'h Hunk,
        anchors: &[usize],
        old: &[&str],
        new: &[&str],
    ) -> Result<Option<Placed<'h>>, HunkProblem> {
        let Some((starts, loosely)) = self.everywhere(old) else { return Ok(None) };
        let mut fitting = starts.clone();
        if hunk.at_end {
            fitting.retain(|start| start + old.len() == self.lines.len());
        }
        let (first, passed) = match (fitting.as_slice(), anchors) {
            ([], _) => return Err(HunkProblem::NotAtEnd { line: starts[0] + 1 }),
            ([only], []) => (*only, false),
            (several, []) => (self.in_order(several)?, false),
            (several, anchors) => self.below(anchors, several)?,
        };
        let mut warnings = Vec::new();
        if passed {
            warnings.push(format!("the hunk at line {} of the patch fits at several places below its anchor; the first, at line {}, was changed", hunk.line, first + 1));
        }
        let edits = match loosely {
            None => {
                if let Some(line) = self.in_place_around(hunk, first, old.len(), new) {
                    return Err(HunkProblem::AlreadyInPlace { line: line + 1 });
                }
                self.exactly(first, old.len(), new)
            }
            Some(fold) => {
                let file = (first..first + old.len()).map(|line| self.lines.line(line));
                warnings.push(fold.warning(old.iter().copied().zip(file)));
                let window = Window { file: self.lines, first, old };
                window.rewrite_by(new, |old, new| marked(&hunk.lines, old.len(), new.len())).map_err(|unclear| {
                    HunkProblem::NotFound { nearest: Some(unclear_indentation(self.lines, first, old, unclear.line)) }
                })?
            }
        };
        Ok(Some(Placed { hunk, lines: first..first + old.len(), edits, warnings }))
    }

    /// Models see a blank line behind the last one.
    fn without_blank_end<'h>(
        &self,
        hunk: &'h Hunk,
        anchors: &[usize],
        old: &[&str],
        new: &[&str],
    ) -> Result<Option<Placed<'h>>, HunkProblem> {
        match (hunk.lines.last(), old, new) {
            (Some(HunkLine::Context(last)), [old @ .., _], [new @ .., _])
                if last.trim().is_empty() && !old.is_empty() =>
            {
                self.found(hunk, anchors, old, new)
            }
            _ => Ok(None),
        }
    }

    /// First lines of all places, by the strictest way that finds one.
    fn everywhere(&self, old: &[impl AsRef<str>]) -> Option<(Vec<usize>, Loosely)> {
        let old: Vec<&str> = old.iter().map(AsRef::as_ref).collect();
        let trimmed = windows(self.lines, &old, Fold::TrailingSpace, true);
        let exact: Vec<usize> = trimmed.iter().copied().filter(|start| self.stands(*start, &old)).collect();
        if !exact.is_empty() {
            return Some((exact, None));
        }
        // Blank lines alone say too little to be found loosely.
        if old.iter().all(|line| line.trim().is_empty()) {
            return None;
        }
        Fold::ALL.into_iter().find_map(|fold| {
            let starts =
                if fold == Fold::TrailingSpace { trimmed.clone() } else { windows(self.lines, &old, fold, true) };
            (!starts.is_empty()).then_some((starts, Some(fold)))
        })
    }

    /// Without an anchor: the only one after the hunk before, or else the only one.
    fn in_order(&self, starts: &[usize]) -> Result<usize, HunkProblem> {
        let later: Vec<usize> = starts.iter().copied().filter(|start| *start >= self.from).collect();
        match later.as_slice() {
            [only] => Ok(*only),
            [] => Err(HunkProblem::Ambiguous { lines: one_based(starts) }),
            several => Err(HunkProblem::Ambiguous { lines: one_based(several) }),
        }
    }

    /// The first place below the anchor, and whether there are more of them.
    fn below(&self, anchors: &[usize], starts: &[usize]) -> Result<(usize, bool), HunkProblem> {
        let at_or_after = |line: usize| starts.iter().copied().find(|start| *start >= line);
        let place = |anchor: usize| at_or_after(anchor.max(self.from)).or_else(|| at_or_after(anchor));
        let places = unique(anchors.iter().filter_map(|anchor| place(*anchor)));
        let later = unique(anchors.iter().filter(|anchor| **anchor >= self.from).filter_map(|anchor| place(*anchor)));
        match (places.as_slice(), later.as_slice()) {
            ([], _) => Err(HunkProblem::AboveAnchor { line: starts[0] + 1 }),
            ([only], _) | (_, [only]) => Ok((*only, starts.last() > Some(only))),
            (several, _) => Err(HunkProblem::Ambiguous { lines: one_based(several) }),
        }
    }

    fn missed(&self, hunk: &Hunk, old: &[&str], new: &[&str]) -> HunkProblem {
        let in_place = says_something(hunk) && !new.iter().all(|line| line.trim().is_empty());
        if let Some(first) =
            in_place.then(|| windows(self.lines, new, Fold::TrailingSpace, true)).iter().flatten().next()
        {
            return HunkProblem::AlreadyInPlace { line: first + 1 };
        }
        HunkProblem::NotFound { nearest: nearest(self.file, self.lines, &old.join("\n")) }
    }

    /// C15: where what is added stands around the lines already. The zero-based line.
    fn in_place_around(&self, hunk: &Hunk, first: usize, len: usize, new: &[&str]) -> Option<usize> {
        let only_adds = new.len() > len && !hunk.lines.iter().any(|line| matches!(line, HunkLine::Remove(_)));
        let ahead = hunk.lines.iter().take_while(|line| matches!(line, HunkLine::Add(_))).count();
        let start = first.checked_sub(ahead)?;
        (only_adds && says_something(hunk) && self.stands(start, new)).then_some(start)
    }

    fn stands(&self, first: usize, wanted: &[&str]) -> bool {
        first + wanted.len() <= self.lines.len()
            && wanted.iter().enumerate().all(|(index, line)| self.lines.line(first + index) == *line)
    }

    /// Puts `new` in the place of `len` lines. C17: the text ends in a line break afterwards where it does so before.
    fn exactly(&self, first: usize, len: usize, new: &[&str]) -> Vec<TextEdit> {
        let (text, mut start, end) = (&self.file.text, self.lines.start(first), self.lines.start(first + len));
        let mut joined = new.join("\n");
        if text.is_empty() || text[..end].ends_with('\n') || end == 0 {
            if !new.is_empty() {
                joined.push('\n');
            }
        } else if len == 0 {
            joined.insert(0, '\n');
        } else if new.is_empty() {
            start = start.saturating_sub(1);
        }
        let change = EditSet::between(&Rope::from_str(&text[start..end]), &Rope::from_str(&joined));
        let moved = change
            .edits()
            .iter()
            .map(|edit| TextEdit { range: start + edit.range.start..start + edit.range.end, text: edit.text.clone() });
        moved.collect()
    }
}

/// What the marks of a hunk say of its first `old` lines of the file and the first `new` ones of what they become: a diff of the two might take a line that is
/// moved over one that stays for the one that stays.
fn marked(lines: &[HunkLine], old: usize, new: usize) -> Vec<DiffOp> {
    let mut changes = Vec::new();
    let (mut old_index, mut new_index) = (0, 0);
    for run in lines.chunk_by(|a, b| is_context(a) == is_context(b)) {
        let count = |counts: fn(&HunkLine) -> bool| run.iter().filter(|line| counts(line)).count();
        let old_len = count(|line| !matches!(line, HunkLine::Add(_))).min(old - old_index);
        let new_len = count(|line| !matches!(line, HunkLine::Remove(_))).min(new - new_index);
        changes.push(match (is_context(&run[0]), old_len, new_len) {
            (true, len, _) => DiffOp::Equal { old_index, new_index, len },
            (false, old_len, 0) => DiffOp::Delete { old_index, old_len, new_index },
            (false, 0, new_len) => DiffOp::Insert { old_index, new_index, new_len },
            (false, old_len, new_len) => DiffOp::Replace { old_index, old_len, new_index, new_len },
        });
        old_index += old_len;
        new_index += new_len;
    }
    changes
}

fn is_context(line: &HunkLine) -> bool {
    matches!(line, HunkLine::Context(_))
}

/// One more bracket may well be meant where there is one.
fn says_something(hunk: &Hunk) -> bool {
    hunk.lines.iter().any(|line| matches!(line, HunkLine::Add(text) if text.contains(char::is_alphanumeric)))
}

fn unique(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut places: Vec<usize> = places.collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn one_based(lines: &[usize]) -> Vec<usize> {
    lines.iter().map(|line| line + 1).collect()
}

fn near(nearest: Option<&NearMiss>) -> String {
    nearest.map_or_else(|| ": read the file again".to_owned(), |nearest| format!("; {nearest}"))
}

#[cfg(test)]
#[path = "hunks_tests.rs"]
mod tests;
