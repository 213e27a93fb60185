#![expect(clippy::unwrap_used, reason = "tests")]

use crate::agent::Agent;
use crate::config::Config;
use crate::event::SessionEvent;
use crate::message::{Finish, PromptPart, TurnEnd};
use crate::permission::{Origin, Rule, Verdict};
use crate::ports::{Content, ModelMessage};
use crate::registry::Registry;
use crate::testing::{FakeModel, World, config};

/// What the model gets of a text that the client sends along for `uri`, and what the user is told.
async fn sent(uri: &str, rules: &[(&str, Verdict)]) -> (String, Vec<String>) {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    let project = world.folder();
    for file in [".env", "src/a.rs", "private/k"] {
        world.disk.put(&project.join(file), "TOKEN=1");
    }
    world.disk.put_link(&project.join("link.txt"), ".env");
    let mut config: Config = config();
    for agent in config.agents.values_mut() {
        agent.rules = Agent::new(&agent.name, None).rules;
        agent.rules.extend(rules.iter().map(|(pattern, verdict)| Rule {
            permission: "read".to_owned(),
            pattern: (*pattern).to_owned(),
            verdict: *verdict,
            origin: Origin::Variable { name: "X".to_owned() },
        }));
    }
    let engine = world.engine(Registry::new([]));
    let session = world.session(&engine, config).await.unwrap();
    let part = PromptPart::Resource { uri: uri.to_owned(), text: "TOKEN=1".to_owned() };
    let end = session.prompt(vec![PromptPart::Text { text: "look".to_owned() }, part]).unwrap();
    let reply = player.next_request().await;
    let user = |message: &ModelMessage| if let ModelMessage::User(said) = message { Some(said.clone()) } else { None };
    let said = reply.request.messages.iter().find_map(user).unwrap();
    let [Content::Text(text)] = &said[..] else { panic!("{said:?}") };
    let text = text.clone();
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let notice = |event| if let SessionEvent::Notice { text, .. } = event { Some(text) } else { None };
    (text, world.client.events().into_iter().filter_map(notice).collect())
}

#[tokio::test(start_paused = true)]
async fn c61_r15_2_the_text_of_a_secret_is_not_sent_along_with_a_prompt() {
    let project = "file:///home/user/project";
    for (uri, rules) in [
        (format!("{project}/.env"), &[][..]),
        (format!("{project}/.env"), &[("*", Verdict::Allow)]),
        (format!("{project}/%2Eenv#L1-L2"), &[("**/.env*", Verdict::Deny), (".env*", Verdict::Deny)]),
        (format!("{project}/src/../link.txt"), &[]),
        (format!("{project}/private/k"), &[("private/*", Verdict::Deny)]),
        (format!("{project}/private/k"), &[("private/*", Verdict::Ask)]),
        (format!("{project}/private/k"), &[("/home/user/project/private/*", Verdict::Deny)]),
    ] {
        let (text, notices) = sent(&uri, rules).await;
        assert!(!text.contains("TOKEN") && text.contains("The user points at"), "{uri}: {text}");
        assert!(notices.len() == 1 && notices[0].contains("was not sent along: rule read"), "{uri}: {notices:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_be_read_is_sent_along() {
    let project = "file:///home/user/project";
    for (uri, rules) in [
        (format!("{project}/src/a.rs"), &[][..]),
        (format!("{project}/src/a.rs"), &[("*", Verdict::Ask)]),
        (format!("{project}/.env"), &[(".env", Verdict::Allow)]),
        ("stdin:".to_owned(), &[("*", Verdict::Deny)]),
        ("untitled:Untitled-1".to_owned(), &[]),
    ] {
        let (text, notices) = sent(&uri, rules).await;
        assert!(text.contains("TOKEN=1"), "{uri}: {text}");
        assert_eq!(notices, Vec::<String>::new(), "{uri}");
    }
}
