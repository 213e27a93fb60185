//! `question`: asks the user what only he can say, with answers to choose from. It needs no permission: to be asked is the permission.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::described;
use crate::inquiry::{Choice, Question};
use crate::ports::Preview;
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

pub(super) struct AskUser;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// What to ask, all at once: put questions that do not depend on each other into one call.
    #[schemars(length(min = 1))]
    questions: Vec<Asked>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Asked {
    /// The whole question.
    question: String,
    /// A word or two that name it, at most 30 characters.
    header: String,
    /// The answers to choose from, the one that you would take first.
    options: Vec<Answer>,
    /// Whether several may be chosen.
    multiple: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Answer {
    /// The answer in one to five words.
    label: String,
    /// What it would mean.
    description: String,
}

impl Tool for AskUser {
    type Input = Input;
    type Prepared = Vec<Question>;

    const NAME: &'static str = "question";
    const KIND: ToolKind = ToolKind::Think;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("question.txt"), facts)
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        let questions = partial.get("questions").and_then(Value::as_array).map_or(0, Vec::len);
        format!("Asked {questions} question{}", if questions == 1 { "" } else { "s" })
    }

    fn access(&self, _input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    async fn prepare(&self, input: &Input, _ctx: &ToolContext) -> Result<Prepared<Vec<Question>>, ToolError> {
        let value = input.questions.iter().map(asked).collect::<Result<_, _>>()?;
        Ok(Prepared { value, preview: Preview::Nothing })
    }

    async fn commit(&self, questions: Vec<Question>, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let answers = ctx.user.ask(questions.clone()).await?;
        let said = |(question, answer): (&Question, &Vec<String>)| {
            let answer = if answer.is_empty() { "Unanswered".to_owned() } else { answer.join(", ") };
            format!("\"{}\"=\"{answer}\"", question.text)
        };
        let pairs: Vec<String> = questions.iter().zip(&answers).map(said).collect();
        Ok(ToolOutput {
            text: format!("The user has answered: {}. Go on with these answers in mind.", pairs.join(", ")),
            metadata: json!({ "answers": answers }),
            ..ToolOutput::default()
        })
    }
}

fn asked(asked: &Asked) -> Result<Question, ToolError> {
    let Asked { question, header, options, multiple } = asked;
    if question.trim().is_empty() {
        return Err(ToolError::Tell("A `question` is empty. Nothing was asked.".to_owned()));
    }
    let mut choices: Vec<Choice> = Vec::new();
    for Answer { label, description } in options {
        let choice = Choice { label: label.trim().to_owned(), description: description.trim().to_owned() };
        if choice.label.is_empty() || choices.iter().any(|known| known.label == choice.label) {
            return Err(ToolError::Tell(format!(
                "The options of {question:?} must have labels, each another: {label:?} is empty or there twice. Nothing was asked."
            )));
        }
        choices.push(choice);
    }
    let text = question.trim().to_owned();
    Ok(Question { text, header: header.trim().to_owned(), choices, multiple: multiple.unwrap_or(false), free: true })
}

#[cfg(test)]
#[path = "question_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
