//! What models write, and what becomes of it.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

#[track_caller]
fn check(text: &str, files: &[FilePatch]) {
    assert_eq!(parse(text).map(|patch| patch.files), Ok(files.to_vec()), "{text}");
}

#[track_caller]
fn check_error(text: &str, error: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), error);
}

fn add(path: &str, text: &str) -> FilePatch {
    FilePatch::Add { path: path.to_owned(), text: text.to_owned() }
}

fn update(path: &str, hunks: Vec<Hunk>) -> FilePatch {
    FilePatch::Update { path: path.to_owned(), move_to: None, hunks }
}

/// `lines` as they stand in a patch.
fn hunk(line: usize, anchors: &[&str], lines: &[&str]) -> Hunk {
    let lines = lines.iter().map(|line| {
        let text = line[1..].to_owned();
        match &line[..1] {
            "+" => HunkLine::Add(text),
            "-" => HunkLine::Remove(text),
            _ => HunkLine::Context(text),
        }
    });
    let anchors = anchors.iter().map(|anchor| (*anchor).to_owned()).collect();
    Hunk { line, anchors, lines: lines.collect(), at_end: false }
}

#[test]
fn every_part_of_the_grammar_is_read() {
    check(
        &patch(
            "*** Add File: a b.txt\n+one\n+\n+ two\n*** Delete File: old\n*** Update File: src/x.rs\n*** Move to: src/y.rs\n@@ class A {\n@@  fn f()\n one\n-two\n+2\n@@\n-x\n*** End of File\n*** Add File: empty\n",
        ),
        &[
            add("a b.txt", "one\n\n two\n"),
            FilePatch::Delete { path: "old".to_owned() },
            FilePatch::Update {
                path: "src/x.rs".to_owned(),
                move_to: Some("src/y.rs".to_owned()),
                hunks: vec![
                    hunk(9, &["class A {", " fn f()"], &[" one", "-two", "+2"]),
                    Hunk { at_end: true, ..hunk(14, &[], &["-x"]) },
                ],
            },
            add("empty", ""),
        ],
    );
}

#[test]
fn a_file_may_be_moved_without_a_change() {
    let moved = FilePatch::Update { path: "a".to_owned(), move_to: Some("b".to_owned()), hunks: Vec::new() };
    check(&patch("*** Update File: a\n*** Move to: b\n"), &[moved]);
}

#[test]
fn the_first_hunk_may_stand_without_its_mark() {
    let hunks = || vec![hunk(3, &[], &[" one", "+two"]), hunk(5, &[], &["-x"])];
    check(&patch("*** Update File: a\n one\n+two\n@@\n-x\n"), &[update("a", hunks())]);
}

#[test]
fn what_loses_nothing_is_forgiven() {
    let expected = [update("a", vec![hunk(3, &["f()"], &[" one", " ", "-two", "+2"])])];
    let plain = "*** Begin Patch\n*** Update File: a\n@@ f()\n one\n\n-two\n+2\n*** End Patch";
    check(plain, &expected);
    check(&plain.replace('\n', "\r\n"), &expected);
    check("*** Begin Patch \n*** Update File:  a  \n@@ f()  \n one\n\n-two\n+2\n\n\n *** End Patch  \n\n", &expected);
    let shifted = [update("a", vec![hunk(4, &["f()"], &[" one", " ", "-two", "+2"])])];
    for line in ["cat <<'EOF'", "apply_patch <<\"EOF\"", "<<EOF", "apply_patch <<-EOF"] {
        check(&format!("{line}\n{plain}\nEOF\n"), &shifted);
    }
    check(&format!("\n{plain}"), &shifted);
    check(&patch("  *** Add File: a\n+x\n\n*** Add File: b\n\n"), &[add("a", "x\n"), add("b", "")]);
}

#[test]
fn text_that_looks_like_the_patch_s_own_lines_is_text() {
    check(
        &patch(
            "*** Add File: a\n+*** End Patch\n+@@\n*** Update File: b\n@@\n *** Delete File: c\n-*** End of File\n++\n",
        ),
        &[
            add("a", "*** End Patch\n@@\n"),
            update("b", vec![hunk(6, &[], &[" *** Delete File: c", "-*** End of File", "++"])]),
        ],
    );
}

#[test]
fn new_files_keep_what_stands_in_them() {
    check(&patch("*** Add File: a\n+one\r\n+two  \n+\t\n"), &[add("a", "one\r\ntwo  \n\t\n")]);
}

#[test]
fn every_malformed_line_is_named_with_what_was_expected() {
    check_error("", "the patch is empty: write `*** Begin Patch`, at least one file and `*** End Patch`");
    check_error(
        "*** Begin Patch\n\n*** End Patch",
        "the patch is empty: write `*** Begin Patch`, at least one file and `*** End Patch`",
    );
    check_error(
        "Here it is:\n*** Begin Patch\n*** End Patch",
        "line 1 of the patch is `Here it is:`; expected `*** Begin Patch`",
    );
    check_error("*** Begin Patch\n*** Add File: a\n+x", "the patch ends after line 3; expected `*** End Patch`");
    check_error(
        "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n*** Begin Patch\n*** Add File: b\n+x",
        "line 7 of the patch is `+x`; expected nothing after `*** End Patch`; several patches are one with several files",
    );
    check_error(
        &patch("*** Rename File: a\n"),
        "line 2 of the patch is `*** Rename File: a`; expected `*** Add File: <path>`, `*** Delete File: <path>`, `*** Update File: <path>` or `*** End Patch`",
    );
    check_error(
        &patch("*** Delete File: \n"),
        "line 2 of the patch is `*** Delete File:`; expected a path behind the colon",
    );
    check_error(
        &patch("*** Delete File: a\n-x\n"),
        "line 3 of the patch is `-x`; expected `*** Add File: <path>`, `*** Delete File: <path>`, `*** Update File: <path>` or `*** End Patch`",
    );
    check_error(
        &patch("*** Add File: a\n+x\ny\n"),
        "line 4 of the patch is `y`; expected a line of the new file behind a `+`, the next file or `*** End Patch`",
    );
    check_error(
        &patch("*** Update File: a\n"),
        "line 3 of the patch is `*** End Patch`; expected `@@`, or a line of the file behind a space, `-` or `+`",
    );
    check_error(
        &patch("*** Update File: a\nfn x() {}\n"),
        "line 3 of the patch is `fn x() {}`; expected `@@`, or a line of the file behind a space, `-` or `+`",
    );
    check_error(
        &patch("*** Update File: a\n@@\n-x\ny\n"),
        "line 5 of the patch is `y`; expected a line of the file behind a space (kept), `-` (removed) or `+` (added), or else `@@`, the next file or `*** End Patch`",
    );
    check_error(
        &patch("*** Update File: a\n@@\n x\n*** Delete File: b\n"),
        "line 5 of the patch is `*** Delete File: b`; expected a line that is removed (`-`) or added (`+`): the hunk before it has none",
    );
    check_error(
        &patch("*** Update File: a\n@@ f()\n*** End of File\n"),
        "line 5 of the patch is `*** End Patch`; expected a line of the file behind a space, `-` or `+`",
    );
    check_error(
        &patch("*** Update File: a\n@@ -1,3 +1,4 @@ fn f()\n-x\n"),
        "line 3 of the patch is `@@ -1,3 +1,4 @@ fn f()`; expected `@@` alone or with a line of the file, e.g. `@@ fn main() {`; there are no line numbers in this format",
    );
    check_error(
        &patch("*** Update File: a\n-x\n*** End of File\n+y\n"),
        "line 5 of the patch is `+y`; expected a line of the file behind a space (kept), `-` (removed) or `+` (added), or else `@@`, the next file or `*** End Patch`",
    );
    check_error(
        &patch(&format!("*** {}\n", "é".repeat(200))),
        &format!(
            "line 2 of the patch is `*** {}…`; expected `*** Add File: <path>`, `*** Delete File: <path>`, `*** Update File: <path>` or `*** End Patch`",
            "é".repeat(96)
        ),
    );
}

#[test]
fn the_files_of_a_patch_are_known_while_it_is_still_being_written() {
    let text = "*** Begin Patch\n*** Update File: a.rs\n@@\n+*** Add File: no\n*** Delete File: b\n*** Add File: c";
    assert_eq!(paths(text).collect::<Vec<_>>(), ["a.rs", "b"]);
    assert_eq!(paths("*** Begin").count(), 0);
}

fn written(patch: &Patch) -> String {
    let mut text = format!("{BEGIN}\n");
    for file in &patch.files {
        match file {
            FilePatch::Add { path, text: new } => {
                text += &format!("{ADD} {path}\n");
                new.lines().for_each(|line| text += &format!("+{line}\n"));
            }
            FilePatch::Delete { path } => text += &format!("{DELETE} {path}\n"),
            FilePatch::Update { path, move_to, hunks } => {
                text += &format!("{UPDATE} {path}\n");
                move_to.iter().for_each(|path| text += &format!("{MOVE} {path}\n"));
                for hunk in hunks {
                    if hunk.anchors.is_empty() {
                        text += "@@\n";
                    }
                    hunk.anchors.iter().for_each(|anchor| text += &format!("@@ {anchor}\n"));
                    for line in &hunk.lines {
                        text += &match line {
                            HunkLine::Context(line) => format!(" {line}\n"),
                            HunkLine::Remove(line) => format!("-{line}\n"),
                            HunkLine::Add(line) => format!("+{line}\n"),
                        };
                    }
                    if hunk.at_end {
                        text += "*** End of File\n";
                    }
                }
            }
        }
    }
    text + END
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ -~é]{0,12}", Just(END.to_owned()), Just("@@ x".to_owned())]
}

fn any_hunk() -> impl Strategy<Value = Hunk> {
    let line = (0..3, any_line()).prop_map(|(kind, text)| match kind {
        0 => HunkLine::Context(text),
        1 => HunkLine::Remove(text),
        _ => HunkLine::Add(text),
    });
    let anchors = proptest::collection::vec("[a-z{] ?[a-z(]{1,8}", 0..3);
    (anchors, proptest::collection::vec(line, 0..5), any_line(), any::<bool>()).prop_map(
        |(anchors, mut lines, added, at_end)| {
            lines.push(HunkLine::Add(added));
            Hunk { line: 0, anchors, lines, at_end }
        },
    )
}

fn any_patch() -> impl Strategy<Value = Patch> {
    let path = || "[a-zé][a-z é/.]{0,8}[a-z]";
    let add = (path(), proptest::collection::vec(any_line(), 0..4)).prop_map(|(path, lines)| {
        let text = lines.iter().map(|line| format!("{line}\n")).collect();
        FilePatch::Add { path, text }
    });
    let update = (path(), proptest::option::of(path()), proptest::collection::vec(any_hunk(), 1..4))
        .prop_map(|(path, move_to, hunks)| FilePatch::Update { path, move_to, hunks });
    let file = prop_oneof![add, path().prop_map(|path| FilePatch::Delete { path }), update];
    proptest::collection::vec(file, 1..5).prop_map(|files| Patch { files })
}

fn without_numbers(mut patch: Patch) -> Patch {
    for file in &mut patch.files {
        if let FilePatch::Update { hunks, .. } = file {
            hunks.iter_mut().for_each(|hunk| hunk.line = 0);
        }
    }
    patch
}

proptest! {
    #[test]
    fn a_patch_that_is_written_is_read_again_as_it_was(patch in any_patch()) {
        let text = written(&patch);
        prop_assert_eq!(parse(&text).map(without_numbers), Ok(patch), "{}", text);
    }

    #[test]
    fn a_line_that_is_not_of_the_grammar_is_never_skipped(patch in any_patch(), at in any::<prop::sample::Index>()) {
        let text = written(&patch);
        let mut lines: Vec<&str> = text.lines().collect();
        let at = 1 + at.index(lines.len() - 1);
        lines.insert(at, "stray");
        let error = parse(&lines.join("\n")).unwrap_err();
        let is_named = match &error {
            ParseError::Unexpected { line, found, .. } => *line == at + 1 && found == "stray",
            // An update that ends before the stray line without having done anything.
            ParseError::Empty | ParseError::Unfinished { .. } => false,
        };
        prop_assert!(is_named, "{}", error);
    }
}
