//! Undo and review where others have to do with it too: other daemons, a client that leaves, formatters, language servers, links.

use std::collections::BTreeMap;

use copydesk_workspace::position::{Position, PositionEncoding};

use super::*;
use crate::format::Formatters;
use crate::ports::{LanguageAnswer, LanguageChange, LanguageFound};
use crate::review::{ChangesScope, Decision, HunkChoice};
use crate::workbench::{BenchDiagnostics, BenchShell};

#[tokio::test]
async fn c94_an_undo_goes_no_further_once_the_session_is_somebody_elses() {
    for lost in [
        |session: &SessionHandle| StoreError::Elsewhere(session.id().clone()),
        |session: &SessionHandle| StoreError::UnknownSession(session.id().clone()),
    ] {
        let mut desk = Desk::new().await;
        for file in ["a", "b", "c"] {
            desk.put(file, "one\n");
        }
        let update = |file: &str| patch(&format!("*** Update File: {file}\n@@\n-one\n+two\n"));
        desk.turn("x", &[update("a"), update("b"), patch("*** Delete File: c\n")]).await;
        desk.turn("y", &[write("d", "new\n")]).await;
        desk.undo(UndoWhat::Last).await;
        desk.undo(UndoWhat::Redo).await;
        let turn = desk.world.changes.of(desk.session.id())[0].turn.clone();
        let uri = desk.open("a", "two\n");
        let (changes, error) = (desk.world.changes.clone(), lost(&desk.session));
        desk.editor.will(Act::ApplyAnd(Box::new(move || changes.break_with(Some(error)))));
        let said = desk.undo(UndoWhat::Turn(turn)).await;
        assert_eq!(desk.buffer(&uri), "one\n");
        assert_eq!((desk.text("b").as_deref(), desk.text("c")), (Some("two\n"), None), "{said:?}");
        assert!(said[1].contains("b: left as it is") && said[2].contains("c: left as it is"), "{said:?}");
    }
}

#[tokio::test]
async fn c94_a_turn_edits_no_further_once_the_session_is_somebody_elses() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    let error = StoreError::Elsewhere(desk.session.id().clone());
    desk.world.changes.break_with(Some(error));
    desk.turn("x", &[edit("a", "one", "two"), write("b", "new\n")]).await;
    assert_eq!((desk.text("a").as_deref(), desk.text("b")), (Some("one\n"), None), "{}", desk.result());
    assert!(desk.result().contains("open in another Copydesk"), "{}", desk.result());
}

#[tokio::test]
async fn r5_2_what_an_undo_has_left_is_taken_back_by_the_next() {
    let mut desk = Desk::new().await;
    desk.put("a", "old\n");
    let moved = patch("*** Update File: a\n*** Move to: b\n@@\n-old\n+moved\n");
    desk.turn("x", &[moved, patch("*** Add File: a\n+new\n")]).await;
    assert_eq!((desk.text("a").as_deref(), desk.text("b").as_deref()), (Some("new\n"), Some("moved\n")));
    let reason = "the disk is broken".to_owned();
    let broken = DiskError::Other { path: in_project("b"), reason };
    desk.world.disk.fail(Operation::Rename, &in_project("b"), broken);
    let said = desk.undo(UndoWhat::Last).await;
    assert_eq!(desk.text("b").as_deref(), Some("moved\n"), "{said:?}");
    desk.world.disk.mend(Operation::Rename, &in_project("b"));
    let said = desk.session.undo(UndoWhat::Last).await;
    assert_eq!((desk.text("a").as_deref(), desk.text("b")), (Some("old\n"), None), "{said:?}");
}

#[tokio::test]
async fn r5_2_a_close_waits_for_an_undo_that_a_request_asked_for() {
    let mut desk = Desk::new().await;
    for file in ["a", "b", "c"] {
        desk.put(file, "one\n");
    }
    desk.turn("x", &[edit("a", "one", "two"), edit("b", "one", "two"), edit("c", "one", "two")]).await;
    let uri = desk.open("a", "two\n");
    let (asked, is_asked) = tokio::sync::oneshot::channel();
    let (tell, told) = tokio::sync::oneshot::channel();
    desk.editor.will(Act::ApplyOnce { asked, told });
    let session = desk.session.clone();
    let undo = tokio::spawn(async move { session.undo(UndoWhat::Last).await });
    is_asked.await.unwrap();
    let (engine, connection, id) = (desk.engine.clone(), desk.world.connection.clone(), desk.session.id().clone());
    let close = tokio::spawn(async move { engine.close_session(&id, &connection).await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!close.is_finished() && desk.world.store.holds(desk.session.id()), "it needs the lease");
    tell.send(()).unwrap();
    undo.await.unwrap().unwrap();
    close.await.unwrap().unwrap();
    assert_eq!(desk.buffer(&uri), "one\n");
    assert_eq!(["b", "c"].map(|file| desk.text(file).unwrap()), ["one\n", "one\n"]);
    // Everything is as if nobody had left.
    let session = desk.world.load(&desk.engine, desk.session.id(), config()).await.unwrap();
    assert_eq!(session.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
    session.undo(UndoWhat::Redo).await.unwrap();
    assert_eq!(["b", "c"].map(|file| desk.text(file).unwrap()), ["two\n", "two\n"]);
    assert_eq!(desk.buffer(&uri), "two\n");
}

#[tokio::test]
async fn r5_3_redo_puts_back_what_was_undone_before_the_rest_of_its_turn() {
    let mut desk = Desk::new().await;
    for file in ["a", "b"] {
        desk.put(file, "one\n");
    }
    desk.turn("x", &[edit("a", "one", "two"), edit("b", "one", "two"), write("new", "new\n")]).await;
    let texts = |desk: &Desk| ["a", "b", "new"].map(|file| desk.text(file).unwrap_or_else(|| "-".to_owned()));
    let done = ["two\n", "two\n", "new\n"];
    let calls: Vec<CallId> =
        desk.world.changes.of(desk.session.id()).into_iter().filter_map(|change| change.call).collect();
    for call in &calls {
        for _ in 0..2 {
            desk.undo(UndoWhat::Call(call.clone())).await;
            desk.undo(UndoWhat::Last).await;
            assert_eq!(texts(&desk), ["one\n", "one\n", "-"]);
            assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
            for _ in 0..2 {
                let said = desk.undo(UndoWhat::Redo).await;
                assert!(!said.is_empty());
            }
            assert_eq!(texts(&desk), done, "{call:?}");
            assert_eq!(desk.session.undo(UndoWhat::Redo).await, Err(UndoError::NothingToRedo));
        }
    }
    // And what was put back is taken back again as it was.
    desk.undo(UndoWhat::Last).await;
    assert_eq!(texts(&desk), ["one\n", "one\n", "-"]);
}

#[tokio::test]
async fn r5_1_prompts_commands_and_cancels_come_one_after_the_other() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.turn("x", &[edit("a", "one", "two")]).await;
    let say = |desk: &Desk, text: &str| desk.session.prompt(vec![PromptPart::Text { text: text.to_owned() }]).unwrap();
    // All at once, behind a prompt that runs.
    let first = say(&desk, "y");
    let reply = desk.player.next_request().await;
    let (undo, redo, second) = (say(&desk, "/undo"), say(&desk, "/redo"), say(&desk, "z"));
    assert_eq!((undo.await, redo.await), (TurnEnd::Done, TurnEnd::Done));
    assert_eq!(desk.text("a").unwrap(), "two\n", "its turn runs");
    desk.session.cancel();
    let third = say(&desk, "/undo");
    assert_eq!((first.await, second.await), (TurnEnd::Cancelled, TurnEnd::Cancelled));
    drop(reply);
    assert_eq!(third.await, TurnEnd::Done);
    // What was asked behind the cancel is done, now or when it is asked again.
    if desk.text("a").unwrap() == "two\n" {
        assert_eq!(say(&desk, "/undo").await, TurnEnd::Done);
    }
    assert_eq!(desk.text("a").unwrap(), "one\n");
    let (redo, fourth) = (say(&desk, "/redo"), say(&desk, "go on"));
    desk.session.cancel();
    assert_eq!((redo.await, fourth.await), (TurnEnd::Cancelled, TurnEnd::Cancelled));
    assert_eq!(say(&desk, "/redo").await, TurnEnd::Done);
    assert_eq!(desk.text("a").unwrap(), "two\n");
}

/// What an editor makes of a text.
type OnSave = fn(&str) -> String;

/// Blanks around each `=`.
fn formatted() -> Config {
    Config { formatters: Formatters::On(BTreeMap::new()), ..configured() }
}

fn formats(world: &mut World) {
    let shell = BenchShell::over(world.disk.clone());
    shell.formats(|_, text| Ok(text.replace(" = ", "=").replace('=', " = ")));
    world.ports.shell = Arc::new(shell);
}

#[tokio::test]
async fn r5_2_what_a_formatter_made_of_an_edit_goes_and_comes_with_it() {
    for is_open in [false, true] {
        let mut desk = Desk::of(formatted(), formats).await;
        let before = "x = 1\ny=2\nmine\n";
        desk.put("a.go", before);
        let uri = is_open.then(|| desk.open("a.go", before));
        let text = |desk: &Desk| match &uri {
            Some(uri) => desk.buffer(uri),
            None => desk.text("a.go").unwrap(),
        };
        desk.turn("x", &[edit("a.go", "x = 1", "x=3"), write("made/b.go", "z=1\n")]).await;
        let after = text(&desk);
        assert_eq!((after.as_str(), desk.text("made/b.go").as_deref()), ("x = 3\ny = 2\nmine\n", Some("z = 1\n")));
        for _ in 0..2 {
            let said = desk.undo(UndoWhat::Last).await;
            assert_eq!((text(&desk).as_str(), desk.text("made/b.go")), (before, None), "{said:?}");
            assert_eq!(desk.text("a.go").unwrap(), before);
            let said = desk.undo(UndoWhat::Redo).await;
            assert_eq!((text(&desk), desk.text("made/b.go").as_deref()), (after.clone(), Some("z = 1\n")), "{said:?}");
        }
        // The user goes on beside it.
        match &uri {
            Some(uri) => desk.editor.types(uri, &Typing { at: after.len(), text: "more\n" }),
            None => desk.put("a.go", format!("{after}more\n")),
        }
        let list = desk.session.changes(&ChangesScope::Session).await.unwrap();
        assert_eq!(list.files.iter().map(|file| file.hunks.len()).collect::<Vec<_>>(), [1, 1], "{list:?}");
        desk.session.decide(&ChangesScope::Session, &HunkChoice::All, Decision::Reject).await.unwrap();
        assert_eq!((text(&desk), desk.text("made/b.go")), (format!("{before}more\n"), None));
        // Nothing of it is in force any more.
        assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
    }
}

#[tokio::test]
async fn r5_2_what_the_editor_makes_of_a_text_when_it_saves_it_is_the_users() {
    let formatters: [(&str, OnSave); 4] = [
        ("trims and ends the last line", |text| text.replace(" \n", "\n") + "\n"),
        ("sorts in a header", |text| format!("// header\n\n{text}")),
        ("other endings", |text| text.replace('\n', "\r\n")),
        ("tabs", |text| text.replace("    ", "\t")),
    ];
    for (what, on_save) in formatters {
        for is_open in [false, true] {
            let mut desk = Desk::new().await;
            let before = "one \n    two\n\nthree\n\n    four\nfive";
            desk.put("a", before);
            let uri = desk.open("a", before);
            desk.turn("x", &[edit("a", "three", "THREE"), write("made", "new \n    x")]).await;
            // Saved, as the editor saves: the buffer and the file.
            let saved = on_save(&desk.buffer(&uri));
            let (made, document) = (on_save("new \n    x"), desk.world.connection.overlay.by_uri(&uri).unwrap());
            desk.put("a", saved.as_str());
            desk.put("made", made.as_str());
            desk.world.connection.overlay.close(&uri);
            if is_open {
                desk.world.connection.overlay.open(Document {
                    version: document.version + 1,
                    text: Rope::from(saved.as_str()),
                    saved: ContentHash::of(saved.as_bytes()),
                    ..document
                });
            }
            let said = desk.undo(UndoWhat::Last).await;
            let now = if is_open { desk.buffer(&uri) } else { desk.text("a").unwrap() };
            let is_conflict = said[0].contains("CONFLICT");
            let expected = if is_conflict { saved } else { on_save(before) };
            assert_eq!(now, expected, "{what}: {said:?}");
            assert!(!is_conflict || what == "other endings", "{what}: {said:?}");
            assert_eq!(desk.text("made").as_deref(), Some(made.as_str()), "{what}: {said:?}");
            assert!(said[1].contains("CONFLICT") && said[1].contains("it stays"), "{what}: {said:?}");
            let list = desk.session.changes(&ChangesScope::Session).await.unwrap();
            desk.session.decide(&ChangesScope::Session, &HunkChoice::All, Decision::Reject).await.unwrap();
            assert_eq!(if is_open { desk.buffer(&uri) } else { desk.text("a").unwrap() }, expected, "{what}: {list:?}");
        }
    }
}

#[tokio::test]
async fn r5_2_a_rename_over_several_files_is_undone_and_redone_in_all_of_them() {
    let (played, a, b) = (
        Arc::new(BenchDiagnostics::default()),
        "def old(n):\n    return n\n\nprint(old(1))\n",
        "from a import old\n\nprint(old(2))\n\n",
    );
    let diagnostics = played.clone();
    let mut config = configured();
    for agent in config.agents.values_mut() {
        agent.tools.insert("lsp".to_owned(), true);
    }
    let mut desk = Desk::of(config, move |world| world.connection.diagnostics = diagnostics).await;
    desk.put("a.py", a);
    desk.put("b.py", b);
    desk.put("old.py", "old = 3\n");
    desk.put("gone.py", "old\n");
    let uri = desk.open("a.py", a);
    let change = |file: &str, places: &[(u32, u32)]| {
        let at = |line, column| Position { line, column };
        let edits =
            places.iter().map(|(line, column)| (at(*line, *column)..at(*line, column + 3), "new".to_owned())).collect();
        LanguageChange::Edit { path: in_project(file), version: None, edits }
    };
    let changes = vec![
        change("a.py", &[(0, 4), (3, 6)]),
        change("b.py", &[(0, 14), (2, 6)]),
        change("old.py", &[(0, 0)]),
        LanguageChange::Move { from: in_project("old.py"), to: in_project("pack/new.py") },
        LanguageChange::Create { path: in_project("pack/__init__.py") },
        LanguageChange::Delete { path: in_project("gone.py") },
    ];
    for _ in 0..3 {
        let found = LanguageFound::Changes(changes.clone());
        played.knows(Ok(LanguageAnswer { by: "played".to_owned(), encoding: PositionEncoding::Utf8, found }));
    }
    let rename = json!({ "operation": "rename", "filePath": "a.py", "line": 1, "symbol": "old", "newName": "new" });
    desk.turn("x", &[("lsp", rename)]).await;
    let files = ["b.py", "old.py", "pack/new.py", "pack/__init__.py", "gone.py"];
    let texts = |desk: &Desk| (desk.buffer(&uri), files.map(|file| desk.text(file).unwrap_or_else(|| "-".to_owned())));
    let new = |text: &str| text.replace("old", "new");
    let renamed = (new(a), [new(b), "-".to_owned(), "new = 3\n".to_owned(), String::new(), "-".to_owned()]);
    assert_eq!(texts(&desk), renamed, "{}", desk.result());
    let before = (a.to_owned(), [b, "old = 3\n", "-", "-", "old\n"].map(str::to_owned));
    for _ in 0..2 {
        let said = desk.undo(UndoWhat::Last).await;
        assert_eq!(texts(&desk), before, "{said:?}");
        let said = desk.undo(UndoWhat::Redo).await;
        assert_eq!(texts(&desk), renamed, "{said:?}");
    }
    // The user goes on in each of them: what is his stays, and what is not goes.
    desk.editor.types(&uri, &Typing { at: a.find("\nprint").unwrap(), text: "# mine\n" });
    desk.put("b.py", format!("{}mine\n", new(b)));
    desk.put("pack/new.py", "new = 4\n");
    desk.put("pack/__init__.py", "mine\n");
    desk.put("gone.py", "mine\n");
    let said = desk.undo(UndoWhat::Last).await;
    let (buffer, [b_now, old_now, moved_now, made_now, gone_now]) = texts(&desk);
    assert_eq!(b_now, format!("{b}mine\n"), "{said:?}");
    assert_eq!(buffer, a.replace("\n\nprint", "\n# mine\n\nprint"), "{said:?}");
    assert_eq!((made_now.as_str(), gone_now.as_str()), ("mine\n", "mine\n"), "{said:?}");
    assert!([old_now.as_str(), moved_now.as_str()].contains(&"new = 4\n"), "{said:?}");
}

#[tokio::test]
async fn r4_2_no_decision_and_no_undo_goes_through_a_link_that_came_later() {
    let mut desk = Desk::new().await;
    let outside = path("/home/user/.config/secret");
    desk.put("a", "one\ntwo\nthree\n");
    desk.put("gone", "old\n");
    desk.turn("x", &[edit("a", "two", "TWO"), write("made", "agent\n"), edit("gone", "old", "new")]).await;
    for (file, text) in [("a", "one\nTWO\nthree\n"), ("made", "agent\n"), ("gone", "new\n")] {
        let hash = ContentHash::of(desk.bytes(file).unwrap().as_slice());
        desk.world.disk.remove(&in_project(file), hash).unwrap();
        let target = outside.join(file);
        desk.world.disk.put(&target, text);
        desk.world.disk.put_link(&in_project(file), target.to_string());
    }
    let scope = ChangesScope::Session;
    let list = desk.session.changes(&scope).await.unwrap();
    let ids: Vec<_> = list.files.iter().flat_map(|file| &file.hunks).map(|hunk| hunk.id).collect();
    assert_eq!(ids.len(), 3);
    let decided = desk.session.decide(&scope, &HunkChoice::Hunks(ids), Decision::Reject).await.unwrap();
    for (file, text) in [("a", "one\nTWO\nthree\n"), ("made", "agent\n"), ("gone", "new\n")] {
        let stands = desk.world.disk.read(&outside.join(file)).unwrap();
        assert_eq!(String::from_utf8(stands).unwrap(), text, "{file}: {decided:?}");
    }
    assert_eq!((decided.hunks.len(), decided.undecided.len()), (0, 3), "{decided:?}");
    let said = desk.undo(UndoWhat::Last).await;
    for (file, text) in [("a", "one\nTWO\nthree\n"), ("made", "agent\n"), ("gone", "new\n")] {
        let stands = desk.world.disk.read(&outside.join(file)).unwrap();
        assert_eq!(String::from_utf8(stands).unwrap(), text, "{file}: {said:?}");
    }
}

#[tokio::test]
async fn r4_2_ids_of_others_and_ids_twice_are_answered_and_touch_nothing() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n2\n3\n4\nfive\n");
    desk.turn("x", &[edit("a", "one", "ONE"), edit("a", "five", "FIVE")]).await;
    let other = desk.world.session(&desk.engine, configured()).await.unwrap();
    let rows = desk.world.changes.of(desk.session.id());
    let (turn, call) = (rows[0].turn.clone(), rows[0].call.clone().unwrap());
    assert_eq!(other.undo(UndoWhat::Turn(turn.clone())).await, Err(UndoError::UnknownTurn(turn)));
    assert_eq!(other.undo(UndoWhat::Call(call.clone())).await, Err(UndoError::UnknownCall(call)));
    assert_eq!(other.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
    assert_eq!(other.undo(UndoWhat::Redo).await, Err(UndoError::NothingToRedo));
    let scope = ChangesScope::Session;
    let list = desk.session.changes(&scope).await.unwrap();
    let ids: Vec<_> = list.files[0].hunks.iter().map(|hunk| hunk.id).collect();
    let huge = copydesk_workspace::review::HunkId(u64::MAX);
    let decided = other.decide(&scope, &HunkChoice::Hunks(ids.clone()), Decision::Reject).await.unwrap();
    assert_eq!((decided.hunks.len(), decided.undecided.len()), (0, 2));
    let chosen = HunkChoice::Hunks(vec![ids[0], ids[0], huge, huge, ids[0]]);
    let decided = desk.session.decide(&scope, &chosen, Decision::Reject).await.unwrap();
    assert_eq!(decided.hunks, [ids[0]], "{decided:?}");
    assert!(decided.undecided.iter().all(|other| other.id == huge), "{decided:?}");
    let decided = desk.session.decide(&scope, &chosen, Decision::Accept).await.unwrap();
    assert_eq!(decided.hunks, [], "{decided:?}");
    assert_eq!(desk.text("a").unwrap(), "one\n2\n3\n4\nFIVE\n");
    // As many as anybody likes.
    let many = (0..1_000_000).map(|id| copydesk_workspace::review::HunkId(id + 1_000)).collect();
    let decided = desk.session.decide(&scope, &HunkChoice::Hunks(many), Decision::Accept).await.unwrap();
    assert_eq!(decided.undecided.len(), 1_000_000);
}
