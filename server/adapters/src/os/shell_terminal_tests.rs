//! Commands with a terminal of their own, and a user who types or does not.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::VecDeque;
use std::fs;

use copydesk_engine::ports::{SandboxPolicy, TerminalPrompt, Typed};
use copydesk_workspace::path::AbsPath;
use tokio::sync::mpsc;

use super::tests::{Fixture, LONG};
use super::*;

/// Types what it is given, in turn, and refuses where that is nothing, and at the end.
#[derive(Default)]
struct Hands {
    lines: Mutex<VecDeque<Option<String>>>,
    asked: Mutex<Vec<TerminalPrompt>>,
}

impl Hands {
    fn typing(lines: &[Option<&str>]) -> Arc<Self> {
        let lines = Mutex::new(lines.iter().map(|line| line.map(str::to_owned)).collect());
        Arc::new(Self { lines, asked: Mutex::default() })
    }

    /// Texts, and whether they ask for a secret.
    fn asked(&self) -> Vec<(String, bool)> {
        self.asked.lock().unwrap().iter().map(|prompt| (prompt.text.clone(), prompt.is_secret)).collect()
    }
}

impl Keyboard for Hands {
    fn line(&self, prompt: TerminalPrompt) -> BoxFuture<'_, Option<Typed>> {
        self.asked.lock().unwrap().push(prompt);
        let line = self.lines.lock().unwrap().pop_front().flatten();
        Box::pin(async move { line.map(|line| Typed::new(&line)) })
    }
}

/// Never answers, and tells when it is asked and when the question is withdrawn.
struct Absent(mpsc::UnboundedSender<&'static str>);

impl Keyboard for Absent {
    fn line(&self, _prompt: TerminalPrompt) -> BoxFuture<'_, Option<Typed>> {
        struct Asked<'a>(&'a mpsc::UnboundedSender<&'static str>);
        impl Drop for Asked<'_> {
            fn drop(&mut self) {
                let _ = self.0.send("withdrawn");
            }
        }
        Box::pin(async {
            let _asked = Asked(&self.0);
            let _ = self.0.send("asked");
            std::future::pending().await
        })
    }
}

struct Ran {
    outcome: ShellOutcome,
    /// All that was told while it ran.
    live: String,
    asked: Vec<(String, bool)>,
}

async fn run(fixture: &Fixture, command: ShellCommand, lines: &[&str]) -> Ran {
    let lines: Vec<_> = lines.iter().map(|line| Some(*line)).collect();
    run_with(fixture, command, &lines).await
}

async fn run_with(fixture: &Fixture, command: ShellCommand, lines: &[Option<&str>]) -> Ran {
    let hands = Hands::typing(lines);
    let (sender, mut pieces) = mpsc::unbounded_channel();
    let output = OutputSink::new(move |piece| drop(sender.send(piece.to_owned())));
    let outcome = fixture.shell.run_at_terminal(command, output, hands.clone(), CancellationToken::new()).await;
    let mut live = String::new();
    while let Ok(piece) = pieces.try_recv() {
        live.push_str(&piece);
    }
    Ran { outcome: outcome.unwrap(), live, asked: hands.asked() }
}

/// Asks this, gets these lines, and shows that.
async fn check(text: &str, lines: &[&str], asked: &[(&str, bool)], output: &str) {
    let fixture = Fixture::new(&[]);
    let ran = run(&fixture, fixture.command(text), lines).await;
    let asked: Vec<_> = asked.iter().map(|(text, is_secret)| ((*text).to_owned(), *is_secret)).collect();
    assert_eq!(ran.asked, asked, "{text}: {}", ran.live);
    assert_eq!((ran.outcome.end, ran.outcome.output.head.as_str()), (CommandEnd::Exited(0), output), "{text}");
    assert_eq!(ran.live, output, "{text}");
    assert_eq!(ran.outcome.survivors, 0, "{text}");
}

#[tokio::test]
async fn c49_r7_2_the_user_answers_what_a_command_asks_on_its_terminal() {
    check(
        "read -p 'Your name? ' x; echo \"${#x} letters\"",
        &["Ada Lovelace"],
        &[("Your name?", false)],
        "Your name? \n12 letters\n",
    )
    .await;
    let twice = "IFS= read -rp 'one: ' a; read -rp 'two: ' b; [ \"$a$b\" = 'x y\\z' ] && echo right";
    check(twice, &["x ", "y\\z"], &[("one:", false), ("two:", false)], "one: \ntwo: \nright\n").await;
    check("read -p 'Return goes on.'; echo on", &[""], &[("Return goes on.", false)], "Return goes on.\non\n").await;
    check("head -n 1 | wc -c", &["12345"], &[("", false)], "\n6\n").await;
}

#[tokio::test]
async fn c49_a_password_is_asked_as_one_and_shown_nowhere() {
    check(
        "read -sp 'Key: ' x; echo; [ \"$x\" = hunter2 ] && echo right",
        &["hunter2"],
        &[("Key:", true)],
        "Key: \nright\n",
    )
    .await;
    // From the terminal that controls it, whatever its standard streams are.
    let getpass = "python3 -c 'import getpass; print(len(getpass.getpass(\"Password: \")))' </dev/null | cat";
    check(getpass, &["s3cret phrase"], &[("Password:", true)], "Password: \n13\n").await;
    check("read -p 'Token: ' x; echo \"it is $x\"", &["hunter2"], &[("Token:", true)], "Token: \nit is [typed]\n")
        .await;
}

/// They switch off the echo alone, and by no word of the prompt can it be told what is asked.
#[tokio::test]
async fn c49_what_is_typed_without_an_echo_is_a_secret_whatever_it_is_called() {
    let getpass = "python3 -c 'import getpass; print(len(getpass.getpass(\"Vault key: \")))'";
    check(getpass, &["s3cret"], &[("Vault key:", true)], "Vault key: \n6\n").await;
    let stty = "stty -echo; printf 'One more: '; head -n 1 | wc -c; stty echo; read -p 'Name: ' x; echo \"${#x}\"";
    check(stty, &["s3cret", "Ada"], &[("One more:", true), ("Name:", false)], "One more: 7\nName: \n3\n").await;
    let openssl =
        "openssl genrsa -aes128 -passout pass:s3cret 1024 >k.pem 2>log && openssl rsa -noout -in k.pem; echo $?";
    if Fixture::new(&[]).shell.variables.find_program("openssl").is_some() {
        let shown = "Enter pass phrase for k.pem:\n0\n";
        check(openssl, &["s3cret"], &[("Enter pass phrase for k.pem:", true)], shown).await;
    }
    check("read -p 'Pass phrase of it: ' x", &["s3cret"], &[("Pass phrase of it:", true)], "Pass phrase of it: \n")
        .await;
}

/// It opens `/dev/tty` and reads there, whatever its standard input is.
#[tokio::test]
async fn c49_a_passphrase_of_ssh_is_asked_and_wrong_ones_again() {
    let fixture = Fixture::new(&[("SSH_ASKPASS", "/bin/false"), ("DISPLAY", ":0")]);
    if fixture.shell.variables.find_program("ssh-keygen").is_none() {
        return;
    }
    let text = "ssh-keygen -q -t ed25519 -f key -N hunter2 -C me; ssh-keygen -y -f key < /dev/null";
    let ran = run(&fixture, fixture.command(text), &["hunter2"]).await;
    let [(asked, true)] = &ran.asked[..] else { panic!("{:?}: {}", ran.asked, ran.live) };
    assert!(asked.starts_with("Enter passphrase"), "{asked}");
    assert!(ran.outcome.end == CommandEnd::Exited(0) && ran.live.contains("ssh-ed25519 "), "{}", ran.live);
    let ran = run(&fixture, fixture.command("ssh-keygen -y -f key"), &["wrong one"]).await;
    assert!(matches!(ran.outcome.end, CommandEnd::Exited(1..)) && ran.asked.len() == 1, "{}", ran.live);
}

/// Programs that draw their own line show what is typed themselves.
#[tokio::test]
async fn c49_what_a_program_echoes_itself_is_taken_out() {
    let fixture = Fixture::new(&[]);
    let ran = run(&fixture, fixture.command("read -e -p 'Name? ' x; echo \"${#x}\""), &["hunter2"]).await;
    assert_eq!(ran.asked, [("Name?".to_owned(), false)], "{:?}", ran.live);
    assert!(!ran.live.contains("hunter2") && ran.live.ends_with("7\n"), "{:?}", ran.live);
}

#[tokio::test]
async fn c49_nothing_typed_reaches_the_file_of_a_long_output() {
    let fixture = Fixture::new(&[]);
    let text = "read -sp 'Key: ' x; for i in {1..20000}; do echo \"$i $x\"; done";
    let ran = run(&fixture, fixture.command(text), &["hunter2"]).await;
    let file = fs::read_to_string(ran.outcome.output.file.unwrap().as_path()).unwrap();
    assert!(file.contains("20000 [typed]\n") && !file.contains("hunter2"));
    assert!(!ran.live.contains("hunter2"));
}

#[tokio::test]
async fn c49_without_an_answer_the_input_ends_within_five_seconds() {
    let fixture = Fixture::new(&[]);
    let start = Instant::now();
    let ran = run(&fixture, fixture.command("read -p 'Name? ' x; echo \"$?\""), &[]).await;
    assert_eq!((ran.outcome.end, ran.outcome.output.head.as_str()), (CommandEnd::Exited(0), "Name? 1\n"));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // One that does not take no for an answer. The user is asked once.
    let start = Instant::now();
    let ran = run(&fixture, fixture.command("while :; do read -p 'Name? ' x; done"), &[]).await;
    assert_eq!((ran.outcome.end, ran.asked.len()), (CommandEnd::Signalled(libc::SIGHUP), 1));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// They wait for other things beside the terminal, and one may listen there while it is at work.
#[tokio::test]
async fn c49_a_prompt_of_a_program_that_polls_is_answered_or_its_input_ends() {
    let fixture = Fixture::new(&[]);
    let python = |waits: &str| {
        format!(
            "python3 -c 'import os, select; polled = select.epoll(); polled.register(0, select.EPOLLIN); asked = select.poll(); \
             asked.register(0, select.POLLIN); print(\"Ok to proceed? (y) \", end=\"\", flush=True); {waits}; print(len(os.read(0, 9)))'"
        )
    };
    let node = "node -e \"const lines = require('readline').createInterface({ input: process.stdin, output: process.stdout }); \
                lines.question('Ok to proceed? (y) ', (line) => { console.log(line.length); lines.close() }); \
                lines.on('close', () => console.log('closed'))\"";
    let mut programs = vec![(node.to_owned(), "3\nclosed\n", "closed\n")];
    for waits in ["polled.poll()", "asked.poll()", "select.select([os.pipe()[0], 0], [], [])"] {
        programs.push((python(waits), "4\n", "0\n"));
    }
    let has_node = fixture.shell.variables.find_program("node").is_some();
    for (text, answered, ended) in programs.iter().filter(|(text, ..)| has_node || !text.starts_with("node")) {
        for (lines, end) in [(&["yes"][..], answered), (&[], ended)] {
            let start = Instant::now();
            let command = ShellCommand { timeout: Some(LONG), ..fixture.command(text) };
            let ran = run(&fixture, command, lines).await;
            assert_eq!(ran.outcome.end, CommandEnd::Exited(0), "{text}: {}", ran.live);
            assert_eq!(ran.asked, [("Ok to proceed? (y)".to_owned(), false)], "{text}: {}", ran.live);
            assert!(ran.live.ends_with(end), "{text}: {:?}", ran.live);
            assert!(start.elapsed() < Duration::from_secs(10), "{text}: {:?}", start.elapsed());
        }
    }
    let works = "python3 -c 'import select; polled = select.epoll(); polled.register(0, select.EPOLLIN); \
                 print(\"press h for help\", end=\"\", flush=True); print(polled.poll(4))'";
    let ran = run(&fixture, fixture.command(works), &[]).await;
    assert_eq!((ran.outcome.end, ran.live.as_str()), (CommandEnd::Exited(0), "press h for help[]\n"));
    assert_eq!(ran.asked, []);
}

/// It awaits other things alone.
#[tokio::test]
async fn c49_what_polls_something_else_than_the_terminal_is_told_nothing() {
    let fixture = Fixture::new(&[]);
    let text = "python3 -c 'import os, select; print(\"45/100: foo(bar)\", end=\"\", flush=True); \
                select.select([os.pipe()[0]], [], [], 4); print(len(os.read(0, 9)))'";
    let ran = run_with(&fixture, fixture.command(text), &[None, Some("Ada")]).await;
    assert_eq!(ran.outcome.end, CommandEnd::Exited(0), "{}", ran.live);
    assert_eq!(ran.asked, [("45/100: foo(bar)".to_owned(), false), (String::new(), false)], "{}", ran.live);
    assert!(ran.live.ends_with("4\n"), "{:?}", ran.live);
}

/// What stands still like a prompt is put to the user once; that he has nothing to say to it, the program is not told.
#[tokio::test]
async fn c49_what_only_looks_like_a_prompt_ends_nothing() {
    let fixture = Fixture::new(&[]);
    let text = "for i in {1..5}; do printf '\\r[==> ] 45/100: foo(bar)'; sleep 2.4; done; echo; read -p 'Name? ' x; echo \"$? $x\"";
    let ran = run_with(&fixture, fixture.command(text), &[None, Some("Ada")]).await;
    assert_eq!(ran.outcome.end, CommandEnd::Exited(0), "{}", ran.live);
    assert_eq!(ran.asked, [("[==> ] 45/100: foo(bar)".to_owned(), false), ("Name?".to_owned(), false)], "{}", ran.live);
    assert!(ran.live.ends_with("Name? \n0 Ada\n"), "{}", ran.live);
}

#[tokio::test]
async fn c49_a_prompt_is_withdrawn_when_the_program_goes_on_or_ends() {
    let fixture = Fixture::new(&[]);
    for text in [
        "printf 'Name? '; timeout --foreground 1 head -n 1; sleep 3",
        "printf 'Name? '; timeout --foreground 1 head -n 1",
    ] {
        let (sender, mut said) = mpsc::unbounded_channel();
        let keyboard = Arc::new(Absent(sender));
        let (sink, cancel) = (OutputSink::nowhere(), CancellationToken::new());
        let outcome = fixture.shell.run_at_terminal(fixture.command(text), sink, keyboard, cancel).await.unwrap();
        assert_eq!(outcome.output.head, "Name? ", "{text}");
        assert_eq!(
            (said.recv().await, said.recv().await, said.recv().await),
            (Some("asked"), Some("withdrawn"), None),
            "{text}"
        );
    }
}

#[tokio::test]
async fn r7_3_r2_4_a_prompt_holds_neither_the_limit_nor_a_cancel() {
    let fixture = Fixture::new(&[]);
    let text = "trap '' TERM HUP; echo $$ > pid_1; read -p 'Name? ' x; sleep 60";
    let (sender, mut said) = mpsc::unbounded_channel();
    let keyboard = Arc::new(Absent(sender));
    let cancel = CancellationToken::new();
    let start = Instant::now();
    let command = ShellCommand { timeout: Some(Duration::from_secs(2)), ..fixture.command(text) };
    let run = fixture.shell.run_at_terminal(command, OutputSink::nowhere(), keyboard.clone(), cancel.clone());
    assert_eq!(run.await.unwrap().end, CommandEnd::TimedOut);
    assert!(start.elapsed() < Duration::from_secs(7), "{:?}", start.elapsed());
    assert_eq!((said.recv().await, said.recv().await), (Some("asked"), Some("withdrawn")));
    let run = fixture.shell.run_at_terminal(fixture.command(text), OutputSink::nowhere(), keyboard, cancel.clone());
    let (outcome, cancelled) = tokio::join!(run, async {
        assert_eq!(said.recv().await, Some("asked"));
        cancel.cancel();
        Instant::now()
    });
    assert_eq!((outcome.unwrap().end, cancelled.elapsed() < Duration::from_secs(2)), (CommandEnd::Cancelled, true));
    let pid = fs::read_to_string(fixture.path("pid_1")).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
}

/// A command without it has no terminal; what a command leaves running ends with its terminal, as everywhere, unless it has asked not to.
#[tokio::test]
async fn r7_2_a_terminal_is_its_commands_alone() {
    let fixture = Fixture::new(&[]);
    let ran = run(&fixture, fixture.command("tty; sleep 60 & trap '' HUP; sleep 60 & ps -o tty= -p $$"), &[]).await;
    let lines: Vec<_> = ran.outcome.output.head.lines().collect();
    assert!(lines.len() == 2 && lines[0] == format!("/dev/{}", lines[1].trim()), "{lines:?}");
    assert_eq!((ran.outcome.end, ran.outcome.survivors), (CommandEnd::Exited(0), 1));
    fixture.shell.kill_survivors().await;
    let plain = fixture.shell.run(
        fixture.command("tty; [ -t 1 ] || echo none"),
        OutputSink::nowhere(),
        CancellationToken::new(),
    );
    assert_eq!(plain.await.unwrap().output.head, "not a tty\nnone\n");
}

#[tokio::test]
async fn c51_output_at_a_terminal_is_whole_and_its_lines_end_plainly() {
    let fixture = Fixture::new(&[]);
    for _ in 0..20 {
        let ran = run(&fixture, fixture.command("seq 1 300; echo err >&2; exit 3"), &[]).await;
        let expected = (1..=300).map(|number| format!("{number}\n")).collect::<String>() + "err\n";
        assert_eq!((ran.outcome.end, ran.outcome.output.head), (CommandEnd::Exited(3), expected));
        assert!(ran.asked.is_empty());
    }
}

#[tokio::test]
async fn r8_5_a_command_in_the_sandbox_asks_at_its_terminal_too() {
    let fixture = Fixture::new(&[]);
    if !fixture.shell.sandbox().is_enforced() {
        return;
    }
    let folder = fixture.command("").folder;
    let policy = SandboxPolicy {
        writable: vec![folder.clone()],
        unreadable: Vec::new(),
        readable: Vec::new(),
        network: false,
        temp: AbsPath::new(fixture.path("temp")).unwrap(),
    };
    let text = "read -sp 'Key: ' x < /dev/tty; echo; [ \"$x\" = hunter2 ] && echo right; echo > /outside || echo held";
    let command =
        ShellCommand { confinement: Confinement::Sandbox(policy), timeout: Some(LONG), ..fixture.command(text) };
    let ran = run(&fixture, command, &["hunter2"]).await;
    assert_eq!(ran.asked, [("Key:".to_owned(), true)], "{}", ran.live);
    assert!(ran.live.contains("right\n") && ran.live.ends_with("held\n"), "{}", ran.live);
}
