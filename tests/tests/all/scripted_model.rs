//! The scripted model as a program, asked by the daemon's own client.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use copydesk_adapters::providers::Providers;
use copydesk_engine::message::Finish;
use copydesk_engine::ports::{
    Model, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelSettings, ProviderSettings, WireProtocol,
};
use futures::StreamExt;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const LIMIT: Duration = Duration::from_secs(30);

async fn ask(port: u16, text: &str) -> Vec<Result<ModelEvent, ModelError>> {
    let provider = ProviderSettings {
        id: "scripted".to_owned(),
        wire: WireProtocol::ChatCompletions,
        base_url: format!("http://127.0.0.1:{port}/v1"),
        key: None,
        headers: Default::default(),
        header_timeout: LIMIT,
        chunk_timeout: LIMIT,
        max_retries: 5,
    };
    let request = ModelRequest {
        model: "scripted/model".parse().unwrap(),
        provider: Arc::new(provider),
        settings: ModelSettings::default(),
        system: "Be brief.".to_owned(),
        messages: vec![ModelMessage::user(text)],
        tools: Vec::new(),
    };
    Providers::default().stream(request).collect().await
}

fn text_of(events: &[ModelEvent]) -> String {
    events
        .iter()
        .filter_map(|event| if let ModelEvent::Text(text) = event { Some(text.as_str()) } else { None })
        .collect()
}

#[tokio::test]
async fn a_script_in_a_file_drives_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    let log = folder.path().join("requests.jsonl");
    let replies = json!({"replies": [
        {"when": "second", "text": "Two"},
        {"gate": "go", "text": "One", "calls": [{"name": "read", "arguments": {"path": "a"}}]},
    ]});
    std::fs::write(&script, replies.to_string()).unwrap();
    let mut program = tokio::process::Command::new(env!("CARGO_BIN_EXE_scripted-model"))
        .args([&script, &log])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = program.stdin.take().unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let port: u16 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
    let first = tokio::spawn(ask(port, "first"));
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "reached go");
    stdin.write_all(b"open go\n").await.unwrap();
    let first: Vec<_> = first.await.unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!((text_of(&first).as_str(), first.last()), ("One", Some(&ModelEvent::Finish(Finish::ToolCalls))));
    let second: Vec<_> = ask(port, "the second").await.into_iter().map(Result::unwrap).collect();
    assert_eq!(text_of(&second), "Two");
    assert!(ask(port, "one too many").await[0].is_err());
    drop(stdin);
    let output = program.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "request 3: the script has no reply to \"one too many\"\n");
    let bodies = std::fs::read_to_string(log).unwrap();
    assert_eq!(bodies.lines().count(), 3);
}
