//! Stored entries to the events of a client that is shown the session again: one event an entry at most, in their order, without look-ahead, so that they
//! can be replayed while they are read. Changes nothing, asks nobody.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::cost;
use crate::event::{SessionEvent, ToolCallState, ToolCallView};
use crate::ids::CallId;
use crate::image::Prompt;
use crate::message::{Entry, ModelRef, PromptPart, ToolResult, TurnEnd, Usage};
use crate::registry::Registry;
use crate::tool::Facts;

pub(crate) struct Replay<'a> {
    registry: &'a Registry,
    facts: &'a Facts,
    /// Calls that have no result yet, as they were told.
    calls: BTreeMap<CallId, ToolCallView>,
    model: Option<ModelRef>,
    usage: Option<Usage>,
    /// Of all steps, for their prices.
    spent: Vec<(ModelRef, Usage)>,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(registry: &'a Registry, facts: &'a Facts) -> Self {
        Self { registry, facts, calls: BTreeMap::new(), model: None, usage: None, spent: Vec::new() }
    }

    /// A prompt comes without its images.
    pub(crate) fn event(&mut self, entry: &Entry) -> Option<SessionEvent> {
        match entry {
            Entry::User { message, parts, .. } => {
                let prompt = Prompt::from(parts.clone());
                Some(SessionEvent::User { message: message.clone(), prompt })
            }
            Entry::Command { message, text, .. } => {
                let part = PromptPart::Text { text: text.clone() };
                Some(SessionEvent::User { message: message.clone(), prompt: vec![part].into() })
            }
            Entry::Text { message, text, .. } | Entry::Answer { message, text, .. } => {
                Some(SessionEvent::Text { message: message.clone(), delta: text.clone() })
            }
            // A signature alone has nothing to show.
            Entry::Reasoning { message, text, .. } => {
                (!text.is_empty()).then(|| SessionEvent::Reasoning { message: message.clone(), delta: text.clone() })
            }
            Entry::ToolCall { call, name, input, .. } => {
                let view = ToolCallView {
                    call: call.clone(),
                    name: name.clone(),
                    kind: self.registry.kind(name, input),
                    title: self.registry.title(name, input, self.facts),
                    state: ToolCallState::Pending,
                    input: input.clone(),
                    text: String::new(),
                    diffs: Vec::new(),
                    media: Vec::new(),
                    locations: Vec::new(),
                    allowed_by: Vec::new(),
                };
                self.calls.insert(call.clone(), view.clone());
                Some(SessionEvent::ToolCall(view))
            }
            // Nobody was told of a call whose own row is damaged.
            Entry::ToolResult { call, result, .. } => {
                self.calls.remove(call).map(|view| SessionEvent::ToolCallUpdate(ended(view, result)))
            }
            Entry::Todos { todos } => Some(SessionEvent::Plan(todos.clone())),
            Entry::TurnEnded { reason, .. } => match reason {
                TurnEnd::Done | TurnEnd::Rejected => None,
                TurnEnd::MaxTokens
                | TurnEnd::MaxSteps
                | TurnEnd::Limit { .. }
                | TurnEnd::Refused
                | TurnEnd::Cancelled
                | TurnEnd::Interrupted
                | TurnEnd::Failed { .. } => Some(SessionEvent::TurnEnded(reason.clone())),
            },
            Entry::StepStarted { model, .. } => {
                self.model = Some(model.clone());
                None
            }
            Entry::StepEnded { usage, .. } => {
                if *usage != Usage::default() {
                    self.usage = Some(*usage);
                    self.spent.extend(self.model.clone().map(|model| (model, *usage)));
                }
                None
            }
            // What is in force is told with the answer.
            Entry::Chosen { .. } | Entry::Told { .. } | Entry::Titled { .. } => None,
        }
    }

    /// Of the last request that has reported it.
    pub(crate) fn usage(&self, config: &Config) -> Option<SessionEvent> {
        let context = self.model.as_ref().and_then(|model| config.model(model)?.settings.context);
        let cost =
            cost::of(self.spent.iter().map(|(model, usage)| (model, usage)), |model| config.model(model)?.prices);
        self.usage.map(|usage| SessionEvent::Usage { usage, context, cost, turn: None })
    }
}

fn ended(view: ToolCallView, result: &ToolResult) -> ToolCallView {
    let changed = result.diffs.iter().map(|diff| &diff.path);
    let locations = if result.diffs.is_empty() {
        result.seen.iter().map(|seen| (seen.path.clone(), None)).collect()
    } else {
        changed.map(|path| (path.clone(), None)).collect()
    };
    ToolCallView {
        title: result.title.clone(),
        state: ToolCallState::Ended(result.status),
        text: result.text.clone(),
        diffs: result.diffs.clone(),
        locations,
        allowed_by: result.allowed_by.clone(),
        ..view
    }
}
