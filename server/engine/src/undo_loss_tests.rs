//! Undo against users, editors and programs that do what nobody expects: no text is lost, and undo goes on.

use super::*;

#[tokio::test]
async fn r5_2_r6_2_what_the_editor_does_not_show_yet_is_neither_removed_nor_moved() {
    let mut desk = Desk::new().await;
    desk.put("p", "old\n");
    desk.put("d", "old\n");
    desk.turn(
        "x",
        &[patch("*** Add File: made\n+agent\n"), patch("*** Update File: p\n*** Move to: q\n@@\n-old\n+agent\n")],
    )
    .await;
    // Another program writes what is open, and the editor has not looked.
    for file in ["made", "q", "d"] {
        desk.open(file, &desk.text(file).unwrap());
        desk.put(file, "mine\n");
    }
    let said = desk.undo(UndoWhat::Last).await;
    assert!(said.iter().all(|said| said.contains("the editor does not show that yet")), "{said:?}");
    desk.turn("y", &[patch("*** Delete File: d\n")]).await;
    assert!(desk.result().contains("the editor does not show that yet"), "{}", desk.result());
    for file in ["made", "q", "d"] {
        assert_eq!(desk.text(file).as_deref(), Some("mine\n"), "{file}");
    }
    assert_eq!(desk.text("p"), None);
}

#[tokio::test]
async fn c33_a_name_that_was_given_on_comes_back_to_its_file() {
    let mut desk = Desk::new().await;
    for file in ["a", "c", "d"] {
        desk.put(file, format!("{file}\n"));
    }
    let moved = |from: &str, to: &str| {
        patch(&format!("*** Update File: {from}\n*** Move to: {to}\n@@\n-{from}\n+{from} moved\n"))
    };
    desk.turn("x", &[moved("a", "b"), moved("c", "a"), moved("d", "c")]).await;
    let texts = |desk: &Desk| ["a", "b", "c", "d"].map(|file| desk.text(file).unwrap_or_default());
    assert_eq!(texts(&desk), ["c moved\n", "a moved\n", "d moved\n", ""]);
    for _ in 0..2 {
        desk.undo(UndoWhat::Last).await;
        assert_eq!(texts(&desk), ["a\n", "", "c\n", "d\n"]);
        desk.undo(UndoWhat::Redo).await;
        assert_eq!(texts(&desk), ["c moved\n", "a moved\n", "d moved\n", ""]);
    }
}

#[tokio::test]
async fn r5_3_redo_passes_by_an_undo_that_could_do_nothing() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.put("b", "one\n");
    desk.turn("x", &[edit("a", "one", "two")]).await;
    desk.turn("y", &[edit("b", "one", "two")]).await;
    desk.put("a", "mine\n");
    assert_eq!(desk.undo(UndoWhat::Last).await, ["b: restored"]);
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: CONFLICT, left as it is: line 1 was changed since"]);
    assert_eq!(desk.undo(UndoWhat::Redo).await, ["b: restored"]);
    assert_eq!((desk.text("a").unwrap().as_str(), desk.text("b").unwrap().as_str()), ("mine\n", "two\n"));
    assert_eq!(desk.session.undo(UndoWhat::Redo).await, Err(UndoError::NothingToRedo));
}

#[tokio::test]
async fn r5_2_thousands_of_conflicts_are_told_in_a_few_words() {
    const LINES: usize = 60_000;
    let desk = Desk::new().await;
    let of = |mark: &str| {
        let line = |line: usize| if line.is_multiple_of(3) { format!("{mark} {line}\n") } else { format!("{line}\n") };
        (0..LINES).map(line).collect::<String>()
    };
    let (before, after, now) = (of("before"), of("after"), of("mine"));
    desk.put("a", now.clone());
    desk.by_command("msg_1", vec![changed("a", Some(before.as_bytes()), Some(after.as_bytes()))]).await;
    let said = desk.undo(UndoWhat::Last).await;
    assert!(said[0].starts_with("a: CONFLICT, left as it is: line 1 was changed since; line 4 was"), "{}", said[0]);
    assert!(said[0].ends_with("; and 19980 more places were changed since"), "{}", said[0].len());
    assert_eq!(desk.text("a").unwrap(), now);
}

#[tokio::test]
async fn r5_2_what_stands_in_the_way_stays_whatever_it_is() {
    let mut desk = Desk::new().await;
    desk.put("dir/gone", "old\n");
    desk.put("p", "old\n");
    desk.turn(
        "x",
        &[
            patch("*** Add File: made\n+agent\n"),
            patch("*** Delete File: dir/gone\n"),
            patch("*** Update File: p\n*** Move to: q\n@@\n-old\n+agent\n"),
        ],
    )
    .await;
    // A folder for the file that was made, a file for the folder that held one, a folder for the old name.
    desk.world.disk.take(&in_project("made"));
    desk.put("made/mine", "mine\n");
    desk.put("p/mine", "mine\n");
    desk.world.disk.put_link(&in_project("dir/gone"), "mine");
    desk.put("dir/mine", "mine\n");
    for what in [UndoWhat::Last, UndoWhat::Last, UndoWhat::Redo, UndoWhat::Last] {
        let _ = desk.session.undo(what).await;
    }
    for file in ["made/mine", "p/mine", "dir/mine"] {
        assert_eq!(desk.text(file).as_deref(), Some("mine\n"), "{file}");
    }
    assert_eq!(desk.text("q").as_deref(), Some("agent\n"));
}

#[tokio::test]
async fn r5_2_other_line_endings_and_a_lost_last_break_are_the_users() {
    for now in ["one\r\nTWO\r\nthree", "one\nTWO\nthree\n", "", "one\n\nTWO\n\nthree"] {
        let mut desk = Desk::new().await;
        desk.put("a", "one\ntwo\nx\nthree");
        desk.turn("x", &[edit("a", "two\nx", "TWO")]).await;
        desk.put("a", now);
        let said = desk.undo(UndoWhat::Last).await;
        assert!(said[0].contains("CONFLICT"), "{now:?}: {said:?}");
        assert_eq!(desk.text("a").unwrap(), now);
    }
}
