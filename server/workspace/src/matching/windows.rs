//! Runs of whole lines of a file that equal the old text's, each line folded by a stage. Linear in the file, whatever repeats in it.

use std::borrow::Cow;
use std::collections::HashMap;

use super::lf::Lines;
use super::look_alikes::{folded, taken};

/// What a stage overlooks, line by line. Of each kind the later overlook more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    TrailingSpace,
    SpaceAround,
    SpaceWithin,
    LookAlikes,
}

impl Fold {
    pub(super) const ALL: [Self; 4] = [Self::TrailingSpace, Self::SpaceAround, Self::SpaceWithin, Self::LookAlikes];

    pub(super) fn apply(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::TrailingSpace => line.trim_end().into(),
            Self::SpaceAround => line.trim().into(),
            Self::SpaceWithin => collapsed(line),
            Self::LookAlikes => match folded(line) {
                Cow::Borrowed(line) => collapsed(line),
                Cow::Owned(line) => collapsed(&line).into_owned().into(),
            },
        }
    }

    /// What the model is told of a place that was found so: of its lines, old and of the file.
    pub(super) fn warning<'a>(self, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
        match self {
            Self::TrailingSpace => {
                "white space at the ends of lines differs from the old text; the file's was kept".into()
            }
            Self::SpaceAround => {
                "the indentation differs from the old text; the file's was kept and the new text follows it".into()
            }
            Self::SpaceWithin => {
                "white space differs from the old text; the file's was kept outside of the change".into()
            }
            Self::LookAlikes => {
                let mut all: Vec<String> = pairs.flat_map(|(old, file)| taken(old, file)).collect();
                all.sort_unstable();
                all.dedup();
                format!(
                    "the file has characters that look like those of the old text ({}); they were kept outside of the change",
                    all.join(", ")
                )
            }
        }
    }
}

/// First lines (zero-based) of all windows; where `overlapping` is not wanted, each starts after the end of the one before.
pub(super) fn windows(file: &Lines<'_>, old: &[&str], fold: Fold, overlapping: bool) -> Vec<usize> {
    if old.is_empty() || old.len() > file.len() {
        return Vec::new();
    }
    let mut ids: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let pattern: Vec<usize> = old
        .iter()
        .map(|line| {
            let next = ids.len();
            *ids.entry(fold.apply(line)).or_insert(next)
        })
        .collect();
    let borders = borders(&pattern);
    let mut found = Vec::new();
    let mut matched = 0;
    for (index, line) in file.iter().enumerate() {
        let id = ids.get(&fold.apply(line)).copied();
        while matched > 0 && id != Some(pattern[matched]) {
            matched = borders[matched - 1];
        }
        if id == Some(pattern[matched]) {
            matched += 1;
        }
        if matched == pattern.len() {
            found.push(index + 1 - matched);
            matched = if overlapping { borders[matched - 1] } else { 0 };
        }
    }
    found
}

/// Of each prefix the length of its longest border (Knuth, Morris and Pratt).
fn borders(pattern: &[usize]) -> Vec<usize> {
    let mut borders = vec![0; pattern.len()];
    let mut len = 0;
    for at in 1..pattern.len() {
        while len > 0 && pattern[at] != pattern[len] {
            len = borders[len - 1];
        }
        if pattern[at] == pattern[len] {
            len += 1;
        }
        borders[at] = len;
    }
    borders
}

/// Runs of white space as one space, none at the ends.
pub(super) fn collapsed(line: &str) -> Cow<'_, str> {
    let line = line.trim();
    let mut last = 'x';
    let single = line.chars().all(|char| {
        let fine = !char.is_whitespace() || (char == ' ' && last != ' ');
        last = char;
        fine
    });
    if single { line.into() } else { line.split_whitespace().collect::<Vec<_>>().join(" ").into() }
}
