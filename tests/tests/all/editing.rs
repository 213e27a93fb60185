//! Edits by the built daemon in an editor that is played: positions, versions, unsaved text, answers that are wrong or late. Needs the program:
//! `cargo build -p copydesk`.

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, EditPolicy, Encoding, FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::{Value, json};

/// A turn of one call, in a project with the file `a.txt`, which may be open.
struct Turn {
    model: ScriptedModel,
    editor: FakeEditor,
    document: String,
}

impl Turn {
    async fn new(tool: &'static str, input: Value, encoding: Encoding, on_disk: &str) -> Self {
        let model = ScriptedModel::start(Script::function(move |request| match request.results().is_empty() {
            true => Reply::call(tool, input.clone()),
            false => Reply::text("done"),
        }))
        .await;
        let home = Home::new();
        home.use_model(&model.base_url());
        let document = uri(&home.write("a.txt", on_disk));
        let folders = vec![uri(&home.workspace())];
        let editor =
            FakeEditor::open_with(home, Capabilities { encodings: vec![encoding], folders, ..Capabilities::default() })
                .await;
        editor.disregard("session/update");
        Self { model, editor, document }
    }

    async fn edit(old: &str, new: &str, encoding: Encoding, on_disk: &str) -> Self {
        let input = json!({ "filePath": "a.txt", "oldString": old, "newString": new });
        Self::new("edit", input, encoding, on_disk).await
    }

    /// Problems are found as `answer` says, of the version that is asked for.
    fn diagnostics(&self, mut answer: impl FnMut(i64) -> Value + Send + 'static) {
        self.editor.script("_copydesk/diagnostics", move |params| {
            let document = &params["documents"][0];
            let mut found = answer(document["version"].as_i64().unwrap());
            found["uri"] = document["uri"].clone();
            json!({ "documents": [found] })
        });
    }

    fn no_diagnostics(&self) {
        self.diagnostics(|_| json!({ "state": "unavailable" }));
    }

    /// The result of the call, as the model got it.
    async fn run(&self) -> String {
        let session = self.editor.new_session().await;
        self.editor.turn(&session, "go").await;
        let requests = self.model.requests();
        requests.iter().find_map(|request| request.results().first().map(|&text| text.to_owned())).unwrap()
    }

    fn buffer(&self) -> String {
        self.editor.document(&self.document).text
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.editor.home().workspace().join("a.txt")).unwrap()
    }

    async fn finish(self) {
        self.editor.finish().await;
        self.model.finish();
    }
}

#[tokio::test]
async fn c05_c38_c39_an_edit_behind_an_astral_character_lands_right_in_every_unit() {
    let text = "let c = '\u{1f430}'; // \u{e9} x\r\nlet d = 1;\r\n";
    for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
        let turn = Turn::edit("// \u{e9} x", "// \u{e9} \u{1f680} y", encoding, text).await;
        turn.no_diagnostics();
        turn.editor.open_document(&turn.document, "rust", text);
        // The version that an edit has to name is the last one.
        turn.editor.type_text(&turn.document, (1, 8), (1, 9), "22");
        let told = turn.run().await;
        assert!(told.contains("Changed a.txt: 1 line added, 1 removed."), "{encoding:?}: {told}");
        assert_eq!(turn.buffer(), "let c = '\u{1f430}'; // \u{e9} \u{1f680} y\r\nlet d = 22;\r\n", "{encoding:?}");
        assert_eq!(turn.file(), text, "nothing is written behind the editor");
        turn.finish().await;
    }
}

#[tokio::test]
async fn c25_r6_1_r6_2_unsaved_text_is_edited_in_the_buffer_alone() {
    let turn = Turn::edit("two", "TWO", Encoding::Utf16, "one\n").await;
    turn.no_diagnostics();
    turn.editor.open_document(&turn.document, "plaintext", "one\n");
    turn.editor.type_text(&turn.document, (1, 0), (1, 0), "two\n");
    turn.run().await;
    assert_eq!((turn.buffer(), turn.file()), ("one\nTWO\n".to_owned(), "one\n".to_owned()));
    turn.finish().await;
}

#[tokio::test]
async fn c39_r6_2_an_editor_that_refuses_or_lies_is_not_believed() {
    let policies = [
        (EditPolicy::Refuse("locked".to_owned()), "the editor refused the edit: locked again"),
        (EditPolicy::Claim, "its text did not change within 1 s"),
    ];
    for (policy, says) in policies {
        let turn = Turn::edit("one", "ONE", Encoding::Utf16, "one\n").await;
        turn.no_diagnostics();
        turn.editor.open_document(&turn.document, "plaintext", "one\n");
        turn.editor.take_edits(policy);
        let told = turn.run().await;
        assert!(told.contains(says), "{told}");
        assert_eq!((turn.buffer(), turn.file()), ("one\n".to_owned(), "one\n".to_owned()));
        turn.finish().await;
    }
}

#[tokio::test]
async fn c97_r17_1_problems_of_an_older_version_are_not_told() {
    let problem = json!({
        "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 3 } },
        "severity": 1,
        "message": "an old one",
    });
    let turn = Turn::edit("one", "ONE", Encoding::Utf16, "one\n").await;
    let (old, other) = (problem.clone(), problem.clone());
    turn.diagnostics(move |version| json!({ "state": "ready", "version": version - 1, "diagnostics": [old] }));
    turn.editor.open_document(&turn.document, "plaintext", "one\n");
    let told = turn.run().await;
    assert!(told.contains("were not ready in time") && !told.contains("an old one"), "{told}");
    turn.finish().await;

    let turn = Turn::edit("one", "ONE", Encoding::Utf16, "one\n").await;
    turn.diagnostics(move |version| {
        let found = if version == 1 { Vec::new() } else { vec![problem.clone()] };
        json!({ "state": "ready", "version": version, "diagnostics": found })
    });
    turn.editor.open_document(&turn.document, "plaintext", "one\n");
    let told = turn.run().await;
    assert!(told.contains("New problems in this file:\n- error 1:1: an old one"), "{told}");
    turn.finish().await;

    // Of a server that does not say of which text it speaks.
    let turn = Turn::edit("one", "ONE", Encoding::Utf16, "one\n").await;
    turn.diagnostics(move |version| {
        let found = if version == 1 { Vec::new() } else { vec![other.clone()] };
        json!({ "state": "ready", "version": version, "presumed": ["words"], "diagnostics": found })
    });
    turn.editor.open_document(&turn.document, "plaintext", "one\n");
    let told = turn.run().await;
    assert!(told.contains("an old one\nwords names no version of the text"), "{told}");
    turn.finish().await;
}

#[tokio::test]
async fn c97_r17_2_problems_that_never_come_hold_the_edit_for_a_bounded_time() {
    let turn = Turn::edit("one", "ONE", Encoding::Utf16, "one\n").await;
    turn.editor.open_document(&turn.document, "plaintext", "one\n");
    // Nobody answers; the daemon withdraws its question.
    let told = turn.run().await;
    assert!(told.contains("Changed a.txt") && told.contains("were not ready in time"), "{told}");
    assert_eq!(turn.buffer(), "ONE\n");
    turn.finish().await;
}

#[tokio::test]
async fn c62_r8_4_a_write_through_a_link_out_of_the_project_is_asked_with_its_target() {
    let input = json!({ "filePath": "out/new\u{202e}.txt", "content": "x\n" });
    let turn = Turn::new("write", input, Encoding::Utf16, "one\n").await;
    let outside = turn.editor.home().path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, turn.editor.home().workspace().join("out")).unwrap();
    let session = turn.editor.new_session().await;
    let prompt = turn.editor.prompt(&session, "go");
    let (id, params) = turn.editor.await_request("session/request_permission").await;
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "nothing is written before the answer");
    let call = &params["toolCall"];
    let reason = call["content"][0]["content"]["text"].as_str().unwrap();
    assert!(reason.contains(outside.to_str().unwrap()) && reason.contains("is a link"), "{reason}");
    let title = call["title"].as_str().unwrap();
    for shown in [reason, title] {
        assert!(shown.contains("\\u{202e}") && !shown.contains('\u{202e}'), "{shown}");
    }
    let options = params["options"].as_array().unwrap();
    let reject = options.iter().find(|option| option["kind"] == "reject_once").unwrap();
    turn.editor.respond(&id, json!({ "outcome": { "outcome": "selected", "optionId": reject["optionId"] } }));
    turn.editor.await_response(prompt).await.unwrap();
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    turn.finish().await;
}
