//! The engine's `Diagnostics` over the editor's own language servers; where the editor has none, those of the daemon speak.

use std::sync::Arc;
use std::time::Duration;

use copydesk_adapters::langservers::diagnostic::from_lsp;
use copydesk_engine::ports::{BoxFuture, Diagnostics, DiagnosticsReport, DiagnosticsScope, DiagnosticsTarget};
use copydesk_protocol::additions::{
    DiagnosticsParams, DiagnosticsResult, DiagnosticsState, DocumentDiagnostics, DocumentVersion,
};
use copydesk_protocol::methods;

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

    fn for_session(&self, scope: &DiagnosticsScope) -> Option<Arc<dyn Diagnostics>> {
        let checks = self.checks.for_session(scope)?;
        Some(Arc::new(Self { state: self.state.clone(), checks }))
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
        let encoding = self.state.encoding();
        let known = found.diagnostics.into_iter().filter_map(|value| from_lsp(value, &target.text, encoding));
        DiagnosticsReport::Ready(known.collect())
    }
}
