//! Files below a folder that match a pattern, for the few patterns of a configuration. Not for searches: it knows no ignore files.

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;
use globset::{GlobBuilder, GlobMatcher};

use crate::ports::{BoxFuture, Files};

/// Folders that are looked into for one pattern.
const FOLDER_LIMIT: usize = 200;

/// How deep `**` goes.
const DEPTH_LIMIT: usize = 8;

/// Whether the text has to be matched, rather than looked up (R18.3: the literal path is tried first all the same).
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Files that match `pattern` below `folder`, in order of their names. Links to folders are not followed by `**`.
pub(super) async fn expand(files: &dyn Files, folder: &AbsPath, pattern: &str) -> Result<Vec<AbsPath>, globset::Error> {
    let mut parts = Vec::new();
    for text in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
        parts.push(match text {
            "**" => Part::AnyFolders,
            _ if is_pattern(text) => {
                Part::Matching(Box::new(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher()))
            }
            _ => Part::Literal(text.to_owned()),
        });
    }
    let mut walk = Walk { files, found: Vec::new(), folders_left: FOLDER_LIMIT };
    walk.step(folder.clone(), &parts, DEPTH_LIMIT).await;
    Ok(walk.found)
}

enum Part {
    Literal(String),
    Matching(Box<GlobMatcher>),
    AnyFolders,
}

struct Walk<'a> {
    files: &'a dyn Files,
    found: Vec<AbsPath>,
    folders_left: usize,
}

impl Walk<'_> {
    fn step<'b>(&'b mut self, at: AbsPath, parts: &'b [Part], depth: usize) -> BoxFuture<'b, ()> {
        Box::pin(async move {
            let Some((part, rest)) = parts.split_first() else {
                let is_file = matches!(self.files.stat(at.clone()).await, Ok(stat) if stat.kind == FileKind::File);
                if is_file && !self.found.contains(&at) {
                    self.found.push(at);
                }
                return;
            };
            if let Part::Literal(name) = part {
                return self.step(at.join(name), rest, depth).await;
            }
            if matches!(part, Part::AnyFolders) {
                self.step(at.clone(), rest, depth).await;
            }
            if self.folders_left == 0 {
                return;
            }
            self.folders_left -= 1;
            for entry in self.files.list(at.clone()).await.unwrap_or_default() {
                match part {
                    Part::Matching(glob) if glob.is_match(&entry.name) => {
                        self.step(at.join(&entry.name), rest, depth).await;
                    }
                    Part::AnyFolders if depth > 0 && entry.kind == FileKind::Directory && !entry.is_link => {
                        self.step(at.join(&entry.name), parts, depth - 1).await;
                    }
                    _ => {}
                }
            }
        })
    }
}
