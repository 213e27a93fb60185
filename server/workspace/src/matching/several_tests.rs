#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn one<'a>(old: &'a str, new: &'a str) -> Replacement<'a> {
    Replacement { old, new, replace_all: false }
}

fn every<'a>(old: &'a str, new: &'a str) -> Replacement<'a> {
    Replacement { old, new, replace_all: true }
}

fn after(text: &str, replacements: &[Replacement<'_>]) -> Result<String, SeveralError> {
    find_edits(text, replacements).map(|matched| matched.edits.apply_str(text).unwrap())
}

/// In the order that is given and in the other one.
fn check(text: &str, replacements: &[Replacement<'_>], expected: &str) {
    assert_eq!(after(text, replacements).unwrap(), expected);
    let backwards: Vec<_> = replacements.iter().rev().copied().collect();
    assert_eq!(after(text, &backwards).unwrap(), expected, "backwards");
}

fn refused(text: &str, replacements: &[Replacement<'_>]) -> (usize, SeveralProblem) {
    let error = after(text, replacements).unwrap_err();
    (error.index, error.problem)
}

#[test]
fn c13_the_order_makes_no_difference() {
    let lines: Vec<String> = (1..=100).map(|n| format!("line {n};\n")).collect();
    let expected = lines.concat().replace("line 90;", "ninety\nand more").replace("line 5;", "five");
    check(&lines.concat(), &[one("line 90;", "ninety\nand more"), one("line 5;", "five")], &expected);
    check("a = 1; b = 2;\n", &[one("1", "2"), one("b = 2", "b = 3")], "a = 2; b = 3;\n");
    check("foo bar\n", &[one("foo", "bar"), one("bar", "baz")], "bar baz\n");
}

#[test]
fn c13_overlapping_blocks_are_refused() {
    let text = "one\ntwo\nthree\nfour\n";
    let (upper, lower) = (one("one\ntwo\nthree", "1\n2\n3"), one("three\nfour", "3\n4"));
    assert_eq!(refused(text, &[upper, lower]), (1, SeveralProblem::Overlap));
    assert_eq!(refused(text, &[lower, upper]), (1, SeveralProblem::Overlap));
    assert_eq!(refused(text, &[one("two", "2"), one("two", "zwei")]), (1, SeveralProblem::Overlap));
    assert_eq!(refused(text, &[one("two", "2"), one("two", "2")]), (1, SeveralProblem::Overlap));
}

#[test]
fn c13_a_second_edit_of_a_place_that_is_gone_takes_no_other_that_is_only_like_it() {
    let text = "if a {\n    go();\n}\nif b {\n\tgo();\n}\n";
    let twice = [one("    go();\n", "    stop();\n"), one("    go();\n", "    wait();\n")];
    assert_eq!(refused(text, &twice), (1, SeveralProblem::Overlap));
}

#[test]
fn one_may_build_on_what_one_before_it_wrote() {
    let text = "fn a() {}\n";
    let built = after(text, &[one("fn a() {}\n", "fn a() {}\nfn b() {}\n"), one("fn b() {}", "fn b() { a() }")]);
    assert_eq!(built.unwrap(), "fn a() {}\nfn b() { a() }\n");
    assert_eq!(after("", &[one("", "one\n"), one("one", "two")]).unwrap(), "two\n");
}

#[test]
fn what_is_left_over_of_a_name_is_renamed() {
    let text = "foo(1);\nfoo(2);\nfoo(3);\n";
    assert_eq!(
        after(text, &[one("foo(1)", "bar(1, 0)"), every("foo", "bar")]).unwrap(),
        "bar(1, 0);\nbar(2);\nbar(3);\n"
    );
    check(text, &[every("foo", "bar"), one("1", "one"), one("3", "three")], "bar(one);\nbar(2);\nbar(three);\n");
}

/// A backslash and an `n` in the new text are told of, and no reason to take an exact place for a loose one.
#[test]
fn an_exact_place_is_exact_whatever_is_told_of_it() {
    let text = "foo(1);\nfoo(2);\nfoo(3);\n";
    let renamed = after(text, &[one("foo(1)", "bar(1, 0)"), every("foo", "one\\ntwo")]).unwrap();
    assert_eq!(renamed, "bar(1, 0);\none\\ntwo(2);\none\\ntwo(3);\n");
}

#[test]
fn r3_2_what_could_mean_two_places_is_refused() {
    let text = "foo\nbar\n";
    assert_eq!(refused(text, &[every("foo", "bar"), every("bar", "foo")]), (1, SeveralProblem::TwoMeanings));
    let ambiguous = |lines: &[usize]| SeveralProblem::Match(MatchError::Ambiguous { lines: lines.to_vec() });
    assert_eq!(refused("x\ny\nx\n", &[one("y", "z"), one("x", "w")]), (1, ambiguous(&[1, 3])));
    // Both are the same text afterwards, and only one was there before.
    check("x\ny\n", &[one("x", "y"), one("y", "w")], "y\nw\n");
}

#[test]
fn a_failure_names_its_edit_and_what_the_text_before_has_instead() {
    let (index, problem) = refused("one\n\ttwo(a, b);\n", &[one("one", "1"), one("\ttwo(a, c);\n", "2")]);
    assert_eq!(index, 1);
    assert!(matches!(problem, SeveralProblem::Match(MatchError::NotFound { nearest: Some(_) })), "{problem}");
    assert_eq!(refused("one\n", &[one("one", "two"), one("two", "one")]), (1, SeveralProblem::NoChange));
    assert_eq!(refused("one\n", &[one("one", "one")]), (0, SeveralProblem::Match(MatchError::NoChange)));
}

/// The text before all of them is gone over once, and the one that each leaves.
#[test]
fn r10_1_each_text_is_gone_over_once() {
    let lines: Vec<String> = (100..200).map(|n| format!("line {n}\r\n")).collect();
    let olds: Vec<String> = (120..160).map(|n| format!("line {n}")).collect();
    let replacements: Vec<_> = olds.iter().map(|old| one(old, "LINE ...")).collect();
    let before = super::super::lf::GONE_OVER.get();
    assert!(after(&lines.concat(), &replacements).is_ok());
    let gone_over = super::super::lf::GONE_OVER.get() - before;
    assert_eq!(gone_over, replacements.len() * lines.concat().len());
}

proptest! {
    /// Replacements of different lines, whatever these become.
    #[test]
    fn c13_any_order_of_edits_of_different_lines_gives_the_same_text(
        news in prop::collection::vec(prop::option::of("[a-d0-9 \u{e9}\n]{0,6}"), 1..12),
        rotate in 0usize..12,
    ) {
        let lines: Vec<String> = (0..news.len()).map(|n| format!("<line {n}>\n")).collect();
        let olds: Vec<String> = lines.iter().map(|line| line.trim_end().to_owned()).collect();
        let mut replacements: Vec<_> =
            olds.iter().zip(&news).filter_map(|(old, new)| Some(one(old, new.as_deref()?))).collect();
        let expected: String =
            lines.iter().zip(&news).map(|(line, new)| match new {
                Some(new) => format!("{new}\n"),
                None => line.clone(),
            }).collect();
        prop_assume!(!replacements.is_empty());
        let by = rotate % replacements.len();
        replacements.rotate_left(by);
        prop_assert_eq!(after(&lines.concat(), &replacements).unwrap(), expected);
    }
}
