//! What was decided about projects: `trust.json` in the data folder, by workspace. It holds hashes of what was shown, no value of any configuration.

use std::collections::BTreeMap;

use copydesk_engine::ports::{BoxFuture, Capability, Trust, TrustDecision, TrustError};
use copydesk_workspace::path::AbsPath;
use serde::{Deserialize, Serialize};

use super::kept_file::{KeptFile, KeptFileError};

/// Contents of one workspace and capability; the oldest are forgotten. People open a project in some of its folders, and go back to older branches.
const REMEMBERED: usize = 32;

#[derive(Debug, Clone)]
pub struct TrustFile {
    file: KeptFile,
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    workspaces: BTreeMap<AbsPath, Vec<TrustDecision>>,
}

impl TrustFile {
    /// In our data folder.
    pub fn in_folder(data: &AbsPath) -> Self {
        Self { file: KeptFile::at(data.join("trust.json").as_path()) }
    }

    async fn read(&self) -> Result<Kept, TrustError> {
        let file = self.file.clone();
        let read = tokio::task::spawn_blocking(move || file.read::<Kept>()).await;
        read.map_err(|error| TrustError::Unreadable(error.to_string()))?
            .map_err(|error| TrustError::Unreadable(text(&error)))
    }

    /// `change` gives whether anything is to be written.
    async fn change(&self, change: impl FnOnce(&mut Kept) -> bool + Send + 'static) -> Result<bool, TrustError> {
        let file = self.file.clone();
        let changed =
            tokio::task::spawn_blocking(move || file.change(|kept: &mut Kept| change(kept).then_some(()))).await;
        let changed = changed.map_err(|error| TrustError::Unwritable(error.to_string()))?;
        changed.map(|changed| changed.is_some()).map_err(|error| TrustError::Unwritable(text(&error)))
    }
}

impl Trust for TrustFile {
    fn decisions(&self, workspace: AbsPath) -> BoxFuture<'_, Result<Vec<TrustDecision>, TrustError>> {
        Box::pin(async move { Ok(self.read().await?.workspaces.remove(&workspace).unwrap_or_default()) })
    }

    fn all(&self) -> BoxFuture<'_, Result<BTreeMap<AbsPath, Vec<TrustDecision>>, TrustError>> {
        Box::pin(async move { Ok(self.read().await?.workspaces) })
    }

    fn decide(&self, workspace: AbsPath, decision: TrustDecision) -> BoxFuture<'_, Result<(), TrustError>> {
        Box::pin(async move {
            let decided = self.change(move |kept| {
                let decisions = kept.workspaces.entry(workspace).or_default();
                let capability = decision.capability;
                decisions.retain(|old| old.capability != capability || old.content != decision.content);
                decisions.push(decision);
                let of_capability = decisions.iter().filter(|old| old.capability == capability).count();
                let mut surplus = of_capability.saturating_sub(REMEMBERED);
                decisions.retain(|old| {
                    let is_surplus = old.capability == capability && surplus > 0;
                    surplus -= usize::from(is_surplus);
                    !is_surplus
                });
                true
            });
            decided.await.map(|_| ())
        })
    }

    fn revoke(&self, workspace: AbsPath, capabilities: Vec<Capability>) -> BoxFuture<'_, Result<bool, TrustError>> {
        Box::pin(self.change(move |kept| {
            let Some(decisions) = kept.workspaces.get_mut(&workspace) else { return false };
            let before = decisions.len();
            decisions.retain(|decision| !capabilities.contains(&decision.capability));
            let is_changed = decisions.len() < before;
            if decisions.is_empty() {
                kept.workspaces.remove(&workspace);
            }
            is_changed
        }))
    }
}

/// The port's own text ends the sentence.
fn text(error: &KeptFileError) -> String {
    error.to_string().trim_end_matches('.').to_owned()
}

#[cfg(test)]
#[path = "trust_file_tests.rs"]
mod tests;
