//! The calls of one reply: run beside each other, each result stored when it comes; or not run, with a result that says why. Every call gets one.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt};
use futures::{FutureExt, future};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Run, WIND_DOWN};
use crate::agent::Agent;
use crate::event::{SessionEvent, ToolCallState, ToolCallView};
use crate::history;
use crate::ids::CallId;
use crate::message::{Entry, ToolResult, ToolStatus, TurnEnd};
use crate::ports::StoreError;
use crate::registry::Offered;
use crate::runner::{Call, CallOutcome, Runner, RunnerDeps};
use crate::session::{SessionAgents, SessionTodos};
use crate::tool::ToolKind;

impl Run {
    /// Returns why the turn ends here, if it does.
    pub(super) async fn run_calls(
        &self,
        agent: &Arc<Agent>,
        offered: Offered,
        calls: &[Call],
    ) -> Result<Option<TurnEnd>, StoreError> {
        let cancel = self.cancel.child_token();
        let runner = self.runner(Arc::clone(agent), offered, cancel.clone());
        // Results are stored inside of these futures: whoever waits in the journal's queue must be polled for the queue to move.
        let mut running: FuturesUnordered<_> = calls.iter().map(|call| self.run_call(&runner, call)).collect();
        let mut left: BTreeMap<&CallId, &Call> = calls.iter().map(|call| (&call.id, call)).collect();
        let mut end = None;
        let mut fault = None;
        let mut deadline = None;
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled(), if deadline.is_none() => deadline = Some(Instant::now() + WIND_DOWN),
                () = until(deadline) => break,
                ended = running.next() => match ended {
                    Some((id, Ok(stop))) => {
                        left.remove(id);
                        if let Some(stop) = stop.filter(|stop| self.stops(stop)) {
                            end.get_or_insert(stop);
                            cancel.cancel();
                        }
                    }
                    Some((_, Err(error))) => {
                        fault.get_or_insert(error);
                        cancel.cancel();
                    }
                    None => break,
                },
            }
        }
        drop(running);
        if let Some(fault) = fault {
            return Err(fault);
        }
        for call in left.into_values() {
            self.end_call(call, history::interrupted_result()).await?;
        }
        Ok(if self.cancel.is_cancelled() { Some(TurnEnd::Cancelled) } else { end })
    }

    /// Gives each call a result that says why it was not run.
    pub(super) async fn refuse(&self, calls: &[Call], why: &str) -> Result<Option<TurnEnd>, StoreError> {
        for call in calls {
            let result = failed("Not run", why.to_owned());
            self.end_call(call, result).await?;
        }
        Ok(None)
    }

    /// Gives each call the result of one that was cancelled.
    pub(super) async fn interrupt(&self, calls: &[Call]) -> Result<Option<TurnEnd>, StoreError> {
        for call in calls {
            self.end_call(call, history::interrupted_result()).await?;
        }
        Ok(None)
    }

    fn runner(&self, agent: Arc<Agent>, offered: Offered, cancel: CancellationToken) -> Runner {
        let context = &self.context;
        let todos = SessionTodos {
            session: context.id.clone(),
            journal: Arc::clone(&context.journal),
            client: Arc::clone(context.client()),
        };
        Runner::new(RunnerDeps {
            session: context.id.clone(),
            registry: Arc::clone(&context.registry),
            offered,
            facts: Arc::clone(&context.facts),
            connection: context.connection(),
            ports: context.ports.clone(),
            config: context.config(),
            agent,
            grants: Arc::clone(&context.grants),
            seen: Arc::clone(&context.seen),
            known: Arc::clone(&context.known),
            jobs: Arc::clone(&context.jobs),
            repeats: Arc::clone(&self.repeats),
            large: Arc::clone(&self.large),
            instructions: Arc::clone(&context.instructions),
            skills: context.skills(),
            formatters: Arc::clone(&context.formatters),
            recording: Arc::clone(&context.recording),
            turn: self.turn.clone(),
            todos: Arc::new(todos),
            agents: Arc::new(SessionAgents(Arc::clone(context))),
            cancel,
        })
    }

    /// A tool that panics costs its call, not the turn.
    async fn run_call<'a>(&self, runner: &Runner, call: &'a Call) -> (&'a CallId, Result<Option<TurnEnd>, StoreError>) {
        let outcome = AssertUnwindSafe(runner.run(call.clone())).catch_unwind().await;
        let stored = match outcome {
            Ok(CallOutcome { result, view, stop, .. }) => self.end_with(call, result, view).await.map(|()| stop),
            Err(_) => {
                tracing::error!(tool = call.name, arguments = call.arguments, "a tool panicked");
                let text = format!("{} failed by a mistake of its own. Try another way.", call.name);
                self.end_call(call, failed("Failed", text)).await.map(|()| None)
            }
        };
        (&call.id, stored)
    }

    fn stops(&self, stop: &TurnEnd) -> bool {
        !(*stop == TurnEnd::Rejected && self.context.config().continue_on_reject)
    }

    /// For calls that the runner did not bring to their end.
    async fn end_call(&self, call: &Call, result: ToolResult) -> Result<(), StoreError> {
        let input = serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone()));
        let view = ToolCallView {
            call: call.id.clone(),
            name: call.name.clone(),
            kind: self.context.registry.kind(&call.name, &input),
            title: result.title.clone(),
            state: ToolCallState::Ended(result.status),
            input,
            text: result.text.clone(),
            diffs: Vec::new(),
            media: Vec::new(),
            locations: Vec::new(),
            allowed_by: Vec::new(),
        };
        self.end_with(call, result, view).await
    }

    /// Stores the result, then tells the client.
    async fn end_with(&self, call: &Call, result: ToolResult, view: ToolCallView) -> Result<(), StoreError> {
        let entry = Entry::ToolResult { call: call.id.clone(), at: self.context.ports.clock.now(), result };
        self.context.journal.append_with(view.media.clone(), entry).await?;
        let (has_edited, may_have) = (!view.diffs.is_empty(), may_change_files(view.kind));
        self.context.emit(SessionEvent::ToolCallUpdate(view)).await;
        if has_edited {
            self.context.tell_of_changes().await;
        } else if may_have {
            self.context.tell_of_new_changes().await;
        }
        Ok(())
    }
}

/// Without a diff that says so.
fn may_change_files(kind: ToolKind) -> bool {
    match kind {
        ToolKind::Edit | ToolKind::Execute | ToolKind::Other => true,
        ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Fetch | ToolKind::SwitchMode => false,
    }
}

fn failed(title: &str, text: String) -> ToolResult {
    ToolResult { status: ToolStatus::Failed, text, title: title.to_owned(), ..history::interrupted_result() }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => future::pending().await,
    }
}
