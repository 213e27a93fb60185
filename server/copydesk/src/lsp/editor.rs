//! The engine's `Editor` over LSP: versioned workspace edits, saves and reloads by our additions, and messages to the user.

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::event::Severity;
use copydesk_engine::overlay::Overlay;
use copydesk_engine::ports::{
    ApplyRequest, BoxFuture, DocumentEdit, Editor, EditorError, FileChange, FileChangeKind, FreeEdits, ReloadReport,
    Unsaved, WorkspaceTrust,
};
use copydesk_protocol::additions::{
    self, ChangedFile, ChangedFileKind, FilesChangedParams, FilesChangedResult, SaveParams, SaveResult,
};
use copydesk_protocol::methods;
use copydesk_protocol::rpc::{CallError, RpcError};
use copydesk_workspace::uri::uri_from_path;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client_state::{AppliesEdits, ClientState};
use super::wire;
use crate::session_client::{Notices, SessionClient};

/// An editor applies an edit, saves or reloads in milliseconds; one that shows a dialog is not waited for longer than this.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct LspEditor {
    pub(super) state: Arc<ClientState>,
    pub(super) client: Arc<SessionClient>,
    pub(super) overlay: Arc<Overlay>,
}

impl Editor for LspEditor {
    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, Result<(), EditorError>> {
        Box::pin(async move {
            let client = self.state.client().ok_or(EditorError::Unsupported)?;
            let edits = |document: &DocumentEdit| -> Vec<Value> {
                let edits = document.edits.edits().iter();
                edits
                    .map(|edit| {
                        json!({ "range": wire::range(&document.base, &edit.range, client.encoding), "newText": edit.text })
                    })
                    .collect()
            };
            let edit = match client.applies_edits {
                AppliesEdits::No => return Err(EditorError::Unsupported),
                AppliesEdits::Versioned => {
                    let changes = request.documents.iter().map(|document| {
                        let named = json!({ "uri": document.uri, "version": document.version });
                        json!({ "textDocument": named, "edits": edits(document) })
                    });
                    json!({ "documentChanges": changes.collect::<Vec<_>>() })
                }
                AppliesEdits::Unversioned => {
                    // The client cannot refuse what was made for another text: nothing is sent that is known to be.
                    let is_current = |document: &DocumentEdit| {
                        self.overlay.by_uri(&document.uri).is_some_and(|now| now.version == document.version)
                    };
                    if !request.documents.iter().all(is_current) {
                        return Err(EditorError::Refused { reason: Some("the document has changed".to_owned()) });
                    }
                    let changes =
                        request.documents.iter().map(|document| (document.uri.clone(), json!(edits(document))));
                    json!({ "changes": changes.collect::<serde_json::Map<_, _>>() })
                }
            };
            let params = json!({ "label": request.label, "edit": edit });
            match self.call("workspace/applyEdit", params).await? {
                // eglot answers null to what it does not know: that is no success.
                answer if answer.get("applied").and_then(Value::as_bool) == Some(true) => Ok(()),
                answer => {
                    let reason = answer.get("failureReason").and_then(Value::as_str).map(str::to_owned);
                    Err(EditorError::Refused { reason })
                }
            }
        })
    }

    fn workspace_trust(&self) -> WorkspaceTrust {
        match self.state.trust() {
            None => WorkspaceTrust::Unknown,
            Some(additions::WorkspaceTrust::Trusted) => WorkspaceTrust::Trusted,
            Some(additions::WorkspaceTrust::Untrusted) => WorkspaceTrust::Untrusted,
        }
    }

    fn save(&self, uris: Vec<String>) -> BoxFuture<'_, Vec<Unsaved>> {
        Box::pin(async move {
            if uris.is_empty() {
                return Vec::new();
            }
            let all_unsaved =
                |reason: &str| uris.iter().map(|uri| Unsaved { uri: uri.clone(), reason: reason.to_owned() }).collect();
            if !self.state.opt_in().is_some_and(|opt_in| opt_in.save) {
                return all_unsaved("this editor cannot be asked to save");
            }
            match self.ask::<_, SaveResult>(methods::SAVE, SaveParams { uris: uris.clone() }).await {
                Ok(result) => result
                    .unsaved
                    .into_iter()
                    .map(|unsaved| Unsaved { uri: unsaved.uri, reason: unsaved.reason })
                    .collect(),
                Err(error) => all_unsaved(&error.to_string()),
            }
        })
    }

    fn files_changed(&self, changes: Vec<FileChange>) -> BoxFuture<'_, ReloadReport> {
        Box::pin(async move {
            if changes.is_empty() || !self.state.opt_in().is_some_and(|opt_in| opt_in.save) {
                return ReloadReport::default();
            }
            let files = changes
                .iter()
                .map(|change| ChangedFile {
                    uri: uri_from_path(&change.path),
                    kind: match change.kind {
                        FileChangeKind::Created => ChangedFileKind::Created,
                        FileChangeKind::Changed => ChangedFileKind::Changed,
                        FileChangeKind::Deleted => ChangedFileKind::Deleted,
                    },
                })
                .collect();
            match self.ask::<_, FilesChangedResult>(methods::FILES_CHANGED, FilesChangedParams { files }).await {
                Ok(result) => ReloadReport { reloaded: result.reloaded, conflicts: result.conflicts },
                Err(error) => {
                    tracing::warn!(%error, "the editor was not told of changed files");
                    ReloadReport::default()
                }
            }
        })
    }

    fn settings(&self) -> Option<Value> {
        Some(self.state.settings()).filter(Value::is_object)
    }

    /// A client that opted in shows every edit in its buffer and takes it back by one undo; where it has a review, what it has not open too. A plain one has
    /// the chat document with each diff, and undoes and rejects by commands and code actions.
    fn free_edits(&self) -> FreeEdits {
        let Some(client) = self.state.client() else { return FreeEdits::default() };
        match &client.opt_in {
            Some(opt_in) => FreeEdits { shown: opt_in.acp.is_some(), undoable: self.state.hears_of_changes() },
            None => FreeEdits { shown: false, undoable: client.offers_actions || client.runs_commands },
        }
    }
}

impl LspEditor {
    async fn ask<P: Serialize, R: DeserializeOwned>(&self, method: &str, params: P) -> Result<R, EditorError> {
        let params =
            serde_json::to_value(params).map_err(|error| EditorError::Refused { reason: Some(error.to_string()) })?;
        let answer = self.call(method, params).await?;
        serde_json::from_value(answer).map_err(|error| EditorError::Refused { reason: Some(error.to_string()) })
    }

    /// What the user was told of the call so far comes first: an edit must not show before its tool call.
    async fn call(&self, method: &str, params: Value) -> Result<Value, EditorError> {
        self.client.flush().await;
        match tokio::time::timeout(PATIENCE, self.state.peer().request(method, params)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(CallError::Remote(RpcError { message, .. }))) => Err(EditorError::Refused { reason: Some(message) }),
            Ok(Err(CallError::Closed)) | Err(_) => Err(EditorError::Gone),
        }
    }
}

/// Notices as `window/showMessage`.
pub(super) struct Messages(pub(super) Arc<ClientState>);

impl Notices for Messages {
    fn show(&self, severity: Severity, text: &str) -> BoxFuture<'static, ()> {
        let kind = match severity {
            Severity::Error => MessageType::Error,
            Severity::Warning => MessageType::Warning,
            Severity::Info => MessageType::Info,
        };
        let (state, text) = (self.0.clone(), text.to_owned());
        Box::pin(async move { show_message(&state, kind, &text).await })
    }
}

/// LSP's numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum MessageType {
    Error = 1,
    Warning = 2,
    Info = 3,
}

pub(super) async fn show_message(state: &ClientState, kind: MessageType, text: &str) {
    let params = json!({ "type": kind as u8, "message": text });
    // Closed: nobody is there to read it.
    let _ = state.peer().notify("window/showMessage", params).await;
}
