//! Diffs of an open session. How they are made is `diffs`' own.

use copydesk_workspace::path::AbsPath;

use super::{Context, SessionHandle};
use crate::diffs::{self, ChangesDiff, DiffError, Sources};
use crate::review::ChangesScope;

impl SessionHandle {
    /// What a turn or the session did, without what the user typed.
    pub async fn diff(&self, scope: &ChangesScope) -> Result<ChangesDiff, DiffError> {
        self.context.diff(scope).await
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
        diffs::against_head(&sources, &context.id, &context.real_folder().await).await
    }
}

impl Context {
    pub(super) async fn diff(&self, scope: &ChangesScope) -> Result<ChangesDiff, DiffError> {
        diffs::stored(&*self.ports.changes, &self.id, scope, &self.real_folder().await).await
    }

    /// Itself where it is gone.
    async fn real_folder(&self) -> AbsPath {
        let folder = &self.facts.folder;
        self.ports.files.real_path(folder.clone()).await.unwrap_or_else(|_| folder.clone())
    }
}
