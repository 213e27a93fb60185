//! Files of an editor that tells of no documents and is asked for texts, as ACP's clients are.

use serde_json::json;

use crate::message::ToolStatus;
use crate::permission::Verdict;
use crate::ports::TextAccess;
use crate::workbench::{Bench, Taking, path, printed};

const BOTH: TextAccess = TextAccess { reads: true, writes: true };
const READS: TextAccess = TextAccess { reads: true, writes: false };
const WRITES: TextAccess = TextAccess { reads: false, writes: true };

/// Edits need no ask here: what is asked is the runner's.
fn bench(access: TextAccess, taking: Taking) -> Bench {
    let bench = Bench::new().rule("edit", "*", Verdict::Allow).rule("bash", "*", Verdict::Allow);
    bench.editor.serves_texts(access, taking);
    bench
}

fn edit(old: &str, new: &str) -> serde_json::Value {
    json!({ "filePath": "a", "oldString": old, "newString": new })
}

#[tokio::test]
async fn r6_1_unsaved_text_is_read_and_said_to_be_the_editor_s() {
    let bench = bench(BOTH, Taking::Saves);
    bench.put("/w/a", "disk\n");
    let text = bench.done("read", json!({ "filePath": "a" })).await;
    assert!(text.contains("disk") && !text.contains("the editor's text"), "{text}");
    bench.editor.put_buffer("/w/a", "unsaved\n");
    let text = bench.done("read", json!({ "filePath": "a" })).await;
    assert!(text.contains("unsaved") && text.contains("the editor's text"), "{text}");
}

#[tokio::test]
async fn r6_2_c25_an_edit_of_a_dirty_buffer_goes_through_the_editor_and_keeps_what_is_unsaved() {
    for taking in [Taking::Saves, Taking::Keeps] {
        let bench = bench(BOTH, taking);
        bench.put("/w/a", "one\n");
        bench.editor.put_buffer("/w/a", "one\nunsaved\n");
        bench.done("edit", edit("one", "ONE")).await;
        assert_eq!(bench.editor.held_text("/w/a").unwrap(), "ONE\nunsaved\n");
        let on_disk = if taking == Taking::Saves { "ONE\nunsaved\n" } else { "one\n" };
        assert_eq!(bench.text("/w/a"), on_disk, "nothing is written behind the buffer");
        // What the buffer holds is still the truth.
        bench.done("edit", edit("unsaved", "more")).await;
        assert_eq!(bench.editor.held_text("/w/a").unwrap(), "ONE\nmore\n");
    }
}

#[tokio::test]
async fn r6_2_a_clean_buffer_follows_its_edit() {
    let bench = bench(BOTH, Taking::Saves);
    bench.put("/w/a", "one\n");
    bench.editor.put_buffer("/w/a", "one\n");
    bench.done("edit", edit("one", "two")).await;
    assert_eq!((bench.text("/w/a").as_str(), bench.editor.held_text("/w/a").as_deref()), ("two\n", Some("two\n")));
    assert_eq!(bench.editor.written(), [(path("/w/a"), "two\n".to_owned())]);
}

#[tokio::test]
async fn a_stale_buffer_is_found_after_a_command_and_does_not_bring_back_the_old_text() {
    let bench = bench(BOTH, Taking::Saves);
    bench.put("/w/a", "one\ntwo\n");
    bench.editor.put_buffer("/w/a", "one\ntwo\n");
    bench.done("read", json!({ "filePath": "a" })).await;
    // The editor does not notice.
    bench.shell.will(|disk| {
        disk.put(&path("/w/a"), "one\nTWO by the command\n");
        printed("")
    });
    bench.done("bash", json!({ "command": "sed -i s/two/TWO/ a" })).await;
    let text = bench.done("read", json!({ "filePath": "a" })).await;
    assert!(text.contains("TWO by the command") && !text.contains("the editor's text"), "{text}");
    bench.done("edit", edit("one", "ONE")).await;
    assert_eq!(bench.text("/w/a"), "ONE\nTWO by the command\n");
    assert_eq!(bench.editor.held_text("/w/a").unwrap(), "ONE\nTWO by the command\n");
}

#[tokio::test]
async fn what_the_user_has_typed_meanwhile_is_not_overwritten() {
    let bench = bench(BOTH, Taking::Saves);
    bench.put("/w/a", "one\n");
    bench.editor.put_buffer("/w/a", "one\n");
    let base = bench.view().snapshot(&path("/w/a")).await.unwrap();
    let edits = copydesk_workspace::edit::EditSet::between(&base.text, &ropey::Rope::from("two\n"));
    bench.editor.put_buffer("/w/a", "one\ntyped\n");
    let cancel = tokio_util::sync::CancellationToken::new();
    let applied = bench.view().apply(vec![super::FileEdit::Modify { base, edits }], "label", &cancel).await;
    assert!(matches!(applied, Err(crate::tool::CommitError::BaseMoved(_))), "{applied:?}");
    assert_eq!(bench.editor.held_text("/w/a").unwrap(), "one\ntyped\n");
    assert!(bench.editor.written().is_empty());
}

#[tokio::test]
async fn r6_2_c25_nothing_is_written_while_the_editor_does_not_say_what_is_unsaved() {
    for access in [BOTH, READS] {
        for is_known in [true, false] {
            let bench = bench(access, Taking::Saves);
            bench.put("/w/a", "one\n");
            if is_known {
                bench.done("read", json!({ "filePath": "a" })).await;
            }
            bench.editor.is_silent(true);
            let text = bench.done("read", json!({ "filePath": "a" })).await;
            assert!(text.contains("1: one"), "the disk can be read: {text}");
            let text = bench.failed("edit", edit("one", "two")).await;
            assert!(text.contains("does not answer whether it has unsaved text"), "{text}");
            assert_eq!((bench.text("/w/a").as_str(), bench.editor.written().len()), ("one\n", 0));
            bench.editor.is_silent(false);
            bench.done("edit", edit("one", "two")).await;
            assert_eq!(bench.text("/w/a"), "two\n");
        }
    }
}

#[tokio::test]
async fn r6_2_an_editor_that_falls_silent_before_the_write_is_not_written_behind() {
    let bench = bench(BOTH, Taking::Saves);
    bench.put("/w/a", "one\n");
    bench.editor.put_buffer("/w/a", "one\n");
    let base = bench.view().snapshot(&path("/w/a")).await.unwrap();
    let edits = copydesk_workspace::edit::EditSet::between(&base.text, &ropey::Rope::from("two\n"));
    bench.editor.is_silent(true);
    let cancel = tokio_util::sync::CancellationToken::new();
    let applied = bench.view().apply(vec![super::FileEdit::Modify { base, edits }], "label", &cancel).await;
    assert!(matches!(applied, Err(crate::tool::CommitError::Tool(_))), "{applied:?}");
    assert_eq!(bench.text("/w/a"), "one\n");
}

#[tokio::test]
async fn line_endings_are_told_in_the_editor_s_words_and_stay_in_the_file() {
    let bench = bench(BOTH, Taking::Keeps);
    bench.put("/w/a", "one\r\ntwo\r\n");
    bench.editor.put_buffer("/w/a", "one\ntwo\n");
    bench.done("edit", edit("one", "ONE")).await;
    assert_eq!(bench.editor.written(), [(path("/w/a"), "ONE\ntwo\n".to_owned())]);

    let verbatim = self::bench(BOTH, Taking::Saves);
    verbatim.put("/w/a", "\u{feff}one\r\ntwo\r\n");
    verbatim.done("edit", edit("one", "ONE")).await;
    assert_eq!(verbatim.text("/w/a"), "\u{feff}ONE\r\ntwo\r\n");
}

#[tokio::test]
async fn utf_16_and_binary_files_go_by_the_disk() {
    let bench = bench(BOTH, Taking::Refuses);
    let utf_16 =
        |text: &str| copydesk_workspace::encoding::encode(text, copydesk_workspace::encoding::TextEncoding::Utf16Le);
    bench.put("/w/a", utf_16("one\n"));
    bench.editor.put_buffer("/w/a", "\u{fffd}\u{fffd}o\0n\0e\0");
    bench.done("edit", edit("one", "two")).await;
    assert_eq!(bench.bytes("/w/a"), utf_16("two\n"));
    bench.put("/w/b", b"\0\x01\x02".to_vec());
    bench.editor.put_buffer("/w/b", "text");
    let text = bench.failed("read", json!({ "filePath": "b" })).await;
    assert!(text.contains("binary"), "{text}");
}

#[tokio::test]
async fn without_a_way_to_write_a_dirty_buffer_is_refused_and_a_clean_one_goes_by_the_disk() {
    let bench = bench(READS, Taking::Saves);
    bench.put("/w/a", "one\n");
    bench.done("edit", edit("one", "two")).await;
    assert_eq!(bench.text("/w/a"), "two\n");
    bench.editor.put_buffer("/w/a", "unsaved\n");
    let text = bench.failed("edit", edit("unsaved", "three")).await;
    assert!(text.contains("unsaved text in the editor") && text.contains("ask the user to save it"), "{text}");
    assert_eq!(bench.text("/w/a"), "two\n");
    assert!(bench.editor.written().is_empty());
}

#[tokio::test]
async fn an_editor_that_only_writes_is_written_through() {
    let bench = bench(WRITES, Taking::Saves);
    bench.put("/w/a", "one\n");
    bench.done("edit", edit("one", "two")).await;
    assert_eq!(bench.text("/w/a"), "two\n");
    assert_eq!(bench.editor.written(), [(path("/w/a"), "two\n".to_owned())]);
}

#[tokio::test]
async fn new_files_are_made_by_the_editor_or_without_it_where_it_refuses() {
    for taking in [Taking::Saves, Taking::Refuses, Taking::Lies] {
        let bench = bench(BOTH, taking);
        bench.done("write", json!({ "filePath": "new", "content": "text\n" })).await;
        assert_eq!(bench.text("/w/new"), "text\n", "{taking:?}");
        assert_eq!(bench.editor.written(), [(path("/w/new"), "text\n".to_owned())]);
    }
}

#[tokio::test]
async fn a_buffer_that_was_never_saved_is_no_new_file() {
    let bench = bench(BOTH, Taking::Saves);
    bench.editor.put_buffer("/w/new", "typed\n");
    let text = bench.failed("write", json!({ "filePath": "new", "content": "text\n" })).await;
    assert!(text.contains("you have not read it") && text.contains("typed"), "{text}");
    assert_eq!(bench.editor.held_text("/w/new").unwrap(), "typed\n");
    bench.done("edit", json!({ "filePath": "new", "oldString": "typed", "newString": "TYPED" })).await;
    assert_eq!(bench.text("/w/new"), "TYPED\n");
}

#[tokio::test]
async fn a_word_without_a_deed_is_found_and_a_refusal_is_told() {
    for (taking, expected) in
        [(Taking::Lies, "reported the change as done, but the text is what it was"), (Taking::Refuses, "not mine")]
    {
        let bench = bench(BOTH, taking);
        bench.put("/w/a", "one\n");
        bench.editor.put_buffer("/w/a", "one\n");
        let outcome = bench.call("edit", edit("one", "two")).await;
        assert_eq!(outcome.result.status, ToolStatus::Failed);
        assert!(outcome.result.text.contains(expected), "{}", outcome.result.text);
        assert_eq!(bench.text("/w/a"), "one\n");
    }
}

#[tokio::test]
async fn what_an_editor_makes_of_the_text_when_it_saves_is_said_to_be_more() {
    let bench = bench(BOTH, Taking::Formats("// formatted\n"));
    bench.put("/w/a", "one\n");
    let text = bench.done("edit", edit("one", "two")).await;
    assert!(text.contains("holds more than this edit"), "{text}");
    assert_eq!(bench.text("/w/a"), "// formatted\ntwo\n");
}

#[tokio::test]
async fn r6_1_the_buffer_of_the_file_behind_a_link_is_found() {
    let bench = bench(BOTH, Taking::Saves);
    bench.disk.put_link(&path("/w/a"), "real");
    bench.put("/w/real", "one\n");
    bench.editor.put_buffer("/w/real", "unsaved\n");
    bench.done("edit", edit("unsaved", "still unsaved")).await;
    assert_eq!(bench.editor.written(), [(path("/w/real"), "still unsaved\n".to_owned())]);
}
