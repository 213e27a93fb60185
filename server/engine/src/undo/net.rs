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

/// In the order of the changes, grouped by the files that they share, and by a content that went at one path and came at another: what was moved or put aside by a
/// command is found as these two. What is overwritten goes as well. Files that came stand before the others, since a file or folder that goes may stand in the way of one that comes back.
pub(super) fn groups<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<Vec<Net>> {
    let nets = composed(changes);
    let mut groups = Groups { parents: (0..nets.len()).collect() };
    let (mut by_path, mut gone, mut came) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (index, net) in nets.iter().enumerate() {
        for path in [&net.from, &net.to] {
            groups.join(index, *by_path.entry(path).or_insert(index));
        }
        if net.is_other_content() {
            for (content, sides) in [(&net.before, &mut gone), (&net.after, &mut came)] {
                if let Some(content) = filled(content) {
                    sides.entry(content).or_insert_with(Vec::new).push(index);
                }
            }
        }
    }
    for (content, gone) in &gone {
        let Some(came) = came.get(content) else { continue };
        for index in gone.iter().chain(came) {
            groups.join(*index, gone[0]);
        }
    }
    let mut parted: BTreeMap<usize, Vec<Net>> = BTreeMap::new();
    for (index, net) in nets.into_iter().enumerate() {
        parted.entry(groups.first(index)).or_default().push(net);
    }
    let mut parted: Vec<Vec<Net>> = parted.into_values().collect();
    parted.sort_by_key(|group| !group.iter().all(|net| net.before.is_none()));
    parted
}

impl Net {
    /// What was there is not there any more, whatever came instead.
    pub(super) fn is_other_content(&self) -> bool {
        hash(&self.before) != hash(&self.after)
    }
}

/// Of what more than one file may hold by chance, and nobody misses, none.
pub(super) fn filled(content: &Option<FileContent>) -> Option<ContentHash> {
    content.as_ref().filter(|content| content.len > 0).map(|content| content.hash)
}

/// Which nets hang together, each by one before it or itself.
struct Groups {
    parents: Vec<usize>,
}

impl Groups {
    fn first(&mut self, index: usize) -> usize {
        let mut at = index;
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.parents[one.max(other)] = one.min(other);
    }
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
                // An edit in the editor knows no mode, and leaves it as it is.
                if let (Some(first), Some(next)) = (&mut net.before, &change.before) {
                    first.mode = first.mode.or(next.mode);
                }
                let mode = net.after.and_then(|after| after.mode);
                net.after = change.after.map(|after| FileContent { mode: after.mode.or(mode), ..after });
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
pub(super) fn is_nothing(change: &Change) -> bool {
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

/// The rows of the newest undo that is in force, whatever it was of.
pub(crate) fn rows_of_newest_undo(changes: &[Change]) -> Vec<&Change> {
    let undone = undone(changes);
    let is_in_force = |change: &&Change| matches!(change.by, By::Undo { .. }) && !undone.contains(&change.id);
    let newest = changes.iter().rev().find(is_in_force);
    changes
        .iter()
        .filter(|change| newest.is_some_and(|newest| change.turn == newest.turn) && is_in_force(change))
        .collect()
}

/// The agent's changes of a turn, and what of them was taken back alone.
pub(crate) fn of_turn<'a>(changes: &'a [Change], turn: &MessageId) -> Vec<&'a Change> {
    let undone = undone(changes);
    let is_of_turn = |change: &Change| is_of_agent(change) && change.turn == *turn;
    let ids: BTreeSet<ChangeId> = changes.iter().filter(|change| is_of_turn(change)).map(|change| change.id).collect();
    let is_undo = |change: &Change| match &change.by {
        By::Undo { of } => !undone.contains(&change.id) && !of.is_empty() && of.iter().all(|id| ids.contains(id)),
        By::Agent | By::Command | By::Accept { .. } | By::Reject { .. } => false,
    };
    changes.iter().filter(|change| is_of_turn(change) || is_undo(change)).collect()
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

/// The newest undo of the agent's changes that is in force and has changed something, by the id that its rows have for a turn.
pub(crate) fn newest_undo(changes: &[Change]) -> Option<MessageId> {
    let undone = undone(changes);
    let of_agent: BTreeSet<ChangeId> =
        changes.iter().filter(|change| is_of_agent(change)).map(|change| change.id).collect();
    let is_undo = |change: &&Change| match &change.by {
        By::Undo { of } => {
            !is_nothing(change) && !undone.contains(&change.id) && of.iter().any(|id| of_agent.contains(id))
        }
        _ => false,
    };
    changes.iter().rev().find(is_undo).map(|change| change.turn.clone())
}

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
