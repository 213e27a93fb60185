//! Commands that the model runs.

use std::time::Duration;

use copydesk_workspace::path::AbsPath;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::BoxFuture;

pub trait Shell: Send + Sync {
    /// Runs to the end of the direct child plus at most 500 ms for its output (R7.1). `output` gets pieces as they come and may lag: pieces are then left out.
    /// When `cancel` fires, or the time is up, the whole process tree is ended first (R7.3, R2.4).
    fn run(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<String>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// The exact text, run by bash without start-up files.
    pub command: String,
    pub folder: AbsPath,
    pub timeout: Duration,
    /// Where the whole output goes, once it passes what is kept; made only then.
    pub overflow: AbsPath,
    /// Names of variables that children must not see, e.g. keys of providers.
    pub hidden_vars: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellOutcome {
    pub end: CommandEnd,
    pub output: CapturedOutput,
    /// Processes of the command that still run.
    pub survivors: usize,
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
}

impl ShellError {
    pub fn retry(&self) -> bool {
        match self {
            Self::Spawn(_) => true,
            Self::NoFolder(_) | Self::NoBash => false,
        }
    }
}
