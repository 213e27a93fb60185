//! The tool `lsp` over the language servers of the editor, which the test plays. Needs the program: `cargo build -p copydesk`.

use std::sync::{Arc, Mutex};

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, ScriptedModel};
use serde_json::{Value, json};

struct Seen {
    /// What the model was told of the action.
    result: String,
    text: String,
    asks: usize,
    edits: usize,
    /// Methods that the editor's server was sent.
    sent: Vec<String>,
}

/// The model carries out the action `Fix`, a command of the editor's server that wants `one` to be `two`.
async fn fixed(languages: Value, version: i64) -> Seen {
    let home = Home::new();
    let file = uri(&home.write("a.txt", "one\n"));
    let fix = json!({ "operation": "codeAction", "filePath": "a.txt", "line": 1, "title": "Fix" });
    let model = ScriptedModel::start([Reply::call("lsp", fix), Reply::text("done")]).await;
    let config = json!({ "permission": { "edit": "ask" }, "tools": { "lsp": true } });
    home.use_model_with(&model.base_url(), json!({}), config);
    let mut opt_in = json!({ "protocol": 1, "acp": {}, "language": true });
    opt_in.as_object_mut().unwrap().extend(languages.as_object().unwrap().clone());
    let folders = vec![uri(&home.workspace())];
    let editor = FakeEditor::open_with(home, Capabilities { opt_in, folders, ..Capabilities::default() }).await;
    editor.disregard("session/update");
    let asks = Arc::new(Mutex::new(0));
    let asked = Arc::clone(&asks);
    editor.script("session/request_permission", move |params| {
        *asked.lock().unwrap() += 1;
        let options = params["options"].as_array().unwrap();
        let chosen = options.iter().find(|option| option["kind"] == "allow_once").unwrap();
        json!({ "outcome": { "outcome": "selected", "optionId": chosen["optionId"] } })
    });
    let sent: Arc<Mutex<Vec<String>>> = Arc::default();
    let (methods, named) = (Arc::clone(&sent), file.clone());
    editor.script("_copydesk/language", move |params| {
        let method = params["method"].as_str().unwrap();
        methods.lock().unwrap().push(method.to_owned());
        let command = json!({ "title": "Fix", "command": "gopls.apply_fix", "arguments": [7] });
        let result = match method {
            "textDocument/codeAction" => json!([{ "title": "Fix", "command": command }]),
            "workspace/executeCommand" => {
                assert_eq!(params["params"], json!({ "command": "gopls.apply_fix", "arguments": [7] }));
                assert_eq!(params["server"], "played");
                let at = |character| json!({ "line": 0, "character": character });
                let edit = json!({ "range": { "start": at(0), "end": at(3) }, "newText": "two" });
                json!([{ "changes": { &named: [edit] } }])
            }
            other => panic!("{other}"),
        };
        let versions = json!([{ "uri": &named, "version": version }]);
        json!({ "state": "ready", "server": "played", "result": result, "versions": versions })
    });
    editor.open_document(&file, "text", "one\n");
    let session = editor.new_session().await;
    editor.turn(&session, "go").await;
    let requests = model.requests();
    let seen = Seen {
        result: requests.last().unwrap().results()[0].to_owned(),
        text: editor.document(&file).text,
        asks: *asks.lock().unwrap(),
        edits: editor.applied().len(),
        sent: sent.lock().unwrap().clone(),
    };
    editor.finish().await;
    model.finish();
    seen
}

#[tokio::test]
async fn r4_1_what_a_command_of_the_editor_s_server_would_edit_is_asked_for_and_is_one_edit() {
    let Seen { result, text, asks, edits, sent } = fixed(json!({ "languageCommands": true }), 1).await;
    assert!(result.contains("played did \"Fix\""), "{result}");
    assert_eq!((text.as_str(), asks, edits), ("two\n", 1, 1));
    assert!(sent.iter().any(|method| method == "workspace/executeCommand"));
}

#[tokio::test]
async fn c39_an_edit_of_a_command_that_is_of_another_text_is_not_made() {
    let Seen { result, text, edits, .. } = fixed(json!({ "languageCommands": true }), 0).await;
    assert_eq!((text.as_str(), edits), ("one\n", 0), "{result}");
}

#[tokio::test]
async fn no_command_is_run_in_an_editor_that_would_make_its_edits_at_once() {
    let Seen { result, text, asks, edits, sent } = fixed(json!({}), 1).await;
    assert!(result.contains("this editor would make its edits before they are known"), "{result}");
    assert_eq!((text.as_str(), asks, edits), ("one\n", 0, 0));
    assert!(sent.iter().all(|method| method == "textDocument/codeAction"), "{sent:?}");
}
