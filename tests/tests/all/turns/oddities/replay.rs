//! The rows of the table, and how they are replayed: by the strict server, to the built daemon, over both wires.

use std::collections::{HashMap, VecDeque};

use super::*;

/// A row. What a wire cannot say is `None` there.
pub(super) struct Oddity {
    /// Stands in the prompt, by which the server knows the requests of the row.
    name: &'static str,
    chat: Option<Reply>,
    messages: Option<Reply>,
    /// Where the model is asked once more in the same turn.
    then: Option<Reply>,
    /// Tokens of a try that failed: Messages says them when it begins to answer, and they are paid for (R13.3).
    spent: Option<u64>,
    /// Of the turn; `Err`: a part of the error that the prompt is answered with.
    expected: Result<Expected, &'static str>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Expected {
    /// All that the agent said, in one.
    text: &'static str,
    /// A part of each result that the model got, in order.
    results: &'static [&'static str],
    /// Each told usage, in tokens.
    used: &'static [u64],
    /// How often the client was told of a wait before another try.
    retries: usize,
}

pub(super) fn says(name: &'static str, chat: Option<Reply>, messages: Option<Reply>, text: &'static str) -> Oddity {
    Oddity {
        name,
        chat,
        messages,
        then: None,
        spent: None,
        expected: Ok(Expected { text, used: &[12], ..Expected::default() }),
    }
}

/// Calls, whose results the model answers with `fine`.
pub(super) fn runs(
    name: &'static str,
    chat: Option<Reply>,
    messages: Option<Reply>,
    results: &'static [&'static str],
) -> Oddity {
    let used = &[12, 15];
    let expected = Expected { text: "fine", results, used, retries: 0 };
    Oddity { name, chat, messages, then: Some(Reply::text("fine")), spent: None, expected: Ok(expected) }
}

pub(super) fn fails(name: &'static str, chat: Option<Reply>, messages: Option<Reply>, part: &'static str) -> Oddity {
    Oddity { name, chat, messages, then: None, spent: None, expected: Err(part) }
}

/// Asked for again, which gives `an answer`.
pub(super) fn again(name: &'static str, chat: Option<Reply>, messages: Option<Reply>) -> Oddity {
    let expected = Expected { text: "an answer", results: &[], used: &[15], retries: 1 };
    Oddity { name, chat, messages, then: Some(Reply::text("an answer")), spent: None, expected: Ok(expected) }
}

/// The same where the first answer begins.
pub(super) fn begins_again(name: &'static str, chat: Option<Reply>, messages: Option<Reply>) -> Oddity {
    Oddity { spent: Some(11), ..again(name, chat, messages) }
}

/// The same reply over both wires.
pub(super) fn both(reply: Reply) -> (Option<Reply>, Option<Reply>) {
    (Some(reply.clone()), Some(reply))
}

/// All rows at once, a session each, in one daemon a wire.
pub(super) async fn replay(options: Value, rows: impl Fn() -> Vec<Oddity>) {
    let [chat, messages] = Wire::ALL.map(|wire| replay_over(wire, &options, rows()));
    tokio::join!(chat, messages);
}

async fn replay_over(wire: Wire, options: &Value, rows: Vec<Oddity>) {
    let mut replies: HashMap<String, VecDeque<Reply>> = HashMap::new();
    let mut expectations = Vec::new();
    for Oddity { name, chat, messages, then, spent, expected } in rows {
        let (odd, spent) = match wire {
            Wire::ChatCompletions => (chat, None),
            Wire::Messages => (messages, spent),
        };
        let Some(odd) = odd else { continue };
        let next = Reply::text(&format!("more of {name}"));
        replies.insert(format!("<{name}>"), [Some(odd), then, Some(next)].into_iter().flatten().collect());
        expectations.push((name, spent, expected));
    }
    let (model, editor) = start_over(wire, options, replies).await;
    let mut sessions = Vec::new();
    for (name, spent, expected) in expectations {
        let session = editor.new_session().await;
        let prompt = editor.prompt(&session, &format!("<{name}>"));
        sessions.push((name, spent, expected, session, prompt));
    }
    let mut ends = Vec::new();
    for (name, _, _, _, prompt) in &sessions {
        ends.push((name, editor.await_response(*prompt).await));
    }
    let updates = editor.take_notifications("session/update");
    for ((name, spent, expected, session, _), (_, end)) in sessions.iter().zip(ends) {
        let context = format!("{wire:?}, {name}");
        match expected {
            Ok(expected) => {
                assert_eq!(end.expect(&context)["stopReason"], "end_turn", "{context}");
                let results = results_of(&model, name);
                assert_eq!(results.len(), expected.results.len(), "{context}: {results:#?}");
                for (result, part) in results.iter().zip(expected.results) {
                    assert!(result.contains(part), "{context}: {part:?} is not in {result:?}");
                }
                let told = told(&updates, session);
                let expected =
                    (expected.text.to_owned(), spent.iter().chain(expected.used).copied().collect(), expected.retries);
                assert_eq!(told, expected, "{context}");
            }
            Err(part) => {
                let message = end.expect_err(&context).message;
                assert!(message.contains(part) && message.len() > 20, "{context}: {part:?} is not in {message:?}");
            }
        }
    }
    // What is stored of it goes out once more.
    for (name, _, _, session, _) in &sessions {
        let stopped = say(&editor, session, &format!("<{name}> and more")).await;
        let told = told(&editor.take_notifications("session/update"), session).0;
        assert_eq!((stopped, told), ("end_turn".to_owned(), format!("more of {name}")), "{wire:?}, {name}");
    }
    let cut = std::fs::metadata(editor.home().workspace().join("a.py")).unwrap();
    assert_eq!(cut.len(), 16 * 1024, "what was cut is not run");
    editor.finish().await;
    model.finish();
}

/// A model that knows its requests by what stands between `<` and `>` in their prompt.
async fn start_over(
    wire: Wire,
    options: &Value,
    mut replies: HashMap<String, VecDeque<Reply>>,
) -> (ScriptedModel, FakeEditor) {
    let model = ScriptedModel::start(Script::function(move |request| {
        let row = replies.iter_mut().find(|(name, _)| request.raw_body.contains(name.as_str()));
        row.and_then(|(_, replies)| replies.pop_front()).expect("a reply that is left")
    }))
    .await;
    let home = Home::new();
    configure(&home, wire, &model.base_url(), options, &json!({}));
    for (name, text) in [("a.txt", "one\n"), ("b.txt", "two\n"), ("ä.txt", "umlaut\n")] {
        home.write(name, text);
    }
    home.write("a.py", "a".repeat(16 * 1024));
    (model, watch(home).await)
}

/// With options of the provider and of the model.
pub(super) fn configure(home: &Home, wire: Wire, base_url: &str, options: &Value, model_options: &Value) {
    let mut options = options.clone();
    options["baseURL"] = json!(base_url);
    options["apiKey"] = json!("key");
    let limit = json!({ "context": 200_000, "output": 32_000 });
    let models = json!({ "model": { "limit": limit, "options": model_options } });
    let provider = json!({ "scripted": { "npm": wire.npm(), "options": options, "models": models } });
    home.configure(&json!({ "model": "scripted/model", "provider": provider }).to_string());
}

/// An editor whose updates the test looks at.
pub(super) async fn watch(home: Home) -> FakeEditor {
    let editor = FakeEditor::open(home).await;
    editor.disregard("window/showMessage");
    editor.script("_copydesk/diagnostics", |params| diagnostics(params, "unavailable", &[]));
    editor
}

/// Of the row's last request.
fn results_of(model: &ScriptedModel, name: &str) -> Vec<String> {
    let requests = model.requests();
    let last = requests.iter().rfind(|request| request.raw_body.contains(&format!("<{name}>")));
    last.map(SeenRequest::results).unwrap_or_default().into_iter().map(str::to_owned).collect()
}

/// The agent's text in one, each usage, and the number of waits.
pub(super) fn told(updates: &[Value], session: &str) -> (String, Vec<u64>, usize) {
    let of_session = updates.iter().filter(|params| params["sessionId"] == session).map(|params| &params["update"]);
    let mut told = (String::new(), Vec::new(), 0);
    for update in of_session {
        match update["sessionUpdate"].as_str().unwrap() {
            "agent_message_chunk" => told.0.push_str(update["content"]["text"].as_str().unwrap()),
            "usage_update" => told.1.push(update["used"].as_u64().unwrap()),
            "session_info_update" if update["_meta"]["copydesk"]["retry"].is_object() => told.2 += 1,
            _ => {}
        }
    }
    told
}
