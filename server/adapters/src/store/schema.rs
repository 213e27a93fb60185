//! The formats of the store's file, and the way from one to the next. `user_version` holds the number of the format.

use copydesk_engine::ports::StoreError;
use copydesk_workspace::path::AbsPath;
use rusqlite::{Connection, TransactionBehavior};

use super::sqlite::store_error;

/// From format `n` to `n + 1`. A released one is never changed.
pub(super) const MIGRATIONS: &[&str] = &[FORMAT_1, FORMAT_2, FORMAT_3, FORMAT_4];

/// Rows are only added. `kind` repeats the entry's tag, for queries; `json` is the entry.
const FORMAT_1: &str = "
    CREATE TABLE session (
        id TEXT PRIMARY KEY NOT NULL,
        created INTEGER NOT NULL,
        meta TEXT NOT NULL
    ) STRICT;
    CREATE TABLE entry (
        session TEXT NOT NULL REFERENCES session (id),
        seq INTEGER NOT NULL,
        kind TEXT NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT;
";

/// Which daemon, by the name of its presence, may write a session; no row: nobody has it open.
const FORMAT_2: &str = "
    CREATE TABLE lease (
        session TEXT PRIMARY KEY NOT NULL REFERENCES session (id),
        daemon TEXT NOT NULL
    ) STRICT;
";

/// The images that a session's entries name by the hash of their bytes: rows stay small, and a session that is deleted takes its images along. An image that
/// two sessions hold stands here twice.
const FORMAT_3: &str = "
    CREATE TABLE image (
        session TEXT NOT NULL REFERENCES session (id),
        hash TEXT NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (session, hash)
    ) STRICT;
";

/// What the agent has changed. `file_change`: paths are the system's bytes, `author`, `before` and `after` JSON; a row that `is_void` was not done after all,
/// and keeps its number from being given again; one that `is_let_go` needs no content any more.
///
/// `file_content`: each once a session, by the hash of what it is when whole. `bytes` are that, or where there is a `base` (another hash of the session) the
/// difference from it; `chain` counts the bases up to a whole one. `turn` is the one that it is let go with. `kept` counts all bytes, whoever adds or
/// removes them.
const FORMAT_4: &str = "
    CREATE TABLE file_change (
        session TEXT NOT NULL REFERENCES session (id),
        id INTEGER NOT NULL,
        turn TEXT NOT NULL,
        call TEXT,
        at INTEGER NOT NULL,
        author TEXT NOT NULL,
        path BLOB NOT NULL,
        moved_to BLOB,
        made_folder BLOB,
        before TEXT,
        after TEXT,
        is_void INTEGER NOT NULL DEFAULT 0,
        is_let_go INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (session, id)
    ) STRICT;
    CREATE TABLE file_content (
        session TEXT NOT NULL REFERENCES session (id),
        hash TEXT NOT NULL,
        turn TEXT NOT NULL,
        at INTEGER NOT NULL,
        len INTEGER NOT NULL,
        base TEXT,
        chain INTEGER NOT NULL,
        size INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (session, hash)
    ) STRICT;
    CREATE INDEX file_content_turn ON file_content (session, turn, at);
    CREATE TABLE kept (bytes INTEGER NOT NULL) STRICT;
    INSERT INTO kept VALUES (0);
    CREATE TRIGGER file_content_added AFTER INSERT ON file_content BEGIN
        UPDATE kept SET bytes = bytes + new.size;
    END;
    CREATE TRIGGER file_content_removed AFTER DELETE ON file_content BEGIN
        UPDATE kept SET bytes = bytes - old.size;
    END;
    CREATE TRIGGER file_content_changed AFTER UPDATE OF size ON file_content BEGIN
        UPDATE kept SET bytes = bytes + new.size - old.size;
    END;
";

/// A file of a newer format is refused before anything in it is touched.
pub(super) fn check(connection: &Connection, path: &AbsPath, migrations: &[&str]) -> Result<usize, StoreError> {
    let found: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| store_error(path, &error))?;
    match usize::try_from(found) {
        Ok(format) if format <= migrations.len() => Ok(format),
        _ => Err(StoreError::Newer { path: path.to_string(), found, known: migrations.len() as i64 }),
    }
}

/// Brings the file to the last format, all steps or none. Of a file that holds something, a copy is made beside it before: `<file>.format-<n>`.
pub(super) fn migrate(connection: &mut Connection, path: &AbsPath, migrations: &[&str]) -> Result<(), StoreError> {
    let found = check(connection, path, migrations)?;
    if found == migrations.len() {
        return Ok(());
    }
    let sql_error = |error: rusqlite::Error| store_error(path, &error);
    if found > 0 {
        connection.execute("VACUUM INTO ?1", [new_copy(path, found)?]).map_err(sql_error)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql_error)?;
    // Another daemon may have done it since.
    for migration in &migrations[check(&transaction, path, migrations)?..] {
        transaction.execute_batch(migration).map_err(sql_error)?;
    }
    transaction.pragma_update(None, "user_version", migrations.len() as i64).map_err(sql_error)?;
    transaction.commit().map_err(sql_error)
}

/// An empty file of the user's own, which SQLite fills; earlier copies are kept.
fn new_copy(path: &AbsPath, format: usize) -> Result<String, StoreError> {
    let mut number = 0;
    loop {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let copy = format!("{path}.format-{format}{suffix}");
        match super::sqlite::create_private(&copy) {
            Ok(()) => return Ok(copy),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(StoreError::Busy { reason: format!("no copy could be made at {copy}: {error}") }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const MADE_UP: &[&str] = &[FORMAT_1, "ALTER TABLE session ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;"];

    fn count(path: &str, query: &str) -> rusqlite::Result<i64> {
        Connection::open(path).unwrap().query_row(query, [], |row| row.get(0))
    }

    #[test]
    fn r12_1_an_older_format_is_copied_then_brought_up() {
        let temp = tempfile::tempdir().unwrap();
        let path = AbsPath::new(temp.path().join("store.db")).unwrap();
        let mut connection = Connection::open(path.as_path()).unwrap();
        migrate(&mut connection, &path, &MADE_UP[..1]).unwrap();
        connection.execute("INSERT INTO session VALUES ('ses_1', 7, '{}')", []).unwrap();
        migrate(&mut connection, &path, MADE_UP).unwrap();
        migrate(&mut connection, &path, MADE_UP).unwrap();

        assert_eq!(check(&connection, &path, MADE_UP), Ok(2));
        assert_eq!(count(&path.to_string(), "SELECT count(pinned) FROM session"), Ok(1));
        let copy = format!("{path}.format-1");
        assert_eq!(count(&copy, "SELECT count(*) FROM session"), Ok(1));
        assert_eq!(count(&copy, "SELECT user_version FROM pragma_user_version"), Ok(1));
        assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!std::path::Path::new(&format!("{copy}-1")).exists(), "the second call had nothing to do");
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let path = AbsPath::new(temp.path().join("store.db")).unwrap();
        let mut connection = Connection::open(path.as_path()).unwrap();
        migrate(&mut connection, &path, MADE_UP).unwrap();
        let broken = [MADE_UP[0], MADE_UP[1], "CREATE TABLE half (a); SELECT broken;"];
        for copies in 1..=2 {
            migrate(&mut connection, &path, &broken).unwrap_err();
            assert_eq!(check(&connection, &path, &broken), Ok(2));
            assert_eq!(count(&path.to_string(), "SELECT count(*) FROM sqlite_schema WHERE name = 'half'"), Ok(0));
            // Each try leaves its copy: none is ever overwritten.
            let found = std::fs::read_dir(temp.path())
                .unwrap()
                .filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().contains(".format-2"));
            assert_eq!(found.count(), copies);
        }
    }
}
