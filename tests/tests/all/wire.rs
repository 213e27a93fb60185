//! The wire on the built daemon: order, cancel, framing, and its end. Needs the program: `cargo build -p copydesk`.

use std::time::Duration;

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, Encoding, FakeEditor, Refusal, prompt_params, uri};
use copydesk_tests::scripted_model::{Gate, Reply, Script, ScriptedModel};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

/// Design §3: whatever is pending.
const END: Duration = Duration::from_secs(2);

fn framed(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A request that is answered at once, whatever else goes on.
async fn ping(editor: &FakeEditor) {
    let refusal = editor.request("nobody/knows", json!({})).await.unwrap_err();
    assert_eq!(refusal.code, -32601);
}

/// The same as bytes, and what it is answered.
fn raw_ping(id: &str) -> String {
    framed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nobody/knows"}}"#))
}

async fn expect_pong(editor: &FakeEditor, id: Value) {
    let answer = editor.await_stray().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(-32601)), "{answer}");
}

async fn expect_error_without_id(editor: &FakeEditor, code: i64) {
    let answer = editor.await_stray().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)), "{answer}");
}

async fn with_model(script: impl Into<Script>) -> (ScriptedModel, FakeEditor) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let editor = FakeEditor::open(home).await;
    editor.disregard("session/update");
    (model, editor)
}

async fn plain() -> FakeEditor {
    FakeEditor::open(Home::new()).await
}

fn command(text: &str) -> Reply {
    Reply::call("bash", json!({ "command": text, "description": "Run a command" }))
}

#[tokio::test]
async fn the_life_cycle_is_lsp_s() {
    let mut editor = FakeEditor::spawn(Home::new());
    let refused = |answer: Result<Value, Refusal>| answer.unwrap_err().code;
    assert_eq!(refused(editor.request("textDocument/hover", json!({})).await), -32002);
    editor.initialize(Capabilities::default()).await;
    assert_eq!(refused(editor.request("initialize", json!({ "capabilities": {} })).await), -32600);
    editor.finish().await;
}

#[tokio::test]
async fn a_client_that_says_nothing_is_a_plain_lsp_client() {
    let mut editor = FakeEditor::spawn(Home::new());
    let answered = editor.initialize(Capabilities { opt_in: Value::Null, ..Capabilities::default() }).await;
    assert_eq!(answered["experimental"]["copydesk"], Value::Null);
    let refusal = editor.request("session/new", json!({ "cwd": "/", "mcpServers": [] })).await.unwrap_err();
    assert_eq!(refusal.code, -32601);
    editor.finish().await;
}

#[tokio::test]
async fn a_client_that_opts_in_is_told_version_and_methods() {
    let mut editor = FakeEditor::spawn(Home::new());
    let answered = editor.initialize(Capabilities::default()).await;
    let opt_in = &answered["experimental"]["copydesk"];
    assert_eq!(opt_in["protocol"], 1);
    assert_eq!(opt_in["agentInfo"]["name"], "copydesk");
    let methods = [
        "_copydesk/diagnostics",
        "_copydesk/language",
        "_copydesk/save",
        "_copydesk/files_changed",
        "_copydesk/trust_changed",
        "_copydesk/grants",
        "_copydesk/undo",
        "_copydesk/changes",
        "_copydesk/changed",
        "_copydesk/diff",
    ];
    assert_eq!(opt_in["methods"], json!(methods));
    editor.finish().await;
}

#[tokio::test]
async fn the_first_known_position_encoding_is_taken() {
    for (offered, expected) in [
        (vec![Encoding::Utf8, Encoding::Utf16], "utf-8"),
        (vec![Encoding::Utf32, Encoding::Utf8], "utf-32"),
        (vec![Encoding::Utf16], "utf-16"),
        (vec![], "utf-16"),
    ] {
        let mut editor = FakeEditor::spawn(Home::new());
        let answered = editor.initialize(Capabilities { encodings: offered, ..Capabilities::default() }).await;
        assert_eq!(answered["positionEncoding"], expected);
        editor.finish().await;
    }
}

#[tokio::test]
async fn r22_1_r22_3_a_thousand_pending_asks_do_not_delay_a_ping() {
    let (model, editor) = with_model(Script::function(|_| command("kill -0 0"))).await;
    let mut pending = Vec::new();
    // In groups, so that neither side runs out of sockets.
    for _ in 0..20 {
        let group: Vec<i64> = (0..50)
            .map(|_| editor.send("session/new", json!({ "cwd": editor.home().workspace(), "mcpServers": [] })))
            .collect();
        for id in group {
            let answer = editor.await_response(id).await.unwrap();
            let session = answer["sessionId"].as_str().unwrap().to_owned();
            let prompt = editor.prompt(&session, "go");
            pending.push((session, prompt));
        }
        for _ in 0..50 {
            editor.await_request("session/request_permission").await;
        }
    }
    let start = std::time::Instant::now();
    ping(&editor).await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    for (session, _) in &pending {
        editor.notify("session/cancel", json!({ "sessionId": session }));
    }
    for (_, prompt) in pending {
        assert_eq!(editor.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
    }
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r22_2_c98_waiting_asks_and_two_hundred_changes_do_not_lock_and_a_later_read_sees_them() {
    let (model, editor) = with_model(Script::function(|request| match request.last_text() {
        text if text.contains("look") => Reply::call("read", json!({ "filePath": "notes.txt" })),
        text if text.contains("go") => command("kill -0 0"),
        _ => Reply::text("seen"),
    }))
    .await;
    let mut asks = Vec::new();
    for _ in 0..8 {
        let session = editor.new_session().await;
        let prompt = editor.prompt(&session, "go");
        let (id, params) = editor.await_request("session/request_permission").await;
        asks.push((prompt, id, params));
    }
    let session = editor.new_session().await;

    let file = editor.home().write("notes.txt", "on the disk\n");
    let document = uri(&file);
    editor.open_document(&document, "plaintext", "start\n");
    for n in 0..200 {
        editor.type_text(&document, (0, 5 + n), (0, 5 + n), if n % 2 == 0 { "é" } else { "x" });
    }
    let looked = editor.prompt(&session, "look");
    for (_, id, params) in &asks {
        let options = params["options"].as_array().unwrap();
        let reject = options.iter().find(|option| option["kind"] == "reject_once").unwrap();
        editor.respond(id, json!({ "outcome": { "outcome": "selected", "optionId": reject["optionId"] } }));
    }
    for (prompt, ..) in asks {
        assert_eq!(editor.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
    }
    assert_eq!(editor.await_response(looked).await.unwrap()["stopReason"], "end_turn");
    let text = format!("start{}", "éx".repeat(100));
    assert_eq!(editor.document(&document).text, format!("{text}\n"));
    let read =
        model.requests().into_iter().any(|request| request.results().iter().any(|result| result.contains(&text)));
    assert!(read, "the tool read the text as it was after the last change");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r22_4_c98_a_cancel_in_the_same_read_as_its_prompt_cancels_the_turn() {
    let gate = Gate::new();
    let held = gate.clone();
    let (model, editor) = with_model(Script::function(move |request| {
        if request.last_text().contains("again") {
            Reply::text("fine")
        } else {
            Reply::empty().then_wait(&held).then_text("late")
        }
    }))
    .await;
    let session = editor.new_session().await;
    let prompt =
        json!({ "jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": prompt_params(&session, "first") });
    let cancel = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"p"}}"#;
    editor.raw(framed(&prompt.to_string()) + &framed(cancel));
    let answer = editor.await_stray().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("p"), &json!(-32800)), "{answer}");

    // The session goes on, with a history that a strict provider takes.
    editor.turn(&session, "again").await;
    editor.finish().await;
    gate.open();
    model.finish();
}

#[tokio::test]
async fn r2_3_c98_a_cancelled_prompt_is_answered_once_and_its_turn_has_ended() {
    let gate = Gate::new();
    let held = gate.clone();
    let (model, editor) = with_model(Script::function(move |_| Reply::text("one").then_wait(&held))).await;
    let session = editor.new_session().await;
    for (count, cancel) in [
        (1, json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": null } })),
        (2, json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } })),
    ] {
        let prompt = editor.prompt(&session, "go");
        model.wait_for_requests(count).await;
        let mut cancel = cancel;
        if cancel["method"] == "$/cancelRequest" {
            cancel["params"]["id"] = json!(prompt);
        }
        // Twice, and once more when it has ended: harmless.
        let frame = framed(&cancel.to_string());
        editor.raw(frame.clone() + &frame);
        let answer = editor.await_response(prompt).await;
        match count {
            1 => assert_eq!(answer.unwrap_err().code, -32800),
            _ => assert_eq!(answer.unwrap()["stopReason"], "cancelled"),
        }
        model.wait_for_abandoned(count).await;
        editor.raw(frame);
        ping(&editor).await;
    }
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r22_5_c99_what_a_dependency_prints_goes_to_the_log() {
    let editor = plain().await;
    let process = editor.process().unwrap();
    let target = |number: u32| std::fs::read_link(format!("/proc/{process}/fd/{number}")).unwrap();
    assert_eq!(target(1), target(2), "what is printed goes where the log goes");
    editor.finish().await;
}

#[tokio::test]
async fn r22_6_c99_end_of_input_ends_the_daemon_with_a_turn_pending() {
    let gate = Gate::new();
    let (model, mut editor) = with_model([Reply::text("one").then_wait(&gate)]).await;
    let session = editor.new_session().await;
    let prompt = editor.prompt(&session, "go");
    model.wait_for_requests(1).await;
    editor.close_input();
    let (_, took) = editor.await_end().await;
    assert!(took < END, "{took:?}");
    editor.forget_or_take(prompt).await;
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r22_6_end_of_input_ends_the_daemon_with_an_ask_pending() {
    let (model, mut editor) = with_model([command("kill -0 0")]).await;
    let session = editor.new_session().await;
    let prompt = editor.prompt(&session, "go");
    editor.await_request("session/request_permission").await;
    editor.close_input();
    let (_, took) = editor.await_end().await;
    assert!(took < END, "{took:?}");
    editor.forget_or_take(prompt).await;
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r22_6_end_of_input_ends_the_commands_that_run() {
    // The command holds a connection to the test for as long as anything of it lives.
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stubborn =
        format!("trap '' TERM INT HUP; exec 3<>/dev/tcp/127.0.0.1/{port}; echo runs >&3; while :; do sleep 600; done");
    let (model, mut editor) = with_model([command(&stubborn)]).await;
    editor.answer_permissions_with("allow_once");
    let session = editor.new_session().await;
    let prompt = editor.prompt(&session, "go");
    let mut alive = String::new();
    let mut connection = BufReader::new(listener.accept().await.unwrap().0);
    connection.read_line(&mut alive).await.unwrap();
    assert_eq!(alive, "runs\n");
    editor.close_input();
    let (_, took) = editor.await_end().await;
    assert!(took < END, "{took:?}");
    let gone = tokio::time::timeout(END, connection.read_to_end(&mut Vec::new())).await;
    assert!(gone.is_ok(), "the command outlives the daemon");
    editor.forget_or_take(prompt).await;
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r22_6_c99_exit_without_shutdown_ends_the_daemon_with_code_1() {
    let mut editor = plain().await;
    editor.notify("exit", Value::Null);
    let (code, took) = editor.await_end().await;
    assert_eq!(code, Some(1));
    assert!(took < END, "{took:?}");
    editor.finish().await;
}

#[tokio::test]
async fn r22_6_exit_after_shutdown_ends_the_daemon_with_code_0() {
    let mut editor = plain().await;
    assert_eq!(editor.request("shutdown", Value::Null).await, Ok(Value::Null));
    assert_eq!(editor.request("session/new", json!({ "cwd": "/", "mcpServers": [] })).await.unwrap_err().code, -32600);
    editor.notify("exit", Value::Null);
    let (code, took) = editor.await_end().await;
    assert_eq!(code, Some(0));
    assert!(took < END, "{took:?}");
    editor.finish().await;
}

#[tokio::test]
async fn r22_6_c99_the_death_of_the_parent_ends_the_daemon() {
    let mut parent = tokio::process::Command::new("sleep").arg("600").kill_on_drop(true).spawn().unwrap();
    let mut editor =
        FakeEditor::open_with(Home::new(), Capabilities { process: parent.id(), ..Capabilities::default() }).await;
    ping(&editor).await;
    parent.kill().await.unwrap();
    let (_, took) = editor.await_end().await;
    assert!(took < END, "{took:?}");
    editor.finish().await;
}

#[tokio::test]
async fn r22_7_bad_params_and_positions_cost_nothing_but_their_answer() {
    let editor = plain().await;
    let file = editor.home().write("a.txt", "a\n");
    editor.open_document(&uri(&file), "plaintext", "a\n");
    for params in [
        // Places beyond the text, backwards, and of no document.
        json!({ "textDocument": { "uri": uri(&file), "version": 2 }, "contentChanges": [
            { "range": { "start": { "line": 900, "character": 900 }, "end": { "line": 0, "character": 4_294_967_295_u32 } }, "text": "x" }
        ] }),
        json!({ "textDocument": { "uri": "file:///nobody/opened", "version": 2 }, "contentChanges": [{ "text": "x" }] }),
        json!({ "textDocument": { "uri": "no uri at all", "version": 2 }, "contentChanges": [] }),
        json!({ "textDocument": 5 }),
        json!([1, 2, 3]),
        Value::Null,
    ] {
        editor.notify("textDocument/didChange", params);
    }
    for (method, params) in [
        ("textDocument/didOpen", json!({ "textDocument": {} })),
        ("textDocument/didClose", json!({ "textDocument": { "uri": "file:///nobody/opened" } })),
        ("workspace/didChangeWorkspaceFolders", json!({ "event": {} })),
        ("session/cancel", json!({ "sessionId": "nobody" })),
        ("nobody/knows", json!({ "a": 1 })),
        ("$/nobody/knows", Value::Null),
    ] {
        editor.notify(method, params);
    }
    editor.raw(framed(r#"{"jsonrpc":"2.0","method":"session/cancel"}"#));
    ping(&editor).await;
    for (method, params, code) in [
        ("session/new", json!({}), -32602),
        ("session/new", json!({ "cwd": "relative", "mcpServers": [] }), -32602),
        ("session/prompt", json!({ "sessionId": 5 }), -32602),
        ("session/prompt", prompt_params("nobody", "go"), -32002),
        ("session/set_mode", json!({ "sessionId": "nobody", "modeId": "plan" }), -32002),
        ("session/nobody_knows", json!({}), -32601),
        ("$/nobody/knows", json!({}), -32601),
    ] {
        let refusal = editor.request(method, params.clone()).await.unwrap_err();
        assert_eq!(refusal.code, code, "{method} {params}: {}", refusal.message);
    }
    editor.finish().await;
}

#[tokio::test]
async fn c99_frames_are_taken_as_peers_write_them() {
    let editor = plain().await;
    let body = r#"{"jsonrpc":"2.0","id":"é","method":"nobody/knows"}"#;
    let length = body.len();
    for frame in [
        format!("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{body}"),
        format!("content-length: {length}\r\n\r\n{body}"),
        format!("Content-Length: {length}\n\n{body}"),
    ] {
        editor.raw(frame);
        expect_pong(&editor, json!("é")).await;
    }
    // Two in one write, and one in many.
    editor.raw(raw_ping("\"a\"") + &raw_ping("\"b\""));
    expect_pong(&editor, json!("a")).await;
    expect_pong(&editor, json!("b")).await;
    for byte in raw_ping("\"c\"").into_bytes() {
        editor.raw([byte]);
    }
    expect_pong(&editor, json!("c")).await;
    editor.finish().await;
}

#[tokio::test]
async fn c99_ids_of_any_kind_are_echoed() {
    let editor = plain().await;
    for (id, expected) in [("null", Value::Null), ("\"text\"", json!("text")), ("1.5", json!(1.5)), ("-7", json!(-7))] {
        editor.raw(raw_ping(id));
        expect_pong(&editor, expected).await;
    }
    editor.finish().await;
}

#[tokio::test]
async fn c99_a_malformed_message_costs_one_answer() {
    let editor = plain().await;
    for (bytes, code) in [
        (framed("{nonsense"), -32700),
        (framed("[]"), -32600),
        (framed(r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#), -32600),
        (framed("{}"), -32600),
        ("garbage between two frames\r\n".to_owned(), -32700),
        ("garbage without an end".to_owned(), -32700),
        ("Content-Type: text\r\n\r\n{\"jsonrpc\":\"2.0\"}".to_owned(), -32700),
        (framed(&format!("\"{}\"", "x".repeat(16 * 1024 * 1024))), -32600),
    ] {
        editor.raw(bytes + &raw_ping("\"next\""));
        expect_error_without_id(&editor, code).await;
        expect_pong(&editor, json!("next")).await;
    }
    editor.finish().await;
}

#[tokio::test]
async fn c99_params_may_be_absent_and_a_notification_is_never_answered() {
    let editor = plain().await;
    editor.raw(
        framed(r#"{"jsonrpc":"2.0","method":"nobody/knows"}"#)
            + &framed(r#"{"jsonrpc":"2.0","method":"nobody/knows","params":7}"#),
    );
    editor.raw(framed(r#"{"jsonrpc":"2.0","id":"n","method":"session/new"}"#));
    let answer = editor.await_stray().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("n"), &json!(-32602)), "{answer}");
    editor.finish().await;
}
