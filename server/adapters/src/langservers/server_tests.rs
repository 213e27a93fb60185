#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
//! The actor against a server that the test plays, over an in-memory stream on a paused clock.

use copydesk_protocol::rpc::{Handler, Notification, Reply, Request, RpcError};
use copydesk_workspace::uri::uri_from_path;
use ropey::Rope;
use serde_json::json;
use tokio::io::{AsyncWriteExt as _, duplex, split};

use super::*;

/// The bound that tools use.
const WAIT: Duration = Duration::from_millis(1500);

/// Every start of the server comes out of `starts`, to be played by the test.
struct Stage {
    handle: ServerHandle,
    starts: mpsc::UnboundedReceiver<Played>,
    closing: CancellationToken,
    actor: JoinHandle<()>,
    troubles: Troubles,
}

/// One start of the server.
struct Played {
    peer: Peer,
    events: mpsc::UnboundedReceiver<(String, Value)>,
    connection: JoinHandle<End>,
}

/// What the server says of itself, and how it answers `textDocument/diagnostic`.
#[derive(Clone, Default)]
struct Character {
    /// Never answers `initialize`.
    hangs: bool,
    capabilities: Value,
    answers: Option<Arc<dyn Fn() -> Result<Value, RpcError> + Send + Sync>>,
    /// How often it reads on; always where that is not said.
    reads: Option<Arc<tokio::sync::Semaphore>>,
    /// Printed before anything else.
    garbage: &'static str,
}

struct Script {
    peer: Peer,
    character: Character,
    events: mpsc::UnboundedSender<(String, Value)>,
}

impl Handler for Script {
    fn request(&self, request: Request) -> Reply {
        let drops = request.params["command"] == "drops";
        let is_late = request.params["command"] == "late";
        let never = request.params["command"] == "never";
        let _ = self.events.send((request.method.clone(), request.params));
        match request.method.as_str() {
            "initialize" if self.character.hangs => Reply::Abortable(Box::pin(std::future::pending())),
            "initialize" => Reply::Now(Ok(json!({ "capabilities": self.character.capabilities }))),
            "workspace/executeCommand" if is_late => {
                let (peer, cancelled) = (self.peer.clone(), request.cancelled);
                let events = self.events.clone();
                let edits = tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    let edit = json!({ "edit": { "changes": { "late": [] } } });
                    let answer = peer.request("workspace/applyEdit", edit).await.unwrap_or_default();
                    let _ = events.send(("late edit".to_owned(), answer));
                });
                Reply::WindsDown(Box::pin(async move {
                    tokio::select! {
                        // The work goes on all the same.
                        () = cancelled.cancelled() => Err(RpcError::new(-32800, "cancelled")),
                        _ = edits => Ok(Value::Null),
                    }
                }))
            }
            "workspace/executeCommand" if never => Reply::WindsDown(Box::pin(std::future::pending())),
            "workspace/executeCommand" => {
                let peer = self.peer.clone();
                Reply::Abortable(Box::pin(async move {
                    tokio::time::sleep(Duration::from_millis(1500)).await;
                    let edit = json!({ "edit": { "changes": {} } });
                    let answer = peer.request("workspace/applyEdit", edit).await.unwrap_or_default();
                    if drops { Err(RpcError::new(-32802, "busy")) } else { Ok(answer) }
                }))
            }
            method if method.starts_with("$/") && self.character.reads.is_some() => {
                let (reads, unknown) = (self.character.reads.clone().unwrap(), RpcError::method_not_found(method));
                Reply::Abortable(Box::pin(async move {
                    reads.acquire().await.unwrap().forget();
                    Err(unknown)
                }))
            }
            "shutdown" | "textDocument/hover" => Reply::Now(Ok(Value::Null)),
            "textDocument/diagnostic" => match &self.character.answers {
                Some(answers) => Reply::Now(answers()),
                None => Reply::Abortable(Box::pin(std::future::pending())),
            },
            method => Reply::Now(Err(RpcError::method_not_found(method))),
        }
    }

    fn notification(&self, notification: Notification) {
        if notification.method == "exit" {
            self.peer.end();
        }
        let _ = self.events.send((notification.method, notification.params));
    }
}

fn root() -> AbsPath {
    AbsPath::new("/code/app").unwrap()
}

fn file(name: &str, text: &str) -> Text {
    Text { path: root().join(name), language: "python".to_owned(), text: Rope::from(text) }
}

fn stage(character: Character) -> Stage {
    let (sender, starts) = mpsc::unbounded_channel();
    let launcher: Launcher = Arc::new(move |_: &Launch| {
        let (ours, theirs) = duplex(1 << 20);
        let (reader, mut writer) = split(theirs);
        let (events_in, events) = mpsc::unbounded_channel();
        let (character, sender) = (character.clone(), sender.clone());
        tokio::spawn(async move {
            writer.write_all(character.garbage.as_bytes()).await.unwrap();
            let (give, peer) = oneshot::channel();
            let options = Options { framing: Framing::ContentLength, cancel: CancelDialect::Lsp };
            let connection = tokio::spawn(rpc::serve(Box::new(reader), Box::new(writer), options, move |peer| {
                give.send(peer.clone()).ok();
                Arc::new(Script { peer, character, events: events_in })
            }));
            let _ = sender.send(Played { peer: peer.await.unwrap(), events, connection });
        });
        let (reader, writer) = split(ours);
        Ok(Transport { reader: Box::new(reader), writer: Box::new(writer), process: None })
    });
    let recipe = Recipe {
        name: "played".to_owned(),
        launch: Launch {
            program: "played".into(),
            arguments: Vec::new(),
            folder: root(),
            env: Default::default(),
            hidden_vars: Vec::new(),
            passed_vars: Vec::new(),
        },
        root: root(),
        initialization: json!({ "played": { "level": 3 } }),
        launcher,
        troubles: Troubles::default(),
    };
    let troubles = recipe.troubles.clone();
    let closing = CancellationToken::new();
    let (handle, actor) = ServerHandle::start(recipe, closing.clone());
    Stage { handle, starts, closing, actor: tokio::spawn(actor), troubles }
}

impl Stage {
    async fn started(&mut self) -> Played {
        self.starts.recv().await.unwrap()
    }

    fn ask(&self, text: Text) -> JoinHandle<DiagnosticsReport> {
        let handle = self.handle.clone();
        tokio::spawn(async move { handle.ask(text, Vec::new(), WAIT).await })
    }

    async fn close(self) {
        self.closing.cancel();
        self.actor.await.unwrap();
    }
}

impl Played {
    /// The params of the next message of this method; others are passed over.
    async fn next(&mut self, method: &str) -> Value {
        loop {
            let (found, params) = self.events.recv().await.unwrap_or_else(|| panic!("{method} will not come"));
            if found == method {
                return params;
            }
        }
    }

    async fn push(&self, name: &str, version: Option<i64>, message: &str) {
        let diagnostics = if message.is_empty() { json!([]) } else { json!([problem(message)]) };
        let uri = uri_from_path(&root().join(name));
        let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
        if let Some(version) = version {
            params["version"] = version.into();
        }
        self.peer.notify("textDocument/publishDiagnostics", params).await.unwrap();
    }
}

fn problem(message: &str) -> Value {
    json!({ "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } }, "message": message })
}

fn messages(report: DiagnosticsReport) -> Vec<String> {
    match report {
        DiagnosticsReport::Ready(found) => found.into_iter().map(|problem| problem.message).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn c97_late_and_old_diagnostics_never_count_for_the_edit() {
    let mut stage = stage(Character::default());
    let before = stage.ask(file("a.py", "one"));
    let mut server = stage.started().await;
    let opened = server.next("textDocument/didOpen").await;
    let old = opened["textDocument"]["version"].as_i64();
    server.push("a.py", old, "of the old text").await;
    assert_eq!(messages(before.await.unwrap()), ["of the old text"]);

    let after = stage.ask(file("a.py", "two"));
    let changed = server.next("textDocument/didChange").await;
    assert_eq!(changed["contentChanges"], json!([{ "text": "two" }]));
    let new = changed["textDocument"]["version"].as_i64();
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.push("a.py", old, "of the old text again").await;
    server.push("a.py", None, "of nobody knows which").await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(!after.is_finished());
    server.push("a.py", new, "").await;
    assert_eq!(messages(after.await.unwrap()), [""; 0]);

    // A second run never publishes.
    let start = Instant::now();
    let never = stage.ask(file("a.py", "three")).await.unwrap();
    assert_eq!(never, DiagnosticsReport::NotReady);
    assert!(start.elapsed() <= WAIT + Duration::from_millis(100), "{:?}", start.elapsed());
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn r17_1_what_is_known_of_a_text_is_given_without_waiting() {
    let mut stage = stage(Character::default());
    assert_eq!(stage.handle.known(file("a.py", "one"), Vec::new()), DiagnosticsReport::NotReady);
    let mut server = stage.started().await;
    let version = server.next("textDocument/didOpen").await["textDocument"]["version"].as_i64();
    server.push("a.py", version, "found").await;
    let asked = stage.ask(file("a.py", "one")).await.unwrap();
    assert_eq!(messages(asked), ["found"]);
    assert_eq!(messages(stage.handle.known(file("a.py", "one"), Vec::new())), ["found"]);
    assert_eq!(stage.handle.known(file("a.py", "two"), Vec::new()), DiagnosticsReport::NotReady);
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn r17_2_a_server_that_hangs_at_its_start_delays_nobody() {
    let mut stage = stage(Character { hangs: true, ..Character::default() });
    let start = Instant::now();
    assert_eq!(stage.ask(file("a.py", "one")).await.unwrap(), DiagnosticsReport::NotReady);
    assert!(start.elapsed() <= WAIT + Duration::from_millis(100), "{:?}", start.elapsed());
    let mut server = stage.started().await;
    server.next("initialize").await;
    assert_eq!(stage.ask(file("a.py", "two")).await.unwrap(), DiagnosticsReport::NotReady);
    let end = Instant::now();
    stage.close().await;
    assert!(end.elapsed() <= Duration::from_secs(1), "{:?}", end.elapsed());
}

#[tokio::test(start_paused = true)]
async fn r17_1_pulled_and_pushed_diagnostics_are_taken_together() {
    let pull = json!({ "kind": "full", "items": [problem("pulled")] });
    let mut stage = stage(Character {
        capabilities: json!({ "diagnosticProvider": { "interFileDependencies": true } }),
        answers: Some(Arc::new(move || Ok(pull.clone()))),
        ..Character::default()
    });
    let asked = stage.ask(file("a.py", "one"));
    let mut server = stage.started().await;
    server.next("textDocument/didOpen").await;
    assert_eq!(messages(asked.await.unwrap()), ["pulled"]);
    server.push("a.py", Some(1), "pushed").await;
    // Behind the push.
    server.peer.request("workspace/workspaceFolders", Value::Null).await.unwrap();
    assert_eq!(messages(stage.ask(file("a.py", "one")).await.unwrap()), ["pulled", "pushed"]);
    stage.close().await;
}

/// As after a change of several files.
#[tokio::test(start_paused = true)]
async fn r17_1_several_files_are_waited_for_at_once() {
    let mut stage = stage(Character::default());
    let asked = ["a.py", "b.py"].map(|name| stage.ask(file(name, "one")));
    let mut server = stage.started().await;
    for (version, name) in [(1, "a.py"), (2, "b.py")] {
        let opened = server.next("textDocument/didOpen").await["textDocument"].clone();
        let uri = json!(uri_from_path(&root().join(name)));
        assert_eq!((opened["version"].as_i64(), &opened["uri"]), (Some(version), &uri));
    }
    server.push("a.py", Some(1), "of a").await;
    server.push("b.py", Some(2), "of b").await;
    for (asked, expected) in asked.into_iter().zip(["of a", "of b"]) {
        assert_eq!(messages(asked.await.unwrap()), [expected]);
    }
    // Then the disk holds for those that are not asked about.
    let _ = stage.handle.known(file("c.py", "one"), Vec::new());
    for _ in ["a.py", "b.py"] {
        server.next("textDocument/didClose").await;
    }
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn r17_1_a_server_that_is_asked_and_only_sends_is_heard() {
    // It announces the question and never answers it, or has no such method after all.
    for answers in [None, Some(RpcError::method_not_found("textDocument/diagnostic"))] {
        let mut stage = stage(Character {
            capabilities: json!({ "diagnosticProvider": {} }),
            answers: answers.map(|error| -> Arc<dyn Fn() -> _ + Send + Sync> { Arc::new(move || Err(error.clone())) }),
            ..Character::default()
        });
        let asked = stage.ask(file("a.py", "one"));
        let mut server = stage.started().await;
        server.next("textDocument/didOpen").await;
        server.push("a.py", Some(1), "pushed").await;
        assert_eq!(messages(asked.await.unwrap()), ["pushed"]);
        stage.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_server_drops_is_asked_again() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let mut stage = stage(Character {
        capabilities: json!({ "diagnosticProvider": {} }),
        answers: Some(Arc::new(move || match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Err(RpcError { code: -32802, message: "cancelled".to_owned(), data: None }),
            1 => Err(RpcError { code: -32801, message: "modified".to_owned(), data: None }),
            _ => Ok(json!({ "kind": "full", "items": [problem("at last")] })),
        })),
        ..Character::default()
    });
    let asked = stage.ask(file("a.py", "one"));
    let _server = stage.started().await;
    assert_eq!(messages(asked.await.unwrap()), ["at last"]);
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_server_s_own_requests_are_answered() {
    let mut stage = stage(Character::default());
    let _ = stage.handle.known(file("a.py", "one"), Vec::new());
    let mut server = stage.started().await;
    server.next("initialized").await;
    let ask = |method: &'static str, params: Value| server.peer.request(method, params);
    let items =
        json!({ "items": [{ "section": "played" }, { "section": "played.level" }, { "section": "other" }, {}] });
    assert_eq!(
        ask("workspace/configuration", items).await.unwrap(),
        json!([{ "level": 3 }, 3, null, { "played": { "level": 3 } }])
    );
    let registrations = json!({ "registrations": [{ "id": "1", "method": "textDocument/diagnostic" }] });
    assert_eq!(ask("client/registerCapability", registrations).await.unwrap(), Value::Null);
    assert_eq!(ask("window/workDoneProgress/create", json!({ "token": 1 })).await.unwrap(), Value::Null);
    assert_eq!(ask("workspace/applyEdit", json!({ "edit": {} })).await.unwrap()["applied"], false);
    assert!(ask("nobody/knows", json!({})).await.is_err());
    // From its registration on it is asked.
    let _asked = stage.ask(file("a.py", "two"));
    server.next("textDocument/diagnostic").await;
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn r11_3_what_is_printed_by_mistake_is_passed_over_in_silence() {
    let mut stage = stage(Character {
        garbage: "Starting the server ...\nwarning: {odd}\nContent-Length: 4\r\n\r\n{{{{",
        ..Character::default()
    });
    let asked = stage.ask(file("a.py", "one"));
    let mut server = stage.started().await;
    server.next("textDocument/didOpen").await;
    server.push("a.py", Some(1), "found").await;
    assert_eq!(messages(asked.await.unwrap()), ["found"]);
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn r6_1_the_server_has_what_is_unsaved_and_reads_all_else_from_the_disk() {
    let mut stage = stage(Character::default());
    let others = vec![file("b.py", "unsaved")];
    let _ = stage.handle.known(file("a.py", "one"), others.clone());
    let mut server = stage.started().await;
    let opened = server.next("textDocument/didOpen").await;
    assert_eq!(opened["textDocument"]["text"], "unsaved");
    assert_eq!(server.next("textDocument/didOpen").await["textDocument"]["text"], "one");
    // Next an edit of b: a was closed in the editor meanwhile, and is as the disk has it.
    let _ = stage.handle.known(file("b.py", "more"), others);
    let a = uri_from_path(&root().join("a.py"));
    assert_eq!(server.next("textDocument/didClose").await["textDocument"]["uri"], a);
    let watched = server.next("workspace/didChangeWatchedFiles").await;
    assert_eq!(watched["changes"], json!([{ "uri": a, "type": 2 }]));
    assert_eq!(server.next("textDocument/didChange").await["contentChanges"][0]["text"], "more");
    // Opened again it has a version that it never had.
    let _ = stage.handle.known(file("a.py", "one"), Vec::new());
    assert_eq!(server.next("textDocument/didOpen").await["textDocument"]["version"], 4);
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_followed_by_a_later_start_and_many_by_none() {
    let mut stage = stage(Character::default());
    for round in 0..MOST_FAILURES {
        let asked = stage.ask(file("a.py", "one"));
        let server = stage.started().await;
        server.peer.end();
        server.connection.await.unwrap();
        let report = asked.await.unwrap();
        assert!(matches!(report, DiagnosticsReport::NotReady | DiagnosticsReport::Unavailable), "{report:?}");
        if round + 1 < MOST_FAILURES {
            // Too early: nothing is started, and others may be asked.
            assert_eq!(stage.ask(file("a.py", "one")).await.unwrap(), DiagnosticsReport::Unavailable);
            assert!(stage.starts.try_recv().is_err() && stage.handle.is_down());
            assert_eq!(stage.troubles.take(), [""; 0]);
            tokio::time::sleep(BACK_OFF * 2_u32.pow(round)).await;
            assert!(!stage.handle.is_down());
        }
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(stage.ask(file("a.py", "one")).await.unwrap(), DiagnosticsReport::Unavailable);
    assert_eq!(stage.handle.known(file("a.py", "one"), Vec::new()), DiagnosticsReport::Unavailable);
    assert!(stage.starts.try_recv().is_err() && stage.handle.is_down());
    // The user is told once.
    let told = stage.troubles.take();
    assert!(told.len() == 1 && told[0].contains("played failed 5 times in /code/app"), "{told:?}");
    assert_eq!(stage.troubles.take(), [""; 0]);
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn r11_4_the_end_comes_in_order() {
    let mut stage = stage(Character::default());
    let _ = stage.handle.known(file("a.py", "one"), Vec::new());
    let mut server = stage.started().await;
    server.next("textDocument/didOpen").await;
    stage.close().await;
    server.next("shutdown").await;
    server.next("exit").await;
    server.connection.await.unwrap();
}

fn presumed(report: DiagnosticsReport) -> Vec<String> {
    match report {
        DiagnosticsReport::Partly { found, missing, presumed } => {
            assert_eq!((missing.as_slice(), presumed.as_slice()), ([].as_slice(), ["played".to_owned()].as_slice()));
            found.into_iter().map(|problem| problem.message).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn r17_1_what_comes_last_without_a_version_is_presumed_to_be_of_the_text_that_was_sent() {
    let mut stage = stage(Character::default());
    let asked = stage.ask(file("a.py", "one"));
    let mut server = stage.started().await;
    server.next("textDocument/didOpen").await;
    server.push("a.py", None, "of the syntax").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.push("a.py", None, "of the types").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!asked.is_finished(), "more may follow");
    assert_eq!(presumed(asked.await.unwrap()), ["of the types"]);
    let start = Instant::now();
    assert_eq!(presumed(stage.handle.known(file("a.py", "one"), Vec::new())), ["of the types"]);
    assert_eq!(presumed(stage.ask(file("a.py", "one")).await.unwrap()), ["of the types"]);
    assert_eq!(start.elapsed(), Duration::ZERO);

    // What it said before the change is forgotten.
    assert_eq!(stage.ask(file("a.py", "two")).await.unwrap(), DiagnosticsReport::NotReady);
    assert_eq!(stage.handle.known(file("a.py", "two"), Vec::new()), DiagnosticsReport::NotReady);
    server.push("a.py", None, "late").await;
    server.peer.request("workspace/workspaceFolders", Value::Null).await.unwrap();
    assert_eq!(stage.handle.known(file("a.py", "two"), Vec::new()), DiagnosticsReport::NotReady, "more may follow");
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(presumed(stage.handle.known(file("a.py", "two"), Vec::new())), ["late"]);
    // One that ends just before the asker's patience does, with what there is.
    let asked = stage.ask(file("a.py", "three"));
    tokio::time::sleep(Duration::from_millis(1400)).await;
    server.push("a.py", None, "just in time").await;
    let DiagnosticsReport::Partly { found, missing, presumed } = asked.await.unwrap() else { panic!() };
    assert_eq!((found[0].message.as_str(), found.len()), ("just in time", 1));
    assert_eq!(
        (missing.as_slice(), presumed.as_slice()),
        (["played".to_owned()].as_slice(), ["played".to_owned()].as_slice())
    );

    // One that names versions after all is taken at its word from then on.
    let asked = stage.ask(file("a.py", "four"));
    server.push("a.py", None, "of nobody knows which").await;
    server.push("a.py", Some(4), "found").await;
    server.push("a.py", None, "of nobody knows which").await;
    assert_eq!(messages(asked.await.unwrap()), ["found"]);
    assert_eq!(messages(stage.handle.known(file("a.py", "four"), Vec::new())), ["found"]);
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn r17_1_what_comes_before_a_busy_server_has_read_the_text_is_of_the_old_one() {
    let busy = Arc::new(tokio::sync::Semaphore::new(1));
    let mut stage = stage(Character { reads: Some(Arc::clone(&busy)), ..Character::default() });
    let asked = stage.ask(file("a.py", "one"));
    let mut server = stage.started().await;
    server.next("textDocument/didOpen").await;
    server.push("a.py", None, "of one").await;
    assert_eq!(presumed(asked.await.unwrap()), ["of one"]);
    // It is still at the first text when the second is sent.
    let asked = stage.ask(file("a.py", "two"));
    server.next("textDocument/didChange").await;
    server.push("a.py", None, "of one again").await;
    assert_eq!(asked.await.unwrap(), DiagnosticsReport::NotReady);
    // Now it reads on; servers that work message by message tell the problems before they answer.
    let asked = stage.ask(file("a.py", "two"));
    server.push("a.py", None, "of two").await;
    busy.add_permits(1);
    assert_eq!(presumed(asked.await.unwrap()), ["of two"]);
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn settings_are_sent_once_the_server_is_up() {
    let mut stage = stage(Character::default());
    let _ = stage.handle.known(file("a.py", "one"), Vec::new());
    let mut server = stage.started().await;
    server.next("initialized").await;
    let sent = server.next("workspace/didChangeConfiguration").await;
    assert_eq!(sent, json!({ "settings": { "played": { "level": 3 } } }));
    stage.close().await;
}

/// One that answers `initialize` and reads nothing afterwards.
fn deaf() -> (ServerHandle, mpsc::UnboundedReceiver<()>, CancellationToken, JoinHandle<()>) {
    let (started, starts) = mpsc::unbounded_channel();
    let launcher: Launcher = Arc::new(move |_: &Launch| {
        let (ours, mut theirs) = duplex(1 << 16);
        let started = started.clone();
        tokio::spawn(async move {
            let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"hoverProvider":true}}}"#;
            let mut bytes = [0; 64];
            tokio::io::AsyncReadExt::read(&mut theirs, &mut bytes).await.unwrap();
            theirs.write_all(format!("Content-Length: {}\r\n\r\n{answer}", answer.len()).as_bytes()).await.unwrap();
            started.send(()).unwrap();
            std::future::pending::<()>().await;
            drop(theirs);
        });
        let (reader, writer) = split(ours);
        Ok(Transport { reader: Box::new(reader), writer: Box::new(writer), process: None })
    });
    let recipe = Recipe {
        name: "deaf".to_owned(),
        launch: Launch {
            program: "deaf".into(),
            arguments: Vec::new(),
            folder: root(),
            env: Default::default(),
            hidden_vars: Vec::new(),
            passed_vars: Vec::new(),
        },
        root: root(),
        initialization: Value::Null,
        launcher,
        troubles: Troubles::default(),
    };
    let closing = CancellationToken::new();
    let (handle, actor) = ServerHandle::start(recipe, closing.clone());
    (handle, starts, closing, tokio::spawn(actor))
}

#[tokio::test(start_paused = true)]
async fn r11_4_a_server_that_reads_nothing_is_ended_and_started_again() {
    let large = |name: &str| file(name, &"x\n".repeat(3 << 20));
    // With the daemon's end.
    let (handle, mut starts, closing, actor) = deaf();
    let line = handle.line(vec![large("a.py")]).await;
    assert!(line.is_some(), "what it is sent waits in the queue");
    starts.recv().await.unwrap();
    let asked = tokio::spawn(async move { handle.line(vec![large("b.py")]).await.is_some() });
    tokio::time::sleep(Duration::from_secs(1)).await;
    closing.cancel();
    timeout(Duration::from_secs(2), actor).await.expect("the end waits for nobody").unwrap();
    assert!(!asked.await.unwrap());
    // By itself.
    let (handle, mut starts, _closing, _actor) = deaf();
    handle.line(vec![large("a.py")]).await;
    starts.recv().await.unwrap();
    let second = handle.line(vec![large("b.py")]);
    assert!(timeout(Duration::from_secs(60), second).await.expect("it is given up").is_none());
    tokio::time::sleep(Duration::from_secs(5)).await;
    handle.line(vec![file("a.py", "x")]).await;
    timeout(Duration::from_secs(5), starts.recv()).await.expect("it is started again").unwrap();
}

/// Five crashes in a week are no five starts that come to nothing.
#[tokio::test(start_paused = true)]
async fn r11_4_a_server_that_answers_questions_is_never_left_alone_for_its_crashes() {
    let mut stage = stage(Character { capabilities: json!({ "hoverProvider": true }), ..Character::default() });
    for _ in 0..2 * MOST_FAILURES {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let line = stage.handle.line(vec![file("a.py", "x")]).await.expect("it is started again");
        let played = stage.started().await;
        assert!(super::super::language::Caller::call(&line, "textDocument/hover", json!({})).await.is_ok());
        played.connection.abort();
        assert!(played.connection.await.is_err());
    }
    assert_eq!(stage.troubles.take(), [""; 0]);
    stage.close().await;
}

/// What a command wants to be edited comes back; what nobody has asked for is refused.
#[tokio::test(start_paused = true)]
async fn edits_are_taken_of_a_command_that_was_run_for_them_alone() {
    use super::super::language::{Called, Caller as _};
    use copydesk_engine::ports::LanguageError;
    let mut stage = stage(Character::default());
    let line = stage.handle.line(vec![file("a.py", "x")]).await.expect("it is up");
    let mut played = stage.started().await;
    let command = || json!({ "command": "gopls.apply_fix" });
    let (one, other) = tokio::join!(line.edits_of(command()), line.edits_of(command()));
    for Called { result, .. } in [one.unwrap(), other.unwrap()] {
        assert_eq!(result, json!([{ "changes": {} }]));
    }
    let unasked = played.peer.request("workspace/applyEdit", json!({ "edit": { "changes": {} } })).await.unwrap();
    assert_eq!(unasked["applied"], false);
    // One that is dropped was run all the same: it is not run again.
    assert!(matches!(line.edits_of(json!({ "command": "drops" })).await, Err(LanguageError::NotReady)));
    let run = std::iter::from_fn(|| played.events.try_recv().ok());
    assert_eq!(run.filter(|(method, _)| method == "workspace/executeCommand").count(), 3);
    // Run in another way its edit is not taken either.
    assert_eq!(line.call("workspace/executeCommand", command()).await.unwrap().result["applied"], false);
    stage.close().await;
}

/// What a command wants that nobody waits for any more is not the next one's.
#[tokio::test(start_paused = true)]
async fn a_late_edit_of_a_command_that_was_given_up_is_refused() {
    use super::super::language::Caller as _;
    let mut stage = stage(Character::default());
    let line = stage.handle.line(vec![file("a.py", "x")]).await.expect("it is up");
    let mut played = stage.started().await;
    let mut late = line.edits_of(json!({ "command": "late" }));
    assert!(futures::poll!(&mut late).is_pending());
    assert_eq!(played.next("workspace/executeCommand").await["command"], "late");
    drop(late);
    let next = line.edits_of(json!({ "command": "gopls.apply_fix" })).await.unwrap();
    assert_eq!(next.result, json!([{ "changes": {} }]));
    assert_eq!(played.next("late edit").await["applied"], false);
    stage.close().await;
}

/// It cannot hold up the next one, and what it may still want to be edited has nowhere to go.
#[tokio::test(start_paused = true)]
async fn r11_4_a_server_that_never_answers_a_command_is_started_anew_by_the_next_one() {
    use super::super::language::Caller as _;
    use copydesk_engine::ports::LanguageError;
    let mut stage = stage(Character::default());
    let line = stage.handle.line(vec![file("a.py", "x")]).await.expect("it is up");
    let mut played = stage.started().await;
    let mut never = line.edits_of(json!({ "command": "never" }));
    assert!(futures::poll!(&mut never).is_pending());
    assert_eq!(played.next("workspace/executeCommand").await["command"], "never");
    drop(never);
    let fix = || json!({ "command": "gopls.apply_fix" });
    let start = Instant::now();
    // Both ask for another line, as tools do.
    let (one, other) = tokio::join!(line.edits_of(fix()), line.edits_of(fix()));
    for held_up in [one, other] {
        assert!(matches!(held_up, Err(LanguageError::NotReady)), "{held_up:?}");
    }
    let line = stage.handle.line(vec![file("a.py", "x")]).await.expect("it is not left alone");
    assert_eq!(line.edits_of(fix()).await.unwrap().result, json!([{ "changes": {} }]));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    played.connection.await.expect("the old one is gone");
    let _new = stage.started().await;
    assert!(played.peer.request("workspace/applyEdit", json!({ "edit": { "changes": {} } })).await.is_err());
    assert_eq!(stage.troubles.take(), [""; 0]);
    stage.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_command_that_is_never_answered_is_named_while_its_asker_still_listens() {
    use super::super::language::Caller as _;
    use copydesk_engine::ports::LanguageError;
    let mut stage = stage(Character::default());
    let line = stage.handle.line(vec![file("a.py", "x")]).await.expect("it is up");
    let _played = stage.started().await;
    // Two sessions: the second one waits for its turn while the first is served.
    let (first, second) = tokio::join!(
        line.edits_of(json!({ "command": "never" })),
        timeout(Duration::from_secs(15), line.edits_of(json!({ "command": "gopls.apply_fix" })))
    );
    let Err(LanguageError::Refused { text, .. }) = first else { panic!("{first:?}") };
    assert!(text.contains("`never` did not come to an end"), "{text}");
    assert!(matches!(second, Ok(Err(LanguageError::NotReady))), "{second:?}");
    stage.close().await;
}
