//! The commands for looking after an installation, on the built program: `doctor`, `config`, `schema`, `logs`.

use std::sync::Arc;

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::LIMIT;
use copydesk_tests::raw_client::RawClient;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;

fn configure(home: &Home, text: &str) -> String {
    let folder = home.config().join("copydesk");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("copydesk.jsonc");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// Exit code and what was printed.
async fn run(command: &mut Command) -> (i32, String) {
    let output = tokio::time::timeout(LIMIT, command.output()).await.unwrap().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn status_of(doctor: &str, check: &str) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(doctor).unwrap();
    let checks = report["checks"].as_array().unwrap().iter().filter(|found| found["check"] == check);
    checks
        .map(|found| (found["status"].as_str().unwrap().to_owned(), found["text"].as_str().unwrap().to_owned()))
        .collect()
}

#[tokio::test]
async fn the_doctor_is_content_with_a_sound_home() {
    let home = Home::new();
    home.use_model("http://127.0.0.1:9/v1");
    let (code, printed) = run(&mut home.command(&["doctor"])).await;
    assert_eq!(code, 0, "{printed}");
    for part in
        ["copydesk 0.", "ok       bash", "ok       config", "scripted/model at http://127.0.0.1:9/v1, with a key"]
    {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(!home.data().join("copydesk/copydesk.db").exists(), "looking makes nothing");
}

#[tokio::test]
async fn the_doctor_names_each_thing_that_is_wrong() {
    let home = Home::new();
    let file = configure(&home, "{\n  \"model\": 5\n}");
    let data = home.data().join("copydesk");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("auth.json"), "{}").unwrap();
    let plugin = home.data().join("nvim/site/pack/x/start/copydesk/lua/copydesk");
    std::fs::create_dir_all(&plugin).unwrap();
    std::fs::write(plugin.join("client.lua"), "M.PROTOCOL = 99\n").unwrap();
    let mut command = home.command(&["doctor", "--format", "json"]);
    command.env("PATH", home.path()).env("HTTPS_PROXY", "http://user:pass@proxy.example:3128");
    let (code, report) = run(&mut command).await;
    assert_eq!(code, 1);
    let check = |check: &str, status: &str, part: &str| {
        let found = status_of(&report, check);
        assert!(found.iter().any(|(is, text)| is == status && text.contains(part)), "{check}: {part}: {found:#?}");
    };
    check("bash", "error", "not found");
    check("git", "warning", "not found");
    check("config", "warning", &format!("{file}:2: model: "));
    check("files", "error", "auth.json");
    check("plugins", "error", "protocol 99, but this daemon speaks 1");
    check("checks", "warning", "node not found");
    check("network", "ok", "HTTPS_PROXY is http://…@proxy.example:3128");
    assert!(!report.contains("pass"), "{report}");
}

#[tokio::test]
async fn the_doctor_finds_a_home_in_which_nothing_can_be_kept() {
    let mut home = Home::new();
    home.use_model("http://127.0.0.1:9/v1");
    std::fs::write(home.data().join("copydesk"), "a file in its place").unwrap();
    let (code, report) = run(&mut home.command(&["doctor", "--format", "json"])).await;
    let found = status_of(&report, "folders");
    assert!(found.iter().any(|(is, text)| is == "error" && text.contains("copydesk is no folder")), "{found:#?}");
    assert_eq!(code, 1);

    std::fs::remove_file(home.data().join("copydesk")).unwrap();
    home.give_up_root();
    let closed: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o555);
    std::fs::set_permissions(home.data(), closed).unwrap();
    let (code, report) = run(&mut home.command(&["doctor", "--format", "json"])).await;
    let found = status_of(&report, "folders");
    assert!(found.iter().any(|(is, text)| is == "error" && text.contains("cannot be written")), "{found:#?}");
    assert_eq!(code, 1);
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::new();
    for arguments in [&["doctor"][..], &["config", "path"], &["schema"], &["schema", "tools"], &["logs"]] {
        let (unread, output) = std::io::pipe().unwrap();
        drop(unread);
        let mut command = home.command(arguments);
        let ended = tokio::time::timeout(LIMIT, command.stdout(output).status()).await.unwrap().unwrap();
        assert_eq!(ended.code(), Some(0), "{arguments:?}");
    }
}

#[tokio::test]
async fn what_a_project_has_written_draws_nothing_on_the_terminal() {
    let home = Home::new();
    home.write(
        "copydesk.json",
        r#"{ "model": 7, "instructions": ["\u001b[2J"], "agent": { "a\u001b]0;x\u0007": { "steps": "many" } } }"#,
    );
    for arguments in
        [&["config", "check"][..], &["config", "explain", "instructions"], &["config", "explain", "\u{1b}[2J"]]
    {
        let (_, printed) = run(&mut home.command(arguments)).await;
        assert!(!printed.contains(['\u{1b}', '\u{7}']), "{printed:?}");
        assert!(printed.contains("u{1b}") || printed.contains("u001b"), "{printed:?}");
    }
}

#[tokio::test]
async fn config_says_where_it_looks_what_is_wrong_and_why_a_key_has_its_value() {
    let home = Home::new();
    let file = configure(&home, "{\n  \"model\": \"ollama/mine\",\n  \"tool_output\": { \"max_lines\": \"many\" }\n}");
    let project = home.write("copydesk.json", "{ \"model\": \"ollama/theirs\" }").display().to_string();
    let (code, places) = run(&mut home.command(&["config", "path"])).await;
    assert_eq!(code, 0);
    for part in [format!("taken     {file}\n"), format!("taken     {project}\n"), "absent    ".to_owned()] {
        assert!(places.contains(&part), "{part}: {places}");
    }
    let (code, problems) = run(&mut home.command(&["config", "check"])).await;
    assert_eq!(code, 1);
    assert!(problems.starts_with(&format!("{file}:3: tool_output.max_lines: ")), "{problems}");
    let (code, explained) = run(&mut home.command(&["config", "explain", "model"])).await;
    assert_eq!(code, 0);
    assert_eq!(
        explained,
        format!(
            "model: The model to talk to, as `provider/model`.\n\
             overridden {file}:2  \"ollama/mine\"\n\
             in force   {project}:1  \"ollama/theirs\"\n"
        )
    );
    let (code, explained) = run(&mut home.command(&["config", "explain", "tool_output.max_lines"])).await;
    assert!(code == 0 && explained.contains(&format!("left out   {file}:3: ")), "{explained}");
    assert_eq!(run(&mut home.command(&["config", "explain", "modell"])).await.0, 1);
}

#[tokio::test]
async fn schemas_are_those_that_are_committed() {
    let home = Home::new();
    let committed = |name: &str| -> Value {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas").join(name);
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    };
    for (which, name) in [("config", "config.schema.json"), ("protocol", "protocol.schema.json")] {
        let (code, printed) = run(&mut home.command(&["schema", which])).await;
        assert_eq!(code, 0);
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), committed(name), "{which}");
    }
    let (_, tools) = run(&mut home.command(&["schema", "tools"])).await;
    let tools: Value = serde_json::from_str(&tools).unwrap();
    assert_eq!(tools["$defs"]["edit"]["properties"]["filePath"]["type"], "string");
}

#[tokio::test]
async fn the_log_is_a_file_that_can_be_followed_at_the_level_of_the_configuration() {
    let home = Home::new();
    let key = "not-a-word-of-this";
    let config = |level: &str| {
        let provider = json!({ "work": { "options": { "baseURL": "http://127.0.0.1:9/v1", "apiKey": key } } });
        json!({ "model": "work/m", "provider": provider, "logLevel": level }).to_string()
    };
    let (_, path) = run(&mut home.command(&["logs"])).await;
    let path = std::path::PathBuf::from(path.trim());
    assert!(path.starts_with(home.data()) && !path.exists());
    let mut follower = home.command(&["logs", "-f"]).spawn().unwrap();
    let mut followed = BufReader::new(follower.stdout.take().unwrap()).lines();
    for (level, logs) in [("warn", false), ("debug", true)] {
        configure(&home, &config(level));
        let mut daemon = RawClient::start(home.command(&["serve"]).env_remove("COPYDESK_LOG"));
        daemon.initialize().await;
        let new = json!({ "cwd": home.workspace(), "mcpServers": [] });
        assert!(daemon.request("session/new", new).await["result"].is_object());
        // Not understood, which is worth a line of this level.
        daemon.notify("session/cancel", json!({ "sessionId": format!("nobody-{key}") })).await;
        daemon.finish().await;
        assert_eq!(path.exists(), logs, "{level}");
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("nobody-[hidden]") && !text.contains(key), "{text}");
    let line = tokio::time::timeout(LIMIT, followed.next_line()).await.unwrap().unwrap().unwrap();
    assert_eq!(Some(line.as_str()), text.lines().next());
}

/// Lists one model to one client; what it was asked.
async fn list_model(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") && stream.read_buf(&mut asked).await.unwrap() > 0 {}
    let body = r#"{"data":[{"id":"m"}]}"#;
    let answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    String::from_utf8(asked).unwrap()
}

fn model_at(home: &Home, base_url: &str) {
    let provider = json!({ "work": { "options": { "baseURL": base_url } } });
    configure(home, &json!({ "model": "work/m", "provider": provider }).to_string());
}

fn online(home: &Home) -> Command {
    home.command(&["doctor", "--online", "--format", "json"])
}

#[tokio::test]
async fn certificates_of_the_user_s_network_are_honoured() {
    let home = Home::new();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = home.path().join("network.pem");
    std::fs::write(&file, certified.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    model_at(&home, &format!("https://localhost:{}/v1", listener.local_addr().unwrap().port()));
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let server = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that does not trust us leaves in the handshake.
            if let Ok(stream) = acceptor.accept(stream).await {
                return list_model(stream).await;
            }
        }
    });
    let (_, report) = run(&mut online(&home)).await;
    let refused = status_of(&report, "model");
    assert!(refused[0].0 == "error" && refused[0].1.contains("SSL_CERT_FILE"), "{refused:?}");
    let (_, report) = run(online(&home).env("SSL_CERT_FILE", file)).await;
    let answered = status_of(&report, "model");
    assert!(answered[0].0 == "ok" && answered[0].1.ends_with(" answers"), "{answered:?}");
    assert!(server.await.unwrap().starts_with("GET /v1/models HTTP/1.1\r\n"));
}

/// Gateways often pass on the talk with a model and nothing else. Keys may stand in their addresses.
#[tokio::test]
async fn a_server_without_a_list_of_models_is_a_warning_and_its_key_is_not_shown() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    model_at(&home, &format!("http://user:pass-word@{address}/v1/chat/completions?key=sk-secret"));
    let server = tokio::spawn(async move {
        let mut asked = String::new();
        for status in ["404 Not Found", "429 Too Many Requests"] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"\r\n\r\n") && stream.read_buf(&mut bytes).await.unwrap() > 0 {}
            let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            asked += &String::from_utf8(bytes).unwrap();
        }
        asked
    });
    for part in ["lists no models", "answers no more requests for now"] {
        let (code, report) = run(&mut online(&home)).await;
        let found = status_of(&report, "model");
        assert!(code == 0 && found[0].0 == "warning" && found[0].1.contains(part), "{found:?}");
        assert!(found[0].1.starts_with(&format!("work/m at http://{address}/v1")), "{found:?}");
        assert!(!report.contains("sk-secret") && !report.contains("pass-word"), "{report}");
    }
    let asked = server.await.unwrap();
    assert_eq!(asked.matches("GET /v1/models?key=sk-secret HTTP/1.1\r\n").count(), 2, "{asked}");
}

#[tokio::test]
async fn proxies_are_used_for_other_machines_and_never_for_this_one() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let mut asked = Vec::new();
        for _ in 0..2 {
            let (stream, _) = listener.accept().await.unwrap();
            asked.push(list_model(stream).await);
        }
        asked
    });
    model_at(&home, "http://models.example.com/v1");
    let (_, report) = run(online(&home).env("HTTP_PROXY", format!("http://{address}"))).await;
    assert_eq!(status_of(&report, "model")[0].0, "ok", "{report}");
    // Nothing listens at the proxy's address: it is not asked.
    model_at(&home, &format!("http://{address}/v1"));
    let (_, report) =
        run(online(&home).env("HTTP_PROXY", "http://127.0.0.1:9").env("ALL_PROXY", "http://127.0.0.1:9")).await;
    assert_eq!(status_of(&report, "model")[0].0, "ok", "{report}");
    let asked = server.await.unwrap();
    assert!(asked[0].starts_with("GET http://models.example.com/v1/models HTTP/1.1\r\n"), "{asked:#?}");
    assert!(asked[1].starts_with("GET /v1/models HTTP/1.1\r\n"), "{asked:#?}");
}
