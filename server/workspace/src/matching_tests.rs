//! What models send, and what becomes of it.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use ropey::Rope;

use super::*;

fn find(file: &str, old: &str, new: &str) -> Result<Matched, MatchError> {
    find_edit(file, Replacement { old, new, replace_all: false })
}

fn edited(file: &str, old: &str, new: &str) -> (String, Vec<String>) {
    let matched = find(file, old, new).unwrap_or_else(|error| panic!("{error}"));
    (matched.edits.apply(&Rope::from_str(file)).unwrap().to_string(), matched.warnings)
}

/// An exact match, without a warning.
fn check(file: &str, old: &str, new: &str, after: &str) {
    assert_eq!(edited(file, old, new), (after.to_owned(), Vec::new()));
}

/// A loose match, which is said.
fn check_loose(file: &str, old: &str, new: &str, after: &str) {
    let (found, warnings) = edited(file, old, new);
    assert_eq!(found, after);
    assert!(!warnings.is_empty());
}

fn check_error(file: &str, old: &str, new: &str, error: &str) {
    assert_eq!(find(file, old, new).unwrap_err().to_string(), error);
}

fn near_miss(file: &str, old: &str, new: &str) -> NearMiss {
    match find(file, old, new) {
        Err(MatchError::NotFound { nearest: Some(nearest) }) => nearest,
        other => panic!("{other:?}"),
    }
}

fn check_difference(file: &str, old: &str, lines: (usize, usize), difference: &str) {
    let nearest = near_miss(file, old, "entirely new");
    assert_eq!((nearest.first_line, nearest.last_line, &*nearest.difference), (lines.0, lines.1, difference));
}

const GO: &str = "func f() {\n\tif ok {\n\t\treturn\n\t}\n}\n";

#[test]
fn c01_a_crlf_file_is_matched_and_keeps_its_line_endings() {
    check(
        "int a;\r\nint b;\r\nint c;\r\n",
        "int a;\nint b;",
        "int a;\nint x;\nint b;",
        "int a;\r\nint x;\r\nint b;\r\nint c;\r\n",
    );
}

#[test]
fn r1_1_lines_as_they_are_shown_match_at_once_whatever_the_file_has() {
    for breaks in [["\n"; 4], ["\r\n"; 4], ["\r"; 4], ["\n", "\r\n", "\r", "\n"]] {
        for last in ["", breaks[3]] {
            let lines = ["\tfn a() {", "\t\tone();", "", "\t}"];
            let file = format!(
                "{}{}{}{}{}{}{}{last}",
                lines[0], breaks[0], lines[1], breaks[1], lines[2], breaks[2], lines[3]
            );
            for (from, to) in [(0, 4), (1, 2), (1, 4), (0, 1)] {
                let old = lines[from..to].join("\n");
                let (after, warnings) = edited(&file, &old, &format!("{old}!"));
                let end = to - 1;
                let expected = file.replacen(
                    &format!("{}{}", lines[end], if end == 3 { last } else { breaks[end] }),
                    &format!("{}!{}", lines[end], if end == 3 { last } else { breaks[end] }),
                    1,
                );
                assert_eq!((after, warnings), (expected, vec![]), "{file:?} {old:?}");
            }
        }
    }
}

#[test]
fn r1_2_lines_that_the_edit_does_not_change_keep_their_own_endings() {
    check("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nb2\nc\nd", "a\r\nb2\nc\r\nd\n");
    check("a\r\nb\nc\r\nd\n", "b\nc", "b\nx\ny\nc", "a\r\nb\nx\r\ny\r\nc\r\nd\n");
    check("a\nb", "b", "b\nc", "a\nb\nc");
    check("a\r\nb", "b", "b\nc", "a\r\nb\r\nc");
    check("a\rb\rc", "b", "b\nx", "a\rb\rx\rc");
}

#[test]
fn c02_spaces_for_tabs_are_written_as_tabs() {
    check(GO, "\tif ok {\n\t\treturn\n\t}\n", "\tif ok {\n\t\tpanic()\n\t}\n", &GO.replace("return", "panic()"));
    check_loose(
        GO,
        "    if ok {\n        return\n    }",
        "    if ok {\n        for {\n            log()\n        }\n        return\n    }",
        "func f() {\n\tif ok {\n\t\tfor {\n\t\t\tlog()\n\t\t}\n\t\treturn\n\t}\n}\n",
    );
    check_loose(
        "if a:\n    b\n    c\n",
        "if a:\n\tb\n\tc",
        "if a:\n\tb\n\tif d:\n\t\tc",
        "if a:\n    b\n    if d:\n        c\n",
    );
}

#[test]
fn r1_3_tabs_vs_spaces_are_named_where_the_file_s_style_cannot_be_told() {
    let nearest = near_miss("x\n\t\tone()\n\t  two()\n", "  one()\n    two()", "  one()\n      new()\n    two()");
    assert_eq!((nearest.first_line, nearest.last_line), (2, 3));
    assert_eq!(
        nearest.difference,
        "tab vs spaces on line 3: the file has 1 tab and 2 spaces, the old text 4 spaces; the indentation of the new lines cannot be told from it"
    );
}

#[test]
fn r1_3_the_depth_of_new_lines_is_not_guessed() {
    let check = |file: &str, old: &str, new: &str, difference: &str| {
        assert_eq!(near_miss(file, old, new).difference, difference, "{file:?} {old:?} {new:?}");
    };
    // The same lines moved, or of another unit: a block inside of them would be three or four deep.
    check(
        "  a\n  b\n",
        " a\n b\n",
        " if x:\n  a\n  b\n",
        "indentation on line 1: the file has 2 spaces, the old text 1 space; the indentation of the new lines cannot be told from it",
    );
    // One line from its first letter on: further ones may be as deep as they are written, or go with it. Found as it is, or loosely.
    for (file, old, new) in [
        ("fn f() {\n    one();\n}\n", "one();", "one();\nif two() {\n    three();\n}"),
        ("fn f() {\n    one();\n}\n", "one();\n", "one();\n}\n\nfn g() {\n"),
        ("fn f() {\n    one(a,  b);\n}\n", "one(a, b);", "if two() {\n    one(a, b);\n}"),
    ] {
        check(
            file,
            old,
            new,
            "indentation on line 2: the file has 4 spaces, the old text 0 spaces; the indentation of the new lines cannot be told from it",
        );
    }
}

#[test]
fn r3_1_new_lines_are_as_deep_as_the_lines_that_match_tell() {
    let file = "fn f() {\n    one();\n    two();  \n}\n";
    // As it is written, where all of it has the depth of the file.
    check(file, "one();", "one();\n    if x {\n    }", "fn f() {\n    one();\n    if x {\n    }\n    two();  \n}\n");
    check(file, "    one();", "    one();\nx!();", "fn f() {\n    one();\nx!();\n    two();  \n}\n");
    // In proportion, where the line has some of its indentation.
    check_loose(file, "  one();", "  one();\n  more();", "fn f() {\n    one();\n    more();\n    two();  \n}\n");
    // Lines that go take it along.
    check_loose(file, "one();\n", "", "fn f() {\n    two();  \n}\n");
    check_loose(file, "one();\n    two();  \n", "", "fn f() {\n}\n");
    check_loose(file, r"one();\n", "", "fn f() {\n    two();  \n}\n");
    check_loose("  one();\none();  \n", "one();\n", "", "one();  \n");
    check_loose(
        "    one();\n  one();  \n",
        "  one();\n",
        "  one();\n  two();\n",
        "    one();\n    two();\n  one();  \n",
    );
    check(file, "one();", "", "fn f() {\n    \n    two();  \n}\n");
    // Levels are counted where the first line has another unit than the file and the others have none.
    check_loose("if a:\n\tb\nc\n", "    b\nc", "    b\n    d\nif c:\n    c", "if a:\n\tb\n\td\nif c:\n\tc\n");
    // Several lines without theirs are moved together.
    check_loose(
        file,
        "one();\ntwo();",
        "if x {\n    one();\n    two();\n}",
        "fn f() {\n    if x {\n        one();\n        two();  \n    }\n}\n",
    );
    // Only the first was copied from its first letter on; what is new has its own depth.
    check_loose(
        file,
        "one();\n    two();\n}",
        "new();\n    one();\n    two();\n}\nx",
        "fn f() {\n    new();\n    one();\n    two();  \n}\nx\n",
    );
}

#[test]
fn r3_1_a_break_at_the_end_of_one_text_alone_means_the_same_in_a_loose_match() {
    for space in ["", " "] {
        let check = |file: &str, old: &str, new: &str, after: &str| {
            let file = file.replacen("a1", &format!("a1{space}"), 1);
            let after = after.replacen("a1", &format!("a1{space}"), 1);
            assert_eq!(edited(&file, old, new).0, after, "{space:?} {old:?} {new:?}");
        };
        check("a1\nb\nc\n", "a1\nb", "a1\nb\nx\n", "a1\nb\nx\n\nc\n");
        check("a1\nb\n\nc\n", "a1\nb\n", "a1", "a1\nc\n");
        check("a1\nb\nc\n", "a1\nb\n", "a1\n", "a1\nc\n");
        check("a1\nb\n", "a1\nb", "a1\nb\nx\n", "a1\nb\nx\n\n");
        check("a1\nb", "a1\nb", "a1\nb\nx\n", "a1\nb\nx");
    }
}

#[test]
fn r3_1_blank_lines_around_the_old_text_are_left_out() {
    let file = "f {\n\tone();\n\ttwo();\n}\n";
    check_loose(
        file,
        "\n\n  one();\n  two();\n\n",
        "\n\n  one();\n  new();\n  two();\n\n",
        &file.replace("\ttwo", "\tnew();\n\ttwo"),
    );
    check_loose(file, "\n\n\tone();\n\n\n", "\n\n\n\n", "f {\n\ttwo();\n}\n");
    check_loose(file, r"\n\n\tone();\n\ttwo();\n\n", r"\n\n\tone();\n\n", "f {\n\tone();\n}\n");
    // Between lines they count.
    assert!(matches!(find(file, "\tone();\n\n\ttwo();", "x"), Err(MatchError::NotFound { .. })));
}

#[test]
fn c03_an_edit_of_line_endings_alone_is_no_success() {
    check_error(
        "a\r\nb",
        "a\r\nb",
        "a\nb",
        "no change is left after line-ending normalisation: line breaks of the new text follow the file",
    );
}

#[test]
fn c05_astral_and_symbol_characters_match() {
    let file = "# Log\n\n- \u{2714} built\n- \u{1F680} shipped\n";
    check(file, "- \u{2714} built", "- \u{2714} tested", &file.replace("built", "tested"));
    check(file, "\u{1F680} shipped", "\u{1F680} shipped!", &file.replace("shipped", "shipped!"));
}

#[test]
fn c06_typographic_quotes_outside_of_the_change_stay() {
    let file = "say \u{201C}hi\u{201D}\nx = 1\ndon\u{2019}t stop\n";
    let old = "say \"hi\"\nx = 1\ndon't stop\n";
    check_loose(file, old, &old.replace("x = 1", "x = 2"), &file.replace('1', "2"));
    let matched = find(file, old, &old.replace("x = 1", "x = 2")).unwrap();
    assert!(matched.warnings[0].contains("U+201C for U+0022, U+201D for U+0022"), "{:?}", matched.warnings);
    assert_eq!(matched.edits.edits().len(), 1);
    assert_eq!(matched.edits.edits()[0].text, "2");
    // Also in the changed line itself, and in a part of a line.
    check_loose(file, old, &old.replace("hi", "hello"), &file.replace("hi", "hello"));
    check_loose(file, "ay \"hi", "ay \"ho", &file.replace("hi", "ho"));
}

#[test]
fn c07_entities_reach_the_matcher_as_they_are() {
    let file = "// use &amp; here\nlet a = b &amp;&amp; c;\n";
    check(file, "b &amp;&amp; c", "b &amp; c", "// use &amp; here\nlet a = b &amp; c;\n");
    assert!(matches!(find(file, "b && c", "b & c"), Err(MatchError::NotFound { .. })));
}

#[test]
fn c09_stitched_anchors_are_an_error_that_names_the_place() {
    let mut lines: Vec<String> = (1..=500).map(|line| format!(".c{line} {{ top: {line}px; }}")).collect();
    lines[9] = "  gap: 3px;".into();
    lines[10] = "}".into();
    lines[399] = "/* PRINT */".into();
    let nearest = near_miss(&lines.join("\n"), "  gap: 3px;\n}\n\n/* PRINT */", "  gap: 2px;");
    assert_eq!((nearest.first_line, nearest.last_line), (10, 13));
    assert_eq!(nearest.difference, "line 12 is `.c12 { top: 12px; }`, where the old text has ``");
}

#[test]
fn r3_1_interior_lines_must_all_match() {
    let file = "fn a() {\n    one();\n    two();\n    three();\n}\n";
    check_difference(
        file,
        "fn a() {\n    one();\n    zwei();\n    three();\n}",
        (1, 5),
        "line 3 is `    two();`, where the old text has `    zwei();`",
    );
}

#[test]
fn r3_2_c10_several_matches_are_an_error_with_their_lines() {
    let block = "fn f() {\n    }\n\n    return out\n}\n";
    let file = block.repeat(3);
    check_error(
        &file,
        "    }\n\n    return out\n",
        "",
        "3 matches, at lines 2, 7, 12: give more of the text around the one that is meant, or replace all",
    );
    assert!(matches!(find(&file, "}", "x"), Err(MatchError::Ambiguous { lines }) if lines == [2, 5, 7, 10, 12, 15]));
    // Loose matches too.
    assert!(
        matches!(find(&file, "  }\n\n  return out", "x"), Err(MatchError::Ambiguous { lines }) if lines == [2, 7, 12])
    );
    assert!(matches!(find("aaa", "aa", "b"), Err(MatchError::Ambiguous { lines }) if lines == [1, 1]));
    let error = find(&"}\n".repeat(100_000), "}", "x").unwrap_err();
    assert!(error.to_string().len() < 250);
}

#[test]
fn r3_2_replace_all_takes_every_match() {
    let all = |file: &str, old: &str, new: &str| {
        let matched = find_edit(file, Replacement { old, new, replace_all: true }).unwrap();
        (matched.replacements, matched.edits.apply(&Rope::from_str(file)).unwrap().to_string())
    };
    assert_eq!(all("a b a\r\na", "a", "$&c"), (3, "$&c b $&c\r\n$&c".into()));
    assert_eq!(all("\tx(1)\ny\n\t\tx(1)\n", " x(1)\n", " x(2)\n"), (2, "\tx(2)\ny\n\t\tx(2)\n".into()));
    assert_eq!(all("aaaa", "aa", "b"), (2, "bb".into()));
}

#[test]
fn r3_3_c11_an_empty_old_text_is_refused_unless_the_file_is_empty() {
    assert_eq!(find("a\n", "", "x").unwrap_err(), MatchError::EmptyOld);
    assert!(MatchError::EmptyOld.to_string().contains("use write to replace the file"));
    check("", "", "x\n", "x\n");
}

#[test]
fn c14_a_part_of_the_last_line_matches_where_it_is_unique() {
    let file = "# step one\n# step two, slowly\n";
    check(file, "# step one\n# step two", "# step 1\n# step 2", "# step 1\n# step 2, slowly\n");
}

#[test]
fn r1_3_c14_a_partial_last_line_is_named() {
    check_difference(
        "\t# step one\n\t# step two, slowly\n",
        "  # step one\n  # step two",
        (1, 2),
        "partial last line: the old text ends inside line 2, which is `\t# step two, slowly`",
    );
    check_difference(
        "let x = one();\n\ttwo();\n",
        "one();\n  two();",
        (1, 2),
        "partial first line: the old text starts inside line 1, which is `let x = one();`",
    );
}

#[test]
fn r1_3_blank_line_counts_are_named() {
    check_difference(
        "a1\n\n\nb1\nc1\n",
        "a1\n\nb1\nc1",
        (1, 5),
        "blank-line count: 2 after line 1, where the old text has 1",
    );
    check_difference("a1\nb1\nc1\n", "a1\n\nb1", (1, 2), "blank-line count: 0 after line 1, where the old text has 1");
}

#[test]
fn r1_3_stray_carriage_returns_are_named() {
    check_difference("a1\nb1\n", "a1\nb\r1", (1, 2), "CR (U+000D) in the old text that line 2 does not have");
    check_difference("a1\r\r\nb1\n", "a1\nb1", (1, 3), "CR (U+000D) that stands alone and ends a line after line 1");
}

#[test]
fn r1_3_characters_that_look_alike_are_named_by_code_points() {
    check_difference("let p\u{0430}th = 1;\n", "let path = 1;", (1, 1), "U+0430 instead of U+0061 on line 1");
    check_difference("a\u{201C}b one\ntwo 2\n", "a`b one\ntwo 2", (1, 2), "U+201C instead of U+0060 on line 1");
}

#[test]
fn r1_3_the_place_is_found_though_no_line_is_right() {
    let function =
        |name: &str| format!("fn {name}(a: &mut Vec<u8>) {{\n    assert!(a.len() < 9);\n    {name}_all(a);\n}}\n\n");
    let file = ["alpha", "beta", "gamma", "delta"].map(function).concat();
    for old in [
        "11: fn gamma(a: &mut Vec<u8>) {\n12:     assert!(a.len() < 9);\n13:     gamma_all(a);\n14: }",
        "fn gamma(a: &amp;mut Vec&lt;u8&gt;) {\n    assert!(a.len() &lt; 9);\n    gamma_all(a) ;\n}",
        "fn gam\u{ad}ma(a: &mut Vec<u8>) {\n    assert!(a.len() < 9);\n    gamma_all(a);\n}",
        "Fn gamma(a: &mut Vec<u8>) {\n    assert!(a.len() < 9);\n    gamma_some(a);\n}",
        "    assert!(a.len() < 9);\n    gamma_all(&a);\n}",
    ] {
        let nearest = near_miss(&file, old, "entirely new");
        assert!(nearest.first_line <= 13 && 11 <= nearest.last_line, "{old:?}: {nearest:?}");
    }
}

#[test]
fn r1_3_a_text_that_is_like_nothing_has_no_near_miss() {
    assert_eq!(find("alpha\nbeta\n", "gamma", "delta").unwrap_err(), MatchError::NotFound { nearest: None });
    assert_eq!(find("", "gamma", "delta").unwrap_err(), MatchError::NotFound { nearest: None });
}

#[test]
fn c15_r3_4_the_same_edit_again_is_already_in_place() {
    for (file, old, new, line) in [
        ("x\na = 1\n", "a = 1", "a = 2", 2),
        ("int a;\nint b;\n", "int a;\nint b;", "int a;\nint x;\nint b;", 1),
        ("int a;\nint b;\n", "int a;", "int a;\nint x;", 1),
        ("int a;\nint b;\n", "int b;", "int x;\nint b;", 2),
        ("\tfoo()\n", "    foo()", "\tfoo()", 1),
        ("f( x )\n", "f( x )", "f(x)", 1),
    ] {
        let once = find(file, old, new).map(|matched| matched.edits.apply(&Rope::from_str(file)).unwrap().to_string());
        let once = once.unwrap_or_else(|_| file.to_owned());
        assert_eq!(find(&once, old, new).unwrap_err(), MatchError::AlreadyInPlace { line }, "{once:?} {old:?}");
    }
    assert!(MatchError::AlreadyInPlace { line: 3 }.to_string().contains("already in place at line 3"));
    // A new text that stands somewhere does not hide that the old one's lines stand elsewhere.
    let nearest = near_miss("return x;\n\nfn a() {\n    one();\n}\n", "fn a() {\n    uno();\n}", "return x;");
    assert_eq!((nearest.first_line, nearest.last_line), (3, 5));
    // One more bracket is no repetition, and neither is a longer word.
    check("  }\n}\n", "  }", "  }\n}", "  }\n}\n}\n");
    check("abc", "a", "ab", "abbc");
    assert_eq!(find("a", "a", "a").unwrap_err(), MatchError::NoChange);
}

#[test]
fn c17_the_final_newline_stays_as_it_was() {
    check("a\nlast\n", "last", "LAST", "a\nLAST\n");
    check("a\nlast\n", "last\n", "LAST", "a\nLAST\n");
    check("a\nlast", "last", "LAST", "a\nLAST");
    check("a\nlast", "last", "LAST\n", "a\nLAST");
    check_loose("a\nlast", "last\n", "LAST\n", "a\nLAST");
    check_loose("a\n\tlast", "  last\n", "  last\n  more\n", "a\n\tlast\n\tmore");
    check("a\nlast", "last", "last\n", "a\nlast\n");
    check("a\nlast\n", "last\n", "last", "a\nlast");
    check("a\nlast\n", "last\n", "", "a\n");
}

#[test]
fn c18_text_escaped_once_too_often_is_unescaped_with_a_warning() {
    let file = "fn a() {\n\tone(\"x\");\n\ttwo();\n}\n";
    check_loose(
        file,
        r#"\tone(\"x\");\n\ttwo();"#,
        r#"\tone(\"y\\n\");\n\ttwo();\n\tthree();"#,
        "fn a() {\n\tone(\"y\\n\");\n\ttwo();\n\tthree();\n}\n",
    );
    // One line with nothing but quotes to tell by: a line break of the new text is one, unless it stands in a string.
    check_loose(
        file,
        r#"\tone(\"x\");"#.trim_start_matches("\\t"),
        r#"one(\"x\");\n\ttwo(\"y\");"#,
        "fn a() {\n\tone(\"x\");\n\ttwo(\"y\");\n\ttwo();\n}\n",
    );
    // Quotes alone: the line breaks are real, so that the program's own stay.
    check_loose(file, "\tone(\\\"x\\\");\n", "\tone(\\\"x\\n\\\");\n", "fn a() {\n\tone(\"x\\n\");\n\ttwo();\n}\n");
}

#[test]
fn c18_a_new_text_with_literal_line_breaks_is_never_written_silently() {
    let (after, warnings) = edited("int a;\nint b;\n", "int a;\nint b;", r"int a;\nint x;\nint b;");
    assert_eq!(after, "int a;\\nint x;\\nint b;\n");
    assert!(warnings[0].contains("a backslash and the letter n"), "{warnings:?}");
    let (_, warnings) = edited("// don't\n", "// don't", r"// don't\nint x;");
    assert_eq!(warnings.len(), 1);
    // In a string of the program it is two characters.
    check("puts(\"a\");\n", "puts(\"a\")", r#"puts("a\n")"#, "puts(\"a\\n\");\n");
    check("s = 'a'\n", "'a'", r"'a\n'", "s = 'a\\n'\n");
}

#[test]
fn r3_1_white_space_is_relaxed_and_the_file_s_kept() {
    check_loose("a  \nb\t\nc\n", "a\nb\nc", "a\nB\nc", "a  \nB\t\nc\n");
    check_loose("f(a,   b)\nnext\n", "f(a, b)\nnext", "f(a, c)\nnext", "f(a,   c)\nnext\n");
    check_loose("  if (a)   return  1;\n", "if (a) return 1;", "if (a) return 2;", "  if (a)   return  2;\n");
    check_loose("x = f(a,   b) + 1\n", "f(a, b)", "g(a, b)", "x = g(a,   b) + 1\n");
    check_loose(
        "\t\tdeep();\n\t\tdeeper();\n",
        "deep();\ndeeper();",
        "deep();\nnew();\ndeeper();",
        "\t\tdeep();\n\t\tnew();\n\t\tdeeper();\n",
    );
    check_loose("a\nfoo\nb\n", "\nfoo\n\n", "\nbar\n\n", "a\nbar\nb\n");
    check_loose("  a\n  b\n  c\n", " a\n b\n c\n", " a\n c\n", "  a\n  c\n");
    check_loose("  a\n  b\n", " a\n b", "", "\n");
    check_loose("  a\n  b\nc\n", " a\n b\n", "", "c\n");
    check_loose("x\n  a\n  b", " a\n b\n", "", "x");
}

#[test]
fn r3_1_of_several_loose_places_the_one_that_is_moved_as_a_whole_is_meant() {
    let file = "a:\n  b\n    c\nx\na:\n      b\n  c\n";
    check_loose(file, " b\n   c", " b\n   d", "a:\n  b\n    d\nx\na:\n      b\n  c\n");
}

#[test]
fn r3_1_the_list_of_look_alikes_is_one_to_one() {
    let mut seen = std::collections::HashSet::new();
    for (plain, other) in LOOK_ALIKES {
        assert!(plain.is_ascii() && !other.is_ascii() && !other.is_whitespace());
        assert!(seen.insert(other), "U+{:04X} stands twice", u32::from(*other));
        check_loose(
            &format!("a{other}b\nx\n"),
            &format!("a{plain}b\nx"),
            &format!("a{plain}b\ny"),
            &format!("a{other}b\ny\n"),
        );
    }
}

#[test]
fn an_old_text_with_its_own_returns_tells_equal_lines_apart() {
    check("a\nb\na\r\nb\r\n", "a\r\nb", "a\r\nc", "a\nb\na\r\nc\r\n");
    assert!(matches!(find("a\nb\na\r\nb\r\n", "a\nb", "c"), Err(MatchError::Ambiguous { .. })));
}

#[test]
fn large_files_of_equal_lines_are_searched_in_one_pass() {
    let file = "    same line\n".repeat(50_000);
    let old = "  same line\n".repeat(10_000) + "other";
    assert!(matches!(find(&file, &old, "new"), Err(MatchError::NotFound { .. })));
    let old = "  same line\n".repeat(10_000);
    assert!(matches!(find(&file, &old, "new"), Err(MatchError::Ambiguous { .. })));
}

/// Lines with everything that the stages overlook.
fn file() -> impl Strategy<Value = String> {
    prop::collection::vec(
        "(\t|  |    ){0,2}(a|b|c|\"d\"|\u{201C}d\u{201D}|x = 1|f\\(a,  b\\))?[ \t]{0,1}(\n|\r\n|\r)",
        0..8,
    )
    .prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn r3_1_an_edit_fails_or_changes_only_lines_of_the_old_text(
        file in file(),
        from in 0_usize..8,
        len in 1_usize..4,
        spaces in prop::sample::select(vec!["", " ", "\t", "    "]),
        new in "([ \t]{0,4}(new|e = 2)?\n){0,3}",
        all in any::<bool>(),
    ) {
        // The old text: lines of the file with other white space and plain quotes.
        let lf = normalised(&file).0.into_owned();
        let lines: Vec<&str> = lf.lines().collect();
        let old: String = lines.iter().skip(from).take(len).map(|line| format!("{spaces}{}\n", look_alikes::folded(line.trim()))).collect();
        if let Ok(matched) = find_edit(&file, Replacement { old: &old, new: &new, replace_all: all }) {
            let rope = Rope::from_str(&file);
            let after = matched.edits.apply(&rope).unwrap().to_string();
            prop_assert_ne!(&after, &file);
            // What is removed is text of the old one, but for white space and look-alikes.
            let bare = |text: &str| look_alikes::folded(text).chars().filter(|char| !char.is_whitespace()).collect::<String>();
            for edit in matched.edits.edits() {
                let removed = bare(&file[edit.range.clone()]);
                prop_assert!(all || bare(&old).contains(&removed), "{removed:?} of {old:?}");
            }
            // And the content is that of the file with the old text's replaced by the new one's.
            if !all {
                let (file, after, old, new) = (bare(&file), bare(&after), bare(&old), bare(&new));
                let expected = file.match_indices(&old).any(|(at, _)| format!("{}{new}{}", &file[..at], &file[at + old.len()..]) == after);
                prop_assert!(expected, "{file:?} {after:?}");
            }
        }
    }

    #[test]
    fn r1_1_any_run_of_whole_lines_matches_exactly(file in file(), from in 0_usize..8, len in 1_usize..4) {
        let lf = normalised(&file).0.into_owned();
        let old = lf.lines().skip(from).take(len).collect::<Vec<_>>().join("\n");
        if old.is_empty() {
            return Ok(());
        }
        match find(&file, &old, &format!("{old}#")) {
            Ok(matched) => prop_assert!(matched.warnings.is_empty()),
            Err(MatchError::Ambiguous { lines }) => prop_assert!(lines.len() > 1),
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn r1_2_no_line_ending_is_changed_beside_the_edit(file in file(), old in "[abc=1\\\\n \t\"]{1,6}", new in "[abc=2\\\\n \t\"]{0,6}") {
        let rope = Rope::from_str(&file);
        if let Ok(matched) = find(&file, &old, &new) {
            prop_assert_eq!(&matched.edits.with_whole_line_breaks(&rope), &matched.edits);
            prop_assert!(matched.edits.apply(&rope).is_ok());
        }
    }

    #[test]
    fn nothing_that_a_model_sends_panics(file in "(?s).{0,60}", old in "(?s).{0,20}", new in "(?s).{0,20}", replace_all in any::<bool>()) {
        let _ = find_edit(&file, Replacement { old: &old, new: &new, replace_all });
    }

    #[test]
    fn nothing_that_is_nearly_in_the_file_panics(file in file(), old in "(a|b|c|x|1|\\(|é|\"|\u{201C}| |\t|\\\\n|\\\\\"|\n|\r|\r\n){1,12}", new in "(a|b|é|\"| |\t|\\\\n|\n|\r\n){0,12}", replace_all in any::<bool>()) {
        if let Ok(matched) = find_edit(&file, Replacement { old: &old, new: &new, replace_all }) {
            prop_assert!(matched.edits.apply(&Rope::from_str(&file)).is_ok());
        }
    }
}
