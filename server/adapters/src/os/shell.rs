//! Commands, run by bash without start-up files: the shell that the permission analysis reads. It decides nothing about what may run.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use copydesk_engine::ports::{
    BoxFuture, CapturedOutput, CommandEnd, Confinement, Keyboard, OutputSink, SandboxSupport, Shell, ShellCommand,
    ShellError, ShellOutcome,
};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::child_variables;
use super::environment::Variables;
use super::process_tree::{MARKER, ProcessTree};
use super::sandbox::{self, Jail};
use super::supervisor::{Exit, Launch, Supervised};
use super::terminal::{self, HungUp, Terminal};

/// How long output is awaited once the direct child has ended, whoever holds the pipe (R7.1).
const DRAIN: Duration = Duration::from_millis(500);
/// How long the supervisor of an ended command is awaited: longer only where the kernel holds a process.
const COLLECT: Duration = Duration::from_millis(500);

/// Nothing that asks, pages or edits may wait for a user (R7.2).
const SET: [(&str, &str); 9] = [
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("TERM", "dumb"),
];

/// Processes that outlive their command are ended by `kill_survivors`, and with this value at the latest: when this process is killed too.
pub struct OsShell {
    variables: Variables,
    survivors: Arc<Mutex<Vec<ProcessTree>>>,
    support: OnceLock<SandboxSupport>,
    supervisor: Launch,
}

impl OsShell {
    /// `supervisor` is a program with its arguments (seven words at the most) that runs `supervisor::supervise`.
    pub fn new(variables: Variables, supervisor: Vec<OsString>) -> Self {
        Self { variables, survivors: Arc::default(), support: OnceLock::new(), supervisor: Launch::new(supervisor) }
    }

    /// Ends what earlier commands have left running; returns when it is gone, after two seconds at the latest.
    pub async fn kill_survivors(&self) {
        let endings: Vec<_> = self.take_survivors().into_iter().map(end_in_background).collect();
        for ending in endings {
            // A panic there is logged by its thread; the others go on.
            let _ = ending.await;
        }
    }

    /// The same without grace, for the last moment: blocks for as long as the kernel takes, half a second for each command at the most.
    pub fn kill_survivors_at_once(&self) {
        for mut tree in self.take_survivors() {
            tree.kill();
        }
    }

    fn take_survivors(&self) -> Vec<ProcessTree> {
        std::mem::take(&mut *self.survivors.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn run_to_end(
        &self,
        command: ShellCommand,
        output: OutputSink,
        keyboard: Option<Arc<dyn Keyboard>>,
        cancel: CancellationToken,
    ) -> Result<ShellOutcome, ShellError> {
        if cancel.is_cancelled() {
            let output = CapturedOutput::default();
            return Ok(ShellOutcome { end: CommandEnd::Cancelled, output, survivors: 0, left_out: Vec::new() });
        }
        let deadline = command.timeout.map(|timeout| Instant::now() + timeout);
        let started = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(CommandEnd::Cancelled),
            // A file system that does not answer.
            () = until(deadline) => Err(CommandEnd::TimedOut),
            running = self.start(&command, keyboard.is_some()) => Ok(running?),
        };
        let mut running = match started {
            Ok(running) => running,
            Err(end) => {
                return Ok(ShellOutcome { end, output: CapturedOutput::default(), survivors: 0, left_out: Vec::new() });
            }
        };
        let terminal = running.source.terminal();
        let mut reader = Reader { source: Some(running.source), capture: Capture::new(command.overflow), output };

        let ended = reader.read_during(async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(CommandEnd::Cancelled),
                () = until(deadline) => Err(CommandEnd::TimedOut),
                HungUp = answered(terminal.as_deref(), keyboard.as_deref()) => Err(CommandEnd::Signalled(libc::SIGHUP)),
                // Who kills the supervisor ends the command.
                exit = running.supervised.wait() => exit.ok_or(CommandEnd::Signalled(libc::SIGKILL)),
            }
        });
        let end = match ended.await {
            Ok(Exit { status, leaves }) => {
                let drain = Instant::now() + DRAIN;
                let stopped = reader.read_to_end(async {
                    tokio::select! {
                        biased;
                        () = cancel.cancelled() => Err(CommandEnd::Cancelled),
                        () = sleep_until(drain) => Ok(()),
                    }
                });
                stopped.await.unwrap_or(Ok(())).map(|()| (end_of(status), leaves))
            }
            Err(end) => Err(end),
        };
        let (end, survivors) = match end {
            Ok((end, false)) => (end, running.guard.leave_nothing()),
            Ok((end, true)) => (end, running.guard.leave().await),
            Err(end) => {
                let left = reader.read_during(running.guard.end()).await.unwrap_or(0);
                // It may see what could not be found.
                let left = if running.supervised.collect(COLLECT).await { left } else { left.max(1) };
                reader.read_to_end(sleep_until(Instant::now() + DRAIN)).await;
                (end, left)
            }
        };
        Ok(ShellOutcome { end, output: reader.capture.finish().await, survivors, left_out: running.left_out })
    }

    async fn start(&self, command: &ShellCommand, at_terminal: bool) -> Result<Running, ShellError> {
        let spawn_error = |error: std::io::Error| ShellError::Spawn(error.to_string());
        if !tokio::fs::metadata(command.folder.as_path()).await.is_ok_and(|found| found.is_dir()) {
            return Err(ShellError::NoFolder(command.folder.clone()));
        }
        let bash = self.variables.find_program("bash").ok_or(ShellError::NoBash)?;
        let jail = jail(&command.confinement).await?;
        let marker: String = std::iter::repeat_with(fastrand::alphanumeric).take(16).collect();
        let Streams { source, writer, line } = Streams::open(at_terminal).map_err(spawn_error)?;
        let output = || match &writer {
            Some(writer) => writer.try_clone().map(Stdio::from),
            None => Ok(Stdio::null()),
        };

        let launcher = jail.iter().flat_map(Jail::launcher).map(OsString::from);
        let mut words = launcher.chain([bash.into_os_string()]);
        let mut process = Command::new(words.next().ok_or(ShellError::NoBash)?);
        process
            .args(words)
            .args(["--noprofile", "--norc", "-c", &command.command])
            .current_dir(command.folder.as_path())
            .env_clear()
            .envs(child_variables::of(&self.variables, command))
            .envs(SET)
            .env(MARKER, &marker)
            .env("PWD", command.folder.as_path())
            .stdin(Stdio::null())
            .stdout(output().map_err(spawn_error)?)
            .stderr(output().map_err(spawn_error)?);
        drop(writer);
        if at_terminal {
            process.env("GIT_TERMINAL_PROMPT", "1");
        }
        let left_out = jail.iter().flat_map(Jail::left_out).cloned().collect();
        let enter = move || {
            line.as_ref().map_or(Ok(()), terminal::Line::enter)?;
            jail.as_ref().map_or(Ok(()), Jail::enter)
        };
        let (supervised, tree) = self.supervisor.spawn(process, marker, enter).map_err(spawn_error)?;
        let survivors = Arc::clone(&self.survivors);
        Ok(Running { supervised, left_out, source, guard: Guard { tree: Some(tree), survivors } })
    }
}

impl Shell for OsShell {
    fn run(
        &self,
        command: ShellCommand,
        output: OutputSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>> {
        Box::pin(self.run_to_end(command, output, None, cancel))
    }

    fn run_at_terminal(
        &self,
        command: ShellCommand,
        output: OutputSink,
        keyboard: Arc<dyn Keyboard>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>> {
        Box::pin(self.run_to_end(command, output, Some(keyboard), cancel))
    }

    fn sandbox(&self) -> SandboxSupport {
        self.support.get_or_init(sandbox::support).clone()
    }
}

impl Drop for OsShell {
    fn drop(&mut self) {
        self.kill_survivors_at_once();
    }
}

struct Running {
    supervised: Supervised,
    left_out: Vec<String>,
    source: Source,
    guard: Guard,
}

/// Where the output comes from.
enum Source {
    Pipe(pipe::Receiver),
    Terminal(Arc<Terminal>),
}

impl Source {
    /// Appends to the bytes; 0 at the end. Nothing is lost where it is given up.
    async fn read(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.read_buf(bytes).await,
            Self::Terminal(terminal) => terminal.read(bytes).await,
        }
    }

    fn terminal(&self) -> Option<Arc<Terminal>> {
        match self {
            Self::Pipe(_) => None,
            Self::Terminal(terminal) => Some(Arc::clone(terminal)),
        }
    }
}

/// Both ends, of which the command gets one: a pipe as output and error, or a terminal as everything.
struct Streams {
    source: Source,
    writer: Option<std::io::PipeWriter>,
    line: Option<terminal::Line>,
}

impl Streams {
    fn open(at_terminal: bool) -> std::io::Result<Self> {
        if at_terminal {
            let (terminal, line) = terminal::open()?;
            return Ok(Self { source: Source::Terminal(terminal), writer: None, line: Some(line) });
        }
        // One pipe for both, so that they come in the order in which they were written.
        let (reader, writer) = std::io::pipe()?;
        let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        Ok(Self { source: Source::Pipe(pipe), writer: Some(writer), line: None })
    }
}

/// Kills the tree when the run is dropped before its end.
struct Guard {
    tree: Option<ProcessTree>,
    survivors: Arc<Mutex<Vec<ProcessTree>>>,
}

impl Guard {
    /// The command has ended, and nothing of it was there any more: there is nothing to look for.
    fn leave_nothing(mut self) -> usize {
        self.tree = None;
        0
    }

    /// The command has ended: what still lives is noted for `kill_survivors`, and counted.
    async fn leave(mut self) -> usize {
        let Some(mut tree) = self.tree.take() else { return 0 };
        let survivors = Arc::clone(&self.survivors);
        let counted = spawn_blocking(move || {
            let living = tree.count_living();
            if living > 0 {
                let mut survivors = survivors.lock().unwrap_or_else(PoisonError::into_inner);
                // Those that have ended by themselves are forgotten here, so that the list does not grow with the day.
                survivors.retain_mut(|earlier| earlier.count_living() > 0);
                survivors.push(tree);
            }
            living
        });
        counted.await.unwrap_or(0)
    }

    fn end(mut self) -> JoinHandle<usize> {
        match self.tree.take() {
            Some(mut tree) => spawn_blocking(move || tree.end()),
            None => spawn_blocking(|| 0),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.kill();
        }
    }
}

struct Reader {
    /// `None` after the end.
    source: Option<Source>,
    capture: Capture,
    output: OutputSink,
}

impl Reader {
    /// Reads until `work` is done.
    async fn read_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        match self.read_to_end(&mut work).await {
            Some(result) => result,
            None => work.await,
        }
    }

    /// Reads to the end of the output (`None`), or until `stop` is done.
    async fn read_to_end<T>(&mut self, stop: impl Future<Output = T>) -> Option<T> {
        let mut stop = pin!(stop);
        while let Some(source) = &mut self.source {
            let mut bytes = Vec::with_capacity(64 * 1024);
            let read = tokio::select! {
                biased;
                result = &mut stop => return Some(result),
                read = source.read(&mut bytes) => read,
            };
            // Outside of the `select`, which would drop what was read.
            match read {
                Ok(1..) => {
                    self.output.take(&self.capture.push(&bytes).await);
                }
                Ok(0) | Err(_) => self.source = None,
            }
        }
        None
    }
}

/// Answers what is asked at the terminal, as long as somebody does.
async fn answered(terminal: Option<&Terminal>, keyboard: Option<&dyn Keyboard>) -> HungUp {
    match (terminal, keyboard) {
        (Some(terminal), Some(keyboard)) => terminal.answer_prompts(keyboard).await,
        _ => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn end_in_background(mut tree: ProcessTree) -> JoinHandle<usize> {
    spawn_blocking(move || tree.end())
}

fn end_of(status: ExitStatus) -> CommandEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Exited(code),
        (None, signal) => CommandEnd::Signalled(signal.unwrap_or_default()),
    }
}

async fn jail(confinement: &Confinement) -> Result<Option<Jail>, ShellError> {
    let Confinement::Sandbox(policy) = confinement.clone() else { return Ok(None) };
    let made = spawn_blocking(move || Jail::new(&policy)).await;
    made.unwrap_or_else(|error| Err(error.to_string())).map(Some).map_err(ShellError::Sandbox)
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "shell_terminal_tests.rs"]
mod terminal_tests;
