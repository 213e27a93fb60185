#![expect(clippy::unwrap_used, reason = "a test may panic")]
//! The engine's values in the words of the wire.

use copydesk_engine::message::FileDiff;
use copydesk_engine::review::Undecided;
use copydesk_workspace::path::AbsPath;
use serde_json::{Value, json};

use super::*;

fn at(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn hunk(before: std::ops::Range<usize>, after: std::ops::Range<usize>) -> HunkView {
    HunkView {
        id: HunkId(7),
        turn: MessageId::new("msg_1"),
        before,
        after,
        old_text: "old\n".to_owned(),
        new_text: "new\n".to_owned(),
        state: review::HunkState::Undecided,
    }
}

fn file(base: &str, now: &str, hunk: HunkView) -> ChangedFile {
    ChangedFile {
        path: at("/p/a b.txt"),
        kind: ChangedKind::Modified,
        open: Some(("file:///p/a%20b.txt".to_owned(), 7)),
        is_binary: false,
        base: Rope::from(base),
        now: Rope::from(now),
        hunks: vec![hunk],
        added: 1,
        removed: 2,
    }
}

#[track_caller]
fn check_range(text: &str, lines: std::ops::Range<usize>, encoding: PositionEncoding, expected: [u32; 4]) {
    let TextRange { start, end } = range(&Rope::from(text), &lines, encoding);
    assert_eq!([start.line, start.character, end.line, end.character], expected, "{text:?} {lines:?}");
}

#[test]
fn r4_2_ranges_are_whole_lines_in_the_encoding_of_the_client() {
    for encoding in [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32] {
        check_range("a\nb\nc\n", 1..2, encoding, [1, 0, 2, 0]);
        check_range("a\nb\nc\n", 3..3, encoding, [3, 0, 3, 0]);
        check_range("a\r\nb\r\n", 1..2, encoding, [1, 0, 2, 0]);
        check_range("", 0..0, encoding, [0, 0, 0, 0]);
        // Of a list that is older than the text.
        check_range("a\n", 5..9, encoding, [1, 0, 1, 0]);
    }
    // The last line without a break ends where its text does.
    let last = "a\n\u{e9}\u{1f430}";
    check_range(last, 1..2, PositionEncoding::Utf8, [1, 0, 1, 6]);
    check_range(last, 1..2, PositionEncoding::Utf16, [1, 0, 1, 3]);
    check_range(last, 1..2, PositionEncoding::Utf32, [1, 0, 1, 2]);
}

#[test]
fn r4_2_a_list_names_files_as_the_editor_does_and_says_what_could_not_be_decided() {
    let open = file("old\nold\n", "new\n", hunk(0..2, 0..1));
    let moved = ChangedFile {
        kind: ChangedKind::Moved { from: at("/p/q") },
        open: None,
        is_binary: true,
        ..file("", "", HunkView { state: review::HunkState::Outdated, ..hunk(0..0, 0..0) })
    };
    let view = ChangesView { files: vec![open, moved], added: 1, removed: 2 };
    let undecided =
        vec![Undecided { id: HunkId(9), why: review::WhyUndecided::Gone, reason: "There is no hunk 9.".to_owned() }];
    let listed = changes(&view, Decided { hunks: vec![HunkId(8)], undecided }, PositionEncoding::Utf16);
    let position = |line: u32| json!({"line": line, "character": 0});
    let range = |start, end| json!({"start": position(start), "end": position(end)});
    let hunk = |state: &str, new: Value, old: Value| json!({"id": 7, "turn": "msg_1", "state": state, "range": new, "oldRange": old, "oldText": "old\n", "newText": "new\n"});
    assert_eq!(
        serde_json::to_value(listed).unwrap(),
        json!({
            "files": [
                {
                    "uri": "file:///p/a%20b.txt",
                    "kind": "modified",
                    "version": 7,
                    "binary": false,
                    "added": 1,
                    "removed": 2,
                    "hunks": [hunk("undecided", range(0, 1), range(0, 2))],
                },
                {
                    "uri": "file:///p/a%20b.txt",
                    "kind": "moved",
                    "from": "file:///p/q",
                    "binary": true,
                    "added": 1,
                    "removed": 2,
                    "hunks": [hunk("outdated", range(0, 0), range(0, 0))],
                },
            ],
            "added": 1,
            "removed": 2,
            "decided": [8],
            "undecided": [{"id": 9, "why": "gone", "reason": "There is no hunk 9."}],
        })
    );
}

#[test]
fn a_choice_of_files_needs_their_uris() {
    let files = |uri: &str| choice(HunkChoice::Files(vec![uri.to_owned()]));
    assert_eq!(files("file:///p/a%20b"), Ok(review::HunkChoice::Files(vec![at("/p/a b")])));
    assert!(files("https://example.com/a").unwrap_err().contains("https://example.com/a"));
    assert_eq!(choice(HunkChoice::Hunks(vec![3])), Ok(review::HunkChoice::Hunks(vec![HunkId(3)])));
    assert_eq!(choice(HunkChoice::All), Ok(review::HunkChoice::All));
}

#[test]
fn r5_2_every_outcome_of_an_undo_has_a_word_and_its_reason() {
    let outcome = |path: &str, outcome| undo::UndoneFile { path: at(path), outcome };
    let because = || "because".to_owned();
    let report = UndoReport {
        turn: Some(MessageId::new("msg_1")),
        title: "Do it".to_owned(),
        files: vec![
            outcome("/a", undo::UndoOutcome::Restored),
            outcome("/b", undo::UndoOutcome::Removed),
            outcome("/c", undo::UndoOutcome::MovedBack { to: at("/q") }),
            outcome("/d", undo::UndoOutcome::Unchanged),
            outcome("/e", undo::UndoOutcome::Conflict { reason: because(), partly: true }),
            outcome("/f", undo::UndoOutcome::Unavailable { reason: because() }),
            outcome("/g", undo::UndoOutcome::Failed { reason: because() }),
        ],
        diffs: vec![
            FileDiff { path: at("/a"), before: Some("1\n2\n".into()), after: Some("1\n".into()) },
            FileDiff { path: at("/b"), before: Some("1\n".into()), after: None },
        ],
    };
    let told = serde_json::to_value(undone(&report)).unwrap();
    assert_eq!((&told["turn"], &told["title"]), (&json!("msg_1"), &json!("Do it")));
    assert_eq!((&told["added"], &told["removed"]), (&json!(0), &json!(2)));
    let plain = |uri: &str, outcome: &str| json!({"uri": uri, "outcome": outcome, "partly": false});
    let with_reason = |uri: &str, outcome: &str, partly: bool| json!({"uri": uri, "outcome": outcome, "partly": partly, "reason": "because"});
    let mut moved = plain("file:///c", "moved_back");
    moved["to"] = json!("file:///q");
    assert_eq!(
        told["files"],
        json!([
            plain("file:///a", "restored"),
            plain("file:///b", "removed"),
            moved,
            plain("file:///d", "unchanged"),
            with_reason("file:///e", "conflict", true),
            with_reason("file:///f", "unavailable", false),
            with_reason("file:///g", "failed", false),
        ])
    );
    let text = told["text"].as_str().unwrap();
    assert!(["/a", "/q", "because", "Do it"].iter().all(|part| text.contains(part)), "{text}");
}
