//! The ACP face: a plain agent of the Agent Client Protocol, one message a line. Its life cycle is here; sessions are `SessionMethods`', the wire the peer's.

mod client;
mod editor;

use std::sync::{Arc, OnceLock};

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as acp;
use copydesk_engine::engine::Engine;
use copydesk_engine::overlay::Overlay;
use copydesk_engine::ports::{Connection, Diagnostics};
use copydesk_protocol::rpc::{Handler, Notification, Peer, Reply, Request, RpcError};
use serde_json::{Value, json};

use crate::agent_description;
use crate::lsp::Services;
use crate::session_client::{NoticeStyle, SessionClient, Takes};
use crate::session_methods::SessionMethods;

use self::client::AcpClient;

/// One client.
pub struct Face {
    peer: Peer,
    engine: Arc<Engine>,
    /// An ACP client has no problems of files to tell of.
    checks: Arc<dyn Diagnostics>,
    /// Made by `initialize`, from what the client said of itself there.
    sessions: OnceLock<SessionMethods>,
}

impl Face {
    pub fn new(peer: Peer, services: &Services) -> Arc<Self> {
        let (engine, checks) = (services.engine.clone(), services.checks.clone());
        Arc::new(Self { peer, engine, checks, sessions: OnceLock::new() })
    }

    fn initialize(&self, params: Value) -> Result<Value, RpcError> {
        if !params.get("protocolVersion").is_some_and(Value::is_number) {
            return Err(RpcError::invalid_params("`protocolVersion` must be a number"));
        }
        let client = AcpClient::of(params.get("clientCapabilities"));
        if self.sessions.set(self.sessions_of(client)).is_err() {
            return Err(RpcError::invalid_request("`initialize` was sent already"));
        }
        let agent = agent_description::describe();
        // There is one version of ACP: it is answered to whoever asks for it, and offered to all others.
        Ok(json!({
            "protocolVersion": ProtocolVersion::V1,
            "agentCapabilities": agent.capabilities,
            "authMethods": [],
            "agentInfo": agent.info,
        }))
    }

    fn sessions_of(&self, client: AcpClient) -> SessionMethods {
        let notices = if client.shows_notices { NoticeStyle::Update } else { NoticeStyle::Text };
        let session_client = SessionClient::start(
            self.peer.clone(),
            notices,
            Takes { forms: Box::new(move || client.forms), changed: Box::new(|| false) },
        );
        let connection = Connection {
            client: session_client.clone(),
            editor: Arc::new(editor::AcpEditor::new(self.peer.clone(), &client)),
            diagnostics: self.checks.clone(),
            overlay: Arc::new(Overlay::new()),
        };
        SessionMethods { engine: self.engine.clone(), connection, client: session_client, host: Arc::new(client) }
    }
}

impl Handler for Face {
    fn request(&self, request: Request) -> Reply {
        match (request.method.as_str(), self.sessions.get()) {
            ("initialize", _) => Reply::Now(self.initialize(request.params)),
            (_, None) => Reply::Now(Err(RpcError::server_not_initialized())),
            ("authenticate", Some(_)) => Reply::Now(authenticate(request.params)),
            (_, Some(sessions)) => sessions.request(request),
        }
    }

    fn notification(&self, notification: Notification) {
        if let Some(sessions) = self.sessions.get() {
            sessions.notification(notification);
        }
    }
}

fn authenticate(params: Value) -> Result<Value, RpcError> {
    let request: acp::AuthenticateRequest =
        serde_json::from_value(params).map_err(|error| RpcError::invalid_params(error.to_string()))?;
    let text = "there are no authentication methods: keys of models come from the environment and the configuration";
    Err(RpcError::invalid_params(format!("there is no method {:?}; {text}", request.method_id.0)))
}
