//! The user's repository around a folder, as far as snapshots read it: where its work tree, index, objects and ignore rules are. Nothing is written there, and
//! its configuration is not obeyed.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Of a file that is read as text, in bytes.
const MOST_TEXT: u64 = 1 << 20;
/// Git's own limit for stores that borrow from stores.
const MOST_DEPTH: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) work_tree: PathBuf,
    git_dir: PathBuf,
    /// What linked work trees share.
    common: PathBuf,
}

impl Repository {
    /// Of the innermost work tree that `folder` is in.
    pub(super) fn around(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(Self::at)
    }

    /// Of the work tree whose root this is.
    fn at(work_tree: &Path) -> Option<Self> {
        let entry = work_tree.join(".git");
        let git_dir = if std::fs::metadata(&entry).ok()?.is_dir() {
            entry
        } else {
            let named = text(&entry)?;
            work_tree.join(named.strip_prefix("gitdir:")?.trim())
        };
        std::fs::metadata(git_dir.join("HEAD")).ok()?;
        let common = text(&git_dir.join("commondir")).map_or_else(|| git_dir.clone(), |path| git_dir.join(path.trim()));
        Some(Self { work_tree: work_tree.to_owned(), git_dir, common })
    }

    pub(super) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// What is ignored beside what the files of the tree say, by the user's own rules for all of his repositories, and by those of this one.
    pub(super) fn excludes(&self, users: Option<&str>) -> String {
        let own = text(&self.common.join("info/exclude"));
        [users.unwrap_or_default(), own.as_deref().unwrap_or_default()].join("\n")
    }

    /// What it says of attributes beside the files of the tree.
    pub(super) fn attributes(&self) -> Option<String> {
        text(&self.common.join("info/attributes"))
    }

    /// Whether a folder of the work tree is ignored, or one around it. `excludes` are the rules that do not stand in the tree.
    pub(super) fn ignores(&self, folder: &Path, excludes: &str) -> bool {
        let Ok(below) = folder.strip_prefix(&self.work_tree) else { return false };
        let mut at = self.work_tree.clone();
        let mut rules = vec![parsed(&at, excludes)];
        below.components().any(|name| {
            rules.push(parsed(&at, &text(&at.join(".gitignore")).unwrap_or_default()));
            at.push(name);
            // The innermost rules that say something of it decide.
            let said = rules.iter().rev().map(|rules| rules.matched(&at, true)).find(|said| !said.is_none());
            said.is_some_and(|said| said.is_ignore())
        })
    }

    /// Whether its objects are named by SHA-256.
    pub(super) fn is_sha256(&self) -> bool {
        let config = text(&self.common.join("config")).unwrap_or_default().to_lowercase();
        let line = |line: &str| {
            let (key, value) = line.split_once('=')?;
            Some(key.trim() == "objectformat" && value.trim().trim_matches('"') == "sha256")
        };
        config.lines().filter_map(line).any(|is_it| is_it)
    }

    /// The folders of its objects, with those that it borrows from.
    pub(super) fn objects(&self) -> Vec<PathBuf> {
        let mut all = vec![self.common.join("objects")];
        let mut latest = all.clone();
        for _ in 0..MOST_DEPTH {
            let borrowed = |folder: &PathBuf| {
                let listed = text(&folder.join("info/alternates")).unwrap_or_default();
                let lines = listed.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
                lines.map(|line| folder.join(line)).collect::<Vec<_>>()
            };
            latest = latest.iter().flat_map(borrowed).filter(|folder| !all.contains(folder)).collect();
            all.extend(latest.iter().cloned());
        }
        all
    }
}

/// Lines that are no rules say nothing, nor does a byte order mark.
pub(super) fn parsed(folder: &Path, rules: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for line in rules.strip_prefix('\u{feff}').unwrap_or(rules).lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Of a file that is short, and no pipe that nobody writes to.
pub(super) fn text(path: &Path) -> Option<String> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_TEXT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
