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
    for _ in 0..2 {
        let said = desk.undo(UndoWhat::Last).await;
        assert_eq!(
            said,
            [
                "dir/gone: left as it is: a link stands on its way by now",
                "made: left as it is: made is a directory",
                "q: left as it is: p: p is a directory",
            ]
        );
        assert_eq!(desk.session.undo(UndoWhat::Redo).await, Err(UndoError::NothingToRedo));
    }
    for file in ["made/mine", "p/mine", "dir/mine"] {
        assert_eq!(desk.text(file).as_deref(), Some("mine\n"), "{file}");
    }
    assert_eq!(desk.text("q").as_deref(), Some("agent\n"));
}

#[tokio::test]
async fn r5_2_a_text_that_nobody_may_write_stays_until_it_may_be_written() {
    let desk = Desk::new().await;
    desk.put("a", "two\n");
    let content = |bytes: &[u8]| Some(NewContent::new(bytes.to_vec(), Some(0o444)));
    let row = FileChanged { before: content(b"one\n"), after: content(b"two\n"), ..changed("a", None, None) };
    desk.by_command("msg_1", vec![row]).await;
    desk.world.disk.put_mode(&in_project("a"), 0o444);
    let said = desk.undo(UndoWhat::Last).await.remove(0);
    assert!(said.starts_with("a: left as it is: no permission for a"), "{said}");
    assert_eq!(desk.text("a").as_deref(), Some("two\n"));
    desk.world.disk.put_mode(&in_project("a"), 0o644);
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
    assert_eq!(desk.text("a").as_deref(), Some("one\n"));
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

#[tokio::test]
async fn r5_2_what_a_command_moved_is_never_gone_from_both_its_places() {
    const BOM: &str = "\u{feff}one\n";
    let denied = |file: &str| DiskError::Denied(in_project(file));
    // As the command left it, and as the user has saved it since, which is no plain move any more.
    for now in ["one\n", BOM] {
        let desk = Desk::new().await;
        desk.put("lib/a.txt", now);
        desk.by_command(
            "msg_1",
            vec![changed("src/a.txt", Some(b"one\n"), None), changed("lib/a.txt", None, Some(b"one\n"))],
        )
        .await;
        desk.world.disk.fail(Operation::Write, &in_project("src/a.txt"), denied("src/a.txt"));
        desk.world.disk.fail(Operation::Rename, &in_project("lib/a.txt"), denied("lib/a.txt"));
        let said = desk.undo(UndoWhat::Last).await;
        assert!(said.iter().all(|said| said.contains("left as it is")), "{now:?}: {said:?}");
        assert_eq!((desk.text("src/a.txt"), desk.text("lib/a.txt").as_deref()), (None, Some(now)), "{said:?}");

        // One half can be done: what is said of each file is how it stands.
        desk.world.disk.mend(Operation::Write, &in_project("src/a.txt"));
        desk.world.disk.mend(Operation::Rename, &in_project("lib/a.txt"));
        desk.world.disk.fail(Operation::Remove, &in_project("lib/a.txt"), denied("lib/a.txt"));
        let said = desk.undo(UndoWhat::Last).await;
        assert_eq!(desk.text("src/a.txt").as_deref(), Some("one\n"), "{said:?}");
        if now == BOM {
            assert!(said[0].starts_with("lib/a.txt: left as it is: "), "{said:?}");
            assert_eq!(said[1], "src/a.txt: restored");
            assert_eq!(desk.text("lib/a.txt").as_deref(), Some(now));
        } else {
            assert_eq!(said, ["lib/a.txt: removed", "src/a.txt: restored"]);
            assert_eq!(desk.text("lib/a.txt"), None);
            desk.undo(UndoWhat::Redo).await;
            assert_eq!((desk.text("src/a.txt"), desk.text("lib/a.txt").as_deref()), (None, Some(now)));
        }
    }
}

#[tokio::test]
async fn c33_a_name_that_the_agent_gave_to_another_file_comes_back_too() {
    let mut desk = Desk::new().await;
    desk.put("a", "old\n");
    let moved = |from: &str, to: &str, old: &str, new: &str| {
        patch(&format!("*** Update File: {from}\n*** Move to: {to}\n@@\n-{old}\n+{new}\n"))
    };
    desk.turn("x", &[moved("a", "b", "old", "moved"), patch("*** Add File: a\n+new\n")]).await;
    let texts = |desk: &Desk| ["a", "b"].map(|file| desk.text(file).unwrap_or_default());
    for _ in 0..2 {
        let said = desk.undo(UndoWhat::Last).await;
        assert_eq!(texts(&desk), ["old\n", ""], "{said:?}");
        let said = desk.undo(UndoWhat::Redo).await;
        assert_eq!(texts(&desk), ["new\n", "moved\n"], "{said:?}");
    }
    // What the user made of the new file is his, and nothing else can have its name.
    desk.put("a", "mine\n");
    let said = desk.undo(UndoWhat::Last).await;
    assert!(said.iter().all(|said| said.contains("CONFLICT, left as it is")), "{said:?}");
    assert_eq!(texts(&desk), ["mine\n", "moved\n"]);
    // Nor is it taken away for one that cannot come: the editor still shows it.
    desk.put("a", "new\n");
    desk.open("a", "new\n");
    let said = desk.undo(UndoWhat::Turn(desk.world.changes.of(desk.session.id())[0].turn.clone())).await;
    assert_eq!(texts(&desk), ["new\n", "moved\n"], "{said:?}");
}

#[tokio::test]
async fn c33_names_that_were_exchanged_come_back() {
    let mut desk = Desk::new().await;
    for file in ["a", "b", "c", "p", "q"] {
        desk.put(file, format!("{file}\n"));
    }
    let moved = |from: &str, to: &str, text: &str| {
        patch(&format!("*** Update File: {from}\n*** Move to: {to}\n@@\n-{text}\n+{text}!\n"))
    };
    // Three in a ring by way of `t`, and two by way of `u`.
    desk.turn(
        "x",
        &[
            moved("a", "t", "a"),
            moved("b", "a", "b"),
            moved("c", "b", "c"),
            moved("t", "c", "a!"),
            moved("p", "u", "p"),
            moved("q", "p", "q"),
            moved("u", "q", "p!"),
        ],
    )
    .await;
    let texts = |desk: &Desk| ["a", "b", "c", "p", "q", "t", "u"].map(|file| desk.text(file).unwrap_or_default());
    assert_eq!(texts(&desk), ["b!\n", "c!\n", "a!!\n", "q!\n", "p!!\n", "", ""], "{}", desk.result());
    for _ in 0..2 {
        let said = desk.undo(UndoWhat::Last).await;
        assert!(said.iter().all(|said| said.contains("moved back")), "{said:?}");
        assert_eq!(texts(&desk), ["a\n", "b\n", "c\n", "p\n", "q\n", "", ""]);
        let said = desk.undo(UndoWhat::Redo).await;
        assert_eq!(texts(&desk), ["b!\n", "c!\n", "a!!\n", "q!\n", "p!!\n", "", ""], "{said:?}");
    }
}

#[tokio::test]
async fn r5_2_what_the_user_wrote_into_a_moved_file_goes_back_with_it() {
    let mut desk = Desk::new().await;
    desk.put("a", "old\n");
    let moved = patch("*** Update File: a\n*** Move to: b\n@@\n-old\n+moved\n");
    // What is made anew in its place holds what the file did.
    desk.turn("x", &[moved, patch("*** Add File: a\n+old\n")]).await;
    desk.put("b", "mine\n");
    let said = desk.undo(UndoWhat::Last).await;
    assert_eq!((desk.text("a").as_deref(), desk.text("b")), (Some("mine\n"), None), "{said:?}");
    assert_eq!(said, ["a: removed", "b: restored but for a CONFLICT, which stays as it is: line 1 was changed since"]);
}

#[tokio::test]
async fn r5_2_what_a_command_moved_to_another_file_system_comes_back() {
    let desk = Desk::new().await;
    desk.put("b", "one\n");
    desk.by_command("msg_1", vec![changed("a", Some(b"one\n"), None), changed("b", None, Some(b"one\n"))]).await;
    let reason = "it is on another file system".to_owned();
    desk.world.disk.fail(Operation::Rename, &in_project("b"), DiskError::Other { path: in_project("a"), reason });
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored", "b: removed"]);
    assert_eq!((desk.text("a").as_deref(), desk.text("b")), (Some("one\n"), None));
    assert_eq!(desk.undo(UndoWhat::Redo).await, ["a: removed", "b: restored"]);
    assert_eq!((desk.text("a"), desk.text("b").as_deref()), (None, Some("one\n")));
}

/// Of files, `None` where there is none.
fn stands<const N: usize>(desk: &Desk, files: [&str; N]) -> [Option<String>; N] {
    files.map(|file| desk.text(file))
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn r5_2_c33_what_a_command_put_aside_stays_while_its_file_cannot_come_back() {
    // As `sed -i.bak` does it, and as two `mv` do.
    let copied = || vec![changed("c", Some(b"x\n"), Some(b"y\n")), changed("c.bak", None, Some(b"x\n"))];
    let moved = || [copied(), vec![changed("new", Some(b"y\n"), None)]].concat();
    for rows in [copied(), moved()] {
        let desk = Desk::new().await;
        desk.put("c", "mine\n");
        desk.put("c.bak", "x\n");
        let is_moved = rows.len() > 2;
        desk.by_command("msg_1", rows).await;
        let said = desk.undo(UndoWhat::Last).await;
        assert_eq!(said[0], "c: CONFLICT, left as it is: line 1 was changed since");
        let left = "c.bak: CONFLICT, left as it is: c cannot come back, and this is all that is left of it: it stays";
        assert_eq!(said[1], left);
        let new = is_moved.then(|| "y\n".to_owned());
        assert_eq!(stands(&desk, ["c", "c.bak", "new"]), [text("mine\n"), text("x\n"), new], "{said:?}");
    }
    // Where the user has given the name to another file, no link of the chain goes.
    let desk = Desk::new().await;
    for (file, now) in [("c", "y\n"), ("c.bak", "x\n"), ("new", "mine\n")] {
        desk.put(file, now);
    }
    desk.by_command("msg_1", moved()).await;
    let said = desk.undo(UndoWhat::Last).await;
    assert_eq!(stands(&desk, ["c", "c.bak", "new"]), [text("y\n"), text("x\n"), text("mine\n")], "{said:?}");
    assert!(said.iter().all(|said| said.contains("CONFLICT, left as it is")), "{said:?}");
    assert!(said[0].contains("new cannot come back") && said[1].contains("c cannot come back"), "{said:?}");
    // And all of it comes back once the name is free.
    desk.world.disk.take(&in_project("new"));
    desk.undo(UndoWhat::Turn(MessageId::new("msg_1"))).await;
    assert_eq!(stands(&desk, ["c", "c.bak", "new"]), [text("x\n"), None, text("y\n")]);
    desk.undo(UndoWhat::Redo).await;
    assert_eq!(stands(&desk, ["c", "c.bak", "new"]), [text("y\n"), text("x\n"), None]);
}

#[tokio::test]
async fn r5_2_c33_no_text_is_overwritten_or_removed_before_it_stands_where_it_came_from() {
    let files = ["a", "b", "c", "d"];
    // Each holds what the next one did: `a` none, `d` is gone.
    let rows = || {
        vec![
            changed("a", None, Some(b"1\n")),
            changed("b", Some(b"1\n"), Some(b"2\n")),
            changed("c", Some(b"2\n"), Some(b"3\n")),
            changed("d", Some(b"3\n"), None),
        ]
    };
    for names in [files, ["d", "c", "b", "a"]] {
        for fails in &names[1..] {
            let desk = Desk::new().await;
            for (file, now) in names.iter().zip(["1\n", "2\n", "3\n"]) {
                desk.put(file, now);
            }
            let mut rows = rows();
            for (row, name) in rows.iter_mut().zip(names) {
                row.path = in_project(name);
            }
            rows.sort_by(|a, b| a.path.cmp(&b.path));
            desk.by_command("msg_1", rows).await;
            desk.world.disk.fail(Operation::Write, &in_project(fails), DiskError::Denied(in_project(fails)));
            let said = desk.undo(UndoWhat::Last).await;
            let now: Vec<String> = stands(&desk, names).into_iter().flatten().collect();
            for text in ["1\n", "2\n", "3\n"] {
                assert!(now.iter().any(|now| now == text), "{text:?} is gone: {names:?} {fails} {now:?} {said:?}");
            }
            desk.world.disk.mend(Operation::Write, &in_project(fails));
            desk.undo(UndoWhat::Last).await;
            assert_eq!(stands(&desk, names), [None, text("1\n"), text("2\n"), text("3\n")]);
        }
    }
}
