//! What a run of changes comes to: chains without anybody's change in between are one change, and what hangs together by its paths is taken back together.
//! Pure; knows no contents beyond their hashes.

use std::collections::{BTreeMap, BTreeSet};

use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;

use crate::ids::MessageId;
use crate::ports::{By, Change, ChangeId, FileContent};

/// One or more changes of one file as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Net {
    pub(super) ids: Vec<ChangeId>,
    pub(super) from: AbsPath,
    /// Where the file stands afterwards; the same unless it was moved.
    pub(super) to: AbsPath,
    pub(super) made_folder: Option<AbsPath>,
    pub(super) before: Option<FileContent>,
    pub(super) after: Option<FileContent>,
}

/// In the order of the changes, grouped by the files that they share.
pub(super) fn groups<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<Vec<Net>> {
    let mut groups: Vec<(BTreeSet<AbsPath>, Vec<Net>)> = Vec::new();
    for net in composed(changes) {
        let mut paths = BTreeSet::from([net.from.clone(), net.to.clone()]);
        let mut nets = Vec::new();
        for (other_paths, other_nets) in
            groups.extract_if(.., |(other, _)| !other.is_disjoint(&paths)).collect::<Vec<_>>()
        {
            paths.extend(other_paths);
            nets.extend(other_nets);
        }
        nets.sort_by(|a: &Net, b: &Net| a.ids.cmp(&b.ids));
        nets.push(net);
        groups.push((paths, nets));
    }
    groups.into_iter().map(|(_, nets)| nets).collect()
}

fn composed<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<Net> {
    let mut nets: Vec<Net> = Vec::new();
    // Which of them had to do with a path last.
    let mut last: BTreeMap<AbsPath, usize> = BTreeMap::new();
    for change in changes {
        let (from, to) = (&change.path, change.target());
        if is_nothing(change) {
            continue;
        }
        let found = last.get(from).copied().filter(|index| {
            let net = &nets[*index];
            let follows = net.to == *from && hash(&net.after) == hash(&change.before);
            follows && (from == to || last.get(to).is_none_or(|other| other <= index))
        });
        let index = match found {
            Some(index) => {
                let net = &mut nets[index];
                net.ids.push(change.id);
                net.to = if change.after.is_some() { to.clone() } else { net.from.clone() };
                net.after = change.after;
                net.made_folder = net.made_folder.take().or_else(|| change.made_folder.clone());
                index
            }
            None => {
                nets.push(Net {
                    ids: vec![change.id],
                    from: from.clone(),
                    to: to.clone(),
                    made_folder: change.made_folder.clone(),
                    before: change.before,
                    after: change.after,
                });
                nets.len() - 1
            }
        };
        last.insert(from.clone(), index);
        last.insert(to.clone(), index);
    }
    nets
}

/// A mark that nothing of an undo could be done.
fn is_nothing(change: &Change) -> bool {
    change.before.is_none() && change.after.is_none()
}

fn hash(content: &Option<FileContent>) -> Option<ContentHash> {
    content.as_ref().map(|content| content.hash)
}

/// What the agent did, by its tools or by commands.
pub(crate) fn is_of_agent(change: &Change) -> bool {
    match change.by {
        By::Agent | By::Command => true,
        By::Undo { .. } | By::Accept { .. } | By::Reject { .. } => false,
    }
}

/// Changes that an undo has taken back which was not taken back itself.
pub(super) fn undone(changes: &[Change]) -> BTreeSet<ChangeId> {
    let mut undone = BTreeSet::new();
    for change in changes.iter().rev() {
        if let By::Undo { of } = &change.by
            && !undone.contains(&change.id)
        {
            undone.extend(of.iter().copied());
        }
    }
    undone
}

/// Turns of which something is in force, the newest first.
pub(crate) fn turns_in_force(changes: &[Change]) -> Vec<MessageId> {
    let undone = undone(changes);
    let mut turns: Vec<MessageId> = Vec::new();
    for change in changes.iter().rev().filter(|change| is_of_agent(change) && !undone.contains(&change.id)) {
        if !turns.contains(&change.turn) {
            turns.push(change.turn.clone());
        }
    }
    turns
}

/// The newest undo of the agent's changes that is in force, by the id that its rows have for a turn.
pub(crate) fn newest_undo(changes: &[Change]) -> Option<MessageId> {
    let undone = undone(changes);
    let of_agent: BTreeSet<ChangeId> =
        changes.iter().filter(|change| is_of_agent(change)).map(|change| change.id).collect();
    let is_undo = |change: &&Change| match &change.by {
        By::Undo { of } => !undone.contains(&change.id) && of.iter().any(|id| of_agent.contains(id)),
        _ => false,
    };
    changes.iter().rev().find(is_undo).map(|change| change.turn.clone())
}

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
