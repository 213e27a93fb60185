//! Takes changes back: reads what stands there, does what the plan says through the view, and looks again where somebody was faster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{TextEncoding, encode};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use tokio_util::sync::CancellationToken;

use super::net::{Net, groups};
use super::plan::{Known, Loaded, Slot, State, Step, take};
use super::recorder::{FileChanged, Recorder, Recording};
use super::{UndoOutcome, UndoReport, UndoneFile};
use crate::ids::{MessageId, SessionId};
use crate::message::FileDiff;
use crate::ports::{By, Change, ChangeId, FileContent, Files, StoreError};
use crate::tool::CommitError;
use crate::view::{FileBytes, FileEdit, Rewrite, Snapshot, Source, View, ViewError};

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

/// A path as it stands.
struct Present {
    /// Where it is text.
    snapshot: Option<Snapshot>,
    /// Of the file that lies below what the editor shows.
    below: Option<Vec<u8>>,
    /// Of the file's bytes; `None` where there is no file.
    hash: Option<ContentHash>,
    mode: Option<u32>,
}

/// One thing to do.
enum Op {
    Edit(FileEdit),
    Rewrite(Rewrite),
}

impl Back<'_> {
    /// Of `changes`, which are in their order; files that do not hang together fare each on its own.
    pub(crate) async fn take_back(&self, changes: &[&Change]) -> UndoReport {
        let mut report = UndoReport::default();
        for group in groups(changes.iter().copied()) {
            let ids: Vec<ChangeId> = group.iter().flat_map(|net| net.ids.iter().copied()).collect();
            let by = By::Undo { of: ids };
            let recorder = self.recording.recorder(self.id.clone(), None, by, self.most_kept);
            self.take_group(&group, &recorder, &mut report).await;
        }
        report.files.sort_by(|a, b| a.path.cmp(&b.path));
        report
    }

    /// The rows of an undo that was recorded and never came to be, since the daemon died in between or the user took it back in his editor.
    pub(crate) async fn never_done(&self, rows: &[&Change]) -> Vec<ChangeId> {
        let mut never = Vec::new();
        for row in rows.iter().filter(|row| row.before.is_some() || row.after.is_some()) {
            let hash = |content: &Option<FileContent>| content.as_ref().map(|content| content.hash);
            if hash(&row.before) == hash(&row.after) && row.moved_to.is_none() {
                continue;
            }
            let is_before = match (self.present(&row.path).await, &row.before) {
                (Ok(present), None) => present.hash.is_none() && present.snapshot.is_none(),
                (Ok(present), Some(before)) => match &present.snapshot {
                    // Not yet saved, the file holds what was before all the same.
                    Some(Snapshot { hash, source: Source::Open { .. }, .. }) => *hash == before.hash,
                    Some(snapshot) if snapshot.hash == before.hash => true,
                    _ => present.hash == Some(before.hash),
                },
                (Err(_), _) => false,
            };
            if is_before {
                never.push(row.id);
            }
        }
        never
    }

    async fn take_group(&self, group: &[Net], recorder: &Recorder, report: &mut UndoReport) {
        let mut said = |path: &AbsPath, outcome| report.files.push(UndoneFile { path: path.clone(), outcome });
        let loaded = match self.load(group).await {
            Ok(Some(loaded)) => loaded,
            Ok(None) => {
                let reason = "undo is not available for this step: what the file held is not kept any more".to_owned();
                for path in paths_after(group) {
                    said(path, UndoOutcome::Unavailable { reason: reason.clone() });
                }
                mark(group, recorder).await;
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
        let mut diffs = Vec::new();
        let view = self.view.recorded(recorder.clone());
        let mut has_done = false;
        let mut reason = "it changes all the time".to_owned();
        for _ in 0..TRIES {
            let (now, planned) = match self.plan(group, &loaded).await {
                Ok(planned) => planned,
                Err((path, error)) => {
                    outcomes.insert(path, UndoOutcome::Failed { reason: error });
                    break;
                }
            };
            for (path, outcome) in planned.outcomes {
                match outcomes.get(&path) {
                    Some(found) if outcome == UndoOutcome::Unchanged && *found != outcome => {}
                    _ => drop(outcomes.insert(path, outcome)),
                }
            }
            match self.act(&view, &now, planned.slots, &mut diffs, &mut has_done).await {
                Acted::All => {
                    for (path, outcome) in outcomes {
                        said(&path, outcome);
                    }
                    self.tidy_folders(group).await;
                    report.diffs.extend(diffs);
                    if !has_done {
                        mark(group, recorder).await;
                    }
                    return;
                }
                Acted::Moved(why) => reason = why,
                Acted::Failed(why) => {
                    reason = why;
                    break;
                }
            }
        }
        report.diffs.extend(diffs);
        for path in paths_after(group) {
            let outcome = match outcomes.remove(path) {
                Some(failed @ UndoOutcome::Failed { .. }) => failed,
                _ => UndoOutcome::Failed { reason: reason.clone() },
            };
            report.files.push(UndoneFile { path: path.clone(), outcome });
        }
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

    async fn plan(
        &self,
        group: &[Net],
        loaded: &[Loaded<'_>],
    ) -> Result<(BTreeMap<AbsPath, Present>, Planned), (AbsPath, String)> {
        let mut now = BTreeMap::new();
        let mut slots = BTreeMap::new();
        for path in group.iter().flat_map(|net| [&net.from, &net.to]).collect::<BTreeSet<_>>() {
            let present = self.present(path).await.map_err(|error| (path.clone(), error))?;
            slots.insert(
                path.clone(),
                Slot { state: present.state(), origin: present.is_there().then(|| path.clone()) },
            );
            now.insert(path.clone(), present);
        }
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
        for (left, gone) in last_copies(group, &outcomes) {
            let reason = format!("{gone} cannot come back, and this is all that is left of it: it stays");
            outcomes.insert(left.clone(), UndoOutcome::Conflict { reason, partly: false });
            if let Some(present) = now.get(left) {
                slots.insert(left.clone(), Slot { state: present.state(), origin: Some(left.clone()) });
            }
        }
        Ok((now, Planned { slots, outcomes }))
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

    async fn act(
        &self,
        view: &View,
        now: &BTreeMap<AbsPath, Present>,
        slots: BTreeMap<AbsPath, Slot>,
        diffs: &mut Vec<FileDiff>,
        has_done: &mut bool,
    ) -> Acted {
        for (op, diff) in ops(now, &slots) {
            let done = match op {
                Op::Edit(edit) => view.apply(vec![edit], UNDO, &CancellationToken::new()).await.map(|_| ()),
                Op::Rewrite(rewrite) => view.rewrite(rewrite, UNDO).await,
            };
            match done {
                Ok(()) => {
                    *has_done = true;
                    diffs.extend(diff);
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

/// What would be removed although the same content, gone elsewhere, does not come back: with the path where it was. So it is with what a command has moved.
fn last_copies<'n>(group: &'n [Net], outcomes: &BTreeMap<AbsPath, UndoOutcome>) -> Vec<(&'n AbsPath, &'n AbsPath)> {
    let hash = |content: &Option<FileContent>| content.as_ref().map(|content| content.hash);
    let is_kept_back = |net: &&Net| {
        let is_deletion = net.before.is_some() && net.after.is_none();
        is_deletion && matches!(outcomes.get(&net.to), Some(UndoOutcome::Conflict { .. }))
    };
    let gone: BTreeMap<_, _> = group.iter().filter(is_kept_back).map(|net| (hash(&net.before), &net.from)).collect();
    let removed =
        group.iter().filter(|net| net.before.is_none() && outcomes.get(&net.to) == Some(&UndoOutcome::Removed));
    removed.filter_map(|net| Some((&net.to, *gone.get(&hash(&net.after))?))).collect()
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

impl Present {
    fn is_there(&self) -> bool {
        self.hash.is_some() || self.snapshot.is_some()
    }

    fn state(&self) -> State {
        match (&self.snapshot, self.hash) {
            (None, None) => State::Absent,
            (None, Some(hash)) => State::Binary { hash },
            (Some(snapshot), None) => State::Orphan { text: snapshot.text.clone() },
            (Some(snapshot), Some(_)) => {
                let encoding = match &snapshot.source {
                    Source::Disk { encoding, .. } => Some(*encoding),
                    Source::Held { disk, is_unsaved: false, .. } => disk.map(|(encoding, _)| encoding),
                    Source::Open { .. } | Source::Held { .. } => None,
                };
                let encoding = encoding.unwrap_or(TextEncoding::Utf8);
                State::Text { text: snapshot.text.clone(), encoding, mode: self.mode }
            }
        }
    }
}

/// What makes of the files as they stand those that are to be, in an order in which each place is free when something comes there.
fn ops(now: &BTreeMap<AbsPath, Present>, slots: &BTreeMap<AbsPath, Slot>) -> Vec<(Op, Vec<FileDiff>)> {
    let moved: BTreeSet<&AbsPath> =
        slots.iter().filter_map(|(path, slot)| slot.origin.as_ref().filter(|origin| *origin != path)).collect();
    let (mut gone, mut moves, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (path, slot) in slots {
        let Some(present) = now.get(path) else { continue };
        match (&slot.state, &slot.origin) {
            (State::Absent, _) if present.is_there() && !moved.contains(path) => gone.extend(removal(path, present)),
            (State::Absent, _) => {}
            (_, Some(origin)) if origin != path => {
                if let Some(from) = now.get(origin) {
                    moves.extend(moving(origin, from, path, &slot.state).map(|op| (origin, path, op)));
                }
            }
            (_, Some(_)) => rest.extend(changing(path, present, &slot.state)),
            (state, None) => rest.extend(creation(path, state)),
        }
    }
    gone.into_iter().chain(one_after_the_other(moves)).chain(rest).collect()
}

/// Moves by where they come from and go to, such that each finds its place free. Of a ring, none does.
fn one_after_the_other<T>(mut moves: Vec<(&AbsPath, &AbsPath, T)>) -> Vec<T> {
    let mut ordered = Vec::with_capacity(moves.len());
    while !moves.is_empty() {
        let is_free = |(_, to, _): &(&AbsPath, &AbsPath, T)| !moves.iter().any(|(from, ..)| from == to);
        let next = moves.iter().position(is_free).unwrap_or(0);
        ordered.push(moves.remove(next).2);
    }
    ordered
}

fn removal(path: &AbsPath, present: &Present) -> Option<(Op, Vec<FileDiff>)> {
    let diff = |before: Option<String>| vec![FileDiff { path: path.clone(), before, after: None }];
    match (&present.snapshot, present.hash) {
        (Some(snapshot), Some(_)) => {
            let diff = diff(Some(snapshot.text.to_string()));
            Some((Op::Edit(FileEdit::Delete { base: snapshot.clone() }), diff))
        }
        (None, Some(hash)) => {
            let rewrite = Rewrite { path: path.clone(), expected: Some(hash), after: None, moved_to: None };
            Some((Op::Rewrite(rewrite), Vec::new()))
        }
        (_, None) => None,
    }
}

fn moving(from: &AbsPath, present: &Present, to: &AbsPath, state: &State) -> Option<(Op, Vec<FileDiff>)> {
    match (&present.snapshot, state) {
        (Some(base), State::Text { text, .. } | State::Orphan { text }) => {
            let edits = EditSet::between(&base.text, text);
            let diffs = vec![
                FileDiff { path: from.clone(), before: Some(base.text.to_string()), after: None },
                FileDiff { path: to.clone(), before: None, after: Some(text.to_string()) },
            ];
            Some((Op::Edit(FileEdit::Move { base: base.clone(), to: to.clone(), edits }), diffs))
        }
        (_, State::Known(known)) => {
            let after = Some(FileBytes { bytes: known.bytes.clone(), mode: known.mode });
            let rewrite = Rewrite { path: from.clone(), expected: present.hash, after, moved_to: Some(to.clone()) };
            Some((Op::Rewrite(rewrite), Vec::new()))
        }
        _ => None,
    }
}

fn changing(path: &AbsPath, present: &Present, state: &State) -> Vec<(Op, Vec<FileDiff>)> {
    let diff =
        |before: String, after: String| vec![FileDiff { path: path.clone(), before: Some(before), after: Some(after) }];
    match state {
        State::Absent | State::Binary { .. } => Vec::new(),
        State::Text { text, encoding, mode } => {
            let Some(base) = present.snapshot.as_ref() else { return Vec::new() };
            let is_on_disk = matches!(base.source, Source::Disk { .. });
            let State::Text { encoding: old_encoding, mode: old_mode, .. } = present.state() else { return Vec::new() };
            let diffs = if base.text == *text { Vec::new() } else { diff(base.text.to_string(), text.to_string()) };
            if is_on_disk && (*encoding != old_encoding || *mode != old_mode) {
                let after = Some(FileBytes { bytes: encode(&text.to_string(), *encoding), mode: *mode });
                let rewrite = Rewrite { path: path.clone(), expected: present.hash, after, moved_to: None };
                return vec![(Op::Rewrite(rewrite), diffs)];
            }
            let edits = EditSet::between(&base.text, text);
            // The bits are the file's, whatever the editor shows; the bytes below it stay.
            let bits = present.below.clone().filter(|_| *mode != old_mode).map(|bytes| {
                let after = Some(FileBytes { bytes, mode: *mode });
                let rewrite = Rewrite { path: path.clone(), expected: present.hash, after, moved_to: None };
                (Op::Rewrite(rewrite), Vec::new())
            });
            let edit = (!edits.is_empty()).then(|| (Op::Edit(FileEdit::Modify { base: base.clone(), edits }), diffs));
            bits.into_iter().chain(edit).collect()
        }
        State::Orphan { text } => {
            let Some(base) = present.snapshot.as_ref() else { return Vec::new() };
            let edits = EditSet::between(&base.text, text);
            let diffs = diff(base.text.to_string(), text.to_string());
            let edit = (!edits.is_empty()).then(|| (Op::Edit(FileEdit::Modify { base: base.clone(), edits }), diffs));
            edit.into_iter().collect()
        }
        State::Known(known) => {
            let after = Some(FileBytes { bytes: known.bytes.clone(), mode: known.mode });
            let rewrite = Rewrite { path: path.clone(), expected: present.hash, after, moved_to: None };
            let is_other =
                present.hash != Some(known.hash) || known.mode.is_some_and(|mode| present.mode != Some(mode));
            is_other.then_some((Op::Rewrite(rewrite), Vec::new())).into_iter().collect()
        }
    }
}

fn creation(path: &AbsPath, state: &State) -> Option<(Op, Vec<FileDiff>)> {
    let (bytes, mode, text) = match state {
        State::Known(known) => (known.bytes.clone(), known.mode, known.text.as_ref().map(|(text, _)| text.to_string())),
        State::Text { text, encoding, mode } => (encode(&text.to_string(), *encoding), *mode, Some(text.to_string())),
        State::Absent | State::Binary { .. } | State::Orphan { .. } => return None,
    };
    let diffs = text.map(|text| FileDiff { path: path.clone(), before: None, after: Some(text) });
    let after = Some(FileBytes { bytes, mode });
    let rewrite = Rewrite { path: path.clone(), expected: None, after, moved_to: None };
    Some((Op::Rewrite(rewrite), diffs.into_iter().collect()))
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
async fn mark(group: &[Net], recorder: &Recorder) {
    let Some(net) = group.first() else { return };
    let mark = FileChanged { path: net.to.clone(), moved_to: None, made_folder: None, before: None, after: None };
    // The user was told of an error.
    let _ = recorder.record(vec![mark]).await;
}

fn paths_after(group: &[Net]) -> BTreeSet<&AbsPath> {
    group.iter().map(|net| &net.to).collect()
}
