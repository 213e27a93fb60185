//! Background jobs of a session: commands that run on beside its turns (R7.5). They end with the session, and those of a turn with its cancel. What a
//! command may do was judged before it comes here; what the model is shown of a job is its tool's.

mod output;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use copydesk_workspace::path::AbsPath;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::event::{SessionEvent, Severity};
use crate::ids::{Millis, SessionId};
use crate::ports::{BoxFuture, Client, Clock, CommandEnd, OutputSink, Shell, ShellCommand, ShellError, ShellOutcome};
use crate::snapshots::Footprint;
use crate::tool::ToolError;

use output::Output;
pub use output::Read;

/// That run at once; whoever starts more has lost sight of them.
const MOST_RUNNING: usize = 16;
/// That are remembered after their end.
const MOST_ENDED: usize = 32;

/// What the user is told beside the conversation.
#[derive(Clone)]
pub struct Notices {
    pub session: SessionId,
    pub client: Arc<dyn Client>,
}

impl Notices {
    pub async fn tell(&self, severity: Severity, text: String) {
        self.client.update(self.session.clone(), SessionEvent::Notice { severity, text }).await;
    }
}

pub struct Jobs {
    shell: Arc<dyn Shell>,
    clock: Arc<dyn Clock>,
    notices: Notices,
    state: Mutex<State>,
}

struct State {
    /// Those of earlier daemons included: an id never means two jobs of a session.
    started: u64,
    jobs: BTreeMap<u64, Arc<Job>>,
    turn: Turn,
    is_closed: bool,
    tasks: JoinSet<()>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    number: u64,
    is_cancelled: bool,
}

pub struct NewJob {
    pub command: ShellCommand,
    /// The command in one line, for people.
    pub title: String,
    /// Polled once the command has ended: what it has changed.
    pub left: BoxFuture<'static, Footprint>,
    /// The same in words for the model; not asked where the session ends too.
    pub changes: Words,
}

type Words = Box<dyn FnOnce(Footprint) -> BoxFuture<'static, Vec<String>> + Send>;

pub struct Job {
    pub id: String,
    pub title: String,
    /// Holds the whole output once that is more than is kept in memory.
    pub file: AbsPath,
    turn: u64,
    started: Millis,
    timeout: Option<Duration>,
    cancel: CancellationToken,
    state: Mutex<JobState>,
    /// Moves with each piece of output, and at the end.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct JobState {
    output: Output,
    /// Up to where the model was shown the output.
    shown: u64,
    ended_by: Option<Ending>,
    end: Option<JobEnd>,
    /// The model knows of the end.
    is_told: bool,
}

/// Who has ended a job that did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Model,
    Cancel,
    Session,
}

/// How it came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEnd {
    /// In words: `exit code 1`.
    pub how: String,
    pub at: Millis,
    /// What the command has changed, in words for the model.
    pub changes: Vec<String>,
}

impl Jobs {
    /// `earlier`: how many jobs the session has started before.
    pub fn new(shell: Arc<dyn Shell>, clock: Arc<dyn Clock>, notices: Notices, earlier: u64) -> Self {
        let state = State {
            started: earlier,
            jobs: BTreeMap::new(),
            turn: Turn::default(),
            is_closed: false,
            tasks: JoinSet::new(),
        };
        Self { shell, clock, notices, state: Mutex::new(state) }
    }

    /// Returns while the command is still being started: what keeps it from that is told as its end.
    pub fn start(&self, new: NewJob) -> Result<Arc<Job>, ToolError> {
        let NewJob { command, title, left, changes } = new;
        let mut state = self.lock();
        if state.is_closed || state.turn.is_cancelled {
            return Err(ToolError::Cancelled);
        }
        if state.jobs.values().filter(|job| job.end().is_none()).count() >= MOST_RUNNING {
            return Err(ToolError::Tell(format!(
                "{MOST_RUNNING} jobs are running, which is the most: end one that is no longer needed with `job`. Nothing was run."
            )));
        }
        state.started += 1;
        let job = Arc::new(Job {
            id: format!("job_{}", state.started),
            title,
            file: command.overflow.clone(),
            turn: state.turn.number,
            started: self.clock.now(),
            timeout: command.timeout,
            cancel: CancellationToken::new(),
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        });
        let number = state.started;
        state.jobs.insert(number, Arc::clone(&job));
        state.forget_oldest();
        let (shell, clock, notices) = (Arc::clone(&self.shell), Arc::clone(&self.clock), self.notices.clone());
        let work = run(Arc::clone(&job), command, shell, clock, (left, changes), notices);
        state.tasks.spawn(work);
        Ok(job)
    }

    pub fn get(&self, id: &str) -> Option<Arc<Job>> {
        self.lock().jobs.values().find(|job| job.id == id).cloned()
    }

    /// In the order in which they were started; those that ended long ago are forgotten.
    pub fn list(&self) -> Vec<Arc<Job>> {
        self.lock().jobs.values().cloned().collect()
    }

    pub fn any_running(&self) -> bool {
        self.lock().jobs.values().any(|job| job.end().is_none())
    }

    /// What the model was not told yet of jobs that have ended, one text each; each is given once.
    pub(crate) fn take_news(&self) -> Vec<String> {
        self.list().iter().filter_map(|job| job.take_news()).collect()
    }

    /// Jobs that are started from now on belong to this turn.
    pub(crate) fn begin_turn(&self) {
        let turn = &mut self.lock().turn;
        *turn = Turn { number: turn.number + 1, is_cancelled: false };
    }

    /// Ends the jobs of the turn, and lets it start none. Those of earlier turns go on: the user has seen these turns end with them (R2.4).
    pub(crate) fn cancel_turn(&self) {
        let mut state = self.lock();
        state.turn.is_cancelled = true;
        let number = state.turn.number;
        for job in state.jobs.values().filter(|job| job.turn == number) {
            job.kill(Ending::Cancel);
        }
    }

    /// Resolves when all that were ended with the turn are gone.
    pub(crate) async fn turn_is_gone(&self) {
        let of_turn: Vec<_> = {
            let state = self.lock();
            state.jobs.values().filter(|job| job.turn == state.turn.number).cloned().collect()
        };
        for job in of_turn {
            job.ended().await;
        }
    }

    /// Ends all jobs, and waits until they are gone; whoever stops waiting drops them where they stand, which kills them.
    pub(crate) async fn close(&self) {
        let mut tasks = {
            let mut state = self.lock();
            state.is_closed = true;
            for job in state.jobs.values() {
                job.kill(Ending::Session);
            }
            std::mem::take(&mut state.tasks)
        };
        while tasks.join_next().await.is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The ones that ended first; those whose end the model does not know yet go last.
    fn forget_oldest(&mut self) {
        let rank = |(number, job): (&u64, &Arc<Job>)| Some((job.age()?, *number));
        let mut ended: Vec<((bool, Millis), u64)> = self.jobs.iter().filter_map(rank).collect();
        ended.sort_unstable();
        for (_, number) in ended.iter().take(ended.len().saturating_sub(MOST_ENDED)) {
            self.jobs.remove(number);
        }
        while self.tasks.try_join_next().is_some() {}
    }
}

impl Job {
    pub fn end(&self) -> Option<JobEnd> {
        self.lock().end.clone()
    }

    /// Of one that has ended: whether that is news, and when it was.
    fn age(&self) -> Option<(bool, Millis)> {
        let state = self.lock();
        state.end.as_ref().map(|end| (!state.is_told, end.at))
    }

    /// Milliseconds that it ran, up to now or its end.
    pub fn ran(&self, now: Millis) -> i64 {
        self.end().map_or(now, |end| end.at).0.saturating_sub(self.started.0)
    }

    /// The text from `from` on, in bytes of the whole output, as far as it is kept in memory.
    pub fn read(&self, from: u64) -> Read {
        self.lock().output.read(from)
    }

    /// How much output there is, in bytes.
    pub fn total(&self) -> u64 {
        self.lock().output.len()
    }

    /// Up to where the model was shown the output.
    pub fn shown(&self) -> u64 {
        self.lock().shown
    }

    pub fn show_to(&self, position: u64) {
        self.lock().shown = position;
    }

    /// The model was told how it ended.
    pub fn told_end(&self) {
        self.lock().is_told = true;
    }

    /// Sees all that comes from now on, and the end.
    pub fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// With all its processes; `ended` tells when they are gone.
    pub fn kill(&self, by: Ending) {
        self.lock().ended_by.get_or_insert(by);
        self.cancel.cancel();
    }

    pub async fn ended(&self) {
        let mut changes = self.changed.subscribe();
        while self.end().is_none() && changes.changed().await.is_ok() {}
    }

    fn push(&self, piece: &str) {
        self.lock().output.push(piece);
        self.changed.send_replace(());
    }

    fn is_closing(&self) -> bool {
        self.lock().ended_by == Some(Ending::Session)
    }

    fn finish(&self, end: JobEnd) {
        self.lock().end = Some(end);
        self.changed.send_replace(());
    }

    fn take_news(&self) -> Option<String> {
        let end = self.end()?;
        if std::mem::replace(&mut self.lock().is_told, true) {
            return None;
        }
        let (shown, len) = (self.shown(), self.total());
        let unseen = if shown < len {
            format!(" You have not seen {} bytes of its output: `job` shows them.", len - shown)
        } else {
            String::new()
        };
        let mut text = format!("{} ({}) has ended: {}.{unseen}", self.id, self.title, end.how);
        for change in end.changes {
            text.push_str(&format!("\n[{change}]"));
        }
        Some(text)
    }

    fn how(&self, ran: &Result<ShellOutcome, ShellError>) -> (String, bool) {
        let outcome = match ran {
            Ok(outcome) => outcome,
            Err(error) => return (format!("it could not be started: {error}"), false),
        };
        let how = match outcome.end {
            CommandEnd::Exited(code) => format!("exit code {code}"),
            CommandEnd::Signalled(signal) => format!("ended by signal {signal}"),
            CommandEnd::TimedOut => {
                format!("timed out after {} ms", self.timeout.unwrap_or_default().as_millis())
            }
            CommandEnd::Cancelled => match self.lock().ended_by {
                Some(Ending::Cancel) => "the user cancelled the turn that started it".to_owned(),
                Some(Ending::Session) => "the session was closed".to_owned(),
                Some(Ending::Model) | None => "it was killed".to_owned(),
            },
        };
        let left = if outcome.survivors > 0 {
            format!("; {} processes that it started still run", outcome.survivors)
        } else {
            String::new()
        };
        let is_good = outcome.end == CommandEnd::Exited(0);
        let hidden = outcome.left_out.iter().filter(|_| !is_good).map(|text| format!("; {text}"));
        (how + &left + &hidden.collect::<String>(), is_good)
    }

    fn lock(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(
    job: Arc<Job>,
    command: ShellCommand,
    shell: Arc<dyn Shell>,
    clock: Arc<dyn Clock>,
    (left, words): (BoxFuture<'static, Footprint>, Words),
    notices: Notices,
) {
    let dropped = Dropped { job: &job, clock: &*clock };
    let sink = {
        let job = Arc::clone(&job);
        OutputSink::new(move |piece| job.push(piece))
    };
    let ran = shell.run(command, sink, job.cancel.clone()).await;
    let left = left.await;
    let changes = if job.is_closing() { Vec::new() } else { words(left).await };
    let (how, is_good) = job.how(&ran);
    let is_own = matches!(&ran, Ok(outcome) if outcome.end != CommandEnd::Cancelled) || ran.is_err();
    job.finish(JobEnd { how: how.clone(), at: clock.now(), changes });
    drop(dropped);
    if is_own {
        let severity = if is_good { Severity::Info } else { Severity::Warning };
        notices.tell(severity, format!("{} ({}) has ended: {how}.", job.id, job.title)).await;
    }
}

/// Ends the job where its task does not: it panicked, or was given up.
struct Dropped<'a> {
    job: &'a Job,
    clock: &'a dyn Clock,
}

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        if self.job.end().is_none() {
            let how = "it was given up by a fault inside Copydesk, which is in its log".to_owned();
            self.job.finish(JobEnd { how, at: self.clock.now(), changes: Vec::new() });
        }
    }
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
