//! The contract of a tool. A tool is declared, not wired: it says what it would touch, prepares a value, and carries out exactly that value. It cannot
//! ask, cap, record or reach past what it was granted: the runner does the first three, the context the last.

mod erased;
mod portable;
mod schema;
mod user;

use std::any::Any;
use std::sync::Arc;

use copydesk_workspace::path::AbsPath;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::format::Formatting;
use crate::jobs::{Jobs, Notices};
use crate::media::Media;
use crate::message::{FileDiff, SeenFile, Todo};
use crate::ports::{BoxFuture, Clock, Confinement, Diagnostics, Ids, OutputSink, Preview, Shell};
use crate::prompt::FolderInstructions;
use crate::runner::Seen;
use crate::search::GrantedSearch;
use crate::skills::GrantedSkill;
use crate::snapshots::CommandSnapshots;
use crate::view::{KnownFiles, View};
use crate::web::{GrantedWeb, WebAddress};

pub use erased::erase;
pub use portable::portable;
pub use user::User;

pub trait Tool: Send + Sync + 'static {
    /// Its doc comments are the model's documentation of the parameters.
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// What `commit` will do, no more and no less.
    type Prepared: Send + 'static;

    const NAME: &'static str;
    const KIND: ToolKind;
    const GATE: Gate;
    /// Whether only a look tells all that it would touch: then `reach` is asked, in the order of the calls.
    const REACHES: bool = false;

    /// For the model; the text stands beside the tool (`edit.txt`), the values of this run are filled in.
    fn description(&self, facts: &Facts) -> String;

    /// For people, from arguments that may be incomplete or wrong: of a tool that does several things, that of this call.
    fn kind(&self, _partial: &Value) -> ToolKind {
        Self::KIND
    }

    /// A line for people, from arguments that may be incomplete or wrong.
    fn title(&self, partial: &Value, facts: &Facts) -> String;

    /// Of its arguments what tells one call from another where calls repeat themselves (R13.1), from arguments that may be incomplete or wrong. `None` for
    /// a call that is made to be repeated, as one that looks after a job.
    fn identity(&self, arguments: &Value) -> Option<Value> {
        Some(arguments.clone())
    }

    /// What it would touch. Paths are resolved through links by the runner.
    fn access(&self, input: &Self::Input, facts: &Facts) -> Result<Vec<Access>, ToolError>;

    /// What it would touch beside `access`, as far as only a look tells: judged like the rest, before `prepare`.
    fn reach(
        &self,
        _input: &Self::Input,
        _ctx: &ToolContext,
    ) -> impl Future<Output = Result<Vec<Access>, ToolError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Reads only.
    fn prepare(
        &self,
        input: &Self::Input,
        ctx: &ToolContext,
    ) -> impl Future<Output = Result<Prepared<Self::Prepared>, ToolError>> + Send;

    /// Called once the access and the preview are allowed.
    fn commit(
        &self,
        prepared: Self::Prepared,
        ctx: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, CommitError>> + Send;
}

/// A prepared call with what the user is shown of it.
#[derive(Debug)]
pub struct Prepared<T> {
    pub value: T,
    pub preview: Preview,
}

/// ACP's kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    Read,
    Edit,
    Search,
    Execute,
    Think,
    Fetch,
    /// Of the agent.
    SwitchMode,
    Other,
}

/// Whether calls of one step may run beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Parallel,
    Exclusive,
}

/// Facts of the session that descriptions, titles and paths depend on.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Base of relative paths.
    pub folder: AbsPath,
    /// All roots of the workspace, the folder first.
    pub roots: Vec<AbsPath>,
    /// Root of the version-controlled tree around the folder, else the folder: patterns of path rules are relative to it.
    pub worktree: AbsPath,
    /// Names of roots that are also names in the folder: a relative path that begins with one could mean either (R20.1).
    pub ambiguous: Vec<String>,
    pub platform: &'static str,
    pub temp: AbsPath,
    /// Where outputs that were cut are kept in full.
    pub spill: AbsPath,
    pub max_lines: usize,
    pub max_bytes: usize,
    /// Of a command that names none, milliseconds.
    pub command_timeout: u64,
    /// The present one, for what is searched.
    pub year: String,
}

/// What a call would touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Read(AbsPath),
    Write(AbsPath),
    /// A whole command line and its folder.
    Command {
        text: String,
        folder: AbsPath,
        /// Whether it would run outside of the sandbox, where there is one.
        unconfined: bool,
    },
    /// The files of these folders, or of one file; `pattern` is what rules of the tool's name are held against. Each file is judged like a `read` of it,
    /// and left out where that would be denied or asked.
    Search {
        permission: &'static str,
        pattern: String,
        roots: Vec<AbsPath>,
    },
    /// An address of the web. Rules of `webfetch` are held against it.
    Fetch(WebAddress),
    /// A search service that the user has set up, which is told `query`: what rules of the tool's name are held against.
    Service {
        permission: &'static str,
        query: String,
    },
    /// A skill by its name.
    Skill(String),
    /// Nothing outside of the session; `permission` is the name that rules know it by.
    Session {
        permission: &'static str,
    },
}

/// What a tool may use, and nothing else. `view` was narrowed to the granted access.
pub struct ToolContext {
    pub facts: Arc<Facts>,
    pub view: View,
    /// Whether the model may be shown the texts of the files of this call unasked, by which rules are judged that are about reading (R8.5).
    pub may_quote: bool,
    /// Of the roots of `Access::Search`; without one it finds nothing.
    pub search: GrantedSearch,
    pub shell: Arc<dyn Shell>,
    pub diagnostics: Arc<dyn Diagnostics>,
    pub formatting: Formatting,
    pub todos: Arc<dyn Todos>,
    /// To be asked what only he can say.
    pub user: User,
    pub agents: Arc<dyn Agents>,
    pub seen: Arc<Seen>,
    /// Files as they stood around the last command.
    pub known: Arc<KnownFiles>,
    /// Those of the session.
    pub jobs: Arc<Jobs>,
    pub notices: Notices,
    /// Around the command of `Access::Command`.
    pub snapshots: CommandSnapshots,
    pub clock: Arc<dyn Clock>,
    pub instructions: FolderInstructions,
    pub ids: Arc<dyn Ids>,
    /// Of the turn: side effects stop when it fires.
    pub cancel: CancellationToken,
    pub progress: Progress,
    /// Names session and call, for the change log.
    pub label: String,
    /// The one of `Access::Skill`.
    pub skill: GrantedSkill,
    /// Of the address of `Access::Fetch`, or of the service of `Access::Service`.
    pub web: GrantedWeb,
    /// Variables that children must not see.
    pub hidden_vars: Vec<String>,
    /// Variables that commands get besides the usual ones.
    pub passed_vars: Vec<String>,
    /// Of commands, unless one was granted to run outside of it.
    pub confinement: Confinement,
    /// Of an image, in bytes of base64.
    pub largest_image: u64,
}

/// The session's list of things to do.
pub trait Todos: Send + Sync {
    fn replace(&self, todos: Vec<Todo>) -> BoxFuture<'_, Result<(), ToolError>>;

    /// As they were last replaced.
    fn list(&self) -> Vec<Todo>;
}

/// Which agent the session goes on with.
pub trait Agents: Send + Sync {
    /// As if the user had chosen it; from the next step on. The error is for the model.
    fn switch(&self, agent: &'static str) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Where the session's plan is written, whether it is there or not.
    fn plan_file(&self) -> AbsPath;
}

/// Output of a running call, for the client. Pieces are left out where the client is slow; the result holds all.
#[derive(Debug, Clone)]
pub struct Progress(pub tokio::sync::mpsc::Sender<String>);

impl Progress {
    pub fn sink(&self) -> OutputSink {
        let sender = self.0.clone();
        OutputSink::new(move |piece| drop(sender.try_send(piece.to_owned())))
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// For the model, not yet capped.
    pub text: String,
    /// Set where the tool has kept to the limits itself.
    pub capped: bool,
    pub diffs: Vec<FileDiff>,
    /// What the model is shown beside the text, where it can take it; otherwise it is told of it in words.
    pub media: Vec<Media>,
    pub seen: Vec<SeenFile>,
    /// Instruction files that `text` tells of, by their real paths.
    pub instructions: Vec<AbsPath>,
    pub locations: Vec<(AbsPath, Option<usize>)>,
    pub metadata: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The model is told: what happened, and what to do next.
    #[error("{0}")]
    Tell(String),
    /// The same, where the text says something of what is in files or folders: the model gets it, and knows the files from it (R6.4), where it may read
    /// them without a question. Otherwise it gets `withheld`, which is the same whatever stands there.
    #[error("{withheld}")]
    Quote { text: String, withheld: String, seen: Vec<SeenFile> },
    /// The turn ends; the text is for the user.
    #[error("{0}")]
    Fatal(String),
    #[error("cancelled")]
    Cancelled,
    /// The user does not want this: as after a rejected ask the turn ends.
    #[error("{0}")]
    Rejected(String),
    /// The user has ended the turn.
    #[error("{0}")]
    Ended(String),
    /// Cancelled as well, with what it had come to by then.
    #[error("{0}")]
    Interrupted(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The base moved since `prepare`: the runner prepares again, and asks again where the preview has changed.
    #[error("the text has changed in the meantime: {0}")]
    BaseMoved(String),
    /// What was begun goes on with something that nobody has judged yet, as a redirect does: the runner judges and asks, then prepares again with that
    /// granted in place of what was.
    #[error("it goes on elsewhere: {0:?}")]
    Leads(Access),
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// A tool with its types erased: what the registry holds, and what tools of other origin implement.
pub trait AnyTool: Send + Sync {
    fn name(&self) -> &str;
    fn kind(&self, partial: &Value) -> ToolKind;
    fn gate(&self) -> Gate;
    fn description(&self, facts: &Facts) -> String;
    fn parameters(&self) -> Value;
    fn title(&self, partial: &Value, facts: &Facts) -> String;
    fn identity(&self, arguments: &Value) -> Option<Value> {
        Some(arguments.clone())
    }
    /// Decodes against the schema; the error tells the model which argument is wrong and what is expected.
    fn decode(&self, input: Value) -> Result<Box<dyn Any + Send + Sync>, ToolError>;
    fn access(&self, input: &(dyn Any + Send + Sync), facts: &Facts) -> Result<Vec<Access>, ToolError>;
    fn reaches(&self) -> bool {
        false
    }
    fn reach<'a>(
        &'a self,
        _input: &'a (dyn Any + Send + Sync),
        _ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Vec<Access>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn prepare<'a>(
        &'a self,
        input: &'a (dyn Any + Send + Sync),
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Prepared<Box<dyn Any + Send>>, ToolError>>;
    fn commit<'a>(
        &'a self,
        prepared: Box<dyn Any + Send>,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CommitError>>;
}
