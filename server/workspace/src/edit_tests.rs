//! The laws of edits, and the faults that they answer with.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn edit(range: Range<usize>, text: &str) -> TextEdit {
    TextEdit { range, text: text.to_owned() }
}

fn set(base: &str, edits: &[(Range<usize>, &str)]) -> EditSet {
    let edits = edits.iter().map(|(range, text)| edit(range.clone(), text)).collect();
    EditSet::new(&Rope::from_str(base), edits).unwrap()
}

fn applied(edits: &EditSet, base: &str) -> String {
    edits.apply(&Rope::from_str(base)).unwrap().to_string()
}

#[test]
fn edits_are_sorted_and_joined() {
    let edits = set("abcdef", &[(4..5, "E"), (0..1, "A"), (1..2, ""), (3..3, "")]);
    assert_eq!(edits.edits(), [edit(0..2, "A"), edit(4..5, "E")]);
    assert_eq!(applied(&edits, "abcdef"), "AcdEf");
    assert_eq!((edits.base_len(), edits.after_len()), (6, 5));
}

#[test]
fn insertions_at_one_place_keep_their_order() {
    assert_eq!(applied(&set("ab", &[(1..2, "B"), (1..1, "x"), (1..1, "y")]), "ab"), "axyB");
}

#[test]
fn c13_overlapping_edits_and_bad_offsets_are_refused_as_a_whole() {
    let base = Rope::from_str("aé\n");
    for (edits, error) in [
        (vec![edit(0..2, ""), edit(1..3, "")], EditError::BadOffset { at: 2 }),
        (vec![edit(1..3, "x"), edit(0..3, "y")], EditError::Overlap { at: 1 }),
        (vec![edit(3..9, "")], EditError::BadOffset { at: 9 }),
        (vec![edit(Range { start: 3, end: 1 }, "")], EditError::BadOffset { at: 1 }),
    ] {
        assert_eq!(EditSet::new(&base, edits), Err(error));
    }
}

#[test]
fn an_edit_of_another_text_is_refused() {
    let edits = set("abc", &[(1..2, "x")]);
    let other = Rope::from_str("ab");
    let error = EditError::WrongBase { expected: 3, found: 2 };
    assert_eq!(edits.apply(&other), Err(error.clone()));
    assert_eq!(edits.invert(&other), Err(error.clone()));
    assert_eq!(edits.compose(&other, &edits), Err(error.clone()));
    assert_eq!(edits.rebase(&set("ab", &[])), Err(error.clone()));
    assert_eq!(
        edits.compose(&Rope::from_str("abc"), &set("ab", &[])),
        Err(EditError::WrongBase { expected: 2, found: 3 })
    );
    let same_length = Rope::from_str("é1");
    assert_eq!(edits.apply(&same_length), Err(EditError::BadOffset { at: 1 }));
    assert_eq!(edits.invert(&same_length), Err(EditError::BadOffset { at: 1 }));
}

#[test]
fn a_stored_edit_is_checked_again() {
    let edits = set("abcdef", &[(4..5, "E"), (0..1, "A")]);
    let json = serde_json::to_string(&edits).unwrap();
    assert_eq!(serde_json::from_str::<EditSet>(&json).unwrap(), edits);
    for broken in [
        r#"{"base_len":3,"edits":[{"range":{"start":0,"end":9},"text":""}]}"#,
        r#"{"base_len":3,"edits":[{"range":{"start":2,"end":1},"text":""}]}"#,
        r#"{"base_len":3,"edits":[{"range":{"start":0,"end":2},"text":""},{"range":{"start":1,"end":3},"text":""}]}"#,
    ] {
        assert!(serde_json::from_str::<EditSet>(broken).is_err(), "{broken}");
    }
}

#[test]
fn rebase_moves_over_what_touches_and_stops_at_what_overlaps() {
    let ours = set("abcdef", &[(2..4, "X")]);
    for (theirs, expected) in [
        (set("abcdef", &[(0..0, "one\n")]), Ok("one\nabXef")),
        (set("abcdef", &[(2..2, "<"), (4..4, ">")]), Ok("ab<X>ef")),
        (set("abcdef", &[(0..2, ""), (4..6, "")]), Ok("X")),
        (set("abcdef", &[(3..3, "!")]), Err(EditError::Conflict { at: 3 })),
        (set("abcdef", &[(1..3, "")]), Err(EditError::Conflict { at: 2 })),
        (set("abcdef", &[(0..6, "")]), Err(EditError::Conflict { at: 2 })),
    ] {
        let after = theirs.apply(&Rope::from_str("abcdef")).unwrap();
        let found = ours.rebase(&theirs).map(|moved| moved.apply(&after).unwrap().to_string());
        assert_eq!(found, expected.map(str::to_owned));
    }
}

#[test]
fn offsets_move_with_the_text_around_them() {
    let edits = set("abcdef", &[(1..1, "__"), (3..5, "X")]);
    let moved: Vec<usize> = (0..=7).map(|at| edits.map_offset(at)).collect();
    assert_eq!(moved, [0, 3, 4, 5, 6, 6, 7, 7]);
}

#[test]
fn between_changes_no_more_than_differs() {
    for (before, after, edits) in [
        ("a\nb\nc\n", "a\nx\nc\n", vec![edit(2..3, "x")]),
        ("let x = 1;\nlet y = 2;\n", "let x = 10;\nlet y = 3;\n", vec![edit(9..9, "0"), edit(19..20, "3")]),
        ("a\n", "a\nb\n", vec![edit(2..2, "b\n")]),
        ("a\nb\n", "", vec![edit(0..4, "")]),
        ("", "a", vec![edit(0..0, "a")]),
        ("same", "same", vec![]),
        ("a\r\nb\r\n", "a\nb\r\n", vec![edit(1..3, "\n")]),
        ("f(é, ü)\n", "f(è, ü)\n", vec![edit(2..4, "è")]),
    ] {
        assert_eq!(
            EditSet::between(&Rope::from_str(before), &Rope::from_str(after)).edits(),
            edits,
            "{before:?} {after:?}"
        );
    }
}

#[test]
fn between_of_large_texts_costs_what_changed() {
    let mut text: String = (0..400_000).map(|line| format!("line number {line}\n")).collect();
    let before = Rope::from_str(&text);
    text.insert_str(5_000_000, "new ");
    assert_eq!(EditSet::between(&before, &Rope::from_str(&text)).edits(), [edit(5_000_000..5_000_000, "new ")]);
}

#[test]
fn line_breaks_are_sent_whole() {
    let base = Rope::from_str("a\r\nb");
    for (edits, whole) in [
        (set("a\r\nb", &[(1..2, "")]), edit(1..3, "\n")),
        (set("a\r\nb", &[(2..3, "")]), edit(1..3, "\r")),
        (set("a\r\nb", &[(2..2, "x")]), edit(1..3, "\rx\n")),
        (set("a\r\nb", &[(2..4, "x")]), edit(1..4, "\rx")),
        (set("a\r\nb", &[(1..3, "\n")]), edit(1..3, "\n")),
    ] {
        let safe = edits.with_whole_line_breaks(&base);
        assert_eq!(safe.edits(), [whole]);
        assert_eq!(safe.apply(&base), edits.apply(&base));
    }
}

/// Text with everything that offsets can go wrong at.
fn text() -> impl Strategy<Value = String> {
    "([a-d]|é|🐰| |_|\r|\n|\r\n){0,40}"
}

/// Edits of `base` from pairs of picks: not overlapping, in whole characters.
fn edits_of(base: &str, picks: &[(prop::sample::Index, prop::sample::Index, String)]) -> EditSet {
    let offsets: Vec<usize> = base.char_indices().map(|(at, _)| at).chain([base.len()]).collect();
    let mut ends: Vec<usize> =
        picks.iter().flat_map(|(a, b, _)| [offsets[a.index(offsets.len())], offsets[b.index(offsets.len())]]).collect();
    ends.sort_unstable();
    let edits = ends.chunks(2).zip(picks).map(|(ends, (_, _, text))| edit(ends[0]..ends[1], text)).collect();
    EditSet::new(&Rope::from_str(base), edits).unwrap()
}

fn picks() -> impl Strategy<Value = Vec<(prop::sample::Index, prop::sample::Index, String)>> {
    prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), "([a-d]|é|\r|\n|\r\n){0,6}"),
        0..5,
    )
}

fn is_canonical(edits: &EditSet) -> bool {
    edits.edits().iter().all(|edit| !edit.range.is_empty() || !edit.text.is_empty())
        && edits.edits().windows(2).all(|pair| pair[0].range.end < pair[1].range.start)
        && edits.edits().last().is_none_or(|edit| edit.range.end <= edits.base_len())
}

proptest! {
    #[test]
    fn invert_undoes_apply(base in text(), picks in picks()) {
        let edits = edits_of(&base, &picks);
        let rope = Rope::from_str(&base);
        let after = edits.apply(&rope).unwrap();
        let back = edits.invert(&rope).unwrap();
        prop_assert!(is_canonical(&back));
        prop_assert_eq!(back.base_len(), after.len_bytes());
        prop_assert_eq!(back.apply(&after).unwrap(), rope);
    }

    #[test]
    fn a_text_in_one_piece_is_edited_as_a_rope(base in text(), picks in picks(), other in text()) {
        let (rope, edits) = (Rope::from_str(&base), edits_of(&base, &picks));
        prop_assert_eq!(edits.apply_str(&base).unwrap(), edits.apply(&rope).unwrap().to_string());
        // What does not fit is refused alike.
        let of_other = edits.edits().to_vec();
        prop_assert_eq!(EditSet::of_str(&other, of_other.clone()), EditSet::new(&Rope::from_str(&other), of_other));
        prop_assert_eq!(edits.apply_str(&other).is_err(), edits.apply(&Rope::from_str(&other)).is_err());
    }

    #[test]
    fn compose_is_one_after_the_other(base in text(), first in picks(), next in picks()) {
        let rope = Rope::from_str(&base);
        let first = edits_of(&base, &first);
        let middle = first.apply(&rope).unwrap();
        let next = edits_of(&middle.to_string(), &next);
        let both = first.compose(&rope, &next).unwrap();
        prop_assert!(is_canonical(&both));
        prop_assert_eq!(both.apply(&rope).unwrap(), next.apply(&middle).unwrap());
        prop_assert_eq!(first.compose(&rope, &first.invert(&rope).unwrap()).unwrap().apply(&rope).unwrap(), rope);
    }

    #[test]
    fn rebase_comes_to_the_merge_of_both(base in text(), ours in picks(), theirs in picks()) {
        let rope = Rope::from_str(&base);
        let (ours, theirs) = (edits_of(&base, &ours), edits_of(&base, &theirs));
        let merge = EditSet::new(&rope, [theirs.edits(), ours.edits()].concat());
        match ours.rebase(&theirs) {
            Ok(moved) => {
                prop_assert!(is_canonical(&moved));
                prop_assert_eq!(moved.apply(&theirs.apply(&rope).unwrap()).unwrap(), merge.unwrap().apply(&rope).unwrap());
            }
            Err(error) => {
                prop_assert!(matches!(error, EditError::Conflict { .. }), "{error}");
                prop_assert!(merge.is_err());
            }
        }
    }

    #[test]
    fn offsets_keep_their_order_and_what_is_kept_keeps_its_text(base in text(), picks in picks()) {
        let edits = edits_of(&base, &picks);
        let after = applied(&edits, &base);
        let moved: Vec<usize> = (0..=base.len()).map(|at| edits.map_offset(at)).collect();
        prop_assert!(moved.is_sorted());
        prop_assert_eq!(moved[base.len()], after.len());
        for (at, byte) in base.bytes().enumerate() {
            if edits.edits().iter().all(|edit| at < edit.range.start || at >= edit.range.end) {
                prop_assert_eq!(after.as_bytes()[moved[at]], byte);
            }
        }
    }

    #[test]
    fn between_makes_the_one_of_the_other(before in text(), after in text()) {
        let (before, after) = (Rope::from_str(&before), Rope::from_str(&after));
        let edits = EditSet::between(&before, &after);
        prop_assert!(is_canonical(&edits));
        prop_assert_eq!(edits.apply(&before).unwrap(), after);
        prop_assert_eq!(edits.with_whole_line_breaks(&before), edits);
    }

    #[test]
    fn between_finds_an_edit_again(base in text(), picks in picks()) {
        let edits = edits_of(&base, &picks);
        let before = Rope::from_str(&base);
        let after = edits.apply(&before).unwrap();
        prop_assert_eq!(EditSet::between(&before, &after).apply(&before).unwrap(), after);
        let whole = edits.with_whole_line_breaks(&before);
        prop_assert!(is_canonical(&whole));
        prop_assert_eq!(whole.apply(&before), edits.apply(&before));
    }

    #[test]
    fn no_stored_edit_panics(base in text(), base_len in 0_usize..50, edits in prop::collection::vec((0_usize..60, 0_usize..60, "[aé]{0,3}"), 0..4)) {
        let edits = edits.into_iter().map(|(start, end, text)| edit(start..end, &text)).collect();
        if let Ok(edits) = EditSet::try_from(Unchecked { base_len, edits }) {
            let rope = Rope::from_str(&base);
            let _ = edits.apply(&rope);
            let _ = edits.invert(&rope);
            let _ = edits.compose(&rope, &edits);
            let _ = edits.rebase(&edits);
            let _ = edits.with_whole_line_breaks(&rope);
            let _ = edits.map_offset(base_len + 9);
        }
    }
}
