//! What programs do to a file or folder that they are given, beside reading or writing it: by the name that `FileUse` has of them.

use super::options::Parsed;
use super::syntax::Span;
use super::{FileAccess, FileUse, Place, SimpleCommand};

/// What stands in `FileUse::by` for a redirect.
pub(super) const REDIRECT: &str = "redirect";

/// What stands in it for a search that leaves hidden and ignored files out.
pub(super) const VISIBLE: &str = "rg, visible files";
/// What stands in it for a program that reads what it is given by `git ls-files`.
pub(super) const TRACKED: &str = "git ls-files";

/// They tell how many, how large and of which kind files are, and nothing that they hold.
pub(super) const COUNTING: [&str; 7] = ["wc", "ls", "dir", "vdir", "stat", "du", "file"];

/// They make a folder the working folder, and open nothing in it.
const ENTERING: [&str; 2] = ["cd", "pushd"];
/// They read no file of a folder that they are given: they list its entries, or refuse it.
const FLAT: [&str; 21] = [
    "ls", "dir", "vdir", "stat", "du", "tree", "find", "cat", "head", "tail", "wc", "nl", "tac", "sort", "uniq", "cut",
    "sed", "awk", "less", "more", "file",
];
/// They put something into a folder, or make it, and change nothing else of what it holds.
const FILLING: [&str; 7] = ["cp", "ln", "install", "mkdir", "rmdir", "touch", "git format-patch"];
/// They put into a folder what it held not, though they may change all of it too.
const MOVING: [&str; 4] = ["mv", "git mv", "rsync", "scp"];
/// They copy or move folders with all that these hold.
const COPYING: [&str; 5] = ["cp", "mv", "git mv", "rsync", "scp"];
/// They put files or links into a folder by the names of what they are given.
const NAMING: [&str; 2] = ["ln", "install"];
/// They take away what they are given.
const REMOVING: [&str; 6] = ["rm", "mv", "shred", "unlink", "truncate", "find"];
/// They change what is told of a file, and nothing that it holds.
const KEEPING: [&str; 5] = ["chmod", "chown", "chgrp", "touch", "mkdir"];
/// Of a word that is a branch or a file.
const CHECKOUT: &str = "git checkout";
/// They end what nothing can bring back, though they are plain work on files.
const DESTRUCTIVE: [&str; 6] = ["rm", "rmdir", "unlink", "shred", "truncate", "dd"];

/// What becomes of a folder that is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderUse {
    /// It becomes the working folder.
    Entered,
    /// Its entries are listed at most.
    Listed,
    /// It gets further entries.
    Filled,
    /// All that it holds is read or changed, and it may get further entries.
    FilledAndWhole,
    /// All that it holds is read or changed.
    Whole,
    /// All that it holds is read, but for hidden and ignored files.
    Visible,
}

/// What becomes of links that are found below a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundLinks {
    Kept,
    /// Kept, unless a pattern of file names means a file that has the name of an option.
    FollowedWhereNamed,
    /// What they lead to is looked at as what the folder holds.
    Followed,
}

/// What a file or folder is called where it is copied or moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// So many of the last names of its path. None: what it holds lands.
    Names(usize),
    /// Its own name or none, as programs have it each in its own way.
    NameOrNone,
    /// It is itself what is moved or linked: nothing lands in it.
    Leaves,
}

/// What is gone once a file was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    File,
    /// What was changed in it since it was committed.
    Changes,
}

impl Landing {
    /// Of one that is given as `path`.
    pub(super) fn of(path: &str) -> Self {
        let name = path.trim_end_matches('/');
        match name.rsplit('/').next().unwrap_or_default() {
            "" | "." | ".." => Self::Names(0),
            _ if name.len() < path.len() => Self::NameOrNone,
            _ => Self::Names(1),
        }
    }

    /// How the options of a program that copies say by which names that lands which it is given.
    pub(super) fn by(parsed: &Parsed) -> fn(&str) -> Self {
        // Any beginning of a long option is one too.
        let has = |option: &str, least: usize| {
            parsed.given.iter().any(|given| given.name.len() >= least && option.starts_with(&given.name))
        };
        if parsed.has(&["T"]) || has("no-target-directory", 4) {
            |_| Self::Names(0)
        } else if has("parents", 2) {
            |path| Self::Names(path.split('/').filter(|name| !matches!(*name, "" | ".")).count())
        } else {
            Self::of
        }
    }
}

impl FileUse {
    pub(crate) fn new(span: Span, by: &str, access: FileAccess, place: Place) -> Self {
        Self { span, by: by.to_owned(), access, place, links: FoundLinks::Kept, lands: Landing::Names(1), command: 0 }
    }

    pub fn is_redirect(&self) -> bool {
        self.by == REDIRECT
    }

    /// Where the place is a folder.
    pub fn of_folder(&self) -> FolderUse {
        let by = self.by.as_str();
        match self.access {
            _ if ENTERING.contains(&by) => FolderUse::Entered,
            FileAccess::Read if by == VISIBLE => FolderUse::Visible,
            FileAccess::Read if FLAT.contains(&by) => FolderUse::Listed,
            // What is done through the link is judged where it is done.
            FileAccess::Write if self.lands == Landing::Leaves && by == "ln" => FolderUse::Listed,
            FileAccess::Write if self.lands == Landing::Leaves => FolderUse::Whole,
            FileAccess::Write if FILLING.contains(&by) => FolderUse::Filled,
            FileAccess::Write if MOVING.contains(&by) => FolderUse::FilledAndWhole,
            FileAccess::Read | FileAccess::Write => FolderUse::Whole,
        }
    }

    /// Whether what the file holds may be another then.
    pub fn overwrites(&self) -> bool {
        self.access == FileAccess::Write && !KEEPING.contains(&self.by.as_str())
    }

    /// Whether it gets what folders hold that are copied or moved.
    pub fn gets_folders(&self) -> bool {
        self.access == FileAccess::Write && self.lands != Landing::Leaves && COPYING.contains(&self.by.as_str())
    }

    /// Whether it gets further names, of what else the command is given.
    pub fn gets_names(&self) -> bool {
        self.gets_folders() || self.access == FileAccess::Write && NAMING.contains(&self.by.as_str())
    }

    /// Whether a target that is not there yet becomes a folder which gets what is copied, and not that itself.
    pub fn makes_folder(&self) -> bool {
        self.by == "rsync"
    }

    /// Whether what a link leads to stays as it is.
    pub fn unlinks(&self) -> bool {
        matches!(self.by.as_str(), "rm" | "rmdir" | "unlink")
    }

    /// `None`: the file stays.
    pub fn removal(&self) -> Option<Removal> {
        match self.by.as_str() {
            _ if self.access != FileAccess::Write => None,
            CHECKOUT => Some(Removal::Changes),
            by => REMOVING.contains(&by).then_some(Removal::File),
        }
    }
}

impl SimpleCommand {
    /// Without its folder.
    pub fn program(&self) -> &str {
        self.pattern.split(' ').next().and_then(|program| program.rsplit('/').next()).unwrap_or_default()
    }

    /// Ends what nothing can bring back, by whatever path the program is called.
    pub fn is_destructive(&self) -> bool {
        DESTRUCTIVE.contains(&self.program())
    }
}
