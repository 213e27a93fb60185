//! Questions to the user that are no permissions: what is asked, what is answered, and how a client that knows choices alone is asked. What the answers
//! mean is the caller's.

use crate::ids::{AskId, CallId, SessionId};
use crate::ports::{Ask, AskOption, AskOutcome, Client, OptionKind, Preview};
use serde_json::Value;

/// Put to the user at once, and answered at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    pub id: AskId,
    /// The call that waits, already told to the client.
    pub call: CallId,
    pub questions: Vec<Question>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    /// A word or two that name it.
    pub header: String,
    pub choices: Vec<Choice>,
    /// Several of them may be chosen.
    pub multiple: bool,
    /// The user may say something else.
    pub free: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Of one question each is another.
    pub label: String,
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InquiryOutcome {
    /// One list a question: labels that were chosen, and what was said instead or besides; empty where it was left open.
    Answered(Vec<Vec<String>>),
    /// The user does not want to answer.
    Dismissed,
    /// The client ended the turn.
    Cancelled,
    /// No answer can come (R16.2): `reason` is for the model.
    Undeliverable { reason: String },
}

/// What one choice of the user's leads to.
enum Step {
    Choose(String),
    Say(String),
    Done,
    Dismiss,
    Unknown,
}

/// Question by question, in the way of a permission; where several may be chosen, one after the other. What else the user wants to say is the message of
/// a rejection, where the client can send one.
pub async fn by_choice<C: Client + ?Sized>(client: &C, session: SessionId, inquiry: Inquiry) -> InquiryOutcome {
    let mut answers = Vec::new();
    for number in 0..inquiry.questions.len() {
        match one_by_choice(client, &session, &inquiry, number).await {
            Ok(answer) => answers.push(answer),
            Err(outcome) => return outcome,
        }
    }
    InquiryOutcome::Answered(answers)
}

async fn one_by_choice<C: Client + ?Sized>(
    client: &C,
    session: &SessionId,
    inquiry: &Inquiry,
    number: usize,
) -> Result<Vec<String>, InquiryOutcome> {
    let question = &inquiry.questions[number];
    let mut answer: Vec<String> = Vec::new();
    loop {
        let (ask, steps) = compose(inquiry, number, &answer);
        let offered = ask.options.clone();
        let step = match client.ask(session.clone(), ask).await {
            AskOutcome::Cancelled => return Err(InquiryOutcome::Cancelled),
            AskOutcome::Undeliverable { reason } => return Err(InquiryOutcome::Undeliverable { reason }),
            AskOutcome::Selected { option, message } => {
                let at = offered.iter().position(|known| known.id == option);
                let step = at.and_then(|at| steps.into_iter().nth(at)).unwrap_or(Step::Unknown);
                match (step, message.filter(|said| question.free && !said.trim().is_empty())) {
                    (Step::Dismiss, Some(said)) => Step::Say(said),
                    (step, _) => step,
                }
            }
        };
        match step {
            Step::Choose(label) => answer.push(label),
            Step::Say(said) => {
                answer.push(said);
                return Ok(answer);
            }
            Step::Done => return Ok(answer),
            Step::Dismiss => return Err(InquiryOutcome::Dismissed),
            Step::Unknown => {
                let reason = "the client's answer was none of the choices".to_owned();
                return Err(InquiryOutcome::Undeliverable { reason });
            }
        }
        if !question.multiple || answer.len() == question.choices.len() {
            return Ok(answer);
        }
    }
}

/// The options, and what each means.
fn compose(inquiry: &Inquiry, number: usize, chosen: &[String]) -> (Ask, Vec<Step>) {
    let question = &inquiry.questions[number];
    let id = format!("{}_{number}_{}", inquiry.id, chosen.len());
    let left = question.choices.iter().filter(|choice| !chosen.contains(&choice.label));
    let mut rows: Vec<(String, OptionKind, Step)> =
        left.map(|choice| (choice.label.clone(), OptionKind::Answer, Step::Choose(choice.label.clone()))).collect();
    if !chosen.is_empty() {
        rows.push((format!("That is all: {}", chosen.join(", ")), OptionKind::Answer, Step::Done));
    }
    let dismiss = if question.free { "None of these: I will say it myself" } else { "Dismiss the question" };
    rows.push((dismiss.to_owned(), OptionKind::RejectOnce, Step::Dismiss));
    let option = |(at, (label, kind, _)): (usize, &(String, OptionKind, Step))| AskOption {
        id: format!("{id}_{at}"),
        label: label.clone(),
        kind: *kind,
    };
    let options = rows.iter().enumerate().map(option).collect();
    let ask = Ask {
        id: AskId::new(id.as_str()),
        call: inquiry.call.clone(),
        title: question.text.clone(),
        reason: explained(inquiry, number),
        input: Value::Null,
        preview: Preview::Nothing,
        options,
    };
    (ask, rows.into_iter().map(|(_, _, step)| step).collect())
}

/// What stands below the question.
fn explained(inquiry: &Inquiry, number: usize) -> String {
    let question = &inquiry.questions[number];
    let of = inquiry.questions.len();
    let mut lines = vec![if of == 1 {
        question.header.clone()
    } else {
        format!("{} (question {} of {of})", question.header, number + 1)
    }];
    if question.multiple {
        lines.push("Several can be chosen, one after the other.".to_owned());
    }
    let described = question.choices.iter().filter(|choice| !choice.description.trim().is_empty());
    lines.extend(described.map(|choice| format!("- {}: {}", choice.label, choice.description)));
    lines.join("\n")
}

#[cfg(test)]
#[path = "inquiry_tests.rs"]
mod tests;
