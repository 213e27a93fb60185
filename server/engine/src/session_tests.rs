#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{SessionError, SessionHandle};
use crate::engine::{Engine, EngineError, LoadSession};
use crate::event::{SessionEvent, ToolCallState};
use crate::ids::CallId;
use crate::message::{Entry, Finish, PromptPart, ToolStatus, TurnEnd, Usage};
use crate::permission::Mode;
use crate::ports::{BoxFuture, Content, ModelError, ModelEvent, ModelMessage, ModelRequest, OptionKind};
use crate::registry::Registry;
use crate::run::WIND_DOWN;
use crate::testing::{ASKED, Boundaries, FakeIds, FakeModel, ModelPlayer, ScriptedModel, Toy, ToyTool, World, config};
use crate::tool::AnyTool;

struct Toys {
    tools: Vec<Arc<ToyTool>>,
}

impl Toys {
    fn new(boundaries: &Boundaries) -> Self {
        let toy = |name, toy, permission| ToyTool::new(name, toy, permission, boundaries.clone());
        Self {
            tools: vec![
                toy("echo", Toy::Echo, "free"),
                toy("asks", Toy::Echo, ASKED),
                toy("hangs", Toy::Hang, "free"),
                toy("deaf", Toy::Deaf, "free"),
            ],
        }
    }

    fn registry(&self) -> Registry {
        Registry::new(self.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn AnyTool>))
    }

    fn started(&self) -> usize {
        self.tools.iter().map(|tool| tool.started()).sum()
    }
}

async fn open() -> (World, Arc<Engine>, SessionHandle, ModelPlayer) {
    let (model, player) = FakeModel::new();
    let world = World::new(model);
    let engine = world.engine(Toys::new(&world.boundaries).registry());
    let session = world.session(&engine, config()).await.unwrap();
    (world, engine, session, player)
}

fn prompt(session: &SessionHandle, text: &str) -> BoxFuture<'static, TurnEnd> {
    session.prompt(vec![PromptPart::Text { text: text.to_owned() }]).unwrap()
}

fn last_user(request: &ModelRequest) -> String {
    let user = |message: &ModelMessage| match message {
        ModelMessage::User(content) => match content.last() {
            Some(Content::Text(text)) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    request.messages.iter().rev().find_map(user).unwrap()
}

async fn answered(end: BoxFuture<'static, TurnEnd>) -> TurnEnd {
    timeout(Duration::from_secs(60), end).await.unwrap()
}

/// A turn is recorded, then repeated with a cancel (or the death of the daemon) at each of its boundaries.
type Script = fn() -> Vec<Vec<Result<ModelEvent, ModelError>>>;

fn text(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Text(text.to_owned()))
}

fn progress(slot: usize, name: &str, arguments: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::CallProgress { slot, name: name.to_owned(), arguments: arguments.to_owned() })
}

fn call(id: &str, name: &str, arguments: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Call {
        slot: 0,
        provider_id: Some(id.to_owned()),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

fn finish(reason: Finish) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Finish(reason))
}

fn text_only() -> Vec<Vec<Result<ModelEvent, ModelError>>> {
    let reasoning = Ok(ModelEvent::Reasoning { text: "hm".to_owned(), signature: None });
    let usage = Ok(ModelEvent::Usage(Usage { input: 1, output: 1, ..Usage::default() }));
    vec![vec![reasoning, text("one "), text("two "), text("three"), usage, finish(Finish::Stop)]]
}

fn three_parallel_calls() -> Vec<Vec<Result<ModelEvent, ModelError>>> {
    vec![
        vec![
            text("I look."),
            progress(0, "echo", r#"{"text": "#),
            progress(0, "echo", r#"{"text": "a"}"#),
            call("call_1", "echo", r#"{"text": "a"}"#),
            call("call_1", "echo", r#"{"text": "b"}"#),
            call("", "echo", ""),
            finish(Finish::ToolCalls),
        ],
        vec![text("done"), finish(Finish::Stop)],
    ]
}

fn ask_pending() -> Vec<Vec<Result<ModelEvent, ModelError>>> {
    let calls = vec![call("a", "echo", "{}"), call("b", "asks", "{}"), call("c", "asks", r#"{"text": "other"}"#)];
    vec![[calls, vec![finish(Finish::ToolCalls)]].concat()]
}

fn tool_running() -> Vec<Vec<Result<ModelEvent, ModelError>>> {
    let calls = vec![call("a", "echo", "{}"), call("b", "hangs", "{}"), call("c", "deaf", "{}")];
    vec![[vec![text("I run.")], calls, vec![finish(Finish::ToolCalls)]].concat()]
}

fn deaf_tool_running() -> Vec<Vec<Result<ModelEvent, ModelError>>> {
    vec![vec![call("a", "echo", "{}"), call("b", "deaf", "{}"), call("c", "deaf", "{}"), finish(Finish::ToolCalls)]]
}

fn several_steps() -> Vec<Vec<Result<ModelEvent, ModelError>>> {
    vec![
        vec![call("a", "echo", "{}"), finish(Finish::ToolCalls)],
        vec![call("a", "echo", "{\"cut"), finish(Finish::Length)],
        vec![text("now "), call("a", "nonsense", "{}"), finish(Finish::Stop)],
        vec![text("done"), finish(Finish::Stop)],
    ]
}

struct Scene {
    world: World,
    toys: Toys,
    model: Arc<ScriptedModel>,
    /// Held for its life.
    _engine: Arc<Engine>,
    session: SessionHandle,
}

impl Scene {
    async fn open(script: Script) -> Self {
        let boundaries = Boundaries::default();
        let model = ScriptedModel::new(script(), boundaries.clone());
        let world = World::ticking(model.clone(), boundaries);
        let toys = Toys::new(&world.boundaries);
        let engine = world.engine(toys.registry());
        let session = world.session(&engine, config()).await.unwrap();
        Self { world, toys, model, _engine: engine, session }
    }

    /// Everything that must not grow after a cancel (R2.4).
    fn side_effects(&self) -> (usize, usize, usize, usize) {
        let world = &self.world;
        (self.model.requests().len(), self.toys.started(), world.files.writes(), world.shell.commands().len())
    }
}

/// Boundaries of the whole turn, up to its end or to where it waits for the user or a tool.
async fn record(script: Script) -> usize {
    let scene = Scene::open(script).await;
    let end = prompt(&scene.session, "go");
    let _ = timeout(Duration::from_secs(60), end).await;
    scene.world.boundaries.count()
}

async fn cancel_at_every_boundary(script: Script) {
    let count = record(script).await;
    assert!(count > 8, "the turn has boundaries: {count}");
    for index in 0..count {
        let scene = Arc::new(Scene::open(script).await);
        let at_cancel = Arc::new(Mutex::new(None));
        let (acting, seen) = (Arc::downgrade(&scene), Arc::clone(&at_cancel));
        scene.world.boundaries.at(index, move || {
            if let Some(scene) = acting.upgrade() {
                scene.session.cancel();
                *seen.lock().unwrap() = Some(scene.side_effects());
            }
        });
        let started = Instant::now();
        let end = answered(prompt(&scene.session, "go")).await;
        assert!(!scene.world.boundaries.armed(), "boundary {index} was reached");
        assert!(
            started.elapsed() <= WIND_DOWN + Duration::from_millis(100),
            "boundary {index}: {:?}",
            started.elapsed()
        );
        // The last boundaries are past the turn's end.
        assert!(end == TurnEnd::Cancelled || index + 2 >= count && end == TurnEnd::Done, "boundary {index}: {end:?}");
        assert_eq!(
            at_cancel.lock().unwrap().unwrap(),
            scene.side_effects(),
            "boundary {index}: nothing after the cancel"
        );
        assert_eq!(open_calls(&scene.world), Vec::<CallId>::new(), "boundary {index}: no call looks as if it ran");

        scene.model.forget_replies();
        let end = answered(prompt(&scene.session, "hello")).await;
        assert_eq!((end, scene.model.faults()), (TurnEnd::Done, vec![]), "boundary {index}");
        let asked = scene.model.requests().iter().any(|request| last_user(request).ends_with("hello"));
        assert!(asked, "boundary {index}: hello reached the model");
    }
}

#[tokio::test(start_paused = true)]
async fn r2_2_c86_cancel_at_every_boundary_of_a_text() {
    cancel_at_every_boundary(text_only).await;
}

#[tokio::test(start_paused = true)]
async fn r2_2_c86_cancel_at_every_boundary_of_three_parallel_calls() {
    cancel_at_every_boundary(three_parallel_calls).await;
}

#[tokio::test(start_paused = true)]
async fn r2_2_c86_cancel_at_every_boundary_up_to_a_pending_ask() {
    cancel_at_every_boundary(ask_pending).await;
}

#[tokio::test(start_paused = true)]
async fn r2_2_c86_r2_4_cancel_at_every_boundary_up_to_a_running_tool() {
    cancel_at_every_boundary(tool_running).await;
    cancel_at_every_boundary(deaf_tool_running).await;
}

#[tokio::test(start_paused = true)]
async fn r2_2_r2_4_cancel_at_every_boundary_between_steps() {
    cancel_at_every_boundary(several_steps).await;
}

#[tokio::test(start_paused = true)]
async fn r12_2_death_at_any_boundary_loses_at_most_the_streaming_message() {
    for script in
        [text_only as Script, three_parallel_calls, ask_pending, tool_running, deaf_tool_running, several_steps]
    {
        let count = record(script).await;
        for index in 0..count {
            let scene = Arc::new(Scene::open(script).await);
            let left = Arc::new(Mutex::new(None));
            let (acting, seen) = (Arc::downgrade(&scene), Arc::clone(&left));
            scene.world.boundaries.at(index, move || {
                if let Some(scene) = acting.upgrade() {
                    *seen.lock().unwrap() = Some((scene.world.store.survivor(), scene.world.client.events()));
                }
            });
            let _ = timeout(Duration::from_secs(60), prompt(&scene.session, "go")).await;
            let (store, told) = left.lock().unwrap().take().unwrap();
            let id = scene.session.id().clone();
            let entries = store.entries(&id);
            check_survival(&entries, &told, index);

            // Another daemon opens the session.
            let model = ScriptedModel::new(Vec::new(), Boundaries::default());
            let world = World::after(store, FakeIds::after(1_000), model.clone());
            let engine = world.engine(Toys::new(&world.boundaries).registry());
            let session = world.load(&engine, &id, config()).await.unwrap();
            assert_eq!(answered(prompt(&session, "hello")).await, TurnEnd::Done, "boundary {index}");
            assert_eq!(model.faults(), Vec::<String>::new(), "boundary {index}");
            let after = world.store.entries(&id);
            assert_eq!(after[..entries.len()], entries, "rows are only added");
            let open = crate::history::close_interrupted(&after, crate::ids::Millis(0));
            assert_eq!(open, vec![], "r12_4: nothing looks as if it still ran");
        }
    }
}

/// What the client had been told is stored, but for the message that was streaming.
fn check_survival(entries: &[Entry], told: &[SessionEvent], index: usize) {
    let stored =
        |wanted: &CallId| entries.iter().any(|entry| matches!(entry, Entry::ToolResult { call, .. } if call == wanted));
    let mut spoken: Vec<(String, String)> = Vec::new();
    for event in told {
        match event {
            SessionEvent::Text { message, delta } => match spoken.last_mut() {
                Some((last, text)) if *last == message.to_string() => text.push_str(delta),
                _ => spoken.push((message.to_string(), delta.clone())),
            },
            SessionEvent::ToolCallUpdate(view) if matches!(view.state, ToolCallState::Ended(_)) => {
                assert!(stored(&view.call), "boundary {index}: the end of {} was told and not stored", view.call);
            }
            _ => {}
        }
    }
    let is_streaming = matches!(told.last(), Some(SessionEvent::Text { .. }));
    let whole = if is_streaming { &spoken[..spoken.len() - 1] } else { &spoken[..] };
    for (message, text) in whole {
        let kept = entries.iter().any(|entry| matches!(entry, Entry::Text { message: of, text: kept, .. } if of.to_string() == *message && kept == text));
        // Its last part is stored when the next event of the message comes.
        let is_last = spoken.last().is_some_and(|(last, _)| last == message);
        assert!(kept || is_last, "boundary {index}: {text:?} is lost");
    }
}

fn open_calls(world: &World) -> Vec<CallId> {
    let mut open = Vec::new();
    for event in world.client.events() {
        match event {
            SessionEvent::ToolCall(view) => open.push(view.call),
            SessionEvent::ToolCallUpdate(view) if matches!(view.state, ToolCallState::Ended(_)) => {
                open.retain(|call| *call != view.call);
            }
            _ => {}
        }
    }
    open
}

#[tokio::test(start_paused = true)]
async fn a_prompt_during_a_run_steers_it_and_both_are_answered_at_its_end() {
    let (world, _engine, session, mut model) = open().await;
    let first = prompt(&session, "first");
    let reply = model.next_request().await;
    let second = prompt(&session, "second");
    reply.text("thinking").call("a", "echo", "{}");
    world.client.wait_for(|event| matches!(event, SessionEvent::ToolCall(_))).await;
    reply.finish(Finish::ToolCalls);
    let reply = model.next_request().await;
    assert_eq!(last_user(&reply.request), "second");
    assert!(matches!(reply.request.messages[2], ModelMessage::Results(_)), "{:#?}", reply.request.messages);
    // Another one comes while the answer streams that would have been the last.
    let third = prompt(&session, "third");
    tokio::task::yield_now().await;
    reply.text("answer");
    reply.finish(Finish::Stop);
    let reply = model.next_request().await;
    assert_eq!(last_user(&reply.request), "third");
    reply.finish(Finish::Stop);
    for end in [first, second, third] {
        assert_eq!(answered(end).await, TurnEnd::Done);
    }
    assert!(model.waiting().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_comes_as_the_run_ends_is_answered_by_a_run_of_its_own() {
    let (model, mut player) = FakeModel::new();
    let boundaries = Boundaries::default();
    let world = World::ticking(model, boundaries.clone());
    let engine = world.engine(Toys::new(&boundaries).registry());
    let session = world.session(&engine, config()).await.unwrap();
    let first = prompt(&session, "first");
    let reply = player.next_request().await;
    // The next two boundaries are the appends of the step's and of the turn's end.
    let late = Arc::new(Mutex::new(None));
    let (acting, kept) = (session.clone(), Arc::clone(&late));
    boundaries.at(boundaries.count() + 1, move || *kept.lock().unwrap() = Some(prompt(&acting, "late")));
    reply.finish(Finish::Stop);
    assert_eq!(answered(first).await, TurnEnd::Done);
    let reply = player.next_request().await;
    assert_eq!(last_user(&reply.request).lines().last(), Some("late"));
    reply.finish(Finish::Stop);
    let late = late.lock().unwrap().take().unwrap();
    assert_eq!(answered(late).await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn r2_3_c89_cancels_of_every_kind_answer_each_prompt_once() {
    let (world, _engine, session, mut model) = open().await;
    // Nothing runs.
    session.cancel();
    let end = prompt(&session, "one");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(answered(end).await, TurnEnd::Done);
    // A finished turn.
    session.cancel();
    session.cancel();
    // Twice within the wind-down of a tool that does not listen.
    let end = prompt(&session, "two");
    let reply = model.next_request().await;
    reply.call("a", "deaf", "{}");
    reply.finish(Finish::ToolCalls);
    let running = |event: &SessionEvent| matches!(event, SessionEvent::ToolCallUpdate(view) if view.state == ToolCallState::Running);
    world.client.wait_for(running).await;
    session.cancel();
    session.cancel();
    // A prompt behind the cancel is another turn.
    let next = prompt(&session, "three");
    assert_eq!(answered(end).await, TurnEnd::Cancelled);
    let reply = model.next_request().await;
    assert!(last_user(&reply.request).ends_with("three"));
    reply.call("a", "asks", "{}");
    reply.finish(Finish::ToolCalls);
    // An ask is pending.
    let ask = world.client.next_ask().await;
    session.cancel();
    assert_eq!(answered(next).await, TurnEnd::Cancelled);
    assert!(ask.is_withdrawn());
    ask.select(OptionKind::AllowOnce, None);
    // Queued before the cancel: never reaches the model.
    let queued = [prompt(&session, "four"), prompt(&session, "five")];
    session.cancel();
    for end in queued {
        assert_eq!(answered(end).await, TurnEnd::Cancelled);
    }
    assert!(model.waiting().is_none());
    let end = prompt(&session, "six");
    let reply = model.next_request().await;
    assert_eq!(last_user(&reply.request), "four\n\nfive\n\nsix");
    reply.finish(Finish::Stop);
    assert_eq!(answered(end).await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn r2_4_a_cancel_ends_the_model_request_at_once() {
    let (world, _engine, session, mut model) = open().await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.text("I am in the mid");
    world.client.wait_for(|event| matches!(event, SessionEvent::Text { .. })).await;
    session.cancel();
    timeout(Duration::from_secs(1), reply.cancelled()).await.unwrap();
    assert!(reply.is_cancelled());
    assert_eq!(answered(end).await, TurnEnd::Cancelled);
    let kept = |entry: &Entry| matches!(entry, Entry::Text { text, .. } if text == "I am in the mid");
    assert!(world.store.entries(session.id()).iter().any(kept), "what was said is kept");
}

#[tokio::test(start_paused = true)]
async fn c90_one_session_waits_for_an_answer_and_another_works() {
    let (world, engine, a, mut model) = open().await;
    let end_a = prompt(&a, "in a");
    let reply = model.next_request().await;
    reply.call("a", "asks", "{}");
    reply.finish(Finish::ToolCalls);
    let ask = world.client.next_ask().await;
    assert_eq!(ask.session, *a.id());

    let b = world.session(&engine, config()).await.unwrap();
    let listed = world.ports.store.list().await.unwrap();
    assert_eq!(listed.iter().map(|listed| &listed.meta.id).collect::<Vec<_>>(), [a.id(), b.id()]);
    let end_b = prompt(&b, "in b");
    let reply = model.next_request().await;
    assert_eq!(last_user(&reply.request), "in b");
    reply.call("b", "echo", "{}");
    reply.finish(Finish::ToolCalls);
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(answered(end_b).await, TurnEnd::Done);

    ask.select(OptionKind::AllowOnce, None);
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(answered(end_a).await, TurnEnd::Done);
    let of_a = world.client.events_of(a.id());
    let completed = |event: &SessionEvent| matches!(event, SessionEvent::ToolCallUpdate(view) if view.state == ToolCallState::Ended(ToolStatus::Completed));
    assert!(of_a.iter().any(completed));
}

#[tokio::test(start_paused = true)]
async fn choices_are_checked_stored_and_in_force_from_the_next_step_on() {
    let (world, engine, session, mut model) = open().await;
    let choices = session.choices();
    assert_eq!((choices.agent.as_str(), choices.model.unwrap().to_string().as_str()), ("build", "p/m"));
    assert_eq!(choices.agents.len(), 2);
    assert_eq!(choices.models.len(), 2);
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    assert_eq!(session.choose_agent("nobody").await, Err(SessionError::UnknownAgent("nobody".to_owned())));
    assert_eq!(session.choose_model("q").await, Err(SessionError::UnknownModel("q".to_owned())));
    assert_eq!(session.choose_agent("plan").await.unwrap().agent, "plan");
    let chosen = session.choose_model("q/n").await.unwrap().model;
    let event = SessionEvent::Chosen { agent: "plan".to_owned(), model: chosen, mode: Mode::Ask };
    assert!(world.client.events().contains(&event));
    assert_eq!(session.choose_mode("free").await, Err(SessionError::UnknownMode("free".to_owned())));
    assert_eq!(session.choose_mode("workspace").await.unwrap().mode, Mode::Workspace);
    reply.call("a", "echo", "{}");
    reply.finish(Finish::ToolCalls);
    let reply = model.next_request().await;
    assert_eq!(reply.request.model.to_string(), "q/n");
    assert!(last_user(&reply.request).contains("plan mode"));
    reply.finish(Finish::Stop);
    assert_eq!(answered(end).await, TurnEnd::Done);
    // Another daemon knows what was chosen.
    engine.shutdown().await;
    let (again, _player) = FakeModel::new();
    let world = World::after(world.store.survivor(), FakeIds::after(1_000), again);
    let engine = world.engine(Registry::new([]));
    let session = world.load(&engine, session.id(), config()).await.unwrap();
    assert_eq!(session.choices().agent, "plan");
    assert_eq!(session.choices().model.unwrap().to_string(), "q/n");
    assert_eq!(session.choices().mode, Mode::Workspace);
}

#[tokio::test(start_paused = true)]
async fn shutdown_cancels_every_turn_and_leaves_no_task() {
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (world, engine, session, mut model) = open().await;
    let other = world.session(&engine, config()).await.unwrap();
    let ends = [prompt(&session, "one"), prompt(&other, "two")];
    let reply = model.next_request().await;
    let hanging = model.next_request().await;
    reply.call("a", "hangs", "{}").call("b", "asks", "{}");
    reply.finish(Finish::ToolCalls);
    world.client.next_ask().await;
    let started = Instant::now();
    engine.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(2));
    for end in ends {
        assert_eq!(answered(end).await, TurnEnd::Cancelled);
    }
    assert!(hanging.is_cancelled());
    assert_eq!(session.prompt(Vec::new()).err(), Some(SessionError::Closed));
    assert_eq!(session.choose_agent("plan").await, Err(SessionError::Closed));
    assert_eq!(world.session(&engine, config()).await.err(), Some(EngineError::ShuttingDown));
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
    let ended = |entry: &Entry| matches!(entry, Entry::TurnEnded { reason: TurnEnd::Cancelled, .. });
    assert!(world.store.entries(session.id()).iter().any(ended));
}

#[tokio::test(start_paused = true)]
async fn shutdown_is_bounded_even_with_a_deaf_tool() {
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (world, engine, session, mut model) = open().await;
    let end = prompt(&session, "one");
    let reply = model.next_request().await;
    reply.call("a", "deaf", "{}");
    reply.finish(Finish::ToolCalls);
    let running = |event: &SessionEvent| matches!(event, SessionEvent::ToolCallUpdate(view) if view.state == ToolCallState::Running);
    world.client.wait_for(running).await;
    let started = Instant::now();
    engine.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(answered(end).await, TurnEnd::Cancelled);
    tokio::task::yield_now().await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_connection_ends_its_sessions_and_no_others() {
    let (world, engine, session, mut model) = open().await;
    let (_client, connection) = world.another_client();
    let place = engine.place(world.folder(), vec![world.folder()]).await;
    let other = engine.start(place, config(), connection.clone()).await.unwrap();
    let ends = (prompt(&session, "one"), prompt(&other, "two"));
    let reply = model.next_request().await;
    model.next_request().await;
    engine.close_connection(&connection).await;
    assert_eq!(answered(ends.1).await, TurnEnd::Cancelled);
    assert_eq!(engine.session(other.id()).err(), Some(EngineError::UnknownSession(other.id().clone())));
    reply.finish(Finish::Stop);
    assert_eq!(answered(ends.0).await, TurnEnd::Done);
    assert!(engine.session(session.id()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_engine_ends_its_sessions() {
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (_world, engine, session, mut model) = open().await;
    let end = prompt(&session, "one");
    let reply = model.next_request().await;
    drop(engine);
    assert_eq!(answered(end).await, TurnEnd::Cancelled);
    drop(reply);
    while tokio::runtime::Handle::current().metrics().num_alive_tasks() > before {
        tokio::task::yield_now().await;
    }
    assert_eq!(session.prompt(Vec::new()).err(), Some(SessionError::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_client_gone_wild_is_told_that_the_session_is_overloaded() {
    let (_world, _engine, session, _model) = open().await;
    let mut refused = None;
    // Nothing awaits in between, so the actor takes none of them.
    for _ in 0..=super::MAILBOX {
        refused = session.prompt(Vec::new()).err();
    }
    assert_eq!(refused, Some(SessionError::Overloaded));
}

/// A port that panics, which is a fault of ours.
struct PanickingModel(std::sync::atomic::AtomicBool);

impl crate::ports::Model for PanickingModel {
    fn stream(&self, _: ModelRequest) -> futures::stream::BoxStream<'static, Result<ModelEvent, ModelError>> {
        let is_first = !self.0.swap(true, std::sync::atomic::Ordering::SeqCst);
        assert!(!is_first, "the model panicked, as it was asked to");
        Box::pin(futures::stream::iter([text("fine"), finish(Finish::Stop)]))
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_one_turn_and_neither_the_session_nor_the_daemon() {
    let world = World::new(Arc::new(PanickingModel(false.into())));
    let engine = world.engine(Registry::new([]));
    let session = world.session(&engine, config()).await.unwrap();
    assert!(matches!(answered(prompt(&session, "one")).await, TurnEnd::Failed { .. }));
    let entries = world.store.entries(session.id());
    assert_eq!(crate::history::close_interrupted(&entries, crate::ids::Millis(0)), vec![]);
    assert_eq!(answered(prompt(&session, "two")).await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn r2_5_damaged_rows_are_told_and_the_session_still_opens() {
    let (world, engine, session, mut model) = open().await;
    let id = session.id().clone();
    let end = prompt(&session, "first");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(answered(end).await, TurnEnd::Done);
    engine.shutdown().await;
    world.store.damage(2, "expected value at line 1 column 1");
    let engine = world.engine(Registry::new([]));
    let session = world.load(&engine, &id, config()).await.unwrap();
    session.opened();
    let told = world.client.wait_for(|event| matches!(event, SessionEvent::Notice { .. })).await;
    assert!(format!("{told:?}").contains("Row 2"), "{told:?}");
    let end = prompt(&session, "go");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(answered(end).await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn r20_2_a_session_is_not_opened_from_two_connections() {
    let (world, engine, session, _model) = open().await;
    let (_client, other) = world.another_client();
    let error = engine.load_session(LoadSession { connection: other, ..world.load_of(session.id()) }).await.err();
    assert_eq!(error, Some(EngineError::OpenElsewhere(session.id().clone())));
    assert!(engine.load_session(world.load_of(session.id())).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_store_is_flushed_once_a_turn() {
    let (world, engine, session, mut model) = open().await;
    for turns in 1..=2 {
        let end = prompt(&session, "go");
        let reply = model.next_request().await;
        reply.call("a", "echo", "{}");
        reply.finish(Finish::ToolCalls);
        model.next_request().await.finish(Finish::Stop);
        answered(end).await;
        tokio::task::yield_now().await;
        assert_eq!(world.store.flushes(), turns);
    }
    let _end = prompt(&session, "go");
    model.next_request().await;
    engine.shutdown().await;
    assert_eq!(world.store.flushes(), 3);
}

/// Real threads, no paused clock: whatever the interleaving, each prompt is answered once and each request is valid.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r2_3_prompts_and_cancels_from_many_threads_are_all_answered() {
    let replies = (0..400).map(|index| match index % 3 {
        0 => vec![text("a "), call("call_1", "echo", "{}"), call("call_1", "hangs", "{}"), finish(Finish::ToolCalls)],
        1 => vec![call("", "asks", "{}"), call("x", "echo", "{}"), finish(Finish::Length)],
        _ => vec![text("b"), finish(Finish::Stop)],
    });
    let model = ScriptedModel::new(replies.collect(), Boundaries::default());
    let world = World::new(model.clone());
    world.client.answer_all(OptionKind::AllowOnce);
    let engine = world.engine(Toys::new(&world.boundaries).registry());
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..6 {
        let session = world.session(&engine, config()).await.unwrap();
        clients.spawn(async move {
            for round in 0..20 {
                let ends = [prompt(&session, "one"), prompt(&session, "two")];
                for _ in 0..(number + round) % 7 {
                    tokio::task::yield_now().await;
                }
                session.cancel();
                session.cancel();
                for end in ends {
                    let end = answered(end).await;
                    // A session may get three of the cut replies in a row.
                    let is_expected = matches!(end, TurnEnd::Cancelled | TurnEnd::Done | TurnEnd::MaxTokens);
                    assert!(is_expected, "{end:?}");
                }
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    engine.shutdown().await;
    assert_eq!(model.faults(), Vec::<String>::new());
}
