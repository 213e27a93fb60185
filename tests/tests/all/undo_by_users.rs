//! Undo and review of the agent's edits by the built daemon: over the wire, by the commands of a plain client, as a prompt, and at the command line. Needs the
//! program: `cargo build -p copydesk`.

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, Encoding, FakeEditor, Refusal, uri};
use copydesk_tests::scripted_model::{Gate, Reply, Script, ScriptedModel};
use serde_json::{Value, json};

fn edit(old: &str, new: &str) -> Reply {
    Reply::call("edit", json!({ "filePath": "a.txt", "oldString": old, "newString": new }))
}

fn write(path: &str, text: &str) -> Reply {
    Reply::call("write", json!({ "filePath": path, "content": text }))
}

/// An editor that opted in with a review, in a project with the file `a.txt`.
struct Desk {
    model: ScriptedModel,
    editor: FakeEditor,
    document: String,
    session: String,
}

impl Desk {
    async fn new(script: impl Into<Script>, text: &str, encoding: Encoding) -> Self {
        let desk = Self::looking(script, text, encoding).await;
        desk.editor.disregard("session/update");
        desk
    }

    /// That keeps what it is told of a turn.
    async fn looking(script: impl Into<Script>, text: &str, encoding: Encoding) -> Self {
        let model = ScriptedModel::start(script).await;
        let home = Home::new();
        home.use_model(&model.base_url());
        let document = uri(&home.write("a.txt", text));
        let folders = vec![uri(&home.workspace())];
        let opt_in = json!({ "protocol": 1, "acp": {}, "diagnostics": true, "save": true, "changes": true });
        let editor = FakeEditor::open_with(
            home,
            Capabilities { encodings: vec![encoding], folders, opt_in, ..Capabilities::default() },
        )
        .await;
        editor.disregard("_copydesk/changed");
        editor.script(
            "_copydesk/diagnostics",
            |params| json!({ "documents": [{ "uri": params["documents"][0]["uri"], "state": "unavailable" }] }),
        );
        editor.script("_copydesk/files_changed", |_| json!({}));
        let session = editor.new_session().await;
        Self { model, editor, document, session }
    }

    async fn turn(&self, text: &str) {
        self.editor.turn(&self.session, text).await;
    }

    /// A request with the session's id.
    async fn ask(&self, method: &str, mut params: Value) -> Result<Value, Refusal> {
        params["sessionId"] = json!(self.session);
        self.editor.request(method, params).await
    }

    async fn undo(&self, what: Value) -> Result<Value, Refusal> {
        self.ask("_copydesk/undo", json!({ "what": what })).await
    }

    async fn changes(&self, params: Value) -> Value {
        self.ask("_copydesk/changes", params).await.unwrap()
    }

    fn buffer(&self) -> String {
        self.editor.document(&self.document).text
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.editor.home().workspace().join(name)
    }

    async fn finish(self) {
        self.editor.finish().await;
        self.model.finish();
    }
}

fn outcomes(report: &Value) -> Vec<&str> {
    report["files"].as_array().unwrap().iter().map(|file| file["outcome"].as_str().unwrap()).collect()
}

/// The undecided hunks of all files.
fn undecided(list: &Value) -> Vec<Value> {
    let files = list["files"].as_array().unwrap();
    let hunks = files.iter().flat_map(|file| file["hunks"].as_array().unwrap());
    hunks.filter(|hunk| hunk["state"] == "undecided").cloned().collect()
}

fn ids(list: &Value) -> Vec<u64> {
    undecided(list).iter().map(|hunk| hunk["id"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn r5_2_r5_3_a_turn_is_undone_over_the_wire_in_an_open_dirty_document_and_put_back() {
    let script = [edit("2\n", "two\n"), write("dir/new.txt", "new\n"), Reply::text("Done.")];
    let desk = Desk::new(script, "1\n2\n3\n4\n5\n", Encoding::Utf16).await;
    desk.editor.open_document(&desk.document, "plaintext", "1\n2\n3\n4\n5\n");
    assert_eq!(desk.undo(json!("last")).await.unwrap_err().code, -32803);
    desk.turn("Number two, please\nand a new file").await;
    desk.editor.type_text(&desk.document, (4, 0), (4, 1), "user");
    assert_eq!(desk.buffer(), "1\ntwo\n3\n4\nuser\n");

    let report = desk.ask("_copydesk/undo", json!({})).await.unwrap();
    assert_eq!(desk.buffer(), "1\n2\n3\n4\nuser\n");
    assert!(!desk.path("dir").exists(), "the folder that was made for the file goes with it");
    assert_eq!(report["title"], "Number two, please");
    assert_eq!(outcomes(&report), ["restored", "removed"]);
    assert!(report["text"].as_str().unwrap().contains("a.txt"), "{report}");
    assert_eq!(std::fs::read_to_string(desk.path("a.txt")).unwrap(), "1\n2\n3\n4\n5\n", "nothing was saved");

    let report = desk.undo(json!("redo")).await.unwrap();
    assert_eq!(desk.buffer(), "1\ntwo\n3\n4\nuser\n");
    assert_eq!(std::fs::read_to_string(desk.path("dir/new.txt")).unwrap(), "new\n");
    let turn = report["turn"].as_str().unwrap().to_owned();
    assert_eq!(desk.undo(json!("redo")).await.unwrap_err().code, -32803);

    // The same lines: they stay, and the conflict names them.
    desk.editor.type_text(&desk.document, (1, 0), (1, 3), "mine");
    let report = desk.undo(json!({ "turn": turn })).await.unwrap();
    assert_eq!(outcomes(&report), ["conflict", "removed"]);
    assert!(report["files"][0]["reason"].as_str().unwrap().contains('2'), "{report}");
    assert_eq!(desk.buffer(), "1\nmine\n3\n4\nuser\n");
    desk.finish().await;
}

#[tokio::test]
async fn r5_2_one_call_is_undone_alone_and_bad_ids_are_refused() {
    let script = [edit("1\n", "one\n"), edit("3\n", "three\n"), Reply::text("Done.")];
    let desk = Desk::new(script, "1\n2\n3\n", Encoding::Utf16).await;
    desk.turn("go").await;
    let list = desk.changes(json!({})).await;
    assert_eq!(list["files"][0]["version"], Value::Null, "the file is not open");
    let results = desk.model.requests();
    assert_eq!(results.len(), 3);
    let refused = desk.undo(json!({ "call": "call_9" })).await.unwrap_err();
    assert_eq!((refused.code, refused.message.contains("call_9")), (-32602, true));
    let refused = desk.undo(json!({ "turn": "msg_9" })).await.unwrap_err();
    assert_eq!((refused.code, refused.message.contains("msg_9")), (-32602, true));
    for wrong in [json!("yesterday"), json!({ "call": 7 }), json!(7)] {
        assert_eq!(desk.undo(wrong).await.unwrap_err().code, -32602);
    }
    for method in ["_copydesk/undo", "_copydesk/changes", "_copydesk/diff"] {
        let unknown = desk.editor.request(method, json!({ "sessionId": "ses_9" })).await.unwrap_err();
        assert_eq!((unknown.code, unknown.message.contains("ses_9")), (-32002, true), "{method}");
        assert_eq!(desk.editor.request(method, json!({})).await.unwrap_err().code, -32602, "{method}");
    }
    let list = desk.ask("_copydesk/changes", json!({ "accept": { "files": ["https://example.com"] } })).await;
    assert_eq!(list.unwrap_err().code, -32602);
    let list = desk.changes(json!({ "reject": { "hunks": [4_000_000] } })).await;
    assert_eq!((&list["undecided"][0]["id"], &list["undecided"][0]["why"]), (&json!(4_000_000), &json!("gone")));
    assert_eq!(ids(&list).len(), 2);
    desk.finish().await;
}

/// The ids of the tool calls, as the client was told them.
fn calls(editor: &FakeEditor) -> Vec<String> {
    let told = editor.take_notifications("session/update");
    let calls = told.iter().map(|told| &told["update"]).filter(|update| update["sessionUpdate"] == "tool_call");
    calls.map(|update| update["toolCallId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn r5_2_one_call_is_undone_alone_over_the_wire_and_at_the_command_line() {
    let script = || [edit("1\n", "one\n"), edit("3\n", "three\n"), Reply::text("Done.")];
    let text = "1\n2\n3\n";
    let desk = Desk::looking(script(), text, Encoding::Utf16).await;
    desk.editor.open_document(&desk.document, "plaintext", text);
    desk.turn("go").await;
    assert_eq!(desk.buffer(), "one\n2\nthree\n");
    let made = calls(&desk.editor);
    assert_eq!(made.len(), 2, "{made:?}");
    let report = desk.undo(json!({ "call": made[0] })).await.unwrap();
    assert_eq!((outcomes(&report), desk.buffer().as_str()), (vec!["restored"], "1\n2\nthree\n"));
    let report = desk.undo(json!("redo")).await.unwrap();
    assert_eq!((outcomes(&report), desk.buffer().as_str()), (vec!["restored"], "one\n2\nthree\n"));
    desk.editor.disregard("session/update");
    desk.finish().await;

    let desk = Desk::looking(script(), text, Encoding::Utf16).await;
    desk.turn("go").await;
    let (home, file, made) = (desk.editor.home().clone(), desk.path("a.txt"), calls(&desk.editor));
    desk.editor.disregard("session/update");
    desk.finish().await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n2\nthree\n");
    let (code, output, errors) = home.ended(&["undo", "--call", &made[0]]).await;
    assert_eq!((code, output.contains("a.txt: restored")), (Some(0), true), "{output}{errors}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n2\nthree\n");
    let (code, _, errors) = home.ended(&["undo", "--call", "call_9"]).await;
    assert_eq!((code, errors.contains("call_9")), (Some(2), true), "{errors}");
}

#[tokio::test]
async fn r5_4_beyond_what_is_kept_the_oldest_turns_can_no_longer_be_undone_which_is_said() {
    // Of single letters that nothing makes shorter.
    let noise = |seed: u64| {
        let mut state = seed;
        let letter = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b' ' + (state >> 33) as u8 % 95)
        };
        (0..5000).map(letter).collect::<String>()
    };
    let copy = |from: &str, to: &str| Reply::call("bash", json!({ "command": format!("cp {from} {to}") }));
    for (by_command, most) in [(false, Some(1000)), (false, None), (true, Some(1000)), (true, None)] {
        let kept = most.is_none();
        let home = Home::new();
        let made = if by_command {
            home.write("noise-1", noise(1));
            home.write("noise-2", noise(2));
            [copy("noise-1", "a.txt"), copy("noise-2", "b.txt")]
        } else {
            [write("a.txt", &noise(1)), write("b.txt", &noise(2))]
        };
        let [one, two] = made;
        let model = ScriptedModel::start([one, Reply::text("Done."), two, Reply::text("Done.")]).await;
        let mut keys = json!({ "permission": { "bash": "allow" } });
        if let Some(most) = most {
            keys["undo"] = json!({ "max_bytes": most });
        }
        home.use_model_with(&model.base_url(), json!({}), keys);
        let client = FakeEditor::open_acp(home, json!({})).await;
        client.disregard("session/update");
        let session = client.new_session().await;
        let undo = async |what: Value| {
            client.request("_copydesk/undo", json!({ "sessionId": session, "what": what })).await.unwrap()
        };
        client.turn(&session, "one").await;
        client.turn(&session, "two").await;
        // Let go with what is recorded, not by an undo first.
        let store = client.home().data().join("copydesk/copydesk.db");
        let held = rusqlite::Connection::open(store).unwrap();
        let held: i64 = held.query_row("SELECT bytes FROM kept", [], |row| row.get(0)).unwrap();
        assert_eq!(held > 6_000, kept, "{held} bytes by command: {by_command}");
        let last = undo(json!("last")).await;
        assert_eq!(outcomes(&last), ["removed"], "{last}");
        let first = undo(json!("last")).await;
        let file = client.home().workspace().join("a.txt");
        assert_eq!(!file.exists(), kept, "{first}");
        let text = first["text"].as_str().unwrap();
        assert_eq!(text.contains("undo is not available for this step"), !kept, "{text}");
        client.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn r4_2_hunks_are_listed_in_the_units_of_the_client() {
    let text = "\u{1f430}\u{e9}";
    for (encoding, end) in [(Encoding::Utf8, 6), (Encoding::Utf16, 3), (Encoding::Utf32, 2)] {
        let desk = Desk::new([edit("2", text), Reply::text("Done.")], "1\n2", encoding).await;
        desk.editor.open_document(&desk.document, "plaintext", "1\n2");
        desk.turn("go").await;
        let list = desk.changes(json!({ "scope": "last_turn" })).await;
        let file = &list["files"][0];
        assert_eq!((&file["uri"], &file["kind"]), (&json!(desk.document), &json!("modified")));
        assert_eq!(file["version"], json!(2), "the edit made it the second version");
        let position = |line: u32, character: u32| json!({ "line": line, "character": character });
        let hunk = &undecided(&list)[0];
        assert_eq!(hunk["range"], json!({ "start": position(1, 0), "end": position(1, end) }), "{encoding:?}");
        assert_eq!(hunk["oldRange"], json!({ "start": position(1, 0), "end": position(1, 1) }));
        assert_eq!((&hunk["oldText"], &hunk["newText"]), (&json!("2"), &json!(text)));
        desk.finish().await;
    }
}

#[tokio::test]
async fn r4_2_hunks_are_decided_one_by_one_while_the_turn_goes_on() {
    let gate = Gate::new();
    let script = [
        edit("2\n", "two\n"),
        edit("8\n", "eight\n"),
        Reply::text("Wait").then_wait(&gate).then_text("."),
        Reply::text("Done."),
    ];
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let desk = Desk::new(script, text, Encoding::Utf16).await;
    desk.editor.open_document(&desk.document, "plaintext", text);
    let prompt = desk.editor.prompt(&desk.session, "go");
    desk.editor.await_applied(2).await;
    gate.reached().await;
    assert_eq!(desk.undo(json!("last")).await.unwrap_err().code, -32803, "its turn runs");
    let both = ids(&desk.changes(json!({})).await);
    assert_eq!(both.len(), 2);
    // Hunks follow the user's typing, and keep their ids.
    desk.editor.type_text(&desk.document, (0, 0), (0, 0), "top\n");
    let list = desk.changes(json!({ "reject": { "hunks": [both[0]] } })).await;
    assert_eq!((&list["decided"], ids(&list)), (&json!([both[0]]), vec![both[1]]));
    assert_eq!(desk.buffer(), "top\n1\n2\n3\n4\n5\n6\n7\neight\n9\n");
    assert_eq!(undecided(&list)[0]["range"]["start"]["line"], 8);
    let list = desk.changes(json!({ "accept": "all" })).await;
    assert_eq!((&list["decided"], ids(&list)), (&json!([both[1]]), vec![]));
    assert!(!desk.editor.is_answered(prompt));
    gate.open();
    desk.editor.await_response(prompt).await.unwrap();
    assert_eq!(desk.buffer(), "top\n1\n2\n3\n4\n5\n6\n7\neight\n9\n");
    // What was rejected is told to the model.
    desk.turn("and now?").await;
    // The system prompt speaks of rejecting too.
    let body = desk.model.requests().last().unwrap().body.clone();
    let messages = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] != "system");
    let told: String = messages.map(Value::to_string).collect();
    for words in [
        "The user has rejected these changes of yours, and they were taken back",
        "- a.txt, at line 3: taken out 1 line, put back 1 line. Yours were:\\n    two",
    ] {
        assert_eq!(told.matches(words).count(), 1, "{words}: {told}");
    }
    assert_eq!(told.matches("Yours were:").count(), 1, "what was accepted is not among it: {told}");
    desk.finish().await;
}

#[tokio::test]
async fn r5_3_a_prompt_is_an_undo_in_plain_acp_too() {
    let model = ScriptedModel::start([write("new.txt", "new\n"), Reply::text("Done.")]).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let client = FakeEditor::open_acp(home, json!({})).await;
    let session = client.new_session().await;
    assert_eq!(client.await_commands().await, ["undo", "redo", "diff"]);
    let file = client.home().workspace().join("new.txt");
    // No ask: undo reaches it.
    client.turn(&session, "go").await;
    assert!(file.exists());
    let patch =
        "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n";
    let diff = format!("1 file changed, 1 insertion(+), 0 deletions(-):\n\n```diff\n{patch}```\n");
    for (text, is_there, said) in
        [("/diff", true, diff.as_str()), ("/undo", false, "new.txt: removed"), ("/redo", true, "new.txt: restored")]
    {
        client.take_notifications("session/update");
        client.turn(&session, text).await;
        assert_eq!(file.exists(), is_there, "{text}");
        let told = client.take_notifications("session/update");
        let chunks = told.iter().filter(|told| told["update"]["sessionUpdate"] == "agent_message_chunk");
        let answer: String = chunks.map(|told| told["update"]["content"]["text"].as_str().unwrap()).collect();
        assert!(if text == "/diff" { answer == said } else { answer.contains(said) }, "{text}: {answer}");
    }
    assert_eq!(model.requests().len(), 2, "no model is asked");
    client.disregard("session/update");
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn r5_2_a_plain_client_undoes_and_rejects_by_actions_and_commands() {
    let model = ScriptedModel::start([edit("2\n", "two\n"), write("b.txt", "b\n"), Reply::text("Done.")]).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let document = uri(&home.write("a.txt", "1\n2\n3\n"));
    let folders = vec![uri(&home.workspace())];
    let plain = Capabilities { opt_in: Value::Null, progress: true, code_actions: true, ..Capabilities::default() };
    let editor = FakeEditor::open_with(home, Capabilities { folders, ..plain }).await;
    editor.script("window/workDoneProgress/create", |_| Value::Null);
    editor.open_document(&document, "plaintext", "1\n2\n3\n");
    let run = async |command: &str, arguments: Value| {
        let params = json!({ "command": command, "arguments": arguments });
        assert_eq!(editor.request("workspace/executeCommand", params).await, Ok(Value::Null));
    };
    let message = async |text: &str| {
        let holds = |params: &Value| params["message"].as_str().unwrap().contains(text);
        editor.await_notification_that("window/showMessage", holds).await;
    };
    let actions = async |line: usize| -> Vec<Value> {
        let at = json!({ "line": line, "character": 0 });
        let range = json!({ "start": at, "end": at });
        let context = json!({ "diagnostics": [] });
        let params = json!({ "textDocument": { "uri": document }, "range": range, "context": context });
        editor.request("textDocument/codeAction", params).await.unwrap().as_array().unwrap().clone()
    };
    let named = |actions: &[Value], title: &str| {
        let action = actions.iter().find(|action| action["title"].as_str().unwrap().contains(title)).cloned();
        action.map(|action| (action["command"].as_str().unwrap().to_owned(), action["arguments"].clone()))
    };
    run("copydesk.undo", json!([])).await;
    message("nothing here yet").await;

    // Nobody is asked: the code actions take it back.
    run("copydesk.prompt", json!(["go"])).await;
    editor.await_notification_that("$/progress", |params| params["value"]["kind"] == "begin").await;
    editor.await_notification_that("$/progress", |params| params["value"]["kind"] == "end").await;
    assert_eq!(editor.document(&document).text, "1\ntwo\n3\n");
    assert_eq!(named(&actions(0).await, "reject this change"), None);
    let here = actions(1).await;
    assert!(named(&here, "accept all 2 changes").is_some() && named(&here, "accept this change").is_some(), "{here:?}");
    let (command, arguments) = named(&here, "reject this change").unwrap();
    run(&command, arguments).await;
    message("1 change rejected").await;
    assert_eq!(editor.document(&document).text, "1\n2\n3\n");

    let (command, arguments) = named(&actions(1).await, "undo the last turn").unwrap();
    run(&command, arguments).await;
    message("b.txt: removed").await;
    assert!(!editor.home().workspace().join("b.txt").exists());
    run("copydesk.redo", json!([])).await;
    message("b.txt: restored").await;
    run("copydesk.accept", json!([])).await;
    message("accepted").await;
    let refused =
        editor.request("workspace/executeCommand", json!({ "command": "copydesk.accept", "arguments": ["x"] }));
    assert_eq!(refused.await.unwrap_err().code, -32602);
    editor.disregard("window/showMessage");
    editor.take_notifications("window/showMessage");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r5_3_r20_3_undo_and_redo_at_the_command_line() {
    let script = Script::function(|request| match request.results().is_empty() {
        true => write("new.txt", "new\n"),
        false => Reply::text("Done."),
    });
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    let file = home.workspace().join("new.txt");
    let (code, _, errors) = home.ended(&["undo"]).await;
    assert_eq!((code, errors.contains("There was no session in")), (Some(1), true), "{errors}");
    // In a pipe nobody sees what is changed, and nobody can be asked.
    home.ended(&["run", "go"]).await;
    assert!(!file.exists());
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "edit": "allow" } }));
    assert_eq!(home.ended(&["run", "go"]).await.0, Some(0));
    assert!(file.exists());

    let (code, output, errors) = home.ended(&["undo"]).await;
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(output.contains("new.txt: removed"), "{output}");
    assert!(!file.exists());
    let (code, _, errors) = home.ended(&["undo"]).await;
    assert_eq!((code, errors.as_str()), (Some(1), "There is nothing to undo in this session.\n"));
    let (code, output, _) = home.ended(&["undo", "--redo", "--json"]).await;
    let report: Value = serde_json::from_str(&output).unwrap();
    assert_eq!((code, outcomes(&report)), (Some(0), vec!["restored"]));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new\n");
    // The user's own file by now.
    std::fs::write(&file, "mine\n").unwrap();
    let (code, output, _) = home.ended(&["undo"]).await;
    assert_eq!((code, output.contains("CONFLICT")), (Some(1), true), "{output}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");
    let (code, _, errors) = home.ended(&["undo", "--turn", "msg_9"]).await;
    assert_eq!((code, errors.contains("msg_9")), (Some(2), true), "{errors}");
    model.finish();
}

#[tokio::test]
async fn c94_the_command_line_leaves_a_session_alone_that_an_editor_has_open() {
    let desk = Desk::new([write("new.txt", "new\n"), Reply::text("Done.")], "1\n", Encoding::Utf16).await;
    desk.turn("go").await;
    let home = desk.editor.home().clone();
    let file = desk.path("new.txt");
    let (code, output, errors) = home.ended(&["undo"]).await;
    assert_eq!((code, output.as_str()), (Some(1), ""));
    assert!(errors.contains("is open in another Copydesk") && errors.contains("close it there"), "{errors}");
    assert!(file.exists());
    let (code, output, errors) = home.ended(&["diff"]).await;
    assert_eq!((code, output.contains("+new\n")), (Some(0), true), "{errors}");
    desk.finish().await;
    assert_eq!(home.ended(&["undo"]).await.0, Some(0));
    assert!(!file.exists());
}
