//! Problems that a language server or a check command finds. From the editor where it offers them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::{BoxFuture, LanguageAnswer, LanguageError, LanguageQuestion};
use crate::overlay::Overlay;

pub trait Diagnostics: Send + Sync {
    /// The problems of the target as it now stands; waits no longer than `wait`. Problems of an older version are never given (R17.1).
    fn of(&self, target: DiagnosticsTarget, wait: Duration) -> BoxFuture<'_, DiagnosticsReport>;

    /// What the language servers that find them know of the code; waits no longer than `wait`. The answer is of the texts in the question.
    fn answer(
        &self,
        _question: LanguageQuestion,
        _wait: Duration,
    ) -> BoxFuture<'_, Result<LanguageAnswer, LanguageError>> {
        Box::pin(async { Err(LanguageError::Unavailable) })
    }

    /// What the user is to know of those who find problems, such as a server that does not come up; each is given once.
    fn troubles(&self) -> Vec<String> {
        Vec::new()
    }

    /// The same for one session, which it is asked for from then on; `None` where sessions make no difference.
    fn for_session(&self, _scope: &DiagnosticsScope) -> Option<Arc<dyn Diagnostics>> {
        None
    }
}

/// What a session lets language servers of the daemon's own do.
#[derive(Clone)]
pub struct DiagnosticsScope {
    pub servers: LanguageServers,
    /// A server's root is one of these, or a folder below one.
    pub roots: Vec<AbsPath>,
    /// Texts that are not in the files yet.
    pub overlay: Arc<Overlay>,
    /// Names of variables that children must not see, e.g. keys of providers.
    pub hidden_vars: Vec<String>,
    /// Names of variables that servers get besides those that every command gets; `*` at the end stands for any rest.
    pub passed_vars: Vec<String>,
    /// Whether programs of the project may run, and what it makes others run. Servers that the configuration names may do that in any case.
    pub trusts_programs: bool,
}

/// The user's word on language servers of the daemon's own, or that of a project that is trusted to run programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LanguageServers {
    Off,
    /// The well-known ones whose programs are found, changed and added to by name.
    On(BTreeMap<String, LanguageServer>),
}

impl Default for LanguageServers {
    fn default() -> Self {
        Self::On(BTreeMap::new())
    }
}

/// Absent fields: what is well known of the server of that name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LanguageServer {
    pub disabled: bool,
    /// The program and its arguments.
    pub command: Option<Vec<String>>,
    /// With or without a leading dot.
    pub extensions: Option<Vec<String>>,
    pub env: BTreeMap<String, String>,
    /// Sent as `initializationOptions`, and as the answer to `workspace/configuration`.
    pub initialization: serde_json::Value,
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
    /// Not certain, or not all that there is to know.
    Partly {
        found: Vec<Diagnostic>,
        /// Of several that look at the file these have not spoken in time.
        missing: Vec<String>,
        /// These do not say of which text they speak: what they said last is taken for that of the target, which they were sent before.
        presumed: Vec<String>,
    },
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
