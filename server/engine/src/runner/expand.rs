//! Which files a pattern or a folder means on the disk, up to a limit. Judges none of them.

use std::collections::VecDeque;
use std::sync::Arc;

use copydesk_workspace::disk::{DirEntry, FileKind};
use copydesk_workspace::path::AbsPath;
use globset::{GlobBuilder, GlobMatcher};

use crate::ports::Files;

/// Files that are judged one by one.
const MATCHES: usize = 500;
/// Entries that are looked at.
const ENTRIES: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expanded<T> {
    All(Vec<T>),
    TooMany,
    NotUnderstood,
}

/// What bash with its usual options finds for `pattern` below `base`: `*` crosses no `/`, and names that begin with a dot are meant by a dot alone.
pub(super) async fn glob(files: &Arc<dyn Files>, base: &AbsPath, pattern: &str) -> Expanded<AbsPath> {
    let mut found = vec![base.clone()];
    let mut looked_at = 0;
    let components: Vec<&str> = pattern.split('/').filter(|component| !component.is_empty()).collect();
    for (index, component) in components.iter().enumerate() {
        let is_last = index + 1 == components.len();
        let Some(meant) = Component::new(component) else { return Expanded::NotUnderstood };
        let mut next = Vec::new();
        for folder in found {
            match &meant {
                Component::Name(name) => {
                    let path = folder.join(name);
                    if files.stat(path.clone()).await.is_ok() {
                        next.push(path);
                    }
                }
                Component::Pattern { matcher, dot } => {
                    let entries = files.list(folder.clone()).await.unwrap_or_default();
                    looked_at += entries.len();
                    let fits = |entry: &&DirEntry| {
                        (*dot || !entry.name.starts_with('.'))
                            && (is_last || entry.kind == FileKind::Directory)
                            && matcher.is_match(&entry.name)
                    };
                    next.extend(entries.iter().filter(fits).map(|entry| folder.join(&entry.name)));
                }
            }
            if next.len() > MATCHES || looked_at > ENTRIES {
                return Expanded::TooMany;
            }
        }
        found = next;
    }
    Expanded::All(found)
}

/// The files below a folder at any depth, by their paths from there, and whether each is a link. Links are not followed.
pub(super) async fn below(files: &Arc<dyn Files>, folder: &AbsPath) -> Expanded<(String, bool)> {
    below_but(files, folder, |_| false).await
}

/// The same without the folders, by their paths from there, that are left out.
pub(super) async fn below_but(
    files: &Arc<dyn Files>,
    folder: &AbsPath,
    is_left_out: impl Fn(&str) -> bool + Send,
) -> Expanded<(String, bool)> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut folders = VecDeque::from([String::new()]);
    while let Some(below) = folders.pop_front() {
        let entries = files.list(folder.join(&below)).await.unwrap_or_default();
        looked_at += entries.len();
        if looked_at > ENTRIES {
            return Expanded::TooMany;
        }
        for entry in entries {
            let path = if below.is_empty() { entry.name } else { format!("{below}/{}", entry.name) };
            if entry.kind == FileKind::Directory && !entry.is_link {
                if !is_left_out(&path) {
                    folders.push_back(path);
                }
            } else {
                found.push((path, entry.is_link));
            }
        }
    }
    Expanded::All(found)
}

/// Between two slashes of a pattern.
enum Component {
    Name(String),
    Pattern { matcher: GlobMatcher, dot: bool },
}

impl Component {
    /// `None`: means something else to bash than it does here.
    fn new(component: &str) -> Option<Self> {
        if ["[:", "[=", "[.", "{", "}", "(", ")"].iter().any(|special| component.contains(special)) {
            return None;
        }
        if !component.contains(['*', '?', '[', '\\']) {
            return Some(Self::Name(component.to_owned()));
        }
        let simple = component.replace("**", "*");
        let glob = GlobBuilder::new(&simple).literal_separator(true).backslash_escape(true).build().ok()?;
        Some(Self::Pattern { matcher: glob.compile_matcher(), dot: component.starts_with(['.', '\\']) })
    }
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
