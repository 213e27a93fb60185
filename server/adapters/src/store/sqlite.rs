//! The `Store` port on SQLite, in WAL mode: an append is a transaction that survives the daemon's death, a flush makes it survive the machine's.
//! Several daemons may share the file: each session is written by the one that its lease names, as long as that is alive.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::sync::Arc;

use copydesk_engine::ids::{Millis, SessionId};
use copydesk_engine::media::Media;
use copydesk_engine::message::Entry;
use copydesk_engine::ports::{BoxFuture, Elsewhere, Lease, ListedSession, SessionMeta, Store, StoreError, StoredPage};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Transaction, TransactionBehavior, params};
use serde::Deserialize;

use super::opening::{FileId, Opening};
use super::owner::{Owner, Request};
use super::presence::Presence;
use super::schema::{self, MIGRATIONS};

/// Opens its file with the first request, never before.
pub struct SqliteStore {
    pub(super) owner: Owner,
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

    fn keep_media(&self, session: SessionId, media: Vec<Media>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.owner.ask(|reply| Request::KeepMedia(session, media, reply)))
    }

    fn media(&self, session: SessionId, hash: ContentHash) -> BoxFuture<'_, Result<Option<Media>, StoreError>> {
        Box::pin(self.owner.ask(move |reply| Request::Media(session, hash, reply)))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.owner.ask(Request::Flush))
    }

    fn meta(&self, session: SessionId) -> BoxFuture<'_, Result<SessionMeta, StoreError>> {
        Box::pin(self.owner.ask(|reply| Request::Meta(session, reply)))
    }

    fn page(&self, session: SessionId, after: i64, limit: usize) -> BoxFuture<'_, Result<StoredPage, StoreError>> {
        Box::pin(self.owner.ask(move |reply| Request::Page(session, after, limit, reply)))
    }

    fn take(&self, session: SessionId, elsewhere: Elsewhere) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(self.owner.ask(move |reply| Request::Take(session, elsewhere, reply)))
    }

    fn release(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.owner.ask(|reply| Request::Release(session, reply)))
    }

    fn delete(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.owner.ask(|reply| Request::Delete(session, reply)))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ListedSession>, StoreError>> {
        Box::pin(self.owner.ask(Request::List))
    }

    fn first_prompt(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Entry>, StoreError>> {
        Box::pin(self.owner.ask(|reply| Request::FirstPrompt(session, reply)))
    }
}

/// The open file, on its owner's thread.
pub(super) struct Database {
    pub(super) connection: Connection,
    pub(super) path: AbsPath,
    pub(super) presence: Arc<Presence>,
    file: FileId,
}

impl Database {
    pub(super) fn open(path: &AbsPath, presence: Arc<Presence>) -> Result<Self, StoreError> {
        let sql_error = |error: rusqlite::Error| store_error(path, &error);
        make_private(path).map_err(|error| unusable(path, &format!("{error}; its folder must be writable")))?;
        // SQLite does not wait for another daemon that turns a new file to WAL in the same moment, but fails.
        let opening = Opening::begin(path).map_err(|error| unusable(path, &error.to_string()))?;
        let mut connection = Connection::open(path.as_path()).map_err(sql_error)?;
        schema::check(&connection, path, MIGRATIONS)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(sql_error)?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(sql_error)?;
        schema::migrate(&mut connection, path, MIGRATIONS)?;
        let file = opening.end().map_err(|error| unusable(path, &error.to_string()))?;
        Ok(Self { connection, path: path.clone(), presence, file })
    }

    /// Whether the file that is open is the one that stands at the path: somebody may have removed it, or put another one there. A look that fails tells nothing.
    pub(super) fn is_in_place(&self) -> bool {
        match FileId::of(self.path.as_path()) {
            Ok(file) => file.is_still(self.file),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// A session that is there already stays as it is.
    pub(super) fn create(&mut self, meta: &SessionMeta) -> Result<(), StoreError> {
        let json = to_json(meta)?;
        let daemon = self.daemon()?;
        self.in_transaction(&meta.id, |transaction, session| {
            let insert = "INSERT INTO session (id, created, meta) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            let made = transaction.prepare_cached(insert)?.execute(params![session, meta.created.0, json])?;
            if made > 0 {
                transaction.prepare_cached(SET_LEASE)?.execute([session, &daemon])?;
            }
            Ok(Ok(()))
        })
    }

    /// All of them or none.
    pub(super) fn append(&mut self, session: &SessionId, entries: &[Entry]) -> Result<(), StoreError> {
        let rows = entries.iter().map(row_of).collect::<Result<Vec<_>, _>>()?;
        let daemon = self.daemon()?;
        self.in_transaction(session, |transaction, id| {
            let last = "SELECT (SELECT max(seq) FROM entry WHERE session = ?1) FROM session WHERE id = ?1";
            let last: Option<Option<i64>> =
                transaction.prepare_cached(last)?.query_row([id], |row| row.get(0)).optional()?;
            let Some(last) = last else { return Ok(Err(StoreError::UnknownSession(session.clone()))) };
            if lease(transaction, id)?.as_deref() != Some(&daemon) {
                return Ok(Err(StoreError::Elsewhere(session.clone())));
            }
            let insert = "INSERT INTO entry (session, seq, kind, json) VALUES (?1, ?2, ?3, ?4)";
            let mut insert = transaction.prepare_cached(insert)?;
            for (seq, (kind, json)) in (last.unwrap_or(0) + 1..).zip(&rows) {
                insert.execute(params![id, seq, kind, json])?;
            }
            Ok(Ok(()))
        })
    }

    pub(super) fn keep_media(&mut self, session: &SessionId, media: &[Media]) -> Result<(), StoreError> {
        let daemon = self.daemon()?;
        self.in_transaction(session, |transaction, id| {
            if !exists(transaction, id)? {
                return Ok(Err(StoreError::UnknownSession(session.clone())));
            }
            if lease(transaction, id)?.as_deref() != Some(&daemon) {
                return Ok(Err(StoreError::Elsewhere(session.clone())));
            }
            let insert = "INSERT INTO image (session, hash, bytes) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            let mut insert = transaction.prepare_cached(insert)?;
            for media in media {
                insert.execute(params![id, hash_key(media.hash()), media.bytes()])?;
            }
            Ok(Ok(()))
        })
    }

    /// One whose bytes are others than its name says is damaged.
    pub(super) fn media(&self, session: &SessionId, hash: ContentHash) -> Result<Option<Media>, StoreError> {
        let bytes: Option<Vec<u8>> = self
            .connection
            .prepare_cached("SELECT bytes FROM image WHERE session = ?1 AND hash = ?2")
            .and_then(|mut select| {
                select.query_row(params![session.as_str(), hash_key(hash)], |row| row.get(0)).optional()
            })
            .map_err(|error| self.error(&error))?;
        Ok(bytes.and_then(|bytes| Media::new(bytes).ok()).filter(|media| media.hash() == hash))
    }

    pub(super) fn take(&mut self, session: &SessionId, elsewhere: Elsewhere) -> Result<Lease, StoreError> {
        let daemon = self.daemon()?;
        let presence = Arc::clone(&self.presence);
        self.in_transaction(session, |transaction, id| {
            if !exists(transaction, id)? {
                return Ok(Err(StoreError::UnknownSession(session.clone())));
            }
            match lease(transaction, id)? {
                Some(holder) if holder == daemon => return Ok(Ok(Lease::Kept)),
                Some(holder) if elsewhere == Elsewhere::Leave => match presence.is_alive(&holder) {
                    Ok(true) => return Ok(Ok(Lease::Elsewhere)),
                    Ok(false) => {}
                    Err(error) => return Ok(Err(StoreError::Busy { reason: error.to_string() })),
                },
                Some(_) | None => {}
            }
            transaction.prepare_cached(SET_LEASE)?.execute([id, &daemon])?;
            Ok(Ok(Lease::Taken))
        })
    }

    pub(super) fn release(&mut self, session: &SessionId) -> Result<(), StoreError> {
        let daemon = self.daemon()?;
        let delete = "DELETE FROM lease WHERE session = ?1 AND daemon = ?2";
        self.connection
            .prepare_cached(delete)
            .and_then(|mut delete| delete.execute([session.as_str(), &daemon]))
            .map_err(|error| self.error(&error))?;
        Ok(())
    }

    pub(super) fn delete(&mut self, session: &SessionId) -> Result<(), StoreError> {
        match self.take(session, Elsewhere::Leave) {
            Ok(Lease::Kept | Lease::Taken) => {}
            Ok(Lease::Elsewhere) => return Err(StoreError::Elsewhere(session.clone())),
            Err(StoreError::UnknownSession(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.in_transaction(session, |transaction, id| {
            let tables = ["lease", "entry", "image", "file_change", "file_content"].map(|table| (table, "session"));
            for (table, key) in tables.into_iter().chain([("session", "id")]) {
                transaction.execute(&format!("DELETE FROM {table} WHERE {key} = ?1"), [id])?;
            }
            Ok(Ok(()))
        })
    }

    /// A checkpoint syncs the log before it copies from it.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(|error| self.error(&error))
    }

    pub(super) fn meta(&self, session: &SessionId) -> Result<SessionMeta, StoreError> {
        // As bytes: what is damaged need not be UTF-8.
        let meta: Option<Vec<u8>> = self
            .connection
            .prepare_cached("SELECT meta FROM session WHERE id = ?1")
            .and_then(|mut select| {
                select.query_row([session.as_str()], |row| Ok(row.get_ref(0)?.as_bytes()?.to_vec())).optional()
            })
            .map_err(|error| self.error(&error))?;
        let meta = meta.ok_or_else(|| StoreError::UnknownSession(session.clone()))?;
        serde_json::from_slice(&meta)
            .map_err(|error| unusable(&self.path, &format!("the row of session {session} is damaged: {error}")))
    }

    /// The numbers come from the index alone, and each row is read by itself: a damaged page costs its own rows, not those behind it.
    pub(super) fn page(&self, session: &SessionId, after: i64, limit: usize) -> Result<StoredPage, StoreError> {
        let select = "SELECT seq FROM entry WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut page = StoredPage::default();
        for number in self.numbers(select, params![session.as_str(), after, limit])? {
            page.last = Some(number);
            match self.entry(session, number) {
                Ok(entry) => page.entries.push(entry),
                Err(reason) => {
                    tracing::warn!(%session, row = number, reason, "a damaged row was skipped");
                    page.damaged.push((number, reason));
                }
            }
        }
        Ok(page)
    }

    /// A session whose own row is damaged is left out, with a warning in the log. As with rows of sessions, the ids come from the index alone, and each
    /// row is read by itself.
    pub(super) fn list(&self) -> Result<Vec<ListedSession>, StoreError> {
        let sql_error = |error: rusqlite::Error| self.error(&error);
        let mut select = self.connection.prepare_cached("SELECT id FROM session ORDER BY id").map_err(sql_error)?;
        let ids: Vec<rusqlite::Result<String>> = select.query_map([], |row| row.get(0)).map_err(sql_error)?.collect();
        let read = |id: rusqlite::Result<String>| {
            let session = id.map(SessionId::new).map_err(sql_error);
            match session.and_then(|session| self.meta(&session)) {
                Ok(meta) => Some(Ok(self.listed(meta))),
                Err(error) if error.retry() => Some(Err(error)),
                Err(error) => {
                    tracing::warn!(%error, "a damaged session was left out of the list");
                    None
                }
            }
        };
        ids.into_iter().filter_map(read).collect()
    }

    pub(super) fn first_prompt(&self, session: &SessionId) -> Result<Option<Entry>, StoreError> {
        let select = "SELECT seq FROM entry WHERE session = ?1 AND kind = 'user' ORDER BY seq";
        let numbers = self.numbers(select, [session.as_str()])?;
        Ok(numbers.into_iter().find_map(|number| self.entry(session, number).ok()))
    }

    /// What cannot be read of its rows is taken as if it were not there.
    fn listed(&self, meta: SessionMeta) -> ListedSession {
        let select =
            "SELECT json FROM entry WHERE session = ?1 AND kind IN ('user', 'turn_ended') ORDER BY seq DESC LIMIT 1";
        let last: Option<String> = self
            .connection
            .prepare_cached(select)
            .and_then(|mut select| select.query_row([meta.id.as_str()], |row| row.get(0)).optional())
            .unwrap_or_default();
        let updated = last.and_then(|json| serde_json::from_str::<Timed>(&json).ok());
        let exists = "SELECT 1 FROM entry WHERE session = ?1 AND kind = 'user'";
        let has_prompt =
            self.connection.prepare_cached(exists).and_then(|mut select| select.exists([meta.id.as_str()]));
        ListedSession {
            updated: updated.map_or(meta.created, |timed| timed.at),
            has_prompt: has_prompt.unwrap_or(true),
            meta,
        }
    }

    fn numbers(&self, select: &str, params: impl rusqlite::Params) -> Result<Vec<i64>, StoreError> {
        self.connection
            .prepare_cached(select)
            .and_then(|mut select| select.query_map(params, |row| row.get(0))?.collect())
            .map_err(|error| self.error(&error))
    }

    /// Nothing is written where `work` refuses.
    pub(super) fn in_transaction<T>(
        &mut self,
        session: &SessionId,
        work: impl FnOnce(&Transaction<'_>, &str) -> rusqlite::Result<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let path = &self.path;
        let sql_error = |error: rusqlite::Error| store_error(path, &error);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql_error)?;
        let done = work(&transaction, session.as_str()).map_err(sql_error)??;
        transaction.commit().map_err(sql_error)?;
        Ok(done)
    }

    /// The name under which this daemon holds leases.
    pub(super) fn daemon(&self) -> Result<String, StoreError> {
        self.presence
            .name()
            .map_err(|error| unusable(&self.path, &format!("{error}; the folder `daemons` beside it must be writable")))
    }

    fn entry(&self, session: &SessionId, number: i64) -> Result<Entry, String> {
        let select = self.connection.prepare_cached("SELECT json FROM entry WHERE session = ?1 AND seq = ?2");
        let json: String = select
            .and_then(|mut select| select.query_row(params![session.as_str(), number], |row| row.get(0)))
            .map_err(|error| error.to_string())?;
        serde_json::from_str(&json).map_err(|error| error.to_string())
    }

    pub(super) fn error(&self, error: &rusqlite::Error) -> StoreError {
        store_error(&self.path, error)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.is_in_place() {
            return;
        }
        tracing::warn!(path = %self.path, "the session store was removed or replaced while it was open");
        // What its log holds belongs into that file, wherever it is now. No other file has the log: whoever opens one there puts this out of the way before.
        let emptied = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        match emptied {
            Ok(false) => {}
            Ok(true) => tracing::warn!("its log is in use by another daemon, and stays"),
            Err(error) => tracing::warn!(%error, "its log stays"),
        }
    }
}

const SET_LEASE: &str = "INSERT OR REPLACE INTO lease (session, daemon) VALUES (?1, ?2)";

pub(super) fn exists(transaction: &Transaction<'_>, session: &str) -> rusqlite::Result<bool> {
    transaction.prepare_cached("SELECT 1 FROM session WHERE id = ?1")?.exists([session])
}

/// As `Debug` writes it: hexadecimal.
pub(super) fn hash_key(hash: ContentHash) -> String {
    format!("{hash:?}")
}

pub(super) fn lease(transaction: &Transaction<'_>, session: &str) -> rusqlite::Result<Option<String>> {
    let select = "SELECT daemon FROM lease WHERE session = ?1";
    transaction.prepare_cached(select)?.query_row([session], |row| row.get(0)).optional()
}

/// What is read of a row for the list.
#[derive(Deserialize)]
struct Timed {
    at: Millis,
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
