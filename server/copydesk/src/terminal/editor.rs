//! The engine's `Editor` where there is none: nothing is open, so nothing is edited, saved or read again.

use copydesk_engine::ports::{
    ApplyRequest, BoxFuture, Editor, EditorError, FileChange, FreeEdits, ReloadReport, Unsaved,
};

pub(super) struct NoEditor;

impl Editor for NoEditor {
    fn apply(&self, _: ApplyRequest) -> BoxFuture<'_, Result<(), EditorError>> {
        Box::pin(async { Err(EditorError::Unsupported) })
    }

    fn save(&self, _: Vec<String>) -> BoxFuture<'_, Vec<Unsaved>> {
        Box::pin(async { Vec::new() })
    }

    fn files_changed(&self, _: Vec<FileChange>) -> BoxFuture<'_, ReloadReport> {
        Box::pin(async { ReloadReport::default() })
    }

    fn free_edits(&self) -> FreeEdits {
        FreeEdits::default()
    }
}
