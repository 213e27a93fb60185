//! Formatters that really run, in the sandbox where the machine has one, after edits by the built daemon. Needs the program: `cargo build -p copydesk`.

use std::path::{Path, PathBuf};
use std::process::Command;

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

/// A formatter that is known by its name, whose program stands in this folder: the text that is left of an edit in the project, and its result.
async fn formatted_by(programs: &Path, files: &[(&str, &str)], edit: [&str; 3]) -> (String, String) {
    let [file, old, new] = edit;
    let call = json!({ "filePath": file, "oldString": old, "newString": new });
    let model = ScriptedModel::start([Reply::call("edit", call), Reply::text("done")]).await;
    let mut home = Home::new();
    home.set_variable("PATH", &format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
    let keys = json!({ "permission": { "edit": "allow" }, "formatter": true, "lsp": false });
    home.use_model_with(&model.base_url(), json!({}), keys);
    files.iter().for_each(|(name, text)| drop(home.write(name, text)));
    let folders = vec![uri(&home.workspace())];
    let opt_in = json!({ "protocol": 1, "acp": {} });
    let editor = FakeEditor::open_with(home, Capabilities { opt_in, folders, ..Capabilities::default() }).await;
    editor.disregard("session/update");
    let session = editor.new_session().await;
    editor.turn(&session, "go").await;
    let result = model.requests().last().unwrap().results()[0].to_owned();
    let text = std::fs::read_to_string(editor.home().workspace().join(file)).unwrap();
    editor.finish().await;
    model.finish();
    (text, result)
}

/// The toolchain's own, past the proxy that `rustup` puts before it.
fn rustfmt() -> PathBuf {
    let found = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let folder = Path::new(String::from_utf8(found.stdout).unwrap().trim()).join("bin");
    assert!(folder.join("rustfmt").is_file(), "no rustfmt in {}: run `cargo xtask test`", folder.display());
    folder
}

fn ruff() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("target/tools/ruff/bin");
    assert!(folder.join("ruff").is_file(), "no ruff in {}: run `cargo xtask test`", folder.display());
    folder
}

#[tokio::test]
async fn the_real_rustfmt_formats_what_an_edit_made() {
    let manifest = "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let files = [("Cargo.toml", manifest), ("src/main.rs", "fn main() {\n    old();\n}\n")];
    let (text, result) = formatted_by(&rustfmt(), &files, ["src/main.rs", "old()", "f( 1,2 )"]).await;
    assert_eq!(text, "fn main() {\n    f(1, 2);\n}\n", "{result}");
    assert!(result.contains("rustfmt formatted it"), "{result}");
}

#[tokio::test]
async fn the_real_ruff_formats_what_an_edit_made() {
    let files = [("ruff.toml", "line-length = 80\n"), ("a.py", "x = old\n")];
    let (text, result) = formatted_by(&ruff(), &files, ["a.py", "old", "{ 'a':1 }"]).await;
    assert_eq!(text, "x = {\"a\": 1}\n", "{result}");
    assert!(result.contains("ruff formatted it"), "{result}");
}

/// Text that it cannot read stays as the edit made it, and the model is told.
#[tokio::test]
async fn what_the_real_ruff_cannot_read_stays_as_it_is() {
    let files = [("ruff.toml", ""), ("a.py", "x = old\n")];
    let (text, result) = formatted_by(&ruff(), &files, ["a.py", "old", "( 1,"]).await;
    assert_eq!(text, "x = ( 1,\n", "{result}");
    assert!(result.contains("ruff"), "{result}");
}
