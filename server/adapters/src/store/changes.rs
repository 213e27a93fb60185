//! The `Changes` port on the same file as the sessions: rows of what the agent has changed. How their contents are kept is `contents`'s, how they are let go
//! `eviction`'s.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use copydesk_engine::ids::{CallId, MessageId, Millis, SessionId};
use copydesk_engine::ports::{
    BoxFuture, By, Change, ChangeId, Changes, FileContent, NewChange, NewContent, StoreError,
};
use copydesk_workspace::encoding::TextEncoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

use super::contents::{Keeper, hashes};
use super::eviction;
use super::owner::Request;
use super::sqlite::{Database, SqliteStore, exists, hash_key, lease};

impl Changes for SqliteStore {
    fn record(
        &self,
        session: SessionId,
        changes: Vec<NewChange>,
        most_kept: u64,
    ) -> BoxFuture<'_, Result<Vec<ChangeId>, StoreError>> {
        Box::pin(self.owner.ask(move |reply| Request::RecordChanges(session, changes, most_kept, reply)))
    }

    fn void(&self, session: SessionId, changes: Vec<ChangeId>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.owner.ask(move |reply| Request::VoidChanges(session, changes, reply)))
    }

    fn list(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        Box::pin(self.owner.ask(move |reply| Request::Changes(session, reply)))
    }

    fn content(&self, session: SessionId, hash: ContentHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(self.owner.ask(move |reply| Request::Content(session, hash, reply)))
    }
}

/// `before` or `after` as it stands in its row.
#[derive(Serialize, Deserialize)]
struct StoredContent {
    hash: ContentHash,
    len: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<TextEncoding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<u32>,
}

impl Database {
    pub(super) fn record_changes(
        &mut self,
        session: &SessionId,
        changes: Vec<NewChange>,
        most_kept: u64,
    ) -> Result<Vec<ChangeId>, StoreError> {
        let daemon = self.daemon()?;
        let presence = std::sync::Arc::clone(&self.presence);
        let rows = changes.iter().map(texts_of).collect::<Result<Vec<_>, _>>()?;
        self.in_transaction(session, |transaction, id| {
            if !exists(transaction, id)? {
                return Ok(Err(StoreError::UnknownSession(session.clone())));
            }
            if lease(transaction, id)?.as_deref() != Some(&daemon) {
                return Ok(Err(StoreError::Elsewhere(session.clone())));
            }
            let last = "SELECT coalesce(max(id), 0) FROM file_change WHERE session = ?1";
            let last: i64 = transaction.prepare_cached(last)?.query_row([id], |row| row.get(0))?;
            let insert = "INSERT INTO file_change (session, id, turn, call, at, author, path, moved_to, made_folder,
                before, after) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
            let mut insert = transaction.prepare_cached(insert)?;
            let mut ids = Vec::with_capacity(rows.len());
            let mut turns = BTreeSet::new();
            for (number, (change, texts)) in (last + 1..).zip(changes.into_iter().zip(rows)) {
                let NewChange { turn, call, at, path, moved_to, made_folder, before, after, .. } = change;
                let keeper = Keeper { transaction, session: id, turn: turn.as_str(), at: at.0 };
                // Before its own row stands there.
                let like = keeper.last_of(bytes_of(&path))?;
                let like = keeper.keep(before, like)?;
                keeper.keep(after, like)?;
                insert.execute(params![
                    id,
                    number,
                    turn.as_str(),
                    call.as_ref().map(CallId::as_str),
                    at.0,
                    texts.author,
                    bytes_of(&path),
                    moved_to.as_ref().map(bytes_of),
                    made_folder.as_ref().map(bytes_of),
                    texts.before,
                    texts.after,
                ])?;
                ids.push(ChangeId(number));
                turns.insert(turn.as_str().to_owned());
            }
            eviction::make_room(transaction, most_kept, id, &turns, &presence)?;
            Ok(Ok(ids))
        })
    }

    pub(super) fn void_changes(&mut self, session: &SessionId, changes: &[ChangeId]) -> Result<(), StoreError> {
        let daemon = self.daemon()?;
        self.in_transaction(session, |transaction, id| {
            if lease(transaction, id)?.as_deref() != Some(&daemon) {
                return Ok(Err(StoreError::Elsewhere(session.clone())));
            }
            let update = "UPDATE file_change SET is_void = 1 WHERE session = ?1 AND id = ?2";
            let mut update = transaction.prepare_cached(update)?;
            for change in changes {
                update.execute(params![id, change.0])?;
            }
            Ok(Ok(()))
        })
    }

    /// As with the entries, the numbers come from the index alone, and each row is read by itself.
    pub(super) fn changes(&self, session: &SessionId) -> Result<Vec<Change>, StoreError> {
        let sql_error = |error: rusqlite::Error| self.error(&error);
        let kept = hashes(&self.connection, session.as_str()).map_err(sql_error)?;
        let numbers = "SELECT id FROM file_change WHERE session = ?1 ORDER BY id";
        let numbers: Vec<i64> = self
            .connection
            .prepare_cached(numbers)
            .and_then(|mut select| select.query_map([session.as_str()], |row| row.get(0))?.collect())
            .map_err(sql_error)?;
        let select = "SELECT id, turn, call, at, author, path, moved_to, before, after, made_folder FROM file_change
            WHERE session = ?1 AND id = ?2 AND is_void = 0";
        let mut select = self.connection.prepare_cached(select).map_err(sql_error)?;
        let mut changes = Vec::with_capacity(numbers.len());
        for number in numbers {
            match select.query_row(params![session.as_str(), number], |row| Ok(change_of(row, &kept))) {
                Ok(Ok(change)) => changes.push(change),
                Err(rusqlite::Error::QueryReturnedNoRows) => {}
                Ok(Err(reason)) => tracing::warn!(%session, row = number, reason, "a damaged change was left out"),
                Err(error) => tracing::warn!(%session, row = number, %error, "a damaged change was left out"),
            }
        }
        Ok(changes)
    }

    pub(super) fn content(&self, session: &SessionId, hash: ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        super::contents::whole(&self.connection, session.as_str(), &hash_key(hash)).map_err(|error| self.error(&error))
    }
}

/// What of a row is JSON.
struct Texts {
    author: String,
    before: Option<String>,
    after: Option<String>,
}

fn texts_of(change: &NewChange) -> Result<Texts, StoreError> {
    fn json(value: &impl Serialize) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|error| StoreError::Busy { reason: error.to_string() })
    }
    let content = |content: &Option<NewContent>| {
        let stored = content.as_ref().map(|NewContent { hash, len, encoding, mode, .. }| StoredContent {
            hash: *hash,
            len: *len,
            encoding: *encoding,
            mode: *mode,
        });
        stored.as_ref().map(json).transpose()
    };
    Ok(Texts { author: json(&change.by)?, before: content(&change.before)?, after: content(&change.after)? })
}

fn change_of(row: &Row<'_>, kept: &BTreeSet<String>) -> Result<Change, String> {
    fn get<T: rusqlite::types::FromSql>(row: &Row<'_>, column: usize) -> Result<T, String> {
        row.get(column).map_err(|error| error.to_string())
    }
    let content = |column: usize| -> Result<Option<FileContent>, String> {
        let Some(json) = get::<Option<String>>(row, column)? else { return Ok(None) };
        let StoredContent { hash, len, encoding, mode } =
            serde_json::from_str(&json).map_err(|error| error.to_string())?;
        Ok(Some(FileContent { hash, len, encoding, mode, is_kept: kept.contains(&hash_key(hash)) }))
    };
    let by: By = serde_json::from_str(&get::<String>(row, 4)?).map_err(|error| error.to_string())?;
    let path = |bytes: Vec<u8>| path_of(&bytes).ok_or_else(|| "its path is not absolute".to_owned());
    Ok(Change {
        id: ChangeId(get(row, 0)?),
        turn: MessageId::new(get::<String>(row, 1)?),
        call: get::<Option<String>>(row, 2)?.map(CallId::new),
        at: Millis(get(row, 3)?),
        by,
        path: path(get(row, 5)?)?,
        moved_to: get::<Option<Vec<u8>>>(row, 6)?.map(path).transpose()?,
        made_folder: get::<Option<Vec<u8>>>(row, 9)?.map(path).transpose()?,
        before: content(7)?,
        after: content(8)?,
    })
}

fn bytes_of(path: &AbsPath) -> &[u8] {
    path.as_path().as_os_str().as_bytes()
}

fn path_of(bytes: &[u8]) -> Option<AbsPath> {
    AbsPath::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
