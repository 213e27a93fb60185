//! What the user has allowed for longer than once, as a session sees it: its own answers, those that are kept for its project and everywhere, and the mode.
//! Exact: an answer never covers more than its label said.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copydesk_workspace::path::AbsPath;
use tokio::sync::watch;

use crate::ids::Millis;
use crate::permission::{Grant, GrantScope, KeptGrant, Mode, Rule};
use crate::ports::{GrantStore, GrantStoreError, Ids};

/// Shared by all turns of a session.
pub struct Grants {
    store: Arc<dyn GrantStore>,
    /// The real path of the root of the session's work tree.
    project: AbsPath,
    /// Of this session, each with its id.
    session: Mutex<Vec<(String, Grant)>>,
    kept: Mutex<Kept>,
    mode: Mutex<Mode>,
    /// Counts grants and choices of a mode: asks that wait look again when it moves.
    changed: watch::Sender<u64>,
}

/// As of the last look.
#[derive(Default)]
struct Kept {
    grants: Arc<Vec<KeptGrant>>,
    /// Why there are none.
    problem: Option<String>,
}

/// One that holds in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldGrant {
    pub id: String,
    pub scope: HeldScope,
    pub grant: Grant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldScope {
    Session,
    /// Kept, since then.
    Kept(GrantScope, Millis),
}

impl Grants {
    pub fn new(store: Arc<dyn GrantStore>, project: AbsPath, mode: Mode) -> Self {
        Self {
            store,
            project,
            session: Mutex::default(),
            kept: Mutex::default(),
            mode: Mutex::new(mode),
            changed: watch::Sender::new(0),
        }
    }

    /// As chosen, whatever the system can enforce.
    pub fn mode(&self) -> Mode {
        *lock(&self.mode)
    }

    /// In force for every decision from now on.
    pub fn set_mode(&self, mode: Mode) {
        *lock(&self.mode) = mode;
        self.tell();
    }

    /// Looks whether what is kept has changed, here or in another daemon. Returns a problem that was not there at the look before, for the user.
    pub(crate) async fn refresh(&self) -> Option<String> {
        let found = self.store.all().await;
        let mut kept = lock(&self.kept);
        match found {
            Ok(grants) => {
                *kept = Kept { grants, problem: None };
                None
            }
            Err(error) => {
                let problem = error.to_string();
                let is_new = kept.problem.as_ref() != Some(&problem);
                *kept = Kept { grants: Arc::default(), problem: Some(problem.clone()) };
                is_new.then_some(problem)
            }
        }
    }

    /// Until the session ends.
    pub(super) fn add(&self, ids: &dyn Ids, grants: Vec<Grant>) {
        {
            let mut session = lock(&self.session);
            for grant in grants {
                if !session.iter().any(|(_, known)| *known == grant) {
                    session.push((ids.next("grt"), grant));
                }
            }
        }
        self.tell();
    }

    /// In every session of this project, until they are revoked.
    pub(super) async fn keep(&self, ids: &dyn Ids, now: Millis, grants: Vec<Grant>) -> Result<(), GrantStoreError> {
        let scope = GrantScope::Project(self.project.clone());
        let kept = |grant| KeptGrant { id: ids.next("grt"), scope: scope.clone(), grant, given: now };
        self.store.add(grants.into_iter().map(kept).collect()).await?;
        self.refresh().await;
        self.tell();
        Ok(())
    }

    /// The rules that hold for one value, for `permission::decide`.
    pub(super) fn rules_for(&self, agent: &str, permission: &str, value: &str) -> Vec<Rule> {
        let rule = |grant: &Grant| grant.rule_for(agent, permission, value);
        let mut rules: Vec<Rule> = lock(&self.session).iter().filter_map(|(_, grant)| rule(grant)).collect();
        let kept = lock(&self.kept).grants.clone();
        rules.extend(kept.iter().filter(|kept| self.holds_here(kept)).filter_map(|kept| rule(&kept.grant)));
        rules
    }

    /// All that hold in this session, and why those that are kept do not, where they do not.
    pub async fn list(&self) -> (Vec<HeldGrant>, Option<String>) {
        self.refresh().await;
        (self.held(), lock(&self.kept).problem.clone())
    }

    /// Those that hold in this session, as of the last look.
    pub(crate) fn held(&self) -> Vec<HeldGrant> {
        let session = lock(&self.session).clone().into_iter();
        let kept = lock(&self.kept).grants.clone();
        let held = session.map(|(id, grant)| HeldGrant { id, scope: HeldScope::Session, grant });
        let lasting = kept.iter().filter(|kept| self.holds_here(kept)).map(|kept| HeldGrant {
            id: kept.id.clone(),
            scope: HeldScope::Kept(kept.scope.clone(), kept.given),
            grant: kept.grant.clone(),
        });
        held.chain(lasting).collect()
    }

    /// Those with these ids hold no more; returns how many there were.
    pub async fn revoke(&self, ids: &[String]) -> Result<usize, GrantStoreError> {
        let of_session = lock(&self.session).extract_if(.., |(id, _)| ids.contains(id)).count();
        let held = lock(&self.kept).grants.iter().any(|kept| ids.contains(&kept.id));
        let kept = if held { self.store.remove(ids.to_vec()).await?.len() } else { 0 };
        self.refresh().await;
        Ok(of_session + kept)
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Of what is kept, by any session of this daemon.
    pub(super) fn watch_kept(&self) -> watch::Receiver<u64> {
        self.store.changes()
    }

    fn holds_here(&self, kept: &KeptGrant) -> bool {
        match &kept.scope {
            GrantScope::Project(root) => *root == self.project,
            GrantScope::User => true,
        }
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "grants_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
