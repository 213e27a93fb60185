//! Problems that a language server or a check command finds. From the editor where it offers them.

use std::time::Duration;

use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::BoxFuture;

pub trait Diagnostics: Send + Sync {
    /// The problems of the target as it now stands; waits no longer than `wait`. Problems of an older version are never given (R17.1).
    fn of(&self, target: DiagnosticsTarget, wait: Duration) -> BoxFuture<'_, DiagnosticsReport>;
}

#[derive(Debug, Clone)]
pub struct DiagnosticsTarget {
    pub path: AbsPath,
    /// URI and version, where the document is open.
    pub open: Option<(String, i32)>,
    pub text: Rope,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiagnosticsReport {
    Ready(Vec<Diagnostic>),
    /// Nothing for this version came in time.
    NotReady,
    /// Nobody checks such files here.
    Unavailable,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// One-based, columns in characters.
    pub line: usize,
    pub column: usize,
    pub severity: DiagnosticSeverity,
    pub message: String,
    /// E.g. `rustc E0308`.
    pub source: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DiagnosticSeverity {
    Error,
    Warning,
    Information,
    Hint,
}
