use std::time::Duration;

use copydesk_workspace::change_log::Author;
use copydesk_workspace::disk::{DiskError, Operation};
use copydesk_workspace::edit::{EditSet, TextEdit};
use copydesk_workspace::encoding::{TextEncoding, encode};
use copydesk_workspace::path::DocKey;
use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::{Applied, FileEdit, Granted, Scope};
use crate::tool::{CommitError, ToolError};
use crate::workbench::{Act, Bench, Typing, path};

const LABEL: &str = "ses_1 call_1";

/// Replaces the one `old` in the file's present text.
async fn change(bench: &Bench, file: &str, old: &str, new: &str) -> FileEdit {
    let base = bench.view().snapshot(&path(file)).await.unwrap();
    let at = base.text.to_string().find(old).unwrap();
    let edit = TextEdit { range: at..at + old.len(), text: new.to_owned() };
    FileEdit::Modify { edits: EditSet::new(&base.text, vec![edit]).unwrap(), base }
}

async fn apply(bench: &Bench, edits: Vec<FileEdit>) -> Result<Vec<Applied>, CommitError> {
    bench.view().apply(edits, LABEL, &CancellationToken::new()).await
}

fn told(result: Result<Vec<Applied>, CommitError>) -> String {
    match result {
        Err(CommitError::Tool(ToolError::Tell(text))) => text,
        other => panic!("not told: {other:?}"),
    }
}

/// Authors of a file's edits in order.
fn authors(bench: &Bench, file: &str) -> Vec<&'static str> {
    let key = DocKey::from_real_path(path(file));
    bench.overlay.with_log(|log| {
        let name = |author: &Author| match author {
            Author::User => "user",
            Author::Agent { label } => {
                assert_eq!(label, LABEL);
                "agent"
            }
        };
        log.of(&key).map(|edit| name(&edit.author)).collect()
    })
}

#[tokio::test]
async fn r6_1_an_open_document_is_the_truth_by_every_name() {
    let bench = Bench::new();
    bench.put("/w/a", "disk\n");
    bench.disk.put_link(&path("/w/link"), "a");
    bench.open("/w/a", 3, "buffer\n");
    for name in ["/w/a", "/w/link", "/w/x/../a"] {
        let snapshot = bench.view().snapshot(&path(name)).await.unwrap();
        assert_eq!((snapshot.text.to_string().as_str(), snapshot.open().map(|open| open.1)), ("buffer\n", Some(3)));
    }
}

#[tokio::test]
async fn c25_dirty_buffer_is_edited_in_the_editor_and_the_disk_is_left_alone() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    bench.open("/w/a", 7, "one\ntwo\n");
    let edit = change(&bench, "/w/a", "one", "ONE").await;
    let applied = apply(&bench, vec![edit]).await.unwrap();
    assert_eq!(bench.buffer("/w/a"), "ONE\ntwo\n");
    assert_eq!(bench.text("/w/a"), "one\n");
    assert!(bench.overlay.by_uri("file:///w/a").unwrap().is_dirty());
    assert_eq!(applied[0].after.to_string(), "ONE\ntwo\n");
    assert_eq!(authors(&bench, "/w/a"), ["agent"]);
}

#[tokio::test]
async fn c39_the_version_sent_is_the_one_the_editor_sent_last() {
    let bench = Bench::new();
    bench.open("/w/a", 3548, "one\n");
    let edit = change(&bench, "/w/a", "one", "ONE").await;
    apply(&bench, vec![edit]).await.unwrap();
    let requests = bench.editor.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].documents[0].version, requests[0].label.as_str()), (3548, "Copydesk: edit a"));
}

#[tokio::test(start_paused = true)]
async fn c39_one_refusal_is_tried_again_and_two_are_a_conflict() {
    let bench = Bench::new();
    bench.open("/w/a", 3548, "one\n");
    bench.editor.will(Act::Refuse);
    let edit = change(&bench, "/w/a", "one", "ONE").await;
    apply(&bench, vec![edit]).await.unwrap();
    assert_eq!(bench.buffer("/w/a"), "ONE\n");

    bench.editor.will(Act::Refuse);
    bench.editor.will(Act::Refuse);
    let edit = change(&bench, "/w/a", "ONE", "1").await;
    let text = told(apply(&bench, vec![edit]).await);
    assert!(text.starts_with("conflict: /w/a was not changed: the editor refused the edit: not now"), "{text}");
    assert_eq!(bench.buffer("/w/a"), "ONE\n");
    assert_eq!(bench.editor.requests().len(), 4);
}

#[tokio::test]
async fn c39_after_a_refusal_the_edit_goes_to_the_present_text_and_version() {
    let bench = Bench::new();
    bench.open("/w/a", 5, "one\ntwo\n");
    bench.editor.will(Act::TypeAndRefuse(Typing { at: 0, text: "zero\n" }));
    let edit = change(&bench, "/w/a", "two", "TWO").await;
    let applied = apply(&bench, vec![edit]).await.unwrap();
    assert_eq!(bench.buffer("/w/a"), "zero\none\nTWO\n");
    assert_eq!(applied[0].open.as_ref().unwrap().1, 7);
    assert_eq!(bench.editor.requests()[1].documents[0].version, 6);
    assert_eq!(authors(&bench, "/w/a"), ["user", "agent"]);
}

#[tokio::test]
async fn r6_2_typing_at_the_same_place_moves_the_base() {
    let bench = Bench::new();
    bench.open("/w/a", 5, "one\ntwo\n");
    bench.editor.will(Act::TypeAndRefuse(Typing { at: 5, text: "w" }));
    let edit = change(&bench, "/w/a", "two", "TWO").await;
    let result = apply(&bench, vec![edit]).await;
    assert!(matches!(result, Err(CommitError::BaseMoved(_))), "{result:?}");
    assert_eq!(bench.buffer("/w/a"), "one\ntwwo\n");
}

#[tokio::test]
async fn r6_2_what_was_typed_with_the_edit_is_the_users() {
    let bench = Bench::new();
    bench.open("/w/a", 5, "one\ntwo\n");
    bench.editor.will(Act::ApplyAndType(Typing { at: 0, text: "zero\n" }));
    let edit = change(&bench, "/w/a", "two", "TWO").await;
    let applied = apply(&bench, vec![edit]).await.unwrap();
    assert_eq!(applied[0].after.to_string(), "zero\none\nTWO\n");
    assert_eq!(authors(&bench, "/w/a"), ["agent", "user"]);
}

#[tokio::test(start_paused = true)]
async fn r6_2_the_editors_word_alone_is_no_success() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    bench.open("/w/a", 5, "one\n");
    bench.editor.will(Act::Lie);
    let edit = change(&bench, "/w/a", "one", "ONE").await;
    let started = tokio::time::Instant::now();
    let text = told(apply(&bench, vec![edit]).await);
    assert!(text.contains("its text did not change within 1 s"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!((bench.buffer("/w/a").as_str(), bench.text("/w/a").as_str()), ("one\n", "one\n"));
}

#[tokio::test]
async fn r6_2_a_document_opened_or_closed_in_between_moves_the_base() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    let edit = change(&bench, "/w/a", "one", "ONE").await;
    let uri = bench.open("/w/a", 1, "one\n");
    assert!(matches!(apply(&bench, vec![edit]).await, Err(CommitError::BaseMoved(_))));
    let edit = change(&bench, "/w/a", "one", "ONE").await;
    bench.overlay.close(&uri);
    assert!(matches!(apply(&bench, vec![edit]).await, Err(CommitError::BaseMoved(_))));
    assert_eq!(bench.text("/w/a"), "one\n");
}

#[tokio::test]
async fn r6_2_a_file_that_is_still_open_by_another_name_is_not_written_behind_the_editor() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    bench.disk.put_link(&path("/w/link"), "a");
    let own = bench.open("/w/a", 7, "one\n");
    bench.editor.types(&own, &Typing { at: 4, text: "typed\n" });
    let link = bench.open("/w/link", 1, "one\n");
    assert!(matches!(bench.overlay.unsaved()[..], [(_, crate::overlay::Unsaved::User)]));
    for close in [false, true] {
        if close {
            bench.overlay.close(&link);
        }
        let edit = change(&bench, "/w/link", "one", if close { "TWO" } else { "one!" }).await;
        apply(&bench, vec![edit]).await.unwrap();
    }
    assert_eq!((bench.text("/w/a").as_str(), bench.buffer("/w/a").as_str()), ("one\n", "TWO!\ntyped\n"));
    assert!(bench.editor.requests().iter().all(|request| request.documents[0].uri == own));
}

#[tokio::test]
async fn r1_2_bytes_outside_of_the_edit_stay() {
    let cases = [
        ("a\r\nold\r\nc\r\n", TextEncoding::Utf8),
        ("a\nold\r\nc\r", TextEncoding::Utf8),
        ("\told \u{1f680}é\nno end", TextEncoding::Utf8Bom),
        ("ä\r\nold", TextEncoding::Utf16Le),
        ("old\n\u{1f680}\n", TextEncoding::Utf16Be),
    ];
    for (text, encoding) in cases {
        let bench = Bench::new();
        bench.put("/w/a", encode(text, encoding));
        let edit = change(&bench, "/w/a", "old", "new!").await;
        apply(&bench, vec![edit]).await.unwrap();
        assert_eq!(bench.bytes("/w/a"), encode(&text.replace("old", "new!"), encoding), "{text:?} {encoding:?}");
        assert_eq!(authors(&bench, "/w/a"), ["agent"]);
    }
}

#[tokio::test]
async fn a_file_that_another_program_changed_is_not_overwritten() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    let edit = change(&bench, "/w/a", "one", "ONE").await;
    bench.put("/w/a", "one, by another\n");
    assert!(matches!(apply(&bench, vec![edit]).await, Err(CommitError::BaseMoved(_))));
    let create = FileEdit::Create { path: path("/w/a"), text: "x".to_owned() };
    assert!(matches!(apply(&bench, vec![create]).await, Err(CommitError::BaseMoved(_))));
    assert_eq!(bench.text("/w/a"), "one, by another\n");
}

/// Open `a`, unopened `b`, new `n`, unopened `c`, in one batch.
async fn batch(bench: &Bench) -> Vec<FileEdit> {
    bench.put("/w/a", "a one\n").put("/w/b", "b one\n").put("/w/c", "c one\n");
    bench.open("/w/a", 1, "a one\n");
    vec![
        change(bench, "/w/c", "one", "two").await,
        change(bench, "/w/b", "one", "two").await,
        FileEdit::Create { path: path("/w/n"), text: "n\n".to_owned() },
        change(bench, "/w/a", "one", "two").await,
    ]
}

#[tokio::test]
async fn several_files_are_applied_together() {
    let bench = Bench::new();
    let edits = batch(&bench).await;
    assert_eq!(apply(&bench, edits).await.unwrap().len(), 4);
    let texts = [bench.buffer("/w/a"), bench.text("/w/b"), bench.text("/w/c"), bench.text("/w/n")];
    assert_eq!(texts, ["a two\n", "b two\n", "c two\n", "n\n"]);
}

#[tokio::test]
async fn c23_a_late_failure_takes_the_rest_back_and_says_how_each_file_stands() {
    let bench = Bench::new();
    let mut edits = batch(&bench).await;
    edits.rotate_left(1);
    bench.disk.fail(Operation::Write, &path("/w/c"), DiskError::Denied(path("/w/c")));
    let text = told(apply(&bench, edits).await);
    assert_eq!(
        text,
        "no permission for /w/c. Nothing of this call stays in force unless it is listed as such; read the file before the next try.\n\
         /w/n: the change was taken back\n/w/b: the change was taken back\n/w/a: the change was taken back\n/w/c: unchanged"
    );
    assert_eq!((bench.buffer("/w/a"), bench.text("/w/b")), ("a one\n".to_owned(), "b one\n".to_owned()));
    assert_eq!(bench.view().stat(&path("/w/n")).await.unwrap_err().to_string(), "/w/n does not exist");
}

#[tokio::test]
async fn r6_2_a_file_that_the_editor_opens_meanwhile_is_not_written_behind_it() {
    let bench = Bench::new();
    let edits = batch(&bench).await;
    let (overlay, document) = (bench.overlay.clone(), bench.document("/w/b", 1, "b one\n"));
    bench.editor.will(Act::ApplyAnd(Box::new(move || overlay.open(document))));
    let text = told(apply(&bench, edits).await);
    assert!(text.starts_with("/w/b was changed by another program."), "{text}");
    assert_eq!((bench.text("/w/b").as_str(), bench.text("/w/c").as_str()), ("b one\n", "c one\n"));
    assert_eq!((bench.buffer("/w/a").as_str(), bench.buffer("/w/b").as_str()), ("a one\n", "b one\n"));
}

#[tokio::test]
async fn c23_nothing_is_written_when_one_base_has_moved() {
    let bench = Bench::new();
    let edits = batch(&bench).await;
    bench.put("/w/b", "other\n");
    assert!(matches!(apply(&bench, edits).await, Err(CommitError::BaseMoved(_))));
    assert_eq!((bench.buffer("/w/a"), bench.text("/w/c")), ("a one\n".to_owned(), "c one\n".to_owned()));
    assert!(bench.editor.requests().is_empty());
}

#[tokio::test]
async fn a_cancelled_batch_writes_nothing() {
    let bench = Bench::new();
    let edits = batch(&bench).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = bench.view().apply(edits, LABEL, &cancel).await;
    assert_eq!(result.unwrap_err(), CommitError::Tool(ToolError::Cancelled));
    assert_eq!((bench.buffer("/w/a"), bench.text("/w/b")), ("a one\n".to_owned(), "b one\n".to_owned()));
}

#[tokio::test]
async fn a_view_reaches_what_was_granted_and_no_link_that_was_swapped_since() {
    let bench = Bench::new();
    bench.put("/w/a", "x\n").put("/w/b", "secret\n");
    let scope = || Scope::Paths(vec![Granted { real: path("/w/a"), write: false }]);
    let view = bench.view().narrowed(scope());
    assert!(view.snapshot(&path("/w/a")).await.is_ok());
    assert!(view.snapshot(&path("/w/b")).await.unwrap_err().to_string().contains("not granted access to /w/b"));
    let edit = change(&bench, "/w/a", "x", "y").await;
    let result = view.apply(vec![edit], LABEL, &CancellationToken::new()).await;
    assert!(told(result).contains("not granted"));
    bench.disk.take(&path("/w/a"));
    bench.disk.put_link(&path("/w/a"), "b");
    assert!(view.snapshot(&path("/w/a")).await.is_err());
}

#[tokio::test]
async fn r6_5_edits_of_two_sessions_come_one_after_the_other() {
    let bench = Bench::new();
    bench.put("/w/a", "one two\n");
    let first = change(&bench, "/w/a", "one", "ONE").await;
    let second = change(&bench, "/w/a", "two", "TWO").await;
    let (first, second) = tokio::join!(apply(&bench, vec![first]), apply(&bench, vec![second]));
    assert!(first.is_ok());
    assert!(matches!(second, Err(CommitError::BaseMoved(_))));
    assert_eq!(bench.text("/w/a"), "ONE two\n");
}

#[tokio::test]
async fn a_new_file_gets_its_folders_and_exactly_its_text() {
    let bench = Bench::new();
    let create = FileEdit::Create { path: path("/w/x/y/n"), text: "no end".to_owned() };
    let applied = apply(&bench, vec![create]).await.unwrap();
    assert_eq!(bench.text("/w/x/y/n"), "no end");
    assert_eq!((applied[0].before.clone(), applied[0].after.clone()), (None, Rope::from("no end")));
}
