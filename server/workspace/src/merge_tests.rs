//! What is taken back, what is left to the user, and that no line of the user's is ever lost.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The text afterwards, and the conflicts by the lines of the present text.
#[track_caller]
fn check(before: &str, after: &str, now: &str, expected: &str, conflicts: &[(usize, usize)]) {
    let [before, after, now] = [before, after, now].map(Rope::from_str);
    let taken = take_back(&before, &after, &now);
    assert_eq!(taken.edits.apply(&now).unwrap().to_string(), expected);
    let found: Vec<_> = taken.conflicts.iter().map(|conflict| (conflict.now.start, conflict.now.end)).collect();
    assert_eq!(found, conflicts);
}

#[test]
fn r5_2_what_nobody_changed_since_becomes_what_it_was() {
    check("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n", "a\nb\nc\n", &[]);
    check("", "new\n", "new\n", "", &[]);
    check("old\n", "", "", "old\n", &[]);
    check("a\nb", "a\nb\n", "a\nb\n", "a\nb", &[]);
    check("a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\n", "a\r\nb\r\n", &[]);
}

#[test]
fn r5_2_the_user_s_changes_elsewhere_stay() {
    check("a\nb\nc\nd\n", "a\nB\nc\nd\n", "top\na\nB\nc\nd\nend\n", "top\na\nb\nc\nd\nend\n", &[]);
    check("1\n2\n3\n4\n5\n", "1\nx\n3\n4\ny\n", "1\nx\n3\nmine\n4\ny\n", "1\n2\n3\nmine\n4\n5\n", &[]);
    check("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n7\n", "1\nTWO\n3\n4\n5\n6\n7\n", "1\nTWO\n3\n4\n5\n", &[]);
}

#[test]
fn r5_2_a_line_that_the_user_changed_too_is_a_conflict_and_stays() {
    check("a\nb\nc\n", "a\nB\nc\n", "a\nB!\nc\n", "a\nB!\nc\n", &[(1, 2)]);
    // The other hunk goes all the same.
    check("1\n2\n3\n4\n5\n", "x\n2\n3\n4\ny\n", "x!\n2\n3\n4\ny\n", "x!\n2\n3\n4\n5\n", &[(0, 1)]);
    // The user's line stands right beside the agent's.
    check("a\nc\n", "a\nB\nc\n", "a\nB\nmine\nc\n", "a\nB\nmine\nc\n", &[(1, 3)]);
    check("a\nb\nc\n", "a\nB\nc\n", "A\nB\nc\n", "A\nB\nc\n", &[(0, 2)]);
    // Inside of what the agent added.
    check("", "1\n2\n3\n4\n", "1\n2\nmine\n3\n4\n", "1\n2\nmine\n3\n4\n", &[(0, 5)]);
    // Deleted by the user.
    check("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nc\nd\n", "a\nc\nd\n", &[(1, 1)]);
}

#[test]
fn r5_3_what_is_as_it_was_already_needs_nothing() {
    check("a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\n", "a\nb\nc\n", &[]);
    check("a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\nmine\n", "a\nb\nc\nmine\n", &[]);
    // One of two is, the other is not.
    check("1\n2\n3\n4\n", "x\n2\n3\ny\n", "1\n2\n3\ny\n", "1\n2\n3\n4\n", &[]);
    check("a\n", "a\n", "mine\n", "mine\n", &[]);
    // It never came to be, and the user typed beside the place.
    check("a\nb\nc\n", "a\nB\nc\n", "a\nmine\nb\nc\n", "a\nmine\nb\nc\n", &[]);
    check("a\nb\nc\n", "a\nB\nc\n", "a\nb\nB\nc\n", "a\nb\nB\nc\n", &[(1, 3)]);
}

#[test]
fn a_last_line_without_a_break_is_a_line() {
    check("a\nb\nc", "a\nb\nC", "x\na\nb\nC", "x\na\nb\nc", &[]);
    check("a\nb", "a\nb\nc", "a\nb\nc\nmine", "a\nb\nc\nmine", &[(1, 4)]);
}

#[test]
fn the_edit_is_no_larger_than_it_must_be() {
    let [before, after, now] = ["let x = 1;\nb\n", "let x = 2;\nb\n", "let x = 2;\nb\nmine\n"].map(Rope::from_str);
    let taken = take_back(&before, &after, &now);
    assert_eq!(taken.edits.edits(), [TextEdit { range: 8..9, text: "1".to_owned() }]);
}

/// Few lines that are often the same: the hardest for a diff.
#[test]
fn r5_2_long_and_repetitive_texts_cost_no_more_than_their_length() {
    const LINES: usize = 300_000;
    let of = |mark: &str| (0..LINES).map(|line| format!("{mark}{line}\n")).collect::<String>();
    // All changed by the agent; put back, and gone on with.
    let (old, new) = (of("old"), of("new"));
    check(&old, &new, &format!("{old}mine\n"), &format!("{old}mine\n"), &[]);
    // All lines alike: what stood there seems to come at each line.
    let alike = "x\n".repeat(LINES);
    let end = format!("{}y\n", "x\n".repeat(LINES / 2));
    check(&end, &new, &alike, &alike, &[(0, LINES)]);
    // Each second line of the agent's was changed.
    let now: String =
        (0..LINES).map(|line| format!("{}{line}\n", if line % 2 == 0 { "mine" } else { "new" })).collect();
    check(&old, &new, &now, &now, &[(0, LINES)]);
    // Blocks that come again and again.
    let blocks = |mark: &str| format!("fn f() {{\n    {mark}\n}}\n\n").repeat(LINES / 4);
    check(&blocks("a"), &blocks("b"), &format!("{}mine\n", blocks("b")), &format!("{}mine\n", blocks("a")), &[]);
}

#[test]
fn r5_3_lines_that_begin_anew_within_themselves_are_found() {
    for (lines, run, is_there) in [
        ("aab", "ab", true),
        ("aaab", "aab", true),
        ("ababac", "abac", true),
        ("abab", "abac", false),
        ("a", "ab", false),
    ] {
        let split = |text: &'static str| text.split_inclusive(|_| true).collect::<Vec<_>>();
        assert_eq!(has_run(&split(lines), &split(run)), is_there, "{lines} {run}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    (prop::collection::vec("[ab]?", 0..12), prop::sample::select(vec!["\n", "\r\n", "\r"]), any::<bool>()).prop_map(
        |(lines, ending, is_ended)| {
            let mut text = lines.join(ending);
            if is_ended {
                text.push_str(ending);
            }
            text
        },
    )
}

fn counts(lines: &[&str]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry((*line).to_owned()).or_default() += 1;
    }
    counts
}

proptest! {
    #[test]
    fn r5_2_without_a_change_since_the_result_is_the_text_before(before in texts(), after in texts()) {
        let [before, after] = [before, after].map(|text| Rope::from_str(&text));
        let taken = take_back(&before, &after, &after);
        prop_assert_eq!(taken.edits.apply(&after).unwrap(), before);
        prop_assert!(taken.conflicts.is_empty());
    }

    #[test]
    fn r5_2_no_line_of_the_user_s_is_lost(before in texts(), after in texts(), now in texts()) {
        let ropes = [&before, &after, &now].map(|text| Rope::from_str(text));
        let taken = take_back(&ropes[0], &ropes[1], &ropes[2]);
        let result = taken.edits.apply(&ropes[2]).unwrap().to_string();
        let (had, has) = (counts(&lines(&after)), counts(&lines(&result)));
        for (line, count) in counts(&lines(&now)) {
            let by_user = count.saturating_sub(had.get(&line).copied().unwrap_or(0));
            prop_assert!(has.get(&line).copied().unwrap_or(0) >= by_user, "{line:?} of {now:?} is not in {result:?}");
        }
    }

    /// Twenty lines, each another one; what the agent and the user do stands apart.
    #[test]
    fn r5_2_the_user_s_edits_elsewhere_come_out_on_the_text_before(
        agent in prop::collection::btree_map(0_usize..10, prop::option::of("[xy]"), 1..6),
        user in prop::collection::btree_map(0_usize..10, prop::option::of("[uv]"), 1..6),
    ) {
        // Lines 4n are the agent's, lines 4n + 2 the user's.
        let text = |by_agent: bool, by_user: bool| -> Rope {
            let line = |n: usize| {
                let change = match n % 4 {
                    0 if by_agent => agent.get(&(n / 4)),
                    2 if by_user => user.get(&(n / 4)),
                    _ => None,
                };
                match change {
                    None => format!("line {n}\n"),
                    Some(None) => String::new(),
                    Some(Some(new)) => format!("{new} {n}\nand more {n}\n"),
                }
            };
            Rope::from((0..40).map(line).collect::<String>())
        };
        let (before, after, now) = (text(false, false), text(true, false), text(true, true));
        let taken = take_back(&before, &after, &now);
        prop_assert!(taken.conflicts.is_empty());
        prop_assert_eq!(taken.edits.apply(&now).unwrap(), text(false, true));
    }

    /// Taken back once more, nothing happens: an undo that was cut off is simply done again.
    #[test]
    fn r5_3_twice_is_as_good_as_once(before in texts(), after in texts()) {
        let [before, after] = [before, after].map(|text| Rope::from_str(&text));
        let taken = take_back(&before, &after, &before);
        prop_assert!(taken.edits.is_empty(), "{:?}", taken.edits);
    }
}
