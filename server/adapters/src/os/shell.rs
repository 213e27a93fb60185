//! Commands, run by bash without start-up files: the shell that the permission analysis reads. It decides nothing about what may run.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use copydesk_engine::ports::{
    BoxFuture, CapturedOutput, CommandEnd, Confinement, OutputSink, SandboxSupport, Shell, ShellCommand, ShellError,
    ShellOutcome,
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

    async fn run(
        &self,
        command: ShellCommand,
        output: OutputSink,
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
            running = self.start(&command) => Ok(running?),
        };
        let mut running = match started {
            Ok(running) => running,
            Err(end) => {
                return Ok(ShellOutcome { end, output: CapturedOutput::default(), survivors: 0, left_out: Vec::new() });
            }
        };
        let mut reader = Reader { pipe: Some(running.pipe), capture: Capture::new(command.overflow), output };

        let ended = reader.read_during(async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(CommandEnd::Cancelled),
                () = until(deadline) => Err(CommandEnd::TimedOut),
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
                running.supervised.collect(COLLECT).await;
                reader.read_to_end(sleep_until(Instant::now() + DRAIN)).await;
                (end, left)
            }
        };
        Ok(ShellOutcome { end, output: reader.capture.finish().await, survivors, left_out: running.left_out })
    }

    async fn start(&self, command: &ShellCommand) -> Result<Running, ShellError> {
        let spawn_error = |error: std::io::Error| ShellError::Spawn(error.to_string());
        if !tokio::fs::metadata(command.folder.as_path()).await.is_ok_and(|found| found.is_dir()) {
            return Err(ShellError::NoFolder(command.folder.clone()));
        }
        let bash = self.variables.find_program("bash").ok_or(ShellError::NoBash)?;
        let jail = jail(&command.confinement).await?;
        let marker: String = std::iter::repeat_with(fastrand::alphanumeric).take(16).collect();
        // One pipe for both, so that they come in the order in which they were written.
        let (reader, writer) = std::io::pipe().map_err(spawn_error)?;
        let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(spawn_error)?;

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
            .stdout(writer.try_clone().map_err(spawn_error)?)
            .stderr(writer);
        let left_out = jail.iter().flat_map(Jail::left_out).cloned().collect();
        let enter = move || jail.as_ref().map_or(Ok(()), Jail::enter);
        let (supervised, tree) = self.supervisor.spawn(process, marker, enter).map_err(spawn_error)?;
        let survivors = Arc::clone(&self.survivors);
        Ok(Running { supervised, left_out, pipe, guard: Guard { tree: Some(tree), survivors } })
    }
}

impl Shell for OsShell {
    fn run(
        &self,
        command: ShellCommand,
        output: OutputSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>> {
        Box::pin(self.run(command, output, cancel))
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
    pipe: pipe::Receiver,
    guard: Guard,
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
    pipe: Option<pipe::Receiver>,
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
        while let Some(pipe) = &mut self.pipe {
            let mut bytes = Vec::with_capacity(64 * 1024);
            let read = tokio::select! {
                biased;
                result = &mut stop => return Some(result),
                read = pipe.read_buf(&mut bytes) => read,
            };
            // Outside of the `select`, which would drop what was read.
            match read {
                Ok(1..) => {
                    self.output.take(&self.capture.push(&bytes).await);
                }
                Ok(0) | Err(_) => self.pipe = None,
            }
        }
        None
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
