//! What happens in a session as Markdown for the chat document: pure functions. Where it is put is the chat's.

use copydesk_engine::event::{SessionEvent, ToolCallState, ToolCallView};
use copydesk_engine::message::{FileDiff, ToolStatus, TurnEnd};
use copydesk_engine::ports::{Ask, Preview};
use copydesk_engine::tool::ToolKind;
use copydesk_workspace::diff;

/// Below it the user types; it is the last heading of the document while nothing is sent.
pub(super) const PROMPT_HEADING: &str = "## Prompt";

/// Of a command's output: its end, in lines.
const OUTPUT_LINES: usize = 20;
const DIFF_CONTEXT: usize = 3;
/// What fits into a message of an editor, lines and bytes. More is shown in the chat document (R8.4).
const MESSAGE_LINES: usize = 15;
const MESSAGE_BYTES: usize = 1000;

/// A prompt that did not come from the document.
pub(super) fn prompt(text: &str, context: &str) -> String {
    let context = if context.is_empty() { String::new() } else { format!("\n{}", guarded(context)) };
    format!("## You\n\n{}\n{context}\n## Copydesk\n", guarded(text.trim_end()))
}

/// `None` for what the document does not show. Text of the model is not made here: it streams.
pub(super) fn event(event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::ToolCallUpdate(view) => call(view),
        SessionEvent::Plan(todos) => {
            let item = |status: &str| if status == "completed" { "[x]" } else { "[ ]" };
            let items = todos.iter().map(|todo| format!("- {} {}\n", item(&todo.status), one_line(&todo.content)));
            Some(items.collect())
        }
        SessionEvent::User { .. }
        | SessionEvent::Text { .. }
        | SessionEvent::Reasoning { .. }
        | SessionEvent::ToolCall(_)
        | SessionEvent::Usage { .. }
        | SessionEvent::Notice { .. }
        | SessionEvent::Retry(_)
        | SessionEvent::Granted
        | SessionEvent::Changes
        | SessionEvent::Chosen { .. }
        | SessionEvent::TurnEnded(_) => None,
    }
}

/// A call that has ended, with its diffs; of commands and of failures also what they said.
fn call(view: &ToolCallView) -> Option<String> {
    let ToolCallState::Ended(status) = view.state else { return None };
    let word = match status {
        ToolStatus::Completed => "done",
        ToolStatus::Failed => "failed",
        ToolStatus::Cancelled => "cancelled",
    };
    let mut text = format!("**{}** ({word})\n", one_line(&view.title));
    for diff in &view.diffs {
        text.push_str(&fenced("diff", &unified(diff)));
    }
    let speaks = view.diffs.is_empty() && (view.kind == ToolKind::Execute || status == ToolStatus::Failed);
    if speaks && !view.text.trim().is_empty() {
        text.push_str(&fenced("", &tail(&view.text)));
    }
    Some(text)
}

/// All that will be done if the answer is yes.
pub(super) fn ask(ask: &Ask) -> String {
    let options: Vec<String> = ask.options.iter().map(|option| one_line(&option.label)).collect();
    format!(
        "**Copydesk asks: {}** ({})\n{}\nAnswer with a code action on any line ({}), or by the command `copydesk.answer` with `{}` and the option.\n",
        one_line(&ask.title),
        one_line(&ask.reason),
        preview(&ask.preview),
        options.join("; "),
        ask.id,
    )
}

/// The text of a message that asks, and whether all that would be done stands in it.
pub(super) fn message(ask: &Ask) -> (String, bool) {
    let head = format!("{}\n{}", ask.title, ask.reason);
    let shown = match &ask.preview {
        Preview::Nothing => String::new(),
        Preview::Edit(diffs) => diffs.iter().map(unified).collect(),
        Preview::Command { shown, folder, notes, .. } => {
            let asked = ask.preview.marks().map(|asked| asked + "\n").unwrap_or_default();
            format!("{shown}\nin {folder}\n{asked}{}", notes.join("\n"))
        }
        Preview::Access(text) => text.clone(),
    };
    if shown.lines().count() <= MESSAGE_LINES && shown.len() <= MESSAGE_BYTES {
        (format!("{head}\n{}", shown.trim_end()), true)
    } else {
        (format!("{head}\nThe chat document shows all of it."), false)
    }
}

/// `None` where the turn ended as it should.
pub(super) fn end(end: &TurnEnd) -> Option<String> {
    let text = match end {
        TurnEnd::Done => return None,
        TurnEnd::MaxTokens => "The answer was cut: it reached the limit of the model's output.",
        TurnEnd::MaxSteps => "Stopped: the limit of steps was reached.",
        TurnEnd::Refused => "The model refused.",
        TurnEnd::Rejected => "Stopped, as you rejected.",
        TurnEnd::Cancelled => "Stopped.",
        TurnEnd::Interrupted => "Interrupted: Copydesk ended before the turn did.",
        TurnEnd::Limit { message } | TurnEnd::Failed { message } => message,
    };
    Some(format!("> {}\n", guarded(text).trim_end().replace('\n', "\n> ")))
}

fn preview(preview: &Preview) -> String {
    match preview {
        Preview::Nothing => String::new(),
        Preview::Edit(diffs) => diffs.iter().map(|diff| fenced("diff", &unified(diff))).collect(),
        Preview::Command { shown, lines, folder, notes, .. } => {
            let count = if *lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
            let notes: String = notes.iter().map(|note| format!("\n{note}\n")).collect();
            let asked = preview.marks().map(|asked| format!("\n{asked}\n")).unwrap_or_default();
            format!("\n{count}, in {folder}:\n{}{}", fenced("sh", shown), guarded(&(asked + &notes)))
        }
        Preview::Access(text) => format!("\n{}\n", guarded(text)),
    }
}

fn unified(diff: &FileDiff) -> String {
    diff::unified(&diff.path.to_string(), &diff.text_before(), &diff.text_after(), DIFF_CONTEXT)
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(OUTPUT_LINES);
    let left_out = if from == 0 { String::new() } else { format!("({from} lines before)\n") };
    format!("{left_out}{}\n", lines[from..].join("\n"))
}

/// With a fence that the text does not hold.
fn fenced(language: &str, text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("\n{fence}{language}\n{}\n{fence}\n", guarded(text.trim_end_matches('\n')))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// No line of it is taken for the heading of the prompt.
fn guarded(text: &str) -> String {
    let mut guard = Guard::default();
    let mut out = guard.push(text);
    out.push_str(&guard.finish());
    out
}

/// Escapes the heading of the prompt in text that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// The beginning of a line that may become the heading.
    held: String,
    inside_line: bool,
}

impl Guard {
    pub(super) fn push(&mut self, piece: &str) -> String {
        let text = std::mem::take(&mut self.held) + piece;
        let mut out = String::new();
        for line in text.split_inclusive('\n') {
            let is_whole = line.ends_with('\n');
            let bare = line.trim_end();
            if self.inside_line {
                out.push_str(line);
            } else if is_whole && bare == PROMPT_HEADING {
                out.push('\\');
                out.push_str(line);
            } else if !is_whole && (PROMPT_HEADING.starts_with(line) || bare == PROMPT_HEADING) {
                self.held = line.to_owned();
                return out;
            } else {
                out.push_str(line);
            }
            self.inside_line = !is_whole;
        }
        out
    }

    /// What is held, at the end of the text.
    pub(super) fn finish(&mut self) -> String {
        self.inside_line = false;
        let held = std::mem::take(&mut self.held);
        if held.trim_end() == PROMPT_HEADING { format!("\\{held}") } else { held }
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
