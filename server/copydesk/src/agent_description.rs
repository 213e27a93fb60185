//! What the agent says of itself in ACP's words, the same in every face.

use agent_client_protocol_schema::v1 as acp;
use serde_json::Value;

pub struct AgentDescription {
    /// ACP's `Implementation`.
    pub info: Value,
    /// ACP's `AgentCapabilities`.
    pub capabilities: Value,
}

pub fn describe() -> AgentDescription {
    let info = acp::Implementation::new("copydesk", env!("CARGO_PKG_VERSION")).title("Copydesk".to_owned());
    let sessions = acp::SessionCapabilities::new()
        .list(acp::SessionListCapabilities::new())
        .resume(acp::SessionResumeCapabilities::new())
        .close(acp::SessionCloseCapabilities::new())
        .delete(acp::SessionDeleteCapabilities::new())
        .additional_directories(acp::SessionAdditionalDirectoriesCapabilities::new());
    let capabilities = acp::AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(acp::PromptCapabilities::new().image(true).embedded_context(true))
        .session_capabilities(sessions);
    AgentDescription { info: to_value(info), capabilities: to_value(capabilities) }
}

fn to_value(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
