//! The agents of a session, as tools may change between them. Which agent may be talked to is the configuration's.

use std::sync::Arc;

use copydesk_workspace::path::AbsPath;

use super::{Choose, Context};
use crate::plan::plan_file;
use crate::ports::BoxFuture;
use crate::tool::{Agents, ToolError};

pub(crate) struct SessionAgents(pub(crate) Arc<Context>);

impl Agents for SessionAgents {
    fn switch(&self, agent: &'static str) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            if self.0.selectable(agent).is_none() {
                let text =
                    format!("The configuration has switched the agent `{agent}` off. Tell the user to choose another.");
                return Err(ToolError::Tell(text));
            }
            self.0.chosen(Choose::Agent(agent.to_owned())).await;
            Ok(())
        })
    }

    fn plan_file(&self) -> AbsPath {
        plan_file(&self.0.id, &self.0.facts, self.0.is_git)
    }
}
