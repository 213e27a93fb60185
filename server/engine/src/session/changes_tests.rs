//! Review through a session's handle: what is listed, what decisions do to files and buffers, and who is told.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use copydesk_workspace::disk::{Disk, DiskError, Operation, Stamp};
use copydesk_workspace::document::Document;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use copydesk_workspace::uri::uri_from_path;
use futures::FutureExt;
use ropey::Rope;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::SessionHandle;
use crate::event::SessionEvent;
use crate::ids::{MessageId, Millis, SessionId};
use crate::message::{Entry, Finish, PromptPart, TurnEnd};
use crate::ports::{
    BoxFuture, By, Change, ChangeId, Changes, Content, ModelMessage, ModelRequest, NewChange, NewContent, OptionKind,
    StoreError,
};
use crate::registry::Registry;
use crate::review::{
    ChangedFile, ChangedKind, ChangesScope, ChangesView, Decided, Decision, HunkChoice, HunkId, HunkState, WhyUndecided,
};
use crate::testing::{FakeIds, FakeModel, MemoryChanges, MemoryStore, ModelPlayer, World, config};
use crate::undo::{UndoOutcome, UndoWhat};
use crate::workbench::{Act, BenchEditor, Typing};

const C19: (&str, &str) = ("a\nb\nc\nd\ne\nf\n", "a\n1\n2\n3\n4\n5\nb\nc\nD\ne\nF\n");

/// A session with an editor whose documents can be edited.
struct Table {
    world: World,
    editor: Arc<BenchEditor>,
    session: SessionHandle,
    player: ModelPlayer,
}

impl Table {
    async fn new() -> Self {
        let (model, player) = FakeModel::new();
        let (world, editor) = edited(World::new(model));
        Self::of(world, editor, player).await
    }

    async fn counting() -> (Self, Arc<Counting>) {
        let (model, player) = FakeModel::new();
        let (mut world, editor) = edited(World::new(model));
        let (lists, contents) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let silent_at = AtomicUsize::new(usize::MAX);
        let counting = Arc::new(Counting { changes: world.changes.clone(), lists, contents, silent_at });
        world.ports.changes = counting.clone();
        (Self::of(world, editor, player).await, counting)
    }

    async fn of(world: World, editor: Arc<BenchEditor>, player: ModelPlayer) -> Self {
        let engine = world.engine(Registry::builtin());
        let session = world.session(&engine, config()).await.unwrap();
        world.keep(engine);
        Self { world, editor, session, player }
    }

    fn path(&self, name: &str) -> AbsPath {
        self.world.folder().join(name)
    }

    /// A row alone.
    async fn record(&self, by: By, turn: &str, name: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> ChangeId {
        self.store(self.row(by, turn, name, before, after)).await
    }

    fn row(&self, by: By, turn: &str, name: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> NewChange {
        let content = |bytes: Option<&[u8]>| bytes.map(|bytes| NewContent::new(bytes.to_vec(), None));
        NewChange {
            turn: MessageId::new(turn),
            call: None,
            at: Millis(0),
            by,
            path: self.path(name),
            moved_to: None,
            made_folder: None,
            before: content(before),
            after: content(after),
        }
    }

    async fn store(&self, row: NewChange) -> ChangeId {
        self.world.changes.record(self.session.id().clone(), vec![row], u64::MAX).await.unwrap()[0]
    }

    /// The agent moves a file that is not open, and changes it on the way.
    async fn moved(&self, turn: &str, from: &str, to: &str, before: &str, after: &str) {
        let row = self.row(By::Agent, turn, from, Some(before.as_bytes()), Some(after.as_bytes()));
        self.store(NewChange { moved_to: Some(self.path(to)), ..row }).await;
        self.world.disk.put(&self.path(to), after);
    }

    /// The agent changes a file that is not open.
    async fn agent(&self, turn: &str, name: &str, before: Option<&[u8]>, after: Option<&[u8]>) {
        self.record(By::Agent, turn, name, before, after).await;
        match after {
            Some(after) => self.world.disk.put(&self.path(name), after),
            None => {
                let hash = ContentHash::of(&self.world.disk.read(&self.path(name)).unwrap_or_default());
                let _ = self.world.disk.remove(&self.path(name), hash);
            }
        }
    }

    async fn edit(&self, turn: &str, name: &str, before: &str, after: &str) {
        self.agent(turn, name, Some(before.as_bytes()), Some(after.as_bytes())).await;
    }

    /// Opens the file; the text may differ from the disk's.
    fn open(&self, name: &str, version: i32, text: &str) -> String {
        let path = self.path(name);
        let uri = uri_from_path(&path);
        self.world.connection.overlay.open(Document {
            uri: uri.clone(),
            key: DocKey::from_real_path(path.clone()),
            language: "text".to_owned(),
            version,
            text: Rope::from_str(text),
            saved: ContentHash::of(&self.world.disk.read(&path).unwrap_or_default()),
            path,
        });
        uri
    }

    fn buffer(&self, name: &str) -> String {
        self.world.connection.overlay.by_uri(&uri_from_path(&self.path(name))).unwrap().text.to_string()
    }

    fn disk(&self, name: &str) -> Result<Vec<u8>, DiskError> {
        self.world.disk.read(&self.path(name))
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.disk(name).unwrap()).unwrap()
    }

    async fn list(&self) -> ChangesView {
        self.session.changes(&ChangesScope::Session).await.unwrap()
    }

    async fn file(&self, name: &str) -> ChangedFile {
        let list = self.list().await;
        list.files.into_iter().find(|file| file.path == self.path(name)).unwrap()
    }

    async fn ids(&self, name: &str) -> Vec<HunkId> {
        self.file(name).await.hunks.iter().map(|hunk| hunk.id).collect()
    }

    async fn decide(&self, ids: &[HunkId], decision: Decision) -> Decided {
        let choice = HunkChoice::Hunks(ids.to_vec());
        self.session.decide(&ChangesScope::Session, &choice, decision).await.unwrap()
    }

    fn told(&self) -> Vec<String> {
        let told = |entry: Entry| match entry {
            Entry::Told { text, .. } => Some(text),
            _ => None,
        };
        self.world.store.entries(self.session.id()).into_iter().filter_map(told).collect()
    }

    fn rows(&self) -> Vec<Change> {
        self.world.changes.of(self.session.id())
    }

    fn times_told(&self) -> usize {
        self.world.client.events().iter().filter(|event| matches!(event, SessionEvent::Changes)).count()
    }
}

fn edited(mut world: World) -> (World, Arc<BenchEditor>) {
    let editor = Arc::new(BenchEditor::new(&world.connection.overlay, &world.disk));
    world.connection.editor = editor.clone();
    (world, editor)
}

fn states(file: &ChangedFile) -> Vec<HunkState> {
    file.hunks.iter().map(|hunk| hunk.state).collect()
}

#[tokio::test]
async fn r4_2_hunks_are_listed_with_their_lines_turn_and_counts() {
    let table = Table::new().await;
    table.edit("msg_1", "a", C19.0, C19.1).await;
    table.edit("msg_2", "b", "x\n", "x\ny").await;
    let list = table.list().await;
    assert_eq!((list.files.len(), list.added, list.removed), (2, 8, 2));
    let file = &list.files[0];
    assert_eq!((file.kind.clone(), file.open.clone(), file.is_binary), (ChangedKind::Modified, None, false));
    let hunks: Vec<_> = file.hunks.iter().map(|hunk| (hunk.before.clone(), hunk.after.clone())).collect();
    assert_eq!(hunks, [(1..1, 1..6), (3..4, 8..9), (5..6, 10..11)]);
    assert_eq!((&*file.hunks[1].old_text, &*file.hunks[1].new_text), ("d\n", "D\n"));
    assert!(file.hunks.iter().all(|hunk| hunk.turn == MessageId::new("msg_1")));
    // A last line without a break is a line.
    assert_eq!((list.files[1].hunks[0].before.clone(), list.files[1].hunks[0].after.clone()), (1..1, 1..2));
}

#[tokio::test]
async fn a_turn_is_listed_alone() {
    let table = Table::new().await;
    table.edit("msg_1", "a", "1\n2\n3\n", "A\n2\n3\n").await;
    table.edit("msg_2", "a", "A\n2\n3\n", "A\n2\nC\n").await;
    let of = async |scope| table.session.changes(&scope).await.unwrap();
    let names = |list: ChangesView| -> Vec<String> {
        list.files.into_iter().flat_map(|file| file.hunks).map(|hunk| hunk.new_text).collect()
    };
    assert_eq!(names(of(ChangesScope::Turn(MessageId::new("msg_1"))).await), ["A\n"]);
    assert_eq!(names(of(ChangesScope::LastTurn).await), ["C\n"]);
    assert_eq!(names(of(ChangesScope::Turn(MessageId::new("msg_3"))).await), Vec::<String>::new());
    let all = table.session.decide(&ChangesScope::LastTurn, &HunkChoice::All, Decision::Reject).await.unwrap();
    assert_eq!((all.hunks.len(), table.text("a")), (1, "A\n2\n3\n".to_owned()));
}

#[tokio::test]
async fn c19_hunks_are_decided_one_at_a_time() {
    let table = Table::new().await;
    table.edit("msg_1", "a", C19.0, C19.1).await;
    let ids = table.ids("a").await;
    assert_eq!(table.decide(&ids[..1], Decision::Accept).await.hunks, ids[..1]);
    assert_eq!(table.decide(&ids[2..], Decision::Accept).await.hunks, ids[2..]);
    assert_eq!(table.text("a"), C19.1);
    assert_eq!(table.decide(&ids[1..2], Decision::Reject).await.hunks, ids[1..2]);
    assert_eq!(table.text("a"), "a\n1\n2\n3\n4\n5\nb\nc\nd\ne\nF\n");
    let file = table.file("a").await;
    assert_eq!(states(&file), [HunkState::Accepted, HunkState::Rejected, HunkState::Accepted]);
    assert_eq!((file.added, file.removed), (0, 0));
    let by: Vec<By> = table.rows().into_iter().skip(1).map(|row| row.by).collect();
    let hunks = |index: usize| vec![ids[index]];
    assert_eq!(by, [By::Accept { hunks: hunks(0) }, By::Accept { hunks: hunks(2) }, By::Reject { hunks: hunks(1) }]);
}

#[tokio::test]
async fn r4_2_a_rejected_hunk_of_an_open_document_goes_through_the_editor() {
    let table = Table::new().await;
    table.record(By::Agent, "msg_1", "a", Some(b"1\n2\n3\n"), Some(b"1\nB\n3\n")).await;
    table.world.disk.put(&table.path("a"), "1\n2\n3\n");
    let uri = table.open("a", 7, "1\nB\n3\n");
    table.editor.types(&uri, &Typing { at: 0, text: "typed\n" });
    let file = table.file("a").await;
    assert_eq!((file.open.clone(), file.hunks[0].after.clone()), (Some((uri, 8)), 2..3));
    // Somebody types while the editor is asked: the edit is made for the new text.
    table.editor.will(Act::TypeAndRefuse(Typing { at: 0, text: "more\n" }));
    let decided = table.decide(&[file.hunks[0].id], Decision::Reject).await;
    assert_eq!(decided.hunks.len(), 1, "{decided:?}");
    assert_eq!(table.buffer("a"), "more\ntyped\n1\n2\n3\n");
    assert_eq!(table.text("a"), "1\n2\n3\n", "nothing is written behind the buffer");
    assert_eq!(states(&table.file("a").await), [HunkState::Rejected]);
}

#[tokio::test]
async fn r4_2_hunks_follow_what_the_user_types() {
    let table = Table::new().await;
    table.edit("msg_1", "a", "1\n2\n3\n", "1\nB\n3\n").await;
    let uri = table.open("a", 1, "1\nB\n3\n");
    let before = table.file("a").await;
    table.editor.types(&uri, &Typing { at: 0, text: "x\ny\n" });
    let after = table.file("a").await;
    assert_eq!((after.hunks[0].id, after.hunks[0].after.clone()), (before.hunks[0].id, 3..4));
    assert_eq!(after.base.to_string(), "x\ny\n1\n2\n3\n");
    table.editor.types(&uri, &Typing { at: "x\ny\n1\n".len(), text: "mine " });
    let outdated = table.file("a").await;
    assert_eq!(states(&outdated), [HunkState::Outdated]);
    let decided = table.decide(&[before.hunks[0].id, HunkId(5), HunkId(5)], Decision::Reject).await;
    let whys: Vec<_> = decided.undecided.iter().map(|undecided| (undecided.id, undecided.why)).collect();
    assert_eq!(whys, [(before.hunks[0].id, WhyUndecided::Outdated), (HunkId(5), WhyUndecided::Gone)]);
    assert_eq!(table.buffer("a"), "x\ny\n1\nmine B\n3\n");
}

#[tokio::test]
async fn r4_2_the_model_is_told_of_a_rejected_hunk_before_its_next_step() {
    let mut table = Table::new().await;
    table.edit("msg_1", "src/a", "1\n2\n3\n", "1\nB\n3\n").await;
    let id = table.ids("src/a").await[0];
    let end = table.session.prompt(vec![PromptPart::Text { text: "go".to_owned() }]).unwrap();
    let first = table.player.next_request().await;
    table.decide(&[id], Decision::Reject).await;
    first.call("call_1", "glob", r#"{"pattern": "*.none"}"#).finish_calls();
    let second = table.player.next_request().await;
    let said = last_user(&second.request);
    assert!(said.contains("The user has rejected these changes of yours"), "{said}");
    assert!(said.contains("- src/a, at line 2: taken out 1 line, put back 1 line. Yours were:\n    B"), "{said}");
    second.text("done").finish_stop();
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(table.told().len(), 1);
}

#[tokio::test]
async fn r6_4_the_agents_next_edit_meets_the_text_as_it_is() {
    let mut table = Table::new().await;
    table.edit("msg_1", "a", "1\n2\n3\n", "1\nB\n3\n").await;
    let id = table.ids("a").await[0];
    let end = table.session.prompt(vec![PromptPart::Text { text: "go".to_owned() }]).unwrap();
    let first = table.player.next_request().await;
    table.decide(&[id], Decision::Reject).await;
    first.call("call_1", "edit", r#"{"filePath": "a", "oldString": "B", "newString": "C"}"#).finish_calls();
    let second = table.player.next_request().await;
    assert_eq!(table.text("a"), "1\n2\n3\n");
    second.text("done").finish_stop();
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test]
async fn a_created_file_is_gone_and_a_deleted_one_back_when_they_are_rejected() {
    let table = Table::new().await;
    table.agent("msg_1", "n", None, Some(b"new\n")).await;
    table.agent("msg_1", "o", Some(b"\xff\xfeo\0"), None).await;
    table.agent("msg_1", "bin", Some(&[0, 159, 146, 150]), Some(&[0, 1])).await;
    table.agent("msg_1", "made.bin", None, Some(&[0, 2])).await;
    let list = table.list().await;
    let kinds: Vec<_> = list.files.iter().map(|file| (file.path.name(), file.kind.clone(), file.is_binary)).collect();
    assert_eq!(
        kinds,
        [
            ("bin".into(), ChangedKind::Modified, true),
            ("made.bin".into(), ChangedKind::Created, true),
            ("n".into(), ChangedKind::Created, false),
            ("o".into(), ChangedKind::Deleted, false)
        ]
    );
    let all = table.session.decide(&ChangesScope::Session, &HunkChoice::All, Decision::Reject).await.unwrap();
    assert_eq!((all.hunks.len(), all.undecided), (4, vec![]));
    assert!(table.disk("n").is_err() && table.disk("made.bin").is_err());
    assert_eq!(table.disk("o").unwrap(), b"\xff\xfeo\0", "byte for byte, in its encoding");
    assert_eq!(table.disk("bin").unwrap(), [0, 159, 146, 150]);
    assert_eq!(table.editor.told().len(), 4);
    assert!(table.list().await.files.iter().all(|file| states(file) == [HunkState::Rejected]));
}

#[tokio::test]
async fn a_move_is_taken_back_with_what_stands_in_the_file() {
    let table = Table::new().await;
    table.moved("msg_1", "p", "q", "1\n2\n", "1\nB\n").await;
    let ids = table.ids("q").await;
    assert_eq!(ids.len(), 2);
    assert_eq!(table.decide(&ids[..1], Decision::Reject).await.hunks, ids[..1]);
    assert!(table.disk("q").is_err());
    assert_eq!(table.text("p"), "1\nB\n");
    assert_eq!(table.decide(&ids[1..], Decision::Reject).await.hunks, ids[1..]);
    assert_eq!(table.text("p"), "1\n2\n");
}

#[tokio::test]
async fn what_cannot_be_done_is_answered_and_leaves_no_row() {
    let table = Table::new().await;
    table.edit("msg_1", "a", "1\n2\n", "1\nB\n").await;
    table.edit("msg_1", "b", "1\n2\n", "1\nB\n").await;
    table.open("a", 1, "1\nB\n");
    let rows = table.rows().len();
    for _ in 0..2 {
        table.editor.will(Act::Refuse);
    }
    let all = table.session.decide(&ChangesScope::Session, &HunkChoice::All, Decision::Reject).await.unwrap();
    assert_eq!((all.hunks.len(), all.undecided.len()), (1, 1));
    assert_eq!(all.undecided[0].why, WhyUndecided::Conflict);
    assert!(all.undecided[0].reason.contains("conflict"), "{}", all.undecided[0].reason);
    assert_eq!((table.buffer("a"), table.text("b")), ("1\nB\n".to_owned(), "1\n2\n".to_owned()));
    assert_eq!(table.rows().len(), rows + 1);
    assert_eq!(states(&table.file("a").await), [HunkState::Undecided]);
    table.world.changes.break_with(Some(StoreError::Busy { reason: "the disk is full".to_owned() }));
    let ids = table.ids("a").await;
    let failed = table.session.decide(&ChangesScope::Session, &HunkChoice::Hunks(ids), Decision::Reject).await;
    assert!(failed.unwrap_err().to_string().contains("the disk is full"));
    assert_eq!(table.buffer("a"), "1\nB\n", "nothing is done that is not stored");
}

#[tokio::test]
async fn c31_old_proposals_after_a_restart_are_outdated_and_touch_nothing() {
    let table = Table::new().await;
    table.edit("msg_1", "a", "1\n2\n3\n", "1\nS1\n3\n").await;
    table.edit("msg_1", "b", "1\n2\n", "1\nB\n").await;
    let ids = (table.ids("a").await[0], table.ids("b").await[0]);
    let (store, id, files) = (table.world.store.survivor(), table.session.id().clone(), table.world.disk.clone());
    drop(table);
    let (model, _player) = FakeModel::new();
    let (world, editor) = edited(World::after(store, FakeIds::default(), model));
    for name in ["a", "b"] {
        world.disk.put(&world.folder().join(name), files.read(&world.folder().join(name)).unwrap());
    }
    // The user has saved a text of his own meanwhile.
    let path = world.folder().join("a");
    world.disk.put(&path, "1\nS2\n3\n");
    let uri = uri_from_path(&path);
    world.connection.overlay.open(Document {
        uri: uri.clone(),
        key: DocKey::from_real_path(path.clone()),
        language: "text".to_owned(),
        version: 1,
        text: Rope::from_str("1\nS2\n3\n"),
        saved: ContentHash::of(b"1\nS2\n3\n"),
        path,
    });
    let engine = world.engine(Registry::builtin());
    let session = world.load(&engine, &id, config()).await.unwrap();
    let list = session.changes(&ChangesScope::Session).await.unwrap();
    let shown: Vec<_> = list.files.iter().map(|file| (file.hunks[0].id, file.hunks[0].state)).collect();
    assert_eq!(shown, [(ids.0, HunkState::Outdated), (ids.1, HunkState::Undecided)], "the ids are what they were");
    let document = world.connection.overlay.by_uri(&uri).unwrap();
    assert_eq!((document.version, document.text.to_string(), document.is_dirty()), (1, "1\nS2\n3\n".to_owned(), false));
    let all = session.decide(&ChangesScope::Session, &HunkChoice::All, Decision::Reject).await.unwrap();
    assert_eq!(all.hunks, [ids.1]);
    assert!(editor.requests().is_empty(), "nothing is applied to the buffer again");
    assert_eq!(world.disk.read(&world.folder().join("a")).unwrap(), b"1\nS2\n3\n");
}

#[tokio::test]
async fn decisions_stand_after_a_restart() {
    let table = Table::new().await;
    table.edit("msg_1", "a", C19.0, C19.1).await;
    let ids = table.ids("a").await;
    table.decide(&ids[..1], Decision::Accept).await;
    table.decide(&ids[1..2], Decision::Reject).await;
    let before = table.file("a").await;
    let (store, id) = (table.world.store.survivor(), table.session.id().clone());
    let text = table.text("a");
    drop(table);
    let (model, _player) = FakeModel::new();
    let world = World::after(store, FakeIds::default(), model);
    world.disk.put(&world.folder().join("a"), text);
    let engine = world.engine(Registry::builtin());
    let session = world.load(&engine, &id, config()).await.unwrap();
    let list = session.changes(&ChangesScope::Session).await.unwrap();
    assert_eq!(list.files[0].hunks, before.hunks);
}

#[tokio::test]
async fn the_client_is_told_once_until_it_asks() {
    let table = Table::new().await;
    table.edit("msg_1", "a", C19.0, C19.1).await;
    let ids = table.ids("a").await;
    table.session.context().tell_of_changes().await;
    table.session.context().tell_of_changes().await;
    assert_eq!(table.times_told(), 1);
    table.list().await;
    table.decide(&ids[..1], Decision::Accept).await;
    assert_eq!(table.times_told(), 2);
    table.decide(&[HunkId(5)], Decision::Accept).await;
    assert_eq!(table.times_told(), 2, "nothing was decided");
}

#[tokio::test]
async fn r6_5_a_decision_waits_for_the_edit_that_is_under_way() {
    let table = Table::new().await;
    table.edit("msg_1", "a", "1\n2\n3\n", "1\nB\n3\n").await;
    let ids = table.ids("a").await;
    let key = DocKey::from_real_path(table.path("a"));
    let lock = table.world.connection.overlay.locks.take([key].into()).await;
    let mut accepted = Box::pin(table.decide(&ids, Decision::Accept));
    assert!(futures::poll!(&mut accepted).is_pending());
    // The agent's edit, whose lock it is.
    table.edit("msg_2", "a", "1\nB\n3\n", "0\n1\nB\n3\n").await;
    drop(lock);
    assert_eq!(accepted.await.hunks, ids);
    let file = table.file("a").await;
    assert_eq!(states(&file), [HunkState::Undecided, HunkState::Accepted]);
}

/// A turn in which the agent makes one edit.
async fn turn(table: &mut Table, name: &str, old: &str, new: &str) {
    table.world.client.answer_all(OptionKind::AllowOnce);
    let end = table.session.prompt(vec![PromptPart::Text { text: "go".to_owned() }]).unwrap();
    let arguments = json!({"filePath": name, "oldString": old, "newString": new});
    table.player.next_request().await.call("call_1", "edit", &arguments.to_string()).finish_calls();
    table.player.next_request().await.text("done").finish_stop();
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test]
async fn r4_2_what_a_turn_did_is_listed_and_told_undone_and_redone() {
    let mut table = Table::new().await;
    table.world.disk.put(&table.path("a"), "1\n2\n3\n");
    turn(&mut table, "a", "2", "B").await;
    assert_eq!(table.times_told(), 1);
    let list = table.session.changes(&ChangesScope::LastTurn).await.unwrap();
    let hunk = list.files[0].hunks[0].clone();
    assert_eq!((&*hunk.old_text, &*hunk.new_text, hunk.state), ("2\n", "B\n", HunkState::Undecided));
    table.session.undo(UndoWhat::Last).await.unwrap();
    assert_eq!((table.text("a"), table.times_told()), ("1\n2\n3\n".to_owned(), 2));
    assert!(table.list().await.files.is_empty());
    table.session.undo(UndoWhat::Redo).await.unwrap();
    let again = table.file("a").await.hunks[0].clone();
    assert_eq!((again.turn, &*again.new_text, table.times_told()), (hunk.turn, "B\n", 3));
}

#[tokio::test]
async fn r5_2_an_undo_after_decisions_meets_no_conflict() {
    let mut table = Table::new().await;
    table.world.disk.put(&table.path("a"), "1\n2\n3\n4\n5\n");
    turn(&mut table, "a", "2\n3\n4", "B\n3\nD").await;
    let ids = table.ids("a").await;
    assert_eq!(table.decide(&ids[..1], Decision::Reject).await.hunks, ids[..1]);
    assert_eq!(table.decide(&ids[1..], Decision::Accept).await.hunks, ids[1..]);
    assert_eq!(table.text("a"), "1\n2\n3\nD\n5\n");
    let report = table.session.undo(UndoWhat::Last).await.unwrap();
    assert_eq!(report.files[0].outcome, UndoOutcome::Restored, "{report:?}");
    assert_eq!(table.text("a"), "1\n2\n3\n4\n5\n");
    assert_eq!(states(&table.file("a").await), [HunkState::Rejected, HunkState::Accepted]);
}

/// Counts what is read of it.
struct Counting {
    changes: Arc<MemoryChanges>,
    lists: AtomicUsize,
    contents: AtomicUsize,
    /// Which content is never told.
    silent_at: AtomicUsize,
}

impl Changes for Counting {
    fn record(
        &self,
        session: SessionId,
        changes: Vec<NewChange>,
        most_kept: u64,
    ) -> BoxFuture<'_, Result<Vec<ChangeId>, StoreError>> {
        self.changes.record(session, changes, most_kept)
    }

    fn void(&self, session: SessionId, changes: Vec<ChangeId>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.changes.void(session, changes)
    }

    fn list(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        self.changes.list(session)
    }

    fn content(&self, session: SessionId, hash: ContentHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        let number = self.contents.fetch_add(1, Ordering::Relaxed);
        if number == self.silent_at.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        self.changes.content(session, hash)
    }
}

#[tokio::test]
async fn what_was_replayed_is_not_read_again() {
    let (table, counting) = Table::counting().await;
    for number in 0..10 {
        table.edit("msg_1", "a", &format!("{number}\nx\n"), &format!("{}\nx\n", number + 1)).await;
    }
    let uri = table.open("a", 1, "10\nx\n");
    table.list().await;
    assert_eq!(counting.contents.load(Ordering::Relaxed), 11, "each content once");
    for _ in 0..3 {
        table.editor.types(&uri, &Typing { at: 5, text: "y\n" });
        table.list().await;
    }
    table.edit("msg_1", "b", "1\n", "2\n").await;
    table.list().await;
    assert_eq!(counting.contents.load(Ordering::Relaxed), 13);
}

#[tokio::test]
async fn what_was_replayed_stays_where_nobody_waits_for_the_rest() {
    let (table, counting) = Table::counting().await;
    for number in 0..10 {
        table.edit("msg_1", "a", &format!("{number}\nx\n"), &format!("{}\nx\n", number + 1)).await;
    }
    counting.silent_at.store(6, Ordering::Relaxed);
    assert!(tokio::time::timeout(Duration::from_millis(100), table.list()).await.is_err());
    assert_eq!(counting.contents.load(Ordering::Relaxed), 7);
    table.list().await;
    assert_eq!(
        counting.contents.load(Ordering::Relaxed),
        13,
        "from the row on that was waited for, with the text before it"
    );
}

#[tokio::test]
async fn a_file_that_is_not_open_is_read_again_where_it_was_written() {
    let table = Table::new().await;
    let path = table.path("a");
    table.edit("msg_1", "a", "1\n2\n3\n", "1\nB\n3\n").await;
    table.world.disk.put(&path, "1\nB\n3\nmine\n");
    assert_eq!(table.file("a").await.now.to_string(), "1\nB\n3\nmine\n");
    let broken = DiskError::Other { path: path.clone(), reason: "broken".to_owned() };
    table.world.disk.fail(Operation::Read, &path, broken);
    assert_eq!(table.file("a").await.now.to_string(), "1\nB\n3\nmine\n", "it was not read");
    table.world.disk.mend(Operation::Read, &path);
    table.world.disk.put(&path, "1\nmine\n3\n");
    assert_eq!(states(&table.file("a").await), [HunkState::Outdated]);
}

#[tokio::test]
async fn a_file_that_could_not_be_read_is_what_it_was_and_read_again() {
    let (theirs, mine, later) = ("1\nB\n3\n", "1\nB\n3\nmine\n", "0\n1\nB\n3\nmine\n");
    for was_seen in [false, true] {
        let table = Table::new().await;
        let path = table.path("a");
        table.edit("msg_1", "a", "1\n2\n3\n", theirs).await;
        table.world.disk.put(&path, mine);
        if was_seen {
            assert_eq!(table.file("a").await.now.to_string(), mine);
            table.world.disk.put(&path, later);
        }
        table.world.disk.fail(Operation::Read, &path, DiskError::Denied(path.clone()));
        for _ in 0..2 {
            let known = if was_seen { mine } else { theirs };
            assert_eq!(table.file("a").await.now.to_string(), known, "seen before: {was_seen}");
        }
        table.world.disk.mend(Operation::Read, &path);
        let now = if was_seen { later } else { mine };
        assert_eq!(table.file("a").await.now.to_string(), now, "seen before: {was_seen}");
        // What the agent does meanwhile is later than what was seen.
        table.world.disk.fail(Operation::Read, &path, DiskError::Denied(path.clone()));
        table.edit("msg_2", "a", now, "1\nB\nC\n").await;
        let file = table.file("a").await;
        assert_eq!((&*file.now.to_string(), file.hunks.is_empty()), ("1\nB\nC\n", false));
        assert!(states(&file).iter().all(|state| *state == HunkState::Undecided), "{file:?}");
    }
}

/// Two writes within one tick of the file system's clock leave the same stamp: only once the tick is over does it tell of the later one.
#[tokio::test]
async fn a_file_that_was_written_a_moment_ago_is_read_again_whatever_its_stamp() {
    // In milliseconds; a clock may also be behind that of the file system.
    for (age, is_read) in [(0, true), (1_000, true), (-60_000, true), (10_000, false)] {
        let table = Table::new().await;
        let path = table.path("a");
        table.edit("msg_1", "a", "1\n", "B\n").await;
        let modified = table.world.ports.clock.now().0 - age;
        table.world.disk.put_stamp(&path, Stamp { modified, ..Stamp::default() });
        table.world.disk.put(&path, "mine\nB\n");
        assert_eq!(table.file("a").await.now.to_string(), "mine\nB\n");
        table.world.disk.put(&path, "more\nB\n");
        let now = if is_read { "more\nB\n" } else { "mine\nB\n" };
        assert_eq!(table.file("a").await.now.to_string(), now, "written {age} ms ago");
    }
}

#[tokio::test]
async fn nothing_that_was_changed_is_an_empty_list() {
    let table = Table::new().await;
    assert!(table.list().await.files.is_empty());
    let none = table.session.decide(&ChangesScope::LastTurn, &HunkChoice::All, Decision::Reject).await.unwrap();
    assert_eq!(none, Decided::default());
    assert!(table.told().is_empty());
    let _: &Arc<MemoryStore> = &table.world.store;
}

/// The user saves `mine` behind each of the looks at files, one time after the other, while its change is rejected: it is never lost.
async fn check_meanwhile(name: &str, before: Option<&[u8]>, after: Option<&[u8]>, mine: &'static [u8]) {
    for looks in 0.. {
        let table = Table::new().await;
        if let Some(before) = before {
            table.world.disk.put(&table.path(name), before);
        }
        table.agent("msg_1", name, before, after).await;
        let ids = table.ids(name).await;
        let is_saved = Arc::new(AtomicBool::new(false));
        let (disk, path, saved) = (table.world.disk.clone(), table.path(name), is_saved.clone());
        table.world.files.behind_looks(looks, move || {
            disk.put(&path, mine);
            saved.store(true, Ordering::SeqCst);
        });
        let decided = table.decide(&ids, Decision::Reject).await;
        if !is_saved.load(Ordering::SeqCst) {
            assert!(looks > 3, "{name}: it is looked at");
            assert_eq!((decided.hunks, table.disk(name).ok()), (ids, before.map(<[u8]>::to_vec)), "{name}");
            return;
        }
        let now = table.disk(name);
        let is_there = now.as_ref().is_ok_and(|now| now.windows(4).any(|bytes| bytes == b"mine"));
        assert!(is_there, "{name}, saved behind {looks} others: {now:?}, {decided:?}");
    }
}

#[tokio::test]
async fn c33_what_the_user_saves_while_a_change_is_rejected_is_never_lost() {
    check_meanwhile("created", None, Some(b"new\n"), b"new\nmine\n").await;
    check_meanwhile("edited", Some(b"1\n2\n3\n"), Some(b"1\nours\n3\n"), b"1\nmine\n3\n").await;
    check_meanwhile("deleted", Some(b"1\n2\n"), None, b"mine\n").await;
    check_meanwhile("bytes", Some(&[0, 1]), Some(&[0, 2]), b"\0mine").await;
    check_meanwhile("new.bytes", None, Some(&[0, 2]), b"\0mine").await;
    check_meanwhile("now.text", Some(&[0, 1]), Some(b"ours\n"), b"mine\n").await;
}

#[tokio::test]
async fn c33_what_the_user_types_while_a_change_is_rejected_is_never_lost() {
    let ours = "1\nours\n3\n";
    let cases = [("created", None), ("edited", Some("1\n2\n3\n")), ("was.bytes", Some("\0\u{1}"))];
    for (name, before) in cases {
        for looks in 0.. {
            let table = Table::new().await;
            if let Some(before) = before {
                table.world.disk.put(&table.path(name), before);
            }
            table.agent("msg_1", name, before.map(str::as_bytes), Some(ours.as_bytes())).await;
            let uri = table.open(name, 1, ours);
            let ids = table.ids(name).await;
            let is_typed = Arc::new(AtomicBool::new(false));
            let (editor, typed) = (table.editor.clone(), is_typed.clone());
            table.world.files.behind_looks(looks, move || {
                editor.types(&uri, &Typing { at: 0, text: "mine\n" });
                typed.store(true, Ordering::SeqCst);
            });
            let decided = table.decide(&ids, Decision::Reject).await;
            if !is_typed.load(Ordering::SeqCst) {
                assert!(looks > 1, "{name}: it is looked at");
                assert_eq!(decided.hunks, ids, "{name}");
                break;
            }
            let buffer = table.world.connection.overlay.by_uri(&uri_from_path(&table.path(name)));
            let buffer = buffer.map(|document| document.text.to_string()).unwrap_or_default();
            let is_whole = ["mine\n1\nours\n3\n", "mine\n1\n2\n3\n", "mine\n"].contains(&&*buffer);
            assert!(is_whole, "{name}, typed behind {looks} looks: {buffer:?}, {decided:?}");
        }
    }
}

#[tokio::test]
async fn c33_what_the_user_saves_while_a_change_is_accepted_is_his() {
    for looks in 0.. {
        let table = Table::new().await;
        table.edit("msg_1", "a", "1\n2\n3\n", "1\nours\n3\n").await;
        let ids = table.ids("a").await;
        let is_saved = Arc::new(AtomicBool::new(false));
        let (disk, path, saved) = (table.world.disk.clone(), table.path("a"), is_saved.clone());
        table.world.files.behind_looks(looks, move || {
            disk.put(&path, "1\nmine\n3\n");
            saved.store(true, Ordering::SeqCst);
        });
        let decided = table.decide(&ids, Decision::Accept).await;
        if !is_saved.load(Ordering::SeqCst) {
            assert!(looks > 3, "it is looked at");
            assert_eq!(decided.hunks, ids);
            return;
        }
        let expected = if decided.hunks == ids { HunkState::Accepted } else { HunkState::Outdated };
        assert_eq!(states(&table.file("a").await), [expected], "saved behind {looks} others: {decided:?}");
    }
}

/// While all is rejected, which waits for the editor, the user decides on another file: one of both decisions is in force, never both.
async fn check_at_once(before: Option<&str>, meanwhile: Decision) {
    let table = Table::new().await;
    table.world.disk.put(&table.path("a"), "1\n2\n");
    table.edit("msg_1", "a", "1\n2\n", "1\nB\n").await;
    table.open("a", 1, "1\nB\n");
    table.agent("msg_1", "z", before.map(str::as_bytes), Some(b"1\nB\n")).await;
    let ids = table.ids("z").await;
    let (asked, was_asked) = oneshot::channel();
    let (tell, told) = oneshot::channel();
    table.editor.will(Act::ApplyOnce { asked, told });
    let mut all = Box::pin(table.session.decide(&ChangesScope::Session, &HunkChoice::All, Decision::Reject));
    assert!(futures::poll!(&mut all).is_pending());
    was_asked.await.unwrap();
    let mut other = Box::pin(table.decide(&ids, meanwhile));
    let at_once = futures::poll!(&mut other);
    tell.send(()).unwrap();
    let all = all.await.unwrap();
    let other = match at_once {
        Poll::Ready(other) => other,
        Poll::Pending => other.await,
    };
    let case = format!("{before:?}, {meanwhile:?}: {all:?}, {other:?}");
    assert_ne!(all.hunks.contains(&ids[0]), other.hunks.contains(&ids[0]), "{case}");
    let is_accepted = meanwhile == Decision::Accept && other.hunks == ids;
    let now = if is_accepted { Some("1\nB\n") } else { before };
    assert_eq!(table.disk("z").ok().as_deref(), now.map(str::as_bytes), "{case}");
    let state = if is_accepted { HunkState::Accepted } else { HunkState::Rejected };
    let listed: Vec<_> = table.list().await.files.into_iter().flat_map(|file| file.hunks).collect();
    assert!(listed.iter().all(|hunk| hunk.id != ids[0] || hunk.state == state), "{case}: {listed:?}");
}

#[tokio::test]
async fn r4_2_of_two_decisions_at_once_one_is_in_force() {
    for before in [None, Some("1\n2\n")] {
        for meanwhile in [Decision::Accept, Decision::Reject] {
            check_at_once(before, meanwhile).await;
        }
    }
}

#[tokio::test]
async fn r4_2_what_is_accepted_between_two_looks_of_a_rejection_is_not_rejected() {
    for looks in 0.. {
        let table = Table::new().await;
        table.edit("msg_1", "a", "1\n2\n", "1\nB\n").await;
        let ids = table.ids("a").await;
        let accepted = Arc::new(Mutex::new(None));
        let (session, hunks, answer) = (table.session.clone(), HunkChoice::Hunks(ids.clone()), accepted.clone());
        table.world.files.behind_looks(looks, move || {
            let decided = session.decide(&ChangesScope::Session, &hunks, Decision::Accept).now_or_never();
            *answer.lock().unwrap() = Some(decided.map(|decided| decided.unwrap().hunks).unwrap_or_default());
        });
        let rejected = table.decide(&ids, Decision::Reject).await.hunks;
        let Some(accepted) = accepted.lock().unwrap().take() else {
            assert!(looks > 3, "it is looked at");
            return;
        };
        let both = [accepted, rejected].concat();
        assert_eq!(both, ids, "accepted or rejected behind {looks} looks");
    }
}

#[tokio::test]
async fn r4_2_a_file_is_chosen_by_any_of_its_names() {
    let table = Table::new().await;
    table.world.disk.put_folder(&table.path("real"));
    table.world.disk.put_link(&table.path("link"), table.path("real").as_path());
    for name in ["real/a", "real/b", "c"] {
        table.edit("msg_1", name, "1\n2\n", "1\nB\n").await;
    }
    table.world.disk.put(&table.path("real/o"), "o\n");
    table.agent("msg_1", "real/o", Some(b"o\n"), None).await;
    let decide = async |names: &[&str], decision| {
        let files = HunkChoice::Files(names.iter().map(|name| table.path(name)).collect());
        table.session.decide(&ChangesScope::Session, &files, decision).await.unwrap()
    };
    let ids = [table.ids("real/a").await, table.ids("real/b").await, table.ids("real/o").await];
    assert_eq!(decide(&["link/a", "link/none"], Decision::Reject).await.hunks, ids[0]);
    assert_eq!(decide(&["real/b"], Decision::Accept).await.hunks, ids[1]);
    assert_eq!(decide(&["link/o"], Decision::Reject).await.hunks, ids[2]);
    let texts = ["real/a", "real/b", "real/o", "c"].map(|name| table.text(name));
    assert_eq!(texts, ["1\n2\n", "1\nB\n", "o\n", "1\nB\n"]);
    assert_eq!(states(&table.file("c").await), [HunkState::Undecided]);
    let broken = DiskError::Denied(table.path("c"));
    table.world.disk.fail(Operation::Read, &table.path("c"), broken);
    assert_eq!(decide(&["c"], Decision::Accept).await.undecided.len(), 1, "it is chosen by the name that it has");
}

#[tokio::test]
async fn what_cannot_be_read_is_not_accepted() {
    let table = Table::new().await;
    let path = table.path("a");
    table.edit("msg_1", "a", "1\n2\n", "1\nB\n").await;
    table.edit("msg_1", "b", "1\n2\n", "1\nB\n").await;
    let (ids, other) = (table.ids("a").await, table.ids("b").await);
    let both = [ids.clone(), other.clone()].concat();
    for error in [
        DiskError::Denied(path.clone()),
        DiskError::IsDirectory(path.clone()),
        DiskError::Other { path: path.clone(), reason: "broken".to_owned() },
    ] {
        table.world.disk.fail(Operation::Read, &path, error.clone());
        let rows = table.rows().len();
        let decided = table.decide(&ids, Decision::Accept).await;
        assert_eq!((decided.hunks, table.rows().len()), (vec![], rows));
        let undecided = &decided.undecided[0];
        assert_eq!((undecided.id, undecided.why), (ids[0], WhyUndecided::Conflict));
        assert_eq!(undecided.reason, error.to_string());
    }
    assert_eq!(table.decide(&both, Decision::Accept).await.hunks, other);
    table.world.disk.mend(Operation::Read, &path);
    assert_eq!(states(&table.file("a").await), [HunkState::Undecided]);
    assert_eq!(table.decide(&ids, Decision::Accept).await.hunks, ids);
    assert_eq!(table.rows().last().unwrap().after.unwrap().hash, ContentHash::of(b"1\nB\n"));
    // That there is no file can be accepted.
    table.agent("msg_1", "o", Some(b"o\n"), None).await;
    let ids = table.ids("o").await;
    assert_eq!(table.decide(&ids, Decision::Accept).await.hunks, ids);
    assert_eq!(table.rows().last().unwrap().after, None);
}

#[tokio::test]
async fn r4_2_the_model_is_told_what_was_done_to_a_file_as_a_whole() {
    let table = Table::new().await;
    let check = async |name: &str, expected: &str| {
        let ids = table.ids(name).await;
        assert_eq!(table.decide(&ids, Decision::Reject).await.hunks, ids, "{name}");
        let told = table.told().pop().unwrap();
        assert_eq!(told.split_once('\n').unwrap().1, expected);
    };
    table.agent("msg_1", "empty", None, Some(b"")).await;
    check("empty", "- empty: removed, which you had made").await;
    table.agent("msg_1", "made.bin", None, Some(&[0, 2])).await;
    check("made.bin", "- made.bin: removed, which you had made").await;
    table.agent("msg_1", "new", None, Some(b"1\n2\n")).await;
    check("new", "- new: removed, which you had made. Yours were:\n    1\n    2").await;
    table.agent("msg_1", "bin", Some(&[0, 1]), Some(&[0, 2])).await;
    check("bin", "- bin: put back as a whole").await;
    table.agent("msg_1", "was.bin", Some(&[0, 1]), Some(b"text\n")).await;
    check("was.bin", "- was.bin: put back as a whole. Yours were:\n    text").await;
    table.agent("msg_1", "gone", Some(b"1\n2\n"), None).await;
    check("gone", "- gone: put back as a whole").await;
    table.agent("msg_1", "gone.empty", Some(b""), None).await;
    check("gone.empty", "- gone.empty: put back as a whole").await;
    table.edit("msg_1", "lines", "1\n", "1\n2\n").await;
    check("lines", "- lines, at line 2: taken out 1 line. Yours were:\n    2").await;
    table.moved("msg_1", "p", "q", "1\n", "1\n").await;
    check("q", "- q: moved back to p").await;
}

#[tokio::test]
async fn r4_2_nobody_waits_for_a_list_that_reads_files() {
    let table = Table::new().await;
    table.edit("msg_1", "a", "1\n2\n", "1\nB\n").await;
    table.edit("msg_1", "b", "1\n2\n", "1\nB\n").await;
    let is_all = Arc::new(AtomicUsize::new(0));
    for looks in 0.. {
        table.world.disk.put(&table.path("a"), format!("1\nB\n{looks}\n"));
        let (session, changes, seen) = (table.session.clone(), table.world.changes.clone(), is_all.clone());
        table.world.files.behind_looks(looks, move || {
            let news = session.context().reviews.has_news(&*changes, session.id()).now_or_never();
            let list = session.changes(&ChangesScope::Session).now_or_never();
            assert_eq!(news, Some(false), "behind {looks} looks");
            assert_eq!(list.map(|list| list.unwrap().files.len()), Some(2), "behind {looks} looks");
            seen.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(table.list().await.files.len(), 2);
        if is_all.load(Ordering::SeqCst) <= looks {
            assert!(looks > 3, "both are looked at");
            return;
        }
    }
}

/// The longest that somebody waited who asked for news while rows were replayed and listed, and how long that took.
/// The longest wait, and how long all took; `None` where nothing was asked in between.
async fn wait_beside_a_replay() -> Option<(Duration, Duration)> {
    let (table, counting) = Table::counting().await;
    let text = |of: &str| -> String { (0..2_000).map(|number| format!("{number}\n{of} {number}\n")).collect() };
    table.edit("msg_1", "a", &text("theirs"), &text("ours")).await;
    let session = table.session.clone();
    let listing = tokio::spawn(async move {
        let begun = Instant::now();
        let list = session.changes(&ChangesScope::Session).await.unwrap();
        (list.files.len(), begun.elapsed())
    });
    let (mut longest, mut answers) = (Duration::ZERO, 0);
    while !listing.is_finished() {
        let asked = Instant::now();
        table.session.context().reviews.has_news(&*counting.changes, table.session.id()).await;
        longest = longest.max(asked.elapsed());
        answers += usize::from(!listing.is_finished());
    }
    let (files, whole) = listing.await.unwrap();
    assert_eq!(files, 1);
    (answers > 1).then_some((longest, whole))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r4_2_nobody_waits_for_rows_that_are_replayed() {
    let mut waits = Vec::new();
    // A machine that is busy with others may make one wait, too, but not each time.
    for _ in 0..5 {
        match wait_beside_a_replay().await {
            Some((longest, whole)) if longest < whole / 2 => return,
            other => waits.push(other),
        }
    }
    panic!("{waits:?}");
}

#[tokio::test]
async fn many_files_are_decided_with_few_readings_of_the_rows() {
    for decision in [Decision::Accept, Decision::Reject] {
        let (table, counting) = Table::counting().await;
        for number in 0..40 {
            table.edit("msg_1", &format!("a{number}"), "1\n2\n", "1\nB\n").await;
        }
        let before = counting.lists.load(Ordering::Relaxed);
        let all = table.session.decide(&ChangesScope::Session, &HunkChoice::All, decision).await.unwrap();
        assert_eq!((all.hunks.len(), all.undecided), (40, vec![]), "{decision:?}");
        let lists = counting.lists.load(Ordering::Relaxed) - before;
        assert!(lists < 5, "{decision:?}: {lists}");
    }
}

#[tokio::test]
async fn many_hunks_are_rejected_at_once() {
    let table = Table::new().await;
    let long = "x".repeat(300);
    let text = |of: &str| -> String { (0..4000).map(|number| format!("{number}\n{of} {long}\n")).collect() };
    table.edit("msg_1", "a", &text("theirs"), &text("ours")).await;
    assert_eq!(table.ids("a").await.len(), 4000);
    let begun = Instant::now();
    let all = table.session.decide(&ChangesScope::Session, &HunkChoice::All, Decision::Reject).await.unwrap();
    assert_eq!((all.hunks.len(), table.text("a") == text("theirs")), (4000, true));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

fn last_user(request: &ModelRequest) -> String {
    let Some(ModelMessage::User(content)) = request.messages.last() else { panic!("{request:?}") };
    let text = |content: &Content| match content {
        Content::Text(text) => text.clone(),
        Content::Image(_) | Content::Pdf(_) => String::new(),
    };
    content.iter().map(text).collect()
}

trait Ends {
    fn finish_calls(&self);
    fn finish_stop(&self);
}

impl Ends for crate::testing::Reply {
    fn finish_calls(&self) {
        self.send(crate::ports::ModelEvent::Finish(Finish::ToolCalls));
    }

    fn finish_stop(&self) {
        self.send(crate::ports::ModelEvent::Finish(Finish::Stop));
    }
}
