//! The engine's `Editor` over ACP. Such a client has no documents that it tells of: it is asked for the text of a file, and written through.

use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use copydesk_engine::ids::SessionId;
use copydesk_engine::ports::{
    ApplyRequest, BoxFuture, Editor, EditorError, FileChange, FreeEdits, ReloadReport, TextAccess, Unsaved,
};
use copydesk_protocol::rpc::{CallError, Peer, RpcError};
use copydesk_workspace::path::AbsPath;
use serde::Serialize;
use serde_json::Value;

use super::client::AcpClient;

/// A client reads in milliseconds.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// It may ask its user before it writes.
const WRITTEN_WITHIN: Duration = Duration::from_secs(30);

pub(super) struct AcpEditor {
    peer: Peer,
    texts: TextAccess,
}

impl AcpEditor {
    pub(super) fn new(peer: Peer, client: &AcpClient) -> Self {
        Self { peer, texts: TextAccess { reads: client.reads_files, writes: client.writes_files } }
    }

    async fn call(&self, method: &str, params: impl Serialize, within: Duration) -> Result<Value, EditorError> {
        let refused = |reason: String| EditorError::Refused { reason: Some(reason) };
        let params = serde_json::to_value(params).map_err(|error| refused(error.to_string()))?;
        match tokio::time::timeout(within, self.peer.request(method, params)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(CallError::Remote(RpcError { message, .. }))) => Err(refused(message)),
            Ok(Err(CallError::Closed)) | Err(_) => Err(EditorError::Gone),
        }
    }
}

impl Editor for AcpEditor {
    fn apply(&self, _: ApplyRequest) -> BoxFuture<'_, Result<(), EditorError>> {
        Box::pin(async { Err(EditorError::Unsupported) })
    }

    /// Nothing is open here.
    fn save(&self, uris: Vec<String>) -> BoxFuture<'_, Vec<Unsaved>> {
        let reason = "this client cannot be asked to save";
        let unsaved = uris.into_iter().map(|uri| Unsaved { uri, reason: reason.to_owned() }).collect();
        Box::pin(async { unsaved })
    }

    /// ACP has no word for it: the client watches its files itself.
    fn files_changed(&self, _: Vec<FileChange>) -> BoxFuture<'_, ReloadReport> {
        Box::pin(async { ReloadReport::default() })
    }

    fn texts(&self) -> TextAccess {
        self.texts
    }

    fn read_text(&self, session: &SessionId, path: &AbsPath) -> BoxFuture<'_, Result<String, EditorError>> {
        let request = acp::ReadTextFileRequest::new(session.to_string(), path.as_path());
        Box::pin(async move {
            let answer = self.call(acp::CLIENT_METHOD_NAMES.fs_read_text_file, request, READ_WITHIN).await?;
            match serde_json::from_value::<acp::ReadTextFileResponse>(answer) {
                Ok(response) => Ok(response.content),
                Err(error) => Err(EditorError::Refused { reason: Some(error.to_string()) }),
            }
        })
    }

    fn write_text(&self, session: &SessionId, path: &AbsPath, text: String) -> BoxFuture<'_, Result<(), EditorError>> {
        let request = acp::WriteTextFileRequest::new(session.to_string(), path.as_path(), text);
        Box::pin(async move {
            self.call(acp::CLIENT_METHOD_NAMES.fs_write_text_file, request, WRITTEN_WITHIN).await.map(|_| ())
        })
    }

    /// No client of ACP promises to take an edit back by one undo; each is shown its diffs, and `/undo` is a prompt.
    fn free_edits(&self) -> FreeEdits {
        FreeEdits { shown: false, undoable: true }
    }
}
