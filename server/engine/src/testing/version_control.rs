//! Version control in memory: what the commit that is checked out holds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use copydesk_workspace::path::AbsPath;

use super::lock;
use crate::ports::{BoxFuture, Committed, VersionControl, VersionControlError};

#[derive(Default)]
pub struct MemoryVersionControl {
    files: Mutex<BTreeMap<AbsPath, Vec<u8>>>,
    broken: Mutex<Option<VersionControlError>>,
}

impl MemoryVersionControl {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn commit(&self, path: AbsPath, bytes: &[u8]) {
        lock(&self.files).insert(path, bytes.to_vec());
    }

    /// Every question fails with it, until it is `None` again.
    pub fn break_with(&self, error: Option<VersionControlError>) {
        *lock(&self.broken) = error;
    }
}

impl VersionControl for MemoryVersionControl {
    fn committed(
        &self,
        work_tree: AbsPath,
        names: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<Option<Committed>>, VersionControlError>> {
        Box::pin(async move {
            if let Some(error) = lock(&self.broken).clone() {
                return Err(error);
            }
            let files = lock(&self.files);
            let file = |name: &String| files.get(&work_tree.join(name)).cloned();
            Ok(names.iter().map(|name| Some(Committed { bytes: Some(file(name)?), mode: 0o644 })).collect())
        })
    }
}
