//! What a prompt asks of the session itself, not of the model: `/undo` and `/redo`, as the whole prompt.

use super::Context;
use crate::event::SessionEvent;
use crate::ids::{MessageId, PartId};
use crate::image::Prompt;
use crate::message::{Entry, PromptPart, TurnEnd};
use crate::review::ChangesScope;
use crate::undo::UndoWhat;
use copydesk_workspace::diff::Diff;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Takes the changes of the newest turn back.
    Undo,
    /// Puts back what the last undo took.
    Redo,
    /// Shows what the newest turn did.
    Diff,
}

impl Command {
    pub const ALL: [Command; 3] = [Command::Undo, Command::Redo, Command::Diff];

    /// Without the slash.
    pub fn name(self) -> &'static str {
        match self {
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Diff => "diff",
        }
    }

    /// For lists that clients show.
    pub fn description(self) -> &'static str {
        match self {
            Self::Undo => "Take back what the agent changed in its last turn",
            Self::Redo => "Put back what the last undo took",
            Self::Diff => "Show what the agent changed in its last turn",
        }
    }

    /// Files that the client sends along of itself do not count.
    pub(super) fn of(prompt: &Prompt) -> Option<Self> {
        let text: String = prompt
            .parts()
            .iter()
            .map(|part| match part {
                PromptPart::Text { text } => text.as_str(),
                PromptPart::Image { .. } => "image",
                PromptPart::Link { .. } | PromptPart::Resource { .. } => "",
            })
            .collect();
        let name = text.trim().strip_prefix('/')?;
        Self::ALL.into_iter().find(|command| command.name() == name)
    }
}

impl Context {
    /// Answered as a turn is, without a model.
    pub(super) async fn run_command(&self, command: Command) -> TurnEnd {
        let message = MessageId::next(&*self.ports.ids);
        let asked = Entry::Command {
            message: message.clone(),
            at: self.ports.clock.now(),
            text: format!("/{}", command.name()),
        };
        if let Err(error) = self.journal.append(vec![asked]).await {
            return TurnEnd::Failed { message: error.to_string() };
        }
        let done = match command {
            Command::Undo => self.undo(UndoWhat::Last).await.map(|report| report.to_string()).map_err(words),
            Command::Redo => self.undo(UndoWhat::Redo).await.map(|report| report.to_string()).map_err(words),
            Command::Diff => {
                self.diff(&ChangesScope::LastTurn).await.map(|shown| in_markdown(&shown.diff)).map_err(words)
            }
        };
        let text = done.unwrap_or_else(|error| error);
        let message = MessageId::next(&*self.ports.ids);
        let part = PartId::next(&*self.ports.ids);
        let answer = Entry::Answer { message: message.clone(), part, text: text.clone() };
        if let Err(error) = self.journal.append(vec![answer]).await {
            tracing::warn!(%error, "the answer to a command was not stored");
        }
        self.emit(SessionEvent::Text { message, delta: text }).await;
        TurnEnd::Done
    }
}

fn words(error: impl std::error::Error) -> String {
    format!("{}.\n", capitalised(&error.to_string()))
}

/// The patch in a fence that it does not hold, below the counts.
fn in_markdown(diff: &Diff) -> String {
    if diff.files.is_empty() {
        return "The agent has changed no files in this session.\n".to_owned();
    }
    let patch = diff.patch();
    let longest = patch.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{}:\n\n{fence}diff\n{patch}{fence}\n", diff.summary())
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
