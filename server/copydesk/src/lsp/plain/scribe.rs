//! The one task that writes the chat document: what happens in order, text gathered for a moment, since every piece is an edit in the user's editor.

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::event::SessionEvent;
use copydesk_engine::message::TurnEnd;
use copydesk_engine::view::View;
use copydesk_workspace::path::AbsPath;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::super::client_state::ClientState;
use super::chat::Chat;
use super::transcript::{self, Guard};

/// From a piece of text to its edit.
const GATHER: Duration = Duration::from_millis(300);
/// What waits to be written; the engine waits where there is more.
const QUEUE: usize = 256;

/// Cheap to clone; its task ends when all are gone.
#[derive(Clone)]
pub(super) struct Scribe(mpsc::Sender<Item>);

enum Item {
    Begin(View, AbsPath),
    Event(Box<SessionEvent>),
    /// A block of its own.
    Block(String, oneshot::Sender<()>),
    Prepare(String, oneshot::Sender<()>),
    TakePrompt(oneshot::Sender<Option<String>>),
    /// Whether no other turn is running.
    Ended(TurnEnd, bool, oneshot::Sender<()>),
    Show,
}

impl Scribe {
    pub(super) fn start(state: Arc<ClientState>) -> Self {
        let (items, queue) = mpsc::channel(QUEUE);
        let task =
            Task { state, chat: None, waiting: String::new(), guard: Guard::default(), streams: false, due: None };
        tokio::spawn(task.run(queue));
        Self(items)
    }

    /// The document of a new session.
    pub(super) async fn begin(&self, view: View, path: AbsPath) {
        self.send(Item::Begin(view, path)).await;
    }

    pub(super) async fn event(&self, event: SessionEvent) {
        self.send(Item::Event(Box::new(event))).await;
    }

    /// Resolves when it stands in the document.
    pub(super) async fn write(&self, block: String) {
        let (done, written) = oneshot::channel();
        self.send(Item::Block(block, done)).await;
        // An error: the task is gone with its connection.
        let _ = written.await;
    }

    pub(super) async fn prepare(&self, context: String) {
        let (done, prepared) = oneshot::channel();
        self.send(Item::Prepare(context, done)).await;
        let _ = prepared.await;
    }

    pub(super) async fn take_prompt(&self) -> Option<String> {
        let (done, taken) = oneshot::channel();
        self.send(Item::TakePrompt(done)).await;
        taken.await.ok().flatten()
    }

    pub(super) async fn turn_ended(&self, end: TurnEnd, is_last: bool) {
        let (done, written) = oneshot::channel();
        self.send(Item::Ended(end, is_last, done)).await;
        let _ = written.await;
    }

    /// Brings the document before the user again.
    pub(super) async fn show(&self) {
        self.send(Item::Show).await;
    }

    async fn send(&self, item: Item) {
        // Fails only when the connection is gone.
        let _ = self.0.send(item).await;
    }
}

struct Task {
    state: Arc<ClientState>,
    chat: Option<Chat>,
    /// Not in the document yet.
    waiting: String,
    guard: Guard,
    /// A text of the model is not at its end.
    streams: bool,
    due: Option<Instant>,
}

impl Task {
    async fn run(mut self, mut queue: mpsc::Receiver<Item>) {
        loop {
            let due = self.due;
            let item = tokio::select! {
                biased;
                () = until(due) => {
                    self.flush().await;
                    continue;
                }
                item = queue.recv() => item,
            };
            match item {
                Some(item) => self.take(item).await,
                None => break,
            }
        }
        self.end_text();
        self.flush().await;
    }

    /// Whoever waits for an item to be done may have given up.
    async fn take(&mut self, item: Item) {
        match item {
            Item::Begin(view, path) => self.chat = Some(Chat::new(self.state.clone(), view, path)),
            Item::Event(event) => self.event(&event),
            Item::Block(block, done) => {
                self.block(&block);
                self.flush().await;
                if let Some(chat) = &mut self.chat {
                    chat.show(false).await;
                }
                let _ = done.send(());
            }
            Item::Prepare(context, done) => {
                self.end_text();
                self.flush().await;
                if let Some(chat) = &mut self.chat {
                    chat.prepare(&context).await;
                }
                let _ = done.send(());
            }
            Item::TakePrompt(done) => {
                self.end_text();
                self.flush().await;
                let text = match &self.chat {
                    Some(chat) => chat.take_prompt().await,
                    None => None,
                };
                let _ = done.send(text);
            }
            Item::Ended(end, is_last, done) => {
                self.end_text();
                if let Some(note) = transcript::end(&end) {
                    self.block(&note);
                }
                self.flush().await;
                if is_last && let Some(chat) = &self.chat {
                    chat.invite().await;
                }
                let _ = done.send(());
            }
            Item::Show => {
                if let Some(chat) = &mut self.chat {
                    chat.show(true).await;
                }
            }
        }
    }

    fn event(&mut self, event: &SessionEvent) {
        if let SessionEvent::Text { delta, .. } = event {
            self.streams = true;
            let text = self.guard.push(delta);
            self.add(&text);
        } else if let Some(block) = transcript::event(event) {
            self.block(&block);
        }
    }

    fn block(&mut self, block: &str) {
        self.end_text();
        self.add(block);
        self.add("\n");
    }

    /// The text so far is whole, and ends with an empty line.
    fn end_text(&mut self) {
        let held = self.guard.finish();
        self.add(&held);
        if self.streams {
            self.streams = false;
            self.add("\n\n");
        }
    }

    fn add(&mut self, text: &str) {
        if !text.is_empty() {
            self.waiting.push_str(text);
            self.due.get_or_insert_with(|| Instant::now() + GATHER);
        }
    }

    async fn flush(&mut self) {
        self.due = None;
        let Some(chat) = &self.chat else { return };
        // What cannot be written now is kept for the next time.
        if !self.waiting.is_empty() && chat.write(&self.waiting).await {
            self.waiting.clear();
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
