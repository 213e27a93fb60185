//! The `Store` port on SQLite, in WAL mode: an append is a transaction that survives the daemon's death, a flush makes it survive the machine's.
//! Several daemons may share the file.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use copydesk_engine::ids::SessionId;
use copydesk_engine::message::Entry;
use copydesk_engine::ports::{BoxFuture, SessionMeta, Store, StoreError, StoredSession};
use copydesk_workspace::path::AbsPath;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior, params};

use super::owner::{Owner, Request};
use super::schema::{self, MIGRATIONS};

/// Opens its file with the first request, never before.
pub struct SqliteStore {
    owner: Owner,
}

impl SqliteStore {
    /// `path` is the file; it and its folder are made where they are missing, for the user alone.
    pub fn new(path: AbsPath) -> Self {
        Self { owner: Owner::new(path) }
    }
}

impl Store for SqliteStore {
    fn create(&self, meta: SessionMeta) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.owner.ask(|reply| Request::Create(meta, reply)))
    }

    fn append(&self, session: SessionId, entries: Vec<Entry>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.owner.ask(|reply| Request::Append(session, entries, reply)))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.owner.ask(Request::Flush))
    }

    fn load(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        Box::pin(self.owner.ask(|reply| Request::Load(session, reply)))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SessionMeta>, StoreError>> {
        Box::pin(self.owner.ask(Request::List))
    }
}

/// The open file, on its owner's thread.
pub(super) struct Database {
    connection: Connection,
    path: AbsPath,
}

impl Database {
    pub(super) fn open(path: &AbsPath) -> Result<Self, StoreError> {
        let sql_error = |error: rusqlite::Error| store_error(path, &error);
        make_private(path).map_err(|error| unusable(path, &format!("{error}; its folder must be writable")))?;
        let mut connection = Connection::open(path.as_path()).map_err(sql_error)?;
        schema::check(&connection, path, MIGRATIONS)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(sql_error)?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(sql_error)?;
        schema::migrate(&mut connection, path, MIGRATIONS)?;
        Ok(Self { connection, path: path.clone() })
    }

    /// A session that is there already stays as it is.
    pub(super) fn create(&self, meta: &SessionMeta) -> Result<(), StoreError> {
        let json = to_json(meta)?;
        self.connection
            .prepare_cached("INSERT INTO session (id, created, meta) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
            .and_then(|mut insert| insert.execute(params![meta.id.as_str(), meta.created.0, json]))
            .map_err(|error| self.error(&error))?;
        Ok(())
    }

    /// All of them or none.
    pub(super) fn append(&mut self, session: &SessionId, entries: &[Entry]) -> Result<(), StoreError> {
        let rows = entries.iter().map(row_of).collect::<Result<Vec<_>, _>>()?;
        let path = &self.path;
        let sql_error = |error: rusqlite::Error| store_error(path, &error);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql_error)?;
        {
            let next = "SELECT (SELECT max(seq) FROM entry WHERE session = ?1) FROM session WHERE id = ?1";
            let last: Option<Option<i64>> = transaction
                .prepare_cached(next)
                .and_then(|mut select| select.query_row([session.as_str()], |row| row.get(0)).optional())
                .map_err(sql_error)?;
            let last = last.ok_or_else(|| StoreError::UnknownSession(session.clone()))?.unwrap_or(0);
            let mut insert = transaction
                .prepare_cached("INSERT INTO entry (session, seq, kind, json) VALUES (?1, ?2, ?3, ?4)")
                .map_err(sql_error)?;
            for (seq, (kind, json)) in (last + 1..).zip(&rows) {
                insert.execute(params![session.as_str(), seq, kind, json]).map_err(sql_error)?;
            }
        }
        transaction.commit().map_err(sql_error)
    }

    /// A checkpoint syncs the log before it copies from it.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(|error| self.error(&error))
    }

    pub(super) fn load(&self, session: &SessionId) -> Result<StoredSession, StoreError> {
        let sql_error = |error: rusqlite::Error| self.error(&error);
        let meta: Option<String> = self
            .connection
            .prepare_cached("SELECT meta FROM session WHERE id = ?1")
            .and_then(|mut select| select.query_row([session.as_str()], |row| row.get(0)).optional())
            .map_err(sql_error)?;
        let meta = meta.ok_or_else(|| StoreError::UnknownSession(session.clone()))?;
        let meta = serde_json::from_str(&meta)
            .map_err(|error| unusable(&self.path, &format!("the row of session {session} is damaged: {error}")))?;

        // The numbers come from the index alone, and each row is read by itself: a damaged page costs its own rows, not those behind it.
        let mut numbers = self
            .connection
            .prepare_cached("SELECT seq FROM entry WHERE session = ?1 ORDER BY seq")
            .map_err(sql_error)?;
        let numbers: Vec<i64> =
            numbers.query_map([session.as_str()], |row| row.get(0)).and_then(Iterator::collect).map_err(sql_error)?;
        let mut stored = StoredSession { meta, entries: Vec::with_capacity(numbers.len()), damaged: Vec::new() };
        for number in numbers {
            match self.entry(session, number) {
                Ok(entry) => stored.entries.push(entry),
                Err(reason) => {
                    tracing::warn!(%session, row = number, reason, "a damaged row was skipped");
                    stored.damaged.push((number, reason));
                }
            }
        }
        Ok(stored)
    }

    /// A session whose own row is damaged is left out, with a warning in the log.
    pub(super) fn list(&self) -> Result<Vec<SessionMeta>, StoreError> {
        let sql_error = |error: rusqlite::Error| self.error(&error);
        let mut select = self
            .connection
            .prepare_cached("SELECT id, meta FROM session ORDER BY created DESC, id DESC")
            .map_err(sql_error)?;
        let rows: Vec<(String, String)> = select
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect)
            .map_err(sql_error)?;
        let read = |(id, meta): (String, String)| match serde_json::from_str(&meta) {
            Ok(meta) => Some(meta),
            Err(error) => {
                tracing::warn!(session = id, %error, "a damaged session was left out of the list");
                None
            }
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    fn entry(&self, session: &SessionId, number: i64) -> Result<Entry, String> {
        let select = self.connection.prepare_cached("SELECT json FROM entry WHERE session = ?1 AND seq = ?2");
        let json: String = select
            .and_then(|mut select| select.query_row(params![session.as_str(), number], |row| row.get(0)))
            .map_err(|error| error.to_string())?;
        serde_json::from_str(&json).map_err(|error| error.to_string())
    }

    fn error(&self, error: &rusqlite::Error) -> StoreError {
        store_error(&self.path, error)
    }
}

pub(super) fn store_error(path: &AbsPath, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull | ErrorCode::SystemIoFailure,
        ) => StoreError::Busy { reason: error.to_string() },
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => unusable(
            path,
            &format!("{error}. Move the file away, and a new one is made; what can be read in it stays there"),
        ),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            unusable(path, &format!("{error}; the file and its folder must be readable and writable"))
        }
        _ => unusable(path, &error.to_string()),
    }
}

/// An empty file that nobody else can read. Fails where it exists.
pub(super) fn create_private(path: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

fn make_private(path: &AbsPath) -> io::Result<()> {
    if let Some(folder) = path.as_path().parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // SQLite gives its files beside this one the same mode.
    match create_private(&path.to_string()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn row_of(entry: &Entry) -> Result<(String, String), StoreError> {
    let value = serde_json::to_value(entry).map_err(|error| StoreError::Busy { reason: error.to_string() })?;
    let kind = value.get("entry").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    Ok((kind, value.to_string()))
}

fn to_json(meta: &SessionMeta) -> Result<String, StoreError> {
    serde_json::to_string(meta).map_err(|error| StoreError::Busy { reason: error.to_string() })
}

fn unusable(path: &AbsPath, reason: &str) -> StoreError {
    StoreError::Unusable { path: path.to_string(), reason: reason.to_owned() }
}

#[cfg(test)]
#[path = "sqlite_tests.rs"]
mod tests;
