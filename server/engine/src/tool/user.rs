//! The user, as a tool may ask him. What the client makes of it is its own.

use std::sync::Arc;

use super::ToolError;
use crate::ids::{AskId, CallId, SessionId};
use crate::inquiry::{Inquiry, InquiryOutcome, Question};
use crate::ports::{BoxFuture, Client, Ids, Keyboard, TerminalPrompt, Typed, WantedLine};

/// Of one call.
#[derive(Clone)]
pub struct User {
    pub client: Arc<dyn Client>,
    pub session: SessionId,
    pub call: CallId,
    pub ids: Arc<dyn Ids>,
}

impl User {
    /// One list of answers a question. Never waits for a client that is not there; dropping the future withdraws the questions.
    pub async fn ask(&self, questions: Vec<Question>) -> Result<Vec<Vec<String>>, ToolError> {
        let count = questions.len();
        let inquiry = Inquiry { id: AskId::next(&*self.ids), call: self.call.clone(), questions };
        match self.client.inquire(self.session.clone(), inquiry).await {
            InquiryOutcome::Answered(mut answers) => {
                answers.resize(count, Vec::new());
                Ok(answers)
            }
            InquiryOutcome::Dismissed => {
                Err(ToolError::Rejected("The user dismissed the question and gave no answer.".to_owned()))
            }
            InquiryOutcome::Cancelled => {
                Err(ToolError::Ended("The user cancelled the turn; nothing was answered.".to_owned()))
            }
            InquiryOutcome::Undeliverable { reason } => Err(ToolError::Tell(format!(
                "The question could not be put to the user ({reason}). If the work cannot go on without an answer, write the question and its options as your reply and end the turn: the next prompt answers it. Else take the most sensible way and say which."
            ))),
        }
    }
}

impl Keyboard for User {
    fn line(&self, prompt: TerminalPrompt) -> BoxFuture<'_, Option<Typed>> {
        let wanted = WantedLine { id: AskId::next(&*self.ids), call: self.call.clone(), prompt };
        self.client.type_line(self.session.clone(), wanted)
    }
}
