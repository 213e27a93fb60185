//! The table of our methods: one row is the whole truth about one. The schema, the TypeScript types and the tables of `docs/protocol.md` are written from it.
//! LSP's own methods are not in it, and ACP's only by reference: their shapes are ACP's.

use agent_client_protocol_schema::v1 as acp;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::additions::{
    ChangedParams, ChangesParams, ChangesResult, DiagnosticsParams, DiagnosticsResult, DiffParams, DiffResult,
    FilesChangedParams, FilesChangedResult, GrantsParams, GrantsResult, LanguageParams, LanguageResult, SaveParams,
    SaveResult, TrustChangedParams, UndoParams, UndoResult,
};

pub const DIAGNOSTICS: &str = "_copydesk/diagnostics";
pub const LANGUAGE: &str = "_copydesk/language";
pub const SAVE: &str = "_copydesk/save";
pub const FILES_CHANGED: &str = "_copydesk/files_changed";
pub const TRUST_CHANGED: &str = "_copydesk/trust_changed";
pub const GRANTS: &str = "_copydesk/grants";
pub const UNDO: &str = "_copydesk/undo";
pub const CHANGES: &str = "_copydesk/changes";
pub const CHANGED: &str = "_copydesk/changed";
pub const DIFF: &str = "_copydesk/diff";

pub const METHODS: &[Method] = &[
    Method {
        name: DIAGNOSTICS,
        from: Side::Daemon,
        kind: Kind::Request { params: ours::<DiagnosticsParams>(), result: ours::<DiagnosticsResult>() },
        gate: Gate::Diagnostics,
        stability: Stability::Stable,
        doc: "The problems of these documents at or after these versions, from the editor's own language servers.",
    },
    Method {
        name: LANGUAGE,
        from: Side::Daemon,
        kind: Kind::Request { params: ours::<LanguageParams>(), result: ours::<LanguageResult>() },
        gate: Gate::Language,
        stability: Stability::Stable,
        doc: "A request to one of the editor's own language servers: definitions, references, hover, symbols, call hierarchy, rename, code actions.",
    },
    Method {
        name: SAVE,
        from: Side::Daemon,
        kind: Kind::Request { params: ours::<SaveParams>(), result: ours::<SaveResult>() },
        gate: Gate::Save,
        stability: Stability::Stable,
        doc: "Save these open documents, before a command that reads them from the disk.",
    },
    Method {
        name: FILES_CHANGED,
        from: Side::Daemon,
        kind: Kind::Request { params: ours::<FilesChangedParams>(), result: ours::<FilesChangedResult>() },
        gate: Gate::Save,
        stability: Stability::Stable,
        doc: "These files changed on the disk: read clean buffers again, leave unsaved text alone.",
    },
    Method {
        name: TRUST_CHANGED,
        from: Side::Client,
        kind: Kind::Notification { params: ours::<TrustChangedParams>() },
        gate: Gate::Trust,
        stability: Stability::Stable,
        doc: "The user trusts the workspace now, or does not any more; in force from the next turn on.",
    },
    Method {
        name: GRANTS,
        from: Side::Client,
        kind: Kind::Request { params: ours::<GrantsParams>(), result: ours::<GrantsResult>() },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "What the user has allowed for longer than once, as it holds in a session; takes back what is named.",
    },
    Method {
        name: UNDO,
        from: Side::Client,
        kind: Kind::Request { params: ours::<UndoParams>(), result: ours::<UndoResult>() },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Takes back what a turn or a tool call did to files, or puts it back; what the user typed stays.",
    },
    Method {
        name: CHANGES,
        from: Side::Client,
        kind: Kind::Request { params: ours::<ChangesParams>(), result: ours::<ChangesResult>() },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "What the agent changed, hunk by hunk; accepts and rejects what is named first.",
    },
    Method {
        name: CHANGED,
        from: Side::Daemon,
        kind: Kind::Notification { params: ours::<ChangedParams>() },
        gate: Gate::Changes,
        stability: Stability::Stable,
        doc: "The list of a session's changes is another one; ask for it with `_copydesk/changes`.",
    },
    Method {
        name: DIFF,
        from: Side::Client,
        kind: Kind::Request { params: ours::<DiffParams>(), result: ours::<DiffResult>() },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "A turn or the whole session as one patch, or the files that it touched against Git's HEAD.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_new,
        from: Side::Client,
        kind: Kind::Request {
            params: acp_type::<acp::NewSessionRequest>(),
            result: acp_type::<acp::NewSessionResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Opens a session in a folder.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_load,
        from: Side::Client,
        kind: Kind::Request {
            params: acp_type::<acp::LoadSessionRequest>(),
            result: acp_type::<acp::LoadSessionResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Opens a stored session; answered when its whole conversation was sent as updates. `_meta`: `LoadMeta`, `LoadedMeta`.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_resume,
        from: Side::Client,
        kind: Kind::Request {
            params: acp_type::<acp::ResumeSessionRequest>(),
            result: acp_type::<acp::ResumeSessionResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "The same without the conversation.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_list,
        from: Side::Client,
        kind: Kind::Request {
            params: acp_type::<acp::ListSessionsRequest>(),
            result: acp_type::<acp::ListSessionsResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Stored sessions, the one used last first, in pages.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_close,
        from: Side::Client,
        kind: Kind::Request {
            params: acp_type::<acp::CloseSessionRequest>(),
            result: acp_type::<acp::CloseSessionResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Ends the session as if cancelled, and frees it.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_delete,
        from: Side::Client,
        kind: Kind::Request {
            params: acp_type::<acp::DeleteSessionRequest>(),
            result: acp_type::<acp::DeleteSessionResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Removes a stored session for good.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_prompt,
        from: Side::Client,
        kind: Kind::Request { params: acp_type::<acp::PromptRequest>(), result: acp_type::<acp::PromptResponse>() },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Starts a turn, or steers the one that runs; answered when the turn ends.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_cancel,
        from: Side::Client,
        kind: Kind::Notification { params: acp_type::<acp::CancelNotification>() },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Ends the turn; its prompt is answered `cancelled`.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_set_mode,
        from: Side::Client,
        kind: Kind::Request {
            params: acp_type::<acp::SetSessionModeRequest>(),
            result: acp_type::<acp::SetSessionModeResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Chooses the agent of the session.",
    },
    Method {
        name: acp::AGENT_METHOD_NAMES.session_set_config_option,
        from: Side::Client,
        kind: Kind::Request {
            params: acp_type::<acp::SetSessionConfigOptionRequest>(),
            result: acp_type::<acp::SetSessionConfigOptionResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Sets one option of the session, such as its agent; answered with all of them.",
    },
    Method {
        name: acp::CLIENT_METHOD_NAMES.session_update,
        from: Side::Daemon,
        kind: Kind::Notification { params: acp_type::<acp::SessionNotification>() },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Text, thoughts, tool calls with their diffs, the plan and usage, as they come.",
    },
    Method {
        name: acp::CLIENT_METHOD_NAMES.session_request_permission,
        from: Side::Daemon,
        kind: Kind::Request {
            params: acp_type::<acp::RequestPermissionRequest>(),
            result: acp_type::<acp::RequestPermissionResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Asks the user. A rejection may say what is wanted instead (`OutcomeMeta`).",
    },
    Method {
        name: acp::CLIENT_METHOD_NAMES.elicitation_create,
        from: Side::Daemon,
        kind: Kind::Request {
            params: acp_type::<acp::CreateElicitationRequest>(),
            result: acp_type::<acp::CreateElicitationResponse>(),
        },
        gate: Gate::Acp,
        stability: Stability::Stable,
        doc: "Puts the model's questions to the user as one form, and what a command waits for at its terminal, where `acp.elicitation.form` says that the client takes forms.",
    },
];

/// The names of the methods that are additions of ours, as the answer of `initialize` lists them.
pub fn additions() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name).filter(|name| name.starts_with("_copydesk/"))
}

#[derive(Clone, Copy)]
pub struct Method {
    pub name: &'static str,
    /// Who sends it.
    pub from: Side,
    pub kind: Kind,
    /// What the client must have said in `capabilities.experimental.copydesk` for it to be spoken.
    pub gate: Gate,
    pub stability: Stability,
    /// One line of Markdown.
    pub doc: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Client,
    Daemon,
}

#[derive(Clone, Copy)]
pub enum Kind {
    Request { params: Type, result: Type },
    Notification { params: Type },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Acp,
    Diagnostics,
    Language,
    Save,
    Trust,
    Changes,
}

impl Gate {
    /// The key in `capabilities.experimental.copydesk`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Acp => "acp",
            Self::Diagnostics => "diagnostics",
            Self::Language => "language",
            Self::Save => "save",
            Self::Trust => "trust",
            Self::Changes => "changes",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// Changes only together with the protocol version.
    Stable,
}

impl Stability {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
        }
    }
}

/// The type of params or of a result.
#[derive(Clone, Copy)]
pub enum Type {
    /// Its schema is ours: written into the definitions of the generator, and referred to.
    Ours { name: fn() -> String, schema: fn(&mut SchemaGenerator) -> Schema },
    /// Described by ACP.
    Acp { name: fn() -> String },
}

impl Type {
    pub fn name(self) -> String {
        match self {
            Self::Ours { name, .. } | Self::Acp { name } => name(),
        }
    }
}

const fn ours<T: JsonSchema>() -> Type {
    Type::Ours { name: type_name::<T>, schema: |generator| generator.subschema_for::<T>() }
}

const fn acp_type<T: JsonSchema>() -> Type {
    Type::Acp { name: type_name::<T> }
}

fn type_name<T: JsonSchema>() -> String {
    T::schema_name().into_owned()
}
