//! What is done to the files as they stand, so that they stand as planned: in an order in which each finds its place free. Pure; whoever does it is `back`'s.

use std::collections::{BTreeMap, BTreeSet};

use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::{TextEncoding, encode_rope};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::plan::{Slot, State};
use crate::message::FileDiff;
use crate::view::{FileBytes, FileEdit, Rewrite, Snapshot, Source};

/// A path as it stands.
pub(super) struct Present {
    /// Where it is text.
    pub(super) snapshot: Option<Snapshot>,
    /// Of the file that lies below what the editor shows.
    pub(super) below: Option<Vec<u8>>,
    /// Of the file's bytes; `None` where there is no file.
    pub(super) hash: Option<ContentHash>,
    pub(super) mode: Option<u32>,
}

pub(super) enum Op {
    Edit(FileEdit),
    Rewrite(Rewrite),
}

/// One thing to do.
pub(super) struct Todo {
    pub(super) op: Op,
    pub(super) diffs: Vec<FileDiff>,
    /// The file as it stands before.
    path: AbsPath,
    /// Where a file stands no longer afterwards.
    leaves: Option<AbsPath>,
    /// Where one stands that did not before.
    takes: Option<AbsPath>,
    /// The content that stands there no longer afterwards.
    ends: Option<ContentHash>,
    /// The one that stands there afterwards.
    brings: Option<ContentHash>,
}

/// Names are exchanged all around: none of the files can be the first.
pub(super) struct Ring;

/// What makes of the files as they stand those that are to be, in an order in which each place is free when something comes there. What comes stands before
/// what is overwritten, and that before what goes, each content before its other copy ends, as far as it is not in the way: where one fails, no text is gone from both.
pub(super) fn ops(now: &BTreeMap<AbsPath, Present>, slots: &BTreeMap<AbsPath, Slot>) -> Result<Vec<Todo>, Ring> {
    let moved: BTreeSet<&AbsPath> =
        slots.iter().filter_map(|(path, slot)| slot.origin.as_ref().filter(|origin| *origin != path)).collect();
    let (mut comes, mut goes) = (Vec::new(), Vec::new());
    for (path, slot) in slots {
        let Some(present) = now.get(path) else { continue };
        let is_left = present.is_there() && !moved.contains(path);
        match (&slot.state, &slot.origin) {
            (State::Absent, _) if is_left => goes.extend(removal(path, present)),
            (State::Absent, _) => {}
            (state, Some(origin)) if origin == path => comes.extend(changing(path, present, state)),
            (state, origin) => {
                let coming = match origin {
                    Some(origin) => now.get(origin).and_then(|from| moving(origin, from, path, state)),
                    None => creation(path, state),
                };
                // A file that the editor shows gives its name to none.
                if coming.is_some() && is_left && !present.is_shown() {
                    goes.extend(removal(path, present));
                }
                comes.extend(coming);
            }
        }
    }
    comes.sort_by_key(|one| one.takes.is_none());
    in_order(comes.into_iter().chain(goes).collect())
}

/// Takes the first each time that finds its place free.
fn in_order(mut todo: Vec<Todo>) -> Result<Vec<Todo>, Ring> {
    let mut left: BTreeSet<AbsPath> = todo.iter().filter_map(|one| one.leaves.clone()).collect();
    let mut ordered = Vec::with_capacity(todo.len());
    while !todo.is_empty() {
        let is_free = |one: &Todo| {
            let places = std::iter::successors(one.takes.clone(), AbsPath::parent);
            !places.into_iter().any(|place| left.contains(&place) && one.leaves.as_ref() != Some(&place))
        };
        let is_awaited = |one: &Todo| {
            let is_there = |other: &Todo| match (&other.takes, &one.leaves) {
                (Some(place), Some(left)) => place.starts_with(left),
                _ => false,
            };
            one.takes.is_some() || one.leaves.is_none() || todo.iter().any(is_there)
        };
        let is_needed = |one: &Todo| {
            one.ends.is_some() && todo.iter().any(|other| other.brings == one.ends && other.path != one.path)
        };
        let next = todo.iter().position(|one| is_free(one) && is_awaited(one) && !is_needed(one));
        let next = next.or_else(|| todo.iter().position(|one| is_free(one) && is_awaited(one)));
        let next = todo.remove(next.or_else(|| todo.iter().position(is_free)).ok_or(Ring)?);
        if let Some(place) = &next.leaves {
            left.remove(place);
        }
        ordered.push(next);
    }
    Ok(ordered)
}

/// What comes back as it was, and goes where it stands now, is moved: no moment is without it. Says whether there was such.
pub(super) fn join_moves(now: &BTreeMap<AbsPath, Present>, slots: &mut BTreeMap<AbsPath, Slot>) -> bool {
    let origins: BTreeSet<AbsPath> = slots.values().filter_map(|slot| slot.origin.clone()).collect();
    let mut goes: BTreeMap<ContentHash, Vec<AbsPath>> = BTreeMap::new();
    for (path, slot) in slots.iter().filter(|(path, _)| !origins.contains(path)) {
        if let (State::Absent, Some(hash)) = (&slot.state, now.get(path).and_then(|present| present.hash)) {
            goes.entry(hash).or_default().push(path.clone());
        }
    }
    let mut has_joined = false;
    for (path, slot) in slots.iter_mut() {
        let is_free = now.get(path).is_some_and(|present| !present.is_there());
        if let (State::Known(known), None, true) = (&slot.state, &slot.origin, is_free) {
            slot.origin = goes.get_mut(&known.hash).and_then(Vec::pop);
            has_joined |= slot.origin.is_some();
        }
    }
    has_joined
}

fn removal(path: &AbsPath, present: &Present) -> Option<Todo> {
    let diff = |before: Rope| vec![FileDiff { path: path.clone(), before: Some(before), after: None }];
    let (op, diffs) = match (&present.snapshot, present.hash) {
        (Some(snapshot), Some(_)) => {
            (Op::Edit(FileEdit::Delete { base: snapshot.clone() }), diff(snapshot.text.clone()))
        }
        (None, Some(hash)) => {
            let rewrite = Rewrite { path: path.clone(), expected: Some(hash), after: None, moved_to: None };
            (Op::Rewrite(rewrite), Vec::new())
        }
        (_, None) => return None,
    };
    let (ends, leaves) = (present.hash, Some(path.clone()));
    Some(Todo { op, diffs, path: path.clone(), leaves, takes: None, ends, brings: None })
}

fn moving(from: &AbsPath, present: &Present, to: &AbsPath, state: &State) -> Option<Todo> {
    let diffs = |before: Rope, after: Rope| {
        vec![
            FileDiff { path: from.clone(), before: Some(before), after: None },
            FileDiff { path: to.clone(), before: None, after: Some(after) },
        ]
    };
    let rewrite = |bytes: Vec<u8>, mode: Option<u32>| {
        let after = Some(FileBytes { bytes, mode });
        Op::Rewrite(Rewrite { path: from.clone(), expected: present.hash, after, moved_to: Some(to.clone()) })
    };
    let (op, diffs) = match (&present.snapshot, state) {
        (Some(base), State::Text { text, encoding, mode }) if present.has_other_shape(*encoding, *mode) => {
            let diffs = diffs(base.text.clone(), text.clone());
            (rewrite(encode_rope(text, *encoding), *mode), diffs)
        }
        (Some(base), State::Text { text, .. } | State::Orphan { text }) => {
            let edits = EditSet::between(&base.text, text);
            let diffs = diffs(base.text.clone(), text.clone());
            (Op::Edit(FileEdit::Move { base: base.clone(), to: to.clone(), edits }), diffs)
        }
        (base, State::Known(known)) => {
            let texts = base.as_ref().zip(known.text.as_ref());
            let diffs = texts.map(|(base, (text, _))| diffs(base.text.clone(), text.clone()));
            (rewrite(known.bytes.clone(), known.mode), diffs.unwrap_or_default())
        }
        _ => return None,
    };
    let (leaves, takes, brings) = (Some(from.clone()), Some(to.clone()), state.hash());
    let ends = present.hash.filter(|hash| Some(*hash) != brings);
    Some(Todo { op, diffs, path: from.clone(), leaves, takes, ends, brings })
}

fn changing(path: &AbsPath, present: &Present, state: &State) -> Vec<Todo> {
    let brings = state.hash();
    let ends = present.hash.filter(|hash| Some(*hash) != brings);
    let todo = |op: Op, diffs: Vec<FileDiff>| {
        let path = path.clone();
        Todo { op, diffs, path, leaves: None, takes: None, ends, brings }
    };
    let diff =
        |before: Rope, after: Rope| vec![FileDiff { path: path.clone(), before: Some(before), after: Some(after) }];
    match state {
        State::Absent | State::Binary { .. } => Vec::new(),
        State::Text { text, encoding, mode } => {
            let Some(base) = present.snapshot.as_ref() else { return Vec::new() };
            let State::Text { mode: old_mode, .. } = present.state() else { return Vec::new() };
            let diffs = if base.text == *text { Vec::new() } else { diff(base.text.clone(), text.clone()) };
            if present.has_other_shape(*encoding, *mode) {
                let after = Some(FileBytes { bytes: encode_rope(text, *encoding), mode: *mode });
                let rewrite = Rewrite { path: path.clone(), expected: present.hash, after, moved_to: None };
                return vec![todo(Op::Rewrite(rewrite), diffs)];
            }
            let edits = EditSet::between(&base.text, text);
            // The bits are the file's, whatever the editor shows; the bytes below it stay.
            let bits = present.below.clone().filter(|_| *mode != old_mode).map(|bytes| {
                let after = Some(FileBytes { bytes, mode: *mode });
                let rewrite = Rewrite { path: path.clone(), expected: present.hash, after, moved_to: None };
                todo(Op::Rewrite(rewrite), Vec::new())
            });
            let edit =
                (!edits.is_empty()).then(|| todo(Op::Edit(FileEdit::Modify { base: base.clone(), edits }), diffs));
            bits.into_iter().chain(edit).collect()
        }
        State::Orphan { text } => {
            let Some(base) = present.snapshot.as_ref() else { return Vec::new() };
            let edits = EditSet::between(&base.text, text);
            let diffs = diff(base.text.clone(), text.clone());
            let edit =
                (!edits.is_empty()).then(|| todo(Op::Edit(FileEdit::Modify { base: base.clone(), edits }), diffs));
            edit.into_iter().collect()
        }
        State::Known(known) => {
            let after = Some(FileBytes { bytes: known.bytes.clone(), mode: known.mode });
            let rewrite = Rewrite { path: path.clone(), expected: present.hash, after, moved_to: None };
            let is_other =
                present.hash != Some(known.hash) || known.mode.is_some_and(|mode| present.mode != Some(mode));
            is_other.then(|| todo(Op::Rewrite(rewrite), Vec::new())).into_iter().collect()
        }
    }
}

fn creation(path: &AbsPath, state: &State) -> Option<Todo> {
    let (bytes, mode, text) = match state {
        State::Known(known) => (known.bytes.clone(), known.mode, known.text.as_ref().map(|(text, _)| text.clone())),
        State::Text { text, encoding, mode } => (encode_rope(text, *encoding), *mode, Some(text.clone())),
        State::Absent | State::Binary { .. } | State::Orphan { .. } => return None,
    };
    let diffs = text.map(|text| FileDiff { path: path.clone(), before: None, after: Some(text) });
    let after = Some(FileBytes { bytes, mode });
    let rewrite = Rewrite { path: path.clone(), expected: None, after, moved_to: None };
    let (op, diffs, path) = (Op::Rewrite(rewrite), diffs.into_iter().collect(), path.clone());
    Some(Todo { op, diffs, takes: Some(path.clone()), path, leaves: None, ends: None, brings: state.hash() })
}

impl Todo {
    pub(super) fn is_about(&self, path: &AbsPath) -> bool {
        self.path == *path || self.takes.as_ref() == Some(path)
    }
}

impl Present {
    pub(super) fn is_there(&self) -> bool {
        self.hash.is_some() || self.snapshot.is_some()
    }

    /// In the editor.
    fn is_shown(&self) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| !matches!(snapshot.source, Source::Disk { .. }))
    }

    /// Of a text on the disk: whether more is to change than its characters.
    fn has_other_shape(&self, encoding: TextEncoding, mode: Option<u32>) -> bool {
        match (self.state(), self.is_shown()) {
            (State::Text { encoding: old_encoding, mode: old_mode, .. }, false) => {
                encoding != old_encoding || mode != old_mode
            }
            _ => false,
        }
    }

    pub(super) fn state(&self) -> State {
        match (&self.snapshot, self.hash) {
            (None, None) => State::Absent,
            (None, Some(hash)) => State::Binary { hash, mode: self.mode },
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
