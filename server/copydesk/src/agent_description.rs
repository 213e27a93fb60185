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
    let capabilities =
        acp::AgentCapabilities::new().prompt_capabilities(acp::PromptCapabilities::new().embedded_context(true));
    AgentDescription { info: to_value(info), capabilities: to_value(capabilities) }
}

fn to_value(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
