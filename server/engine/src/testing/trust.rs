//! Decisions about projects, in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use copydesk_workspace::path::AbsPath;

use super::lock;
use crate::ports::{BoxFuture, Capability, Trust, TrustDecision, TrustError};

#[derive(Default)]
pub struct MemoryTrust {
    decisions: Mutex<BTreeMap<AbsPath, Vec<TrustDecision>>>,
    broken: Mutex<Option<TrustError>>,
}

impl MemoryTrust {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// From now on every call fails with it.
    pub fn break_with(&self, error: TrustError) {
        *lock(&self.broken) = Some(error);
    }

    pub fn of(&self, workspace: &AbsPath) -> Vec<TrustDecision> {
        lock(&self.decisions).get(workspace).cloned().unwrap_or_default()
    }

    fn check(&self) -> Result<(), TrustError> {
        lock(&self.broken).clone().map_or(Ok(()), Err)
    }
}

impl Trust for MemoryTrust {
    fn decisions(&self, workspace: AbsPath) -> BoxFuture<'_, Result<Vec<TrustDecision>, TrustError>> {
        Box::pin(async move { self.check().map(|()| self.of(&workspace)) })
    }

    fn all(&self) -> BoxFuture<'_, Result<BTreeMap<AbsPath, Vec<TrustDecision>>, TrustError>> {
        Box::pin(async move { self.check().map(|()| lock(&self.decisions).clone()) })
    }

    fn decide(&self, workspace: AbsPath, decision: TrustDecision) -> BoxFuture<'_, Result<(), TrustError>> {
        Box::pin(async move {
            self.check()?;
            let mut all = lock(&self.decisions);
            let decisions = all.entry(workspace).or_default();
            decisions.retain(|old| old.capability != decision.capability || old.content != decision.content);
            decisions.push(decision);
            Ok(())
        })
    }

    fn revoke(&self, workspace: AbsPath, capabilities: Vec<Capability>) -> BoxFuture<'_, Result<bool, TrustError>> {
        Box::pin(async move {
            self.check()?;
            let mut all = lock(&self.decisions);
            let Some(decisions) = all.get_mut(&workspace) else { return Ok(false) };
            let before = decisions.len();
            decisions.retain(|decision| !capabilities.contains(&decision.capability));
            Ok(decisions.len() < before)
        })
    }
}
