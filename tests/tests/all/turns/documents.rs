//! Documents in whole turns: text that is not saved, edits through the editor, their problems, saves and reloads around commands.

use super::*;

#[tokio::test]
async fn r6_1_the_model_reads_the_text_that_is_not_saved() {
    let (model, editor, session) = start([read("notes.txt"), Reply::text("seen")]).await;
    let file = editor.home().write("notes.txt", "on the disk\n");
    editor.open_document(&uri(&file), "plaintext", "on the disk\n");
    editor.type_text(&uri(&file), (0, 3), (0, 11), "my mind 😀");
    assert_eq!(say(&editor, &session, "look").await, "end_turn");
    assert_holds(&last_results(&model)[0], "1: on my mind 😀");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r6_2_r17_3_an_edit_goes_through_the_editor_and_tells_its_new_problems() {
    let (model, editor, session) = start([edit("a.txt", "two", "zwei"), Reply::text("done")]).await;
    let file = editor.home().write("a.txt", "one\ntwo\n");
    let document = uri(&file);
    editor.open_document(&document, "plaintext", "one\ntwo\nthree\n");
    editor.script("_copydesk/diagnostics", |params| {
        let range = json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 4 } });
        let found = [json!({ "range": range, "severity": 1, "message": "no number", "source": "lint" })];
        let found = if params["documents"][0]["version"] == 2 { &found[..] } else { &[] };
        diagnostics(params, "ready", found)
    });
    assert_eq!(say(&editor, &session, "translate").await, "end_turn");
    assert_eq!(editor.document(&document).text, "one\nzwei\nthree\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n", "nothing is written behind the buffer");
    let steps: Vec<_> = editor.applied().iter().map(|applied| applied.label.clone()).collect();
    assert_eq!(steps, [Some("Copydesk: edit a.txt".to_owned())], "what the editor lists the undo step as");
    let result = &last_results(&model)[0];
    assert_holds(result, "New problems");
    assert_holds(result, "no number");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r17_1_r17_2_silent_and_old_diagnostics_are_not_ready() {
    for how in ["not_ready", "old", "silent", "error", "nonsense"] {
        let (model, editor, session) = start([edit("a.txt", "one", "eins"), Reply::text("done")]).await;
        let file = editor.home().write("a.txt", "one\n");
        editor.open_document(&uri(&file), "plaintext", "one\n");
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } });
        let problem = json!({ "range": range, "message": "of an older text" });
        match how {
            "not_ready" => editor.script("_copydesk/diagnostics", |params| diagnostics(params, "not_ready", &[])),
            "old" => editor.script("_copydesk/diagnostics", move |params| {
                let mut answer = diagnostics(params, "ready", std::slice::from_ref(&problem));
                answer["documents"][0]["version"] = json!(1);
                answer
            }),
            "nonsense" => editor.script("_copydesk/diagnostics", |_| json!({ "documents": 7 })),
            // Taken by the loop below.
            _ => editor.unscript("_copydesk/diagnostics"),
        }
        let started = Instant::now();
        let prompt = editor.prompt(&session, "go");
        if how == "error" {
            for _ in 0..2 {
                let (id, _) = editor.await_request("_copydesk/diagnostics").await;
                editor.respond_with_error(&id, -32603, "no idea");
            }
        }
        assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
        assert!(started.elapsed() < Duration::from_secs(4), "{how}: {:?}", started.elapsed());
        let result = &last_results(&model)[0];
        assert!(!result.contains("of an older text"), "{how}: {result}");
        assert_eq!(result.contains("not ready"), !matches!(how, "error" | "nonsense"), "{how}: {result}");
        assert_eq!(editor.document(&uri(&file)).text, "eins\n");
        editor.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn r6_2_an_edit_that_the_editor_does_not_make_is_told_and_nothing_is_written() {
    for policy in [EditPolicy::Refuse("read-only".to_owned()), EditPolicy::Claim] {
        let (model, editor, session) = start([edit("a.txt", "one", "eins"), Reply::text("sorry")]).await;
        let file = editor.home().write("a.txt", "one\n");
        editor.open_document(&uri(&file), "plaintext", "one\n");
        editor.take_edits(policy.clone());
        assert_eq!(say(&editor, &session, "go").await, "end_turn");
        assert_eq!(editor.document(&uri(&file)).text, "one\n");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
        let results = model.requests().last().unwrap().body["messages"].to_string();
        assert_holds(&results, "editor");
        editor.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn what_the_agent_changed_is_saved_before_a_command_and_clean_buffers_are_reloaded_after_it() {
    let (model, editor, session) = start([
        edit("a.txt", "one", "eins"),
        bash("cat a.txt; echo new > b.txt; touch a.txt; rm c.txt"),
        Reply::text("done"),
    ])
    .await;
    let home = editor.home().clone();
    let (a, b, c) = (home.write("a.txt", "one\n"), home.write("b.txt", "old\n"), home.write("c.txt", "bye\n"));
    for (file, text) in [(&a, "one\n"), (&b, "old\n"), (&c, "bye\n")] {
        editor.open_document(&uri(file), "plaintext", text);
    }
    editor.answer_permissions_with("allow_once");
    editor.unscript("_copydesk/save");
    editor.unscript("_copydesk/files_changed");
    let prompt = editor.prompt(&session, "go");
    let (id, params) = editor.await_request("_copydesk/save").await;
    assert_eq!(params, json!({ "uris": [uri(&a)] }));
    editor.save_document(&uri(&a));
    editor.respond(&id, json!({ "unsaved": [] }));
    let (id, params) = editor.await_request("_copydesk/files_changed").await;
    let mut files = params["files"].as_array().unwrap().clone();
    files.sort_by_key(|file| file["uri"].as_str().unwrap().to_owned());
    assert_eq!(files, [json!({ "uri": uri(&b), "kind": "changed" }), json!({ "uri": uri(&c), "kind": "deleted" })]);
    editor.respond(&id, json!({ "reloaded": [uri(&b)], "conflicts": [] }));
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    assert_holds(&last_results(&model)[1], "eins");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn text_of_the_user_that_is_not_saved_is_never_saved_and_said_in_the_ask_and_to_the_model() {
    let (model, editor, session) = start([bash("cat a.txt"), Reply::text("done")]).await;
    let file = editor.home().write("a.txt", "one\n");
    editor.open_document(&uri(&file), "plaintext", "one\n");
    editor.type_text(&uri(&file), (0, 0), (0, 0), "typed ");
    let prompt = editor.prompt(&session, "go");
    let (id, params) = editor.await_request("session/request_permission").await;
    assert_holds(&params["toolCall"]["content"].to_string(), "a.txt has unsaved text");
    editor.respond(&id, selected(&params, "allow_once"));
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    let result = &last_results(&model)[0];
    assert!(result.starts_with("one\n"), "{result}");
    assert_holds(result, "a.txt has unsaved text in the editor, which the command does not see");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn c39_an_edit_of_text_that_the_user_replaces_meanwhile_is_told_as_what_it_is() {
    let (model, editor, session) = start([edit("a.txt", "one", "eins"), Reply::text("sorry")]).await;
    let document = uri(&editor.home().write("a.txt", "one\n"));
    editor.open_document(&document, "plaintext", "one\n");
    editor.take_edits(EditPolicy::Ask);
    let prompt = editor.prompt(&session, "go");
    let (id, _) = editor.await_request("workspace/applyEdit").await;
    editor.type_text(&document, (0, 0), (0, 3), "uno");
    editor.respond(&id, json!({ "applied": false, "failureReason": "it has changed" }));
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    let result = last_results(&model).remove(0);
    assert!(!result.contains("reported the edit"), "{result}");
    assert_holds(&result, "uno");
    assert_eq!(editor.document(&document).text, "uno\n");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn an_edit_of_a_document_that_is_closed_meanwhile_is_asked_before_it_reaches_the_file() {
    let (model, editor, session) = start([edit("a.txt", "one", "eins"), Reply::text("done")]).await;
    let file = editor.home().write("a.txt", "one\n");
    editor.open_document(&uri(&file), "plaintext", "one\n");
    editor.take_edits(EditPolicy::Ask);
    let prompt = editor.prompt(&session, "go");
    let (id, _) = editor.await_request("workspace/applyEdit").await;
    editor.close_document(&uri(&file));
    editor.respond(&id, json!({ "applied": false, "failureReason": "it is closed" }));
    let (id, params) = editor.await_request("session/request_permission").await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    editor.respond(&id, selected(&params, "allow_once"));
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "eins\n");
    editor.finish().await;
    model.finish();
}
