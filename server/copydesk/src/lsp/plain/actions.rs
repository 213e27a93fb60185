//! The code actions of a plain client, offered on every line: a pure function of what the editor asks and how the session stands.

use copydesk_engine::ports::{AskOption, OptionKind};
use copydesk_engine::review::HunkId;
use serde_json::{Value, json};
use tower_lsp_server::ls_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Command, Diagnostic, DiagnosticSeverity,
};

use super::asks::Listed;
use super::commands::{ACCEPT, ANSWER, CANCEL, PROMPT, REJECT, UNDO};

pub(super) struct Situation {
    pub(super) asks: Vec<Listed>,
    pub(super) has_session: bool,
    pub(super) is_running: bool,
    /// The document is the chat.
    pub(super) is_chat: bool,
    /// A prompt was typed in it.
    pub(super) has_prompt: bool,
    /// Changes of the agent that touch the lines and are undecided.
    pub(super) here: Vec<HunkId>,
    /// All that are undecided, in all files.
    pub(super) undecided: usize,
    /// There is something to take back.
    pub(super) has_changes: bool,
    /// The client takes code actions, not only commands.
    pub(super) literals: bool,
}

pub(super) fn actions(params: &CodeActionParams, situation: &Situation) -> Vec<CodeActionOrCommand> {
    let mut actions = Vec::new();
    let mut add = |title: String, command: &str, arguments: Vec<Value>, kind: Option<CodeActionKind>| {
        let is_wanted = params.context.only.as_ref().is_none_or(|only| {
            kind.as_ref().is_some_and(|kind| only.iter().any(|wanted| holds(wanted.as_str(), kind.as_str())))
        });
        if is_wanted {
            let command = Command { title: title.clone(), command: command.to_owned(), arguments: Some(arguments) };
            actions.push(if situation.literals {
                CodeActionOrCommand::CodeAction(CodeAction {
                    title,
                    kind,
                    command: Some(command),
                    ..CodeAction::default()
                })
            } else {
                CodeActionOrCommand::Command(command)
            });
        }
    };

    for ask in &situation.asks {
        for option in &ask.options {
            let title = format!("Copydesk: {}: {}", verb(option), ask.title);
            add(title, ANSWER, vec![json!(ask.id), json!(option.id)], None);
        }
    }
    if situation.is_chat {
        if situation.has_prompt {
            add("Send to Copydesk".to_owned(), PROMPT, Vec::new(), None);
        }
    } else {
        let (uri, range) = (json!(params.text_document.uri), json!(params.range));
        let problems = problems(&params.context.diagnostics);
        if !problems.is_empty() {
            let text = match params.context.diagnostics.len() {
                1 => format!("Fix this problem:\n\n{problems}"),
                _ => format!("Fix these problems:\n\n{problems}"),
            };
            let arguments = json!({ "text": text, "uri": uri, "range": range });
            add("Fix this problem".to_owned(), PROMPT, vec![arguments], Some(CodeActionKind::QUICKFIX));
        }
        let arguments = json!({ "uri": uri, "range": range, "problems": problems });
        add("Ask Copydesk".to_owned(), PROMPT, vec![arguments], None);
    }
    if !situation.here.is_empty() {
        let ids: Vec<Value> = situation.here.iter().map(|id| json!(id.0)).collect();
        let what = if ids.len() == 1 { "this change" } else { "these changes" };
        add(format!("Copydesk: accept {what}"), ACCEPT, ids.clone(), None);
        add(format!("Copydesk: reject {what}"), REJECT, ids, None);
    }
    if situation.undecided > 1 {
        let count = situation.undecided;
        add(format!("Copydesk: accept all {count} changes"), ACCEPT, Vec::new(), None);
        add(format!("Copydesk: reject all {count} changes"), REJECT, Vec::new(), None);
    }
    if situation.has_changes && !situation.is_running {
        add("Copydesk: undo the last turn".to_owned(), UNDO, Vec::new(), None);
    }
    if situation.is_running {
        add("Stop Copydesk".to_owned(), CANCEL, Vec::new(), None);
    } else if situation.has_session {
        add("Continue".to_owned(), PROMPT, vec![json!({ "text": "Continue." })], None);
    }
    actions
}

fn verb(option: &AskOption) -> &str {
    match option.kind {
        OptionKind::AllowOnce => "allow once",
        // It says what would be allowed or refused from now on, or what is answered.
        OptionKind::Answer | OptionKind::AllowAlways | OptionKind::AllowInProject | OptionKind::RejectAlways => {
            &option.label
        }
        OptionKind::RejectOnce => "reject",
    }
}

/// A list in Markdown.
fn problems(diagnostics: &[Diagnostic]) -> String {
    let line = |problem: &Diagnostic| {
        let severity = match problem.severity {
            Some(DiagnosticSeverity::WARNING) => "warning",
            Some(DiagnosticSeverity::INFORMATION) => "information",
            Some(DiagnosticSeverity::HINT) => "hint",
            _ => "error",
        };
        let source = problem.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
        format!("- line {}: {severity}: {}{source}\n", problem.range.start.line + 1, problem.message)
    };
    diagnostics.iter().map(line).collect()
}

/// Kinds are dotted: `refactor` holds `refactor.inline`.
fn holds(wanted: &str, kind: &str) -> bool {
    wanted.is_empty() || kind.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
