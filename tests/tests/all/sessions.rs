//! Stored sessions on the built daemon: listed, loaded again after every kind of end, shared by two daemons. Needs the program: `cargo build -p copydesk`.

use std::time::{Duration, Instant};

use copydesk_adapters::store::sqlite::SqliteStore;
use copydesk_engine::ids::{MessageId, Millis, PartId, SessionId};
use copydesk_engine::message::{Entry, PromptPart, TurnEnd};
use copydesk_engine::ports::{SessionMeta, Store as _};
use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{FakeEditor, uri};
use copydesk_tests::scripted_model::{Gate, Reply, Script, ScriptedModel};
use copydesk_workspace::path::AbsPath;
use serde_json::{Value, json};

async fn start(script: impl Into<Script>) -> (ScriptedModel, Home) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    (model, home)
}

fn load_params(home: &Home, session: &str) -> Value {
    json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] })
}

fn taking_over(home: &Home, session: &str) -> Value {
    let mut params = load_params(home, session);
    params["_meta"] = json!({ "copydesk": { "takeOver": true } });
    params
}

/// A line an update, in the order in which they came.
fn lines(editor: &FakeEditor) -> Vec<String> {
    let line = |params: Value| {
        let update = &params["update"];
        let tag = update["sessionUpdate"].as_str().unwrap();
        match tag {
            "tool_call" | "tool_call_update" => format!("{tag} {} {}", update["title"], update["status"]),
            "usage_update" => format!("{tag} {}", update["used"]),
            _ => format!("{tag} {}", update["content"]["text"]),
        }
    };
    editor.take_notifications("session/update").into_iter().map(line).collect()
}

/// Many sessions, or long ones, as a daemon that is gone has left them.
async fn stored(home: &Home, sessions: &[(String, Vec<Entry>)]) {
    let store = SqliteStore::new(AbsPath::new(home.data().join("copydesk/copydesk.db")).unwrap());
    let folder = AbsPath::new(home.workspace()).unwrap();
    for (id, entries) in sessions {
        let id = SessionId::new(id);
        let meta =
            SessionMeta { id: id.clone(), created: Millis(1), folder: folder.clone(), roots: vec![folder.clone()] };
        store.create(meta).await.unwrap();
        store.append(id, entries.clone()).await.unwrap();
    }
}

/// One turn of so many parts.
fn conversation(parts: usize) -> Vec<Entry> {
    let user = Entry::User {
        message: MessageId::new("msg_1"),
        at: Millis(2),
        agent: "build".to_owned(),
        parts: vec![PromptPart::Text { text: "tell me".to_owned() }],
    };
    let text = |number: usize| Entry::Text {
        message: MessageId::new(format!("msg_2_{number}")),
        part: PartId::new(format!("prt_{number}")),
        text: format!("Part {number}: {}", "some words of an answer. ".repeat(8)),
    };
    let end = Entry::TurnEnded { at: Millis(3), reason: TurnEnd::Done };
    std::iter::once(user).chain((1..parts).map(text)).chain([end]).collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Close,
    NoInput,
    Kill,
}

#[tokio::test]
async fn c95_r12_4_after_each_end_in_the_middle_of_a_turn_the_conversation_is_whole_and_nothing_runs() {
    for end in [End::Close, End::NoInput, End::Kill] {
        let gate = Gate::new();
        let held = gate.clone();
        let (model, home) = start(Script::function(move |request| match request.last_text() {
            text if text.contains("go on") => Reply::text("Here I am again."),
            _ if request.results().is_empty() => {
                Reply::text("I look.").then_call("read", json!({ "filePath": "a.txt" }))
            }
            _ => Reply::text("It says").then_wait(&held).then_text(" never seen"),
        }))
        .await;
        home.write("a.txt", "one\n");
        let mut editor = FakeEditor::open(home.clone()).await;
        let session = editor.new_session().await;
        let prompt = editor.prompt(&session, "What does it say?");
        editor
            .await_notification_that("session/update", |params| params["update"]["content"]["text"] == "It says")
            .await;
        editor.take_notifications("session/update");
        match end {
            End::Close => {
                assert_eq!(editor.request("session/close", json!({ "sessionId": session })).await, Ok(json!({})));
                assert_eq!(editor.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
                let refusal = editor.request("session/prompt", json!({ "sessionId": session, "prompt": [] })).await;
                assert_eq!(refusal.unwrap_err().code, -32002);
            }
            End::NoInput => editor.close_input(),
            End::Kill => {
                let process = i32::try_from(editor.process().unwrap()).unwrap();
                // SAFETY: a signal to a child of this test.
                #[allow(unsafe_code)]
                unsafe {
                    libc::kill(process, libc::SIGKILL)
                };
            }
        }
        model.wait_for_abandoned(1).await;
        let asked = model.requests().len();
        if end != End::Close {
            editor.await_end().await;
            if editor.is_answered(prompt) {
                drop(editor.await_response(prompt).await);
            } else {
                editor.forget_request(prompt);
            }
        }
        editor.disregard("session/update");
        editor.finish().await;

        let editor = FakeEditor::open(home.clone()).await;
        let answer = editor.request("session/load", load_params(&home, &session)).await.unwrap();
        assert_eq!(answer["modes"]["currentModeId"], "build");
        assert_eq!(answer["configOptions"][1]["currentValue"], "scripted/model");
        let told = lines(&editor);
        let expected = [
            "user_message_chunk \"What does it say?\"",
            "agent_message_chunk \"I look.\"",
            "tool_call \"Read a.txt\" null",
            "tool_call_update \"Read a.txt\" \"completed\"",
        ];
        assert_eq!(told[..4], expected, "{end:?}: {told:?}");
        // A killed daemon loses the message that was streaming (R12.2), no other does.
        let rest = if end == End::Kill { &told[4..] } else { &told[5..] };
        assert_eq!(told[4] == "agent_message_chunk \"It says\"", end != End::Kill, "{end:?}: {told:?}");
        assert!(rest.len() == 1 && rest[0].contains("Interrupted"), "{end:?}: {told:?}");
        assert_eq!(model.requests().len(), asked, "nothing goes on by itself");

        editor.turn(&session, "go on").await;
        editor.disregard("session/update");
        editor.finish().await;
        gate.open();
        model.finish();
    }
}

#[tokio::test]
async fn c94_two_daemons_share_a_store_and_a_session_is_written_by_one_of_them() {
    let (model, home) = start(Script::function(|_| Reply::text("Yes."))).await;
    let one = FakeEditor::open(home.clone()).await;
    let two = FakeEditor::open(home.clone()).await;
    one.disregard("session/update");
    let session = one.new_session().await;
    one.turn(&session, "first").await;

    let answer = two.request("session/load", load_params(&home, &session)).await.unwrap();
    assert_eq!(answer["_meta"]["copydesk"]["readOnly"], true);
    assert_eq!(lines(&two), ["user_message_chunk \"first\"", "agent_message_chunk \"Yes.\""]);
    two.await_notification_that("window/showMessage", |params| params.to_string().contains("another Copydesk")).await;
    let prompt = two.prompt(&session, "mine");
    let refusal = two.await_response(prompt).await.unwrap_err();
    assert!(refusal.message.contains("take it over"), "{refusal:?}");
    let refusal = two.request("session/delete", json!({ "sessionId": session })).await.unwrap_err();
    assert_eq!(refusal.code, -32602);

    let answer = two.request("session/resume", taking_over(&home, &session)).await.unwrap();
    assert_eq!(answer["_meta"], Value::Null);
    two.disregard("session/update");
    two.turn(&session, "mine").await;
    let prompt = one.prompt(&session, "still mine?");
    assert!(one.await_response(prompt).await.unwrap_err().message.contains("another Copydesk"));

    // The lease of a dead daemon is free at once.
    let mut two = two;
    two.close_input();
    two.await_end().await;
    two.finish().await;
    let answer = one.request("session/load", load_params(&home, &session)).await.unwrap();
    assert_eq!(answer["_meta"], Value::Null);
    one.turn(&session, "now?").await;
    one.finish().await;
    model.finish();
}

/// Two windows on one project, the same files open in both, a turn of its own running in each: what one session edits, asks and changes is the affair of its
/// own editor. What the other would be sent is a fault of its own, as nobody awaits it there.
#[tokio::test]
async fn r20_2_edits_asks_and_changed_files_are_the_affair_of_one_editor() {
    let gate = Gate::new();
    let held = gate.clone();
    let (model, home) = start(Script::function(move |request| match request.results()[..] {
        [] if request.last_text().contains("look") => {
            Reply::calls(["a.txt", "b.txt"].map(|name| ("read", json!({ "filePath": name }))))
        }
        [] => Reply::call("read", json!({ "filePath": "a.txt" })),
        [_] => Reply::call("edit", json!({ "filePath": "a.txt", "oldString": "one", "newString": "two" })),
        [_, read] if read.contains("b.txt</path>") => Reply::text("I look").then_wait(&held).then_text(" on."),
        [_, _] => Reply::call("bash", json!({ "command": "echo changed >b.txt" })),
        _ => Reply::text("Done."),
    }))
    .await;
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "edit": "ask", "bash": "ask" } }));
    let documents = ["a.txt", "b.txt"].map(|name| uri(&home.write(name, "one\n")));
    let idle = FakeEditor::open(home.clone()).await;
    let acting = FakeEditor::open(home.clone()).await;
    for editor in [&idle, &acting] {
        for document in &documents {
            editor.open_document(document, "plaintext", "one\n");
        }
    }
    let (idle_session, session) = (idle.new_session().await, acting.new_session().await);
    let looking = idle.prompt(&idle_session, "look");
    idle.await_notification_that("session/update", |params| params["update"]["content"]["text"] == "I look").await;

    acting.script("_copydesk/diagnostics", |_| json!({ "documents": [] }));
    let prompt = acting.prompt(&session, "change it");
    for _ in 0..2 {
        let (id, params) = acting.await_request("session/request_permission").await;
        assert_eq!(params["sessionId"], json!(session));
        let options = params["options"].as_array().unwrap();
        let allow = options.iter().find(|option| option["kind"] == "allow_once").unwrap();
        acting.respond(&id, json!({ "outcome": { "outcome": "selected", "optionId": allow["optionId"] } }));
    }
    let (id, params) = acting.await_request("_copydesk/files_changed").await;
    assert_eq!(params["files"], json!([{ "uri": documents[1], "kind": "changed" }]));
    acting.respond(&id, json!({ "reloaded": [], "conflicts": [] }));
    assert_eq!(acting.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
    gate.open();
    assert_eq!(idle.await_response(looking).await.unwrap()["stopReason"], "end_turn");

    assert_eq!((acting.applied().len(), acting.document(&documents[0]).text.as_str()), (1, "two\n"));
    assert_eq!((idle.applied().len(), idle.document(&documents[0]).text.as_str()), (0, "one\n"));
    for (editor, own) in [(&idle, &idle_session), (&acting, &session)] {
        let told = editor.take_notifications("session/update");
        assert!(!told.is_empty() && told.iter().all(|params| params["sessionId"] == json!(own)), "{told:?}");
    }
    idle.finish().await;
    acting.finish().await;
    model.finish();
}

#[tokio::test]
async fn r12_3_sessions_are_listed_with_title_and_time_and_deleted() {
    let (model, home) = start(Script::function(|_| Reply::text("Yes."))).await;
    let editor = FakeEditor::open(home.clone()).await;
    editor.disregard("session/update");
    let capabilities = agent_capabilities(&home).await;
    assert_eq!(capabilities["loadSession"], true);
    for name in ["list", "resume", "close", "delete", "additionalDirectories"] {
        assert_eq!(capabilities["sessionCapabilities"][name], json!({}), "{name}");
    }
    assert_eq!(editor.request("session/list", json!({})).await, Ok(json!({ "sessions": [] })));
    let session = editor.new_session().await;
    editor.turn(&session, "  Does it\nwork? ").await;

    for params in [json!({}), json!({ "cwd": home.workspace() })] {
        let listed = editor.request("session/list", params).await.unwrap();
        let [only] = &listed["sessions"].as_array().unwrap()[..] else { panic!("{listed}") };
        assert_eq!((&only["sessionId"], &only["title"]), (&json!(session), &json!("Does it work?")));
        assert_eq!(only["cwd"], json!(home.workspace()));
        let updated = only["updatedAt"].as_str().unwrap();
        assert!(updated.starts_with("20") && updated.contains('T') && updated.ends_with('Z'), "{updated}");
    }
    let body = r#"{"jsonrpc":"2.0","id":"bare","method":"session/list"}"#;
    editor.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    let bare = editor.await_stray().await;
    assert_eq!(bare["result"]["sessions"][0]["sessionId"], json!(session), "all of its params may be missing: {bare}");
    let listed = editor.request("session/list", json!({ "cwd": home.path() })).await.unwrap();
    assert_eq!(listed["sessions"], json!([]));
    for params in [json!({ "cursor": "odd" }), json!({ "cwd": "relative" })] {
        assert_eq!(editor.request("session/list", params).await.unwrap_err().code, -32602);
    }
    let elsewhere = json!({ "sessionId": session, "cwd": home.path(), "mcpServers": [] });
    let refusal = editor.request("session/load", elsewhere).await.unwrap_err();
    assert!(refusal.code == -32602 && refusal.message.contains("project"), "{refusal:?}");

    for _ in 0..2 {
        assert_eq!(editor.request("session/delete", json!({ "sessionId": session })).await, Ok(json!({})));
    }
    assert_eq!(editor.request("session/list", json!({})).await, Ok(json!({ "sessions": [] })));
    assert_eq!(editor.request("session/load", load_params(&home, &session)).await.unwrap_err().code, -32002);
    editor.finish().await;
    model.finish();
}

async fn agent_capabilities(home: &Home) -> Value {
    let mut editor = FakeEditor::spawn(home.clone());
    let answered = editor.initialize(copydesk_tests::fake_editor::Capabilities::default()).await;
    editor.finish().await;
    answered["experimental"]["copydesk"]["agentCapabilities"].clone()
}

#[tokio::test]
async fn r12_3_a_session_of_five_thousand_parts_is_shown_from_its_first_page_on() {
    const PARTS: usize = 5_000;
    let (model, home) = start([]).await;
    stored(&home, &[("ses_long".to_owned(), conversation(PARTS))]).await;
    let editor = FakeEditor::open(home.clone()).await;
    let asked = Instant::now();
    let load = editor.send("session/load", load_params(&home, "ses_long"));
    editor.await_update("user_message_chunk").await;
    // The bar of 100 ms is of a release build on an idle machine; this catches a load that reads everything first.
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert!(!editor.is_answered(load), "the answer comes behind the replay");
    editor.await_response(load).await.unwrap();
    let told = lines(&editor);
    assert_eq!(told.len(), PARTS - 1);
    assert!(told[PARTS - 2].contains("Part 4999:"), "{}", told[PARTS - 2]);
    editor.finish().await;
    model.finish();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn idle_sessions_are_small() {
    const SESSIONS: usize = 300;
    let (model, home) = start([]).await;
    let name = |number: usize| format!("ses_{number:04}");
    let sessions: Vec<_> = (0..SESSIONS).map(|number| (name(number), conversation(10))).collect();
    stored(&home, &sessions).await;
    let editor = FakeEditor::open(home.clone()).await;
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", editor.process().unwrap())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
    };
    let resume = async |number: usize| {
        editor.request("session/resume", load_params(&home, &name(number))).await.unwrap();
    };
    // What the first sessions cost once: the database, caches, threads.
    for number in 0..50 {
        resume(number).await;
    }
    let before = resident();
    for number in 50..SESSIONS {
        resume(number).await;
    }
    let each = (resident().saturating_sub(before)) / (SESSIONS - 50);
    assert!(each <= 50, "{each} KB a session");
    editor.finish().await;
    model.finish();
}
