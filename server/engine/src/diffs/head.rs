//! The present texts of the files that a session has touched, against the commit that is checked out: whoever changed them. Where a file is open, its text is
//! the editor's.

use std::collections::{BTreeMap, BTreeSet};

use copydesk_workspace::diff::{Content, FileVersion};
use copydesk_workspace::disk::DiskError;
use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;
use std::borrow::Cow;

use super::lives::lives;
use super::{ChangesDiff, DiffError, name};
use crate::ids::SessionId;
use crate::ports::{Changes, Committed, Files, VersionControl};
use crate::view::{View, ViewError};

/// Who is asked.
pub struct Sources<'a> {
    pub changes: &'a dyn Changes,
    pub version_control: &'a dyn VersionControl,
    pub files: &'a dyn Files,
    pub view: &'a View,
}

/// By path. Files that lie in no work tree are left out. `folder` is real: names of files are relative to it.
pub async fn against_head(
    sources: &Sources<'_>,
    session: &SessionId,
    folder: &AbsPath,
) -> Result<ChangesDiff, DiffError> {
    let rows = sources.changes.list(session.clone()).await?;
    let touching = || rows.iter().filter(|row| row.before != row.after || row.moved_to.is_some());
    let touched = lives(touching());
    let paths: BTreeSet<&AbsPath> = touching().flat_map(|row| [&row.path, row.target()]).collect();
    let mut committed = sources.committed(&paths).await?;
    let mut present = BTreeMap::new();
    for path in committed.keys() {
        present.insert(path.clone(), sources.present(path, folder).await?);
    }
    let still = touched.iter().filter(|life| life.from() != life.path() && life.after().is_some());
    let moved = still.map(|life| (life.path(), life.from()));
    let moved: BTreeMap<&AbsPath, &AbsPath> = moved
        .filter(|(to, from)| {
            let is_there =
                |files: &BTreeMap<AbsPath, Option<FileVersion>>, path| files.get(path).is_some_and(Option::is_some);
            let was_there = |path| committed.get(path).is_some_and(Option::is_some);
            was_there(*from) && !was_there(*to) && is_there(&present, *to) && !is_there(&present, *from)
        })
        .collect();
    let gone: BTreeSet<&AbsPath> = moved.values().copied().collect();
    let mut shown = ChangesDiff::default();
    for (path, after) in &present {
        if gone.contains(path) {
            continue;
        }
        let from = moved.get(path).copied().unwrap_or(path);
        let before = committed.remove(from).flatten().map(|committed| version(from, folder, committed, after.as_ref()));
        shown.push(path, before.as_ref(), after.as_ref());
    }
    Ok(shown)
}

impl Sources<'_> {
    /// Of the files that lie in a work tree.
    async fn committed(&self, paths: &BTreeSet<&AbsPath>) -> Result<BTreeMap<AbsPath, Option<Committed>>, DiffError> {
        let mut trees: BTreeMap<AbsPath, Vec<&AbsPath>> = BTreeMap::new();
        for path in paths {
            if let Some(tree) = self.work_tree(path).await {
                trees.entry(tree).or_default().push(path);
            }
        }
        let mut committed = BTreeMap::new();
        for (tree, paths) in trees {
            let names = paths.iter().map(|path| name(path, &tree)).collect();
            let found = self.version_control.committed(tree, names).await?;
            committed.extend(paths.into_iter().cloned().zip(found));
        }
        Ok(committed)
    }

    /// The nearest ancestor that holds `.git`, a folder or (in linked work trees and submodules) a file.
    async fn work_tree(&self, path: &AbsPath) -> Option<AbsPath> {
        let mut at = path.parent();
        while let Some(folder) = at {
            if self.files.stat(folder.join(".git")).await.is_ok() {
                return Some(folder);
            }
            at = folder.parent();
        }
        None
    }

    async fn present(&self, path: &AbsPath, folder: &AbsPath) -> Result<Option<FileVersion>, DiffError> {
        let content = match self.view.snapshot(path).await {
            Ok(snapshot) => Content::Text(snapshot.text),
            // A folder that has taken the file's place is no file.
            Err(ViewError::Disk(DiskError::NotFound(_) | DiskError::IsDirectory(_))) => return Ok(None),
            Err(ViewError::Text { .. }) => match self.view.bytes(path).await {
                Ok(bytes) => Content::Binary(ContentHash::of(&bytes)),
                Err(error) => return Err(DiffError::Unreadable(error.to_string())),
            },
            Err(ViewError::TooLarge { .. }) => Content::NotKept,
            Err(error @ (ViewError::Disk(_) | ViewError::NotGranted(_))) => {
                return Err(DiffError::Unreadable(error.to_string()));
            }
        };
        Ok(Some(FileVersion { name: name(path, folder), content, mode: None }))
    }
}

fn version(path: &AbsPath, folder: &AbsPath, committed: Committed, now: Option<&FileVersion>) -> FileVersion {
    let content = match committed.bytes {
        None => Content::NotKept,
        Some(bytes) => match encoding::decode(&bytes) {
            Ok((text, _)) => Content::Text(Rope::from(in_line_endings_of(now, text))),
            Err(_) => Content::Binary(ContentHash::of(&bytes)),
        },
    };
    FileVersion { name: name(path, folder), content, mode: Some(committed.mode) }
}

/// Git may store a text with line feeds that it writes with carriage returns (`core.autocrlf`, `eol=crlf`): that is no difference.
fn in_line_endings_of<'a>(now: Option<&FileVersion>, text: Cow<'a, str>) -> Cow<'a, str> {
    let Some(FileVersion { content: Content::Text(now), .. }) = now else { return text };
    let now = now.to_string();
    let (lines, with_return) = (now.matches('\n').count(), now.matches("\r\n").count());
    if lines > 0 && lines == with_return && !text.contains('\r') { text.replace('\n', "\r\n").into() } else { text }
}
