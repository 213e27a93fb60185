//! What became of the agent's edits, in the words of our additions. Pure; the engine's values come in, the wire's go out.

use copydesk_engine::diffs::ChangesDiff;
use copydesk_protocol::additions::{ChangeKind, DiffResult, DiffedFile};
use copydesk_workspace::diff::Kind;
use copydesk_workspace::uri::uri_from_path;

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
    DiffResult { diff: shown.diff.patch(), files: files.collect(), added: totals.added, removed: totals.removed }
}
