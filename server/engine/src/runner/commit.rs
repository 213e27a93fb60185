//! The last stretch of a call: the tool does what was allowed, its output is shown as it comes, and capped. Judges nothing.

use std::sync::PoisonError;
use std::time::Duration;

use copydesk_workspace::path::AbsPath;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Allowed, Runner, Running, Stopped, preview};
use crate::event::{Severity, ToolCallState, ToolCallView};
use crate::media::Media;
use crate::message::{FileDiff, SeenFile};
use crate::output::{self, Limits};
use crate::tool::{Access, CommitError, Gate, ToolContext, ToolError, ToolOutput};

/// What a tool has to end its work after a cancel; commands are gone within 2 s (R2.4).
const WIND_DOWN: Duration = Duration::from_secs(3);
/// Between two showings of a call's output.
const SHOWING: Duration = Duration::from_millis(100);
/// Between two of any call: with all that runs beside each other it is below the 30 a second that clients are told at most (R21.1).
const SLOT: Duration = Duration::from_millis(40);
/// What is shown of it: its end, as each showing is sent whole.
const SHOWN: Limits = Limits { lines: 200, bytes: 16 * 1024 };
/// Stands before an end.
const LEFT_OUT: &str = "[What came before is left out here.]\n";

pub(super) enum Committed {
    Done(Done),
    Moved(String),
    Leads(Access),
}

/// A result that fits into the limits.
pub(super) struct Done {
    pub(super) text: String,
    pub(super) diffs: Vec<FileDiff>,
    pub(super) media: Vec<Media>,
    pub(super) seen: Vec<SeenFile>,
    pub(super) instructions: Vec<AbsPath>,
    pub(super) metadata: Value,
    pub(super) locations: Vec<(AbsPath, Option<usize>)>,
    /// What allowed it.
    pub(super) allowed_by: Vec<String>,
}

impl Runner {
    pub(super) async fn commit(
        &self,
        running: &mut Running<'_>,
        allowed: Allowed,
        ctx: &ToolContext,
    ) -> Result<Committed, Stopped> {
        let view = ToolCallView {
            state: ToolCallState::Running,
            diffs: preview::diffs(&allowed.preview),
            ..running.view.clone()
        };
        self.tell(view.clone()).await;
        self.go_on()?;
        let work = running.tool.commit(allowed.value, ctx);
        let committed = tokio::select! {
            committed = self.wound_down(running.tool.gate(), work) => committed,
            never = self.show_output(&mut running.progress, &view) => match never {},
        };
        for text in self.deps.connection.diagnostics.troubles().into_iter().chain(ctx.formatting.troubles()) {
            self.deps.notify(Severity::Warning, text).await;
        }
        match committed {
            Ok(output) => Ok(Committed::Done(self.fitted(output).await)),
            Err(CommitError::BaseMoved(reason)) => Ok(Committed::Moved(reason)),
            Err(CommitError::Tool(ToolError::Rejected(text))) => Err(self.rejected(&text)),
            Err(CommitError::Leads(access)) => Ok(Committed::Leads(access)),
            Err(CommitError::Tool(error)) => Err(Stopped::of(error, ctx.may_quote)),
        }
    }

    /// After a cancel, what changes nothing is dropped where it stands; the rest is given time to end what it has begun.
    async fn wound_down(
        &self,
        gate: Gate,
        work: impl Future<Output = Result<ToolOutput, CommitError>>,
    ) -> Result<ToolOutput, CommitError> {
        tokio::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = self.deps.cancel.cancelled() => {}
        }
        match gate {
            Gate::Parallel => Err(ToolError::Cancelled.into()),
            Gate::Exclusive => timeout(WIND_DOWN, work).await.unwrap_or_else(|_| {
                let text = "Cancelled by the user while it was being done: look how things stand before the next step.";
                Err(ToolError::Interrupted(text.to_owned()).into())
            }),
        }
    }

    async fn show_output(&self, pieces: &mut mpsc::Receiver<String>, view: &ToolCallView) -> std::convert::Infallible {
        let mut text = String::new();
        let mut before = "";
        while let Some(piece) = pieces.recv().await {
            text.push_str(&piece);
            while let Ok(piece) = pieces.try_recv() {
                text.push_str(&piece);
            }
            let end = output::tail(&text, SHOWN);
            if end.len() < text.len() {
                before = LEFT_OUT;
                text = end.to_owned();
            }
            sleep_until(self.slot()).await;
            self.tell(ToolCallView { text: format!("{before}{text}"), ..view.clone() }).await;
            sleep(SHOWING).await;
        }
        std::future::pending().await
    }

    /// When the next showing may be told, of whichever call.
    fn slot(&self) -> Instant {
        let mut next = self.next_slot.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
        *next = Some(slot + SLOT);
        slot
    }

    async fn fitted(&self, output: ToolOutput) -> Done {
        let ToolOutput { text, capped, diffs, media, seen, instructions, locations, metadata } = output;
        let text = if capped { text } else { self.capped(text).await };
        Done { text, diffs, media, seen, instructions, metadata, locations, allowed_by: Vec::new() }
    }
}
