//! What the user has allowed for good, in the memory of one session. Exact: an answer never covers more than its label said.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::permission::{Mode, Origin, Rule, Verdict};

/// Shared by all turns of a session.
pub struct Grants {
    grants: Mutex<BTreeSet<Grant>>,
    mode: Mutex<Mode>,
    /// Counts grants and choices of a mode: asks that wait look again when it moves.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grant {
    /// This value of the permission and no other; characters that are wildcards in rules are none here.
    Exact { permission: String, value: String },
    /// A command with whatever arguments follow: `git log` and `git log -p`, not `git logx`.
    Prefix { permission: String, command: String },
    /// All values below a folder, written without a slash at its end.
    Under { permission: String, folder: String },
    /// Every value.
    All { permission: String },
}

impl Default for Grants {
    fn default() -> Self {
        Self { grants: Mutex::default(), mode: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Grants {
    pub(super) fn add(&self, grants: impl IntoIterator<Item = Grant>) {
        self.lock().extend(grants);
        self.changed.send_modify(|count| *count += 1);
    }

    /// As chosen, whatever the system can enforce.
    pub fn mode(&self) -> Mode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In force for every decision from now on.
    pub fn set_mode(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
        self.changed.send_modify(|count| *count += 1);
    }

    /// The rules that hold for one value, for `permission::decide`.
    pub(super) fn rules_for(&self, permission: &str, value: &str) -> Vec<Rule> {
        let covered = self.lock().iter().any(|grant| match grant {
            Grant::Exact { permission: of, value: granted } => of == permission && granted == value,
            Grant::Under { permission: of, folder } => {
                of == permission && value.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
            }
            Grant::Prefix { permission: of, command } => {
                let rest = value.strip_prefix(command.as_str());
                of == permission && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
            Grant::All { permission: of } => of == permission,
        });
        let rule = Rule {
            permission: permission.to_owned(),
            pattern: value.to_owned(),
            verdict: Verdict::Allow,
            origin: Origin::Grant,
        };
        covered.then_some(rule).into_iter().collect()
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
