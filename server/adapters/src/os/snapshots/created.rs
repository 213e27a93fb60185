//! Whether a file that was not seen before a command was made by it. Ignore files decide what is seen, commands change ignore files, and move files and folders
//! into sight: what only comes to light must not be taken for new, since undo removes what is new.

use std::collections::{BTreeSet, HashSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use copydesk_engine::ports::{FileState, Unkept};
use copydesk_workspace::path::AbsPath;

use super::folders::Folders;
use super::look::{Looker, Stat};
use super::rules::Named;

/// What is known of the time around a command.
#[derive(Debug)]
pub(super) struct Since<'a> {
    /// By the clock of files, right before it.
    pub(super) start: SystemTime,
    /// Whether what is seen may be more than before.
    pub(super) may_see_more: bool,
    /// The inodes of files that were seen: what was moved has one of them.
    pub(super) files: HashSet<u32>,
    /// What was seen of folders.
    pub(super) folders: &'a Folders,
    /// The repositories within that were there before, of which nothing was in sight.
    pub(super) nested: &'a BTreeSet<PathBuf>,
    /// What the ignore files of before named.
    pub(super) named: Named<'a>,
}

impl Since<'_> {
    /// The file after the command, `Older` where it may have been there before.
    pub(super) fn judged(&self, looker: &Looker, below: &Path, after: FileState) -> FileState {
        if after == FileState::Absent || self.is_new(looker, below) { after } else { FileState::Unkept(Unkept::Older) }
    }

    fn is_new(&self, looker: &Looker, below: &Path) -> bool {
        let Some(found) = found(looker, below) else { return false };
        if self.is_made(&found) {
            self.place(looker, below).is_some_and(|place| !self.may_have_been_hidden(below, &place))
        } else {
            self.files.contains(&Stat::of(&found).inode())
        }
    }

    /// Where it would have stood before, that was made since: in a folder that came from elsewhere it may take the place of what came along, as an editor of streams
    /// makes it.
    fn place(&self, looker: &Looker, below: &Path) -> Option<PathBuf> {
        let (folder, name) = (below.parent()?, below.file_name()?);
        if folder.as_os_str().is_empty() {
            return Some(below.to_owned());
        }
        let found = found(looker, folder)?;
        let place =
            if self.is_made(&found) { self.place(looker, folder)? } else { self.folders.place(&found)?.to_owned() };
        Some(place.join(name))
    }

    /// Whether ignore files named what stood at `place`, or a repository held it, which do not any more, or not here.
    fn may_have_been_hidden(&self, below: &Path, place: &Path) -> bool {
        let was_nested = || self.nested.iter().any(|folder| place.starts_with(folder));
        (self.may_see_more || below != place) && (was_nested() || self.named.holds(place))
    }

    /// Not every file system knows when something was made. A move is a change too.
    fn is_made(&self, found: &Metadata) -> bool {
        match found.created() {
            Ok(made) => made >= self.start,
            Err(_) => !self.may_see_more && Stat::of(found).is_after(self.start),
        }
    }

    /// The topmost folder above a new file that came since: it was made, or moved. One made in the same tick of the clock as `start` may have been there before,
    /// and counts as such.
    pub(super) fn made_folder(&self, looker: &Looker, below: &Path) -> Option<AbsPath> {
        let came = |folder: &&Path| {
            let found = found(looker, folder).filter(|_| !folder.as_os_str().is_empty());
            found.is_some_and(|found| {
                let is_made = found.created().is_ok_and(|made| made > self.start);
                is_made || self.folders.place(&found).is_some_and(|place| place != *folder)
            })
        };
        let topmost = below.ancestors().skip(1).take_while(came).last()?;
        AbsPath::new(looker.root.join(topmost))
    }
}

fn found(looker: &Looker, below: &Path) -> Option<Metadata> {
    std::fs::symlink_metadata(looker.root.join(below)).ok()
}

/// Whether a file came, with what it is now.
pub(super) fn is_creation(before: &FileState, after: &FileState) -> bool {
    *before == FileState::Absent && !matches!(after, FileState::Absent | FileState::Unkept(Unkept::Older))
}
