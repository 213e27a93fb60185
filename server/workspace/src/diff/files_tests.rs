//! Diffs of whole files.

use super::*;

fn text(name: &str, text: &str) -> FileVersion {
    FileVersion { name: name.to_owned(), content: Content::Text(Rope::from_str(text)), mode: None }
}

fn binary(name: &str, bytes: &[u8]) -> FileVersion {
    FileVersion { name: name.to_owned(), content: Content::Binary(ContentHash::of(bytes)), mode: None }
}

fn patch(before: Option<FileVersion>, after: Option<FileVersion>) -> String {
    of_file(before.as_ref(), after.as_ref(), 3).map(|file| file.patch).unwrap_or_default()
}

#[test]
fn files_that_come_go_and_move_are_named_as_git_names_them() {
    insta::assert_snapshot!(patch(None, Some(text("src/new.rs", "fn new() {}\n"))), @r"
    diff --git a/src/new.rs b/src/new.rs
    new file mode 100644
    --- /dev/null
    +++ b/src/new.rs
    @@ -0,0 +1 @@
    +fn new() {}
    ");
    insta::assert_snapshot!(patch(Some(text("old", "a")), None), @r"
    diff --git a/old b/old
    deleted file mode 100644
    --- a/old
    +++ /dev/null
    @@ -1 +0,0 @@
    -a
    \ No newline at end of file
    ");
    insta::assert_snapshot!(patch(Some(text("p q", "a\nb\n")), Some(text("q", "a\nc\n"))), @"
    diff --git a/p q b/q
    rename from p q
    rename to q
    --- a/p q	
    +++ b/q
    @@ -1,2 +1,2 @@
     a
    -b
    +c
    ");
    insta::assert_snapshot!(patch(Some(text("p", "a\n")), Some(text("q", "a\n"))), @r"
    diff --git a/p b/q
    rename from p
    rename to q
    ");
}

#[test]
fn what_is_no_text_is_said_to_differ() {
    insta::assert_snapshot!(patch(Some(binary("o.bin", b"\0")), Some(binary("o.bin", b"\x01"))), @r"
    diff --git a/o.bin b/o.bin
    Binary files a/o.bin and b/o.bin differ
    ");
    insta::assert_snapshot!(patch(None, Some(binary("o.bin", b"\0"))), @r"
    diff --git a/o.bin b/o.bin
    new file mode 100644
    Binary files /dev/null and b/o.bin differ
    ");
    insta::assert_snapshot!(patch(Some(text("o", "a\n")), Some(binary("o", b"\0"))), @r"
    diff --git a/o b/o
    Binary files a/o and b/o differ
    ");
    let gone = FileVersion { content: Content::NotKept, ..text("big", "") };
    insta::assert_snapshot!(patch(Some(gone), Some(text("big", "a\n"))), @r"
    diff --git a/big b/big
    What a/big and b/big held is not kept
    ");
}

#[test]
fn what_does_not_differ_has_no_diff() {
    assert_eq!(patch(None, None), "");
    assert_eq!(patch(Some(text("a", "x")), Some(text("a", "x"))), "");
    assert_eq!(patch(Some(binary("a", b"\0")), Some(binary("a", b"\0"))), "");
    let with_mode = |mode| Some(FileVersion { mode: Some(mode), ..text("a", "x") });
    assert_eq!(patch(with_mode(0o600), with_mode(0o644)), "");
    insta::assert_snapshot!(patch(with_mode(0o644), with_mode(0o755)), @r"
    diff --git a/a b/a
    old mode 100644
    new mode 100755
    ");
}

#[test]
fn a_name_forges_no_line() {
    insta::assert_snapshot!(patch(None, Some(text("a\n+++ \"b\\\u{1b}\u{9b}", "x\n"))), @r#"
    diff --git "a/a\n+++ \"b\\\033\302\233" "b/a\n+++ \"b\\\033\302\233"
    new file mode 100644
    --- /dev/null
    +++ "b/a\n+++ \"b\\\033\302\233"
    @@ -0,0 +1 @@
    +x
    "#);
}

#[test]
fn totals_are_those_of_all_files() {
    let lines = |count: usize| (0..count).map(|line| format!("{line}\n")).collect::<String>();
    let files = [
        of_file(Some(&text("src/a.rs", "a\nb\n")), Some(&text("src/a.rs", "a\nc\nd\n")), 3),
        of_file(None, Some(&text("new.txt", &lines(97))), 3),
        of_file(Some(&binary("o.bin", b"\0")), None, 3),
        of_file(Some(&text("p", "a\n")), Some(&text("q", "a\n")), 3),
    ];
    let diff = Diff { files: files.into_iter().flatten().collect() };
    assert_eq!(diff.totals(), LineCounts { added: 99, removed: 1 });
    assert_eq!(diff.patch().matches("diff --git ").count(), 4);
    insta::assert_snapshot!(diff.stat(), @r"
     src/a.rs |  3 +-
     new.txt  | 97 ++++++++++++++++++++++++++++++++++++++++
     o.bin    | Bin
     p => q   |  0
     4 files changed, 99 insertions(+), 1 deletion(-)
    ");
    assert_eq!(Diff::default().stat(), "");
}
