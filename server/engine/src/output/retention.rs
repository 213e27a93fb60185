//! How long an output that was too long for the model stays in its file. Looked after behind turns, never at the start.

use std::sync::{Mutex, PoisonError};

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;

use super::SPILLED;
use crate::ids::Millis;
use crate::ports::Files;

/// Milliseconds: seven days since the last write, as opencode has it.
const KEPT: i64 = 7 * 24 * 60 * 60 * 1000;
/// Milliseconds: an hour.
const BETWEEN_LOOKS: i64 = 60 * 60 * 1000;

/// When the folder was looked at last, by this daemon.
#[derive(Debug, Default)]
pub(crate) struct Retention(Mutex<Option<Millis>>);

impl Retention {
    /// Whether it is time for another look, which is taken for done.
    pub(crate) fn is_due(&self, now: Millis) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.0 - last.0 >= BETWEEN_LOOKS);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

/// Removes what is too old. What cannot be removed stays until the next look.
pub(crate) async fn sweep(files: &dyn Files, folder: &AbsPath, now: Millis) {
    let Ok(folder) = files.real_path(folder.clone()).await else { return };
    let Ok(entries) = files.list_real(folder.clone()).await else { return };
    let outputs = entries.into_iter().filter(|entry| {
        entry.kind == FileKind::File && !entry.is_link && entry.name.starts_with(&format!("{SPILLED}_"))
    });
    for output in outputs {
        let path = folder.join(&output.name);
        let Ok(stat) = files.stat(path.clone()).await else { continue };
        if now.0 - stat.stamp.modified < KEPT {
            continue;
        }
        let Ok(hash) = files.hash_real(path.clone()).await else { continue };
        if let Err(error) = files.remove_real(path, hash).await {
            tracing::debug!(%error, "an old output was not removed");
        }
    }
}
