#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::engine::Engine;
use crate::event::{SessionEvent, Severity};
use crate::message::{Finish, PromptPart, TurnEnd};
use crate::ports::{BoxFuture, Content, ModelMessage, ModelRequest, OptionKind};
use crate::registry::Registry;
use crate::session::SessionHandle;
use crate::testing::{FakeModel, ModelPlayer, World, config};

async fn open() -> (World, Arc<Engine>, SessionHandle, ModelPlayer) {
    let (model, player) = FakeModel::new();
    let world = World::new(model);
    let engine = world.engine(Registry::builtin());
    world.client.answer_all(OptionKind::AllowOnce);
    let session = world.session(&engine, config()).await.unwrap();
    (world, engine, session, player)
}

fn prompt(session: &SessionHandle, text: &str) -> BoxFuture<'static, TurnEnd> {
    session.prompt(vec![PromptPart::Text { text: text.to_owned() }]).unwrap()
}

async fn answered<T>(end: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), end).await.unwrap()
}

/// The model starts a job in this turn.
async fn start(player: &mut ModelPlayer, command: &str) {
    let reply = player.next_request().await;
    reply.call("", "bash", &serde_json::json!({"command": command, "background": true}).to_string());
    reply.finish(Finish::ToolCalls);
}

async fn say(player: &mut ModelPlayer, text: &str) -> ModelRequest {
    let reply = player.next_request().await;
    let request = reply.request.clone();
    reply.text(text);
    reply.finish(Finish::Stop);
    request
}

/// All that the request tells the model on the user's side.
fn told(request: &ModelRequest) -> String {
    let texts = request.messages.iter().flat_map(|message| match message {
        ModelMessage::User(content) => content.as_slice(),
        _ => &[],
    });
    let texts = texts.filter_map(|content| match content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn r7_5_the_end_of_a_job_is_told_to_the_model_at_the_next_step_once_and_stored() {
    let (world, engine, session, mut player) = open().await;
    let end = prompt(&session, "go");
    start(&mut player, "build").await;
    // It may have ended by then.
    say(&mut player, "Started.").await;
    assert_eq!(answered(end).await, TurnEnd::Done);
    let is_told = |event: &SessionEvent| matches!(event, SessionEvent::Notice { severity: Severity::Info, text } if text == "job_1 (build) has ended: exit code 0.");
    world.client.wait_for(is_told).await;

    let end = prompt(&session, "and now?");
    let note = "<system-reminder>\njob_1 (build) has ended: exit code 0. You have not seen 5 bytes of its output: `job` shows them.\n</system-reminder>";
    let request = say(&mut player, "It is built.").await;
    assert_eq!(told(&request).matches(note).count(), 1, "{}", told(&request));
    answered(end).await;
    let end = prompt(&session, "again");
    let request = say(&mut player, "Yes.").await;
    assert_eq!(told(&request).matches("has ended").count(), 1, "it stays where it was told: {}", told(&request));
    answered(end).await;
    engine.close_session(session.id(), &world.connection).await.unwrap();

    // Another daemon: the conversation is the same, and the next job has another id.
    let loaded = world.load(&engine, session.id(), config()).await.unwrap();
    let end = prompt(&loaded, "once more");
    let reply = player.next_request().await;
    assert_eq!(told(&reply.request).matches(note).count(), 1);
    reply.call("", "bash", r#"{"command": "hang", "background": true}"#);
    reply.finish(Finish::ToolCalls);
    let request = say(&mut player, "Started.").await;
    assert!(format!("{:?}", request.messages).contains("in the background as job_2"), "{:?}", request.messages);
    answered(end).await;
    engine.shutdown().await;
}

#[tokio::test]
async fn r2_4_a_cancel_ends_the_jobs_of_its_turn_and_no_others() {
    let (world, engine, session, mut player) = open().await;
    let end = prompt(&session, "serve");
    start(&mut player, "hang").await;
    say(&mut player, "It serves.").await;
    answered(end).await;
    // A cancel between turns has nothing to end.
    session.cancel();

    let end = prompt(&session, "test");
    start(&mut player, "hang").await;
    let waiting = player.next_request().await;
    session.cancel();
    assert_eq!(answered(end).await, TurnEnd::Cancelled);
    drop(waiting);
    let jobs = &session.context().jobs;
    assert!(jobs.get("job_1").unwrap().end().is_none(), "the user has seen its turn end with it");
    let how = jobs.get("job_2").unwrap().end().unwrap().how;
    assert_eq!(how, "the user cancelled the turn that started it");

    let end = prompt(&session, "go on");
    let request = say(&mut player, "Yes.").await;
    assert!(told(&request).contains("job_2 (hang) has ended: the user cancelled"), "{}", told(&request));
    answered(end).await;
    engine.close_session(session.id(), &world.connection).await.unwrap();
    assert_eq!(jobs.get("job_1").unwrap().end().unwrap().how, "the session was closed");
}

#[tokio::test]
async fn r7_5_jobs_end_with_their_session_its_client_and_the_daemon() {
    for way in 0..3 {
        let (world, engine, session, mut player) = open().await;
        let end = prompt(&session, "serve");
        start(&mut player, "hang").await;
        say(&mut player, "It serves.").await;
        answered(end).await;
        let job = session.context().jobs.get("job_1").unwrap();
        assert!(job.end().is_none());
        match way {
            0 => engine.close_session(session.id(), &world.connection).await.unwrap(),
            1 => engine.close_connection(&world.connection).await,
            _ => engine.shutdown().await,
        }
        assert_eq!(job.end().unwrap().how, "the session was closed", "{way}");
        let turn_is_over = session.prompt(vec![PromptPart::Text { text: "x".to_owned() }]).is_err();
        assert!(turn_is_over, "{way}");
    }
}
