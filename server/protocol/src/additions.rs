//! The types of our additions to LSP and ACP (`_copydesk/…`), and of the opt-in in `initialize`. All are camelCase on the wire; unknown fields are ignored.

mod changes;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use changes::{
    ChangeHunk, ChangeKind, ChangedParams, ChangesParams, ChangesResult, ChangesScope, DiffOf, DiffParams, DiffResult,
    DiffedFile, FileChanges, HunkChoice, HunkState, TextPosition, TextRange, UndecidedHunk, UndoOutcome, UndoParams,
    UndoResult, UndoWhat, UndoneFile, WhyUndecided,
};

/// Version of the additions that this daemon speaks.
pub const PROTOCOL: u32 = 1;

/// `capabilities.experimental.copydesk` in a client's `initialize`: without it nothing but standard LSP is ever sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientOptIn {
    /// The highest version of the additions that the client knows; absent means 1.
    pub protocol: Option<u32>,
    /// ACP's `ClientCapabilities`. Present: the session methods are spoken on this connection.
    pub acp: Option<serde_json::Value>,
    /// The client answers `_copydesk/diagnostics`.
    pub diagnostics: bool,
    /// The client answers `_copydesk/save` and `_copydesk/files_changed`.
    pub save: bool,
    /// The client answers `_copydesk/language`.
    pub language: bool,
    /// It answers `_copydesk/language` with `workspace/executeCommand` too, and makes none of the edits that the server asks for meanwhile: they are the result.
    pub language_commands: bool,
    /// The client is told by `_copydesk/changed` that there is another list of changes, and lets its user decide on them: what undo reaches is edited
    /// without an ask.
    pub changes: bool,
    /// Whether the user trusts the workspace, where the client has a notion of it; a change is told by `_copydesk/trust_changed`.
    pub trust: Option<WorkspaceTrust>,
}

/// The editor's own word on the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceTrust {
    /// The user's word for what its configuration wants now; what is changed later is asked.
    Trusted,
    /// Nothing of a project's configuration is taken that needs trust, and nothing is asked.
    Untrusted,
}

/// Client to daemon: the user has changed his mind about the workspace. In force from the next turn of each session on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustChangedParams {
    pub trust: WorkspaceTrust,
}

/// `capabilities.experimental.copydesk` in the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerOptIn {
    /// The version used from now on.
    pub protocol: u32,
    /// ACP's `Implementation`.
    pub agent_info: serde_json::Value,
    /// ACP's `AgentCapabilities`.
    pub agent_capabilities: serde_json::Value,
    /// The additions that this daemon answers or sends.
    pub methods: Vec<String>,
}

/// A document, with the version that is meant where it is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentVersion {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
}

/// Daemon to client: the problems of these documents at or after these versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticsParams {
    pub documents: Vec<DocumentVersion>,
    /// How long the client may wait for them, in milliseconds; 0: only what it has.
    pub wait_ms: u64,
}

/// The problems, a document each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticsResult {
    /// In the order of the request.
    pub documents: Vec<DocumentDiagnostics>,
}

/// The problems of one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentDiagnostics {
    /// As the request names it.
    pub uri: String,
    /// The version that the problems are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    pub state: DiagnosticsState,
    /// The servers that did not say of which version they speak: it is the one that they were sent before, once nothing followed for a while.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub presumed: Vec<String>,
    /// LSP's `Diagnostic`, columns in the negotiated encoding; empty unless ready.
    #[serde(default)]
    pub diagnostics: Vec<serde_json::Value>,
}

/// Whether the problems of a document are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticsState {
    /// They are those of this version or a later one.
    Ready,
    /// Nothing for this version came in time.
    NotReady,
    /// No language server of the editor looks at this document.
    Unavailable,
}

/// Daemon to client: send this request to a language server of the editor's that looks at the document and knows the method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LanguageParams {
    /// An open document, with the version that the request is about.
    pub document: DocumentVersion,
    /// LSP's, such as `textDocument/definition` or `callHierarchy/incomingCalls`. `workspace/executeCommand` is sent to a client that said
    /// `languageCommands`, for a few commands that do nothing but ask for edits. The client answers each `workspace/applyEdit` that belongs to it as if it were
    /// made, and makes none; one that comes after the wait is refused. Where it cannot tell whose an edit is, it makes none and answers `not_ready`.
    pub method: String,
    /// As the method has them. `position` and `range` are in the negotiated encoding: the client converts them to the server's.
    pub params: serde_json::Value,
    /// The server that gave what `params` hold of an earlier answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How long the client may wait for the server, in milliseconds.
    pub wait_ms: u64,
}

/// What the server answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LanguageResult {
    pub state: LanguageState,
    /// The server's name, for the model and for `server` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Of the positions in `result`: `utf-8`, `utf-16` or `utf-32`; absent means `utf-16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_encoding: Option<String>,
    /// The server's result as it came; of one that failed its message; of a command the list of each `WorkspaceEdit` that the server asked for.
    #[serde(default)]
    pub result: serde_json::Value,
    /// Of the open documents that a `WorkspaceEdit` in `result` names.
    #[serde(default)]
    pub versions: Vec<DocumentVersion>,
}

/// How the request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LanguageState {
    Ready,
    /// The document has another version by now, or the server did not answer in time.
    NotReady,
    /// The server refused.
    Failed,
    /// No server of the editor looks at this document and knows the method.
    Unavailable,
}

/// Daemon to client: save these documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SaveParams {
    /// As the client spelled them in `textDocument/didOpen`.
    pub uris: Vec<String>,
}

/// All others have been saved when this is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SaveResult {
    /// What could not be saved, and why.
    #[serde(default)]
    pub unsaved: Vec<UnsavedDocument>,
}

/// A document that could not be saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnsavedDocument {
    pub uri: String,
    /// For the model and the user, in a sentence.
    pub reason: String,
}

/// Daemon to client: these files changed on the disk. Clean buffers are read again before the answer; buffers with unsaved text are left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FilesChangedParams {
    pub files: Vec<ChangedFile>,
}

/// One file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    pub uri: String,
    pub kind: ChangedFileKind,
}

/// What happened to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangedFileKind {
    Created,
    Changed,
    Deleted,
}

/// What became of the open ones among the files; URIs as the client spells them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FilesChangedResult {
    /// Clean buffers that were read again.
    #[serde(default)]
    pub reloaded: Vec<String>,
    /// Buffers with unsaved text, left alone.
    #[serde(default)]
    pub conflicts: Vec<String>,
}

/// Client to daemon: what the user has allowed for longer than once, as it holds in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantsParams {
    pub session_id: String,
    /// Ids of grants to take back first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revoke: Vec<String>,
}

/// All that hold in the session now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantsResult {
    /// The session's own first, then those that are kept, in the order in which they were given.
    pub grants: Vec<GrantView>,
    /// How many of the named ones were taken back; the others were not there.
    pub revoked: usize,
    /// For the user: why nothing that was kept holds, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    /// Opaque.
    pub id: String,
    pub scope: GrantScopeView,
    /// The real path of the project's root, of a grant of a project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The agent for which it holds; absent: every agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// As rules name it, e.g. `bash` or `edit`.
    pub permission: String,
    /// All that it covers, in words for the user.
    pub text: String,
    /// When it was given, in milliseconds since 1970 (UTC); absent of a grant of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<i64>,
}

/// Where a grant holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantScopeView {
    /// In this session, until it ends.
    Session,
    /// In every session of this project.
    Project,
    /// In every session of the user.
    User,
}

/// `outcome._meta.copydesk` of a rejecting answer to `session/request_permission`: what the user wants instead.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OutcomeMeta {
    pub message: Option<String>,
}

/// `_meta.copydesk` of the params of `session/load` and `session/resume`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LoadMeta {
    /// Take the session from the daemon that has it open, which can no longer write to it.
    pub take_over: bool,
}

/// `_meta.copydesk` of the results of `session/load` and `session/resume`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LoadedMeta {
    /// Another daemon has the session open: prompts are refused here until it is taken over or free, and loaded again.
    pub read_only: bool,
}
