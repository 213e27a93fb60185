//! Commands that the model runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use copydesk_workspace::path::AbsPath;
use tokio_util::sync::CancellationToken;

use super::BoxFuture;

pub trait Shell: Send + Sync {
    /// Runs to the end of the direct child plus at most 500 ms for its output (R7.1).
    /// When `cancel` fires, or the time is up, the whole process tree is ended first (R7.3, R2.4).
    fn run(
        &self,
        command: ShellCommand,
        output: OutputSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>>;

    /// The same with a terminal of the command's own, on which `keyboard` answers what a program waits for. Its output is that of the terminal, without
    /// what was typed. What waits on after a refusal is ended by a hang-up.
    fn run_at_terminal(
        &self,
        command: ShellCommand,
        output: OutputSink,
        keyboard: Arc<dyn Keyboard>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>>;

    /// What the system holds a confined command to.
    fn sandbox(&self) -> SandboxSupport;
}

/// Gets all of a command's output, piece by piece in its order, where it is read: whatever takes it must not wait.
#[derive(Clone)]
pub struct OutputSink(Arc<dyn Fn(&str) + Send + Sync>);

impl OutputSink {
    pub fn new(take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// For output that nobody watches.
    pub fn nowhere() -> Self {
        Self::new(|_| {})
    }

    pub fn take(&self, piece: &str) {
        if !piece.is_empty() {
            (self.0)(piece);
        }
    }
}

/// The user at the terminal of a command.
pub trait Keyboard: Send + Sync {
    /// One line; `None` where nobody types one: the program is told that its input has ended. Dropping the future withdraws the prompt.
    fn line(&self, prompt: TerminalPrompt) -> BoxFuture<'_, Option<Typed>>;
}

/// What a program has written before it waits, and whether it shows what is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalPrompt {
    /// Its last line without control characters; may be empty.
    pub text: String,
    /// A password, or the like.
    pub is_secret: bool,
}

/// What the user has typed for a program, without the end of the line: for the program alone. It is neither stored nor logged, and no model sees it.
#[derive(Clone, PartialEq, Eq)]
pub struct Typed(String);

impl Typed {
    /// The first line of it, without control characters: no text becomes two lines, or a signal.
    pub fn new(text: &str) -> Self {
        Self(text.split(['\n', '\r']).next().unwrap_or_default().chars().filter(|char| !char.is_control()).collect())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Typed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Typed(\u{2026})")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// The exact text, run by bash without start-up files.
    pub command: String,
    pub folder: AbsPath,
    /// `None`: until it ends by itself, or is cancelled.
    pub timeout: Option<Duration>,
    /// Where the whole output goes, once it passes what is kept; made only then.
    pub overflow: AbsPath,
    /// Names of variables that children must not see, e.g. keys of providers: neither these nor others of the same value.
    pub hidden_vars: Vec<String>,
    /// Names of variables that it gets besides those that every command gets; `*` at the end stands for any rest.
    pub passed_vars: Vec<String>,
    pub confinement: Confinement,
}

/// What a command is held to by the system, whatever its words were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Confinement {
    /// It has all rights of the user.
    #[default]
    None,
    /// A command that cannot be held to it is not run.
    Sandbox(SandboxPolicy),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// Only these, with all below them, can be changed; `/dev/null` and its like too.
    pub writable: Vec<AbsPath>,
    /// Neither these nor anything below them can be read; they win over `writable`. What does not exist is passed over.
    pub unreadable: Vec<AbsPath>,
    /// Can be read all the same, though they lie in what cannot.
    pub readable: Vec<AbsPath>,
    pub network: bool,
    /// Writable too, made where it is absent, and the command's `TMPDIR`.
    pub temp: AbsPath,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxSupport {
    /// `by` names the system's means with their versions, `gaps` what they do not hold here.
    Enforced { by: String, gaps: Vec<String> },
    /// Why there is none.
    Missing { reason: String },
}

impl SandboxSupport {
    pub fn is_enforced(&self) -> bool {
        matches!(self, Self::Enforced { .. })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellOutcome {
    pub end: CommandEnd,
    pub output: CapturedOutput,
    /// Processes of the command that still run.
    pub survivors: usize,
    /// What the sandbox had to hide besides what it was told to, in words; mostly nothing.
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Cancelled,
}

/// Standard output and error as they came, head and tail (R7.4). Bad UTF-8 is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapturedOutput {
    pub head: String,
    /// Empty where everything fits into `head`.
    pub tail: String,
    /// Left out between head and tail.
    pub omitted_bytes: u64,
    pub omitted_lines: u64,
    /// The file with all of it, where something was left out.
    pub file: Option<AbsPath>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShellError {
    #[error("the folder {0} does not exist")]
    NoFolder(AbsPath),
    #[error("bash was not found; install it, or add its folder to PATH")]
    NoBash,
    #[error("the command could not be started: {0}")]
    Spawn(String),
    #[error("the sandbox could not be set up: {0}; `copydesk doctor` says what holds on this machine")]
    Sandbox(String),
}

impl ShellError {
    pub fn retry(&self) -> bool {
        match self {
            Self::Spawn(_) => true,
            Self::NoFolder(_) | Self::NoBash | Self::Sandbox(_) => false,
        }
    }
}
