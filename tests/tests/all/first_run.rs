//! The first minutes with the program: no model, no configuration, a local server, an old or a new partner. On the built daemon.

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, FakeEditor, LIMIT};
use copydesk_tests::raw_client::RawClient;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

/// A server that lists two models to whoever asks; its base URL.
async fn model_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") && stream.read_buf(&mut asked).await.unwrap() > 0 {}
            let body = r#"{"object":"list","data":[{"id":"small:1b"},{"id":"large:8b"}]}"#;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    base
}

/// The servers on the usual ports of this machine are left alone.
fn configure(home: &Home, ollama: &str) {
    let config = json!({
        "disabled_providers": ["lmstudio", "llama.cpp"],
        "provider": { "ollama": { "options": { "baseURL": ollama } } },
    });
    std::fs::create_dir_all(home.config().join("copydesk")).unwrap();
    std::fs::write(home.config().join("copydesk/copydesk.jsonc"), config.to_string()).unwrap();
}

fn model_option(options: &Value) -> &Value {
    options.as_array().unwrap().iter().find(|option| option["id"] == "model").unwrap_or(&Value::Null)
}

#[tokio::test]
async fn without_a_model_a_local_server_is_found_offered_and_remembered() {
    let home = Home::new();
    configure(&home, &model_server().await);
    let editor = FakeEditor::open(home).await;
    editor.disregard("session/update");
    let new = json!({ "cwd": editor.home().workspace(), "mcpServers": [] });
    let session = editor.request("session/new", new.clone()).await.unwrap();
    assert_eq!(model_option(&session["configOptions"]), &Value::Null, "nobody is asked before a prompt");
    let id = session["sessionId"].as_str().unwrap().to_owned();
    let prompt = editor.prompt(&id, "hello");
    let refusal = editor.await_response(prompt).await.unwrap_err();
    for part in ["No model is set", "- ollama/small:1b", "- ollama/large:8b", ":CopydeskModel", "set_config_option"] {
        assert!(refusal.message.contains(part), "{part}: {}", refusal.message);
    }
    let choice = json!({ "sessionId": id, "configId": "model", "value": "ollama/large:8b" });
    let chosen = editor.request("session/set_config_option", choice).await.unwrap();
    let option = model_option(&chosen["configOptions"]);
    assert_eq!(option["currentValue"], "ollama/large:8b");
    assert_eq!(option["options"].as_array().unwrap().len(), 2, "{option}");
    let later = editor.request("session/new", new).await.unwrap();
    assert_eq!(model_option(&later["configOptions"])["currentValue"], "ollama/large:8b");
    editor.finish().await;
}

#[tokio::test]
async fn a_plugin_of_a_newer_version_is_told_the_version_that_is_spoken() {
    for (asked, answered) in [(json!(99), json!(1)), (json!(1), json!(1)), (json!(0), Value::Null)] {
        let mut editor = FakeEditor::spawn(Home::new());
        let opt_in = json!({ "protocol": asked, "acp": {} });
        let capabilities = editor.initialize(Capabilities { opt_in, ..Capabilities::default() }).await;
        assert_eq!(capabilities["experimental"]["copydesk"]["protocol"], answered, "asked for {asked}");
        editor.finish().await;
    }
}

/// Of a new session over plain ACP.
async fn refusal_of_acp(home: &Home) -> String {
    let mut agent = home.command(&["acp"]).spawn().unwrap();
    let capabilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": 1, "clientCapabilities": capabilities } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new",
            "params": { "cwd": home.workspace(), "mcpServers": [] } }),
    ];
    let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
    let input = agent.stdin.as_mut().unwrap();
    for message in messages {
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    loop {
        let line = tokio::time::timeout(LIMIT, lines.next_line()).await.unwrap().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == 2 {
            return message["error"]["message"].as_str().unwrap().to_owned();
        }
    }
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused_with_a_text_and_left_as_it_is() {
    let home = Home::new();
    home.use_model("http://127.0.0.1:9/v1");
    let new = json!({ "cwd": home.workspace(), "mcpServers": [] });
    let mut daemon = RawClient::start(&mut home.command(&["serve"]));
    daemon.initialize().await;
    assert!(daemon.request("session/new", new.clone()).await["result"]["sessionId"].is_string());
    daemon.finish().await;

    let store = home.data().join("copydesk/copydesk.db");
    let connection = rusqlite::Connection::open(&store).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    connection.close().unwrap();
    let bytes = std::fs::read(&store).unwrap();

    let check = |text: &str| {
        for part in ["made by a newer Copydesk", "format 99", "copydesk.db", "update, or move the file away"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    };
    let mut daemon = RawClient::start(&mut home.command(&["serve"]));
    daemon.initialize().await;
    check(daemon.request("session/new", new).await["error"]["message"].as_str().unwrap());
    daemon.finish().await;
    check(&refusal_of_acp(&home).await);
    let (code, _, errors) = home.ended(&["run", "hello"]).await;
    assert_eq!(code, Some(1));
    check(&errors);
    let (code, doctor, _) = home.ended(&["doctor"]).await;
    assert_eq!(code, Some(1));
    check(&doctor);
    assert_eq!(std::fs::read(&store).unwrap(), bytes);
}
