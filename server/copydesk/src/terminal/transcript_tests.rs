#![expect(clippy::unwrap_used, reason = "a test may panic")]

use copydesk_engine::ids::MessageId;
use copydesk_workspace::path::AbsPath;
use serde_json::json;

use super::*;

fn plain() -> Paint {
    Paint::new(false, |_| None)
}

fn view(kind: ToolKind, status: ToolStatus, text: &str, diffs: Vec<FileDiff>) -> SessionEvent {
    SessionEvent::ToolCallUpdate(ToolCallView {
        call: CallId::new("call_1"),
        name: "tool".to_owned(),
        kind,
        title: "Do it".to_owned(),
        state: ToolCallState::Ended(status),
        input: json!({}),
        text: text.to_owned(),
        diffs,
        media: Vec::new(),
        locations: Vec::new(),
        allowed_by: Vec::new(),
    })
}

fn diff(before: Option<&str>, after: Option<&str>) -> FileDiff {
    let text = |text: &str| text.into();
    FileDiff { path: AbsPath::new("/p/a.txt").unwrap(), before: before.map(text), after: after.map(text) }
}

fn check(event: &SessionEvent, expected: Option<Piece>) {
    assert_eq!(Transcript::new(plain(), plain()).piece(event), expected);
}

fn lines(text: &str) -> Option<Piece> {
    Some(Piece::Lines(text.to_owned()))
}

#[test]
fn text_is_shown_as_it_comes_and_draws_nothing_of_its_own() {
    let text = |delta: &str| SessionEvent::Text { message: MessageId::new("msg_1"), delta: delta.to_owned() };
    check(&text("one\n\ttwo é"), Some(Piece::Text("one\n\ttwo é".to_owned())));
    check(&text("\u{1b}]0;title\u{7}"), Some(Piece::Text("\\u{1b}]0;title\\u{7}".to_owned())));
}

#[test]
fn of_a_running_command_the_last_lines_stand_until_it_ends() {
    let long: String = (1..=7).map(|number| format!("{number}\u{1b}[2J\n")).collect();
    let SessionEvent::ToolCallUpdate(view) = view(ToolKind::Execute, ToolStatus::Completed, &long, vec![]) else {
        panic!()
    };
    let event = SessionEvent::ToolCallUpdate(ToolCallView { state: ToolCallState::Running, ..view });
    check(&event, None);
    let drawing = Paint::new(true, |_| None);
    let Some(Piece::Passing(text)) = Transcript::new(plain(), drawing).piece(&event) else { panic!() };
    let text = text.replace("\u{1b}[2m", "").replace("\u{1b}[36m", "").replace("\u{1b}[0m", "");
    let lines: Vec<String> = (3..=7).map(|number| format!("  {number}\\u{{1b}}[2J")).collect();
    assert_eq!(text, format!("… Do it\n{}\n", lines.join("\n")));
}

#[test]
fn a_call_is_one_line_with_its_diff_or_the_end_of_its_output() {
    check(&view(ToolKind::Read, ToolStatus::Completed, "text of the file", vec![]), lines("✓ Do it\n"));
    check(&view(ToolKind::Execute, ToolStatus::Completed, "ok\n", vec![]), lines("✓ Do it\n  ok\n"));
    check(&view(ToolKind::Read, ToolStatus::Failed, "no file", vec![]), lines("✗ Do it\n  no file\n"));
    check(&view(ToolKind::Read, ToolStatus::Cancelled, "x", vec![]), lines("✗ Do it: cancelled\n"));
    let long: String = (1..=12).map(|number| format!("{number}\n")).collect();
    check(
        &view(ToolKind::Execute, ToolStatus::Completed, &long, vec![]),
        lines("✓ Do it\n  … 2 lines before\n  3\n  4\n  5\n  6\n  7\n  8\n  9\n  10\n  11\n  12\n"),
    );
    let edit = view(ToolKind::Edit, ToolStatus::Completed, "Edited.", vec![diff(Some("a\nb\n"), Some("a\nc\n"))]);
    check(&edit, lines("✓ Do it\n  /p/a.txt\n  @@ -1,2 +1,2 @@\n   a\n  -b\n  +c\n"));
    let mut transcript = Transcript::new(plain(), plain());
    transcript.was_shown(&CallId::new("call_1"));
    assert_eq!(transcript.piece(&edit), lines("✓ Do it\n"));
}

#[test]
fn r8_4_a_diff_hides_nothing() {
    let check = |before: Option<&str>, after: Option<&str>, expected: &str| {
        assert_eq!(diffs(&[diff(before, after)], plain()), expected);
    };
    check(None, Some("x\n"), "new file /p/a.txt\n@@ -0,0 +1 @@\n+x\n");
    check(Some("x\n"), None, "deleted /p/a.txt\n@@ -1 +0,0 @@\n-x\n");
    check(Some("x\r\n"), Some("y\r\n"), "/p/a.txt\n@@ -1 +1 @@\n-x\n+y\n");
    check(Some("x\r\n"), Some("x\n"), "/p/a.txt\n@@ -1 +1 @@\n-x\\r\n+x\n");
    check(Some("x\n"), Some("\u{1b}[8mx\n"), "/p/a.txt\n@@ -1 +1 @@\n-x\n+\\u{1b}[8mx\n");
}

#[test]
fn colours_are_around_lines_and_nothing_else_changes() {
    let colours = Paint::new(true, |_| None);
    let event = view(ToolKind::Edit, ToolStatus::Completed, "", vec![diff(Some("a\n"), Some("b\n"))]);
    let Some(Piece::Lines(text)) = Transcript::new(colours, colours).piece(&event) else { panic!("lines") };
    assert!(text.contains("\u{1b}[31m-a\u{1b}[0m\n") && text.contains("\u{1b}[32m+b\u{1b}[0m\n"), "{text:?}");
}
