//! Decisions of the user: an accepted hunk stays, a rejected one is taken out of the file as it is now, while the agent goes on. Each is stored as a row, that
//! of a rejection before the file is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use copydesk_workspace::path::{AbsPath, DocKey};
use copydesk_workspace::review::{HunkId, HunkState, ReviewedHunk};

use super::book::Book;
use super::file::{FileReview, Undoing};
use super::listing::{Desk, Reviews};
use super::{ChangesScope, Decided, Decision, HunkChoice, HunkView, Undecided, WhyUndecided};
use crate::ports::StoreError;

/// How often a rejection is made anew because the text under it moved.
const TRIES: usize = 5;

/// Hunks that were rejected with one another, as the model is told of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rejected {
    pub(crate) path: AbsPath,
    pub(crate) what: TakenBack,
    /// The agent's lines, which are gone.
    pub(crate) new: String,
}

/// What was done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TakenBack {
    /// Of one hunk. `line`: from 1, where it stood before; `restored`: how many lines are back.
    Lines {
        line: usize,
        restored: usize,
    },
    /// It was the agent's.
    Removed,
    /// It is what it was, as a whole.
    Restored,
    MovedBack {
        to: AbsPath,
    },
}

/// Why a step was not done.
pub(super) enum Failure {
    /// The file is another one by now: it may be tried again.
    Moved,
    /// For the user.
    Failed(String),
}

/// Hunks of one file that were undecided when it was looked at.
struct Chosen {
    file: Arc<FileReview>,
    ids: Vec<HunkId>,
}

impl Reviews {
    /// `rejected` holds what was, also where the store failed later.
    pub(crate) async fn decide(
        &self,
        desk: Desk<'_>,
        scope: &ChangesScope,
        (choice, decision): (&HunkChoice, Decision),
        rejected: &mut Vec<Rejected>,
    ) -> Result<Decided, StoreError> {
        let _alone = self.deciding.lock().await;
        let mut decided = Decided::default();
        let chosen = self.chosen(desk, scope, choice, &mut decided).await?;
        match decision {
            Decision::Accept => self.accept(desk, chosen, &mut decided).await?,
            Decision::Reject => {
                for chosen in chosen {
                    self.reject(desk, chosen, &mut decided, rejected).await?;
                }
            }
        }
        Ok(decided)
    }

    /// By path. What is not undecided is said at once.
    async fn chosen(
        &self,
        desk: Desk<'_>,
        scope: &ChangesScope,
        choice: &HunkChoice,
        decided: &mut Decided,
    ) -> Result<Vec<Chosen>, StoreError> {
        let (mut named, mut real) = (BTreeSet::<HunkId>::new(), BTreeSet::new());
        let scope = match choice {
            HunkChoice::All => scope,
            HunkChoice::Files(paths) => {
                real = real_paths(desk, paths).await;
                scope
            }
            HunkChoice::Hunks(ids) => {
                named.extend(ids);
                &ChangesScope::Session
            }
        };
        let mut chosen = Vec::new();
        let mut states = BTreeMap::new();
        for (listed, file) in self.listed(desk, scope).await? {
            states.extend(listed.hunks.iter().map(|hunk| (hunk.id, hunk.state)));
            let is_chosen = |hunk: &&HunkView| match choice {
                HunkChoice::All => true,
                HunkChoice::Files(_) => real.contains(&listed.path),
                HunkChoice::Hunks(_) => named.contains(&hunk.id),
            };
            let undecided = listed.hunks.iter().filter(|hunk| hunk.state == HunkState::Undecided);
            let ids: Vec<HunkId> = undecided.filter(is_chosen).map(|hunk| hunk.id).collect();
            if !ids.is_empty() {
                chosen.push(Chosen { file, ids });
            }
        }
        if let HunkChoice::Hunks(ids) = choice {
            // Each once, in the order of the request.
            let others = ids.iter().filter(|id| states.get(id) != Some(&HunkState::Undecided) && named.remove(*id));
            decided.undecided.extend(others.map(|id| undecided(*id, states.get(id).copied())));
        }
        Ok(chosen)
    }

    /// Changes no text; nobody changes it between the look and the row. The rows of the session are read once, however many files there are.
    async fn accept(&self, desk: Desk<'_>, chosen: Vec<Chosen>, decided: &mut Decided) -> Result<(), StoreError> {
        let keys = chosen.iter().map(|chosen| DocKey::from_real_path(chosen.file.path().clone())).collect();
        let _locks = desk.view.overlay.locks.take(keys).await;
        let book = self.up_to_date(desk).await?;
        for Chosen { file, ids } in chosen {
            let path = file.path();
            // What is decided on is what is stored.
            let standing = match desk.standing(path).await {
                Ok(standing) => standing,
                // Taken for no file, it would be one that the user has removed.
                Err(error) => {
                    decided.undecided.extend(conflicts(&ids, &error.to_string()));
                    continue;
                }
            };
            let mut file = book.index(path).map(|index| book.files()[index].file.clone());
            if let Some(file) = &mut file {
                Arc::make_mut(file).user(&standing.side());
            }
            let mut accepted = Vec::new();
            for id in ids {
                if file.as_mut().is_some_and(|file| Arc::make_mut(file).accept(id)) {
                    accepted.push(id);
                } else {
                    let state = file.as_ref().and_then(|file| file.state(id));
                    decided.undecided.push(undecided(id, state));
                }
            }
            if !accepted.is_empty() {
                desk.accepted(path, standing, accepted.clone()).await?;
                decided.hunks.extend(accepted);
            }
        }
        Ok(())
    }

    /// As long as each step finds the file as it was looked at, nothing is read anew: what a step does is known.
    async fn reject(
        &self,
        desk: Desk<'_>,
        chosen: Chosen,
        decided: &mut Decided,
        rejected: &mut Vec<Rejected>,
    ) -> Result<(), StoreError> {
        let Chosen { mut file, ids } = chosen;
        let mut left: BTreeSet<HunkId> = ids.into_iter().collect();
        let mut tries = 0;
        while let Some((hunks, undoing)) = file.undoing(&left).into_iter().next() {
            let step: BTreeSet<HunkId> = hunks.iter().copied().collect();
            let failure = match desk.carry_out(&file, &undoing, &hunks).await? {
                Ok(()) => {
                    left = &left - &step;
                    rejected.extend(told(&file, &undoing, &step));
                    Arc::make_mut(&mut file).reject_all(&hunks);
                    decided.hunks.extend(hunks);
                    continue;
                }
                Err(failure) => failure,
            };
            let reason = match failure {
                Failure::Moved if tries < TRIES => {
                    tries += 1;
                    None
                }
                Failure::Moved => {
                    Some("the file changes faster than the hunk can be taken out of it; try again".to_owned())
                }
                Failure::Failed(reason) => Some(reason),
            };
            if let Some(reason) = reason {
                left = &left - &step;
                decided.undecided.extend(conflicts(&hunks, &reason));
            }
            if left.is_empty() {
                break;
            }
            let book = self.up_to_date(desk).await?;
            match self.look_at(desk, &book, file.path()).await {
                Some(now) => file = now,
                None => {
                    decided.undecided.extend(left.iter().map(|id| undecided(*id, None)));
                    return Ok(());
                }
            }
        }
        decided.undecided.extend(left.iter().map(|id| undecided(*id, file.state(*id))));
        Ok(())
    }

    /// The file that stands at the path, or stood there last.
    async fn look_at(&self, desk: Desk<'_>, book: &Arc<Book>, path: &AbsPath) -> Option<Arc<FileReview>> {
        Some(self.look(book, book.index(path)?, desk).await?.file)
    }
}

/// Links resolved, as files are listed. Where that cannot be told, the name that was given.
async fn real_paths(desk: Desk<'_>, paths: &[AbsPath]) -> BTreeSet<AbsPath> {
    let mut real = BTreeSet::new();
    for path in paths {
        real.insert(desk.view.real_path(path).await.unwrap_or_else(|_| path.clone()));
    }
    real
}

fn told(file: &FileReview, undoing: &Undoing, ids: &BTreeSet<HunkId>) -> Vec<Rejected> {
    let is_told = |hunk: &ReviewedHunk| hunk.state == HunkState::Undecided && ids.contains(&hunk.id);
    let hunks = file.hunks().into_iter().filter(is_told);
    let path = file.path();
    let what = match undoing {
        Undoing::Edit(_) => {
            let (_, text) = file.texts();
            let of_lines = |hunk: ReviewedHunk| {
                let line = text.byte_to_line(hunk.now.start.min(text.len_bytes())) + 1;
                let what = TakenBack::Lines { line, restored: hunk.old.lines().count() };
                Rejected { path: path.clone(), what, new: hunk.new }
            };
            return hunks.map(of_lines).collect();
        }
        Undoing::Remove => TakenBack::Removed,
        Undoing::Restore { .. } => TakenBack::Restored,
        Undoing::MoveBack { to } => TakenBack::MovedBack { to: to.clone() },
    };
    vec![Rejected { path: path.clone(), what, new: hunks.map(|hunk| hunk.new).collect() }]
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
