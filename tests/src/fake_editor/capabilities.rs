//! What the editor says of itself, as the params of `initialize`.

use serde_json::{Value, json};

use super::Encoding;

/// What the editor says of itself.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// `general.positionEncodings`, best first; empty: not announced.
    pub encodings: Vec<Encoding>,
    /// `experimental.copydesk`; null: a plain LSP client.
    pub opt_in: Value,
    /// `window.workDoneProgress`.
    pub progress: bool,
    /// `workspace.workspaceEdit.documentChanges`: edits name versions.
    pub versioned_edits: bool,
    /// `window.showMessage`: messages can ask.
    pub messages_ask: bool,
    /// `window.showDocument`.
    pub shows_documents: bool,
    /// Code actions and commands.
    pub code_actions: bool,
    /// Folders of the workspace, as URIs; empty: none.
    pub folders: Vec<String>,
    /// `processId`.
    pub process: Option<u32>,
    /// What `workspace/configuration` is answered for the section `copydesk`; null: nothing is set.
    pub settings: Value,
}

impl Default for Capabilities {
    /// A client of sessions that answers everything.
    fn default() -> Self {
        Self {
            encodings: vec![Encoding::Utf16],
            opt_in: json!({ "protocol": 1, "acp": {}, "diagnostics": true, "save": true }),
            progress: false,
            versioned_edits: true,
            messages_ask: false,
            shows_documents: false,
            code_actions: false,
            folders: Vec::new(),
            process: None,
            settings: Value::Null,
        }
    }
}

impl Capabilities {
    pub(super) fn params(&self) -> Value {
        let names: Vec<&str> = self.encodings.iter().map(|encoding| encoding.name()).collect();
        let mut capabilities = json!({
            "workspace": {
                "applyEdit": true,
                "workspaceEdit": { "documentChanges": self.versioned_edits },
                "workspaceFolders": true,
                "configuration": true,
            },
            "textDocument": { "synchronization": { "didSave": true } },
            "window": { "workDoneProgress": self.progress },
        });
        if self.messages_ask {
            capabilities["window"]["showMessage"] = json!({});
        }
        if self.shows_documents {
            capabilities["window"]["showDocument"] = json!({ "support": true });
        }
        if self.code_actions {
            capabilities["textDocument"]["codeAction"] = json!({});
            capabilities["workspace"]["executeCommand"] = json!({});
        }
        if !names.is_empty() {
            capabilities["general"] = json!({ "positionEncodings": names });
        }
        if !self.opt_in.is_null() {
            capabilities["experimental"] = json!({ "copydesk": self.opt_in });
        }
        let folders: Vec<Value> = self.folders.iter().map(|uri| json!({ "uri": uri, "name": "project" })).collect();
        json!({
            "processId": self.process,
            "clientInfo": { "name": "fake editor" },
            "rootUri": self.folders.first(),
            "workspaceFolders": if folders.is_empty() { Value::Null } else { Value::Array(folders) },
            "capabilities": capabilities,
        })
    }
}
