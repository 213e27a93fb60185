//! Undo by the built daemon in an editor that is played: what a daemon did that was killed, in open documents and outside of them. Needs the program:
//! `cargo build -p copydesk`.

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::json;

#[tokio::test]
async fn c33_r12_2_what_a_killed_daemon_did_is_undone_and_redone_with_the_users_typing_left_alone() {
    let model = ScriptedModel::start(Script::function(|request| match request.results().len() {
        0 => Reply::call("edit", json!({ "filePath": "a.txt", "oldString": "two", "newString": "TWO" }))
            .then_call("write", json!({ "filePath": "made/new.txt", "content": "new\n" })),
        _ => Reply::text("done"),
    }))
    .await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let file = home.write("a.txt", "one\ntwo\nthree\n");
    let document = uri(&file);
    let made = home.workspace().join("made");
    let editor = FakeEditor::open(home.clone()).await;
    editor.disregard("session/update");
    editor.answer_permissions_with("allow_once");
    editor.open_document(&document, "text", "one\ntwo\nthree\n");
    let session = editor.new_session().await;
    editor.turn(&session, "Shout").await;
    assert_eq!(editor.document(&document).text, "one\nTWO\nthree\n");
    editor.save_document(&document);
    assert!(made.join("new.txt").exists());
    editor.kill().await;
    std::fs::write(&file, "one\nTWO\nthree\n").unwrap();

    let editor = FakeEditor::open(home.clone()).await;
    let load = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    editor.request("session/load", load).await.unwrap();
    editor.open_document(&document, "text", "one\nTWO\nthree\n");
    editor.type_text(&document, (0, 0), (0, 0), "mine\n\n");
    editor.take_notifications("session/update");
    for (command, text, is_there) in
        [("/undo", "mine\n\none\ntwo\nthree\n", false), ("/redo", "mine\n\none\nTWO\nthree\n", true)]
    {
        let asked = model.requests().len();
        editor.turn(&session, command).await;
        assert_eq!(editor.document(&document).text, text, "{command}");
        assert_eq!(made.exists(), is_there, "{command}");
        let said: String = editor
            .take_notifications("session/update")
            .iter()
            .filter_map(|params| params["update"]["content"]["text"].as_str().map(str::to_owned))
            .collect();
        assert!(said.contains("of the turn \"Shout\"") && said.contains("a.txt: restored"), "{said}");
        assert_eq!(model.requests().len(), asked, "no model is asked");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\nTWO\nthree\n", "nothing is written behind the buffer");
    editor.finish().await;
    model.finish();
}
