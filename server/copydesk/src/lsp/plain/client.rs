//! The engine's `Client` in LSP's words: what happens goes into the chat document, asks are messages where the editor can show one, and code actions always.

use std::sync::Arc;

use copydesk_engine::event::{SessionEvent, Severity};
use copydesk_engine::ids::SessionId;
use copydesk_engine::ports::{Ask, AskOutcome, BoxFuture, Client, OptionKind};
use serde_json::{Value, json};

use super::super::client_state::ClientState;
use super::super::editor::{MessageType, Messages, show_message};
use super::Progress;
use super::asks::Asks;
use super::scribe::Scribe;
use super::transcript;
use crate::session_client::Notices as _;

/// Offered in place of consent where a message cannot show all that would be done.
const SHOW: &str = "Show all of it";

pub(super) struct PlainClient {
    pub(super) state: Arc<ClientState>,
    pub(super) scribe: Scribe,
    pub(super) asks: Arc<Asks>,
    pub(super) progress: Arc<Progress>,
}

impl Client for PlainClient {
    fn update(&self, _session: SessionId, event: SessionEvent) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match event {
                SessionEvent::Retry(retry) => {
                    Messages(self.state.clone()).show(Severity::Warning, &retry.to_string()).await;
                }
                SessionEvent::Notice { severity, text } => Messages(self.state.clone()).show(severity, &text).await,
                SessionEvent::Changes => self.progress.changed(),
                event => self.scribe.event(event).await,
            }
        })
    }

    fn can_ask(&self) -> bool {
        self.state.client().is_some_and(|client| client.can_answer())
    }

    fn ask(&self, _session: SessionId, ask: Ask) -> BoxFuture<'_, AskOutcome> {
        Box::pin(async move {
            let Some(client) = self.state.client().filter(|client| client.can_answer()) else {
                return AskOutcome::Undeliverable { reason: "this editor has no way to ask its user".to_owned() };
            };
            let mut open = self.asks.open(&ask);
            // Before anybody can say yes, all of it stands there.
            self.scribe.write(transcript::ask(&ask)).await;
            let asks_by_message = client.asks_by_message;
            tokio::select! {
                biased;
                answer = &mut open.answer => answer.unwrap_or(AskOutcome::Cancelled),
                Some(answer) = self.by_message(&ask, asks_by_message) => answer,
                else => AskOutcome::Cancelled,
            }
        })
    }
}

impl PlainClient {
    /// `None`: no answer, which is no consent; the ask can still be answered by a code action.
    async fn by_message(&self, ask: &Ask, asks_by_message: bool) -> Option<AskOutcome> {
        let (message, is_whole) = transcript::message(ask);
        if asks_by_message {
            let offered = ask.options.iter().filter(|option| is_whole || rejects(option.kind));
            let mut actions: Vec<Value> = offered.map(|option| json!({ "title": option.label })).collect();
            if !is_whole {
                actions.insert(0, json!({ "title": SHOW }));
            }
            // LSP's MessageType: a warning stays until it is answered where information goes by.
            let params = json!({ "type": 2, "message": format!("Copydesk asks: {message}"), "actions": actions });
            let answer = self.state.peer().request("window/showMessageRequest", params).await;
            let title = answer.ok().and_then(|answer| Some(answer.get("title")?.as_str()?.to_owned()));
            if title.as_deref() == Some(SHOW) {
                self.scribe.show().await;
            }
            let chosen = title.and_then(|title| ask.options.iter().find(|option| option.label == title));
            let chosen = chosen.filter(|option| is_whole || rejects(option.kind));
            if let Some(option) = chosen {
                return Some(AskOutcome::Selected { option: option.id.clone(), message: None });
            }
        }
        let text = if asks_by_message {
            format!("Copydesk still asks: {}. Answer with a code action on any line.", ask.title)
        } else {
            format!("Copydesk asks: {message}\nAnswer with a code action on any line.")
        };
        show_message(&self.state, MessageType::Warning, &text).await;
        None
    }
}

/// Consent needs the whole of what is asked; a no does not.
fn rejects(kind: OptionKind) -> bool {
    match kind {
        OptionKind::AllowOnce | OptionKind::AllowAlways | OptionKind::AllowInProject | OptionKind::Answer => false,
        OptionKind::RejectOnce | OptionKind::RejectAlways => true,
    }
}
