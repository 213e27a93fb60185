//! The run loop: asks the model, runs its calls, feeds the results back, and ends by what the reply holds. One run is one turn; prompts that come
//! meanwhile are part of its next step.

mod calls;
mod limits;
mod partial;
mod refused;
mod reply;
mod retry;
mod shown;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::config::ConfiguredModel;
use crate::cost;
use crate::event::SessionEvent;
use crate::history::{self, Sight};
use crate::ids::MessageId;
use crate::message::{Entry, Finish, ModelRef, TurnEnd, Usage};
use crate::plan::plan_file;
use crate::ports::{Content, ModelError, ModelErrorKind, ModelMessage, ModelRequest, StoreError, push_text};
use crate::prompt::{self, Surroundings};
use crate::registry::{Offered, Situation};
use crate::runner::Repeats;
use crate::session::Context;
use crate::view::LargeText;

pub use limits::{TurnLimits, TurnSpent};
pub(crate) use refused::MediaVerdicts;
use reply::{Reply, ReplyEnd};
use shown::Shown;

/// How long the calls of a cancelled turn may take to end what they own.
pub(crate) const WIND_DOWN: Duration = Duration::from_secs(2);

/// Model requests a turn, where the agent sets none (R13.3): more than any task in the reports behind the requirements took, few enough to stop a loop.
pub const DEFAULT_STEPS: u32 = 100;

/// Replies in a row whose calls were cut by the output limit, before the turn ends.
const CUT_LIMIT: u32 = 3;

/// The texts for calls that are not run.
const CUT: &str = "This call was not run, and nothing was changed: the output limit cut the reply off before the call was complete. Do the work in parts: write a short first piece of the file, then add to it with edits, one call a reply.";
const BROKEN_OFF: &str = "This call was not run: the connection to the model broke off in the middle of the reply.";
const NO_MORE_STEPS: &str = "This call was not run: the limit of steps for this turn is reached.";
const NO_MORE: &str = "This call was not run: the turn has reached a limit that the user set.";
const FILTERED: &str = "This call was not run: the provider's content filter stopped the reply.";

pub(crate) struct Run {
    context: Arc<Context>,
    /// The message of its first prompt.
    turn: MessageId,
    cancel: CancellationToken,
    repeats: Arc<Repeats>,
    large: Arc<LargeText>,
}

pub(crate) struct RunEnd {
    pub(crate) end: TurnEnd,
    /// The entries before this index were in the last request, or will never be.
    pub(crate) consumed: usize,
}

/// What a reply leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Next {
    RunCalls,
    /// The calls are incomplete.
    Cut,
    End(TurnEnd),
}

impl Run {
    pub(crate) fn new(context: Arc<Context>, turn: MessageId, cancel: CancellationToken) -> Self {
        Self { context, turn, cancel, repeats: Arc::default(), large: Arc::default() }
    }

    pub(crate) async fn run(self) -> RunEnd {
        let mut consumed = self.context.journal.len();
        let jobs = &self.context.jobs;
        jobs.begin_turn();
        let ended = {
            let mut steps = std::pin::pin!(self.steps(&mut consumed));
            tokio::select! {
                biased;
                ended = &mut steps => ended,
                () = self.cancel.cancelled() => {
                    jobs.cancel_turn();
                    steps.await
                }
            }
        };
        let mut end = match ended {
            Ok(end) => end,
            Err(error) => TurnEnd::Failed { message: error.to_string() },
        };
        if self.cancel.is_cancelled() {
            end = TurnEnd::Cancelled;
            jobs.cancel_turn();
            if tokio::time::timeout(WIND_DOWN, jobs.turn_is_gone()).await.is_err() {
                tracing::warn!("a background job of a cancelled turn did not end in time");
            }
        }
        let entry = Entry::TurnEnded { at: self.context.ports.clock.now(), reason: end.clone() };
        if let Err(error) = self.context.journal.append(vec![entry]).await {
            tracing::error!(%error, "the end of a turn was not stored");
        }
        self.context.end_open_calls().await;
        RunEnd { end, consumed }
    }

    /// Each round is one model request with the calls that it leads to.
    async fn steps(&self, consumed: &mut usize) -> Result<TurnEnd, StoreError> {
        self.context.settle_trust(&self.cancel).await;
        let surroundings = self.surroundings().await;
        let mut held = BTreeMap::new();
        let mut cut_replies = 0;
        let mut spent = TurnSpent::of(self.context.config().limits);
        for step in 1_u32.. {
            if self.cancel.is_cancelled() {
                return Ok(TurnEnd::Cancelled);
            }
            let agent = Arc::new(self.context.agent());
            let model = match self.context.model_to_ask(&agent).await {
                Ok(model) => model,
                Err(message) => return Ok(TurnEnd::Failed { message }),
            };
            if spent.limits.cost.is_some() && model.prices.is_none() {
                let text = format!("`limits.cost` does not hold for {}: its configuration has no prices.", model.model);
                self.context.warn(vec![text]).await;
            }
            if let Err(message) = spent.may_go_on() {
                return Ok(TurnEnd::Limit { message });
            }
            let is_last = step >= agent.steps.unwrap_or(DEFAULT_STEPS).max(1);
            let message = MessageId::next(&*self.context.ports.ids);
            let started = Entry::StepStarted {
                message: message.clone(),
                at: self.context.ports.clock.now(),
                agent: agent.name.clone(),
                model: model.model.clone(),
            };
            let mut new = self.told();
            let told = new.len();
            new.push(started);
            *consumed = self.context.journal.append(new).await? + told;
            let takes = model.takes;
            let named = self.context.journal.read(|entries| history::named_media(&entries[..*consumed], takes));
            self.context.journal.fetch_media(named, &mut held).await;
            let offered =
                if is_last { Offered::default() } else { self.offered(&surroundings, &agent, &model.sent_as) };
            let request_now = || {
                let refused = self.context.verdicts.refused_by(&model.sent_as);
                let sight = Sight { takes, held: &held, refused: &refused };
                let request = self.request(&surroundings, &agent, &model, *consumed, sight, &offered);
                if is_last { with_last_word(request) } else { request }
            };
            let mut request = request_now();
            let mut reply = self.ask(&message, &request, &model, &mut spent).await?;
            let refused = self.context.verdicts.note(&request, &reply.end);
            // Of one that the client has something of, the rest is told as a failure; what comes next goes without the files.
            if refused > 0 && reply.shown.is_nothing() && reply.calls.is_empty() {
                self.context.warn(vec![refused_notice(refused)]).await;
                self.pay_for_try(&message, &mut reply, &model, &mut spent, "it was refused with its files").await?;
                if let Err(message) = spent.may_go_on() {
                    return Ok(TurnEnd::Limit { message });
                }
                request = request_now();
                reply = self.ask(&message, &request, &model, &mut spent).await?;
                self.context.verdicts.note(&request, &reply.end);
            }
            let next = match &reply.end {
                ReplyEnd::Cancelled => Next::End(TurnEnd::Cancelled),
                ReplyEnd::Failed(error) => Next::End(TurnEnd::Failed { message: failure(error, &request) }),
                ReplyEnd::Spent(message) => Next::End(TurnEnd::Limit { message: message.clone() }),
                ReplyEnd::Finished(reason) => next(reason, !reply.calls.is_empty()),
            };
            spent.add_request(reply.usage, model.prices);
            let too_many = match &next {
                Next::RunCalls if !is_last => spent.add_calls(reply.calls.len()).err(),
                _ => None,
            };
            self.tell_usage(reply.usage, &model, spent).await;
            cut_replies = if next == Next::Cut { cut_replies + 1 } else { 0 };
            let mut end = match &next {
                Next::RunCalls if is_last => self.refuse(&reply.calls, NO_MORE_STEPS).await?,
                Next::RunCalls if too_many.is_some() => self.refuse(&reply.calls, NO_MORE).await?,
                Next::RunCalls => self.run_calls(&agent, offered, &reply.calls).await?,
                Next::Cut => self.refuse(&reply.calls, CUT).await?,
                Next::End(TurnEnd::Cancelled) => self.interrupt(&reply.calls).await?,
                Next::End(TurnEnd::Refused) => self.refuse(&reply.calls, FILTERED).await?,
                Next::End(_) => self.refuse(&reply.calls, BROKEN_OFF).await?,
            };
            let finish = finish(&next, &reply.end);
            self.end_step(message, &reply, if self.cancel.is_cancelled() { Finish::Cancelled } else { finish }).await?;
            if let Next::End(by_reply) = next
                && !(by_reply == TurnEnd::Done && self.has_new_prompt(*consumed))
            {
                end = end.or(Some(by_reply));
            }
            if let Some(message) = too_many {
                end = end.or(Some(TurnEnd::Limit { message }));
            }
            if cut_replies == CUT_LIMIT {
                end = end.or(Some(TurnEnd::MaxTokens));
            }
            match end {
                Some(TurnEnd::Done) | None if is_last => return Ok(TurnEnd::MaxSteps),
                Some(end) => return Ok(end),
                None => {}
            }
        }
        Ok(TurnEnd::MaxSteps)
    }

    /// What has happened beside the conversation since the last step.
    fn told(&self) -> Vec<Entry> {
        let at = self.context.ports.clock.now();
        self.context.jobs.take_news().into_iter().map(|text| Entry::Told { at, text }).collect()
    }

    /// The model's reply to the conversation so far, stored. One that fails in a way that passes is asked for again after a wait, by the same request: what
    /// was shown of it is not shown again, or clearly replaced (R14.5), and nothing of it is stored but what it has used up.
    async fn ask(
        &self,
        message: &MessageId,
        request: &ModelRequest,
        model: &ConfiguredModel,
        spent: &mut TurnSpent,
    ) -> Result<Reply, StoreError> {
        let mut attempt = 0;
        let mut shown = Shown::default();
        let of = request.provider.max_retries;
        loop {
            let mut request = request.clone();
            request.provider = retry::patience(&request.provider, attempt);
            let mut reply = Reply::receive(self, message.clone(), request, shown).await;
            let retry = match &reply.end {
                ReplyEnd::Failed(error) => {
                    let jitter = retry::jitter(message.as_str(), attempt);
                    retry::decide(error, attempt + 1, of, jitter)
                }
                ReplyEnd::Finished(_) | ReplyEnd::Cancelled | ReplyEnd::Spent(_) => None,
            };
            let may_go_on = spent.with_request(reply.usage, model.prices).may_go_on();
            if let (Some(_), Err(message)) = (&retry, may_go_on) {
                reply.end = ReplyEnd::Spent(message);
                self.context.journal.append(std::mem::take(&mut reply.entries)).await?;
                return Ok(reply);
            }
            let Some(retry) = retry else {
                self.context.journal.append(std::mem::take(&mut reply.entries)).await?;
                return Ok(reply);
            };
            tracing::info!(attempt = retry.attempt, wait = ?retry.wait, reason = retry.reason, "asking the model again");
            attempt = retry.attempt;
            let wait = retry.wait;
            reply.withdraw_calls();
            self.context.end_open_calls().await;
            self.pay_for_try(message, &mut reply, model, spent, &retry.reason).await?;
            self.context.emit(SessionEvent::Retry(retry)).await;
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => {
                    self.context.journal.append(std::mem::take(&mut reply.entries)).await?;
                    return Ok(Reply { end: ReplyEnd::Cancelled, ..reply });
                }
                () = tokio::time::sleep(wait) => {}
            }
            shown = reply.shown;
        }
    }

    /// What a try has used up that is not the last counts, is told and stored.
    async fn pay_for_try(
        &self,
        message: &MessageId,
        reply: &mut Reply,
        model: &ConfiguredModel,
        spent: &mut TurnSpent,
        why: &str,
    ) -> Result<(), StoreError> {
        let Some(usage) = reply.usage.take() else { return Ok(()) };
        spent.add_request(Some(usage), model.prices);
        self.tell_usage(Some(usage), model, *spent).await;
        self.end_try(message, usage, why).await
    }

    /// Stores a try that is not the last: a step of its own, of which nothing came.
    async fn end_try(&self, message: &MessageId, usage: Usage, why: &str) -> Result<(), StoreError> {
        let at = self.context.ports.clock.now();
        let started = self.context.journal.read(|entries| {
            entries
                .iter()
                .rfind(|entry| matches!(entry, Entry::StepStarted { message: of, .. } if of == message))
                .cloned()
        });
        let finish = Finish::Failed { message: why.to_owned() };
        let ended = Entry::StepEnded { message: message.clone(), at, usage, finish };
        self.context.journal.append([ended].into_iter().chain(started).collect()).await?;
        Ok(())
    }

    async fn end_step(&self, message: MessageId, reply: &Reply, finish: Finish) -> Result<(), StoreError> {
        let at = self.context.ports.clock.now();
        let ended = Entry::StepEnded { message, at, usage: reply.usage.unwrap_or_default(), finish };
        self.context.journal.append(vec![ended]).await?;
        Ok(())
    }

    async fn tell_usage(&self, usage: Option<Usage>, model: &ConfiguredModel, spent: TurnSpent) {
        let Some(usage) = usage else { return };
        let prices = |wanted: &ModelRef| self.context.config().model(wanted)?.prices;
        let before = self.context.journal.read(|entries| cost::of_session(entries, prices));
        let cost = match model.prices {
            Some(prices) => Some(before.unwrap_or_default() + prices.of(&usage)),
            None => before,
        };
        let context = model.settings.context;
        self.context.emit(SessionEvent::Usage { usage, context, cost, turn: Some(spent) }).await;
    }

    async fn surroundings(&self) -> Surroundings {
        let Context { ports, facts, .. } = &*self.context;
        let instructions = prompt::read_instructions(ports, facts, &self.context.config()).await;
        let environment = prompt::environment(ports, facts, self.context.is_git);
        let skills = tokio::select! {
            biased;
            () = self.cancel.cancelled() => self.context.skills(),
            found = self.context.find_skills() => found,
        };
        let surroundings = Surroundings::new(environment, &instructions).with_skills(skills);
        self.context.instructions.in_system_prompt(&instructions);
        self.context.warn(instructions.problems).await;
        surroundings
    }

    /// What was stored before `end` is the conversation.
    fn request(
        &self,
        surroundings: &Surroundings,
        agent: &Agent,
        model: &ConfiguredModel,
        end: usize,
        sight: Sight<'_>,
        offered: &Offered,
    ) -> ModelRequest {
        let plan = plan_file(&self.context.id, &self.context.facts, self.context.is_git);
        let (mut messages, note) = self.context.journal.read(|entries| {
            let entries = &entries[..end];
            (
                history::conversation(entries, &model.model, sight),
                prompt::mode_note(&agent.name, entries, &plan, offered),
            )
        });
        let last_user = messages.iter_mut().rev().find_map(|message| match message {
            ModelMessage::User(content) => Some(content),
            _ => None,
        });
        if let (Some(note), Some(content)) = (note, last_user) {
            push_text(content, note.trim_end());
        }
        ModelRequest {
            model: model.sent_as.clone(),
            provider: Arc::clone(&model.provider),
            settings: model.settings_for(agent),
            system: surroundings.system(agent),
            messages,
            tools: offered.specs(&self.context.facts),
        }
    }

    fn offered(&self, surroundings: &Surroundings, agent: &Agent, model: &ModelRef) -> Offered {
        let has_user = self.context.client().can_ask();
        self.context.registry.offered(&Situation { agent, model, has_user, has_skills: surroundings.has_skills(agent) })
    }

    /// Whether the user has said something that no request held yet.
    fn has_new_prompt(&self, consumed: usize) -> bool {
        self.context.journal.read(|entries| entries[consumed..].iter().any(|entry| matches!(entry, Entry::User { .. })))
    }
}

fn refused_notice(count: usize) -> String {
    let files = if count == 1 { "a file".to_owned() } else { format!("{count} files") };
    format!(
        "The provider refused a request that showed {files} read by a tool. It was sent again without, and the model was told."
    )
}

/// Nothing can be called any more.
fn with_last_word(mut request: ModelRequest) -> ModelRequest {
    history::push_user(&mut request.messages, prompt::LAST_STEP.trim_end());
    request
}

/// For the user. A provider that refuses an image or a document refuses every further request of the session too: the way out is told.
fn failure(error: &ModelError, request: &ModelRequest) -> String {
    let shown: Vec<&Content> = request.messages.iter().flat_map(ModelMessage::content).collect();
    let what = match shown.iter().any(|piece| matches!(piece, Content::Pdf(_))) {
        true => "a document or an image",
        false => "an image",
    };
    let holds_media = shown.iter().any(|piece| !matches!(piece, Content::Text(_)));
    let refused = matches!(error.kind, ModelErrorKind::Invalid | ModelErrorKind::Overloaded { .. });
    if !(holds_media && refused) {
        return error.message.clone();
    }
    let ModelRef { provider, model } = &request.model;
    format!(
        "{} The request held {what}. If {model} takes none, say so by `\"modalities\": {{\"input\": [\"text\"]}}` at this model of the provider {provider} in the configuration and open the session again: it is then told of them in words.",
        error.message
    )
}

/// By what the reply holds (R14.3); the reason given counts only where it says that the reply is not whole.
fn next(reason: &Finish, has_calls: bool) -> Next {
    match (reason, has_calls) {
        (Finish::Length, true) => Next::Cut,
        (Finish::Length, false) => Next::End(TurnEnd::MaxTokens),
        (Finish::ContentFilter, _) => Next::End(TurnEnd::Refused),
        (Finish::Failed { message }, _) => Next::End(TurnEnd::Failed { message: message.clone() }),
        (Finish::Stop | Finish::ToolCalls | Finish::Cancelled, true) => Next::RunCalls,
        (Finish::Stop | Finish::ToolCalls | Finish::Cancelled, false) => Next::End(TurnEnd::Done),
    }
}

/// What is stored as the end of the step.
fn finish(next: &Next, end: &ReplyEnd) -> Finish {
    match (next, end) {
        (Next::RunCalls, _) => Finish::ToolCalls,
        (_, ReplyEnd::Cancelled) => Finish::Cancelled,
        (_, ReplyEnd::Failed(error)) => Finish::Failed { message: error.message.clone() },
        (_, ReplyEnd::Spent(message)) => Finish::Failed { message: message.clone() },
        (Next::End(TurnEnd::Done), ReplyEnd::Finished(_)) => Finish::Stop,
        (_, ReplyEnd::Finished(reason)) => reason.clone(),
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "run_offered_tests.rs"]
mod offered_tests;

#[cfg(test)]
#[path = "run_switch_tests.rs"]
mod switch_tests;

#[cfg(test)]
#[path = "run_limits_tests.rs"]
mod limits_tests;

#[cfg(test)]
#[path = "run_retry_tests.rs"]
mod retry_tests;
