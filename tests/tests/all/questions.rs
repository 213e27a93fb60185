//! Questions of the model through every face, on the built daemon: by a form, by choices, at the terminal, in a plain editor. Needs the program:
//! `cargo build -p copydesk`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, FakeEditor, uri};
use copydesk_tests::pty::Pty;
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::{Value, json};

/// R16.2.
const AT_ONCE: Duration = Duration::from_secs(1);

fn which(labels: &[&str], multiple: bool) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({ "label": label, "description": format!("about {label}") })).collect();
    json!({ "question": "Which way?", "header": "Way", "options": options, "multiple": multiple })
}

fn asks() -> Reply {
    Reply::call("question", json!({ "questions": [which(&["left", "right"], false)] }))
}

pub(super) fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

async fn acp(script: impl Into<Script>, capabilities: Value) -> (ScriptedModel, FakeEditor) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let client = FakeEditor::open_acp(home, capabilities).await;
    client.disregard("session/update");
    (model, client)
}

async fn serve(script: impl Into<Script>, acp: Value) -> (ScriptedModel, FakeEditor) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let opt_in = json!({ "protocol": 1, "acp": acp });
    let editor = FakeEditor::open_with(home, Capabilities { opt_in, ..Capabilities::default() }).await;
    editor.disregard("session/update");
    (model, editor)
}

/// What the model was told of its first call.
pub(super) fn told(model: &ScriptedModel) -> String {
    model.requests()[1].results().concat()
}

pub(super) async fn finish(model: ScriptedModel, client: FakeEditor) {
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn a_client_with_forms_gets_one_form_for_all_questions() {
    for face in ["acp", "serve"] {
        let questions = json!({ "questions": [which(&["left", "right"], false), which(&["a", "b"], true)] });
        let script = [Reply::call("question", questions), Reply::text("Right.")];
        let (model, client) = match face {
            "acp" => acp(script, forms()).await,
            _ => serve(script, forms()).await,
        };
        let session = client.new_session().await;
        let prompt = client.prompt(&session, "go");
        let (id, params) = client.await_request("elicitation/create").await;
        assert_eq!((&params["sessionId"], &params["mode"]), (&json!(session), &json!("form")), "{params}");
        let fields = params["requestedSchema"]["properties"].as_object().unwrap();
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["q01", "q01_other", "q02", "q02_other"]);
        assert_eq!(fields["q01"]["oneOf"][1]["const"], "right");
        let content = json!({ "q01": "right", "q02": ["b", "a"], "q02_other": "and c" });
        client.respond(&id, json!({ "action": "accept", "content": content }));
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
        let said = told(&model);
        assert!(said.contains("\"Which way?\"=\"right\", \"Which way?\"=\"b, a, and c\""), "{face}: {said}");
        finish(model, client).await;
    }
}

#[tokio::test]
async fn a_client_without_forms_gets_a_choice() {
    for face in ["acp", "serve"] {
        let script = [asks(), Reply::text("Left.")];
        let (model, client) = match face {
            "acp" => acp(script, json!({})).await,
            _ => serve(script, json!({})).await,
        };
        let session = client.new_session().await;
        let prompt = client.prompt(&session, "go");
        let (id, params) = client.await_request("session/request_permission").await;
        assert_eq!(params["toolCall"]["title"], "Which way?", "{params}");
        let options = params["options"].as_array().unwrap();
        let names: Vec<_> = options.iter().map(|option| option["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["left", "right", "None of these: I will say it myself"]);
        let outcome = json!({ "outcome": "selected", "optionId": options[0]["optionId"] });
        client.respond(&id, json!({ "outcome": outcome }));
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
        assert!(told(&model).contains("\"Which way?\"=\"left\""), "{face}");
        finish(model, client).await;
    }
}

#[tokio::test]
async fn a_form_that_is_refused_becomes_a_choice_and_own_words_are_an_answer() {
    let (model, client) = acp([asks(), Reply::text("So be it.")], forms()).await;
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    let (id, _) = client.await_request("elicitation/create").await;
    client.respond_with_error(&id, -32602, "forms are not shown");
    let (id, params) = client.await_request("session/request_permission").await;
    let reject = params["options"].as_array().unwrap().last().unwrap()["optionId"].clone();
    let meta = json!({ "copydesk": { "message": "straight on" } });
    client.respond(&id, json!({ "outcome": { "outcome": "selected", "optionId": reject, "_meta": meta } }));
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
    assert!(told(&model).contains("\"Which way?\"=\"straight on\""));
    finish(model, client).await;
}

#[tokio::test]
async fn a_dismissed_question_ends_the_turn() {
    for action in ["decline", "cancel"] {
        let (model, client) = acp([asks()], forms()).await;
        let session = client.new_session().await;
        let prompt = client.prompt(&session, "go");
        let (id, _) = client.await_request("elicitation/create").await;
        client.respond(&id, json!({ "action": action }));
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn", "{action}");
        assert_eq!(model.requests().len(), 1, "the model is not asked again");
        finish(model, client).await;
    }
}

#[tokio::test]
async fn r16_2_a_question_that_a_client_cannot_take_is_answered_at_once() {
    let (model, client) = acp([asks(), Reply::text("Which way?")], forms()).await;
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    let (id, _) = client.await_request("elicitation/create").await;
    let start = Instant::now();
    client.respond_with_error(&id, -32601, "no such method");
    let (id, _) = client.await_request("session/request_permission").await;
    client.respond_with_error(&id, -32601, "no such method");
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    assert!(told(&model).contains("could not be put to the user"), "{}", told(&model));
    finish(model, client).await;
}

#[tokio::test]
async fn r16_3_questions_wait_beside_each_other() {
    let one = json!({ "questions": [which(&["one"], false)] });
    let two = json!({ "questions": [which(&["two"], false)] });
    let script = [Reply::calls([("question", one), ("question", two)]), Reply::text("Both.")];
    let (model, client) = acp(script, forms()).await;
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    let asked = [client.await_request("elicitation/create").await, client.await_request("elicitation/create").await];
    assert_eq!(client.request("nobody/knows", json!({})).await.unwrap_err().code, -32601, "nothing waits for them");
    for (id, question) in asked.iter().rev() {
        let choice = &question["requestedSchema"]["properties"]["q01"]["oneOf"][0]["const"];
        client.respond(id, json!({ "action": "accept", "content": { "q01": choice } }));
    }
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
    let said = told(&model);
    assert!(said.contains("=\"one\"") && said.contains("=\"two\""), "{said}");
    finish(model, client).await;
}

#[tokio::test]
async fn r2_3_a_cancel_withdraws_the_question() {
    for capabilities in [forms(), json!({})] {
        let (model, client) = acp([asks()], capabilities.clone()).await;
        let session = client.new_session().await;
        let prompt = client.prompt(&session, "go");
        let method = if capabilities == forms() { "elicitation/create" } else { "session/request_permission" };
        client.await_request(method).await;
        client.notify("session/cancel", json!({ "sessionId": session }));
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
        // `finish` fails on a question that is left open.
        finish(model, client).await;
    }
}

/// Whatever a client makes of a form: the turn ends, the model is told of no answer that nobody gave, and the next question is asked like the first.
#[tokio::test]
async fn nonsense_is_no_answer_and_ends_nothing() {
    let wrong = [
        Value::Null,
        json!([]),
        json!("left"),
        json!({}),
        json!({ "action": "explode" }),
        json!({ "action": "accept", "content": "left" }),
        json!({ "action": "accept", "content": { "q01": { "const": "left" } } }),
        json!({ "action": { "accept": {} }, "content": { "q01": "left" } }),
    ];
    let script: Vec<Reply> = wrong.iter().flat_map(|_| [asks(), Reply::text("So be it.")]).collect();
    let last = [asks(), Reply::text("Left.")];
    let (model, client) = acp(script.into_iter().chain(last).collect::<Vec<_>>(), forms()).await;
    let session = client.new_session().await;
    for answer in wrong {
        let prompt = client.prompt(&session, "go");
        let (id, _) = client.await_request("elicitation/create").await;
        client.respond_wrongly(&id, answer.clone());
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn", "{answer}");
        let requests = model.requests();
        let told = requests.last().unwrap().results().last().unwrap().to_string();
        assert!(told.contains("could not be put to the user"), "{answer}: {told}");
    }
    let prompt = client.prompt(&session, "go");
    let (id, _) = client.await_request("elicitation/create").await;
    client.respond(&id, json!({ "action": "accept", "content": { "q01": "left" } }));
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
    assert!(model.requests().last().unwrap().results().last().unwrap().contains("=\"left\""));
    finish(model, client).await;
}

/// An answer that comes after the cancel, or twice, is none to the question that is asked next.
#[tokio::test]
async fn r2_3_a_late_answer_is_none_to_the_next_question() {
    for capabilities in [forms(), json!({})] {
        let is_form = capabilities == forms();
        let method = if is_form { "elicitation/create" } else { "session/request_permission" };
        let (model, client) = acp([asks(), asks(), Reply::text("Right.")], capabilities).await;
        let choose = |params: &Value, at: usize| match is_form {
            true => json!({ "action": "accept", "content": { "q01": (["left", "right"][at]) } }),
            false => json!({ "outcome": { "outcome": "selected", "optionId": params["options"][at]["optionId"] } }),
        };
        let session = client.new_session().await;
        let prompt = client.prompt(&session, "go");
        let (early, asked) = client.await_request(method).await;
        client.notify("session/cancel", json!({ "sessionId": session }));
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
        let prompt = client.prompt(&session, "again");
        let (id, params) = client.await_request(method).await;
        for _ in 0..2 {
            answer_again(&client, &early, choose(&asked, 0));
        }
        assert_eq!(client.request("nobody/knows", json!({})).await.unwrap_err().code, -32601);
        assert!(!client.is_answered(prompt));
        client.respond(&id, choose(&params, 1));
        answer_again(&client, &id, choose(&params, 0));
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
        let requests = model.requests();
        let told = requests.last().unwrap().results().last().unwrap().to_string();
        assert!(told.contains("=\"right\"") && !told.contains("left"), "{told}");
        finish(model, client).await;
    }
}

/// As only a client in disorder does.
fn answer_again(client: &FakeEditor, id: &Value, result: Value) {
    client.raw(format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": result })));
}

async fn plain(capabilities: Capabilities, script: impl Into<Script>) -> (ScriptedModel, FakeEditor) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let folders = vec![uri(&home.workspace())];
    let capabilities = Capabilities { opt_in: Value::Null, progress: true, folders, ..capabilities };
    let editor = FakeEditor::open_with(home, capabilities).await;
    editor.script("window/workDoneProgress/create", |_| Value::Null);
    editor.disregard("window/showMessage");
    (model, editor)
}

async fn command(editor: &FakeEditor, command: &str, arguments: Value) {
    let params = json!({ "command": command, "arguments": arguments });
    assert_eq!(editor.request("workspace/executeCommand", params).await, Ok(Value::Null));
}

async fn turn_ended(editor: &FakeEditor) {
    editor.await_notification_that("$/progress", |params| params["value"]["kind"] == "end").await;
    editor.disregard("$/progress");
}

#[tokio::test]
async fn a_plain_editor_asks_by_a_message() {
    let capabilities = Capabilities { messages_ask: true, code_actions: true, ..Capabilities::default() };
    let (model, editor) = plain(capabilities, [asks(), Reply::text("Right.")]).await;
    command(&editor, "copydesk.prompt", json!(["go"])).await;
    let (id, params) = editor.await_request("window/showMessageRequest").await;
    let message = params["message"].as_str().unwrap();
    assert!(message.contains("Which way?") && message.contains("about left"), "{message}");
    let titles: Vec<_> = params["actions"].as_array().unwrap().iter().map(|action| &action["title"]).collect();
    assert_eq!(titles, ["left", "right", "None of these: I will say it myself"]);
    editor.respond(&id, json!({ "title": "right" }));
    turn_ended(&editor).await;
    assert!(told(&model).contains("\"Which way?\"=\"right\""));
    finish(model, editor).await;
}

#[tokio::test]
async fn a_plain_editor_answers_by_code_action_or_in_own_words() {
    let capabilities = Capabilities { code_actions: true, ..Capabilities::default() };
    let (model, editor) = plain(capabilities, [asks(), asks(), Reply::text("So be it.")]).await;
    let file = uri(&editor.home().write("a.txt", "one\n"));
    editor.open_document(&file, "plaintext", "one\n");
    command(&editor, "copydesk.prompt", json!(["go"])).await;
    for answer in [None, Some("straight on")] {
        let action = loop {
            let at = json!({ "line": 0, "character": 0 });
            let context = json!({ "diagnostics": [] });
            let params =
                json!({ "textDocument": { "uri": file }, "range": { "start": at, "end": at }, "context": context });
            let Value::Array(actions) = editor.request("textDocument/codeAction", params).await.unwrap() else {
                panic!()
            };
            let wanted = |action: &&Value| action["title"] == "Copydesk: right: Which way?";
            match actions.iter().find(wanted) {
                Some(action) => break action.clone(),
                None => tokio::task::yield_now().await,
            }
        };
        let action = if action["command"].is_object() { action["command"].clone() } else { action };
        let mut arguments = action["arguments"].clone();
        if let Some(answer) = answer {
            arguments[1] = json!(answer);
        }
        command(&editor, action["command"].as_str().unwrap(), arguments).await;
    }
    turn_ended(&editor).await;
    assert!(told(&model).contains("\"Which way?\"=\"right\""));
    assert!(model.requests()[2].results().concat().contains("\"Which way?\"=\"straight on\""));
    finish(model, editor).await;
}

async fn terminal(script: impl Into<Script>) -> (ScriptedModel, Home) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    (model, home)
}

pub(super) fn run(home: &Home) -> tokio::process::Command {
    let mut command = home.command(&["run", "go"]);
    command.env("COPYDESK_LOG", "error").env("TERM", "xterm-256color").env("NO_COLOR", "1").stderr(Stdio::piped());
    command
}

#[tokio::test]
async fn at_a_terminal_a_number_or_own_words_answer() {
    let several = Reply::call("question", json!({ "questions": [which(&["left", "right", "up"], true)] }));
    let (model, home) = terminal([asks(), several, asks(), Reply::text("Done.")]).await;
    let mut terminal = Pty::spawn(run(&home));
    let shown = terminal.expect("> ").await;
    assert!(shown.contains("? Way: Which way?") && shown.contains("2 right  about right"), "{shown}");
    terminal.type_text("7\n");
    terminal.expect("> ").await;
    terminal.type_text("2\n");
    terminal.expect("commas between; or your own words > ").await;
    terminal.type_text("3,1\n");
    terminal.expect("A number, or your own words > ").await;
    terminal.type_text("straight on\n");
    let (code, rest) = terminal.end().await;
    assert!(code == Some(0) && rest.contains("Done."), "{rest}");
    let requests = model.requests();
    let last = requests[3].results();
    for said in ["=\"right\"", "=\"up, left\"", "=\"straight on\""] {
        assert!(last.iter().any(|result| result.contains(said)), "{said}: {last:?}");
    }
    model.finish();
}

#[tokio::test]
async fn at_a_terminal_a_question_can_be_dismissed() {
    let (model, home) = terminal([asks()]).await;
    let mut terminal = Pty::spawn(run(&home));
    terminal.expect("> ").await;
    terminal.type_text("0\n");
    let (code, rest) = terminal.end().await;
    assert_eq!(code, Some(1), "{rest}");
    assert_eq!(model.requests().len(), 1);
    model.finish();
}

#[tokio::test]
async fn r16_2_where_nobody_can_be_asked_no_question_is_offered() {
    let (model, home) = terminal([asks(), Reply::text("Then left.")]).await;
    let ended = tokio::time::timeout(Duration::from_secs(30), run(&home).stdin(Stdio::null()).output()).await;
    let ended = ended.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let offered = model.requests()[0].body["tools"].to_string();
    assert!(!offered.contains("\"question\"") && offered.contains("\"read\""), "{offered}");
    assert!(told(&model).contains("question is not offered now"), "{}", told(&model));
    model.finish();
}
