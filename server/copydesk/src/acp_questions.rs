//! Questions to the user as a form of ACP, and what was filled in: pure functions. Among them what a command waits for at its terminal.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1 as acp;
use copydesk_engine::ids::CallId;
use copydesk_engine::inquiry::{Choice, Inquiry, InquiryOutcome, Question};
use copydesk_engine::ports::{TerminalPrompt, Typed, WantedLine};
use serde_json::{Value, json};

/// Which forms a client shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Forms {
    #[default]
    None,
    Plain,
    /// It also takes secrets in them: does not show, store or log what is filled in. By ACP itself a form takes none.
    WithSecrets,
}

impl Forms {
    /// What is not understood counts as not offered.
    pub fn of(capabilities: &Value) -> Self {
        match capabilities.pointer("/elicitation/form").filter(|form| form.is_object()) {
            None => Self::None,
            Some(form) if form.pointer("/_meta/copydesk/secrets") == Some(&Value::Bool(true)) => Self::WithSecrets,
            Some(_) => Self::Plain,
        }
    }
}

/// The one field of `line_request`.
const LINE: &str = "line";

/// The line that a command waits for, as a form of one field.
pub fn line_request(session: &str, wanted: &WantedLine) -> acp::CreateElicitationRequest {
    let TerminalPrompt { text, is_secret } = &wanted.prompt;
    let message = match text.as_str() {
        "" => "The command waits for a line of input.".to_owned(),
        text => format!("The command asks: {text}"),
    };
    let field = acp::StringPropertySchema::new().title(if text.is_empty() { "Input" } else { text });
    let form = acp::ElicitationSchema::new().property(LINE, field, false);
    let meta = json!({ "ask": wanted.id, "input": true, "secret": is_secret });
    form_request(session, &wanted.call, form, message, meta)
}

/// `None` where none was given. A field that is left empty is an empty line.
pub fn typed_line(answer: Value) -> Option<Typed> {
    let response: acp::CreateElicitationResponse = serde_json::from_value(without_blanks(answer)).ok()?;
    let acp::ElicitationAction::Accept(accepted) = response.action else { return None };
    match accepted.content.unwrap_or_default().get(LINE) {
        None => Some(Typed::new("")),
        Some(acp::ElicitationContentValue::String(text)) => Some(Typed::new(text)),
        Some(_) => None,
    }
}

/// One field a question, and one for own words where the user may use them.
pub fn request(session: &str, inquiry: &Inquiry) -> acp::CreateElicitationRequest {
    let mut form = acp::ElicitationSchema::new();
    for (number, question) in inquiry.questions.iter().enumerate() {
        let Fields { chosen, said } = Fields::of(number);
        let field = choice_field(question);
        if let Some(field) = field {
            form = form.property(chosen, field, !question.free && !question.multiple);
        }
        if question.free {
            let title = if question.choices.is_empty() { question.text.as_str() } else { "Something else" };
            let field = acp::StringPropertySchema::new().title(title.to_owned());
            form = form.property(said, field.description("In your own words".to_owned()), false);
        }
    }
    let message = match &inquiry.questions[..] {
        [only] => only.text.clone(),
        several => {
            let texts = several.iter().enumerate().map(|(at, question)| format!("{}. {}", at + 1, question.text));
            texts.collect::<Vec<_>>().join("\n")
        }
    };
    form_request(session, &inquiry.call, form, message, json!({ "ask": inquiry.id }))
}

fn form_request(
    session: &str,
    call: &CallId,
    form: acp::ElicitationSchema,
    message: String,
    meta: Value,
) -> acp::CreateElicitationRequest {
    let scope =
        acp::ElicitationSessionScope::new(session.to_owned()).tool_call_id(acp::ToolCallId::new(call.to_string()));
    let mode = acp::ElicitationFormMode::new(acp::ElicitationScope::Session(scope), form);
    let meta = acp::Meta::from_iter([("copydesk".to_owned(), meta)]);
    acp::CreateElicitationRequest::new(acp::ElicitationMode::Form(mode), message).meta(meta)
}

/// Null, an unknown shape or an unknown action is no answer.
pub fn outcome(inquiry: &Inquiry, answer: Value) -> InquiryOutcome {
    let undeliverable = |reason: &str| InquiryOutcome::Undeliverable { reason: reason.to_owned() };
    let Ok(response) = serde_json::from_value::<acp::CreateElicitationResponse>(without_blanks(answer)) else {
        return undeliverable("the client gave no valid answer");
    };
    match response.action {
        acp::ElicitationAction::Accept(accepted) => {
            let filled = accepted.content.unwrap_or_default();
            let questions = inquiry.questions.iter().enumerate();
            InquiryOutcome::Answered(questions.map(|(number, question)| answer_of(number, question, &filled)).collect())
        }
        acp::ElicitationAction::Decline | acp::ElicitationAction::Cancel => InquiryOutcome::Dismissed,
        _ => undeliverable("the client gave an unknown answer"),
    }
}

/// Editors say `null` of a field that was left empty, and some an empty list of a form without any: what else was filled in counts all the same.
fn without_blanks(mut answer: Value) -> Value {
    match answer.get_mut("content") {
        Some(Value::Object(fields)) => fields.retain(|_, value| !value.is_null()),
        Some(content) if content.as_array().is_some_and(Vec::is_empty) => *content = Value::Null,
        Some(_) | None => {}
    }
    answer
}

/// Names of the fields of a question.
struct Fields {
    chosen: String,
    said: String,
}

impl Fields {
    /// In the order of the questions also where a client sorts them.
    fn of(number: usize) -> Self {
        let chosen = format!("q{:02}", number + 1);
        Self { said: format!("{chosen}_other"), chosen }
    }
}

fn choice_field(question: &Question) -> Option<acp::ElicitationPropertySchema> {
    let option = |choice: &Choice| {
        let described = Some(choice.description.clone()).filter(|text| !text.is_empty());
        acp::EnumOption::new(choice.label.clone(), choice.label.clone()).description(described)
    };
    let options: Vec<_> = question.choices.iter().map(option).collect();
    if options.is_empty() {
        return None;
    }
    let title = if question.header.is_empty() { question.text.clone() } else { question.header.clone() };
    let text = question.text.clone();
    Some(if question.multiple {
        acp::MultiSelectPropertySchema::titled(options).title(title).description(text).into()
    } else {
        acp::StringPropertySchema::new().title(title).description(text).one_of(options).into()
    })
}

/// What is no label counts as own words, where the user may use them.
fn answer_of(
    number: usize,
    question: &Question,
    filled: &BTreeMap<String, acp::ElicitationContentValue>,
) -> Vec<String> {
    let Fields { chosen, said } = Fields::of(number);
    let is_label = |text: &String| question.choices.iter().any(|choice| choice.label == *text);
    let label = |text: String| Some(text).filter(&is_label).into_iter().collect();
    let texts = |field: &String| match filled.get(field) {
        Some(acp::ElicitationContentValue::String(text)) => vec![text.clone()],
        Some(acp::ElicitationContentValue::StringArray(texts)) => texts.clone(),
        // A label like `3` or `true` may come back as what it looks like.
        Some(acp::ElicitationContentValue::Integer(number)) => label(number.to_string()),
        Some(acp::ElicitationContentValue::Number(number)) => label(number.to_string()),
        Some(acp::ElicitationContentValue::Boolean(is)) => label(is.to_string()),
        _ => Vec::new(),
    };
    let mut answer: Vec<String> = Vec::new();
    for text in texts(&chosen).into_iter().chain(texts(&said)) {
        let text = if is_label(&text) { text } else { text.trim().to_owned() };
        if !text.is_empty() && (question.free || is_label(&text)) && !answer.contains(&text) {
            answer.push(text);
        }
    }
    answer
}

#[cfg(test)]
#[path = "acp_questions_tests.rs"]
mod tests;
