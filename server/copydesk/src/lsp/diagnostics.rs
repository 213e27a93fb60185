//! The engine's `Diagnostics` over the editor's own language servers; where the editor has none, those of the daemon speak.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use copydesk_adapters::langservers::diagnostic::from_lsp;
use copydesk_adapters::langservers::language::{Called, Caller, ask};
use copydesk_engine::ports::{
    BoxFuture, Diagnostics, DiagnosticsReport, DiagnosticsScope, DiagnosticsTarget, LanguageAnswer, LanguageError,
    LanguageQuestion,
};
use copydesk_protocol::additions::{
    DiagnosticsParams, DiagnosticsResult, DiagnosticsState, DocumentDiagnostics, DocumentVersion, LanguageParams,
    LanguageResult, LanguageState,
};
use copydesk_protocol::methods;
use copydesk_workspace::position::PositionEncoding;
use serde_json::{Value, json};

use super::client_state::ClientState;

/// What the client may take beyond the wait that it was given.
const GRACE: Duration = Duration::from_millis(250);

pub(super) struct EditorFirst {
    pub(super) state: Arc<ClientState>,
    pub(super) checks: Arc<dyn Diagnostics>,
}

impl Diagnostics for EditorFirst {
    fn of(&self, target: DiagnosticsTarget, wait: Duration) -> BoxFuture<'_, DiagnosticsReport> {
        Box::pin(async move {
            let offered = self.state.opt_in().is_some_and(|opt_in| opt_in.diagnostics);
            let Some((uri, version)) = target.open.clone().filter(|_| offered) else {
                return self.checks.of(target, wait).await;
            };
            match tokio::time::timeout(wait + GRACE, self.of_editor(&uri, version, wait)).await {
                Ok(Some(found)) if found.state == DiagnosticsState::Ready => self.report(&target, version, found),
                Ok(Some(found)) if found.state == DiagnosticsState::NotReady => DiagnosticsReport::NotReady,
                Ok(_) => self.checks.of(target, wait).await,
                Err(_) => DiagnosticsReport::NotReady,
            }
        })
    }

    /// By the editor's servers where they look at the file, else by the daemon's.
    fn answer(
        &self,
        question: LanguageQuestion,
        wait: Duration,
    ) -> BoxFuture<'_, Result<LanguageAnswer, LanguageError>> {
        Box::pin(async move {
            let offered = self.state.opt_in().is_some_and(|opt_in| opt_in.language);
            if let Some((uri, version)) = question.file.open.clone().filter(|_| offered) {
                let document = DocumentVersion { uri, version: Some(version) };
                let caller = EditorServer { state: &self.state, document, wait, name: OnceLock::new() };
                match tokio::time::timeout(wait + GRACE, ask(&question, Vec::new(), &caller)).await {
                    Ok(Err(LanguageError::Unavailable)) => {}
                    Ok(answer) => {
                        let by = caller.name().to_owned();
                        return answer.map(|answer| LanguageAnswer { by, ..answer });
                    }
                    Err(_) => return Err(LanguageError::NotReady),
                }
            }
            self.checks.answer(question, wait).await
        })
    }

    fn troubles(&self) -> Vec<String> {
        self.checks.troubles()
    }

    fn for_session(&self, scope: &DiagnosticsScope) -> Option<Arc<dyn Diagnostics>> {
        let checks = self.checks.for_session(scope)?;
        Some(Arc::new(Self { state: self.state.clone(), checks }))
    }
}

/// One of the editor's, as far as it is known: the first answer names it.
struct EditorServer<'a> {
    state: &'a ClientState,
    document: DocumentVersion,
    wait: Duration,
    name: OnceLock<String>,
}

impl Caller for EditorServer<'_> {
    fn name(&self) -> &str {
        self.name.get().map_or("the editor's language server", String::as_str)
    }

    fn encoding(&self) -> PositionEncoding {
        self.state.encoding()
    }

    fn runs_commands(&self) -> bool {
        self.state.opt_in().is_some_and(|opt_in| opt_in.language_commands)
    }

    fn edits_of(&self, command: Value) -> BoxFuture<'_, Result<Called, LanguageError>> {
        self.call("workspace/executeCommand", command)
    }

    fn call<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Called, LanguageError>> {
        Box::pin(async move {
            let params = LanguageParams {
                document: self.document.clone(),
                method: method.to_owned(),
                params,
                server: self.name.get().cloned(),
                wait_ms: u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX),
            };
            let refused = |text: String| LanguageError::Refused { by: self.name().to_owned(), text };
            let params = serde_json::to_value(params).map_err(|error| refused(error.to_string()))?;
            let answer = match self.state.peer().request(methods::LANGUAGE, params).await {
                Ok(answer) => answer,
                Err(error) => return Err(refused(error.to_string())),
            };
            let LanguageResult { state, server, position_encoding, mut result, versions } =
                serde_json::from_value(answer).map_err(|error| refused(error.to_string()))?;
            if let Some(server) = server {
                // Of one question all answers are of one server.
                let _ = self.name.set(server);
            }
            let encoding = match position_encoding.as_deref() {
                Some("utf-8") => PositionEncoding::Utf8,
                Some("utf-32") => PositionEncoding::Utf32,
                _ => PositionEncoding::Utf16,
            };
            match state {
                LanguageState::Ready => {
                    name_versions(&mut result, versions);
                    Ok(Called { result, encoding })
                }
                LanguageState::NotReady => Err(LanguageError::NotReady),
                LanguageState::Unavailable => Err(LanguageError::Unavailable),
                LanguageState::Failed => Err(refused(result.as_str().unwrap_or("it failed").to_owned())),
            }
        })
    }
}

/// To the edits: one stands alone, in a code action, or in the list of a command.
fn name_versions(result: &mut Value, versions: Vec<DocumentVersion>) {
    if versions.is_empty() {
        return;
    }
    let versions = versions.into_iter().map(|document| (document.uri, json!(document.version)));
    let versions = Value::Object(versions.collect());
    let edits = match result {
        Value::Array(edits) => edits.as_mut_slice(),
        action if action["edit"].is_object() => std::slice::from_mut(&mut action["edit"]),
        edit => std::slice::from_mut(edit),
    };
    for edit in edits.iter_mut().filter(|edit| edit.is_object()) {
        edit["versions"] = versions.clone();
    }
}

impl EditorFirst {
    async fn of_editor(&self, uri: &str, version: i32, wait: Duration) -> Option<DocumentDiagnostics> {
        let params = DiagnosticsParams {
            documents: vec![DocumentVersion { uri: uri.to_owned(), version: Some(version) }],
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        };
        let params = serde_json::to_value(params).ok()?;
        let answer = self.state.peer().request(methods::DIAGNOSTICS, params).await.ok()?;
        let result: DiagnosticsResult = serde_json::from_value(answer).ok()?;
        result.documents.into_iter().next()
    }

    fn report(&self, target: &DiagnosticsTarget, version: i32, found: DocumentDiagnostics) -> DiagnosticsReport {
        if found.version.is_some_and(|of| of < version) {
            return DiagnosticsReport::NotReady;
        }
        let (encoding, presumed) = (self.state.encoding(), found.presumed);
        let known = found.diagnostics.into_iter().filter_map(|value| from_lsp(value, &target.text, encoding));
        let found = known.collect();
        match presumed.is_empty() {
            true => DiagnosticsReport::Ready(found),
            false => DiagnosticsReport::Partly { found, missing: Vec::new(), presumed },
        }
    }
}
