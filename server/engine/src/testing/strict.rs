//! What the strictest provider would refuse, as one check of a request (R2.1). It trusts nothing that the engine says of itself.

use std::collections::HashSet;

use crate::ports::{AssistantBlock, Content, ModelMessage, ModelRequest, ResultBlock};

/// The first fault of the request, in words.
pub fn check_request(request: &ModelRequest) -> Result<(), String> {
    if request.system.trim().is_empty() {
        return Err("the system prompt is empty".to_owned());
    }
    for pair in request.tools.windows(2) {
        if pair[0].name >= pair[1].name {
            return Err(format!("tools are not sorted and unique: {} before {}", pair[0].name, pair[1].name));
        }
    }
    for tool in &request.tools {
        valid_name(&tool.name)?;
        if tool.parameters.get("type").and_then(|kind| kind.as_str()) != Some("object") {
            return Err(format!("the parameters of {} are no object schema", tool.name));
        }
    }
    check_messages(&request.messages)
}

/// The messages alone.
pub fn check_messages(messages: &[ModelMessage]) -> Result<(), String> {
    match messages.first() {
        Some(ModelMessage::User(_)) => {}
        Some(_) => return Err("the first message is not the user's".to_owned()),
        None => return Err("there is no message".to_owned()),
    }
    if let Some(ModelMessage::Assistant(_)) = messages.last() {
        return Err("the last message is the assistant's".to_owned());
    }
    let mut ids = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let next = messages.get(index + 1);
        let at = |fault: String| format!("message {index}: {fault}");
        match message {
            ModelMessage::User(content) => {
                check_content(content).map_err(at)?;
                if matches!(next, Some(ModelMessage::User(_))) {
                    return Err(at("two user messages in a row".to_owned()));
                }
            }
            ModelMessage::Assistant(blocks) => {
                let calls = check_blocks(blocks, &mut ids).map_err(at)?;
                match next {
                    Some(ModelMessage::Results(results)) => {
                        let found: Vec<&str> = results.iter().map(|result| result.id.as_str()).collect();
                        if found != calls {
                            return Err(at(format!("calls {calls:?} are followed by results {found:?}")));
                        }
                    }
                    _ if !calls.is_empty() => return Err(at(format!("calls {calls:?} have no results after them"))),
                    Some(ModelMessage::Assistant(_)) => return Err(at("two assistant messages in a row".to_owned())),
                    Some(ModelMessage::User(_)) | None => {}
                }
            }
            ModelMessage::Results(results) => {
                if results.is_empty() {
                    return Err(at("no results in a message of results".to_owned()));
                }
                if index == 0 || !matches!(messages[index - 1], ModelMessage::Assistant(_)) {
                    return Err(at("results without an assistant message before them".to_owned()));
                }
                for result in results {
                    check_result(result).map_err(at)?;
                }
            }
        }
    }
    Ok(())
}

/// Anthropic refuses anything but text in an error.
fn check_result(result: &ResultBlock) -> Result<(), String> {
    let Some(Content::Text(text)) = result.content.first() else {
        return Err("a result that does not begin with a text".to_owned());
    };
    not_blank(text, "a result")?;
    match result.is_error && result.content.len() > 1 {
        true => Err("an error that shows something".to_owned()),
        false => check_content(&result.content),
    }
}

fn check_content(content: &[Content]) -> Result<(), String> {
    if content.is_empty() {
        return Err("a user message is empty".to_owned());
    }
    for piece in content {
        if let Content::Text(text) = piece {
            not_blank(text, "a text of the user")?;
        }
    }
    let is_text = |piece: &Content| matches!(piece, Content::Text(_));
    match content.windows(2).any(|pair| pair.iter().all(is_text)) {
        true => Err("two texts beside each other".to_owned()),
        false => Ok(()),
    }
}

/// The ids of the calls, in order.
fn check_blocks<'a>(blocks: &'a [AssistantBlock], ids: &mut HashSet<&'a str>) -> Result<Vec<&'a str>, String> {
    let mut calls = Vec::new();
    let mut says_something = false;
    for block in blocks {
        match block {
            AssistantBlock::Text(text) => {
                not_blank(text, "a text block")?;
                says_something = true;
            }
            AssistantBlock::Reasoning { text, signature } => {
                if signature.is_none() {
                    not_blank(text, "a reasoning block")?;
                }
            }
            AssistantBlock::Call { id, name, input } => {
                not_blank(id, "the id of a call")?;
                if !ids.insert(id) {
                    return Err(format!("the id {id} stands twice"));
                }
                valid_name(name)?;
                if !input.is_object() {
                    return Err(format!("the input of {id} is no object: {input}"));
                }
                calls.push(id.as_str());
                says_something = true;
            }
        }
    }
    if says_something { Ok(calls) } else { Err("an assistant message without text and calls".to_owned()) }
}

fn not_blank(text: &str, what: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err(format!("{what} is empty")) } else { Ok(()) }
}

/// As OpenAI and Anthropic ask.
fn valid_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&name.len()) && name.chars().all(fits) {
        Ok(())
    } else {
        Err(format!("{name:?} is no name of a tool"))
    }
}
