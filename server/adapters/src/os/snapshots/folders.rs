//! The folders of a tree that were in sight before a command. A folder keeps its inode where it is moved: what stands in one that was not in sight may have been
//! there before, whatever its name is now.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use copydesk_engine::ports::SnapshotError;
use ignore::{DirEntry, WalkBuilder};

use super::look::Looker;
use super::rules::{OF_GIT, Rules};
use super::scan::check;

#[derive(Debug, Clone, Default)]
pub(super) struct Folders {
    /// By device and inode, where they stood below the root. The root itself is none of them.
    places: HashMap<(u64, u64), PathBuf>,
    /// Those in them and in the root.
    pub(super) rules: Rules,
}

impl Folders {
    /// Those of a Git work tree, without what ignore files name, and without repositories within it.
    /// `excludes` are the rules that do not stand in the tree.
    pub(super) fn of(looker: &Looker, excludes: String, stopped: &AtomicBool) -> Result<Self, SnapshotError> {
        let own = looker.own.clone();
        let is_meant = move |entry: &DirEntry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_git = entry.file_name().eq_ignore_ascii_case(OsStr::new(".git"));
            entry.depth() == 0
                || is_folder
                    && !is_git
                    && entry.path() != own
                    && std::fs::symlink_metadata(entry.path().join(".git")).is_err()
        };
        let mut folders = Self::new(Rules::new(OF_GIT, excludes));
        // As Git sees it, which reads no `.ignore`.
        for entry in walk(&looker.root, is_meant).ignore(false).build() {
            check(stopped)?;
            // What cannot be listed was not in sight.
            let Ok(entry) = entry else { continue };
            if let (Ok(below), Ok(found)) = (entry.path().strip_prefix(&looker.root), entry.metadata()) {
                folders.note(&looker.root, below, &found);
            }
        }
        Ok(folders)
    }

    pub(super) fn new(rules: Rules) -> Self {
        Self { places: HashMap::new(), rules }
    }

    pub(super) fn note(&mut self, root: &Path, below: &Path, found: &Metadata) {
        self.rules.note(root, below);
        if !below.as_os_str().is_empty() {
            self.places.insert((found.dev(), found.ino()), below.to_owned());
        }
    }

    /// Where the folder stood.
    pub(super) fn place(&self, found: &Metadata) -> Option<&Path> {
        self.places.get(&(found.dev(), found.ino())).map(PathBuf::as_path)
    }
}

/// Through all that ignore files do not name, as snapshots understand it.
pub(super) fn walk(root: &Path, is_meant: impl Fn(&DirEntry) -> bool + Send + Sync + 'static) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false)
        .follow_links(false)
        .require_git(false)
        // As Git has it, what stands around a tree says nothing of it.
        .parents(false)
        .current_dir(root)
        .filter_entry(is_meant);
    walk
}
