//! A shell that runs nothing: it plays what the test has put in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use copydesk_workspace::disk::{Disk as _, MemoryDisk};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{lock, path};
use crate::ports::{
    BoxFuture, CapturedOutput, CommandEnd, Keyboard, OutputSink, SandboxSupport, Shell, ShellCommand, ShellError,
    ShellOutcome, TerminalPrompt,
};

type Job = Box<dyn FnOnce(&MemoryDisk) -> ShellOutcome + Send>;

/// The text for the command and the text that goes in.
type Format = Box<dyn Fn(&str, &str) -> Answer + Send>;

/// How a formatter ends.
pub(crate) struct Answer {
    pub(crate) code: i32,
    /// Its complaints.
    pub(crate) words: &'static str,
    pub(crate) text: String,
}

/// Runs what the test puts in, in order; without that it prints the command.
#[derive(Default)]
pub(crate) struct BenchShell {
    disk: Arc<MemoryDisk>,
    jobs: Mutex<VecDeque<Job>>,
    played: Mutex<VecDeque<mpsc::UnboundedReceiver<String>>>,
    commands: Mutex<Vec<ShellCommand>>,
    format: Mutex<Option<Format>>,
    /// Formatters that work on a copy do not come to their end: until they are cancelled, or killed.
    stuck: Mutex<Option<Stuck>>,
    is_sandboxed: AtomicBool,
    prompts: Mutex<Vec<TerminalPrompt>>,
    typed: Mutex<Vec<Option<String>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    UntilCancelled,
    Killed,
}

impl BenchShell {
    pub(crate) fn over(disk: Arc<MemoryDisk>) -> Self {
        Self { disk, ..Self::default() }
    }

    /// From now on there is a sandbox.
    pub(crate) fn enforce(&self) {
        self.is_sandboxed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn will(&self, job: impl FnOnce(&MemoryDisk) -> ShellOutcome + Send + 'static) {
        lock(&self.jobs).push_back(Box::new(job));
    }

    /// Commands of formatters are not run, but this; a failure by its code and words.
    pub(crate) fn formats(&self, format: impl Fn(&str, &str) -> Result<String, (i32, &'static str)> + Send + 'static) {
        self.answers(move |command, text| match format(command, text) {
            Ok(text) => Answer { code: 0, words: "", text },
            Err((code, words)) => Answer { code, words, text: String::new() },
        });
    }

    pub(crate) fn answers(&self, format: impl Fn(&str, &str) -> Answer + Send + 'static) {
        *lock(&self.format) = Some(Box::new(format));
    }

    /// Formatters that work on a copy leave it where it is.
    pub(crate) fn sticks(&self, stuck: Stuck) {
        *lock(&self.stuck) = Some(stuck);
    }

    /// Where it is one that works on a copy, which it has made by now, or the removal of a copy.
    async fn stuck(&self, command: &str, cancel: &CancellationToken) -> Option<ShellOutcome> {
        let stuck = (*lock(&self.stuck))?;
        let named = |before: &str| Some(path(command.split_once(before)?.1.split('\'').next()?));
        if let Some(folder) = named("mkdir -- '") {
            self.disk.put(&folder.join("copy"), "");
            let end = match stuck {
                Stuck::Killed => CommandEnd::TimedOut,
                Stuck::UntilCancelled => {
                    cancel.cancelled().await;
                    CommandEnd::Cancelled
                }
            };
            return Some(ShellOutcome { end, ..printed("") });
        }
        self.disk.take(&named("rm -rf -- '")?);
        Some(printed(""))
    }

    /// Where it is one: the first `<'` and the last `>'` stand before the names of the files.
    fn formatted(&self, command: &str) -> Option<ShellOutcome> {
        let format = lock(&self.format);
        let format = format.as_ref()?;
        let named = |rest: &str| rest.split('\'').next().map(path);
        let input = named(command.split(" <'").nth(1)?)?;
        let output = named(command.rsplit(" >'").next()?)?;
        let input = String::from_utf8(self.disk.read(&input).ok()?).unwrap();
        let Answer { code, words, text } = format(command, &input);
        self.disk.put(&output, text);
        Some(ShellOutcome { end: CommandEnd::Exited(code), ..printed(words) })
    }

    /// The next command gives what is sent here, and ends well when this is dropped.
    pub(crate) fn plays(&self) -> mpsc::UnboundedSender<String> {
        let (sender, pieces) = mpsc::unbounded_channel();
        lock(&self.played).push_back(pieces);
        sender
    }

    /// The next command with a terminal asks this, and whatever else it was made to ask.
    pub(crate) fn asks(&self, text: &str, is_secret: bool) {
        lock(&self.prompts).push(TerminalPrompt { text: text.to_owned(), is_secret });
    }

    /// What was typed for commands, `None` for each refusal.
    pub(crate) fn typed(&self) -> Vec<Option<String>> {
        lock(&self.typed).clone()
    }

    pub(crate) fn commands(&self) -> Vec<ShellCommand> {
        lock(&self.commands).clone()
    }
}

pub(crate) fn printed(text: &str) -> ShellOutcome {
    let output = CapturedOutput { head: text.to_owned(), ..CapturedOutput::default() };
    ShellOutcome { end: CommandEnd::Exited(0), output, survivors: 0, left_out: Vec::new() }
}

impl Shell for BenchShell {
    fn run(
        &self,
        command: ShellCommand,
        output: OutputSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>> {
        Box::pin(async move {
            let text = format!("{}\n", command.command);
            let hangs = command.command.starts_with("hang");
            lock(&self.commands).push(command);
            if let Some(stuck) = self.stuck(text.trim_end(), &cancel).await {
                return Ok(stuck);
            }
            let formatted = self.formatted(text.trim_end());
            if let Some(formatted) = formatted {
                return Ok(formatted);
            }
            let played = lock(&self.played).pop_front();
            if let Some(mut pieces) = played {
                return Ok(play(&mut pieces, &output, &cancel).await);
            }
            output.take(&text);
            let job = lock(&self.jobs).pop_front();
            if hangs {
                cancel.cancelled().await;
                return Ok(ShellOutcome { end: CommandEnd::Cancelled, ..printed("partly\n") });
            }
            Ok(job.map_or_else(|| printed(&text), |job| job(&self.disk)))
        })
    }

    /// First what the test has prompts for is asked.
    fn run_at_terminal(
        &self,
        command: ShellCommand,
        output: OutputSink,
        keyboard: Arc<dyn Keyboard>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>> {
        Box::pin(async move {
            let prompts = std::mem::take(&mut *lock(&self.prompts));
            for prompt in prompts {
                let typed = keyboard.line(prompt).await;
                lock(&self.typed).push(typed.map(|typed| typed.reveal().to_owned()));
            }
            self.run(command, output, cancel).await
        })
    }

    fn sandbox(&self) -> SandboxSupport {
        if self.is_sandboxed.load(Ordering::Relaxed) {
            return SandboxSupport::Enforced { by: "the test".to_owned(), gaps: Vec::new() };
        }
        SandboxSupport::Missing { reason: "commands of this test are not run".to_owned() }
    }
}

async fn play(
    pieces: &mut mpsc::UnboundedReceiver<String>,
    output: &OutputSink,
    cancel: &CancellationToken,
) -> ShellOutcome {
    loop {
        tokio::select! {
            biased;
            piece = pieces.recv() => match piece {
                Some(piece) => output.take(&piece),
                None => return printed(""),
            },
            () = cancel.cancelled() => return ShellOutcome { end: CommandEnd::Cancelled, ..printed("") },
        }
    }
}
