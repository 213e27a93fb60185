//! The changes of each file in their order, through moves, and the text that the file would have without them: pure. Contents are the caller's.

use std::collections::BTreeMap;

use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::merge::take_back;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use crate::ports::{Change, FileContent};

/// One file.
pub(super) struct Life<'a> {
    from: &'a AbsPath,
    path: &'a AbsPath,
    first: Link<'a>,
    /// Behind the first.
    rest: Vec<Link<'a>>,
}

/// Changes between which nobody else has changed the file, as one.
#[derive(Clone, Copy)]
struct Link<'a> {
    before: &'a Option<FileContent>,
    after: &'a Option<FileContent>,
}

/// In the order of the paths.
pub(super) fn lives<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Vec<Life<'a>> {
    let mut lives: BTreeMap<&AbsPath, Life<'a>> = BTreeMap::new();
    // Of files that are gone, and whose path another file has now.
    let mut gone = Vec::new();
    for change in changes {
        let link = Link { before: &change.before, after: &change.after };
        let life = match lives.remove(&change.path) {
            Some(life) if life.goes_on_with(&link) => life.with(change.target(), link),
            // The user has made it anew, or removed it: what was before is another file's life. Nothing stands where that began if it was moved first.
            ended => {
                gone.extend(ended.filter(|life| life.after().is_none() && life.from != life.path));
                Life { from: &change.path, path: change.target(), first: link, rest: Vec::new() }
            }
        };
        gone.extend(lives.insert(change.target(), life));
    }
    let mut lives: Vec<Life<'a>> = gone.into_iter().chain(lives.into_values()).collect();
    lives.sort_by_key(|life| life.path);
    lives
}

impl<'a> Life<'a> {
    fn goes_on_with(&self, link: &Link<'a>) -> bool {
        self.after().is_none() == link.before.is_none()
    }

    fn with(mut self, path: &'a AbsPath, link: Link<'a>) -> Self {
        let last = self.rest.last_mut().unwrap_or(&mut self.first);
        let hash = |content: &Option<FileContent>| content.map(|content| content.hash);
        if hash(last.after) == hash(link.before) {
            last.after = link.after;
        } else {
            self.rest.push(link);
        }
        Self { path, ..self }
    }

    /// Where the file stood before all of it.
    pub(super) fn from(&self) -> &'a AbsPath {
        self.from
    }

    /// Where it stands after all of it, or stood last.
    pub(super) fn path(&self) -> &'a AbsPath {
        self.path
    }

    pub(super) fn before(&self) -> &'a Option<FileContent> {
        self.first.before
    }

    pub(super) fn after(&self) -> &'a Option<FileContent> {
        self.last().after
    }

    /// All that the texts of it are made of.
    pub(super) fn contents(&self) -> impl Iterator<Item = &'a FileContent> {
        std::iter::once(&self.first).chain(&self.rest).flat_map(|link| [link.before, link.after]).flatten()
    }

    /// The text that the file would have after all of it without the changes: with what the user has changed in between. `None` where it was not changed in
    /// between, or not all of it is text that is known: then it is what it was before.
    pub(super) fn base(&self, texts: &BTreeMap<ContentHash, Rope>) -> Option<Rope> {
        if self.rest.is_empty() {
            return None;
        }
        let text = |content: &Option<FileContent>| content.and_then(|content| texts.get(&content.hash));
        let mut base = text(self.last().after)?.clone();
        for link in self.rest.iter().rev().chain([&self.first]) {
            let taken = take_back(text(link.before)?, text(link.after)?, &base);
            base = taken.edits.apply(&base).ok()?;
        }
        Some(base)
    }

    fn last(&self) -> &Link<'a> {
        self.rest.last().unwrap_or(&self.first)
    }
}
