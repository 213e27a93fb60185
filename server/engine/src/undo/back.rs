//! Takes changes back: reads what stands there, does what the plan says through the view, and looks again where somebody was faster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::net::{Net, filled, groups, is_nothing};
use super::ops::{Op, Present, Ring, Todo, join_moves, ops};
use super::plan::{Known, Loaded, Slot, State, Step, is_as_before, take};
use super::recorder::{FileChanged, Recorder, Recording};
use super::{UndoOutcome, UndoReport, UndoneFile};
use crate::ids::{MessageId, SessionId};
use crate::message::FileDiff;
use crate::ports::{By, Change, ChangeId, FileContent, Files, StoreError};
use crate::tool::CommitError;
use crate::view::{Source, View, ViewError};

/// Names the undo in the change log of the overlay, and in the editor's list of undo steps.
pub(crate) const UNDO: &str = "undo";

/// How often a file is looked at anew because it moved meanwhile.
const TRIES: usize = 5;

pub(crate) struct Back<'a> {
    pub(crate) session: &'a SessionId,
    /// Of everything, and telling nobody.
    pub(crate) view: &'a View,
    pub(crate) files: &'a Arc<dyn Files>,
    pub(crate) recording: &'a Arc<Recording>,
    /// The id of this undo, as one for a turn.
    pub(crate) id: &'a MessageId,
    pub(crate) most_kept: u64,
}

impl Back<'_> {
    /// Of `changes`, which are in their order; files that do not hang together fare each on its own. Once cancelled it leaves alone what is not begun.
    pub(crate) async fn take_back(&self, changes: &[&Change], cancel: &CancellationToken) -> UndoReport {
        let mut report = UndoReport::default();
        let groups = groups(changes.iter().copied());
        let mut loaded = Vec::with_capacity(groups.len());
        // What is recorded for the first may push out what the others need.
        for group in &groups {
            loaded.push(self.load(group).await);
        }
        for (group, loaded) in groups.iter().zip(loaded) {
            if cancel.is_cancelled() {
                let outcome = UndoOutcome::Failed { reason: "the undo was cancelled".to_owned() };
                let left = paths_after(group).into_iter();
                report.files.extend(left.map(|path| UndoneFile { path: path.clone(), outcome: outcome.clone() }));
                continue;
            }
            let ids: Vec<ChangeId> = group.iter().flat_map(|net| net.ids.iter().copied()).collect();
            let by = By::Undo { of: ids };
            let recorder = self.recording.recorder(self.id.clone(), None, by, self.most_kept);
            self.take_group(group, loaded, &recorder, &mut report).await;
        }
        self.take_marks_back(changes).await;
        report.files.sort_by(|a, b| a.path.cmp(&b.path));
        report
    }

    /// What an undo has marked as taken back goes and comes with it.
    async fn take_marks_back(&self, changes: &[&Change]) {
        let marks: Vec<&Change> = changes.iter().copied().filter(|change| is_nothing(change)).collect();
        let Some(first) = marks.first() else { return };
        let by = By::Undo { of: marks.iter().map(|mark| mark.id).collect() };
        mark(&first.path, &self.recording.recorder(self.id.clone(), None, by, self.most_kept)).await;
    }

    /// The rows of an undo that was recorded and never came to be, since the daemon died in between or the user took it back in his editor.
    /// `all` are the session's.
    pub(crate) async fn never_done(&self, rows: &[&Change], all: &[Change]) -> Vec<ChangeId> {
        let mut never = Vec::new();
        for row in rows.iter().filter(|row| !is_nothing(row)) {
            let hash = |content: &Option<FileContent>| content.as_ref().map(|content| content.hash);
            if hash(&row.before) == hash(&row.after) && row.moved_to.is_none() {
                continue;
            }
            // What came later has found the file as the undo had left it.
            let mut later = all.iter().skip_while(|other| other.id != row.id).skip(1);
            let is_of_path = |other: &&Change| other.path == row.path || *other.target() == row.path;
            let is_as_before = match later.find(|other| !is_nothing(other) && is_of_path(other)) {
                Some(later) => {
                    let found = later.before.filter(|_| later.path == row.path);
                    let text = self.text_stored_otherwise(found.as_ref(), row).await;
                    is_as_before(row, text.as_ref(), found.map(|found| found.hash))
                }
                None => self.present(&row.path).await.is_ok_and(|present| {
                    let text = present.snapshot.as_ref().map(|snapshot| &snapshot.text);
                    is_as_before(row, text, present.hash)
                }),
            };
            if is_as_before {
                never.push(row.id);
            }
        }
        never
    }

    /// Where hashes cannot be compared, and the content is known.
    async fn text_stored_otherwise(&self, found: Option<&FileContent>, row: &Change) -> Option<Rope> {
        let found = found?;
        let sides = [&row.before, &row.after].into_iter().flatten();
        if sides.into_iter().all(|side| side.encoding == found.encoding) {
            return None;
        }
        let known = self.content(Some(*found)).await.ok()?.ok()??;
        known.text.map(|(text, _)| text)
    }

    async fn take_group(
        &self,
        group: &[Net],
        loaded: Result<Option<Vec<Loaded<'_>>>, StoreError>,
        recorder: &Recorder,
        report: &mut UndoReport,
    ) {
        let mut said = |path: &AbsPath, outcome| report.files.push(UndoneFile { path: path.clone(), outcome });
        let loaded = match loaded {
            Ok(Some(loaded)) => loaded,
            Ok(None) => {
                let reason = "undo is not available for this step: what the file held is not kept any more".to_owned();
                for path in paths_after(group) {
                    said(path, UndoOutcome::Unavailable { reason: reason.clone() });
                }
                mark_group(group, recorder).await;
                return;
            }
            Err(error) => {
                for path in paths_after(group) {
                    said(path, UndoOutcome::Failed { reason: error.to_string() });
                }
                return;
            }
        };
        // What the first look has found to do counts, also where a later one finds it done.
        let mut outcomes: BTreeMap<AbsPath, UndoOutcome> = BTreeMap::new();
        let mut done = Done::default();
        let mut reason = "it changes all the time".to_owned();
        let mut rest = &loaded[..];
        let mut joins = true;
        let mut tries = 0;
        while tries < TRIES {
            let now = match self.look(group).await {
                Ok(now) => now,
                Err((path, error)) => {
                    reason = format!("{path}: {error}");
                    outcomes.insert(path, UndoOutcome::Failed { reason: error });
                    break;
                }
            };
            let mut all = planned(group, rest, &now);
            let has_joined = joins && join_moves(&now, &mut all.slots);
            for (path, outcome) in all.outcomes {
                match outcomes.get(&path) {
                    Some(found) if outcome == UndoOutcome::Unchanged && *found != outcome => {}
                    _ => drop(outcomes.insert(path, outcome)),
                }
            }
            let (todo, earlier) = match ops(&now, &all.slots) {
                Ok(todo) => (todo, &rest[..0]),
                Err(Ring) => match opened(group, rest, &now) {
                    Some(opened) => opened,
                    None => {
                        reason = "names were exchanged, and none of them is free".to_owned();
                        break;
                    }
                },
            };
            let claims = claims(group, &todo, earlier.is_empty(), &done.changes);
            match self.act(recorder, todo.into_iter().zip(claims), &mut done).await {
                Acted::All if !earlier.is_empty() => rest = earlier,
                Acted::All => {
                    for (path, outcome) in outcomes {
                        said(&path, outcome);
                    }
                    self.tidy_folders(group).await;
                    report.diffs.extend(done.diffs);
                    if done.changes.is_empty() {
                        mark_group(group, recorder).await;
                    }
                    return;
                }
                Acted::Moved(why) => {
                    reason = why;
                    tries += 1;
                }
                // A command moves from one file system to another, which a rename does not.
                Acted::Failed(_) if has_joined => joins = false,
                Acted::Failed(why) => {
                    reason = why;
                    break;
                }
            }
        }
        report.diffs.extend(done.diffs);
        let left = if done.changes.is_empty() { Left::All } else { self.left(group, rest).await };
        for path in paths_after(group) {
            let outcome = match outcomes.remove(path) {
                Some(failed @ UndoOutcome::Failed { .. }) => failed,
                Some(planned) => match &left {
                    // Done, as the files say.
                    Left::Of(left) if !left.contains(path) => planned,
                    Left::Unknown if planned != UndoOutcome::Unchanged => {
                        UndoOutcome::Conflict { reason: reason.clone(), partly: true }
                    }
                    Left::All | Left::Of(_) | Left::Unknown => UndoOutcome::Failed { reason: reason.clone() },
                },
                None => UndoOutcome::Failed { reason: reason.clone() },
            };
            report.files.push(UndoneFile { path: path.clone(), outcome });
        }
    }

    /// After an undo that was done by halves, of which `rest` was not.
    async fn left(&self, group: &[Net], rest: &[Loaded<'_>]) -> Left {
        let Ok(now) = self.look(group).await else { return Left::Unknown };
        let outcomes = planned(group, rest, &now).outcomes.into_iter();
        Left::Of(outcomes.filter(|(_, outcome)| *outcome != UndoOutcome::Unchanged).map(|(path, _)| path).collect())
    }

    /// `None` where a content is gone.
    async fn load<'n>(&self, group: &'n [Net]) -> Result<Option<Vec<Loaded<'n>>>, StoreError> {
        let mut loaded = Vec::with_capacity(group.len());
        for net in group {
            let [before, after] = [self.content(net.before).await?, self.content(net.after).await?];
            let (Ok(before), Ok(after)) = (before, after) else { return Ok(None) };
            loaded.push(Loaded { net, before, after });
        }
        Ok(Some(loaded))
    }

    async fn content(&self, content: Option<FileContent>) -> Result<Result<Option<Known>, Gone>, StoreError> {
        let Some(content) = content else { return Ok(Ok(None)) };
        let changes = self.recording.changes();
        let bytes = changes.content(self.session.clone(), content.hash).await?;
        Ok(bytes.map(|bytes| Some(Known::new(bytes, content.mode))).ok_or(Gone))
    }

    /// The error is for the user, with the path that it is of.
    async fn look(&self, group: &[Net]) -> Result<BTreeMap<AbsPath, Present>, (AbsPath, String)> {
        let mut now = BTreeMap::new();
        for path in group.iter().flat_map(|net| [&net.from, &net.to]).collect::<BTreeSet<_>>() {
            let present = self.present(path).await.map_err(|error| (path.clone(), error))?;
            now.insert(path.clone(), present);
        }
        Ok(now)
    }

    /// The error is for the user.
    async fn present(&self, path: &AbsPath) -> Result<Present, String> {
        let real = self.view.real_path(path).await.map_err(|error| error.to_string())?;
        if real != *path {
            return Err("a link stands on its way by now".to_owned());
        }
        let mode = self.files.stat(path.clone()).await.ok().and_then(|stat| stat.mode);
        let bytes = match self.files.read_real(path.clone()).await {
            Ok(bytes) => Some(bytes),
            Err(DiskError::NotFound(_)) => None,
            Err(error) => return Err(error.to_string()),
        };
        let hash = bytes.as_deref().map(ContentHash::of);
        let snapshot = match self.view.snapshot(path).await {
            Ok(snapshot) => Some(snapshot),
            Err(ViewError::Disk(DiskError::NotFound(_)) | ViewError::Text { .. }) => None,
            Err(error) => return Err(error.to_string()),
        };
        let is_shown = snapshot.as_ref().is_some_and(|snapshot| !matches!(snapshot.source, Source::Disk { .. }));
        Ok(Present { snapshot, below: bytes.filter(|_| is_shown), hash, mode })
    }

    /// Each with the changes that it is recorded to take back: what is not done stays in force, and the next undo comes back to it.
    async fn act(
        &self,
        recorder: &Recorder,
        todo: impl Iterator<Item = (Todo, BTreeSet<ChangeId>)>,
        done: &mut Done,
    ) -> Acted {
        for (Todo { op, diffs, .. }, changes) in todo {
            let by = By::Undo { of: changes.iter().copied().collect() };
            let view = self.view.recorded(recorder.by(by));
            let result = match op {
                Op::Edit(edit) => view.apply(vec![edit], UNDO, &CancellationToken::new()).await.map(|_| ()),
                Op::Rewrite(rewrite) => view.rewrite(rewrite, UNDO).await,
            };
            match result {
                Ok(()) => {
                    done.changes.extend(changes);
                    done.diffs.extend(diffs);
                }
                Err(CommitError::BaseMoved(reason)) => return Acted::Moved(reason),
                Err(CommitError::Tool(error)) => return Acted::Failed(error.to_string()),
                Err(CommitError::Leads(_)) => return Acted::Failed("it leads elsewhere".to_owned()),
            }
        }
        Acted::All
    }

    /// Folders that were made for files which are gone, as far as nothing else is in them.
    async fn tidy_folders(&self, group: &[Net]) {
        for net in group {
            let Some(made) = &net.made_folder else { continue };
            let mut at = net.to.parent();
            while let Some(folder) = at.filter(|folder| folder.starts_with(made)) {
                if self.files.remove_folder_real(folder.clone()).await.is_err() {
                    break;
                }
                at = folder.parent();
            }
        }
    }
}

/// How the files are to stand that stand as in `now`.
fn planned(group: &[Net], loaded: &[Loaded<'_>], now: &BTreeMap<AbsPath, Present>) -> Planned {
    let stays = |path: &AbsPath, present: &Present| Slot {
        state: present.state(),
        origin: present.is_there().then(|| path.clone()),
    };
    let mut slots: BTreeMap<AbsPath, Slot> =
        now.iter().map(|(path, present)| (path.clone(), stays(path, present))).collect();
    let mut outcomes: BTreeMap<AbsPath, UndoOutcome> = BTreeMap::new();
    for change in loaded.iter().rev() {
        let step = take(&mut slots, change);
        let net = change.net;
        let outcome = match step {
            Step::Nothing => UndoOutcome::Unchanged,
            Step::Conflict { reasons, partly } => UndoOutcome::Conflict { reason: reasons.join("; "), partly },
            Step::Done if net.before.is_none() => UndoOutcome::Removed,
            Step::Done if net.from != net.to => UndoOutcome::MovedBack { to: net.from.clone() },
            Step::Done => UndoOutcome::Restored,
        };
        let both = match outcomes.remove(&net.to) {
            Some(later) => together(later, outcome),
            None => outcome,
        };
        outcomes.insert(net.to.clone(), both);
    }
    let mut planned = Planned { slots, outcomes };
    // What stays may be the one that keeps the next from coming back.
    while let Some((left, present, gone)) = last_copy(group, &planned, now) {
        let reason = format!("{gone} cannot come back, and this is all that is left of it: it stays");
        planned.outcomes.insert(left.clone(), UndoOutcome::Conflict { reason, partly: false });
        planned.slots.insert(left.clone(), stays(left, present));
    }
    planned
}

/// Of files that have exchanged their names: back to where one of them stood in between, so that a name is free, and the changes before that.
fn opened<'l, 'n>(
    group: &[Net],
    loaded: &'l [Loaded<'n>],
    now: &BTreeMap<AbsPath, Present>,
) -> Option<(Vec<Todo>, &'l [Loaded<'n>])> {
    let mut parted = (1..loaded.len()).map(|first| loaded.split_at(first));
    parted.find_map(|(earlier, latest)| Some((ops(now, &planned(group, latest, now).slots).ok()?, earlier)))
}

/// What would be removed or overwritten although the same content, gone elsewhere, does not come back: with the path where it was. So it is with what a command has
/// moved or put aside.
fn last_copy<'n>(
    group: &'n [Net],
    Planned { slots, outcomes }: &Planned,
    now: &'n BTreeMap<AbsPath, Present>,
) -> Option<(&'n AbsPath, &'n Present, &'n AbsPath)> {
    let is_kept_back = |net: &&Net| {
        let is_gone = net.before.is_some() && (net.is_other_content() || net.from != net.to);
        is_gone && matches!(outcomes.get(&net.to), Some(UndoOutcome::Conflict { .. }))
    };
    let gone: BTreeMap<_, _> =
        group.iter().filter(is_kept_back).filter_map(|net| Some((filled(&net.before)?, &net.from))).collect();
    group.iter().find_map(|net| {
        let gone = *gone.get(&filled(&net.after)?)?;
        let present = now.get(&net.to).filter(|present| present.is_there())?;
        let slot = slots.get(&net.to)?;
        let is_lost = match outcomes.get(&net.to)? {
            UndoOutcome::Removed => matches!(slot.state, State::Absent),
            // Where another file comes there, this one goes on elsewhere.
            UndoOutcome::Restored => net.is_other_content() && slot.origin.as_ref() == Some(&net.to),
            _ => false,
        };
        is_lost.then_some((&net.to, present, gone))
    })
}

/// The changes that each step takes back: those of the files that it is about. With the last of all steps go those that need none.
fn claims(group: &[Net], todo: &[Todo], is_all: bool, done: &BTreeSet<ChangeId>) -> Vec<BTreeSet<ChangeId>> {
    let all: BTreeSet<ChangeId> = group.iter().flat_map(|net| net.ids.iter().copied()).collect();
    let mut claims: Vec<BTreeSet<ChangeId>> = Vec::with_capacity(todo.len());
    for step in todo {
        let nets = group.iter().filter(|net| step.is_about(&net.to));
        let claim: BTreeSet<ChangeId> = nets.flat_map(|net| net.ids.iter().copied()).collect();
        claims.push(if claim.is_empty() { all.clone() } else { claim });
    }
    let claimed: BTreeSet<ChangeId> = claims.iter().flatten().chain(done).copied().collect();
    if let Some(last) = claims.last_mut().filter(|_| is_all) {
        last.extend(all.difference(&claimed));
    }
    claims
}

/// What was done so far of what hangs together.
#[derive(Default)]
struct Done {
    /// That were taken back.
    changes: BTreeSet<ChangeId>,
    diffs: Vec<FileDiff>,
}

/// What is to be done yet.
enum Left {
    All,
    /// At these paths, as those of outcomes.
    Of(BTreeSet<AbsPath>),
    /// The files could not be looked at.
    Unknown,
}

struct Gone;

enum Acted {
    All,
    /// Somebody was faster.
    Moved(String),
    Failed(String),
}

struct Planned {
    slots: BTreeMap<AbsPath, Slot>,
    /// By where each file stands before the undo.
    outcomes: BTreeMap<AbsPath, UndoOutcome>,
}

/// Of two changes of one file, the later first.
fn together(later: UndoOutcome, earlier: UndoOutcome) -> UndoOutcome {
    let is_done = |outcome: &UndoOutcome| {
        matches!(outcome, UndoOutcome::Restored | UndoOutcome::Removed | UndoOutcome::MovedBack { .. })
    };
    match (later, earlier) {
        (UndoOutcome::Conflict { reason, partly }, UndoOutcome::Conflict { reason: other, partly: other_partly }) => {
            let reason = if reason == other { reason } else { format!("{reason}; {other}") };
            UndoOutcome::Conflict { reason, partly: partly || other_partly }
        }
        (UndoOutcome::Conflict { reason, partly }, other) | (other, UndoOutcome::Conflict { reason, partly }) => {
            UndoOutcome::Conflict { reason, partly: partly || is_done(&other) }
        }
        (later, UndoOutcome::Unchanged) => later,
        (_, earlier) => earlier,
    }
}

/// So that the next undo goes on to what was done before.
async fn mark(path: &AbsPath, recorder: &Recorder) {
    let mark = FileChanged { path: path.clone(), moved_to: None, made_folder: None, before: None, after: None };
    // The user was told of an error.
    let _ = recorder.record(vec![mark]).await;
}

async fn mark_group(group: &[Net], recorder: &Recorder) {
    if let Some(net) = group.first() {
        mark(&net.to, recorder).await;
    }
}

fn paths_after(group: &[Net]) -> BTreeSet<&AbsPath> {
    group.iter().map(|net| &net.to).collect()
}
