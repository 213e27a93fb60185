//! `Search` over a disk in memory. It knows neither ignore files nor regular expressions: a pattern is a part of a line, and one with an open parenthesis
//! is no valid one.

use std::sync::{Arc, Mutex};

use copydesk_workspace::disk::{Disk, FileKind, MemoryDisk};
use copydesk_workspace::path::AbsPath;
use tokio_util::sync::CancellationToken;

use super::lock;
use crate::ports::{BoxFuture, Found, LineHit, LinePattern, Search, SearchError, SearchTree};

#[derive(Default)]
pub struct FakeSearch {
    disk: Arc<MemoryDisk>,
    opened: Mutex<Vec<AbsPath>>,
}

impl FakeSearch {
    pub fn new(disk: Arc<MemoryDisk>) -> Self {
        Self { disk, opened: Mutex::default() }
    }

    /// Files whose text was looked at.
    pub fn opened(&self) -> Vec<AbsPath> {
        lock(&self.opened).clone()
    }

    /// The files that are meant and allowed, in order.
    fn meant<T>(&self, tree: &SearchTree, found: &mut Found<T>) -> Result<Vec<AbsPath>, SearchError> {
        let stat = self.disk.stat(&tree.root).map_err(|_| SearchError::NotFound(tree.root.clone()))?;
        let mut files = Vec::new();
        if stat.kind == FileKind::Directory {
            self.walk(&tree.root, tree, &mut files);
        } else {
            files.push(tree.root.clone());
        }
        files.retain(|path| {
            let allowed = (tree.may_open)(path.as_path());
            found.skipped.refused += usize::from(!allowed);
            allowed
        });
        Ok(files)
    }

    fn walk(&self, folder: &AbsPath, tree: &SearchTree, files: &mut Vec<AbsPath>) {
        for entry in self.disk.list(folder).unwrap_or_default() {
            if entry.is_link || (entry.name.starts_with('.') && !tree.hidden) {
                continue;
            }
            let path = folder.join(&entry.name);
            match entry.kind {
                FileKind::Directory => self.walk(&path, tree, files),
                FileKind::File => {
                    let below = path.relative_to(&tree.root).unwrap_or_default();
                    if tree.glob.as_ref().is_none_or(|glob| glob.matches(below.as_ref())) {
                        files.push(path);
                    }
                }
                FileKind::Other => {}
            }
        }
    }

    fn text(&self, path: &AbsPath, tree: &SearchTree) -> String {
        if let Some((_, text)) = tree.open.iter().find(|(open, _)| open == path) {
            return text.to_string();
        }
        lock(&self.opened).push(path.clone());
        String::from_utf8_lossy(&self.disk.read(path).unwrap_or_default()).into_owned()
    }
}

impl Search for FakeSearch {
    fn files(&self, tree: SearchTree, _: CancellationToken) -> BoxFuture<'_, Result<Found<AbsPath>, SearchError>> {
        Box::pin(async move {
            let mut found = Found::nothing();
            found.hits = self.meant(&tree, &mut found)?;
            found.more = found.hits.len() > tree.limits.results;
            found.hits.truncate(tree.limits.results);
            Ok(found)
        })
    }

    fn lines(
        &self,
        tree: SearchTree,
        pattern: LinePattern,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Found<LineHit>, SearchError>> {
        Box::pin(async move {
            let pattern = match pattern {
                LinePattern::Regex(regex) if regex.contains('(') => {
                    return Err(SearchError::BadPattern("unclosed group".to_owned()));
                }
                LinePattern::Regex(text) | LinePattern::Literal(text) => text,
            };
            let mut found = Found::nothing();
            for path in self.meant(&tree, &mut found)? {
                let text = self.text(&path, &tree);
                let lines = (1..).zip(text.lines()).filter(|(_, line)| line.contains(&pattern));
                found.hits.extend(lines.map(|(line, text)| LineHit {
                    path: path.clone(),
                    line,
                    text: text.to_owned(),
                    column: None,
                }));
            }
            found.more = found.hits.len() > tree.limits.results;
            found.hits.truncate(tree.limits.results);
            Ok(found)
        })
    }
}
