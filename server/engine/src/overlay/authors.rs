//! Tells the agent's share of a change from the user's, also where the editor shows an edit piece by piece. Knows no documents.

use copydesk_workspace::change_log::split_by_author;
use copydesk_workspace::edit::{EditSet, TextEdit};
use ropey::Rope;

/// Editors show an edit of more pieces than this in one change.
const MOST_PIECES: usize = 64;

pub(super) struct Split {
    /// Of the text before the change.
    pub(super) agents: EditSet,
    /// Of the text after `agents`.
    pub(super) users: EditSet,
    /// Of the text after the change: what of the announced edit has not come yet.
    pub(super) outstanding: Option<EditSet>,
}

/// `None` where nothing of `expected` is in `seen`; both are edits of `before`.
pub(super) fn split(before: &Rope, expected: &EditSet, seen: &EditSet) -> Option<Split> {
    if let Some(users) = split_by_author(before, expected, seen) {
        return Some(Split { agents: expected.clone(), users, outstanding: None });
    }
    let edits = expected.edits();
    if edits.len() > MOST_PIECES {
        return None;
    }
    // Editors apply a list of edits from its last to its first, so that positions stay right; some do it the other way round.
    let from_the_end = (1..edits.len()).map(|at| (&edits[at..], &edits[..at]));
    let from_the_start = (1..edits.len()).rev().map(|at| (&edits[..at], &edits[at..]));
    from_the_end.chain(from_the_start).find_map(|(come, rest)| split_piece(before, come, rest, seen))
}

fn split_piece(before: &Rope, come: &[TextEdit], rest: &[TextEdit], seen: &EditSet) -> Option<Split> {
    let agents = EditSet::new(before, come.to_vec()).ok()?;
    let users = split_by_author(before, &agents, seen)?;
    let outstanding = EditSet::new(before, rest.to_vec()).ok()?.rebase(seen).ok()?;
    Some(Split { agents, users, outstanding: Some(outstanding) })
}
