//! Asks in whole turns: every kind of answer, and what the settings of the editor may say of them.

use super::*;

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
        editor.respond_wrongly(&id, answer.clone());
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
        if request.last_text().contains("run it") { bash("kill -0 0") } else { Reply::text("fine") }
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
        let model = ScriptedModel::start([bash("kill -0 0"), Reply::text("done")]).await;
        let home = Home::new();
        home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "bash": user } }));
        let capabilities = Capabilities { settings: settings.clone(), ..Capabilities::default() };
        // The session is asked for right behind `initialized`: it waits for the settings.
        let editor = FakeEditor::open_with(home, capabilities).await;
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
