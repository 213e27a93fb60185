//! Patches of several files in the format that OpenAI's models write (`*** Begin Patch`): what one says, without the files that it is for. Where hunks
//! belong is `matching`'s.
//!
//! ```text
//! patch   := "*** Begin Patch" file+ "*** End Patch"
//! file    := "*** Add File: " path ("+" text)*
//!          | "*** Delete File: " path
//!          | "*** Update File: " path ["*** Move to: " path] hunk*
//! hunk    := ("@@" [" " anchor])* (" " text | "-" text | "+" text)* ["*** End of File"]
//! ```
//!
//! The grammar is that of the `apply_patch` of openai/codex (`codex-rs/apply-patch`), whose first hunk of a file may stand without an `@@`.

mod parse;

pub use parse::{ParseError, parse, paths};

/// At least one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub files: Vec<FilePatch>,
}

/// Paths are as they are written, without white space around them, and not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePatch {
    Add {
        path: String,
        /// Ends in a line break, unless it is empty.
        text: String,
    },
    Delete {
        path: String,
    },
    /// Moves, changes the text, or does both.
    Update {
        path: String,
        move_to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

/// One place of a file and what becomes of it. It adds or removes at least one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// One-based line of the patch, for errors.
    pub line: usize,
    /// Lines of the file below which it lies, the outermost first; without the white space at their ends.
    pub anchors: Vec<String>,
    pub lines: Vec<HunkLine>,
    /// Whether it lies at the end of the file.
    pub at_end: bool,
}

/// Without its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    Context(String),
    Remove(String),
    Add(String),
}

impl FilePatch {
    pub fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Delete { path } | Self::Update { path, .. } => path,
        }
    }
}

impl Hunk {
    /// The lines that it needs to find.
    pub fn old(&self) -> Vec<&str> {
        let old = self.lines.iter().filter_map(|line| match line {
            HunkLine::Context(text) | HunkLine::Remove(text) => Some(text.as_str()),
            HunkLine::Add(_) => None,
        });
        old.collect()
    }

    /// The lines that stand there afterwards.
    pub fn new_lines(&self) -> Vec<&str> {
        let new = self.lines.iter().filter_map(|line| match line {
            HunkLine::Context(text) | HunkLine::Add(text) => Some(text.as_str()),
            HunkLine::Remove(_) => None,
        });
        new.collect()
    }
}
