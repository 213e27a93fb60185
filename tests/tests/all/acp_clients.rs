//! `copydesk acp` driven by clients that nobody here wrote: acpx (Node) and the official Python SDK. Their whole turns, asks included, against the scripted
//! model; what acpx has seen is checked against ACP's schema. Needs `cargo xtask tools`.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use copydesk_tests::acp_schema::{self, tools};
use copydesk_tests::daemon::{Home, program};
use copydesk_tests::scripted_model::{Gate, Reply, Script, ScriptedModel};
use serde_json::{Value, json};
use tokio::process::Command;

/// Against hanging; Node takes seconds on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

async fn home_with(script: impl Into<Script>) -> (ScriptedModel, Home) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "edit": "ask" } }));
    (model, home)
}

/// A turn that edits `a.txt` and then runs a command, both asked.
fn asking_turn() -> Vec<Reply> {
    vec![
        Reply::call("edit", json!({ "filePath": "a.txt", "oldString": "one", "newString": "ONE" })),
        Reply::call("bash", json!({ "command": "cat a.txt", "description": "Show the file" })),
        Reply::text("All done."),
    ]
}

fn clean(program: impl AsRef<std::ffi::OsStr>, home: &Home) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(home.workspace())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .env("XDG_CONFIG_HOME", home.config())
        .env("XDG_DATA_HOME", home.data())
        .env("XDG_STATE_HOME", home.state())
        .env("XDG_CACHE_HOME", home.cache())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

fn acpx(home: &Home, permissions: &str, arguments: &[&str]) -> Command {
    let cli = tools().join("acp/node_modules/acpx/dist/cli.js");
    assert!(cli.is_file(), "acpx is not installed, run `cargo xtask tools`");
    let agent = format!("{} acp", program().display());
    let mut command = clean("node", home);
    command.arg(cli).args(["--agent", &agent, "--format", "json", "--json-strict", "--timeout", "60", permissions]);
    command.arg("--cwd").arg(home.workspace()).args(arguments);
    command
}

async fn run(mut command: Command) -> Output {
    tokio::time::timeout(LIMIT, command.output()).await.expect("no end").unwrap()
}

/// The messages that acpx printed, all of ACP, where it has ended well.
fn trace(output: &Output) -> Vec<Value> {
    trace_with(output, 0)
}

fn trace_with(output: &Output, code: i32) -> Vec<Value> {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    let messages: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(acp_schema::faults_of_trace(&messages), [] as [String; 0], "{out}");
    messages
}

fn stop_reason(messages: &[Value]) -> &str {
    messages.iter().find_map(|message| message["result"]["stopReason"].as_str()).expect("the prompt was answered")
}

fn count(messages: &[Value], method: &str) -> usize {
    messages.iter().filter(|message| message["method"] == method).count()
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

#[tokio::test]
async fn r4_1_acpx_drives_a_turn_with_asks_and_writes_the_edit_itself() {
    let (model, home) = home_with(asking_turn()).await;
    let file = home.write("a.txt", "one\n");
    let messages = trace(&run(acpx(&home, "--approve-all", &["exec", "go"])).await);
    assert_eq!(stop_reason(&messages), "end_turn");
    assert_eq!(count(&messages, "session/request_permission"), 2);
    assert!(count(&messages, "fs/read_text_file") > 0, "acpx is asked for the text");
    assert_eq!(count(&messages, "fs/write_text_file"), 1, "and given the new one");
    assert_eq!(text(&file), "ONE\n");
    model.finish();
}

#[tokio::test]
async fn acpx_s_denial_ends_the_turn_and_nothing_is_done() {
    let (model, home) = home_with([asking_turn().swap_remove(0)]).await;
    let file = home.write("a.txt", "one\n");
    // acpx says by 5 that it was denied something.
    let messages = trace_with(&run(acpx(&home, "--deny-all", &["exec", "go"])).await, 5);
    assert_eq!(count(&messages, "session/request_permission"), 1);
    assert_eq!(count(&messages, "fs/write_text_file"), 0);
    assert_eq!(text(&file), "one\n");
    model.finish();
}

#[tokio::test]
async fn acpx_chooses_model_and_agent() {
    let (model, home) = home_with([Reply::text("Planned.")]).await;
    let config = home.config().join("copydesk/copydesk.jsonc");
    let two_models = text(&config).replace(r#""model":{}"#, r#""model":{},"other":{}"#);
    std::fs::write(config, two_models).unwrap();
    let arguments = ["--model", "scripted/other", "exec", "--config-option", "mode=plan", "go"];
    let messages = trace(&run(acpx(&home, "--approve-all", &arguments)).await);
    let chosen: Vec<_> = messages
        .iter()
        .filter(|message| message["method"] == "session/set_config_option")
        .map(|message| json!([message["params"]["configId"], message["params"]["value"]]))
        .collect();
    assert_eq!(chosen, [json!(["model", "scripted/other"]), json!(["mode", "plan"])]);
    assert_eq!(stop_reason(&messages), "end_turn");
    assert_eq!(model.requests()[0].body["model"], "other");
    model.finish();
}

#[tokio::test]
async fn r2_3_a_persistent_session_of_acpx_is_prompted_cancelled_and_goes_on() {
    let gate = Gate::new();
    let held = gate.clone();
    let (model, home) = home_with(Script::function(move |request| match request.last_text() {
        text if text.contains("wait") => Reply::text("one").then_wait(&held),
        _ => Reply::text("fine"),
    }))
    .await;
    let acpx = |arguments: &[&str]| acpx(&home, "--approve-all", arguments);
    assert!(run(acpx(&["sessions", "new"])).await.status.success());
    let first = trace(&run(acpx(&["prompt", "hello"])).await);
    assert_eq!(stop_reason(&first), "end_turn");

    let waiting = tokio::spawn(run(acpx(&["prompt", "wait"])));
    model.wait_for_requests(2).await;
    assert!(run(acpx(&["cancel"])).await.status.success());
    assert_eq!(stop_reason(&trace(&waiting.await.unwrap())), "cancelled");
    model.wait_for_abandoned(1).await;

    let last = trace(&run(acpx(&["prompt", "again"])).await);
    assert_eq!(stop_reason(&last), "end_turn");
    let requests = model.requests();
    let history = requests.last().unwrap().body.to_string();
    assert!(history.contains("hello") && history.contains("wait"), "the conversation is one: {history}");
    assert!(run(acpx(&["sessions", "close"])).await.status.success());
    model.finish();
}

#[tokio::test]
async fn r12_1_acpx_resumes_the_session_in_a_new_process() {
    let (model, home) = home_with([Reply::text("One."), Reply::text("Two.")]).await;
    // Its own process, and with it the daemon, ends when nothing was asked of it for a second.
    let acpx = |arguments: &[&str]| acpx(&home, "--approve-all", &[&["--ttl", "1"], arguments].concat());
    assert!(run(acpx(&["sessions", "new"])).await.status.success());
    assert_eq!(stop_reason(&trace(&run(acpx(&["prompt", "first"])).await)), "end_turn");
    let ended = async { while !String::from_utf8_lossy(&run(acpx(&["status"])).await.stdout).contains("\"idle\"") {} };
    tokio::time::timeout(LIMIT, ended).await.expect("acpx ends its process");
    let resumed = trace(&run(acpx(&["prompt", "second"])).await);
    assert_eq!((count(&resumed, "session/resume"), stop_reason(&resumed)), (1, "end_turn"));
    let history = model.requests()[1].body.to_string();
    assert!(history.contains("first") && history.contains("One."), "the conversation goes on: {history}");
    assert!(run(acpx(&["sessions", "close"])).await.status.success());
    model.finish();
}

#[tokio::test]
async fn acpx_lists_the_sessions_of_the_daemon() {
    let (model, home) = home_with([Reply::text("One.")]).await;
    trace(&run(acpx(&home, "--approve-all", &["exec", "first"])).await);
    let output = run(acpx(&home, "--approve-all", &["sessions", "list"])).await;
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let folders: Vec<_> = listed["sessions"].as_array().unwrap().iter().map(|session| &session["cwd"]).collect();
    assert_eq!(folders, [&json!(home.workspace())], "{listed}");
    model.finish();
}

#[tokio::test]
async fn r4_1_the_python_sdk_drives_a_turn_with_asks() {
    let (model, home) = home_with(asking_turn()).await;
    let file = home.write("a.txt", "one\n");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/acp_client.py");
    let sdk = tools().join("acp-python");
    assert!(sdk.is_dir(), "the Python SDK is not installed, run `cargo xtask tools`");
    let mut client = clean("python3", &home);
    client.env("PYTHONPATH", sdk).arg(script).arg(home.workspace()).arg("go").arg(program()).arg("acp");
    let output = run(client).await;
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("a JSON object");
    assert_eq!(
        told,
        json!({
            "agent": "copydesk",
            "stopReason": "end_turn",
            "asked": ["Edit a.txt", "cat a.txt"],
            "text": "All done.",
            "ended": ["completed", "completed"],
            "written": [file],
        })
    );
    assert_eq!(text(&file), "ONE\n");
    model.finish();
}
