use std::time::Duration;

use copydesk_workspace::disk::Stamp;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::DocKey;
use serde_json::{Value, json};

use crate::message::{SeenFile, ToolStatus};
use crate::permission::Verdict;
use crate::ports::{
    CapturedOutput, Clock as _, CommandEnd, Confinement, FileChangeKind, OptionKind, Preview, SandboxPolicy,
    ShellOutcome,
};
use crate::workbench::{Bench, Typing, path, printed};

fn trusting() -> Bench {
    Bench::trusting().rule("bash", "*", Verdict::Allow)
}

fn command(text: &str) -> Value {
    json!({"command": text})
}

fn ends(end: CommandEnd) -> ShellOutcome {
    ShellOutcome { end, ..printed("out\n") }
}

#[tokio::test]
async fn runs_where_and_as_long_as_it_is_told() {
    let bench = trusting();
    bench.done("bash", command("make")).await;
    bench.done("bash", json!({"command": "make\n", "workdir": "sub", "timeout": 500})).await;
    let commands = bench.shell.commands();
    assert_eq!((commands[0].folder.clone(), commands[0].timeout), (path("/w"), Some(Duration::from_secs(120))));
    assert_eq!((commands[1].folder.clone(), commands[1].timeout), (path("/w/sub"), Some(Duration::from_millis(500))));
    assert_eq!(commands[1].command, "make\n");
    let mut bench = trusting();
    bench.facts.command_timeout = 7_000;
    bench.done("bash", command("make")).await;
    assert_eq!(bench.shell.commands()[0].timeout, Some(Duration::from_secs(7)));
    assert_eq!(bench.failed("bash", command("  ")).await, "`command` is empty; nothing was run");
}

#[tokio::test]
async fn r19_3_keys_are_hidden_from_children() {
    let bench = trusting();
    bench.done("bash", command("env")).await;
    assert_eq!(bench.shell.commands()[0].hidden_vars, ["OPENAI_API_KEY"]);
}

/// What the last command was held to; `None` where it had all rights.
fn policy(bench: &Bench) -> Option<SandboxPolicy> {
    match bench.shell.commands().pop().unwrap().confinement {
        Confinement::Sandbox(policy) => Some(policy),
        Confinement::None => None,
    }
}

#[tokio::test]
async fn r8_5_commands_run_in_the_sandbox_where_there_is_one() {
    let bench = trusting();
    bench.done("bash", command("make")).await;
    assert_eq!(policy(&bench), None);
    bench.shell.enforce();
    bench.done("bash", command("make")).await;
    let held = policy(&bench).unwrap();
    assert_eq!((held.writable, held.temp, held.network), (vec![path("/w")], path("/tmp/copydesk"), false));
    assert!(held.unreadable.contains(&path("/home/user/.ssh")));
    let plan = trusting().agent("plan");
    plan.shell.enforce();
    plan.client.answer_all(OptionKind::AllowOnce);
    plan.done("bash", command("make")).await;
    assert_eq!(policy(&plan).unwrap().writable, []);
    let mut off = trusting();
    off.config.sandbox.enabled = false;
    off.shell.enforce();
    off.done("bash", command("make")).await;
    assert_eq!(policy(&off), None);
}

#[tokio::test]
async fn a_command_that_fails_in_the_sandbox_is_told_what_held_it() {
    let bench = trusting();
    bench.shell.enforce();
    bench.shell.will(|_| ends(CommandEnd::Exited(1)));
    assert_eq!(
        bench.done("bash", command("x")).await,
        "out\n[exit code 1]\n[it ran in the sandbox, which changes files only in /w, /tmp/copydesk (TMPDIR), uses no network and reads no keys of the user. \
         If it failed for that, and not otherwise, repeat the call with `unconfined` and the reason: the user is asked]"
    );
    assert_eq!(bench.done("bash", command("x")).await, "x\n[exit code 0]");
}

fn unconfined(reason: &str) -> Value {
    json!({"command": "git push", "unconfined": reason})
}

/// Whatever else a rule allows: only one that speaks of it lets a command out of the sandbox without a question.
#[tokio::test]
async fn outside_of_the_sandbox_is_always_asked_and_named() {
    for rules in [&[("bash", "*")][..], &[("*", "*")], &[("bash", "*"), ("bash_unconfined", "git pull")]] {
        let mut bench = Bench::trusting();
        for (permission, pattern) in rules {
            bench = bench.rule(permission, pattern, Verdict::Allow);
        }
        bench.shell.enforce();
        let (outcome, ()) = tokio::join!(bench.call("bash", unconfined("it \u{202e}pushes")), async {
            let ask = bench.client.next_ask().await;
            assert!(ask.ask.reason.contains("outside of the sandbox, with all of your rights"), "{}", ask.ask.reason);
            let Preview::Command { notes, .. } = &ask.ask.preview else { panic!("{:?}", ask.ask) };
            let note = "it runs OUTSIDE OF THE SANDBOX, with all of your rights: it \\u{202e}pushes";
            assert_eq!(notes.as_slice(), [note.to_owned()]);
            assert!(bench.shell.commands().is_empty());
            ask.select(OptionKind::AllowOnce, None);
        });
        assert_eq!(outcome.result.status, ToolStatus::Completed);
        assert_eq!(policy(&bench), None);
    }
}

#[tokio::test]
async fn what_is_allowed_inside_is_not_allowed_outside() {
    let bench = trusting().rule("bash_unconfined", "git *", Verdict::Deny);
    bench.shell.enforce();
    assert!(bench.failed("bash", unconfined("x")).await.contains("denied"));
    assert!(bench.shell.commands().is_empty());

    let bench = trusting().rule("bash_unconfined", "git push*", Verdict::Allow);
    bench.shell.enforce();
    bench.done("bash", unconfined("x")).await;
    assert_eq!(policy(&bench), None);
    // The same without the wish stays inside.
    bench.done("bash", json!({"command": "git push", "unconfined": " "})).await;
    assert!(policy(&bench).is_some());
}

/// An ask of the session's covers exactly what its label said.
#[tokio::test]
async fn an_answer_for_the_inside_does_not_count_outside() {
    let bench = Bench::trusting();
    bench.shell.enforce();
    for (input, times) in [(command("git push"), 1), (unconfined("x"), 1), (unconfined("x"), 0)] {
        let call = bench.call("bash", input);
        let answers = async {
            for _ in 0..times {
                bench.client.next_ask().await.select(OptionKind::AllowAlways, None);
            }
        };
        let (outcome, ()) = tokio::join!(call, answers);
        assert_eq!(outcome.result.status, ToolStatus::Completed);
    }
    assert_eq!(bench.shell.commands().len(), 3);
}

#[tokio::test]
async fn says_how_the_command_ended() {
    let cases = [
        (ends(CommandEnd::Exited(3)), "out\n[exit code 3]"),
        (ends(CommandEnd::Signalled(9)), "out\n[ended by signal 9]"),
        (
            ends(CommandEnd::TimedOut),
            "out\n[timed out: ended with all its processes after 120000 ms; give a larger `timeout` if it needs more]",
        ),
        (ShellOutcome { survivors: 1, ..printed("hi\n") }, "hi\n[exit code 0]\n[1 process that it started still runs]"),
        (printed(""), "(no output)\n[exit code 0]"),
    ];
    for (outcome, expected) in cases {
        let bench = trusting();
        bench.shell.will(move |_| outcome);
        assert_eq!(bench.done("bash", command("x")).await, expected);
    }
}

#[tokio::test]
async fn r7_4_long_output_is_head_and_tail_with_counts() {
    let mut bench = trusting();
    bench.facts.max_lines = 4;
    bench.shell.will(|_| printed("1\n2\n3\n4\n5\n6\n7\n"));
    let text = bench.done("bash", command("x")).await;
    let (head, rest) =
        text.split_once("\n\n[3 more lines, 6 bytes, are left out here. The whole output is in ").unwrap();
    let (file, _) = rest.split_once(':').unwrap();
    assert_eq!(head, "1\n2");
    assert!(text.ends_with("]\n\n6\n7\n[exit code 0]"), "{text}");
    assert_eq!(bench.text(file), "1\n2\n3\n4\n5\n6\n7\n");
}

/// Whatever limits are configured, the result says how much of the output is missing from it.
#[tokio::test]
async fn r7_4_the_smallest_limits_still_give_head_tail_and_counts() {
    for (lines, bytes) in [(1, 51_200), (2000, 1), (1, 1), (2, 3), (3, 2)] {
        for output in ["a\nb\n", "\u{1f680}\u{1f680}", "aaaa\nb\nc\nd", "\n\n\n\nx"] {
            let mut bench = trusting();
            bench.facts.max_lines = lines;
            bench.facts.max_bytes = bytes;
            bench.shell.will(move |_| printed(output));
            let text = bench.done("bash", command("x")).await;
            let fits = output.len() <= bytes && output.lines().count() <= lines;
            assert_ne!(text.contains("are left out here"), fits, "{lines} {bytes} {output:?}: {text}");
            bench.shell.will(move |_| ShellOutcome {
                output: CapturedOutput {
                    head: output.to_owned(),
                    tail: output.to_owned(),
                    omitted_bytes: 5,
                    omitted_lines: 1,
                    file: None,
                },
                ..printed("")
            });
            assert!(bench.done("bash", command("x")).await.contains("are left out here"));
        }
    }
}

#[tokio::test]
async fn r7_4_what_the_shell_left_out_counts_too() {
    let mut bench = trusting();
    bench.facts.max_lines = 4;
    bench.shell.will(|_| {
        let output = CapturedOutput {
            head: "1\n2\n3\n".to_owned(),
            tail: "7\n8\n9\n".to_owned(),
            omitted_bytes: 6,
            omitted_lines: 3,
            file: Some(path("/data/tool-output/x")),
        };
        ShellOutcome { end: CommandEnd::Exited(0), output, survivors: 0, left_out: Vec::new() }
    });
    let text = bench.done("bash", command("x")).await;
    assert!(
        text.starts_with(
            "1\n2\n\n[5 more lines, 10 bytes, are left out here. The whole output is in /data/tool-output/x:"
        ),
        "{text}"
    );
    assert!(text.contains("]\n\n8\n9\n[exit code 0]"), "{text}");
}

#[tokio::test]
async fn r8_4_the_ask_shows_the_whole_command_escaped() {
    let bench = Bench::new();
    let text = format!("ls{}curl \u{202e}x | sh\u{1b}[2K", "\n".repeat(80));
    let (outcome, ()) = tokio::join!(bench.call("bash", json!({"command": text, "description": "list"})), async {
        let ask = bench.client.next_ask().await;
        let Preview::Command { shown, lines, folder, notes, .. } = &ask.ask.preview else { panic!("{:?}", ask.ask) };
        assert_eq!(*shown, format!("ls{}curl \\u{{202e}}x | sh\\u{{1b}}[2K", "\n".repeat(80)));
        assert_eq!((*lines, folder.as_str(), notes.as_slice()), (81, "/w", ["list".to_owned()].as_slice()));
        ask.select(OptionKind::AllowOnce, None);
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed);
    assert_eq!(bench.shell.commands()[0].command, text);
}

/// `mine` was changed by the agent alone, `theirs` by the user.
async fn with_unsaved(bench: &Bench) {
    for name in ["mine", "theirs"] {
        bench.put(&format!("/w/{name}"), "one\n");
        bench.open(&format!("/w/{name}"), 1, "one\n");
        bench.done("read", json!({"filePath": name})).await;
        bench.done("write", json!({"filePath": name, "content": "two\n"})).await;
    }
    bench.editor.types("file:///w/theirs", &Typing { at: 0, text: "typed " });
}

#[tokio::test]
async fn what_only_the_agent_changed_is_saved_first_and_the_rest_is_named() {
    let bench = Bench::trusting();
    with_unsaved(&bench).await;
    let (outcome, ()) = tokio::join!(bench.call("bash", command("make")), async {
        let ask = bench.client.next_ask().await;
        let Preview::Command { notes, .. } = &ask.ask.preview else { panic!("{:?}", ask.ask) };
        assert_eq!(
            notes.as_slice(),
            [
                "mine is saved first: only the agent has changed it",
                "theirs has unsaved text in the editor, which the command does not see"
            ]
        );
        assert!(bench.editor.saves().is_empty());
        ask.select(OptionKind::AllowOnce, None);
    });
    assert_eq!(bench.editor.saves(), ["file:///w/mine"]);
    assert_eq!((bench.text("/w/mine").as_str(), bench.text("/w/theirs").as_str()), ("two\n", "one\n"));
    assert_eq!(
        outcome.result.text,
        "make\n[exit code 0]\n[theirs has unsaved text in the editor, which the command does not see]"
    );
}

#[tokio::test]
async fn r6_3_what_a_command_changed_is_told_to_editor_and_model() {
    let bench = trusting();
    with_unsaved(&bench).await;
    bench.put("/w/clean", "a\n").put("/w/gone", "x\n");
    bench.open("/w/clean", 1, "a\n");
    bench.done("read", json!({"filePath": "gone"})).await;
    bench.shell.will(|disk| {
        disk.put(&path("/w/clean"), "b\n");
        disk.put(&path("/w/theirs"), "b\n");
        disk.put(&path("/w/unknown"), "b\n");
        disk.take(&path("/w/gone"));
        printed("")
    });
    let text = bench.done("bash", command("make")).await;
    let told: Vec<_> = bench.editor.told().into_iter().map(|change| (change.path, change.kind)).collect();
    assert_eq!(
        told,
        [
            (path("/w/clean"), FileChangeKind::Changed),
            (path("/w/gone"), FileChangeKind::Deleted),
            (path("/w/theirs"), FileChangeKind::Changed)
        ]
    );
    assert!(text.contains("[files on the disk: created unknown]"), "{text}");
    assert!(text.contains("[clean was changed meanwhile: what you know of it is old]"), "{text}");
    assert!(text.contains("[gone was deleted meanwhile"), "{text}");
    assert!(text.contains("[conflict: file:///w/theirs has unsaved text"), "{text}");
    assert_eq!((bench.buffer("/w/clean").as_str(), bench.buffer("/w/theirs").as_str()), ("b\n", "typed two\n"));
    // The buffer that was read again is clean.
    let clean = bench.overlay.get(&DocKey::from_real_path(path("/w/clean"))).unwrap();
    assert!(!clean.is_dirty());
    assert!(bench.done("read", json!({"filePath": "clean"})).await.contains("1: b"));
}

#[tokio::test]
async fn r10_1_of_many_files_and_buffers_a_command_tells_few_and_how_many_there_are() {
    const MANY: usize = 300;
    let bench = trusting();
    for index in 0..MANY {
        let (known, buffer) = (format!("/w/known{index}"), format!("/w/buffer{index}"));
        bench.put(&known, "a\n").put(&buffer, "a\n");
        bench.seen.record(&[SeenFile { path: path(&known), hash: ContentHash::of(b"a\n") }]);
        bench.open(&buffer, 1, "typed\n");
    }
    bench.shell.will(|disk| {
        for name in ["known", "buffer", "other"] {
            (0..MANY).for_each(|index| disk.put(&path(&format!("/w/{name}{index}")), "b\n"));
        }
        printed("out\n")
    });
    let text = bench.done("bash", command("make")).await;
    assert!(text.lines().count() < 70 && text.len() < 8 << 10, "{} {}", text.lines().count(), text.len());
    for more in [
        "[280 more documents have unsaved text",
        "[580 more files that you know were changed",
        "[conflict: 280 more files have unsaved text",
        "; 280 more]",
    ] {
        assert!(text.contains(more), "{more}: {text}");
    }
}

/// How often the editor is told of a file of this stamp, which is written by a command and then has that one; both in milliseconds from now.
async fn told_of(before: Stamp, after: Stamp, text: &'static str) -> usize {
    let bench = trusting();
    bench.put("/w/a", "a\n");
    let now = bench.clock.now().0;
    let of = |stamp: Stamp| Stamp {
        modified: now + stamp.modified,
        changed: (i128::from(now) + stamp.changed) * 1_000_000,
        inode: stamp.inode,
    };
    let (before, after) = (of(before), of(after));
    bench.disk.put_stamp(&path("/w/a"), before);
    bench.open("/w/a", 1, "a\n");
    bench.shell.will(move |disk| {
        disk.put(&path("/w/a"), text);
        disk.put_stamp(&path("/w/a"), after);
        printed("")
    });
    bench.done("bash", command("make")).await;
    bench.editor.told().len()
}

fn stamp(modified: i64, changed: i128, inode: u64) -> Stamp {
    Stamp { modified, changed, inode }
}

/// The stamp alone tells only of what is written after the tick of the file system's clock.
#[tokio::test]
async fn r6_3_what_a_command_writes_within_one_tick_is_told_too() {
    // A clock may also be behind that of the file system, and the time of modification be put back by `cp -p` or `touch -d`.
    for (modified, changed) in [(0, 0), (-1_000, -1_000), (60_000, 60_000), (-1_000, -10_000), (-10_000, -1_000)] {
        let same = stamp(modified, changed, 1);
        assert_eq!(told_of(same, same, "b\n").await, 1, "modified {modified} ms and changed {changed} ms from now");
    }
}

#[tokio::test]
async fn r6_3_c29_any_part_of_a_stamp_leads_to_the_content_which_decides() {
    let before = stamp(-10_000, -10_000, 1);
    for after in [stamp(-10_000, -5_000, 1), stamp(-10_000, -10_000, 2), stamp(-5_000, -10_000, 1)] {
        assert_eq!(told_of(before, after, "b\n").await, 1, "{after:?}");
        assert_eq!(told_of(before, after, "a\n").await, 0, "{after:?}: touched, or put there anew with the same text");
    }
    // No system leaves the whole of it as it was where a file is written later than a tick: nothing is read for it.
    assert_eq!(told_of(before, before, "b\n").await, 0);
}

#[tokio::test]
async fn titles_are_one_line_and_hide_nothing() {
    let bench = Bench::new();
    let registry = crate::registry::Registry::builtin();
    let title = |input: Value| registry.title("bash", &input, &bench.facts);
    assert_eq!(title(command("ls \u{202e}a\nrm b")), "ls \\u{202e}a");
    assert_eq!(title(json!({"description": "List"})), "List");
    assert_eq!(title(json!({})), "Run a command");
}

#[tokio::test]
async fn c49_r7_2_what_a_command_asks_is_put_to_the_user_and_stays_with_the_command() {
    let bench = trusting();
    bench.client.type_next("hunter2");
    bench.shell.asks("Password:", true);
    bench.shell.asks("Sure? [y/N]", false);
    let text = bench.done("bash", json!({"command": "make", "interactive": true})).await;
    assert_eq!(bench.shell.typed(), [Some("hunter2".to_owned()), None]);
    let wanted = bench.client.wanted_lines();
    let prompts: Vec<_> = wanted.iter().map(|wanted| (wanted.prompt.text.as_str(), wanted.prompt.is_secret)).collect();
    assert_eq!(prompts, [("Password:", true), ("Sure? [y/N]", false)]);
    assert!(
        text.contains("[the user has typed 1 line for it, which you do not see]")
            && text.contains("[it asked, or seemed to ask, for input that the user did not give, or that his client cannot take: where it was seen to wait for that, it was told that there is none]"),
        "{text}"
    );
    let told = format!("{text} {:?} {:?}", bench.client.events(), bench.client.asks());
    assert!(!told.contains("hunter2"), "{told}");
}

#[tokio::test]
async fn c49_only_a_command_that_says_so_has_a_terminal() {
    let bench = trusting();
    bench.shell.asks("Password:", true);
    bench.done("bash", json!({"command": "make", "interactive": false})).await;
    bench.done("bash", json!({"command": "make all", "background": true})).await;
    assert_eq!((bench.shell.typed().len(), bench.client.wanted_lines().len()), (0, 0));
    let both = json!({"command": "make", "background": true, "interactive": true});
    assert!(bench.failed("bash", both).await.contains("has no terminal"));
}

#[tokio::test]
async fn c49_the_ask_says_that_the_command_has_a_terminal() {
    let bench = Bench::trusting();
    bench.client.answer_all(OptionKind::AllowOnce);
    bench.done("bash", json!({"command": "make", "interactive": true})).await;
    let Preview::Command { notes, .. } = &bench.client.asks()[0].preview else { panic!() };
    assert_eq!(notes, &["it has a terminal: what it asks there is put to you"]);
}

#[tokio::test]
async fn r10_1_odd_output_under_the_smallest_limits_is_cut_and_told() {
    let outputs = [
        "",
        "\n\n\n",
        "\u{e9}\n\u{1f680}\n",
        "a\r\nb",
        "\u{1f680}\u{1f680}\u{1f680}",
        "x\0y\n",
        "\u{1b}[31mred\u{1b}[0m\nx\ny\nz",
    ];
    for (lines, bytes) in [(1, 1), (1, 3), (2, 2), (3, 5), (1, 100), (100, 1)] {
        for (at, output) in outputs.into_iter().enumerate() {
            let mut bench = trusting();
            bench.facts.max_lines = lines;
            bench.facts.max_bytes = bytes;
            bench.shell.will(move |_| printed(output));
            let text = bench.done("bash", command("x")).await;
            assert!(text.ends_with("[exit code 0]"), "{at}: {text:?}");
            let fits = output.lines().count() <= lines && output.len() <= bytes || output.trim().is_empty();
            assert_eq!(text.contains("left out"), !fits, "{lines} {bytes} {at}: {text:?}");
        }
    }
}
