//! Undo and review of a plain client: what its commands do with the agent's changes, and which of them stand at a line. How they are offered is `actions`'.

use copydesk_engine::overlay::Overlay;
use copydesk_engine::review::{
    ChangesScope, ChangesView, Decided, Decision, HunkChoice, HunkId, HunkState, HunkView, ReviewError,
};
use copydesk_engine::session::SessionHandle;
use copydesk_engine::undo::UndoWhat;
use copydesk_workspace::path::AbsPath;

use super::commands::Chosen;

/// For the user; `is_whole`: all of what he wanted was done.
pub(super) struct Told {
    pub(super) text: String,
    pub(super) is_whole: bool,
}

type Session = Option<(SessionHandle, AbsPath)>;

pub(super) async fn undo(session: Session, what: UndoWhat) -> Result<Told, String> {
    let (session, _) = session.ok_or("Copydesk has done nothing here yet that could be undone.")?;
    let report = session.undo(what).await.map_err(|error| format!("Copydesk: {error}."))?;
    Ok(Told { text: report.to_string(), is_whole: report.is_whole() })
}

pub(super) async fn decide(
    session: Session,
    overlay: &Overlay,
    decision: Decision,
    chosen: Chosen,
) -> Result<Told, String> {
    let (session, _) = session.ok_or("Copydesk has changed nothing here yet.")?;
    let failed = |error: ReviewError| format!("Copydesk: {error}.");
    let scope = ChangesScope::Session;
    let choice = match chosen {
        Chosen::All => HunkChoice::All,
        Chosen::Hunks(ids) => HunkChoice::Hunks(ids),
        Chosen::At { uri, range } => {
            let document = overlay.by_uri(&uri).ok_or_else(|| format!("{uri} is not open."))?;
            let view = session.changes(&scope).await.map_err(failed)?;
            HunkChoice::Hunks(touching(&view, document.key.path(), range.lines()))
        }
    };
    let Decided { hunks, undecided } = session.decide(&scope, &choice, decision).await.map_err(failed)?;
    let word = match decision {
        Decision::Accept => "accepted",
        Decision::Reject => "rejected",
    };
    let mut text = match hunks.len() {
        0 if undecided.is_empty() => "Copydesk: there is no change to decide on here.".to_owned(),
        1 => format!("Copydesk: 1 change {word}."),
        count => format!("Copydesk: {count} changes {word}."),
    };
    for left in &undecided {
        text.push_str(&format!("\n{}", left.reason));
    }
    Ok(Told { text, is_whole: undecided.is_empty() })
}

/// None where they cannot be listed, which the next decision says.
pub(super) async fn listed(session: &SessionHandle) -> ChangesView {
    session.changes(&ChangesScope::Session).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the changes of a session could not be listed");
        ChangesView::default()
    })
}

/// Undecided changes of the file at these lines, from 0, the last one included. One that only removes stands between two lines, and is at both.
pub(super) fn touching(view: &ChangesView, file: &AbsPath, (first, last): (usize, usize)) -> Vec<HunkId> {
    let is_here = |hunk: &&HunkView| {
        let lines = if hunk.after.is_empty() {
            hunk.after.start.saturating_sub(1)..hunk.after.start + 1
        } else {
            hunk.after.clone()
        };
        hunk.state == HunkState::Undecided && lines.start <= last && first < lines.end
    };
    let files = view.files.iter().filter(|changed| changed.path == *file);
    files.flat_map(|changed| &changed.hunks).filter(is_here).map(|hunk| hunk.id).collect()
}

pub(super) fn undecided(view: &ChangesView) -> usize {
    let hunks = view.files.iter().flat_map(|file| &file.hunks);
    hunks.filter(|hunk| hunk.state == HunkState::Undecided).count()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use copydesk_engine::ids::MessageId;
    use copydesk_engine::review::{ChangedFile, ChangedKind};
    use ropey::Rope;

    use super::*;

    #[test]
    fn a_change_is_at_each_of_its_lines_and_a_removal_at_both_sides() {
        let hunk = |id, after: std::ops::Range<usize>, state| HunkView {
            id: HunkId(id),
            turn: MessageId::new("msg_1"),
            before: 0..0,
            after,
            old_text: String::new(),
            new_text: String::new(),
            state,
        };
        let path = |path: &str| AbsPath::new(path).unwrap();
        let hunks = vec![
            hunk(1, 0..0, HunkState::Undecided),
            hunk(2, 3..5, HunkState::Undecided),
            hunk(3, 4..5, HunkState::Accepted),
            hunk(4, 7..7, HunkState::Undecided),
        ];
        let file = ChangedFile {
            path: path("/p/a"),
            kind: ChangedKind::Modified,
            open: None,
            is_binary: false,
            base: Rope::new(),
            now: Rope::new(),
            hunks,
            added: 0,
            removed: 0,
        };
        let view = ChangesView { files: vec![file], added: 0, removed: 0 };
        let check = |lines, expected: &[u64]| {
            let ids: Vec<u64> = touching(&view, &path("/p/a"), lines).iter().map(|id| id.0).collect();
            assert_eq!(ids, expected, "{lines:?}");
        };
        check((0, 0), &[1]);
        check((1, 2), &[]);
        check((3, 3), &[2]);
        check((4, 4), &[2]);
        check((5, 5), &[]);
        check((6, 6), &[4]);
        check((7, 7), &[4]);
        check((8, 8), &[]);
        check((0, 9), &[1, 2, 4]);
        assert_eq!(touching(&view, &path("/p/b"), (0, 9)), []);
        assert_eq!(undecided(&view), 3);
    }
}
