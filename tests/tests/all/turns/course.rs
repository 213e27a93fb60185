//! The course of turns: cancels, prompts that steer, the plan agent.

use super::*;

#[tokio::test]
async fn r2_4_c47_a_cancel_ends_deaf_commands_and_what_they_started() {
    let beacon = Beacon::new().await;
    let deaf = format!("trap '' TERM INT HUP; {}; setsid sleep 600 & while :; do sleep 600; done", beacon.light());
    let (model, editor, session) =
        start(Script::function(
            move |request| {
                if request.last_text().contains("run it") { bash(&deaf) } else { Reply::text("fine") }
            },
        ))
        .await;
    editor.answer_permissions_with("allow_once");
    let prompt = editor.prompt(&session, "run it");
    let connection = beacon.seen().await;
    let cancelled = Instant::now();
    editor.notify("session/cancel", json!({ "sessionId": session }));
    assert_gone(connection, Duration::from_secs(2)).await;
    assert_eq!(stop_reason(&editor, prompt).await, "cancelled");
    assert!(cancelled.elapsed() < Duration::from_secs(4), "{:?}", cancelled.elapsed());
    assert_eq!(say(&editor, &session, "hello").await, "end_turn");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn c86_c89_cancelled_turns_leave_a_history_that_a_strict_provider_takes() {
    let gate = Gate::new();
    let held = gate.clone();
    let (model, editor, session) = start(Script::function(move |request| match request.last_text() {
        text if text.contains("go on") => Reply::text("fine"),
        text if text.contains("three") => Reply::calls([
            ("read", json!({ "filePath": "a.txt" })),
            ("bash", json!({ "command": "kill -0 0", "description": "b" })),
            ("read", json!({ "filePath": "none" })),
        ]),
        _ => read("a.txt").then_wait(&held),
    }))
    .await;
    editor.home().write("a.txt", "one\n");
    let cancel =
        |count: usize| (0..count).for_each(|_| editor.notify("session/cancel", json!({ "sessionId": session })));
    let prompt = editor.prompt(&session, "three calls");
    editor.await_request("session/request_permission").await;
    cancel(2);
    assert_eq!(stop_reason(&editor, prompt).await, "cancelled");
    let prompt = editor.prompt(&session, "stream");
    gate.reached().await;
    cancel(2);
    assert_eq!(stop_reason(&editor, prompt).await, "cancelled");
    cancel(3);
    assert_eq!(say(&editor, &session, "go on").await, "end_turn");
    gate.open();
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn prompts_that_come_while_a_turn_runs_steer_it_and_are_answered_with_it() {
    let (model, editor, session) = start(Script::function(|request| match request.results().len() {
        0 => bash("kill -0 0"),
        _ => Reply::text("as you like"),
    }))
    .await;
    let first = editor.prompt(&session, "start");
    let (id, params) = editor.await_request("session/request_permission").await;
    let second = editor.prompt(&session, "rather do this");
    let third = editor.prompt(&session, "and that");
    // Answered behind them: they are stored.
    editor.request("session/set_mode", json!({ "sessionId": session, "modeId": "build" })).await.unwrap();
    editor.respond(&id, selected(&params, "allow_once"));
    for prompt in [first, second, third] {
        assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    }
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_holds(requests[1].last_text(), "rather do this");
    assert_holds(requests[1].last_text(), "and that");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn plan_changes_nothing() {
    let (model, editor, session) = start(Script::function(|request| match request.results().len() {
        0 => edit("a.txt", "one", "eins"),
        1 => Reply::call("write", json!({ "filePath": "b.txt", "content": "new" })),
        _ => Reply::text("so it is planned"),
    }))
    .await;
    let file = editor.home().write("a.txt", "one\n");
    editor.open_document(&uri(&file), "plaintext", "one\n");
    editor.request("session/set_mode", json!({ "sessionId": session, "modeId": "plan" })).await.unwrap();
    let refusal = editor.request("session/set_mode", json!({ "sessionId": session, "modeId": "nobody" })).await;
    assert_eq!(refusal.unwrap_err().code, -32602);
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    assert_eq!(editor.document(&uri(&file)).text, "one\n");
    assert!(!editor.home().workspace().join("b.txt").exists());
    assert_holds(&model.requests()[0].raw_body, "plan");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn a_prompt_that_says_nothing_is_refused_and_asks_no_model() {
    let (model, editor, session) = start([Reply::text("fine")]).await;
    for blocks in [json!([]), json!([{ "type": "text", "text": "" }]), json!([{ "type": "text", "text": " \n" }])] {
        let params = json!({ "sessionId": session, "prompt": blocks });
        assert_eq!(editor.request("session/prompt", params).await.unwrap_err().code, -32602, "{blocks}");
    }
    assert_eq!(say(&editor, &session, "hello").await, "end_turn");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r2_3_a_flood_of_prompts_is_answered_each_of_them() {
    let gate = Gate::new();
    let held = gate.clone();
    let (model, editor, session) = start(Script::function(move |_| Reply::text("fine").then_wait(&held))).await;
    let prompts: Vec<i64> = (0..600).map(|n| editor.prompt(&session, &format!("prompt {n}"))).collect();
    gate.reached().await;
    gate.open();
    let mut done = 0;
    for prompt in prompts {
        match editor.await_response(prompt).await {
            Ok(answer) => {
                assert_eq!(answer["stopReason"], "end_turn");
                done += 1;
            }
            // "Overloaded": the prompt was not taken.
            Err(refusal) => assert_eq!(refusal.code, -32001, "{}", refusal.message),
        }
    }
    assert!(done >= 256, "{done}");
    assert_eq!(say(&editor, &session, "hello").await, "end_turn");
    editor.finish().await;
    model.finish();
}
