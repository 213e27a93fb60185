//! What is to be done to take changes back, from what they were and what stands there now. Pure: the contents are given, and nothing is written here.

use std::collections::BTreeMap;

use copydesk_workspace::encoding::{self, TextEncoding, encode_rope};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::merge::{Conflict, take_back};
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::net::Net;
use crate::ports::{Change, FileContent, encoded};

/// Conflicts of one file that are named by their lines. Finding the lines of one reads the whole text.
const MOST_NAMED: usize = 20;

/// A content that is known.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) hash: ContentHash,
    pub(super) bytes: Vec<u8>,
    pub(super) text: Option<(Rope, TextEncoding)>,
    pub(super) mode: Option<u32>,
}

/// What stands at a path: now, or once everything is taken back.
#[derive(Debug, Clone)]
pub(super) enum State {
    Absent,
    /// `mode` is `None` where it does not matter.
    Text {
        text: Rope,
        encoding: TextEncoding,
        mode: Option<u32>,
    },
    /// No text, by its bytes' hash.
    Binary {
        hash: ContentHash,
        mode: Option<u32>,
    },
    /// A file that the editor shows and that is not on the disk.
    Orphan {
        text: Rope,
    },
    /// These bytes.
    Known(Known),
}

#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) state: State,
    /// Where the file stands now that is to be this one; `None` for one that is new, or gone.
    pub(super) origin: Option<AbsPath>,
}

/// What came of one net change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Done,
    /// There was nothing of it any more.
    Nothing,
    Conflict {
        reasons: Vec<String>,
        partly: bool,
    },
}

/// A net change with its contents; those of a file that was or is there.
pub(super) struct Loaded<'a> {
    pub(super) net: &'a Net,
    pub(super) before: Option<Known>,
    pub(super) after: Option<Known>,
}

/// Takes one change back in `slots`, which hold each of its paths.
pub(super) fn take(slots: &mut BTreeMap<AbsPath, Slot>, change: &Loaded<'_>) -> Step {
    let Net { from, to, .. } = change.net;
    let Some(now) = slots.get(to).cloned() else { return Step::Nothing };
    match (&change.before, &change.after) {
        (None, None) => Step::Nothing,
        (None, Some(after)) => match &now.state {
            State::Absent | State::Orphan { .. } => Step::Nothing,
            state if is(state, after) => {
                slots.insert(to.clone(), Slot { state: State::Absent, origin: None });
                Step::Done
            }
            _ => conflict("the agent made it, and it was changed since: it stays"),
        },
        (Some(before), None) => match &now.state {
            State::Absent => {
                slots.insert(from.clone(), Slot { state: State::Known(before.clone()), origin: None });
                Step::Done
            }
            // Its buffer is still open, and has what comes back.
            State::Orphan { text } if before.text.as_ref().is_some_and(|(old, _)| old == text) => {
                slots.insert(from.clone(), Slot { state: State::Known(before.clone()), origin: None });
                Step::Done
            }
            state if is(state, before) => Step::Nothing,
            State::Orphan { .. } => conflict("the editor has another text of it, which is not saved"),
            _ => conflict("another file stands there by now"),
        },
        (Some(before), Some(after)) => {
            if from != to && !matches!(slots.get(from).map(|slot| &slot.state), None | Some(State::Absent)) {
                let is_back = matches!(now.state, State::Absent);
                return if is_back {
                    Step::Nothing
                } else {
                    conflict(&format!("another file stands at {from} by now"))
                };
            }
            let (state, step) = content_back(&now.state, before, after, from != to);
            if let Some(state) = state {
                slots.insert(to.clone(), Slot { state: State::Absent, origin: None });
                slots.insert(from.clone(), Slot { state, origin: now.origin });
            }
            step
        }
    }
}

/// Whether what stands there, by its text and its bytes, is what stood there before `row` and not what it was to leave. The text tells, however it is stored
/// on each side: the editor's may not be saved. Where it is the same on both, or there is none, the bytes do.
pub(super) fn is_as_before(row: &Change, text: Option<&Rope>, bytes: Option<ContentHash>) -> bool {
    let Some(before) = &row.before else { return text.is_none() && bytes.is_none() };
    let is_text = |content: &FileContent| {
        let (text, encoding) = text.zip(content.encoding)?;
        Some(encoded(text, encoding).1 == content.hash)
    };
    match (is_text(before), row.after.as_ref().and_then(is_text)) {
        (Some(is_before), after) if !is_before || after != Some(true) => is_before,
        (None, Some(true)) => false,
        (Some(_) | None, _) => bytes == Some(before.hash),
    }
}

/// `None` where the file stays as it is.
fn content_back(now: &State, before: &Known, after: &Known, is_moved: bool) -> (Option<State>, Step) {
    if matches!(now, State::Absent) {
        return (None, conflict("the file is gone"));
    }
    if let (Some((old, old_encoding)), Some((new, new_encoding)), Some((text, encoding, mode))) =
        (&before.text, &after.text, text_of(now))
    {
        let taken = take_back(old, new, &text);
        let Ok(result) = taken.edits.apply(&text) else { return (None, conflict("it cannot be merged")) };
        let encoding_back =
            if old_encoding != new_encoding && encoding == *new_encoding { *old_encoding } else { encoding };
        let mode_back = mode_back(mode, before, after);
        let is_changed = !taken.edits.is_empty() || encoding_back != encoding || mode_back != mode || is_moved;
        let named = taken.conflicts.iter().take(MOST_NAMED);
        let mut reasons: Vec<String> = named.map(|conflict| lines_of(conflict, &text, &result, &taken.edits)).collect();
        match taken.conflicts.len().saturating_sub(MOST_NAMED) {
            0 => {}
            1 => reasons.push("and one more place was changed since".to_owned()),
            more => reasons.push(format!("and {more} more places were changed since")),
        }
        let step = match (reasons.is_empty(), is_changed) {
            (false, partly) => Step::Conflict { reasons, partly },
            (true, true) => Step::Done,
            (true, false) => Step::Nothing,
        };
        let state = match now {
            State::Orphan { .. } => State::Orphan { text: result },
            _ => State::Text { text: result, encoding: encoding_back, mode: mode_back },
        };
        return (is_changed.then_some(state), step);
    }
    if is(now, after) {
        let mode = mode_of(now);
        let back = Known { mode: mode_back(mode, before, after), ..before.clone() };
        let is_same = before.hash == after.hash && back.mode == mode && !is_moved;
        return if is_same { (None, Step::Nothing) } else { (Some(State::Known(back)), Step::Done) };
    }
    if is(now, before) && !is_moved {
        return (None, Step::Nothing);
    }
    (None, conflict("it is no text, and was changed since"))
}

/// What the user has set since stays.
fn mode_back(now: Option<u32>, before: &Known, after: &Known) -> Option<u32> {
    if before.mode != after.mode && now == after.mode { before.mode } else { now }
}

fn mode_of(state: &State) -> Option<u32> {
    match state {
        State::Text { mode, .. } | State::Binary { mode, .. } | State::Known(Known { mode, .. }) => *mode,
        State::Absent | State::Orphan { .. } => None,
    }
}

fn is(state: &State, content: &Known) -> bool {
    match state {
        State::Absent | State::Orphan { .. } => false,
        State::Text { text, .. } => content.text.as_ref().is_some_and(|(other, _)| other == text),
        State::Binary { hash, .. } => *hash == content.hash,
        State::Known(known) => match (&known.text, &content.text) {
            (Some((text, _)), Some((other, _))) => text == other,
            _ => known.hash == content.hash,
        },
    }
}

fn text_of(state: &State) -> Option<(Rope, TextEncoding, Option<u32>)> {
    match state {
        State::Text { text, encoding, mode } => Some((text.clone(), *encoding, *mode)),
        State::Orphan { text } => Some((text.clone(), TextEncoding::Utf8, None)),
        State::Known(Known { text: Some((text, encoding)), mode, .. }) => Some((text.clone(), *encoding, *mode)),
        State::Absent | State::Binary { .. } | State::Known(_) => None,
    }
}

fn conflict(reason: &str) -> Step {
    Step::Conflict { reasons: vec![reason.to_owned()], partly: false }
}

/// The place of a conflict in the text afterwards, counted from one.
fn lines_of(conflict: &Conflict, now: &Rope, result: &Rope, edits: &copydesk_workspace::edit::EditSet) -> String {
    let place = |line: usize| {
        let offset = edits.map_offset(offset_of_line(now, line));
        line_of_offset(result, offset) + 1
    };
    let first = place(conflict.now.start);
    match conflict.now.len() {
        0 => format!("what the agent wrote at line {first} was removed since"),
        1 => format!("line {first} was changed since"),
        count => format!("lines {first} to {} were changed since", first + count - 1),
    }
}

/// By the lines of merges: each break ends one.
fn offset_of_line(text: &Rope, line: usize) -> usize {
    let text = text.to_string();
    breaks(&text).nth(line.wrapping_sub(1)).filter(|_| line > 0).unwrap_or(if line == 0 { 0 } else { text.len() })
}

fn line_of_offset(text: &Rope, offset: usize) -> usize {
    breaks(&text.to_string()).take_while(|end| *end <= offset).count()
}

/// Where lines end, in bytes.
fn breaks(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b'\n', b'\r', bytes)
        .filter(|at| !(bytes[*at] == b'\r' && bytes.get(at + 1) == Some(&b'\n')))
        .map(|at| at + 1)
}

impl State {
    /// Of its bytes, as far as they are known.
    pub(super) fn hash(&self) -> Option<ContentHash> {
        match self {
            Self::Text { text, encoding, .. } => Some(ContentHash::of(&encode_rope(text, *encoding))),
            Self::Binary { hash, .. } => Some(*hash),
            Self::Known(known) => Some(known.hash),
            Self::Absent | Self::Orphan { .. } => None,
        }
    }
}

impl Known {
    pub(super) fn new(bytes: Vec<u8>, mode: Option<u32>) -> Self {
        let text = encoding::decode(&bytes).ok().map(|(text, encoding)| (Rope::from(text), encoding));
        Self { hash: ContentHash::of(&bytes), bytes, text, mode }
    }
}
