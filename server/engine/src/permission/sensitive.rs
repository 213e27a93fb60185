//! Files of a workspace that no mode frees, since a change of them runs something, widens what may run, or holds a secret. A rule or an answer of the
//! user's allows their edit all the same. Decides nothing.

use copydesk_workspace::path::AbsPath;

/// Folders whose whole content is meant, wherever they lie: of version control and its hooks, of agents, of editors that run what stands there.
const FOLDERS: &[&str] = &[
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
    ".fleet",
    ".cursor",
    ".windsurf",
    ".gemini",
    ".vim",
    ".nvim",
    ".emacs.d",
    // What shells, desktops and tools of all kinds read below a home folder, and some below a project's.
    ".config",
    ".local",
    ".direnv",
    ".mise",
    // Names programs that language servers run too.
    ".cargo",
    ".yarn",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".circleci",
    ".buildkite",
    ".woodpecker",
];

/// Folders within others: of forges, which run what stands there with secrets of the project.
const FOLDERS_WITHIN: &[[&str; 2]] = &[
    [".github", "workflows"],
    [".github", "actions"],
    [".gitea", "workflows"],
    [".forgejo", "workflows"],
    [".gitlab", "ci"],
];

/// Files of these names, wherever they lie: configuration of agents, and what shells and editors run when they come into the folder.
const FILES: &[&str] = &[
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
    "mise.local.toml",
    ".mise.toml",
    ".mise.local.toml",
    // Name folders and programs that Git and its hooks take.
    ".gitmodules",
    ".gitconfig",
    ".git-credentials",
    ".hgrc",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    // Name a program that a package manager is replaced by, or runs.
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    // Of a home folder.
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".tmux.conf",
    ".vimrc",
    ".gvimrc",
    ".emacs",
    ".gdbinit",
    ".lldbinit",
    ".pgpass",
    ".my.cnf",
    ".authinfo",
    // Of services that build what is pushed.
    ".gitlab-ci.yml",
    ".travis.yml",
    ".drone.yml",
    ".cirrus.yml",
    ".appveyor.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile",
];

/// Whether the path, with its links resolved, is of such a file. Capitals make no difference, as on many disks.
pub fn is_sensitive(real: &AbsPath, root: &AbsPath) -> bool {
    let below = real.relative_to(root).map_or_else(|| real.to_string(), |path| path.to_string());
    let below = below.to_lowercase();
    let mut names: Vec<&str> = below.split(['/', '\\']).collect();
    let file = names.pop().unwrap_or_default();
    let is_env = file.ends_with(".env") || file.contains(".env.") && !file.ends_with(".env.example");
    let is_of_editor = file.ends_with(".code-workspace");
    // They may come as a whole.
    let holds_such = |[outer, inner]: &[&str; 2]| file == *outer || file == *inner && names.last() == Some(outer);
    let is_within = || {
        names.windows(2).any(|pair| FOLDERS_WITHIN.iter().any(|folder| folder.as_slice() == pair))
            || FOLDERS_WITHIN.iter().any(holds_such)
    };
    let is_below = || names.iter().any(|name| FOLDERS.contains(name)) || is_within();
    is_env || is_of_editor || FILES.contains(&file) || FOLDERS.contains(&file) || is_below()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    #[test]
    fn r9_3_what_runs_code_or_holds_secrets_is_told_from_plain_files() {
        let check =
            |path: &str| is_sensitive(&AbsPath::new(format!("/w/{path}")).unwrap(), &AbsPath::new("/w").unwrap());
        for plain in [
            "src/a.rs",
            "git/a",
            ".gitignore",
            "env.rs",
            ".env.example",
            "a/.github/x.yml",
            ".github/ISSUE_TEMPLATE/workflows.md",
            "workflows/a.yml",
            "vscode/settings.json",
            "config/a",
        ] {
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
            ".github/workflows/ci.yml",
            ".github/workflows",
            "a/.github",
            ".github/actions/a/action.yml",
            ".gitlab-ci.yml",
            "Jenkinsfile",
            ".cargo/config.toml",
            "a/.cursor/mcp.json",
            "all.code-workspace",
            ".gitmodules",
            ".pre-commit-config.yaml",
            ".yarn/releases/yarn.cjs",
            ".bashrc",
            ".config/fish/config.fish",
            ".local/bin/ls",
            ".aws/credentials",
        ] {
            assert!(check(sensitive), "{sensitive}");
        }
    }
}
