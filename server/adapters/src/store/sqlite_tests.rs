#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use copydesk_engine::ids::{MessageId, Millis, PartId};
use copydesk_engine::image::Image;
use copydesk_engine::testing::{pdf, png};

use super::*;

struct Fixture {
    temp: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> AbsPath {
        AbsPath::new(self.temp.path().join("data/copydesk.db")).unwrap()
    }

    /// As a daemon that starts.
    fn store(&self) -> SqliteStore {
        SqliteStore::new(self.path())
    }

    /// Waits until the last daemon has closed the file: SQLite then removes the log beside it.
    fn closed(&self, store: SqliteStore) -> Connection {
        drop(store);
        let log = format!("{}-wal", self.path());
        while std::path::Path::new(&log).exists() {
            std::thread::yield_now();
        }
        Connection::open(self.path().as_path()).unwrap()
    }
}

/// What there is of the session, and the rows that are damaged, read in small pages.
async fn load(store: &SqliteStore, id: SessionId) -> Result<StoredPage, StoreError> {
    store.meta(id.clone()).await?;
    let mut all = StoredPage { last: Some(0), ..StoredPage::default() };
    loop {
        let page = store.page(id.clone(), all.last.unwrap(), 2).await?;
        let Some(last) = page.last else { return Ok(all) };
        all.last = Some(last);
        all.entries.extend(page.entries);
        all.damaged.extend(page.damaged);
    }
}

/// A store that may write the session.
async fn taken(fixture: &Fixture, id: SessionId) -> SqliteStore {
    let store = fixture.store();
    assert_eq!(store.take(id, Elsewhere::Leave).await, Ok(Lease::Taken));
    store
}

async fn listed(store: &SqliteStore) -> Vec<SessionMeta> {
    let mut listed: Vec<_> = store.list().await.unwrap().into_iter().map(|listed| listed.meta).collect();
    listed.sort_by_key(|meta| std::cmp::Reverse(meta.created));
    listed
}

fn meta(id: &str, created: i64) -> SessionMeta {
    let folder = AbsPath::new("/project").unwrap();
    SessionMeta { id: SessionId::new(id), created: Millis(created), roots: vec![folder.clone()], folder }
}

fn text(number: usize) -> Entry {
    text_of(format!("text {number}\n"))
}

fn text_of(text: String) -> Entry {
    Entry::Text { message: MessageId::new("msg_1"), part: PartId::new("prt_1"), text }
}

fn id() -> SessionId {
    SessionId::new("ses_1")
}

#[tokio::test]
async fn c94_a_daemon_waits_while_another_makes_the_store() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path().parent().unwrap().as_path()).unwrap();
    let other = fs::File::create(format!("{}.opening", fixture.path())).unwrap();
    other.lock().unwrap();
    let store = fixture.store();
    let mut made = std::pin::pin!(store.create(meta("ses_1", 1)));
    let early = tokio::time::timeout(std::time::Duration::from_millis(300), &mut made).await;
    assert!(early.is_err(), "{early:?}");
    drop(other);
    assert_eq!(made.await, Ok(()));
}

#[tokio::test]
async fn r12_1_what_was_appended_is_there_after_a_new_start() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    store.create(meta("ses_2", 2)).await.unwrap();
    let odd = text_of("NUL \0, quotes \"'\\, \u{2028}, 😀".to_owned());
    store.append(id(), vec![text(1), text(2)]).await.unwrap();
    store.append(id(), Vec::new()).await.unwrap();
    store.append(SessionId::new("ses_2"), vec![odd.clone()]).await.unwrap();
    store.append(id(), vec![text(3)]).await.unwrap();
    for store in [store, fixture.store()] {
        let expected = StoredPage { entries: (1..=3).map(text).collect(), damaged: vec![], last: Some(3) };
        assert_eq!(load(&store, id()).await, Ok(expected));
        assert_eq!(load(&store, SessionId::new("ses_2")).await.unwrap().entries, std::slice::from_ref(&odd));
        assert_eq!(listed(&store).await, [meta("ses_2", 2), meta("ses_1", 1)]);
    }
}

#[tokio::test]
async fn r12_1_a_flush_brings_everything_into_the_file_itself() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    store.append(id(), vec![text(1)]).await.unwrap();
    store.flush().await.unwrap();
    let copy = AbsPath::new(fixture.temp.path().join("copy.db")).unwrap();
    fs::copy(fixture.path().as_path(), copy.as_path()).unwrap();
    assert_eq!(load(&SqliteStore::new(copy), id()).await.unwrap().entries, [text(1)]);
}

#[tokio::test]
async fn nothing_is_opened_before_the_first_request_and_all_is_private() {
    let fixture = Fixture::new();
    let store = fixture.store();
    assert!(!fixture.path().as_path().exists());
    store.create(meta("ses_1", 1)).await.unwrap();
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = fixture.path();
    assert_eq!(mode(&path.parent().unwrap().to_string()), 0o700);
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(&format!("{path}{suffix}")), 0o600, "{suffix}");
    }
}

#[tokio::test]
async fn sessions_are_known_by_their_ids_and_never_replaced() {
    let fixture = Fixture::new();
    let store = fixture.store();
    assert_eq!(store.list().await, Ok(Vec::new()));
    assert_eq!(load(&store, id()).await, Err(StoreError::UnknownSession(id())));
    assert_eq!(store.append(id(), vec![text(1)]).await, Err(StoreError::UnknownSession(id())));
    store.create(meta("ses_1", 1)).await.unwrap();
    store.append(id(), vec![text(1)]).await.unwrap();
    store.create(meta("ses_1", 9)).await.unwrap();
    assert_eq!(load(&store, id()).await.unwrap().entries, [text(1)]);
    assert_eq!(store.meta(id()).await, Ok(meta("ses_1", 1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c94_two_daemons_share_one_file() {
    let fixture = Fixture::new();
    let write = async |name: &'static str| {
        let store = fixture.store();
        store.create(meta(name, 1)).await.unwrap();
        for number in 0..50 {
            store.append(SessionId::new(name), vec![text(number)]).await.unwrap();
        }
    };
    tokio::join!(write("ses_1"), write("ses_2"));
    for name in ["ses_1", "ses_2"] {
        let entries = load(&fixture.store(), SessionId::new(name)).await.unwrap().entries;
        assert_eq!(entries, (0..50).map(text).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn r2_5_c94_damaged_rows_are_skipped_and_named() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    store.append(id(), (1..=9).map(text).collect()).await.unwrap();
    let connection = fixture.closed(store);
    let set = |seq: i64, json: &dyn rusqlite::ToSql| {
        connection.execute("UPDATE entry SET json = ?2 WHERE seq = ?1", params![seq, json]).unwrap();
    };
    set(2, &r#"{"entry": "text", "message""#);
    // A kind that a newer release of the same format has added.
    set(3, &r#"{"entry": "hologram", "at": 3}"#);
    // A number as a string, and a diff without its path.
    set(7, &r#"{"entry": "turn_ended", "at": "7", "reason": {"type": "done"}}"#);
    set(
        8,
        &r#"{"entry": "tool_result", "call": "call_1", "at": 8, "result": {"status": "completed", "text": "", "title": "",
            "diffs": [{"before": null, "after": "x"}]}}"#,
    );
    connection.execute("UPDATE entry SET json = CAST(x'ff7b' AS TEXT) WHERE seq = 5", []).unwrap();
    drop(connection);

    let store = taken(&fixture, id()).await;
    let stored = load(&store, id()).await.unwrap();
    assert_eq!(stored.entries, [text(1), text(4), text(6), text(9)]);
    assert_eq!(stored.damaged.iter().map(|(row, _)| *row).collect::<Vec<_>>(), [2, 3, 5, 7, 8]);
    assert!(stored.damaged[1].1.contains("hologram"), "{:?}", stored.damaged);
    // They stay, and the session goes on behind them.
    store.append(id(), vec![text(10)]).await.unwrap();
    let again = load(&store, id()).await.unwrap();
    assert_eq!((again.entries.len(), again.damaged), (5, stored.damaged));
}

#[tokio::test]
async fn r2_5_c94_a_damaged_page_costs_its_own_rows() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    let long = text_of("needle ".repeat(10_000));
    store.append(id(), vec![text(1), long, text(3)]).await.unwrap();
    let connection = fixture.closed(store);
    let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
    connection.close().unwrap();

    let mut bytes = fs::read(fixture.path().as_path()).unwrap();
    let needles: Vec<_> = bytes.windows(7).enumerate().filter(|(_, bytes)| *bytes == b"needle ").collect();
    // A page in the middle of the text begins with the number of the next one.
    let start = needles[needles.len() / 2].0 / page as usize * page as usize;
    bytes[start..start + 4].copy_from_slice(&[0xff; 4]);
    fs::write(fixture.path().as_path(), bytes).unwrap();

    let stored = load(&fixture.store(), id()).await.unwrap();
    assert_eq!(stored.entries, [text(1), text(3)]);
    assert_eq!(stored.damaged.iter().map(|(row, _)| *row).collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn r2_5_c94_a_damaged_session_does_not_hide_the_others() {
    for damage in ["'{'", "7", "'[]'", "''", "CAST(x'7bff7d' AS TEXT)"] {
        let fixture = Fixture::new();
        let store = fixture.store();
        store.create(meta("ses_1", 1)).await.unwrap();
        store.create(meta("ses_2", 2)).await.unwrap();
        let connection = fixture.closed(store);
        connection.execute(&format!("UPDATE session SET meta = {damage} WHERE id = 'ses_1'"), []).unwrap();
        drop(connection);
        let store = fixture.store();
        assert_eq!(listed(&store).await, [meta("ses_2", 2)], "{damage}");
        let loaded = load(&store, id()).await;
        assert!(matches!(&loaded, Err(StoreError::Unusable { reason, .. }) if reason.contains("ses_1")), "{loaded:?}");
    }
}

/// A file as the releases with format 1 have written it. It is never written again.
const FORMAT_1: &[u8] = include_bytes!("golden/format-1.db");

#[tokio::test]
async fn r12_1_c94_a_file_of_format_1_is_copied_and_read_whole() {
    let fixture = Fixture::new();
    let path = fixture.path();
    fs::create_dir_all(path.parent().unwrap().as_path()).unwrap();
    fs::write(path.as_path(), FORMAT_1).unwrap();
    let store = fixture.store();
    let stored = load(&store, id()).await.unwrap();
    assert_eq!(stored.damaged, []);
    // What it holds is what is written today.
    let raw = fixture.temp.path().join("raw.db");
    fs::write(&raw, FORMAT_1).unwrap();
    let raw = Connection::open(raw).unwrap();
    let mut select = raw.prepare("SELECT kind, json FROM entry WHERE session = 'ses_1' ORDER BY seq").unwrap();
    let rows: Vec<(String, String)> =
        select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(stored.entries.iter().map(|entry| row_of(entry).unwrap()).collect::<Vec<_>>(), rows);
    let mut kinds: Vec<_> = rows.iter().map(|(kind, _)| kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let all = [
        "chosen",
        "reasoning",
        "step_ended",
        "step_started",
        "text",
        "titled",
        "todos",
        "tool_call",
        "tool_result",
        "turn_ended",
        "user",
    ];
    assert_eq!(kinds, all, "every kind of entry");
    assert_eq!(listed(&store).await.iter().map(|meta| meta.id.as_str()).collect::<Vec<_>>(), ["ses_2", "ses_1"]);

    // It goes on in the format of today, and the copy is what was there.
    assert_eq!(store.take(id(), Elsewhere::Leave).await, Ok(Lease::Taken));
    store.append(id(), vec![text(1)]).await.unwrap();
    drop(fixture.closed(store));
    let copy = Connection::open(format!("{path}.format-1")).unwrap();
    let rows: i64 = copy.query_row("SELECT count(*) FROM entry", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 18);
    assert_eq!(copy.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[tokio::test]
async fn c94_a_session_is_written_by_one_daemon_and_read_by_all() {
    let fixture = Fixture::new();
    let (one, two) = (fixture.store(), fixture.store());
    one.create(meta("ses_1", 1)).await.unwrap();
    one.append(id(), vec![text(1)]).await.unwrap();
    assert_eq!(one.take(id(), Elsewhere::Leave).await, Ok(Lease::Kept));
    assert_eq!(two.take(id(), Elsewhere::Leave).await, Ok(Lease::Elsewhere));
    assert_eq!(two.append(id(), vec![text(2)]).await, Err(StoreError::Elsewhere(id())));
    assert_eq!(two.delete(id()).await, Err(StoreError::Elsewhere(id())));
    two.create(meta("ses_1", 9)).await.unwrap();
    two.release(id()).await.unwrap();
    assert_eq!(one.append(id(), vec![text(2)]).await, Ok(()), "nobody else gives it back");
    assert_eq!(load(&two, id()).await.unwrap().entries, [text(1), text(2)]);

    assert_eq!(two.take(id(), Elsewhere::TakeOver).await, Ok(Lease::Taken));
    assert_eq!(one.append(id(), vec![text(3)]).await, Err(StoreError::Elsewhere(id())));
    two.append(id(), vec![text(3)]).await.unwrap();
    assert_eq!(one.take(id(), Elsewhere::Leave).await, Ok(Lease::Elsewhere));

    two.release(id()).await.unwrap();
    assert_eq!(one.take(id(), Elsewhere::Leave).await, Ok(Lease::Taken));
    assert_eq!(two.delete(id()).await, Err(StoreError::Elsewhere(id())));
    one.delete(id()).await.unwrap();
    one.delete(id()).await.unwrap();
    assert_eq!(load(&two, id()).await, Err(StoreError::UnknownSession(id())));
    assert_eq!(two.take(id(), Elsewhere::TakeOver).await, Err(StoreError::UnknownSession(id())));
    assert_eq!(two.list().await, Ok(vec![]));
}

#[tokio::test]
async fn r12_3_the_list_tells_when_a_session_was_used_and_its_first_prompt() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let user = |number: i64| Entry::User {
        message: MessageId::new("msg_1"),
        at: Millis(number),
        agent: "build".to_owned(),
        parts: vec![copydesk_engine::message::PromptPart::Text { text: number.to_string() }],
    };
    let ended = |number| Entry::TurnEnded { at: Millis(number), reason: copydesk_engine::message::TurnEnd::Done };
    for (name, entries) in [("ses_1", vec![]), ("ses_2", vec![user(5), text(1), ended(8), text(2)])] {
        store.create(meta(name, 3)).await.unwrap();
        store.append(SessionId::new(name), entries).await.unwrap();
    }
    let mut listed = store.list().await.unwrap();
    listed.sort_by_key(|listed| listed.updated);
    let expected =
        |name, updated, has_prompt| ListedSession { meta: meta(name, 3), updated: Millis(updated), has_prompt };
    assert_eq!(listed, [expected("ses_1", 3, false), expected("ses_2", 8, true)]);
    assert_eq!(store.first_prompt(id()).await, Ok(None));
    assert_eq!(store.first_prompt(SessionId::new("ses_2")).await, Ok(Some(user(5))));
}

#[tokio::test]
async fn r12_1_images_and_documents_are_kept_with_their_session_and_go_with_it() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let (one, two) = (Media::from(png(1, 1)), Media::Pdf(pdf(2)));
    let other = SessionId::new("ses_2");
    assert_eq!(store.keep_media(id(), vec![one.clone()]).await, Err(StoreError::UnknownSession(id())));
    store.create(meta("ses_1", 1)).await.unwrap();
    store.create(meta("ses_2", 2)).await.unwrap();
    store.keep_media(id(), vec![one.clone(), two.clone()]).await.unwrap();
    store.keep_media(id(), vec![one.clone()]).await.unwrap();
    store.keep_media(other.clone(), vec![one.clone()]).await.unwrap();
    for store in [&store, &fixture.store()] {
        assert_eq!(store.media(id(), one.hash()).await, Ok(Some(one.clone())));
        assert_eq!(store.media(id(), two.hash()).await, Ok(Some(two.clone())));
        assert_eq!(store.media(other.clone(), two.hash()).await, Ok(None), "it is another session's");
    }
    let elsewhere = fixture.store();
    assert_eq!(elsewhere.keep_media(id(), vec![png(3, 3).into()]).await, Err(StoreError::Elsewhere(id())));
    store.delete(id()).await.unwrap();
    assert_eq!(store.media(id(), one.hash()).await, Ok(None));
    assert_eq!(store.media(other, one.hash()).await, Ok(Some(one)));
}

#[tokio::test]
async fn r2_5_a_damaged_image_is_none() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    store.keep_media(id(), vec![png(1, 1).into(), png(2, 2).into()]).await.unwrap();
    let connection = fixture.closed(store);
    let set = |image: &Image, bytes: &[u8]| {
        let update = "UPDATE image SET bytes = ?2 WHERE hash = ?1";
        assert_eq!(connection.execute(update, params![hash_key(image.hash()), bytes]).unwrap(), 1);
    };
    set(&png(1, 1), b"nothing");
    set(&png(2, 2), png(3, 3).bytes());
    drop(connection);
    let store = fixture.store();
    assert_eq!(store.media(id(), png(1, 1).hash()).await, Ok(None));
    assert_eq!(store.media(id(), png(2, 2).hash()).await, Ok(None));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named_and_left_alone() {
    let fixture = Fixture::new();
    let path = fixture.path();
    fs::create_dir_all(path.parent().unwrap().as_path()).unwrap();
    let garbage = b"not a database. ".repeat(1000);
    fs::write(path.as_path(), &garbage).unwrap();
    let store = fixture.store();
    let error = store.create(meta("ses_1", 1)).await.unwrap_err();
    assert!(
        error.to_string().contains(&path.to_string()) && error.to_string().contains("Move the file away"),
        "{error}"
    );
    assert!(!error.retry());
    assert_eq!(fs::read(path.as_path()).unwrap(), garbage);
    // Its advice works without a new start.
    fs::rename(path.as_path(), fixture.temp.path().join("away")).unwrap();
    store.create(meta("ses_1", 1)).await.unwrap();
}

#[tokio::test]
async fn r2_5_the_log_of_a_store_that_was_replaced_spoils_neither() {
    let backup = Fixture::new();
    let store = backup.store();
    store.create(meta("ses_2", 2)).await.unwrap();
    store.append(SessionId::new("ses_2"), (0..500).map(text).collect()).await.unwrap();
    drop(backup.closed(store));
    for is_moved_away in [false, true] {
        let fixture = Fixture::new();
        let store = fixture.store();
        store.create(meta("ses_1", 1)).await.unwrap();
        store.append(id(), (0..50).map(text).collect()).await.unwrap();
        // The file alone: its log stays.
        let kept = AbsPath::new(fixture.temp.path().join("kept.db")).unwrap();
        if is_moved_away {
            fs::rename(fixture.path().as_path(), kept.as_path()).unwrap();
        }
        let copy = fixture.temp.path().join("copy");
        fs::copy(backup.path().as_path(), &copy).unwrap();
        fs::rename(&copy, fixture.path().as_path()).unwrap();
        assert_eq!(listed(&store).await, [meta("ses_2", 2)]);
        assert_eq!(load(&store, SessionId::new("ses_2")).await.unwrap().entries.len(), 500);
        let connection = fixture.closed(store);
        let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(sound, "ok");
        if is_moved_away {
            assert_eq!(load(&SqliteStore::new(kept), id()).await.unwrap().entries.len(), 50);
        }
    }
}

/// How the file of an open store goes from its place.
#[derive(Debug, Clone, Copy)]
enum Gone {
    Removed,
    Replaced,
    MovedAway,
}

fn replace(fixture: &Fixture, backup: &Fixture, gone: Gone) -> AbsPath {
    let kept = AbsPath::new(fixture.temp.path().join("kept.db")).unwrap();
    match gone {
        Gone::Removed => return fs::remove_file(fixture.path().as_path()).map(|()| kept).unwrap(),
        Gone::Replaced => {}
        Gone::MovedAway => fs::rename(fixture.path().as_path(), kept.as_path()).unwrap(),
    }
    let copy = fixture.temp.path().join("copy");
    fs::copy(backup.path().as_path(), &copy).unwrap();
    fs::rename(&copy, fixture.path().as_path()).unwrap();
    kept
}

#[tokio::test]
async fn c94_r2_5_r12_2_two_daemons_on_a_store_that_was_replaced_lose_nothing_of_the_new_one() {
    let backup = Fixture::new();
    let store = backup.store();
    store.create(meta("ses_2", 2)).await.unwrap();
    store.append(SessionId::new("ses_2"), (0..50).map(text).collect()).await.unwrap();
    drop(backup.closed(store));
    for gone in [Gone::Removed, Gone::Replaced, Gone::MovedAway] {
        // Who finds it first: one that has the old file open, or one that starts.
        for is_new in [false, true] {
            let case = format!("{gone:?} {is_new}");
            let fixture = Fixture::new();
            let (one, two) = (fixture.store(), fixture.store());
            one.create(meta("ses_1", 1)).await.unwrap();
            one.append(id(), (0..50).map(text).collect()).await.unwrap();
            if !is_new {
                assert_eq!(listed(&two).await.len(), 1);
            }
            let kept = replace(&fixture, &backup, gone);
            two.create(meta("ses_3", 3)).await.unwrap();
            two.append(SessionId::new("ses_3"), (0..200).map(text).collect()).await.unwrap();
            // Its daemon finds it now.
            let ids: Vec<_> = listed(&one).await.into_iter().map(|meta| meta.id.to_string()).collect();
            let expected: &[&str] = if matches!(gone, Gone::Removed) { &["ses_3"] } else { &["ses_3", "ses_2"] };
            assert_eq!(ids, expected, "{case}");
            two.append(SessionId::new("ses_3"), vec![text(200)]).await.unwrap();
            for store in [&one, &two] {
                let entries = load(store, SessionId::new("ses_3")).await.unwrap().entries;
                assert_eq!(entries, (0..=200).map(text).collect::<Vec<_>>(), "{case}");
            }
            // Of two that close in the same moment none removes the log.
            drop((one, two));
            let connection = Connection::open(fixture.path().as_path()).unwrap();
            let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(sound, "ok", "{case}");
            if matches!(gone, Gone::MovedAway) {
                let kept = SqliteStore::new(kept);
                assert_eq!(load(&kept, id()).await.unwrap().entries.len(), 50, "{case}");
                assert_eq!(listed(&kept).await, [meta("ses_1", 1)], "{case}");
            }
        }
    }
}

#[tokio::test]
async fn r12_1_a_store_that_was_copied_with_its_log_is_whole() {
    let (fixture, copy) = (Fixture::new(), Fixture::new());
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    store.append(id(), (0..50).map(text).collect()).await.unwrap();
    fs::create_dir_all(copy.path().parent().unwrap().as_path()).unwrap();
    for suffix in ["", "-wal", "-shm", ".opening"] {
        fs::copy(format!("{}{suffix}", fixture.path()), format!("{}{suffix}", copy.path())).unwrap();
    }
    assert!(fs::metadata(format!("{}-wal", copy.path())).unwrap().len() > 0);
    assert_eq!(load(&copy.store(), id()).await.unwrap().entries.len(), 50);
    drop(store);
}

#[tokio::test]
async fn a_torn_file_is_an_error_at_every_length() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    store.append(id(), (0..500).map(text).collect()).await.unwrap();
    drop(fixture.closed(store));
    let whole = fs::read(fixture.path().as_path()).unwrap();
    for length in [50, 100, 4096, whole.len() / 2, whole.len() - 1] {
        fs::write(fixture.path().as_path(), &whole[..length]).unwrap();
        match load(&fixture.store(), id()).await {
            Err(StoreError::Unusable { .. }) => {}
            Ok(stored) => assert!(!stored.damaged.is_empty(), "{length}"),
            Err(error) => panic!("{length}: {error}"),
        }
        assert!(fs::read(fixture.path().as_path()).unwrap().starts_with(&whole[..length.min(20)]), "{length}");
    }
}

#[tokio::test]
async fn a_newer_format_is_refused_and_not_touched() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    let connection = fixture.closed(store);
    connection.pragma_update(None, "user_version", 99).unwrap();
    connection.close().unwrap();
    let before = fs::read(fixture.path().as_path()).unwrap();
    let newer = StoreError::Newer { path: fixture.path().to_string(), found: 99, known: MIGRATIONS.len() as i64 };
    assert_eq!(fixture.store().create(meta("ses_2", 2)).await, Err(newer.clone()));
    assert_eq!(load(&fixture.store(), id()).await, Err(newer));
    assert_eq!(fs::read(fixture.path().as_path()).unwrap(), before);
}

/// Set for the process that writes until it is killed.
const WRITER: &str = "COPYDESK_TEST_WRITER";

#[tokio::test]
async fn r12_2_a_killed_daemon_loses_nothing_that_was_acknowledged() {
    if let Some(path) = std::env::var_os(WRITER) {
        return write_until_killed(AbsPath::new(path).unwrap()).await;
    }
    for kill_after in [1, 7, 40, 150] {
        let fixture = Fixture::new();
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::sqlite::tests::r12_2_a_killed_daemon_loses_nothing_that_was_acknowledged"])
            .arg("--nocapture")
            .env(WRITER, fixture.path().as_path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut acknowledged = 0;
        for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
            if let Some(number) = line.unwrap().strip_prefix("acknowledged ") {
                acknowledged = number.parse().unwrap();
                if acknowledged == kill_after {
                    writer.kill().unwrap();
                }
            }
        }
        assert!(!writer.wait().unwrap().success());
        assert!(acknowledged >= kill_after);

        let store = fixture.store();
        assert_eq!(store.take(id(), Elsewhere::Leave).await, Ok(Lease::Taken), "c95: the dead hold nothing");
        let stored = load(&store, id()).await.unwrap();
        assert_eq!(stored.damaged, []);
        assert!(stored.entries.len() >= acknowledged, "{} of {acknowledged}", stored.entries.len());
        assert_eq!(stored.entries, (1..=stored.entries.len()).map(text).collect::<Vec<_>>());
    }
}

async fn write_until_killed(path: AbsPath) {
    let store = SqliteStore::new(path);
    store.create(meta("ses_1", 1)).await.unwrap();
    for number in 1.. {
        store.append(id(), vec![text(number)]).await.unwrap();
        if number % 10 == 0 {
            store.flush().await.unwrap();
        }
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "\nacknowledged {number}").and_then(|()| stdout.flush()).unwrap();
    }
}
