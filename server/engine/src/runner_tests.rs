use serde_json::{Value, json};

use super::{CallOutcome, Runner};
use crate::event::{SessionEvent, ToolCallState};
use crate::message::{ToolStatus, TurnEnd};
use crate::permission::Verdict;
use crate::ports::{AskOutcome, FreeEdits, OptionKind, Preview};
use crate::testing::{Boundaries, PendingAsk, Toy, ToyTool};
use crate::workbench::{Bench, call, path};

/// Runs the call beside the test's answer to its one ask.
async fn answered(bench: &Bench, name: &str, input: Value, answer: impl AsyncFnOnce(PendingAsk)) -> CallOutcome {
    let (outcome, ()) = tokio::join!(bench.call(name, input), async { answer(bench.client.next_ask().await).await });
    outcome
}

fn write_a() -> Value {
    json!({"filePath": "a", "content": "text\n"})
}

fn no_ask(bench: &Bench) {
    bench.client.answer_all(OptionKind::RejectOnce);
}

// Names, arguments.

#[tokio::test]
async fn names_in_capitals_are_repaired_and_unknown_ones_told() {
    let bench = Bench::new();
    bench.put("/w/a", "x\n");
    let text = bench.done("READ", json!({"filePath": "a"})).await;
    assert!(text.contains("1: x"));
    let outcome = bench.call("delete", json!({"filePath": "a"})).await;
    assert_eq!(outcome.result.status, ToolStatus::Failed);
    let text = outcome.result.text;
    assert!(text.starts_with("There is no tool \"delete\". Tools: apply_patch, bash, "), "{text}");
    assert!(!text.contains("invalid") && text.ends_with(", write."), "{text}");
    assert_eq!(outcome.input, json!({"filePath": "a"}));
}

#[tokio::test]
async fn c79_a_missing_field_is_named() {
    let bench = Bench::new();
    for raw in ["", "  ", "null", "{}", "\"\"", "\"{}\""] {
        let outcome = bench.runner().run(call("call_1", "write", raw)).await;
        assert_eq!(outcome.input, json!({}));
        let text = outcome.result.text;
        assert!(text.contains("`filePath` is missing") && text.contains("`content` is missing"), "{raw:?}: {text}");
    }
}

#[tokio::test]
async fn c79_a_tool_without_required_fields_runs_with_nothing() {
    let bench = Bench::new().tool(ToyTool::new("toy", Toy::Echo, "read", Boundaries::default()));
    for raw in ["", " \n", "null", "\"\""] {
        let outcome = bench.runner().run(call("call_1", "toy", raw)).await;
        assert_eq!((outcome.input, outcome.result.text.as_str()), (json!({}), "{}"));
    }
}

/// JSON has one kind of number: `3.0` is as whole as `3`.
#[tokio::test]
async fn c79_whole_numbers_may_be_written_with_a_fraction_of_zero() {
    let bench = Bench::new();
    bench.put("/w/a", "1\n2\n3\n4\n");
    let text = bench.done("read", json!({"filePath": "a", "offset": 2.0, "limit": 2e0})).await;
    assert!(text.contains("<content>\n2: 2\n3: 3\n</content>"), "{text}");
    for number in [json!(2.5), json!(-1.0)] {
        let text = bench.failed("read", json!({"filePath": "a", "offset": number})).await;
        assert!(text.contains("`offset`"), "{text}");
    }
}

#[tokio::test]
async fn r18_2_a_uri_of_a_file_is_its_path_and_a_home_folder_is_not_guessed() {
    let bench = Bench::trusting();
    bench.put("/w/a b", "x\n");
    assert!(bench.done("read", json!({"filePath": "file:///w/a%20b"})).await.contains("1: x"));
    for tool in ["read", "write", "edit"] {
        let input = json!({"filePath": "~/a", "content": "", "oldString": "", "newString": "x"});
        let text = bench.failed(tool, input).await;
        assert!(text.contains("`~` is not expanded"), "{tool}: {text}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_told_with_what_is_expected() {
    let bench = Bench::new();
    bench.put("/w/a", "x\n");
    let text = bench.failed("read", json!({"filePath": "a", "offset": "10"})).await;
    assert!(
        text.contains("`offset` must be of type integer, but is the string \"10\": write it without quotes"),
        "{text}"
    );
    let text = bench.failed("read", json!({"filePath": ["a"]})).await;
    assert!(text.contains("`filePath` must be of type string, but is an array: [\"a\"]"), "{text}");
    let outcome = bench.runner().run(call("call_1", "read", "{\"filePath\": ")).await;
    assert!(outcome.result.text.starts_with("The arguments are not valid JSON"), "{}", outcome.result.text);
    assert_eq!(outcome.input, json!("{\"filePath\": "));
    // What models write for fields that they leave out.
    bench.done("read", json!({"filePath": "a", "offset": null, "more": 1})).await;
}

#[test]
fn schemas_are_portable_and_stable() {
    let bench = Bench::new();
    let registry = crate::registry::Registry::builtin();
    let specs = registry.all().specs(&bench.facts);
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert!(names.is_sorted() && names.contains(&"read") && !names.contains(&"invalid"), "{names:?}");
    for spec in &specs {
        let schema = spec.parameters.to_string();
        assert_eq!(spec.parameters["type"], "object");
        for word in ["\"null\"", "$ref", "$schema", "\"uint\"", "\"default\":null"] {
            assert!(!schema.contains(word), "{}: {schema}", spec.name);
        }
        // `{name}` stands in the example of a patch.
        let is_value = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_') && word != "name";
        let between = spec.description.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
        assert_eq!(between.filter(|word| !word.is_empty() && is_value(word)).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(
            schema,
            registry.all().specs(&bench.facts).iter().find(|s| s.name == spec.name).unwrap().parameters.to_string()
        );
    }
    let read = specs.iter().find(|spec| spec.name == "read").unwrap();
    insta::assert_snapshot!(read.parameters, @r#"{"properties":{"column":{"description":"The first character of the first line to show, from 1: for lines too long for one call.","minimum":0,"type":"integer"},"filePath":{"description":"The file or folder, absolute or relative to the session's folder.","type":"string"},"limit":{"description":"How many lines or entries to show.","minimum":0,"type":"integer"},"offset":{"description":"The first line (of a folder: entry) to show, from 1.","minimum":0,"type":"integer"}},"required":["filePath"],"type":"object"}"#);
}

// Replies.

#[tokio::test]
async fn r4_1_the_ask_carries_the_whole_text_before_and_after() {
    let bench = Bench::new();
    let outcome = answered(&bench, "write", write_a(), async |ask| {
        let Preview::Edit(diffs) = &ask.ask.preview else { panic!("{:?}", ask.ask) };
        assert_eq!((diffs[0].before.clone(), diffs[0].text_after()), (None, "text\n".into()));
        assert!(ask.ask.reason.starts_with("edit a: "), "{}", ask.ask.reason);
        let labels: Vec<&str> = ask.ask.options.iter().map(|option| option.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "Allow once",
                "Allow for this session: edit a (agent build)",
                "Allow in this project: edit a (agent build)",
                "Reject"
            ]
        );
        assert!(bench.files.stat(path("/w/a")).await.is_err(), "nothing is written before the answer");
        ask.select(OptionKind::AllowOnce, None);
    })
    .await;
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    assert_eq!(bench.text("/w/a"), "text\n");
}

#[tokio::test]
async fn always_holds_for_the_session_and_for_nothing_wider() {
    let bench = Bench::new();
    answered(&bench, "write", write_a(), async |ask| ask.select(OptionKind::AllowAlways, None)).await;
    no_ask(&bench);
    bench.done("write", json!({"filePath": "/w/a", "content": "more\n"})).await;
    let outcome = bench.call("write", json!({"filePath": "b", "content": "more\n"})).await;
    assert_eq!(outcome.stop, Some(TurnEnd::Rejected));
}

#[tokio::test]
async fn always_for_a_command_is_that_command_alone() {
    let bench = Bench::new();
    let command = json!({"command": "rm *.tmp"});
    answered(&bench, "bash", command.clone(), async |ask| {
        assert_eq!(ask.ask.options[1].label, "Allow for this session: this exact command (agent build)");
        ask.select(OptionKind::AllowAlways, None);
    })
    .await;
    no_ask(&bench);
    bench.done("bash", command).await;
    let outcome = bench.call("bash", json!({"command": "rm src/all.tmp"})).await;
    assert_eq!(outcome.stop, Some(TurnEnd::Rejected), "a `*` in a granted command is no wildcard");
}

#[tokio::test]
async fn a_rejection_ends_the_turn_and_its_other_calls() {
    let bench = Bench::new();
    let runner = bench.runner();
    let (first, second, ()) = tokio::join!(
        runner.run(call("call_1", "write", &write_a().to_string())),
        runner.run(call("call_2", "bash", r#"{"command":"make"}"#)),
        async {
            let _waits = bench.client.next_ask().await;
            bench.client.next_ask().await.select(OptionKind::RejectOnce, None);
        }
    );
    let stops = [&first, &second].map(|outcome| (outcome.result.status, outcome.stop.clone()));
    assert!(stops.contains(&(ToolStatus::Failed, Some(TurnEnd::Rejected))), "{stops:?}");
    assert!(stops.contains(&(ToolStatus::Cancelled, None)), "{stops:?}");
    let third = runner.run(call("call_3", "read", r#"{"filePath":"a"}"#)).await;
    assert_eq!(third.result.status, ToolStatus::Cancelled);
    assert!(bench.shell.commands().is_empty());
    assert!(bench.files.stat(path("/w/a")).await.is_err());
}

#[tokio::test]
async fn a_rejection_does_not_end_the_turn_where_the_configuration_says_so() {
    let mut bench = Bench::new();
    bench.config.continue_on_reject = true;
    let outcome = answered(&bench, "write", write_a(), async |ask| ask.select(OptionKind::RejectOnce, None)).await;
    assert_eq!((outcome.result.status, outcome.stop), (ToolStatus::Failed, None));
}

#[tokio::test]
async fn a_rejection_with_a_message_goes_to_the_model() {
    let bench = Bench::new();
    let outcome =
        answered(&bench, "write", write_a(), async |ask| ask.select(OptionKind::RejectOnce, Some("use b instead")))
            .await;
    assert_eq!((outcome.result.status, outcome.stop), (ToolStatus::Failed, None));
    assert!(outcome.result.text.contains("use b instead"), "{}", outcome.result.text);
}

#[tokio::test]
async fn other_answers_are_no_consent() {
    let unknown = AskOutcome::Selected { option: "allow".to_owned(), message: None };
    let gone = AskOutcome::Undeliverable { reason: "the editor is closed".to_owned() };
    for (answer, status, stop) in [
        (AskOutcome::Cancelled, ToolStatus::Cancelled, Some(TurnEnd::Cancelled)),
        (unknown, ToolStatus::Failed, Some(TurnEnd::Rejected)),
        (gone, ToolStatus::Failed, None),
    ] {
        let bench = Bench::new();
        let outcome = answered(&bench, "write", write_a(), async |ask| ask.answer(answer)).await;
        assert_eq!((outcome.result.status, outcome.stop), (status, stop), "{}", outcome.result.text);
        assert!(bench.files.stat(path("/w/a")).await.is_err());
    }
}

#[tokio::test]
async fn r9_5_identical_asks_are_one() {
    let bench = Bench::new();
    let runner = bench.runner();
    let run = |id: &'static str, command: &'static str| runner.run(call(id, "bash", command));
    let (first, second, other, ()) = tokio::join!(
        run("call_1", r#"{"command":"make"}"#),
        run("call_2", r#"{"command":"make"}"#),
        run("call_3", r#"{"command":"make clean"}"#),
        async {
            let (a, b) = (bench.client.next_ask().await, bench.client.next_ask().await);
            assert_ne!(a.ask.preview, b.ask.preview);
            a.select(OptionKind::AllowOnce, None);
            b.select(OptionKind::AllowOnce, None);
        }
    );
    for outcome in [first, second, other] {
        assert_eq!(outcome.result.status, ToolStatus::Completed);
    }
    assert_eq!(bench.shell.commands().len(), 3);
}

#[tokio::test]
async fn an_answer_for_good_releases_the_asks_that_it_covers() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    bench.done("read", json!({"filePath": "a"})).await;
    let runner = bench.runner();
    let run = |id: &'static str, text: &str| {
        runner.run(call(id, "write", &json!({"filePath": "a", "content": text}).to_string()))
    };
    let (first, second, ()) = tokio::join!(run("call_1", "two\n"), run("call_2", "three\n"), async {
        bench.client.next_ask().await.select(OptionKind::AllowAlways, None);
        // The second ask may have come before the answer: then it is withdrawn.
    });
    assert_eq!(first.result.status, ToolStatus::Completed, "{}", first.result.text);
    assert_eq!(second.result.status, ToolStatus::Completed, "{}", second.result.text);
    assert_eq!(bench.text("/w/a"), "three\n");
}

// Rules.

#[tokio::test]
async fn r9_4_a_denial_names_its_rule() {
    let bench = Bench::new().rule("edit", "secret/*", Verdict::Deny);
    let text = bench.failed("write", json!({"filePath": "secret/a", "content": "x"})).await;
    assert!(
        text.starts_with(
            "edit secret/a: denied by rule edit \"secret/*\": deny (/home/user/.config/copydesk/copydesk.jsonc:3)"
        ),
        "{text}"
    );
}

/// Rules for `~/.ssh/*` come here as absolute ones.
#[tokio::test]
async fn a_denial_by_an_absolute_pattern_holds_for_every_name_of_the_file() {
    let bench = Bench::new()
        .rule("external_directory", "*", Verdict::Allow)
        .rule("read", "/home/user/.ssh/*", Verdict::Deny)
        .rule("edit", "*", Verdict::Deny)
        .rule("edit", "src/*", Verdict::Allow)
        .rule("edit", "/w/src/generated/*", Verdict::Deny);
    bench.put("/home/user/.ssh/id", "KEY\n").put("/home/user/notes", "mine\n");
    bench.disk.put_link(&path("/w/harmless"), "/home/user/.ssh/id");
    no_ask(&bench);
    for file in ["/home/user/.ssh/id", "../home/user/.ssh/id", "harmless"] {
        let text = bench.failed("read", json!({"filePath": file})).await;
        assert!(text.contains("denied by rule read \"/home/user/.ssh/*\": deny"), "{file}: {text}");
    }
    bench.done("read", json!({"filePath": "/home/user/notes"})).await;
    bench.done("write", json!({"filePath": "src/a", "content": "x\n"})).await;
    let text = bench.failed("write", json!({"filePath": "src/generated/a", "content": "x\n"})).await;
    assert!(text.contains("/w/src/generated/*"), "{text}");
}

#[tokio::test]
async fn r9_4_an_ask_names_its_rule() {
    let bench = Bench::new().rule("edit", "*", Verdict::Ask);
    answered(&bench, "write", write_a(), async |ask| {
        assert!(ask.ask.reason.contains("rule edit \"*\": ask (/home/user"), "{}", ask.ask.reason);
        ask.select(OptionKind::RejectOnce, None);
    })
    .await;
}

#[tokio::test]
async fn secrets_are_asked_also_behind_a_link() {
    let bench = Bench::new();
    bench.put("/w/.env", "KEY=1\n").put("/w/.env.example", "KEY=\n");
    bench.disk.put_link(&path("/w/harmless"), ".env");
    for name in [".env", "harmless"] {
        let outcome = answered(&bench, "read", json!({"filePath": name}), async |ask| {
            assert!(ask.ask.reason.contains("rule read \"*.env\": ask (built-in default)"), "{}", ask.ask.reason);
            assert!(matches!(&ask.ask.preview, Preview::Access(shown) if shown.contains("/w/.env")));
            ask.select(OptionKind::RejectOnce, Some("no"));
        })
        .await;
        assert!(!outcome.result.text.contains("KEY"), "{}", outcome.result.text);
    }
    no_ask(&bench);
    assert!(bench.done("read", json!({"filePath": ".env.example"})).await.contains("KEY="));
}

/// Whatever the model asks to edit, it learns nothing of a secret without a question: each failure reads the same.
#[tokio::test]
async fn errors_of_edits_tell_nothing_of_what_may_not_be_read() {
    let bench = Bench::trusting();
    bench.put("/w/.env", "KEY=1\nKEY=1\nNAME=x\n");
    bench.disk.put_link(&path("/w/harmless"), ".env");
    for file in [".env", "harmless"] {
        let mut told = std::collections::BTreeSet::new();
        for (old, new) in
            [("PASS=2", "x"), ("PASS=2", "NAME=x"), ("KEY=1", "KEY=2"), ("NAME =x", "NAME= x"), ("KEY=2\n", "y")]
        {
            let input = json!({"filePath": file, "oldString": old, "newString": new});
            told.insert(bench.failed("edit", input).await);
        }
        assert_eq!(told.len(), 1, "{told:#?}");
    }
    bench.put("/ext/secret.txt", "x\n");
    let text = bench.failed("edit", json!({"filePath": "/ext/secret", "oldString": "a", "newString": "b"})).await;
    assert_eq!(text, "/ext/secret does not exist.");
}

#[tokio::test]
async fn errors_of_edits_do_not_quote_what_may_not_be_read() {
    let bench = Bench::trusting();
    bench.put("/w/.env", "KEY=1\n");
    let text = bench.failed("write", json!({"filePath": ".env", "content": "x"})).await;
    assert!(text.contains("you have not read it") && !text.contains("KEY"), "{text}");
    let text = bench.failed("edit", json!({"filePath": ".env", "oldString": "KEY=2", "newString": "x"})).await;
    assert!(text.contains("does not fit") && !text.contains("KEY=1"), "{text}");
}

#[tokio::test]
async fn the_plan_agent_cannot_edit() {
    let bench = Bench::trusting().agent("plan");
    bench.put("/w/a", "one\n");
    bench.open("/w/a", 1, "one\n");
    let text = bench.failed("write", json!({"filePath": "a", "content": "x"})).await;
    assert!(text.contains("denied by rule edit \"*\": deny (guard plan, "), "{text}");
    assert_eq!(bench.text("/w/a"), "one\n");
}

#[tokio::test]
async fn c62_a_link_out_of_the_workspace_is_asked_with_its_target() {
    for name in ["out/new.txt", "doc.txt"] {
        let bench = Bench::trusting();
        bench.disk.put_folder(&path("/tmp/outside"));
        bench.disk.put_link(&path("/w/out"), "/tmp/outside");
        bench.disk.put_link(&path("/w/doc.txt"), "/tmp/outside/new.txt");
        let outcome = answered(&bench, "write", json!({"filePath": name, "content": "x"}), async |ask| {
            let reason = &ask.ask.reason;
            assert!(reason.contains(&format!("/w/{name} is a link, its target is /tmp/outside/new.txt")), "{reason}");
            assert!(reason.contains("rule external_directory \"*\": ask"), "{reason}");
            assert!(bench.files.stat(path("/tmp/outside/new.txt")).await.is_err());
            ask.select(OptionKind::AllowOnce, None);
        })
        .await;
        assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
        assert_eq!(bench.text("/tmp/outside/new.txt"), "x");
    }
}

#[tokio::test]
async fn c62_an_edit_outside_is_one_ask_for_everything() {
    let bench = Bench::new();
    bench.put("/tmp/outside/f", "one\n");
    bench.disk.put_link(&path("/w/doc.txt"), "/tmp/outside/f");
    let input = json!({"filePath": "doc.txt", "content": "two\n"});
    // Reading it is asked too: the refusal would quote it.
    let text = bench.failed("write", input.clone()).await;
    assert!(!text.contains("one"), "{text}");
    let read = answered(&bench, "read", json!({"filePath": "doc.txt"}), async |ask| {
        assert_eq!(ask.ask.preview, Preview::Access("/w/doc.txt -> /tmp/outside/f".to_owned()));
        ask.select(OptionKind::AllowOnce, None);
    })
    .await;
    assert_eq!(read.result.status, ToolStatus::Completed);
    let outcome = answered(&bench, "write", input, async |ask| {
        let reason = &ask.ask.reason;
        assert!(reason.contains("edit doc.txt") && reason.contains("outside of the workspace"), "{reason}");
        assert_eq!(
            ask.ask.options[1].label,
            "Allow for this session: edit doc.txt (a link to /tmp/outside/f); everything below /tmp/outside (agent build)"
        );
        ask.select(OptionKind::AllowAlways, None);
    })
    .await;
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    no_ask(&bench);
    bench.done("read", json!({"filePath": "/tmp/outside/sub/../f"})).await;
    let other = bench.call("read", json!({"filePath": "/tmp/outsider"})).await;
    assert_eq!(other.stop, Some(TurnEnd::Rejected));
}

#[tokio::test]
async fn r10_1_the_files_of_long_outputs_are_read_without_a_question() {
    let bench = Bench::new();
    no_ask(&bench);
    bench.put("/data/tool-output/tool_1", "long\n");
    assert!(bench.done("read", json!({"filePath": "/data/tool-output/tool_1"})).await.contains("long"));
}

#[tokio::test]
async fn edits_are_free_where_the_editor_shows_them_and_asked_elsewhere() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    bench.open("/w/a", 1, "one\n");
    bench.done("read", json!({"filePath": "a"})).await;
    bench.done("write", json!({"filePath": "a", "content": "two\n"})).await;
    assert_eq!(bench.buffer("/w/a"), "two\n");

    bench.editor.free.lock().unwrap().shown = false;
    let outcome = answered(&bench, "write", json!({"filePath": "a", "content": "three\n"}), async |ask| {
        ask.select(OptionKind::AllowOnce, None);
    })
    .await;
    assert_eq!(outcome.result.status, ToolStatus::Completed);
    bench.editor.free.lock().unwrap().shown = true;
    let outcome = answered(&bench, "write", json!({"filePath": "unopened", "content": "x"}), async |ask| {
        ask.select(OptionKind::RejectOnce, None);
    })
    .await;
    assert_eq!(outcome.stop, Some(TurnEnd::Rejected));
}

#[tokio::test]
async fn r20_3_edits_are_free_where_undo_reaches_and_asked_where_it_does_not() {
    let bench = Bench::new();
    no_ask(&bench);
    *bench.editor.free.lock().unwrap() = FreeEdits { shown: false, undoable: true };
    bench.put("/w/a", "one\n");
    bench.open("/w/open", 1, "one\n");
    for file in ["new", "a", "open"] {
        if file != "new" {
            bench.done("read", json!({"filePath": file})).await;
        }
        let input = json!({"filePath": file, "content": "two\n"});
        let outcome = bench.call("write", input).await;
        assert_eq!(outcome.result.status, ToolStatus::Completed, "{file}");
        assert_eq!(outcome.result.allowed_by, [format!("edit {file}: it is shown, and undo takes it back")]);
    }
    // What starts programs, and what lies elsewhere, is asked as before.
    for file in [".git/config", ".env", "/elsewhere/a"] {
        let outcome = bench.call("write", json!({"filePath": file, "content": "two\n"})).await;
        assert_eq!(outcome.stop, Some(TurnEnd::Rejected), "{file}");
    }
    *bench.editor.free.lock().unwrap() = FreeEdits::default();
    for file in ["other", "open"] {
        let outcome = bench.call("write", json!({"filePath": file, "content": "three\n"})).await;
        assert_eq!(outcome.stop, Some(TurnEnd::Rejected), "{file}");
    }
}

/// What an editor shows runs all the same once it is saved.
#[tokio::test]
async fn r20_3_r9_3_files_that_start_programs_or_hold_secrets_are_asked_also_where_they_are_open() {
    let bench = Bench::new();
    no_ask(&bench);
    *bench.editor.free.lock().unwrap() = FreeEdits { shown: true, undoable: true };
    for file in [".vscode/tasks.json", ".nvim.lua", ".husky/pre-push", ".cargo/config.toml"] {
        let place = format!("/w/{file}");
        bench.put(&place, "one\n");
        bench.open(&place, 1, "one\n");
        bench.done("read", json!({"filePath": file})).await;
        let outcome = bench.call("write", json!({"filePath": file, "content": "two\n"})).await;
        assert_eq!(outcome.stop, Some(TurnEnd::Rejected), "{file}");
        assert_eq!(bench.buffer(&place), "one\n", "{file}");
    }
    // Nor by a way around: as the new name of a file that is free.
    bench.put("/w/a", "one\n");
    bench.done("read", json!({"filePath": "a"})).await;
    for to in [".git/hooks/pre-push", ".vscode/settings.json", "../elsewhere/a"] {
        let patch = format!("*** Begin Patch\n*** Update File: a\n*** Move to: {to}\n@@\n-one\n+two\n*** End Patch");
        let outcome = bench.call("apply_patch", json!({"patchText": patch})).await;
        assert_eq!(outcome.stop, Some(TurnEnd::Rejected), "{to}: {}", outcome.result.text);
        assert_eq!(bench.text("/w/a"), "one\n", "{to}");
    }
    // One file that is asked among many that are free.
    let patch =
        "*** Begin Patch\n*** Add File: b\n+b\n*** Delete File: a\n*** Add File: .git/hooks/x\n+x\n*** End Patch";
    let outcome = bench.call("apply_patch", json!({"patchText": patch})).await;
    assert_eq!(outcome.stop, Some(TurnEnd::Rejected), "{}", outcome.result.text);
    assert!(!is_there(&bench, "/w/b") && bench.text("/w/a") == "one\n");
}

/// Freedom is the least of what a user has said.
#[tokio::test]
async fn r20_3_rules_and_plan_stand_where_undo_reaches() {
    let free = FreeEdits { shown: true, undoable: true };
    for verdict in [Verdict::Ask, Verdict::Deny] {
        let bench = Bench::new().rule("edit", "kept/*", verdict);
        no_ask(&bench);
        *bench.editor.free.lock().unwrap() = free;
        let outcome = bench.call("write", json!({"filePath": "kept/a", "content": "x"})).await;
        assert_eq!(outcome.result.status, ToolStatus::Failed, "{verdict:?}");
        assert!(!is_there(&bench, "/w/kept/a"));
        bench.done("write", json!({"filePath": "other", "content": "x"})).await;
    }
    let bench = Bench::new().agent("plan");
    no_ask(&bench);
    *bench.editor.free.lock().unwrap() = free;
    let outcome = bench.call("write", json!({"filePath": "a", "content": "x"})).await;
    assert_eq!(outcome.result.status, ToolStatus::Failed);
    assert!(!is_there(&bench, "/w/a"));
}

#[tokio::test]
async fn commands_are_asked_unless_the_users_rule_allows_them() {
    let bench = Bench::new().rule("bash", "git *", Verdict::Allow).rule("bash", "git push*", Verdict::Deny);
    no_ask(&bench);
    bench.done("bash", json!({"command": "git status"})).await;
    let text = bench.failed("bash", json!({"command": "git push -f"})).await;
    assert!(text.contains("denied by rule bash \"git push*\""), "{text}");
    for command in ["make", "git log; rm -rf x", "git log | sh", "git log $(rm x)", "git log\nrm x", "git log > x"] {
        let outcome = bench.call("bash", json!({"command": command})).await;
        assert_eq!(outcome.stop, Some(TurnEnd::Rejected), "{command}");
    }
}

// The text moves while the ask is open.

#[tokio::test]
async fn c30_a_line_typed_above_while_the_ask_is_open_is_no_new_question() {
    let bench = Bench::new().rule("edit", "*", Verdict::Ask).tool(moving_edit());
    bench.put("/w/a", "one\ntwo\n");
    let uri = bench.open("/w/a", 12, "one\ntwo\n");
    let outcome = answered(&bench, "shout", json!({"filePath": "a"}), async |ask| {
        bench.editor.types(&uri, &crate::workbench::Typing { at: 0, text: "zero\n" });
        ask.select(OptionKind::AllowOnce, None);
    })
    .await;
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    assert_eq!(bench.buffer("/w/a"), "zero\nONE\ntwo\n");
    assert_eq!(bench.editor.requests()[0].documents[0].version, 13);
}

#[tokio::test]
async fn c30_another_content_is_asked_again() {
    let bench = Bench::new().rule("edit", "*", Verdict::Ask).tool(moving_edit());
    bench.put("/w/a", "one\ntwo\n");
    let uri = bench.open("/w/a", 12, "one\ntwo\n");
    let outcome = answered(&bench, "shout", json!({"filePath": "a"}), async |ask| {
        bench.editor.types(&uri, &crate::workbench::Typing { at: 3, text: " and a half" });
        ask.select(OptionKind::AllowOnce, None);
        let again = bench.client.next_ask().await;
        let Preview::Edit(diffs) = &again.ask.preview else { panic!("{:?}", again.ask) };
        assert_eq!(diffs[0].text_after(), "ONE and a half\ntwo\n");
        again.select(OptionKind::RejectOnce, None);
    })
    .await;
    assert_eq!(outcome.stop, Some(TurnEnd::Rejected));
    assert_eq!(bench.buffer("/w/a"), "one and a half\ntwo\n");
}

/// The same words at another place are not what was shown.
#[tokio::test]
async fn r4_3_an_edit_that_would_land_elsewhere_is_asked_again() {
    let bench = Bench::new().rule("edit", "*", Verdict::Ask);
    let before = "fn a() {\n    stop();\n}\nfn b() {\n}\n";
    bench.put("/w/a", before);
    let input = json!({"filePath": "a", "oldString": "    stop();\n", "newString": "    go();\n"});
    let outcome = answered(&bench, "edit", input, async |ask| {
        bench.put("/w/a", "fn a() {\n}\nfn b() {\n    stop();\n}\n");
        ask.select(OptionKind::AllowOnce, None);
        let again = bench.client.next_ask().await;
        let Preview::Edit(diffs) = &again.ask.preview else { panic!("{:?}", again.ask) };
        assert_eq!(diffs[0].text_after(), "fn a() {\n}\nfn b() {\n    go();\n}\n");
        again.select(OptionKind::RejectOnce, Some("not there"));
    })
    .await;
    assert_eq!(outcome.result.status, ToolStatus::Failed);
    assert!(bench.text("/w/a").contains("stop"));
}

/// Without a preview the arguments are what the user sees: others need an ask of their own.
#[tokio::test]
async fn r4_3_asks_without_a_preview_are_one_only_for_equal_arguments() {
    let toy = ToyTool::new("toy", Toy::Echo, "toy", Boundaries::default());
    let bench = Bench::new().rule("toy", "*", Verdict::Ask).tool(toy);
    let runner = bench.runner();
    let run = |id: &'static str, text: &str| runner.run(call(id, "toy", &json!({"text": text}).to_string()));
    let (first, second, ()) = tokio::join!(run("call_1", "harmless"), run("call_2", "harmful"), async {
        let first = bench.client.next_ask().await;
        assert_eq!(first.ask.input, json!({"text": "harmless"}));
        first.select(OptionKind::AllowOnce, None);
        bench.client.next_ask().await.select(OptionKind::RejectOnce, Some("no"));
    });
    assert_eq!((first.result.status, second.result.status), (ToolStatus::Completed, ToolStatus::Failed));
}

/// Invisible characters of a path show wherever the user is told of it.
#[tokio::test]
async fn r8_4_nothing_hides_in_the_path_of_an_ask() {
    let bench = Bench::new().rule("*", "*", Verdict::Ask);
    let name = "a\u{202e}txt.\u{200b}\nrs";
    bench.put(&format!("/ext/{name}/f"), "x\n").put(&format!("/w/{name}"), "x\n");
    let calls = [
        ("read", json!({"filePath": name})),
        ("read", json!({"filePath": format!("/ext/{name}/f")})),
        ("edit", json!({"filePath": name, "oldString": "x", "newString": "y"})),
        ("bash", json!({"command": "ls", "workdir": format!("/ext/{name}")})),
    ];
    for (tool, input) in calls {
        answered(&bench, tool, input, async |ask| {
            let mut shown = vec![ask.ask.title.clone(), ask.ask.reason.clone()];
            shown.extend(ask.ask.options.iter().map(|option| option.label.clone()));
            match &ask.ask.preview {
                Preview::Access(text) => shown.push(text.clone()),
                Preview::Command { folder, notes, .. } => shown.extend(notes.iter().chain([folder]).cloned()),
                Preview::Nothing | Preview::Edit(_) => {}
            }
            for text in &shown {
                assert!(!text.contains(['\u{202e}', '\u{200b}', '\n']), "{tool}: {text:?}");
            }
            assert!(shown.iter().any(|text| text.contains("\\u{202e}")), "{tool}: {shown:?}");
            ask.select(OptionKind::RejectOnce, Some("no"));
        })
        .await;
    }
}

/// A diff is drawn by the client, which may show nothing of them.
#[tokio::test]
async fn r8_4_an_ask_names_what_does_not_show_in_an_edit() {
    let bench = Bench::new().rule("edit", "*", Verdict::Ask);
    bench.put("/w/a", "one\u{a0}two\r\n");
    for (new, named) in [("x\u{202e}y\u{200b}", Some("U+200B, U+202E")), ("x\u{a0}y\tz\n\u{e9}", None)] {
        let input = json!({"filePath": "a", "oldString": "one", "newString": new});
        answered(&bench, "edit", input, async |ask| {
            let warning = named.map(|named| format!("; the new text holds characters that do not show: {named}"));
            match warning {
                Some(warning) => assert!(ask.ask.reason.ends_with(&warning), "{}", ask.ask.reason),
                None => assert!(!ask.ask.reason.contains("do not show"), "{}", ask.ask.reason),
            }
            ask.select(OptionKind::RejectOnce, Some("no"));
        })
        .await;
    }
}

// Order, ends, faults.

/// The calls run beside each other, the first is asked, and answered when the others had all the time to overtake it.
async fn in_one_step(bench: &Bench, calls: [(&'static str, Value); 3]) -> Vec<CallOutcome> {
    let runner = bench.runner();
    let ids = ["call_1", "call_2", "call_3"];
    let runs = ids.into_iter().zip(calls).map(|(id, (name, input))| runner.run(call(id, name, &input.to_string())));
    let answer = async {
        let ask = bench.client.next_ask().await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        ask.select(OptionKind::AllowAlways, None);
    };
    let (outcomes, ()) = tokio::join!(futures::future::join_all(runs), answer);
    for outcome in &outcomes {
        assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    }
    outcomes
}

fn write_new(text: &str) -> (&'static str, Value) {
    ("write", json!({"filePath": "new", "content": text}))
}

#[tokio::test]
async fn calls_of_one_step_take_effect_in_their_order() {
    let bench = Bench::new().rule("bash", "*", Verdict::Allow);
    bench.shell.will(|disk| {
        use copydesk_workspace::disk::Disk;
        let text = disk.read(&path("/w/new")).map_or("nothing".to_owned(), |bytes| String::from_utf8(bytes).unwrap());
        crate::workbench::printed(&text)
    });
    let calls = [write_new("fresh\n"), ("read", json!({"filePath": "new"})), ("bash", json!({"command": "cat new"}))];
    let outcomes = in_one_step(&bench, calls).await;
    assert!(outcomes[1].result.text.contains("1: fresh"), "{}", outcomes[1].result.text);
    assert!(outcomes[2].result.text.starts_with("fresh"), "{}", outcomes[2].result.text);
}

#[tokio::test]
async fn what_fails_beside_an_earlier_call_is_tried_after_it() {
    let bench = Bench::new();
    let edit = ("edit", json!({"filePath": "new", "oldString": "fresh", "newString": "fresher"}));
    let calls = [write_new("fresh\n"), edit, ("read", json!({"filePath": "new"}))];
    let outcomes = in_one_step(&bench, calls).await;
    assert!(outcomes[2].result.text.contains("1: fresher"), "{}", outcomes[2].result.text);
}

#[tokio::test]
async fn two_prepared_changes_of_one_file_come_one_after_the_other() {
    let bench = Bench::new();
    let calls = [write_new("fresh\n"), write_new("fresher\n"), ("read", json!({"filePath": "new"}))];
    let outcomes = in_one_step(&bench, calls).await;
    assert_eq!(outcomes[1].result.text, "Changed new: 1 line added, 1 removed.");
    assert!(outcomes[2].result.text.contains("1: fresher"), "{}", outcomes[2].result.text);
}

#[tokio::test]
async fn a_panic_is_one_calls_fault() {
    let bench = Bench::new().tool(ToyTool::new("toy", Toy::Panic, "read", Boundaries::default()));
    let runner = bench.runner();
    let outcome = runner.run(call("call_1", "toy", "{}")).await;
    assert_eq!(outcome.result.status, ToolStatus::Failed);
    assert!(outcome.result.text.starts_with("toy failed by a fault inside Copydesk"), "{}", outcome.result.text);
    let outcome = runner.run(call("call_2", "todowrite", r#"{"todos":[]}"#)).await;
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
}

#[tokio::test]
async fn a_fatal_error_ends_the_turn() {
    let bench = Bench::new().tool(ToyTool::new("toy", Toy::Fatal, "read", Boundaries::default()));
    let outcome = bench.call("toy", json!({})).await;
    assert_eq!(outcome.stop, Some(TurnEnd::Failed { message: "the toy has burnt down".to_owned() }));
}

async fn cancelled_while(runner: &Runner, bench: &Bench, name: &str, input: &str, running: bool) -> CallOutcome {
    let (outcome, ()) = tokio::join!(runner.run(call("call_1", name, input)), async {
        if running {
            bench
                .client
                .wait_for(
                    |event| matches!(event, SessionEvent::ToolCallUpdate(view) if view.state == ToolCallState::Running),
                )
                .await;
        } else {
            let ask = bench.client.next_ask().await;
            bench.cancel.cancel();
            drop(ask);
        }
        bench.cancel.cancel();
    });
    outcome
}

#[tokio::test]
async fn a_cancel_ends_asks_and_tools_even_deaf_ones() {
    let bench = Bench::new();
    let outcome = cancelled_while(&bench.runner(), &bench, "bash", r#"{"command":"make"}"#, false).await;
    assert_eq!((outcome.result.status, outcome.stop), (ToolStatus::Cancelled, None));
    assert!(bench.shell.commands().is_empty());
    for toy in [Toy::Hang, Toy::Deaf] {
        let bench = Bench::new().tool(ToyTool::new("toy", toy, "read", Boundaries::default()));
        let outcome = cancelled_while(&bench.runner(), &bench, "toy", "{}", true).await;
        assert_eq!(outcome.result.status, ToolStatus::Cancelled);
    }
    let bench = Bench::new().rule("bash", "*", Verdict::Allow);
    let outcome = cancelled_while(&bench.runner(), &bench, "bash", r#"{"command":"hang"}"#, true).await;
    assert_eq!(outcome.result.status, ToolStatus::Cancelled);
    assert_eq!(outcome.result.text, "partly\n[cancelled by the user: ended with all its processes]");
}

#[tokio::test]
async fn r2_4_a_cancelled_turn_writes_nothing() {
    let bench = Bench::trusting();
    bench.cancel.cancel();
    let outcome = bench.call("write", write_a()).await;
    assert_eq!(outcome.result.status, ToolStatus::Cancelled);
    assert!(bench.files.stat(path("/w/a")).await.is_err());
}

#[tokio::test]
async fn the_client_is_told_of_running_and_output() {
    let bench = Bench::new().rule("bash", "*", Verdict::Allow).rule("edit", "*", Verdict::Allow);
    let (outcome, ()) = tokio::join!(bench.call("bash", json!({"command": "hang"})), async {
        let shown = |event: &SessionEvent| match event {
            SessionEvent::ToolCallUpdate(view) => view.state == ToolCallState::Running && view.text == "hang\n",
            _ => false,
        };
        bench.client.wait_for(shown).await;
        bench.cancel.cancel();
    });
    let SessionEvent::ToolCallUpdate(first) = bench.client.events().remove(0) else { panic!() };
    assert_eq!((first.name.as_str(), first.title.as_str(), first.state), ("bash", "hang", ToolCallState::Running));
    assert_eq!(outcome.view.state, ToolCallState::Ended(ToolStatus::Cancelled));
    assert_eq!(outcome.view.text, outcome.result.text);
}

#[tokio::test]
async fn r21_1_of_the_output_so_far_the_client_is_told_the_end() {
    for (line, count, kept) in [("# line", 3000, 200), ("#x", 1, 1)] {
        let bench = Bench::new().rule("bash", "*", Verdict::Allow);
        bench.client.answer_all(OptionKind::AllowOnce);
        let long = format!("{line}{}\n", "x".repeat(if count == 1 { 20_000 } else { 10 }));
        let (_, ()) = tokio::join!(
            bench.call("bash", json!({"command": format!("hang\n{}", long.repeat(count).trim_end())})),
            async {
                let SessionEvent::ToolCallUpdate(view) = bench
                    .client
                    .wait_for(|event| matches!(event, SessionEvent::ToolCallUpdate(view) if view.text.contains('x')))
                    .await
                else {
                    panic!()
                };
                let output = view.text.strip_prefix("[What came before is left out here.]\n").unwrap();
                assert!(output.len() <= 16 * 1024 && output.lines().count() <= kept, "{}", output.len());
                assert!(output.ends_with("xx\n"), "{output}");
                bench.cancel.cancel();
            }
        );
    }
}

#[tokio::test]
async fn r10_1_a_long_result_is_cut_and_kept_in_a_file() {
    let mut bench = Bench::new().tool(ToyTool::new("toy", Toy::Echo, "read", Boundaries::default()));
    bench.facts.max_bytes = 2000;
    let long = "x".repeat(5000);
    let text = bench.done("toy", json!({"text": long})).await;
    let (kept, note) = text.split_once("\n\n[").unwrap();
    assert!(kept.len() <= 2000 && note.contains("bytes, are left out here"), "{note}");
    let file = note.split("The whole output is in ").nth(1).unwrap().split(':').next().unwrap();
    assert_eq!(bench.text(file), format!("{{\"text\":\"{long}\"}}"));
}

/// An edit that finds its place again in a text that moved: `one` becomes `ONE`.
fn moving_edit() -> std::sync::Arc<dyn crate::tool::AnyTool> {
    crate::tool::erase(shout::Shout)
}

mod shout {
    use copydesk_workspace::edit::{EditSet, TextEdit};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::Value;

    use crate::message::FileDiff;
    use crate::ports::Preview;
    use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};
    use crate::view::FileEdit;

    pub(super) struct Shout;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Input {
        file_path: String,
    }

    impl Tool for Shout {
        type Input = Input;
        type Prepared = FileEdit;

        const NAME: &'static str = "shout";
        const KIND: ToolKind = ToolKind::Edit;
        const GATE: Gate = Gate::Exclusive;

        fn description(&self, _facts: &Facts) -> String {
            String::new()
        }

        fn title(&self, _partial: &Value, _facts: &Facts) -> String {
            "Shout".to_owned()
        }

        fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
            Ok(vec![Access::Write(facts.folder.join(&input.file_path))])
        }

        async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<FileEdit>, ToolError> {
            let base = ctx.view.snapshot(&ctx.facts.folder.join(&input.file_path)).await?;
            let text = base.text.to_string();
            let at = text.find("one").unwrap();
            let edit = TextEdit { range: at..at + 3, text: "ONE".to_owned() };
            let edits = EditSet::new(&base.text, vec![edit]).unwrap();
            let after = Some(edits.apply(&base.text).unwrap());
            let before = Some(base.text.clone());
            let preview = Preview::Edit(vec![FileDiff { path: base.path.clone(), before, after }]);
            Ok(Prepared { value: FileEdit::Modify { base, edits }, preview })
        }

        async fn commit(&self, edit: FileEdit, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
            ctx.view.apply(vec![edit], &ctx.label, &ctx.cancel).await?;
            Ok(ToolOutput { text: "done".to_owned(), ..ToolOutput::default() })
        }
    }
}

fn is_there(bench: &Bench, file: &str) -> bool {
    use copydesk_workspace::disk::Disk as _;
    bench.disk.read(&path(file)).is_ok()
}
