//! Searches over the files of a folder, with the text of open documents in place of their files. Judges nothing itself: what may be opened is the
//! caller's predicate.

mod file_glob;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use copydesk_workspace::path::AbsPath;
use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::BoxFuture;

pub use file_glob::FileGlob;

/// Both honour ignore files, follow no links, stop at the limits, and stop within 200 ms of `cancel` or of being dropped. Of equal trees they give equal
/// answers: hits come in the order of their paths, component by component.
pub trait Search: Send + Sync {
    /// Names of files; opens none.
    fn files(&self, tree: SearchTree, cancel: CancellationToken) -> BoxFuture<'_, Result<Found<AbsPath>, SearchError>>;

    /// Lines of text files. Binary files are skipped; UTF-16 with a byte order mark is text.
    fn lines(
        &self,
        tree: SearchTree,
        pattern: LinePattern,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Found<LineHit>, SearchError>>;
}

/// What is searched.
#[derive(Clone)]
pub struct SearchTree {
    /// A folder with its links resolved; for `lines` also a single file, which is searched whatever ignore files say.
    pub root: AbsPath,
    /// `None`: every file.
    pub glob: Option<FileGlob>,
    /// Whether names that begin with a dot are looked at. `.git` never is.
    pub hidden: bool,
    /// The documents that are open, by their real paths.
    pub open: Vec<(AbsPath, Rope)>,
    /// Of real paths. A file that it refuses is counted and not opened.
    pub may_open: MayOpen,
    pub limits: SearchLimits,
}

/// Called from several threads, once for each file that the glob lets through.
pub type MayOpen = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Hits.
    pub results: usize,
    pub time: Duration,
    /// Of text that is read.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinePattern {
    /// A regular expression in the syntax of Rust's `regex`. One that can match a line break matches across lines.
    Regex(String),
    /// This text and nothing else.
    Literal(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<T> {
    /// Those first in order, as many as the limit lets through.
    pub hits: Vec<T>,
    /// Files that could hold further hits were left out.
    pub more: bool,
    /// The search ended before it had seen everything.
    pub stopped: Option<SearchStop>,
    pub skipped: Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineHit {
    pub path: AbsPath,
    /// From 1; of the first line of a hit over several.
    pub line: u64,
    /// Without its line break; the surroundings of the hit where the line is long. Bad characters are replaced.
    pub text: String,
    /// From 1, in characters: where `text` begins, when it is a part of a long line.
    pub column: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStop {
    Time,
    Bytes,
}

/// What was not searched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    /// By `may_open`.
    pub refused: usize,
    pub binary: usize,
    /// Also those with a line too long to hold.
    pub unreadable: usize,
    /// Names directly in the root that ignore files leave out, folders with a slash.
    pub ignored: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The library's reason.
    #[error("the pattern is no valid regular expression: {0}")]
    BadPattern(String),
    #[error("{0} does not exist")]
    NotFound(AbsPath),
    #[error("the search was cancelled")]
    Cancelled,
    #[error("the search failed: {0}")]
    Failed(String),
}

impl SearchError {
    pub fn retry(&self) -> bool {
        match self {
            Self::Failed(_) => true,
            Self::BadPattern(_) | Self::NotFound(_) | Self::Cancelled => false,
        }
    }
}

impl<T> Found<T> {
    pub fn nothing() -> Self {
        Self { hits: Vec::new(), more: false, stopped: None, skipped: Skipped::default() }
    }
}

impl Skipped {
    pub fn add(&mut self, other: Self) {
        self.refused += other.refused;
        self.binary += other.binary;
        self.unreadable += other.unreadable;
        self.ignored.extend(other.ignored);
    }
}
