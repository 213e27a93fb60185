//! The types of what became of the agent's edits: their undo, their review hunk by hunk, and their diffs. Positions are LSP's, in the encoding that was
//! negotiated; lines of texts keep their breaks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Client to daemon: take back what the agent did, and leave what the user typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoParams {
    pub session_id: String,
    /// Absent: `last`.
    #[serde(default)]
    pub what: UndoWhat,
}

/// What is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoWhat {
    /// The newest turn that has something to take back.
    #[default]
    Last,
    /// The newest undo that was not itself taken back.
    Redo,
    /// Everything that this turn did, by its id.
    Turn(String),
    /// What this tool call did, by its id.
    Call(String),
}

/// What became of it, a file each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoResult {
    /// The turn that was taken back, or put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The first line of the turn's prompt.
    pub title: String,
    pub files: Vec<UndoneFile>,
    /// Lines that came and went by this.
    pub added: usize,
    pub removed: usize,
    /// All of it in words for the user.
    pub text: String,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoneFile {
    /// Where the file stood before the undo, or stands now where there was none.
    pub uri: String,
    pub outcome: UndoOutcome,
    /// Of a file that was moved back: where it stands now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Of a conflict: the other hunks of the file were taken back.
    #[serde(default)]
    pub partly: bool,
    /// For the user: what stands in the way, where something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How the undo of one file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoOutcome {
    /// It holds what it held before, and what the user changed since.
    Restored,
    /// The agent had made it; it is gone.
    Removed,
    /// The agent had moved it; it has its name again (`to`).
    MovedBack,
    /// There was nothing to do.
    Unchanged,
    /// The user has changed the same lines since: they stay as they are.
    Conflict,
    /// What the file held before is not kept; nothing was touched.
    Unavailable,
    /// It could not be written.
    Failed,
}

/// Client to daemon: decide on hunks, then list what the agent changed. Works while the agent does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangesParams {
    pub session_id: String,
    /// Absent: `session`.
    #[serde(default)]
    pub scope: ChangesScope,
    /// Hunks that stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<HunkChoice>,
    /// Hunks that are taken back; the model is told. What `accept` names too stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reject: Option<HunkChoice>,
}

/// Of which edits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangesScope {
    #[default]
    Session,
    /// Of the newest turn that changed something.
    LastTurn,
    /// Of this turn, by its id.
    Turn(String),
}

/// Which hunks a decision is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HunkChoice {
    /// All of the scope that are undecided.
    All,
    /// Those that are undecided in these files, by the URIs of the list.
    Files(Vec<String>),
    Hunks(Vec<u64>),
}

/// What the agent changed, as it is after the decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangesResult {
    pub files: Vec<FileChanges>,
    /// Lines, over all files.
    pub added: usize,
    pub removed: usize,
    /// Hunks that were decided by this request.
    #[serde(default)]
    pub decided: Vec<u64>,
    /// Hunks that could not be decided.
    #[serde(default)]
    pub undecided: Vec<UndecidedHunk>,
}

/// The agent's changes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChanges {
    pub uri: String,
    pub kind: ChangeKind,
    /// Where a moved file stood before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The version of the open document that the ranges are of; absent: the file on the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    /// It is no text: its one hunk is the whole file, and has no texts.
    #[serde(default)]
    pub binary: bool,
    pub added: usize,
    pub removed: usize,
    /// From the top of the file down.
    pub hunks: Vec<ChangeHunk>,
}

/// What happened to a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    Modified,
    Deleted,
    Moved,
}

/// One run of lines that the agent changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeHunk {
    /// The same for as long as the hunk is there, however lines move.
    pub id: u64,
    /// The turn that made it.
    pub turn: String,
    pub state: HunkState,
    /// The lines in the present text; empty where the hunk only removes.
    pub range: TextRange,
    /// The lines that they stand for, in the text without the hunk; empty where the hunk only adds.
    pub old_range: TextRange,
    pub old_text: String,
    pub new_text: String,
}

/// How a hunk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HunkState {
    Undecided,
    Accepted,
    Rejected,
    /// The user has overwritten it: there is nothing left to decide.
    Outdated,
}

/// A hunk that could not be decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndecidedHunk {
    pub id: u64,
    pub why: WhyUndecided,
    /// In words for the user.
    pub reason: String,
}

/// Why a hunk could not be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhyUndecided {
    /// No hunk has this id (any more).
    Gone,
    /// The user has overwritten it.
    Outdated,
    /// The text could not be changed as the decision wants it.
    Conflict,
}

/// LSP's `Range`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextRange {
    pub start: TextPosition,
    pub end: TextPosition,
}

/// LSP's `Position`: both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextPosition {
    pub line: u32,
    pub character: u32,
}

/// Daemon to client: the list of a session's changes is another one. To clients that opted in with `changes`; many changes may be told as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedParams {
    pub session_id: String,
}

/// Client to daemon: a diff of the agent's edits, or of the files that it touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffParams {
    pub session_id: String,
    /// Absent: `last_turn`.
    #[serde(default)]
    pub of: DiffOf,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffOf {
    /// What the newest turn that changed something did.
    #[default]
    LastTurn,
    /// What this turn did, by its id.
    Turn(String),
    /// What the agent did in the whole session.
    Session,
    /// The present texts against Git's HEAD: whoever changed them.
    Head,
}

/// The diff, as text and in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffResult {
    /// Unified, one after the other; empty where nothing differs.
    pub diff: String,
    pub files: Vec<DiffedFile>,
    /// Ids of the turns of the agent that it is of, the oldest first, for `_copydesk/undo`: of a session those that were not undone. None against HEAD.
    #[serde(default)]
    pub turns: Vec<String>,
    /// Lines, over all files.
    pub added: usize,
    pub removed: usize,
}

/// The numbers of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffedFile {
    pub uri: String,
    pub kind: ChangeKind,
    /// It is no text, and has no lines to count.
    #[serde(default)]
    pub binary: bool,
    pub added: usize,
    pub removed: usize,
}
