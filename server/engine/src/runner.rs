//! Runs one tool call, the only way there is: decode ▸ access ▸ prepare ▸ decide and ask ▸ gate ▸ commit ▸ cap ▸ result. It does not know what any
//! tool does, stores nothing, and announces nothing: the run loop tells the client of a call before it comes here.

mod access;
pub(crate) mod arguments;
mod ask;
mod command;
mod commit;
mod consent;
mod context;
mod decide;
mod expand;
mod gate;
mod grants;
mod preview;
mod repeats;
mod search;
mod seen;
mod stopped;
mod way;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::config::Config;
use crate::confinement::is_in_force;
use crate::event::{SessionEvent, Severity, ToolCallState, ToolCallView};
use crate::format::Learned;
use crate::ids::{CallId, MessageId, SessionId};
use crate::jobs::Jobs;
use crate::media::Media;
use crate::message::{ToolResult, ToolStatus, TurnEnd};
use crate::output;
use crate::permission::Mode;
use crate::ports::{Connection, Ports, Preview};
use crate::prompt::KnownInstructions;
use crate::registry::{INVALID, Offered, Registry};
use crate::skills::Skills;
use crate::tool::{Agents, AnyTool, Facts, Prepared, Progress, Todos, ToolContext, ToolError};
use crate::undo::Recording;
use crate::view::{KnownFiles, LargeText};

use access::{Need, Resolved};
use ask::Asks;
use decide::{Decided, decide, grounds};
use gate::{Gates, Ticket};
use repeats::Counted;
use stopped::Stopped;
use way::Way;

pub use grants::{Grants, HeldGrant, HeldScope};
pub use repeats::Repeats;
pub use seen::Seen;

/// A call as the model made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub id: CallId,
    pub name: String,
    /// As it came: empty, blanks and `null` mean `{}`.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    /// The arguments as JSON where they parse, else as a string.
    pub input: Value,
    pub result: ToolResult,
    /// The call's end, for the client; to be told once the result is stored, so that nobody has seen an end that a crash takes back (R12.2).
    pub view: ToolCallView,
    /// The turn ends here, with this reason.
    pub stop: Option<TurnEnd>,
}

pub struct RunnerDeps {
    pub session: SessionId,
    /// The first prompt of the turn.
    pub turn: MessageId,
    pub registry: Arc<Registry>,
    /// Of the request whose reply makes the calls.
    pub offered: Offered,
    pub facts: Arc<Facts>,
    pub connection: Connection,
    pub ports: Ports,
    pub config: Arc<Config>,
    pub agent: Arc<Agent>,
    pub grants: Arc<Grants>,
    pub seen: Arc<Seen>,
    pub known: Arc<KnownFiles>,
    pub jobs: Arc<Jobs>,
    /// Of the turn.
    pub repeats: Arc<Repeats>,
    /// Of the turn.
    pub(crate) large: Arc<LargeText>,
    pub instructions: Arc<KnownInstructions>,
    pub skills: Arc<Skills>,
    pub(crate) formatters: Arc<Learned>,
    pub recording: Arc<Recording>,
    pub todos: Arc<dyn Todos>,
    pub agents: Arc<dyn Agents>,
    /// Of the turn.
    pub cancel: CancellationToken,
}

impl RunnerDeps {
    /// The mode of permission in force: without a sandbox that is enforced, `Auto` is `Workspace`.
    pub(crate) fn mode(&self) -> Mode {
        match self.grants.mode() {
            Mode::Auto if !is_in_force(&self.config.sandbox, &self.ports.shell.sandbox()) => Mode::Workspace,
            chosen => chosen,
        }
    }

    /// What another window has allowed or revoked meanwhile counts from here on.
    async fn look_at_grants(&self) {
        if let Some(text) = self.grants.refresh().await {
            self.notify(Severity::Warning, text).await;
        }
    }

    async fn notify(&self, severity: Severity, text: String) {
        self.connection.client.update(self.session.clone(), SessionEvent::Notice { severity, text }).await;
    }
}

/// How often a call is prepared because the text under it moved.
const TRIES: usize = 5;
/// Of these so many with formatters, which take the longest.
const FORMATTED_TRIES: usize = 3;

/// Runs the calls of one turn. Calls may run beside each other: what changes something is committed in the order in which `run` was first polled.
pub struct Runner {
    deps: RunnerDeps,
    gates: Gates,
    asks: Asks,
    /// Fires when the user has rejected a call and with it the turn.
    halted: CancellationToken,
    /// When output may be shown next; `None` where none was.
    next_slot: Mutex<Option<Instant>>,
}

/// A call on its way.
struct Running<'a> {
    tool: &'a Arc<dyn AnyTool>,
    view: &'a ToolCallView,
    ticket: Ticket<'a>,
    progress: tokio::sync::mpsc::Receiver<String>,
}

/// A call that the rules or the user have let through.
struct Allowed {
    value: Box<dyn Any + Send>,
    preview: Preview,
}

impl Runner {
    pub fn new(deps: RunnerDeps) -> Self {
        Self {
            deps,
            gates: Gates::new(),
            asks: Asks::default(),
            halted: CancellationToken::new(),
            next_slot: Mutex::default(),
        }
    }

    /// Never fails: whatever goes wrong is the call's result. Sends every event of the call between its announcement and its end.
    pub async fn run(&self, call: Call) -> CallOutcome {
        let parsed = arguments::parse(&call.arguments);
        let input = match &parsed {
            Ok(input) => input.clone(),
            Err(error) => error.input.clone(),
        };
        let registry = &self.deps.registry;
        let found = self.deps.offered.find(&call.name);
        let view = ToolCallView {
            call: call.id.clone(),
            name: found.map_or_else(|| call.name.clone(), |tool| tool.name().to_owned()),
            kind: registry.kind(&call.name, &input),
            title: registry.title(&call.name, &input, &self.deps.facts),
            state: ToolCallState::Pending,
            input: input.clone(),
            text: String::new(),
            diffs: Vec::new(),
            media: Vec::new(),
            locations: Vec::new(),
            allowed_by: Vec::new(),
        };
        let identity = found.map_or_else(|| Some(input.clone()), |tool| tool.identity(&input));
        let counted = identity.map(|identity| self.deps.repeats.begin(&view.name, &identity));
        let counts = counted.as_ref();
        let ended = match (found, parsed) {
            (None, _) => self.unknown(&call.name, &view, counts).await,
            (Some(_), Err(error)) => self.may_repeat(counts, &view).await.and(Err(Stopped::failed(error.text))),
            (Some(tool), Ok(input)) => self.guarded(tool, input, &view, counts).await,
        };
        self.end(view, input, ended, counted).await
    }

    /// Tells the model which tools there are: nothing of that name was offered to it, be it that there was or is at other times.
    async fn unknown(
        &self,
        name: &str,
        view: &ToolCallView,
        counted: Option<&Counted<'_>>,
    ) -> Result<commit::Done, Stopped> {
        let offered = self.deps.offered.listed();
        let error = match self.deps.registry.find(name) {
            Some(tool) if tool.name() != INVALID => {
                format!("{} is not offered now, and was not run. Tools: {offered}.", tool.name())
            }
            Some(_) | None => format!("There is no tool {name:?}. Tools: {offered}."),
        };
        match self.deps.registry.find(INVALID) {
            Some(tool) => self.guarded(tool, json!({"tool": name, "error": error}), view, counted).await,
            None => self.may_repeat(counted, view).await.and(Err(Stopped::failed(error))),
        }
    }

    /// A panic is this call's fault alone.
    async fn guarded(
        &self,
        tool: &Arc<dyn AnyTool>,
        input: Value,
        view: &ToolCallView,
        counted: Option<&Counted<'_>>,
    ) -> Result<commit::Done, Stopped> {
        let call = AssertUnwindSafe(self.call(tool, input, view, counted));
        call.catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(tool = tool.name(), call = %view.call, "a tool panicked");
            let text = format!(
                "{} failed by a fault inside Copydesk, which is in its log. What it was doing may be half done: look before the next step.",
                tool.name()
            );
            Err(Stopped::failed(text))
        })
    }

    async fn call(
        &self,
        tool: &Arc<dyn AnyTool>,
        input: Value,
        view: &ToolCallView,
        counted: Option<&Counted<'_>>,
    ) -> Result<commit::Done, Stopped> {
        let (sender, progress) = tokio::sync::mpsc::channel(64);
        let mut running = Running { tool, view, ticket: self.gates.enter(tool.gate()), progress };
        self.go_on()?;
        let repetition = self.repetition(counted, view)?;
        let judged = self.judge(tool, input).await;
        let is_asked = |needs: &[Need]| needs.iter().any(|need| matches!(decide(&self.deps, need), Decided::Asked(_)));
        // One question for both, where there is one anyway.
        let mut again = match &judged {
            Ok((_, resolved)) if is_asked(&resolved.needs) => repetition,
            _ => {
                self.may_go_on(counted, repetition, view).await?;
                None
            }
        };
        let (decoded, mut resolved) = judged?;
        let mut ctx = self.context(&mut resolved, &view.call, Progress(sender.clone()));
        if tool.reaches() {
            self.until_stopped(running.ticket.turn()).await?;
            let more = self.until_stopped(tool.reach(&*decoded, &ctx)).await?;
            if more.is_err() {
                self.may_go_on(counted, again.take(), view).await?;
            }
            let more = more.map_err(|error| Stopped::of(error, ctx.may_quote))?;
            if !more.is_empty() {
                let access = [tool.access(&*decoded, &self.deps.facts)?, more].concat();
                let all = access::resolve(&self.deps, access).await;
                resolved = all.map_err(|error| Stopped::failed(error.to_string()))?;
                self.refuse_denied(&resolved.needs)?;
                ctx = self.context(&mut resolved, &view.call, Progress(sender.clone()));
            }
        }

        let mut consent: Option<Preview> = None;
        let mut way = Way::default();
        let mut tries = 0;
        while tries < TRIES {
            tries += 1;
            // It knows what is decided from here on.
            ctx.view = ctx.view.recorded(self.recorder(&view.call));
            let prepared = self.prepare(&running, &*decoded, &ctx).await;
            if prepared.is_err() {
                self.may_go_on(counted, again.take(), view).await?;
            }
            let Prepared { value, preview } = prepared.map_err(|error| Stopped::of(error, ctx.may_quote))?;
            let preview = preview::shown(&preview, &resolved.paths);
            let was_asked = self.consent(view, &resolved.needs, again.as_ref(), &preview, &mut consent).await;
            if let (Some(counted), Some(_)) = (counted, &again) {
                counted.hold(was_asked.is_err());
            }
            let was_asked = was_asked?;
            let has_waited = was_asked || !running.ticket.is_next();
            self.until_stopped(running.ticket.turn()).await?;
            self.go_on()?;
            if has_waited {
                // What a command names may lead elsewhere by now (C63). Of other calls the view sees to that.
                if resolved.is_command {
                    let mut now = self.resolve(tool, &*decoded).await?;
                    if (&now.needs, &now.reach) != (&resolved.needs, &resolved.reach) {
                        self.refuse_denied(&now.needs)?;
                        ctx = self.context(&mut now, &view.call, Progress(sender.clone()));
                        (resolved, consent) = (now, None);
                        continue;
                    }
                }
                // What allowed it may have been revoked.
                if self.consent(view, &resolved.needs, None, &preview, &mut consent).await? {
                    continue;
                }
            }
            let allowed = Allowed { value, preview };
            let allowed_by = grounds(&self.deps, way.met().chain(&resolved.needs));
            match self.commit(&mut running, allowed, &ctx).await? {
                commit::Committed::Done(done) => {
                    return Ok(commit::Done { allowed_by, ..done });
                }
                commit::Committed::Moved(reason) => {
                    tracing::debug!(call = %view.call, reason, "the base moved");
                    if tries >= FORMATTED_TRIES {
                        ctx.formatting.leave_out();
                    }
                }
                commit::Committed::Leads(access) => {
                    resolved = way.next(self, resolved, access).await?;
                    ctx = self.context(&mut resolved, &view.call, Progress(sender.clone()));
                    (consent, again, tries) = (None, None, 0);
                }
            }
        }
        if resolved.is_command {
            let text = "What the command touches changes faster than it can be judged. Nothing was run.";
            return Err(Stopped::failed(text.to_owned()));
        }
        Err(Stopped::failed(
            "The file changes faster than the edit can be applied: read it again, then repeat the call.".to_owned(),
        ))
    }

    async fn judge(
        &self,
        tool: &Arc<dyn AnyTool>,
        input: Value,
    ) -> Result<(Box<dyn Any + Send + Sync>, Resolved), Stopped> {
        let decoded = tool.decode(input)?;
        let resolved = self.resolve(tool, &*decoded).await?;
        self.deps.look_at_grants().await;
        self.refuse_denied(&resolved.needs)?;
        Ok((decoded, resolved))
    }

    async fn resolve(&self, tool: &Arc<dyn AnyTool>, input: &(dyn Any + Send + Sync)) -> Result<Resolved, Stopped> {
        let access = tool.access(input, &self.deps.facts)?;
        access::resolve(&self.deps, access).await.map_err(|error| Stopped::failed(error.to_string()))
    }

    /// What fails beside calls that come first may work after them: an edit of text that an earlier call writes.
    async fn prepare(
        &self,
        running: &Running<'_>,
        input: &(dyn Any + Send + Sync),
        ctx: &ToolContext,
    ) -> Result<Prepared<Box<dyn Any + Send>>, ToolError> {
        let cancelled = |_| ToolError::Cancelled;
        let first = self.until_stopped(running.tool.prepare(input, ctx)).await.map_err(cancelled)?;
        match first {
            Err(ToolError::Tell(_) | ToolError::Quote { .. }) if !running.ticket.is_next() => {
                self.until_stopped(running.ticket.turn()).await.map_err(cancelled)?;
                self.until_stopped(running.tool.prepare(input, ctx)).await.map_err(cancelled)?
            }
            other => other,
        }
    }

    /// `Err` once the turn is over.
    fn go_on(&self) -> Result<(), Stopped> {
        if self.deps.cancel.is_cancelled() {
            return Err(Stopped::cancelled());
        }
        if self.halted.is_cancelled() {
            let text = "Not done: the user rejected another call of this step, which ended the turn.".to_owned();
            return Err(Stopped::Cancelled { text, stop: None });
        }
        Ok(())
    }

    /// Drops `work` when the turn is over.
    async fn until_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        tokio::select! {
            biased;
            () = self.deps.cancel.cancelled() => {}
            () = self.halted.cancelled() => {}
            done = work => return Ok(done),
        }
        self.go_on().and(Err(Stopped::cancelled()))
    }

    async fn end(
        &self,
        view: ToolCallView,
        input: Value,
        ended: Result<commit::Done, Stopped>,
        counted: Option<Counted<'_>>,
    ) -> CallOutcome {
        let title = view.title.clone();
        let (mut result, media, locations, stop) = match ended {
            Ok(done) => {
                let status = ToolStatus::Completed;
                let commit::Done { text, diffs, media, seen, instructions, metadata, locations, allowed_by } = done;
                let parts = media.iter().map(Media::part).collect();
                let result =
                    ToolResult { status, text, title, diffs, media: parts, seen, instructions, metadata, allowed_by };
                (result, media, locations, None)
            }
            Err(stopped) => {
                let (status, text, seen, stop) = stopped.into_parts();
                let text = self.capped(text).await;
                let metadata = Value::Null;
                let (diffs, media, instructions, allowed_by) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
                let result = ToolResult { status, text, title, diffs, media, seen, instructions, metadata, allowed_by };
                (result, Vec::new(), Vec::new(), stop)
            }
        };
        if let Some(notice) = counted.and_then(|counted| counted.end(&result, &self.deps.facts)) {
            result.text = format!("{}\n\n{notice}", result.text.trim_end());
        }
        self.deps.seen.record(&result.seen);
        self.deps.instructions.settle(view.call.as_str(), &result.instructions);
        let view = ToolCallView {
            state: ToolCallState::Ended(result.status),
            text: result.text.clone(),
            diffs: result.diffs.clone(),
            media,
            locations,
            allowed_by: result.allowed_by.clone(),
            ..view
        };
        CallOutcome { input, result, view, stop }
    }

    async fn capped(&self, text: String) -> String {
        let ports = &self.deps.ports;
        output::cap(text, &self.deps.facts, &ports.files, &*ports.ids).await
    }

    async fn tell(&self, view: ToolCallView) {
        self.deps.connection.client.update(self.deps.session.clone(), SessionEvent::ToolCallUpdate(view)).await;
    }
}

#[cfg(test)]
#[path = "runner/guards_tests.rs"]
mod guards_tests;

#[cfg(test)]
#[path = "runner/races_tests.rs"]
mod races_tests;

#[cfg(test)]
#[path = "runner/shown_tests.rs"]
mod shown_tests;

#[cfg(test)]
#[path = "runner_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
