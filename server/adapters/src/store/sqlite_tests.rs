#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use copydesk_engine::ids::{MessageId, Millis, PartId};

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
        let expected = StoredSession { meta: meta("ses_1", 1), entries: (1..=3).map(text).collect(), damaged: vec![] };
        assert_eq!(store.load(id()).await, Ok(expected));
        assert_eq!(store.load(SessionId::new("ses_2")).await.unwrap().entries, std::slice::from_ref(&odd));
        assert_eq!(store.list().await, Ok(vec![meta("ses_2", 2), meta("ses_1", 1)]));
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
    assert_eq!(SqliteStore::new(copy).load(id()).await.unwrap().entries, [text(1)]);
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
    assert_eq!(store.load(id()).await, Err(StoreError::UnknownSession(id())));
    assert_eq!(store.append(id(), vec![text(1)]).await, Err(StoreError::UnknownSession(id())));
    store.create(meta("ses_1", 1)).await.unwrap();
    store.append(id(), vec![text(1)]).await.unwrap();
    store.create(meta("ses_1", 9)).await.unwrap();
    let stored = store.load(id()).await.unwrap();
    assert_eq!((stored.meta, stored.entries), (meta("ses_1", 1), vec![text(1)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_daemons_share_one_file() {
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
        let entries = fixture.store().load(SessionId::new(name)).await.unwrap().entries;
        assert_eq!(entries, (0..50).map(text).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn r2_5_damaged_rows_are_skipped_and_named() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    store.append(id(), (1..=6).map(text).collect()).await.unwrap();
    let connection = fixture.closed(store);
    let set = |seq: i64, json: &dyn rusqlite::ToSql| {
        connection.execute("UPDATE entry SET json = ?2 WHERE seq = ?1", params![seq, json]).unwrap();
    };
    set(2, &r#"{"entry": "text", "message""#);
    // A kind that a newer release of the same format has added.
    set(3, &r#"{"entry": "hologram", "at": 3}"#);
    connection.execute("UPDATE entry SET json = CAST(x'ff7b' AS TEXT) WHERE seq = 5", []).unwrap();
    drop(connection);

    let store = fixture.store();
    let stored = store.load(id()).await.unwrap();
    assert_eq!(stored.entries, [text(1), text(4), text(6)]);
    assert_eq!(stored.damaged.iter().map(|(row, _)| *row).collect::<Vec<_>>(), [2, 3, 5]);
    assert!(stored.damaged[1].1.contains("hologram"), "{:?}", stored.damaged);
    // They stay, and the session goes on behind them.
    store.append(id(), vec![text(7)]).await.unwrap();
    let again = store.load(id()).await.unwrap();
    assert_eq!((again.entries.len(), again.damaged), (4, stored.damaged));
}

#[tokio::test]
async fn r2_5_a_damaged_page_costs_its_own_rows() {
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

    let stored = fixture.store().load(id()).await.unwrap();
    assert_eq!(stored.entries, [text(1), text(3)]);
    assert_eq!(stored.damaged.iter().map(|(row, _)| *row).collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn r2_5_a_damaged_session_does_not_hide_the_others() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    store.create(meta("ses_2", 2)).await.unwrap();
    let connection = fixture.closed(store);
    connection.execute("UPDATE session SET meta = '{' WHERE id = 'ses_1'", []).unwrap();
    drop(connection);
    let store = fixture.store();
    assert_eq!(store.list().await, Ok(vec![meta("ses_2", 2)]));
    assert!(matches!(store.load(id()).await, Err(StoreError::Unusable { reason, .. }) if reason.contains("ses_1")));
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
async fn a_torn_file_is_an_error_at_every_length() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.create(meta("ses_1", 1)).await.unwrap();
    store.append(id(), (0..500).map(text).collect()).await.unwrap();
    drop(fixture.closed(store));
    let whole = fs::read(fixture.path().as_path()).unwrap();
    for length in [50, 100, 4096, whole.len() / 2, whole.len() - 1] {
        fs::write(fixture.path().as_path(), &whole[..length]).unwrap();
        match fixture.store().load(id()).await {
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
    let newer = StoreError::Newer { path: fixture.path().to_string(), found: 99, known: 1 };
    assert_eq!(fixture.store().create(meta("ses_2", 2)).await, Err(newer.clone()));
    assert_eq!(fixture.store().load(id()).await, Err(newer));
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

        let stored = fixture.store().load(id()).await.unwrap();
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
