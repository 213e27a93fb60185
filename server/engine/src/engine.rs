//! The engine as the faces see it: sessions are opened here, and driven through their handles.

use std::sync::Arc;

use copydesk_workspace::path::AbsPath;

use crate::ids::SessionId;
use crate::ports::{Connection, Ports, StoreError};
use crate::session::SessionHandle;

pub struct Engine {
    _ports: Ports,
}

pub struct NewSession {
    pub folder: AbsPath,
    /// Further roots of the workspace.
    pub additional: Vec<AbsPath>,
    pub connection: Connection,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error("session {0} is not open here")]
    UnknownSession(SessionId),
    #[error("{0} is not a folder")]
    NotAFolder(AbsPath),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the daemon is shutting down")]
    ShuttingDown,
}

impl Engine {
    pub fn new(ports: Ports) -> Arc<Self> {
        Arc::new(Self { _ports: ports })
    }

    /// Reads the configuration of the folder and opens the store. Problems of the configuration are told as notices and leave the rest in force.
    pub async fn new_session(&self, new: NewSession) -> Result<SessionHandle, EngineError> {
        let _ = new;
        todo!()
    }

    pub fn session(&self, id: &SessionId) -> Result<SessionHandle, EngineError> {
        let _ = id;
        todo!()
    }

    /// Cancels all turns and waits until their commands are gone, 2 s at most.
    pub async fn shutdown(&self) {
        todo!()
    }
}
