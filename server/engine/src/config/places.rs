//! The folders in which configuration stands, the user's and a project's, the weaker before the stronger, for all that is looked for in them. Reads nothing.

use copydesk_workspace::path::AbsPath;

use crate::ports::Environment;
use crate::tool::Facts;

/// Names of whole configurations, in a folder of the project too.
pub(super) const OURS: &[&str] = &["copydesk.json", "copydesk.jsonc"];
pub(super) const OPENCODES: &[&str] = &["opencode.json", "opencode.jsonc"];

/// A folder of configuration, which need not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigFolder {
    pub(super) path: AbsPath,
    /// The files in it that are whole configurations.
    pub(super) names: Vec<&'static str>,
}

/// What the variables name comes last.
pub(super) fn of_user(environment: &dyn Environment, facts: &Facts) -> Vec<ConfigFolder> {
    let folders = environment.folders();
    let mut places = vec![
        ConfigFolder { path: folders.config.join("opencode"), names: [&["config.json"], OPENCODES].concat() },
        ConfigFolder { path: folders.config.join("copydesk"), names: OURS.to_vec() },
    ];
    places.extend(below(&folders.home));
    for (variable, names) in [("OPENCODE_CONFIG_DIR", OPENCODES), ("COPYDESK_CONFIG_DIR", OURS)] {
        if let Some(folder) = environment.var(variable).filter(|folder| !folder.trim().is_empty()) {
            places.push(ConfigFolder { path: facts.folder.join(folder), names: names.to_vec() });
        }
    }
    places
}

/// Those that stand in a folder of the project, or in the user's home.
pub(super) fn below(folder: &AbsPath) -> [ConfigFolder; 2] {
    [(".opencode", OPENCODES), (".copydesk", OURS)]
        .map(|(name, names)| ConfigFolder { path: folder.join(name), names: names.to_vec() })
}

/// The folders from the root of the version-controlled tree down to the session's.
pub(super) fn levels(facts: &Facts) -> Vec<AbsPath> {
    if !facts.folder.starts_with(&facts.worktree) {
        return vec![facts.folder.clone()];
    }
    let mut levels: Vec<AbsPath> = std::iter::successors(Some(facts.folder.clone()), AbsPath::parent)
        .take_while(|level| level.starts_with(&facts.worktree))
        .collect();
    levels.reverse();
    levels
}
