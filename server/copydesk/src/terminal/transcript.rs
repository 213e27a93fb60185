//! A session's events as text for people: pure. What the model or a tool says is shown with its control characters written out, so that it can draw
//! nothing of its own on the terminal.

use std::collections::BTreeSet;

use copydesk_engine::escape::{escaped, escaped_line};
use copydesk_engine::event::{Retry, SessionEvent, Severity, ToolCallState, ToolCallView};
use copydesk_engine::ids::CallId;
use copydesk_engine::message::{FileDiff, Todo, ToolStatus, TurnEnd};
use copydesk_engine::tool::ToolKind;
use copydesk_workspace::diff::unified;
use ropey::Rope;

use super::paint::Paint;

/// Lines of a command's output, or of a failure, that are shown behind its call.
const TAIL: usize = 10;

/// The same while it runs.
const LIVE: usize = 5;

/// Lines around each change.
const CONTEXT: usize = 3;

pub(super) struct Transcript {
    /// Of standard output, and of standard error.
    paint: Paint,
    errors: Paint,
    /// Calls whose changes were shown when they were asked for.
    shown: BTreeSet<CallId>,
}

/// Where a piece goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Behind what stands there.
    Text(String),
    /// On lines of their own.
    Lines(String),
    /// Beside the answer.
    Aside(String),
    /// The same, and behind it a line that counts down.
    Wait(String, Retry),
    /// Of what runs now: stands until anything else is shown, or this is shown anew.
    Passing(String),
}

impl Transcript {
    pub(super) fn new(paint: Paint, errors: Paint) -> Self {
        Self { paint, errors, shown: BTreeSet::new() }
    }

    /// The changes of this call need not be shown again.
    pub(super) fn was_shown(&mut self, call: &CallId) {
        self.shown.insert(call.clone());
    }

    /// `None` for what says nothing new to a person.
    pub(super) fn piece(&mut self, event: &SessionEvent) -> Option<Piece> {
        match event {
            SessionEvent::Text { delta, .. } => Some(Piece::Text(escaped(delta))),
            SessionEvent::ToolCallUpdate(view) => match view.state {
                ToolCallState::Ended(status) => Some(Piece::Lines(self.ended(view, status))),
                ToolCallState::Running if self.errors.draws() && !view.text.is_empty() => {
                    Some(Piece::Passing(self.running(view)))
                }
                ToolCallState::Pending | ToolCallState::Running => None,
            },
            SessionEvent::Plan(todos) => Some(Piece::Lines(todos.iter().map(|todo| self.todo(todo)).collect())),
            SessionEvent::Notice { severity, text } => Some(Piece::Aside(self.notice(*severity, text))),
            SessionEvent::Retry(retry) if self.errors.draws() => {
                Some(Piece::Wait(self.notice(Severity::Warning, &retry.reason), retry.clone()))
            }
            SessionEvent::Retry(retry) => Some(Piece::Aside(self.notice(Severity::Warning, &retry.to_string()))),
            SessionEvent::User { .. }
            | SessionEvent::Reasoning { .. }
            | SessionEvent::ToolCall(_)
            | SessionEvent::TurnEnded(_)
            | SessionEvent::Usage { .. }
            | SessionEvent::Granted
            | SessionEvent::Changes
            | SessionEvent::Chosen { .. } => None,
        }
    }

    /// A line for the call, then its changes or the end of what it gave.
    fn ended(&self, view: &ToolCallView, status: ToolStatus) -> String {
        let title = escaped_line(&view.title);
        let mut text = match status {
            ToolStatus::Completed => format!("{} {title}\n", self.paint.green("✓")),
            ToolStatus::Failed => format!("{} {title}\n", self.paint.red("✗")),
            ToolStatus::Cancelled => format!("{} {title}: cancelled\n", self.paint.red("✗")),
        };
        match (status, view.kind) {
            (ToolStatus::Completed, _) if !view.diffs.is_empty() => {
                if !self.shown.contains(&view.call) {
                    text.push_str(&indented(&diffs(&view.diffs, self.paint)));
                }
            }
            (ToolStatus::Completed, ToolKind::Execute | ToolKind::Other) | (ToolStatus::Failed, _) => {
                text.push_str(&indented(&self.tail(&view.text)));
            }
            (ToolStatus::Completed | ToolStatus::Cancelled, _) => {}
        }
        text
    }

    /// A line for the call, then the last lines of what it has given so far.
    fn running(&self, view: &ToolCallView) -> String {
        let lines: Vec<&str> = view.text.trim_end().lines().collect();
        let mut text = format!("{} {}\n", self.errors.cyan("…"), escaped_line(&view.title));
        for line in &lines[lines.len().saturating_sub(LIVE)..] {
            text.push_str(&format!("  {}\n", self.errors.dim(&escaped_line(line))));
        }
        text
    }

    fn tail(&self, text: &str) -> String {
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let skipped = lines.len().saturating_sub(TAIL);
        let mut tail =
            if skipped > 0 { self.paint.dim(&format!("… {skipped} lines before")) + "\n" } else { String::new() };
        for line in &lines[skipped..] {
            tail.push_str(&self.paint.dim(&escaped_line(line)));
            tail.push('\n');
        }
        tail
    }

    fn todo(&self, todo: &Todo) -> String {
        let mark = match todo.status.as_str() {
            "completed" => "[x]",
            "in_progress" => "[>]",
            "cancelled" => "[-]",
            _ => "[ ]",
        };
        format!("{} {}\n", self.paint.cyan(mark), escaped_line(&todo.content))
    }

    fn notice(&self, severity: Severity, text: &str) -> String {
        let word = match severity {
            Severity::Info => self.errors.cyan("note:"),
            Severity::Warning => self.errors.bold("warning:"),
            Severity::Error => self.errors.red("error:"),
        };
        format!("{word} {}\n", escaped(text.trim_end()))
    }
}

/// Why a turn stopped short, for the user; `None` where it did not.
pub(super) fn stopped(end: &TurnEnd) -> Option<String> {
    Some(match end {
        TurnEnd::Done => return None,
        TurnEnd::MaxTokens => {
            "Stopped: the reply reached the model's output limit. Continue the session to get the rest.".to_owned()
        }
        TurnEnd::MaxSteps => "Stopped: the turn reached its limit of steps. Continue the session to go on.".to_owned(),
        TurnEnd::Refused => "Stopped: the provider refused to answer.".to_owned(),
        TurnEnd::Rejected => {
            "Stopped: you rejected a step. Continue the session to say what you want instead.".to_owned()
        }
        TurnEnd::Cancelled | TurnEnd::Interrupted => "Cancelled.".to_owned(),
        TurnEnd::Limit { message } | TurnEnd::Failed { message } => escaped(message.trim_end()),
    })
}

/// Whole, file by file.
pub(super) fn diffs(diffs: &[FileDiff], paint: Paint) -> String {
    diffs.iter().map(|diff| one_diff(diff, paint)).collect()
}

fn one_diff(diff: &FileDiff, paint: Paint) -> String {
    let path = escaped_line(&diff.path.to_string());
    let head = match (&diff.before, &diff.after) {
        (None, _) => format!("new file {path}"),
        (_, None) => format!("deleted {path}"),
        (Some(_), Some(_)) => path.clone(),
    };
    let unified = unified("file", &diff.text_before(), &diff.text_after(), CONTEXT);
    let mut text = paint.bold(&head) + "\n";
    // Written out only where they are not the same everywhere: then they may be what changes.
    let is_crlf = [&diff.before, &diff.after].into_iter().flatten().all(ends_in_crlf);
    // The two lines that name the file are said better by the head.
    for line in unified.split_terminator('\n').skip(2) {
        let line = if is_crlf { line.strip_suffix('\r').unwrap_or(line) } else { line };
        text.push_str(&painted_line(line, paint));
        text.push('\n');
    }
    text
}

/// A whole patch. Carriage returns at the ends of lines are not written out: a file has them at all of its lines, or they are shown as what changes.
pub(super) fn painted_patch(patch: &str, paint: Paint) -> String {
    let mut text = String::new();
    // Lines that name a file look like changed ones.
    let mut is_head = true;
    for line in patch.split_terminator('\n') {
        is_head = line.starts_with("diff --git ") || is_head && !line.starts_with("@@ ");
        let line = line.strip_suffix('\r').unwrap_or(line);
        text.push_str(&if is_head { paint.bold(&escaped(line)) } else { painted_line(line, paint) });
        text.push('\n');
    }
    text
}

fn painted_line(line: &str, paint: Paint) -> String {
    let shown = escaped(line);
    match line.as_bytes().first() {
        Some(b'+') => paint.green(&shown),
        Some(b'-') => paint.red(&shown),
        Some(b'@') => paint.cyan(&shown),
        _ => shown,
    }
}

fn ends_in_crlf(text: &Rope) -> bool {
    let mut last = '\n';
    text.chars().all(|char| {
        let before = std::mem::replace(&mut last, char);
        char != '\n' || before == '\r'
    })
}

pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
