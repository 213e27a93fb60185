//! `bash`: a command in a shell. Judging commands is permission's, running them the shell port's.

use std::num::NonZeroU64;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use copydesk_workspace::document::Document;
use copydesk_workspace::path::AbsPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::changed::{self, Files, MOST_NAMES};
use super::{JOB, described, path};
use crate::escape::{escaped, escaped_line};
use crate::jobs::NewJob;
use crate::output::{self, Limits};
use crate::overlay;
use crate::ports::{
    BoxFuture, CapturedOutput, CommandEnd, Confinement, Keyboard, Preview, ShellCommand, ShellOutcome, TerminalPrompt,
    Typed, Unsaved,
};
use crate::snapshots::{Before, Footprint, Loss};
use crate::tool::{
    Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput, User,
};

/// What a command has changed is looked for so long after a cancel; that it has ended took its part of the time that there is.
const LOOK_AFTER_CANCEL: Duration = Duration::from_millis(800);

pub(super) struct Bash;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// The command, run by bash.
    command: String,
    /// The longest time that it may run, in milliseconds.
    timeout: Option<NonZeroU64>,
    /// Let it run on beside the conversation: for servers, watchers and what takes long. The call returns the id of a job at once.
    background: Option<bool>,
    /// Give it a terminal, on which the user answers what it asks: for passwords and questions that no option answers. Not for editors, pagers or what draws.
    interactive: Option<bool>,
    /// The folder to run it in, absolute or relative to the session's folder, which is the default.
    workdir: Option<String>,
    /// What it does, in a few words, for the user.
    description: Option<String>,
    /// Only where the sandbox stands in the way of what the user wants: why the command has to run outside of it. The user is asked.
    unconfined: Option<String>,
}

#[derive(Debug)]
pub(super) struct Command {
    text: String,
    folder: AbsPath,
    /// `None`: no limit.
    timeout: Option<Duration>,
    /// Whether it runs on beside the conversation.
    is_job: bool,
    /// Whether the user answers what it asks on a terminal.
    is_interactive: bool,
    /// Buffers that only the agent has changed, shown to the user before.
    save: Vec<String>,
    /// Why it runs outside of the sandbox.
    unconfined: Option<String>,
}

impl Tool for Bash {
    type Input = Input;
    type Prepared = Command;

    const NAME: &'static str = "bash";
    const KIND: ToolKind = ToolKind::Execute;
    const GATE: Gate = Gate::Exclusive;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("bash.txt"), facts).replace("{timeout}", &facts.command_timeout.to_string())
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        let text = |name: &str| partial.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        match text("command").or_else(|| text("description")) {
            Some(line) => first_line(line),
            None => "Run a command".to_owned(),
        }
    }

    /// What is said of a command makes it no other one.
    fn identity(&self, arguments: &Value) -> Option<Value> {
        let mut identity = arguments.clone();
        if let Value::Object(fields) = &mut identity {
            fields.shift_remove("description");
        }
        Some(identity)
    }

    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        if input.command.trim().is_empty() {
            return Err(ToolError::Tell("`command` is empty; nothing was run".to_owned()));
        }
        Ok(vec![Access::Command {
            text: input.command.clone(),
            folder: folder(input, facts)?,
            unconfined: unconfined(input).is_some(),
        }])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Command>, ToolError> {
        let folder = folder(input, &ctx.facts)?;
        let (own, users) = unsaved(ctx);
        let name = |document: &Document| escaped_line(&path::shown(&document.path, &ctx.facts));
        let mut notes: Vec<String> = input.description.iter().map(|text| escaped(text)).collect();
        let unconfined = unconfined(input).filter(|_| ctx.confinement != Confinement::None);
        notes.extend(unconfined.map(|reason| {
            format!("it runs OUTSIDE OF THE SANDBOX, with all of your rights: {}", escaped_line(reason))
        }));
        notes.extend(
            own.iter().map(|document| format!("{} is saved first: only the agent has changed it", name(document))),
        );
        notes.extend(users.iter().map(|document| not_seen(&name(document))));
        let is_job = input.background.unwrap_or_default();
        notes.extend(
            is_job.then(|| "it runs in the background, until it ends, is killed, or the session ends".to_owned()),
        );
        let is_interactive = input.interactive.unwrap_or_default();
        if is_interactive && is_job {
            let text = "A command in the background has no terminal: leave out `background` or `interactive`. Nothing was run.";
            return Err(ToolError::Tell(text.to_owned()));
        }
        notes.extend(is_interactive.then(|| "it has a terminal: what it asks there is put to you".to_owned()));
        let shown = escaped(&input.command);
        let lines = input.command.trim_end_matches('\n').lines().count();
        let preview =
            Preview::Command { shown, lines, folder: escaped_line(&folder.to_string()), notes, asked: Vec::new() };
        let timeout = match input.timeout {
            Some(timeout) => Some(timeout.get()),
            None if is_job => None,
            None => Some(ctx.facts.command_timeout),
        };
        let save = own.into_iter().map(|document| document.uri).collect();
        Ok(Prepared {
            value: Command {
                text: input.command.clone(),
                folder,
                timeout: timeout.map(Duration::from_millis),
                is_job,
                is_interactive,
                save,
                unconfined: unconfined.map(str::to_owned),
            },
            preview,
        })
    }

    async fn commit(&self, command: Command, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let mut notes = save(&command.save, ctx).await;
        let files = Files::of(ctx);
        if ctx.jobs.any_running() {
            // What jobs have changed is not the command's.
            notes.extend(files.changes(Footprint::default()).await);
        }
        files.note().await;
        let Command { text, folder, timeout, is_job, is_interactive, unconfined, .. } = command;
        let title = first_line(&text);
        let confinement = if unconfined.is_some() { Confinement::None } else { ctx.confinement.clone() };
        let boundary = boundary(&confinement);
        let before = tokio::select! {
            biased;
            () = ctx.cancel.cancelled() => return Err(ToolError::Cancelled.into()),
            before = ctx.snapshots.before(&confinement) => before,
        };
        let run = ShellCommand {
            command: text,
            folder,
            timeout,
            overflow: output::spill_path(&ctx.facts, &*ctx.ids),
            hidden_vars: ctx.hidden_vars.clone(),
            passed_vars: ctx.passed_vars.clone(),
            confinement,
        };
        if is_job {
            return start(
                NewJob {
                    command: run,
                    title,
                    left: Box::pin(left(before)),
                    changes: Box::new(|left| Box::pin(async move { files.changes(left).await })),
                },
                &notes,
                ctx,
            );
        }
        let at_terminal = is_interactive.then(|| Arc::new(AtTerminal::of(ctx.user.clone())));
        let ran = match &at_terminal {
            None => ctx.shell.run(run, ctx.progress.sink(), ctx.cancel.clone()).await,
            Some(user) => ctx.shell.run_at_terminal(run, ctx.progress.sink(), user.clone(), ctx.cancel.clone()).await,
        };
        let outcome = ran.map_err(|error| ToolError::Tell(format!("{error}. Nothing was run.")))?;
        notes.extend(at_terminal.iter().flat_map(|user| user.notes()));
        notes.extend(files.changes(left_in_time(before, ctx).await).await);

        let mut text = shown(&outcome.output, ctx).await;
        let ended = ended(&outcome, timeout);
        let boundary = boundary.into_iter().chain(outcome.left_out);
        let boundary = boundary.filter(|_| outcome.end != CommandEnd::Exited(0));
        for note in ended.into_iter().chain(boundary).chain(notes) {
            text.push_str(&format!("\n[{note}]"));
        }
        let exit = match outcome.end {
            CommandEnd::Exited(code) => json!(code),
            CommandEnd::Cancelled => return Err(ToolError::Interrupted(text).into()),
            CommandEnd::Signalled(_) | CommandEnd::TimedOut => Value::Null,
        };
        Ok(ToolOutput { text, capped: true, metadata: json!({"exit": exit}), ..ToolOutput::default() })
    }
}

/// The user, and how often he was wanted. What he has typed is not kept.
struct AtTerminal {
    user: User,
    answered: AtomicUsize,
    refused: AtomicUsize,
}

impl AtTerminal {
    fn of(user: User) -> Self {
        Self { user, answered: AtomicUsize::new(0), refused: AtomicUsize::new(0) }
    }

    fn notes(&self) -> Vec<String> {
        let (answered, refused) = (self.answered.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed));
        let lines = if answered == 1 { "1 line".to_owned() } else { format!("{answered} lines") };
        let typed = (answered > 0).then(|| format!("the user has typed {lines} for it, which you do not see"));
        let refused = (refused > 0).then(|| {
            "it asked, or seemed to ask, for input that the user did not give, or that his client cannot take: where it was seen to wait for that, it was told that there is none".to_owned()
        });
        typed.into_iter().chain(refused).collect()
    }
}

impl Keyboard for AtTerminal {
    fn line(&self, prompt: TerminalPrompt) -> BoxFuture<'_, Option<Typed>> {
        Box::pin(async move {
            let typed = self.user.line(prompt).await;
            let count = if typed.is_some() { &self.answered } else { &self.refused };
            count.fetch_add(1, Ordering::Relaxed);
            typed
        })
    }
}

async fn left(before: Option<Before>) -> Footprint {
    match before {
        Some(before) => before.after().await,
        None => Footprint::default(),
    }
}

/// After a cancel there is little time.
async fn left_in_time(before: Option<Before>, ctx: &ToolContext) -> Footprint {
    let mut left = pin!(left(before));
    tokio::select! {
        biased;
        left = &mut left => return left,
        () = ctx.cancel.cancelled() => {}
    }
    tokio::time::timeout(LOOK_AFTER_CANCEL, left).await.unwrap_or_else(|_| {
        let reason = "the turn was cancelled before it was found out".to_owned();
        Footprint { losses: vec![Loss::All { reason }], ..Footprint::default() }
    })
}

fn start(job: NewJob, notes: &[String], ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
    let job = ctx.jobs.start(job)?;
    let mut text = format!(
        "It runs in the background as {}. You are told when it has ended; `{JOB}` shows its output, waits for it and kills it.",
        job.id
    );
    for note in notes {
        text.push_str(&format!("\n[{note}]"));
    }
    Ok(ToolOutput { text, metadata: json!({ JOB: job.id }), ..ToolOutput::default() })
}

fn first_line(command: &str) -> String {
    escaped(command.trim()).lines().next().unwrap_or_default().to_owned()
}

fn folder(input: &Input, facts: &Facts) -> Result<AbsPath, ToolError> {
    match input.workdir.as_deref() {
        Some(folder) if !folder.trim().is_empty() => path::resolve(folder, facts),
        _ => Ok(facts.folder.clone()),
    }
}

/// Some models fill what they do not use with blanks.
fn unconfined(input: &Input) -> Option<&str> {
    input.unconfined.as_deref().map(str::trim).filter(|reason| !reason.is_empty())
}

/// What held the command, for one that failed: whether that was the cause, the system does not tell.
fn boundary(confinement: &Confinement) -> Option<String> {
    let Confinement::Sandbox(policy) = confinement else { return None };
    let writable: Vec<String> = policy.writable.iter().chain([&policy.temp]).map(AbsPath::to_string).collect();
    let network = if policy.network { "" } else { ", uses no network" };
    Some(format!(
        "it ran in the sandbox, which changes files only in {} (TMPDIR){network} and reads no keys of the user. If it failed for that, and not otherwise, repeat the call with `unconfined` and the reason: the user is asked",
        writable.join(", ")
    ))
}

/// Those that may be saved, and those that hold text of the user.
fn unsaved(ctx: &ToolContext) -> (Vec<Document>, Vec<Document>) {
    let (own, users): (Vec<_>, Vec<_>) =
        ctx.view.unsaved().into_iter().partition(|(_, by)| *by == overlay::Unsaved::AgentAlone);
    let documents = |of: Vec<(Document, overlay::Unsaved)>| of.into_iter().map(|(document, _)| document).collect();
    (documents(own), documents(users))
}

/// What a command does not see; no more is saved than the user was shown.
async fn save(shown: &[String], ctx: &ToolContext) -> Vec<String> {
    let (own, _) = unsaved(ctx);
    let uris = own.into_iter().map(|document| document.uri).filter(|uri| shown.contains(uri)).collect();
    let failed = ctx.view.save(uris).await;
    let reason = |uri: &str| failed.iter().find(|Unsaved { uri: of, .. }| of == uri).map(|unsaved| &unsaved.reason);
    let still = ctx.view.unsaved();
    let note = |document: &Document| {
        let name = path::shown(&document.path, &ctx.facts);
        match reason(&document.uri) {
            Some(reason) => format!("{}; saving it failed: {reason}", not_seen(&name)),
            None => not_seen(&name),
        }
    };
    let more = |more| format!("{more} more documents have unsaved text in the editor, which the command does not see");
    changed::first(MOST_NAMES, still.iter().map(|(document, _)| note(document)), more)
}

fn not_seen(name: &str) -> String {
    format!("{name} has unsaved text in the editor, which the command does not see")
}

fn ended(outcome: &ShellOutcome, timeout: Option<Duration>) -> Vec<String> {
    let end = match outcome.end {
        CommandEnd::Exited(code) => format!("exit code {code}"),
        CommandEnd::Signalled(signal) => format!("ended by signal {signal}"),
        CommandEnd::TimedOut => format!(
            "timed out: ended with all its processes after {} ms; give a larger `timeout` if it needs more",
            timeout.unwrap_or_default().as_millis()
        ),
        CommandEnd::Cancelled => "cancelled by the user: ended with all its processes".to_owned(),
    };
    let left = match outcome.survivors {
        0 => None,
        1 => Some("1 process that it started still runs".to_owned()),
        many => Some(format!("{many} processes that it started still run")),
    };
    [Some(end), left].into_iter().flatten().collect()
}

/// Head and tail within the limits, with counts of what is between (R7.4).
async fn shown(output: &CapturedOutput, ctx: &ToolContext) -> String {
    let limits = Limits::of(&ctx.facts);
    let is_whole = output.omitted_bytes == 0 && output.tail.is_empty();
    if is_whole && output.head.trim().is_empty() {
        return "(no output)".to_owned();
    }
    if is_whole && limits.fit(&output.head) {
        return output.head.trim_end_matches('\n').to_owned();
    }
    let (head, tail) = if is_whole { (&output.head, &output.head) } else { (&output.head, &output.tail) };
    let (first, last) = (output::head(head, limits.half()), output::tail(tail, limits.half()));
    let between = if is_whole { &head[first.len()..head.len() - last.len()] } else { "" };
    let cut =
        |whole: &str, kept: &str| (whole.len() - kept.len(), count_lines(whole).saturating_sub(count_lines(kept)));
    let (bytes, lines) = if is_whole {
        (between.len(), count_lines(between))
    } else {
        let (head_cut, tail_cut) = (cut(head, first), cut(tail, last));
        let usize_of = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        (
            usize_of(output.omitted_bytes) + head_cut.0 + tail_cut.0,
            usize_of(output.omitted_lines) + head_cut.1 + tail_cut.1,
        )
    };
    let place = match &output.file {
        Some(file) => output::whole_in(file),
        None if is_whole => ctx.view.spill(&output.head, &ctx.facts, &*ctx.ids).await,
        None => "The rest was not kept".to_owned(),
    };
    let note = output::left_out(lines, bytes);
    format!("{}\n\n[{note}. {place}]\n\n{}", first.trim_end_matches('\n'), last.trim_end_matches('\n'))
}

fn count_lines(text: &str) -> usize {
    text.lines().count()
}

#[cfg(test)]
#[path = "bash_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
