//! `job`: looks after the background jobs that `bash` has started: their output, their end. What runs them is `crate::jobs`.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use regex_automata::meta::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::changed::Files;
use super::{JOB, described};
use crate::jobs::{Ending, Job};
use crate::output::{self, Limits};
use crate::ports::Preview;
use crate::snapshots::Footprint;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

/// Milliseconds.
const DEFAULT_WAIT: u64 = 60_000;
const LONGEST_WAIT: u64 = 600_000;

/// Between two looks at output that comes without pause.
const LOOK: Duration = Duration::from_millis(50);

/// A kill is over by then, unless the kernel holds a process.
const KILL_LIMIT: Duration = Duration::from_secs(3);

/// The compiled form of a pattern, in bytes.
const LARGEST_PATTERN: usize = 1 << 20;

pub(super) struct JobTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// What to do.
    action: Action,
    /// The job, as `bash` named it. Not needed for `list`.
    id: Option<String>,
    /// For `output` and `wait`: where to begin, in bytes of the whole output. Left out: where you have last seen it end.
    from: Option<u64>,
    /// For `wait`: a regular expression that a line is to match.
    pattern: Option<String>,
    /// For `wait`: the longest time, in milliseconds.
    timeout: Option<NonZeroU64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Output,
    Wait,
    Kill,
}

pub(super) enum Request {
    List,
    Output { job: Arc<Job>, from: Option<u64> },
    Wait { job: Arc<Job>, from: Option<u64>, pattern: Option<Regex>, limit: Duration },
    Kill(Arc<Job>),
}

impl Tool for JobTool {
    type Input = Input;
    type Prepared = Request;

    const NAME: &'static str = JOB;
    const KIND: ToolKind = ToolKind::Execute;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("job.txt"), facts)
            .replace("{timeout}", &DEFAULT_WAIT.to_string())
            .replace("{longest}", &LONGEST_WAIT.to_string())
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        let text = |name: &str| partial.get(name).and_then(Value::as_str).unwrap_or_default();
        let verb = match text("action") {
            "output" => "Output of",
            "wait" => "Wait for",
            "kill" => "Kill",
            _ => return "Background jobs".to_owned(),
        };
        match text("pattern") {
            "" => format!("{verb} {}", text("id")),
            pattern => format!("{verb} {pattern} of {}", text("id")),
        }
    }

    /// It is there to be called again and again (R13.1).
    fn identity(&self, _arguments: &Value) -> Option<Value> {
        None
    }

    fn access(&self, _input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Session { permission: JOB }])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Request>, ToolError> {
        let job = || find(input.id.as_deref(), ctx);
        let value = match input.action {
            Action::List => Request::List,
            Action::Output => Request::Output { job: job()?, from: input.from },
            Action::Wait => {
                let pattern =
                    input.pattern.as_deref().filter(|pattern| !pattern.is_empty()).map(compile).transpose()?;
                let limit = input.timeout.map_or(DEFAULT_WAIT, NonZeroU64::get).min(LONGEST_WAIT);
                Request::Wait { job: job()?, from: input.from, pattern, limit: Duration::from_millis(limit) }
            }
            Action::Kill => Request::Kill(job()?),
        };
        Ok(Prepared { value, preview: Preview::Nothing })
    }

    async fn commit(&self, request: Request, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let (job, from, note) = match request {
            Request::List => {
                let text = list(ctx);
                return Ok(ToolOutput { text, ..ToolOutput::default() });
            }
            Request::Output { job, from } => (job, from, None),
            Request::Wait { job, from, pattern, limit } => {
                let note = wait(&job, from.unwrap_or_else(|| job.shown()), pattern.as_ref(), limit, ctx).await;
                (job, from, note)
            }
            Request::Kill(job) => {
                job.kill(Ending::Model);
                let is_gone = timeout(KILL_LIMIT, job.ended()).await.is_ok();
                let note =
                    (!is_gone).then(|| "the kernel holds its processes: they end as soon as it lets them".to_owned());
                (job, None, note)
            }
        };
        // Before its own changes are told, which its end has noted.
        let changes = Files::of(ctx).changes(Footprint::default()).await;
        let mut text = shown(&job, from, ctx).await;
        let mut notes: Vec<String> = note.into_iter().chain([state(&job, ctx)]).collect();
        if let Some(end) = job.end() {
            job.told_end();
            notes.extend(end.changes);
        }
        notes.extend(changes);
        for note in notes {
            text.push_str(&format!("\n[{note}]"));
        }
        Ok(ToolOutput { text, capped: true, metadata: json!({"state": state_word(&job)}), ..ToolOutput::default() })
    }
}

fn find(id: Option<&str>, ctx: &ToolContext) -> Result<Arc<Job>, ToolError> {
    let id = id.map(str::trim).unwrap_or_default();
    ctx.jobs.get(id).ok_or_else(|| {
        let known: Vec<String> = ctx.jobs.list().iter().map(|job| job.id.clone()).collect();
        let known =
            if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) };
        let which = if id.is_empty() { "`id` is missing".to_owned() } else { format!("There is no job {id:?}") };
        ToolError::Tell(format!(
            "{which}: {known}. Jobs end with the session, and are forgotten some time after their end."
        ))
    })
}

fn compile(pattern: &str) -> Result<Regex, ToolError> {
    let config = Regex::config().nfa_size_limit(Some(LARGEST_PATTERN));
    Regex::builder().configure(config).build(pattern).map_err(|error| {
        let reason = error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
        ToolError::Tell(format!("`pattern` is no regular expression that is taken here: {reason}"))
    })
}

fn list(ctx: &ToolContext) -> String {
    let jobs = ctx.jobs.list();
    if jobs.is_empty() {
        return "There are no background jobs.".to_owned();
    }
    let line = |job: &Arc<Job>| format!("{}: {}\n  {}", job.id, state(job, ctx), job.title);
    jobs.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn state(job: &Job, ctx: &ToolContext) -> String {
    let seconds = job.ran(ctx.clock.now()) / 1000;
    let total = job.total();
    match job.end() {
        Some(end) => format!("{} has ended after {seconds} s: {}; {total} bytes of output", job.id, end.how),
        None => format!("{} has been running for {seconds} s; {total} bytes of output so far", job.id),
    }
}

fn state_word(job: &Job) -> &'static str {
    if job.end().is_some() { "ended" } else { "running" }
}

/// Until a line matches, the job has ended or the time is up: what of it, in words. Shows the output meanwhile.
async fn wait(job: &Job, from: u64, pattern: Option<&Regex>, limit: Duration, ctx: &ToolContext) -> Option<String> {
    let deadline = Instant::now() + limit;
    let mut changes = job.watch();
    let progress = ctx.progress.sink();
    // Of the line that was not whole yet the match is tried again; what was shown is not shown again.
    let (mut at, mut told) = (from, from);
    loop {
        changes.borrow_and_update();
        let end = job.end();
        let read = job.read(at);
        let reaches = read.from + read.text.len() as u64;
        let new = usize::try_from(told.max(read.from) - read.from).unwrap_or(usize::MAX);
        progress.take(read.text.get(new..).unwrap_or_default());
        told = told.max(reaches);
        if let Some(line) = pattern.and_then(|pattern| lines(&read.text).find(|line| pattern.is_match(*line))) {
            return Some(format!("this line matches: {}", quoted(line)));
        }
        if end.is_some() {
            return pattern.map(|_| "it ended without a line that matches".to_owned());
        }
        let whole = read.text.rfind(['\n', '\r']).map_or(0, |last| last + 1);
        at = read.from + whole as u64;
        tokio::select! {
            biased;
            () = sleep_until(deadline) => {
                let what = if pattern.is_some() { "no line matched" } else { "it did not end" };
                return Some(format!("{what} within {} ms", limit.as_millis()));
            }
            // The sender is the job's own.
            _ = changes.changed() => {}
        }
        sleep(LOOK).await;
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r']).filter(|line| !line.is_empty())
}

/// Characters of a line that matches.
const QUOTED: usize = 200;

fn quoted(line: &str) -> String {
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// From `from` on as much as the limits allow; without it the end of what the model has not seen.
async fn shown(job: &Job, from: Option<u64>, ctx: &ToolContext) -> String {
    let limits = Limits::of(&ctx.facts);
    let Some(from) = from else {
        let seen = job.shown();
        let read = job.read(seen);
        job.show_to(read.from + read.text.len() as u64);
        if read.text.trim().is_empty() {
            return "(no new output)".to_owned();
        }
        let end = output::tail(&read.text, limits);
        let left_out = read.from + (read.text.len() - end.len()) as u64 - seen;
        let end = end.trim_end_matches('\n');
        return match left_out {
            0 => end.to_owned(),
            _ => format!("[{left_out} bytes before this are left out: `from: {seen}` shows them]\n\n{end}"),
        };
    };
    let (text, at) = piece(job, from, limits, ctx).await;
    let kept = output::head(&text, limits);
    let next = at + kept.len() as u64;
    let total = job.total();
    if next >= total {
        job.show_to(next.max(job.shown()));
    }
    let mut shown = kept.trim_end_matches('\n').to_owned();
    if shown.is_empty() {
        shown.push_str("(no output there)");
    }
    if at > from.min(total) {
        shown.insert_str(0, &format!("[What stands before {at} was not kept.]\n\n"));
    }
    if next < total {
        shown.push_str(&format!("\n\n[{} more bytes follow: `from: {next}`]", total - next));
    }
    shown
}

/// At least what the limits allow, and where it begins: out of memory, or of the file that has all of it.
async fn piece(job: &Job, from: u64, limits: Limits, ctx: &ToolContext) -> (String, u64) {
    let read = job.read(from);
    if read.from <= from.saturating_add(3) || from >= job.total() {
        return (read.text, read.from);
    }
    match ctx.view.spilled(&job.file, from, limits.bytes.saturating_add(8)).await {
        // The file has a limit, and what comes behind it is in memory alone.
        Some(bytes) if !bytes.is_empty() => whole_characters(&bytes, from),
        Some(_) | None => (read.text, read.from),
    }
}

/// Without the pieces of characters at both ends.
fn whole_characters(bytes: &[u8], from: u64) -> (String, u64) {
    let skipped = bytes.iter().take(3).take_while(|byte| (0x80..0xC0).contains(*byte)).count();
    let rest = &bytes[skipped..];
    let text = match std::str::from_utf8(rest) {
        Ok(text) => text.to_owned(),
        Err(error) => String::from_utf8_lossy(&rest[..error.valid_up_to()]).into_owned(),
    };
    (text, from + skipped as u64)
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
