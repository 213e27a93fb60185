//! The ports: traits through which the engine meets the world, each with an error of its own. Implemented by `adapters`, by the faces, and by tests.

mod changes;
mod client;
mod diagnostics;
mod editor;
mod environment;
mod files;
mod grants;
mod http;
mod language;
mod model;
mod search;
mod shell;
mod snapshots;
mod store;
mod trust;
mod version_control;

use std::sync::Arc;

pub(crate) use changes::encoded;
pub use changes::{By, Change, ChangeId, Changes, FileContent, LARGEST_BINARY, NewChange, NewContent};
pub use client::{Ask, AskOption, AskOutcome, AskedPart, Client, OptionKind, Preview, WantedLine};
pub use diagnostics::{
    Diagnostic, DiagnosticSeverity, Diagnostics, DiagnosticsReport, DiagnosticsScope, DiagnosticsTarget,
    LanguageServer, LanguageServers,
};
pub use editor::{
    ApplyRequest, DocumentEdit, Editor, EditorError, FileChange, FileChangeKind, FreeEdits, ReloadReport, TextAccess,
    Unsaved,
};
pub(crate) use environment::says_on;
pub use environment::{Clock, Environment, Folders, Ids, Secrets};
pub use files::Files;
pub use grants::{GrantStore, GrantStoreError};
pub use http::{Http, HttpAnswer, HttpError, HttpLimits, HttpRequest, Reach, Readable};
pub use language::{
    LanguageAbout, LanguageAction, LanguageAnswer, LanguageCall, LanguageChange, LanguageError, LanguageFound,
    LanguagePlace, LanguageQuestion, LanguageSymbol,
};
pub(crate) use model::is_local;
pub use model::{
    AssistantBlock, Content, Model, ModelError, ModelErrorKind, ModelEvent, ModelMessage, ModelRequest, ModelSettings,
    ProviderSettings, ResultBlock, ToolSpec, WireProtocol, push_text,
};
pub use search::{
    FileGlob, Found, LineHit, LinePattern, MayOpen, Search, SearchError, SearchLimits, SearchStop, SearchTree, Skipped,
};
pub use shell::{
    CapturedOutput, CommandEnd, Confinement, Keyboard, OutputSink, SandboxPolicy, SandboxSupport, Shell, ShellCommand,
    ShellError, ShellOutcome, TerminalPrompt, Typed,
};
pub use snapshots::{
    ChangedFile, FileState, Snapshot, SnapshotError, SnapshotFailure, SnapshotReport, SnapshotRequest, Snapshots,
    Unkept,
};
pub use store::{Elsewhere, Lease, ListedSession, SessionMeta, Store, StoreError, StoredPage};
pub use trust::{Capability, Fingerprint, Trust, TrustDecision, TrustError, TrustVerdict, WorkspaceTrust};
pub use version_control::{Committed, VersionControl, VersionControlError};

/// A future that a port hands out, boxed so that ports can be trait objects.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What one daemon has once.
#[derive(Clone)]
pub struct Ports {
    pub files: Arc<dyn Files>,
    pub search: Arc<dyn Search>,
    pub shell: Arc<dyn Shell>,
    pub store: Arc<dyn Store>,
    pub changes: Arc<dyn Changes>,
    pub model: Arc<dyn Model>,
    pub environment: Arc<dyn Environment>,
    pub secrets: Arc<dyn Secrets>,
    pub trust: Arc<dyn Trust>,
    pub grants: Arc<dyn GrantStore>,
    pub http: Arc<dyn Http>,
    pub snapshots: Arc<dyn Snapshots>,
    pub version_control: Arc<dyn VersionControl>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
}

/// What each connection of a client brings.
#[derive(Clone)]
pub struct Connection {
    pub client: Arc<dyn Client>,
    pub editor: Arc<dyn Editor>,
    pub diagnostics: Arc<dyn Diagnostics>,
    pub overlay: Arc<crate::overlay::Overlay>,
}
