//! Differences of two texts.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn check(before: &str, after: &str, counts: (usize, usize), expected: &str) {
    let (before, after) = (Rope::from_str(before), Rope::from_str(after));
    let LineCounts { added, removed } = line_counts(&before, &after);
    assert_eq!((added, removed), counts);
    assert_eq!(unified("src/a.rs", &before, &after, 1), expected);
}

#[test]
fn r3_4_lines_removed_and_added_are_counted() {
    check(
        "a\nb\nc\nd\ne\n",
        "a\nB\nc\nd\ne\nf\n",
        (2, 1),
        "--- src/a.rs\n+++ src/a.rs\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -5 +5,2 @@\n e\n+f\n",
    );
}

#[test]
fn equal_texts_have_no_diff() {
    check("a\n", "a\n", (0, 0), "");
    check("", "", (0, 0), "");
}

#[test]
fn a_missing_final_newline_is_shown() {
    check(
        "a\nb",
        "a\nb\n",
        (1, 1),
        "--- src/a.rs\n+++ src/a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
    );
}

#[test]
fn a_carriage_return_alone_ends_no_line_of_a_diff() {
    check(
        "a\rb\rc",
        "a\rB\rc",
        (1, 1),
        "--- src/a.rs\n+++ src/a.rs\n@@ -1 +1 @@\n-a\rb\rc\n\\ No newline at end of file\n+a\rB\rc\n\\ No newline at end of file\n",
    );
    check("a\r\nb\r\n", "a\r\n", (0, 1), "--- src/a.rs\n+++ src/a.rs\n@@ -1,2 +1 @@\n a\r\n-b\r\n");
}

#[test]
fn an_empty_side_is_named_by_the_line_before_it() {
    check("", "a\nb\n", (2, 0), "--- src/a.rs\n+++ src/a.rs\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    check("a\n", "", (0, 1), "--- src/a.rs\n+++ src/a.rs\n@@ -1 +0,0 @@\n-a\n");
}

/// What `patch` makes of a text: strict, without any search.
fn patched(before: &str, hunks: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let mut out = String::new();
    let mut at = 0;
    let mut lines = hunks.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("@@ -") {
            let (start, count) =
                head.split_once(' ').unwrap().0.split_once(',').unwrap_or((head.split(' ').next().unwrap(), "1"));
            let start: usize = start.parse().unwrap();
            let start = if count == "0" { start } else { start - 1 };
            out.extend(old[at..start].iter().copied());
            at = start;
            continue;
        }
        let (sign, text) = line.split_at(1);
        let is_cut = lines.peek().is_some_and(|next| next.starts_with('\\'));
        let text = if is_cut { text.strip_suffix('\n').unwrap() } else { text };
        match sign {
            " " | "-" => {
                assert_eq!(old[at], text);
                at += 1;
                if sign == " " {
                    out.push_str(text);
                }
            }
            "+" => out.push_str(text),
            "\\" => {}
            other => panic!("{other:?}"),
        }
    }
    out.extend(old[at..].iter().copied());
    out
}

proptest! {
    #[test]
    fn a_diff_makes_one_text_of_the_other(
        before in "([ab+\\-@\\\\ ]{0,2}(\n|\r\n|\r)){0,8}[ab]{0,2}",
        after in "([ab+\\-@\\\\ ]{0,2}(\n|\r\n|\r)){0,8}[ab]{0,2}",
        context in 0..4usize,
    ) {
        let (old, new) = (Rope::from_str(&before), Rope::from_str(&after));
        let (text, counts) = hunks(&old, &new, context);
        prop_assert_eq!(patched(&before, &text), after);
        prop_assert_eq!(counts, line_counts(&old, &new));
        prop_assert_eq!(text.is_empty(), new == before);
    }
}

proptest! {
    #[test]
    fn r3_4_counts_are_those_of_the_whole_texts(
        start in "(a|\u{e9}|\u{1f680}|\n|\r\n|\r){0,8}",
        old in "(a|\u{e9}|\u{ea}|\u{1f680}|\n|\r){0,8}",
        new in "(a|\u{e9}|\u{ea}|\u{1f681}|\n|\r){0,8}",
        end in "(a|\u{ea}|\u{1f680}|\n|\r\n|\r){0,8}",
    ) {
        let (before, after) = (format!("{start}{old}{end}"), format!("{start}{new}{end}"));
        let whole = counts(&capture_diff_slices(Algorithm::Myers, &lines(&before), &lines(&after)));
        prop_assert_eq!(line_counts(&Rope::from_str(&before), &Rope::from_str(&after)), whole);
        let whole = Rope::from_str(&after);
        let part = changed_part(&Rope::from_str(&before), &whole).to_string();
        prop_assert!(after.contains(&part));
        let new_ones = |text: &str| text.chars().filter(|char| !before.contains(*char)).collect::<Vec<_>>();
        prop_assert_eq!(new_ones(&part), new_ones(&after));
    }
}

#[test]
fn what_is_equal_at_both_ends_is_no_changed_part() {
    let check = |before: &str, after: &str, part: &str| {
        assert_eq!(changed_part(&Rope::from_str(before), &Rope::from_str(after)), part);
    };
    check("a\u{e9}b", "a\u{ea}b", "\u{ea}");
    check("aa", "aaa", "a");
    check("aaa", "aa", "");
    check(&"x".repeat(1000), &format!("{}y{}", "x".repeat(500), "x".repeat(500)), "y");
}
