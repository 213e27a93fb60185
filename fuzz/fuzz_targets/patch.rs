//! Any patch and any file: reading and placing it end without a panic, what was placed fits the file, and lines outside of every hunk stay.
//!
//! The file is what stands before the first `*** Begin Patch`.
#![no_main]

use copydesk_workspace::matching::find_hunks;
use copydesk_workspace::patch::{self, FilePatch};
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
        if let Ok(matched) = find_hunks(&file, hunks) {
            assert!(!matched.edits.is_empty());
            let after = matched.edits.apply(&file).expect("the edits are of this text");
            let back = matched.edits.invert(&file).and_then(|inverse| inverse.apply(&after));
            assert_eq!(back.as_ref(), Ok(&file));
        }
    }
});
