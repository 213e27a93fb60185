//! Opening, closing and deleting of one session happen one after the other, in the order in which they were asked for: a load behind a close finds a session
//! that has ended, and a close behind a load one that is open. Different sessions do not wait for each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

use crate::ids::SessionId;

#[derive(Default)]
pub(super) struct Transitions {
    under_way: Mutex<HashMap<SessionId, Weak<tokio::sync::Mutex<()>>>>,
}

/// Nobody else opens, closes or deletes the session until it is dropped.
pub(super) struct Transition(#[expect(dead_code, reason = "it is held, not read")] OwnedMutexGuard<()>);

impl Transitions {
    /// Waits for those that were asked for before. The place in the row is taken when the future is first polled.
    pub(super) async fn begin(&self, session: &SessionId) -> Transition {
        let turn = self.turn(session);
        Transition(turn.lock_owned().await)
    }

    fn turn(&self, session: &SessionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = under_way.get(session).and_then(Weak::upgrade) {
            return turn;
        }
        under_way.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(tokio::sync::Mutex::new(()));
        under_way.insert(session.clone(), Arc::downgrade(&turn));
        turn
    }
}
