//! Background jobs, run by the daemon: their output, their end, and what they change on the disk.

use super::*;

fn job(action: &str, more: Value) -> Reply {
    let mut arguments = json!({ "action": action, "id": "job_1" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Reply::call("job", arguments)
}

fn background(text: &str) -> Reply {
    Reply::call("bash", json!({ "command": text, "description": "Serve", "background": true }))
}

#[tokio::test]
async fn r7_5_r6_3_a_job_goes_on_beside_turns_and_its_end_and_changes_are_told() {
    let serves = "echo starting; sleep 0.2; echo up; until [ -e go ]; do sleep 0.02; done; echo new > a.txt; exit 3";
    let (model, mut editor, session) = start([
        read("a.txt"),
        background(serves),
        job("wait", json!({ "pattern": "^up$" })),
        Reply::text("It is up."),
        Reply::text("It is down."),
    ])
    .await;
    let file = editor.home().write("a.txt", "old\n");
    let document = uri(&file);
    editor.open_document(&document, "text", "old\n");
    editor.answer_permissions_with("allow_once");
    let (told, mut files) = tokio::sync::mpsc::unbounded_channel();
    editor.script("_copydesk/files_changed", move |params| {
        told.send(params.clone()).unwrap();
        json!({ "reloaded": [params["files"][0]["uri"]], "conflicts": [] })
    });
    assert_eq!(say(&editor, &session, "serve").await, "end_turn");
    let results = last_results(&model);
    assert_holds(&results[1], "in the background as job_1");
    assert_holds(&results[2], "starting\nup\n[this line matches: up]\n[job_1 has been running");
    editor.home().write("go", "");
    let params = files.recv().await.unwrap();
    assert_eq!(params["files"], json!([{ "uri": document, "kind": "changed" }]));
    let shown = editor.await_notification("window/showMessage").await;
    assert_holds(shown["message"].as_str().unwrap(), "has ended: exit code 3.");
    assert_eq!(say(&editor, &session, "and now?").await, "end_turn");
    let request = model.requests().pop().unwrap();
    assert_holds(request.last_text(), "has ended: exit code 3.");
    assert_holds(request.last_text(), "[a.txt was changed meanwhile");
    editor.close_input();
    editor.await_end().await;
    editor.finish().await;
    model.finish();
}

const DEAF: &str = "trap '' TERM INT HUP";

/// A job that ends by force alone, with a child that has left its session.
fn deaf(job: &Beacon, child: &Beacon) -> Reply {
    background(&format!(
        "{DEAF}; (setsid bash -c '{DEAF}; {}; while :; do sleep 600; done') & {}; while :; do sleep 600; done",
        child.light(),
        job.light()
    ))
}

#[tokio::test]
async fn r7_5_a_job_dies_with_its_session_and_its_daemon_however_deaf_it_is() {
    for way in ["close", "input", "kill"] {
        let (beacon, child) = (Beacon::new().await, Beacon::new().await);
        let (model, mut editor, session) = start([deaf(&beacon, &child), Reply::text("It serves.")]).await;
        editor.answer_permissions_with("allow_once");
        assert_eq!(say(&editor, &session, "serve").await, "end_turn");
        let (running, child) = (beacon.seen().await, child.seen().await);
        match way {
            "close" => {
                editor.request("session/close", json!({ "sessionId": session })).await.unwrap();
            }
            "input" => {
                editor.close_input();
                let (_, took) = editor.await_end().await;
                assert!(took < Duration::from_secs(2), "{took:?}");
            }
            _ => {
                let process = editor.process().unwrap().to_string();
                assert!(std::process::Command::new("kill").args(["-s", "KILL", &process]).status().unwrap().success());
                editor.await_end().await;
            }
        }
        for connection in [running, child] {
            assert_gone(connection, Duration::from_secs(5)).await;
        }
        editor.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn r2_4_a_cancel_ends_the_jobs_that_its_turn_has_started() {
    let (beacon, child) = (Beacon::new().await, Beacon::new().await);
    let (model, editor, session) = start([deaf(&beacon, &child), job("wait", json!({ "pattern": "never" }))]).await;
    editor.answer_permissions_with("allow_once");
    let prompt = editor.prompt(&session, "serve");
    let (running, child) = (beacon.seen().await, child.seen().await);
    editor.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(stop_reason(&editor, prompt).await, "cancelled");
    for connection in [running, child] {
        assert_gone(connection, Duration::from_secs(2)).await;
    }
    editor.finish().await;
    model.finish();
}
