//! Paths as rules see them: relative to the root of the version-controlled tree. No IO; links were resolved by the caller.

use std::path::Component;

use copydesk_workspace::path::AbsPath;

/// `path` relative to `worktree` with `/` between components: `src/a.rs`, `../other/b.rs`, `.` for the tree itself. Where nothing leads from one to the
/// other (another drive), the absolute path.
pub fn path_pattern(path: &AbsPath, worktree: &AbsPath) -> String {
    let target: Vec<Component<'_>> = path.as_path().components().collect();
    let base: Vec<Component<'_>> = worktree.as_path().components().collect();
    let shared = target.iter().zip(&base).take_while(|(a, b)| a == b).count();
    if shared == 0 {
        return path.to_string();
    }
    let up = base[shared..].iter().map(|_| "..".to_owned());
    let down = target[shared..].iter().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let parts: Vec<String> = up.chain(down).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use super::*;

    fn check(path: &str, worktree: &str, expected: &str) {
        assert_eq!(path_pattern(&AbsPath::new(path).unwrap(), &AbsPath::new(worktree).unwrap()), expected);
    }

    #[test]
    #[cfg(unix)]
    fn is_relative_to_the_tree() {
        check("/w/src/a.rs", "/w", "src/a.rs");
        check("/w", "/w", ".");
        check("/ext/o.txt", "/w", "../ext/o.txt");
        check("/w-other/a", "/w/x", "../../w-other/a");
        check("/etc/passwd", "/", "etc/passwd");
    }
}
