//! Asking the user for all that one call needs, once: the options, what their answers mean, and identical asks that wait for one answer (R9.5).

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{Shared, WeakShared};
use serde_json::Value;

use super::RunnerDeps;
use super::access::Need;
use super::decide::{Decided, decide};
use super::preview;
use crate::event::{SessionEvent, Severity};
use crate::ids::{AskId, CallId};
use crate::permission::Grant;
use crate::ports::{Ask, AskOption, AskOutcome, BoxFuture, OptionKind, Preview};

type Answer = Shared<BoxFuture<'static, AskOutcome>>;

/// Asks that wait for the user.
#[derive(Default)]
pub(super) struct Asks {
    waiting: Mutex<Vec<Waiting>>,
}

struct Waiting {
    needs: Vec<Need>,
    /// What the user is shown where there is no preview.
    input: Value,
    preview: Preview,
    answer: WeakShared<BoxFuture<'static, AskOutcome>>,
    options: Arc<Options>,
}

/// Ids of the options that were offered.
struct Options {
    once: String,
    /// Where all that is asked can be allowed for good.
    lasting: Option<Lasting>,
    reject: String,
}

struct Lasting {
    session: String,
    project: String,
}

/// What is asked, and for which call.
pub(super) struct Question<'a> {
    pub(super) call: &'a CallId,
    pub(super) title: &'a str,
    pub(super) input: &'a Value,
    pub(super) preview: Preview,
    /// Each with the reason why it is asked.
    pub(super) needs: Vec<(Need, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    Allowed,
    Rejected,
    RejectedWith(String),
    /// The client ended the turn.
    Cancelled,
    Undeliverable(String),
    /// Not an option of this ask.
    Unknown,
}

impl Asks {
    /// Resolves early where an answer to another ask allows this one too. Dropping it withdraws the ask, unless an identical one waits for it.
    pub(super) async fn ask(&self, deps: &RunnerDeps, question: Question<'_>) -> Reply {
        let needs: Vec<Need> = question.needs.iter().map(|(need, _)| need.clone()).collect();
        let (mut grants, mut kept) = (deps.grants.watch(), deps.grants.watch_kept());
        let (answer, options) = self.join(deps, question, &needs);
        let granted = async {
            loop {
                let moved = tokio::select! {
                    moved = grants.changed() => moved,
                    moved = kept.changed() => {
                        deps.look_at_grants().await;
                        moved
                    }
                };
                if moved.is_err() {
                    return std::future::pending().await;
                }
                if needs.iter().all(|need| decide(deps, need) == Decided::Allowed) {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            outcome = answer => options.reply(outcome, deps, &needs).await,
            () = granted => Reply::Allowed,
        }
    }

    fn join(&self, deps: &RunnerDeps, question: Question<'_>, needs: &[Need]) -> (Answer, Arc<Options>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|waiting| waiting.answer.upgrade().is_some_and(|answer| answer.peek().is_none()));
        let same = waiting.iter().find(|waiting| {
            let is_shown = waiting.preview != Preview::Nothing || waiting.input == *question.input;
            waiting.needs == needs && waiting.preview == question.preview && is_shown
        });
        if let Some((answer, same)) = same.and_then(|same| Some((same.answer.upgrade()?, same))) {
            return (answer, Arc::clone(&same.options));
        }
        let (preview, input) = (question.preview.clone(), question.input.clone());
        let (ask, options) = compose(deps, question);
        let (client, session) = (Arc::clone(&deps.connection.client), deps.session.clone());
        let answer: BoxFuture<'static, AskOutcome> = Box::pin(async move { client.ask(session, ask).await });
        let answer = answer.shared();
        let options = Arc::new(options);
        if let Some(weak) = answer.downgrade() {
            let needs = needs.to_vec();
            waiting.push(Waiting { needs, input, preview, answer: weak, options: Arc::clone(&options) });
        }
        (answer, options)
    }
}

impl Options {
    async fn reply(&self, outcome: AskOutcome, deps: &RunnerDeps, needs: &[Need]) -> Reply {
        let (option, message) = match outcome {
            AskOutcome::Cancelled => return Reply::Cancelled,
            AskOutcome::Undeliverable { reason } => return Reply::Undeliverable(reason),
            AskOutcome::Selected { option, message } => (option, message),
        };
        match &self.lasting {
            _ if option == self.once => Reply::Allowed,
            _ if option == self.reject => match message {
                Some(message) if !message.trim().is_empty() => Reply::RejectedWith(message),
                Some(_) | None => Reply::Rejected,
            },
            Some(lasting) if option == lasting.session => {
                deps.grants.add(&*deps.ports.ids, granted(deps, needs));
                deps.connection.client.update(deps.session.clone(), SessionEvent::Granted).await;
                Reply::Allowed
            }
            Some(lasting) if option == lasting.project => {
                keep(deps, granted(deps, needs)).await;
                deps.connection.client.update(deps.session.clone(), SessionEvent::Granted).await;
                Reply::Allowed
            }
            Some(_) | None => Reply::Unknown,
        }
    }
}

fn granted(deps: &RunnerDeps, needs: &[Need]) -> Vec<Grant> {
    needs.iter().flat_map(|need| need.grants(&deps.agent.name)).collect()
}

/// What cannot be kept holds for the session, which is part of what the user said.
async fn keep(deps: &RunnerDeps, grants: Vec<Grant>) {
    let (ids, now) = (&*deps.ports.ids, deps.ports.clock.now());
    if let Err(error) = deps.grants.keep(ids, now, grants.clone()).await {
        deps.grants.add(ids, grants);
        deps.notify(Severity::Warning, format!("What you allowed holds for this session alone: {error}")).await;
    }
}

/// A grant for everything that the user does is not offered: the list would be longer than one can oversee, for what is rarely meant.
/// `copydesk permissions allow` gives it.
fn compose(deps: &RunnerDeps, question: Question<'_>) -> (Ask, Options) {
    let ids = &*deps.ports.ids;
    let always: Option<Vec<&str>> = question.needs.iter().map(|(need, _)| need.always.as_deref()).collect();
    let (once, reject) = (ids.next("opt"), ids.next("opt"));
    let lasting = always.is_some().then(|| Lasting { session: ids.next("opt"), project: ids.next("opt") });
    let option = |id: &String, label: String, kind| AskOption { id: id.clone(), label, kind };
    let warning = preview::warning(&question.preview);
    let reasons = question.needs.iter().map(|(_, reason)| reason.as_str()).chain(warning.as_deref()).collect();
    let mut offered = vec![option(&once, "Allow once".to_owned(), OptionKind::AllowOnce)];
    if let (Some(lasting), Some(always)) = (&lasting, always) {
        let what = format!("{} (agent {})", distinct(always), deps.agent.name);
        offered.push(option(&lasting.session, format!("Allow for this session: {what}"), OptionKind::AllowAlways));
        offered.push(option(&lasting.project, format!("Allow in this project: {what}"), OptionKind::AllowInProject));
    }
    offered.push(option(&reject, "Reject".to_owned(), OptionKind::RejectOnce));
    let ask = Ask {
        id: AskId::next(ids),
        call: question.call.clone(),
        title: question.title.to_owned(),
        reason: distinct(reasons),
        input: question.input.clone(),
        preview: question.preview,
        options: offered,
    };
    (ask, Options { once, lasting, reject })
}

/// Each once, in their order.
fn distinct(parts: Vec<&str>) -> String {
    let mut known: Vec<&str> = Vec::new();
    for part in parts {
        if !known.contains(&part) {
            known.push(part);
        }
    }
    known.join("; ")
}
