//! What the agent has changed, as a session's handle lists it and takes decisions on it; and how client and model hear of these.

use super::{Context, SessionHandle};
use crate::message::Entry;
use crate::review::{ChangesScope, ChangesView, Decided, Decision, Desk, HunkChoice, Rejected, ReviewError, told};
use crate::view::View;

impl SessionHandle {
    /// At this moment, also while the agent works. Needs no lease.
    pub async fn changes(&self, scope: &ChangesScope) -> Result<ChangesView, ReviewError> {
        let context = &self.context;
        let view = context.view();
        Ok(context.reviews.list(context.desk(&view), scope).await?)
    }

    /// In force at once, also while the agent works: what is rejected is out of the files when this resolves, and the model is told of it before its next step.
    /// Hunks that cannot be decided are answered with the reason, and the others are decided.
    pub async fn decide(
        &self,
        scope: &ChangesScope,
        choice: &HunkChoice,
        decision: Decision,
    ) -> Result<Decided, ReviewError> {
        let context = &self.context;
        let view = context.view();
        let mut rejected = Vec::new();
        let reviews = &context.reviews;
        let decided = reviews.decide(context.desk(&view), scope, (choice, decision), &mut rejected).await;
        let is_another = decided.as_ref().map_or(true, |decided| !decided.hunks.is_empty());
        if is_another {
            context.tell_of_changes().await;
        }
        if !rejected.is_empty() {
            context.tell_model(&rejected).await?;
        }
        Ok(decided?)
    }
}

impl Context {
    fn desk<'a>(&'a self, view: &'a View) -> Desk<'a> {
        Desk {
            session: &self.id,
            changes: &*self.ports.changes,
            view,
            recording: &self.recording,
            ids: &*self.ports.ids,
            clock: &*self.ports.clock,
            most_kept: self.config().max_undo_bytes,
        }
    }

    /// Tells the client that the list of changes is another one.
    pub(crate) async fn tell_of_changes(&self) {
        self.reviews.tell(&self.id, &**self.client()).await;
    }

    /// The same, where something was stored since it was listed last.
    pub(crate) async fn tell_of_new_changes(&self) {
        if self.reviews.has_news(&*self.ports.changes, &self.id).await {
            self.tell_of_changes().await;
        }
    }

    /// Stored at once: it stands before whatever the model is asked next, also after a restart.
    async fn tell_model(&self, rejected: &[Rejected]) -> Result<(), ReviewError> {
        let text = told(rejected, &self.facts);
        let entry = Entry::Told { at: self.ports.clock.now(), text };
        self.journal.append(vec![entry]).await?;
        Ok(())
    }
}
