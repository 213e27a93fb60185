//! Diffs of an open session. How they are made is `diffs`' own.

use super::SessionHandle;
use crate::diffs::{self, ChangesDiff, DiffError, Sources};
use crate::review::ChangesScope;
use copydesk_workspace::path::AbsPath;

impl SessionHandle {
    /// What a turn or the session did, without what the user typed.
    pub async fn diff(&self, scope: &ChangesScope) -> Result<ChangesDiff, DiffError> {
        let context = &self.context;
        diffs::stored(&*context.ports.changes, &context.id, scope, &self.real_folder().await).await
    }

    /// The files that the session touched, as they are now, against the commit that is checked out.
    pub async fn diff_to_head(&self) -> Result<ChangesDiff, DiffError> {
        let context = &self.context;
        let view = context.view();
        let sources = Sources {
            changes: &*context.ports.changes,
            version_control: &*context.ports.version_control,
            files: &*context.ports.files,
            view: &view,
        };
        diffs::against_head(&sources, &context.id, &self.real_folder().await).await
    }

    /// Itself where it is gone.
    async fn real_folder(&self) -> AbsPath {
        let folder = &self.context.facts.folder;
        self.context.ports.files.real_path(folder.clone()).await.unwrap_or_else(|_| folder.clone())
    }
}
