//! What files held, each content once a session: whole, or as its difference from one that was kept before (R5.4, C35). Who needs it is not known here.

use std::collections::BTreeSet;

use copydesk_engine::ports::NewContent;
use copydesk_workspace::delta;
use copydesk_workspace::hash::ContentHash;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::eviction::hash_of;
use super::sqlite::hash_key;

/// Differences that are put on each other at most, so that the last of a thousand edits is read in a moment.
const LONGEST_CHAIN: u32 = 32;

/// Keeps contents for one turn.
pub(super) struct Keeper<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) session: &'a str,
    pub(super) turn: &'a str,
    /// Milliseconds since 1970.
    pub(super) at: i64,
}

/// A content that is there, by its key.
type Key = String;

impl Keeper<'_> {
    /// The content that the file of that path had last, as far as the session knows.
    pub(super) fn last_of(&self, path: &[u8]) -> rusqlite::Result<Option<Key>> {
        let select = "SELECT coalesce(after, before) FROM file_change
            WHERE session = ?1 AND (path = ?2 OR moved_to = ?2) ORDER BY id DESC LIMIT 1";
        let json: Option<Option<String>> = self
            .transaction
            .prepare_cached(select)?
            .query_row(params![self.session, path], |row| row.get(0))
            .optional()?;
        Ok(json.flatten().and_then(|json| hash_of(&json)).map(hash_key))
    }

    /// `like`: one that it may be the difference from. The answer is the content itself, where it is kept, else `like`.
    pub(super) fn keep(&self, content: Option<NewContent>, like: Option<Key>) -> rusqlite::Result<Option<Key>> {
        let Some((bytes, hash)) = content.and_then(|content| Some((content.bytes?, content.hash))) else {
            return Ok(like);
        };
        let key = hash_key(hash);
        if is_there(self.transaction, self.session, &key)? {
            return Ok(Some(key));
        }
        let difference = match like {
            Some(like) => self.difference(&like, &bytes)?,
            None => None,
        };
        let insert = "INSERT INTO file_content (session, hash, turn, at, len, base, chain, size, bytes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let mut insert = self.transaction.prepare_cached(insert)?;
        let (base, chain, stored) = match &difference {
            Some(Difference { base, chain, bytes }) => (Some(base), *chain, bytes.as_slice()),
            None => (None, 0, &*bytes),
        };
        let (len, size) = (bytes.len() as i64, stored.len() as i64);
        insert.execute(params![self.session, key, self.turn, self.at, len, base, chain, size, stored])?;
        Ok(Some(key))
    }

    /// `None` where the whole content is hardly more.
    fn difference(&self, like: &str, bytes: &[u8]) -> rusqlite::Result<Option<Difference>> {
        let mut base = like.to_owned();
        let Some((mut chain, mut next)) = self.link(&base)? else { return Ok(None) };
        if chain >= LONGEST_CHAIN {
            // From the whole one, with which another chain begins.
            while let Some(further) = next {
                let Some(link) = self.link(&further)? else { return Ok(None) };
                base = further;
                (chain, next) = link;
            }
        }
        let Some(old) = whole(self.transaction, self.session, &base)? else { return Ok(None) };
        let difference = delta::difference(&old, bytes);
        let is_worth_it = difference.len() < bytes.len() / 4 * 3;
        Ok(is_worth_it.then_some(Difference { base, chain: chain + 1, bytes: difference }))
    }

    /// Chain and base of a content.
    fn link(&self, key: &str) -> rusqlite::Result<Option<(u32, Option<Key>)>> {
        let select = "SELECT chain, base FROM file_content WHERE session = ?1 AND hash = ?2";
        self.transaction
            .prepare_cached(select)?
            .query_row([self.session, key], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    }
}

struct Difference {
    base: Key,
    chain: u32,
    bytes: Vec<u8>,
}

/// `None` where it is not there, or is not what its key says.
pub(super) fn whole(connection: &Connection, session: &str, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    let select = "SELECT len, base, bytes FROM file_content WHERE session = ?1 AND hash = ?2";
    let mut select = connection.prepare_cached(select)?;
    let mut differences: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut wanted = key.to_owned();
    let mut bytes = loop {
        let row = select.query_row([session, wanted.as_str()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, Vec<u8>>(2)?))
        });
        let Some((len, base, bytes)) = row.optional()? else { return Ok(None) };
        let Some(base) = base else { break bytes };
        if differences.len() > LONGEST_CHAIN as usize {
            return Ok(lost(session, key, "its chain has no end"));
        }
        differences.push((usize::try_from(len).unwrap_or(0), bytes));
        wanted = base;
    };
    for (len, difference) in differences.into_iter().rev() {
        match delta::restore(&bytes, &difference, len) {
            Ok(restored) => bytes = restored,
            Err(error) => return Ok(lost(session, key, &error.to_string())),
        }
    }
    if hash_key(ContentHash::of(&bytes)) == key {
        return Ok(Some(bytes));
    }
    Ok(lost(session, key, "its bytes are others"))
}

fn lost(session: &str, key: &str, reason: &str) -> Option<Vec<u8>> {
    tracing::warn!(session, content = key, reason, "the content of a changed file is damaged");
    None
}

/// The keys of all that is kept of a session.
pub(super) fn hashes(connection: &Connection, session: &str) -> rusqlite::Result<BTreeSet<Key>> {
    let select = "SELECT hash FROM file_content WHERE session = ?1";
    connection.prepare_cached(select)?.query_map([session], |row| row.get(0))?.collect()
}

fn is_there(connection: &Connection, session: &str, key: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM file_content WHERE session = ?1 AND hash = ?2")?.exists([session, key])
}
