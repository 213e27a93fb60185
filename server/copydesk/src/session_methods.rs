//! ACP's session methods on the engine, for every face that speaks them. Lifecycle and documents are the faces' own.

mod changes;
mod diff;
mod undo;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use copydesk_engine::engine::{Engine, EngineError, History, Listing, LoadSession, Loaded, NewSession};
use copydesk_engine::event::{SessionEvent, Severity};
use copydesk_engine::ids::SessionId;
use copydesk_engine::message::TurnEnd;
use copydesk_engine::ports::{BoxFuture, Client as _, Connection, StoreError};
use copydesk_engine::session::{Choices, SessionError, SessionHandle};
use copydesk_protocol::additions::{GrantsParams, GrantsResult};
use copydesk_protocol::methods::{CHANGES, DIFF, GRANTS, UNDO};
use copydesk_protocol::rpc::{Notification, Reply, Request, RpcError};
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::PositionEncoding;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::acp_types;
use crate::grant_view;
use crate::log;
use crate::session_client::SessionClient;

/// What a face knows of its client beyond ACP's words.
pub trait Host: Send + Sync {
    /// Folders of the client's workspace, for new sessions.
    fn roots(&self) -> Vec<AbsPath>;

    /// The unit of columns in positions.
    fn encoding(&self) -> PositionEncoding;

    /// Resolves when all is known of the client that a new session depends on.
    fn ready(&self) -> BoxFuture<'static, ()>;

    /// Told when a turn starts; the value it gives is dropped when the turn has ended.
    fn turn_started(&self, session: &SessionHandle) -> Box<dyn Send>;
}

pub struct SessionMethods {
    pub engine: Arc<Engine>,
    pub connection: Connection,
    pub client: Arc<SessionClient>,
    pub host: Arc<dyn Host>,
}

impl SessionMethods {
    pub fn request(&self, request: Request) -> Reply {
        match request.method.as_str() {
            "session/new" => self.new_session(request.params),
            "session/load" => self.load_session(request.params),
            "session/resume" => self.resume_session(request.params),
            "session/list" => self.list_sessions(request.params),
            "session/close" => self.close_session(request.params),
            "session/delete" => self.delete_session(request.params),
            "session/prompt" => self.prompt(request),
            "session/set_mode" => self.set_mode(request.params),
            "session/set_config_option" => self.set_config_option(request.params),
            GRANTS => self.grants(request.params),
            UNDO => self.undo(request.params),
            CHANGES => self.changes(request.params),
            DIFF => self.diff(request.params),
            method => Reply::Now(Err(RpcError::method_not_found(method))),
        }
    }

    /// Unknown notifications are ignored.
    pub fn notification(&self, notification: Notification) {
        if notification.method != "session/cancel" {
            return;
        }
        match params::<acp::CancelNotification>(notification.params) {
            Ok(cancel) => match self.session(&cancel.session_id) {
                Ok(session) => session.cancel(),
                Err(error) => tracing::debug!(message = error.message, "nothing to cancel"),
            },
            Err(error) => tracing::warn!(message = error.message, "session/cancel was not understood"),
        }
    }

    fn new_session(&self, value: Value) -> Reply {
        let request: acp::NewSessionRequest = match params(value) {
            Ok(request) => request,
            Err(error) => return Reply::Now(Err(error)),
        };
        let (folder, additional) = match self.folders(&request.cwd, &request.additional_directories) {
            Ok(folders) => folders,
            Err(error) => return Reply::Now(Err(error)),
        };
        let (engine, connection, client) = (self.engine.clone(), self.connection.clone(), self.client.clone());
        let ready = self.host.ready();
        let (opens, opened) = oneshot::channel::<SessionHandle>();
        let told = self.client.clone();
        let work = Box::pin(async move {
            ready.await;
            let session =
                engine.new_session(NewSession { folder, additional, connection }).await.map_err(engine_error)?;
            client.add(session.clone());
            log::follow(&session.config());
            let choices = session.choices();
            let answer = result(
                acp::NewSessionResponse::new(session.id().to_string())
                    .modes(acp_types::modes(&choices))
                    .config_options(acp_types::options(&choices)),
            );
            // It is waited for only behind an answer.
            let _ = opens.send(session);
            answer
        });
        // The client knows the session by the answer alone: an update before it would be of a session that it has never heard of.
        let then = Box::pin(async move {
            if let Ok(session) = opened.await {
                session.opened();
                told.offer_commands(session.id()).await;
            }
        });
        Reply::Followed { work, then }
    }

    /// Answered when the whole conversation is on its way.
    fn load_session(&self, value: Value) -> Reply {
        let load = params::<acp::LoadSessionRequest>(value).and_then(|request| {
            let place = self.folders(&request.cwd, &request.additional_directories)?;
            Ok(self.stored(&request.session_id, place, request.meta, History::Replayed))
        });
        self.open_stored(load, |loaded, choices| {
            result(
                acp::LoadSessionResponse::new()
                    .modes(acp_types::modes(&choices))
                    .config_options(acp_types::options(&choices))
                    .meta(acp_types::lives(loaded.lives)),
            )
        })
    }

    fn resume_session(&self, value: Value) -> Reply {
        let load = params::<acp::ResumeSessionRequest>(value).and_then(|request| {
            let place = self.folders(&request.cwd, &request.additional_directories)?;
            Ok(self.stored(&request.session_id, place, request.meta, History::Known))
        });
        self.open_stored(load, |loaded, choices| {
            result(
                acp::ResumeSessionResponse::new()
                    .modes(acp_types::modes(&choices))
                    .config_options(acp_types::options(&choices))
                    .meta(acp_types::lives(loaded.lives)),
            )
        })
    }

    fn stored(
        &self,
        id: &acp::SessionId,
        (folder, additional): (AbsPath, Vec<AbsPath>),
        meta: Option<acp::Meta>,
        history: History,
    ) -> LoadSession {
        LoadSession {
            id: session_id(id),
            folder,
            additional,
            connection: self.connection.clone(),
            history,
            elsewhere: acp_types::elsewhere(meta),
        }
    }

    fn open_stored(
        &self,
        load: Result<LoadSession, RpcError>,
        answer: impl FnOnce(&Loaded, Choices) -> Result<Value, RpcError> + Send + 'static,
    ) -> Reply {
        let load = match load {
            Ok(load) => load,
            Err(error) => return Reply::Now(Err(error)),
        };
        let (engine, client, ready) = (self.engine.clone(), self.client.clone(), self.host.ready());
        Reply::Abortable(Box::pin(async move {
            ready.await;
            let loaded = engine.load_session(load).await.map_err(engine_error)?;
            client.add(loaded.session.clone());
            client.flush().await;
            log::follow(&loaded.session.config());
            loaded.session.opened();
            client.offer_commands(loaded.session.id()).await;
            answer(&loaded, loaded.session.choices())
        }))
    }

    fn list_sessions(&self, value: Value) -> Reply {
        // All of its parameters may be missing, and so may they.
        let value = if value.is_null() { json!({}) } else { value };
        let listing = params::<acp::ListSessionsRequest>(value).and_then(|request| {
            let folder = match request.cwd {
                Some(cwd) => Some(absolute(&cwd)?),
                None => None,
            };
            Ok(Listing { folder, cursor: request.cursor })
        });
        let listing = match listing {
            Ok(listing) => listing,
            Err(error) => return Reply::Now(Err(error)),
        };
        let engine = self.engine.clone();
        Reply::Abortable(Box::pin(async move {
            let page = engine.list_sessions(listing).await.map_err(engine_error)?;
            let sessions = page.sessions.iter().map(acp_types::session_info).collect();
            result(acp::ListSessionsResponse::new(sessions).next_cursor(page.next))
        }))
    }

    fn close_session(&self, value: Value) -> Reply {
        let id = match params::<acp::CloseSessionRequest>(value) {
            Ok(request) => session_id(&request.session_id),
            Err(error) => return Reply::Now(Err(error)),
        };
        let (engine, connection, client) = (self.engine.clone(), self.connection.clone(), self.client.clone());
        Reply::WindsDown(Box::pin(async move {
            engine.close_session(&id, &connection).await.map_err(engine_error)?;
            client.remove(&id).await;
            Ok(json!({}))
        }))
    }

    fn delete_session(&self, value: Value) -> Reply {
        let id = match params::<acp::DeleteSessionRequest>(value) {
            Ok(request) => session_id(&request.session_id),
            Err(error) => return Reply::Now(Err(error)),
        };
        let (engine, connection, client) = (self.engine.clone(), self.connection.clone(), self.client.clone());
        Reply::WindsDown(Box::pin(async move {
            engine.delete_session(&id, &connection).await.map_err(engine_error)?;
            client.remove(&id).await;
            Ok(json!({}))
        }))
    }

    /// The session's folder, and the further roots that the request and the client's workspace name.
    fn folders(&self, cwd: &Path, additional: &[PathBuf]) -> Result<(AbsPath, Vec<AbsPath>), RpcError> {
        let folder = absolute(cwd)?;
        let mut roots = additional.iter().map(|root| absolute(root)).collect::<Result<Vec<_>, _>>()?;
        for root in self.host.roots() {
            if root != folder && !roots.contains(&root) {
                roots.push(root);
            }
        }
        Ok((folder, roots))
    }

    fn prompt(&self, request: Request) -> Reply {
        let queued = params::<acp::PromptRequest>(request.params).and_then(|prompt| {
            let session = self.session(&prompt.session_id)?;
            let prompt = acp_types::prompt(prompt.prompt).map_err(RpcError::invalid_params)?;
            let turn = session.prompt(prompt).map_err(session_error)?;
            Ok((session, turn))
        });
        let (session, mut turn) = match queued {
            Ok(queued) => queued,
            Err(error) => return Reply::Now(Err(error)),
        };
        let (client, cancelled, host) = (self.client.clone(), request.cancelled, self.host.clone());
        Reply::WindsDown(Box::pin(async move {
            let watched = host.turn_started(&session);
            let end = tokio::select! {
                biased;
                end = &mut turn => end,
                () = cancelled.cancelled() => {
                    session.cancel();
                    turn.await
                }
            };
            if let TurnEnd::Limit { message } = &end {
                // The stop reason alone does not say which limit.
                let notice = SessionEvent::Notice { severity: Severity::Warning, text: message.clone() };
                client.update(session.id().clone(), notice).await;
            }
            client.turn_ends(session.id()).await;
            drop(watched);
            match acp_types::stop_reason(end) {
                Ok(reason) => result(acp::PromptResponse::new(reason)),
                Err(message) => Err(RpcError::internal(message)),
            }
        }))
    }

    fn set_mode(&self, value: Value) -> Reply {
        let chosen = params::<acp::SetSessionModeRequest>(value)
            .and_then(|request| Ok((self.session(&request.session_id)?, request.mode_id)));
        match chosen {
            Ok((session, mode)) => Reply::Abortable(Box::pin(async move {
                session.choose_agent(&mode.0).await.map_err(session_error)?;
                Ok(json!({}))
            })),
            Err(error) => Reply::Now(Err(error)),
        }
    }

    fn set_config_option(&self, value: Value) -> Reply {
        let chosen = params::<acp::SetSessionConfigOptionRequest>(value)
            .and_then(|request| Ok((self.session(&request.session_id)?, request.config_id, request.value)));
        match chosen {
            Ok((session, option, value)) => Reply::Abortable(Box::pin(async move {
                let choices = choose(&session, &option.0, value).await?;
                result(acp::SetSessionConfigOptionResponse::new(acp_types::options(&choices)))
            })),
            Err(error) => Reply::Now(Err(error)),
        }
    }

    /// Revokes what the request names, then answers with all that holds.
    fn grants(&self, value: Value) -> Reply {
        let wanted = params::<GrantsParams>(value)
            .and_then(|request| Ok((self.session_named(request.session_id)?, request.revoke)));
        match wanted {
            Ok((session, revoke)) => Reply::Abortable(Box::pin(async move {
                let grants = session.grants();
                // What holds now is looked up first: an id that it does not have was revoked elsewhere, or never given.
                let (mut held, mut problem) = grants.list().await;
                let mut revoked = 0;
                if !revoke.is_empty() {
                    revoked = grants.revoke(&revoke).await.map_err(|error| RpcError::internal(error.to_string()))?;
                    (held, problem) = grants.list().await;
                }
                let grants = held.into_iter().map(grant_view::of_session).collect();
                result(GrantsResult { grants, revoked, problem })
            })),
            Err(error) => Reply::Now(Err(error)),
        }
    }

    fn session(&self, id: &acp::SessionId) -> Result<SessionHandle, RpcError> {
        self.engine.session(&session_id(id)).map_err(engine_error)
    }

    /// By the id in a method of ours.
    fn session_named(&self, id: String) -> Result<SessionHandle, RpcError> {
        self.engine.session(&SessionId::new(id)).map_err(engine_error)
    }
}

fn session_id(id: &acp::SessionId) -> SessionId {
    SessionId::new(id.0.to_string())
}

fn absolute(path: &Path) -> Result<AbsPath, RpcError> {
    AbsPath::new(path).ok_or_else(|| RpcError::invalid_params(format!("{} is not an absolute path", path.display())))
}

async fn choose(
    session: &SessionHandle,
    option: &str,
    value: acp::SessionConfigOptionValue,
) -> Result<Choices, RpcError> {
    let acp::SessionConfigOptionValue::ValueId { value } = value else {
        return Err(RpcError::invalid_params(format!("the option {option} takes the id of a value")));
    };
    match option {
        acp_types::MODE_OPTION => session.choose_agent(&value.0).await.map_err(session_error),
        acp_types::MODEL_OPTION => session.choose_model(&value.0).await.map_err(session_error),
        acp_types::PERMISSION_OPTION => session.choose_mode(&value.0).await.map_err(session_error),
        grant_view::OPTION if &*value.0 == grant_view::KEEP => Ok(session.choices()),
        grant_view::OPTION => {
            let id = value.0.to_string();
            match session.grants().revoke(std::slice::from_ref(&id)).await {
                Ok(0) => Err(RpcError::invalid_params(format!("nothing that holds in this session has the id {id}"))),
                Ok(_) => Ok(session.choices()),
                Err(error) => Err(RpcError::internal(error.to_string())),
            }
        }
        other => Err(RpcError::invalid_params(format!("there is no option {other}"))),
    }
}

fn params<T: DeserializeOwned>(value: Value) -> Result<T, RpcError> {
    serde_json::from_value(value).map_err(|error| RpcError::invalid_params(error.to_string()))
}

fn result(value: impl Serialize) -> Result<Value, RpcError> {
    serde_json::to_value(value).map_err(|error| RpcError::internal(error.to_string()))
}

fn engine_error(error: EngineError) -> RpcError {
    match &error {
        EngineError::UnknownSession(_) | EngineError::Store(StoreError::UnknownSession(_)) => {
            RpcError::resource_not_found(error.to_string())
        }
        EngineError::NotAFolder(_)
        | EngineError::OtherFolder { .. }
        | EngineError::UnknownCursor
        | EngineError::OpenElsewhere(_)
        | EngineError::Store(StoreError::Elsewhere(_)) => RpcError::invalid_params(error.to_string()),
        EngineError::Store(_) | EngineError::ShuttingDown => RpcError::internal(error.to_string()),
    }
}

fn store_error(error: StoreError) -> RpcError {
    engine_error(EngineError::Store(error))
}

fn session_error(error: SessionError) -> RpcError {
    match &error {
        SessionError::UnknownAgent(_)
        | SessionError::UnknownModel(_)
        | SessionError::UnknownMode(_)
        | SessionError::Image(_) => RpcError::invalid_params(error.to_string()),
        SessionError::Overloaded => RpcError { message: error.to_string(), ..RpcError::overloaded() },
        SessionError::Closed => RpcError::internal(error.to_string()),
    }
}
