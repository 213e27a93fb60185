//! The chat document: an ordinary Markdown file below the data folder, written through the editor where it is open there. Only the scribe changes it.

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::tool::CommitError;
use copydesk_engine::view::{FileEdit, Snapshot, View, ViewError};
use copydesk_workspace::disk::DiskError;
use copydesk_workspace::edit::{EditSet, TextEdit};
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::position_of;
use copydesk_workspace::uri::uri_from_path;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::client_state::ClientState;
use super::super::editor::{MessageType, show_message};
use super::transcript::PROMPT_HEADING;

/// An editor opens a document in milliseconds.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);
/// The user may type at the same time.
const MOST_TRIES: usize = 5;

pub(super) struct Chat {
    state: Arc<ClientState>,
    view: View,
    path: AbsPath,
    /// The user was told where it is.
    shown: bool,
}

/// The prompt that stands below the last heading for it; `None` where nothing is typed.
pub(super) fn typed(text: &str) -> Option<&str> {
    let typed = text[heading(text)?..].split_once('\n')?.1.trim();
    (!typed.is_empty()).then_some(typed)
}

/// Where the line of the last heading begins, in bytes.
fn heading(text: &str) -> Option<usize> {
    let mut found = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == PROMPT_HEADING {
            found = Some(at);
        }
        at += line.len();
    }
    found
}

impl Chat {
    pub(super) fn new(state: Arc<ClientState>, view: View, path: AbsPath) -> Self {
        Self { state, view, path, shown: false }
    }

    /// Puts text behind the conversation, before a prompt that is being typed. `false`: it could not be put there now.
    pub(super) async fn write(&self, text: &str) -> bool {
        self.change(|now| {
            let at = heading(now).unwrap_or(now.len());
            (at..at, text.to_owned())
        })
        .await
    }

    /// Puts `context` where the user types, below a heading for it, and shows the place.
    pub(super) async fn prepare(&mut self, context: &str) -> bool {
        let done = self
            .change(|now| {
                let begun = if heading(now).is_some() { String::new() } else { format!("{PROMPT_HEADING}\n\n") };
                let gap = if now.is_empty() || now.ends_with('\n') { "" } else { "\n" };
                let after = if context.is_empty() { "" } else { "\n" };
                (now.len()..now.len(), format!("{gap}{begun}{context}{after}"))
            })
            .await;
        self.show(true).await;
        done
    }

    /// A heading for the next prompt, unless there is one.
    pub(super) async fn invite(&self) -> bool {
        self.change(|now| {
            let text = if heading(now).is_some() { String::new() } else { format!("{PROMPT_HEADING}\n\n") };
            (now.len()..now.len(), text)
        })
        .await
    }

    /// Takes what was typed into the conversation.
    pub(super) async fn take_prompt(&self) -> Option<String> {
        let snapshot = self.snapshot().await.ok().flatten()?;
        let text = typed(&snapshot.text.to_string())?.to_owned();
        let taken = text.clone();
        let done = self
            .change(move |now| match heading(now) {
                // The user may have gone on typing: what is sent is what stood there.
                Some(at) => (at..now.len(), format!("## You\n\n{taken}\n\n## Copydesk\n\n")),
                None => (now.len()..now.len(), String::new()),
            })
            .await;
        done.then_some(text)
    }

    /// Opens the document in the editor, once unless the user wants to type there; else tells where it is.
    pub(super) async fn show(&mut self, to_type: bool) {
        if self.shown && !to_type {
            return;
        }
        self.shown = true;
        let uri = uri_from_path(&self.path);
        if self.state.client().is_some_and(|client| client.shows_documents) {
            let mut params = json!({ "uri": uri, "external": false, "takeFocus": to_type });
            if to_type && let Some(snapshot) = self.snapshot().await.ok().flatten() {
                // The last line that all editors count: not the empty one behind the last line break, which some do not have.
                let len = snapshot.text.len_bytes();
                let ends_line = len > 0 && snapshot.text.byte(len - 1) == b'\n';
                let end = position_of(&snapshot.text, len - usize::from(ends_line), self.state.encoding());
                let end = json!({ "line": end.line, "character": end.column });
                params["selection"] = json!({ "start": end, "end": end });
            }
            let answer = self.state.peer().request("window/showDocument", params);
            if let Ok(Ok(answer)) = tokio::time::timeout(SHOWN_WITHIN, answer).await
                && answer.get("success").and_then(Value::as_bool) == Some(true)
            {
                return;
            }
        }
        let text = if to_type {
            format!("Type below \"{PROMPT_HEADING}\" in {} and run the command copydesk.prompt.", self.path)
        } else {
            format!("Copydesk's conversation is in {}", self.path)
        };
        show_message(&self.state, MessageType::Info, &text).await;
    }

    /// Replaces a range of the present text, until it is done or cannot be done.
    async fn change(&self, edit: impl Fn(&str) -> (std::ops::Range<usize>, String)) -> bool {
        for _ in 0..MOST_TRIES {
            let edit = match self.snapshot().await {
                Ok(Some(base)) => {
                    let (range, text) = edit(&base.text.to_string());
                    match EditSet::new(&base.text, vec![TextEdit { range, text }]) {
                        Ok(edits) if edits.is_empty() => return true,
                        Ok(edits) => FileEdit::Modify { base, edits },
                        Err(_) => return false,
                    }
                }
                Ok(None) => FileEdit::Create { path: self.path.clone(), text: edit("").1 },
                Err(error) => {
                    tracing::warn!(%error, "the chat document cannot be read");
                    return false;
                }
            };
            match self.view.apply(vec![edit], "Copydesk", &CancellationToken::new()).await {
                Ok(_) => return true,
                Err(CommitError::BaseMoved(_)) => {}
                Err(error @ (CommitError::Tool(_) | CommitError::Leads(_))) => {
                    tracing::debug!(%error, "the chat document was not written");
                    return false;
                }
            }
        }
        false
    }

    /// `None` where there is no such file yet.
    async fn snapshot(&self) -> Result<Option<Snapshot>, ViewError> {
        match self.view.snapshot(&self.path).await {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(ViewError::Disk(DiskError::NotFound(_))) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
