//! Two edits after each other as one, as operational transformation composes them: both are read as runs of kept, removed and added text.

use super::{EditError, EditSet, TextEdit};

pub(super) fn compose(first: &EditSet, next: &EditSet) -> Result<EditSet, EditError> {
    if first.after_len() != next.base_len {
        return Err(EditError::WrongBase { expected: next.base_len, found: first.after_len() });
    }
    let mut ours = runs(first).into_iter();
    let mut theirs = runs(next).into_iter();
    let mut out = Output::default();
    let (mut a, mut b) = (ours.next(), theirs.next());
    loop {
        match (a, b) {
            (Some(Run::Remove(len)), _) => {
                out.remove(len);
                a = ours.next();
            }
            (_, Some(Run::Add(text))) => {
                out.add(text);
                b = theirs.next();
            }
            (Some(Run::Keep(kept)), Some(run @ (Run::Keep(len) | Run::Remove(len)))) => {
                let both = kept.min(len);
                match run {
                    Run::Remove(_) => out.remove(both),
                    Run::Keep(_) | Run::Add(_) => out.keep(both),
                }
                a = rest(kept - both, Run::Keep).or_else(|| ours.next());
                b = run.without(both).or_else(|| theirs.next());
            }
            (Some(Run::Add(text)), Some(run @ (Run::Keep(len) | Run::Remove(len)))) => {
                let both = text.len().min(len);
                let (head, tail) = text.split_at_checked(both).ok_or(EditError::BadOffset { at: out.at })?;
                if let Run::Keep(_) = run {
                    out.add(head);
                }
                a = (!tail.is_empty()).then_some(Run::Add(tail)).or_else(|| ours.next());
                b = run.without(both).or_else(|| theirs.next());
            }
            // The lengths are equal, so both end at once.
            (None, _) | (_, None) => break,
        }
    }
    Ok(EditSet::from_sorted(first.base_len, out.edits))
}

#[derive(Clone, Copy)]
enum Run<'a> {
    Keep(usize),
    Remove(usize),
    Add(&'a str),
}

impl Run<'_> {
    fn without(self, len: usize) -> Option<Self> {
        match self {
            Self::Keep(whole) => rest(whole - len, Self::Keep),
            Self::Remove(whole) => rest(whole - len, Self::Remove),
            Self::Add(_) => None,
        }
    }
}

fn rest<'a>(len: usize, run: impl Fn(usize) -> Run<'a>) -> Option<Run<'a>> {
    (len > 0).then(|| run(len))
}

fn runs(set: &EditSet) -> Vec<Run<'_>> {
    let mut runs = Vec::with_capacity(set.edits.len() * 3 + 1);
    let mut at = 0;
    for edit in &set.edits {
        let parts = [Run::Keep(edit.range.start - at), Run::Remove(edit.range.len()), Run::Add(&edit.text)];
        runs.extend(parts.into_iter().filter(|run| match run {
            Run::Keep(len) | Run::Remove(len) => *len > 0,
            Run::Add(text) => !text.is_empty(),
        }));
        at = edit.range.end;
    }
    runs.extend(rest(set.base_len - at, Run::Keep));
    runs
}

#[derive(Default)]
struct Output {
    /// In the base of the first edit.
    at: usize,
    edits: Vec<TextEdit>,
}

impl Output {
    fn keep(&mut self, len: usize) {
        self.at += len;
    }

    fn remove(&mut self, len: usize) {
        let at = self.at;
        self.at += len;
        self.here(at).range.end = at + len;
    }

    fn add(&mut self, text: &str) {
        self.here(self.at).text.push_str(text);
    }

    /// The edit that ends at `at`.
    fn here(&mut self, at: usize) -> &mut TextEdit {
        if self.edits.last().is_none_or(|edit| edit.range.end != at) {
            self.edits.push(TextEdit { range: at..at, text: String::new() });
        }
        let last = self.edits.len() - 1;
        &mut self.edits[last]
    }
}
