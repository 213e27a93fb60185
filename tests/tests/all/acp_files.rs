//! The files of an ACP client: unsaved text is read and written through `fs/*`, and nothing is written behind a dirty buffer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::FakeEditor;
use copydesk_tests::scripted_model::{Reply, ScriptedModel};
use serde_json::{Value, json};

/// Buffers that differ from their files, or are to be followed.
#[derive(Clone, Default)]
struct Buffers(Arc<Mutex<HashMap<PathBuf, String>>>);

impl Buffers {
    fn put(&self, file: &Path, text: &str) {
        self.0.lock().unwrap().insert(file.to_owned(), text.to_owned());
    }

    fn text(&self, file: &Path) -> String {
        self.0.lock().unwrap()[file].clone()
    }

    /// Answers `fs/*` from the buffers, else from the disk; writing saves.
    fn serve(&self, client: &FakeEditor) {
        let buffers = self.clone();
        client.script("fs/read_text_file", move |params| {
            let path = PathBuf::from(params["path"].as_str().unwrap());
            let buffer = buffers.0.lock().unwrap().get(&path).cloned();
            json!({ "content": buffer.unwrap_or_else(|| std::fs::read_to_string(&path).unwrap_or_default()) })
        });
        let buffers = self.clone();
        client.script("fs/write_text_file", move |params| {
            let path = PathBuf::from(params["path"].as_str().unwrap());
            let text = params["content"].as_str().unwrap();
            std::fs::write(&path, text).unwrap();
            buffers.put(&path, text);
            json!({})
        });
    }
}

async fn start(replies: Vec<Reply>, capabilities: Value) -> (ScriptedModel, FakeEditor, Buffers) {
    let model = ScriptedModel::start(replies).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let client = FakeEditor::open_acp(home, capabilities).await;
    client.disregard("session/update");
    client.answer_permissions_with("allow_once");
    let buffers = Buffers::default();
    buffers.serve(&client);
    (model, client, buffers)
}

fn files() -> Value {
    json!({ "fs": { "readTextFile": true, "writeTextFile": true } })
}

fn read() -> Reply {
    Reply::call("read", json!({ "filePath": "a.txt" }))
}

fn edit(old: &str, new: &str) -> Reply {
    Reply::call("edit", json!({ "filePath": "a.txt", "oldString": old, "newString": new }))
}

async fn turn(client: &FakeEditor) {
    let session = client.new_session().await;
    client.turn(&session, "go").await;
}

/// The results of the tools, in order.
fn results(model: &ScriptedModel) -> Vec<String> {
    model.requests().last().unwrap().results().into_iter().map(|result| result.to_string()).collect()
}

#[tokio::test]
async fn r6_1_r6_2_unsaved_text_is_read_and_edited_where_it_is() {
    let (model, client, buffers) = start(vec![read(), edit("one", "ONE"), Reply::text("done")], files()).await;
    let file = client.home().write("a.txt", "one\n");
    buffers.put(&file, "one\nunsaved\n");
    turn(&client).await;
    let results = results(&model);
    assert!(results[0].contains("unsaved") && results[0].contains("the editor's text"), "{results:?}");
    assert_eq!(buffers.text(&file), "ONE\nunsaved\n");
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn a_stale_answer_after_a_command_does_not_undo_what_the_command_did() {
    let command =
        Reply::call("bash", json!({ "command": "printf 'two\\nby the command\\n' > a.txt", "description": "x" }));
    let (model, client, buffers) = start(vec![read(), command, edit("two", "TWO"), Reply::text("done")], files()).await;
    let file = client.home().write("a.txt", "one\n");
    buffers.put(&file, "one\n");
    turn(&client).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "TWO\nby the command\n");
    assert_eq!(buffers.text(&file), "TWO\nby the command\n", "the buffer follows");
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn a_client_without_files_is_never_asked_for_them() {
    let (model, client, _) = start(vec![read(), edit("one", "ONE"), Reply::text("done")], json!({})).await;
    let file = client.home().write("a.txt", "one\n");
    for method in ["fs/read_text_file", "fs/write_text_file"] {
        client.script(method, |_| panic!("not offered"));
    }
    turn(&client).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ONE\n");
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn r6_2_a_dirty_buffer_that_cannot_be_written_is_left_alone_and_its_file_too() {
    let (model, client, buffers) =
        start(vec![edit("unsaved", "changed"), Reply::text("then not")], json!({ "fs": { "readTextFile": true } }))
            .await;
    let file = client.home().write("a.txt", "one\n");
    buffers.put(&file, "unsaved\n");
    turn(&client).await;
    let results = results(&model);
    assert!(results[0].contains("ask the user to save it"), "{results:?}");
    assert_eq!(
        (std::fs::read_to_string(&file).unwrap().as_str(), buffers.text(&file).as_str()),
        ("one\n", "unsaved\n")
    );
    client.finish().await;
    model.finish();
}
