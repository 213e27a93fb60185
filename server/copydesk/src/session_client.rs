//! The engine's `Client` over a JSON-RPC peer, in ACP's words: updates in order and at a bounded rate, asks as requests of their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use copydesk_engine::event::{SessionEvent, ToolCallState};
use copydesk_engine::ids::SessionId;
use copydesk_engine::ports::{Ask, AskOutcome, BoxFuture, Client};
use copydesk_engine::session::SessionHandle;
use copydesk_protocol::rpc::{CallError, Peer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::acp_types;

/// At most 30 updates a second a session (R21.1).
const WINDOW: Duration = Duration::from_millis(34);
/// Merged text goes out earlier where it is this long (bytes).
const MERGE_LIMIT: usize = 32 * 1024;
/// Events that may wait for the client; the engine waits where there are more.
const QUEUE: usize = 256;

/// Shows what ACP has no word for.
pub trait Notices: Send + Sync {
    fn show(&self, severity: copydesk_engine::event::Severity, text: &str) -> BoxFuture<'static, ()>;
}

pub struct SessionClient {
    peer: Peer,
    queue: mpsc::Sender<Item>,
    sessions: Arc<Mutex<HashMap<SessionId, SessionHandle>>>,
}

enum Item {
    Event(SessionId, Box<SessionEvent>),
    /// Everything before it has been handed to the writer when this is answered.
    Flush(oneshot::Sender<()>),
}

impl SessionClient {
    /// The pump ends when the client is dropped.
    pub fn start(peer: Peer, notices: Arc<dyn Notices>) -> Arc<Self> {
        let (queue, items) = mpsc::channel(QUEUE);
        let sessions = Arc::new(Mutex::new(HashMap::new()));
        let pump =
            Pump { peer: peer.clone(), notices, sessions: sessions.clone(), waiting: Vec::new(), sent: HashMap::new() };
        tokio::spawn(pump.run(items));
        Arc::new(Self { peer, queue, sessions })
    }

    /// Config options are told as the session's handle has them.
    pub fn add(&self, session: SessionHandle) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).insert(session.id().clone(), session);
    }

    /// Resolves when all updates so far are on their way: an answer that ends a turn must come after them.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.queue.send(Item::Flush(done)).await.is_ok() {
            // An error means that the pump is gone with its connection.
            let _ = flushed.await;
        }
    }
}

impl Client for SessionClient {
    fn update(&self, session: SessionId, event: SessionEvent) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Fails only when the connection is gone, which ends the session by another road.
            let _ = self.queue.send(Item::Event(session, Box::new(event))).await;
        })
    }

    fn ask(&self, session: SessionId, ask: Ask) -> BoxFuture<'_, AskOutcome> {
        Box::pin(async move {
            self.flush().await;
            let request = acp_types::permission_request(session.as_str(), &ask);
            let params = match serde_json::to_value(request) {
                Ok(params) => params,
                Err(error) => return AskOutcome::Undeliverable { reason: error.to_string() },
            };
            match self.peer.request("session/request_permission", params).await {
                Ok(answer) => acp_types::outcome(answer),
                Err(CallError::Remote(error)) => {
                    AskOutcome::Undeliverable { reason: format!("the client cannot ask: {}", error.message) }
                }
                Err(CallError::Closed) => AskOutcome::Undeliverable { reason: "no client is connected".to_owned() },
            }
        })
    }
}

/// Merges deltas, keeps the order of everything else.
struct Pump {
    peer: Peer,
    notices: Arc<dyn Notices>,
    sessions: Arc<Mutex<HashMap<SessionId, SessionHandle>>>,
    /// Events held back until the window of their session is over, in order; at most one mergeable event a session.
    waiting: Vec<(SessionId, SessionEvent)>,
    /// When a mergeable event of a session went out last.
    sent: HashMap<SessionId, Instant>,
}

impl Pump {
    async fn run(mut self, mut items: mpsc::Receiver<Item>) {
        loop {
            let due = self.due();
            let item = tokio::select! {
                biased;
                () = wait_until(due) => {
                    self.send_due().await;
                    continue;
                }
                item = items.recv() => item,
            };
            match item {
                Some(Item::Event(session, event)) => self.take(session, *event).await,
                Some(Item::Flush(done)) => {
                    self.send_all().await;
                    // The asker may have given up.
                    let _ = done.send(());
                }
                None => return,
            }
        }
    }

    async fn take(&mut self, session: SessionId, event: SessionEvent) {
        let event = match self.waiting.iter_mut().find(|(waiting, _)| *waiting == session) {
            None => Some(event),
            Some((_, waiting)) => merge(waiting, event),
        };
        let full = |event: &SessionEvent| matches!(event, SessionEvent::Text { delta, .. } | SessionEvent::Reasoning { delta, .. } if delta.len() >= MERGE_LIMIT);
        if let Some(event) = event {
            self.send_of(&session).await;
            if is_mergeable(&event) {
                self.waiting.push((session.clone(), event));
            } else {
                self.send(&session, event).await;
            }
        }
        if self.waiting.iter().any(|(waiting, event)| *waiting == session && full(event)) {
            self.send_of(&session).await;
        }
    }

    /// When the next held event may go; `None` where none is held.
    fn due(&self) -> Option<Instant> {
        let now = Instant::now();
        self.waiting.iter().map(|(session, _)| self.sent.get(session).map_or(now, |sent| *sent + WINDOW)).min()
    }

    async fn send_due(&mut self) {
        let now = Instant::now();
        let is_due = |session: &SessionId| self.sent.get(session).is_none_or(|sent| *sent + WINDOW <= now);
        let due: Vec<_> = self.waiting.iter().map(|(session, _)| session.clone()).filter(is_due).collect();
        for session in due {
            self.send_of(&session).await;
        }
    }

    async fn send_of(&mut self, session: &SessionId) {
        if let Some(at) = self.waiting.iter().position(|(waiting, _)| waiting == session) {
            let (session, event) = self.waiting.remove(at);
            self.send(&session, event).await;
            self.sent.insert(session, Instant::now());
        }
    }

    async fn send_all(&mut self) {
        while let Some((session, _)) = self.waiting.first() {
            let session = session.clone();
            self.send_of(&session).await;
        }
    }

    async fn send(&self, session: &SessionId, event: SessionEvent) {
        if let SessionEvent::Notice { severity, text } = &event {
            return self.notices.show(*severity, text).await;
        }
        let handle = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned();
        let Some(handle) = handle else { return };
        let choices = handle.choices();
        let agent = matches!(event, SessionEvent::Chosen { .. }).then(|| choices.agent.clone());
        if let Some(update) = acp_types::update(event, &choices) {
            self.notify(session, serde_json::to_value(update)).await;
        }
        // Clients that know modes alone hear of the agent in their own words.
        if let Some(agent) = agent {
            self.notify(session, Ok(json!({ "sessionUpdate": "current_mode_update", "currentModeId": agent }))).await;
        }
    }

    async fn notify(&self, session: &SessionId, update: serde_json::Result<Value>) {
        match update {
            // Closed: the connection's end is told to the session by its face.
            Ok(update) => {
                let _ = self.peer.notify("session/update", json!({ "sessionId": session, "update": update })).await;
            }
            Err(error) => tracing::error!(%error, "an update could not be written"),
        }
    }
}

fn is_mergeable(event: &SessionEvent) -> bool {
    match event {
        SessionEvent::Text { .. } | SessionEvent::Reasoning { .. } => true,
        SessionEvent::ToolCallUpdate(view) => matches!(view.state, ToolCallState::Pending | ToolCallState::Running),
        SessionEvent::User { .. }
        | SessionEvent::ToolCall(_)
        | SessionEvent::Plan(_)
        | SessionEvent::Usage { .. }
        | SessionEvent::Notice { .. }
        | SessionEvent::Chosen { .. } => false,
    }
}

/// Puts `next` into `held`, or gives it back. An update of a call replaces an earlier one of the same call, whatever it says.
fn merge(held: &mut SessionEvent, next: SessionEvent) -> Option<SessionEvent> {
    match (&mut *held, next) {
        (SessionEvent::Text { message, delta }, SessionEvent::Text { message: of, delta: more }) if *message == of => {
            delta.push_str(&more);
            None
        }
        (SessionEvent::Reasoning { message, delta }, SessionEvent::Reasoning { message: of, delta: more })
            if *message == of =>
        {
            delta.push_str(&more);
            None
        }
        (SessionEvent::ToolCallUpdate(view), SessionEvent::ToolCallUpdate(newer))
            if view.call == newer.call && matches!(newer.state, ToolCallState::Pending | ToolCallState::Running) =>
        {
            *view = newer;
            None
        }
        (_, next) => Some(next),
    }
}

async fn wait_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[path = "session_client_tests.rs"]
mod tests;
