//! The engine's `Client` over a JSON-RPC peer, in ACP's words: updates in order and at a bounded rate, asks as requests of their own.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use copydesk_engine::event::{SessionEvent, Severity, ToolCallState};
use copydesk_engine::ids::SessionId;
use copydesk_engine::inquiry::{self, Inquiry, InquiryOutcome};
use copydesk_engine::ports::{Ask, AskOutcome, BoxFuture, Client, Typed, WantedLine};
use copydesk_engine::session::SessionHandle;
use copydesk_protocol::methods;
use copydesk_protocol::rpc::{CallError, Peer};
use futures::FutureExt as _;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::acp_questions::Forms;
use crate::{acp_questions, acp_types};

/// At most 30 updates a second a session (R21.1).
const WINDOW: Duration = Duration::from_millis(34);
/// Merged text goes out earlier where it is this long (bytes).
const MERGE_LIMIT: usize = 32 * 1024;
/// No update holds more text than this (bytes): a longer one becomes several.
const UPDATE_LIMIT: usize = 1024 * 1024;
/// Events that may wait for the client; the engine waits where there are more.
const QUEUE: usize = 256;

/// Shows notices in words of its own protocol.
pub trait Notices: Send + Sync {
    fn show(&self, severity: Severity, text: &str) -> BoxFuture<'static, ()>;
}

/// How the user is told of what is no part of the conversation.
pub enum NoticeStyle {
    Own(Arc<dyn Notices>),
    /// By ACP's update `notice`, for clients that announce `session.notices`.
    Update,
    /// For all others: in the text of the turn, at its beginning where no turn is running; what only informs is logged.
    Text,
}

/// What the client takes, known once it has introduced itself.
pub struct Takes {
    /// Which forms (ACP's elicitation) it shows.
    pub forms: Box<dyn Fn() -> Forms + Send + Sync>,
    /// `_copydesk/changed`.
    pub changed: Box<dyn Fn() -> bool + Send + Sync>,
}

pub struct SessionClient {
    peer: Peer,
    takes: Arc<Takes>,
    queue: mpsc::Sender<Item>,
    sessions: Arc<Mutex<HashMap<SessionId, SessionHandle>>>,
}

enum Item {
    Event(SessionId, Box<SessionEvent>),
    /// Everything before it has been handed to the writer when this is answered; with a session, its notices too.
    Flush(Option<SessionId>, oneshot::Sender<()>),
    /// The session is open: its commands are told.
    Commands(SessionId),
    /// The session is closed.
    Forget(SessionId),
}

impl SessionClient {
    /// The pump ends when the client is dropped.
    pub fn start(peer: Peer, notices: NoticeStyle, takes: Takes) -> Arc<Self> {
        let takes = Arc::new(takes);
        let (queue, items) = mpsc::channel(QUEUE);
        let sessions = Arc::new(Mutex::new(HashMap::new()));
        let pump = Pump {
            peer: peer.clone(),
            takes: takes.clone(),
            notices,
            noticed: 0,
            held: HashMap::new(),
            sessions: sessions.clone(),
            waiting: Vec::new(),
            sent: HashMap::new(),
        };
        tokio::spawn(pump.run(items));
        Arc::new(Self { peer, takes, queue, sessions })
    }

    /// Config options are told as the session's handle has them.
    pub fn add(&self, session: SessionHandle) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).insert(session.id().clone(), session);
    }

    /// Tells which commands a prompt may be.
    pub async fn offer_commands(&self, session: &SessionId) {
        // An error means that the pump is gone with its connection.
        let _ = self.queue.send(Item::Commands(session.clone())).await;
    }

    /// The session is closed: its updates so far are sent, and nothing is kept of it, unless it was opened again meanwhile.
    pub async fn remove(&self, session: &SessionId) {
        self.flush().await;
        let is_gone = {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.get(session).is_some_and(SessionHandle::is_closed) && sessions.remove(session).is_some()
        };
        if is_gone {
            // An error means that the pump is gone with its connection.
            let _ = self.queue.send(Item::Forget(session.clone())).await;
        }
    }

    /// Resolves when all updates so far are on their way: an answer that the client is to see after them waits for it.
    pub async fn flush(&self) {
        self.flush_with(None).await;
    }

    /// The same, notices of the session included: for the answer that ends its turn.
    pub async fn turn_ends(&self, session: &SessionId) {
        self.flush_with(Some(session.clone())).await;
    }

    async fn flush_with(&self, session: Option<SessionId>) {
        let (done, flushed) = oneshot::channel();
        if self.queue.send(Item::Flush(session, done)).await.is_ok() {
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

    fn type_line(&self, session: SessionId, wanted: WantedLine) -> BoxFuture<'_, Option<Typed>> {
        Box::pin(async move { self.line(&session, &wanted).await })
    }

    fn inquire(&self, session: SessionId, inquiry: Inquiry) -> BoxFuture<'_, InquiryOutcome> {
        Box::pin(async move {
            let by_form = match (self.takes.forms)() {
                Forms::None => None,
                Forms::Plain | Forms::WithSecrets => self.by_form(&session, &inquiry).await,
            };
            match by_form {
                Some(outcome) => outcome,
                None => inquiry::by_choice(self, session, inquiry).await,
            }
        })
    }
}

impl SessionClient {
    /// What is answered is in no log: neither the request nor an error of the client's says anything of it.
    async fn line(&self, session: &SessionId, wanted: &WantedLine) -> Option<Typed> {
        let is_taken = match (self.takes.forms)() {
            Forms::None => false,
            Forms::Plain => !wanted.prompt.is_secret,
            Forms::WithSecrets => true,
        };
        if !is_taken {
            return None;
        }
        self.flush().await;
        let params = serde_json::to_value(acp_questions::line_request(session.as_str(), wanted)).ok()?;
        let answer = self.peer.request(acp::CLIENT_METHOD_NAMES.elicitation_create, params).await;
        answer.ok().and_then(acp_questions::typed_line)
    }

    /// `None`: the client does not take this form after all.
    async fn by_form(&self, session: &SessionId, inquiry: &Inquiry) -> Option<InquiryOutcome> {
        self.flush().await;
        let request = serde_json::to_value(acp_questions::request(session.as_str(), inquiry));
        let params = match request {
            Ok(params) => params,
            Err(error) => return Some(InquiryOutcome::Undeliverable { reason: error.to_string() }),
        };
        match self.peer.request(acp::CLIENT_METHOD_NAMES.elicitation_create, params).await {
            Ok(answer) => Some(acp_questions::outcome(inquiry, answer)),
            Err(CallError::Remote(error)) => {
                tracing::warn!(error = error.message, "the client refused a form");
                None
            }
            Err(CallError::Closed) => {
                Some(InquiryOutcome::Undeliverable { reason: "no client is connected".to_owned() })
            }
        }
    }
}

/// Merges deltas, keeps the order of everything else.
struct Pump {
    peer: Peer,
    takes: Arc<Takes>,
    notices: NoticeStyle,
    /// Messages of notices so far.
    noticed: u64,
    /// Notices that wait for the next text of their session.
    held: HashMap<SessionId, Vec<String>>,
    sessions: Arc<Mutex<HashMap<SessionId, SessionHandle>>>,
    /// Events held back until the window of their session is over, in order; at most one mergeable event a session.
    waiting: Vec<(SessionId, SessionEvent)>,
    /// When a mergeable event of a session went out last.
    sent: HashMap<SessionId, Instant>,
}

impl Pump {
    /// A panic costs the update that it came from: without the pump no turn would be seen any more, nor end.
    async fn run(mut self, mut items: mpsc::Receiver<Item>) {
        loop {
            let due = self.due();
            let item = tokio::select! {
                biased;
                () = wait_until(due) => None,
                item = items.recv() => match item {
                    Some(item) => Some(item),
                    None => return,
                },
            };
            let work = async {
                match item {
                    Some(item) => self.work(item).await,
                    None => self.send_due().await,
                }
            };
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                tracing::error!("an update for the client was lost to a panic");
            }
        }
    }

    async fn work(&mut self, item: Item) {
        match item {
            Item::Event(session, event) => self.take(session, *event).await,
            Item::Commands(session) => self.notify(&session, &acp_types::commands()).await,
            Item::Forget(session) => {
                self.held.remove(&session);
                self.sent.remove(&session);
            }
            Item::Flush(session, done) => {
                self.send_all().await;
                if let Some(session) = session {
                    self.release_notices(&session).await;
                }
                // The asker may have given up.
                let _ = done.send(());
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

    async fn send(&mut self, session: &SessionId, event: SessionEvent) {
        match event {
            SessionEvent::Notice { severity, text } => return self.notice(session, severity, text).await,
            SessionEvent::Changes => return self.changed(session).await,
            event => self.send_update(session, event).await,
        }
    }

    /// ACP has no word for it.
    async fn changed(&self, session: &SessionId) {
        if (self.takes.changed)() {
            // Closed: the connection's end is told to the session by its face.
            let _ = self.peer.notify(methods::CHANGED, json!({ "sessionId": session })).await;
        }
    }

    async fn send_update(&mut self, session: &SessionId, event: SessionEvent) {
        // A line for people; the update below has the numbers for clients that count down.
        if let SessionEvent::Retry(retry) = &event {
            self.notice(session, Severity::Warning, retry.to_string()).await;
        }
        if is_of_a_turn(&event) {
            self.release_notices(session).await;
        }
        let choices = || {
            let handle = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned();
            handle.map(|handle| handle.choices())
        };
        let updates = match event {
            SessionEvent::Chosen { .. } => choices().map(|choices| acp_types::chosen(&choices).into()),
            SessionEvent::Granted => choices().map(|choices| vec![acp_types::granted(&choices)]),
            event => Some(in_pieces(event).into_iter().flat_map(acp_types::updates).collect()),
        };
        for update in updates.unwrap_or_default() {
            self.notify(session, &update).await;
        }
    }

    async fn notice(&mut self, session: &SessionId, severity: Severity, text: String) {
        match (&self.notices, severity) {
            (NoticeStyle::Own(notices), severity) => notices.show(severity, &text).await,
            (NoticeStyle::Update, severity) => {
                self.notify(session, &acp_types::notice(severity, &text)).await;
            }
            (NoticeStyle::Text, Severity::Info) => tracing::info!(%session, text, "a notice"),
            (NoticeStyle::Text, Severity::Warning | Severity::Error) => {
                tracing::warn!(%session, text, "a notice");
                self.held.entry(session.clone()).or_default().push(text);
            }
        }
    }

    /// As a message of their own before the turn's.
    async fn release_notices(&mut self, session: &SessionId) {
        let Some(texts) = self.held.remove(session) else { return };
        self.noticed += 1;
        let update = acp_types::notices_as_text(&format!("{session}/notice/{}", self.noticed), &texts);
        self.notify(session, &update).await;
    }

    async fn notify(&self, session: &SessionId, update: &acp::SessionUpdate) {
        match serde_json::to_value(update) {
            // Closed: the connection's end is told to the session by its face.
            Ok(update) => {
                let _ = self.peer.notify("session/update", json!({ "sessionId": session, "update": update })).await;
            }
            Err(error) => tracing::error!(%error, "an update could not be written"),
        }
    }
}

/// Told only while a turn runs.
fn is_of_a_turn(event: &SessionEvent) -> bool {
    match event {
        SessionEvent::Text { .. }
        | SessionEvent::Reasoning { .. }
        | SessionEvent::ToolCall(_)
        | SessionEvent::ToolCallUpdate(_)
        | SessionEvent::Plan(_)
        | SessionEvent::Retry(_) => true,
        SessionEvent::User { .. }
        | SessionEvent::TurnEnded(_)
        | SessionEvent::Usage { .. }
        | SessionEvent::Notice { .. }
        | SessionEvent::Granted
        | SessionEvent::Changes
        | SessionEvent::Chosen { .. } => false,
    }
}

fn is_mergeable(event: &SessionEvent) -> bool {
    match event {
        SessionEvent::Text { .. } | SessionEvent::Reasoning { .. } => true,
        SessionEvent::ToolCallUpdate(view) => matches!(view.state, ToolCallState::Pending | ToolCallState::Running),
        SessionEvent::User { .. }
        | SessionEvent::ToolCall(_)
        | SessionEvent::Plan(_)
        | SessionEvent::TurnEnded(_)
        | SessionEvent::Usage { .. }
        | SessionEvent::Notice { .. }
        | SessionEvent::Retry(_)
        | SessionEvent::Granted
        | SessionEvent::Changes
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

/// Text over the limit in several events; anything else as it is.
fn in_pieces(event: SessionEvent) -> Vec<SessionEvent> {
    match event {
        SessionEvent::Text { message, delta } if delta.len() > UPDATE_LIMIT => {
            pieces(&delta).map(|delta| SessionEvent::Text { message: message.clone(), delta }).collect()
        }
        SessionEvent::Reasoning { message, delta } if delta.len() > UPDATE_LIMIT => {
            pieces(&delta).map(|delta| SessionEvent::Reasoning { message: message.clone(), delta }).collect()
        }
        event => vec![event],
    }
}

/// Cut between characters.
fn pieces(mut text: &str) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        let mut end = text.len().min(UPDATE_LIMIT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, rest) = text.split_at(end);
        text = rest;
        (!piece.is_empty()).then(|| piece.to_owned())
    })
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
