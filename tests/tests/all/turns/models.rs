//! Models in whole turns: odd streams, faults, silence, and wrong configurations.

use super::*;

#[tokio::test]
async fn without_a_model_the_prompt_says_what_to_do() {
    let (editor, session) = open(Home::new()).await;
    let refusal = editor.request("session/prompt", prompt_params(&session, "hello")).await;
    let message = refusal.unwrap_err().message;
    assert_holds(&message, "model");
    assert_holds(&message, "copydesk.jsonc");
    editor.finish().await;
}

#[tokio::test]
async fn a_wrong_configuration_names_file_line_and_key_and_the_rest_is_in_force() {
    let model = ScriptedModel::start([Reply::text("fine")]).await;
    let home = Home::new();
    home.configure(&format!(
        "{{\n  \"model\": \"scripted/model\",\n  \"permission\": 7,\n  \"provider\": {{ \"scripted\": {{ \"options\": {{ \"baseURL\": \"{}\" }}, \"models\": {{ \"model\": {{}} }} }} }}\n}}",
        model.base_url()
    ));
    let (editor, session) = open(home).await;
    let notice = editor.await_notification("window/showMessage").await;
    let text = notice["message"].as_str().unwrap();
    assert_holds(text, "copydesk.jsonc:3: permission");
    assert_eq!(say(&editor, &session, "hello").await, "end_turn");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r10_3_c81_faults_of_the_provider_are_told_and_cost_one_turn() {
    let page = Reply::refuse(500, "").header("content-type", "text/html");
    let faults: Vec<(Reply, &str)> = vec![
        (Reply::refuse(401, "bad key"), "key"),
        (Reply::refuse(404, "no such model"), "model"),
        (Reply::refuse(429, "slow down").header("retry-after", "7"), "7 s"),
        (Reply::refuse(400, "odd"), "refuses"),
        (page, "500"),
        (Reply::text("half an ans").cut(), "broke"),
        (Reply::empty().then_call("bash", json!("{\"command\": \"tou")).cut(), "broke"),
        (Reply::raw("data: {\"error\": {\"message\": \"out of luck\", \"code\": 500}}\n\n"), "out of luck"),
        (Reply::raw("{\"error\": {\"message\": \"out of luck\"}}"), "out of luck"),
        (Reply::raw("data: {\"choices\": [{\"del\n\n"), ""),
        (Reply::raw("data: 17\n\n"), ""),
        (Reply::raw(""), ""),
        (Reply::raw("data: [DONE]\n\n"), ""),
        (Reply::raw("<html><title>Login</title></html>"), "baseURL"),
    ];
    let mut replies = Vec::new();
    let mut texts = Vec::new();
    for (reply, text) in faults {
        replies.extend([reply, Reply::text("fine")]);
        texts.push(text);
    }
    let (model, editor, session) = start_with(replies, json!({ "maxRetries": 0 }), json!({})).await;
    for (n, text) in texts.into_iter().enumerate() {
        let prompt = prompt_params(&session, "go");
        let message = editor.request("session/prompt", prompt).await.expect_err(&format!("fault {n}")).message;
        assert!(message.contains(text) && message.len() > 20, "fault {n}: {text:?} is not in {message:?}");
        assert_eq!(say(&editor, &session, "again").await, "end_turn", "fault {n}");
    }
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r10_3_nobody_listens_and_silence_have_texts_of_their_own() {
    let gate = Gate::new();
    let (model, editor, session) = start_with(
        [Reply::text("begun").then_wait(&gate), Reply::text("fine")],
        json!({ "headerTimeout": 2000, "chunkTimeout": 300, "maxRetries": 0 }),
        json!({}),
    )
    .await;
    let prompt = || prompt_params(&session, "go");
    let message = editor.request("session/prompt", prompt()).await.unwrap_err().message;
    assert_holds(&message, "chunkTimeout");
    assert_eq!(say(&editor, &session, "again").await, "end_turn");
    editor.finish().await;
    gate.open();
    model.finish();

    let closed = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let home = Home::new();
    let address = format!("http://{}/v1", closed.local_addr().unwrap());
    home.use_model_with(&address, json!({ "maxRetries": 0 }), json!({}));
    drop(closed);
    let (editor, session) = open(home).await;
    let prompt = prompt_params(&session, "go");
    assert_holds(&editor.request("session/prompt", prompt).await.unwrap_err().message, "Nothing answers at");
    editor.finish().await;
}

#[tokio::test]
async fn c77_c78_c79_r14_2_odd_streams_run_their_calls() {
    let chunk = |choices: Value, usage: Value| format!("data: {}\n\n", json!({ "choices": choices, "usage": usage }));
    let delta = |delta: Value| chunk(json!([{ "delta": delta }]), Value::Null);
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 3 });
    let call = |id: Value, arguments: &str| json!({ "tool_calls": [{ "id": id, "function": { "name": "read", "arguments": arguments } }] });
    let path = r#"{"filePath":"a.txt"}"#;
    let streams = vec![
        chunk(json!([]), usage.clone())
            + &delta(call(Value::Null, path))
            + &chunk(Value::Null, usage.clone())
            + "data: [DONE]\n\n",
        delta(call(json!(""), path)) + ": ping\n\n" + &delta(json!({ "content": null })) + "data: [DONE]\n\n",
        delta(call(json!("same"), path)) + &chunk(json!([{ "delta": {}, "finish_reason": "stop" }]), usage.clone()),
        delta(call(json!("same"), path)) + &chunk(json!([{ "delta": {}, "finish_reason": "tool_calls" }]), usage),
    ];
    let mut replies = Vec::new();
    for stream in streams {
        replies.extend([Reply::raw(stream), Reply::text("fine")]);
    }
    let count = replies.len() / 2;
    let (model, editor, session) = start(replies).await;
    editor.home().write("a.txt", "one\n");
    for n in 1..=count {
        assert_eq!(say(&editor, &session, "go").await, "end_turn", "stream {n}");
        let results = last_results(&model);
        assert_eq!(results.len(), n);
        assert_holds(&results[n - 1], "1: one");
    }
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn c82_r14_4_a_call_that_the_limit_cut_is_not_run() {
    let cut = Reply::empty().then_call("write", json!("{\"filePath\": \"a.txt\", \"content\": \"def")).finish("length");
    let (model, editor, session) = start([cut, Reply::text("in parts then")]).await;
    let file = editor.home().write("a.txt", "a".repeat(16 * 1024));
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 16 * 1024);
    assert_holds(&last_results(&model)[0], "in parts");
    editor.finish().await;
    model.finish();
}
