//! Whole turns on the built daemon: a prompt, a model, tools, asks, and what the editor sees of it. Needs the program: `cargo build -p copydesk`.

#[path = "turns/asks.rs"]
mod asks;
#[path = "turns/commands.rs"]
mod commands;
#[path = "turns/course.rs"]
mod course;
#[path = "turns/documents.rs"]
mod documents;
#[path = "turns/end.rs"]
mod end;
#[path = "turns/jobs.rs"]
mod jobs;
#[path = "turns/models.rs"]
mod models;
#[path = "turns/oddities.rs"]
mod oddities;
#[path = "turns/sandbox.rs"]
mod sandbox;
#[path = "turns/searches.rs"]
mod searches;

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
