//! What an LSP client offers to sessions: the workspace's folders, and `$/progress` of a turn, which can cancel it.

use std::sync::Arc;

use copydesk_engine::ports::BoxFuture;
use copydesk_engine::session::SessionHandle;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::PositionEncoding;
use copydesk_workspace::uri::path_from_uri;
use serde_json::json;
use tokio::sync::oneshot;

use super::client_state::ClientState;
use crate::session_methods::Host;

pub(super) struct LspHost(pub(super) Arc<ClientState>);

impl Host for LspHost {
    fn roots(&self) -> Vec<AbsPath> {
        self.0.folders().iter().filter_map(|uri| path_from_uri(uri).ok()).collect()
    }

    fn encoding(&self) -> PositionEncoding {
        self.0.encoding()
    }

    fn ready(&self) -> BoxFuture<'static, ()> {
        let state = self.0.clone();
        Box::pin(async move { state.settings_known().await })
    }

    fn turn_started(&self, session: &SessionHandle) -> Box<dyn Send> {
        if !self.0.client().is_some_and(|client| client.shows_progress) {
            return Box::new(());
        }
        let (running, ended) = oneshot::channel();
        tokio::spawn(report(self.0.clone(), session.clone(), ended));
        Box::new(Running(running))
    }
}

/// Dropped at the turn's end, which its receiver sees.
struct Running(#[expect(dead_code, reason = "its drop is the message")] oneshot::Sender<()>);

async fn report(state: Arc<ClientState>, session: SessionHandle, ended: oneshot::Receiver<()>) {
    let token = state.begin_progress(session);
    let peer = state.peer();
    if peer.request("window/workDoneProgress/create", json!({ "token": token })).await.is_ok() {
        let begin = json!({ "token": token, "value": { "kind": "begin", "title": "Copydesk", "cancellable": true } });
        // A closed connection needs no end of the progress.
        let _ = peer.notify("$/progress", begin).await;
        let _ = ended.await;
        let _ = peer.notify("$/progress", json!({ "token": token, "value": { "kind": "end" } })).await;
    }
    state.end_progress(&token);
}
