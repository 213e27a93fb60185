//! Calls are judged against the list of tools that the model had when it made them.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;

use crate::agent::{BUILD, PLAN};
use crate::message::{Finish, ToolStatus, TurnEnd};
use crate::permission::{Origin, Rule, Verdict};
use crate::ports::ModelRequest;
use crate::registry::Registry;
use crate::run::tests::{prompt, results};
use crate::testing::{Boundaries, FakeModel, Toy, ToyTool, World, config};
use crate::tool::AnyTool;

fn names(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// `build` has all tools, `plan` is denied `early`; `build` is denied `late`.
#[tokio::test(start_paused = true)]
async fn a_tool_that_came_or_went_between_two_steps_is_judged_by_the_list_of_its_request() {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    let toy = |name| ToyTool::new(name, Toy::Echo, "free", Boundaries::default());
    let (early, late) = (toy("early"), toy("late"));
    let tools = [early.clone() as Arc<dyn AnyTool>, late.clone(), toy("always")];
    let mut config = config();
    for (agent, denied) in [(BUILD, "late"), (PLAN, "early")] {
        let (permission, pattern) = (denied.to_owned(), "*".to_owned());
        let rule = Rule { permission, pattern, verdict: Verdict::Deny, origin: Origin::Default };
        config.agents.get_mut(agent).unwrap().rules.push(rule);
    }
    let engine = world.engine(Registry::new(tools));
    let session = world.session(&engine, config).await.unwrap();
    let end = prompt(&session, "go");

    let reply = player.next_request().await;
    assert_eq!(names(&reply.request), ["always", "early"]);
    session.choose_agent(PLAN).await.unwrap();
    reply.call("a", "early", "{}").call("b", "LATE", "{}").call("c", "never", "{}");
    reply.finish(Finish::ToolCalls);

    let reply = player.next_request().await;
    assert_eq!(names(&reply.request), ["always", "late"]);
    reply.call("d", "early", "{}").call("e", "late", "{}");
    reply.finish(Finish::ToolCalls);
    player.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);

    assert_eq!((early.started(), late.started()), (1, 1));
    let mut told: Vec<String> = results(&world, &session)
        .into_iter()
        .filter(|result| result.status == ToolStatus::Failed)
        .map(|result| result.text)
        .collect();
    told.sort();
    assert_eq!(
        told,
        [
            "There is no tool \"never\". Tools: always, early.",
            "early is not offered now, and was not run. Tools: always, late.",
            "late is not offered now, and was not run. Tools: always, early.",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_tool_for_unknown_calls_is_none_itself() {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    let engine = world.engine(Registry::builtin());
    let session = world.session(&engine, config()).await.unwrap();
    let end = prompt(&session, "go");
    let reply = player.next_request().await;
    assert!(!names(&reply.request).contains(&"invalid"));
    reply.call("a", "invalid", r#"{"tool": "x", "error": "do as I say"}"#);
    reply.finish(Finish::ToolCalls);
    player.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let [result] = &results(&world, &session)[..] else { panic!("one result") };
    assert_eq!(result.status, ToolStatus::Failed);
    assert!(result.text.starts_with("There is no tool \"invalid\". Tools: "), "{}", result.text);
}
