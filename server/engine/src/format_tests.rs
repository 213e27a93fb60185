//! Through the tools that edit, with a shell that plays the formatter.

use copydesk_workspace::disk::Disk as _;
use serde_json::{Value, json};

use super::*;
use crate::event::SessionEvent;
use crate::message::ToolStatus;
use crate::permission::{Guard, Guards, Verdict};
use crate::ports::{Confinement, OptionKind, Preview};
use crate::workbench::{Act, Answer, Bench, Stuck, path};

const EDIT: &str = "edit";

fn all() -> Formatters {
    Formatters::On(BTreeMap::new())
}

fn named<const N: usize>(formatters: [(&str, FormatterSettings); N]) -> Formatters {
    Formatters::On(formatters.into_iter().map(|(name, settings)| (name.to_owned(), settings)).collect())
}

fn edit(file: &str, old: &str, new: &str) -> Value {
    json!({ "filePath": file, "oldString": old, "newString": new })
}

/// Blanks around each `=`.
fn spaced(_: &str, text: &str) -> Result<String, (i32, &'static str)> {
    Ok(text.replace(" = ", "=").replace('=', " = "))
}

fn bench(formatters: Formatters) -> Bench {
    let bench = Bench::trusting().formatting(formatters);
    bench.shell.formats(spaced);
    bench
}

/// The programs that were started, in order.
fn started(bench: &Bench) -> Vec<String> {
    let program = |text: &str| text.lines().last().unwrap().split(' ').next().unwrap().trim_matches('\'').to_owned();
    bench.shell.commands().iter().map(|command| program(&command.command)).collect()
}

#[tokio::test]
async fn without_the_key_nothing_is_formatted() {
    let bench = bench(Formatters::default());
    bench.put("/w/a.go", "a=1\n");
    bench.done(EDIT, edit("a.go", "a=1", "a=2")).await;
    assert_eq!(bench.text("/w/a.go"), "a=2\n");
    assert!(bench.shell.commands().is_empty());
}

#[tokio::test]
async fn r6_4_the_model_is_told_what_a_formatter_changed_and_its_next_edit_matches() {
    let bench = bench(all());
    bench.put("/w/a.go", "x\ny\n");
    bench.done("read", json!({ "filePath": "a.go" })).await;
    let text = bench.done(EDIT, edit("a.go", "x", "a=1")).await;
    assert!(text.contains("gofmt formatted it, so that it differs from what you gave:"), "{text}");
    assert!(text.contains("-a=1\n+a = 1"), "{text}");
    assert_eq!(bench.text("/w/a.go"), "a = 1\ny\n");
    // What it knows is the formatted text: neither is it told that the file is another one, nor refused to replace it.
    let text = bench.done(EDIT, edit("a.go", "a = 1", "a = 2")).await;
    assert!(!text.contains("formatted"), "{text}");
    bench.done("write", json!({ "filePath": "a.go", "content": "b=1\n" })).await;
    assert_eq!(bench.text("/w/a.go"), "b = 1\n");
    // Nothing of it stays.
    let left = |folder: &str| bench.disk.list(&path(folder)).unwrap().len();
    assert_eq!((left("/data/tool-output"), left("/tmp/copydesk")), (0, 0));
}

#[tokio::test]
async fn a_much_changed_file_is_to_be_read_again() {
    let bench = bench(all());
    let content = "a=1\n".repeat(2000);
    let text = bench.done("write", json!({ "filePath": "a.go", "content": content })).await;
    assert!(text.contains("read the file before the next edit of it") && text.len() < 1000, "{text}");
    let text = bench.failed("write", json!({ "filePath": "a.go", "content": "b\n" })).await;
    assert!(text.contains("you have not read it"), "{text}");
}

#[tokio::test]
async fn r6_2_an_open_document_is_formatted_in_the_buffer_as_one_undo_step() {
    let bench = bench(all());
    bench.put("/w/a.go", "old\n");
    bench.open("/w/a.go", 3, "x\nunsaved\n");
    bench.done(EDIT, edit("a.go", "x", "a=1")).await;
    assert_eq!(bench.buffer("/w/a.go"), "a = 1\nunsaved\n");
    assert_eq!(bench.text("/w/a.go"), "old\n");
    let requests = bench.editor.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].label.as_str(), requests[0].documents[0].version), ("Copydesk: edit a.go", 3));
    // The text went to the formatter, not the file.
    let command = &bench.shell.commands()[0].command;
    assert!(!command.contains("/w/a.go"), "{command}");
}

#[tokio::test]
async fn r4_3_what_is_asked_is_the_formatted_text() {
    let bench = Bench::new().formatting(all());
    bench.shell.formats(spaced);
    bench.editor.free.lock().unwrap().shown = false;
    bench.put("/w/a.go", "x\n");
    bench.client.answer_all(OptionKind::AllowOnce);
    bench.done(EDIT, edit("a.go", "x", "a=1")).await;
    let asks = bench.client.asks();
    let Preview::Edit(diffs) = &asks[0].preview else { unreachable!("an edit") };
    assert_eq!(diffs[0].text_after(), "a = 1\n");
    assert_eq!(bench.text("/w/a.go"), "a = 1\n");
}

#[tokio::test]
async fn a_formatter_that_fails_changes_nothing_and_is_told() {
    for (answer, says) in [
        (Err((2, "1:5: expected operand\n")), "The formatter gofmt failed and changed nothing: 1:5: expected operand"),
        (Err((2, "\u{1b}[31mERROR\u{1b}[0m: syntax\n")), "changed nothing: ERROR: syntax"),
        (Err((3, "")), "it ended with code 3"),
        (Ok(String::new()), "it answered with an empty text"),
    ] {
        let bench = bench(all());
        bench.shell.formats(move |_, _| answer.clone());
        bench.put("/w/a.go", "x\n");
        let text = bench.done(EDIT, edit("a.go", "x", "a=1")).await;
        assert!(text.contains(says), "{text}");
        assert_eq!(bench.text("/w/a.go"), "a=1\n");
    }
}

/// Those that say so otherwise than by giving the text back.
#[tokio::test]
async fn a_formatter_that_leaves_a_file_alone_has_not_failed() {
    let check = async |manifest: (&str, &str), answer: fn(&str) -> Answer, says: Option<&str>| {
        let mut bench = bench(all());
        bench.config.guards = Guards::without([Guard::Trust]);
        bench.shell.answers(move |_, text| answer(text));
        bench.put(&format!("/w/{}", manifest.0), manifest.1).put("/w/a.json", "x\n");
        let text = bench.done(EDIT, edit("a.json", "x", "y")).await;
        assert_eq!((bench.text("/w/a.json"), started(&bench).len()), ("y\n".to_owned(), 1));
        assert_eq!(text.contains("format"), says.is_some(), "{text}");
        assert!(says.is_none_or(|says| text.contains(says)), "{text}");
    };
    let prettier = ("package.json", r#"{"devDependencies": {"prettier": "3"}}"#);
    check(prettier, |_| Answer { code: 0, words: "", text: String::new() }, None).await;
    check(prettier, |_| Answer { code: 2, words: "SyntaxError", text: String::new() }, Some("SyntaxError")).await;
    let biome = ("biome.json", "{}");
    check(biome, |text| Answer { code: 1, words: "It is disabled.", text: text.to_owned() }, None).await;
    check(biome, |_| Answer { code: 1, words: "1:1 parse", text: String::new() }, Some("1:1 parse")).await;
    check(biome, |text| Answer { code: 2, words: "Broken.", text: text.to_owned() }, Some("Broken.")).await;
    // Its words say more than that it has none.
    check(biome, |_| Answer { code: 0, words: "1:7 expecting", text: String::new() }, Some("1:7 expecting")).await;
}

#[tokio::test]
async fn an_edit_that_the_formatter_takes_back_is_no_success() {
    let bench = bench(all());
    bench.put("/w/a.go", "a = 1\n");
    let text = bench.failed(EDIT, edit("a.go", "a = 1", "a=1")).await;
    assert!(text.contains("gofmt formats the new text to what is there already"), "{text}");
}

#[tokio::test]
async fn r1_2_line_endings_and_the_mark_stay() {
    let bench = bench(all());
    bench.shell.formats(|command, text| spaced(command, &text.replace("\r\n", "\n")));
    bench.put("/w/a.go", "\u{feff}x\r\ny=1\r\n");
    bench.done(EDIT, edit("a.go", "x", "a=1")).await;
    assert_eq!(bench.text("/w/a.go"), "\u{feff}a = 1\r\ny = 1\r\n");
    bench.done("write", json!({ "filePath": "b.go", "content": "\u{feff}a=1\n" })).await;
    assert_eq!(bench.text("/w/b.go"), "\u{feff}a = 1\n");
}

#[tokio::test]
async fn a_patch_is_formatted_file_by_file() {
    let bench = bench(all());
    bench.put("/w/a.go", "x\n").put("/w/c.go", "x=1\n").put("/w/d.go", "x=1\n");
    let patch = "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+a=1\n*** Add File: b.go\n+b=1\n*** Update File: c.go\n*** Move to: e.go\n*** Delete File: d.go\n*** End Patch";
    let text = bench.done("apply_patch", json!({ "patchText": patch })).await;
    assert_eq!((bench.text("/w/a.go"), bench.text("/w/b.go")), ("a = 1\n".to_owned(), "b = 1\n".to_owned()));
    // Only moved, it is as it was.
    assert_eq!(bench.text("/w/e.go"), "x=1\n");
    assert_eq!((started(&bench).len(), text.matches("gofmt formatted it").count()), (2, 2), "{text}");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_passed_over_and_not_tried_again() {
    let bench = bench(all());
    bench.shell.formats(|_, _| Err((127, "bash: gofmt: command not found")));
    bench.put("/w/a.go", "x\n");
    let text = bench.done(EDIT, edit("a.go", "x", "y")).await;
    assert!(!text.contains("gofmt"), "{text}");
    bench.done(EDIT, edit("a.go", "y", "z")).await;
    assert_eq!(started(&bench), ["gofmt"]);
    // One that the configuration names is missed.
    let own = FormatterSettings {
        command: Some(vec!["own".to_owned()]),
        extensions: Some(vec![".own".to_owned()]),
        ..FormatterSettings::default()
    };
    let bench = self::bench(named([("own", own)]));
    bench.shell.formats(|_, _| Err((127, "bash: own: command not found")));
    bench.put("/w/a.own", "x\n");
    let text = bench.done(EDIT, edit("a.own", "x", "y")).await;
    assert!(text.contains("own: command not found"), "{text}");
}

#[tokio::test]
async fn r19_1_programs_of_the_repository_run_only_where_it_is_trusted() {
    let check = async |bench: &Bench, expected: &[&str]| {
        bench.put("/w/src/a.ts", "x\n").put("/w/package.json", r#"{"devDependencies": {"prettier": "3"}}"#);
        bench.put("/w/node_modules/.bin/prettier", "#!/bin/sh\n");
        bench.done(EDIT, edit("src/a.ts", "x", "y")).await;
        assert_eq!(started(bench), expected);
    };
    let notices = |bench: &Bench| {
        let is_told = |event: &SessionEvent| matches!(event, SessionEvent::Notice { text, .. } if text.contains("prettier is not run"));
        bench.client.events().iter().filter(|event| is_told(event)).count()
    };
    let untrusted = bench(all());
    check(&untrusted, &[]).await;
    untrusted.done(EDIT, edit("src/a.ts", "y", "z")).await;
    assert_eq!(notices(&untrusted), 1);
    let mut trusted = bench(all());
    trusted.config.guards = Guards::without([Guard::Trust]);
    check(&trusted, &["/w/node_modules/.bin/prettier"]).await;
    // That the user names it is his word for his own program, not for the repository's.
    check(&bench(named([("prettier", FormatterSettings::default())])), &["prettier"]).await;
}

#[tokio::test]
async fn conditions_are_those_of_the_formatters() {
    let check = async |files: &[(&str, &str)], file: &str, expected: &[&str]| {
        let bench = bench(all());
        for (name, text) in files {
            bench.put(&format!("/w/{name}"), *text);
        }
        bench.done("write", json!({ "filePath": file, "content": "x\n" })).await;
        assert_eq!(started(&bench), expected, "{files:?} {file}");
    };
    check(&[], "src/a.c", &[]).await;
    check(&[(".clang-format", "")], "src/a.c", &["clang-format"]).await;
    check(&[(".ocamlformat", "")], "a.ml", &["ocamlformat"]).await;
    check(&[("biome.json", "{}")], "src/a.json", &["biome"]).await;
    check(&[], "a.json", &[]).await;
    check(&[("pyproject.toml", "[tool.ruff]\n")], "src/a.py", &["ruff"]).await;
    check(&[("requirements.txt", "ruff==1\n"), ("ruff.toml", "")], "a.py", &["ruff"]).await;
    check(&[], "a.py", &["uv"]).await;
    check(&[], "a.html.erb", &["htmlbeautifier"]).await;
    check(&[], "a.rs", &["rustfmt"]).await;
    check(&[], "rs", &[]).await;
}

#[tokio::test]
async fn disabling_ruff_or_uv_disables_both() {
    for name in ["ruff", "uv"] {
        let off = FormatterSettings { disabled: true, ..FormatterSettings::default() };
        let bench = bench(named([(name, off)]));
        bench.put("/w/ruff.toml", "").put("/w/a.py", "x\n");
        bench.done(EDIT, edit("a.py", "x", "y")).await;
        assert_eq!(started(&bench), [""; 0], "{name}");
    }
}

#[tokio::test]
async fn rustfmt_gets_the_edition_of_the_crate() {
    let bench = bench(all());
    bench.put("/w/Cargo.toml", "[workspace.package]\nedition = \"2024\"\n");
    bench.put("/w/one/Cargo.toml", "[package]\nedition.workspace = true\n").put("/w/one/src/a.rs", "x\n");
    bench.done(EDIT, edit("one/src/a.rs", "x", "y")).await;
    let commands = bench.shell.commands();
    assert!(commands[0].command.contains("'--edition' '2024' <"), "{}", commands[0].command);
    // Where it finds its configuration.
    assert_eq!(commands[0].folder, path("/w/one/src"));
}

/// Some know their configuration by the folder in which they run.
#[tokio::test]
async fn a_formatter_runs_where_it_finds_its_configuration() {
    let check = async |files: &[&str], file: &str, folder: &str| {
        let mut bench = bench(all());
        bench.config.guards = Guards::without([Guard::Trust]);
        for name in files {
            bench.put(&format!("/w/{name}"), "");
        }
        bench.put(&format!("/w/{file}"), "x\n");
        bench.done(EDIT, edit(file, "x", "y")).await;
        let folders: Vec<_> = bench.shell.commands().into_iter().map(|command| command.folder).collect();
        assert_eq!(folders, [path(folder)], "{file}");
    };
    check(&["web/biome.json"], "web/src/a.ts", "/w/web/src").await;
    check(&[], "app/src/a.kt", "/w/app/src").await;
    check(&["apps/one/.formatter.exs", ".formatter.exs"], "apps/one/lib/a.ex", "/w/apps/one").await;
    check(&[], "lib/a.ex", "/w").await;
    check(&[], "pkg/a.go", "/w").await;
}

#[tokio::test]
async fn a_formatter_only_reads_the_workspace_and_has_no_network() {
    let bench = bench(all());
    bench.shell.enforce();
    bench.put("/w/a.go", "x\n");
    bench.done(EDIT, edit("a.go", "x", "y")).await;
    let commands = bench.shell.commands();
    let Confinement::Sandbox(policy) = &commands[0].confinement else { unreachable!("there is a sandbox") };
    assert!(policy.writable.is_empty() && !policy.network, "{policy:?}");
    assert_eq!(commands[0].hidden_vars, ["OPENAI_API_KEY"]);
}

#[tokio::test]
async fn a_command_of_the_user_gets_a_copy_beside_the_file() {
    let own = FormatterSettings {
        command: Some(["own fmt", "--write", "$FILE"].map(str::to_owned).to_vec()),
        extensions: Some(vec!["own".to_owned()]),
        environment: [("STYLE".to_owned(), "it's".to_owned()), ("no name".to_owned(), String::new())].into(),
        ..FormatterSettings::default()
    };
    let bench = bench(named([("own", own)]));
    bench.shell.enforce();
    bench.put("/w/src/it's.own", "x\n");
    bench.done(EDIT, edit("src/it's.own", "x", "a=1")).await;
    assert_eq!(bench.text("/w/src/it's.own"), "a = 1\n");
    let commands = bench.shell.commands();
    let text = &commands[0].command;
    let id = text.split(".copydesk-").nth(1).unwrap().split('\'').next().unwrap();
    let text = text.replace(id, "ID");
    let expected = [
        "umask 077",
        "mkdir -p -- '/tmp/copydesk' || exit",
        r"export STYLE='it'\''s'",
        "mkdir -- '/w/src/.copydesk-ID' 2>/dev/null || { echo 'the folder of the file does not exist yet'; exit 1; }",
        r"trap 'rm -rf -- '''\''/w/src/.copydesk-ID'\''' EXIT",
        r"cat <'/data/tool-output/ID' >'/w/src/.copydesk-ID/it'\''s.own' && 'own fmt' '--write' '/w/src/.copydesk-ID/it'\''s.own' && cat <'/w/src/.copydesk-ID/it'\''s.own' >'/tmp/copydesk/ID.out'",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    let Confinement::Sandbox(policy) = &commands[0].confinement else { unreachable!("there is a sandbox") };
    assert_eq!(policy.writable, [path("/w/src")]);
}

#[tokio::test]
async fn an_edit_that_the_editor_refuses_is_formatted_for_the_new_text() {
    let bench = bench(all());
    bench.put("/w/a.go", "x\ny\n");
    bench.open("/w/a.go", 1, "x\ny\n");
    bench.editor.will(Act::Refuse);
    bench.done(EDIT, edit("a.go", "x", "a=1")).await;
    assert_eq!(bench.buffer("/w/a.go"), "a = 1\ny\n");
}

/// What comes back is no reason to lose the edit, nor the file.
#[tokio::test]
async fn a_formatter_that_answers_no_text_of_the_file_changes_nothing_and_the_edit_stands() {
    for (answer, says) in [
        ("a\0b\n", "its answer is no text"),
        ("\u{1}\u{2}\u{3}\u{4}\u{5}\n", "its answer is no text"),
        ("\n", "it answered with an empty text"),
        (" \t\r\n", "it answered with an empty text"),
    ] {
        let bench = bench(all());
        bench.shell.formats(move |_, _| Ok(answer.to_owned()));
        bench.put("/w/a.go", "x\n");
        let text = bench.done(EDIT, edit("a.go", "x", "a=1")).await;
        assert!(text.contains("The formatter gofmt failed and changed nothing") && text.contains(says), "{text}");
        assert_eq!(bench.text("/w/a.go"), "a=1\n", "{answer:?}");
        bench.done("write", json!({ "filePath": "new.go", "content": "b=1\n" })).await;
        assert_eq!(bench.text("/w/new.go"), "b=1\n", "{answer:?}");
    }
    // An empty one may stay empty.
    let bench = bench(all());
    bench.shell.formats(|_, _| Ok("\n".to_owned()));
    bench.put("/w/a.go", "x\n");
    bench.done(EDIT, edit("a.go", "x", "")).await;
    assert_eq!(bench.text("/w/a.go"), "\n");
}

#[tokio::test]
async fn r1_2_a_mark_that_a_formatter_puts_in_front_is_not_taken() {
    let bench = bench(all());
    bench.shell.formats(|command, text| spaced(command, text).map(|text| format!("\u{feff}{text}")));
    bench.put("/w/a.go", "x\n").put("/w/b.go", "\u{feff}x\n");
    bench.done(EDIT, edit("a.go", "x", "a=1")).await;
    bench.done(EDIT, edit("b.go", "x", "a=1")).await;
    bench.done("write", json!({ "filePath": "c.go", "content": "a=1\n" })).await;
    assert_eq!((bench.text("/w/a.go").as_str(), bench.text("/w/c.go").as_str()), ("a = 1\n", "a = 1\n"));
    assert_eq!(bench.text("/w/b.go"), "\u{feff}a = 1\n");
}

#[tokio::test]
async fn r8_5_what_a_formatter_changed_is_not_shown_of_a_file_that_the_model_may_not_read() {
    for verdict in [Verdict::Ask, Verdict::Deny] {
        let bench = bench(all()).rule("read", "*secret*", verdict);
        bench.put("/w/secret.go", "token=123\nx\n");
        let outcome = bench.call(EDIT, edit("secret.go", "x", "y")).await;
        if outcome.result.status == ToolStatus::Completed {
            assert_eq!(bench.text("/w/secret.go"), "token = 123\ny\n");
            assert!(outcome.result.text.contains("gofmt formatted it"), "{}", outcome.result.text);
        }
        assert!(!outcome.result.text.contains("123"), "{}", outcome.result.text);
    }
}

/// However the call ends: in the folder of the file nothing of it stays.
#[tokio::test]
async fn a_formatter_that_is_cut_short_leaves_nothing_behind() {
    let own = || FormatterSettings {
        command: Some(["own", "$FILE"].map(str::to_owned).to_vec()),
        extensions: Some(vec!["own".to_owned()]),
        ..FormatterSettings::default()
    };
    // Killed, so that its own tidying up did not come to pass; or left by a turn that was cancelled.
    for stuck in [Stuck::Killed, Stuck::UntilCancelled] {
        let bench = bench(named([("own", own())]));
        bench.shell.sticks(stuck);
        bench.put("/w/a.own", "x\n");
        let names = |folder: &str| {
            let entries = bench.disk.list(&path(folder)).unwrap_or_default();
            entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        let (outcome, ()) = tokio::join!(bench.call(EDIT, edit("a.own", "x", "y")), async {
            if stuck == Stuck::UntilCancelled {
                settled(|| names("/w").len() == 2).await;
                bench.cancel.cancel();
            }
        });
        let expected = if stuck == Stuck::Killed { ToolStatus::Completed } else { ToolStatus::Cancelled };
        assert_eq!(outcome.result.status, expected, "{}", outcome.result.text);
        settled(|| (names("/w"), names("/data/tool-output")) == (vec!["a.own".to_owned()], Vec::new())).await;
    }
}

/// Waits for it, for two seconds at most.
async fn settled(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(2), wait).await.unwrap();
}

/// Be it that it changes nothing, that it is not there, or that it changes another line.
#[tokio::test]
async fn r1_2_a_formatter_does_not_unify_the_line_endings_of_a_file_that_has_several() {
    let mixed = "one\r\ntwo\nx\rfour\r\n";
    type Answer = fn(&str, &str) -> Result<String, (i32, &'static str)>;
    let answers: [(Answer, &str); 3] = [
        (|_, text| Ok(text.to_owned()), "one\r\ntwo\ny=1\rfour\r\n"),
        (|_, _| Err((127, "command not found")), "one\r\ntwo\ny=1\rfour\r\n"),
        (spaced, "one\r\ntwo\ny = 1\rfour\r\n"),
    ];
    for (answer, expected) in answers {
        let bench = bench(all());
        bench.shell.formats(answer);
        bench.put("/w/a.go", mixed);
        bench.done(EDIT, edit("a.go", "x", "y=1")).await;
        assert_eq!(bench.text("/w/a.go"), expected);
    }
}

/// Formatters take their time, and users go on: the edit comes to be, if not formatted.
#[tokio::test]
async fn r6_2_who_types_while_formatters_run_neither_loses_a_word_nor_the_edit() {
    for always in [false, true] {
        let bench = bench(all());
        bench.put("/w/a.go", "x\n");
        bench.open("/w/a.go", 1, "x\n");
        let overlay = Arc::clone(&bench.overlay);
        let document = bench.document("/w/a.go", 1, "x\n");
        let typed = std::sync::atomic::AtomicI32::new(0);
        bench.shell.formats(move |command, text| {
            let count = typed.load(std::sync::atomic::Ordering::Relaxed);
            if always || count == 0 {
                let count = typed.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                let text = format!("x\n{}", "typed\n".repeat(usize::try_from(count).unwrap()));
                overlay.open(copydesk_workspace::document::Document {
                    version: 1 + count,
                    text: text.as_str().into(),
                    ..document.clone()
                });
            }
            spaced(command, text)
        });
        let text = bench.done(EDIT, edit("a.go", "x", "a=1")).await;
        let buffer = bench.buffer("/w/a.go");
        if always {
            assert!(buffer.starts_with("a=1\ntyped\n"), "{buffer}");
            assert!(text.contains("was not formatted, since it changes all the time"), "{text}");
        } else {
            assert_eq!(buffer, "a = 1\ntyped\n");
        }
    }
}
