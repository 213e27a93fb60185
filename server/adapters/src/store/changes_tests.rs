//! What is kept of changes, how little it costs, and what goes first.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use copydesk_engine::ports::{Elsewhere, Lease, SessionMeta, Store as _};
use copydesk_workspace::review::HunkId;
use rusqlite::Connection;

use super::*;

const PLENTY: u64 = 1 << 30;

struct Fixture {
    temp: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> (Self, SqliteStore) {
        let fixture = Self { temp: tempfile::tempdir().unwrap() };
        let store = fixture.store();
        for id in ["ses_1", "ses_2"] {
            let folder = path("/project");
            let id = SessionId::new(id);
            let meta = SessionMeta { id, created: Millis(1), roots: vec![folder.clone()], folder };
            store.create(meta).await.unwrap();
        }
        (fixture, store)
    }

    fn path(&self) -> AbsPath {
        AbsPath::new(self.temp.path().join("copydesk.db")).unwrap()
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::new(self.path())
    }

    fn query(&self, query: &str) -> i64 {
        Connection::open(self.path().as_path()).unwrap().query_row(query, [], |row| row.get(0)).unwrap()
    }

    /// Bytes of all contents, counted two ways.
    fn kept(&self) -> i64 {
        let kept = self.query("SELECT bytes FROM kept");
        assert_eq!(kept, self.query("SELECT coalesce(sum(length(bytes)), 0) FROM file_content"));
        kept
    }
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn id(text: &str) -> SessionId {
    SessionId::new(text)
}

fn content(bytes: impl Into<Vec<u8>>) -> Option<NewContent> {
    Some(NewContent::new(bytes.into(), Some(0o644)))
}

fn change(turn: u32, before: Option<NewContent>, after: Option<NewContent>) -> NewChange {
    NewChange {
        turn: MessageId::new(format!("msg_{turn}")),
        call: Some(CallId::new("call_1")),
        at: Millis(i64::from(turn)),
        by: By::Agent,
        path: path("/project/a.rs"),
        moved_to: None,
        made_folder: None,
        before,
        after,
    }
}

/// A text of `lines` lines, one of them another in each version.
fn version(lines: usize, number: usize) -> Vec<u8> {
    let line =
        |n: usize| if n == number % lines { format!("changed {number}\n") } else { format!("line number {n}\n") };
    (0..lines).map(line).collect::<String>().into_bytes()
}

/// A text that is like no other.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(32..127)).take(len).collect()
}

async fn list(store: &SqliteStore, session: &str) -> Vec<Change> {
    Changes::list(store, id(session)).await.unwrap()
}

async fn read(store: &SqliteStore, session: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    store.content(id(session), ContentHash::of(bytes)).await.unwrap()
}

#[tokio::test]
async fn r12_1_r5_1_changes_are_there_after_a_new_start_with_their_contents() {
    let (fixture, store) = Fixture::new().await;
    let odd = AbsPath::new(OsStr::from_bytes(b"/project/caf\xe9")).unwrap();
    let moved = NewChange {
        call: None,
        by: By::Undo { of: vec![ChangeId(1), ChangeId(2)] },
        path: odd.clone(),
        moved_to: Some(path("/project/b")),
        made_folder: Some(path("/project")),
        ..change(2, content(b"\xff\xfeh\0i\0".to_vec()), content(vec![0, 1, 2, 255]))
    };
    let new = vec![change(1, None, content("one\n")), change(1, content("one\n"), None), moved];
    let ids = store.record(id("ses_1"), new, PLENTY).await.unwrap();
    assert_eq!(ids, [1, 2, 3].map(ChangeId));
    assert_eq!(store.record(id("ses_2"), vec![change(1, None, None)], PLENTY).await, Ok(vec![ChangeId(1)]));
    drop(store);

    let store = fixture.store();
    let changes = list(&store, "ses_1").await;
    assert_eq!(changes.iter().map(|change| change.id).collect::<Vec<_>>(), ids);
    let one = FileContent {
        hash: ContentHash::of(b"one\n"),
        len: 4,
        encoding: Some(TextEncoding::Utf8),
        mode: Some(0o644),
        is_kept: true,
    };
    assert_eq!((changes[0].before, changes[0].after), (None, Some(one)));
    assert_eq!((changes[1].before, changes[1].after), (Some(one), None));
    let last = &changes[2];
    assert_eq!((&last.path, last.moved_to.as_ref()), (&odd, Some(&path("/project/b"))));
    assert_eq!(last.made_folder, Some(path("/project")));
    assert_eq!(last.by, By::Undo { of: vec![ChangeId(1), ChangeId(2)] });
    assert_eq!((last.before.unwrap().encoding, last.after.unwrap().encoding), (Some(TextEncoding::Utf16Le), None));
    assert_eq!((last.turn.as_str(), &last.call, last.at), ("msg_2", &None, Millis(2)));
    for bytes in [b"one\n".as_slice(), b"\xff\xfeh\0i\0", &[0, 1, 2, 255]] {
        assert_eq!(read(&store, "ses_1", bytes).await.as_deref(), Some(bytes));
        assert_eq!(read(&store, "ses_2", bytes).await, None, "of another session");
    }
}

#[tokio::test]
async fn c35_a_hundred_edits_of_a_file_cost_little_more_than_the_file() {
    let (fixture, store) = Fixture::new().await;
    let file = version(4000, 0);
    for number in 0..100 {
        let edit = change(1, content(version(4000, number)), content(version(4000, number + 1)));
        store.record(id("ses_1"), vec![edit], PLENTY).await.unwrap();
    }
    for number in [0, 1, 31, 32, 33, 64, 65, 99, 100] {
        let bytes = version(4000, number);
        assert_eq!(read(&store, "ses_1", &bytes).await, Some(bytes), "{number}");
    }
    assert!(fixture.kept() < file.len() as i64 * 3 / 2, "{} for a file of {}", fixture.kept(), file.len());
    // What is alike across turns costs no more.
    let before = fixture.kept();
    let typed = [&version(4000, 100)[..], b"typed\n"].concat();
    let edit = change(2, content(typed), content(version(4000, 1)));
    store.record(id("ses_1"), vec![edit], PLENTY).await.unwrap();
    assert!(fixture.kept() < before + 1000, "{} after {before}", fixture.kept());
}

#[tokio::test]
async fn r5_1_what_was_not_done_after_all_is_gone_and_its_number_is_not_given_again() {
    let (_fixture, store) = Fixture::new().await;
    let ids = store.record(id("ses_1"), vec![change(1, None, content("a"))], PLENTY).await.unwrap();
    store.void(id("ses_1"), ids).await.unwrap();
    assert_eq!(list(&store, "ses_1").await, []);
    assert_eq!(store.record(id("ses_1"), vec![change(1, None, content("b"))], PLENTY).await, Ok(vec![ChangeId(2)]));
}

#[tokio::test]
async fn r5_4_the_oldest_turns_go_first_and_whole_and_what_later_ones_need_stays() {
    let (fixture, store) = Fixture::new().await;
    let texts: Vec<_> = (0..6).map(|seed| noise(seed, 10_000)).collect();
    let edit = |turn: u32, from: usize, to: usize| change(turn, content(&texts[from][..]), content(&texts[to][..]));
    store.record(id("ses_1"), vec![edit(1, 0, 1), edit(1, 1, 2)], PLENTY).await.unwrap();
    store.record(id("ses_1"), vec![edit(2, 2, 3)], PLENTY).await.unwrap();
    assert_eq!(fixture.kept(), 40_000);

    // Room for four: the first turn goes, but for the text with which the second begins.
    store.record(id("ses_1"), vec![edit(3, 3, 4)], 45_000).await.unwrap();
    let there = async |store: &SqliteStore| {
        let mut there = Vec::new();
        for (number, text) in texts.iter().enumerate() {
            if read(store, "ses_1", text).await.is_some() {
                there.push(number);
            }
        }
        there
    };
    assert_eq!(there(&store).await, [2, 3, 4]);
    let kept: Vec<_> = list(&store, "ses_1").await;
    let kept: Vec<_> =
        kept.iter().map(|change| [change.before, change.after].map(|side| side.unwrap().is_kept)).collect();
    assert_eq!(kept, [[false, false], [false, true], [true, true], [true, true]]);

    // The turn that is recorded stays, however large it is.
    store.record(id("ses_1"), vec![edit(4, 4, 5)], 1).await.unwrap();
    assert_eq!(there(&store).await, [4, 5]);
    assert_eq!(fixture.kept(), 20_000);
}

#[tokio::test]
async fn r5_4_a_difference_from_what_goes_becomes_whole() {
    let (fixture, store) = Fixture::new().await;
    let texts: Vec<_> = (0..4).map(|number| [&noise(1, 20_000)[..], &noise(10 + number, 100)].concat()).collect();
    let edit = |turn: u32, from: usize, to: usize| change(turn, content(&texts[from][..]), content(&texts[to][..]));
    let another = |turn: u32, seed: u64| NewChange {
        path: path(&format!("/project/{seed}")),
        ..change(turn, None, content(noise(seed, 20_000)))
    };
    store.record(id("ses_1"), vec![edit(1, 0, 1), another(1, 2)], PLENTY).await.unwrap();
    store.record(id("ses_1"), vec![edit(2, 1, 2)], PLENTY).await.unwrap();
    assert!(fixture.kept() < 41_000, "{}", fixture.kept());
    store.record(id("ses_1"), vec![another(3, 3)], 60_000).await.unwrap();
    assert!(fixture.kept() < 41_000, "{}", fixture.kept());
    assert_eq!(read(&store, "ses_1", &texts[0]).await, None);
    for text in &texts[1..3] {
        assert_eq!(read(&store, "ses_1", text).await.as_ref(), Some(text));
    }
}

#[tokio::test]
async fn r5_4_the_newest_turn_of_a_session_that_is_open_elsewhere_stays() {
    let (fixture, store) = Fixture::new().await;
    let record = async |store: &SqliteStore, session: &str, turn: u32, most: u64| {
        let new = change(turn, None, content(noise(u64::from(turn), 10_000)));
        store.record(id(session), vec![new], most).await.unwrap();
    };
    record(&store, "ses_1", 1, PLENTY).await;
    record(&store, "ses_1", 2, PLENTY).await;
    let other = fixture.store();
    assert_eq!(other.take(id("ses_2"), Elsewhere::TakeOver).await, Ok(Lease::Taken));
    record(&other, "ses_2", 3, 1).await;
    let is_kept = async |store: &SqliteStore, session: &str, turn: u64| {
        read(store, session, &noise(turn, 10_000)).await.is_some()
    };
    assert!(!is_kept(&other, "ses_1", 1).await);
    assert!(is_kept(&other, "ses_1", 2).await && is_kept(&other, "ses_2", 3).await);
    // Closed, it goes like any other.
    store.release(id("ses_1")).await.unwrap();
    record(&other, "ses_2", 4, 1).await;
    assert!(!is_kept(&other, "ses_1", 2).await && is_kept(&other, "ses_2", 4).await);
}

#[tokio::test]
async fn r5_4_a_session_that_is_deleted_takes_its_changes_along() {
    let (fixture, store) = Fixture::new().await;
    store.record(id("ses_1"), vec![change(1, None, content("one"))], PLENTY).await.unwrap();
    store.record(id("ses_2"), vec![change(1, None, content("two"))], PLENTY).await.unwrap();
    store.delete(id("ses_1")).await.unwrap();
    assert_eq!(list(&store, "ses_1").await, []);
    assert_eq!((read(&store, "ses_1", b"one").await, fixture.kept()), (None, 3));
    assert_eq!(list(&store, "ses_2").await.len(), 1);
}

#[tokio::test]
async fn c94_who_does_not_hold_the_session_records_nothing() {
    let (fixture, store) = Fixture::new().await;
    let other = fixture.store();
    let new = || vec![change(1, None, content("one"))];
    assert_eq!(other.record(id("ses_1"), new(), PLENTY).await, Err(StoreError::Elsewhere(id("ses_1"))));
    assert_eq!(store.record(id("gone"), new(), PLENTY).await, Err(StoreError::UnknownSession(id("gone"))));
    let ids = store.record(id("ses_1"), new(), PLENTY).await.unwrap();
    assert_eq!(other.void(id("ses_1"), ids).await, Err(StoreError::Elsewhere(id("ses_1"))));
    assert_eq!(list(&other, "ses_1").await.len(), 1, "read by all");
}

#[tokio::test]
async fn r2_5_what_is_damaged_costs_itself() {
    let (fixture, store) = Fixture::new().await;
    let texts: Vec<_> = (0..3).map(|number| version(100, number)).collect();
    for pair in texts.windows(2) {
        let edit = change(1, content(&pair[0][..]), content(&pair[1][..]));
        store.record(id("ses_1"), vec![edit], PLENTY).await.unwrap();
    }
    let connection = Connection::open(fixture.path().as_path()).unwrap();
    let damage = "UPDATE file_content SET bytes = x'81' WHERE hash = ?1";
    connection.execute(damage, [hash_key(ContentHash::of(&texts[1]))]).unwrap();
    connection.execute("UPDATE file_change SET after = 'not JSON' WHERE id = 1", []).unwrap();
    assert_eq!(read(&store, "ses_1", &texts[0]).await.as_ref(), Some(&texts[0]));
    assert_eq!(read(&store, "ses_1", &texts[1]).await, None);
    assert_eq!(read(&store, "ses_1", &texts[2]).await, None, "a difference from it");
    let left: Vec<_> = list(&store, "ses_1").await.iter().map(|change| change.id).collect();
    assert_eq!(left, [ChangeId(2)]);
}

#[tokio::test]
async fn r5_4_what_is_too_large_is_named_and_not_kept() {
    let (fixture, store) = Fixture::new().await;
    let mut large = vec![0; 9 << 20];
    large[7] = 1;
    store.record(id("ses_1"), vec![change(1, content("small"), content(&large[..]))], PLENTY).await.unwrap();
    let change = list(&store, "ses_1").await.remove(0);
    assert_eq!(change.before.map(|content| content.is_kept), Some(true));
    let after = change.after.unwrap();
    assert_eq!((after.is_kept, after.len, after.hash), (false, 9 << 20, ContentHash::of(&large)));
    assert_eq!(fixture.kept(), 5);
}

/// A file as the releases with format 4 have written it. It is never written again.
const FORMAT_4: &[u8] = include_bytes!("golden/format-4.db");

#[tokio::test]
async fn r12_1_c94_changes_of_a_file_of_format_4_are_read_whole() {
    let temp = tempfile::tempdir().unwrap();
    let file = AbsPath::new(temp.path().join("copydesk.db")).unwrap();
    fs::write(file.as_path(), FORMAT_4).unwrap();
    let store = SqliteStore::new(file);
    let changes = list(&store, "ses_1").await;
    let by: Vec<_> = changes.iter().map(|change| (change.id.0, change.by.clone())).collect();
    let of = vec![ChangeId(1), ChangeId(2)];
    let (accept, reject) = (By::Accept { hunks: [1, 2].map(HunkId).into() }, By::Reject { hunks: vec![HunkId(3)] });
    assert_eq!(by, [(1, By::Agent), (2, By::Command), (4, By::Undo { of }), (5, accept), (6, reject)]);
    for (number, change) in changes.iter().enumerate() {
        let [before, after] = [change.before, change.after].map(|content| content.unwrap());
        assert_eq!(before.hash, ContentHash::of(&version(50, number)));
        for content in [before, after] {
            let bytes = store.content(id("ses_1"), content.hash).await.unwrap().unwrap();
            assert_eq!((bytes.len() as u64, ContentHash::of(&bytes)), (content.len, content.hash));
        }
    }
    // It goes on.
    assert_eq!(store.take(id("ses_1"), Elsewhere::Leave).await, Ok(Lease::Taken));
    assert_eq!(store.record(id("ses_1"), vec![change(9, None, None)], PLENTY).await, Ok(vec![ChangeId(7)]));
}
