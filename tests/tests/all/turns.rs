//! Whole turns on the built daemon: a prompt, a model, tools, asks, and what the editor sees of it. Needs the program: `cargo build -p copydesk`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, EditPolicy, FakeEditor, prompt_params, uri};
use copydesk_tests::scripted_model::{Gate, Reply, Script, ScriptedModel, SeenRequest};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpListener;

async fn start(script: impl Into<Script>) -> (ScriptedModel, FakeEditor, String) {
    start_with(script, json!({}), json!({})).await
}

/// With options of the provider and keys of the user's configuration.
async fn start_with(script: impl Into<Script>, options: Value, keys: Value) -> (ScriptedModel, FakeEditor, String) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model_with(&model.base_url(), options, keys);
    let (editor, session) = open(home).await;
    (model, editor, session)
}

async fn open(home: Home) -> (FakeEditor, String) {
    let editor = FakeEditor::open(home).await;
    editor.disregard("session/update");
    editor.script("_copydesk/diagnostics", |params| diagnostics(params, "unavailable", &[]));
    editor.script("_copydesk/save", |_| json!({ "unsaved": [] }));
    editor.script("_copydesk/files_changed", |_| json!({}));
    let session = editor.new_session().await;
    (editor, session)
}

/// The answer for the one document that was asked for, at the version that was asked for.
fn diagnostics(params: &Value, state: &str, found: &[Value]) -> Value {
    let document = &params["documents"][0];
    json!({ "documents": [
        { "uri": document["uri"], "version": document["version"], "state": state, "diagnostics": found }
    ] })
}

fn bash(text: &str) -> Reply {
    Reply::call("bash", json!({ "command": text, "description": "Run a command" }))
}

fn edit(file: &str, old: &str, new: &str) -> Reply {
    Reply::call("edit", json!({ "filePath": file, "oldString": old, "newString": new }))
}

fn read(file: &str) -> Reply {
    Reply::call("read", json!({ "filePath": file }))
}

async fn stop_reason(editor: &FakeEditor, prompt: i64) -> String {
    editor.await_response(prompt).await.unwrap()["stopReason"].as_str().unwrap().to_owned()
}

/// A whole prompt: its stop reason.
async fn say(editor: &FakeEditor, session: &str, text: &str) -> String {
    stop_reason(editor, editor.prompt(session, text)).await
}

/// The results that the last request held.
fn last_results(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    requests.last().map(SeenRequest::results).unwrap_or_default().into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn assert_holds(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

fn option(params: &Value, kind: &str) -> Value {
    let options = params["options"].as_array().unwrap();
    options.iter().find(|option| option["kind"] == kind).unwrap()["optionId"].clone()
}

fn selected(params: &Value, kind: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option(params, kind) } })
}

/// A port that commands connect to: what they say there shows that they run, and the end of the connection that all of them are gone.
struct Beacon {
    listener: TcpListener,
}

impl Beacon {
    async fn new() -> Self {
        Self { listener: TcpListener::bind(("127.0.0.1", 0)).await.unwrap() }
    }

    /// For a command that says `runs` and keeps the connection in all of its children.
    fn light(&self) -> String {
        let port = self.listener.local_addr().unwrap().port();
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo runs >&3")
    }

    async fn seen(&self) -> BufReader<tokio::net::TcpStream> {
        let mut connection = BufReader::new(self.listener.accept().await.unwrap().0);
        let mut line = String::new();
        connection.read_line(&mut line).await.unwrap();
        assert_eq!(line, "runs\n");
        connection
    }
}

async fn assert_gone(mut connection: BufReader<tokio::net::TcpStream>, limit: Duration) {
    let gone = tokio::time::timeout(limit, connection.read_to_end(&mut Vec::new())).await;
    assert!(gone.is_ok(), "a process lives on");
}

// Documents

#[tokio::test]
async fn r6_1_the_model_reads_the_text_that_is_not_saved() {
    let (model, editor, session) = start([read("notes.txt"), Reply::text("seen")]).await;
    let file = editor.home().write("notes.txt", "on the disk\n");
    editor.open_document(&uri(&file), "plaintext", "on the disk\n");
    editor.type_text(&uri(&file), (0, 3), (0, 11), "my mind 😀");
    assert_eq!(say(&editor, &session, "look").await, "end_turn");
    assert_holds(&last_results(&model)[0], "1: on my mind 😀");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r6_2_r17_3_an_edit_goes_through_the_editor_and_tells_its_new_problems() {
    let (model, editor, session) = start([edit("a.txt", "two", "zwei"), Reply::text("done")]).await;
    let file = editor.home().write("a.txt", "one\ntwo\n");
    let document = uri(&file);
    editor.open_document(&document, "plaintext", "one\ntwo\nthree\n");
    editor.script("_copydesk/diagnostics", |params| {
        let range = json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 4 } });
        let found = [json!({ "range": range, "severity": 1, "message": "no number", "source": "lint" })];
        let found = if params["documents"][0]["version"] == 2 { &found[..] } else { &[] };
        diagnostics(params, "ready", found)
    });
    assert_eq!(say(&editor, &session, "translate").await, "end_turn");
    assert_eq!(editor.document(&document).text, "one\nzwei\nthree\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n", "nothing is written behind the buffer");
    assert_eq!(editor.applied().len(), 1);
    let result = &last_results(&model)[0];
    assert_holds(result, "New problems");
    assert_holds(result, "no number");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r17_1_r17_2_silent_and_old_diagnostics_are_not_ready() {
    for how in ["not_ready", "old", "silent", "error", "nonsense"] {
        let (model, editor, session) = start([edit("a.txt", "one", "eins"), Reply::text("done")]).await;
        let file = editor.home().write("a.txt", "one\n");
        editor.open_document(&uri(&file), "plaintext", "one\n");
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } });
        let problem = json!({ "range": range, "message": "of an older text" });
        match how {
            "not_ready" => editor.script("_copydesk/diagnostics", |params| diagnostics(params, "not_ready", &[])),
            "old" => editor.script("_copydesk/diagnostics", move |params| {
                let mut answer = diagnostics(params, "ready", std::slice::from_ref(&problem));
                answer["documents"][0]["version"] = json!(1);
                answer
            }),
            "nonsense" => editor.script("_copydesk/diagnostics", |_| json!({ "documents": 7 })),
            // Taken by the loop below.
            _ => editor.unscript("_copydesk/diagnostics"),
        }
        let started = Instant::now();
        let prompt = editor.prompt(&session, "go");
        if how == "error" {
            for _ in 0..2 {
                let (id, _) = editor.await_request("_copydesk/diagnostics").await;
                editor.respond_with_error(&id, -32603, "no idea");
            }
        }
        assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
        assert!(started.elapsed() < Duration::from_secs(4), "{how}: {:?}", started.elapsed());
        let result = &last_results(&model)[0];
        assert!(!result.contains("of an older text"), "{how}: {result}");
        assert_eq!(result.contains("not ready"), !matches!(how, "error" | "nonsense"), "{how}: {result}");
        assert_eq!(editor.document(&uri(&file)).text, "eins\n");
        editor.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn r6_2_an_edit_that_the_editor_does_not_make_is_told_and_nothing_is_written() {
    for policy in [EditPolicy::Refuse("read-only".to_owned()), EditPolicy::Claim] {
        let (model, editor, session) = start([edit("a.txt", "one", "eins"), Reply::text("sorry")]).await;
        let file = editor.home().write("a.txt", "one\n");
        editor.open_document(&uri(&file), "plaintext", "one\n");
        editor.take_edits(policy.clone());
        assert_eq!(say(&editor, &session, "go").await, "end_turn");
        assert_eq!(editor.document(&uri(&file)).text, "one\n");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
        let results = model.requests().last().unwrap().body["messages"].to_string();
        assert_holds(&results, "editor");
        editor.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn what_the_agent_changed_is_saved_before_a_command_and_clean_buffers_are_reloaded_after_it() {
    let (model, editor, session) = start([
        edit("a.txt", "one", "eins"),
        bash("cat a.txt; echo new > b.txt; touch a.txt; rm c.txt"),
        Reply::text("done"),
    ])
    .await;
    let home = editor.home().clone();
    let (a, b, c) = (home.write("a.txt", "one\n"), home.write("b.txt", "old\n"), home.write("c.txt", "bye\n"));
    for (file, text) in [(&a, "one\n"), (&b, "old\n"), (&c, "bye\n")] {
        editor.open_document(&uri(file), "plaintext", text);
    }
    editor.answer_permissions_with("allow_once");
    editor.unscript("_copydesk/save");
    editor.unscript("_copydesk/files_changed");
    let prompt = editor.prompt(&session, "go");
    let (id, params) = editor.await_request("_copydesk/save").await;
    assert_eq!(params, json!({ "uris": [uri(&a)] }));
    editor.save_document(&uri(&a));
    editor.respond(&id, json!({ "unsaved": [] }));
    let (id, params) = editor.await_request("_copydesk/files_changed").await;
    let mut files = params["files"].as_array().unwrap().clone();
    files.sort_by_key(|file| file["uri"].as_str().unwrap().to_owned());
    assert_eq!(files, [json!({ "uri": uri(&b), "kind": "changed" }), json!({ "uri": uri(&c), "kind": "deleted" })]);
    editor.respond(&id, json!({ "reloaded": [uri(&b)], "conflicts": [] }));
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    assert_holds(&last_results(&model)[1], "eins");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn text_of_the_user_that_is_not_saved_is_never_saved_and_said_in_the_ask_and_to_the_model() {
    let (model, editor, session) = start([bash("cat a.txt"), Reply::text("done")]).await;
    let file = editor.home().write("a.txt", "one\n");
    editor.open_document(&uri(&file), "plaintext", "one\n");
    editor.type_text(&uri(&file), (0, 0), (0, 0), "typed ");
    let prompt = editor.prompt(&session, "go");
    let (id, params) = editor.await_request("session/request_permission").await;
    assert_holds(&params["toolCall"]["content"].to_string(), "a.txt has unsaved text");
    editor.respond(&id, selected(&params, "allow_once"));
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    let result = &last_results(&model)[0];
    assert!(result.starts_with("one\n"), "{result}");
    assert_holds(result, "a.txt has unsaved text in the editor, which the command does not see");
    editor.finish().await;
    model.finish();
}

// Asks

#[tokio::test]
async fn an_ask_is_allowed_rejected_or_rejected_with_a_message() {
    let (model, editor, session) = start(Script::function(|request| match request.last_text() {
        text if text.contains("run it") => bash("echo ran >> ran.txt; echo output"),
        text if text.contains("use another way") => Reply::text("another way"),
        _ => Reply::text("done"),
    }))
    .await;
    let ran = editor.home().workspace().join("ran.txt");

    let prompt = editor.prompt(&session, "run it");
    let (id, params) = editor.await_request("session/request_permission").await;
    assert_eq!(params["sessionId"], session);
    assert_holds(&params["toolCall"]["content"].to_string(), "echo ran >> ran.txt; echo output");
    assert!(!ran.exists());
    editor.respond(&id, selected(&params, "allow_once"));
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    assert_holds(&last_results(&model)[0], "output");

    // A reject ends the turn: the model is not asked again.
    let prompt = editor.prompt(&session, "run it");
    let (id, params) = editor.await_request("session/request_permission").await;
    editor.respond(&id, selected(&params, "reject_once"));
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    assert_eq!(model.requests().len(), 3);

    // With a message it goes on.
    let prompt = editor.prompt(&session, "run it");
    let (id, params) = editor.await_request("session/request_permission").await;
    let mut answer = selected(&params, "reject_once");
    answer["outcome"]["_meta"] = json!({ "copydesk": { "message": "use another way" } });
    editor.respond(&id, answer);
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    assert_holds(last_results(&model).last().unwrap(), "use another way");
    assert_eq!(std::fs::read_to_string(ran).unwrap(), "ran\n", "once, when it was allowed");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r2_3_an_answer_that_is_no_consent_runs_nothing_and_the_session_goes_on() {
    let (model, editor, session) = start(Script::function(|request| {
        if request.last_text().contains("run it") { bash("touch ran.txt") } else { Reply::text("fine") }
    }))
    .await;
    let answers = [
        Value::Null,
        json!({}),
        json!([]),
        json!("allow"),
        json!(true),
        json!({ "outcome": null }),
        json!({ "outcome": { "outcome": "selected" } }),
        json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }),
        json!({ "outcome": { "outcome": "selected", "optionId": 1 } }),
        json!({ "outcome": { "outcome": "approved" } }),
        json!({ "outcome": { "outcome": "cancelled" } }),
    ];
    for answer in answers {
        let prompt = editor.prompt(&session, "run it");
        let (id, _) = editor.await_request("session/request_permission").await;
        editor.respond(&id, answer.clone());
        let reason = stop_reason(&editor, prompt).await;
        assert!(matches!(reason.as_str(), "end_turn" | "cancelled"), "{answer}: {reason}");
    }
    let prompt = editor.prompt(&session, "run it");
    let (id, _) = editor.await_request("session/request_permission").await;
    editor.respond_with_error(&id, -32601, "cannot ask");
    stop_reason(&editor, prompt).await;
    assert!(!editor.home().workspace().join("ran.txt").exists());
    assert_eq!(say(&editor, &session, "hello").await, "end_turn");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r2_4_an_ask_is_taken_back_by_a_cancel_and_a_late_or_second_answer_is_harmless() {
    let (model, editor, session) = start(Script::function(|request| {
        if request.last_text().contains("run it") { bash("touch ran.txt") } else { Reply::text("fine") }
    }))
    .await;
    let prompt = editor.prompt(&session, "run it");
    let (id, params) = editor.await_request("session/request_permission").await;
    editor.notify("session/cancel", json!({ "sessionId": session }));
    editor.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(stop_reason(&editor, prompt).await, "cancelled");
    let late = json!({ "jsonrpc": "2.0", "id": id, "result": selected(&params, "allow_once") }).to_string();
    for _ in 0..2 {
        editor.raw(format!("Content-Length: {}\r\n\r\n{late}", late.len()));
    }
    assert_eq!(say(&editor, &session, "hello").await, "end_turn");
    assert!(!editor.home().workspace().join("ran.txt").exists());
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn c90_two_sessions_do_not_wait_for_one_another() {
    let (model, editor, first) = start(Script::function(|request| {
        if request.last_text().contains("run it") { bash("true") } else { Reply::text("fine") }
    }))
    .await;
    let waiting = editor.prompt(&first, "run it");
    let (id, params) = editor.await_request("session/request_permission").await;
    let second = editor.new_session().await;
    assert_eq!(say(&editor, &second, "hello").await, "end_turn");
    assert!(!editor.is_answered(waiting));
    editor.respond(&id, selected(&params, "allow_always"));
    assert_eq!(stop_reason(&editor, waiting).await, "end_turn");
    // What was granted holds in its session alone.
    let other = editor.prompt(&second, "run it");
    let (id, params) = editor.await_request("session/request_permission").await;
    assert_eq!(params["sessionId"], second);
    editor.respond(&id, selected(&params, "allow_once"));
    assert_eq!(stop_reason(&editor, other).await, "end_turn");
    assert_eq!(say(&editor, &first, "run it").await, "end_turn");
    editor.finish().await;
    model.finish();
}

// Cancel and steering

#[tokio::test]
async fn r2_4_c47_a_cancel_ends_deaf_commands_and_what_they_started() {
    let beacon = Beacon::new().await;
    let deaf = format!("trap '' TERM INT HUP; {}; setsid sleep 600 & while :; do sleep 600; done", beacon.light());
    let (model, editor, session) =
        start(Script::function(
            move |request| {
                if request.last_text().contains("run it") { bash(&deaf) } else { Reply::text("fine") }
            },
        ))
        .await;
    editor.answer_permissions_with("allow_once");
    let prompt = editor.prompt(&session, "run it");
    let connection = beacon.seen().await;
    let cancelled = Instant::now();
    editor.notify("session/cancel", json!({ "sessionId": session }));
    assert_gone(connection, Duration::from_secs(2)).await;
    assert_eq!(stop_reason(&editor, prompt).await, "cancelled");
    assert!(cancelled.elapsed() < Duration::from_secs(4), "{:?}", cancelled.elapsed());
    assert_eq!(say(&editor, &session, "hello").await, "end_turn");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn c86_c89_cancelled_turns_leave_a_history_that_a_strict_provider_takes() {
    let gate = Gate::new();
    let held = gate.clone();
    let (model, editor, session) = start(Script::function(move |request| match request.last_text() {
        text if text.contains("go on") => Reply::text("fine"),
        text if text.contains("three") => Reply::calls([
            ("read", json!({ "filePath": "a.txt" })),
            ("bash", json!({ "command": "true", "description": "b" })),
            ("read", json!({ "filePath": "none" })),
        ]),
        _ => read("a.txt").then_wait(&held),
    }))
    .await;
    editor.home().write("a.txt", "one\n");
    let cancel =
        |count: usize| (0..count).for_each(|_| editor.notify("session/cancel", json!({ "sessionId": session })));
    let prompt = editor.prompt(&session, "three calls");
    editor.await_request("session/request_permission").await;
    cancel(2);
    assert_eq!(stop_reason(&editor, prompt).await, "cancelled");
    let prompt = editor.prompt(&session, "stream");
    gate.reached().await;
    cancel(2);
    assert_eq!(stop_reason(&editor, prompt).await, "cancelled");
    cancel(3);
    assert_eq!(say(&editor, &session, "go on").await, "end_turn");
    gate.open();
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn prompts_that_come_while_a_turn_runs_steer_it_and_are_answered_with_it() {
    let (model, editor, session) = start(Script::function(|request| match request.results().len() {
        0 => bash("true"),
        _ => Reply::text("as you like"),
    }))
    .await;
    let first = editor.prompt(&session, "start");
    let (id, params) = editor.await_request("session/request_permission").await;
    let second = editor.prompt(&session, "rather do this");
    let third = editor.prompt(&session, "and that");
    // Answered behind them: they are stored.
    editor.request("session/set_mode", json!({ "sessionId": session, "modeId": "build" })).await.unwrap();
    editor.respond(&id, selected(&params, "allow_once"));
    for prompt in [first, second, third] {
        assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    }
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_holds(requests[1].last_text(), "rather do this");
    assert_holds(requests[1].last_text(), "and that");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn plan_changes_nothing() {
    let (model, editor, session) = start(Script::function(|request| match request.results().len() {
        0 => edit("a.txt", "one", "eins"),
        1 => Reply::call("write", json!({ "filePath": "b.txt", "content": "new" })),
        _ => Reply::text("so it is planned"),
    }))
    .await;
    let file = editor.home().write("a.txt", "one\n");
    editor.open_document(&uri(&file), "plaintext", "one\n");
    editor.request("session/set_mode", json!({ "sessionId": session, "modeId": "plan" })).await.unwrap();
    let refusal = editor.request("session/set_mode", json!({ "sessionId": session, "modeId": "nobody" })).await;
    assert_eq!(refusal.unwrap_err().code, -32602);
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    assert_eq!(editor.document(&uri(&file)).text, "one\n");
    assert!(!editor.home().workspace().join("b.txt").exists());
    assert_holds(&model.requests()[0].raw_body, "plan");
    editor.finish().await;
    model.finish();
}

// Models

#[tokio::test]
async fn without_a_model_the_prompt_says_what_to_do() {
    let (editor, session) = open(Home::new()).await;
    let refusal = editor.request("session/prompt", prompt_params(&session, "hello")).await;
    let message = refusal.unwrap_err().message;
    assert_holds(&message, "model");
    assert_holds(&message, "copydesk.jsonc");
    editor.finish().await;
}

#[tokio::test]
async fn a_wrong_configuration_names_file_line_and_key_and_the_rest_is_in_force() {
    let model = ScriptedModel::start([Reply::text("fine")]).await;
    let home = Home::new();
    home.configure(&format!(
        "{{\n  \"model\": \"scripted/model\",\n  \"permission\": 7,\n  \"provider\": {{ \"scripted\": {{ \"options\": {{ \"baseURL\": \"{}\" }}, \"models\": {{ \"model\": {{}} }} }} }}\n}}",
        model.base_url()
    ));
    let (editor, session) = open(home).await;
    let notice = editor.await_notification("window/showMessage").await;
    let text = notice["message"].as_str().unwrap();
    assert_holds(text, "copydesk.jsonc:3: permission");
    assert_eq!(say(&editor, &session, "hello").await, "end_turn");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r10_3_c81_faults_of_the_provider_are_told_and_cost_one_turn() {
    let page = Reply::refuse(500, "").header("content-type", "text/html");
    let faults: Vec<(Reply, &str)> = vec![
        (Reply::refuse(401, "bad key"), "key"),
        (Reply::refuse(404, "no such model"), "model"),
        (Reply::refuse(429, "slow down").header("retry-after", "7"), "7 s"),
        (Reply::refuse(400, "odd"), "refuses"),
        (page, "500"),
        (Reply::text("half an ans").cut(), "broke"),
        (Reply::empty().then_call("bash", json!("{\"command\": \"tou")).cut(), "broke"),
        (Reply::raw("data: {\"error\": {\"message\": \"out of luck\", \"code\": 500}}\n\n"), "out of luck"),
        (Reply::raw("{\"error\": {\"message\": \"out of luck\"}}"), "out of luck"),
        (Reply::raw("data: {\"choices\": [{\"del\n\n"), ""),
        (Reply::raw("data: 17\n\n"), ""),
        (Reply::raw(""), ""),
        (Reply::raw("data: [DONE]\n\n"), ""),
        (Reply::raw("<html><title>Login</title></html>"), "baseURL"),
    ];
    let mut replies = Vec::new();
    let mut texts = Vec::new();
    for (reply, text) in faults {
        replies.extend([reply, Reply::text("fine")]);
        texts.push(text);
    }
    let (model, editor, session) = start(replies.into_iter().collect::<Vec<_>>()).await;
    for (n, text) in texts.into_iter().enumerate() {
        let prompt = prompt_params(&session, "go");
        let message = editor.request("session/prompt", prompt).await.expect_err(&format!("fault {n}")).message;
        assert!(message.contains(text) && message.len() > 20, "fault {n}: {text:?} is not in {message:?}");
        assert_eq!(say(&editor, &session, "again").await, "end_turn", "fault {n}");
    }
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r10_3_nobody_listens_and_silence_have_texts_of_their_own() {
    let gate = Gate::new();
    let (model, editor, session) = start_with(
        [Reply::text("begun").then_wait(&gate), Reply::text("fine")],
        json!({ "headerTimeout": 2000, "chunkTimeout": 300 }),
        json!({}),
    )
    .await;
    let prompt = || prompt_params(&session, "go");
    let message = editor.request("session/prompt", prompt()).await.unwrap_err().message;
    assert_holds(&message, "chunkTimeout");
    assert_eq!(say(&editor, &session, "again").await, "end_turn");
    editor.finish().await;
    gate.open();
    model.finish();

    let closed = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let home = Home::new();
    home.use_model(&format!("http://{}/v1", closed.local_addr().unwrap()));
    drop(closed);
    let (editor, session) = open(home).await;
    let prompt = prompt_params(&session, "go");
    assert_holds(&editor.request("session/prompt", prompt).await.unwrap_err().message, "Nothing answers at");
    editor.finish().await;
}

#[tokio::test]
async fn c77_c78_c79_r14_2_odd_streams_run_their_calls() {
    let chunk = |choices: Value, usage: Value| format!("data: {}\n\n", json!({ "choices": choices, "usage": usage }));
    let delta = |delta: Value| chunk(json!([{ "delta": delta }]), Value::Null);
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 3 });
    let call = |id: Value, arguments: &str| json!({ "tool_calls": [{ "id": id, "function": { "name": "read", "arguments": arguments } }] });
    let path = r#"{"filePath":"a.txt"}"#;
    let streams = vec![
        chunk(json!([]), usage.clone())
            + &delta(call(Value::Null, path))
            + &chunk(Value::Null, usage.clone())
            + "data: [DONE]\n\n",
        delta(call(json!(""), path)) + ": ping\n\n" + &delta(json!({ "content": null })) + "data: [DONE]\n\n",
        delta(call(json!("same"), path)) + &chunk(json!([{ "delta": {}, "finish_reason": "stop" }]), usage.clone()),
        delta(call(json!("same"), path)) + &chunk(json!([{ "delta": {}, "finish_reason": "tool_calls" }]), usage),
    ];
    let mut replies = Vec::new();
    for stream in streams {
        replies.extend([Reply::raw(stream), Reply::text("fine")]);
    }
    let count = replies.len() / 2;
    let (model, editor, session) = start(replies).await;
    editor.home().write("a.txt", "one\n");
    for n in 1..=count {
        assert_eq!(say(&editor, &session, "go").await, "end_turn", "stream {n}");
        let results = last_results(&model);
        assert_eq!(results.len(), n);
        assert_holds(&results[n - 1], "1: one");
    }
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn c82_r14_4_a_call_that_the_limit_cut_is_not_run() {
    let cut = Reply::empty().then_call("write", json!("{\"filePath\": \"a.txt\", \"content\": \"def")).finish("length");
    let (model, editor, session) = start([cut, Reply::text("in parts then")]).await;
    let file = editor.home().write("a.txt", "a".repeat(16 * 1024));
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 16 * 1024);
    assert_holds(&last_results(&model)[0], "in parts");
    editor.finish().await;
    model.finish();
}

// Commands

#[tokio::test]
async fn c46_c51_r7_4_output_of_every_kind_comes_back() {
    let commands = [
        ("head -c 3000000 /dev/zero | tr '\\0' x; echo the end", "the end"),
        ("printf 'a\\377\\000b'", "exit code 0"),
        ("sleep 600 & echo hi", "1 process that it started still runs"),
        ("false", "exit code 1"),
        ("kill -9 $$", "signal 9"),
        ("exit 300", "exit code 44"),
        ("read -p name? x; echo \"<$x>\"", "<>"),
        ("cat /dev/tty", "exit code 1"),
    ];
    let mut replies: Vec<Reply> = commands.iter().map(|(command, _)| bash(command)).collect();
    replies.push(Reply::call("bash", json!({ "command": "pwd", "description": "d", "workdir": "nowhere" })));
    replies.push(Reply::text("done"));
    let (model, editor, session) = start(replies).await;
    editor.answer_permissions_with("allow_once");
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    let results = last_results(&model);
    for ((command, expected), result) in commands.iter().zip(&results) {
        assert!(result.contains(expected), "{command}: {}", &result[result.len().saturating_sub(400)..]);
        assert!(result.len() < 100_000, "{command}: {}", result.len());
    }
    assert_holds(results.last().unwrap(), "nowhere");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r19_3_no_key_reaches_a_command() {
    let look = "env; echo; cat /proc/$PPID/environ && echo readable; cat /proc/$PPID/mem && echo readable; true";
    let model = ScriptedModel::start([bash(look), Reply::text("done")]).await;
    let mut home = Home::new();
    for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_OWN_KEY", "BY_ENV"] {
        home.set_variable(name, "sekrit");
    }
    home.set_variable("HARMLESS", "kept");
    home.configure(
        &json!({
            "model": "scripted/model",
            "provider": {
                "scripted": { "options": { "baseURL": model.base_url(), "apiKey": "{env:MY_OWN_KEY}" }, "models": { "model": {} }, "env": ["BY_ENV"] },
            },
        })
        .to_string(),
    );
    // As users run it: with debugging off, and without the rights of root.
    home.set_variable("COPYDESK_LOG", "warn");
    home.give_up_root();
    let (editor, session) = open(home).await;
    editor.answer_permissions_with("allow_once");
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    assert_eq!(model.requests()[0].authorization(), Some("Bearer sekrit"));
    let result = &last_results(&model)[0];
    assert!(!result.contains("sekrit"), "{result}");
    assert!(!result.contains("readable"), "{result}");
    assert_holds(result, "HARMLESS=kept");
    editor.finish().await;
    model.finish();
}

// Settings of the editor

#[tokio::test]
async fn settings_of_the_editor_tighten_and_never_widen() {
    for (user, settings, runs) in [
        ("ask", json!({ "permission": { "bash": "allow" } }), "asked"),
        ("ask", json!({ "permission": "allow" }), "asked"),
        ("ask", json!({ "permission": { "bash": "deny" } }), "denied"),
        ("deny", json!({ "permission": { "bash": "allow" } }), "denied"),
        (
            "ask",
            json!({ "model": "other/model", "provider": { "scripted": { "options": { "baseURL": "http://127.0.0.1:9/v1" } } } }),
            "asked",
        ),
        ("ask", json!([1, "nonsense"]), "asked"),
        ("ask", json!("nonsense"), "asked"),
    ] {
        let model = ScriptedModel::start([bash("true"), Reply::text("done")]).await;
        let home = Home::new();
        home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "bash": user } }));
        let mut editor = FakeEditor::spawn(home);
        let capabilities = Capabilities { settings: settings.clone(), ..Capabilities::default() };
        // The session is asked for right behind `initialized`: it waits for the settings.
        editor.initialize(capabilities).await;
        let session = editor.new_session().await;
        for method in ["session/update", "window/showMessage"] {
            editor.disregard(method);
        }
        let asked = Arc::new(AtomicBool::new(false));
        let noted = asked.clone();
        editor.script("session/request_permission", move |params| {
            noted.store(true, Ordering::Relaxed);
            selected(params, "allow_once")
        });
        assert_eq!(say(&editor, &session, "go").await, "end_turn", "{user} {settings}");
        let asked = asked.load(Ordering::Relaxed);
        let result = last_results(&model).pop().unwrap_or_default();
        assert_eq!(asked, runs == "asked", "{user} {settings}: {result}");
        assert_eq!(result.contains("exit code 0"), runs == "asked", "{user} {settings}: {result}");
        editor.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn a_session_that_is_asked_for_at_once_waits_for_the_settings() {
    let model = ScriptedModel::start([bash("touch ran.txt"), Reply::text("done")]).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let editor = FakeEditor::spawn(home);
    let capabilities = json!({ "workspace": { "configuration": true }, "experimental": { "copydesk": { "acp": {} } } });
    editor.request("initialize", json!({ "capabilities": capabilities })).await.unwrap();
    editor.notify("initialized", json!({}));
    let (id, _) = editor.await_request("workspace/configuration").await;
    let asked = editor.send("session/new", json!({ "cwd": editor.home().workspace(), "mcpServers": [] }));
    // Answered behind it, each of them.
    for _ in 0..300 {
        assert_eq!(editor.request("nobody/knows", json!({})).await.unwrap_err().code, -32601);
    }
    assert!(!editor.is_answered(asked));
    editor.respond(&id, json!([{ "permission": { "bash": "deny" } }]));
    let session = editor.await_response(asked).await.unwrap()["sessionId"].as_str().unwrap().to_owned();
    editor.disregard("session/update");
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    assert!(!editor.home().workspace().join("ran.txt").exists());
    editor.finish().await;
    model.finish();
}

// The end, and the store

#[tokio::test]
async fn r22_6_c46_the_end_leaves_no_process_behind_however_deaf() {
    let (beacon, left) = (Beacon::new().await, Beacon::new().await);
    let leaving =
        format!("trap '' TERM HUP INT; {}; setsid sleep 600 </dev/null >/dev/null 2>&1 & sleep 0.2", left.light());
    let deaf = format!("trap '' TERM INT HUP; {}; while :; do sleep 600; done", beacon.light());
    let (model, mut editor, session) = start([bash(&leaving), bash(&deaf)]).await;
    editor.answer_permissions_with("allow_once");
    let prompt = editor.prompt(&session, "go");
    let (left, running) = (left.seen().await, beacon.seen().await);
    editor.close_input();
    let (_, took) = editor.await_end().await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_gone(left, Duration::from_millis(300)).await;
    assert_gone(running, Duration::from_millis(300)).await;
    editor.forget_or_take(prompt).await;
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r22_6_a_client_that_reads_nothing_cannot_hold_the_daemon() {
    use tokio::io::AsyncWriteExt;
    let gate = Gate::new();
    let text = "many words ".repeat(60_000);
    let model = ScriptedModel::start([Reply::text(&text).then_wait(&gate)]).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let mut child = home.serve();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let frame = |message: Value| {
        let body = message.to_string();
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let opt_in = json!({ "experimental": { "copydesk": { "acp": {} } } });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "capabilities": opt_in } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new", "params": { "cwd": home.workspace(), "mcpServers": [] } }),
    ];
    for message in messages {
        input.write_all(frame(message).as_bytes()).await.unwrap();
    }
    let mut said = String::new();
    let session = loop {
        let mut piece = [0; 4096];
        let count = output.read(&mut piece).await.unwrap();
        said.push_str(&String::from_utf8_lossy(&piece[..count]));
        if let Some(at) = said.find("\"sessionId\":\"") {
            break said[at + 13..].split('"').next().unwrap().to_owned();
        }
    };
    let prompt = prompt_params(&session, "go");
    input
        .write_all(frame(json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt })).as_bytes())
        .await
        .unwrap();
    gate.reached().await;
    drop(input);
    let ended = tokio::time::timeout(Duration::from_secs(2), child.wait()).await;
    assert!(ended.is_ok(), "the daemon waits for its client to read");
    gate.open();
    model.finish();
}

#[tokio::test]
async fn r12_2_r22_5_a_daemon_killed_in_any_phase_leaves_a_store_that_the_next_one_uses() {
    let gate = Gate::new();
    let held = gate.clone();
    let model = ScriptedModel::start(Script::function(move |request| match request.last_text() {
        text if text.contains("stream") => Reply::text("some text").then_wait(&held),
        text if text.contains("ask") => bash("true"),
        text if text.contains("run") => bash("echo runs > runs.txt; sleep 3"),
        _ => Reply::text("fine"),
    }))
    .await;
    let home = Home::new();
    home.use_model(&model.base_url());
    for phase in ["idle", "stream", "ask", "run"] {
        let (editor, session) = open(home.clone()).await;
        assert_eq!(say(&editor, &session, "hello").await, "end_turn", "{phase}");
        let requests = model.requests().len();
        match phase {
            "stream" => {
                editor.prompt(&session, "stream");
                model.wait_for_requests(requests + 1).await;
            }
            "ask" => {
                editor.prompt(&session, "ask");
                editor.await_request("session/request_permission").await;
            }
            "run" => {
                editor.answer_permissions_with("allow_once");
                editor.prompt(&session, "run");
                let file = home.workspace().join("runs.txt");
                while !file.exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            _ => {}
        }
        let took = editor.kill().await;
        assert!(took < Duration::from_secs(2), "{phase}: a command holds the connection of the daemon for {took:?}");
    }
    gate.open();
    let (editor, session) = open(home.clone()).await;
    assert_eq!(say(&editor, &session, "hello").await, "end_turn");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn c94_several_daemons_share_one_store() {
    let model = ScriptedModel::start(Script::function(|request| match request.results().len() {
        0..6 => read("a.txt"),
        _ => Reply::text("fine"),
    }))
    .await;
    let home = Home::new();
    home.use_model(&model.base_url());
    home.write("a.txt", "one\n");
    // All make the store at the same moment.
    let works = (0..4).map(|_| {
        let home = home.clone();
        tokio::spawn(async move {
            let (editor, session) = open(home).await;
            assert_eq!(say(&editor, &session, "go").await, "end_turn");
            editor.finish().await;
        })
    });
    for work in works.collect::<Vec<_>>() {
        work.await.unwrap();
    }
    model.finish();
}

#[tokio::test]
async fn c94_a_store_that_cannot_be_used_is_named_and_left_as_it_is() {
    let home = Home::new();
    let folder = home.data().join("copydesk");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("copydesk.db");
    let torn = b"this was a database once".repeat(400);
    std::fs::write(&file, &torn).unwrap();
    let editor = FakeEditor::open(home).await;
    let params = json!({ "cwd": editor.home().workspace(), "mcpServers": [] });
    let message = editor.request("session/new", params.clone()).await.unwrap_err().message;
    assert_holds(&message, file.to_str().unwrap());
    assert_holds(&message, "Move the file away");
    assert_eq!(std::fs::read(&file).unwrap(), torn);
    // The user does so, and the same daemon goes on.
    std::fs::remove_file(&file).unwrap();
    editor.request("session/new", params).await.unwrap();
    editor.finish().await;
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_made_is_named() {
    let home = Home::new();
    std::fs::write(home.data().join("copydesk"), "a file in its place").unwrap();
    let editor = FakeEditor::open(home).await;
    let params = json!({ "cwd": editor.home().workspace(), "mcpServers": [] });
    let message = editor.request("session/new", params).await.unwrap_err().message;
    assert_holds(&message, editor.home().data().join("copydesk").to_str().unwrap());
    editor.finish().await;
}
