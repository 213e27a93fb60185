//! Whether a file that was not seen before a command was made by it. Ignore files decide what is seen, and commands change ignore files: what only comes
//! to light must not be taken for new, since undo removes what is new.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

use copydesk_engine::ports::{FileState, Unkept};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;

use super::look::{Look, Looker};

/// What is known of the time around a command.
#[derive(Debug)]
pub(super) struct Since {
    /// By the clock of files, right before it.
    pub(super) start: SystemTime,
    /// Whether what is seen may be more than before.
    pub(super) may_see_more: bool,
    /// Of files that are gone: what was moved is one of them.
    pub(super) gone: BTreeSet<ContentHash>,
}

impl Since {
    /// The file after the command, `Older` where it may have been there before.
    pub(super) fn judged(&self, looker: &Looker, below: &Path, after: FileState) -> FileState {
        if let FileState::File { bytes, .. } = &after
            && self.gone.contains(&ContentHash::of(bytes))
        {
            return after;
        }
        let touched = match looker.look(below) {
            Look::File(stat) | Look::Link(stat) => stat.is_after(self.start),
            Look::Absent | Look::Folder | Look::Other => true,
        };
        let is_new = touched && (!self.may_see_more || looker.made(below).is_some_and(|made| made >= self.start));
        if is_new { after } else { FileState::Unkept(Unkept::Older) }
    }
}

/// The topmost folder above the file, which is new itself, that came since. One of the same tick of the clock as `start` may have been there before, and
/// counts as such.
pub(super) fn made_folder(looker: &Looker, below: &Path, start: SystemTime) -> Option<AbsPath> {
    let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && looker.came(folder, start);
    let topmost = below.ancestors().skip(1).take_while(is_new).last()?;
    AbsPath::new(looker.root.join(topmost))
}

pub(super) fn is_ignore_file(below: &Path) -> bool {
    below.file_name().is_some_and(|name| name == ".gitignore" || name == ".ignore")
}
