//! The engine's `Editor` where there is none: nothing is open, so nothing is edited, saved or read again.

use copydesk_engine::ports::{
    ApplyRequest, BoxFuture, Editor, EditorError, FileChange, FreeEdits, ReloadReport, Unsaved,
};

pub(super) struct NoEditor {
    /// Somebody sits at the terminal: he sees each diff, and has `copydesk undo`.
    pub(super) is_watched: bool,
}

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

    /// In a pipe nobody sees what is changed (R20.3).
    fn free_edits(&self) -> FreeEdits {
        FreeEdits { shown: false, undoable: self.is_watched }
    }
}
