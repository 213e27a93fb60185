//! What an ACP client said of itself in `initialize`, resolved once.

use agent_client_protocol_schema::v1 as acp;
use copydesk_engine::ports::BoxFuture;
use copydesk_engine::session::SessionHandle;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::PositionEncoding;
use serde_json::Value;

use crate::acp_questions::Forms;
use crate::session_methods::Host;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AcpClient {
    /// Answers `fs/read_text_file`.
    pub(super) reads_files: bool,
    /// Answers `fs/write_text_file`.
    pub(super) writes_files: bool,
    pub(super) shows_notices: bool,
    /// With which it answers `elicitation/create`.
    pub(super) forms: Forms,
}

impl AcpClient {
    /// What is not understood counts as not offered.
    pub(super) fn of(capabilities: Option<&Value>) -> Self {
        let Some(capabilities) = capabilities.filter(|capabilities| !capabilities.is_null()) else {
            return Self::default();
        };
        let forms = Forms::of(capabilities);
        match serde_json::from_value::<acp::ClientCapabilities>(capabilities.clone()) {
            Ok(capabilities) => Self {
                reads_files: capabilities.fs.read_text_file,
                writes_files: capabilities.fs.write_text_file,
                shows_notices: capabilities.session.is_some_and(|session| session.notices.is_some()),
                forms,
            },
            Err(error) => {
                tracing::warn!(%error, "clientCapabilities were not understood");
                Self::default()
            }
        }
    }
}

impl Host for AcpClient {
    /// Each session names its own.
    fn roots(&self) -> Vec<AbsPath> {
        Vec::new()
    }

    /// None is negotiated: LSP's own.
    fn encoding(&self) -> PositionEncoding {
        PositionEncoding::Utf16
    }

    /// All that is to be known came with `initialize`.
    fn ready(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn turn_started(&self, _: &SessionHandle) -> Box<dyn Send> {
        Box::new(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(capabilities: Value, expected: (bool, bool, bool)) {
        let client = AcpClient::of(Some(&capabilities));
        assert_eq!((client.reads_files, client.writes_files, client.shows_notices), expected);
    }

    #[test]
    fn only_what_is_offered_in_full_counts() {
        check(json!({}), (false, false, false));
        check(Value::Null, (false, false, false));
        check(json!({ "fs": { "readTextFile": true }, "session": {} }), (true, false, false));
        check(json!({ "fs": { "writeTextFile": true }, "session": { "notices": null } }), (false, true, false));
        check(json!({ "fs": "all", "session": { "notices": {} } }), (false, false, true));
        check(json!("all"), (false, false, false));
    }
}
