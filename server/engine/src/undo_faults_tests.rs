//! Undo where a write, the record or the store fails: nothing is changed that no undo knows of, and what may have come is found.

use std::time::Duration;

use futures::FutureExt;
use tokio::sync::oneshot;

use super::*;
use crate::ports::{BoxFuture, TextAccess};
use crate::workbench::Taking;

#[tokio::test]
async fn r5_1_r5_2_a_failed_write_that_may_have_come_stays_recorded() {
    let full = || DiskError::Torn { path: in_project("a"), reason: "no space left on the device".to_owned() };
    // Cut off in the middle, or come whole after all.
    for (stands, undone, text) in [("tw", "CONFLICT", "tw"), ("two\n", "a: restored", "one\n")] {
        let mut desk = Desk::new().await;
        desk.put("a", "one\n");
        desk.world.disk.fail(Operation::Write, &in_project("a"), full());
        desk.turn("x", &[edit("a", "one", "two")]).await;
        assert!(!desk.result().contains("unchanged"), "{}", desk.result());
        assert!(desk.result().contains("a: MAY BE CHANGED"), "{}", desk.result());
        desk.world.disk.mend(Operation::Write, &in_project("a"));
        desk.put("a", stands);
        let rows = desk.world.changes.of(desk.session.id());
        let old = rows[0].before.unwrap();
        assert!(old.is_kept && old.hash == ContentHash::of(b"one\n"));
        let said = desk.undo(UndoWhat::Last).await;
        assert!(said[0].contains(undone), "{said:?}");
        assert_eq!(desk.text("a").as_deref(), Some(text));
    }
}

#[tokio::test]
async fn r5_1_r6_2_what_an_editor_writes_after_its_time_is_found_by_undo() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.editor.put_buffer("/home/user/project/a", "one\n");
    // Which said no, or that it cannot, has not written it, and does not later.
    for taking in [Taking::Refuses, Taking::Lacks] {
        desk.editor.serves_texts(TextAccess { reads: true, writes: true }, taking);
        desk.turn("x", &[edit("a", "one", "two")]).await;
        assert!(desk.result().contains("a: unchanged"), "{taking:?} {}", desk.result());
        assert_eq!(desk.world.changes.of(desk.session.id()), [], "{taking:?}");
    }
    desk.editor.serves_texts(TextAccess { reads: true, writes: true }, Taking::Waits);
    desk.turn("y", &[edit("a", "one", "two")]).await;
    assert!(desk.result().contains("a: MAY BE CHANGED"), "{}", desk.result());
    desk.editor.serves_texts(TextAccess { reads: true, writes: true }, Taking::Saves);
    desk.put("a", "two\n");
    desk.editor.put_buffer("/home/user/project/a", "two\n");
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
    assert_eq!(desk.text("a").as_deref(), Some("one\n"));
}

#[tokio::test]
async fn r5_1_r6_2_what_an_editor_cannot_edit_is_not_recorded() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    let uri = desk.open("a", "one\n");
    for (act, is_recorded) in [(Act::Lack, false), (Act::Lie, true)] {
        desk.editor.will(act);
        desk.turn("x", &[edit("a", "one", "two")]).await;
        assert_eq!(desk.buffer(&uri), "one\n");
        assert_eq!(!desk.world.changes.of(desk.session.id()).is_empty(), is_recorded);
    }
}

#[tokio::test]
async fn r5_1_r6_2_a_new_file_that_its_editor_may_write_yet_stays_recorded_where_the_disk_refuses_it() {
    let path = in_project("n");
    for refused in [DiskError::Exists(path.clone()), DiskError::Changed(path.clone()), DiskError::Denied(path.clone())]
    {
        for (taking, may_come) in
            [(Taking::Waits, true), (Taking::Lies, true), (Taking::Refuses, false), (Taking::Lacks, false)]
        {
            let mut desk = Desk::new().await;
            desk.editor.serves_texts(TextAccess { reads: true, writes: true }, taking);
            desk.world.disk.fail(Operation::Write, &path, refused.clone());
            desk.turn("x", &[write("n", "new\n")]).await;
            let (result, rows) = (desk.result(), desk.world.changes.of(desk.session.id()));
            assert_eq!(result.contains("n: MAY BE CHANGED"), may_come, "{refused} {taking:?} {result}");
            assert_eq!(!rows.is_empty(), may_come, "{refused} {taking:?} {rows:?}");
            if !may_come {
                continue;
            }
            desk.world.disk.mend(Operation::Write, &path);
            desk.put("n", "new\n");
            assert_eq!(desk.undo(UndoWhat::Last).await, ["n: removed"], "{refused} {taking:?}");
            assert_eq!(desk.text("n"), None);
        }
    }
}

#[tokio::test]
async fn r5_1_r6_2_c23_a_new_file_that_its_editor_may_write_yet_stays_recorded_where_a_later_step_fails() {
    let later = [
        (patch("*** Add File: n\n+new\n*** Add File: z\n+new\n"), Operation::Write, "z"),
        (patch("*** Add File: n\n+new\n*** Update File: a\n@@\n-one\n+two\n"), Operation::Write, "a"),
        (patch("*** Add File: n\n+new\n*** Delete File: a\n"), Operation::Remove, "a"),
        (patch("*** Add File: n\n+new\n*** Update File: a\n*** Move to: z\n@@\n-one\n+two\n"), Operation::Rename, "a"),
    ];
    for (call, operation, fails) in later {
        for (taking, may_come) in
            [(Taking::Waits, true), (Taking::Lies, true), (Taking::Refuses, false), (Taking::Lacks, false)]
        {
            let mut desk = Desk::new().await;
            desk.put("a", "one\n");
            desk.editor.serves_texts(TextAccess { reads: true, writes: true }, taking);
            desk.world.disk.fail(operation, &in_project(fails), DiskError::Denied(in_project(fails)));
            desk.turn("x", std::slice::from_ref(&call)).await;
            let (result, rows) = (desk.result(), desk.world.changes.of(desk.session.id()));
            let case = format!("{operation:?} of {fails}, {taking:?}: {result}");
            assert_eq!((desk.text("a").as_deref(), desk.text("n")), (Some("one\n"), None), "{case}");
            assert_eq!(result.contains("n: the change was taken back, but MAY BE CHANGED"), may_come, "{case}");
            assert_eq!(result.contains("n: the change was taken back\n"), !may_come, "{case}");
            assert_eq!(!rows.is_empty(), may_come || result.contains(&format!("{fails}: MAY BE")), "{case} {rows:?}");
            if !may_come {
                continue;
            }
            // It comes.
            desk.world.disk.mend(operation, &in_project(fails));
            desk.editor.serves_texts(TextAccess { reads: true, writes: true }, Taking::Saves);
            desk.put("n", "new\n");
            let said = desk.undo(UndoWhat::Last).await;
            assert!(said.contains(&"n: removed".to_owned()), "{case} {said:?}");
            assert_eq!((desk.text("a").as_deref(), desk.text("n")), (Some("one\n"), None), "{case} {said:?}");
        }
    }
}

#[tokio::test]
async fn r5_1_c23_what_was_surely_not_written_is_not_recorded() {
    let path = in_project("a");
    let full = DiskError::Other { path: path.clone(), reason: "no space left on the device".to_owned() };
    for refused in [DiskError::Denied(path.clone()), DiskError::IsDirectory(path.clone()), full] {
        let mut desk = Desk::new().await;
        desk.put("a", "one\n");
        desk.world.disk.fail(Operation::Write, &path, refused);
        desk.turn("x", &[edit("a", "one", "two")]).await;
        assert!(desk.result().contains("a: unchanged"), "{}", desk.result());
        assert_eq!(desk.world.changes.of(desk.session.id()), []);
    }
}

#[tokio::test]
async fn r5_1_r5_3_what_was_written_stays_recorded_where_its_permission_bits_fail() {
    let desk = Desk::new().await;
    desk.put("f", "y\n");
    desk.world.disk.put_mode(&in_project("f"), 0o600);
    let content = |bytes: &[u8], mode| Some(NewContent::new(bytes.to_vec(), Some(mode)));
    let row = FileChanged { before: content(b"x\n", 0o644), after: content(b"y\n", 0o600), ..changed("f", None, None) };
    desk.by_command("msg_1", vec![row]).await;
    desk.world.disk.fail(Operation::SetMode, &in_project("f"), DiskError::Denied(in_project("f")));
    let said = desk.undo(UndoWhat::Last).await;
    assert!(said[0].contains("no permission") && said[0].contains("MAY BE CHANGED"), "{said:?}");
    assert_eq!(desk.text("f").as_deref(), Some("x\n"));
    assert_eq!(desk.undo(UndoWhat::Redo).await, ["f: restored"]);
    assert_eq!(desk.text("f").as_deref(), Some("y\n"));
}

#[tokio::test]
async fn r5_3_r5_4_an_undo_that_cannot_be_recorded_is_not_done() {
    for is_known in [false, true] {
        let mut desk = Desk::new().await;
        desk.put("a", "one\n");
        desk.turn("x", &[edit("a", "one", "two"), write("n", "new\n")]).await;
        desk.world.changes.break_with(Some(StoreError::Busy { reason: "the disk is full".to_owned() }));
        if is_known {
            let _ = desk
                .session
                .context()
                .recording
                .recorder(MessageId::new("msg_2"), None, By::Agent, MOST_KEPT)
                .record(vec![changed("other", None, Some(b"x"))])
                .await;
        }
        let said = desk.undo(UndoWhat::Last).await;
        assert!(
            said.iter().all(|said| said.contains("left as it is: ") && said.contains("the disk is full")),
            "{said:?}"
        );
        assert_eq!((desk.text("a").as_deref(), desk.text("n").as_deref()), (Some("two\n"), Some("new\n")));
        desk.world.changes.break_with(None);
        assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored", "n: removed"]);
        assert_eq!(desk.undo(UndoWhat::Redo).await, ["a: restored", "n: restored"]);
    }
}

#[tokio::test]
async fn c34_r5_4_what_was_decided_while_undo_worked_is_decided_anew_when_it_fails() {
    let desk = Desk::new().await;
    desk.put("a", "one\n");
    let recording = &desk.session.context().recording;
    let recorder = |call| recording.recorder(MessageId::new("msg_1"), Some(CallId::new(call)), By::Agent, MOST_KEPT);
    // Prepared, and decided as one that undo reaches.
    let mine = desk.session.context().view().recorded(recorder("mine"));
    let base = mine.snapshot(&in_project("a")).await.unwrap();
    let edits = copydesk_workspace::edit::EditSet::between(&base.text, &Rope::from("two\n"));
    let edit = crate::view::FileEdit::Modify { base, edits };
    // Another call of the session meets the fault first.
    desk.world.changes.break_with(Some(StoreError::Busy { reason: "the disk is full".to_owned() }));
    assert!(recorder("other").record(vec![changed("b", None, Some(b"x"))]).await.is_err());
    let cancel = tokio_util::sync::CancellationToken::new();
    let applied = mine.apply(vec![edit.clone()], "x", &cancel).await;
    assert!(matches!(applied, Err(crate::tool::CommitError::BaseMoved(_))), "{applied:?}");
    assert_eq!(desk.text("a").as_deref(), Some("one\n"));
    // Prepared anew, and asked about.
    let asked = desk.session.context().view().recorded(recorder("mine"));
    asked.apply(vec![edit], "x", &cancel).await.unwrap();
    assert_eq!(desk.text("a").as_deref(), Some("two\n"));
}

#[tokio::test]
async fn r5_4_an_undo_does_not_let_go_of_what_it_needs_itself() {
    let mut desk = Desk::new().await;
    for file in ["a", "b", "c"] {
        desk.put(file, "one\n");
    }
    let edits = ["a", "b", "c"].map(|file| ("edit", json!({"filePath": file, "oldString": "one", "newString": file})));
    desk.turn("x", &edits).await;
    desk.world.changes.keep_the_latest_alone();
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored", "b: restored", "c: restored"]);
    for file in ["a", "b", "c"] {
        assert_eq!(desk.text(file).as_deref(), Some("one\n"));
    }
}

/// Of two files of a turn the first is open in an editor that lets its undo wait, until it is told to go on.
async fn undo_that_waits(desk: &mut Desk) -> (String, BoxFuture<'static, TurnEnd>, oneshot::Sender<()>) {
    desk.put("a", "one\n");
    desk.put("b", "one\n");
    let uri = desk.open("a", "one\n");
    desk.turn("x", &[edit("a", "one", "two"), edit("b", "one", "two")]).await;
    let (asked, is_asked) = oneshot::channel();
    let (go_on, told) = oneshot::channel();
    desk.editor.will(Act::ApplyOnce { asked, told });
    let end = say(desk, "/undo");
    is_asked.await.unwrap();
    (uri, end, go_on)
}

fn say(desk: &Desk, text: &str) -> BoxFuture<'static, TurnEnd> {
    desk.session.prompt(vec![PromptPart::Text { text: text.to_owned() }]).unwrap()
}

/// The session has taken all messages before this one.
async fn chosen(desk: &Desk) {
    tokio::time::timeout(Duration::from_secs(20), desk.session.choose_model("p/m")).await.unwrap().unwrap();
}

fn answer(desk: &Desk) -> String {
    let answer = |entry: &Entry| match entry {
        Entry::Answer { text, .. } => Some(text.replace("/home/user/project/", "")),
        _ => None,
    };
    desk.world.store.entries(desk.session.id()).iter().rev().find_map(answer).unwrap()
}

#[tokio::test]
async fn r5_1_a_session_that_undoes_takes_what_it_is_told_and_runs_what_comes_after() {
    let mut desk = Desk::new().await;
    let (uri, undo, go_on) = undo_that_waits(&mut desk).await;
    let after = say(&desk, "Go on");
    chosen(&desk).await;
    assert!(desk.player.waiting().is_none(), "what it would read is not undone yet");
    assert_eq!(desk.session.undo(UndoWhat::Call(CallId::new("no"))).now_or_never(), None, "one undo at a time");
    go_on.send(()).unwrap();
    assert_eq!(undo.await, TurnEnd::Done);
    assert_eq!((desk.buffer(&uri).as_str(), desk.text("b").as_deref()), ("one\n", Some("one\n")));
    let reply = desk.player.next_request().await;
    assert!(format!("{:?}", reply.request.messages).contains("took your changes back"));
    reply.finish(Finish::Stop);
    assert_eq!(after.await, TurnEnd::Done);
    // In the order in which they were asked for.
    let asked = |entry: &Entry| match entry {
        Entry::Command { text, .. } => Some(text.clone()),
        Entry::User { parts, .. } => Some(format!("{parts:?}")),
        _ => None,
    };
    let asked: Vec<String> = desk.world.store.entries(desk.session.id()).iter().filter_map(asked).collect();
    assert!(asked[1] == "/undo" && asked[2].contains("Go on"), "{asked:?}");
}

#[tokio::test]
async fn r5_1_a_cancelled_undo_ends_between_two_files_and_says_so() {
    let mut desk = Desk::new().await;
    let (uri, undo, go_on) = undo_that_waits(&mut desk).await;
    let after = say(&desk, "Go on");
    chosen(&desk).await;
    desk.session.cancel();
    go_on.send(()).unwrap();
    assert_eq!((undo.await, after.await), (TurnEnd::Cancelled, TurnEnd::Cancelled));
    assert!(desk.player.waiting().is_none());
    let said = "The agent's changes of the turn \"x\":\n- a: restored\n- b: left as it is: the undo was cancelled\n";
    assert_eq!(answer(&desk), said);
    assert_eq!((desk.buffer(&uri).as_str(), desk.text("b").as_deref()), ("one\n", Some("two\n")));
    assert_eq!(say(&desk, "/undo").await, TurnEnd::Done);
    assert!(answer(&desk).ends_with("- b: restored\n"), "{}", answer(&desk));
    assert_eq!(desk.text("b").as_deref(), Some("one\n"));
}

#[tokio::test]
async fn r5_1_a_close_leaves_no_undo_of_a_file_half_done() {
    let mut desk = Desk::new().await;
    let (uri, undo, go_on) = undo_that_waits(&mut desk).await;
    let close = desk.engine.close_session(desk.session.id(), &desk.world.connection);
    // The first poll cancels.
    let (closed, ()) = tokio::join!(biased; close, async { go_on.send(()).unwrap() });
    closed.unwrap();
    assert_eq!(undo.await, TurnEnd::Cancelled);
    assert_eq!((desk.buffer(&uri).as_str(), desk.text("b").as_deref()), ("one\n", Some("two\n")));
    assert!(
        answer(&desk).ends_with("- a: restored\n- b: left as it is: the undo was cancelled\n"),
        "{}",
        answer(&desk)
    );
}

fn is_undo(change: &crate::ports::Change) -> bool {
    matches!(change.by, By::Undo { .. })
}

#[tokio::test]
async fn r5_2_what_an_undo_could_not_do_is_done_after_another_turn() {
    let mut desk = Desk::new().await;
    desk.put("lib/a", "one\n");
    desk.by_command("msg_1", vec![changed("src/a", Some(b"one\n"), None), changed("lib/a", None, Some(b"one\n"))])
        .await;
    for (operation, file) in [(Operation::Write, "src/a"), (Operation::Rename, "lib/a")] {
        desk.world.disk.fail(operation, &in_project(file), DiskError::Denied(in_project(file)));
    }
    let said = desk.undo(UndoWhat::Last).await;
    assert!(said.iter().all(|said| said.contains("left as it is") && said.contains("no permission")), "{said:?}");
    let rows = desk.world.changes.of(desk.session.id());
    assert!(!rows.iter().any(is_undo), "{rows:?}");
    for (operation, file) in [(Operation::Write, "src/a"), (Operation::Rename, "lib/a")] {
        desk.world.disk.mend(operation, &in_project(file));
    }
    desk.turn("y", &[write("n", "new\n")]).await;
    assert_eq!(desk.undo(UndoWhat::Last).await, ["n: removed"]);
    assert_eq!(desk.undo(UndoWhat::Last).await, ["lib/a: removed", "src/a: restored"]);
    assert_eq!((desk.text("src/a").as_deref(), desk.text("lib/a")), (Some("one\n"), None));
}

#[tokio::test]
async fn r5_2_c33_a_move_back_whose_text_or_bits_fail_has_not_begun_or_is_told() {
    let content = |bytes: &[u8], mode| Some(NewContent::new(bytes.to_vec(), Some(mode)));
    let wide = b"\xff\xfeh\0o\0".as_slice();
    // Which is to fail, at which path; whether the text is another one.
    for (fails, is_text) in [
        (vec![(Operation::Write, "a")], true),
        (vec![(Operation::SetMode, "a")], true),
        (vec![(Operation::SetMode, "a")], false),
        (vec![(Operation::Write, "a"), (Operation::Rename, "a")], true),
    ] {
        let mut desk = Desk::new().await;
        let now = if is_text { wide } else { b"ho" };
        desk.put("b", now);
        desk.world.disk.put_mode(&in_project("b"), 0o755);
        let before = if is_text { b"hi".as_slice() } else { b"ho" };
        let row = FileChanged {
            moved_to: Some(in_project("b")),
            before: content(before, 0o644),
            after: content(now, 0o755),
            ..changed("a", None, None)
        };
        desk.by_command("msg_1", vec![row]).await;
        for (operation, file) in &fails {
            desk.world.disk.fail(*operation, &in_project(file), DiskError::Denied(in_project(file)));
        }
        let said = desk.undo(UndoWhat::Last).await.remove(0);
        let is_begun = fails.len() > 1 || fails[0].0 == Operation::SetMode && is_text;
        assert_eq!(said.contains("MAY BE CHANGED") && said.contains("it stands at"), is_begun, "{fails:?} {said}");
        let stands = if is_begun { "a" } else { "b" };
        let text = if is_begun && fails.len() == 1 { before } else { now };
        assert_eq!(desk.bytes(stands).as_deref(), Some(text), "{fails:?} {said}");
        assert_eq!(desk.bytes(if is_begun { "b" } else { "a" }), None, "{fails:?} {said}");
        let rows = desk.world.changes.of(desk.session.id());
        assert_eq!(rows.iter().any(is_undo), is_begun, "{fails:?} {rows:?}");
        if is_begun {
            continue;
        }
        // Nothing of it counts as done, whatever comes in between.
        desk.world.disk.mend(fails[0].0, &in_project(fails[0].1));
        desk.turn("y", &[write("n", "new\n")]).await;
        assert_eq!(desk.undo(UndoWhat::Last).await, ["n: removed"]);
        assert_eq!(desk.undo(UndoWhat::Last).await, ["b: moved back to a"]);
        assert_eq!((desk.bytes("a").as_deref(), desk.bytes("b")), (Some(before), None));
        assert_eq!(desk.world.disk.stat(&in_project("a")).unwrap().mode, Some(0o644));
    }
}

#[tokio::test]
async fn c23_r5_1_a_move_whose_text_fails_has_not_begun_or_is_told() {
    let denied = |file: &str| DiskError::Denied(in_project(file));
    let full = DiskError::Torn { path: in_project("z"), reason: "no space left on the device".to_owned() };
    for (fails, is_stuck) in [(denied("z"), false), (denied("z"), true), (full.clone(), false), (full, true)] {
        let mut desk = Desk::new().await;
        desk.put("a", "one\n");
        desk.world.disk.fail(Operation::Write, &in_project("z"), fails.clone());
        if is_stuck {
            desk.world.disk.fail(Operation::Rename, &in_project("z"), denied("z"));
        }
        desk.turn("x", &[patch("*** Update File: a\n*** Move to: z\n@@\n-one\n+two\n")]).await;
        let (result, rows) = (desk.result(), desk.world.changes.of(desk.session.id()));
        let is_begun = is_stuck || matches!(fails, DiskError::Torn { .. });
        assert_eq!(
            result.contains("it stands at /home/user/project/z by now"),
            is_begun,
            "{fails:?} {is_stuck} {result}"
        );
        assert_eq!(result.contains("a: MAY BE CHANGED"), is_begun, "{fails:?} {is_stuck} {result}");
        assert_eq!(!rows.is_empty(), is_begun, "{fails:?} {is_stuck} {rows:?}");
        let (stands, gone) = if is_begun { ("z", "a") } else { ("a", "z") };
        assert_eq!((desk.text(stands).as_deref(), desk.text(gone)), (Some("one\n"), None), "{fails:?} {is_stuck}");
        if is_begun {
            desk.world.disk.mend(Operation::Rename, &in_project("z"));
            assert_eq!(desk.undo(UndoWhat::Last).await, ["z: moved back to a"]);
            assert_eq!((desk.text("a").as_deref(), desk.text("z")), (Some("one\n"), None));
        }
    }
}

#[tokio::test]
async fn r5_3_an_undo_that_was_recorded_and_not_done_is_done_after_another_turn() {
    // The turn in between changes another file, or the same one.
    for (other, text) in [("b", "two\n"), ("a", "three\n")] {
        let mut desk = Desk::new().await;
        desk.put("a", "one\n");
        desk.put("b", "one\n");
        desk.turn("x", &[edit("a", "one", "two")]).await;
        let first = desk.world.changes.of(desk.session.id()).remove(0);
        let by = By::Undo { of: vec![first.id] };
        let recorder = desk.session.context().recording.recorder(MessageId::new("msg_undo"), None, by, MOST_KEPT);
        // Killed before the write.
        recorder.record(vec![changed("a", Some(b"two\n"), Some(b"one\n"))]).await.unwrap();
        desk.turn("y", &[edit(other, if other == "a" { "two" } else { "one" }, "three")]).await;
        assert_eq!(desk.text("a").as_deref(), Some(text));
        assert_eq!(desk.undo(UndoWhat::Last).await, [format!("{other}: restored")]);
        assert_eq!(desk.text("a").as_deref(), Some("two\n"));
        assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
        assert_eq!(desk.text("a").as_deref(), Some("one\n"));
        assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
    }
    // One that was done stays so where a later turn does the same again.
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.turn("x", &[edit("a", "one", "two")]).await;
    let turn = desk.world.changes.of(desk.session.id())[0].turn.clone();
    desk.undo(UndoWhat::Last).await;
    desk.turn("y", &[edit("a", "one", "two")]).await;
    assert_eq!(desk.undo(UndoWhat::Turn(turn)).await, ["a: unchanged, there was nothing to do"]);
    assert_eq!(desk.text("a").as_deref(), Some("two\n"));
}

#[tokio::test]
async fn r5_3_r18_1_an_undo_that_was_not_done_is_told_by_the_text_however_that_is_stored() {
    use TextEncoding::{Utf8, Utf8Bom, Utf16Le};
    let all = [Utf8, Utf8Bom, Utf16Le];
    // How the undo is recorded: as of a document, whatever its file is like, or as of the file.
    let recorded = all.into_iter().flat_map(|file| [(file, Utf8), (file, file)]);
    for (file, recorded, now) in recorded.flat_map(|(file, recorded)| all.map(|now| (file, recorded, now))) {
        for (is_open, is_done, goes_on) in
            (0..8).map(|bits| [1, 2, 4].map(|bit| bits & bit != 0)).map(|[a, b, c]| (a, b, c))
        {
            let case = format!("{file:?} {recorded:?} {now:?} {is_open} {is_done} {goes_on}");
            let mut desk = Desk::new().await;
            desk.put("a", encode("one\n", file));
            desk.turn("x", &[edit("a", "one", "two")]).await;
            let by = By::Undo { of: vec![desk.world.changes.of(desk.session.id())[0].id] };
            let recorder = desk.session.context().recording.recorder(MessageId::new("msg_undo"), None, by, MOST_KEPT);
            let content = |text: &str| Some(NewContent::of_text(&Rope::from(text), recorded, None));
            let row = FileChanged { before: content("two\n"), after: content("one\n"), ..changed("a", None, None) };
            recorder.record(vec![row]).await.unwrap();
            let (text, first) = if is_done { ("one\n", "one") } else { ("two\n", "two") };
            // The user may have stored it otherwise since.
            desk.put("a", encode(text, now));
            let uri = is_open.then(|| desk.open("a", text));
            let stands = |desk: &Desk| match &uri {
                Some(uri) => desk.buffer(uri),
                None => decode(&desk.bytes("a").unwrap()).unwrap().0.into_owned(),
            };
            if goes_on {
                desk.turn("y", &[edit("a", first, "three")]).await;
                assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"], "{case}");
                assert_eq!(stands(&desk), text, "{case}");
            }
            let undone = desk.session.undo(UndoWhat::Last).await;
            assert_eq!(undone.is_err(), is_done, "{case} {undone:?}");
            assert_eq!(stands(&desk), "one\n", "{case}");
        }
    }
}

#[tokio::test]
async fn r5_3_an_undo_that_only_changes_how_a_text_is_stored_is_told_by_its_bytes() {
    for (is_open, is_done) in [(false, false), (false, true), (true, false), (true, true)] {
        let desk = Desk::new().await;
        let (plain, marked) = (b"one\n".as_slice(), b"\xef\xbb\xbfone\n".as_slice());
        let ids = desk.by_command("msg_1", vec![changed("a", Some(plain), Some(marked))]).await;
        let by = By::Undo { of: ids };
        let recorder = desk.session.context().recording.recorder(MessageId::new("msg_undo"), None, by, MOST_KEPT);
        recorder.record(vec![changed("a", Some(marked), Some(plain))]).await.unwrap();
        desk.put("a", if is_done { plain } else { marked });
        if is_open {
            desk.open("a", "one\n");
        }
        let undone = desk.session.undo(UndoWhat::Redo).await;
        assert_eq!(undone == Err(UndoError::NothingToRedo), !is_done, "{is_open} {is_done} {undone:?}");
    }
}

#[tokio::test]
async fn r5_3_r6_2_a_redo_that_its_editor_has_not_saved_is_done() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.editor.put_buffer("/home/user/project/a", "one\n");
    desk.editor.serves_texts(TextAccess { reads: true, writes: true }, Taking::Keeps);
    desk.turn("x", &[edit("a", "one", "two")]).await;
    for _ in 0..2 {
        for (what, text) in [(UndoWhat::Last, "one\n"), (UndoWhat::Redo, "two\n")] {
            assert_eq!(desk.undo(what.clone()).await, ["a: restored"], "{what:?}");
            assert_eq!(desk.editor.held_text("/home/user/project/a").as_deref(), Some(text), "{what:?}");
            assert_eq!(desk.text("a").as_deref(), Some("one\n"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r5_1_commands_that_are_asked_for_together_are_answered_in_their_order() {
    let mut desk = Desk::new().await;
    let (uri, first, go_on) = undo_that_waits(&mut desk).await;
    let rest = ["/diff", "/redo", "/diff", "/undo", "/diff", "/redo"].map(|text| say(&desk, text));
    chosen(&desk).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    go_on.send(()).unwrap();
    assert_eq!(first.await, TurnEnd::Done);
    assert_eq!(futures::future::join_all(rest).await, vec![TurnEnd::Done; 6]);
    let answer = |entry: &Entry| match entry {
        Entry::Answer { text, .. } => Some(text.clone()),
        _ => None,
    };
    let answers: Vec<String> = desk.world.store.entries(desk.session.id()).iter().filter_map(answer).collect();
    assert_eq!(answers.len(), 7);
    for (index, said) in answers.iter().enumerate() {
        let is_of = if index % 2 == 0 { said.contains("a: restored") } else { said.contains("```diff") };
        assert!(is_of, "{index} {answers:?}");
    }
    assert_eq!((desk.buffer(&uri).as_str(), desk.text("b").as_deref()), ("two\n", Some("two\n")));
}

#[tokio::test]
async fn r5_1_commands_that_wait_are_cancelled_at_once_and_what_comes_after_waits_on() {
    let mut desk = Desk::new().await;
    let (_, first, go_on) = undo_that_waits(&mut desk).await;
    let rest = ["/diff", "/undo", "/redo"].map(|text| say(&desk, text));
    chosen(&desk).await;
    desk.session.cancel();
    assert_eq!(futures::future::join_all(rest).await, vec![TurnEnd::Cancelled; 3]);
    let mut after = say(&desk, "/diff");
    chosen(&desk).await;
    assert_eq!((&mut after).now_or_never(), None, "the first is under way");
    go_on.send(()).unwrap();
    assert_eq!((first.await, after.await), (TurnEnd::Cancelled, TurnEnd::Done));
    assert_eq!(desk.text("b").as_deref(), Some("two\n"));
}
