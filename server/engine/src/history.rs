//! Stored entries to the conversation that a model is sent. Whatever was stored, and wherever it was cut off, the result is valid for every provider
//! (R2.1). It changes nothing that is stored, and asks nobody.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use copydesk_workspace::hash::ContentHash;
use serde_json::{Value, json};

use crate::ids::{CallId, MessageId, Millis};
use crate::media::{Media, MediaType};
use crate::message::{Entry, Finish, MediaPart, ModelRef, PromptPart, ToolResult, ToolStatus, TurnEnd, Usage};
use crate::ports::{AssistantBlock, Content, ModelMessage, ResultBlock, push_text};

/// The longest name of a tool that providers take, in characters.
const NAME_LIMIT: usize = 64;

/// Stands where a conversation would begin or end with the assistant.
const GO_ON: &str = "Continue.";

/// What a call is told that has no result.
const INTERRUPTED: &str = "This call was cancelled or interrupted before it gave a result. It may have taken effect in part: check before you repeat it.";

const NO_OUTPUT: &str = "(no output)";

/// What a model takes beside text; of the rest it is told in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takes {
    pub images: bool,
    pub documents: bool,
}

impl Takes {
    fn kind(self, kind: MediaType) -> bool {
        match kind {
            MediaType::Image(_) => self.images,
            MediaType::Pdf => self.documents,
        }
    }
}

/// What the images and documents that a conversation names are sent as.
#[derive(Debug, Clone, Copy)]
pub struct Sight<'a> {
    pub takes: Takes,
    /// By their bytes. One that is missing was lost, and the model is told so.
    pub held: &'a BTreeMap<ContentHash, Media>,
    /// Those of results that the provider refuses.
    pub refused: &'a BTreeSet<ContentHash>,
}

/// The images and documents that the entries name and a model takes, each once.
pub fn named_media(entries: &[Entry], takes: Takes) -> BTreeSet<ContentHash> {
    let mut named = BTreeSet::new();
    for entry in entries {
        match entry {
            Entry::User { parts, .. } if takes.images => named.extend(parts.iter().filter_map(|part| match part {
                PromptPart::Image { hash, .. } => Some(*hash),
                PromptPart::Text { .. } | PromptPart::Link { .. } | PromptPart::Resource { .. } => None,
            })),
            Entry::ToolResult { result, .. } => {
                named.extend(result.media.iter().filter(|part| takes.kind(part.kind)).map(|part| part.hash));
            }
            _ => {}
        }
    }
    named
}

/// The conversation as the model in use may be sent it. Signatures of another model's reasoning are left out: providers refuse them.
///
/// The same entries and images always give the same messages, and more entries only add to them, as long as the last of them is not the assistant's.
pub fn conversation(entries: &[Entry], model: &ModelRef, sight: Sight<'_>) -> Vec<ModelMessage> {
    let mut results = results_by_call(entries);
    let mut ids = BTreeSet::new();
    let mut messages = Vec::new();
    for item in items(entries) {
        match item {
            Item::User(parts) => {
                for part in parts {
                    match user_content(part, sight) {
                        Content::Text(text) => push_user(&mut messages, &text),
                        shown @ (Content::Image(_) | Content::Pdf(_)) => push_content(&mut messages, shown),
                    }
                }
            }
            Item::Told(text) => {
                push_user(&mut messages, &format!("<system-reminder>\n{}\n</system-reminder>", text.trim_end()));
            }
            Item::Step(step) => push_step(&mut messages, step, model, &mut results, &mut ids, sight),
        }
    }
    if !matches!(messages.first(), Some(ModelMessage::User(_))) {
        messages.insert(0, ModelMessage::user(GO_ON));
    }
    if matches!(messages.last(), Some(ModelMessage::Assistant(_))) {
        messages.push(ModelMessage::user(GO_ON));
    }
    messages
}

/// Adds to the user's side at the end of the conversation, e.g. a note of this request alone.
pub fn push_user(messages: &mut Vec<ModelMessage>, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(ModelMessage::User(last)) => push_text(last, text),
        _ => messages.push(ModelMessage::user(text)),
    }
}

/// What ends a turn that the daemon did not see the end of (R12.4): a result for each call without one, then the ends of step and turn. Empty where
/// nothing is open.
pub fn close_interrupted(entries: &[Entry], at: Millis) -> Vec<Entry> {
    let mut open_step: Option<&MessageId> = None;
    let mut open_turn = false;
    let mut unanswered: Vec<&CallId> = Vec::new();
    for entry in entries {
        match entry {
            Entry::User { .. } => open_turn = true,
            Entry::StepStarted { message, .. } => {
                open_step = Some(message);
                open_turn = true;
            }
            Entry::ToolCall { call, .. } => unanswered.push(call),
            Entry::ToolResult { call, .. } => unanswered.retain(|id| *id != call),
            Entry::StepEnded { .. } => open_step = None,
            Entry::TurnEnded { .. } => open_turn = false,
            Entry::Text { .. }
            | Entry::Reasoning { .. }
            | Entry::Chosen { .. }
            | Entry::Todos { .. }
            | Entry::Told { .. }
            | Entry::Titled { .. }
            | Entry::Command { .. }
            | Entry::Answer { .. } => {}
        }
    }
    let result = |call: &CallId| Entry::ToolResult { call: call.clone(), at, result: interrupted_result() };
    let mut closing: Vec<Entry> = unanswered.into_iter().map(result).collect();
    if let Some(message) = open_step {
        closing.push(Entry::StepEnded {
            message: message.clone(),
            at,
            usage: Usage::default(),
            finish: Finish::Cancelled,
        });
    }
    if open_turn {
        closing.push(Entry::TurnEnded { at, reason: TurnEnd::Interrupted });
    }
    closing
}

/// The result of a call that gave none.
pub fn interrupted_result() -> ToolResult {
    ToolResult {
        status: ToolStatus::Cancelled,
        text: INTERRUPTED.to_owned(),
        title: "Cancelled".to_owned(),
        diffs: Vec::new(),
        media: Vec::new(),
        seen: Vec::new(),
        instructions: Vec::new(),
        metadata: Value::Null,
        allowed_by: Vec::new(),
    }
}

enum Item<'a> {
    User(&'a [PromptPart]),
    Told(&'a str),
    Step(Step<'a>),
}

struct Step<'a> {
    model: Option<&'a ModelRef>,
    entries: Vec<&'a Entry>,
}

/// Users and steps in their order. What belongs to a step stands in it even where a steering prompt was stored in between.
fn items(entries: &[Entry]) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut steps: BTreeMap<&MessageId, usize> = BTreeMap::new();
    for entry in entries {
        match entry {
            Entry::User { parts, .. } => items.push(Item::User(parts)),
            Entry::Told { text, .. } => items.push(Item::Told(text)),
            Entry::StepStarted { message, model, .. } => {
                steps.insert(message, items.len());
                items.push(Item::Step(Step { model: Some(model), entries: Vec::new() }));
            }
            Entry::Text { message, .. } | Entry::Reasoning { message, .. } | Entry::ToolCall { message, .. } => {
                let index = *steps.entry(message).or_insert_with(|| {
                    // Its start was damaged and skipped (R2.5).
                    items.push(Item::Step(Step { model: None, entries: Vec::new() }));
                    items.len() - 1
                });
                if let Item::Step(step) = &mut items[index] {
                    step.entries.push(entry);
                }
            }
            Entry::ToolResult { .. }
            | Entry::StepEnded { .. }
            | Entry::TurnEnded { .. }
            | Entry::Chosen { .. }
            | Entry::Todos { .. }
            | Entry::Titled { .. }
            | Entry::Command { .. }
            | Entry::Answer { .. } => {}
        }
    }
    items
}

fn results_by_call(entries: &[Entry]) -> BTreeMap<&CallId, VecDeque<&ToolResult>> {
    let mut results = BTreeMap::<_, VecDeque<_>>::new();
    for entry in entries {
        if let Entry::ToolResult { call, result, .. } = entry {
            results.entry(call).or_default().push_back(result);
        }
    }
    results
}

fn push_step(
    messages: &mut Vec<ModelMessage>,
    step: Step<'_>,
    model: &ModelRef,
    results: &mut BTreeMap<&CallId, VecDeque<&ToolResult>>,
    ids: &mut BTreeSet<String>,
    sight: Sight<'_>,
) {
    let same_model = step.model == Some(model);
    let mut blocks = Vec::new();
    let mut answers = Vec::new();
    for entry in step.entries {
        match entry {
            Entry::Text { text, .. } if !text.trim().is_empty() => blocks.push(AssistantBlock::Text(text.clone())),
            Entry::Reasoning { text, signature, .. } => {
                let signature = signature.clone().filter(|_| same_model);
                if signature.is_some() || !text.trim().is_empty() {
                    blocks.push(AssistantBlock::Reasoning { text: text.clone(), signature });
                }
            }
            Entry::ToolCall { call, name, input, .. } => {
                let id = unique_id(call, ids);
                let result = results.get_mut(call).and_then(VecDeque::pop_front);
                blocks.push(AssistantBlock::Call { id: id.clone(), name: valid_name(name), input: object(input) });
                answers.push(answer(id, result, sight));
            }
            _ => {}
        }
    }
    // Thinking alone is no message: providers refuse it, and it was cut off.
    if blocks.iter().all(|block| matches!(block, AssistantBlock::Reasoning { .. })) {
        return;
    }
    match messages.last_mut() {
        Some(ModelMessage::Assistant(last)) => last.extend(blocks),
        _ => messages.push(ModelMessage::Assistant(blocks)),
    }
    if !answers.is_empty() {
        messages.push(ModelMessage::Results(answers));
    }
}

fn answer(id: String, result: Option<&ToolResult>, sight: Sight<'_>) -> ResultBlock {
    let Some(result) = result else { return ResultBlock::text(id, INTERRUPTED, true) };
    let text = if result.text.trim().is_empty() { NO_OUTPUT } else { &result.text };
    let mut answer = ResultBlock::text(id, text, result.status != ToolStatus::Completed);
    let (shown, told): (Vec<_>, Vec<_>) =
        result.media.iter().map(|part| result_media(part, sight)).partition(Result::is_ok);
    for note in told.into_iter().filter_map(Result::err) {
        push_text(&mut answer.content, &note);
    }
    if !answer.is_error {
        answer.content.extend(shown.into_iter().flatten());
    }
    answer
}

/// `Err` with what the model is told instead.
fn result_media(part: &MediaPart, sight: Sight<'_>) -> Result<Content, String> {
    let what = match part.kind {
        MediaType::Image(kind) => format!("image ({}, {} bytes)", kind.mime(), part.size),
        MediaType::Pdf => format!("document (PDF, {} bytes)", part.size),
    };
    if !sight.takes.kind(part.kind) {
        let why = match part.kind {
            MediaType::Image(_) => "since you take no images. Tell the user so, where the task depends on it.",
            MediaType::Pdf => {
                "since you take no documents. If you need its text, a command such as `pdftotext` may be installed."
            }
        };
        return Err(format!("[The {what} is not shown to you, {why}]"));
    }
    if sight.refused.contains(&part.hash) {
        return Err(format!("[The {what} is not shown to you: the provider refused it.]"));
    }
    match sight.held.get(&part.hash) {
        Some(Media::Image(image)) => Ok(Content::Image(image.clone())),
        Some(Media::Pdf(pdf)) => Ok(Content::Pdf(pdf.clone())),
        None => Err(format!("[The {what} is lost: read it again, if you need it.]")),
    }
}

/// The id itself where it can be used; ours always can, those of an old or damaged store may not.
fn unique_id(call: &CallId, ids: &mut BTreeSet<String>) -> String {
    let id: String = call.as_str().chars().map(|c| if is_name_char(c) { c } else { '_' }).collect();
    let base = if id.is_empty() { "call" } else { &id };
    let mut unique = base.to_owned();
    let mut count = 1;
    while !ids.insert(unique.clone()) {
        count += 1;
        unique = format!("{base}_{count}");
    }
    unique
}

/// Models invent names that providers do not take back, e.g. `functions.read`.
fn valid_name(name: &str) -> String {
    let name: String = name.chars().map(|c| if is_name_char(c) { c } else { '_' }).take(NAME_LIMIT).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn object(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { json!({ "value": input }) }
}

fn push_content(messages: &mut Vec<ModelMessage>, content: Content) {
    match messages.last_mut() {
        Some(ModelMessage::User(last)) => last.push(content),
        _ => messages.push(ModelMessage::User(vec![content])),
    }
}

fn user_content(part: &PromptPart, sight: Sight<'_>) -> Content {
    Content::Text(match part {
        PromptPart::Text { text } => text.clone(),
        PromptPart::Link { uri, name } => format!("The user points at {name}: {uri}"),
        PromptPart::Resource { uri, text } => format!("<resource uri=\"{uri}\">\n{text}\n</resource>"),
        PromptPart::Image { kind, hash, size, uri } => {
            let from = uri.as_ref().map(|uri| format!(" from {uri}")).unwrap_or_default();
            let what = format!("The user gave an image here ({}, {size} bytes{from})", kind.mime());
            match sight.held.get(hash).and_then(Media::as_image) {
                _ if !sight.takes.images => format!(
                    "[{what}. It is not shown to you, since you take no images. Tell the user so, where what is asked depends on it.]"
                ),
                Some(image) => return Content::Image(image.clone()),
                None => format!("[{what}. It is lost: ask the user for it again, if you need it.]"),
            }
        }
    })
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
