//! Hunks that models write for files that people have.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::patch::{self, FilePatch};

/// The hunks of an update, as they stand in a patch behind its first two lines.
fn hunks(body: &str) -> Vec<Hunk> {
    let text = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch");
    match patch::parse(&text).unwrap_or_else(|error| panic!("{error}")).files.as_slice() {
        [FilePatch::Update { hunks, .. }] => hunks.clone(),
        other => panic!("{other:?}"),
    }
}

fn patched(file: &str, body: &str) -> Result<(String, Vec<String>), HunkError> {
    let matched = find_hunks(file, &hunks(body))?;
    Ok((matched.edits.apply_str(file).unwrap(), matched.warnings))
}

/// An exact match, without a warning.
#[track_caller]
fn check(file: &str, body: &str, after: &str) {
    assert_eq!(patched(file, body), Ok((after.to_owned(), Vec::new())));
}

/// A match that is said to be loose.
#[track_caller]
fn check_loose(file: &str, body: &str, after: &str) {
    let (found, warnings) = patched(file, body).unwrap();
    assert_eq!(found, after);
    assert!(!warnings.is_empty());
}

#[track_caller]
fn check_error(file: &str, body: &str, error: &str) {
    assert_eq!(patched(file, body).unwrap_err().to_string(), error);
}

/// `class A {` at line 3, `class B {` at line 40, with the same lines in both.
fn classes() -> String {
    let mut lines: Vec<String> = (1..=45).map(|line| format!("line {line}")).collect();
    lines[2] = "class A {".to_owned();
    lines[39] = "class B {".to_owned();
    lines[5] = "  same();".to_owned();
    lines[42] = "  same();".to_owned();
    lines.join("\n") + "\n"
}

#[test]
fn c21_an_add_only_hunk_is_inserted_after_its_anchor() {
    let file = classes();
    check(&file, "@@ class A {\n+  new();", &file.replace("class A {\n", "class A {\n  new();\n"));
    check(&file, "@@ class B {\n+  one();\n+  two();", &file.replace("class B {\n", "class B {\n  one();\n  two();\n"));
    check("only", "@@ only\n+next", "only\nnext");
    check("only\r\n", "@@ only\n+next", "only\r\nnext\r\n");
}

#[test]
fn c21_an_add_only_hunk_whose_place_is_not_known_is_an_error() {
    let file = classes();
    check_error(
        &file,
        "@@ class C {\n+x",
        "the hunk at line 3 of the patch has the anchor `class C {`, which is no line of the file; the nearest text is at lines 3-3: line 3 is `class A {`, where the old text has `class C {`",
    );
    check_error(
        &file,
        "@@\n+x",
        "the hunk at line 3 of the patch names no place: give lines around the new ones, an anchor behind `@@`, or `*** End of File`",
    );
    check_error(
        &file,
        "@@   same();\n+x",
        "the hunk at line 3 of the patch has an anchor that stands at lines 6, 43: give lines around the new ones, or a further anchor",
    );
    check(
        &file,
        "@@ class B {\n@@   same();\n+  x();",
        &format!("{}  same();\n  x();\nline 44\nline 45\n", file.split_at(file.rfind("  same();").unwrap()).0),
    );
}

#[test]
fn r3_2_of_several_places_the_anchor_or_the_order_decides_or_nobody() {
    let file = classes();
    let in_b = format!("{}  other();\nline 44\nline 45\n", file.split_at(file.rfind("  same();").unwrap()).0);
    check_error(
        &file,
        "@@\n-  same();\n+  other();",
        "the hunk at line 3 of the patch fits at lines 6, 43: give more lines around the change, or an anchor behind `@@`",
    );
    check(&file, "@@ class B {\n-  same();\n+  other();", &in_b);
    check(&file, "@@ line 41\n-  same();\n+  other();", &in_b);
    // The order of the hunks says it too.
    check(&file, "@@\n-line 41\n+LINE 41\n@@\n-  same();\n+  other();", &in_b.replace("line 41", "LINE 41"));
    // Below an anchor it is the first one.
    let (after, warnings) = patched(&file, "@@ class A {\n-  same();\n+  other();").unwrap();
    assert_eq!(after, file.replacen("  same();", "  other();", 1));
    assert_eq!(
        warnings,
        ["the hunk at line 3 of the patch fits at several places below its anchor; the first, at line 6, was changed"]
    );
    check_error(
        &file,
        "@@ class B {\n-line 10\n+x",
        "the hunk at line 3 of the patch fits at line 10, but that is above its anchor",
    );
}

#[test]
fn an_anchor_that_stands_several_times_serves_where_the_lines_below_it_stand_once() {
    let file = "a:\n  run()\n  x = 1\nb:\n  run()\n  x = 2\n";
    check(file, "@@   run()\n-  x = 2\n+  x = 3", &file.replace("x = 2", "x = 3"));
    check(
        file,
        "@@ run()\n-  x = 1\n+  x = 3\n@@ run()\n-  x = 2\n+  x = 4",
        "a:\n  run()\n  x = 3\nb:\n  run()\n  x = 4\n",
    );
}

#[test]
fn hunks_may_share_their_context_and_stand_in_any_order() {
    check("a\nb\nc\nd\n", "@@\n a\n-b\n+B\n c\n@@\n c\n-d\n+D", "a\nB\nc\nD\n");
    check("a\nb\nc\nd\n", "@@\n-d\n+D\n@@\n-a\n+A", "A\nb\nc\nD\n");
    check_error(
        "a\nb\n",
        "@@\n-a\n+A\n@@\n-a\n+B",
        "the hunk at line 6 of the patch changes lines that another hunk before it changes: make them one",
    );
    check_error(
        "a\nb\n",
        "@@\n a\n+x\n@@\n a\n+x",
        "the hunk at line 6 of the patch changes lines that another hunk before it changes: make them one",
    );
}

#[test]
fn the_end_of_the_file_says_which_place_is_meant() {
    check("x\ny\nx\n", "@@\n-x\n+z\n*** End of File", "x\ny\nz\n");
    check("x\ny\n", "@@\n+z\n*** End of File", "x\ny\nz\n");
    check("x\ny", "@@\n+z\n*** End of File", "x\ny\nz");
    check("", "@@\n+z", "z\n");
    check_error(
        "x\ny\n",
        "@@\n-x\n+z\n*** End of File",
        "the hunk at line 3 of the patch fits at line 1, but that is not the end of the file, where `*** End of File` puts it",
    );
    // A blank line behind the last one is none.
    check("x\ny\n", "@@\n-y\n+z\n \n*** End of File", "x\nz\n");
}

#[test]
fn c17_the_final_newline_stays_as_it_is() {
    for end in ["", "\n"] {
        check(&format!("a\nb{end}"), "@@\n a\n-b\n+c", &format!("a\nc{end}"));
        check(&format!("a\nb{end}"), "@@\n b\n+c", &format!("a\nb\nc{end}"));
        check(&format!("a\nb{end}"), "@@\n a\n-b", &format!("a{end}"));
        check(&format!("a\nb{end}"), "@@\n-a\n b", &format!("b{end}"));
        check_loose(&format!("\ta\n\tb{end}"), "@@\n a\n-b\n+c\n+d", &format!("\ta\n\tc\n\td{end}"));
    }
}

#[test]
fn r1_2_line_endings_are_those_of_the_file() {
    check("a\r\nb\r\nc\r\n", "@@\n a\n-b\n+x\n+y\n c", "a\r\nx\r\ny\r\nc\r\n");
    check("a\r\nb\nc\r\n", "@@\n b\n+x", "a\r\nb\nx\r\nc\r\n");
    check("a\rb\rc", "@@\n a\n-b\n+x\n c", "a\rx\rc");
    check("a\r\nb\r\n", "@@\n a\r\n-b\r\n+x\r", "a\r\nx\r\n");
}

#[test]
fn r3_1_white_space_and_look_alikes_may_differ_and_stay() {
    check_loose(
        "func f() {\n\tif ok {  \n\t\treturn\n\t}\n}\n",
        "@@\n     if ok {\n-        return\n+        return 1\n     }",
        "func f() {\n\tif ok {  \n\t\treturn 1\n\t}\n}\n",
    );
    check_loose(
        "say \u{201c}hi\u{201d}\nx = 1\n",
        "@@\n say \"hi\"\n-x = 1\n+x = 2",
        "say \u{201c}hi\u{201d}\nx = 2\n",
    );
    check_loose("a  \nb\n", "@@\n a\n-b\n+c", "a  \nc\n");
    check("  x\n", "@@\n-  x\n+    \n+\ty  ", "    \n\ty  \n");
}

/// A space that two texts share by chance is no part of the file that stays: a no-break space in new code breaks it.
#[test]
fn r3_1_no_look_alike_of_the_file_comes_into_another_text() {
    let file = "say(\u{201c}well \u{2013} it\u{2019}s\u{a0}done\u{201d})\n";
    let removed = "@@\n-say(\"well - it's done\")\n";
    check_loose(file, &format!("{removed}+added 312 made"), "added 312 made\n");
    check_loose(file, &format!("{removed}+call(a - b, \"c d\")"), "call(a - b, \"c d\")\n");
    check_loose(
        file,
        &format!("{removed}+say(\"well - it's not done\")"),
        "say(\u{201c}well \u{2013} it\u{2019}s\u{a0}not done\u{201d})\n",
    );
}

#[test]
fn r1_3_a_hunk_that_does_not_fit_names_the_difference() {
    check_error(
        "one\ntwo\nthree\n",
        "@@\n one\n-2\n+zwei\n three",
        "the hunk at line 3 of the patch was not found; the nearest text is at lines 1-3: line 2 is `two`, where the old text has `2`",
    );
    check_error("one\n", "@@\n \n-\n+x", "the hunk at line 3 of the patch was not found: read the file again");
    check_error("", "@@\n-a\n+x", "the hunk at line 3 of the patch was not found: read the file again");
}

#[test]
fn c15_what_is_in_place_is_not_put_there_again() {
    for body in ["@@\n a\n+new\n b", "@@\n a\n+new", "@@\n+new\n b", "@@ a\n+new", "@@\n a\n-old\n+new\n b"] {
        let file = "a\nnew\nb\n";
        let line = if body.starts_with("@@ a") || body.starts_with("@@\n+") { 2 } else { 1 };
        check_error(file, body, &format!("the hunk at line 3 of the patch is already in place at line {line}"));
    }
    check_error(
        "a\nlast\n",
        "@@\n+last\n*** End of File",
        "the hunk at line 3 of the patch is already in place at line 2",
    );
    check("a\n}\nb\n", "@@\n a\n+}", "a\n}\n}\nb\n");
}

#[test]
fn r3_4_a_hunk_without_a_change_is_an_error() {
    check_error(
        "a\nb\n",
        "@@\n a\n-b\n+b",
        "the hunk at line 3 of the patch changes nothing: it removes and adds the same",
    );
    check_error(
        "a\nb\n",
        "@@\n a\n-b  \n+b",
        "the hunk at line 3 of the patch changes nothing: it removes and adds the same",
    );
}

/// A file of distinct lines and a patch of it: for each line whether it is kept, removed or replaced, and how many are added behind it.
fn any_change() -> impl Strategy<Value = (Vec<(String, u8)>, &'static str, bool)> {
    let line = ("[ \t]{0,3}[a-zé(){}\"]{0,6}", 0..8_u8);
    (proptest::collection::vec(line, 1..14), prop_oneof![Just("\n"), Just("\r\n")], any::<bool>())
}

proptest! {
    #[test]
    fn r1_2_a_hunk_of_the_whole_file_makes_exactly_its_new_lines((lines, ending, is_ended) in any_change()) {
        let mut body = String::from("@@\n");
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (index, (text, change)) in lines.iter().enumerate() {
            let text = format!("{text}{index}");
            before.push(text.clone());
            match change {
                0 => body += &format!("-{text}\n"),
                1 => {
                    body += &format!("-{text}\n+{text}!\n");
                    after.push(format!("{text}!"));
                }
                2 => {
                    body += &format!(" {text}\n+\n+new {index}\n");
                    after.extend([text, String::new(), format!("new {index}")]);
                }
                _ => {
                    body += &format!(" {text}\n");
                    after.push(text);
                }
            }
        }
        // Without a line break the file has no style.
        prop_assume!(before != after && !after.is_empty() && (before.len() > 1 || is_ended));
        let file = |lines: &[String]| lines.join(ending) + if is_ended { ending } else { "" };
        prop_assert_eq!(patched(&file(&before), &body), Ok((file(&after), Vec::new())));
    }

    #[test]
    fn a_change_never_reaches_beyond_the_lines_that_the_hunk_names(
        before in proptest::collection::vec("[ab ]{0,2}", 0..12),
        old in proptest::collection::vec("[ab ]{0,2}", 1..3),
        new in proptest::collection::vec("[ab ]{0,2}", 0..3),
    ) {
        let file = before.join("\n");
        let mut body = String::from("@@\n");
        old.iter().for_each(|line| body += &format!("-{line}\n"));
        new.iter().for_each(|line| body += &format!("+{line}\n"));
        if let Ok((after, _)) = patched(&file, &body) {
            let squeezed = |lines: &[String]| lines.iter().map(|line| line.replace(' ', "")).collect::<Vec<_>>();
            let is_kept = |at: usize| {
                let (head, tail) = (before[..at].join("\n"), before[at + old.len()..].join("\n"));
                squeezed(&before[at..at + old.len()]) == squeezed(&old) && after.starts_with(&head) && after.ends_with(&tail)
            };
            let last = before.len().checked_sub(old.len());
            prop_assert!(last.is_some_and(|last| (0..=last).any(is_kept)), "{:?} {:?} {:?} -> {:?}", before, old, new, after);
        }
    }
}

/// What a hunk takes out with less white space than it has leaves none of it to the line below.
#[test]
fn r3_1_the_indentation_of_a_line_that_goes_is_not_given_to_the_one_that_stays() {
    check_loose("if x {\n    f();\n}\n", "@@\n-f();\n }", "if x {\n}\n");
    check_loose("\tf()\nend\n", "@@\n-f()\n end\n+more", "end\nmore\n");
    // What takes its place has it.
    check_loose("if x {\n    f();\n}\n", "@@\n-f();\n+g();\n }", "if x {\n    g();\n}\n");
}

/// The marks say which lines stay, also where a diff would take one that is moved for the one that stays.
#[test]
fn r3_1_a_line_that_another_is_moved_over_stays_as_the_file_has_it() {
    check_loose("a\n\u{201c}q\u{201d}\nz\n", "@@\n-a\n \"q\"\n+a", "\u{201c}q\u{201d}\na\nz\n");
    check_loose("e\nf  \n", "@@\n-e\n f\n+e\n+g", "f  \ne\ng\n");
    // Taken out and put back.
    check_loose("foo  \n  \nbar\n", "@@\n-foo\n-\n+FOO\n+\n bar", "FOO  \n  \nbar\n");
}

#[test]
fn two_hunks_that_take_out_one_line_are_refused_however_little_of_it_they_touch() {
    let body = "@@\n-a\n b\n-c = 1\n@@ a\n b\n+b2\n-c = 1\n+  c = 1";
    let error = "the hunk at line 7 of the patch changes lines that another hunk before it changes: make them one";
    check_error("a\nb\nc = 1\n}\n", body, error);
}

/// A blank line that one hunk takes out may be the break that another one's new line counts on.
#[test]
fn a_hunk_that_takes_out_what_stands_beside_the_change_of_another_is_refused() {
    let error = "the hunk at line 7 of the patch changes lines that another hunk before it changes: make them one";
    check_error("a\n\nb\n", "@@\n a\n-\n b\n@@ a\n \n+x\n b", error);
    // Not where the change is elsewhere.
    check("a\nb\nc\nd\n", "@@\n a\n-b\n+B\n c\n@@ a\n b\n c\n-d\n+D", "a\nB\nc\nD\n");
}
