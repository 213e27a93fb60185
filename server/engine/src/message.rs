//! What is stored of a session: a list of entries that only grows. A message is what its entries say.

use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CallId, MessageId, Millis, PartId};
use crate::image::ImageType;
use crate::media::MediaType;
use crate::permission::Mode;

/// Provider and model, written `provider/model`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelRef {
    pub provider: String,
    pub model: String,
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl std::str::FromStr for ModelRef {
    type Err = ();

    /// The provider ends at the first `/`; models may have more of them.
    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
            }
            _ => Err(()),
        }
    }
}

/// A piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptPart {
    Text {
        text: String,
    },
    /// A file that the user points at; the model reads it by a tool.
    Link {
        uri: String,
        name: String,
    },
    /// Text that the client embedded, e.g. of a selection.
    Resource {
        uri: String,
        text: String,
    },
    /// An image, whose bytes the store keeps beside the session's rows, under their hash.
    Image {
        #[serde(rename = "mime")]
        kind: ImageType,
        hash: ContentHash,
        /// Bytes.
        size: u64,
        /// Where it comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
}

/// One row of a session. Rows are never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// Also the start of a turn, where none is running.
    User {
        message: MessageId,
        at: Millis,
        agent: String,
        parts: Vec<PromptPart>,
    },
    /// A model request goes out; what follows, up to `StepEnded`, belongs to `message`. Stands again, after an end, where a try of the request failed that
    /// has reported its usage.
    StepStarted {
        message: MessageId,
        at: Millis,
        agent: String,
        model: ModelRef,
    },
    Text {
        message: MessageId,
        part: PartId,
        text: String,
    },
    /// `signature` is the provider's own, sent back to it unchanged.
    Reasoning {
        message: MessageId,
        part: PartId,
        text: String,
        signature: Option<String>,
    },
    /// `input` is what the model sent, as JSON where it parses, else a string.
    ToolCall {
        message: MessageId,
        call: CallId,
        provider_id: Option<String>,
        name: String,
        input: Value,
    },
    ToolResult {
        call: CallId,
        at: Millis,
        result: ToolResult,
    },
    StepEnded {
        message: MessageId,
        at: Millis,
        usage: Usage,
        finish: Finish,
    },
    TurnEnded {
        at: Millis,
        reason: TurnEnd,
    },
    /// The user chose another agent, model or mode of permission.
    Chosen {
        at: Millis,
        agent: Option<String>,
        model: Option<ModelRef>,
        /// Left out where it is none, as in rows of format 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
    },
    Todos {
        todos: Vec<Todo>,
    },
    /// What the model is told between two steps that neither the user nor a tool said.
    Told {
        at: Millis,
        text: String,
    },
    Titled {
        title: String,
    },
    /// The user asked something of the session itself, which no model hears of.
    Command {
        message: MessageId,
        at: Millis,
        text: String,
    },
    /// What it answered.
    Answer {
        message: MessageId,
        part: PartId,
        text: String,
    },
}

/// How a tool call came out, as the model is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub status: ToolStatus,
    /// The text for the model, capped.
    pub text: String,
    /// A line for people.
    pub title: String,
    /// What the client draws: diffs by file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<FileDiff>,
    /// What it shows beside its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediaPart>,
    /// Texts of files that the model knows from this call on: what `write` is checked against (R6.4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<SeenFile>,
    /// Instruction files that this result told the model of, by their real paths: each is told once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<AbsPath>,
    /// For clients; never sent to the model.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
    /// Of a call that was run: what allowed each thing that it did (R9.4), a line each. For people; never sent to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<String>,
}

/// An image or a document, whose bytes the store keeps beside the session's rows, under their hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaPart {
    #[serde(rename = "mime")]
    pub kind: MediaType,
    pub hash: ContentHash,
    /// Bytes.
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Completed,
    Failed,
    /// The turn was cancelled, or the daemon died, before the call was done.
    Cancelled,
}

/// A file before and after; `None` where it does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    pub path: AbsPath,
    #[serde(with = "text")]
    pub before: Option<Rope>,
    #[serde(with = "text")]
    pub after: Option<Rope>,
}

impl FileDiff {
    /// Empty where there is no file.
    pub fn text_before(&self) -> Rope {
        self.before.clone().unwrap_or_default()
    }

    /// As `text_before`, of the file afterwards.
    pub fn text_after(&self) -> Rope {
        self.after.clone().unwrap_or_default()
    }
}

/// Ropes share what they have in common, so that a diff of a large file is passed on without a copy; in rows it is plain text.
mod text {
    use ropey::Rope;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    struct Text<'a>(&'a Rope);

    impl serde::Serialize for Text<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self.0)
        }
    }

    pub(super) fn serialize<S: Serializer>(text: &Option<Rope>, serializer: S) -> Result<S::Ok, S::Error> {
        text.as_ref().map(Text).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rope>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Rope::from))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    pub path: AbsPath,
    pub hash: ContentHash,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub content: String,
    /// `pending`, `in_progress`, `completed` or `cancelled`; models write others too.
    pub status: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
}

/// Tokens of one model request, as the provider reports them. `input` includes what was read from a cache or written to one; `output` includes
/// `reasoning`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub reasoning: u64,
    pub cache_read: u64,
    /// Left out where it is none, as in rows of format 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Why a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Finish {
    /// Text alone: the model is done.
    Stop,
    /// There are calls to run.
    ToolCalls,
    /// The output limit cut the reply; its calls are not run (R14.4).
    Length,
    ContentFilter,
    Cancelled,
    /// `message` is the text for the user.
    Failed {
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEnd {
    Done,
    MaxTokens,
    /// The limit of steps was reached.
    MaxSteps,
    /// Another limit of the turn was reached; `message` is the text for the user. A further prompt goes on.
    Limit {
        message: String,
    },
    Refused,
    /// The user rejected an ask without a message.
    Rejected,
    Cancelled,
    /// The daemon died while the turn ran: found, and stored, when the session was opened again (R12.4).
    Interrupted,
    Failed {
        message: String,
    },
}
