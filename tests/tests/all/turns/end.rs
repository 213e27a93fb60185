//! The end of the daemon, clean or not, and what its store is afterwards.

use super::*;

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
async fn r22_6_signals_end_the_daemon_with_what_it_has_started() {
    for signal in ["TERM", "INT", "HUP"] {
        let beacon = Beacon::new().await;
        let deaf = format!("trap '' TERM INT HUP; {}; while :; do sleep 600; done", beacon.light());
        let (model, mut editor, session) = start([bash(&deaf)]).await;
        editor.answer_permissions_with("allow_once");
        let prompt = editor.prompt(&session, "go");
        let running = beacon.seen().await;
        let process = editor.process().unwrap().to_string();
        let kill = std::process::Command::new("kill").args(["-s", signal, &process]).status().unwrap();
        assert!(kill.success());
        let (_, took) = editor.await_end().await;
        assert!(took < Duration::from_secs(2), "{signal}: {took:?}");
        assert_gone(running, Duration::from_millis(300)).await;
        editor.forget_or_take(prompt).await;
        editor.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn r22_6_a_signal_is_an_orderly_end_for_a_plain_acp_client() {
    use tokio::io::AsyncWriteExt;
    let home = Home::new();
    let mut child = home.command(&["acp"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nobody/knows\"}\n").await.unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).await.unwrap();
    let kill = std::process::Command::new("kill").arg(child.id().unwrap().to_string()).status().unwrap();
    assert!(kill.success());
    let status = tokio::time::timeout(Duration::from_secs(2), child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
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
        text if text.contains("ask") => bash("kill -0 0"),
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
        file @ 0..6 => read(&format!("{file}.txt")),
        _ => Reply::text("fine"),
    }))
    .await;
    let home = Home::new();
    home.use_model(&model.base_url());
    for file in 0..6 {
        home.write(format!("{file}.txt"), "one\n");
    }
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
