#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::event::SessionEvent;
use crate::message::{Finish, PromptPart, TurnEnd};
use crate::testing::{FakeModel, World};

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
    let session = engine.load_session(&id, world.connection.clone()).await.unwrap();
    let end = session.prompt(vec![PromptPart::Text { text: "again".to_owned() }]).unwrap();
    player.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
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
