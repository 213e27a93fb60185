//! Any file and any edits: finding a place ends without a panic, what was found fits the file and can be taken back, and a text that stands there once, as it
//! is, is what is replaced.
//!
//! The file, then old and new text of each edit, with a zero byte between them.
#![no_main]

use copydesk_workspace::edit::EditSet;
use copydesk_workspace::matching::{Replacement, find_edit, find_edits};
use libfuzzer_sys::fuzz_target;
use ropey::Rope;

fuzz_target!(|text: &str| {
    let mut parts = text.split('\0');
    let Some(original) = parts.next() else { return };
    let parts: Vec<&str> = parts.take(8).collect();
    let file = Rope::from_str(original);
    let edits: Vec<Replacement<'_>> = parts
        .chunks_exact(2)
        .map(|pair| Replacement { old: pair[0], new: pair[1], replace_all: false })
        .collect();
    for edit in &edits {
        for replace_all in [false, true] {
            let Ok(matched) = find_edit(original, Replacement { replace_all, ..*edit }) else { continue };
            let after = taken_back(&file, &matched.edits);
            let is_plain = ![original, edit.old, edit.new].iter().any(|text| text.contains('\r'));
            let replaced = original.replacen(edit.old, edit.new, 1);
            // Whether a file ends in a line break stays as it is (C17).
            let ends_alike = replaced.ends_with('\n') == original.ends_with('\n');
            let is_once = original.matches(edit.old).count() == 1;
            if is_plain && ends_alike && is_once && !replace_all && matched.warnings.is_empty() {
                assert_eq!(after.to_string(), replaced);
            }
        }
    }
    if edits.len() > 1
        && let Ok(matched) = find_edits(original, &edits)
    {
        taken_back(&file, &matched.edits);
    }
});

/// The text after the edits, which change it and can be taken back.
fn taken_back(file: &Rope, edits: &EditSet) -> Rope {
    assert!(!edits.is_empty());
    let after = edits.apply(file).expect("the edits are of this text");
    let back = edits.invert(file).and_then(|inverse| inverse.apply(&after));
    assert_eq!(back.as_ref(), Ok(file));
    after
}
