//! Runs one tool call, the only way there is: decode ▸ access ▸ prepare ▸ decide and ask ▸ gate ▸ commit ▸ cap ▸ result. It does not know what any
//! tool does, stores nothing, and announces nothing: the run loop tells the client of a call before it comes here.

mod grants;
mod seen;

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::config::Config;
use crate::ids::{CallId, SessionId};
use crate::message::{ToolResult, TurnEnd};
use crate::ports::{Connection, Ports};
use crate::registry::Registry;
use crate::tool::{Facts, Todos};

pub use grants::Grants;
pub use seen::Seen;

/// A call as the model made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub id: CallId,
    pub name: String,
    /// As it came: empty, blanks and `null` mean `{}`.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    /// The arguments as JSON where they parse, else as a string.
    pub input: Value,
    pub result: ToolResult,
    /// The turn ends here, with this reason.
    pub stop: Option<TurnEnd>,
}

pub struct RunnerDeps {
    pub session: SessionId,
    pub registry: Arc<Registry>,
    pub facts: Arc<Facts>,
    pub connection: Connection,
    pub ports: Ports,
    pub config: Arc<Config>,
    pub agent: Arc<Agent>,
    pub grants: Arc<Grants>,
    pub seen: Arc<Seen>,
    pub todos: Arc<dyn Todos>,
    /// Of the turn.
    pub cancel: CancellationToken,
}

/// Runs the calls of one turn. Calls may run beside each other: what changes something is committed in the order in which `run` was first polled.
pub struct Runner {
    deps: RunnerDeps,
}

impl Runner {
    pub fn new(deps: RunnerDeps) -> Self {
        Self { deps }
    }

    /// Never fails: whatever goes wrong is the call's result. Sends every event of the call after its announcement.
    pub async fn run(&self, call: Call) -> CallOutcome {
        let _ = (&self.deps.session, call);
        todo!()
    }
}
