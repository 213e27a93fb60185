//! What the client said of itself in `initialize`, resolved once, and its peer. No documents.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::acp_questions::Forms;
use copydesk_engine::session::SessionHandle;
use copydesk_protocol::additions::{ClientOptIn, PROTOCOL, TrustChangedParams, WorkspaceTrust};
use copydesk_protocol::rpc::Peer;
use copydesk_workspace::position::PositionEncoding;
use serde_json::Value;
use tokio::sync::watch;
use tower_lsp_server::ls_types::{ClientCapabilities, InitializeParams, PositionEncodingKind, WorkspaceFolder};

/// Editors answer for their settings in milliseconds.
const SETTINGS_PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct ClientState {
    peer: Peer,
    client: OnceLock<Client>,
    /// URIs of the workspace's folders, in the client's order.
    folders: Mutex<Vec<String>>,
    /// The section `copydesk` of the client's settings; null where there is none.
    settings: Mutex<Value>,
    /// What the client has said of the workspace since `initialize`.
    trust: Mutex<Option<WorkspaceTrust>>,
    /// Questions for settings that wait for their answer.
    asked_settings: watch::Sender<usize>,
    shut_down: AtomicBool,
    next_progress: AtomicU64,
    /// Sessions by the token of their progress.
    progress: Mutex<HashMap<String, SessionHandle>>,
}

/// A question for settings, until it is answered.
pub(super) struct AskedSettings(Arc<ClientState>);

impl Drop for AskedSettings {
    fn drop(&mut self) {
        self.0.asked_settings.send_modify(|asked| *asked -= 1);
    }
}

/// Of one client, for good.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) encoding: PositionEncoding,
    pub(super) opt_in: Option<ClientOptIn>,
    pub(super) applies_edits: AppliesEdits,
    /// `window/showMessageRequest`.
    pub(super) asks_by_message: bool,
    /// `window/showDocument`.
    pub(super) shows_documents: bool,
    pub(super) offers_actions: bool,
    /// Code actions, not only commands.
    pub(super) takes_action_literals: bool,
    pub(super) runs_commands: bool,
    pub(super) shows_progress: bool,
    pub(super) answers_configuration: bool,
    pub(super) process: Option<u32>,
}

/// How `workspace/applyEdit` may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppliesEdits {
    No,
    /// Without the version of the text that an edit was made for.
    Unversioned,
    Versioned,
}

impl ClientState {
    pub(super) fn new(peer: Peer) -> Self {
        Self {
            peer,
            client: OnceLock::new(),
            folders: Mutex::default(),
            settings: Mutex::default(),
            trust: Mutex::default(),
            asked_settings: watch::Sender::new(0),
            shut_down: AtomicBool::new(false),
            next_progress: AtomicU64::new(1),
            progress: Mutex::default(),
        }
    }

    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Of the first `initialize`; the router refuses a second one.
    pub(super) fn initialize(&self, params: &InitializeParams) -> &Client {
        self.client.get_or_init(|| Client::of(params))
    }

    /// `None` before `initialize`.
    pub(super) fn client(&self) -> Option<&Client> {
        self.client.get()
    }

    pub(super) fn encoding(&self) -> PositionEncoding {
        self.client().map_or(PositionEncoding::Utf16, |client| client.encoding)
    }

    pub(super) fn opt_in(&self) -> Option<&ClientOptIn> {
        self.client()?.opt_in.as_ref()
    }

    pub(super) fn speaks_acp(&self) -> bool {
        !self.was_shut_down() && self.opt_in().is_some_and(|opt_in| opt_in.acp.is_some())
    }

    /// ACP's forms, for questions to the user.
    pub(super) fn forms(&self) -> Forms {
        self.opt_in().and_then(|opt_in| opt_in.acp.as_ref()).map(Forms::of).unwrap_or_default()
    }

    /// Whether it has a review, which is told of changes.
    pub(super) fn hears_of_changes(&self) -> bool {
        self.opt_in().is_some_and(|opt_in| opt_in.acp.is_some() && opt_in.changes)
    }

    pub(super) fn shut_down(&self) {
        self.shut_down.store(true, Ordering::Relaxed);
    }

    pub(super) fn was_shut_down(&self) -> bool {
        self.shut_down.load(Ordering::Relaxed)
    }

    pub(super) fn folders(&self) -> Vec<String> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn change_folders(&self, added: &[WorkspaceFolder], removed: &[WorkspaceFolder]) {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.retain(|uri| !removed.iter().any(|removed| removed.uri.as_str() == uri));
        folders.extend(added.iter().map(|added| added.uri.to_string()));
    }

    pub(super) fn settings(&self) -> Value {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps the section `copydesk` of `settings`, or all of it where the client has sent the section alone.
    pub(super) fn keep_settings(&self, mut settings: Value) {
        if let Some(section) = settings.get_mut("copydesk") {
            settings = section.take();
        }
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// The editor's word on the workspace; `None` where it has none.
    pub(super) fn trust(&self) -> Option<WorkspaceTrust> {
        let said = self.opt_in()?.trust?;
        Some(self.trust.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(said))
    }

    pub(super) fn change_trust(&self, params: Value) {
        match serde_json::from_value::<TrustChangedParams>(params) {
            Ok(TrustChangedParams { trust }) => {
                *self.trust.lock().unwrap_or_else(PoisonError::into_inner) = Some(trust);
            }
            Err(error) => tracing::warn!(%error, "_copydesk/trust_changed was not understood"),
        }
    }

    /// Until the value is dropped, sessions that open wait for settings that were asked for: they may hold rules that forbid.
    pub(super) fn ask_for_settings(self: &Arc<Self>) -> AskedSettings {
        self.asked_settings.send_modify(|asked| *asked += 1);
        AskedSettings(Arc::clone(self))
    }

    /// Resolves when nothing is asked for, or when the client has let us wait for too long.
    pub(super) async fn settings_known(&self) {
        let mut asked = self.asked_settings.subscribe();
        if tokio::time::timeout(SETTINGS_PATIENCE, asked.wait_for(|asked| *asked == 0)).await.is_err() {
            tracing::warn!("the client does not answer for its settings; a session opens without them");
        }
    }

    /// A token for progress that cancels `session` when the user says so.
    pub(super) fn begin_progress(&self, session: SessionHandle) -> String {
        let token = format!("copydesk/{}", self.next_progress.fetch_add(1, Ordering::Relaxed));
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), session);
        token
    }

    pub(super) fn end_progress(&self, token: &str) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    pub(super) fn cancel_progress(&self, params: &Value) {
        let session = params
            .get("token")
            .and_then(Value::as_str)
            .and_then(|token| self.progress.lock().unwrap_or_else(PoisonError::into_inner).get(token).cloned());
        if let Some(session) = session {
            session.cancel();
        }
    }
}

impl Client {
    /// Whether there is any road on which the user of a plain client can answer.
    pub(super) fn can_answer(&self) -> bool {
        self.asks_by_message || self.offers_actions || self.runs_commands
    }

    fn of(params: &InitializeParams) -> Self {
        let capabilities = &params.capabilities;
        let workspace = capabilities.workspace.as_ref();
        let window = capabilities.window.as_ref();
        let versioned = workspace
            .and_then(|workspace| workspace.workspace_edit.as_ref())
            .and_then(|edit| edit.document_changes)
            .unwrap_or(false);
        let actions = capabilities.text_document.as_ref().and_then(|documents| documents.code_action.as_ref());
        Self {
            encoding: negotiate(capabilities),
            opt_in: opt_in(capabilities),
            applies_edits: match workspace.and_then(|workspace| workspace.apply_edit).unwrap_or(false) {
                false => AppliesEdits::No,
                true if versioned => AppliesEdits::Versioned,
                true => AppliesEdits::Unversioned,
            },
            asks_by_message: window.is_some_and(|window| window.show_message.is_some()),
            shows_documents: window.and_then(|window| window.show_document.as_ref()).is_some_and(|show| show.support),
            offers_actions: actions.is_some(),
            takes_action_literals: actions.is_some_and(|actions| actions.code_action_literal_support.is_some()),
            runs_commands: workspace.is_some_and(|workspace| workspace.execute_command.is_some()),
            shows_progress: window.and_then(|window| window.work_done_progress).unwrap_or(false),
            answers_configuration: workspace.and_then(|workspace| workspace.configuration).unwrap_or(false),
            process: params.process_id,
        }
    }
}

/// The first of the client's encodings that is known here; UTF-16 where it names none, as LSP says.
fn negotiate(capabilities: &ClientCapabilities) -> PositionEncoding {
    let offered = capabilities.general.as_ref().and_then(|general| general.position_encodings.as_deref());
    offered
        .unwrap_or_default()
        .iter()
        .find_map(|kind| match kind {
            kind if *kind == PositionEncodingKind::UTF8 => Some(PositionEncoding::Utf8),
            kind if *kind == PositionEncodingKind::UTF16 => Some(PositionEncoding::Utf16),
            kind if *kind == PositionEncodingKind::UTF32 => Some(PositionEncoding::Utf32),
            _ => None,
        })
        .unwrap_or(PositionEncoding::Utf16)
}

/// A client that knows no version that is spoken here is a plain LSP client.
fn opt_in(capabilities: &ClientCapabilities) -> Option<ClientOptIn> {
    let value = capabilities.experimental.as_ref()?.get("copydesk")?.clone();
    match serde_json::from_value::<ClientOptIn>(value) {
        Ok(opt_in) => (opt_in.protocol.unwrap_or(1) >= PROTOCOL).then_some(opt_in),
        Err(error) => {
            tracing::warn!(%error, "capabilities.experimental.copydesk was not understood");
            None
        }
    }
}
