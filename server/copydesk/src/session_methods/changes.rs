//! `_copydesk/changes`: decisions on hunks, then the list of what the agent changed as it is after them.

use copydesk_engine::review::{ChangesScope, Decided, Decision, HunkChoice, ReviewError};
use copydesk_engine::session::SessionHandle;
use copydesk_protocol::additions::ChangesParams;
use copydesk_protocol::rpc::{Reply, RpcError};
use serde_json::Value;

use super::{SessionMethods, params, result, store_error};
use crate::change_views;

/// What a request wants of a session.
struct Wanted {
    session: SessionHandle,
    scope: ChangesScope,
    /// What is accepted comes first: a rejection leaves it alone then.
    decisions: Vec<(HunkChoice, Decision)>,
}

impl SessionMethods {
    /// A decision that is begun is brought to its end; to list can be given up.
    pub(super) fn changes(&self, value: Value) -> Reply {
        let wanted = match self.wanted(value) {
            Ok(wanted) => wanted,
            Err(error) => return Reply::Now(Err(error)),
        };
        let encoding = self.host.encoding();
        let decides = !wanted.decisions.is_empty();
        let answer = Box::pin(async move {
            let Wanted { session, scope, decisions } = wanted;
            let mut decided = Decided::default();
            for (choice, decision) in decisions {
                let Decided { hunks, undecided } =
                    session.decide(&scope, &choice, decision).await.map_err(review_error)?;
                decided.hunks.extend(hunks);
                decided.undecided.extend(undecided);
            }
            let view = session.changes(&scope).await.map_err(review_error)?;
            result(change_views::changes(&view, decided, encoding))
        });
        if decides { Reply::WindsDown(answer) } else { Reply::Abortable(answer) }
    }

    fn wanted(&self, value: Value) -> Result<Wanted, RpcError> {
        let ChangesParams { session_id, scope, accept, reject } = params(value)?;
        let session = self.session_named(session_id)?;
        let mut decisions = Vec::new();
        for (choice, decision) in [(accept, Decision::Accept), (reject, Decision::Reject)] {
            if let Some(choice) = choice {
                decisions.push((change_views::choice(choice).map_err(RpcError::invalid_params)?, decision));
            }
        }
        Ok(Wanted { session, scope: change_views::scope(scope), decisions })
    }
}

fn review_error(error: ReviewError) -> RpcError {
    match error {
        ReviewError::Store(error) => store_error(error),
    }
}
