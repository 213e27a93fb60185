//! Diffs of files as wholes: made, deleted, moved, changed; text or not. In the form that Git writes and reads (git-diff(1), "Generating patch text with -p").

use std::fmt::Write as _;

use ropey::Rope;

use super::{LineCounts, hunks};
use crate::hash::ContentHash;

/// Columns of the longest bar of a summary.
const BAR: usize = 40;

/// A file at one moment.
#[derive(Debug, Clone)]
pub struct FileVersion {
    /// Of the file in its folder, parted by `/`.
    pub name: String,
    pub content: Content,
    /// Unix permissions, where they are known.
    pub mode: Option<u32>,
}

#[derive(Debug, Clone)]
pub enum Content {
    Text(Rope),
    Binary(ContentHash),
    /// Nobody knows what it held.
    NotKept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Created,
    Modified,
    Deleted,
    Moved,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffedFile {
    /// Afterwards; of a deleted file, before.
    pub name: String,
    /// Of a moved file: before.
    pub from: Option<String>,
    pub kind: Kind,
    /// Whether it has lines that can be compared.
    pub is_text: bool,
    pub counts: LineCounts,
    /// Ends with a line break.
    pub patch: String,
}

/// What became of several files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    pub files: Vec<DiffedFile>,
}

/// `None` where nothing differs. `context`: lines around each hunk.
pub fn of_file(before: Option<&FileVersion>, after: Option<&FileVersion>, context: usize) -> Option<DiffedFile> {
    let kind = match (before, after) {
        (None, None) => return None,
        (None, Some(_)) => Kind::Created,
        (Some(_), None) => Kind::Deleted,
        (Some(before), Some(after)) if before.name == after.name => Kind::Modified,
        (Some(_), Some(_)) => Kind::Moved,
    };
    let body = Body::of(before, after, context);
    let mode = |version: Option<&FileVersion>| version.and_then(|version| version.mode).map(git_mode);
    let modes = mode(before).zip(mode(after)).filter(|(before, after)| before != after);
    if kind == Kind::Modified && matches!(body, Body::Same) && modes.is_none() {
        return None;
    }
    let name = |version: Option<&FileVersion>| version.or(before).or(after).map(|version| version.name.clone());
    let (old, new) = (name(before)?, name(after)?);
    let (a, b) = (quoted("a/", &old), quoted("b/", &new));
    let mut patch = format!("diff --git {a} {b}\n");
    match kind {
        Kind::Created => {
            let _ = writeln!(patch, "new file mode {}", mode(after).unwrap_or(PLAIN));
        }
        Kind::Deleted => {
            let _ = writeln!(patch, "deleted file mode {}", mode(before).unwrap_or(PLAIN));
        }
        Kind::Modified | Kind::Moved => {
            if let Some((before, after)) = modes {
                let _ = writeln!(patch, "old mode {before}\nnew mode {after}");
            }
            if kind == Kind::Moved {
                let _ = writeln!(patch, "rename from {}\nrename to {}", quoted("", &old), quoted("", &new));
            }
        }
    }
    let side =
        |side: &Option<&FileVersion>, name: &str| side.map_or_else(|| "/dev/null".to_owned(), |_| name.to_owned());
    let (from, to) = (side(&before, &a), side(&after, &b));
    let (counts, is_text) = match &body {
        Body::Lines { hunks, counts } => {
            let _ = write!(patch, "--- {}\n+++ {}\n{hunks}", ended(&from), ended(&to));
            (*counts, true)
        }
        Body::Same => (LineCounts::default(), true),
        Body::Binary => {
            let _ = writeln!(patch, "Binary files {from} and {to} differ");
            (LineCounts::default(), false)
        }
        Body::NotKept => {
            let _ = writeln!(patch, "What {from} and {to} held is not kept");
            (LineCounts::default(), false)
        }
    };
    let from = (kind == Kind::Moved).then_some(old);
    Some(DiffedFile { name: new, from, kind, is_text, counts, patch })
}

impl Diff {
    /// Lines, over all files.
    pub fn totals(&self) -> LineCounts {
        self.files.iter().fold(LineCounts::default(), |mut counts, file| {
            counts += file.counts;
            counts
        })
    }

    /// The patches, one after the other.
    pub fn patch(&self) -> String {
        self.files.iter().map(|file| file.patch.as_str()).collect()
    }

    /// A line a file with a bar, and the totals, as `git diff --stat` has them; empty where nothing differs.
    pub fn stat(&self) -> String {
        let named: Vec<(String, &DiffedFile)> = self.files.iter().map(|file| (file.shown_name(), file)).collect();
        let width = named.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let lines = |file: &DiffedFile| file.counts.added + file.counts.removed;
        let most = self.files.iter().map(lines).max().unwrap_or(0);
        let digits = most.to_string().len();
        let mut text = String::new();
        for (name, file) in named {
            let _ = write!(text, " {name:width$} | ");
            if file.is_text {
                let bar = |count: usize| scaled(count, most);
                let LineCounts { added, removed } = file.counts;
                let bars = format!("{}{}", "+".repeat(bar(added)), "-".repeat(bar(removed)));
                let line = format!("{:>digits$} {bars}", lines(file));
                let _ = writeln!(text, "{}", line.trim_end());
            } else {
                let _ = writeln!(text, "{:>digits$}", "Bin");
            }
        }
        if !self.files.is_empty() {
            let _ = writeln!(text, " {}", self.summary());
        }
        text
    }

    /// How many files, and how many lines came and went.
    pub fn summary(&self) -> String {
        let LineCounts { added, removed } = self.totals();
        let counted = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        format!(
            "{}, {}(+), {}(-)",
            counted(self.files.len(), "file changed", "files changed"),
            counted(added, "insertion", "insertions"),
            counted(removed, "deletion", "deletions")
        )
    }
}

impl DiffedFile {
    /// A moved file with both of its names.
    fn shown_name(&self) -> String {
        match &self.from {
            Some(from) => format!("{} => {}", quoted("", from), quoted("", &self.name)),
            None => quoted("", &self.name),
        }
    }
}

/// How the contents differ.
enum Body {
    Same,
    Lines { hunks: String, counts: LineCounts },
    Binary,
    NotKept,
}

impl Body {
    /// What is not there is like an empty text.
    fn of(before: Option<&FileVersion>, after: Option<&FileVersion>, context: usize) -> Self {
        let nothing = Content::Text(Rope::new());
        let content =
            |version: Option<&FileVersion>| version.map_or(nothing.clone(), |version| version.content.clone());
        match (content(before), content(after)) {
            (Content::Text(before), Content::Text(after)) => match hunks(&before, &after, context) {
                (hunks, _) if hunks.is_empty() => Self::Same,
                (hunks, counts) => Self::Lines { hunks, counts },
            },
            (Content::NotKept, _) | (_, Content::NotKept) => Self::NotKept,
            (Content::Binary(before), Content::Binary(after)) if before == after => Self::Same,
            (Content::Binary(_), _) | (_, Content::Binary(_)) => Self::Binary,
        }
    }
}

/// Git's two kinds of ordinary files.
const PLAIN: &str = "100644";
const EXECUTABLE: &str = "100755";

fn git_mode(mode: u32) -> &'static str {
    if mode & 0o111 == 0 { PLAIN } else { EXECUTABLE }
}

/// In C's quotes where a reader of patches could not tell where the name ends, or what it is.
fn quoted(prefix: &str, name: &str) -> String {
    if !name.contains(|char: char| char.is_control() || char == '"' || char == '\\') {
        return format!("{prefix}{name}");
    }
    let mut text = format!("\"{prefix}");
    for char in name.chars() {
        match char {
            '"' | '\\' => text.extend(['\\', char]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            char if char.is_control() => {
                let mut bytes = [0; 4];
                for byte in char.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(text, "\\{byte:03o}");
                }
            }
            char => text.push(char),
        }
    }
    text + "\""
}

/// A name with white space ends with a tab, by which readers know where it ends.
fn ended(name: &str) -> String {
    if name.contains(' ') && !name.starts_with('"') { format!("{name}\t") } else { name.to_owned() }
}

/// Nothing is a bar of nothing, anything at least one sign.
fn scaled(count: usize, most: usize) -> usize {
    if most <= BAR { count } else { (count * BAR).div_ceil(most) }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
