//! Several `Diagnostics`, tried in order: the first that can say anything of a file speaks. It waits for none of them longer than it may.

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::ports::{
    BoxFuture, Diagnostics, DiagnosticsReport, DiagnosticsScope, DiagnosticsTarget, LanguageAnswer, LanguageError,
    LanguageQuestion,
};
use tokio::time::Instant;

pub struct FirstAvailable(pub Vec<Arc<dyn Diagnostics>>);

impl Diagnostics for FirstAvailable {
    fn of(&self, target: DiagnosticsTarget, wait: Duration) -> BoxFuture<'_, DiagnosticsReport> {
        Box::pin(async move {
            let deadline = Instant::now() + wait;
            for diagnostics in &self.0 {
                let left = deadline.saturating_duration_since(Instant::now());
                let report = diagnostics.of(target.clone(), left).await;
                if report != DiagnosticsReport::Unavailable {
                    return report;
                }
            }
            DiagnosticsReport::Unavailable
        })
    }

    fn answer(
        &self,
        question: LanguageQuestion,
        wait: Duration,
    ) -> BoxFuture<'_, Result<LanguageAnswer, LanguageError>> {
        Box::pin(async move {
            let deadline = Instant::now() + wait;
            for diagnostics in &self.0 {
                let left = deadline.saturating_duration_since(Instant::now());
                match diagnostics.answer(question.clone(), left).await {
                    Err(LanguageError::Unavailable) => {}
                    answer => return answer,
                }
            }
            Err(LanguageError::Unavailable)
        })
    }

    fn troubles(&self) -> Vec<String> {
        self.0.iter().flat_map(|diagnostics| diagnostics.troubles()).collect()
    }

    fn for_session(&self, scope: &DiagnosticsScope) -> Option<Arc<dyn Diagnostics>> {
        let of_session = |diagnostics: &Arc<dyn Diagnostics>| {
            diagnostics.for_session(scope).unwrap_or_else(|| Arc::clone(diagnostics))
        };
        Some(Arc::new(Self(self.0.iter().map(of_session).collect())))
    }
}
