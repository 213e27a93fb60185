//! Undo and review by the built daemon where it is not alone: two daemons, one that is killed, a thousand requests at once.
//! Needs the program: `cargo build -p copydesk`.

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, EditPolicy, FakeEditor, Refusal, uri};
use copydesk_tests::scripted_model::{Gate, Reply, Script, ScriptedModel};
use serde_json::{Value, json};

pub(super) fn edit(file: &str, old: &str, new: &str) -> Reply {
    Reply::call("edit", json!({ "filePath": file, "oldString": old, "newString": new }))
}

/// A script whose first turn changes `a.txt` and `b.txt` and makes `new.txt`, and whose others say a word.
pub(super) fn changes_once() -> Script {
    Script::function(|request| match (request.results().len(), request.last_text()) {
        (0, text) if text.contains("Shout") => edit("a.txt", "two", "TWO")
            .then_call("edit", json!({ "filePath": "b.txt", "oldString": "two", "newString": "TWO" }))
            .then_call("write", json!({ "filePath": "new.txt", "content": "new\n" })),
        _ => Reply::text("Done."),
    })
}

pub(super) const OLD: &str = "one\ntwo\nthree\n";
pub(super) const NEW: &str = "one\nTWO\nthree\n";

pub(super) async fn start(script: impl Into<Script>) -> (ScriptedModel, Home) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    for file in ["a.txt", "b.txt"] {
        home.write(file, OLD);
    }
    (model, home)
}

pub(super) async fn editor(home: &Home) -> FakeEditor {
    let folders = vec![uri(&home.workspace())];
    let opt_in = json!({ "protocol": 1, "acp": {}, "changes": true });
    let editor = FakeEditor::open_with(home.clone(), Capabilities { folders, opt_in, ..Capabilities::default() }).await;
    for method in ["session/update", "_copydesk/changed", "window/showMessage", "window/logMessage"] {
        editor.disregard(method);
    }
    editor.answer_permissions_with("allow_once");
    editor
}

pub(super) fn load(home: &Home, session: &str) -> Value {
    json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] })
}

pub(super) async fn undo(editor: &FakeEditor, session: &str, what: Value) -> Result<Value, Refusal> {
    editor.request("_copydesk/undo", json!({ "sessionId": session, "what": what })).await
}

pub(super) async fn changes(editor: &FakeEditor, session: &str, mut params: Value) -> Result<Value, Refusal> {
    params["sessionId"] = json!(session);
    editor.request("_copydesk/changes", params).await
}

fn hunks(list: &Value) -> Vec<Value> {
    let files = list["files"].as_array().unwrap();
    files.iter().flat_map(|file| file["hunks"].as_array().unwrap().clone()).collect()
}

fn undecided(list: &Value) -> Vec<u64> {
    let undecided = hunks(list).into_iter().filter(|hunk| hunk["state"] == "undecided");
    undecided.map(|hunk| hunk["id"].as_u64().unwrap()).collect()
}

/// Of the project; `-` where there is none.
pub(super) fn texts(home: &Home) -> [String; 3] {
    let text = |file| std::fs::read_to_string(home.workspace().join(file)).unwrap_or_else(|_| "-".to_owned());
    ["a.txt", "b.txt", "new.txt"].map(text)
}

#[tokio::test]
async fn c94_two_daemons_undo_and_decide_one_after_the_other_and_never_both() {
    let (model, home) = start(changes_once()).await;
    let (one, two) = (editor(&home).await, editor(&home).await);
    let session = one.new_session().await;
    one.turn(&session, "Shout").await;
    assert_eq!(texts(&home), [NEW, NEW, "new\n"]);

    // Seen there, and changed by its holder alone.
    assert_eq!(undo(&two, &session, json!("last")).await.unwrap_err().code, -32002);
    two.request("session/load", load(&home, &session)).await.unwrap();
    let list = changes(&two, &session, json!({})).await.unwrap();
    assert_eq!(undecided(&list).len(), 3);
    let decisions = [json!({ "reject": "all" }), json!({ "accept": "all" })];
    // Where nothing is undecided there is nothing to refuse.
    let refused = async |editor: &FakeEditor, decisions: &[Value]| {
        for what in ["last", "redo"] {
            let refusal = undo(editor, &session, json!(what)).await.unwrap_err();
            assert!(refusal.message.contains("another Copydesk"), "{refusal:?}");
        }
        for decision in decisions {
            let refusal = changes(editor, &session, decision.clone()).await.unwrap_err();
            assert!(refusal.message.contains("another Copydesk"), "{refusal:?}");
        }
        let prompt = editor.prompt(&session, "/undo");
        let refusal = editor.await_response(prompt).await.unwrap_err();
        assert!(refusal.message.contains("another Copydesk"), "{refusal:?}");
    };
    refused(&two, &decisions).await;
    let (code, _, said) = home.ended(&["undo"]).await;
    assert!(code != Some(0) && !said.is_empty(), "{code:?}: {said}");
    assert_eq!(texts(&home), [NEW, NEW, "new\n"]);
    changes(&one, &session, json!({ "accept": { "hunks": [undecided(&list)[0]] } })).await.unwrap();

    let mut takes = load(&home, &session);
    takes["_meta"] = json!({ "copydesk": { "takeOver": true } });
    two.request("session/resume", takes).await.unwrap();
    assert_eq!(undecided(&changes(&two, &session, json!({})).await.unwrap()).len(), 2);
    undo(&two, &session, json!("last")).await.unwrap();
    assert_eq!(texts(&home), [OLD, OLD, "-"]);
    refused(&one, &[]).await;
    assert_eq!(texts(&home), [OLD, OLD, "-"]);
    assert_eq!(undecided(&changes(&one, &session, json!({})).await.unwrap()), [] as [u64; 0]);
    undo(&two, &session, json!("redo")).await.unwrap();
    assert_eq!(undecided(&changes(&one, &session, json!({})).await.unwrap()).len(), 3);
    refused(&one, &decisions).await;
    assert_eq!(texts(&home), [NEW, NEW, "new\n"]);
    one.finish().await;
    two.finish().await;
    model.finish();
}

#[tokio::test]
async fn c33_c94_an_undo_in_the_middle_of_which_its_daemon_is_killed_is_finished_by_the_next() {
    // The one that waits for its editor is the first of the changed files, or the last.
    for open in ["a.txt", "b.txt"] {
        let (model, home) = start(changes_once()).await;
        let document = uri(&home.workspace().join(open));
        let one = editor(&home).await;
        one.open_document(&document, "text", OLD);
        let session = one.new_session().await;
        one.turn(&session, "Shout").await;
        one.save_document(&document);
        assert_eq!(texts(&home), [NEW, NEW, "new\n"]);
        one.take_edits(EditPolicy::Ask);
        one.send("_copydesk/undo", json!({ "sessionId": session }));
        one.await_request("workspace/applyEdit").await;
        one.kill().await;

        let two = editor(&home).await;
        two.request("session/load", load(&home, &session)).await.unwrap();
        undo(&two, &session, json!("last")).await.unwrap();
        assert_eq!(texts(&home), [OLD, OLD, "-"], "{open}");
        assert_eq!(undo(&two, &session, json!("last")).await.unwrap_err().code, -32803);
        while undo(&two, &session, json!("redo")).await.is_ok() {}
        assert_eq!(texts(&home), [NEW, NEW, "new\n"], "{open}");
        two.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn a_session_that_is_deleted_under_an_undo_changes_nothing_afterwards() {
    let (model, home) = start(changes_once()).await;
    let document = uri(&home.workspace().join("a.txt"));
    let one = editor(&home).await;
    one.open_document(&document, "text", OLD);
    let session = one.new_session().await;
    one.turn(&session, "Shout").await;
    one.take_edits(EditPolicy::Ask);
    let asked = one.send("_copydesk/undo", json!({ "sessionId": session }));
    let (edit, _) = one.await_request("workspace/applyEdit").await;
    assert_eq!(one.request("session/delete", json!({ "sessionId": session })).await, Ok(json!({})));
    let before = texts(&home);
    one.respond(&edit, json!({ "applied": false, "failureReason": "gone" }));
    let answer = one.await_response(asked).await;
    assert_eq!(texts(&home), before, "{answer:?}");
    assert_eq!(before[1], NEW);
    assert_eq!(undo(&one, &session, json!("redo")).await.unwrap_err().code, -32002);
    one.take_edits(EditPolicy::Apply);
    let session = one.new_session().await;
    one.turn(&session, "go on").await;
    one.finish().await;
    model.finish();
}

#[tokio::test]
async fn a_thousand_requests_at_once_are_each_answered_and_lose_no_line() {
    const EDITS: usize = 20;
    let gate = Gate::new();
    let held = gate.clone();
    let (model, home) = start(Script::function(move |request| match (request.results().len(), request.last_text()) {
        (0, text) if text.contains("First") => edit("b.txt", "two", "TWO")
            .then_call("edit", json!({ "filePath": "a.txt", "oldString": "lone 3\n", "newString": "LONE 3\n" }))
            .then_call("write", json!({ "filePath": "new.txt", "content": "new\n" })),
        (3, text) if text.contains("Second") => {
            Reply::text("Now").then_wait(&held).then_call("read", json!({ "filePath": "a.txt" }))
        }
        (done, _) if (4..4 + EDITS).contains(&done) => {
            let line = done - 3;
            edit("a.txt", &format!("line {line}\n"), &format!("LINE {line}\n"))
        }
        _ => Reply::text("Done."),
    }))
    .await;
    let text: String = (1..=EDITS).map(|n| format!("line {n}\nx\nlone {n}\nx\n")).collect();
    let file = home.write("a.txt", &text);
    let document = uri(&file);
    let one = editor(&home).await;
    one.expect_stale_edits();
    one.open_document(&document, "text", &text);
    let session = one.new_session().await;
    let first = one.prompt(&session, "First");
    one.await_response(first).await.unwrap();
    let list = changes(&one, &session, json!({})).await.unwrap();
    let turn = hunks(&list)[0]["turn"].clone();
    let ids = undecided(&list);
    assert_eq!(ids.len(), 3, "{list}");

    let second = one.prompt(&session, "Second");
    gate.reached().await;
    gate.open();
    let mut asked = Vec::new();
    for number in 0..1000_usize {
        let id = ids[number / 10 % 3];
        let (method, mut params) = match number % 10 {
            0 => ("_copydesk/undo", json!({ "what": { "turn": turn } })),
            1 => ("_copydesk/undo", json!({ "what": "redo" })),
            2 => ("_copydesk/undo", json!({ "what": "last" })),
            3 => ("_copydesk/changes", json!({ "reject": { "hunks": [id, number] } })),
            4 => ("_copydesk/changes", json!({ "accept": { "hunks": [id, id] }, "reject": { "hunks": [id] } })),
            5 => ("_copydesk/changes", json!({ "scope": "last_turn" })),
            6 => ("_copydesk/diff", json!({})),
            7 if number > 900 => ("_copydesk/changes", json!({ "reject": "all" })),
            _ => ("_copydesk/changes", json!({})),
        };
        params["sessionId"] = json!(session);
        asked.push(one.send(method, params));
        if number % 50 == 0 {
            let lines = one.document(&document).text.lines().count();
            one.type_text(&document, (lines, 0), (lines, 0), &format!("mine {number}\n"));
            tokio::task::yield_now().await;
        }
    }
    let mut refused = std::collections::BTreeMap::new();
    for request in asked {
        if let Err(refusal) = one.await_response(request).await {
            *refused.entry((refusal.code, refusal.message)).or_insert(0) += 1;
        }
    }
    one.await_response(second).await.unwrap();
    for (code, message) in refused.keys() {
        assert!([-32803, -32602, -32800, -32000, -32001].contains(code), "{code} {message}: {refused:?}");
    }
    let now = one.document(&document).text;
    for number in (0..1000).step_by(50) {
        assert_eq!(now.matches(&format!("mine {number}\n")).count(), 1, "{number}: {now}");
    }
    for number in 1..=EDITS {
        let lines = |line: &str| now.lines().filter(|other| *other == line).count();
        assert_eq!(lines(&format!("line {number}")) + lines(&format!("LINE {number}")), 1, "{number}: {now}");
        assert_eq!(lines(&format!("lone {number}")) + lines(&format!("LONE {number}")), 1, "{number}: {now}");
    }
    // And the session goes on.
    let last = one.prompt(&session, "go on");
    one.await_response(last).await.unwrap();
    while undo(&one, &session, json!("last")).await.is_ok() {}
    let now = one.document(&document).text;
    assert_eq!(now.matches("mine ").count(), 20, "{now}");
    one.finish().await;
    model.finish();
}

#[tokio::test]
async fn r5_2_a_session_is_opened_in_its_own_folder_and_undoes_nothing_through_links() {
    let (model, home) = start(changes_once()).await;
    let one = editor(&home).await;
    let session = one.new_session().await;
    one.turn(&session, "Shout").await;
    one.finish().await;

    let two = editor(&home).await;
    let other = home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    for method in ["session/load", "session/resume"] {
        for (cwd, code) in [
            (json!("project"), -32602),
            (json!("."), -32602),
            (json!(""), -32602),
            (json!("../project"), -32602),
            (json!(other), -32602),
            (json!(home.path()), -32602),
            (json!("/"), -32602),
        ] {
            let load = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
            let refusal = two.request(method, load).await.unwrap_err();
            assert_eq!(refusal.code, code, "{cwd}: {refusal:?}");
            assert_eq!(undo(&two, &session, json!("last")).await.unwrap_err().code, -32002);
        }
    }
    // The folder moved away, and a link in its place.
    let moved = home.path().join("moved");
    std::fs::rename(home.workspace(), &moved).unwrap();
    std::os::unix::fs::symlink(&moved, home.path().join("project")).unwrap();
    two.request("session/load", json!({ "sessionId": session, "cwd": home.path().join("project"), "mcpServers": [] }))
        .await
        .unwrap();
    let list = changes(&two, &session, json!({ "reject": "all" })).await.unwrap();
    let report = undo(&two, &session, json!("last")).await;
    for (file, text) in [("a.txt", NEW), ("b.txt", NEW), ("new.txt", "new\n")] {
        assert_eq!(std::fs::read_to_string(moved.join(file)).unwrap(), text, "{list}: {report:?}");
    }
    // Back again.
    std::fs::remove_file(home.path().join("project")).unwrap();
    std::fs::rename(&moved, home.path().join("project")).unwrap();
    undo(&two, &session, json!("last")).await.unwrap();
    assert_eq!(texts(&home), [OLD, OLD, "-"]);
    two.finish().await;
    model.finish();
}

#[tokio::test]
async fn r4_2_one_hunk_by_several_names_in_one_request_is_decided_once() {
    let (model, home) = start(changes_once()).await;
    let one = editor(&home).await;
    let session = one.new_session().await;
    one.turn(&session, "Shout").await;
    let list = changes(&one, &session, json!({})).await.unwrap();
    let ids = undecided(&list);
    let a = uri(&home.workspace().join("a.txt"));
    // Accepted by its file and rejected by its id: what is accepted stays.
    let both = json!({ "accept": { "files": [a, a] }, "reject": { "hunks": [ids[0], ids[0], u64::MAX] } });
    let list = changes(&one, &session, both).await.unwrap();
    assert_eq!((&list["decided"], texts(&home)[0].as_str()), (&json!([ids[0]]), NEW), "{list}");
    assert_eq!(undecided(&list), ids[1..]);
    for wrong in [
        json!({ "reject": { "hunks": [-1] } }),
        json!({ "reject": { "hunks": [1.5] } }),
        json!({ "reject": { "hunks": ["1"] } }),
        json!({ "reject": { "hunks": [18_446_744_073_709_551_615_f64 * 2.0] } }),
        json!({ "reject": { "hunks": null } }),
        json!({ "reject": { "hunks": [1], "files": [a] } }),
        json!({ "reject": { "files": ["a.txt"] } }),
        json!({ "reject": {} }),
        json!({ "scope": { "turn": 7 } }),
    ] {
        let refused = changes(&one, &session, wrong.clone()).await;
        assert_eq!(refused.as_ref().map_err(|refusal| refusal.code), Err(-32602), "{wrong}: {refused:?}");
    }
    // Of another session, and of one that was deleted.
    let other = one.new_session().await;
    let list = changes(&one, &other, json!({ "reject": { "hunks": ids } })).await.unwrap();
    assert_eq!(list["undecided"].as_array().unwrap().len(), 3, "{list}");
    let files = json!({ "reject": { "files": [a, uri(&home.workspace().join("b.txt")), "file:///etc/passwd"] } });
    changes(&one, &other, files).await.unwrap();
    one.request("session/delete", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(changes(&one, &session, json!({ "reject": "all" })).await.unwrap_err().code, -32002);
    assert_eq!(undo(&one, &session, json!("last")).await.unwrap_err().code, -32002);
    assert_eq!(texts(&home), [NEW, NEW, "new\n"]);
    one.finish().await;
    model.finish();
}
