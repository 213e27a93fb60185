//! Which text of which file the model saw last: what staleness is judged by (R6.4). Rebuilt from stored results; times of modification play no part.

use std::collections::BTreeMap;
use std::sync::Mutex;

use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;

use crate::message::{SeenFile, ToolResult};

/// Shared by all turns of a session. Files are known by their real paths.
#[derive(Debug, Default)]
pub struct Seen {
    files: Mutex<BTreeMap<AbsPath, ContentHash>>,
}

impl Seen {
    /// From the results of a session in their order.
    pub fn rebuild<'a>(results: impl IntoIterator<Item = &'a ToolResult>) -> Self {
        let seen = Self::default();
        for result in results {
            seen.record(&result.seen);
        }
        seen
    }

    pub fn record(&self, files: &[SeenFile]) {
        self.lock().extend(files.iter().map(|file| (file.path.clone(), file.hash)));
    }

    pub fn get(&self, real: &AbsPath) -> Option<ContentHash> {
        self.lock().get(real).copied()
    }

    pub fn paths(&self) -> Vec<AbsPath> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<AbsPath, ContentHash>> {
        self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
