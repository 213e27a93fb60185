//! One reply of the model, as it streams: text goes to the client at once, calls are announced, and all of it is kept for later. It stores nothing and runs
//! nothing.

use std::collections::BTreeMap;

use futures::StreamExt;
use serde_json::{Value, json};

use super::shown::{Showing, Shown};
use super::{Run, partial};
use crate::event::{SessionEvent, ToolCallState, ToolCallView};
use crate::ids::{CallId, MessageId, PartId};
use crate::message::{Entry, Finish, ToolStatus, Usage};
use crate::ports::{ModelError, ModelEvent, ModelRequest};
use crate::runner::Call;
use crate::tools::batch::{BATCH, Inner, inner_calls};

/// Arguments longer than this many bytes are no longer looked into while they stream: the title stands by then.
const PROGRESS_LIMIT: usize = 4096;

/// What came.
pub(super) struct Reply {
    /// To be stored, in order.
    pub(super) entries: Vec<Entry>,
    /// What the client has of this answer.
    pub(super) shown: Shown,
    pub(super) calls: Vec<Call>,
    pub(super) usage: Option<Usage>,
    pub(super) end: ReplyEnd,
}

pub(super) enum ReplyEnd {
    Finished(Finish),
    /// The turn was cancelled.
    Cancelled,
    Failed(ModelError),
    /// It failed in a way that passes, and the turn has used up what another try would need; the text for the user.
    Spent(String),
}

/// A part of the reply that is still growing.
enum Open {
    Text(String),
    Reasoning { text: String, signature: Option<String> },
}

/// A call that the client knows of and that is not complete.
struct Announced {
    id: CallId,
    name: String,
    arguments: String,
    title: String,
}

struct Receiver<'a> {
    run: &'a Run,
    message: MessageId,
    entries: Vec<Entry>,
    showing: Showing,
    open: Option<Open>,
    /// By the provider's slot.
    announced: BTreeMap<usize, Announced>,
    calls: Vec<Call>,
    usage: Option<Usage>,
    /// Whether calls of `batch` are made of calls.
    has_batch: bool,
}

impl Reply {
    /// Sends the request and takes the answer in, up to its end or to the end of the turn. `before` is what the client has of the same answer.
    pub(super) async fn receive(run: &Run, message: MessageId, request: ModelRequest, before: Shown) -> Self {
        let has_batch = request.tools.iter().any(|tool| tool.name == BATCH);
        let mut receiver = Receiver {
            run,
            message,
            entries: Vec::new(),
            showing: Showing::after(before),
            open: None,
            announced: BTreeMap::new(),
            calls: Vec::new(),
            usage: None,
            has_batch,
        };
        let end = receiver.stream(request).await;
        if matches!(end, ReplyEnd::Finished(_)) {
            receiver.settle().await;
        }
        receiver.close_part();
        let cut = matches!(end, ReplyEnd::Finished(Finish::Length));
        for (_, announced) in std::mem::take(&mut receiver.announced) {
            if cut {
                // So that its result can tell the model what happened to it.
                receiver.keep_call(announced.id, None, announced.name, announced.arguments, true).await;
            } else {
                receiver.withdraw(announced).await;
            }
        }
        let shown = receiver.showing.into_shown();
        Self { entries: receiver.entries, shown, calls: receiver.calls, usage: receiver.usage, end }
    }

    /// For a reply that is not gone on with: its calls will never have a result.
    pub(super) fn withdraw_calls(&mut self) {
        self.calls.clear();
        self.entries.retain(|entry| !matches!(entry, Entry::ToolCall { .. }));
    }
}

impl Receiver<'_> {
    async fn stream(&mut self, request: ModelRequest) -> ReplyEnd {
        let cancel = &self.run.cancel;
        if cancel.is_cancelled() {
            return ReplyEnd::Cancelled;
        }
        let mut stream = self.run.context.ports.model.stream(request);
        loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled() => return ReplyEnd::Cancelled,
                event = stream.next() => event,
            };
            match event {
                Some(Ok(ModelEvent::Finish(reason))) => return ReplyEnd::Finished(reason),
                Some(Ok(event)) => self.take(event).await,
                Some(Err(error)) => return ReplyEnd::Failed(error),
                // What came decides.
                None => return ReplyEnd::Finished(Finish::Stop),
            }
        }
    }

    async fn take(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Text(delta) => self.text(delta).await,
            ModelEvent::Reasoning { text, signature } => self.reasoning(text, signature).await,
            ModelEvent::CallProgress { slot, name, arguments } => self.progress(slot, name, arguments).await,
            ModelEvent::Call { slot, provider_id, name, arguments } => {
                self.close_part();
                let known = self.announced.remove(&slot);
                let is_new = known.is_none();
                let id = known.map_or_else(|| CallId::next(&*self.run.context.ports.ids), |announced| announced.id);
                let batch = (name.clone(), arguments.clone());
                self.keep_call(id, provider_id, name, arguments, !is_new).await;
                self.keep_inner_calls(&batch.0, &batch.1).await;
            }
            ModelEvent::Usage(usage) => self.usage = Some(usage),
            ModelEvent::Finish(_) => {}
        }
    }

    async fn text(&mut self, delta: String) {
        if delta.is_empty() {
            return;
        }
        match &mut self.open {
            Some(Open::Text(text)) => text.push_str(&delta),
            _ => {
                self.close_part();
                self.open = Some(Open::Text(delta.clone()));
            }
        }
        if let Some(delta) = self.showing.text.push(delta) {
            self.tell_text(delta).await;
        }
    }

    /// The answer is whole.
    async fn settle(&mut self) {
        if let Some(delta) = self.showing.reasoning.settle() {
            self.tell_reasoning(delta).await;
        }
        if let Some(delta) = self.showing.text.settle() {
            self.tell_text(delta).await;
        }
    }

    async fn tell_text(&self, delta: String) {
        self.run.context.emit(SessionEvent::Text { message: self.message.clone(), delta }).await;
    }

    async fn tell_reasoning(&self, delta: String) {
        self.run.context.emit(SessionEvent::Reasoning { message: self.message.clone(), delta }).await;
    }

    async fn reasoning(&mut self, delta: String, signed: Option<String>) {
        match &mut self.open {
            // A signature covers what came before it: what comes after it is another part.
            Some(Open::Reasoning { text, signature }) if signature.is_none() => {
                text.push_str(&delta);
                *signature = signed;
            }
            _ => {
                self.close_part();
                self.open = Some(Open::Reasoning { text: delta.clone(), signature: signed });
            }
        }
        if delta.is_empty() {
            return;
        }
        if let Some(delta) = self.showing.reasoning.push(delta) {
            self.tell_reasoning(delta).await;
        }
    }

    /// Announces the call at its first sign, and tells of it again when its title has changed.
    async fn progress(&mut self, slot: usize, name: String, arguments: String) {
        if name.is_empty() {
            return;
        }
        let context = &self.run.context;
        let known = self.announced.get(&slot);
        if known.is_some() && arguments.len() > PROGRESS_LIMIT {
            if let Some(announced) = self.announced.get_mut(&slot) {
                announced.arguments = arguments;
            }
            return;
        }
        let input = partial::parse(&arguments);
        let title = context.registry.title(&name, &input, &context.facts);
        let is_told = known.is_some_and(|announced| announced.title == title);
        let is_new = known.is_none();
        let id = known.map_or_else(|| CallId::next(&*context.ports.ids), |announced| announced.id.clone());
        let view = self.view(&id, &name, title.clone(), input);
        self.announced.insert(slot, Announced { id, name, arguments, title });
        if is_new {
            self.run.context.emit(SessionEvent::ToolCall(view)).await;
        } else if !is_told {
            self.run.context.emit(SessionEvent::ToolCallUpdate(view)).await;
        }
    }

    async fn keep_call(
        &mut self,
        id: CallId,
        provider_id: Option<String>,
        name: String,
        arguments: String,
        is_announced: bool,
    ) {
        let context = &self.run.context;
        let input = parse_arguments(&arguments);
        let entry = Entry::ToolCall {
            message: self.message.clone(),
            call: id.clone(),
            provider_id,
            name: name.clone(),
            input: input.clone(),
        };
        self.entries.push(entry);
        let title = context.registry.title(&name, &input, &context.facts);
        let view = self.view(&id, &name, title, input);
        let event = if is_announced { SessionEvent::ToolCallUpdate(view) } else { SessionEvent::ToolCall(view) };
        context.emit(event).await;
        self.calls.push(Call { id, name, arguments });
    }

    /// The calls in a batch, each as a call of its own.
    async fn keep_inner_calls(&mut self, name: &str, arguments: &str) {
        if !self.has_batch || !name.eq_ignore_ascii_case(BATCH) {
            return;
        }
        for Inner { tool, parameters } in inner_calls(arguments) {
            let id = CallId::next(&*self.run.context.ports.ids);
            self.keep_call(id, None, tool, Value::Object(parameters).to_string(), false).await;
        }
    }

    /// A call of which only a beginning came: it is not stored, and the client must not show it for ever.
    async fn withdraw(&self, announced: Announced) {
        let Announced { id, name, arguments, title } = announced;
        let view = self.view(&id, &name, title, partial::parse(&arguments));
        let view = ToolCallView { state: ToolCallState::Ended(ToolStatus::Cancelled), ..view };
        self.run.context.emit(SessionEvent::ToolCallUpdate(view)).await;
    }

    fn view(&self, id: &CallId, name: &str, title: String, input: Value) -> ToolCallView {
        ToolCallView {
            call: id.clone(),
            name: name.to_owned(),
            kind: self.run.context.registry.kind(name, &input),
            title,
            state: ToolCallState::Pending,
            input,
            text: String::new(),
            diffs: Vec::new(),
            media: Vec::new(),
            locations: Vec::new(),
            allowed_by: Vec::new(),
        }
    }

    fn close_part(&mut self) {
        let message = self.message.clone();
        let part = || PartId::next(&*self.run.context.ports.ids);
        self.entries.extend(match self.open.take() {
            Some(Open::Text(text)) => Some(Entry::Text { message, part: part(), text }),
            Some(Open::Reasoning { text, signature }) => {
                Some(Entry::Reasoning { message, part: part(), text, signature })
            }
            None => None,
        });
    }
}

/// As JSON where they parse, else as the text that came; nothing, blanks and `null` are no arguments (C79).
fn parse_arguments(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Null) => json!({}),
        Ok(value) => value,
        Err(_) if arguments.trim().is_empty() => json!({}),
        Err(_) => Value::String(arguments.to_owned()),
    }
}
