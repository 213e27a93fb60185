//! What ignore files said before a command, and whether that may have hidden what is seen after it. What of a tree is seen is decided by Git, or by a walk.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use ignore::gitignore::Gitignore;

use super::repository::{parsed, text};

/// By name, those first that win.
pub(super) const OF_GIT: &[&str] = &[".gitignore"];
pub(super) const OF_WALKS: &[&str] = &[".ignore", ".gitignore", ".git/info/exclude"];

#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    names: &'static [&'static str],
    /// Those that stand in no file of the tree.
    excludes: String,
    /// Those that do, by their files below the root.
    texts: BTreeMap<PathBuf, String>,
}

impl Rules {
    pub(super) fn new(names: &'static [&'static str], excludes: String) -> Self {
        Self { names, excludes, texts: BTreeMap::new() }
    }

    /// As they stand in the folder. Some name their own file, so that no list tells when it is gone.
    pub(super) fn note(&mut self, root: &Path, folder: &Path) {
        for name in self.names {
            let file = folder.join(name);
            if let Some(text) = text(&root.join(&file)) {
                self.texts.insert(file, text);
            }
        }
    }

    /// Whether any in the folders around these files are others than they were.
    pub(super) fn differ_around(&self, root: &Path, files: &[PathBuf]) -> bool {
        let folders: BTreeSet<_> = files.iter().flat_map(|file| file.ancestors().skip(1)).collect();
        let mut files = folders.iter().flat_map(|folder| self.names.iter().map(|name| folder.join(name)));
        files.any(|file| text(&root.join(&file)).as_ref() != self.texts.get(&file))
    }
}

/// Rules that are read by the first who asks.
#[derive(Debug)]
pub(super) struct Named<'a> {
    rules: &'a Rules,
    root: &'a Path,
    parsed: OnceCell<Parsed>,
}

#[derive(Debug)]
struct Parsed {
    excludes: Gitignore,
    /// By their files below the root.
    files: HashMap<PathBuf, Gitignore>,
}

impl<'a> Named<'a> {
    pub(super) fn new(rules: &'a Rules, root: &'a Path) -> Self {
        Self { rules, root, parsed: OnceCell::new() }
    }

    /// Whether a file of this name, or a folder around it, was named.
    pub(super) fn holds(&self, file: &Path) -> bool {
        let paths = file.ancestors().filter(|path| !path.as_os_str().is_empty());
        paths.zip(0..).any(|(path, at)| self.ignores(path, at > 0))
    }

    fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        let Parsed { excludes, files } = self.parsed.get_or_init(|| self.parse());
        let folders = || path.ancestors().skip(1);
        let inner = self.rules.names.iter().flat_map(|name| folders().map(move |folder| folder.join(name)));
        let all = inner.filter_map(|file| files.get(&file)).chain([excludes]);
        // The first rules that say something of it decide.
        let path = self.root.join(path);
        let said = all.map(|rules| rules.matched(&path, is_folder)).find(|said| !said.is_none());
        said.is_some_and(|said| said.is_ignore())
    }

    fn parse(&self) -> Parsed {
        let of_file = |(file, text): (&PathBuf, &String)| {
            let name = self.rules.names.iter().find(|name| file.ends_with(name));
            let depth = name.map_or(1, |name| Path::new(name).components().count());
            let folder = file.ancestors().nth(depth).unwrap_or(Path::new(""));
            (file.clone(), parsed(&self.root.join(folder), text))
        };
        Parsed {
            excludes: parsed(self.root, &self.rules.excludes),
            files: self.rules.texts.iter().map(of_file).collect(),
        }
    }
}
