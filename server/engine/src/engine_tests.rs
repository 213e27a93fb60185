#![expect(clippy::unwrap_used, reason = "tests")]

use copydesk_workspace::disk::{Disk, Stamp};
use copydesk_workspace::document::Document;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::DocKey;
use copydesk_workspace::uri::uri_from_path;

use super::*;
use crate::event::SessionEvent;
use crate::message::{Entry, Finish, PromptPart, TurnEnd};
use crate::overlay::Overlay;
use crate::ports::{Connection, FreeEdits, ModelMessage, OptionKind};
use crate::testing::{FakeClient, FakeModel, World};
use crate::workbench::{BenchEditor, BenchShell, printed};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn new(world: &World, folder: &str) -> NewSession {
    NewSession { folder: path(folder), additional: vec![path("/srv/shared")], connection: world.connection.clone() }
}

const CONFIG: &str = r#"{
  "model": "local/small",
  "instructions": 7,
  "provider": {"local": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:8080/v1"},
    "models": {"small": {}}}},
}"#;

#[tokio::test(start_paused = true)]
async fn a_session_takes_its_configuration_from_files_and_tells_what_is_wrong_with_them() {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    world.disk.put(&path("/home/user/.config/copydesk/copydesk.jsonc"), CONFIG);
    let engine = Engine::new(world.ports.clone());
    let session = engine.new_session(new(&world, "/home/user/project")).await.unwrap();
    assert_eq!(world.client.events(), vec![], "the client does not know the session yet");
    session.opened();
    let notice = world.client.wait_for(|event| matches!(event, SessionEvent::Notice { .. })).await;
    assert!(format!("{notice:?}").contains("instructions"), "{notice:?}");

    let end = session.prompt(vec![PromptPart::Text { text: "hi".to_owned() }]).unwrap();
    let reply = player.next_request().await;
    assert_eq!(reply.request.model.to_string(), "local/small");
    assert_eq!(reply.request.provider.base_url, "http://127.0.0.1:8080/v1");
    assert!(reply.request.system.contains("/srv/shared"));
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let notices = world.client.events().into_iter().filter(|event| matches!(event, SessionEvent::Notice { .. }));
    assert_eq!(notices.count(), 1, "each problem is told once");

    // Another daemon, same store.
    let id = session.id().clone();
    engine.shutdown().await;
    let engine = Engine::new(world.ports.clone());
    assert_eq!(engine.session(&id).err(), Some(EngineError::UnknownSession(id.clone())));
    let session = engine.load_session(world.load_of(&id)).await.unwrap().session;
    let end = session.prompt(vec![PromptPart::Text { text: "again".to_owned() }]).unwrap();
    player.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn sessions_of_one_configuration_hold_it_once_and_others_have_their_own() {
    let (model, _player) = FakeModel::new();
    let world = World::new(model);
    let file = path("/home/user/.config/copydesk/copydesk.jsonc");
    world.disk.put(&file, CONFIG);
    let engine = Engine::new(world.ports.clone());
    let open = async || engine.new_session(new(&world, "/home/user/project")).await.unwrap();
    let is_shared = |a: &SessionHandle, b: &SessionHandle| Arc::ptr_eq(&a.context().config(), &b.context().config());
    let (first, second) = (open().await, open().await);
    assert!(is_shared(&first, &second));
    world.disk.put(&file, CONFIG.replace("7", "[]"));
    let changed = open().await;
    assert!(!is_shared(&first, &changed));
    assert_eq!(changed.config().problems, []);
    let elsewhere = engine.new_session(new(&world, "/home/user")).await.unwrap();
    assert!(!is_shared(&changed, &elsewhere), "rules name the session's folders");
    assert!(is_shared(&changed, &open().await));
}

/// The whole of it in memory: real configuration, permission, runner and tools; only the model is played.
#[tokio::test(start_paused = true)]
async fn a_turn_with_the_built_in_tools_reads_edits_asks_and_plans() {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    world.disk.put(&path("/home/user/.config/copydesk/copydesk.jsonc"), CONFIG.replace("7", "[]"));
    let file = path("/home/user/project/src/a.txt");
    world.disk.put(&file, "one\ntwo\n");
    let engine = Engine::new(world.ports.clone());
    let session = engine.new_session(new(&world, "/home/user/project")).await.unwrap();
    let end = session.prompt(vec![PromptPart::Text { text: "make it three".to_owned() }]).unwrap();

    let reply = player.next_request().await;
    let names: Vec<&str> = reply.request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert!(["bash", "edit", "glob", "read", "todowrite"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(!names.contains(&"todoread") && !names.contains(&"apply_patch"), "{names:?}");
    reply.call("1", "read", r#"{"filePath": "src/a.txt"}"#);
    reply.call("2", "todowrite", r#"{"todos": [{"content": "edit", "status": "in_progress", "priority": "high"}]}"#);
    reply.finish(Finish::ToolCalls);

    let reply = player.next_request().await;
    let seen = format!("{:?}", reply.request.messages);
    assert!(seen.contains("two"), "{seen}");
    let plan = world.client.wait_for(|event| matches!(event, SessionEvent::Plan(_))).await;
    assert!(matches!(&plan, SessionEvent::Plan(todos) if todos.len() == 1), "{plan:?}");
    assert!(
        world
            .store
            .entries(session.id())
            .iter()
            .any(|entry| matches!(entry, Entry::Todos { todos } if todos.len() == 1))
    );
    reply.call("3", "edit", r#"{"filePath": "src/a.txt", "oldString": "two", "newString": "three"}"#);
    reply.call("4", "bash", r#"{"command": "echo done", "description": "say so"}"#);
    reply.finish(Finish::ToolCalls);
    for _ in 0..2 {
        world.client.next_ask().await.select(OptionKind::AllowOnce, None);
    }

    let reply = player.next_request().await;
    assert_eq!(world.disk.read(&file).unwrap(), b"one\nthree\n");
    assert_eq!(world.shell.commands().len(), 1);
    reply.text("It is three.");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(world.client.text(), "It is three.");
}

/// A root may have a name that means something else in the session's folder.
#[tokio::test(start_paused = true)]
async fn r20_1_a_name_that_is_both_a_root_and_a_place_in_the_folder_is_ambiguous() {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    world.disk.put(&path("/home/user/.config/copydesk/copydesk.jsonc"), CONFIG.replace("7", "[]"));
    for file in ["project/api/a", "project/docs", "project/web/a"] {
        world.disk.put(&path("/home/user").join(file), "of the folder\n");
    }
    for root in ["api", "docs", "other", "linked"] {
        world.disk.put(&path("/srv").join(root).join("a"), "of the root\n");
    }
    world.disk.put_link(&path("/home/user/project/linked"), "/srv/linked");
    let engine = Engine::new(world.ports.clone());
    let check = async |additional: &[&str], expected: &[&str]| {
        let folder = path("/home/user/project");
        let roots = [folder.clone()].into_iter().chain(additional.iter().map(|root| path(root))).collect();
        assert_eq!(engine.place(folder, roots).await.facts.ambiguous, expected, "{additional:?}");
    };
    check(&[], &[]).await;
    check(&["/srv/other"], &[]).await;
    check(&["/srv/api", "/srv/docs", "/srv/other"], &["api", "docs"]).await;
    check(&["/home/user/project/web"], &[]).await;
    // Two names for one place.
    check(&["/srv/linked"], &[]).await;

    // As the model meets it.
    let folder = NewSession { additional: vec![path("/srv/api")], ..new(&world, "/home/user/project") };
    let session = engine.new_session(folder).await.unwrap();
    let end = session.prompt(vec![PromptPart::Text { text: "read it".to_owned() }]).unwrap();
    let reply = player.next_request().await;
    reply.call("1", "read", r#"{"filePath": "api/a"}"#);
    reply.call("2", "read", r#"{"filePath": "./api/a"}"#);
    reply.finish(Finish::ToolCalls);
    let reply = player.next_request().await;
    let Some(ModelMessage::Results(results)) = reply.request.messages.last() else { panic!("{:?}", reply.request) };
    let texts: Vec<String> = results.iter().map(|result| result.split().0.to_owned()).collect();
    assert!(texts[0].ends_with("\n/srv/api/a\n/home/user/project/api/a"), "{texts:?}");
    assert!(texts[1].contains("of the folder"), "{texts:?}");
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

/// Two windows of one daemon, the same file open in both: only the one whose session it is sees what the session does.
#[tokio::test(start_paused = true)]
async fn r20_2_edits_asks_and_changed_files_go_to_the_connection_that_owns_the_session() {
    let (model, mut player) = FakeModel::new();
    let mut world = World::new(model);
    let shell = Arc::new(BenchShell::over(world.disk.clone()));
    world.ports.shell = shell.clone();
    world.disk.put(&path("/home/user/.config/copydesk/copydesk.jsonc"), CONFIG.replace("7", "[]"));
    let file = path("/home/user/project/a.txt");
    world.disk.put(&file, "one\n");
    let engine = Engine::new(world.ports.clone());
    let window = || {
        let overlay = Arc::new(Overlay::new());
        let editor = Arc::new(BenchEditor::new(&overlay, &world.disk));
        *editor.free.lock().unwrap() = FreeEdits::default();
        overlay.open(Document {
            uri: uri_from_path(&file),
            key: DocKey::from_real_path(file.clone()),
            path: file.clone(),
            language: "text".to_owned(),
            version: 1,
            text: ropey::Rope::from("one\n"),
            saved: ContentHash::of(b"one\n"),
        });
        let client = FakeClient::new();
        let connection =
            Connection { client: client.clone(), editor: editor.clone(), overlay, ..world.connection.clone() };
        (client, editor, connection)
    };
    let windows = [window(), window()];
    let mut sessions = Vec::new();
    for (_, _, connection) in &windows {
        let folder = NewSession { connection: connection.clone(), ..new(&world, "/home/user/project") };
        sessions.push(engine.new_session(folder).await.unwrap());
    }
    for (of, other) in [(0, 1), (1, 0)] {
        let (client, editor, connection) = &windows[of];
        let (idle_client, idle_editor, idle) = &windows[other];
        let shown =
            |connection: &Connection| connection.overlay.by_uri(&uri_from_path(&file)).unwrap().text.to_string();
        let before = (idle_client.asks().len(), idle_editor.requests().len(), idle_editor.told().len(), shown(idle));
        let end = sessions[of].prompt(vec![PromptPart::Text { text: "make it two".to_owned() }]).unwrap();
        let reply = player.next_request().await;
        reply.call("1", "edit", r#"{"filePath": "a.txt", "oldString": "one", "newString": "two"}"#);
        reply.finish(Finish::ToolCalls);
        client.next_ask().await.select(OptionKind::AllowOnce, None);
        let reply = player.next_request().await;
        assert_eq!((client.asks().len(), editor.requests().len(), shown(connection)), (1, 1, "two\n".to_owned()));
        let (written, text) = (file.clone(), format!("written while {of} runs\n"));
        shell.will(move |disk| {
            disk.put(&written, text);
            printed("")
        });
        reply.call("2", "bash", r#"{"command": "make", "description": "make"}"#);
        reply.finish(Finish::ToolCalls);
        client.next_ask().await.select(OptionKind::AllowOnce, None);
        player.next_request().await.finish(Finish::Stop);
        assert_eq!(end.await, TurnEnd::Done);
        assert_eq!((client.asks().len(), editor.told().len()), (2, 1));
        let after = (idle_client.asks().len(), idle_editor.requests().len(), idle_editor.told().len(), shown(idle));
        assert_eq!(after, before, "{of}");
        assert!(client.events_of(sessions[other].id()).is_empty() && !client.events_of(sessions[of].id()).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn c82_a_write_cut_by_the_output_limit_leaves_the_file_alone() {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    world.disk.put(&path("/home/user/.config/copydesk/copydesk.jsonc"), CONFIG.replace("7", "[]"));
    let file = path("/home/user/project/a.py");
    let before = "x = 1\n".repeat(16 * 1024 / 6);
    world.disk.put(&file, before.as_str());
    let engine = Engine::new(world.ports.clone());
    let session = engine.new_session(new(&world, "/home/user/project")).await.unwrap();
    let end = session.prompt(vec![PromptPart::Text { text: "rewrite it".to_owned() }]).unwrap();
    let reply = player.next_request().await;
    reply.call("1", "write", r#"{"filePath":"a.py","content":"def"#);
    reply.progress(1, "write", r#"{"filePath":"a.py""#);
    reply.finish(Finish::Length);
    let reply = player.next_request().await;
    let Some(ModelMessage::Results(results)) = reply.request.messages.last() else { panic!("{:?}", reply.request) };
    assert_eq!(results.len(), 2);
    for result in results {
        let text = result.split().0;
        assert!(result.is_error && text.contains("in parts") && !text.contains("required"), "{result:?}");
    }
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(world.disk.read(&file).unwrap(), before.as_bytes());
    assert_eq!(world.files.writes(), 0);
}

#[tokio::test]
async fn a_session_needs_a_folder() {
    let world = World::new(FakeModel::new().0);
    world.disk.put(&path("/home/user/file"), "x");
    let engine = Engine::new(world.ports.clone());
    for folder in ["/home/user/file", "/home/user/missing"] {
        let error = engine.new_session(new(&world, folder)).await.err();
        assert_eq!(error, Some(EngineError::NotAFolder(path(folder))));
    }
}

#[tokio::test]
async fn the_worktree_is_the_nearest_ancestor_under_version_control() {
    let world = World::new(FakeModel::new().0);
    let engine = Engine::new(world.ports.clone());
    world.disk.put(&path("/home/user/project/linked/.git"), "gitdir: elsewhere");
    for (folder, worktree) in [
        ("/home/user/project/a/b", Some("/home/user/project")),
        ("/home/user/project/linked/x", Some("/home/user/project/linked")),
        ("/srv/plain", None),
    ] {
        let place = engine.place(path(folder), vec![path(folder)]).await;
        assert_eq!(place.facts.worktree, path(worktree.unwrap_or(folder)));
        assert_eq!(place.is_git, worktree.is_some());
    }
}

/// `session/new` that was cancelled, and one that the end of the daemon has overtaken.
#[tokio::test(start_paused = true)]
async fn a_session_that_is_given_up_on_while_its_row_is_written_leaves_none() {
    let (model, _player) = FakeModel::new();
    let world = World::new(model);
    let engine = Engine::new(world.ports.clone());
    let answer = world.store.hold_answer();
    {
        let mut making = std::pin::pin!(engine.new_session(new(&world, "/home/user/project")));
        while engine.ports.store.list().await.unwrap().is_empty() {
            assert!(futures::poll!(&mut making).is_pending(), "its row is written, its answer is not there");
        }
    }
    drop(answer);
    engine.shutdown().await;
    assert_eq!(engine.ports.store.list().await.unwrap(), [], "nobody knows of it");

    let late = engine.new_session(new(&world, "/home/user/project")).await;
    assert_eq!(late.err(), Some(EngineError::ShuttingDown));
    engine.tasks.wait().await;
    assert_eq!(engine.ports.store.list().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn each_worktree_has_a_temporary_folder_of_its_own() {
    let (model, _player) = FakeModel::new();
    let world = World::new(model);
    let engine = Engine::new(world.ports.clone());
    for folder in ["/srv/one/.git", "/srv/one/deep", "/srv/two"] {
        world.disk.put(&path(folder).join("file"), "");
    }
    let temp = async |folder: &str| engine.place(path(folder), vec![path(folder)]).await.facts.temp;
    let one = temp("/srv/one").await;
    assert_eq!(temp("/srv/one/deep").await, one, "one work tree");
    assert_ne!(temp("/srv/two").await, one);
    let base = world.ports.environment.folders().temp.to_string();
    assert!(one.to_string().starts_with(&format!("{base}-")), "{one}");
}

#[tokio::test(start_paused = true)]
async fn r10_1_kept_outputs_go_after_a_week_and_nothing_else_does() {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    world.disk.put(&path("/home/user/.config/copydesk/copydesk.jsonc"), CONFIG.replace("7", "[]"));
    let engine = Engine::new(world.ports.clone());
    let session = engine.new_session(new(&world, "/home/user/project")).await.unwrap();
    let spill = engine.place(path("/home/user/project"), Vec::new()).await.facts.spill;
    let now = world.ports.clock.now().0;
    let kept = |name: &str, days: i64| {
        let file = spill.join(name);
        world.disk.put(&file, "x");
        world.disk.put_stamp(&file, Stamp { modified: now - days * DAY, ..Stamp::default() });
        file
    };
    let old = [kept("tool_1", 8), kept("tool_2", 7)];
    let rest = [kept("tool_3", 6), kept("notes", 100), kept("toolbox", 100)];
    world.disk.put_link(&spill.join("tool_4"), "notes");
    let mut turn = async || {
        let end = session.prompt(vec![PromptPart::Text { text: "hi".to_owned() }]).unwrap();
        player.next_request().await.finish(Finish::Stop);
        assert_eq!(end.await, TurnEnd::Done);
    };
    turn().await;
    while old.iter().any(|file| world.disk.stat(file).is_ok()) {
        tokio::task::yield_now().await;
    }
    // Not looked at again so soon.
    let later = kept("tool_5", 8);
    turn().await;
    engine.shutdown().await;
    for file in rest.iter().chain([&later, &spill.join("tool_4")]) {
        assert!(world.disk.stat(file).is_ok(), "{file}");
    }
}
