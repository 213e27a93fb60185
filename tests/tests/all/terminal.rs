//! `copydesk run` on the built program: in pipes, and at a pseudo-terminal. Needs the program: `cargo build -p copydesk`.

use std::process::Stdio;
use std::time::Duration;

use copydesk_tests::acp_schema;
use copydesk_tests::daemon::Home;
use copydesk_tests::pty::Pty;
use copydesk_tests::scripted_model::{Gate, Reply, Script, ScriptedModel};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::process::Command;

async fn start(script: impl Into<Script>) -> (ScriptedModel, Home) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    (model, home)
}

fn command(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(&[&["run"], arguments].concat());
    command.env("COPYDESK_LOG", "error").env("TERM", "xterm-256color").stderr(Stdio::piped());
    command
}

struct Ended {
    code: Option<i32>,
    output: String,
    errors: String,
}

/// In pipes, with this as its standard input.
async fn run_with(home: &Home, arguments: &[&str], input: &str) -> Ended {
    let mut child = command(home, arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
    let ended = tokio::time::timeout(Duration::from_secs(30), child.wait_with_output()).await.unwrap().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: ended.status.code(), output: text(ended.stdout), errors: text(ended.stderr) }
}

async fn run(home: &Home, arguments: &[&str]) -> Ended {
    run_with(home, arguments, "").await
}

/// A rule for the user's configuration, beside the model.
fn allow(home: &Home, model: &ScriptedModel, permission: &str) {
    rule(home, model, permission, "allow");
}

fn rule(home: &Home, model: &ScriptedModel, permission: &str, verdict: &str) {
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { permission: verdict } }));
}

fn edit() -> Reply {
    Reply::text("I edit it.").then_call("edit", json!({ "filePath": "a.txt", "oldString": "one", "newString": "two" }))
}

fn bash(text: &str) -> Reply {
    Reply::call("bash", json!({ "command": text, "description": "Run it" }))
}

#[tokio::test]
async fn in_a_pipe_a_turn_is_plain_text_with_a_line_and_a_diff_for_each_call() {
    let (model, home) = start([
        Reply::call("read", json!({ "filePath": "a.txt" })),
        edit(),
        bash("seq 1 12"),
        Reply::text("It says two."),
    ])
    .await;
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "edit": "allow", "bash": "allow" } }));
    let file = home.write("a.txt", "one\n");
    let Ended { code, output, errors } = run(&home, &["make", "it two"]).await;
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{output}");
    let output = output.replace(&home.workspace().display().to_string(), "/project");
    let expected = "✓ Read a.txt\nI edit it.\n✓ Edit a.txt\n  /project/a.txt\n  @@ -1 +1 @@\n  -one\n  +two\n✓ seq 1 12\n  … 3 lines before\n  4\n";
    assert!(output.starts_with(expected), "{output}");
    assert!(output.ends_with("\n  12\n  [exit code 0]\nIt says two.\n"), "{output}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "two\n");
    assert!(model.requests()[0].last_text().contains("make it two"));
    model.finish();
}

#[tokio::test]
async fn r16_2_without_a_terminal_an_ask_is_denied_with_the_reason_and_said() {
    let (model, home) = start([edit(), Reply::text("I may not.")]).await;
    let file = home.write("a.txt", "one\n");
    let Ended { code, output, errors } = run(&home, &["edit it"]).await;
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("denied: Edit a.txt") && errors.contains("no terminal"), "{errors}");
    assert!(output.ends_with("I may not.\n"), "{output}");
    assert!(model.requests()[1].results().iter().any(|result| result.contains("no terminal")), "the model is told");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "one\n");
    model.finish();
}

/// Nobody sees a change there, and nobody can be asked: whatever would write is denied, and said to be.
#[tokio::test]
async fn r20_3_in_a_pipe_nothing_is_written_without_a_rule() {
    let calls = [
        ("edit", json!({ "filePath": "a.txt", "oldString": "one", "newString": "two" })),
        ("multiedit", json!({ "filePath": "a.txt", "edits": [{ "oldString": "one", "newString": "two" }] })),
        ("write", json!({ "filePath": "a.txt", "content": "two\n" })),
        ("write", json!({ "filePath": "new.txt", "content": "two\n" })),
        ("bash", json!({ "command": "echo two >a.txt", "description": "Write it" })),
    ];
    for format in ["text", "json"] {
        for (tool, input) in &calls {
            let (model, home) = start([
                Reply::call("read", json!({ "filePath": "a.txt" })),
                Reply::call(tool, input.clone()),
                Reply::text("I may not."),
            ])
            .await;
            let file = home.write("a.txt", "one\n");
            let Ended { code, errors, .. } = run(&home, &["--format", format, "write it"]).await;
            assert_eq!(code, Some(0), "{tool}: {errors}");
            assert!(errors.contains("denied: ") && errors.contains("no terminal"), "{tool}: {errors}");
            let result = model.requests()[2].results()[1].to_owned();
            assert!(result.contains("no terminal"), "{tool}: {result}");
            assert_eq!(std::fs::read_to_string(file).unwrap(), "one\n", "{tool}");
            assert!(!home.workspace().join("new.txt").exists(), "{tool}");
            model.finish();
        }
    }
}

#[tokio::test]
async fn json_is_one_update_of_acp_a_line_and_nothing_else() {
    let (model, home) = start([edit(), Reply::text("Done.")]).await;
    allow(&home, &model, "edit");
    home.write("a.txt", "one\n");
    let Ended { code, output, errors } = run(&home, &["--format", "json", "--agent", "build", "edit it"]).await;
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let lines: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, updates) = lines.split_last().unwrap();
    assert_eq!(last["stopReason"], "end_turn");
    for line in updates {
        assert_eq!(acp_schema::fault_of("SessionNotification", line), None);
        assert_eq!(line["sessionId"], last["sessionId"]);
    }
    let tags: Vec<&str> = updates.iter().map(|line| line["update"]["sessionUpdate"].as_str().unwrap()).collect();
    for tag in ["agent_message_chunk", "tool_call", "tool_call_update", "config_option_update"] {
        assert!(tags.contains(&tag), "{tag}: {tags:?}");
    }
    assert!(output.contains(r#""newText":"two\n""#), "{output}");
    model.finish();
}

#[tokio::test]
async fn files_are_given_with_the_prompt_images_as_images() {
    let (model, home) = start([Reply::text("A pixel and a note.")]).await;
    let png = copydesk_engine::testing::png_bytes(1, 1);
    let shot = home.write("shot.png", png);
    home.write("notes.txt", "remember the milk\n");
    let shot = shot.to_str().unwrap();
    let Ended { code, errors, .. } = run(&home, &["what are these?", "--file", shot, "-f", "notes.txt"]).await;
    assert_eq!(code, Some(0), "{errors}");
    let request = model.requests().remove(0);
    assert_eq!(request.images().len(), 1);
    let said = request.messages().last().unwrap().to_string();
    assert!(said.contains("what are these?") && said.contains("notes.txt") && said.contains("the milk"), "{said}");
    let Ended { code, errors, .. } = run(&home, &["x", "-f", "missing.png"]).await;
    assert!(code == Some(2) && errors.contains("missing.png") && errors.contains("No such file"), "{errors}");
    model.finish();
}

#[tokio::test]
async fn what_is_refused_before_a_turn_draws_nothing_on_the_terminal() {
    let (model, home) = start([]).await;
    home.write(".copydesk/agents/a\u{1b}[2Jb.md", "---\nmode: primary\n---\nBe red.\n");
    for arguments in [
        ["--agent", "x\u{1b}[31m"],
        ["--agent", "unknown"],
        ["--model", "x\u{1b}[31m"],
        ["--session", "ses_\u{1b}]0;title\u{7}"],
        ["--file", "\u{1b}[8mgone"],
    ] {
        let Ended { code, output, errors } = run(&home, &[&arguments[..], &["hi"]].concat()).await;
        assert!(matches!(code, Some(1 | 2)) && output.is_empty(), "{arguments:?}: {output}");
        assert!(!errors.contains(['\u{1b}', '\u{7}']), "{errors:?}");
        assert!(errors.contains("\\u{1b}"), "{arguments:?}: {errors:?}");
    }
    model.finish();
}

#[tokio::test]
async fn what_is_no_ordinary_file_is_refused_without_waiting_for_it() {
    let (model, home) = start([]).await;
    let pipe = home.workspace().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().await.unwrap().success());
    for path in [pipe.to_str().unwrap(), "/dev/zero", "/dev/tty"] {
        let Ended { code, errors, .. } = run(&home, &["hi", "--file", path]).await;
        assert!(code == Some(2) && errors.contains("no ordinary file"), "{path}: {errors}");
    }
    model.finish();
}

#[tokio::test]
async fn an_output_that_cannot_be_written_is_said_and_one_that_nobody_reads_is_not() {
    let (model, home) = start(Script::function(|_| Reply::text("An answer."))).await;
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (unread, output) = std::io::pipe().unwrap();
    drop(unread);
    for (output, expected) in [(Stdio::from(full), true), (Stdio::from(output), false)] {
        let child = command(&home, &["hi"]).stdin(Stdio::null()).stdout(output).spawn().unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(30), child.wait_with_output()).await.unwrap().unwrap();
        let errors = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(130), "{errors}");
        assert_eq!(errors.contains("Standard output cannot be written"), expected, "{errors}");
    }
    model.finish();
}

#[tokio::test]
async fn standard_input_is_context_beside_a_prompt_and_the_prompt_without_one() {
    let (model, home) = start([Reply::text("A diff."), Reply::text("A question.")]).await;
    assert_eq!(run_with(&home, &["what is this?"], "+ added\n").await.code, Some(0));
    let seen = model.requests()[0].last_text().to_owned();
    assert!(seen.contains("what is this?") && seen.contains("<resource") && seen.contains("+ added"), "{seen}");
    assert_eq!(run_with(&home, &[], "who are you?\n").await.code, Some(0));
    let seen = model.requests()[1].last_text().to_owned();
    assert!(seen.contains("who are you?") && !seen.contains("<resource"), "{seen}");
    let Ended { code, errors, .. } = run(&home, &[]).await;
    assert!(code == Some(2) && errors.contains("There is no prompt"), "{errors}");
    let Ended { code, errors, .. } = run_with(&home, &["x"], &"x".repeat((4 << 20) + 1)).await;
    assert!(code == Some(2) && errors.contains("4 MiB"), "{errors}");
    model.finish();
}

#[tokio::test]
async fn r12_3_a_session_is_continued_by_use_or_by_id_with_another_model() {
    let (model, home) = start(Script::function(|_| Reply::text("Yes."))).await;
    let Ended { code, errors, .. } = run(&home, &["--continue", "and?"]).await;
    assert!(code == Some(1) && errors.contains("no session to continue"), "{errors}");
    let id = |ended: &Ended| {
        let last: Value = serde_json::from_str(ended.output.lines().last().unwrap()).unwrap();
        last["sessionId"].as_str().unwrap().to_owned()
    };
    let first = id(&run(&home, &["--format", "json", "first question"]).await);
    let second = id(&run(&home, &["--format", "json", "second question"]).await);
    assert_eq!(id(&run(&home, &["--format", "json", "-c", "third"]).await), second);
    let ended = run(&home, &["--format", "json", "--session", &first, "--model", "scripted/other", "fourth"]).await;
    assert_eq!(id(&ended), first);
    assert!(!ended.output.contains("first question"), "nothing is replayed: {}", ended.output);
    let request = model.requests().pop().unwrap();
    let body = format!("{request:?}");
    assert!(body.contains("first question") && !body.contains("second question"), "{body}");
    for (arguments, code, text) in [
        (["--session", "ses_none", "x"], 1, "ses_none"),
        (["--model", "nobody/none", "x"], 2, "scripted/model"),
        (["--agent", "nobody", "x"], 2, "build, plan"),
        (["--format", "xml", "x"], 2, "possible values"),
    ] {
        let ended = run(&home, &arguments).await;
        assert!(ended.code == Some(code) && ended.errors.contains(text), "{arguments:?}: {}", ended.errors);
        assert_eq!(ended.output, "");
    }
    model.finish();
}

#[tokio::test]
async fn without_a_model_it_is_said_how_to_set_one() {
    let home = Home::new();
    home.configure("{}");
    let Ended { code, output, errors } = run(&home, &["hello"]).await;
    assert_eq!((code, output.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.contains("model") && errors.contains("copydesk.jsonc"), "{errors}");
}

#[tokio::test]
async fn r8_4_at_a_terminal_the_whole_change_is_shown_and_a_key_allows_it() {
    let (model, home) = start([edit(), Reply::text("Done.")]).await;
    rule(&home, &model, "edit", "ask");
    let file = home.write("a.txt", "one\n");
    let mut terminal = Pty::spawn(command(&home, &["edit it"]));
    let shown = terminal.expect("> ").await;
    assert!(shown.contains("\u{1b}[31m-one\u{1b}[0m") && shown.contains("\u{1b}[32m+two\u{1b}[0m"), "{shown}");
    for choice in ["[a]", "[A]", "[r]", "[m]"] {
        assert!(shown.contains(choice), "{choice}: {shown}");
    }
    // Anything else is no consent.
    terminal.type_text("yes\n");
    terminal.expect("> ").await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    terminal.type_text("a\n");
    let (code, rest) = terminal.end().await;
    assert_eq!(code, Some(0), "{rest}");
    assert!(rest.contains("Done.") && !rest.contains("+two"), "shown once: {rest}");
    assert!(rest.contains("copydesk run --session ses_"), "{rest}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
    model.finish();
}

#[tokio::test]
async fn r20_3_at_a_terminal_an_edit_is_shown_and_not_asked_since_undo_takes_it_back() {
    let (model, home) = start([edit(), Reply::text("Done.")]).await;
    let file = home.write("a.txt", "one\n");
    let terminal = Pty::spawn(command(&home, &["edit it"]));
    let (code, shown) = terminal.end().await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("+two") && !shown.contains("[a]"), "{shown}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
    model.finish();
}

#[tokio::test]
async fn at_a_terminal_always_holds_for_the_session_and_no_color_is_honoured() {
    let (model, home) = start([bash("echo first"), bash("echo first"), Reply::text("Done.")]).await;
    let mut command = command(&home, &["run it"]);
    command.env("NO_COLOR", "1");
    let mut terminal = Pty::spawn(command);
    let shown = terminal.expect("> ").await;
    assert!(shown.contains("1 line, in") && shown.contains("echo first"), "{shown}");
    terminal.type_text("2\n");
    let (code, rest) = terminal.end().await;
    assert_eq!(code, Some(0), "{rest}");
    assert_eq!(rest.matches("✓ ").count(), 2, "asked once: {rest}");
    assert!(!(shown + &rest).contains('\u{1b}'));
    model.finish();
}

#[tokio::test]
async fn at_a_terminal_a_rejection_stops_the_turn_or_says_what_is_wanted() {
    let (model, home) = start([edit(), Reply::text("Then b.")]).await;
    rule(&home, &model, "edit", "ask");
    home.write("a.txt", "one\n");
    let mut terminal = Pty::spawn(command(&home, &["edit it"]));
    terminal.expect("> ").await;
    terminal.type_text("m\n");
    terminal.expect("instead? ").await;
    terminal.type_text("take b.txt\n");
    let (code, rest) = terminal.end().await;
    assert!(code == Some(0) && rest.contains("Then b."), "{rest}");
    assert!(model.requests()[1].results().iter().any(|result| result.contains("take b.txt")));
    model.finish();

    let (model, home) = start([edit()]).await;
    rule(&home, &model, "edit", "ask");
    let file = home.write("a.txt", "one\n");
    let mut terminal = Pty::spawn(command(&home, &["edit it"]));
    terminal.expect("> ").await;
    terminal.type_text("r\n");
    let (code, rest) = terminal.end().await;
    assert!(code == Some(1) && rest.contains("you rejected a step"), "{rest}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "one\n");
    model.finish();
}

#[tokio::test]
async fn r21_1_at_a_terminal_the_output_of_a_command_is_shown_while_it_runs() {
    let waits = "seq 1 9; echo first; until [ -e go ]; do sleep 0.02; done; echo last";
    let (model, home) = start([bash(waits), Reply::text("Done.")]).await;
    allow(&home, &model, "bash");
    let mut terminal = Pty::spawn(command(&home, &["do it"]));
    let shown = terminal.expect("\u{1b}[2mfirst").await;
    assert!(shown.contains("…\u{1b}[0m seq 1 9") && !shown.contains("  \u{1b}[2m4"), "the last lines: {shown:?}");
    home.write("go", "");
    let end = terminal.expect("Done.").await;
    // Five lines and their title go before what stays is written.
    assert!(end.contains(&"\u{1b}[1A\r\u{1b}[K".repeat(5)), "{end:?}");
    assert!(end.contains("✓\u{1b}[0m seq 1 9") && end.contains("last"), "{end:?}");
    assert_eq!(terminal.end().await.0, Some(0));
    model.finish();
}

fn limited(seconds: u32) -> Reply {
    Reply::refuse(429, "slow down").header("retry-after", &seconds.to_string())
}

#[tokio::test]
async fn c83_at_a_terminal_the_wait_before_another_try_ticks_down_on_one_line() {
    let (model, home) = start([limited(2), Reply::text("Done.")]).await;
    let mut terminal = Pty::spawn(command(&home, &["do it"]));
    // Up to half a second more than was asked for.
    let reason = terminal.expect("Trying again in 3 s (1 of 5).").await;
    assert!(reason.contains("rate limit") && reason.contains("slow down"), "{reason}");
    for left in [2, 1] {
        let between = terminal.expect(&format!("Trying again in {left} s (1 of 5).")).await;
        assert!(between.contains("\r\u{1b}[K") && !between.contains('\n'), "the same line: {between:?}");
    }
    let end = terminal.expect("Done.").await;
    assert!(end.contains("\r\u{1b}[K") && !end.contains("Trying"), "cleared: {end:?}");
    assert_eq!(terminal.end().await.0, Some(0));
    model.finish();

    // A cancel takes the line away, and it does not come back.
    let (model, home) = start([limited(600)]).await;
    let mut terminal = Pty::spawn(command(&home, &["do it"]));
    terminal.expect("Trying again in ").await;
    terminal.type_text("\u{3}");
    let before = terminal.expect("Cancelling").await;
    assert!(before.ends_with("\r\u{1b}[KCancelling"), "{before:?}");
    let (code, rest) = terminal.end().await;
    assert!(code == Some(130) && !rest.contains("Trying again"), "{rest}");
    model.finish();
}

#[tokio::test]
async fn c83_in_a_pipe_or_without_escapes_the_wait_is_one_line() {
    let (model, home) = start([limited(1), Reply::text("Done."), limited(1), Reply::text("Done.")]).await;
    let Ended { code, output, errors } = run(&home, &["do it"]).await;
    assert_eq!((code, output.as_str()), (Some(0), "Done.\n"), "{errors}");
    assert!(errors.starts_with("warning: ") && errors.ends_with("Trying again in 2 s (1 of 5).\n"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    let mut command = command(&home, &["do it"]);
    command.env("NO_COLOR", "1");
    let (code, shown) = Pty::spawn(command).end().await;
    assert!(code == Some(0) && shown.matches("Trying again in").count() == 1 && !shown.contains('\u{1b}'), "{shown}");
    model.finish();
}

#[tokio::test]
async fn r2_4_ctrl_c_cancels_the_turn_and_ends_with_130() {
    let gate = Gate::new();
    let (model, home) = start([Reply::text("I think").then_wait(&gate)]).await;
    let mut terminal = Pty::spawn(command(&home, &["think"]));
    terminal.expect("I think").await;
    terminal.type_text("\u{3}");
    terminal.expect("Cancelling").await;
    model.wait_for_abandoned(1).await;
    let (code, rest) = terminal.end().await;
    assert_eq!(code, Some(130), "{rest}");
    gate.open();
    model.finish();

    // What was said stays, and the session goes on.
    let (model, again) = start([Reply::text("Here.")]).await;
    home.use_model(&model.base_url());
    let ended = run(&home, &["--continue", "go on"]).await;
    assert_eq!((ended.code, ended.output.as_str()), (Some(0), "Here.\n"), "{}", ended.errors);
    assert!(format!("{:?}", model.requests()).contains("I think"));
    drop(again);
    model.finish();
}

#[tokio::test]
async fn r2_4_ctrl_c_withdraws_an_ask_and_a_second_one_leaves() {
    let (model, home) = start([bash("echo ready > ready")]).await;
    let mut terminal = Pty::spawn(command(&home, &["run it"]));
    terminal.expect("> ").await;
    terminal.type_text("\u{3}");
    let (code, rest) = terminal.end().await;
    assert!(code == Some(130) && rest.contains("Cancelled."), "{rest}");
    assert!(!home.workspace().join("ready").exists(), "it never ran");
    model.finish();

    // The command holds a connection to the test for as long as anything of it lives.
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stubborn = format!("trap '' INT TERM; exec 3<>/dev/tcp/127.0.0.1/{port}; while :; do sleep 600; done");
    let (model, home) = start([bash(&stubborn)]).await;
    let mut terminal = Pty::spawn(command(&home, &["run it"]));
    terminal.expect("> ").await;
    terminal.type_text("a\n");
    let (mut runs, _) = tokio::time::timeout(Duration::from_secs(20), listener.accept()).await.unwrap().unwrap();
    terminal.type_text("\u{3}");
    terminal.expect("Cancelling").await;
    terminal.type_text("\u{3}");
    let (code, rest) = terminal.end().await;
    assert_eq!(code, Some(130), "{rest}");
    let gone = tokio::time::timeout(Duration::from_secs(2), runs.read_to_end(&mut Vec::new())).await;
    assert!(gone.is_ok(), "the command outlives the program");
    model.finish();
}
