//! Diffs of what the agent did, from the changes that are stored: of a turn, of a session. What the user typed is in none of them. `head` compares with version
//! control instead. Undoes nothing.

mod head;
mod lives;

use std::collections::BTreeMap;

use copydesk_workspace::diff::{self, Content, Diff, FileVersion};
use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use crate::ids::{MessageId, SessionId};
use crate::ports::{By, Change, Changes, FileContent, StoreError, VersionControlError};
use crate::review::ChangesScope;
use crate::undo::{is_of_agent, turns_in_force};

pub use head::{Sources, against_head};
use lives::{Life, lives};

/// Lines around each change.
const CONTEXT: usize = 3;

/// Each text is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    #[error("this session has no turn {0} that changed files")]
    UnknownTurn(MessageId),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    VersionControl(#[from] VersionControlError),
    #[error("a file that was changed cannot be read: {0}")]
    Unreadable(String),
}

impl DiffError {
    pub fn retry(&self) -> bool {
        match self {
            Self::UnknownTurn(_) => false,
            Self::Store(error) => error.retry(),
            Self::VersionControl(error) => error.retry(),
            Self::Unreadable(_) => true,
        }
    }
}

/// A diff with the paths of its files.
#[derive(Debug, Clone, Default)]
pub struct ChangesDiff {
    pub diff: Diff,
    /// In the order of `diff.files`: where each stands, or stood last.
    pub paths: Vec<AbsPath>,
    /// Of the agent, the oldest first, as undo takes them: the one that is shown, or those of the session of which anything is in force. None against HEAD.
    pub turns: Vec<MessageId>,
}

impl ChangesDiff {
    pub(crate) fn push(&mut self, path: &AbsPath, before: Option<&FileVersion>, after: Option<&FileVersion>) {
        if let Some(file) = diff::of_file(before, after, CONTEXT) {
            self.diff.files.push(file);
            self.paths.push(path.clone());
        }
    }
}

/// By path. Of a turn all that it did, undone or not; of a session what is left without that. `folder` is real: names of files are relative to it. Needs no
/// lease.
pub async fn stored(
    changes: &dyn Changes,
    session: &SessionId,
    scope: &ChangesScope,
    folder: &AbsPath,
) -> Result<ChangesDiff, DiffError> {
    let all = changes.list(session.clone()).await?;
    let turn = match scope {
        ChangesScope::Session => None,
        ChangesScope::Turn(turn) => Some(turn),
        ChangesScope::LastTurn => match all.iter().rfind(|row| is_of_agent(row)) {
            Some(last) => Some(&last.turn),
            None => return Ok(ChangesDiff::default()),
        },
    };
    let (turns, rows): (Vec<MessageId>, Vec<&Change>) = match turn {
        None => (turns_in_force(&all).into_iter().rev().collect(), of_session(&all).collect()),
        Some(turn) => (vec![turn.clone()], of_turn(&all, turn).collect()),
    };
    if let Some(turn) = turn.filter(|_| rows.is_empty()) {
        return Err(DiffError::UnknownTurn(turn.clone()));
    }
    let mut shown = ChangesDiff { turns, ..ChangesDiff::default() };
    for life in lives(rows) {
        let texts = texts(changes, session, &life).await?;
        let version = |path: &AbsPath, content: &Option<FileContent>, content_of: &dyn Fn(&FileContent) -> Content| {
            content.as_ref().map(|content| FileVersion {
                name: name(path, folder),
                content: content_of(content),
                mode: content.mode,
            })
        };
        let plain = |content: &FileContent| texts.content(content);
        let base = |content: &FileContent| life.base(&texts.0).map_or_else(|| plain(content), Content::Text);
        let before = version(life.from(), life.before(), &base);
        let after = version(life.path(), life.after(), &plain);
        shown.push(life.path(), before.as_ref(), after.as_ref());
    }
    Ok(shown)
}

fn of_turn<'a>(rows: &'a [Change], turn: &'a MessageId) -> impl Iterator<Item = &'a Change> {
    rows.iter().filter(move |row| is_of_agent(row) && row.turn == *turn)
}

/// To accept a change changes no file.
fn of_session(rows: &[Change]) -> impl Iterator<Item = &Change> {
    rows.iter().filter(|row| !matches!(row.by, By::Accept { .. }))
}

/// Relative, with `/`; of a file that lies elsewhere the whole path.
pub(crate) fn name(path: &AbsPath, folder: &AbsPath) -> String {
    path.relative_to(folder).unwrap_or_else(|| path.to_string())
}

/// Contents that are text and are kept.
struct Texts(BTreeMap<ContentHash, Rope>);

impl Texts {
    fn content(&self, content: &FileContent) -> Content {
        match self.0.get(&content.hash) {
            Some(text) => Content::Text(text.clone()),
            None if content.encoding.is_none() => Content::Binary(content.hash),
            None => Content::NotKept,
        }
    }
}

async fn texts(changes: &dyn Changes, session: &SessionId, life: &Life<'_>) -> Result<Texts, StoreError> {
    let mut texts = BTreeMap::new();
    for content in life.contents().filter(|content| content.is_kept && content.encoding.is_some()) {
        if texts.contains_key(&content.hash) {
            continue;
        }
        let Some(bytes) = changes.content(session.clone(), content.hash).await? else { continue };
        // What is damaged is as good as gone.
        if let Ok((text, _)) = encoding::decode(&bytes) {
            texts.insert(content.hash, Rope::from(text));
        }
    }
    Ok(Texts(texts))
}

#[cfg(test)]
#[path = "diffs_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
