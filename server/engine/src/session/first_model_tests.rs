#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::Arc;

use copydesk_workspace::path::AbsPath;
use futures::stream::{self, BoxStream, StreamExt as _};

use super::*;
use crate::config::Config;
use crate::engine::{Engine, NewSession};
use crate::event::SessionEvent;
use crate::message::{Finish, PromptPart, TurnEnd};
use crate::ports::{BoxFuture, Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ProviderSettings};
use crate::registry::Registry;
use crate::session::SessionHandle;
use crate::testing::{World, config};

/// Ollama runs, nothing else does. Answers each request with the name of the model.
struct OnlyOllama;

impl Model for OnlyOllama {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        stream::iter([Ok(ModelEvent::Text(request.model.to_string())), Ok(ModelEvent::Finish(Finish::Stop))]).boxed()
    }

    fn offered(
        &self,
        provider: Arc<ProviderSettings>,
        limit: Duration,
    ) -> BoxFuture<'_, Result<Option<Vec<String>>, ModelError>> {
        assert_eq!(limit, LIMIT);
        let answer = if provider.id == "ollama" {
            assert_eq!(provider.base_url, "http://127.0.0.1:11434/v1");
            Ok(Some(vec!["qwen3:8b".to_owned(), "org/coder".to_owned()]))
        } else {
            Err(ModelError { kind: ModelErrorKind::Connection, message: "nothing listens".to_owned() })
        };
        Box::pin(std::future::ready(answer))
    }
}

async fn open(world: &World, engine: &Engine) -> SessionHandle {
    let connection = world.connection.clone();
    engine.new_session(NewSession { folder: world.folder(), additional: Vec::new(), connection }).await.unwrap()
}

async fn prompt(session: &SessionHandle) -> TurnEnd {
    session.prompt(vec![PromptPart::Text { text: "go".to_owned() }]).unwrap().await
}

fn configure(world: &World, text: &str) {
    world.disk.put(&AbsPath::new("/home/user/.config/copydesk/copydesk.jsonc").unwrap(), text);
}

#[tokio::test(start_paused = true)]
async fn models_of_this_machine_are_offered_and_the_choice_is_remembered() {
    let world = World::new(Arc::new(OnlyOllama));
    let engine = world.engine(Registry::new([]));
    let session = open(&world, &engine).await;
    assert_eq!(session.choices().models, []);
    let TurnEnd::Failed { message } = prompt(&session).await else { panic!() };
    insta::assert_snapshot!(message, @r#"
    No model is set. These run on this machine:

    - ollama/qwen3:8b
    - ollama/org/coder

    Choose one as the model of this session, and send the prompt again: `:CopydeskModel ollama/qwen3:8b` in Neovim, the option `model` elsewhere (`session/set_config_option`). It is remembered for later sessions. Or put it into /home/user/.config/copydesk/copydesk.jsonc:

    {"model": "ollama/qwen3:8b"}
    "#);
    // The client hears of the option before the prompt's answer.
    world.client.wait_for(|event| matches!(event, SessionEvent::Chosen { model: None, .. })).await;
    let offered: Vec<String> = session.choices().models.iter().map(|(model, _)| model.to_string()).collect();
    assert_eq!((offered, session.choices().model), (vec!["ollama/qwen3:8b".into(), "ollama/org/coder".into()], None));

    session.choose_model("ollama/org/coder").await.unwrap();
    assert_eq!(prompt(&session).await, TurnEnd::Done);
    assert_eq!(world.client.text(), "ollama/org/coder");

    let later = open(&world, &engine).await;
    assert_eq!(later.choices().model.unwrap().to_string(), "ollama/org/coder");
    assert_eq!(prompt(&later).await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn configuration_wins_over_what_is_remembered_and_is_never_copied_to_it() {
    let world = World::new(Arc::new(OnlyOllama));
    let engine = world.engine(Registry::new([]));
    open(&world, &engine).await.choose_model("ollama/org/coder").await.unwrap();
    configure(&world, r#"{ "model": "ollama/written" }"#);
    let session = open(&world, &engine).await;
    assert_eq!(session.choices().model.unwrap().to_string(), "ollama/written");
    // A choice that differs from the configuration is of its session alone.
    session.choose_model("lmstudio/other").await.unwrap();
    configure(&world, "{}");
    assert_eq!(open(&world, &engine).await.choices().model.unwrap().to_string(), "ollama/org/coder");
}

#[tokio::test(start_paused = true)]
async fn a_remembered_model_whose_provider_is_gone_is_passed_over() {
    let world = World::new(Arc::new(OnlyOllama));
    let engine = world.engine(Registry::new([]));
    open(&world, &engine).await.choose_model("ollama/org/coder").await.unwrap();
    configure(&world, r#"{ "disabled_providers": ["ollama"] }"#);
    let session = open(&world, &engine).await;
    assert_eq!(session.choices().model, None);
    assert!(
        matches!(prompt(&session).await, TurnEnd::Failed { message } if message.starts_with("No model is set, and no"))
    );
}

#[test]
fn only_servers_on_this_machine_are_asked() {
    let at = |url: &str| {
        let provider = ProviderSettings { base_url: url.to_owned(), id: "ollama".to_owned(), ..settings() };
        Config { providers: [("ollama".to_owned(), Arc::new(provider))].into(), ..Config::default() }
            .local_servers()
            .len()
    };
    for here in ["http://127.0.0.1:11434/v1", "http://localhost/v1", "http://[::1]:80/v1", "http://u:p@127.9.9.9:1"] {
        assert_eq!(at(here), 1, "{here}");
    }
    for elsewhere in
        ["http://ollama.lan:11434/v1", "http://127.0.0.1.example.com/v1", "http://10.0.0.1", "http://[::2]/"]
    {
        assert_eq!(at(elsewhere), 0, "{elsewhere}");
    }
}

fn settings() -> ProviderSettings {
    config().models[0].provider.as_ref().clone()
}
