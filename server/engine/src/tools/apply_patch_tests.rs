//! Patches of models against files on the disk and in the editor.

use copydesk_workspace::disk::{DiskError, Operation};
use copydesk_workspace::encoding::{TextEncoding, encode};
use serde_json::{Value, json};

use crate::permission::Verdict;
use crate::ports::{OptionKind, Preview, TextAccess};
use crate::tool::Tool as _;
use crate::workbench::{Act, Bench, Taking, Typing, path};

fn patch(body: &str) -> Value {
    json!({ "patchText": format!("*** Begin Patch\n{body}\n*** End Patch\n") })
}

fn missing(bench: &Bench, file: &str) -> bool {
    use copydesk_workspace::disk::Disk as _;
    bench.disk.read(&path(file)) == Err(DiskError::NotFound(path(file)))
}

#[tokio::test]
async fn one_patch_adds_changes_moves_and_deletes() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\ntwo\n").put("/w/b", "b\n").put("/w/c", "c\nd\n").put("/w/e", "e\n");
    let body = "*** Add File: new/n\n+n\n*** Update File: a\n@@\n one\n-two\n+2\n*** Delete File: b\n*** Update File: c\n*** Move to: new/c\n@@\n-c\n+C\n*** Update File: e\n*** Move to: f";
    let outcome = bench.call("apply_patch", patch(body)).await;
    assert_eq!(
        outcome.result.text,
        "The patch was applied:\nA new/n: 1 line added, 0 removed\nM a: 1 line added, 1 removed\nD b: 0 lines added, 1 removed\nM new/c (from c): 1 line added, 1 removed\nM f (from e): 0 lines added, 0 removed"
    );
    let texts = ["/w/new/n", "/w/a", "/w/new/c", "/w/f"].map(|file| bench.text(file));
    assert_eq!(texts, ["n\n", "one\n2\n", "C\nd\n", "e\n"]);
    assert!(["/w/b", "/w/c", "/w/e"].iter().all(|file| missing(&bench, file)));
    let kinds: Vec<&str> = outcome.result.metadata["files"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|file| file["type"].as_str())
        .collect();
    assert_eq!(kinds, ["add", "update", "delete", "move", "move"]);
}

#[tokio::test]
async fn r4_1_one_ask_shows_every_file() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n").put("/w/b", "b\n").put("/w/c", "c\n");
    bench.client.answer_all(OptionKind::AllowOnce);
    let body =
        "*** Update File: a\n@@\n-one\n+1\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n*** Add File: n\n+n";
    bench.done("apply_patch", patch(body)).await;
    let asked = bench.client.asks();
    assert_eq!(asked.len(), 1);
    let Preview::Edit(diffs) = &asked[0].preview else { panic!("{:?}", asked[0].preview) };
    let texts: Vec<_> =
        diffs.iter().map(|diff| [&diff.before, &diff.after].map(|text| text.as_ref().map(String::from))).collect();
    let shown: Vec<(String, Option<&str>, Option<&str>)> = std::iter::zip(diffs, &texts)
        .map(|(diff, [before, after])| (diff.path.to_string(), before.as_deref(), after.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            ("/w/a".to_owned(), Some("one\n"), Some("1\n")),
            ("/w/b".to_owned(), Some("b\n"), None),
            ("/w/c".to_owned(), Some("c\n"), None),
            ("/w/d".to_owned(), None, Some("c\n")),
            ("/w/n".to_owned(), None, Some("n\n")),
        ]
    );
}

#[tokio::test]
async fn every_source_and_target_is_judged() {
    let body = "*** Update File: a\n*** Move to: secret/a";
    for denied in ["a", "secret/*"] {
        let bench = Bench::trusting().rule("edit", denied, Verdict::Deny);
        bench.put("/w/a", "one\n");
        bench.failed("apply_patch", patch(body)).await;
        assert_eq!(bench.text("/w/a"), "one\n");
        assert!(missing(&bench, "/w/secret/a"));
    }
}

#[tokio::test]
async fn c21_an_add_only_hunk_goes_below_its_anchor() {
    let bench = Bench::trusting();
    let lines: Vec<String> = (1..=45)
        .map(|line| match line {
            3 => "class A {\n".to_owned(),
            40 => "class B {\n".to_owned(),
            line => format!("{line}\n"),
        })
        .collect();
    bench.put("/w/a", lines.concat());
    bench.done("apply_patch", patch("*** Update File: a\n@@ class A {\n+  x();")).await;
    assert_eq!(bench.text("/w/a"), lines.concat().replace("class A {\n", "class A {\n  x();\n"));
    let text = bench.failed("apply_patch", patch("*** Update File: a\n@@ class C {\n+  y();")).await;
    assert!(text.starts_with("Nothing was changed.\n/w/a: the hunk at line 3 of the patch has the anchor `class C {`, which is no line of the file"), "{text}");
    assert!(!bench.text("/w/a").contains("y();"));
}

#[tokio::test]
async fn c22_nothing_is_created_or_moved_over_an_existing_file() {
    for body in [
        "*** Add File: dst.txt\n+new",
        "*** Update File: src.txt\n*** Move to: dst.txt",
        "*** Update File: src.txt\n*** Move to: dst.txt\n@@\n-src\n+new",
    ] {
        let bench = Bench::trusting();
        bench.put("/w/dst.txt", "dst\n").put("/w/src.txt", "src\n");
        let text = bench.failed("apply_patch", patch(body)).await;
        assert!(text.contains("/w/dst.txt exists already"), "{text}");
        assert_eq!((bench.text("/w/dst.txt"), bench.text("/w/src.txt")), ("dst\n".to_owned(), "src\n".to_owned()));
    }
    // Nor over what is only in the editor, or no text.
    let bench = Bench::trusting();
    bench.put("/w/binary", b"\0\x01".as_slice());
    bench.open("/w/unsaved", 1, "mine\n");
    for file in ["binary", "unsaved"] {
        bench.failed("apply_patch", patch(&format!("*** Add File: {file}\n+x"))).await;
    }
    assert_eq!((bench.bytes("/w/binary"), bench.buffer("/w/unsaved")), (b"\0\x01".to_vec(), "mine\n".to_owned()));
}

#[tokio::test]
async fn c23_a_file_that_does_not_fit_keeps_all_from_being_changed() {
    let bench = Bench::trusting();
    bench.put("/w/a", "a\n").put("/w/c", "c\n");
    let body = "*** Update File: a\n@@\n-a\n+A\n*** Update File: b\n@@\n-b\n+B\n*** Update File: c\n@@\n-x\n+C";
    let text = bench.failed("apply_patch", patch(body)).await;
    assert!(text.starts_with("Nothing was changed.\n/w/b does not exist."), "{text}");
    assert!(text.contains("/w/c: the hunk at line 11 of the patch was not found"), "{text}");
    assert_eq!((bench.text("/w/a"), bench.text("/w/c")), ("a\n".to_owned(), "c\n".to_owned()));
}

#[tokio::test]
async fn c23_a_late_failure_takes_everything_back_and_tells_of_each_file() {
    // A file that is moved is told of by the name that it has again.
    let files = ["/w/a", "/w/b", "/w/c", "/w/d", "/w/n", "/w/o"];
    for (operation, at, done) in [
        (Operation::Write, "/w/b", ["/w/a", "/w/o"].as_slice()),
        (Operation::Write, "/w/n", &["/w/a", "/w/b", "/w/o"]),
        (Operation::Rename, "/w/c", &["/w/a", "/w/b", "/w/n", "/w/o"]),
        (Operation::Write, "/w/m", &["/w/a", "/w/b", "/w/n", "/w/o"]),
        (Operation::Remove, "/w/d", &["/w/a", "/w/b", "/w/c", "/w/n", "/w/o"]),
    ] {
        let bench = Bench::trusting();
        bench.put("/w/a", "a\n").put("/w/b", "b\n").put("/w/c", "c\n").put("/w/d", "d\n").put("/w/o", "o\n");
        bench.open("/w/o", 1, "o\n");
        bench.disk.fail(operation, &path(at), DiskError::Denied(path(at)));
        let body = "*** Delete File: d\n*** Update File: a\n@@\n-a\n+A\n*** Update File: o\n@@\n-o\n+O\n*** Update File: b\n@@\n-b\n+B\n*** Add File: n\n+n\n*** Update File: c\n*** Move to: m\n@@\n-c\n+C";
        let text = bench.failed("apply_patch", patch(body)).await;
        assert!(text.starts_with(&format!("no permission for {at}.")), "{text}");
        let mut listed: Vec<&str> = text.lines().skip(1).collect();
        listed.sort_unstable();
        let state = |file: &&str| if done.contains(file) { "the change was taken back" } else { "unchanged" };
        assert_eq!(listed, files.map(|file| format!("{file}: {}", state(&file))), "{operation:?} {at}: each, and once");
        let texts = ["/w/a", "/w/b", "/w/c", "/w/d"].map(|file| bench.text(file));
        assert_eq!(texts, ["a\n", "b\n", "c\n", "d\n"], "{at}");
        assert_eq!(bench.buffer("/w/o"), "o\n", "{at}");
        assert!(missing(&bench, "/w/n") && missing(&bench, "/w/m"), "{at}");
    }
}

#[tokio::test]
async fn c17_r1_2_endings_encoding_and_the_last_line_break_stay() {
    for (text, encoding, after) in [
        ("a\r\nb\r\n", TextEncoding::Utf8, "a\r\nx\r\ny\r\n"),
        ("a\nb", TextEncoding::Utf8Bom, "a\nx\ny"),
        ("a\r\nb", TextEncoding::Utf16Le, "a\r\nx\r\ny"),
        ("a\nb\n", TextEncoding::Utf16Be, "a\nx\ny\n"),
    ] {
        for (target, move_to) in [("/w/a", ""), ("/w/b", "*** Move to: b\n")] {
            let bench = Bench::trusting();
            bench.put("/w/a", encode(text, encoding));
            bench.done("apply_patch", patch(&format!("*** Update File: a\n{move_to}@@\n a\n-b\n+x\n+y"))).await;
            assert_eq!(bench.bytes(target), encode(after, encoding), "{text:?}");
        }
    }
}

#[tokio::test]
async fn r6_2_open_documents_are_changed_in_the_editor() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\n").put("/w/b", "b\n");
    bench.open("/w/a", 3, "one\ntyped\n");
    bench.done("apply_patch", patch("*** Update File: a\n@@\n-one\n+ONE\n*** Update File: b\n@@\n-b\n+B")).await;
    assert_eq!(
        (bench.buffer("/w/a"), bench.text("/w/a"), bench.text("/w/b")),
        ("ONE\ntyped\n".to_owned(), "one\n".to_owned(), "B\n".to_owned())
    );
}

#[tokio::test]
async fn what_the_user_has_not_saved_is_neither_deleted_nor_moved() {
    for body in ["*** Delete File: a", "*** Update File: a\n*** Move to: b"] {
        let bench = Bench::trusting();
        bench.put("/w/a", "one\n");
        let uri = bench.open("/w/a", 3, "one\n");
        bench.editor.types(&uri, &Typing { at: 0, text: "typed " });
        let text = bench.failed("apply_patch", patch(body)).await;
        assert!(text.contains("/w/a has unsaved text of the user"), "{text}");
        assert_eq!((bench.text("/w/a"), bench.buffer("/w/a")), ("one\n".to_owned(), "typed one\n".to_owned()));
        assert!(missing(&bench, "/w/b"));
    }
}

#[tokio::test]
async fn an_open_document_that_is_saved_is_moved_and_the_editor_is_told() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\n");
    bench.open("/w/a", 3, "one\n");
    bench.done("apply_patch", patch("*** Update File: a\n*** Move to: b\n@@\n-one\n+two")).await;
    assert_eq!(bench.text("/w/b"), "two\n");
    assert!(missing(&bench, "/w/a"));
    let told: Vec<String> =
        bench.editor.told().iter().map(|change| format!("{} {:?}", change.path, change.kind)).collect();
    assert_eq!(told, ["/w/a Deleted", "/w/b Created"]);
}

#[tokio::test]
async fn r4_3_typing_between_the_ask_and_the_write_is_kept() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\ntwo\n");
    bench.open("/w/a", 3, "one\ntwo\n");
    bench.editor.will(Act::TypeAndRefuse(Typing { at: 0, text: "zero\n" }));
    bench.done("apply_patch", patch("*** Update File: a\n@@\n-two\n+2")).await;
    assert_eq!(bench.buffer("/w/a"), "zero\none\n2\n");
}

#[tokio::test]
async fn sections_of_one_file_are_one_change_or_a_contradiction() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\r\ntwo\r\n").put("/w/b", "b\n");
    bench.disk.put_link(&path("/w/link"), "a");
    bench.done("apply_patch", patch("*** Update File: a\n@@\n-two\n+2\n*** Update File: link\n@@\n-one\n+1")).await;
    assert_eq!(bench.text("/w/a"), "1\r\n2\r\n");
    bench.done("apply_patch", patch("*** Delete File: a\n*** Add File: a\n+all\n+new")).await;
    assert_eq!(bench.text("/w/a"), "all\r\nnew\r\n");
    for body in [
        "*** Add File: n\n+n\n*** Add File: n\n+m",
        "*** Update File: b\n@@\n-b\n+B\n*** Delete File: b",
        "*** Update File: a\n*** Move to: n\n*** Update File: b\n*** Move to: n",
        "*** Update File: b\n*** Move to: b",
    ] {
        let text = bench.failed("apply_patch", patch(body)).await;
        assert!(text.starts_with("Nothing was changed: the patch says two things of /w/"), "{text}");
    }
    assert_eq!((bench.text("/w/b"), missing(&bench, "/w/n")), ("b\n".to_owned(), true));
}

#[tokio::test]
async fn r6_4_what_does_not_fit_is_quoted_so_that_one_retry_suffices() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\n\ttwo\nthree\n");
    let text = bench.failed("apply_patch", patch("*** Update File: a\n@@\n one\n-    2\n+3")).await;
    assert_eq!(
        text,
        "Nothing was changed.\n/w/a: the hunk at line 3 of the patch was not found; the nearest text is at lines 1-2: line 2 is `\ttwo`, where the old text has `    2`.\nThe present text there:\n<content>\n1: one\n2: \ttwo\n3: three\n</content>\nAll of it: 3 lines.\nCorrect this and send the whole patch again."
    );
    let secret = Bench::trusting().rule("read", "a", Verdict::Ask);
    secret.put("/w/a", "one\n\ttwo\nthree\n");
    let text = secret.failed("apply_patch", patch("*** Update File: a\n@@\n one\n-    2\n+3")).await;
    assert!(!text.contains("two") && text.contains("/w/a: a hunk does not fit its present text."), "{text}");
}

#[tokio::test]
async fn a_malformed_patch_changes_nothing() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\n");
    let text = bench.failed("apply_patch", patch("*** Update File: a\n@@\n-one\n+two\nstray")).await;
    assert!(text.starts_with("Nothing was changed: line 6 of the patch is `stray`; expected "), "{text}");
    assert_eq!(bench.text("/w/a"), "one\n");
}

#[test]
fn the_title_names_the_files_as_they_come() {
    let bench = Bench::new();
    let title = |text: &str| super::ApplyPatch.title(&json!({ "patchText": text }), &bench.facts);
    assert_eq!(title("*** Begin Pa"), "Patch");
    assert_eq!(title("*** Begin Patch\n*** Add File: src/a\n+x"), "Patch src/a");
    let five: String = (1..=5).map(|n| format!("*** Delete File: {n}\n")).collect();
    assert_eq!(title(&five), "Patch 1, 2, 3 and 2 more");
}

#[tokio::test]
async fn what_an_editor_that_is_asked_for_texts_has_not_saved_stays_too() {
    for (held, body, done) in [
        ("mine\n", "*** Delete File: a", false),
        ("mine\n", "*** Update File: a\n*** Move to: b", false),
        ("one\n", "*** Update File: a\n*** Move to: b", true),
        ("one\n", "*** Delete File: a", true),
    ] {
        let bench = Bench::trusting();
        bench.put("/w/a", "one\n");
        bench.editor.serves_texts(TextAccess { reads: true, writes: true }, Taking::Saves);
        bench.editor.put_buffer("/w/a", held);
        let text = bench.call("apply_patch", patch(body)).await.result.text;
        assert_eq!(missing(&bench, "/w/a"), done, "{text}");
        assert_eq!(text.contains("has unsaved text of the user"), !done, "{text}");
    }
}

/// A link shares its file with another name: taken for the file, it would leave that name dangling.
#[tokio::test]
async fn c23_a_link_is_neither_deleted_nor_moved_for_its_target() {
    for body in [
        "*** Delete File: link",
        "*** Update File: link\n*** Move to: b",
        "*** Update File: link\n*** Move to: b\n@@\n-one\n+1",
        "*** Delete File: picture",
        "*** Update File: picture\n*** Move to: b",
    ] {
        let bench = Bench::trusting();
        bench.put("/w/a", "one\n").put("/w/p.png", b"\x89PNG\0".as_slice());
        bench.disk.put_link(&path("/w/link"), "a");
        bench.disk.put_link(&path("/w/picture"), "/w/p.png");
        let text = bench.failed("apply_patch", patch(body)).await;
        assert!(text.contains("is a link to a file. Name that file by its own path"), "{text}");
        assert_eq!((bench.text("/w/link"), bench.bytes("/w/picture")), ("one\n".to_owned(), b"\x89PNG\0".to_vec()));
        assert!(missing(&bench, "/w/b"));
    }
    // What it says can still be changed by it, and a file in a folder that is a link is a file.
    let bench = Bench::trusting();
    bench.put("/w/real/a", "one\n").put("/w/real/b", "b\n");
    bench.disk.put_link(&path("/w/link"), "real/a");
    bench.disk.put_link(&path("/w/folder"), "real");
    let body = "*** Update File: link\n@@\n-one\n+1\n*** Delete File: folder/b";
    bench.done("apply_patch", patch(body)).await;
    assert_eq!((bench.text("/w/real/a"), missing(&bench, "/w/real/b")), ("1\n".to_owned(), true));
}

#[tokio::test]
async fn what_is_no_text_is_deleted_and_moved_byte_for_byte() {
    let bench = Bench::new();
    bench.client.answer_all(OptionKind::AllowOnce);
    let (png, latin) = (b"\x89PNG\r\n\x1a\n\0".as_slice(), b"caf\xe9 au lait, s'il vous pla\xeet\n".as_slice());
    bench.put("/w/old.png", png).put("/w/logo.png", png).put("/w/latin.txt", latin).put("/w/a", "one\n");
    let body = "*** Delete File: old.png\n*** Update File: logo.png\n*** Move to: img/logo.png\n*** Update File: latin.txt\n*** Move to: l.txt\n*** Update File: a\n@@\n-one\n+1";
    let outcome = bench.call("apply_patch", patch(body)).await;
    assert_eq!(
        outcome.result.text,
        "The patch was applied:\nD old.png: 9 bytes that are no text\nM img/logo.png (from logo.png): 9 bytes that are no text\nM l.txt (from latin.txt): 30 bytes that are no text\nM a: 1 line added, 1 removed"
    );
    assert_eq!((bench.bytes("/w/img/logo.png"), bench.bytes("/w/l.txt")), (png.to_vec(), latin.to_vec()));
    assert!(["/w/old.png", "/w/logo.png", "/w/latin.txt"].iter().all(|file| missing(&bench, file)));
    // The one ask showed each of them (R4.1).
    let asks = bench.client.asks();
    let [ask] = asks.as_slice() else { panic!("{asks:?}") };
    let Preview::Edit(diffs) = &ask.preview else { panic!("no edit") };
    let text = |text: &Option<ropey::Rope>| text.as_ref().map_or("-".to_owned(), ToString::to_string);
    let shown: Vec<String> = diffs
        .iter()
        .map(|diff| format!("{} {} {}", diff.path, text(&diff.before).trim(), text(&diff.after).trim()))
        .collect();
    let (nine, thirty) = ("[9 bytes that are no text]", "[30 bytes that are no text]");
    assert_eq!(
        shown,
        [
            format!("/w/old.png {nine} -"),
            format!("/w/logo.png {nine} -"),
            format!("/w/img/logo.png - {nine}"),
            format!("/w/latin.txt {thirty} -"),
            format!("/w/l.txt - {thirty}"),
            "/w/a one 1".to_owned(),
        ]
    );
}

#[tokio::test]
async fn c23_what_is_no_text_comes_back_after_a_late_failure_and_is_not_moved_over_anything() {
    let bench = Bench::trusting();
    bench.put("/w/p.png", b"\x89PNG\0".as_slice()).put("/w/z", "z\n");
    let denied = DiskError::Denied(path("/w/z"));
    bench.disk.fail(Operation::Remove, &path("/w/z"), denied);
    let body = "*** Update File: p.png\n*** Move to: q.png\n*** Delete File: z";
    let text = bench.failed("apply_patch", patch(body)).await;
    assert!(text.contains("/w/p.png: the change was taken back"), "{text}");
    assert_eq!((bench.bytes("/w/p.png"), missing(&bench, "/w/q.png")), (b"\x89PNG\0".to_vec(), true));

    let text = bench.failed("apply_patch", patch("*** Update File: p.png\n*** Move to: z")).await;
    assert!(text.contains("/w/z exists already"), "{text}");
    let text = bench.failed("apply_patch", patch("*** Update File: p.png\n*** Move to: q\n@@\n-a\n+b")).await;
    assert!(text.contains("cannot be read as text"), "{text}");
    assert_eq!((bench.bytes("/w/p.png"), bench.text("/w/z")), (b"\x89PNG\0".to_vec(), "z\n".to_owned()));
}
