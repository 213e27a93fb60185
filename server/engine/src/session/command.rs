//! What a prompt asks of the session itself, not of the model: `/undo` and `/redo`, as the whole prompt.

use super::Context;
use crate::event::SessionEvent;
use crate::ids::{MessageId, PartId};
use crate::image::Prompt;
use crate::message::{Entry, PromptPart, TurnEnd};
use crate::ports::StoreError;
use crate::review::ChangesScope;
use crate::undo::UndoWhat;
use copydesk_workspace::diff::Diff;
use tokio_util::sync::CancellationToken;

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
    /// Stores what was asked, in the order of the prompts.
    pub(super) async fn note_command(&self, command: Command) -> Result<(), StoreError> {
        let asked = Entry::Command {
            message: MessageId::next(&*self.ports.ids),
            at: self.ports.clock.now(),
            text: format!("/{}", command.name()),
        };
        self.journal.append(vec![asked]).await.map(|_| ())
    }

    /// Answered as a turn is, without a model. An undo that is cancelled ends between two files, and its answer says which it has left.
    pub(super) async fn run_command(&self, command: Command, cancel: &CancellationToken) -> TurnEnd {
        let undo = async |what| self.undo(what, cancel).await.map(|report| report.to_string()).map_err(words);
        let done = match command {
            Command::Undo => undo(UndoWhat::Last).await,
            Command::Redo => undo(UndoWhat::Redo).await,
            Command::Diff => match cancel.run_until_cancelled(self.diff(&ChangesScope::LastTurn)).await {
                Some(shown) => shown.map(|shown| in_markdown(&shown.diff)).map_err(words),
                None => return TurnEnd::Cancelled,
            },
        };
        let text = done.unwrap_or_else(|error| error);
        let message = MessageId::next(&*self.ports.ids);
        let part = PartId::next(&*self.ports.ids);
        let answer = Entry::Answer { message: message.clone(), part, text: text.clone() };
        if let Err(error) = self.journal.append(vec![answer]).await {
            tracing::warn!(%error, "the answer to a command was not stored");
        }
        self.emit(SessionEvent::Text { message, delta: text }).await;
        if cancel.is_cancelled() { TurnEnd::Cancelled } else { TurnEnd::Done }
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

#[cfg(test)]
mod tests {
    use copydesk_workspace::diff::{DiffedFile, Kind, LineCounts};

    use super::*;

    fn check(patch: &str, fence: &str) {
        let patch = patch.to_owned();
        let counts = LineCounts { added: 1, removed: 0 };
        let name = "a.md".to_owned();
        let file = DiffedFile { name, from: None, kind: Kind::Modified, is_text: true, counts, patch: patch.clone() };
        let shown = in_markdown(&Diff { files: vec![file] });
        let expected = format!("1 file changed, 1 insertion(+), 0 deletions(-):\n\n{fence}diff\n{patch}{fence}\n");
        assert_eq!(shown, expected);
    }

    #[test]
    fn r5_3_no_patch_ends_the_fence_that_it_is_shown_in() {
        check("+plain\n", "```");
        check("+`a`\n", "```");
        check("+```rust\n", "````");
        check("+````\n ```\n", "`````");
        check("+a ````` b\n+``````\n", "```````");
        assert_eq!(in_markdown(&Diff::default()), "The agent has changed no files in this session.\n");
    }
}
