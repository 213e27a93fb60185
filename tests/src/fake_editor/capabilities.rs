//! What the editor says of itself, as the params of `initialize`.

use serde_json::{Value, json};

use super::Capabilities;

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
