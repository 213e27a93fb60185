//! Where the plan of a session is written. That the agent `plan` may write there is a rule of `permission`.

use copydesk_workspace::path::AbsPath;

use crate::ids::SessionId;
use crate::tool::Facts;

/// In opencode's folders: with the project where that is version-controlled, else with our own data. The ids of sessions sort by time.
pub(crate) fn plan_file(session: &SessionId, facts: &Facts, is_git: bool) -> AbsPath {
    let folder = if is_git { facts.worktree.join(".opencode/plans") } else { facts.spill.join("../plans") };
    folder.join(format!("{session}.md"))
}
