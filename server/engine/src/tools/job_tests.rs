#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use serde_json::{Value, json};

use crate::event::{SessionEvent, Severity, ToolCallState};
use crate::message::ToolStatus;
use crate::permission::Verdict;
use crate::ports::{CommandEnd, Confinement, FileChangeKind, OptionKind, Preview, ShellOutcome};
use crate::workbench::{Bench, call, path, printed};

fn trusting() -> Bench {
    Bench::trusting().rule("bash", "*", Verdict::Allow)
}

fn serve() -> Value {
    json!({"command": "serve\nmore", "background": true})
}

fn of(action: &str, id: &str) -> Value {
    json!({"action": action, "id": id})
}

/// Without what depends on the moment.
fn timeless(text: &str) -> String {
    text.replace(" for 0 s", "").replace(" after 0 s", "")
}

async fn ended(bench: &Bench, id: &str) {
    bench.jobs.get(id).unwrap().ended().await;
}

#[tokio::test]
async fn r7_5_a_job_has_an_id_at_once_and_is_listed_read_and_killed() {
    let bench = trusting();
    assert_eq!(bench.done("job", of("list", "")).await, "There are no background jobs.");
    let output = bench.shell.plays();
    let outcome = bench.call("bash", serve()).await;
    assert!(outcome.result.text.starts_with("It runs in the background as job_1."), "{}", outcome.result.text);
    assert_eq!(outcome.result.metadata, json!({"job": "job_1"}));
    output.send("one\ntwo\n".to_owned()).unwrap();
    let wait = json!({"action": "wait", "id": "job_1", "pattern": "^t.o$"});
    assert_eq!(
        timeless(&bench.done("job", wait).await),
        "one\ntwo\n[this line matches: two]\n[job_1 has been running; 8 bytes of output so far]"
    );
    let command = bench.shell.commands().pop().unwrap();
    assert_eq!((command.command.as_str(), command.folder, command.timeout), ("serve\nmore", path("/w"), None));
    // What was shown is not shown again, and can be read again.
    let running = "[job_1 has been running; 8 bytes of output so far]";
    let look = bench.done("job", of("output", "job_1")).await;
    assert_eq!(timeless(&look), format!("(no new output)\n{running}"));
    let again = bench.done("job", json!({"action": "output", "id": "job_1", "from": 4})).await;
    assert_eq!(timeless(&again), format!("two\n{running}"));
    let list = bench.done("job", of("list", "")).await;
    assert_eq!(timeless(&list), "job_1: job_1 has been running; 8 bytes of output so far\n  serve");
    let killed = bench.done("job", of("kill", " job_1")).await;
    assert_eq!(timeless(&killed), "(no new output)\n[job_1 has ended: it was killed; 8 bytes of output]");
    let unknown = bench.failed("job", of("output", "job_7")).await;
    assert!(unknown.starts_with("There is no job \"job_7\": there are job_1."), "{unknown}");
    assert_eq!(bench.jobs.take_news(), [""; 0], "the model knows of the end");
}

#[tokio::test]
async fn r7_5_a_wait_ends_with_its_line_the_job_or_the_time() {
    let bench = trusting();
    let output = bench.shell.plays();
    bench.done("bash", serve()).await;
    output.send("begin\nrea".to_owned()).unwrap();
    let wait = |pattern: &str| json!({"action": "wait", "id": "job_1", "pattern": pattern, "timeout": 60_000});
    // A line that comes in pieces, while it is waited for; it is shown meanwhile.
    let (text, ()) = tokio::join!(bench.done("job", wait("ready")), async {
        let is_shown = |event: &SessionEvent| match event {
            SessionEvent::ToolCallUpdate(view) => view.state == ToolCallState::Running && view.text == "begin\nrea",
            _ => false,
        };
        bench.client.wait_for(is_shown).await;
        output.send("dy\n".to_owned()).unwrap();
    });
    assert!(text.contains("begin\nready\n[this line matches: ready]"), "{text}");
    let short = json!({"action": "wait", "id": "job_1", "pattern": "begin", "timeout": 1});
    let text = bench.done("job", short.clone()).await;
    assert!(text.starts_with("(no new output)\n[no line matched within 1 ms]"), "seen before: {text}");
    let text = bench.done("job", json!({"action": "wait", "id": "job_1", "pattern": "begin", "from": 0})).await;
    assert!(text.contains("[this line matches: begin]"), "{text}");
    assert!(bench.done("job", json!({"action": "wait", "id": "job_1", "timeout": 1})).await.contains("did not end"));
    let (text, ()) = tokio::join!(bench.done("job", wait("never")), async {
        output.send("bye\n".to_owned()).unwrap();
        drop(output);
    });
    assert!(timeless(&text).starts_with("bye\n[it ended without a line that matches]\n[job_1 has ended: exit code 0"));
    assert!(bench.failed("job", wait("(")).await.contains("no regular expression"));
    assert!(bench.failed("job", json!({"action": "wait"})).await.starts_with("`id` is missing: there are job_1"));
}

#[tokio::test]
async fn r7_5_a_job_is_asked_judged_and_confined_as_any_command() {
    let bench = Bench::new();
    bench.shell.enforce();
    let (outcome, ()) = tokio::join!(bench.call("bash", serve()), async {
        let ask = bench.client.next_ask().await;
        let Preview::Command { shown, notes, .. } = &ask.ask.preview else { panic!("{:?}", ask.ask) };
        assert_eq!(shown, "serve\nmore");
        assert_eq!(notes.as_slice(), ["it runs in the background, until it ends, is killed, or the session ends"]);
        assert!(bench.shell.commands().is_empty());
        ask.select(OptionKind::AllowOnce, None);
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed);
    ended(&bench, "job_1").await;
    let command = bench.shell.commands().pop().unwrap();
    let Confinement::Sandbox(policy) = command.confinement else { panic!("{command:?}") };
    assert_eq!(policy.writable, [path("/w")]);
    assert_eq!(command.hidden_vars, ["OPENAI_API_KEY"]);

    let denied = Bench::new().rule("bash", "serve", Verdict::Deny);
    assert!(denied.failed("bash", serve()).await.contains("denied"));
    assert!(denied.shell.commands().is_empty() && denied.jobs.list().is_empty());
    let limited = trusting();
    limited.shell.will(|_| ShellOutcome { end: CommandEnd::TimedOut, ..printed("") });
    limited.done("bash", json!({"command": "serve", "background": true, "timeout": 700})).await;
    ended(&limited, "job_1").await;
    assert!(limited.jobs.take_news()[0].contains("job_1 (serve) has ended: timed out after 700 ms"));
}

#[tokio::test]
async fn r13_1_looking_after_a_job_is_no_loop() {
    let bench = trusting();
    let _output = bench.shell.plays();
    bench.done("bash", serve()).await;
    let runner = bench.runner();
    for number in 0..6 {
        let outcome = runner.run(call(&format!("call_{number}"), "job", &of("output", "job_1").to_string())).await;
        assert_eq!(outcome.result.status, ToolStatus::Completed);
        assert!(!outcome.result.text.contains("same result"), "{}", outcome.result.text);
    }
    assert!(bench.client.asks().is_empty());
}

#[tokio::test]
async fn r7_5_long_output_is_read_in_parts_out_of_memory_and_the_file() {
    let mut bench = trusting();
    bench.facts.max_bytes = 1000;
    let output = bench.shell.plays();
    bench.done("bash", serve()).await;
    let whole: String = (0..60_000).map(|number| format!("{number:08} \u{e9}\n")).collect();
    output.send(whole.clone()).unwrap();
    let job = bench.jobs.get("job_1").unwrap();
    let mut changes = job.watch();
    while job.total() < whole.len() as u64 {
        changes.changed().await.unwrap();
    }
    bench.disk.put(&job.file, whole.clone());
    // The end first, and where the rest begins.
    let text = bench.done("job", of("output", "job_1")).await;
    let (note, end) = text.split_once("\n\n").unwrap();
    let kept = end.split("\n[").next().unwrap();
    assert!(whole.ends_with(&format!("{kept}\n")) && kept.len() > 900, "{text}");
    assert_eq!(
        note,
        format!("[{} bytes before this are left out: `from: 0` shows them]", whole.len() - kept.len() - 1)
    );
    // Page by page from the beginning, which is in the file alone, over into what is in memory.
    for start in [0, 13, whole.len() / 2, whole.len() - 2000, whole.len() - 10] {
        let text = bench.done("job", json!({"action": "output", "id": "job_1", "from": start})).await;
        let shown = text.split("\n[").next().unwrap().trim_end();
        let expected = (start..start + 2).find(|at| whole.is_char_boundary(*at)).unwrap();
        assert!(whole[expected..].starts_with(shown) && !shown.is_empty(), "{start}: {text}");
        let more = format!("more bytes follow: `from: {}`", expected + shown.len() + 1);
        assert_eq!(text.contains(&more), start < whole.len() - 1000, "{start}: {more}: {text}");
    }
}

#[tokio::test]
async fn r6_3_c26_what_a_job_has_changed_is_told_at_each_look_and_at_its_end() {
    let bench = trusting();
    bench.put("/w/clean", "a\n").put("/w/theirs", "a\n").put("/w/read", "a\n").put("/w/mine", "a\n");
    bench.open("/w/clean", 1, "a\n");
    bench.open("/w/theirs", 1, "typed a\n");
    for name in ["read", "mine"] {
        bench.done("read", json!({"filePath": name})).await;
    }
    let output = bench.shell.plays();
    bench.done("bash", serve()).await;
    assert_eq!(bench.editor.told(), []);
    bench.disk.put(&path("/w/clean"), "b\n");
    bench.disk.put(&path("/w/theirs"), "b\n");
    // What the agent itself writes meanwhile is no news, nor is what was only touched.
    bench.done("edit", json!({"filePath": "mine", "oldString": "a", "newString": "c"})).await;
    bench.disk.put(&path("/w/read"), "a\n");
    let text = bench.done("job", of("output", "job_1")).await;
    assert!(text.contains("[clean was changed meanwhile: what you know of it is old]"), "{text}");
    assert!(text.contains("[conflict: file:///w/theirs has unsaved text"), "{text}");
    assert!(!text.contains("mine was") && !text.contains("[read was"), "{text}");
    assert_eq!((bench.buffer("/w/clean").as_str(), bench.buffer("/w/theirs").as_str()), ("b\n", "typed a\n"));
    let is_warned = |event: &SessionEvent| match event {
        SessionEvent::Notice { severity, text } => *severity == Severity::Warning && text.contains("/w/theirs"),
        _ => false,
    };
    assert!(bench.client.events().iter().any(is_warned), "the user is told of the conflict");
    assert!(!bench.done("job", of("output", "job_1")).await.contains("was changed"), "told once");

    bench.disk.take(&path("/w/read"));
    drop(output);
    ended(&bench, "job_1").await;
    let news = bench.jobs.take_news();
    assert_eq!(
        news,
        ["job_1 (serve) has ended: exit code 0.\n[read was deleted meanwhile: what you know of it is old]"]
    );
    assert_eq!(bench.jobs.take_news(), [""; 0]);
    let told: Vec<_> = bench.editor.told().into_iter().map(|change| (change.path, change.kind)).collect();
    assert_eq!(
        told,
        [
            (path("/w/clean"), FileChangeKind::Changed),
            (path("/w/theirs"), FileChangeKind::Changed),
            (path("/w/read"), FileChangeKind::Deleted)
        ]
    );
}

/// A command beside a job gets what the job did before it told apart from its own.
#[tokio::test]
async fn r6_3_what_a_job_changed_before_a_command_is_not_lost() {
    let bench = trusting();
    bench.put("/w/a", "a\n").put("/w/b", "a\n");
    for name in ["a", "b"] {
        bench.done("read", json!({"filePath": name})).await;
    }
    let _output = bench.shell.plays();
    bench.done("bash", serve()).await;
    while bench.shell.commands().is_empty() {
        tokio::task::yield_now().await;
    }
    bench.disk.put(&path("/w/a"), "b\n");
    bench.shell.will(|disk| {
        disk.put(&path("/w/b"), "b\n");
        printed("")
    });
    let text = bench.done("bash", json!({"command": "make"})).await;
    assert!(text.contains("[a was changed meanwhile") && text.contains("[b was changed meanwhile"), "{text}");
}

#[tokio::test]
async fn r7_5_there_is_a_most_of_running_jobs() {
    let bench = trusting();
    let outputs: Vec<_> = (0..16).map(|_| bench.shell.plays()).collect();
    for number in 0..16 {
        bench.done("bash", json!({"command": format!("serve {number}"), "background": true})).await;
    }
    let text = bench.failed("bash", serve()).await;
    assert!(text.contains("16 jobs are running") && text.contains("Nothing was run"), "{text}");
    drop(outputs);
    for job in bench.jobs.list() {
        job.ended().await;
    }
    bench.done("bash", serve()).await;
    ended(&bench, "job_17").await;
}

/// A server that falls while many short ones come and go.
#[tokio::test]
async fn r7_5_the_end_of_an_old_job_is_told_however_many_have_ended_since() {
    let bench = trusting();
    let output = bench.shell.plays();
    bench.done("bash", serve()).await;
    for number in 2..=40 {
        bench.done("bash", json!({"command": format!("build {number}"), "background": true})).await;
        ended(&bench, &format!("job_{number}")).await;
        assert_eq!(bench.jobs.take_news().len(), 1);
    }
    assert!(bench.jobs.get("job_2").is_none() && bench.jobs.get("job_40").is_some(), "the first are forgotten");
    drop(output);
    ended(&bench, "job_1").await;
    bench.done("bash", json!({"command": "build", "background": true})).await;
    let news = bench.jobs.take_news();
    assert!(news.iter().any(|news| news.starts_with("job_1 (serve) has ended")), "{news:?}");
}

/// The file of an output ends at its limit: what was asked for between that and what is in memory is gone, and is not asked for for ever.
#[tokio::test]
async fn r7_5_r10_1_what_neither_file_nor_memory_holds_is_told_as_gone() {
    let bench = trusting();
    let output = bench.shell.plays();
    bench.call("bash", serve()).await;
    output.send("0123456789abcde\n".repeat(50_000)).unwrap();
    let job = bench.jobs.get("job_1").unwrap();
    while job.total() < 800_000 {
        let _ = job.watch().changed().await;
    }
    bench.put(&job.file.to_string(), "0123456789abcde\n".repeat(4));
    let text = bench.done("job", json!({"action": "output", "id": "job_1", "from": 0})).await;
    assert!(text.contains("`from: 64`"), "{text}");
    let text = bench.done("job", json!({"action": "output", "id": "job_1", "from": 64})).await;
    assert!(text.starts_with("[What stands before ") && !text.contains("`from: 64`"), "{text:.200}");
}
