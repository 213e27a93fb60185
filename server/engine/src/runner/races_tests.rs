#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use copydesk_workspace::disk::MemoryDisk;
use serde_json::json;

use crate::message::ToolStatus;
use crate::permission::Mode;
use crate::permission::Verdict::{Allow, Ask, Deny};
use crate::ports::{Confinement, OptionKind};
use crate::workbench::{Bench, call, path, printed};

/// Every command is free but `make`, and not every file: at `/w/x` lies what somebody puts there meanwhile.
fn bench() -> Bench {
    let bench = Bench::new().rule("bash", "*", Allow).rule("bash", "make *", Ask);
    let bench = bench.rule("read", "secrets/*", Deny).rule("edit", "secrets/*", Deny);
    bench.put("/w/secrets/key", "KEY\n").put("/w/a", "x\n").put("/ext/key", "KEY\n");
    bench
}

fn link(disk: &MemoryDisk, target: &str) {
    disk.put_link(&path("/w/x"), target);
}

/// Commands that are harmless as long as `x` is nothing, each with what makes it another one.
const TURNED: [(&str, &str); 5] = [
    ("cat x", "secrets/key"),
    ("cp a x", "secrets/key"),
    ("cat x/key", "secrets"),
    ("sort < x", "secrets/key"),
    ("cat x*", "secrets/key"),
];

#[tokio::test]
async fn c63_a_command_is_judged_by_what_earlier_calls_of_its_step_have_made() {
    for (second, target) in TURNED {
        let bench = bench();
        bench.shell.will(move |disk| {
            link(disk, target);
            printed("")
        });
        let runner = bench.runner();
        let (first, second, ()) = tokio::join!(
            runner.run(call("call_1", "bash", &json!({"command": "make links"}).to_string())),
            runner.run(call("call_2", "bash", &json!({"command": second}).to_string())),
            async { bench.client.next_ask().await.select(OptionKind::AllowOnce, None) },
        );
        assert_eq!(first.result.status, ToolStatus::Completed);
        assert_eq!(second.result.status, ToolStatus::Failed, "{}", second.result.text);
        assert!(second.result.text.contains("denied by rule"), "{}", second.result.text);
        assert_eq!(bench.shell.commands().len(), 1);
    }
}

#[tokio::test]
async fn c63_a_command_is_judged_anew_once_its_ask_was_answered() {
    for (command, target) in TURNED {
        let bench = bench().rule("bash", "*", Ask);
        let (outcome, ()) = tokio::join!(bench.call("bash", json!({"command": command})), async {
            let ask = bench.client.next_ask().await;
            link(&bench.disk, target);
            ask.select(OptionKind::AllowOnce, None);
        });
        assert_eq!(outcome.result.status, ToolStatus::Failed, "{command}: {}", outcome.result.text);
        assert!(outcome.result.text.contains("denied by rule"), "{command}: {}", outcome.result.text);
        assert!(bench.shell.commands().is_empty(), "{command}");
    }
}

/// Where it leads to now is asked, and what is then open is that.
#[tokio::test]
async fn c63_what_an_answered_command_touches_by_now_is_asked_again() {
    let bench = bench().rule("bash", "*", Ask).rule("bash", "*", Allow).rule("bash", "make *", Ask);
    bench.shell.enforce();
    let (outcome, ()) = tokio::join!(bench.call("bash", json!({"command": "make x; echo y > x/made"})), async {
        let first = bench.client.next_ask().await;
        assert!(!first.ask.reason.contains("/ext"), "{}", first.ask.reason);
        link(&bench.disk, "/ext");
        first.select(OptionKind::AllowOnce, None);
        let second = bench.client.next_ask().await;
        assert!(second.ask.reason.contains("/w/x/made is a link, its target is /ext/made"), "{}", second.ask.reason);
        second.select(OptionKind::AllowOnce, None);
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    let Confinement::Sandbox(policy) = &bench.shell.commands()[0].confinement else { panic!("it runs free") };
    assert_eq!(policy.writable, [path("/w"), path("/ext")]);
}

#[tokio::test]
async fn r9_1_what_is_revoked_while_a_call_waits_for_its_turn_is_asked() {
    for (tool, input) in
        [("bash", json!({"command": "docker ps"})), ("write", json!({"filePath": "b", "content": "x\n"}))]
    {
        let bench = Bench::new();
        let (given, ()) = tokio::join!(bench.call(tool, input.clone()), async {
            bench.client.next_ask().await.select(OptionKind::AllowAlways, None);
        });
        assert_eq!(given.result.status, ToolStatus::Completed, "{}", given.result.text);
        if tool == "write" {
            bench.put("/w/b", "y\n");
            bench.done("read", json!({"filePath": "b"})).await;
        }
        let runner = bench.runner();
        let (_, second, ()) = tokio::join!(
            runner.run(call("call_1", "bash", &json!({"command": "make x"}).to_string())),
            runner.run(call("call_2", tool, &input.to_string())),
            async {
                let first = bench.client.next_ask().await;
                let ids: Vec<String> = bench.grants.list().await.0.into_iter().map(|held| held.id).collect();
                bench.grants.revoke(&ids).await.unwrap();
                first.select(OptionKind::AllowOnce, None);
                bench.client.next_ask().await.select(OptionKind::RejectOnce, None);
            },
        );
        assert_eq!(second.result.status, ToolStatus::Failed, "{tool}: {}", second.result.text);
    }
}

/// One sandbox holds the whole text.
#[tokio::test]
async fn in_auto_nothing_is_free_beside_what_opens_the_sandbox() {
    let rules = [("bash", "git fetch *"), ("bash", "cd *"), ("bash", "cp *"), ("edit", "../ext/*")];
    let bench =
        rules.into_iter().fold(Bench::new(), |bench, (permission, pattern)| bench.rule(permission, pattern, Allow));
    let mut bench = bench.rule("external_directory", "/ext/*", Allow);
    bench.put("/w/a", "x\n").put("/ext/a", "x\n");
    bench.shell.enforce();
    bench.grants.set_mode(Mode::Auto);
    bench.client.answer_all(OptionKind::RejectOnce);
    let beside = ["git fetch && make", "make | git fetch", "(git fetch); make", "cd /ext && make", "cp a /ext/b; make"];
    for command in beside {
        bench.failed("bash", json!({"command": command})).await;
    }
    assert_eq!(bench.client.asks().len(), beside.len());
    for command in ["make", "git fetch", "cp a /ext/b", "cat /ext/a; make"] {
        bench.done("bash", json!({"command": command})).await;
    }
    bench.config.sandbox.network = true;
    bench.failed("bash", json!({"command": "make"})).await;
}

/// A rule that lets one command out lets out no other that stands beside it.
#[tokio::test]
async fn r9_1_each_command_outside_of_the_sandbox_is_allowed_by_itself() {
    let outside = |command: &str| json!({"command": command, "unconfined": "its keys are hidden"});
    for mode in Mode::ALL {
        let bench = Bench::new().rule("bash_unconfined", "git push *", Allow).rule("bash", "git push *", Allow);
        let bench = bench.rule("bash", "python *", Allow).rule("bash_unconfined", "docker *", Deny);
        let bench = bench.rule("bash", "cd *", Allow).rule("bash_unconfined", "cd *", Allow);
        bench.put("/w/a", "x\n");
        bench.shell.enforce();
        bench.grants.set_mode(mode);
        bench.client.answer_all(OptionKind::RejectOnce);
        let asked = [
            "git push origin; python x.py",
            "git push origin && make",
            "git push origin; $x",
            "git push \"$(python x.py)\"",
            "python x.py",
            "make",
            "git push origin | tee b",
        ];
        for command in asked {
            let text = bench.failed("bash", outside(command)).await;
            assert!(text.contains("rejected"), "{mode} {command}: {text}");
        }
        let asks = bench.client.asks();
        assert_eq!(asks.len(), asked.len(), "{mode}");
        let lasting = asks.iter().filter(|ask| ask.options.len() > 2).map(|ask| ask.input["command"].clone());
        assert_eq!(lasting.collect::<Vec<_>>(), ["python x.py", "make"], "an answer for good is for one command");
        let denied = bench.failed("bash", outside("git push origin; /usr/bin/docker run x")).await;
        assert!(denied.contains("denied by rule bash_unconfined"), "{denied}");
        bench.done("bash", outside("git push origin; git push other")).await;
        bench.done("bash", outside("cd /w && git push origin")).await;
    }
}
