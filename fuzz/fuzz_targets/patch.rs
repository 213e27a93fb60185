//! Any patch and any file: reading and placing it end without a panic, what was placed fits the file, and lines outside of every hunk stay.
//!
//! The file is what stands before the first `*** Begin Patch`.
#![no_main]

use std::collections::HashSet;

use copydesk_workspace::matching::find_hunks;
use copydesk_workspace::patch::{self, FilePatch, Hunk, HunkLine};
use libfuzzer_sys::fuzz_target;
use ropey::Rope;

fuzz_target!(|text: &str| {
    let start = text.find("*** Begin Patch").unwrap_or_default();
    let (file, text) = text.split_at(start);
    let Ok(patch) = patch::parse(text) else { return };
    assert!(!patch.files.is_empty());
    let file = Rope::from_str(file);
    for change in &patch.files {
        assert!(!change.path().trim().is_empty());
        let FilePatch::Update { hunks, .. } = change else { continue };
        if let Ok(matched) = find_hunks(&file.to_string(), hunks) {
            assert!(!matched.edits.is_empty());
            let after = matched.edits.apply(&file).expect("the edits are of this text");
            let back = matched.edits.invert(&file).and_then(|inverse| inverse.apply(&after));
            assert_eq!(back.as_ref(), Ok(&file));
            assert_lines_outside_stay(&file.to_string(), &after.to_string(), hunks);
        }
    }
});

/// Every line of the file whose like no hunk takes out stands there as it was, in the same order. What is alike is told by letters and digits alone: places are
/// found by less than the whole line, never by other content.
fn assert_lines_outside_stay(before: &str, after: &str, hunks: &[Hunk]) {
    let content = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let removed: HashSet<String> = hunks
        .iter()
        .flat_map(|hunk| &hunk.lines)
        .filter_map(|line| match line {
            HunkLine::Remove(line) => Some(content(line)),
            HunkLine::Context(_) | HunkLine::Add(_) => None,
        })
        .collect();
    let mut rest = lines(after);
    for line in lines(before).filter(|line| !removed.contains(&content(line))) {
        assert!(rest.any(|there| there == line), "{line:?} is gone, or stands elsewhere: {before:?} {after:?}");
    }
}

/// Without their breaks, of whatever kind: `\r\n` makes one line more, and an empty one is no content.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\r', '\n']).filter(|line| !line.is_empty())
}
