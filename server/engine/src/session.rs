//! A session is an actor: one task that owns its state, a mailbox in which the client comes first, one run at a time.

use crate::ids::SessionId;
use crate::message::{ModelRef, PromptPart, TurnEnd};
use crate::ports::BoxFuture;

/// Cheap to clone; the actor ends with the engine.
#[derive(Clone)]
pub struct SessionHandle {
    id: SessionId,
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
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("there is no agent {0}")]
    UnknownAgent(String),
    #[error("there is no model {0}")]
    UnknownModel(String),
    #[error("the session has more waiting requests than it takes; try again when some are answered")]
    Overloaded,
    #[error("the session is closed")]
    Closed,
}

impl SessionHandle {
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Queues the prompt before it returns, so that a cancel right behind it finds it. The future resolves when the run that consumed it has ended;
    /// dropping the future changes nothing.
    pub fn prompt(&self, parts: Vec<PromptPart>) -> Result<BoxFuture<'static, TurnEnd>, SessionError> {
        let _ = parts;
        todo!()
    }

    /// Takes effect at once: from the return on no file is written, no process started, no model called by the running turn, except what is already
    /// on its way; the turn's end is told by its prompt. Without a running turn it does nothing.
    pub fn cancel(&self) {
        todo!()
    }

    pub fn choices(&self) -> Choices {
        todo!()
    }

    pub async fn choose_agent(&self, name: &str) -> Result<Choices, SessionError> {
        let _ = name;
        todo!()
    }

    pub async fn choose_model(&self, model: &str) -> Result<Choices, SessionError> {
        let _ = model;
        todo!()
    }
}
