//! Whether a call may be done: what is denied is refused, what is not allowed is asked once, and what the answer means for the call and its turn. What is
//! decided about each need is `decide`'s; how it is asked is `ask`'s.

use super::Runner;
use super::access::Need;
use super::ask::{Question, Reply};
use super::decide::{Decided, can_be_granted, decide};
use super::preview;
use super::repeats::Repetition;
use super::stopped::Stopped;
use crate::event::ToolCallView;
use crate::message::TurnEnd;
use crate::ports::Preview;

impl Runner {
    pub(super) fn refuse_denied(&self, needs: &[Need]) -> Result<(), Stopped> {
        let denials: Vec<String> = needs
            .iter()
            .filter_map(|need| match decide(&self.deps, need) {
                Decided::Denied(reason) => Some(reason),
                Decided::Allowed | Decided::Asked(_) => None,
            })
            .collect();
        if denials.is_empty() {
            return Ok(());
        }
        Err(Stopped::failed(format!(
            "{}. Nothing was done. Do not try to reach the same by another way.",
            denials.join("; ")
        )))
    }

    /// Asks once for all that is not allowed, and returns whether it asked. `given` is the preview that was consented to: the same content is not asked
    /// again.
    pub(super) async fn consent(
        &self,
        view: &ToolCallView,
        needs: &[Need],
        again: Option<&Repetition>,
        preview: &Preview,
        given: &mut Option<Preview>,
    ) -> Result<bool, Stopped> {
        self.deps.look_at_grants().await;
        self.refuse_denied(needs)?;
        let mut asked: Vec<(Need, String)> = needs
            .iter()
            .filter_map(|need| match decide(&self.deps, need) {
                Decided::Asked(reason) => {
                    let always = need.always.clone().filter(|_| can_be_granted(&self.deps, need));
                    Some((Need { always, ..need.clone() }, reason))
                }
                Decided::Allowed | Decided::Denied(_) => None,
            })
            .collect();
        // Also where a grant has come meanwhile: that is no answer to this.
        asked.extend(again.map(|again| (again.need.clone(), again.reason.clone())));
        let known = given.as_ref().is_some_and(|given| preview::same_content(given, preview));
        if asked.is_empty() || known {
            return Ok(false);
        }
        let question = Question {
            call: &view.call,
            title: &view.title,
            input: &view.input,
            preview: preview::with_marks(preview, &asked),
            needs: asked,
        };
        match (self.until_stopped(self.asks.ask(&self.deps, question)).await?, again) {
            (Reply::Undeliverable(reason), Some(_)) => return Err(Repetition::unanswered(&view.name, &reason)),
            (reply, _) => self.take(reply)?,
        }
        *given = Some(preview.clone());
        Ok(true)
    }

    pub(super) fn take(&self, reply: Reply) -> Result<(), Stopped> {
        match reply {
            Reply::Allowed => Ok(()),
            Reply::RejectedWith(message) => Err(Stopped::failed(format!(
                "The user rejected this call and says: {message}\nNothing was done. Go on as the user wishes."
            ))),
            Reply::Cancelled => Err(Stopped::Cancelled {
                text: "The user cancelled the turn; nothing was done.".to_owned(),
                stop: Some(TurnEnd::Cancelled),
            }),
            Reply::Undeliverable(reason) => {
                Err(Stopped::failed(format!("Denied: no client could be asked ({reason}). Nothing was done.")))
            }
            Reply::Rejected => Err(self.rejected("The user rejected this call; nothing was done.")),
            Reply::Unknown => {
                Err(self
                    .rejected("The client's answer was none of the options, which is no consent; nothing was done."))
            }
        }
    }

    pub(super) fn rejected(&self, text: &str) -> Stopped {
        if self.deps.config.continue_on_reject {
            return Stopped::failed(text.to_owned());
        }
        self.halted.cancel();
        Stopped::Turn { text: text.to_owned(), stop: TurnEnd::Rejected }
    }
}
