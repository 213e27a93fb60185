//! `_copydesk/undo`: takes back, or puts back, what the agent did. What of it is possible is the engine's.

use copydesk_engine::undo::UndoError;
use copydesk_protocol::additions::UndoParams;
use copydesk_protocol::rpc::{Reply, RpcError};
use serde_json::Value;

use super::{SessionMethods, params, result, store_error};
use crate::change_views;

impl SessionMethods {
    /// Goes on to its end when it is cancelled: half of an undo is no state of the files that anybody has seen.
    pub(super) fn undo(&self, value: Value) -> Reply {
        let wanted = params::<UndoParams>(value)
            .and_then(|request| Ok((self.session_named(request.session_id)?, change_views::undo_what(request.what))));
        match wanted {
            Ok((session, what)) => Reply::WindsDown(Box::pin(async move {
                let report = session.undo(what).await.map_err(undo_error)?;
                result(change_views::undone(&report))
            })),
            Err(error) => Reply::Now(Err(error)),
        }
    }
}

fn undo_error(error: UndoError) -> RpcError {
    match error {
        UndoError::UnknownTurn(_) | UndoError::UnknownCall(_) => RpcError::invalid_params(error.to_string()),
        UndoError::NothingToUndo | UndoError::NothingToRedo | UndoError::Running | UndoError::Closed => {
            RpcError::request_failed(error.to_string())
        }
        UndoError::Store(error) => store_error(error),
    }
}
