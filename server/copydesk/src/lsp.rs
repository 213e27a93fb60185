//! The LSP face: what arrives on an editor's connection goes to the router of LSP methods or to ACP's session methods. The wire itself is the peer's.

mod client_state;
mod diagnostics;
mod documents;
mod editor;
mod host;
mod plain;
mod wire;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_adapters::langservers::LanguageServerPool;
use copydesk_adapters::os::shell::OsShell;
use copydesk_engine::engine::Engine;
use copydesk_engine::overlay::Overlay;
use copydesk_engine::ports::{Connection, Diagnostics, Editor, Files};
use copydesk_protocol::methods;
use copydesk_protocol::rpc::{Handler, Notification, Peer, Reply, Request, RpcError};
use copydesk_workspace::disk::Disk;
use copydesk_workspace::path::AbsPath;
use futures::FutureExt;
use serde_json::Value;
use tower_lsp_server::jsonrpc;
use tower_lsp_server::{ClientSocket, LspService};
use tower_service::Service;

use crate::session_client::{NoticeStyle, SessionClient, Takes};
use crate::session_methods::SessionMethods;

use self::client_state::ClientState;
use self::documents::DocumentServer;
use self::plain::PlainUser;

/// What the face is given once a process.
pub struct Services {
    pub engine: Arc<Engine>,
    /// Problems of documents for which the editor has none.
    pub checks: Arc<dyn Diagnostics>,
    /// Their servers run until the end.
    pub language_servers: Arc<LanguageServerPool>,
    pub files: Arc<dyn Files>,
    /// What is ours to keep: chat documents.
    pub data: AbsPath,
    /// Resolves the links in the names of opened documents.
    pub disk: Arc<dyn Disk>,
    /// Holds the processes that commands have left running, until the end.
    pub shell: Arc<OsShell>,
}

/// Additions of ours that speak of a session.
const OF_SESSIONS: [&str; 4] = [methods::GRANTS, methods::UNDO, methods::CHANGES, methods::DIFF];

/// One editor.
pub struct Face {
    state: Arc<ClientState>,
    /// Routes LSP's own methods and keeps its life cycle. Its transport is not used: see `docs/architecture.md`.
    router: Mutex<LspService<DocumentServer>>,
    /// Kept open: the router believes its client gone without it.
    _socket: ClientSocket,
    router_ids: AtomicI64,
    sessions: SessionMethods,
}

impl Face {
    pub fn new(peer: Peer, services: &Services) -> Arc<Self> {
        let state = Arc::new(ClientState::new(peer.clone()));
        let overlay = Arc::new(Overlay::new());
        let takes = {
            let (forms, changed) = (state.clone(), state.clone());
            Takes { forms: Box::new(move || forms.forms()), changed: Box::new(move || changed.hears_of_changes()) }
        };
        let client = SessionClient::start(peer, NoticeStyle::Own(Arc::new(editor::Messages(state.clone()))), takes);
        let editor: Arc<dyn Editor> =
            Arc::new(editor::LspEditor { state: state.clone(), client: client.clone(), overlay: overlay.clone() });
        let diagnostics: Arc<dyn Diagnostics> =
            Arc::new(diagnostics::EditorFirst { state: state.clone(), checks: services.checks.clone() });
        let plain = Arc::new(PlainUser::new(plain::Setup {
            state: state.clone(),
            engine: services.engine.clone(),
            editor: editor.clone(),
            diagnostics: diagnostics.clone(),
            overlay: overlay.clone(),
            files: services.files.clone(),
            data: services.data.clone(),
        }));
        let documents = |_| DocumentServer::new(state.clone(), overlay.clone(), services.disk.clone(), plain);
        let (router, socket) = LspService::new(documents);
        let connection = Connection { client: client.clone(), editor, diagnostics, overlay: overlay.clone() };
        let sessions = SessionMethods {
            engine: services.engine.clone(),
            connection,
            client,
            host: Arc::new(host::LspHost(state.clone())),
        };
        Arc::new(Self { state, router: Mutex::new(router), _socket: socket, router_ids: AtomicI64::new(1), sessions })
    }

    /// Whether the client asked for `shutdown` before its connection ended: LSP's exit code 0, else 1.
    pub fn was_shut_down(&self) -> bool {
        self.state.was_shut_down()
    }

    fn route(
        &self,
        method: String,
        id: Option<i64>,
        params: Value,
    ) -> <LspService<DocumentServer> as Service<jsonrpc::Request>>::Future {
        let mut request = jsonrpc::Request::build(method);
        if let Some(id) = id {
            request = request.id(id);
        }
        if !params.is_null() {
            request = request.params(params);
        }
        self.router.lock().unwrap_or_else(PoisonError::into_inner).call(request.finish())
    }
}

impl Handler for Face {
    fn request(&self, request: Request) -> Reply {
        if self.state.was_shut_down() {
            return Reply::Now(Err(RpcError::invalid_request("only `exit` may follow `shutdown`")));
        }
        let is_of_sessions = request.method.starts_with("session/") || OF_SESSIONS.contains(&request.method.as_str());
        if is_of_sessions && self.state.speaks_acp() {
            return self.sessions.request(request);
        }
        let method = request.method.clone();
        let id = self.router_ids.fetch_add(1, Ordering::Relaxed);
        let answer = self.route(request.method, Some(id), request.params);
        Reply::Abortable(Box::pin(async move {
            match answer.await {
                Ok(Some(response)) => response.into_parts().1.map_err(wire::rpc_error),
                // The router keeps silent about unknown methods that begin with `$/`; a request has its answer all the same.
                Ok(None) => Err(RpcError::method_not_found(&method)),
                Err(exited) => Err(RpcError::invalid_request(exited.to_string())),
            }
        }))
    }

    fn notification(&self, notification: Notification) {
        if notification.method.starts_with("session/") && self.state.speaks_acp() {
            return self.sessions.notification(notification);
        }
        if notification.method == "exit" {
            self.state.peer().end();
        }
        if notification.method == methods::TRUST_CHANGED {
            return self.state.change_trust(notification.params);
        }
        if notification.method == "window/workDoneProgress/cancel" {
            return self.state.cancel_progress(&notification.params);
        }
        // Handlers of notifications do all of their work at the first poll, so that what comes after sees it.
        if self.route(notification.method.clone(), None, notification.params).now_or_never().is_none() {
            tracing::error!(method = notification.method, "the handler of a notification had to wait and was dropped");
        }
    }
}
