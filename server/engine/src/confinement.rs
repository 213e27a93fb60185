//! What a command is held to: the user's settings, the session's folders and the rights that the call was given become a policy. Pure; it enforces nothing.

mod secrets;

use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;

use crate::ports::{Confinement, Environment, Folders, SandboxPolicy, SandboxSupport};
use crate::tool::Facts;

pub use secrets::{named_secrets, secrets};

/// Of the hash of a project's root in the name of its temporary folder, hexadecimal.
const TEMP_DIGITS: usize = 16;

/// The key `sandbox`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    pub enabled: bool,
    /// Further folders and files that commands may change.
    pub writable: Vec<AbsPath>,
    /// Of `secrets`, those that commands may read all the same, with what is below them.
    pub readable: Vec<AbsPath>,
    /// Further places that commands may not read.
    pub unreadable: Vec<AbsPath>,
    /// For every command.
    pub network: bool,
    /// Names of variables that every command gets besides the usual ones, in the sandbox and outside of it; `*` at the end stands for any rest.
    pub environment: Vec<String>,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            writable: Vec::new(),
            readable: Vec::new(),
            unreadable: Vec::new(),
            network: false,
            environment: Vec::new(),
        }
    }
}

/// What one command was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Whether it may change the workspace, or its temporary folder alone.
    pub workspace: WorkspaceRight,
    pub network: NetworkRight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceRight {
    Change,
    Read,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkRight {
    Full,
    /// None, unless the settings give it to every command.
    AsSet,
}

/// Whether commands run in the sandbox unless they are granted to run outside of it.
pub fn is_in_force(settings: &SandboxSettings, support: &SandboxSupport) -> bool {
    settings.enabled && support.is_enforced()
}

/// `None` where the user has switched the sandbox off and where the system has none.
pub fn confine(
    settings: &SandboxSettings,
    support: &SandboxSupport,
    facts: &Facts,
    environment: &dyn Environment,
    rights: Rights,
) -> Confinement {
    if !is_in_force(settings, support) {
        return Confinement::None;
    }
    let unreadable = hidden(settings, facts, environment);
    let writable = match rights.workspace {
        WorkspaceRight::Change => distinct(workspace(facts).chain(&settings.writable).cloned()),
        WorkspaceRight::Read => Vec::new(),
    };
    let network = settings.network || rights.network == NetworkRight::Full;
    // Outputs of tools are to be paged.
    let readable = vec![facts.spill.clone()];
    Confinement::Sandbox(SandboxPolicy { writable, unreadable, readable, network, temp: facts.temp.clone() })
}

/// What commands may not read in the sandbox, and what nobody keeps copies of.
pub fn hidden(settings: &SandboxSettings, facts: &Facts, environment: &dyn Environment) -> Vec<AbsPath> {
    let workspace: Vec<AbsPath> = workspace(facts).cloned().collect();
    // Who opens a folder with secrets in it works on them.
    let is_opened = |secret: &AbsPath| workspace.iter().any(|root| root.starts_with(secret));
    let is_lifted = |secret: &AbsPath| settings.readable.iter().any(|readable| secret.starts_with(readable));
    // What a variable names in a project is of the project. The home folder as a workspace is none.
    let home = environment.folders().home;
    let is_of_project =
        |secret: &AbsPath| workspace.iter().any(|root| secret.starts_with(root) && !home.starts_with(root));
    let named = named_secrets(environment, &facts.folder).into_iter().filter(|secret| !is_of_project(secret));
    let hidden = secrets(&environment.folders()).into_iter().chain(named);
    let hidden = hidden.filter(|secret| !is_opened(secret) && !is_lifted(secret));
    distinct(hidden.chain(settings.unreadable.iter().cloned()))
}

fn workspace(facts: &Facts) -> impl Iterator<Item = &AbsPath> {
    facts.roots.iter().chain([&facts.folder, &facts.worktree])
}

/// The temporary folder of the commands of one project, by its root's real path: what one project's commands leave there, caches among it, is read by those of
/// no other.
pub(crate) fn temp_of(folders: &Folders, project: &AbsPath) -> AbsPath {
    let hash = format!("{:?}", ContentHash::of(project.as_path().as_os_str().as_encoded_bytes()));
    let name = format!("{}-{}", folders.temp.name(), hash.get(..TEMP_DIGITS).unwrap_or(&hash));
    folders.temp.parent().map_or_else(|| folders.temp.join(&name), |parent| parent.join(&name))
}

fn distinct(paths: impl Iterator<Item = AbsPath>) -> Vec<AbsPath> {
    let mut kept = Vec::new();
    for path in paths {
        if !kept.contains(&path) {
            kept.push(path);
        }
    }
    kept
}

#[cfg(test)]
#[path = "confinement_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
