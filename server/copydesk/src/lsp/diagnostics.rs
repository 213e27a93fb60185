//! The engine's `Diagnostics` over the editor's own language servers, and the check commands where the editor has none.

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::ports::{
    BoxFuture, Diagnostic, DiagnosticSeverity, Diagnostics, DiagnosticsReport, DiagnosticsTarget,
};
use copydesk_protocol::additions::{
    DiagnosticsParams, DiagnosticsResult, DiagnosticsState, DocumentDiagnostics, DocumentVersion,
};
use copydesk_protocol::methods;
use copydesk_workspace::position::offset_of;
use serde_json::Value;
use tower_lsp_server::ls_types;

use super::client_state::ClientState;
use super::wire;

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
        let known = found.diagnostics.into_iter().filter_map(|value| self.diagnostic(target, value));
        DiagnosticsReport::Ready(known.collect())
    }

    /// `None` for what is no diagnostic of LSP.
    fn diagnostic(&self, target: &DiagnosticsTarget, value: Value) -> Option<Diagnostic> {
        let diagnostic: ls_types::Diagnostic = serde_json::from_value(value).ok()?;
        let start = wire::position(diagnostic.range.start);
        let at = target.text.byte_to_char(offset_of(&target.text, start, self.state.encoding()));
        let line = target.text.char_to_line(at);
        let code = diagnostic.code.map(|code| match code {
            ls_types::NumberOrString::Number(number) => number.to_string(),
            ls_types::NumberOrString::String(text) => text,
        });
        let source: Vec<_> = [diagnostic.source, code].into_iter().flatten().collect();
        Some(Diagnostic {
            line: line + 1,
            column: at - target.text.line_to_char(line) + 1,
            severity: match diagnostic.severity {
                Some(ls_types::DiagnosticSeverity::WARNING) => DiagnosticSeverity::Warning,
                Some(ls_types::DiagnosticSeverity::INFORMATION) => DiagnosticSeverity::Information,
                Some(ls_types::DiagnosticSeverity::HINT) => DiagnosticSeverity::Hint,
                _ => DiagnosticSeverity::Error,
            },
            message: diagnostic.message,
            source: (!source.is_empty()).then(|| source.join(" ")),
        })
    }
}
