//! Diffs of stored sessions. Opens none, and needs no lease.

use super::Engine;
use crate::diffs::{self, ChangesDiff, DiffError, Sources};
use crate::ids::SessionId;
use crate::ports::Connection;
use crate::review::ChangesScope;
use crate::view::View;

impl Engine {
    /// As `SessionHandle::diff`.
    pub async fn diff(&self, session: &SessionId, scope: &ChangesScope) -> Result<ChangesDiff, DiffError> {
        let meta = self.ports.store.meta(session.clone()).await?;
        let folder = self.real(&meta.folder).await;
        diffs::stored(&*self.ports.changes, session, scope, &folder).await
    }

    /// As `SessionHandle::diff_to_head`. The present texts are those of the connection's editor.
    pub async fn diff_to_head(&self, session: &SessionId, connection: &Connection) -> Result<ChangesDiff, DiffError> {
        let meta = self.ports.store.meta(session.clone()).await?;
        let folder = self.real(&meta.folder).await;
        let Connection { editor, overlay, .. } = connection;
        let view = View::new(self.ports.files.clone(), editor.clone(), overlay.clone(), session.clone());
        let sources = Sources {
            changes: &*self.ports.changes,
            version_control: &*self.ports.version_control,
            files: &*self.ports.files,
            view: &view,
        };
        diffs::against_head(&sources, session, &folder).await
    }
}
