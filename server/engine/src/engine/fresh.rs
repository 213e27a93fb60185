//! A session that is being made. Its request may be given up on while its row is written; nobody knows of it then.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::ids::SessionId;
use crate::ports::Store;

/// Removes the session from the store when it is dropped before it was opened.
pub(super) struct Fresh {
    id: SessionId,
    store: Option<Arc<dyn Store>>,
    tasks: TaskTracker,
}

impl Fresh {
    pub(super) fn new(id: SessionId, store: Arc<dyn Store>, tasks: TaskTracker) -> Self {
        Self { id, store: Some(store), tasks }
    }

    /// Somebody has it.
    pub(super) fn opened(mut self) {
        self.store = None;
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let (Some(store), Ok(runtime)) = (self.store.take(), tokio::runtime::Handle::try_current()) else { return };
        let id = self.id.clone();
        // A store does one thing after the other: the row is written by then, or never will be.
        self.tasks.spawn_on(
            async move {
                if let Err(error) = store.delete(id).await {
                    tracing::warn!(%error, "a session that nobody opened is left in the store");
                }
            },
            &runtime,
        );
    }
}
