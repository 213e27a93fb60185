//! Diffs of what the agent did, from the built program: over the wire and at the command line. Needs the program: `cargo build -p copydesk`.

use std::path::Path;
use std::process::Command;

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, ScriptedModel};
use serde_json::{Value, json};

fn git(folder: &Path, arguments: &[&str]) {
    let ended = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

fn edit(old: &str, new: &str) -> Reply {
    Reply::call("edit", json!({ "filePath": "a.txt", "oldString": old, "newString": new }))
}

fn write(path: &str, text: &str) -> Reply {
    Reply::call("write", json!({ "filePath": path, "content": text }))
}

/// Two turns: one changes `a.txt`, the other makes `dir/new file.txt`, changes `a.txt` again and removes `gone.txt` by a command.
async fn start() -> (ScriptedModel, Home) {
    let model = ScriptedModel::start([
        edit("1\n", "one\n"),
        Reply::text("First done."),
        write("dir/new file.txt", "new\nfile"),
        edit("3\n", "three\n"),
        Reply::call("bash", json!({ "command": "rm gone.txt", "description": "Remove it" })),
        Reply::text("Second done."),
    ])
    .await;
    let home = Home::new();
    let keys = json!({ "permission": { "edit": "allow", "bash": "allow" } });
    home.use_model_with(&model.base_url(), json!({}), keys);
    git(&home.workspace(), &["init", "-q"]);
    home.write("a.txt", "1\n2\n3\n");
    home.write("gone.txt", "gone\n");
    git(&home.workspace(), &["add", "-A"]);
    git(&home.workspace(), &["commit", "-qm", "first"]);
    (model, home)
}

async fn diff(home: &Home, arguments: &[&str]) -> String {
    let (code, output, errors) = home.ended(&[&["diff"], arguments].concat()).await;
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{arguments:?}");
    output
}

const LAST_TURN: &str = "\
diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
 2
-3
+three
diff --git a/dir/new file.txt b/dir/new file.txt
new file mode 100644
--- /dev/null
+++ b/dir/new file.txt\t
@@ -0,0 +1,2 @@
+new
+file
\\ No newline at end of file
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
";

#[tokio::test]
async fn r5_1_a_diff_of_a_turn_a_session_or_against_head_comes_from_the_command_line() {
    let (model, home) = start().await;
    let (code, _, errors) = home.ended(&["diff"]).await;
    assert_eq!(code, Some(1));
    assert!(errors.contains("There was no session in"), "{errors}");
    for arguments in [&["run", "first"][..], &["run", "-c", "second"]] {
        let (code, _, errors) = home.ended(arguments).await;
        assert_eq!(code, Some(0), "{errors}");
    }
    assert_eq!(diff(&home, &[]).await, LAST_TURN);
    let all = diff(&home, &["--all"]).await;
    assert!(all.contains("-1\n+one\n 2\n-3\n+three\n"), "{all}");
    assert_eq!(
        diff(&home, &["--all", "--stat"]).await,
        " a.txt            | 4 ++--\n dir/new file.txt | 2 ++\n gone.txt         | 1 -\n 3 files changed, 4 insertions(+), 3 deletions(-)\n"
    );
    let told: Value = serde_json::from_str(&diff(&home, &["--json"]).await).unwrap();
    assert_eq!((&told["diff"], &told["added"], &told["removed"]), (&json!(LAST_TURN), &json!(3), &json!(2)));
    assert_eq!(told["files"][2]["kind"], "deleted");
    assert_eq!(told["files"][0]["uri"], json!(uri(&home.workspace().join("a.txt"))));

    // The ids that `copydesk undo --turn` takes are listed, the oldest first; of turns that were undone no longer.
    let turns = async |arguments: &[&str]| -> Vec<String> {
        let told: Value = serde_json::from_str(&diff(&home, arguments).await).unwrap();
        serde_json::from_value(told["turns"].clone()).unwrap()
    };
    let both = turns(&["--all", "--json"]).await;
    assert_eq!(both.len(), 2, "{both:?}");
    assert_eq!(turns(&["--json"]).await, both[1..]);
    assert!(diff(&home, &["--turn", &both[0]]).await.contains("-1\n+one\n"));
    assert!(turns(&["--head", "--json"]).await.is_empty());
    let (code, _, errors) = home.ended(&["undo", "--turn", &both[0]]).await;
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(turns(&["--all", "--json"]).await, both[1..]);
    let (code, _, errors) = home.ended(&["undo", "--redo"]).await;
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(turns(&["--all", "--json"]).await, both);

    // Git takes the patch of the session for what it is: it makes the present files of the committed ones.
    let other = home.path().join("other");
    git(&home.path(), &["clone", "-q", home.workspace().to_str().unwrap(), other.to_str().unwrap()]);
    std::fs::write(home.path().join("all.patch"), &all).unwrap();
    git(&other, &["apply", "../all.patch"]);
    for file in ["a.txt", "dir/new file.txt"] {
        assert_eq!(std::fs::read(other.join(file)).unwrap(), std::fs::read(home.workspace().join(file)).unwrap());
    }
    assert!(!other.join("gone.txt").exists());

    // What the user has changed since is in the diff against HEAD alone.
    home.write("a.txt", "one\n2\nthree\nuser\n");
    assert_eq!(diff(&home, &["--all"]).await, all);
    let head = diff(&home, &["--head"]).await;
    assert!(head.contains("-1\n+one\n 2\n-3\n+three\n+user\n") && head.contains("-gone\n"), "{head}");
    for (arguments, code, expected) in [
        (&["diff", "--turn", "msg_9"][..], 2, "This session has no turn msg_9 that changed files."),
        (&["diff", "--session", "ses_9"], 1, "Session ses_9 is not known."),
        (&["diff", "--head", "--all"], 2, "cannot be used with"),
    ] {
        let (ended, output, errors) = home.ended(arguments).await;
        assert_eq!((ended, output.as_str()), (Some(code), ""), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
    model.finish();
}

#[tokio::test]
async fn r5_1_diffs_go_over_the_wire_and_show_what_an_editor_has_not_saved() {
    let (model, home) = start().await;
    let editor = FakeEditor::open(home).await;
    editor.disregard("session/update");
    editor.script(
        "_copydesk/diagnostics",
        |params| json!({ "documents": [{ "uri": params["documents"][0]["uri"], "state": "unavailable" }] }),
    );
    editor.script("_copydesk/files_changed", |_| json!({}));
    let document = uri(&editor.home().workspace().join("a.txt"));
    editor.open_document(&document, "plaintext", "1\n2\n3\n");
    let session = editor.new_session().await;
    let ask = async |of: Value| editor.request("_copydesk/diff", json!({ "sessionId": session, "of": of })).await;
    assert_eq!(
        ask(json!("last_turn")).await,
        Ok(json!({ "diff": "", "files": [], "turns": [], "added": 0, "removed": 0 }))
    );
    for prompt in ["first", "second"] {
        editor.turn(&session, prompt).await;
    }
    let last = editor.request("_copydesk/diff", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(last["diff"], LAST_TURN);
    let counts = last["files"].as_array().unwrap().iter().map(|file| (file["added"].clone(), file["removed"].clone()));
    assert_eq!(counts.collect::<Vec<_>>(), [(json!(1), json!(1)), (json!(2), json!(0)), (json!(0), json!(1))]);
    let head = ask(json!("head")).await.unwrap();
    let head = head["diff"].as_str().unwrap();
    assert!(head.contains("-1\n+one\n 2\n-3\n+three\n"), "the editor's text, which is not saved: {head}");
    let session_wide = ask(json!("session")).await.unwrap();
    assert!(session_wide["diff"].as_str().unwrap().contains("-1\n+one\n 2\n-3\n+three\n"));
    let unknown = ask(json!({ "turn": "msg_9" })).await.unwrap_err();
    assert_eq!((unknown.code, unknown.message.contains("msg_9")), (-32602, true));
    assert_eq!(ask(json!("yesterday")).await.unwrap_err().code, -32602);
    let other = editor.request("_copydesk/diff", json!({ "sessionId": "ses_9" })).await.unwrap_err();
    assert_eq!((other.code, other.message.contains("ses_9")), (-32002, true));
    editor.finish().await;
    model.finish();
}
