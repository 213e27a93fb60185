//! What the user has decided about the configuration of projects: kept outside of them, bound to their path and to what was shown. Decides nothing itself.

use std::collections::BTreeMap;
use std::fmt;

use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use serde::{Deserialize, Serialize};

use super::BoxFuture;
use crate::ids::Millis;

/// What a project's configuration may want that a word of the user's is needed for; each is decided by itself. In the order in which they are asked:
/// what is read from outside may be a part of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Reads files outside of the project and environment variables.
    Outside,
    /// Starts programs.
    Programs,
    /// Allows more than the user's own configuration does.
    Permissions,
    /// Says where a provider's key and the user's text are sent.
    Keys,
}

impl Capability {
    pub const ALL: [Self; 4] = [Self::Outside, Self::Programs, Self::Permissions, Self::Keys];

    /// The word for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::Programs => "programs",
            Self::Permissions => "permissions",
            Self::Keys => "keys",
        }
    }
}

/// What it does, behind "it would …".
impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Outside => "read from outside of the project",
            Self::Programs => "run programs",
            Self::Permissions => "allow more than your own configuration does",
            Self::Keys => "decide where a provider's key and your text are sent",
        })
    }
}

/// A content hash, in hexadecimal digits so that the file in which it is kept can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{:?}", ContentHash::of(bytes)))
    }
}

/// The user's word on one capability of one workspace, for one content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustDecision {
    pub capability: Capability,
    pub verdict: TrustVerdict,
    pub at: Millis,
    /// Of all that the capability takes.
    pub content: Fingerprint,
    /// Its keys with a hash each, so that a later question can say what is new. No value is kept.
    pub items: Vec<(String, Fingerprint)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustVerdict {
    Trusted,
    /// Until the content changes.
    Refused,
}

/// Workspaces are named by the real path of the project's root.
pub trait Trust: Send + Sync {
    /// The oldest first.
    fn decisions(&self, workspace: AbsPath) -> BoxFuture<'_, Result<Vec<TrustDecision>, TrustError>>;

    /// Of every workspace that has any.
    fn all(&self) -> BoxFuture<'_, Result<BTreeMap<AbsPath, Vec<TrustDecision>>, TrustError>>;

    /// In place of an earlier one on the same content.
    fn decide(&self, workspace: AbsPath, decision: TrustDecision) -> BoxFuture<'_, Result<(), TrustError>>;

    /// Forgets all decisions on these capabilities; false where there were none.
    fn revoke(&self, workspace: AbsPath, capabilities: Vec<Capability>) -> BoxFuture<'_, Result<bool, TrustError>>;
}

/// What the editor itself knows of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceTrust {
    /// It has no notion of trust, or says nothing.
    #[default]
    Unknown,
    Trusted,
    /// Nothing is taken and nothing is asked, whatever was decided here.
    Untrusted,
}

/// Decisions that cannot be read count as none; the texts are for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    #[error("what you decided about projects cannot be read: {0}")]
    Unreadable(String),
    #[error("your decision about this project could not be kept: {0}")]
    Unwritable(String),
}

impl TrustError {
    /// Whether the same call may succeed later without anybody's doing.
    pub fn retry(&self) -> bool {
        match self {
            Self::Unreadable(_) | Self::Unwritable(_) => false,
        }
    }
}
