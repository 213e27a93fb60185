//! Files of a workspace that no mode frees, since a change of them runs something, widens what may run, or holds a secret. A rule or an answer of the
//! user's allows their edit all the same. Decides nothing.

use copydesk_workspace::path::AbsPath;

/// Folders whose whole content is meant, wherever they lie: of version control and its hooks, of agents, of editors that run what stands there.
const FOLDERS: [&str; 17] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".husky",
    ".githooks",
    ".copydesk",
    ".opencode",
    ".claude",
    ".agents",
    ".codex",
    ".vscode",
    ".idea",
    ".zed",
    ".helix",
    ".devcontainer",
    ".ssh",
];

/// Files of these names, wherever they lie: configuration of agents, and what shells and editors run when they come into the folder.
const FILES: [&str; 17] = [
    "copydesk.json",
    "copydesk.jsonc",
    "opencode.json",
    "opencode.jsonc",
    ".mcp.json",
    ".envrc",
    ".env",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".lvimrc",
    ".dir-locals.el",
    ".git",
    "mise.toml",
];

/// Whether the path, with its links resolved, is of such a file. Capitals make no difference, as on many disks.
pub fn is_sensitive(real: &AbsPath, root: &AbsPath) -> bool {
    let below = real.relative_to(root).map_or_else(|| real.to_string(), |path| path.to_string());
    let below = below.to_lowercase();
    let mut names: Vec<&str> = below.split(['/', '\\']).collect();
    let file = names.pop().unwrap_or_default();
    let is_env = file.ends_with(".env") || file.contains(".env.") && !file.ends_with(".env.example");
    is_env || FILES.contains(&file) || FOLDERS.contains(&file) || names.iter().any(|name| FOLDERS.contains(name))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    #[test]
    fn r9_3_what_runs_code_or_holds_secrets_is_told_from_plain_files() {
        let check =
            |path: &str| is_sensitive(&AbsPath::new(format!("/w/{path}")).unwrap(), &AbsPath::new("/w").unwrap());
        for plain in
            ["src/a.rs", "git/a", ".gitignore", "env.rs", ".env.example", "a/.github/x.yml", "vscode/settings.json"]
        {
            assert!(!check(plain), "{plain}");
        }
        for sensitive in [
            ".git/hooks/pre-commit",
            "sub/.git/config",
            "sub/.git",
            ".GIT/config",
            ".vscode/tasks.json",
            "a/.vscode/settings.json",
            ".env",
            "a/prod.env",
            ".env.local",
            ".envrc",
            ".copydesk/agents/a.md",
            ".opencode/plugin/a.ts",
            "opencode.json",
            "a/copydesk.jsonc",
            ".husky/pre-push",
        ] {
            assert!(check(sensitive), "{sensitive}");
        }
    }
}
