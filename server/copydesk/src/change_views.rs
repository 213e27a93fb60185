//! What became of the agent's edits, in the words of our additions: undo, review and diffs. Pure; the engine's values come in, the wire's go out.

use copydesk_engine::diffs::ChangesDiff;
use copydesk_engine::ids::{CallId, MessageId};
use copydesk_engine::review::{self, ChangedFile, ChangedKind, ChangesView, Decided, HunkId, HunkView};
use copydesk_engine::undo::{self, UndoReport};
use copydesk_protocol::additions::{
    ChangeHunk, ChangeKind, ChangesResult, ChangesScope, DiffResult, DiffedFile, FileChanges, HunkChoice, HunkState,
    TextPosition, TextRange, UndecidedHunk, UndoOutcome, UndoResult, UndoWhat, UndoneFile, WhyUndecided,
};
use copydesk_workspace::diff::{Kind, LineCounts, line_counts};
use copydesk_workspace::position::{PositionEncoding, position_of};
use copydesk_workspace::uri::{path_from_uri, uri_from_path};
use ropey::Rope;

pub(crate) fn undo_what(what: UndoWhat) -> undo::UndoWhat {
    match what {
        UndoWhat::Last => undo::UndoWhat::Last,
        UndoWhat::Redo => undo::UndoWhat::Redo,
        UndoWhat::Turn(turn) => undo::UndoWhat::Turn(MessageId::new(turn)),
        UndoWhat::Call(call) => undo::UndoWhat::Call(CallId::new(call)),
    }
}

pub(crate) fn undone(report: &UndoReport) -> UndoResult {
    let counts = report.diffs.iter().fold(LineCounts::default(), |mut counts, diff| {
        counts += line_counts(&diff.text_before(), &diff.text_after());
        counts
    });
    UndoResult {
        turn: report.turn.as_ref().map(MessageId::to_string),
        title: report.title.clone(),
        files: report.files.iter().map(undone_file).collect(),
        added: counts.added,
        removed: counts.removed,
        text: report.to_string(),
    }
}

fn undone_file(file: &undo::UndoneFile) -> UndoneFile {
    let uri = uri_from_path(&file.path);
    let plain = |outcome| UndoneFile { uri: uri.clone(), outcome, to: None, partly: false, reason: None };
    match &file.outcome {
        undo::UndoOutcome::Restored => plain(UndoOutcome::Restored),
        undo::UndoOutcome::Removed => plain(UndoOutcome::Removed),
        undo::UndoOutcome::MovedBack { to } => {
            UndoneFile { to: Some(uri_from_path(to)), ..plain(UndoOutcome::MovedBack) }
        }
        undo::UndoOutcome::Unchanged => plain(UndoOutcome::Unchanged),
        undo::UndoOutcome::Conflict { reason, partly } => {
            UndoneFile { partly: *partly, reason: Some(reason.clone()), ..plain(UndoOutcome::Conflict) }
        }
        undo::UndoOutcome::Unavailable { reason } => {
            UndoneFile { reason: Some(reason.clone()), ..plain(UndoOutcome::Unavailable) }
        }
        undo::UndoOutcome::Failed { reason } => {
            UndoneFile { reason: Some(reason.clone()), ..plain(UndoOutcome::Failed) }
        }
    }
}

pub(crate) fn scope(scope: ChangesScope) -> review::ChangesScope {
    match scope {
        ChangesScope::Session => review::ChangesScope::Session,
        ChangesScope::LastTurn => review::ChangesScope::LastTurn,
        ChangesScope::Turn(turn) => review::ChangesScope::Turn(MessageId::new(turn)),
    }
}

/// The error is for the client.
pub(crate) fn choice(choice: HunkChoice) -> Result<review::HunkChoice, String> {
    Ok(match choice {
        HunkChoice::All => review::HunkChoice::All,
        HunkChoice::Hunks(ids) => review::HunkChoice::Hunks(ids.into_iter().map(HunkId).collect()),
        HunkChoice::Files(uris) => {
            let path = |uri: String| path_from_uri(&uri).map_err(|error| format!("{uri}: {error}"));
            review::HunkChoice::Files(uris.into_iter().map(path).collect::<Result<_, _>>()?)
        }
    })
}

pub(crate) fn changes(view: &ChangesView, decided: Decided, encoding: PositionEncoding) -> ChangesResult {
    let Decided { hunks, undecided } = decided;
    ChangesResult {
        files: view.files.iter().map(|file| file_changes(file, encoding)).collect(),
        added: view.added,
        removed: view.removed,
        decided: hunks.into_iter().map(|id| id.0).collect(),
        undecided: undecided.into_iter().map(undecided_hunk).collect(),
    }
}

fn undecided_hunk(undecided: review::Undecided) -> UndecidedHunk {
    let why = match undecided.why {
        review::WhyUndecided::Gone => WhyUndecided::Gone,
        review::WhyUndecided::Outdated => WhyUndecided::Outdated,
        review::WhyUndecided::Conflict => WhyUndecided::Conflict,
    };
    UndecidedHunk { id: undecided.id.0, why, reason: undecided.reason }
}

fn file_changes(file: &ChangedFile, encoding: PositionEncoding) -> FileChanges {
    let (kind, from) = match &file.kind {
        ChangedKind::Created => (ChangeKind::Created, None),
        ChangedKind::Modified => (ChangeKind::Modified, None),
        ChangedKind::Deleted => (ChangeKind::Deleted, None),
        ChangedKind::Moved { from } => (ChangeKind::Moved, Some(uri_from_path(from))),
    };
    // As the editor spells it, where it is open.
    let (uri, version) = match &file.open {
        Some((uri, version)) => (uri.clone(), Some(*version)),
        None => (uri_from_path(&file.path), None),
    };
    FileChanges {
        uri,
        kind,
        from,
        version,
        binary: file.is_binary,
        added: file.added,
        removed: file.removed,
        hunks: file.hunks.iter().map(|hunk| change_hunk(hunk, file, encoding)).collect(),
    }
}

fn change_hunk(hunk: &HunkView, file: &ChangedFile, encoding: PositionEncoding) -> ChangeHunk {
    ChangeHunk {
        id: hunk.id.0,
        turn: hunk.turn.to_string(),
        state: match hunk.state {
            review::HunkState::Undecided => HunkState::Undecided,
            review::HunkState::Accepted => HunkState::Accepted,
            review::HunkState::Rejected => HunkState::Rejected,
            review::HunkState::Outdated => HunkState::Outdated,
        },
        range: range(&file.now, &hunk.after, encoding),
        old_range: range(&file.base, &hunk.before, encoding),
        old_text: hunk.old_text.clone(),
        new_text: hunk.new_text.clone(),
    }
}

/// Of whole lines; where the last one has no line break its end is the end of the text.
fn range(text: &Rope, lines: &std::ops::Range<usize>, encoding: PositionEncoding) -> TextRange {
    let at = |line: usize| {
        let offset = text.line_to_byte(line.min(text.len_lines()));
        let position = position_of(text, offset, encoding);
        TextPosition { line: position.line, character: position.column }
    };
    TextRange { start: at(lines.start), end: at(lines.end) }
}

pub(crate) fn diff(shown: &ChangesDiff) -> DiffResult {
    let totals = shown.diff.totals();
    let files = shown.diff.files.iter().zip(&shown.paths).map(|(file, path)| DiffedFile {
        uri: uri_from_path(path),
        kind: match file.kind {
            Kind::Created => ChangeKind::Created,
            Kind::Modified => ChangeKind::Modified,
            Kind::Deleted => ChangeKind::Deleted,
            Kind::Moved => ChangeKind::Moved,
        },
        binary: !file.is_text,
        added: file.counts.added,
        removed: file.counts.removed,
    });
    DiffResult {
        diff: shown.diff.patch(),
        files: files.collect(),
        turns: shown.turns.iter().map(MessageId::to_string).collect(),
        added: totals.added,
        removed: totals.removed,
    }
}

#[cfg(test)]
#[path = "change_views_tests.rs"]
mod tests;
