//! The engine's `Search` by ripgrep's own libraries, on the pool that may block. Knows no permission and no tool: it asks the predicate of the search.

mod control;
mod kept;
mod lines;
mod walk;

use copydesk_engine::ports::{BoxFuture, Found, LineHit, LinePattern, Search, SearchError, SearchTree};
use copydesk_workspace::path::AbsPath;
use tokio_util::sync::CancellationToken;

use walk::Tree;

/// Needs a tokio runtime where its futures are polled.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsSearch;

impl Search for OsSearch {
    fn files(&self, tree: SearchTree, cancel: CancellationToken) -> BoxFuture<'_, Result<Found<AbsPath>, SearchError>> {
        Box::pin(blocking(cancel, move |control| Tree::new(&tree, control).files()))
    }

    fn lines(
        &self,
        tree: SearchTree,
        pattern: LinePattern,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Found<LineHit>, SearchError>> {
        Box::pin(blocking(cancel, move |control| {
            let matcher = lines::LineMatcher::new(&pattern)?;
            Tree::new(&tree, control).lines(&matcher)
        }))
    }
}

/// The work ends with `cancel`, and also when nobody waits for it any more.
async fn blocking<T: Send + 'static>(
    cancel: CancellationToken,
    work: impl FnOnce(&CancellationToken) -> Result<T, SearchError> + Send + 'static,
) -> Result<T, SearchError> {
    let cancel = cancel.child_token();
    let dropped = cancel.clone().drop_guard();
    let done = tokio::task::spawn_blocking(move || work(&cancel)).await;
    drop(dropped);
    // A panic, or the end of the runtime: it costs this one search.
    done.unwrap_or_else(|error| Err(SearchError::Failed(error.to_string())))
}

#[cfg(test)]
#[path = "search_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
