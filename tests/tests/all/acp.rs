//! `copydesk acp` on the built daemon: its life cycle and whole turns, every message checked against ACP's schema. Needs the program:
//! `cargo build -p copydesk`, and the schema: `cargo xtask tools`.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use copydesk_engine::testing::pdf_bytes;
use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::FakeEditor;
use copydesk_tests::scripted_model::{Gate, Reply, Script, ScriptedModel, Wire};
use serde_json::{Value, json};

/// Design §3: whatever is pending.
const END: Duration = Duration::from_secs(2);

async fn with_model(script: impl Into<Script>, capabilities: Value) -> (ScriptedModel, FakeEditor) {
    with_keys(script, capabilities, json!({})).await
}

/// With these keys in the user's configuration.
async fn with_keys(script: impl Into<Script>, capabilities: Value, keys: Value) -> (ScriptedModel, FakeEditor) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model_with(&model.base_url(), json!({}), keys);
    (model, FakeEditor::open_acp(home, capabilities).await)
}

fn command(text: &str) -> Reply {
    Reply::call("bash", json!({ "command": text, "description": "Run a command" }))
}

/// The updates so far, in order.
fn updates(client: &FakeEditor) -> Vec<Value> {
    client.take_notifications("session/update").into_iter().map(|mut params| params["update"].take()).collect()
}

fn of_kind<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
    updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
}

async fn ping(client: &FakeEditor) {
    assert_eq!(client.request("nobody/knows", json!({})).await.unwrap_err().code, -32601);
}

#[tokio::test]
async fn version_1_is_answered_whatever_is_asked() {
    for asked in [json!(1), json!(7), json!(0)] {
        let client = FakeEditor::spawn_acp(Home::new());
        let answer = client.request("initialize", json!({ "protocolVersion": asked })).await.unwrap();
        assert_eq!(answer["protocolVersion"], 1);
        assert_eq!(answer["agentInfo"]["name"], "copydesk");
        assert_eq!(
            answer["agentCapabilities"]["promptCapabilities"],
            json!({ "image": true, "audio": false, "embeddedContext": true })
        );
        assert_eq!(answer["authMethods"], json!([]));
        client.finish().await;
    }
}

#[tokio::test]
async fn the_life_cycle_is_acp_s() {
    let client = FakeEditor::spawn_acp(Home::new());
    let new = json!({ "cwd": client.home().workspace(), "mcpServers": [] });
    assert_eq!(client.request("session/new", new.clone()).await.unwrap_err().code, -32002);
    assert_eq!(client.request("initialize", json!({})).await.unwrap_err().code, -32602);
    client.request("initialize", json!({ "protocolVersion": 1 })).await.unwrap();
    assert_eq!(client.request("initialize", json!({ "protocolVersion": 1 })).await.unwrap_err().code, -32600);
    let refusal = client.request("authenticate", json!({ "methodId": "browser" })).await.unwrap_err();
    assert_eq!(refusal.code, -32602);
    assert!(refusal.message.contains("there are no authentication methods"), "{}", refusal.message);
    ping(&client).await;
    client.request("session/new", new).await.unwrap();
    client.finish().await;
}

#[tokio::test]
async fn what_is_malformed_costs_one_answer_over_lines_too() {
    let client = FakeEditor::open_acp(Home::new(), json!({})).await;
    for (line, code) in [("{nonsense\n", -32700), ("[]\n", -32600), ("{}\r\n", -32600), ("\n\n7\n", -32600)] {
        client.raw(line);
        let answer = client.await_stray().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)), "{answer}");
    }
    client.raw("{\"jsonrpc\":\"2.0\",\"id\":\"é\",\"method\":\"nobody/");
    client.raw("knows\"}\n");
    assert_eq!(client.await_stray().await["id"], "é");
    client.notify("_nobody/knows", json!({}));
    ping(&client).await;
    client.finish().await;
}

#[tokio::test]
async fn r4_1_a_turn_with_an_asked_edit_has_kinds_locations_diffs_plan_and_choices() {
    let todo = json!({ "todos": [{ "id": "1", "content": "Rename", "status": "in_progress", "priority": "high" }] });
    let edit = json!({ "filePath": "a.txt", "oldString": "one", "newString": "ONE" });
    let (model, client) = with_keys(
        [
            Reply::call("read", json!({ "filePath": "a.txt" })),
            Reply::call("todowrite", todo),
            Reply::call("edit", edit),
            Reply::text("Done."),
        ],
        json!({}),
        json!({ "permission": { "edit": "ask" } }),
    )
    .await;
    let file = client.home().write("a.txt", "one\ntwo\n");
    let new = json!({ "cwd": client.home().workspace(), "mcpServers": [] });
    let opened = client.request("session/new", new).await.unwrap();
    assert_eq!(opened["modes"]["currentModeId"], "build");
    let options: Vec<_> = opened["configOptions"].as_array().unwrap().iter().map(|option| &option["id"]).collect();
    assert_eq!(options, ["mode", "model", "permission"]);
    let session = opened["sessionId"].as_str().unwrap().to_owned();

    let prompt = client.prompt(&session, "go");
    let (ask, params) = client.await_request("session/request_permission").await;
    let shown = params["toolCall"]["content"].as_array().unwrap();
    let diffs: Vec<_> = shown.iter().filter(|block| block["type"] == "diff").collect();
    assert_eq!(diffs.len(), 1, "{params}");
    assert_eq!(*diffs[0], json!({ "type": "diff", "path": file, "oldText": "one\ntwo\n", "newText": "ONE\ntwo\n" }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n", "nothing is written before the answer");
    let allow = params["options"].as_array().unwrap().iter().find(|option| option["kind"] == "allow_once").unwrap();
    client.respond(&ask, json!({ "outcome": { "outcome": "selected", "optionId": allow["optionId"] } }));
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ONE\ntwo\n");

    let updates = updates(&client);
    let calls: Vec<_> = of_kind(&updates, "tool_call").iter().map(|call| json!([call["name"], call["kind"]])).collect();
    assert_eq!(calls, [json!(["read", "read"]), json!(["todowrite", "think"]), json!(["edit", "edit"])]);
    let ended: Vec<_> = of_kind(&updates, "tool_call_update")
        .into_iter()
        .filter(|call| call["status"] == "completed")
        .map(|call| json!([call["locations"][0]["path"], call["content"][0]["type"]]))
        .collect();
    assert_eq!(ended, [json!([file, "content"]), json!([null, "content"]), json!([file, "diff"])]);
    // R9.4
    let edit = of_kind(&updates, "tool_call_update").into_iter().rfind(|call| call["status"] == "completed").unwrap();
    let allowed_by = edit["_meta"]["copydesk"]["allowedBy"][0].as_str().unwrap();
    assert!(allowed_by.ends_with(": your answer to this question"), "{edit}");
    assert_eq!(of_kind(&updates, "plan")[0]["entries"][0]["content"], "Rename");
    assert_eq!(of_kind(&updates, "agent_message_chunk")[0]["content"]["text"], "Done.");
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn r21_1_the_output_of_a_command_is_told_while_it_runs() {
    let waits = "echo first; until [ -e go ]; do sleep 0.02; done; echo last";
    let (model, client) = with_model([command(waits), Reply::text("Done.")], json!({})).await;
    client.answer_permissions_with("allow_once");
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    let is_first = |params: &Value| params["update"]["content"][0]["content"]["text"] == "first\n";
    let shown = client.await_notification_that("session/update", is_first).await;
    assert_eq!(
        (&shown["update"]["sessionUpdate"], &shown["update"]["status"]),
        (&json!("tool_call_update"), &json!("in_progress"))
    );
    client.home().write("go", "");
    client.await_response(prompt).await.unwrap();
    let updates = updates(&client);
    let ended = of_kind(&updates, "tool_call_update").into_iter().find(|update| update["status"] == "completed");
    assert_eq!(ended.unwrap()["content"][0]["content"]["text"], "first\nlast\n[exit code 0]");
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn modes_and_options_are_told_in_step() {
    let (model, client) = with_model([], json!({})).await;
    let session = client.new_session().await;
    client.request("session/set_mode", json!({ "sessionId": session, "modeId": "plan" })).await.unwrap();
    let option = client.await_update("config_option_update").await;
    assert_eq!(option["configOptions"][0]["currentValue"], "plan");
    assert_eq!(client.await_update("current_mode_update").await["currentModeId"], "plan");
    let set = json!({ "sessionId": session, "configId": "mode", "value": "build" });
    let answer = client.request("session/set_config_option", set).await.unwrap();
    assert_eq!(answer["configOptions"][0]["currentValue"], "build");
    assert_eq!(client.await_update("current_mode_update").await["currentModeId"], "build");
    client.await_update("config_option_update").await;
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn r2_3_a_turn_is_cancelled_by_either_word() {
    let gate = Gate::new();
    let held = gate.clone();
    let (model, client) = with_model(Script::function(move |_| Reply::text("one").then_wait(&held)), json!({})).await;
    client.disregard("session/update");
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    model.wait_for_requests(1).await;
    for _ in 0..2 {
        client.notify("session/cancel", json!({ "sessionId": session }));
    }
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
    let prompt = client.prompt(&session, "again");
    model.wait_for_requests(2).await;
    client.notify("$/cancel_request", json!({ "requestId": prompt }));
    assert_eq!(client.await_response(prompt).await.unwrap_err().code, -32800);
    model.wait_for_abandoned(2).await;
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn r2_3_a_cancel_withdraws_the_ask() {
    let (model, client) = with_model([command("kill -0 0")], json!({})).await;
    client.disregard("session/update");
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    client.await_request("session/request_permission").await;
    client.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
    // `finish` fails on an ask that is left open.
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn r16_2_an_ask_that_the_client_cannot_take_is_denied_at_once() {
    let (model, client) = with_model([command("touch asked"), Reply::text("Then not.")], json!({})).await;
    client.disregard("session/update");
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    let (ask, _) = client.await_request("session/request_permission").await;
    let start = std::time::Instant::now();
    client.respond_with_error(&ask, -32601, "\"Method not found\": session/request_permission");
    client.await_response(prompt).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(!client.home().workspace().join("asked").exists());
    client.finish().await;
    drop(model);
}

#[tokio::test]
async fn r22_1_pending_asks_do_not_delay_a_ping() {
    let (model, client) = with_model(Script::function(|_| command("kill -0 0")), json!({})).await;
    client.disregard("session/update");
    let mut pending = Vec::new();
    for _ in 0..50 {
        let session = client.new_session().await;
        pending.push((client.prompt(&session, "go"), session));
    }
    for _ in 0..50 {
        client.await_request("session/request_permission").await;
    }
    let start = std::time::Instant::now();
    ping(&client).await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    for (_, session) in &pending {
        client.notify("session/cancel", json!({ "sessionId": session }));
    }
    for (prompt, _) in pending {
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
    }
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn r21_1_streamed_deltas_are_merged_and_none_is_lost() {
    let words: Vec<String> = (0..2000).map(|n| format!("{n} ")).collect();
    let reply = words.iter().fold(Reply::empty(), |reply, word| reply.then_text(word));
    let (model, client) = with_model([reply], json!({})).await;
    let session = client.new_session().await;
    let start = std::time::Instant::now();
    client.turn(&session, "go").await;
    let took = start.elapsed();
    let updates = updates(&client);
    let chunks = of_kind(&updates, "agent_message_chunk");
    let text: String = chunks.iter().map(|chunk| chunk["content"]["text"].as_str().unwrap()).collect();
    assert_eq!(text, words.concat());
    let most = 30.0 * took.as_secs_f64() + 2.0;
    assert!(chunks.len() as f64 <= most, "{} chunks in {took:?}", chunks.len());
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn r22_6_end_of_input_ends_the_daemon_with_a_turn_and_an_ask_pending() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::function(move |request| {
        if request.last_text().contains("ask") { command("kill -0 0") } else { Reply::text("one").then_wait(&held) }
    });
    let (model, mut client) = with_model(script, json!({})).await;
    client.disregard("session/update");
    let mut prompts = Vec::new();
    for text in ["ask", "wait"] {
        let session = client.new_session().await;
        prompts.push(client.prompt(&session, text));
    }
    client.await_request("session/request_permission").await;
    model.wait_for_requests(2).await;
    client.close_input();
    let (code, took) = client.await_end().await;
    assert!(took < END, "{took:?}");
    assert_eq!(code, Some(0));
    for prompt in prompts {
        if client.is_answered(prompt) {
            drop(client.await_response(prompt).await);
        } else {
            client.forget_request(prompt);
        }
    }
    client.finish().await;
    model.finish();
}

/// A configuration with a key that nobody knows.
fn configure_badly(home: &Home) {
    let file = home.workspace().join("copydesk.jsonc");
    std::fs::write(file, r#"{ "instructions": 5 }"#).unwrap();
}

#[tokio::test]
async fn problems_of_the_configuration_stand_before_the_first_turn_s_text() {
    let (model, client) = with_model([Reply::text("Hello."), Reply::text("Again.")], json!({})).await;
    configure_badly(client.home());
    let session = client.new_session().await;
    for expected in [2, 1] {
        client.turn(&session, "go").await;
        let updates = updates(&client);
        let chunks = of_kind(&updates, "agent_message_chunk");
        assert_eq!(chunks.len(), expected, "{chunks:?}");
        if expected == 2 {
            let text = chunks[0]["content"]["text"].as_str().unwrap();
            assert!(text.starts_with("> **Copydesk:**\n> ") && text.contains("instructions"), "{text}");
        }
    }
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn a_client_that_shows_notices_is_told_of_problems_when_the_session_opens() {
    let (model, client) = with_model([], json!({ "session": { "notices": {} } })).await;
    configure_badly(client.home());
    client.new_session().await;
    let notice = client.await_update("notice").await;
    assert_eq!(notice["severity"], "warning");
    assert!(notice["title"].as_str().unwrap().contains("instructions"), "{notice}");
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn what_read_shows_reaches_the_model_on_both_wires_the_client_and_a_replay() {
    for wire in [Wire::ChatCompletions, Wire::Messages] {
        shown_files(wire).await;
    }
}

async fn shown_files(wire: Wire) {
    let script = [
        Reply::text("I look.")
            .then_call("read", json!({ "filePath": "a.png" }))
            .then_call("read", json!({ "filePath": "b.pdf" })),
        Reply::text("A pixel."),
        Reply::text("Black."),
    ];
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    let options = json!({ "baseURL": model.base_url(), "apiKey": "key" });
    let models = json!({ "model": { "modalities": { "input": ["text", "image", "pdf"] } } });
    let provider = json!({ "scripted": { "npm": wire.npm(), "options": options, "models": models } });
    home.configure(&json!({ "model": "scripted/model", "provider": provider }).to_string());
    home.write("a.png", BASE64_STANDARD.decode(PIXEL).unwrap());
    home.write("b.pdf", pdf_bytes(2));
    let client = FakeEditor::open_acp(home, json!({})).await;
    let session = client.new_session().await;
    client.turn(&session, "What is there?").await;
    assert_eq!(shown_by(&updates(&client)), [PIXEL], "once, at the end of its call");
    let home = client.home().clone();
    client.finish().await;

    let client = FakeEditor::open_acp(home.clone(), json!({})).await;
    let load = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    client.request("session/load", load).await.unwrap();
    assert_eq!(shown_by(&updates(&client)), [PIXEL], "again after a load");
    client.turn(&session, "Of what colour?").await;
    let image = format!("data:image/png;base64,{PIXEL}");
    let document = format!("data:application/pdf;base64,{}", BASE64_STANDARD.encode(pdf_bytes(2)));
    for request in &model.requests()[1..] {
        let results = request.results();
        assert!(results[0].ends_with("PNG image, 1 × 1 pixels, 70 bytes."), "{results:?}");
        match wire {
            Wire::ChatCompletions => {
                assert_eq!(request.images(), std::slice::from_ref(&image));
                assert!(results[1].contains("is not shown to you, since you take no documents"), "{results:?}");
            }
            Wire::Messages => assert_eq!(request.images(), [image.clone(), document.clone()]),
        }
    }
    client.disregard("session/update");
    client.finish().await;
    model.finish();
}

/// The data of all images that calls show.
fn shown_by(updates: &[Value]) -> Vec<&str> {
    of_kind(updates, "tool_call_update")
        .into_iter()
        .flat_map(|update| update["content"].as_array().into_iter().flatten())
        .filter(|item| item["content"]["type"] == "image")
        .filter_map(|item| item["content"]["data"].as_str())
        .collect()
}

/// One black pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn r12_3_an_image_reaches_the_model_is_stored_and_shown_again() {
    for wire in [Wire::ChatCompletions, Wire::Messages] {
        image_turns(wire).await;
    }
}

async fn image_turns(wire: Wire) {
    let model = ScriptedModel::start([Reply::text("A pixel."), Reply::text("Black.")]).await;
    let home = Home::new();
    let options = json!({ "baseURL": model.base_url(), "apiKey": "key" });
    let provider = json!({ "scripted": { "npm": wire.npm(), "options": options, "models": { "model": {} } } });
    home.configure(&json!({ "model": "scripted/model", "provider": provider }).to_string());
    let client = FakeEditor::open_acp(home, json!({})).await;
    let session = client.new_session().await;
    let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png", "uri": "file:///shot.png" });
    let prompt = json!([{ "type": "text", "text": "What is this?" }, image]);
    let prompt = client.send("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
    let home = client.home().clone();
    client.disregard("session/update");
    client.finish().await;

    let client = FakeEditor::open_acp(home.clone(), json!({})).await;
    let load = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    client.request("session/load", load).await.unwrap();
    let updates = updates(&client);
    let told: Vec<_> = of_kind(&updates, "user_message_chunk").iter().map(|update| &update["content"]).collect();
    assert_eq!(told, [&json!({ "type": "text", "text": "What is this?" }), &image]);
    client.turn(&session, "Of what colour?").await;
    for request in model.requests() {
        assert_eq!(request.images(), [format!("data:image/png;base64,{PIXEL}")]);
    }

    let large = json!([{ "type": "image", "data": "A".repeat(6 << 20), "mimeType": "image/png" }]);
    let refused = client.request("session/prompt", json!({ "sessionId": session, "prompt": large })).await.unwrap_err();
    assert!(refused.code == -32602 && refused.message.contains("no PNG"), "{refused:?}");
    client.disregard("session/update");
    client.finish().await;
    model.finish();
}
