//! A client that speaks LSP alone, as a full user: commands and code actions start work, messages or code actions ask, a chat document holds the conversation.
//! Nothing of it exists before the first command. Nothing that LSP does not know is ever sent.

mod actions;
mod asks;
mod chat;
mod client;
mod commands;
mod review;
mod scribe;
mod transcript;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use copydesk_engine::engine::{Engine, NewSession};
use copydesk_engine::message::PromptPart;
use copydesk_engine::overlay::Overlay;
use copydesk_engine::ports::{Connection, Diagnostics, Editor, Files};
use copydesk_engine::review::ChangesView;
use copydesk_engine::session::SessionHandle;
use copydesk_engine::view::View;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::uri::path_from_uri;
use serde_json::Value;
use tokio::sync::mpsc;
use tower_lsp_server::jsonrpc;
use tower_lsp_server::ls_types::{CodeActionOrCommand, CodeActionParams};

use self::asks::Asks;
use self::client::PlainClient;
use self::commands::{Order, PromptOrder};
use self::scribe::Scribe;
use super::client_state::ClientState;
use super::editor;
use super::host::LspHost;
use crate::session_methods::Host as _;

pub(super) use commands::COMMANDS;

/// Commands that wait: a user gives one in seconds.
const WAITING: usize = 64;

/// What a plain client's sessions are made of.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) state: Arc<ClientState>,
    pub(super) engine: Arc<Engine>,
    pub(super) editor: Arc<dyn Editor>,
    pub(super) diagnostics: Arc<dyn Diagnostics>,
    pub(super) overlay: Arc<Overlay>,
    pub(super) files: Arc<dyn Files>,
    /// Chat documents lie below it.
    pub(super) data: AbsPath,
}

pub(super) struct PlainUser {
    setup: Setup,
    asks: Arc<Asks>,
    progress: Arc<Progress>,
    /// Made by the first command.
    orders: OnceLock<mpsc::Sender<Order>>,
}

/// How the session stands, for code actions and for a cancel that waits for nothing.
#[derive(Default)]
struct Progress {
    session: Mutex<Option<(SessionHandle, AbsPath)>>,
    running: AtomicUsize,
    /// The agent has changed something in it.
    has_changed: AtomicBool,
}

impl PlainUser {
    pub(super) fn new(setup: Setup) -> Self {
        Self { setup, asks: Arc::default(), progress: Arc::default(), orders: OnceLock::new() }
    }

    /// Answered at once: the work goes on by itself, and is shown as progress.
    pub(super) fn execute(&self, command: &str, arguments: &[Value]) -> jsonrpc::Result<()> {
        match commands::parse(command, arguments).map_err(jsonrpc::Error::invalid_params)? {
            Order::Answer { ask, option } => self.asks.answer(&ask, &option).map_err(jsonrpc::Error::invalid_params),
            Order::Cancel => {
                // A prompt that still waits is reached by the order behind it.
                if let Some((session, _)) = self.progress.session() {
                    session.cancel();
                }
                if self.orders.get().is_some() { self.give(Order::Cancel) } else { Ok(()) }
            }
            order @ (Order::Prompt(_) | Order::Undo(_) | Order::Decide(..)) => self.give(order),
        }
    }

    pub(super) async fn actions(&self, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
        let changes = match self.progress.session() {
            Some((session, _)) if self.progress.has_changed.load(Ordering::Relaxed) => review::listed(&session).await,
            Some(_) | None => ChangesView::default(),
        };
        let literals = self.setup.state.client().is_some_and(|client| client.takes_action_literals);
        let chat = self.progress.session().map(|(_, chat)| chat);
        let here = path_from_uri(params.text_document.uri.as_str()).ok();
        let document = self.setup.overlay.by_uri(params.text_document.uri.as_str());
        let lines = (params.range.start.line as usize, params.range.end.line as usize);
        let file = document.as_ref().map(|document| document.key.path().clone());
        let is_chat = here.is_some() && here == chat;
        let text = document.filter(|_| is_chat);
        actions::actions(
            params,
            &actions::Situation {
                asks: self.asks.waiting(),
                has_session: chat.is_some(),
                is_running: self.progress.running.load(Ordering::Relaxed) > 0,
                is_chat,
                has_prompt: text.is_some_and(|document| chat::typed(&document.text.to_string()).is_some()),
                here: file.map(|file| review::touching(&changes, &file, lines)).unwrap_or_default(),
                undecided: review::undecided(&changes),
                has_changes: !changes.files.is_empty(),
                literals,
            },
        )
    }

    fn give(&self, order: Order) -> jsonrpc::Result<()> {
        self.orders.get_or_init(|| self.start()).try_send(order).map_err(|_| jsonrpc::Error {
            code: jsonrpc::ErrorCode::InternalError,
            message: "too many commands wait; try again when some are done".into(),
            data: None,
        })
    }

    fn start(&self) -> mpsc::Sender<Order> {
        let (orders, waiting) = mpsc::channel(WAITING);
        let setup = self.setup.clone();
        let scribe = Scribe::start(setup.state.clone());
        let client = PlainClient {
            state: setup.state.clone(),
            scribe: scribe.clone(),
            asks: self.asks.clone(),
            progress: self.progress.clone(),
        };
        let connection = Connection {
            client: Arc::new(client),
            editor: setup.editor.clone(),
            diagnostics: setup.diagnostics.clone(),
            overlay: setup.overlay.clone(),
        };
        let driver = Driver { setup, connection, scribe, progress: self.progress.clone() };
        tokio::spawn(driver.run(waiting));
        orders
    }
}

impl Setup {
    fn view(&self, session: &SessionHandle) -> View {
        View::new(self.files.clone(), self.editor.clone(), self.overlay.clone(), session.id().clone())
    }
}

impl Progress {
    /// From now on the code actions look for changes.
    fn changed(&self) {
        self.has_changed.store(true, Ordering::Relaxed);
    }

    fn session(&self) -> Option<(SessionHandle, AbsPath)> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Takes the commands one by one; ends when the connection does.
struct Driver {
    setup: Setup,
    connection: Connection,
    scribe: Scribe,
    progress: Arc<Progress>,
}

impl Driver {
    async fn run(self, mut orders: mpsc::Receiver<Order>) {
        while let Some(order) = orders.recv().await {
            match order {
                Order::Prompt(prompt) => {
                    if let Err(problem) = self.prompt(prompt).await {
                        editor::show_message(&self.setup.state, editor::MessageType::Error, &problem).await;
                    }
                }
                Order::Cancel => {
                    if let Some((session, _)) = self.progress.session() {
                        session.cancel();
                    }
                }
                Order::Undo(what) => self.tell(review::undo(self.progress.session(), what).await).await,
                Order::Decide(decision, chosen) => {
                    let session = self.progress.session();
                    self.tell(review::decide(session, &self.setup.overlay, decision, chosen).await).await;
                }
                // Answered where it came in.
                Order::Answer { .. } => {}
            }
        }
    }

    /// What came of an undo or a decision; the error is for the user too.
    async fn tell(&self, outcome: Result<review::Told, String>) {
        let (kind, text) = match outcome {
            Ok(review::Told { text, is_whole: true }) => (editor::MessageType::Info, text),
            Ok(review::Told { text, is_whole: false }) => (editor::MessageType::Warning, text),
            Err(text) => (editor::MessageType::Error, text),
        };
        editor::show_message(&self.setup.state, kind, &text).await;
    }

    /// The error is for the user.
    async fn prompt(&self, order: PromptOrder) -> Result<(), String> {
        let session = self.session(&order).await?;
        let context = order.context();
        let text = match (order.text, &context) {
            (Some(text), _) => {
                let shown = context.as_ref().map(commands::Context::markdown).unwrap_or_default();
                self.scribe.write(transcript::prompt(&text, &shown)).await;
                text
            }
            (None, Some(context)) => {
                self.scribe.prepare(context.markdown()).await;
                return Ok(());
            }
            (None, None) => match self.scribe.take_prompt().await {
                Some(text) => text,
                None => {
                    self.scribe.prepare(String::new()).await;
                    return Ok(());
                }
            },
        };
        let view = self.setup.view(&session);
        let mut parts = vec![PromptPart::Text { text: text.clone() }];
        let linked = commands::links(&text);
        for context in context.into_iter().chain(linked) {
            parts.push(context.part(&view).await);
        }
        let turn = session.prompt(parts).map_err(|error| error.to_string())?;
        self.progress.running.fetch_add(1, Ordering::Relaxed);
        let watched = LspHost(self.setup.state.clone()).turn_started(&session);
        let (progress, scribe) = (self.progress.clone(), self.scribe.clone());
        tokio::spawn(async move {
            let end = turn.await;
            let is_last = progress.running.fetch_sub(1, Ordering::Relaxed) == 1;
            scribe.turn_ended(end, is_last).await;
            drop(watched);
        });
        Ok(())
    }

    /// The one of this connection.
    async fn session(&self, order: &PromptOrder) -> Result<SessionHandle, String> {
        if let Some((session, _)) = self.progress.session() {
            return Ok(session);
        }
        let host = LspHost(self.setup.state.clone());
        host.ready().await;
        let path = order.uri.as_deref().and_then(|uri| path_from_uri(uri).ok());
        let (folder, additional) = place(host.roots(), path)
            .ok_or("Copydesk needs a folder to work in: open one in the editor, or run the command in a file.")?;
        let new = NewSession { folder, additional, connection: self.connection.clone() };
        let session = self.setup.engine.new_session(new).await.map_err(|error| error.to_string())?;
        let chat = self.setup.data.join("chats").join(format!("{}.md", session.id()));
        *self.progress.session.lock().unwrap_or_else(PoisonError::into_inner) = Some((session.clone(), chat.clone()));
        self.scribe.begin(self.setup.view(&session), chat).await;
        session.opened();
        Ok(session)
    }
}

/// The workspace's folder that holds the file, else its first one, else the file's own; and the others.
fn place(mut roots: Vec<AbsPath>, path: Option<AbsPath>) -> Option<(AbsPath, Vec<AbsPath>)> {
    let holding = path.as_ref().and_then(|path| roots.iter().position(|root| path.starts_with(root)));
    if roots.is_empty() {
        return Some((path?.parent()?, roots));
    }
    let folder = roots.remove(holding.unwrap_or(0));
    Some((folder, roots))
}
