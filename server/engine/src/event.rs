//! What a session tells its client while it works: values that a face turns into its own protocol. No wire types.

use std::time::Duration;

use serde_json::Value;

use crate::ids::{CallId, MessageId};
use crate::image::Prompt;
use crate::media::Media;
use crate::message::{FileDiff, ModelRef, Todo, ToolStatus, TurnEnd, Usage};
use crate::permission::Mode;
use crate::run::TurnSpent;
use crate::tool::ToolKind;
use copydesk_workspace::path::AbsPath;

#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// On replay only.
    User {
        message: MessageId,
        prompt: Prompt,
    },
    Text {
        message: MessageId,
        delta: String,
    },
    Reasoning {
        message: MessageId,
        delta: String,
    },
    /// Always before any other event or ask of the call.
    ToolCall(ToolCallView),
    /// Replaces all that was told of the call.
    ToolCallUpdate(ToolCallView),
    Plan(Vec<Todo>),
    /// On replay only, of a turn that did not come to its own end: what its prompt was answered.
    TurnEnded(TurnEnd),
    /// Of the last request; `context` is the model's limit in tokens, where it is known. `cost` is that of the whole session in US dollars, where prices
    /// are configured; `turn` is what the running turn has used up, with its limits.
    Usage {
        usage: Usage,
        context: Option<u64>,
        cost: Option<f64>,
        turn: Option<TurnSpent>,
    },
    Notice {
        severity: Severity,
        text: String,
    },
    /// The model's answer failed and is asked for again after a wait.
    Retry(Retry),
    /// The agent, the model or the mode of permission in force has changed.
    Chosen {
        agent: String,
        model: Option<ModelRef>,
        mode: Mode,
    },
    /// What the user has allowed for longer than once is another list now.
    Granted,
    /// The list of what the agent has changed is another one now. Told once until the list is asked for.
    Changes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Which further try this is, from one, and of how many.
    pub attempt: u32,
    pub of: u32,
    /// From now on.
    pub wait: Duration,
    /// What went wrong, in a text for the user.
    pub reason: String,
}

impl Retry {
    /// The line that counts down, without the reason: `left` of the wait, in whole seconds, the last of them begun.
    pub fn countdown(&self, left: Duration) -> String {
        format!("Trying again in {} s ({} of {}).", left.as_secs_f64().ceil(), self.attempt, self.of)
    }
}

/// For clients that show it as a line; those that can count down have the wait.
impl std::fmt::Display for Retry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.reason, self.countdown(self.wait))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallView {
    pub call: CallId,
    pub name: String,
    pub kind: ToolKind,
    pub title: String,
    pub state: ToolCallState,
    pub input: Value,
    /// Output so far, or the result.
    pub text: String,
    pub diffs: Vec<FileDiff>,
    /// What the result shows beside its text.
    pub media: Vec<Media>,
    /// Files with one-based lines.
    pub locations: Vec<(AbsPath, Option<usize>)>,
    /// Of a call that was run: what allowed each thing that it did (R9.4), for people.
    pub allowed_by: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallState {
    /// Arguments are streaming, or the user is asked.
    Pending,
    Running,
    Ended(ToolStatus),
}
