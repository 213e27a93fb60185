//! Keeps the contents of changed files below the size that the user has set: the oldest turns are let go, each as a whole. The rows of the changes stay.

use std::collections::{BTreeMap, BTreeSet};

use copydesk_workspace::hash::ContentHash;
use rusqlite::{Transaction, params};

use super::contents::whole;
use super::presence::Presence;
use super::sqlite::hash_key;

/// Room is made for some time: a tenth of what may be kept.
const ROOM: u64 = 10;

/// A turn of which contents are kept.
struct Kept {
    session: String,
    turn: String,
}

/// Lets turns go until at most `most` bytes are left, or nothing more may go: not those of `turns` of `session`, nor the newest turn of a session that a
/// living daemon has open.
pub(super) fn make_room(
    transaction: &Transaction<'_>,
    most: u64,
    session: &str,
    turns: &BTreeSet<String>,
    presence: &Presence,
) -> rusqlite::Result<()> {
    if kept(transaction)? <= most {
        return Ok(());
    }
    let enough = most - most / ROOM;
    for old in oldest_first(transaction)? {
        if kept(transaction)? <= enough {
            break;
        }
        let is_recorded = old.session == session && turns.contains(&old.turn);
        if is_recorded || is_newest(transaction, &old)? && is_open(transaction, &old.session, presence)? {
            continue;
        }
        let_go(transaction, &old)?;
        tracing::info!(session = old.session, turn = old.turn, "what was kept for the undo of a turn was let go");
    }
    Ok(())
}

fn kept(transaction: &Transaction<'_>) -> rusqlite::Result<u64> {
    let bytes: i64 = transaction.prepare_cached("SELECT bytes FROM kept")?.query_row([], |row| row.get(0))?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

fn oldest_first(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<Kept>> {
    let select = "SELECT session, turn FROM file_content GROUP BY session, turn ORDER BY min(at)";
    transaction
        .prepare_cached(select)?
        .query_map([], |row| Ok(Kept { session: row.get(0)?, turn: row.get(1)? }))?
        .collect()
}

fn is_newest(transaction: &Transaction<'_>, kept: &Kept) -> rusqlite::Result<bool> {
    let select = "SELECT turn FROM file_change WHERE session = ?1 ORDER BY id DESC LIMIT 1";
    let newest: String = transaction.prepare_cached(select)?.query_row([&kept.session], |row| row.get(0))?;
    Ok(newest == kept.turn)
}

/// Where it cannot be told it is.
fn is_open(transaction: &Transaction<'_>, session: &str, presence: &Presence) -> rusqlite::Result<bool> {
    let holder = super::sqlite::lease(transaction, session)?;
    Ok(holder.is_some_and(|daemon| presence.is_alive(&daemon).unwrap_or(true)))
}

/// What a later turn needs too becomes that one's, and whole where what it is the difference from goes.
fn let_go(transaction: &Transaction<'_>, old: &Kept) -> rusqlite::Result<()> {
    let heirs = needed_elsewhere(transaction, old)?;
    let select = "SELECT hash FROM file_content WHERE session = ?1 AND turn = ?2";
    let all: BTreeSet<String> = transaction
        .prepare_cached(select)?
        .query_map([&old.session, &old.turn], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let going: BTreeSet<&String> = all.iter().filter(|key| !heirs.contains_key(*key)).collect();
    let mut on_going = transaction.prepare_cached("SELECT hash FROM file_content WHERE session = ?1 AND base = ?2")?;
    for base in &going {
        let differences: Vec<String> =
            on_going.query_map([&old.session, *base], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        for key in differences.into_iter().filter(|key| !going.contains(key)) {
            make_whole(transaction, &old.session, &key)?;
        }
    }
    let mut delete = transaction.prepare_cached("DELETE FROM file_content WHERE session = ?1 AND hash = ?2")?;
    for key in &going {
        delete.execute([&old.session, *key])?;
    }
    let update = "UPDATE file_content SET turn = ?3, at = ?4 WHERE session = ?1 AND hash = ?2";
    let mut update = transaction.prepare_cached(update)?;
    for (key, (turn, at)) in heirs.iter().filter(|(key, _)| all.contains(*key)) {
        update.execute(params![old.session, key, turn, at])?;
    }
    let rows = "UPDATE file_change SET is_let_go = 1 WHERE session = ?1 AND turn = ?2";
    transaction.prepare_cached(rows)?.execute([&old.session, &old.turn])?;
    Ok(())
}

/// Contents that changes of other turns name, with the last of these turns and its time.
fn needed_elsewhere(transaction: &Transaction<'_>, old: &Kept) -> rusqlite::Result<BTreeMap<String, (String, i64)>> {
    let select = "SELECT turn, at, before, after FROM file_change
        WHERE session = ?1 AND turn <> ?2 AND is_void = 0 AND is_let_go = 0 ORDER BY id";
    let mut select = transaction.prepare_cached(select)?;
    let mut rows = select.query([&old.session, &old.turn])?;
    let mut needed = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (turn, at): (String, i64) = (row.get(0)?, row.get(1)?);
        for column in [2, 3] {
            let json: Option<String> = row.get(column)?;
            let Some(hash) = json.as_deref().and_then(hash_of) else { continue };
            needed.insert(hash_key(hash), (turn.clone(), at));
        }
    }
    Ok(needed)
}

/// Of a content in a row.
pub(super) fn hash_of(json: &str) -> Option<ContentHash> {
    #[derive(serde::Deserialize)]
    struct Named {
        hash: ContentHash,
    }
    serde_json::from_str::<Named>(json).ok().map(|named| named.hash)
}

/// One that is damaged stays so.
fn make_whole(transaction: &Transaction<'_>, session: &str, key: &str) -> rusqlite::Result<()> {
    let Some(bytes) = whole(transaction, session, key)? else { return Ok(()) };
    let update =
        "UPDATE file_content SET base = NULL, chain = 0, size = ?3, bytes = ?4 WHERE session = ?1 AND hash = ?2";
    transaction.prepare_cached(update)?.execute(params![session, key, bytes.len() as i64, bytes])?;
    Ok(())
}
