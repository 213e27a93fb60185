//! llmock, a server of models that nobody here wrote: it breaks answers in every way that it knows, over both wires, and judges how the client took it. Needs
//! the program (`cargo build -p copydesk`) and the server (`cargo xtask tools`).

use std::process::Stdio;

use copydesk_tests::acp_schema::tools;
use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{FakeEditor, LIMIT};
use copydesk_tests::scripted_model::Wire;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// Between two pieces of an answer, in milliseconds; a stall is longer.
const CHUNK_TIMEOUT: u64 = 1500;
const STALL_SECONDS: f64 = 5.0;

/// What is done to the requests for one model; its name is that of the row.
struct Row {
    name: String,
    behavior: Value,
    /// As the server counts them.
    faults: u64,
    /// How often the model says its sentence: each step of a turn; never where the turn fails.
    said: usize,
}

impl Row {
    fn new(name: &str, behavior: Value, faults: u64) -> Self {
        Self { name: name.to_owned(), behavior, faults, said: 1 }
    }
}

/// Everything that the server's scenarios offer to streams and to those who try again.
fn rows() -> Vec<Row> {
    let mut rows = vec![
        Row::new("limited-twice", json!({ "type": "fail", "status": 429, "retry_after": 1, "times": 2 }), 2),
        Row::new("limited-in-milliseconds", json!({ "type": "fail", "status": 503, "retry_after": 0.4 }), 1),
        Row::new("delay", json!({ "type": "delay", "seconds": 0.4 }), 0),
        Row::new("slow-first-token", json!({ "type": "slow_first_token", "seconds": 0.4 }), 0),
    ];
    for kind in ["malformed_arguments", "unknown_tool"] {
        // The sentence stands beside the call too.
        rows.push(Row { said: 2, ..Row::new(kind, json!({ "type": "tool_fault", "kind": kind }), 0) });
    }
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        rows.push(Row::new(&format!("fail-{status}"), json!({ "type": "fail", "status": status }), 1));
    }
    for status in [400, 401, 403, 404, 422] {
        let row = Row::new(&format!("fail-{status}"), json!({ "type": "fail", "status": status, "times": null }), 1);
        rows.push(Row { said: 0, ..row });
    }
    for kind in ["disconnect", "truncate", "stall", "malformed"] {
        for after in [0, 1, 3] {
            let fault =
                json!({ "type": "stream_fault", "kind": kind, "after_chunks": after, "stall_seconds": STALL_SECONDS });
            rows.push(Row::new(&format!("{kind}-{after}"), fault, 1));
        }
    }
    rows
}

#[tokio::test]
async fn r14_5_c83_llmock_is_content_with_every_fault_over_both_wires() {
    let home = Home::new();
    let server = Server::start(&home).await;
    let wires = [("chat", Wire::ChatCompletions, "v1"), ("claude", Wire::Messages, "anthropic/v1")];
    let rows = rows();
    let mut config = json!({ "provider": {}, "permission": "deny" });
    let mut behaviors = Vec::new();
    for (provider, wire, path) in wires {
        let models: serde_json::Map<String, Value> = rows.iter().map(|row| (row.name.clone(), json!({}))).collect();
        let base = format!("http://127.0.0.1:{}/{path}", server.port);
        let options = json!({ "baseURL": base, "apiKey": "key", "chunkTimeout": CHUNK_TIMEOUT });
        config["provider"][provider] = json!({ "npm": wire.npm(), "options": options, "models": models });
        behaviors.extend(rows.iter().map(|row| {
            let mut behavior = row.behavior.clone();
            let vendor = match wire {
                Wire::ChatCompletions => "openai",
                Wire::Messages => "anthropic",
            };
            behavior["match"] = json!({ "provider": vendor, "model": row.name });
            behavior
        }));
    }
    server.call("POST", "/_llmock/scenario", &json!({ "behaviors": behaviors })).await;
    home.configure(&config.to_string());
    let editor = FakeEditor::open(home).await;
    editor.disregard("window/showMessage");
    let mut turns = Vec::new();
    for (provider, ..) in wires {
        for row in &rows {
            let session = editor.new_session().await;
            let model = format!("{provider}/{}", row.name);
            let choice = json!({ "sessionId": session, "configId": "model", "value": model });
            editor.request("session/set_config_option", choice).await.unwrap();
            let prompt = editor.prompt(&session, "just say hello");
            turns.push((model, row, session, prompt));
        }
    }
    let mut texts = Vec::new();
    for (model, row, session, prompt) in &turns {
        match editor.await_response(*prompt).await {
            Ok(end) => assert!(row.said > 0 && end["stopReason"] == "end_turn", "{model}: {end}"),
            Err(error) => assert!(row.said == 0 && error.message.len() > 20, "{model}: {error:?}"),
        }
        texts.push((model, row, session));
    }
    let updates = editor.take_notifications("session/update");
    for (model, row, session) in texts {
        let text: String = updates
            .iter()
            .filter(|params| params["sessionId"] == **session)
            .map(|params| &params["update"])
            .filter(|update| update["sessionUpdate"] == "agent_message_chunk")
            .filter_map(|update| update["content"]["text"].as_str())
            .collect();
        let whole = format!("Mock response from {}.", row.name).repeat(row.said);
        assert_eq!(text, whole, "{model}: whole, and not a word twice");
    }
    let pending = server.call("GET", "/_llmock/scenario", &Value::Null).await;
    let left: Vec<&Value> =
        pending["pending"].as_array().unwrap().iter().filter(|left| left["times"] != Value::Null).collect();
    assert!(left.is_empty(), "never asked for: {left:#?}");
    let verdict = server.call("GET", "/_llmock/verdict", &Value::Null).await;
    let faults: u64 = rows.iter().map(|row| row.faults).sum();
    assert_eq!(verdict["passed"], true, "{verdict:#}");
    assert_eq!((&verdict["errors"], &verdict["warnings"]), (&json!(0), &json!(0)), "{verdict:#}");
    assert_eq!(verdict["faults_injected"], json!(2 * faults), "{verdict:#}");
    editor.finish().await;
    server.stop().await;
}

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// On a port that the system gives.
    async fn start(home: &Home) -> Self {
        let packages = tools().join("llmock");
        assert!(packages.join("llmock").is_dir(), "llmock is not installed, run `cargo xtask tools`");
        let mut child = Command::new("python3")
            .args(["-m", "uvicorn", "llmock.main:app", "--host", "127.0.0.1", "--port", "0", "--no-access-log"])
            .current_dir(home.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("PYTHONPATH", packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LLMOCK_RESPONSE_STYLE", "static")
            .env("LLMOCK_TOOL_MODE", "off")
            // An answer that is left must not have been sent whole by then: the server would take the next try for another call.
            .env("LLMOCK_STREAM_CHUNK_DELAY_MS", "100")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("python3 starts");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let listening = async {
            let mut said = String::new();
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some((_, address)) = line.split_once("running on http://127.0.0.1:") {
                    return address.split(' ').next().unwrap().parse().unwrap();
                }
                said += &format!("{line}\n");
            }
            panic!("llmock does not start:\n{said}");
        };
        let port = tokio::time::timeout(LIMIT, listening).await.expect("llmock listens");
        // Read to its end, so that the server never waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { child, port }
    }

    /// One request to its own interface: the JSON of the answer.
    async fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}",
            body.len()
        );
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(LIMIT, stream.read_to_string(&mut answer)).await.expect("an answer").unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 20"), "{answer}");
        serde_json::from_str(body).unwrap()
    }

    async fn stop(mut self) {
        self.child.kill().await.unwrap();
    }
}
