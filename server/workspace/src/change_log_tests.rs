//! One change of an editor, and the two authors in it.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::path::AbsPath;

fn set(base: &Rope, edits: &[(std::ops::Range<usize>, &str)]) -> EditSet {
    let edits = edits.iter().map(|(range, text)| TextEdit { range: range.clone(), text: (*text).into() }).collect();
    EditSet::new(base, edits).unwrap()
}

type Edits<'a> = &'a [(std::ops::Range<usize>, &'a str)];

/// `rest` is the user's part, as an edit of the text after the agent's.
fn check(base: &str, expected: Edits<'_>, seen: Edits<'_>, rest: Option<Edits<'_>>) {
    let base = Rope::from_str(base);
    let (expected, seen) = (set(&base, expected), set(&base, seen));
    let ours = expected.apply(&base).unwrap();
    let found = split_by_author(&base, &expected, &seen);
    assert_eq!(found, rest.map(|rest| set(&ours, rest)));
    if let Some(found) = found {
        assert_eq!(found.apply(&ours), seen.apply(&base));
    }
}

#[test]
fn the_agents_edit_alone_leaves_nothing() {
    check("one two\n", &[(0..3, "ONE")], &[(0..3, "ONE")], Some(&[]));
    check("one two\n", &[(0..3, "ONE")], &[(0..7, "ONE two")], Some(&[]));
    check("a\na\na\n", &[(0..2, "")], &[(4..6, "")], Some(&[]));
}

#[test]
fn typing_elsewhere_is_the_users() {
    check("one\ntwo\n", &[(0..3, "long one")], &[(0..3, "long one"), (7..7, "!")], Some(&[(12..12, "!")]));
    check("one\ntwo\n", &[(4..7, "2")], &[(0..0, "x"), (4..7, "2")], Some(&[(0..0, "x")]));
}

#[test]
fn typing_that_touches_the_edit_is_the_users() {
    check("one two", &[(4..7, "2")], &[(4..7, "2!")], Some(&[(5..5, "!")]));
    check("one two", &[(4..7, "2")], &[(0..7, "uno 2")], Some(&[(0..3, "uno")]));
    check("one two", &[(4..4, "and ")], &[(4..4, "and also ")], Some(&[(8..8, "also ")]));
    check("a b c", &[(0..1, "A"), (4..5, "C")], &[(0..5, "A bee C")], Some(&[(3..3, "ee")]));
}

#[test]
fn a_change_without_the_agents_edit_is_not_split() {
    check("one two", &[(4..7, "2")], &[(0..0, "x")], None);
    check("one two", &[(4..7, "2")], &[(4..4, "2")], None);
    check("one two", &[(4..7, "22")], &[(4..7, "2")], None);
    check("one two", &[(3..7, "")], &[(3..4, "")], None);
    check("aaa", &[(0..1, "")], &[(3..3, "x")], None);
    check("a b", &[(0..1, "A"), (2..3, "B")], &[(0..1, "A")], None);
    check("a b", &[(0..1, "A"), (2..3, "B")], &[(2..3, "B")], None);
    check("a b", &[(0..1, "A")], &[], None);
}

#[test]
fn other_ranges_for_the_same_change_are_understood() {
    let base = "fn a() {\n    one();\n    two();\n}\n";
    let first = base.find("one").unwrap();
    let second = base.find("two").unwrap();
    let all = base.replace("one", "1").replace("two", "2") + "// typed\n";
    let ours = base.len() - 4;
    check(
        base,
        &[(first..first + 3, "1"), (second..second + 3, "2")],
        &[(0..base.len(), &all)],
        Some(&[(ours..ours, "// typed\n")]),
    );
}

#[test]
fn an_edit_of_another_text_is_not_split() {
    let base = Rope::from_str("abc");
    let other = set(&Rope::from_str("abcd"), &[(0..1, "x")]);
    assert_eq!(split_by_author(&base, &other, &set(&base, &[(0..1, "x")])), None);
}

#[test]
fn the_log_gives_the_edits_of_one_document_in_order() {
    let base = Rope::from_str("abc");
    let mut log = ChangeLog::default();
    let key = |name: &str| DocKey::from_real_path(AbsPath::new(name).unwrap());
    for (name, version, author) in [
        ("/a", Some(1), Author::User),
        ("/b", None, Author::User),
        ("/a", Some(2), Author::Agent { label: "s/1".into() }),
    ] {
        log.record(LoggedEdit { key: key(name), author, version, edits: set(&base, &[]) });
    }
    let versions: Vec<_> = log.of(&key("/a")).map(|edit| (edit.version, edit.author.clone())).collect();
    assert_eq!(versions, [(Some(1), Author::User), (Some(2), Author::Agent { label: "s/1".into() })]);
}

type Pick = (prop::sample::Index, prop::sample::Index, String);

fn picks() -> impl Strategy<Value = Vec<Pick>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "([a-c]|é|\n){0,5}"), 0..4)
}

/// Edits of `base` that keep out of the `taken` ranges; they may touch them.
fn edits_of(base: &str, picks: &[Pick], taken: &[std::ops::Range<usize>]) -> EditSet {
    let offsets: Vec<usize> = base.char_indices().map(|(at, _)| at).chain([base.len()]).collect();
    let mut ends: Vec<usize> =
        picks.iter().flat_map(|(a, b, _)| [offsets[a.index(offsets.len())], offsets[b.index(offsets.len())]]).collect();
    ends.sort_unstable();
    let edits =
        ends.chunks(2).zip(picks).map(|(ends, pick)| TextEdit { range: ends[0]..ends[1], text: pick.2.clone() });
    let free =
        edits.filter(|edit| taken.iter().all(|taken| edit.range.end <= taken.start || taken.end <= edit.range.start));
    EditSet::new(&Rope::from_str(base), free.collect()).unwrap()
}

proptest! {
    #[test]
    fn what_the_user_typed_beside_the_agent_is_found(base in "([a-c]|é|\n){0,30}", ours in picks(), users in picks()) {
        let rope = Rope::from_str(&base);
        let expected = edits_of(&base, &ours, &[]);
        let after = expected.apply(&rope).unwrap();
        let added: Vec<_> = expected.invert(&rope).unwrap().edits().iter().map(|edit| edit.range.clone()).collect();
        let typed = edits_of(&after.to_string(), &users, &added);
        let seen = expected.compose(&rope, &typed).unwrap();
        let rest = split_by_author(&rope, &expected, &seen);
        prop_assert!(rest.is_some());
        prop_assert_eq!(rest.unwrap().apply(&after).unwrap(), typed.apply(&after).unwrap());
    }

    #[test]
    fn a_split_is_never_wrong_about_the_text(base in "([a-c]|é|\n){0,20}", ours in picks(), seen in picks()) {
        let rope = Rope::from_str(&base);
        let (expected, seen) = (edits_of(&base, &ours, &[]), edits_of(&base, &seen, &[]));
        if let Some(rest) = split_by_author(&rope, &expected, &seen) {
            prop_assert_eq!(rest.apply(&expected.apply(&rope).unwrap()), seen.apply(&rope));
        }
    }
}
