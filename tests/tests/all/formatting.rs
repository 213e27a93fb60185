//! Formatters of the user's own that really run, in the sandbox where the machine has one, after edits by the built daemon. Needs the program: `cargo build -p copydesk`.

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::json;

/// One edit of `a.txt` under two formatters, of which one takes a copy of the file. The result, the file and the names beside it.
async fn edited(open: Option<&str>) -> (String, String, Vec<String>, Option<String>) {
    let model = ScriptedModel::start(Script::function(move |request| match request.results().is_empty() {
        true => Reply::call("edit", json!({ "filePath": "a.txt", "oldString": "old", "newString": "b=1" })),
        false => Reply::text("done"),
    }))
    .await;
    let home = Home::new();
    let formatter = json!({
        "copy": { "command": ["sed", "-i", "s/b/B/", "$FILE"], "extensions": ["txt"] },
        "pipe": { "command": ["tr", "=", "~"], "extensions": [".txt"] },
    });
    home.use_model_with(
        &model.base_url(),
        json!({}),
        json!({ "permission": { "edit": "allow" }, "formatter": formatter }),
    );
    let document = uri(&home.write("a.txt", "old\nlast\n"));
    let folders = vec![uri(&home.workspace())];
    let editor = FakeEditor::open_with(home, Capabilities { folders, ..Capabilities::default() }).await;
    editor.disregard("session/update");
    editor.script(
        "_copydesk/diagnostics",
        |params| json!({ "documents": [{ "uri": params["documents"][0]["uri"], "state": "unavailable" }] }),
    );
    if let Some(text) = open {
        editor.open_document(&document, "plaintext", text);
    }
    let session = editor.new_session().await;
    editor.turn(&session, "go").await;
    let result = model.requests().last().unwrap().results()[0].to_owned();
    let workspace = editor.home().workspace();
    let file = std::fs::read_to_string(workspace.join("a.txt")).unwrap();
    let names = std::fs::read_dir(&workspace).unwrap().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let buffer = open.map(|_| editor.document(&document).text);
    editor.finish().await;
    model.finish();
    (result, file, names, buffer)
}

#[tokio::test]
async fn a_file_is_formatted_by_a_pipe_and_by_a_copy_that_leaves_nothing_behind() {
    let (result, file, names, _) = edited(None).await;
    assert_eq!(file, "B~1\nlast\n", "{result}");
    assert!(result.contains("copy and pipe formatted it") && result.contains("-b=1\n+B~1"), "{result}");
    assert_eq!(names.iter().filter(|name| name.contains("copydesk-")).count(), 0, "{names:?}");
}

#[tokio::test]
async fn r6_2_unsaved_text_is_formatted_in_the_buffer() {
    let (result, file, _, buffer) = edited(Some("old\nunsaved\n")).await;
    assert_eq!(buffer.as_deref(), Some("B~1\nunsaved\n"), "{result}");
    assert_eq!(file, "old\nlast\n");
}
