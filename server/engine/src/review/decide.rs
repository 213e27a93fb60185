//! Decisions of the user: an accepted hunk stays, a rejected one is taken out of the file as it is now, while the agent goes on. Each is stored as a row, that
//! of a rejection before the file is touched.

use std::collections::{BTreeMap, BTreeSet};

use copydesk_workspace::path::{AbsPath, DocKey};
use copydesk_workspace::review::{HunkId, HunkState, ReviewedHunk};

use super::file::FileReview;
use super::listing::{Desk, Looked, Reviews};
use super::{ChangesScope, Decided, Decision, HunkChoice, Undecided, WhyUndecided};
use crate::ports::StoreError;

/// How often a rejection is made anew because the text under it moved.
const TRIES: usize = 5;

/// A hunk that was rejected, as the model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RejectedHunk {
    pub(crate) path: AbsPath,
    /// From 1, where it stood before.
    pub(crate) line: usize,
    /// The agent's lines, which are gone.
    pub(crate) new: String,
    /// How many lines are back.
    pub(crate) restored: usize,
}

/// Why a step was not done.
pub(super) enum Failure {
    /// The file is another one by now: it may be tried again.
    Moved,
    /// For the user.
    Failed(String),
}

impl Reviews {
    /// `rejected` holds what was, also where the store failed later.
    pub(crate) async fn decide(
        &self,
        desk: Desk<'_>,
        scope: &ChangesScope,
        (choice, decision): (&HunkChoice, Decision),
        rejected: &mut Vec<RejectedHunk>,
    ) -> Result<Decided, StoreError> {
        let mut decided = Decided::default();
        let chosen = self.chosen(desk, scope, choice, &mut decided).await?;
        match decision {
            Decision::Accept => self.accept(desk, chosen, &mut decided).await?,
            Decision::Reject => {
                for (path, ids) in chosen {
                    self.reject(desk, &path, &ids, &mut decided, rejected).await?;
                }
            }
        }
        Ok(decided)
    }

    /// By file. What is not undecided is said at once.
    async fn chosen(
        &self,
        desk: Desk<'_>,
        scope: &ChangesScope,
        choice: &HunkChoice,
        decided: &mut Decided,
    ) -> Result<BTreeMap<AbsPath, Vec<HunkId>>, StoreError> {
        let everywhere = matches!(choice, HunkChoice::Hunks(_));
        let list = self.list(desk, if everywhere { &ChangesScope::Session } else { scope }).await?;
        let files = match choice {
            HunkChoice::Files(paths) => real(desk, paths).await,
            HunkChoice::All | HunkChoice::Hunks(_) => BTreeSet::new(),
        };
        let mut chosen: BTreeMap<AbsPath, Vec<HunkId>> = BTreeMap::new();
        let mut states = BTreeMap::new();
        for file in &list.files {
            for hunk in &file.hunks {
                let is_chosen = match choice {
                    HunkChoice::All => true,
                    HunkChoice::Files(_) => files.contains(&file.path),
                    HunkChoice::Hunks(ids) => ids.contains(&hunk.id),
                };
                states.insert(hunk.id, hunk.state);
                if is_chosen && hunk.state == HunkState::Undecided {
                    chosen.entry(file.path.clone()).or_default().push(hunk.id);
                }
            }
        }
        if let HunkChoice::Hunks(ids) = choice {
            let others = ids.iter().filter(|id| states.get(id) != Some(&HunkState::Undecided));
            decided.undecided.extend(others.map(|id| undecided(*id, states.get(id).copied())));
        }
        Ok(chosen)
    }

    /// Changes no text; nobody changes it between the look and the row. The rows of the session are read once, however many files there are.
    async fn accept(
        &self,
        desk: Desk<'_>,
        chosen: BTreeMap<AbsPath, Vec<HunkId>>,
        decided: &mut Decided,
    ) -> Result<(), StoreError> {
        let keys = chosen.keys().cloned().map(DocKey::from_real_path).collect();
        let _locks = desk.view.overlay.locks.take(keys).await;
        let mut files = Vec::with_capacity(chosen.len());
        {
            let mut state = self.up_to_date(desk).await?;
            for (path, ids) in chosen {
                let looked = match state.book.index(&path) {
                    Some(index) => state.look(index, desk).await,
                    None => None,
                };
                files.push((path, ids, looked));
            }
        }
        for (path, ids, mut looked) in files {
            let mut accepted = Vec::new();
            for id in ids {
                if looked.as_mut().is_some_and(|looked| looked.file.accept(id)) {
                    accepted.push(id);
                } else {
                    let state = looked.as_ref().and_then(|looked| looked.file.state(id));
                    decided.undecided.push(undecided(id, state));
                }
            }
            if accepted.is_empty() {
                continue;
            }
            match desk.content(&path).await {
                Ok(now) => {
                    desk.accepted(&path, now, accepted.clone()).await?;
                    decided.hunks.extend(accepted);
                }
                // Taken for no file, it would be one that the user has removed.
                Err(error) => decided.undecided.extend(conflicts(&accepted, &error.to_string())),
            }
        }
        Ok(())
    }

    async fn reject(
        &self,
        desk: Desk<'_>,
        path: &AbsPath,
        ids: &[HunkId],
        decided: &mut Decided,
        rejected: &mut Vec<RejectedHunk>,
    ) -> Result<(), StoreError> {
        let mut path = path.clone();
        let mut left = ids.to_vec();
        let mut tries = 0;
        while !left.is_empty() {
            let Some(Looked { file, .. }) = self.file(desk, &path).await? else { break };
            // One step at a time: after each the file is another one.
            let Some((hunks, undoing)) = file.undoing(&left).into_iter().next() else { break };
            match desk.carry_out(&file, &undoing, &hunks).await? {
                Ok(moved_to) => {
                    rejected.extend(hunks.iter().filter_map(|id| told(&file, *id)));
                    left.retain(|id| !hunks.contains(id));
                    decided.hunks.extend(hunks);
                    path = moved_to.unwrap_or(path);
                }
                Err(Failure::Moved) if tries < TRIES => tries += 1,
                Err(Failure::Moved) => {
                    let reason = "the file changes faster than the hunk can be taken out of it; try again";
                    decided.undecided.extend(conflicts(&hunks, reason));
                    left.retain(|id| !hunks.contains(id));
                }
                Err(Failure::Failed(reason)) => {
                    decided.undecided.extend(conflicts(&hunks, &reason));
                    left.retain(|id| !hunks.contains(id));
                }
            }
        }
        if !left.is_empty() {
            let file = self.file(desk, &path).await?;
            let state = |id: &HunkId| file.as_ref().and_then(|looked| looked.file.state(*id));
            decided.undecided.extend(left.iter().map(|id| undecided(*id, state(id))));
        }
        Ok(())
    }

    /// The file that stands at the path, as it is now.
    async fn file(&self, desk: Desk<'_>, path: &AbsPath) -> Result<Option<Looked>, StoreError> {
        let mut state = self.up_to_date(desk).await?;
        let Some(index) = state.book.index(path) else { return Ok(None) };
        Ok(state.look(index, desk).await)
    }
}

/// Links resolved, as files are listed. Where that cannot be told, the name that was given.
async fn real(desk: Desk<'_>, paths: &[AbsPath]) -> BTreeSet<AbsPath> {
    let mut real = BTreeSet::new();
    for path in paths {
        real.insert(desk.view.real_path(path).await.unwrap_or_else(|_| path.clone()));
    }
    real
}

fn told(file: &FileReview, id: HunkId) -> Option<RejectedHunk> {
    let ReviewedHunk { old, new, now, .. } = file.hunks().into_iter().find(|hunk| hunk.id == id)?;
    let (_, text) = file.texts();
    let line = text.byte_to_line(now.start.min(text.len_bytes())) + 1;
    let restored = old.lines().count();
    Some(RejectedHunk { path: file.path().clone(), line, new, restored })
}

fn undecided(id: HunkId, state: Option<HunkState>) -> Undecided {
    let (why, reason) = match state {
        Some(HunkState::Outdated) => (WhyUndecided::Outdated, "you have changed the same lines since"),
        Some(HunkState::Accepted) => (WhyUndecided::Gone, "it was accepted already"),
        Some(HunkState::Rejected) => (WhyUndecided::Gone, "it was rejected already"),
        Some(HunkState::Undecided) | None => (WhyUndecided::Gone, "there is no such change any more"),
    };
    Undecided { id, why, reason: reason.to_owned() }
}

fn conflicts<'a>(ids: &'a [HunkId], reason: &'a str) -> impl Iterator<Item = Undecided> + 'a {
    ids.iter().map(|id| Undecided { id: *id, why: WhyUndecided::Conflict, reason: reason.to_owned() })
}
