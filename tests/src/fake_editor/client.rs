//! The fake editor as a client of plain ACP: the same expectations on another wire.

use serde_json::{Value, json};

use super::wire::Dialect;
use super::{Daemon, FakeEditor};
use crate::daemon::Home;

impl FakeEditor {
    /// Starts `copydesk acp` in this home: a client of plain ACP from here on, which opens no documents.
    pub fn spawn_acp(home: Home) -> Self {
        let mut child = home.command(&["acp"]).spawn().expect("the program starts");
        let reader = child.stdout.take().expect("a pipe");
        let writer = child.stdin.take().expect("a pipe");
        Self::new(Box::new(reader), Box::new(writer), Dialect::Acp, Daemon::Process(Box::new(child)), Some(home))
    }

    /// The same, initialized with these `clientCapabilities`.
    pub async fn open_acp(home: Home, capabilities: Value) -> Self {
        let mut client = Self::spawn_acp(home);
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": capabilities,
            "clientInfo": { "name": "fake client", "version": "1" },
        });
        client.initialized = client.request("initialize", params).await.expect("initialize is answered");
        client
    }
}
