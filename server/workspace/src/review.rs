//! The agent's changes of one text as hunks that the user decides on one by one. Knows no files, no rows and nobody to tell.

use serde::{Deserialize, Serialize};

/// The same for as long as the hunk is there, however lines move; no other hunk of the session has it. Below 2^53, so that every JSON reader keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HunkId(pub u64);

/// How a hunk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HunkState {
    Undecided,
    Accepted,
    Rejected,
    /// The user has overwritten it: there is nothing left to decide.
    Outdated,
}
