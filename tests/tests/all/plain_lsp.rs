//! A client that speaks LSP alone, as a full user, with the built daemon: commands, code actions, asks, the chat document. Whatever else than LSP is sent fails
//! the test, since nobody looks at it. Needs the program: `cargo build -p copydesk`.

use std::path::PathBuf;

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, EditPolicy, FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::{Value, json};

/// Nothing but the documents and what every test needs.
fn weak() -> Capabilities {
    Capabilities { opt_in: Value::Null, progress: true, code_actions: true, ..Capabilities::default() }
}

fn strong() -> Capabilities {
    Capabilities { messages_ask: true, shows_documents: true, ..weak() }
}

async fn start(capabilities: Capabilities, script: impl Into<Script>) -> (ScriptedModel, FakeEditor) {
    start_with(json!({}), capabilities, script).await
}

/// With these keys in the user's configuration.
async fn start_with(keys: Value, capabilities: Capabilities, script: impl Into<Script>) -> (ScriptedModel, FakeEditor) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model_with(&model.base_url(), json!({}), keys);
    let folders = vec![uri(&home.workspace())];
    let editor = FakeEditor::open_with(home, Capabilities { folders, ..capabilities }).await;
    editor.script("window/workDoneProgress/create", |_| Value::Null);
    (model, editor)
}

async fn run(editor: &FakeEditor, command: &str, arguments: Value) {
    let params = json!({ "command": command, "arguments": arguments });
    assert_eq!(editor.request("workspace/executeCommand", params).await, Ok(Value::Null));
}

/// The text of the next turn's prompt goes in before it.
async fn turn_ended(editor: &FakeEditor) {
    editor.await_notification_that("$/progress", |params| params["value"]["kind"] == "begin").await;
    editor.await_notification_that("$/progress", |params| params["value"]["kind"] == "end").await;
}

/// The next message that holds `text`.
async fn message(editor: &FakeEditor, text: &str) -> String {
    let holds = |params: &Value| params["message"].as_str().unwrap().contains(text);
    let params = editor.await_notification_that("window/showMessage", holds).await;
    params["message"].as_str().unwrap().to_owned()
}

/// The one chat document.
fn chat(editor: &FakeEditor) -> PathBuf {
    let folder = editor.home().data().join("copydesk/chats");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    files.remove(0)
}

fn chat_text(editor: &FakeEditor) -> String {
    std::fs::read_to_string(chat(editor)).unwrap()
}

/// Opens what the daemon asks to be shown, as an editor does, and says so.
async fn show(editor: &FakeEditor) -> String {
    let (id, params) = editor.await_request("window/showDocument").await;
    let document = params["uri"].as_str().unwrap().to_owned();
    assert_eq!(document, uri(&chat(editor)));
    editor.open_document(&document, "markdown", &chat_text(editor));
    editor.respond(&id, json!({ "success": true }));
    document
}

async fn actions(editor: &FakeEditor, document: &str, line: usize, context: Value) -> Vec<Value> {
    let at = json!({ "line": line, "character": 0 });
    let range = json!({ "start": at, "end": at });
    actions_of(editor, document, range, context).await
}

async fn actions_of(editor: &FakeEditor, document: &str, range: Value, context: Value) -> Vec<Value> {
    let params = json!({ "textDocument": { "uri": document }, "range": range, "context": context });
    let Value::Array(actions) = editor.request("textDocument/codeAction", params).await.unwrap() else { panic!() };
    actions
}

fn no_problems() -> Value {
    json!({ "diagnostics": [] })
}

fn titles(actions: &[Value]) -> Vec<&str> {
    actions.iter().map(|action| action["title"].as_str().unwrap()).collect()
}

/// Runs the action of this title, a bare command, as a client does that knows no others.
async fn act(editor: &FakeEditor, actions: &[Value], title: &str) {
    let action = actions.iter().find(|action| action["title"].as_str().unwrap().contains(title));
    let action = action.unwrap_or_else(|| panic!("no {title} in {:?}", titles(actions)));
    run(editor, action["command"].as_str().unwrap(), action["arguments"].clone()).await;
}

fn asked_edits() -> Value {
    json!({ "permission": { "edit": "ask" } })
}

fn bash(command: &str) -> Reply {
    Reply::call("bash", json!({ "command": command, "description": "Run it" }))
}

async fn finish(model: ScriptedModel, editor: FakeEditor) {
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn commands_are_offered_to_plain_clients_alone() {
    let commands = ["prompt", "cancel", "answer", "undo", "redo", "accept", "reject"];
    let commands = json!(commands.map(|name| format!("copydesk.{name}")));
    for (capabilities, offered) in [(weak(), commands), (Capabilities::default(), Value::Null)] {
        let mut editor = FakeEditor::spawn(Home::new());
        let answered = editor.initialize(capabilities).await;
        assert_eq!(answered["executeCommandProvider"]["commands"], offered);
        assert_eq!(answered["codeActionProvider"].is_null(), offered.is_null());
        if offered.is_null() {
            let params = json!({ "command": "copydesk.cancel" });
            assert_eq!(editor.request("workspace/executeCommand", params).await.unwrap_err().code, -32601);
        }
        editor.finish().await;
    }
}

#[tokio::test]
async fn a_prompt_is_answered_in_a_document_whose_place_is_told() {
    let reply = "It is\n\n## Prompt\n\na program.";
    let (model, editor) = start(weak(), [Reply::text(reply), Reply::text("Again.")]).await;
    run(&editor, "copydesk.prompt", json!(["What is it?"])).await;
    let told = message(&editor, "conversation").await;
    assert!(told.contains(chat(&editor).to_str().unwrap()), "{told}");
    turn_ended(&editor).await;
    // What the model writes is no place for prompts.
    let text = "## You\n\nWhat is it?\n\n## Copydesk\n\nIt is\n\n\\## Prompt\n\na program.\n\n## Prompt\n\n";
    assert_eq!(chat_text(&editor), text);

    // The file may be written by any editor that has not opened it here.
    std::fs::write(chat(&editor), format!("{text}And now?\n")).unwrap();
    run(&editor, "copydesk.prompt", json!([])).await;
    turn_ended(&editor).await;
    assert_eq!(model.requests()[1].last_text(), "And now?");
    let text = chat_text(&editor);
    assert!(text.ends_with("\n\n## You\n\nAnd now?\n\n## Copydesk\n\nAgain.\n\n## Prompt\n\n"), "{text}");

    // Nothing typed: it says where.
    run(&editor, "copydesk.prompt", json!([])).await;
    message(&editor, "Type below").await;
    assert_eq!(chat_text(&editor), text);
    finish(model, editor).await;
}

#[tokio::test]
async fn r6_2_an_open_chat_document_is_written_and_read_in_the_editor_alone() {
    let (model, editor) = start(strong(), [Reply::text("One."), Reply::text("Two.")]).await;
    run(&editor, "copydesk.prompt", json!([{ "text": "First" }])).await;
    let document = show(&editor).await;
    turn_ended(&editor).await;
    let on_disk = chat_text(&editor);
    let text = editor.document(&document).text;
    assert!(text.ends_with("One.\n\n## Prompt\n\n") && text.len() > on_disk.len(), "{text}");

    let last = text.lines().count();
    editor.type_text(&document, (last, 0), (last, 0), "Second");
    let offered = actions(&editor, &document, last, no_problems()).await;
    assert_eq!(titles(&offered), ["Send to Copydesk", "Continue"]);
    act(&editor, &offered, "Send").await;
    turn_ended(&editor).await;
    assert_eq!(model.requests()[1].last_text(), "Second");
    let text = editor.document(&document).text;
    assert!(text.ends_with("## You\n\nSecond\n\n## Copydesk\n\nTwo.\n\n## Prompt\n\n"), "{text}");
    assert_eq!(chat_text(&editor), on_disk, "nothing is written behind the editor");
    finish(model, editor).await;
}

#[tokio::test]
async fn r16_3_asks_by_message_are_answered_in_any_order_and_null_is_no_consent() {
    let (model, editor) = start(
        strong(),
        Script::function(|request| match request.results().len() {
            0 => Reply::calls(
                ["touch one.txt", "touch two.txt"]
                    .map(|command| ("bash", json!({ "command": command, "description": command }))),
            ),
            _ => Reply::text("done"),
        }),
    )
    .await;
    run(&editor, "copydesk.prompt", json!(["go"])).await;
    let document = show(&editor).await;
    let (first, asked) = editor.await_request("window/showMessageRequest").await;
    let (second, asked_too) = editor.await_request("window/showMessageRequest").await;
    let about = |params: &Value| params["message"].as_str().unwrap().contains("touch one.txt");
    assert!(about(&asked) != about(&asked_too), "{asked} {asked_too}");
    let (one, two) = if about(&asked) { (first, second) } else { (second, first) };
    assert!(editor.document(&document).text.contains("touch one.txt"), "what would run stands in the document first");

    editor.respond(&two, json!({ "title": "Allow once" }));
    editor.respond(&one, Value::Null);
    message(&editor, "Answer with a code action on any line").await;
    let workspace = editor.home().workspace();
    // Dismissed, it still waits, on every line of every document.
    let offered = actions(&editor, &document, 3, no_problems()).await;
    assert!(!workspace.join("one.txt").exists());
    let asks: Vec<_> = titles(&offered).into_iter().filter(|title| title.starts_with("Copydesk: ")).collect();
    assert_eq!(asks.len(), 4, "{asks:?}");
    act(&editor, &offered, "Copydesk: allow once").await;
    turn_ended(&editor).await;
    assert!(workspace.join("one.txt").exists() && workspace.join("two.txt").exists());
    let offered = actions(&editor, &document, 3, no_problems()).await;
    assert_eq!(
        titles(&offered),
        [
            "Copydesk: accept all 2 changes",
            "Copydesk: reject all 2 changes",
            "Copydesk: undo the last turn",
            "Continue"
        ]
    );
    finish(model, editor).await;
}

#[tokio::test]
async fn r2_3_an_odd_answer_to_a_message_is_no_consent() {
    let (model, editor) = start(strong(), [bash("touch ran.txt"), Reply::text("done")]).await;
    run(&editor, "copydesk.prompt", json!(["go"])).await;
    let document = show(&editor).await;
    let (id, _) = editor.await_request("window/showMessageRequest").await;
    editor.respond(&id, json!({ "title": "allow once" }));
    message(&editor, "Answer with a code action").await;
    let offered = actions(&editor, &document, 0, no_problems()).await;
    act(&editor, &offered, "Copydesk: reject").await;
    turn_ended(&editor).await;
    assert!(!editor.home().workspace().join("ran.txt").exists());
    assert!(editor.document(&document).text.contains("Stopped, as you rejected."));
    // An answer that comes too late, or that never was asked for.
    for arguments in [json!(["per_1", "allow_once"]), json!(["per_1"]), json!([])] {
        let params = json!({ "command": "copydesk.answer", "arguments": arguments });
        assert_eq!(editor.request("workspace/executeCommand", params).await.unwrap_err().code, -32602);
    }
    drop(model);
    editor.finish().await;
}

#[tokio::test]
async fn r8_4_a_message_that_cannot_show_all_asks_for_no_consent() {
    let command = format!("{}touch ran.txt", "true\n".repeat(30));
    let (model, editor) = start(strong(), [bash(&command), Reply::text("done")]).await;
    run(&editor, "copydesk.prompt", json!(["go"])).await;
    let document = show(&editor).await;
    let (id, params) = editor.await_request("window/showMessageRequest").await;
    assert_eq!(titles(params["actions"].as_array().unwrap()), ["Show all of it", "Reject"]);
    editor.respond(&id, json!({ "title": "Show all of it" }));
    let (id, params) = editor.await_request("window/showDocument").await;
    assert_eq!(params["takeFocus"], true);
    editor.respond(&id, json!({ "success": true }));
    message(&editor, "Answer with a code action").await;
    assert!(editor.document(&document).text.contains(&command));
    let offered = actions(&editor, &document, 0, no_problems()).await;
    act(&editor, &offered, "Copydesk: allow once").await;
    turn_ended(&editor).await;
    assert!(editor.home().workspace().join("ran.txt").exists());
    finish(model, editor).await;
}

#[tokio::test]
async fn an_editor_without_questions_answers_by_code_action_and_command() {
    let (model, editor) = start(weak(), [bash("touch one.txt"), bash("touch two.txt"), Reply::text("done")]).await;
    let file = uri(&editor.home().write("a.txt", "one\n"));
    editor.open_document(&file, "plaintext", "one\n");
    run(&editor, "copydesk.prompt", json!(["go"])).await;
    message(&editor, "conversation").await;
    message(&editor, "touch one.txt").await;
    let offered = actions(&editor, &file, 0, no_problems()).await;
    assert!(titles(&offered).contains(&"Stop Copydesk"), "{:?}", titles(&offered));
    act(&editor, &offered, "Copydesk: allow once").await;
    message(&editor, "touch two.txt").await;
    let offered = actions(&editor, &file, 0, no_problems()).await;
    let ask = offered.iter().find(|action| action["command"] == "copydesk.answer").unwrap();
    let id = ask["arguments"][0].as_str().unwrap();
    assert!(chat_text(&editor).contains(id), "who types commands finds the id");
    run(&editor, "copydesk.answer", json!([id, "allow_once"])).await;
    turn_ended(&editor).await;
    let workspace = editor.home().workspace();
    assert!(workspace.join("one.txt").exists() && workspace.join("two.txt").exists());
    finish(model, editor).await;
}

#[tokio::test]
async fn r16_2_without_any_road_to_the_user_an_ask_is_denied() {
    let capabilities = Capabilities { code_actions: false, ..weak() };
    let (model, editor) = start(capabilities, [bash("touch ran.txt"), Reply::text("done")]).await;
    run(&editor, "copydesk.prompt", json!(["go"])).await;
    message(&editor, "conversation").await;
    turn_ended(&editor).await;
    let requests = model.requests();
    let told = requests.last().unwrap().results()[0].to_owned();
    assert!(told.contains("no way to ask its user"), "{told}");
    assert!(!editor.home().workspace().join("ran.txt").exists());
    finish(model, editor).await;
}

#[tokio::test]
async fn r6_2_an_edit_is_asked_and_goes_unversioned_to_an_editor_that_knows_no_versions() {
    for versioned_edits in [true, false] {
        let call = json!({ "filePath": "a.txt", "oldString": "two", "newString": "TWO" });
        let capabilities = Capabilities { versioned_edits, ..weak() };
        let (model, editor) =
            start_with(asked_edits(), capabilities, [Reply::call("edit", call), Reply::text("done")]).await;
        let file = uri(&editor.home().write("a.txt", "one\n"));
        editor.open_document(&file, "plaintext", "one\n");
        editor.type_text(&file, (1, 0), (1, 0), "two\n");
        run(&editor, "copydesk.prompt", json!(["go"])).await;
        message(&editor, "conversation").await;
        message(&editor, "+TWO").await;
        assert!(chat_text(&editor).contains("-two\n+TWO"), "{}", chat_text(&editor));
        assert!(editor.applied().is_empty());
        let offered = actions(&editor, &file, 0, no_problems()).await;
        act(&editor, &offered, "Copydesk: allow once").await;
        turn_ended(&editor).await;
        assert_eq!(editor.document(&file).text, "one\nTWO\n");
        assert_eq!(std::fs::read_to_string(editor.home().workspace().join("a.txt")).unwrap(), "one\n");
        finish(model, editor).await;
    }
}

#[tokio::test]
async fn r6_2_an_unversioned_edit_is_believed_only_when_it_shows() {
    let call = json!({ "filePath": "a.txt", "oldString": "one", "newString": "ONE" });
    let capabilities = Capabilities { versioned_edits: false, ..weak() };
    let (model, editor) =
        start_with(asked_edits(), capabilities, [Reply::call("edit", call), Reply::text("done")]).await;
    let file = uri(&editor.home().write("a.txt", "one\n"));
    editor.open_document(&file, "plaintext", "one\n");
    editor.take_edits(EditPolicy::Claim);
    run(&editor, "copydesk.prompt", json!(["go"])).await;
    message(&editor, "conversation").await;
    message(&editor, "+ONE").await;
    let offered = actions(&editor, &file, 0, no_problems()).await;
    act(&editor, &offered, "Copydesk: allow once").await;
    turn_ended(&editor).await;
    let told = model.requests()[1].results()[0].to_owned();
    assert!(told.contains("its text did not change within 1 s"), "{told}");
    finish(model, editor).await;
}

#[tokio::test]
async fn r15_1_a_selection_and_its_problems_are_shown_before_they_are_sent_with_the_unsaved_text() {
    let (model, editor) = start(strong(), [Reply::text("Fixed."), Reply::text("Because.")]).await;
    let file = uri(&editor.home().write("a.py", "one\n"));
    editor.open_document(&file, "python", "one\n");
    editor.type_text(&file, (1, 0), (1, 0), "two\nthree\n");
    let place = |line: usize, character: usize| json!({ "line": line, "character": character });
    let problem =
        json!({ "range": { "start": place(1, 0), "end": place(1, 3) }, "message": "two is wrong", "source": "ty" });
    let context = json!({ "diagnostics": [problem] });
    let range = json!({ "start": place(1, 0), "end": place(3, 0) });

    let offered = actions_of(&editor, &file, range, context.clone()).await;
    assert_eq!(titles(&offered), ["Fix this problem", "Ask Copydesk"]);
    act(&editor, &offered, "Ask").await;
    let document = show(&editor).await;
    // The document is ready for the text when the next command has been taken.
    let text = editor.document(&document).text;
    let link = format!("[a.py:2-3]({file}#L2-L3)");
    assert_eq!(text, format!("## Prompt\n\n{link}\n- line 2: error: two is wrong (ty)\n\n"));
    assert!(model.requests().is_empty(), "nothing is sent before the user says so");
    let last = text.lines().count();
    editor.type_text(&document, (last, 0), (last, 0), "Why?");
    act(&editor, &actions(&editor, &document, 0, no_problems()).await, "Send").await;
    turn_ended(&editor).await;
    let sent = model.requests()[0].last_text().to_owned();
    assert!(sent.contains("Why?") && sent.contains("two\nthree\n") && sent.contains(&link), "{sent}");

    // A client that wants quick fixes alone is offered those.
    let only = json!({ "diagnostics": context["diagnostics"], "only": ["quickfix"] });
    let offered = actions(&editor, &file, 1, only).await;
    assert_eq!(titles(&offered), ["Fix this problem"]);
    act(&editor, &offered, "Fix").await;
    turn_ended(&editor).await;
    let sent = model.requests()[1].last_text().to_owned();
    assert!(sent.contains("Fix this problem:\n\n- line 2: error: two is wrong (ty)"), "{sent}");
    finish(model, editor).await;
}

#[tokio::test]
async fn r2_3_cancel_ends_the_turn_and_withdraws_its_ask() {
    let (model, editor) = start(strong(), [bash("touch ran.txt"), Reply::text("More.")]).await;
    run(&editor, "copydesk.cancel", json!([])).await;
    run(&editor, "copydesk.prompt", json!(["go"])).await;
    let document = show(&editor).await;
    editor.await_request("window/showMessageRequest").await;
    run(&editor, "copydesk.cancel", json!([])).await;
    turn_ended(&editor).await;
    assert!(editor.document(&document).text.contains("> Stopped.\n"));
    assert!(!editor.home().workspace().join("ran.txt").exists());
    let offered = actions(&editor, &document, 0, no_problems()).await;
    assert_eq!(titles(&offered), ["Continue"]);
    act(&editor, &offered, "Continue").await;
    turn_ended(&editor).await;
    assert_eq!(model.requests()[1].last_text(), "Continue.");
    finish(model, editor).await;
}

#[tokio::test]
async fn what_is_wrong_is_said_in_a_message() {
    let (model, editor) = start(weak(), [Reply::refuse(400, "no such luck")]).await;
    for arguments in [json!([7]), json!([{ "text": 7 }])] {
        let params = json!({ "command": "copydesk.prompt", "arguments": arguments });
        assert_eq!(editor.request("workspace/executeCommand", params).await.unwrap_err().code, -32602);
    }
    run(&editor, "copydesk.prompt", json!(["go"])).await;
    message(&editor, "conversation").await;
    turn_ended(&editor).await;
    let text = chat_text(&editor);
    assert!(text.contains("> ") && text.contains("no such luck") && text.ends_with("## Prompt\n\n"), "{text}");
    finish(model, editor).await;
}
