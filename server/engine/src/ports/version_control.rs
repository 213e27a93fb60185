//! What version control holds of files. Reads alone: nothing of a repository is changed, and nothing that it configures is run.

use copydesk_workspace::path::AbsPath;

use super::BoxFuture;

pub trait VersionControl: Send + Sync {
    /// The files of these names, parted by `/` from the root of the work tree, as the commit that is checked out has them (Git's `HEAD`): in the order of the
    /// names, `None` where it has no such file. Nothing is there before the first commit.
    fn committed(
        &self,
        work_tree: AbsPath,
        names: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<Option<Committed>>, VersionControlError>>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// As they are stored, without any conversion of line endings; `None` where they are too many.
    pub bytes: Option<Vec<u8>>,
    /// Permission bits.
    pub mode: u32,
}

/// Each text is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionControlError {
    #[error("git was not found; install it, or add its folder to PATH")]
    NoGit,
    #[error("git did not answer in {0} s")]
    TooSlow(u64),
    #[error("git could not read {work_tree}: {reason}")]
    Failed { work_tree: AbsPath, reason: String },
}

impl VersionControlError {
    pub fn retry(&self) -> bool {
        match self {
            Self::TooSlow(_) | Self::Failed { .. } => true,
            Self::NoGit => false,
        }
    }
}
