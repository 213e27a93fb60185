//! `_copydesk/diff`: what a turn or the session did as one patch, or the files that it touched against the commit that is checked out.

use copydesk_engine::diffs::DiffError;
use copydesk_engine::ids::MessageId;
use copydesk_engine::review::ChangesScope;
use copydesk_protocol::additions::{DiffOf, DiffParams};
use copydesk_protocol::rpc::{Reply, RpcError};
use serde_json::Value;

use super::{SessionMethods, params, result, store_error};
use crate::change_views;

impl SessionMethods {
    pub(super) fn diff(&self, value: Value) -> Reply {
        let wanted =
            params::<DiffParams>(value).and_then(|request| Ok((self.session_named(request.session_id)?, request.of)));
        match wanted {
            Ok((session, of)) => Reply::Abortable(Box::pin(async move {
                let shown = match of {
                    DiffOf::LastTurn => session.diff(&ChangesScope::LastTurn).await,
                    DiffOf::Turn(turn) => session.diff(&ChangesScope::Turn(MessageId::new(turn))).await,
                    DiffOf::Session => session.diff(&ChangesScope::Session).await,
                    DiffOf::Head => session.diff_to_head().await,
                };
                result(change_views::diff(&shown.map_err(diff_error)?))
            })),
            Err(error) => Reply::Now(Err(error)),
        }
    }
}

fn diff_error(error: DiffError) -> RpcError {
    match error {
        DiffError::UnknownTurn(_) => RpcError::invalid_params(error.to_string()),
        DiffError::VersionControl(_) | DiffError::Unreadable(_) => RpcError::request_failed(error.to_string()),
        DiffError::Store(error) => store_error(error),
    }
}
