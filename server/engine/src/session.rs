//! A session is an actor: one task that owns its runs, a mailbox in which the client comes first, one run at a time. Its handle is all that others see of it.

mod actor;
mod agents;
mod attached;
mod changes;
mod command;
mod context;
mod diffs;
mod first_model;
mod journal;
mod trust;
mod undo;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copydesk_workspace::path::AbsPath;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::ids::SessionId;
use crate::image::{ImageError, Prompt};
use crate::message::{ModelRef, TurnEnd};
use crate::permission::Mode;
use crate::ports::{BoxFuture, Connection};
use crate::runner::{Grants, HeldGrant};

pub(crate) use actor::Actor;
pub(crate) use agents::SessionAgents;
pub use command::Command;
pub(crate) use context::{Context, Parts};
pub(crate) use journal::{Journal, SessionTodos};

/// Requests that wait for the actor. It takes each within the time of one write to the store, so a full mailbox means a client gone wild.
const MAILBOX: usize = 256;

/// Cheap to clone; the actor ends with the engine.
#[derive(Clone)]
pub struct SessionHandle {
    mailbox: mpsc::Sender<Message>,
    turn: Arc<Mutex<Turn>>,
    context: Arc<Context>,
}

/// What the user can choose from, and what is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    pub agent: String,
    /// Name and description of the agents that can be talked to.
    pub agents: Vec<(String, String)>,
    pub model: Option<ModelRef>,
    /// Reference and display name.
    pub models: Vec<(ModelRef, String)>,
    /// As chosen, whatever the system can enforce.
    pub mode: Mode,
    /// What the user may take back.
    pub grants: Vec<HeldGrant>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("there is no agent {0}")]
    UnknownAgent(String),
    #[error("there is no model {0}")]
    UnknownModel(String),
    #[error("an image of the prompt cannot be sent: {0}")]
    Image(#[from] ImageError),
    #[error("there is no permission mode {0}")]
    UnknownMode(String),
    #[error("the session has more waiting requests than it takes; try again when some are answered")]
    Overloaded,
    #[error("the session is closed")]
    Closed,
}

/// What prompts belong to, up to the next cancel: one cancel ends all that was asked before it, and nothing that is asked after it.
#[derive(Clone, Default)]
pub(crate) struct Turn {
    pub(crate) number: u64,
    pub(crate) cancel: CancellationToken,
}

pub(crate) enum Message {
    Prompt {
        prompt: Prompt,
        turn: Turn,
        done: oneshot::Sender<TurnEnd>,
    },
    Choose {
        choice: Choose,
        done: oneshot::Sender<()>,
    },
    /// The client knows the session and can be told of it.
    Opened,
}

/// Checked already.
pub(crate) enum Choose {
    Agent(String),
    Model(ModelRef),
    Mode(Mode),
}

impl SessionHandle {
    pub(crate) fn new(context: Arc<Context>) -> (Self, mpsc::Receiver<Message>) {
        let (mailbox, receiver) = mpsc::channel(MAILBOX);
        (Self { mailbox, turn: Arc::default(), context }, receiver)
    }

    pub fn id(&self) -> &SessionId {
        &self.context.id
    }

    /// Queues the prompt before it returns, so that a cancel right behind it finds it. The future resolves when the run that consumed it has ended;
    /// dropping the future changes nothing.
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> Result<BoxFuture<'static, TurnEnd>, SessionError> {
        let prompt = prompt.into();
        for image in prompt.images() {
            image.check_size(self.context.config().max_image_base64_bytes)?;
        }
        let (done, end) = oneshot::channel();
        {
            // Held over the sending: a cancel is before or after the prompt, never in between.
            let turn = self.lock();
            self.send(Message::Prompt { prompt, turn: turn.clone(), done })?;
        }
        // An actor that is gone has cancelled its turns.
        Ok(Box::pin(async move { end.await.unwrap_or(TurnEnd::Cancelled) }))
    }

    /// Takes effect at once: from the return on no file is written, no process started, no model called by the running turn, except what is already
    /// on its way; the turn's end is told by its prompt. Without a running turn it does nothing.
    pub fn cancel(&self) {
        let mut turn = self.lock();
        turn.cancel.cancel();
        *turn = Turn { number: turn.number + 1, cancel: CancellationToken::new() };
    }

    /// Says that the client knows the session's id: what is wrong with the configuration is told from now on. The first prompt says so too.
    pub fn opened(&self) {
        // A full mailbox holds a prompt, and that says the same.
        let _ = self.send(Message::Opened);
    }

    /// In force now.
    pub fn config(&self) -> Arc<Config> {
        self.context.config()
    }

    pub fn choices(&self) -> Choices {
        self.context.choices()
    }

    /// In force from the next step on.
    pub async fn choose_agent(&self, name: &str) -> Result<Choices, SessionError> {
        if self.context.selectable(name).is_none() {
            return Err(SessionError::UnknownAgent(name.to_owned()));
        }
        self.choose(Choose::Agent(name.to_owned())).await
    }

    /// `model` is written `provider/model`. In force from the next step on.
    pub async fn choose_model(&self, model: &str) -> Result<Choices, SessionError> {
        let known = model.parse::<ModelRef>().ok().filter(|known| self.context.config().model(known).is_some());
        match known {
            Some(model) => self.choose(Choose::Model(model)).await,
            None => Err(SessionError::UnknownModel(model.to_owned())),
        }
    }

    /// `mode` is the id of one. In force at once, for what is asked already too.
    pub async fn choose_mode(&self, mode: &str) -> Result<Choices, SessionError> {
        match mode.parse() {
            Ok(mode) => self.choose(Choose::Mode(mode)).await,
            Err(()) => Err(SessionError::UnknownMode(mode.to_owned())),
        }
    }

    /// What the user has allowed for longer than once, as it holds in this session.
    pub fn grants(&self) -> &Grants {
        &self.context.grants
    }

    /// Where the session works.
    pub fn folder(&self) -> &AbsPath {
        &self.context.facts.folder
    }

    /// Whether the session has ended, be it that it is open again under another handle.
    pub fn is_closed(&self) -> bool {
        self.mailbox.is_closed()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn belongs_to(&self, connection: &Connection) -> bool {
        Arc::ptr_eq(self.context.client(), &connection.client)
    }

    async fn choose(&self, choice: Choose) -> Result<Choices, SessionError> {
        let (done, chosen) = oneshot::channel();
        self.send(Message::Choose { choice, done })?;
        chosen.await.map_err(|_| SessionError::Closed)?;
        Ok(self.choices())
    }

    fn send(&self, message: Message) -> Result<(), SessionError> {
        self.mailbox.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SessionError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => SessionError::Closed,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "session/attached_tests.rs"]
mod attached_tests;

#[cfg(test)]
#[path = "session/changes_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod changes_tests;
