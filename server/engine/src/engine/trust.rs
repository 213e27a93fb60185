//! Decisions about a project that are made outside of any session: by a command of the user's.

use copydesk_workspace::path::AbsPath;

use super::Engine;
use crate::config::{Standing, Wanted};
use crate::ports::{Capability, TrustError, TrustVerdict};

impl Engine {
    /// Under which decisions on the project of this folder are kept: the real path of its root.
    pub async fn workspace(&self, folder: AbsPath) -> AbsPath {
        let place = self.place(folder.clone(), vec![folder]).await;
        self.real(&place.facts.worktree).await
    }

    /// Trusts all that the folder's configuration wants now; gives what was not trusted before.
    pub async fn trust(&self, folder: AbsPath, capabilities: &[Capability]) -> Result<Vec<Wanted>, TrustError> {
        let mut trusted: Vec<Wanted> = Vec::new();
        loop {
            let report = self.survey(folder.clone()).await.config.trust;
            let is_next = |wanted: &Wanted| {
                let is_new = |before: &Wanted| before.capability != wanted.capability;
                capabilities.contains(&wanted.capability)
                    && wanted.standing != Standing::Trusted
                    && trusted.iter().all(is_new)
            };
            let Some((workspace, next)) = report.workspace.zip(report.wants.into_iter().find(is_next)) else {
                return Ok(trusted);
            };
            let decision = next.decide(TrustVerdict::Trusted, self.ports.clock.now());
            self.ports.trust.decide(workspace, decision).await?;
            // What is read from outside may be a part of what is decided next.
            trusted.push(next);
        }
    }
}
