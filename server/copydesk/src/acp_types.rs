//! Values of the engine to ACP's types and back: pure functions, one meaning a place.

use agent_client_protocol_schema::v1 as acp;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;
use base64::{Engine as _, alphabet};
use copydesk_engine::engine::{Lives, SessionSummary};
use copydesk_engine::event::{SessionEvent, Severity, ToolCallState, ToolCallView};
use copydesk_engine::image::{Image, Prompt};
use copydesk_engine::media::Media;
use copydesk_engine::message::{FileDiff, PromptPart, Todo, ToolStatus, TurnEnd};
use copydesk_engine::permission::Mode;
use copydesk_engine::ports::{Ask, AskOutcome, AskedPart, Elsewhere, OptionKind, Preview};
use copydesk_engine::run::{TurnLimits, TurnSpent};
use copydesk_engine::session::{Choices, Command};
use copydesk_engine::tool::ToolKind;
use copydesk_protocol::additions::{LoadMeta, LoadedMeta, OutcomeMeta};
use serde_json::{Value, json};

use crate::grant_view;
use crate::shown_prompt::blocks;

/// Ids of the config options that `session/set_config_option` takes.
pub const MODE_OPTION: &str = "mode";
pub const MODEL_OPTION: &str = "model";
pub const PERMISSION_OPTION: &str = "permission";
/// ACP has no category for it; those that begin so are free to use.
pub(crate) const PERMISSION_CATEGORY: &str = "_permission";
/// The value of the option while none is chosen: ACP wants one that is among those offered.
const NO_MODEL: &str = "none";

/// The updates that tell `event`, in order: several for a prompt with images, none where ACP has no word for it or nothing changed that it could tell.
pub fn updates(event: SessionEvent) -> Vec<acp::SessionUpdate> {
    match event {
        SessionEvent::User { message, prompt } => {
            let chunk = |block| {
                let chunk = acp::ContentChunk::new(block).message_id(acp::MessageId::new(message.to_string()));
                acp::SessionUpdate::UserMessageChunk(chunk)
            };
            blocks(&prompt).into_iter().map(chunk).collect()
        }
        event => update(event).into_iter().collect(),
    }
}

fn update(event: SessionEvent) -> Option<acp::SessionUpdate> {
    Some(match event {
        SessionEvent::Text { message, delta } => acp::SessionUpdate::AgentMessageChunk(chunk(message.as_str(), delta)),
        SessionEvent::Reasoning { message, delta } => {
            acp::SessionUpdate::AgentThoughtChunk(chunk(message.as_str(), delta))
        }
        SessionEvent::ToolCall(view) => acp::SessionUpdate::ToolCall(
            acp::ToolCall::new(view.call.to_string(), view.title.clone())
                .name(view.name.clone())
                .kind(kind(view.kind))
                .status(status(view.state))
                .content(content(&view))
                .locations(locations(&view))
                .raw_input(view.input.clone()),
        ),
        SessionEvent::ToolCallUpdate(view) => acp::SessionUpdate::ToolCallUpdate(
            acp::ToolCallUpdate::new(
                view.call.to_string(),
                acp::ToolCallUpdateFields::new()
                    .title(view.title.clone())
                    .kind(kind(view.kind))
                    .status(status(view.state))
                    .content(content(&view))
                    .locations(locations(&view))
                    .raw_input(view.input.clone()),
            )
            .meta(
                (!view.allowed_by.is_empty())
                    .then(|| acp::Meta::from_iter([("copydesk".to_owned(), json!({ "allowedBy": view.allowed_by }))])),
            ),
        ),
        SessionEvent::TurnEnded(end) => {
            acp::SessionUpdate::AgentMessageChunk(acp::ContentChunk::new(acp::ContentBlock::from(ended(end)?)))
        }
        SessionEvent::Plan(todos) => acp::SessionUpdate::Plan(acp::Plan::new(todos.iter().map(entry).collect())),
        SessionEvent::Usage { usage, context, cost, turn } => {
            let spent =
                |turn: TurnSpent| acp::Meta::from_iter([("copydesk".to_owned(), json!({ "turn": spent(&turn) }))]);
            acp::SessionUpdate::UsageUpdate(
                acp::UsageUpdate::new(usage.input.saturating_add(usage.output), context?)
                    .cost(cost.map(|amount| acp::Cost::new(amount, "USD")))
                    .meta(turn.map(spent)),
            )
        }
        // A line for people says the same; clients that count down have the numbers.
        SessionEvent::Retry(retry) => {
            let millis = u64::try_from(retry.wait.as_millis()).unwrap_or(u64::MAX);
            let retry = json!({
                "attempt": retry.attempt, "of": retry.of, "waitMillis": millis, "reason": retry.reason,
            });
            let meta = acp::Meta::from_iter([("copydesk".to_owned(), json!({ "retry": retry }))]);
            acp::SessionUpdate::SessionInfoUpdate(acp::SessionInfoUpdate::new().meta(meta))
        }
        // Told by `updates`; by `chosen`, with all that can be chosen; by `notice`; by `_copydesk/changed`.
        SessionEvent::User { .. }
        | SessionEvent::Chosen { .. }
        | SessionEvent::Granted
        | SessionEvent::Changes
        | SessionEvent::Notice { .. } => return None,
    })
}

/// What the running turn has used up, with the limits that are set.
fn spent(turn: &TurnSpent) -> Value {
    let TurnLimits { calls, tokens, cost } = turn.limits;
    let limits =
        [("calls", calls.map(Value::from)), ("tokens", tokens.map(Value::from)), ("cost", cost.map(Value::from))];
    let limits = limits.into_iter().filter_map(|(key, limit)| Some((key.to_owned(), limit?)));
    let mut shown = json!({ "calls": turn.calls, "tokens": turn.tokens, "limits": Value::Object(limits.collect()) });
    if let Some(cost) = turn.cost {
        shown["cost"] = cost.into();
    }
    shown
}

/// The first line is the title, the rest the description.
pub fn notice(severity: Severity, text: &str) -> acp::SessionUpdate {
    let severity = match severity {
        Severity::Info => acp::NoticeSeverity::Info,
        Severity::Warning => acp::NoticeSeverity::Warning,
        Severity::Error => acp::NoticeSeverity::Error,
    };
    let (title, description) = text.split_once('\n').map_or((text, None), |(title, rest)| (title, Some(rest)));
    let notice = acp::Notice::new(severity, title);
    acp::SessionUpdate::Notice(match description {
        Some(description) => notice.description(description.to_owned()),
        None => notice,
    })
}

/// A message of quotations, apart from what the model says.
pub fn notices_as_text(message: &str, texts: &[String]) -> acp::SessionUpdate {
    let quoted = texts.iter().map(|text| {
        let lines: Vec<_> = text.lines().map(|line| format!("> {line}\n")).collect();
        format!("> **Copydesk:**\n{}\n", lines.concat())
    });
    acp::SessionUpdate::AgentMessageChunk(chunk(message, quoted.collect()))
}

/// Of an agent, model or mode of permission that was chosen. Clients that know modes alone hear of the agent in their own words.
pub fn chosen(choices: &Choices) -> [acp::SessionUpdate; 2] {
    [
        acp::SessionUpdate::ConfigOptionUpdate(acp::ConfigOptionUpdate::new(options(choices))),
        acp::SessionUpdate::CurrentModeUpdate(acp::CurrentModeUpdate::new(choices.agent.clone())),
    ]
}

/// What a whole prompt may ask of the session itself.
pub fn commands() -> acp::SessionUpdate {
    let commands = Command::ALL.map(|command| acp::AvailableCommand::new(command.name(), command.description()));
    acp::SessionUpdate::AvailableCommandsUpdate(acp::AvailableCommandsUpdate::new(commands.to_vec()))
}

/// Of an answer that holds for longer.
pub fn granted(choices: &Choices) -> acp::SessionUpdate {
    acp::SessionUpdate::ConfigOptionUpdate(acp::ConfigOptionUpdate::new(options(choices)))
}

pub fn modes(choices: &Choices) -> acp::SessionModeState {
    let available = choices
        .agents
        .iter()
        .map(|(name, description)| acp::SessionMode::new(name.clone(), name.clone()).description(description.clone()))
        .collect();
    acp::SessionModeState::new(choices.agent.clone(), available)
}

/// The agent and the mode of permission always; the model where there is one to choose.
pub fn options(choices: &Choices) -> Vec<acp::SessionConfigOption> {
    let agents: Vec<_> = choices
        .agents
        .iter()
        .map(|(name, description)| {
            acp::SessionConfigSelectOption::new(name.clone(), name.clone()).description(description.clone())
        })
        .collect();
    let mut options = vec![
        acp::SessionConfigOption::select(MODE_OPTION, "Agent", choices.agent.clone(), agents)
            .category(acp::SessionConfigOptionCategory::Mode),
    ];
    if choices.model.is_some() || !choices.models.is_empty() {
        let current = choices.model.as_ref().map_or_else(|| NO_MODEL.to_owned(), ToString::to_string);
        let mut models: Vec<_> = choices
            .models
            .iter()
            .map(|(model, name)| acp::SessionConfigSelectOption::new(model.to_string(), name.clone()))
            .collect();
        if !choices.models.iter().any(|(listed, _)| listed.to_string() == current) {
            let name = if choices.model.is_some() { current.clone() } else { "No model is chosen".to_owned() };
            models.insert(0, acp::SessionConfigSelectOption::new(current.clone(), name));
        }
        options.push(
            acp::SessionConfigOption::select(MODEL_OPTION, "Model", current, models)
                .category(acp::SessionConfigOptionCategory::Model),
        );
    }
    let modes: Vec<_> = Mode::ALL
        .into_iter()
        .map(|mode| {
            acp::SessionConfigSelectOption::new(mode.id(), mode.name()).description(mode.description().to_owned())
        })
        .collect();
    options.push(
        acp::SessionConfigOption::select(PERMISSION_OPTION, "Permission mode", choices.mode.id(), modes)
            .description("How much runs without a question where no rule of yours speaks".to_owned())
            .category(acp::SessionConfigOptionCategory::Other(PERMISSION_CATEGORY.to_owned())),
    );
    options.extend(grant_view::option(&choices.grants));
    options
}

/// What a replay says of a turn that did not come to its own end, in a paragraph of its own.
fn ended(end: TurnEnd) -> Option<String> {
    let text = match end {
        TurnEnd::Done | TurnEnd::Rejected => return None,
        TurnEnd::MaxTokens => "Stopped: the reply reached the model's output limit.".to_owned(),
        TurnEnd::MaxSteps => "Stopped: the turn reached its limit of steps.".to_owned(),
        TurnEnd::Limit { message } => format!("Stopped: {message}"),
        TurnEnd::Refused => "Stopped: the provider refused to answer.".to_owned(),
        TurnEnd::Cancelled => "Interrupted: the turn was cancelled.".to_owned(),
        TurnEnd::Interrupted => "Interrupted: Copydesk ended while the turn was running.".to_owned(),
        TurnEnd::Failed { message } => format!("Failed: {message}"),
    };
    Some(format!("\n\n*{text}*\n\n"))
}

/// One session of a list.
pub fn session_info(summary: &SessionSummary) -> acp::SessionInfo {
    let SessionSummary { meta, title, updated } = summary;
    let updated = jiff::Timestamp::from_millisecond(updated.0).ok();
    acp::SessionInfo::new(meta.id.to_string(), meta.folder.as_path())
        .additional_directories(meta.roots.iter().skip(1).map(|root| root.as_path().to_owned()).collect())
        .title(title.clone())
        .updated_at(updated.map(|updated| updated.to_string()))
}

/// What a load is to do with a session that another daemon has open.
pub fn elsewhere(meta: Option<acp::Meta>) -> Elsewhere {
    let meta = meta.and_then(|mut meta| meta.shift_remove("copydesk"));
    let LoadMeta { take_over } = meta.and_then(|meta| serde_json::from_value(meta).ok()).unwrap_or_default();
    if take_over { Elsewhere::TakeOver } else { Elsewhere::Leave }
}

/// `_meta` of the answer to a load; nothing of a session that lives here.
pub fn lives(lives: Lives) -> Option<acp::Meta> {
    match lives {
        Lives::Here => None,
        Lives::Elsewhere => {
            let mut meta = acp::Meta::new();
            meta.insert("copydesk".to_owned(), json!(LoadedMeta { read_only: true }));
            Some(meta)
        }
    }
}

/// Blocks that the agent did not offer to take are refused by name, and a prompt that says nothing as well: no model would be told what to do.
pub fn prompt(blocks: Vec<acp::ContentBlock>) -> Result<Prompt, String> {
    let mut prompt = Prompt::default();
    for block in blocks {
        match block {
            acp::ContentBlock::Text(text) => prompt.push(PromptPart::Text { text: text.text }),
            acp::ContentBlock::ResourceLink(link) => prompt.push(PromptPart::Link { uri: link.uri, name: link.name }),
            acp::ContentBlock::Image(image) => {
                prompt.push_image(decoded(&image.data, image.uri.as_deref())?, image.uri);
            }
            acp::ContentBlock::Resource(resource) => match resource.resource {
                acp::EmbeddedResourceResource::TextResourceContents(text) => {
                    prompt.push(PromptPart::Resource { uri: text.uri, text: text.text });
                }
                acp::EmbeddedResourceResource::BlobResourceContents(blob) => {
                    prompt.push_image(decoded(&blob.blob, Some(&blob.uri))?, Some(blob.uri));
                }
                _ => return Err("this kind of resource is not supported in prompts".to_owned()),
            },
            acp::ContentBlock::Audio(_) => return Err("audio is not supported in prompts".to_owned()),
            _ => return Err("this kind of content is not supported in prompts".to_owned()),
        }
    }
    if prompt.says_nothing() {
        return Err("the prompt is empty".to_owned());
    }
    Ok(prompt)
}

/// Some encoders break the lines of base64, or leave its padding out.
fn decoded(base64: &str, uri: Option<&str>) -> Result<Image, String> {
    let name = uri.map(|uri| format!(" {uri}")).unwrap_or_default();
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&alphabet::STANDARD, lenient);
    let bytes = if base64.contains(|c: char| c.is_ascii_whitespace()) {
        engine.decode(base64.split_ascii_whitespace().collect::<String>())
    } else {
        engine.decode(base64)
    };
    let bytes = bytes.map_err(|error| format!("the data of the image{name} are no base64: {error}"))?;
    Image::new(bytes).map_err(|error| format!("the image{name} of the prompt cannot be sent: {error}"))
}

/// A failed turn is an error of the prompt; its text is the user's.
pub fn stop_reason(end: TurnEnd) -> Result<acp::StopReason, String> {
    match end {
        TurnEnd::Done | TurnEnd::Rejected => Ok(acp::StopReason::EndTurn),
        TurnEnd::MaxTokens => Ok(acp::StopReason::MaxTokens),
        TurnEnd::MaxSteps | TurnEnd::Limit { .. } => Ok(acp::StopReason::MaxTurnRequests),
        TurnEnd::Refused => Ok(acp::StopReason::Refusal),
        TurnEnd::Cancelled | TurnEnd::Interrupted => Ok(acp::StopReason::Cancelled),
        TurnEnd::Failed { message } => Err(message),
    }
}

pub fn permission_request(session: &str, ask: &Ask) -> acp::RequestPermissionRequest {
    let mut shown = vec![text_block(ask.reason.clone())];
    shown.extend(preview(&ask.preview));
    let fields = acp::ToolCallUpdateFields::new()
        .title(ask.title.clone())
        .status(acp::ToolCallStatus::Pending)
        .content(shown)
        .raw_input(ask.input.clone());
    let choices = ask
        .options
        .iter()
        .map(|option| acp::PermissionOption::new(option.id.clone(), option.label.clone(), option_kind(option.kind)))
        .collect();
    let mut meta = acp::Meta::new();
    meta.insert(
        "copydesk".to_owned(),
        json!({ "ask": ask.id, "reason": ask.reason, "command": command(&ask.preview) }),
    );
    acp::RequestPermissionRequest::new(
        session.to_owned(),
        acp::ToolCallUpdate::new(ask.call.to_string(), fields),
        choices,
    )
    .meta(meta)
}

/// Null, an unknown shape or an unknown outcome is no consent.
pub fn outcome(answer: Value) -> AskOutcome {
    let response = match serde_json::from_value::<acp::RequestPermissionResponse>(answer) {
        Ok(response) => response,
        Err(_) => return AskOutcome::Undeliverable { reason: "the client gave no valid answer".to_owned() },
    };
    match response.outcome {
        acp::RequestPermissionOutcome::Selected(selected) => {
            let meta = selected.meta.and_then(|mut meta| meta.shift_remove("copydesk"));
            let meta: OutcomeMeta = meta.and_then(|meta| serde_json::from_value(meta).ok()).unwrap_or_default();
            AskOutcome::Selected { option: selected.option_id.0.to_string(), message: meta.message }
        }
        acp::RequestPermissionOutcome::Cancelled => AskOutcome::Cancelled,
        _ => AskOutcome::Undeliverable { reason: "the client gave an unknown answer".to_owned() },
    }
}

fn chunk(message: &str, text: String) -> acp::ContentChunk {
    acp::ContentChunk::new(acp::ContentBlock::from(text)).message_id(acp::MessageId::new(message.to_owned()))
}

fn kind(kind: ToolKind) -> acp::ToolKind {
    match kind {
        ToolKind::Read => acp::ToolKind::Read,
        ToolKind::Edit => acp::ToolKind::Edit,
        ToolKind::Search => acp::ToolKind::Search,
        ToolKind::Execute => acp::ToolKind::Execute,
        ToolKind::Think => acp::ToolKind::Think,
        ToolKind::Fetch => acp::ToolKind::Fetch,
        ToolKind::SwitchMode => acp::ToolKind::SwitchMode,
        ToolKind::Other => acp::ToolKind::Other,
    }
}

fn status(state: ToolCallState) -> acp::ToolCallStatus {
    match state {
        ToolCallState::Pending => acp::ToolCallStatus::Pending,
        ToolCallState::Running => acp::ToolCallStatus::InProgress,
        ToolCallState::Ended(ToolStatus::Completed) => acp::ToolCallStatus::Completed,
        // ACP 1 has no word for a cancelled call; clients mark it themselves.
        ToolCallState::Ended(ToolStatus::Failed | ToolStatus::Cancelled) => acp::ToolCallStatus::Failed,
    }
}

/// A document is not sent to the client: the call's location is its file.
fn content(view: &ToolCallView) -> Vec<acp::ToolCallContent> {
    let mut content: Vec<_> = view.diffs.iter().map(diff).collect();
    if !view.text.is_empty() {
        content.push(text_block(view.text.clone()));
    }
    content.extend(view.media.iter().filter_map(Media::as_image).map(|image| {
        let data = BASE64_STANDARD.encode(image.bytes());
        let image = acp::ImageContent::new(data, image.kind().mime());
        acp::ToolCallContent::Content(acp::Content::new(acp::ContentBlock::Image(image)))
    }));
    content
}

fn locations(view: &ToolCallView) -> Vec<acp::ToolCallLocation> {
    view.locations
        .iter()
        .map(|(path, line)| {
            let line = line.and_then(|line| u32::try_from(line).ok());
            acp::ToolCallLocation::new(path.as_path()).line(line)
        })
        .collect()
}

fn diff(diff: &FileDiff) -> acp::ToolCallContent {
    // A file that is gone is drawn as an empty one: a diff of ACP always has a new text.
    acp::ToolCallContent::Diff(
        acp::Diff::new(diff.path.as_path(), diff.after.as_ref().map(String::from).unwrap_or_default())
            .old_text(diff.before.as_ref().map(String::from)),
    )
}

fn text_block(text: String) -> acp::ToolCallContent {
    acp::ToolCallContent::Content(acp::Content::new(acp::ContentBlock::from(text)))
}

fn preview(preview: &Preview) -> Vec<acp::ToolCallContent> {
    match preview {
        Preview::Nothing => Vec::new(),
        Preview::Edit(diffs) => diffs.iter().map(diff).collect(),
        Preview::Command { shown, lines, folder, notes, .. } => {
            let fence = "`".repeat(longest_run(shown, '`').max(2) + 1);
            let count = if *lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
            let mut blocks = vec![text_block(format!("{count}, in {folder}:\n\n{fence}sh\n{shown}\n{fence}"))];
            blocks.extend(preview.marks().map(text_block));
            blocks.extend(notes.iter().cloned().map(text_block));
            blocks
        }
        Preview::Access(text) => vec![text_block(text.clone())],
    }
}

fn command(preview: &Preview) -> Value {
    match preview {
        Preview::Command { shown, lines, folder, notes, .. } => {
            let part = |part: &AskedPart| {
                json!({
                    "start": part.span.start, "end": part.span.end, "line": part.line, "text": part.text, "reason": part.reason,
                })
            };
            let asked: Vec<Value> = preview.marked().iter().map(part).collect();
            json!({ "shown": shown, "lines": lines, "folder": folder, "notes": notes, "asked": asked })
        }
        Preview::Nothing | Preview::Edit(_) | Preview::Access(_) => Value::Null,
    }
}

fn option_kind(kind: OptionKind) -> acp::PermissionOptionKind {
    match kind {
        // ACP has no word for an answer that allows nothing.
        OptionKind::AllowOnce | OptionKind::Answer => acp::PermissionOptionKind::AllowOnce,
        OptionKind::AllowAlways | OptionKind::AllowInProject => acp::PermissionOptionKind::AllowAlways,
        OptionKind::RejectOnce => acp::PermissionOptionKind::RejectOnce,
        OptionKind::RejectAlways => acp::PermissionOptionKind::RejectAlways,
    }
}

fn entry(todo: &Todo) -> acp::PlanEntry {
    let priority = match todo.priority.as_str() {
        "high" => acp::PlanEntryPriority::High,
        "low" => acp::PlanEntryPriority::Low,
        _ => acp::PlanEntryPriority::Medium,
    };
    let status = match todo.status.as_str() {
        "in_progress" => acp::PlanEntryStatus::InProgress,
        "completed" | "cancelled" => acp::PlanEntryStatus::Completed,
        _ => acp::PlanEntryStatus::Pending,
    };
    acp::PlanEntry::new(todo.content.clone(), priority, status)
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
#[path = "acp_types_tests.rs"]
mod tests;
