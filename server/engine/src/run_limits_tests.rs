#![expect(clippy::unwrap_used, reason = "tests")]

use super::tests::{open_with, prompt, results};
use super::{TurnLimits, TurnSpent};
use crate::config::Config;
use crate::cost::{Prices, Rates};
use crate::event::{SessionEvent, Severity};
use crate::message::{Entry, Finish, TurnEnd};
use crate::permission::{Origin, Rule, Verdict};
use crate::ports::{AskOutcome, AssistantBlock, ModelErrorKind, ModelMessage, OptionKind};
use crate::session::SessionHandle;
use crate::testing::{ModelPlayer, World, config};

const NOTICE: &str = "(This call gave this same result ";

fn with_rule(permission: &str, verdict: Verdict) -> Config {
    let mut config = config();
    for agent in config.agents.values_mut() {
        let origin = Origin::Variable { name: "X".to_owned() };
        agent.rules.push(Rule { permission: permission.to_owned(), pattern: "*".to_owned(), verdict, origin });
    }
    config
}

async fn looping() -> (World, SessionHandle, ModelPlayer) {
    open_with(with_rule("doom_loop", Verdict::Ask)).await
}

/// One step with these calls.
async fn step(model: &mut ModelPlayer, calls: &[(&str, &str)]) {
    let reply = model.next_request().await;
    for (index, (tool, arguments)) in calls.iter().enumerate() {
        reply.call(&format!("c{index}"), tool, arguments);
    }
    reply.finish(Finish::ToolCalls);
}

fn noticed(world: &World, session: &SessionHandle) -> Vec<bool> {
    results(world, session).iter().map(|result| result.text.contains(NOTICE)).collect()
}

#[tokio::test(start_paused = true)]
async fn r13_1_c93_the_third_same_result_says_so_and_the_fourth_call_is_asked() {
    let (world, session, mut model) = looping().await;
    let end = prompt(&session, "go");
    // The same arguments, however they are written.
    for arguments in [r#"{"text":"x","n":1}"#, r#"{"n":1,"text":"x"}"#, r#"{ "n": 1.0, "text": "x", "o": null }"#] {
        step(&mut model, &[("tells", arguments)]).await;
    }
    step(&mut model, &[("tells", r#"{"text":"x","n":1}"#)]).await;
    let ask = world.client.next_ask().await;
    assert_eq!(noticed(&world, &session), [false, false, true]);
    assert!(
        ask.ask
            .reason
            .contains("run tells again, though this call gave the same result 3 times: asked by rule doom_loop"),
        "{}",
        ask.ask.reason
    );
    ask.select(OptionKind::RejectOnce, None);
    assert_eq!(end.await, TurnEnd::Rejected);

    // Another turn begins anew.
    let end = prompt(&session, "again");
    step(&mut model, &[("tells", r#"{"text":"x","n":1}"#)]).await;
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(world.client.asks().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn r13_1_calls_that_succeed_count_and_once_is_once() {
    let (world, session, mut model) = looping().await;
    let end = prompt(&session, "go");
    for _ in 0..3 {
        step(&mut model, &[("echo", "{}")]).await;
    }
    for kind in [OptionKind::AllowOnce, OptionKind::AllowOnce, OptionKind::AllowAlways] {
        step(&mut model, &[("echo", "{}")]).await;
        world.client.next_ask().await.select(kind, None);
    }
    // For good: also for other calls of the tool.
    for arguments in ["{}", "{}", r#"{"a":1}"#, r#"{"a":1}"#, r#"{"a":1}"#, r#"{"a":1}"#] {
        step(&mut model, &[("echo", arguments)]).await;
    }
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(world.client.asks().len(), 3);
    assert!(noticed(&world, &session)[2..8].iter().all(|noticed| *noticed));
}

#[tokio::test(start_paused = true)]
async fn r13_1_a_rejection_with_words_does_not_begin_the_count_anew() {
    let (world, session, mut model) = looping().await;
    let _end = prompt(&session, "go");
    for _ in 0..3 {
        step(&mut model, &[("echo", "{}")]).await;
    }
    for _ in 0..2 {
        step(&mut model, &[("echo", "{}")]).await;
        world.client.next_ask().await.select(OptionKind::RejectOnce, Some("look elsewhere"));
    }
    model.next_request().await;
    assert!(results(&world, &session)[4].text.contains("look elsewhere"));
}

#[tokio::test(start_paused = true)]
async fn r13_2_cycles_of_two_and_three_calls_are_caught() {
    for cycle in [vec!["1", "2"], vec!["1", "2", "3"]] {
        let (world, session, mut model) = looping().await;
        let _end = prompt(&session, "go");
        let calls: Vec<String> = cycle.iter().map(|n| format!("{{\"n\":{n}}}")).collect();
        for call in calls.iter().cycle().take(3 * calls.len()) {
            step(&mut model, &[("echo", call)]).await;
        }
        step(&mut model, &[("echo", &calls[0])]).await;
        world.client.next_ask().await;
        let expected: Vec<bool> = (0..3 * calls.len()).map(|index| index >= 2 * calls.len()).collect();
        assert_eq!(noticed(&world, &session), expected, "{cycle:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r13_1_the_same_call_beside_itself_counts() {
    let (world, session, mut model) = looping().await;
    let _end = prompt(&session, "go");
    step(&mut model, &[("echo", "{}"); 4]).await;
    let ask = world.client.next_ask().await;
    assert!(ask.ask.reason.contains("doom_loop"), "{}", ask.ask.reason);
    assert_eq!(world.client.asks().len(), 1);
    drop(ask);
    assert_eq!(results(&world, &session).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn r13_1_calls_that_are_wrong_and_tools_that_are_none_count() {
    for (tool, arguments) in [("nothing", "{}"), ("echo", "{\"a\":")] {
        let (world, session, mut model) = looping().await;
        let _end = prompt(&session, "go");
        for _ in 0..4 {
            step(&mut model, &[(tool, arguments)]).await;
        }
        world.client.next_ask().await;
        assert_eq!(noticed(&world, &session), [false, false, true], "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn r13_1_where_nobody_can_be_asked_the_turn_ends_with_a_clear_text() {
    let (world, session, mut model) = looping().await;
    let end = prompt(&session, "go");
    for _ in 0..4 {
        step(&mut model, &[("echo", "{}")]).await;
    }
    world.client.next_ask().await.answer(AskOutcome::Undeliverable { reason: "no client".to_owned() });
    let TurnEnd::Limit { message } = end.await else { panic!() };
    assert!(message.contains("echo") && message.contains("no client") && message.contains("go on"), "{message}");
    let end = prompt(&session, "go on");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn r13_1_a_rule_that_denies_repetitions_tells_the_model_once_and_ends_the_turn_then() {
    let (world, session, mut model) = open_with(with_rule("doom_loop", Verdict::Deny)).await;
    let end = prompt(&session, "go");
    for _ in 0..5 {
        step(&mut model, &[("echo", "{}")]).await;
    }
    assert!(matches!(end.await, TurnEnd::Limit { .. }));
    let results = results(&world, &session);
    assert!(results[3].text.contains("denied by rule doom_loop"), "{}", results[3].text);
    assert_eq!(world.client.asks(), []);
}

#[tokio::test(start_paused = true)]
async fn r13_1_a_rule_that_allows_repetitions_is_kept_to() {
    let (world, session, mut model) = open_with(with_rule("doom_loop", Verdict::Allow)).await;
    let end = prompt(&session, "go");
    for _ in 0..6 {
        step(&mut model, &[("echo", "{}")]).await;
    }
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    assert_eq!(world.client.asks(), []);
}

// Limits.

fn limited(limits: TurnLimits) -> Config {
    let rates = Rates { input: 1.0, output: 10.0, cache_read: 1.0, cache_write: 1.0 };
    let mut config = Config { limits, ..config() };
    config.models[0].prices = Some(Prices { base: rates, long_context: None });
    config
}

/// Steps of two calls and a hundred thousand tokens each, 0.1 dollars by the prices, until the turn ends; how many there were, and its end.
async fn steps_until_the_end(limits: TurnLimits) -> (World, SessionHandle, ModelPlayer, usize, TurnEnd) {
    let (world, session, mut model) = open_with(limited(limits)).await;
    let mut end = prompt(&session, "go");
    let mut steps = 0;
    let end = loop {
        let reply = tokio::select! {
            biased;
            end = &mut end => break end,
            reply = model.next_request() => reply,
        };
        reply.call("a", "echo", &format!("{{\"a\":{steps}}}")).call("b", "echo", &format!("{{\"b\":{steps}}}"));
        reply.usage(100_000, 0);
        reply.finish(Finish::ToolCalls);
        steps += 1;
    };
    (world, session, model, steps, end)
}

#[tokio::test(start_paused = true)]
async fn r13_3_a_turn_ends_at_its_limits_with_a_clear_text_and_can_be_gone_on_with() {
    let none = TurnLimits::default();
    for (limits, expected, word) in [
        (TurnLimits { calls: Some(5), ..none }, 3, "limit of 5 calls of tools"),
        (TurnLimits { tokens: Some(400_000), ..none }, 4, "limit of 400000 tokens (400000 were used)"),
        (TurnLimits { tokens: Some(150_000), ..none }, 2, "limit of 150000 tokens (200000 were used)"),
        (TurnLimits { cost: Some(0.25), ..none }, 3, "limit of 0.25 US dollars (0.30 were spent)"),
    ] {
        let (world, session, mut model, steps, end) = steps_until_the_end(limits).await;
        let TurnEnd::Limit { message } = end else { panic!("{end:?}") };
        assert!(message.contains(word) && message.contains("go on"), "{message}");
        assert_eq!(steps, expected, "{message}");
        let results = results(&world, &session);
        assert_eq!(results.len(), 2 * steps, "each call has its result");
        assert_eq!(results.last().unwrap().text.contains("was not run"), limits.calls.is_some());
        // A turn of its own, with what it may use up.
        let end = prompt(&session, "go on");
        step(&mut model, &[("echo", "{}")]).await;
        model.next_request().await.finish(Finish::Stop);
        assert_eq!(end.await, TurnEnd::Done);
    }
}

#[tokio::test(start_paused = true)]
async fn r13_3_what_a_turn_uses_up_is_told_live() {
    let limits = TurnLimits { tokens: Some(300_000), ..TurnLimits::default() };
    let (world, ..) = steps_until_the_end(limits).await;
    let spent = |event| if let SessionEvent::Usage { turn, .. } = event { turn } else { None };
    let told: Vec<TurnSpent> = world.client.events().into_iter().filter_map(spent).collect();
    assert_eq!(
        told.iter().map(|spent| (spent.calls, spent.tokens)).collect::<Vec<_>>(),
        [(2, 100_000), (4, 200_000), (6, 300_000)]
    );
    assert!(told.iter().all(|spent| spent.limits == limits && spent.cost.is_some()));
}

#[tokio::test(start_paused = true)]
async fn r13_3_a_limit_of_cost_without_prices_is_said_not_to_hold() {
    let limits = TurnLimits { cost: Some(1.0), ..TurnLimits::default() };
    let (world, session, mut model) = open_with(Config { limits, ..config() }).await;
    let end = prompt(&session, "go");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let notice = world.client.wait_for(|event| matches!(event, SessionEvent::Notice { .. })).await;
    let text = "`limits.cost` does not hold for p/m: its configuration has no prices.".to_owned();
    assert_eq!(notice, SessionEvent::Notice { severity: Severity::Warning, text });
}

fn spent(world: &World) -> Vec<TurnSpent> {
    let spent = |event| if let SessionEvent::Usage { turn, .. } = event { turn } else { None };
    world.client.events().into_iter().filter_map(spent).collect()
}

#[tokio::test(start_paused = true)]
async fn r13_3_tries_that_fail_are_paid_for_once_each() {
    let (world, session, mut model) = open_with(limited(TurnLimits::default())).await;
    let end = prompt(&session, "go");
    for _ in 0..2 {
        let reply = model.next_request().await;
        // What is known replaces what was known.
        reply.usage(100_000, 0).text("One, ").usage(100_000, 1000);
        reply.fail(ModelErrorKind::Broken, "it broke off.");
    }
    let reply = model.next_request().await;
    reply.usage(100_000, 0).text("One, two.").usage(100_000, 2000);
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let told: Vec<u64> = spent(&world).iter().map(|spent| spent.tokens).collect();
    assert_eq!(told, [101_000, 202_000, 304_000]);
    let costs =
        |event| if let SessionEvent::Usage { cost, turn, .. } = event { Some((cost?, turn?.cost?)) } else { None };
    let costs: Vec<(f64, f64)> = world.client.events().into_iter().filter_map(costs).collect();
    for ((session, turn), expected) in costs.iter().zip([0.11, 0.22, 0.34]) {
        assert!((session - expected).abs() < 1e-9 && (turn - expected).abs() < 1e-9, "{costs:?}");
    }
    assert_eq!(costs.len(), 3);
    // It stays so for the next turn, and the conversation holds the answer once.
    let end = prompt(&session, "again");
    let reply = model.next_request().await;
    let said = ModelMessage::Assistant(vec![AssistantBlock::Text("One, two.".to_owned())]);
    assert_eq!(reply.request.messages[1..2], [said]);
    assert_eq!(reply.request.messages.len(), 3);
    reply.usage(100_000, 0);
    reply.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
    let cost = |event| if let SessionEvent::Usage { cost, .. } = event { cost } else { None };
    let last = world.client.events().into_iter().filter_map(cost).next_back().unwrap();
    assert!((last - 0.44).abs() < 1e-9, "{last}");
}

#[tokio::test(start_paused = true)]
async fn r13_3_no_further_try_is_made_beyond_a_limit() {
    let limits = TurnLimits { tokens: Some(200_000), ..TurnLimits::default() };
    let (world, session, mut model) = open_with(limited(limits)).await;
    let end = prompt(&session, "go");
    for _ in 0..2 {
        let reply = model.next_request().await;
        reply.usage(100_000, 0).text("One, ").call("a", "echo", "{}");
        reply.fail(ModelErrorKind::Broken, "it broke off.");
    }
    let TurnEnd::Limit { message } = end.await else { panic!() };
    assert!(message.contains("200000 tokens (200000 were used)"), "{message}");
    assert!(model.waiting().is_none());
    assert_eq!(spent(&world).last().map(|spent| spent.tokens), Some(200_000));
    assert!(results(&world, &session).iter().all(|result| result.text.contains("was not run")));
    let end = prompt(&session, "go on");
    model.next_request().await.finish(Finish::Stop);
    assert_eq!(end.await, TurnEnd::Done);
}

#[tokio::test(start_paused = true)]
async fn r13_3_a_reply_that_is_cancelled_is_paid_for() {
    let (world, session, mut model) = open_with(limited(TurnLimits::default())).await;
    let end = prompt(&session, "go");
    let reply = model.next_request().await;
    reply.usage(100_000, 0).text("One, ");
    world.client.wait_for(|event| matches!(event, SessionEvent::Text { .. })).await;
    session.cancel();
    assert_eq!(end.await, TurnEnd::Cancelled);
    assert_eq!(spent(&world).iter().map(|spent| spent.tokens).collect::<Vec<_>>(), [100_000]);
    let usages = |entry| if let Entry::StepEnded { usage, .. } = entry { Some(usage.input) } else { None };
    let stored: Vec<u64> = world.store.entries(session.id()).into_iter().filter_map(usages).collect();
    assert_eq!(stored, [100_000]);
}
