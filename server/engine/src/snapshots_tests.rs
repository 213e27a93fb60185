use serde_json::{Value, json};

use super::*;
use crate::event::SessionEvent;
use crate::message::ToolStatus;
use crate::permission::Verdict;
use crate::ports::SnapshotError;
use crate::workbench::{Bench, path, printed};
use copydesk_workspace::disk::Disk as _;

fn trusting() -> Bench {
    Bench::trusting().rule("bash", "*", Verdict::Allow)
}

fn command(text: &str) -> Value {
    json!({"command": text})
}

/// What is recorded, a line a file.
fn rows(bench: &Bench) -> Vec<String> {
    let state = |content: Option<FileContent>| content.map_or("-".to_owned(), |content| content.len.to_string());
    let line = |row: &Change| format!("{:?} {} {} {}", row.by, row.path, state(row.before), state(row.after));
    bench.changes.of(&SessionId::new("ses_1")).iter().map(line).collect()
}

fn warnings(bench: &Bench) -> Vec<String> {
    let text = |event: SessionEvent| match event {
        SessionEvent::Notice { text, .. } => Some(text),
        _ => None,
    };
    bench.client.events().into_iter().filter_map(text).collect()
}

#[tokio::test]
async fn r5_1_what_a_command_changes_is_recorded_as_its_calls() {
    let bench = trusting();
    bench.put("/w/a", "one\n").put("/w/gone", "x").put("/w/same", "s").put("/w/old", "moved\n");
    bench.shell.will(|disk| {
        disk.put(&path("/w/a"), "1\n");
        disk.put(&path("/w/bin"), vec![0, 255]);
        disk.take(&path("/w/gone"));
        disk.put(&path("/w/same"), "s");
        disk.take(&path("/w/old"));
        disk.put(&path("/w/sub/new"), "moved\n");
        printed("")
    });
    let text = bench.done("bash", command("./generate")).await;
    assert_eq!(
        text,
        "(no output)\n[exit code 0]\n[files on the disk: created bin, sub/new; changed a; deleted gone, old]"
    );
    assert_eq!(
        rows(&bench),
        [
            "Command /w/a 4 2",
            "Command /w/bin - 2",
            "Command /w/gone 1 -",
            "Command /w/old 6 -",
            "Command /w/sub/new - 6"
        ]
    );
    let session = SessionId::new("ses_1");
    let row = bench.changes.of(&session).remove(0);
    assert_eq!((row.turn, row.call), (MessageId::new("msg_1"), Some(CallId::new("call_1"))));
    let before = bench.changes.content(session, row.before.unwrap().hash).await.unwrap();
    assert_eq!(before.as_deref(), Some(b"one\n".as_slice()));
}

#[tokio::test]
async fn commands_that_only_read_cost_no_snapshot() {
    let bench = trusting();
    bench.put("/w/a", "a\n");
    for text in ["ls -la", "cat a | grep a 2>/dev/null", "cd sub; wc -l < a", "head a; find . -name x"] {
        bench.done("bash", command(text)).await;
        assert_eq!(bench.snapshots.taken(), 0, "{text}");
    }
    for (count, text) in [
        "sed -i s/a/b/ a",
        "ls > out",
        "cat a; rm a",
        "make",
        "$X",
        "find . -delete",
        "git checkout x",
        "echo $(touch a)",
        "split a",
        "split -l 1 a",
        "csplit a 5",
        "gzip a",
    ]
    .iter()
    .enumerate()
    {
        bench.done("bash", command(text)).await;
        assert_eq!(bench.snapshots.taken(), count + 1, "{text}");
    }
    let plan = trusting().agent("plan");
    plan.shell.enforce();
    plan.client.answer_all(crate::ports::OptionKind::AllowOnce);
    plan.done("bash", command("make")).await;
    assert_eq!(plan.snapshots.taken(), 0, "the sandbox lets it change nothing");
}

#[tokio::test]
async fn c34_a_snapshot_that_fails_says_so_and_records_nothing() {
    let bench = trusting();
    bench.put("/w/a", "v1\n");
    bench.snapshots.fail(SnapshotError::Git("no space left".to_owned()));
    for _ in 0..2 {
        bench.shell.will(|disk| {
            disk.put(&path("/w/a"), "v2\n");
            printed("")
        });
        let text = bench.done("bash", command("make")).await;
        let note = "undo is not available for what this command changed in .: git failed: no space left";
        assert!(text.ends_with(&format!("[{note}]")), "{text}");
        assert_eq!(warnings(&bench), [note], "the user is told once");
    }
    assert_eq!(rows(&bench), [""; 0]);
}

#[tokio::test]
async fn c34_what_cannot_be_recorded_is_told() {
    let bench = trusting();
    bench.put("/w/a", "v1\n");
    bench.changes.break_with(Some(StoreError::Busy { reason: "the disk is full".to_owned() }));
    bench.shell.will(|disk| {
        disk.put(&path("/w/a"), "v2\n");
        printed("")
    });
    let text = bench.done("bash", command("make")).await;
    assert!(text.contains("[files on the disk: changed a]\n[undo is not available for what this command changed: the session store could not"), "{text}");
    assert_eq!(warnings(&bench).len(), 1);
}

#[tokio::test]
async fn r8_5_what_the_model_may_not_read_is_not_kept() {
    let bench = trusting().rule("read", "private/*", Verdict::Deny);
    bench.put("/w/.env", "KEY=1\n").put("/w/private/a", "1\n").put("/w/tls.pem", "1\n").put("/w/b", "1\n");
    bench.shell.will(|disk| {
        for file in ["/w/.env", "/w/private/a", "/w/tls.pem", "/w/b"] {
            disk.put(&path(file), "2\n");
        }
        printed("")
    });
    let text = bench.done("bash", command("make")).await;
    assert_eq!(rows(&bench), ["Command /w/b 2 2"]);
    for name in [".env", "private/a", "tls.pem"] {
        assert!(text.contains(&format!("[undo is not available for {name}: it may hold secrets]")), "{text}");
    }
    assert_eq!(warnings(&bench), [""; 0], "the result says it");
}

#[tokio::test]
async fn c35_repositories_within_are_said_once() {
    let bench = trusting();
    bench.snapshots.nest(path("/w/vendor/x"));
    for _ in 0..2 {
        bench.done("bash", command("make")).await;
    }
    let said = "vendor/x is a repository of its own: what commands change there is not taken back by undo";
    assert_eq!(warnings(&bench), [said]);
}

/// R5.2: his text is his, and what is mixed is nobody's to take back.
#[tokio::test]
async fn r5_2_what_the_user_saved_meanwhile_is_not_the_commands() {
    let bench = trusting();
    bench.put("/w/mine", "1\n").put("/w/both", "1\n").put("/w/theirs", "1\n");
    let [mine, both, _] = ["/w/mine", "/w/both", "/w/theirs"].map(|file| bench.open(file, 1, "1\n"));
    let (overlay, editor) = (bench.overlay.clone(), bench.editor.clone());
    bench.shell.will(move |disk| {
        for uri in [&mine, &both] {
            editor.types(uri, &crate::workbench::Typing { at: 0, text: "typed " });
            let document = overlay.by_uri(uri).unwrap();
            disk.put(&document.path, document.text.to_string());
            overlay.saved(uri).unwrap();
        }
        disk.put(&path("/w/both"), "2\n");
        disk.put(&path("/w/theirs"), "2\n");
        printed("")
    });
    let text = bench.done("bash", command("make")).await;
    assert_eq!(rows(&bench), ["Command /w/theirs 2 2"]);
    assert!(text.contains("[undo is not available for both: you saved it while the command ran]"), "{text}");
    assert!(!text.contains("mine"), "{text}");
}

#[tokio::test]
async fn c26_what_a_command_changed_is_read_again_at_once() {
    let bench = trusting();
    bench.put("/w/f", "a\n");
    bench.open("/w/f", 1, "a\n");
    bench.shell.will(|disk| {
        disk.put(&path("/w/f"), "b\n");
        printed("")
    });
    let text = bench.done("bash", command("sed -i s/a/b/ f")).await;
    assert!(text.contains("[f was changed meanwhile: what you know of it is old]"), "{text}");
    assert!(bench.done("read", json!({"filePath": "f"})).await.contains("1: b"));
    assert_eq!(rows(&bench), ["Command /w/f 2 2"]);
    assert_eq!(bench.editor.told().len(), 1);
}

/// A job's changes reach from its start to its end; edits in between are those of their calls.
#[tokio::test]
async fn r7_5_a_job_is_recorded_at_its_end_without_the_edits_of_others() {
    let bench = trusting();
    bench.put("/w/edited", "1\n").put("/w/both", "1\n").put("/w/own", "1\n");
    let output = bench.shell.plays();
    bench.done("bash", json!({"command": "serve", "background": true})).await;
    for file in ["edited", "both"] {
        bench.done("read", json!({"filePath": file})).await;
        bench.done("edit", json!({"filePath": file, "oldString": "1", "newString": "22"})).await;
    }
    let edits = rows(&bench);
    bench.disk.put(&path("/w/both"), "333\n");
    bench.disk.put(&path("/w/own"), "4444\n");
    drop(output);
    bench.jobs.get("job_1").unwrap().ended().await;
    let all = rows(&bench);
    // Where edits are recorded too, these begin where those have ended.
    let both = if edits.is_empty() { "Command /w/both 2 4" } else { "Command /w/both 3 4" };
    assert!(all[edits.len()..].contains(&both.to_owned()), "{all:?}");
    assert!(all.contains(&"Command /w/own 2 5".to_owned()), "{all:?}");
    assert_eq!(
        all.iter().filter(|row| row.contains("Command /w/edited")).count(),
        usize::from(edits.is_empty()),
        "{all:?}"
    );
}

#[tokio::test]
async fn r2_4_a_cancel_during_the_snapshot_runs_nothing() {
    let bench = trusting();
    bench.cancel.cancel();
    let outcome = bench.call("bash", command("make")).await;
    assert_ne!(outcome.result.status, ToolStatus::Completed);
    assert_eq!((bench.shell.commands().len(), bench.snapshots.taken()), (0, 0));
}

#[tokio::test]
async fn long_lists_are_cut() {
    let bench = trusting();
    bench.shell.will(|disk| {
        for at in 0..30 {
            disk.put(&path(&format!("/w/f{at:02}")), "x");
            disk.put(&path(&format!("/w/k{at:02}.pem")), "x");
        }
        printed("")
    });
    let text = bench.done("bash", command("make")).await;
    assert!(text.contains("f19; 40 more]"), "{text}");
    assert!(text.ends_with("[undo is not available for 25 more]"), "{text}");
    assert!(bench.files.read(path("/w/f29")).await.is_ok() && bench.disk.read(&path("/w/f00")).is_ok());
}
