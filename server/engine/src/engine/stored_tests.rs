#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use super::*;
use crate::event::{ToolCallState, ToolCallView};
use crate::message::{Finish, TurnEnd};
use crate::ports::{Content, ModelErrorKind, ModelMessage, ModelRequest};
use crate::registry::Registry;
use crate::testing::{FakeClient, FakeIds, FakeModel, ModelPlayer, World, config, png};

/// A world with a configuration, and what plays its model.
fn world() -> (World, ModelPlayer) {
    let (model, player) = FakeModel::new();
    let world = World::new(model);
    configure(&world);
    (world, player)
}

fn configure(world: &World) {
    let text = r#"{"model": "local/small", "permission": {"edit": "allow"}, "provider": {"local": {
        "options": {"baseURL": "http://127.0.0.1:8080/v1"}, "models": {"small": {"limit": {"context": 1000, "output": 100}}}}}}"#;
    world.disk.put(&path("/home/user/.config/copydesk/copydesk.jsonc"), text);
}

/// Another daemon after the death of the first, which has left `world` as it stands.
fn after_death(world: &World) -> (World, ModelPlayer) {
    let (model, player) = FakeModel::new();
    let next = World::after(world.store.survivor(), FakeIds::after(10_000), model);
    configure(&next);
    (next, player)
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

async fn new_session(world: &World, engine: &Engine) -> SessionHandle {
    let new = super::super::NewSession {
        folder: world.folder(),
        additional: Vec::new(),
        connection: world.connection.clone(),
    };
    engine.new_session(new).await.unwrap()
}

fn ask(session: &SessionHandle, text: &str) -> crate::ports::BoxFuture<'static, TurnEnd> {
    session.prompt(vec![PromptPart::Text { text: text.to_owned() }]).unwrap()
}

/// A line an event.
fn shown(client: &FakeClient) -> Vec<String> {
    let call = |word: &str, view: &ToolCallView| {
        let state = match view.state {
            ToolCallState::Pending => "pending".to_owned(),
            ToolCallState::Running => "running".to_owned(),
            ToolCallState::Ended(status) => format!("{status:?}").to_lowercase(),
        };
        format!("{word} {} {} {state}, {} diffs, {} chars", view.name, view.title, view.diffs.len(), view.text.len())
    };
    let line = |event: SessionEvent| match event {
        SessionEvent::User { prompt, .. } => format!("user {:?}", prompt.parts()),
        SessionEvent::Text { delta, .. } => format!("text {delta}"),
        SessionEvent::Reasoning { delta, .. } => format!("thought {delta}"),
        SessionEvent::ToolCall(view) => call("call", &view),
        SessionEvent::ToolCallUpdate(view) => call("update", &view),
        SessionEvent::Plan(todos) => format!("plan {}", todos.len()),
        SessionEvent::TurnEnded(end) => format!("ended {end:?}"),
        SessionEvent::Usage { usage, context, .. } => format!("usage {} of {context:?}", usage.input),
        SessionEvent::Retry(retry) => format!("retry {}", retry.attempt),
        SessionEvent::Granted => "granted".to_owned(),
        SessionEvent::Changes => "changes".to_owned(),
        SessionEvent::Notice { text, .. } => format!("notice {text}"),
        SessionEvent::Chosen { agent, .. } => format!("chosen {agent}"),
    };
    client.events().into_iter().map(line).collect()
}

/// One turn with all that a turn can hold; its second reply is left open.
async fn long_turn(world: &World, engine: &Engine, player: &mut ModelPlayer) -> (SessionHandle, crate::testing::Reply) {
    world.disk.put(&world.folder().join("a.txt"), "one\n");
    let session = new_session(world, engine).await;
    drop(ask(&session, "make it two"));
    let reply = player.next_request().await;
    reply.reasoning("It says one.");
    reply.text("I edit it.");
    reply.usage(70, 10);
    reply.call("1", "edit", r#"{"filePath": "a.txt", "oldString": "one", "newString": "two"}"#);
    reply.call("2", "read", r#"{"filePath": "missing.txt"}"#);
    reply.call("3", "todowrite", r#"{"todos": [{"content": "edit", "status": "completed", "priority": "high"}]}"#);
    reply.finish(Finish::ToolCalls);
    (session, player.next_request().await)
}

#[tokio::test(start_paused = true)]
async fn r12_3_a_load_replays_the_whole_conversation_and_goes_on() {
    let (world, mut player) = world();
    let engine = Engine::new(world.ports.clone());
    let (session, reply) = long_turn(&world, &engine, &mut player).await;
    reply.text("It is two.");
    reply.finish(Finish::Stop);
    world.client.wait_for(|event| matches!(event, SessionEvent::Text { delta, .. } if delta == "It is two.")).await;
    drop(ask(&session, "and now?"));
    player.next_request().await.finish(Finish::Failed { message: "the model is gone".to_owned() });
    while !format!("{:?}", world.store.entries(session.id()).last()).contains("the model is gone\" } }") {
        tokio::task::yield_now().await;
    }
    let id = session.id().clone();
    let (ended, before) = (world.client.events(), world.store.entries(&id));
    engine.shutdown().await;

    let (next, mut player) = after_death(&world);
    let engine = Engine::new(next.ports.clone());
    let loaded = engine.load_session(next.load_of(&id)).await.unwrap();
    assert_eq!(loaded.lives, Lives::Here);
    insta::assert_snapshot!(shown(&next.client).join("\n"), @r#"
    user [Text { text: "make it two" }]
    thought It says one.
    text I edit it.
    call edit Edit a.txt pending, 0 diffs, 0 chars
    call read Read missing.txt pending, 0 diffs, 0 chars
    call todowrite 0 todos pending, 0 diffs, 0 chars
    update edit Edit a.txt completed, 1 diffs, 39 chars
    update read Read missing.txt failed, 0 diffs, 46 chars
    plan 1
    update todowrite 0 todos completed, 0 diffs, 84 chars
    text It is two.
    user [Text { text: "and now?" }]
    ended Failed { message: "the model is gone" }
    usage 70 of Some(1000)
    "#);
    assert_eq!(next.store.entries(&id), before, "nothing was open, so nothing is added");
    // The same call is the same to the client.
    let calls = |events: &[SessionEvent]| -> Vec<crate::ids::CallId> {
        let call = |event: &SessionEvent| match event {
            SessionEvent::ToolCall(view) => Some(view.call.clone()),
            _ => None,
        };
        events.iter().filter_map(call).collect()
    };
    assert_eq!(calls(&next.client.events()), calls(&ended));

    let end = ask(&loaded.session, "go on");
    let reply = player.next_request().await;
    assert!(format!("{:?}", reply.request.messages).contains("make it two"));
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);

    // A load of what is open here tells the same, from memory.
    let told = next.client.events().len();
    engine.load_session(next.load_of(&id)).await.unwrap();
    assert_eq!(shown(&next.client)[told..][..2], shown(&next.client)[..2]);
    assert_eq!(
        next.client.events()[told..].iter().filter(|event| matches!(event, SessionEvent::User { .. })).count(),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn r12_3_a_resume_replays_nothing() {
    let (world, mut player) = world();
    let engine = Engine::new(world.ports.clone());
    let (session, reply) = long_turn(&world, &engine, &mut player).await;
    reply.finish(Finish::Stop);
    let (next, _player) = after_death(&world);
    let engine = Engine::new(next.ports.clone());
    let load = LoadSession { history: History::Known, ..next.load_of(session.id()) };
    engine.load_session(load).await.unwrap();
    assert_eq!(shown(&next.client), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn r12_4_c95_a_turn_that_ran_when_its_daemon_died_is_shown_as_interrupted() {
    let (world, mut player) = world();
    let engine = Engine::new(world.ports.clone());
    let (session, reply) = long_turn(&world, &engine, &mut player).await;
    reply.call("4", "bash", r#"{"command": "make", "description": "build"}"#);
    reply.finish(Finish::ToolCalls);
    world.client.next_ask().await;
    let (next, mut player) = after_death(&world);
    let engine = Engine::new(next.ports.clone());
    let session = engine.load_session(next.load_of(session.id())).await.unwrap().session;
    let told = shown(&next.client);
    insta::assert_snapshot!(told[told.len() - 4..].join("\n"), @r"
    call bash make pending, 0 diffs, 0 chars
    update bash Cancelled cancelled, 0 diffs, 125 chars
    ended Interrupted
    usage 70 of Some(1000)
    ");
    let running = |view: &ToolCallView| !matches!(view.state, ToolCallState::Ended(_));
    let mut open = std::collections::BTreeSet::new();
    for event in next.client.events() {
        if let SessionEvent::ToolCall(view) | SessionEvent::ToolCallUpdate(view) = event {
            if running(&view) {
                open.insert(view.call)
            } else {
                open.remove(&view.call)
            };
        }
    }
    assert_eq!(open, [].into(), "no call looks as if it still ran");
    assert!(player.waiting().is_none(), "nothing goes on by itself");
    let end = ask(&session, "go on");
    player.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn c94_a_session_that_lives_elsewhere_is_shown_and_not_written_until_it_is_taken_over() {
    let (world, mut player) = world();
    let engine = Engine::new(world.ports.clone());
    let (session, _reply) = long_turn(&world, &engine, &mut player).await;
    let id = session.id().clone();
    // The first daemon lives on.
    let (next, mut player) = after_death(&world);
    next.store.hold_elsewhere(&id);
    let engine = Engine::new(next.ports.clone());
    let before = next.store.entries(&id);
    let loaded = engine.load_session(next.load_of(&id)).await.unwrap();
    assert_eq!(loaded.lives, Lives::Elsewhere);
    let told = shown(&next.client);
    assert!(told[0].starts_with("user") && !told.iter().any(|line| line.starts_with("ended")), "{told:?}");
    loaded.session.opened();
    next.client
        .wait_for(|event| matches!(event, SessionEvent::Notice { text, .. } if text.contains("another Copydesk")))
        .await;
    let TurnEnd::Failed { message } = ask(&loaded.session, "mine").await else { panic!("it was written") };
    assert!(message.contains("take it over"), "{message}");
    assert_eq!(engine.delete_session(&id, &next.connection).await, Err(StoreError::Elsewhere(id.clone()).into()));
    assert_eq!(next.store.entries(&id), before);
    assert!(player.waiting().is_none());

    // What the other has written meanwhile is shown by the next load; taken over, the session goes on here.
    let later = Entry::User {
        message: crate::ids::MessageId::new("msg_x"),
        at: Millis(1),
        agent: "build".to_owned(),
        parts: Vec::new(),
    };
    next.store.append_elsewhere(&id, vec![later]);
    let load = LoadSession { elsewhere: Elsewhere::TakeOver, ..next.load_of(&id) };
    let loaded = engine.load_session(load).await.unwrap();
    assert_eq!(loaded.lives, Lives::Here);
    let end = ask(&loaded.session, "mine");
    let reply = player.next_request().await;
    let kept = next.store.entries(&id);
    assert!(kept.iter().any(|entry| matches!(entry, Entry::TurnEnded { reason: TurnEnd::Interrupted, .. })));

    // And the one from which it is taken stops at its next row.
    next.store.hold_elsewhere(&id);
    reply.text("late");
    reply.finish(Finish::Stop);
    let TurnEnd::Failed { message } = end.await else { panic!("it was written") };
    assert!(message.contains("another Copydesk"), "{message}");
    assert_eq!(next.store.entries(&id), kept);
}

#[tokio::test(start_paused = true)]
async fn c95_a_closed_session_stops_its_work_and_is_free() {
    let (world, mut player) = world();
    let engine = Engine::new(world.ports.clone());
    let (session, reply) = long_turn(&world, &engine, &mut player).await;
    let id = session.id().clone();
    let end = ask(&session, "steer");
    reply.text("half a sen");
    world.client.wait_for(|event| matches!(event, SessionEvent::Text { delta, .. } if delta == "half a sen")).await;
    let (_, stranger) = world.another_client();
    assert_eq!(engine.close_session(&id, &stranger).await, Err(EngineError::OpenElsewhere(id.clone())));
    engine.close_session(&id, &world.connection).await.unwrap();
    assert_eq!(end.await, TurnEnd::Cancelled);
    assert!(reply.is_cancelled());
    assert!(!world.store.holds(&id));
    assert_eq!(engine.close_session(&id, &world.connection).await, Err(EngineError::UnknownSession(id.clone())));

    let told = world.client.events().len();
    engine.load_session(world.load_of(&id)).await.unwrap();
    let lines = shown(&world.client)[told..].to_vec();
    assert!(lines.contains(&"text half a sen".to_owned()), "{lines:?}");
    assert!(lines.contains(&"ended Cancelled".to_owned()), "{lines:?}");
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Close,
    Load,
    Delete,
}

/// What is left of a session with a running turn when these were asked for at once.
async fn check_changes_at_once(changes: &[Change]) {
    let (world, mut player) = world();
    let engine = Engine::new(world.ports.clone());
    let (session, reply) = long_turn(&world, &engine, &mut player).await;
    let id = session.id().clone();
    let change = async |change: &Change| match change {
        Change::Close => engine.close_session(&id, &world.connection).await,
        Change::Load => engine.load_session(world.load_of(&id)).await.map(drop),
        Change::Delete => engine.delete_session(&id, &world.connection).await,
    };
    futures::future::join_all(changes.iter().map(change)).await;

    let is_deleted = changes.contains(&Change::Delete);
    let is_open = !is_deleted && changes.last() != Some(&Change::Close);
    assert_eq!(engine.session(&id).is_ok(), is_open, "{changes:?}");
    assert_eq!(world.store.holds(&id), is_open, "{changes:?}");
    if is_open {
        let is_still_running = !changes.contains(&Change::Close);
        assert_eq!(reply.is_cancelled(), !is_still_running, "{changes:?}");
        reply.finish(Finish::Stop);
        let end = ask(&engine.session(&id).unwrap(), "go on");
        player.next_request().await.finish(Finish::Stop);
        assert_eq!(end.await, TurnEnd::Done, "{changes:?}");
    }
    let entries = world.store.entries(&id);
    let count = |wanted: fn(&Entry) -> bool| entries.iter().filter(|entry| wanted(entry)).count();
    let prompts = count(|entry| matches!(entry, Entry::User { .. }));
    assert_eq!(count(|entry| matches!(entry, Entry::TurnEnded { .. })), prompts, "{changes:?}");
    assert_eq!(prompts, if is_deleted { 0 } else { 1 + usize::from(is_open) }, "{changes:?}");
    let calls = count(|entry| matches!(entry, Entry::ToolCall { .. }));
    assert_eq!(count(|entry| matches!(entry, Entry::ToolResult { .. })), calls, "{changes:?}");
}

#[tokio::test(start_paused = true)]
async fn c95_r12_3_a_session_is_closed_loaded_and_deleted_in_the_order_asked_for() {
    use Change::{Close, Delete, Load};
    for first in [Close, Load, Delete] {
        check_changes_at_once(&[first]).await;
        for second in [Close, Load, Delete] {
            check_changes_at_once(&[first, second]).await;
            for third in [Close, Load, Delete] {
                check_changes_at_once(&[first, second, third]).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r12_3_sessions_are_listed_by_use_in_pages_and_by_folder() {
    let (world, mut player) = world();
    world.disk.put_folder(&path("/home/user/other"));
    let engine = Engine::new(world.ports.clone());
    let list = async |folder: Option<&str>, cursor: Option<String>| {
        engine.list_sessions(Listing { folder: folder.map(path), cursor }).await.unwrap()
    };
    assert_eq!(list(None, None).await, SessionPage { sessions: Vec::new(), next: None });

    let mut sessions = Vec::new();
    for number in 0..LISTED + 3 {
        let session = new_session(&world, &engine).await;
        let end = ask(&session, &format!("question\n\n  {number}"));
        player.next_request().await.finish(Finish::Stop);
        end.await;
        sessions.push(session.id().clone());
    }
    let end = ask(&engine.session(&sessions[0]).unwrap(), &"long ".repeat(100));
    player.next_request().await.finish(Finish::Stop);
    end.await;
    let first = list(None, None).await;
    let second = list(None, first.next.clone()).await;
    assert_eq!((first.sessions.len(), second.sessions.len(), second.next.clone()), (LISTED, 3, None));
    let ids: Vec<_> = first.sessions.iter().chain(&second.sessions).map(|listed| listed.meta.id.clone()).collect();
    let mut expected: Vec<_> = sessions.iter().skip(1).rev().cloned().collect();
    expected.insert(0, sessions[0].clone());
    assert_eq!(ids, expected, "the one used last comes first, each once");
    assert_eq!(first.sessions[0].title.as_deref(), Some("question 0"), "of the first prompt");

    let unused = new_session(&world, &engine).await;
    assert_eq!(list(None, None).await.sessions[0].meta.id, *unused.id());
    engine.close_session(unused.id(), &world.connection).await.unwrap();
    assert_ne!(list(None, None).await.sessions[0].meta.id, *unused.id(), "nothing was ever asked in it");

    assert_eq!(list(Some("/home/user/other"), None).await.sessions, Vec::new());
    assert_eq!(list(Some("/home/user/project"), None).await.sessions.len(), LISTED);
    let odd = Listing { folder: None, cursor: Some("next".to_owned()) };
    assert_eq!(engine.list_sessions(odd).await, Err(EngineError::UnknownCursor));

    for _ in 0..2 {
        engine.delete_session(&sessions[0], &world.connection).await.unwrap();
        assert_eq!(list(None, None).await.sessions[0].meta.id, *sessions.last().unwrap());
        assert_eq!(
            engine.load_session(world.load_of(&sessions[0])).await.err(),
            Some(StoreError::UnknownSession(sessions[0].clone()).into())
        );
    }
}

#[test]
fn a_title_is_one_line_of_bounded_length() {
    let check = |text: &str, expected: Option<&str>| {
        let parts = vec![
            PromptPart::Link { uri: "file:///a".to_owned(), name: "a".to_owned() },
            PromptPart::Text { text: text.to_owned() },
        ];
        let entry =
            Entry::User { message: crate::ids::MessageId::new("msg_1"), at: Millis(0), agent: String::new(), parts };
        assert_eq!(title(&entry).as_deref(), expected);
    };
    check(" \n ", None);
    check("\n Fix\tthe\n\n bug ", Some("Fix the bug"));
    check(&"é".repeat(80), Some(&"é".repeat(80)));
    check(&"é".repeat(81), Some(&format!("{}…", "é".repeat(79))));
    check(&format!("a{}b", " ".repeat(5_000)), Some("a…"));
}

#[tokio::test(start_paused = true)]
async fn a_session_is_opened_in_its_own_folder() {
    let (world, _player) = world();
    world.disk.put_folder(&path("/home/user/other"));
    let engine = Engine::new(world.ports.clone());
    let id = new_session(&world, &engine).await.id().clone();
    for is_open in [true, false] {
        let other = LoadSession { folder: path("/home/user/other"), ..world.load_of(&id) };
        let error = EngineError::OtherFolder { session: id.clone(), folder: world.folder() };
        assert_eq!(engine.load_session(other).await.err(), Some(error));
        if is_open {
            engine.close_session(&id, &world.connection).await.unwrap();
        }
    }
    let roots = LoadSession { additional: vec![path("/srv/shared"), world.folder()], ..world.load_of(&id) };
    let session = engine.load_session(roots).await.unwrap().session;
    assert_eq!(session.context().facts.roots, [world.folder(), path("/srv/shared")]);
}

#[tokio::test(start_paused = true)]
async fn a_load_reads_in_pages_and_tells_the_first_before_it_reads_the_last() {
    let (world, _player) = world();
    let engine = world.engine(Registry::new([]));
    let session = world.session(&engine, config()).await.unwrap();
    let id = session.id().clone();
    let text = |number: usize| Entry::Text {
        message: crate::ids::MessageId::new("msg_1"),
        part: crate::ids::PartId::new("prt_1"),
        text: number.to_string(),
    };
    world.store.append(id.clone(), (0..PAGE * 3 + 1).map(text).collect()).await.unwrap();
    let (next, _player) = after_death(&world);
    let engine = Engine::new(next.ports.clone());
    let seen = Arc::new(std::sync::Mutex::new(None));
    let (pages, store) = (Arc::clone(&seen), Arc::clone(&next.store));
    let client = FakeClient::ticking(next.boundaries.clone());
    next.boundaries.at(0, move || *pages.lock().unwrap() = Some(store.pages()));
    let connection = Connection { client: client.clone(), ..next.connection.clone() };
    engine.load_session(LoadSession { connection, ..next.load_of(&id) }).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), Some(1), "told after one page");
    let told: Vec<_> = client.events().into_iter().filter(|event| matches!(event, SessionEvent::Text { .. })).collect();
    assert_eq!(told.len(), PAGE * 3 + 1);
}

fn image_prompt() -> Prompt {
    let mut prompt = Prompt::default();
    prompt.push(PromptPart::Text { text: "What is this?".to_owned() });
    prompt.push_image(png(2, 3), Some("file:///shot.png".to_owned()));
    prompt
}

/// The images of a request, by where they stand in it.
fn images_of(request: &ModelRequest) -> Vec<Image> {
    let pieces = request.messages.iter().filter_map(|message| match message {
        ModelMessage::User(content) => Some(content),
        _ => None,
    });
    let image = |piece: &Content| match piece {
        Content::Image(image) => Some(image.clone()),
        Content::Text(_) | Content::Pdf(_) => None,
    };
    pieces.flatten().filter_map(image).collect()
}

/// All texts of the user's in a request.
fn texts_of(request: &ModelRequest) -> String {
    let pieces = request.messages.iter().filter_map(|message| match message {
        ModelMessage::User(content) => Some(content),
        _ => None,
    });
    let text = |piece: &Content| match piece {
        Content::Text(text) => Some(text.clone()),
        Content::Image(_) | Content::Pdf(_) => None,
    };
    pieces.flatten().filter_map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn r12_3_images_are_stored_beside_small_rows_and_shown_again_to_client_and_model() {
    let (world, mut player) = world();
    let engine = Engine::new(world.ports.clone());
    let session = new_session(&world, &engine).await;
    drop(session.prompt(image_prompt()).unwrap());
    let reply = player.next_request().await;
    assert_eq!(images_of(&reply.request), [png(2, 3)]);
    let row = serde_json::to_string(&world.store.entries(session.id())[0]).unwrap();
    assert!(row.contains("image/png") && row.len() < 500, "no bytes in the row: {row}");
    // The next step of the turn shows it again.
    reply.call("1", "read", r#"{"filePath": "missing.txt"}"#);
    reply.finish(Finish::ToolCalls);
    let reply = player.next_request().await;
    assert_eq!(images_of(&reply.request), [png(2, 3)]);
    let id = session.id().clone();

    let (next, mut player) = after_death(&world);
    let engine = Engine::new(next.ports.clone());
    let loaded = engine.load_session(next.load_of(&id)).await.unwrap();
    let told = next.client.events().into_iter().find_map(|event| match event {
        SessionEvent::User { prompt, .. } => Some(prompt),
        _ => None,
    });
    assert_eq!(told, Some(image_prompt()));
    drop(ask(&loaded.session, "go on"));
    assert_eq!(images_of(&player.next_request().await.request), [png(2, 3)]);

    // As after a crash of the machine: the session goes on, and says what is missing.
    next.store.lose_media();
    engine.close_session(&id, &next.connection).await.unwrap();
    let loaded = engine.load_session(next.load_of(&id)).await.unwrap();
    drop(ask(&loaded.session, "go on"));
    let request = player.next_request().await.request;
    assert_eq!(images_of(&request), []);
    assert!(texts_of(&request).contains("It is lost"), "{}", texts_of(&request));
}

#[tokio::test(start_paused = true)]
async fn a_model_without_eyes_gets_a_note_and_no_error() {
    let cases = [
        (r#""modalities": {"input": ["text"], "output": ["text"]}"#, false),
        (r#""attachment": false"#, false),
        (r#""attachment": false, "modalities": {"input": ["text", "image"]}"#, true),
        (r#""attachment": true"#, true),
        (r#""modalities": {}"#, true),
    ];
    for (keys, sees) in cases {
        let (world, mut player) = world();
        let text = format!(
            r#"{{"model": "local/small", "provider": {{"local": {{"options": {{"baseURL": "http://127.0.0.1:1/v1"}},
                "models": {{"small": {{{keys}}}}}}}}}}}"#
        );
        world.disk.put(&path("/home/user/.config/copydesk/copydesk.jsonc"), text);
        let engine = Engine::new(world.ports.clone());
        let session = new_session(&world, &engine).await;
        assert_eq!(session.config().problems, [], "{keys}");
        drop(session.prompt(image_prompt()).unwrap());
        let request = player.next_request().await.request;
        assert_eq!(images_of(&request).len(), usize::from(sees), "{keys}");
        assert_eq!(texts_of(&request).contains("you take no images"), !sees, "{keys}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_image_over_the_limit_is_refused_before_it_is_stored() {
    let (world, _player) = world();
    let text = r#"{"model": "local/small", "attachment": {"image": {"max_base64_bytes": 20}},
        "provider": {"local": {"options": {"baseURL": "http://127.0.0.1:1/v1"}}}}"#;
    world.disk.put(&path("/home/user/.config/copydesk/copydesk.jsonc"), text);
    let engine = Engine::new(world.ports.clone());
    let session = new_session(&world, &engine).await;
    let Err(refused) = session.prompt(image_prompt()) else { panic!("it was taken") };
    assert!(refused.to_string().contains("the limit is 20"), "{refused}");
    assert_eq!(world.store.entries(session.id()), []);
}

/// What the results of a request say, and what they show.
fn results_of(request: &ModelRequest) -> (Vec<String>, usize) {
    let results = request.messages.iter().filter_map(|message| match message {
        ModelMessage::Results(results) => Some(results),
        _ => None,
    });
    let results: Vec<_> = results.flatten().map(|result| result.split()).collect();
    (results.iter().map(|(text, _)| (*text).to_owned()).collect(), results.iter().map(|(_, shown)| shown.len()).sum())
}

#[tokio::test(start_paused = true)]
async fn what_read_shows_is_stored_and_one_that_the_provider_refuses_does_not_end_the_session() {
    let (world, mut player) = world();
    world.disk.put(&path("/home/user/project/good.png"), png(2, 3).bytes());
    world.disk.put(&path("/home/user/project/bad.png"), png(4, 5).bytes());
    let engine = Engine::new(world.ports.clone());
    let session = new_session(&world, &engine).await;
    let end = ask(&session, "look");
    let reply = player.next_request().await;
    reply.call("1", "read", r#"{"filePath": "good.png"}"#);
    reply.finish(Finish::ToolCalls);
    let reply = player.next_request().await;
    assert_eq!(results_of(&reply.request).1, 1);
    reply.call("2", "read", r#"{"filePath": "bad.png"}"#);
    reply.finish(Finish::ToolCalls);
    let reply = player.next_request().await;
    assert_eq!(results_of(&reply.request).1, 2);
    reply.fail(ModelErrorKind::Invalid, "No.");
    // The same request without what was new in it.
    let reply = player.next_request().await;
    let (texts, shown) = results_of(&reply.request);
    assert_eq!(shown, 1);
    assert!(
        texts[1].ends_with("[The image (image/png, 57 bytes) is not shown to you: the provider refused it.]"),
        "{texts:?}"
    );
    reply.text("A cat.");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let row = world.store.entries(session.id()).iter().map(|entry| serde_json::to_string(entry).unwrap().len()).max();
    assert!(row < Some(1000), "no bytes in rows");
    drop(ask(&session, "go on"));
    assert_eq!(results_of(&player.next_request().await.request).1, 1);

    let id = session.id().clone();
    let (next, mut player) = after_death(&world);
    let engine = Engine::new(next.ports.clone());
    let loaded = engine.load_session(next.load_of(&id)).await.unwrap();
    let told = next.client.events().into_iter().filter_map(|event| match event {
        SessionEvent::ToolCallUpdate(view) => Some(view.media),
        _ => None,
    });
    let told: Vec<_> = told.flatten().collect();
    assert_eq!(told, [png(2, 3).into(), png(4, 5).into()], "shown again to the client");
    drop(ask(&loaded.session, "go on"));
    let reply = player.next_request().await;
    assert_eq!(results_of(&reply.request).1, 2, "another daemon may have another provider");
    reply.fail(ModelErrorKind::Overloaded { retry_after: None }, "Later.");
    let reply = player.next_request().await;
    assert_eq!(results_of(&reply.request).1, 2, "this says nothing of what was shown");
    reply.fail(ModelErrorKind::Setup, "The account has no credit left.");
    drop(ask(&loaded.session, "go on"));
    assert_eq!(results_of(&player.next_request().await.request).1, 2, "nor does this");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_an_image_does_not_brick_the_session_without_a_way_out() {
    let (world, mut player) = world();
    let engine = Engine::new(world.ports.clone());
    let session = new_session(&world, &engine).await;
    let end = session.prompt(image_prompt()).unwrap();
    player.next_request().await.fail(ModelErrorKind::Invalid, "No.");
    let TurnEnd::Failed { message } = end.await else { panic!("it did not fail") };
    assert!(message.starts_with("No. ") && message.contains(r#""modalities": {"input": ["text"]}"#), "{message}");
    let end = ask(&new_session(&world, &engine).await, "no image");
    player.next_request().await.fail(ModelErrorKind::Invalid, "No.");
    assert_eq!(end.await, TurnEnd::Failed { message: "No.".to_owned() });
}

/// Anthropic takes requests of 32 MB: several files may be more together than each by itself.
#[tokio::test(start_paused = true)]
async fn r10_3_a_request_that_is_too_large_by_what_tools_showed_does_not_end_the_session() {
    let (world, mut player) = world();
    world.disk.put(&path("/home/user/project/good.png"), png(2, 3).bytes());
    world.disk.put(&path("/home/user/project/last.png"), png(4, 5).bytes());
    let engine = Engine::new(world.ports.clone());
    let session = new_session(&world, &engine).await;
    let end = ask(&session, "look");
    for (id, file) in [("1", "good.png"), ("2", "last.png")] {
        let reply = player.next_request().await;
        reply.call(id, "read", &format!(r#"{{"filePath": "{file}"}}"#));
        reply.finish(Finish::ToolCalls);
    }
    let reply = player.next_request().await;
    assert_eq!(results_of(&reply.request).1, 2);
    reply.fail(ModelErrorKind::ContextOverflow, "413");
    let reply = player.next_request().await;
    assert_eq!(results_of(&reply.request).1, 1);
    reply.text("A cat.");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    // Where nothing new was shown, it is too large for another reason.
    let end = ask(&session, "go on");
    player.next_request().await.fail(ModelErrorKind::ContextOverflow, "too long");
    assert!(matches!(end.await, TurnEnd::Failed { .. }));
}
