//! Undo from the outermost door: turns of a session over a disk in memory, with an editor that edits its documents as real ones do.

use std::sync::Arc;

use copydesk_workspace::disk::{Disk, DiskError, Operation};
use copydesk_workspace::document::Document;
use copydesk_workspace::encoding::{TextEncoding, decode, encode};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::DocKey;
use copydesk_workspace::uri::uri_from_path;
use ropey::Rope;
use serde_json::{Value, json};

use super::*;
use crate::config::Config;
use crate::engine::Engine;
use crate::event::{SessionEvent, Severity};
use crate::message::{Entry, Finish, PromptPart, TurnEnd};
use crate::ports::{By, ChangeId, FreeEdits, LARGEST_BINARY, NewContent, OptionKind};
use crate::registry::Registry;
use crate::session::SessionHandle;
use crate::testing::{FakeModel, ModelPlayer, World, config};
use crate::workbench::{Act, BenchEditor, Typing, path};

#[path = "undo_faults_tests.rs"]
mod faults;
#[path = "undo_loss_tests.rs"]
mod loss;
#[path = "undo_shared_tests.rs"]
mod shared;

struct Desk {
    world: World,
    editor: Arc<BenchEditor>,
    engine: Arc<Engine>,
    session: SessionHandle,
    player: ModelPlayer,
}

type Calls = [(&'static str, Value)];

impl Desk {
    async fn new() -> Self {
        Self::of(configured(), |_| {}).await
    }

    /// With other ports, or another configuration.
    async fn of(config: Config, prepare: impl FnOnce(&mut World)) -> Self {
        let (model, player) = FakeModel::new();
        let mut world = World::new(model);
        let editor = Arc::new(BenchEditor::new(&world.connection.overlay, &world.disk));
        world.connection.editor = editor.clone();
        world.client.answer_all(OptionKind::AllowOnce);
        prepare(&mut world);
        let engine = world.engine(Registry::builtin());
        let session = world.session(&engine, config).await.unwrap();
        Self { world, editor, engine, session, player }
    }

    /// One turn with these calls.
    async fn turn(&mut self, prompt: &str, calls: &Calls) {
        let is_patch = calls.iter().any(|(name, _)| *name == "apply_patch");
        self.session.choose_model(if is_patch { PATCHES } else { "p/m" }).await.unwrap();
        let end = self.session.prompt(vec![PromptPart::Text { text: prompt.to_owned() }]).unwrap();
        self.play(calls).await;
        assert_eq!(end.await, TurnEnd::Done);
    }

    async fn play(&mut self, calls: &Calls) {
        let reply = self.player.next_request().await;
        for (index, (name, input)) in calls.iter().enumerate() {
            reply.call(&format!("c{index}"), name, &input.to_string());
        }
        reply.finish(Finish::ToolCalls);
        let reply = self.player.next_request().await;
        reply.text("done");
        reply.finish(Finish::Stop);
    }

    fn put(&self, file: &str, bytes: impl Into<Vec<u8>>) {
        self.world.disk.put(&in_project(file), bytes);
    }

    fn bytes(&self, file: &str) -> Option<Vec<u8>> {
        self.world.disk.read(&in_project(file)).ok()
    }

    fn text(&self, file: &str) -> Option<String> {
        self.bytes(file).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn open(&self, file: &str, text: &str) -> String {
        let path = in_project(file);
        let saved = self.bytes(file).map(|bytes| ContentHash::of(decode(&bytes).unwrap().0.as_bytes()));
        let uri = uri_from_path(&path);
        self.world.connection.overlay.open(Document {
            uri: uri.clone(),
            key: DocKey::from_real_path(path.clone()),
            path,
            language: "text".to_owned(),
            version: 1,
            text: Rope::from(text),
            saved: saved.unwrap_or_else(|| ContentHash::of(text.as_bytes())),
        });
        uri
    }

    fn buffer(&self, uri: &str) -> String {
        self.world.connection.overlay.by_uri(uri).unwrap().text.to_string()
    }

    async fn undo(&self, what: UndoWhat) -> Vec<String> {
        let report = self.session.undo(what).await.unwrap();
        report.files.iter().map(|file| file.to_string().replace("/home/user/project/", "")).collect()
    }

    /// Records what a command has changed, as the runner does.
    async fn by_command(&self, turn: &str, changes: Vec<FileChanged>) -> Vec<ChangeId> {
        let recording = &self.session.context().recording;
        let recorder = recording.recorder(MessageId::new(turn), None, By::Command, MOST_KEPT);
        recorder.record(changes).await.unwrap()
    }

    /// Of the last call, as the model got it.
    fn result(&self) -> String {
        let result = |entry: &Entry| match entry {
            Entry::ToolResult { result, .. } => Some(result.text.clone()),
            _ => None,
        };
        self.world.store.entries(self.session.id()).iter().rev().find_map(result).unwrap()
    }

    /// A message to the model that the last undo left.
    fn told(&self) -> Option<String> {
        let told = |entry: &Entry| match entry {
            Entry::Told { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.world.store.entries(self.session.id()).iter().rev().find_map(told)
    }
}

/// Of the two tools that make files and change them, each model gets one.
const PATCHES: &str = "q/gpt-5";

fn configured() -> Config {
    let mut config = config();
    let mut model = config.models[1].clone();
    model.model = PATCHES.parse().unwrap();
    model.sent_as = model.model.clone();
    config.models.push(model);
    config
}

fn in_project(file: &str) -> AbsPath {
    path("/home/user/project").join(file)
}

fn edit(file: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("edit", json!({"filePath": file, "oldString": old, "newString": new}))
}

fn write(file: &str, text: &str) -> (&'static str, Value) {
    ("write", json!({"filePath": file, "content": text}))
}

fn patch(text: &str) -> (&'static str, Value) {
    ("apply_patch", json!({"patchText": format!("*** Begin Patch\n{text}*** End Patch")}))
}

fn changed(file: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> FileChanged {
    let content = |bytes: Option<&[u8]>| bytes.map(|bytes| NewContent::new(bytes.to_vec(), Some(0o644)));
    FileChanged {
        path: in_project(file),
        moved_to: None,
        made_folder: None,
        before: content(before),
        after: content(after),
    }
}

#[tokio::test]
async fn r5_3_what_is_no_text_and_a_patch_deleted_or_moved_comes_back() {
    let mut desk = Desk::new().await;
    let bytes = b"\x89PNG\r\n\x1a\n\0".to_vec();
    desk.put("a.png", bytes.clone());
    desk.put("b.png", bytes.clone());
    desk.turn("x", &[patch("*** Delete File: a.png\n*** Update File: b.png\n*** Move to: c.png\n")]).await;
    assert_eq!((desk.bytes("a.png"), desk.bytes("b.png"), desk.bytes("c.png")), (None, None, Some(bytes.clone())));
    desk.undo(UndoWhat::Last).await;
    assert_eq!((desk.bytes("a.png"), desk.bytes("b.png")), (Some(bytes.clone()), Some(bytes)));
    assert_eq!(desk.bytes("c.png"), None);

    // Up to what undo keeps, and what is larger stays where it is.
    let large = vec![0; usize::try_from(LARGEST_BINARY).unwrap()];
    let larger = [large.as_slice(), &[0]].concat();
    desk.put("large", large.clone());
    desk.put("larger", larger.clone());
    desk.turn("y", &[patch("*** Delete File: large\n")]).await;
    desk.turn("z", &[patch("*** Delete File: larger\n"), patch("*** Update File: larger\n*** Move to: there\n")]).await;
    assert!(desk.bytes("large").is_none() && desk.bytes("there").is_none());
    assert!(desk.bytes("larger") == Some(larger));
    desk.undo(UndoWhat::Last).await;
    assert!(desk.bytes("large") == Some(large));
}

#[tokio::test]
async fn r5_2_undo_takes_back_the_agents_lines_and_leaves_the_users() {
    let mut desk = Desk::new().await;
    desk.put("a.rs", "one\ntwo\nthree\nfour\nfive\n");
    desk.turn("Shout\nplease", &[edit("a.rs", "one", "ONE"), edit("a.rs", "five", "FIVE")]).await;
    desk.put("a.rs", "ONE\ntwo\nmine\nthree\nfour\nFIVE\n");
    let report = desk.session.undo(UndoWhat::Last).await.unwrap();
    assert_eq!(desk.text("a.rs").unwrap(), "one\ntwo\nmine\nthree\nfour\nfive\n");
    assert_eq!(report.title, "Shout");
    assert_eq!(report.files, [UndoneFile { path: in_project("a.rs"), outcome: UndoOutcome::Restored }]);
    assert_eq!(report.diffs.len(), 1);
    let told = desk.told().unwrap();
    assert!(
        told.contains("The user took your changes back of the turn \"Shout\"") && told.contains("a.rs: restored"),
        "{told}"
    );
    assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
}

#[tokio::test]
async fn r5_2_what_the_user_changed_too_is_a_conflict_that_names_its_lines() {
    let mut desk = Desk::new().await;
    desk.put("a.rs", "one\ntwo\nthree\nfour\nfive\n");
    desk.turn("x", &[edit("a.rs", "one", "ONE"), edit("a.rs", "five", "FIVE")]).await;
    desk.put("a.rs", "new\nONE\ntwo\nthree\nfour\nFIVE and mine\n");
    assert_eq!(
        desk.undo(UndoWhat::Last).await,
        ["a.rs: CONFLICT, left as it is: lines 1 to 2 were changed since; line 6 was changed since"]
    );
    assert_eq!(desk.text("a.rs").unwrap(), "new\nONE\ntwo\nthree\nfour\nFIVE and mine\n");

    desk.put("b.rs", "1\n2\n3\n4\n5\n");
    desk.turn("y", &[edit("b.rs", "1", "x\nx"), edit("b.rs", "5", "y")]).await;
    desk.put("b.rs", "x\nx\n2\n3\n4\ny!\n");
    assert_eq!(
        desk.undo(UndoWhat::Last).await,
        ["b.rs: restored but for a CONFLICT, which stays as it is: line 5 was changed since"]
    );
    assert_eq!(desk.text("b.rs").unwrap(), "1\n2\n3\n4\ny!\n");
    // The next one goes on to what was before.
    assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
}

#[tokio::test]
async fn r5_2_an_open_document_is_undone_in_the_editor_with_the_users_typing_in_it() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\ntwo\nthree\n");
    let uri = desk.open("a", "one\ntwo\nthree\n");
    desk.editor.will(Act::ApplyAndType(Typing { at: 0, text: "typed at once\n\n" }));
    desk.turn("x", &[edit("a", "three", "THREE")]).await;
    desk.editor.types(&uri, &Typing { at: 0, text: "typed later\n" });
    // And once more while the undo is on its way.
    desk.editor.will(Act::TypeAndRefuse(Typing { at: 0, text: "typed meanwhile\n" }));
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
    assert_eq!(desk.buffer(&uri), "typed meanwhile\ntyped later\ntyped at once\n\none\ntwo\nthree\n");
    assert_eq!(desk.text("a").unwrap(), "one\ntwo\nthree\n", "nothing is written behind the buffer");
    let labels: Vec<_> = desk.editor.requests().into_iter().map(|request| request.label).collect();
    assert_eq!(labels, ["Copydesk: edit a", "Copydesk: undo in a", "Copydesk: undo in a"]);
}

#[tokio::test]
async fn r5_2_a_document_that_was_closed_or_opened_in_between_is_undone_where_it_is() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    let uri = desk.open("a", "one\n");
    desk.turn("x", &[edit("a", "one", "ONE")]).await;
    use crate::ports::Editor as _;
    desk.editor.save(vec![uri.clone()]).await;
    desk.world.connection.overlay.close(&uri);
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
    assert_eq!(desk.text("a").unwrap(), "one\n");

    desk.put("b", "one\n");
    desk.turn("x", &[edit("b", "one", "ONE")]).await;
    let uri = desk.open("b", "ONE\n");
    assert_eq!(desk.undo(UndoWhat::Last).await, ["b: restored"]);
    assert_eq!((desk.buffer(&uri).as_str(), desk.text("b").unwrap().as_str()), ("one\n", "ONE\n"));
}

#[tokio::test]
async fn c33_undo_and_redo_of_creation_deletion_move_and_binary_files() {
    let mut desk = Desk::new().await;
    desk.put("gone.sh", "#!/bin/sh\n");
    desk.world.disk.put_mode(&in_project("gone.sh"), 0o755);
    desk.put("p", "moved\n");
    let binary: &[u8] = &[0, 159, 146, 150, 13, 10];
    desk.turn(
        "x",
        &[
            patch("*** Add File: deep/new/n.txt\n+new\n"),
            patch("*** Delete File: gone.sh\n"),
            patch("*** Update File: p\n*** Move to: q\n@@\n-moved\n+changed\n"),
        ],
    )
    .await;
    let turn = desk.world.changes.of(desk.session.id())[0].turn.clone();
    desk.put("p.bin", [1, 0, 2]);
    desk.by_command(
        turn.as_str(),
        vec![changed("o.bin", Some(binary), None), changed("p.bin", Some(binary), Some(&[1, 0, 2]))],
    )
    .await;
    assert_eq!((desk.text("p"), desk.text("q").unwrap().as_str()), (None, "changed\n"));

    let mode = |desk: &Desk| desk.world.disk.stat(&in_project("gone.sh")).ok().and_then(|stat| stat.mode);
    for _ in 0..2 {
        let undone = desk.undo(UndoWhat::Last).await;
        assert_eq!(
            undone,
            [
                "deep/new/n.txt: removed",
                "gone.sh: restored",
                "o.bin: restored",
                "p.bin: restored",
                "q: moved back to p"
            ]
        );
        assert_eq!(desk.bytes("o.bin").as_deref(), Some(binary));
        assert_eq!(desk.bytes("p.bin").as_deref(), Some(binary));
        assert_eq!((desk.text("gone.sh").as_deref(), mode(&desk)), (Some("#!/bin/sh\n"), Some(0o755)));
        assert_eq!((desk.text("p").as_deref(), desk.text("q")), (Some("moved\n"), None));
        assert!(desk.world.disk.stat(&in_project("deep")).is_err(), "the folders that were made for it are gone");

        let redone = desk.undo(UndoWhat::Redo).await;
        assert_eq!(
            redone,
            ["deep/new/n.txt: restored", "gone.sh: removed", "o.bin: removed", "p: moved back to q", "p.bin: restored"]
        );
        assert_eq!(desk.text("deep/new/n.txt").as_deref(), Some("new\n"));
        assert_eq!((desk.bytes("gone.sh"), desk.bytes("o.bin")), (None, None));
        assert_eq!((desk.text("p"), desk.text("q").as_deref()), (None, Some("changed\n")));
    }
    assert_eq!(desk.session.undo(UndoWhat::Redo).await, Err(UndoError::NothingToRedo));
}

#[tokio::test]
async fn c33_what_the_user_has_changed_is_never_removed_nor_overwritten() {
    let mut desk = Desk::new().await;
    desk.put("gone", "old\n");
    desk.put("p", "one\ntwo\nthree\n");
    desk.turn(
        "x",
        &[
            patch("*** Add File: made\n+agent\n"),
            patch("*** Delete File: gone\n"),
            patch("*** Update File: p\n*** Move to: q\n@@\n-three\n+THREE\n"),
        ],
    )
    .await;
    let turn = desk.world.changes.of(desk.session.id())[0].turn.clone();
    desk.by_command(turn.as_str(), vec![changed("b.bin", Some(&[0, 1]), Some(&[0, 2]))]).await;
    desk.put("made", "agent\nand mine\n");
    desk.put("gone", "another\n");
    desk.put("q", "mine\none\ntwo\nTHREE\n");
    desk.put("b.bin", [0, 3]);
    assert_eq!(
        desk.undo(UndoWhat::Last).await,
        [
            "b.bin: CONFLICT, left as it is: it is no text, and was changed since",
            "gone: CONFLICT, left as it is: another file stands there by now",
            "made: CONFLICT, left as it is: the agent made it, and it was changed since: it stays",
            "q: moved back to p",
        ]
    );
    assert_eq!(desk.text("made").unwrap(), "agent\nand mine\n");
    assert_eq!(desk.text("gone").unwrap(), "another\n");
    assert_eq!((desk.text("q"), desk.text("p").unwrap().as_str()), (None, "mine\none\ntwo\nthree\n"));
    assert_eq!(desk.bytes("b.bin").unwrap(), [0, 3]);
}

#[tokio::test]
async fn r5_3_unsaved_text_of_the_user_keeps_a_made_file() {
    let mut desk = Desk::new().await;
    desk.turn("x", &[write("made", "agent\n")]).await;
    let uri = desk.open("made", "agent\n");
    desk.editor.types(&uri, &Typing { at: 6, text: "mine\n" });
    assert_eq!(
        desk.undo(UndoWhat::Last).await,
        ["made: CONFLICT, left as it is: the agent made it, and it was changed since: it stays"]
    );
    assert_eq!((desk.text("made").unwrap().as_str(), desk.buffer(&uri).as_str()), ("agent\n", "agent\nmine\n"));

    // A deleted file whose buffer is still open, with other text in it.
    desk.put("gone", "old\n");
    let uri = desk.open("gone", "old\n");
    desk.turn("x", &[patch("*** Delete File: gone\n")]).await;
    desk.editor.types(&uri, &Typing { at: 0, text: "mine\n" });
    assert_eq!(
        desk.undo(UndoWhat::Last).await,
        ["gone: CONFLICT, left as it is: the editor has another text of it, which is not saved"]
    );
    assert_eq!((desk.text("gone"), desk.buffer(&uri).as_str()), (None, "mine\nold\n"));
}

#[tokio::test]
async fn r5_3_an_undo_of_an_undo_keeps_what_the_user_typed_in_between() {
    let mut desk = Desk::new().await;
    desk.put("a", "1\n2\n3\n4\n");
    desk.turn("x", &[edit("a", "1", "one")]).await;
    desk.undo(UndoWhat::Last).await;
    desk.put("a", "1\n2\n3\n4\nmine\n");
    assert_eq!(desk.undo(UndoWhat::Redo).await, ["a: restored"]);
    assert_eq!(desk.text("a").unwrap(), "one\n2\n3\n4\nmine\n");
    assert!(desk.told().unwrap().starts_with("The user put your changes back"), "{:?}", desk.told());
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
    assert_eq!(desk.text("a").unwrap(), "1\n2\n3\n4\nmine\n");
}

#[tokio::test]
async fn r5_1_turns_go_one_after_the_other_and_a_call_alone() {
    let mut desk = Desk::new().await;
    desk.put("a", "1\n2\n3\n4\n5\n");
    desk.turn("first", &[edit("a", "1", "one")]).await;
    desk.turn("second", &[edit("a", "3", "three"), edit("a", "5", "five")]).await;
    let rows = desk.world.changes.of(desk.session.id());
    let call = rows[1].call.clone().unwrap();
    desk.undo(UndoWhat::Call(call)).await;
    assert_eq!(desk.text("a").unwrap(), "one\n2\n3\n4\nfive\n");
    desk.undo(UndoWhat::Turn(rows[0].turn.clone())).await;
    assert_eq!(desk.text("a").unwrap(), "1\n2\n3\n4\nfive\n");
    let report = desk.session.undo(UndoWhat::Last).await.unwrap();
    assert_eq!((report.title.as_str(), desk.text("a").unwrap().as_str()), ("second", "1\n2\n3\n4\n5\n"));
    assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
    let unknown = MessageId::new("msg_unknown");
    assert_eq!(desk.session.undo(UndoWhat::Turn(unknown.clone())).await, Err(UndoError::UnknownTurn(unknown)));
}

#[tokio::test]
async fn r5_1_a_turn_of_which_a_call_was_taken_back_is_taken_back_whole() {
    for users in ["", "mine\n"] {
        let mut desk = Desk::new().await;
        desk.put("a", "1\n2\n");
        desk.turn("x", &[edit("a", "1", "one"), edit("a", "one", "uno")]).await;
        let call = desk.world.changes.of(desk.session.id())[1].call.clone().unwrap();
        assert_eq!(desk.undo(UndoWhat::Call(call)).await, ["a: restored"]);
        desk.put("a", format!("one\n2\n{users}"));
        assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
        assert_eq!(desk.text("a").unwrap(), format!("1\n2\n{users}"));
        assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
        for text in ["one", "uno"] {
            assert_eq!(desk.undo(UndoWhat::Redo).await, ["a: restored"]);
            assert_eq!(desk.text("a").unwrap(), format!("{text}\n2\n{users}"));
        }
        assert_eq!(desk.session.undo(UndoWhat::Redo).await, Err(UndoError::NothingToRedo));
        assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
        assert_eq!(desk.text("a").unwrap(), format!("1\n2\n{users}"));
    }
}

#[tokio::test]
async fn r1_2_r5_3_files_of_every_encoding_come_back_byte_for_byte() {
    let utf_16 =
        |text: &str| [&b"\xff\xfe"[..], &text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()].concat();
    for bytes in [
        b"\xef\xbb\xbfone\r\ntwo\r\n".to_vec(),
        utf_16("one\r\ntwo"),
        b"one\rtwo\r".to_vec(),
        b"one\ntwo\r\none".to_vec(),
    ] {
        let mut desk = Desk::new().await;
        desk.put("a", bytes.clone());
        desk.turn("x", &[edit("a", "two", "TWO")]).await;
        let edited = desk.bytes("a").unwrap();
        assert_ne!(edited, bytes);
        desk.undo(UndoWhat::Last).await;
        assert_eq!(desk.bytes("a").unwrap(), bytes);
        desk.undo(UndoWhat::Redo).await;
        assert_eq!(desk.bytes("a").unwrap(), edited);
        // Removed whole.
        desk.turn("y", &[patch("*** Delete File: a\n")]).await;
        desk.undo(UndoWhat::Last).await;
        assert_eq!(desk.bytes("a").unwrap(), edited);
    }
}

#[tokio::test]
async fn c34_r5_4_a_step_that_was_not_recorded_is_asked_told_and_not_undone() {
    let mut desk = Desk::new().await;
    *desk.editor.free.lock().unwrap() = FreeEdits { shown: false, undoable: true };
    desk.put("a", "v1\n");
    desk.turn("x", &[edit("a", "v1", "v1 edited")]).await;
    assert_eq!(desk.world.client.asks().len(), 0, "undo reaches it");
    desk.put("a", "v2\n");
    let full = StoreError::Busy { reason: "the disk is full".to_owned() };
    desk.world.changes.break_with(Some(full));
    desk.turn("y", &[edit("a", "v2", "v2 edited"), write("b", "new\n")]).await;
    assert_eq!(desk.world.client.asks().len(), 2, "undo does not reach these");
    let warned: Vec<String> = desk
        .world
        .client
        .events()
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::Notice { severity: Severity::Warning, text } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(warned.len(), 1, "once a turn: {warned:?}");
    assert!(warned[0].contains("undo will not take it back") && warned[0].contains("the disk is full"), "{warned:?}");
    desk.world.changes.break_with(None);
    // Only the first turn is known, and it finds another text.
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: CONFLICT, left as it is: line 1 was changed since"]);
    assert_eq!((desk.text("a").unwrap().as_str(), desk.text("b").unwrap().as_str()), ("v2 edited\n", "new\n"));
    desk.turn("z", &[write("c", "new\n")]).await;
    assert_eq!(desk.world.client.asks().len(), 2, "it reaches it again");
    // Until it does, each is asked.
    desk.world.changes.break_with(Some(StoreError::Busy { reason: "busy".to_owned() }));
    desk.turn("z", &[write("d", "new\n")]).await;
    desk.world.changes.break_with(None);
    desk.turn("z", &[write("e", "new\n")]).await;
    desk.turn("z", &[write("f", "new\n")]).await;
    assert_eq!(desk.world.client.asks().len(), 4);
}

#[tokio::test]
async fn c34_r5_4_what_is_no_longer_kept_is_said_and_left_alone() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.turn("x", &[edit("a", "one", "ONE"), write("b", "new\n")]).await;
    desk.world.changes.let_go();
    let said = desk.undo(UndoWhat::Last).await;
    assert!(said.iter().all(|said| said.contains("undo is not available for this step")), "{said:?}");
    assert_eq!((desk.text("a").unwrap().as_str(), desk.text("b").unwrap().as_str()), ("ONE\n", "new\n"));
}

#[tokio::test]
async fn r5_1_a_row_whose_edit_never_came_to_be_does_no_harm() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.turn("x", &[edit("a", "one", "two")]).await;
    // The daemon dies between the row and the write.
    desk.by_command(
        "msg_dead",
        vec![changed("a", Some(b"two\n"), Some(b"three\n")), changed("n", None, Some(b"new\n"))],
    )
    .await;
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"], "the turn before it");
    assert_eq!((desk.text("a").unwrap().as_str(), desk.text("n")), ("one\n", None));
}

#[tokio::test]
async fn r5_3_an_undo_that_was_recorded_and_not_done_is_done_by_the_next() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.turn("x", &[edit("a", "one", "two"), write("n", "new\n")]).await;
    let rows = desk.world.changes.of(desk.session.id());
    let recording = &desk.session.context().recording;
    let undo =
        |id: ChangeId| recording.recorder(MessageId::new("msg_undo"), None, By::Undo { of: vec![id] }, MOST_KEPT);
    // Killed after both rows, before either write.
    undo(rows[0].id).record(vec![changed("a", Some(b"two\n"), Some(b"one\n"))]).await.unwrap();
    undo(rows[1].id).record(vec![changed("n", Some(b"new\n"), None)]).await.unwrap();
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored", "n: removed"]);
    assert_eq!((desk.text("a").unwrap().as_str(), desk.text("n")), ("one\n", None));
    // Taken back by the editor's own undo, it can be done again.
    desk.put("a", "two\n");
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored", "n: unchanged, there was nothing to do"]);
    assert_eq!(desk.text("a").unwrap(), "one\n");
}

#[tokio::test]
async fn r6_2_what_the_editor_refuses_is_not_recorded_and_what_comes_late_is_found() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    let uri = desk.open("a", "one\n");
    desk.editor.will(Act::Refuse);
    desk.editor.will(Act::Refuse);
    desk.turn("x", &[edit("a", "one", "two")]).await;
    assert_eq!(desk.world.changes.of(desk.session.id()), []);
    desk.editor.will(Act::Lie);
    desk.turn("y", &[edit("a", "one", "two")]).await;
    assert_eq!(desk.world.changes.of(desk.session.id()).len(), 1, "it may be shown yet");
    desk.editor.types(&uri, &Typing { at: 0, text: "mine\n\n" });
    assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::NothingToUndo));
    assert_eq!(desk.buffer(&uri), "mine\n\none\n");
    desk.editor.will(Act::Lie);
    desk.turn("z", &[edit("a", "one", "two")]).await;
    desk.world.connection.overlay.close(&uri);
    let uri = desk.open("a", "mine\n\ntwo\n");
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
    assert_eq!(desk.buffer(&uri), "mine\n\none\n");
}

#[tokio::test]
async fn c23_a_batch_that_was_taken_back_is_not_recorded() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.put("b", "one\n");
    let denied = DiskError::Denied(in_project("b"));
    desk.world.disk.fail(Operation::Write, &in_project("b"), denied);
    desk.turn("x", &[patch("*** Update File: a\n@@\n-one\n+two\n*** Update File: b\n@@\n-one\n+two\n")]).await;
    assert_eq!(desk.text("a").unwrap(), "one\n");
    assert!(desk.result().contains("the change was taken back"), "{}", desk.result());
    assert_eq!(desk.world.changes.of(desk.session.id()), []);
}

#[tokio::test]
async fn r5_1_a_turn_that_runs_is_not_undone() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.turn("x", &[edit("a", "one", "two")]).await;
    let earlier = desk.world.changes.of(desk.session.id())[0].turn.clone();
    let end = desk.session.prompt(vec![PromptPart::Text { text: "y".to_owned() }]).unwrap();
    let reply = desk.player.next_request().await;
    reply.call("c", "write", &json!({"filePath": "b", "content": "new\n"}).to_string());
    reply.finish(Finish::ToolCalls);
    let reply = desk.player.next_request().await;
    let running = desk.world.changes.of(desk.session.id())[1].turn.clone();
    assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::Running));
    assert_eq!(desk.session.undo(UndoWhat::Turn(running)).await, Err(UndoError::Running));
    // One that is over can be.
    assert_eq!(desk.undo(UndoWhat::Turn(earlier)).await, ["a: restored"]);
    reply.text("done");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(desk.undo(UndoWhat::Last).await, ["b: removed"]);
}

#[tokio::test]
async fn r5_1_the_prompts_undo_and_redo_are_answered_without_a_model() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.turn("Count on", &[edit("a", "one", "two")]).await;
    let say = |desk: &Desk, text: &str| desk.session.prompt(vec![PromptPart::Text { text: text.to_owned() }]).unwrap();
    for (command, text, answer) in [
        ("/undo", "one\n", "The agent's changes of the turn \"Count on\":\n- /home/user/project/a: restored\n"),
        (" /redo\n", "two\n", "The agent's changes of the turn \"Count on\":\n- /home/user/project/a: restored\n"),
        ("/redo", "two\n", "There is nothing to redo in this session.\n"),
    ] {
        assert_eq!(say(&desk, command).await, TurnEnd::Done);
        assert_eq!(desk.text("a").unwrap(), text);
        let last = desk.world.client.events().into_iter().rev().find_map(|event| match event {
            SessionEvent::Text { delta, .. } => Some(delta),
            _ => None,
        });
        assert_eq!(last.as_deref(), Some(answer));
    }
    assert!(desk.player.waiting().is_none(), "no model was asked");
    // The model is told with its next request, and hears nothing of the commands.
    let end = say(&desk, "Go on");
    let reply = desk.player.next_request().await;
    let sent = format!("{:?}", reply.request.messages);
    assert!(sent.contains("took your changes back") && sent.contains("put your changes back"), "{sent}");
    assert!(!sent.contains("/undo") && !sent.contains("/redo"), "{sent}");
    reply.text("done");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    // `/undo` within other words is a prompt.
    let end = say(&desk, "/undo it");
    desk.player.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test]
async fn r12_2_undo_reaches_what_a_daemon_did_that_is_gone() {
    let mut desk = Desk::new().await;
    desk.put("a", "one\n");
    desk.turn("x", &[edit("a", "one", "two")]).await;
    let id = desk.session.id().clone();
    desk.engine.close_connection(&desk.world.connection).await;
    assert_eq!(desk.session.undo(UndoWhat::Last).await, Err(UndoError::Closed));
    let session = desk.world.load(&desk.engine, &id, config()).await.unwrap();
    let report = session.undo(UndoWhat::Last).await.unwrap();
    assert_eq!((report.title.as_str(), desk.text("a").unwrap().as_str()), ("x", "one\n"));
}

#[tokio::test]
async fn r5_1_links_are_recorded_by_what_they_lead_to() {
    let mut desk = Desk::new().await;
    desk.put("real", "one\n");
    desk.world.disk.put_link(&in_project("link"), "real");
    desk.turn("x", &[edit("link", "one", "two")]).await;
    assert_eq!(desk.undo(UndoWhat::Last).await, ["real: restored"]);
    assert_eq!(desk.text("real").unwrap(), "one\n");
    // A link that has taken the file's place since leads nowhere.
    desk.turn("y", &[edit("real", "one", "two")]).await;
    desk.put("other", "two\n");
    desk.world.disk.take(&in_project("real"));
    desk.world.disk.put_link(&in_project("real"), "other");
    assert_eq!(desk.undo(UndoWhat::Last).await, ["real: left as it is: a link stands on its way by now"]);
    assert_eq!(desk.text("other").unwrap(), "two\n");
}

#[tokio::test]
async fn r5_2_permission_bits_and_encodings_that_a_command_changed_come_back() {
    let desk = Desk::new().await;
    desk.put("run.sh", "#!/bin/sh\n");
    desk.world.disk.put_mode(&in_project("run.sh"), 0o755);
    let content = |bytes: &[u8], mode| Some(NewContent::new(bytes.to_vec(), Some(mode)));
    let chmod = FileChanged {
        before: content(b"#!/bin/sh\n", 0o644),
        after: content(b"#!/bin/sh\n", 0o755),
        ..changed("run.sh", None, None)
    };
    let wide = b"\xff\xfeh\0i\0".as_slice();
    desk.put("t", wide);
    desk.by_command("msg_1", vec![chmod, changed("t", Some(b"hi"), Some(wide))]).await;
    assert_eq!(desk.undo(UndoWhat::Last).await, ["run.sh: restored", "t: restored"]);
    assert_eq!(desk.world.disk.stat(&in_project("run.sh")).unwrap().mode, Some(0o644));
    assert_eq!(desk.bytes("t").unwrap(), b"hi");
}

#[tokio::test]
async fn r5_2_c35_what_a_command_wrote_and_made_read_only_comes_back_and_goes_again() {
    for (before, after) in [(b"x\n".as_slice(), b"y\n".as_slice()), (&[0, 1], &[0, 2])] {
        let desk = Desk::new().await;
        desk.put("f", after);
        desk.world.disk.put_mode(&in_project("f"), 0o444);
        let content = |bytes: &[u8], mode| Some(NewContent::new(bytes.to_vec(), Some(mode)));
        let row =
            FileChanged { before: content(before, 0o644), after: content(after, 0o444), ..changed("f", None, None) };
        desk.by_command("msg_1", vec![row]).await;
        let stands = |desk: &Desk| (desk.bytes("f").unwrap(), desk.world.disk.stat(&in_project("f")).unwrap().mode);
        for _ in 0..2 {
            assert_eq!(desk.undo(UndoWhat::Last).await, ["f: restored"]);
            assert_eq!(stands(&desk), (before.to_vec(), Some(0o644)));
            assert_eq!(desk.undo(UndoWhat::Redo).await, ["f: restored"]);
            assert_eq!(stands(&desk), (after.to_vec(), Some(0o444)));
        }
        // The user's own bits keep the agent out, and stay.
        assert_eq!(desk.undo(UndoWhat::Last).await, ["f: restored"]);
        desk.world.disk.put_mode(&in_project("f"), 0o400);
        let said = desk.undo(UndoWhat::Redo).await;
        assert!(said[0].contains("no permission"), "{said:?}");
        assert_eq!(stands(&desk), (before.to_vec(), Some(0o400)));
    }
}

#[tokio::test]
async fn r5_2_bits_and_encodings_go_with_a_move_and_the_users_bits_stay() {
    let mut desk = Desk::new().await;
    let content = |bytes: &[u8], mode| Some(NewContent::new(bytes.to_vec(), Some(mode)));
    let mode = |desk: &Desk, file: &str| desk.world.disk.stat(&in_project(file)).unwrap().mode;
    // The agent moves a file, then a command makes it a program, in another encoding.
    desk.put("a", "hi");
    desk.turn("x", &[patch("*** Update File: a\n*** Move to: b\n@@\n-hi\n+ho\n")]).await;
    let turn = desk.world.changes.of(desk.session.id())[0].turn.clone();
    let now = desk.bytes("b").unwrap();
    let wide = b"\xff\xfeh\0o\0".as_slice();
    desk.put("b", wide);
    desk.world.disk.put_mode(&in_project("b"), 0o755);
    let row = FileChanged { before: content(&now, 0o644), after: content(wide, 0o755), ..changed("b", None, None) };
    desk.by_command(turn.as_str(), vec![row]).await;
    assert_eq!(desk.undo(UndoWhat::Last).await, ["b: moved back to a"]);
    assert_eq!((desk.bytes("a").unwrap().as_slice(), mode(&desk, "a")), (b"hi".as_slice(), Some(0o644)));
    assert_eq!(desk.bytes("b"), None);

    // The user makes what the agent wrote a program: that stays, text or not.
    for (file, before, after) in [("t", b"x\n".as_slice(), b"y\n".as_slice()), ("u", &[0, 1], &[0, 2])] {
        desk.put(file, after);
        desk.by_command("msg_9", vec![changed(file, Some(before), Some(after))]).await;
        desk.world.disk.put_mode(&in_project(file), 0o755);
    }
    assert_eq!(desk.undo(UndoWhat::Turn(MessageId::new("msg_9"))).await, ["t: restored", "u: restored"]);
    assert_eq!((desk.bytes("t").unwrap(), desk.bytes("u").unwrap()), (b"x\n".to_vec(), vec![0, 1]));
    assert_eq!([mode(&desk, "t"), mode(&desk, "u")], [Some(0o755); 2]);
}

/// A session that has read the file `a`, which another session, that is named, has changed since.
async fn after_another_session() -> (Desk, String) {
    let mut desk = Desk::new().await;
    desk.put("a", "one\ntwo\nthree\n");
    desk.turn("look", &[("read", json!({"filePath": "a"}))]).await;
    let mine = desk.session.clone();
    desk.session = desk.world.session(&desk.engine, configured()).await.unwrap();
    let other = desk.session.id().to_string();
    desk.turn("x", &[edit("a", "two", "TWO")]).await;
    desk.session = mine;
    (desk, other)
}

#[tokio::test]
async fn r6_5_the_second_of_two_sessions_that_write_one_file_is_told_of_the_first() {
    let multiedit = json!({"filePath": "a", "edits": [{"oldString": "one\ntwo", "newString": "mine"}]});
    let mut calls = vec![
        (write("a", "mine\n"), "has changed since you last saw it by another session of the agent (OTHER)"),
        (
            patch("*** Delete File: a\n"),
            "The file was changed by another session of the agent (OTHER), and you have not seen it since",
        ),
        (
            patch("*** Delete File: a\n*** Add File: a\n+mine\n"),
            "The file was changed by another session of the agent (OTHER), and you have not seen it since",
        ),
    ];
    let unseen = "was not found in it. The file was changed by another session of the agent (OTHER), and you have not seen it since";
    calls.extend([(edit("a", "one\ntwo", "mine"), unseen), (("multiedit", multiedit), unseen)]);
    let unseen = "The file was changed by another session of the agent (OTHER), and you have not seen it since";
    calls.push((patch("*** Update File: a\n@@\n-one\n-two\n+mine\n"), unseen));
    for (call, words) in calls {
        // Each by itself: the refusal shows the file.
        let (mut desk, other) = after_another_session().await;
        desk.turn("y", std::slice::from_ref(&call)).await;
        let result = desk.result();
        assert!(result.contains(&words.replace("OTHER", &other)), "{call:?}: {result}");
        assert_eq!(desk.text("a").unwrap(), "one\nTWO\nthree\n", "no update is lost: {result}");
        // What was shown is known.
        desk.turn("z", &[edit("a", "TWO", "2")]).await;
        assert_eq!(desk.text("a").unwrap(), "one\n2\nthree\n");
    }
    // Nor is anything that somebody else has written since.
    for whole in ["*** Delete File: a\n", "*** Delete File: a\n*** Add File: a\n+mine\n"] {
        for other in [false, true] {
            let mut desk = Desk::new().await;
            if other {
                (desk, _) = after_another_session().await;
            } else {
                desk.put("a", "one\ntwo\nthree\n");
                desk.turn("look", &[("read", json!({"filePath": "a"}))]).await;
            }
            desk.put("a", "typed\n");
            desk.turn("y", &[patch(whole)]).await;
            let result = desk.result();
            assert!(result.contains("The file was changed") && result.contains("1: typed"), "{whole}: {result}");
            assert_eq!(desk.text("a").unwrap(), "typed\n");
            desk.turn("z", &[patch(whole)]).await;
            assert_ne!(desk.text("a").unwrap_or_default(), "typed\n", "what was shown may go");
        }
    }
    // Where both can stand they do, and each undo takes its own.
    let (mut desk, _) = after_another_session().await;
    desk.turn("z", &[edit("a", "three", "THREE")]).await;
    assert_eq!(desk.text("a").unwrap(), "one\nTWO\nTHREE\n");
    assert_eq!(desk.undo(UndoWhat::Last).await, ["a: restored"]);
    assert_eq!(desk.text("a").unwrap(), "one\nTWO\nthree\n");
}
