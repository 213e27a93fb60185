//! A look at the store's file from outside: neither made, nor migrated, nor repaired.

use copydesk_engine::ports::StoreError;
use copydesk_workspace::path::AbsPath;
use rusqlite::{Connection, OpenFlags};

use super::schema::{self, MIGRATIONS};
use super::sqlite::store_error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreState {
    /// The first session makes it.
    Absent,
    /// `older`: the next session brings its format up to date.
    Usable { sessions: u64, older: bool },
}

/// Blocks. A file of a newer format is an error.
pub fn inspect(path: &AbsPath) -> Result<StoreState, StoreError> {
    if !path.as_path().exists() {
        return Ok(StoreState::Absent);
    }
    let sql_error = |error: rusqlite::Error| store_error(path, &error);
    let connection =
        Connection::open_with_flags(path.as_path(), OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sql_error)?;
    let format = schema::check(&connection, path, MIGRATIONS)?;
    let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    // An empty file has no tables yet.
    let sessions = match format {
        0 => 0,
        _ => connection.query_row("SELECT count(*) FROM session", [], count).map_err(sql_error)?,
    };
    Ok(StoreState::Usable { sessions: u64::try_from(sessions).unwrap_or(0), older: format < MIGRATIONS.len() })
}
