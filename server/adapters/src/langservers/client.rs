//! The client's side of LSP, as far as diagnostics need it: the life cycle, documents, push and pull. Which server, and what its process does, is not known here.

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::ports::{BoxFuture, LanguageError};
use copydesk_protocol::rpc::{CallError, Closed, Handler, Notification, Peer, Reply, Request, RpcError};
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::PositionEncoding;
use copydesk_workspace::uri::{path_from_uri, uri_from_path};
use ropey::Rope;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::known::Known;
use super::language::{self, Called, Caller};

/// LSP's codes for a question that the server has dropped: it may be asked again.
const SERVER_CANCELLED: i64 = -32802;
const CONTENT_MODIFIED: i64 = -32801;
/// Before it is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(50);
const MOST_QUESTIONS: usize = 20;
/// A command that only edits is done in far less; within the wait of those who ask for it, so that they hear which command it was.
const COMMAND: Duration = Duration::from_secs(10);
/// A server that does not answer `shutdown` is ended otherwise.
const SHUTDOWN: Duration = Duration::from_millis(300);

/// A server that has been initialized.
pub(super) struct LspClient {
    peer: Peer,
    known: Arc<Known>,
    capabilities: Arc<Value>,
    /// Counted over all documents, so that a document that is opened again never has an old version.
    version: i32,
    /// Up to which it was asked whether it has read them.
    reading: i32,
}

/// A document as the server is to have it.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) path: AbsPath,
    pub(super) language: String,
    pub(super) text: Rope,
}

impl LspClient {
    /// Waits as long as the server takes.
    pub(super) async fn initialize(
        peer: Peer,
        known: Arc<Known>,
        root: &AbsPath,
        options: &Value,
    ) -> Result<Self, CallError> {
        let uri = uri_from_path(root);
        let mut params = json!({
            "processId": std::process::id(),
            "clientInfo": { "name": "copydesk", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": uri,
            "workspaceFolders": [folder(root)],
            "capabilities": {
                "general": { "positionEncodings": ["utf-8", "utf-16", "utf-32"] },
                "textDocument": {
                    "synchronization": { "dynamicRegistration": false },
                    "publishDiagnostics": { "versionSupport": true },
                    "diagnostic": { "dynamicRegistration": true, "relatedDocumentSupport": false },
                },
                "window": { "workDoneProgress": true },
                "workspace": {
                    "configuration": true,
                    "workspaceFolders": true,
                    "didChangeConfiguration": { "dynamicRegistration": true },
                    "didChangeWatchedFiles": { "dynamicRegistration": true },
                    "diagnostics": { "refreshSupport": true },
                },
            },
        });
        language::client_capabilities(&mut params["capabilities"]);
        if !options.is_null() {
            params["initializationOptions"] = options.clone();
        }
        let answer = peer.request("initialize", params).await?;
        let capabilities = &answer["capabilities"];
        let encoding = match capabilities["positionEncoding"].as_str() {
            Some("utf-8") => PositionEncoding::Utf8,
            Some("utf-32") => PositionEncoding::Utf32,
            _ => PositionEncoding::Utf16,
        };
        known.initialized(encoding, capabilities["diagnosticProvider"].is_object());
        peer.notify("initialized", json!({})).await.map_err(|Closed| CallError::Closed)?;
        if !options.is_null() {
            // Some ask for their settings, some wait for this.
            let settings = json!({ "settings": options });
            peer.notify("workspace/didChangeConfiguration", settings).await.map_err(|Closed| CallError::Closed)?;
        }
        Ok(Self { peer, known, version: 0, reading: 0, capabilities: Arc::new(capabilities.clone()) })
    }

    /// The server has these texts from now on, and no others but those whose diagnostics somebody waits for; of all other files it reads what is on the disk.
    pub(super) async fn sync(&mut self, wanted: Vec<Text>) -> Result<(), Closed> {
        for path in self.known.idle() {
            if wanted.iter().all(|text| text.path != path) {
                let uri = uri_from_path(&path);
                self.known.closed(&path);
                self.peer.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } })).await?;
                // What it read of the file at an earlier time may be out of date.
                let changes = json!({ "changes": [{ "uri": uri, "type": 2 }] });
                self.peer.notify("workspace/didChangeWatchedFiles", changes).await?;
            }
        }
        for text in wanted {
            self.tell(text).await?;
        }
        Ok(())
    }

    async fn tell(&mut self, Text { path, language, text }: Text) -> Result<(), Closed> {
        let uri = uri_from_path(&path);
        let before = self.known.text(&path);
        if before.as_ref().is_some_and(|(_, before)| *before == text) {
            return Ok(());
        }
        self.version += 1;
        let version = self.version;
        self.known.told(path, version, text.clone());
        let text = text.to_string();
        if before.is_some() {
            let changes = json!([{ "text": text }]);
            let document = json!({ "uri": uri, "version": version });
            let params = json!({ "textDocument": document, "contentChanges": changes });
            self.peer.notify("textDocument/didChange", params).await
        } else {
            let document = json!({ "uri": uri, "languageId": language, "version": version, "text": text });
            self.peer.notify("textDocument/didOpen", json!({ "textDocument": document })).await
        }
    }

    /// Ends once the server has read all that it was told; what it says of a text without naming it can be of the new one then. Nothing where that is not
    /// wanted. A request that begins with `$/` and is not known is to be answered by an error: servers read, or do, what came before it first.
    pub(super) fn read(&mut self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let version = self.known.unread().filter(|version| *version > self.reading)?;
        self.reading = version;
        let (peer, known) = (self.peer.clone(), Arc::clone(&self.known));
        Some(async move {
            match peer.request("$/copydesk/read", json!({})).await {
                Ok(_) | Err(CallError::Remote(_)) => known.read(version),
                Err(CallError::Closed) => {}
            }
        })
    }

    /// Asks for the diagnostics of a document that it was told of, where the server is one that is asked. What it answers is known then.
    pub(super) fn pull(&self, path: AbsPath) -> impl Future<Output = ()> + Send + 'static {
        let (peer, known) = (self.peer.clone(), Arc::clone(&self.known));
        async move {
            let Some((version, _)) = known.text(&path).filter(|_| known.pulls()) else { return };
            let params = json!({ "textDocument": { "uri": uri_from_path(&path) } });
            for _ in 0..MOST_QUESTIONS {
                match peer.request("textDocument/diagnostic", params.clone()).await {
                    Ok(mut answer) => {
                        let items = answer.get_mut("items").map(Value::take);
                        if let Some(Value::Array(items)) = items {
                            known.pulled(&path, version, items);
                        }
                        return;
                    }
                    Err(CallError::Remote(error)) if matches!(error.code, SERVER_CANCELLED | CONTENT_MODIFIED) => {
                        if known.text(&path).is_none_or(|(now, _)| now != version) {
                            return;
                        }
                        tokio::time::sleep(ASK_AGAIN).await;
                    }
                    Err(CallError::Remote(error)) => {
                        tracing::debug!(%error, "the server gives no diagnostics when asked");
                        if error.code == RpcError::METHOD_NOT_FOUND {
                            known.set_pulls(false);
                        }
                        return;
                    }
                    Err(CallError::Closed) => return,
                }
            }
        }
    }

    /// For requests about the documents that it was told of.
    pub(super) fn line(&self, name: &str) -> Line {
        Line {
            name: name.to_owned(),
            peer: self.peer.clone(),
            known: Arc::clone(&self.known),
            capabilities: Arc::clone(&self.capabilities),
        }
    }

    /// In order: `shutdown`, then `exit`, then the end of its input.
    pub(super) async fn shut_down(self) {
        if timeout(SHUTDOWN, self.peer.request("shutdown", Value::Null)).await.is_ok() {
            // Closed: it is gone already.
            let _ = self.peer.notify("exit", Value::Null).await;
        }
        self.peer.end();
    }
}

/// To a server that is up.
#[derive(Clone)]
pub(super) struct Line {
    name: String,
    peer: Peer,
    pub(super) known: Arc<Known>,
    capabilities: Arc<Value>,
}

impl Line {
    pub(super) fn offers(&self, method: &str) -> bool {
        let offer = &self.capabilities[language::capability(method)];
        offer.is_object() || *offer == true
    }
}

impl Caller for Line {
    fn name(&self) -> &str {
        &self.name
    }

    fn encoding(&self) -> PositionEncoding {
        self.known.encoding()
    }

    fn runs_commands(&self) -> bool {
        true
    }

    fn edits_of(&self, command: Value) -> BoxFuture<'_, Result<Called, LanguageError>> {
        Box::pin(async move {
            let Some((wanted, alone)) = self.known.want_edits().await else { return Err(LanguageError::NotReady) };
            let name = command["command"].as_str().unwrap_or_default().to_owned();
            // The next command waits until the server is done with this one, also where nobody waits for it any more: what it wants until then is nobody else's.
            let outcome = self.peer.request_holding("workspace/executeCommand", command, alone);
            let Ok(outcome) = timeout(COMMAND, outcome).await else {
                let text = format!("its command `{name}` did not come to an end; make the change yourself");
                return Err(LanguageError::Refused { by: self.name.clone(), text });
            };
            // Once: a try that the server drops may have asked for its edit already.
            match self.called(outcome) {
                Some(called) => Ok(Called { result: wanted.take().into(), encoding: called?.encoding }),
                None => Err(LanguageError::NotReady),
            }
        })
    }

    /// As often as the server drops it, since it is busy with another text.
    fn call<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Called, LanguageError>> {
        Box::pin(async move {
            for _ in 0..MOST_QUESTIONS {
                if let Some(called) = self.called(self.peer.request(method, params.clone()).await) {
                    return called;
                }
                tokio::time::sleep(ASK_AGAIN).await;
            }
            Err(LanguageError::NotReady)
        })
    }
}

impl Line {
    /// `None` where the server has dropped it, since it is busy with another text.
    fn called(&self, outcome: Result<Value, CallError>) -> Option<Result<Called, LanguageError>> {
        Some(match outcome {
            Ok(result) => {
                self.known.answered();
                Ok(Called { result, encoding: self.known.encoding() })
            }
            Err(CallError::Remote(error)) if matches!(error.code, SERVER_CANCELLED | CONTENT_MODIFIED) => return None,
            Err(CallError::Remote(error)) if error.code == RpcError::METHOD_NOT_FOUND => {
                Err(LanguageError::Unsupported { by: self.name.clone() })
            }
            Err(CallError::Remote(error)) => Err(LanguageError::Refused { by: self.name.clone(), text: error.message }),
            Err(CallError::Closed) => Err(LanguageError::NotReady),
        })
    }
}

/// What a server asks of us and tells us.
pub(super) struct ServerMessages {
    pub(super) known: Arc<Known>,
    pub(super) root: AbsPath,
    /// Answer to every `workspace/configuration`.
    pub(super) settings: Value,
}

impl Handler for ServerMessages {
    fn request(&self, request: Request) -> Reply {
        Reply::Now(match request.method.as_str() {
            "workspace/configuration" => {
                let items = request.params["items"].as_array().map_or(&[] as &[Value], Vec::as_slice);
                Ok(items.iter().map(|item| self.section(item)).collect())
            }
            "workspace/workspaceFolders" => Ok(json!([folder(&self.root)])),
            "client/registerCapability" => {
                if registers_diagnostics(&request.params["registrations"]) {
                    self.known.set_pulls(true);
                }
                Ok(Value::Null)
            }
            // Where it was asked for it becomes a change of ours; the server learns from `didChange` what becomes of it.
            "workspace/applyEdit" if self.known.take_edit(request.params["edit"].clone()) => {
                Ok(json!({ "applied": true }))
            }
            "workspace/applyEdit" => Ok(json!({ "applied": false, "failureReason": "nobody has asked for it" })),
            "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh" => Ok(Value::Null),
            method => Err(RpcError::method_not_found(method)),
        })
    }

    fn notification(&self, mut notification: Notification) {
        if notification.method != "textDocument/publishDiagnostics" {
            return;
        }
        let params = &mut notification.params;
        let path = params["uri"].as_str().and_then(|uri| path_from_uri(uri).ok());
        let version = params["version"].as_i64().and_then(|version| i32::try_from(version).ok());
        if let (Some(path), Some(Value::Array(items))) = (path, params.get_mut("diagnostics").map(Value::take)) {
            self.known.pushed(&path, version, items);
        }
    }

    fn answers_malformed(&self) -> bool {
        false
    }
}

impl ServerMessages {
    /// The part of the settings that is asked for, by its dotted name; null where there is none.
    fn section(&self, item: &Value) -> Value {
        let names = item["section"].as_str().into_iter().flat_map(|section| section.split('.'));
        names.filter(|name| !name.is_empty()).fold(&self.settings, |settings, name| &settings[name]).clone()
    }
}

fn registers_diagnostics(registrations: &Value) -> bool {
    let all = registrations.as_array().into_iter().flatten();
    all.into_iter().any(|registration| registration["method"] == "textDocument/diagnostic")
}

fn folder(root: &AbsPath) -> Value {
    json!({ "uri": uri_from_path(root), "name": root.name() })
}
