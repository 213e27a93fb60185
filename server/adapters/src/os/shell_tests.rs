#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use copydesk_engine::ports::Confinement;
use copydesk_workspace::path::AbsPath;
use tokio::sync::mpsc;

use super::*;
use tokio::time::timeout;

use crate::os::supervisor::tests::launch;

/// Longer than anything here takes, shorter than what must not be waited for.
pub(super) const LONG: Duration = Duration::from_secs(30);

pub(super) struct Fixture {
    pub(super) shell: OsShell,
    temp: tempfile::TempDir,
}

impl Fixture {
    /// With the variables of the tests, a home of its own, and these.
    pub(super) fn new(variables: &[(&str, &str)]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let mut all: Vec<_> = Variables::of_process().iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        all.push(("HOME".into(), temp.path().into()));
        all.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
        Self { shell: OsShell::new(all.into_iter().collect(), launch()), temp }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(super) fn command(&self, text: &str) -> ShellCommand {
        ShellCommand {
            command: text.to_owned(),
            folder: AbsPath::new(self.temp.path()).unwrap(),
            timeout: Some(LONG),
            overflow: AbsPath::new(self.path("overflow")).unwrap(),
            hidden_vars: Vec::new(),
            passed_vars: Vec::new(),
            confinement: Confinement::None,
        }
    }

    async fn run(&self, text: &str) -> ShellOutcome {
        self.run_command(self.command(text)).await
    }

    async fn run_command(&self, command: ShellCommand) -> ShellOutcome {
        self.shell.run(command, OutputSink::nowhere(), CancellationToken::new()).await.unwrap()
    }

    /// Exit 0 and this output, with nothing left behind.
    async fn check(&self, text: &str, output: &str) {
        let outcome = self.run(text).await;
        assert_eq!((outcome.end, outcome.output.head.as_str()), (CommandEnd::Exited(0), output), "{text}");
        assert_eq!(outcome.survivors, 0, "{text}");
    }

    /// The processes that have written their number into a file `pid_…` here.
    fn noted(&self) -> Vec<i32> {
        let files = fs::read_dir(self.temp.path()).unwrap().map(|entry| entry.unwrap().path());
        let noted = files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("pid_"));
        noted.map(|path| fs::read_to_string(path).unwrap().trim().parse().unwrap()).collect()
    }
}

fn channel() -> (OutputSink, mpsc::UnboundedReceiver<String>) {
    let (sender, pieces) = mpsc::unbounded_channel();
    (OutputSink::new(move |piece| drop(sender.send(piece.to_owned()))), pieces)
}

fn lives(pid: i32) -> bool {
    // A process that only waits to be collected is gone.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat[stat.rfind(')').unwrap() + 1..].trim_start().chars().next();
        !matches!(state, Some('Z' | 'X'))
    })
}

/// Processes that ignore TERM: one here, one detached below it, one twice detached below that, and one that has dropped its environment and its
/// output as well. Says `ready` when all are there.
const DEAF: &str = r#"
trap '' TERM
echo $$ > pid_direct
export LIVE='trap "" TERM; echo $$ > $1; while :; do sleep 1; done'
setsid bash -c '(setsid bash -c "$LIVE" x pid_great &); eval "$LIVE"' x pid_grand &
(env -i PATH="$PATH" setsid bash -c "$LIVE" x pid_clean >/dev/null 2>&1 </dev/null &)
until [ -s pid_grand ] && [ -s pid_great ] && [ -s pid_clean ]; do sleep 0.02; done
echo ready
while :; do sleep 1; done
"#;

#[tokio::test]
async fn output_and_exit_are_those_of_the_command() {
    let fixture = Fixture::new(&[]);
    fixture.check("echo out; echo err >&2; echo out", "out\nerr\nout\n").await;
    fixture.check("pwd -P", &format!("{}\n", fixture.temp.path().canonicalize().unwrap().display())).await;
    assert_eq!(fixture.run("exit 7").await.end, CommandEnd::Exited(7));
    assert_eq!(fixture.run("kill -9 $$").await.end, CommandEnd::Signalled(9));
    assert_eq!(fixture.run("if").await.end, CommandEnd::Exited(2));
}

#[tokio::test]
async fn output_is_told_as_it_comes() {
    let fixture = Fixture::new(&[]);
    let (output, mut pieces) = channel();
    // The command ends only when its first piece has arrived here.
    let command = fixture.command("echo first; until [ -e go ]; do sleep 0.02; done");
    let (outcome, ()) = tokio::join!(fixture.shell.run(command, output, CancellationToken::new()), async {
        assert_eq!(pieces.recv().await.as_deref(), Some("first\n"));
        fs::write(fixture.path("go"), "").unwrap();
    });
    assert_eq!(outcome.unwrap().end, CommandEnd::Exited(0));
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let fixture = Fixture::new(&[]);
    let run = async |shell: &OsShell, command| {
        shell.run(command, OutputSink::nowhere(), CancellationToken::new()).await.unwrap_err()
    };
    let missing = fixture.command("true").folder.join("missing");
    let command = ShellCommand { folder: missing.clone(), ..fixture.command("true") };
    assert_eq!(run(&fixture.shell, command).await, ShellError::NoFolder(missing));
    let shell = OsShell::new([("PATH", "/nonexistent")].into_iter().collect(), launch());
    assert_eq!(run(&shell, fixture.command("true")).await, ShellError::NoBash);
}

#[tokio::test]
async fn start_up_files_and_exported_functions_are_left_out() {
    let fixture = Fixture::new(&[("BASH_FUNC_echo%%", "() { printf hijacked; }")]);
    for name in [".bashrc", ".bash_profile", ".profile", "start"] {
        fs::write(fixture.path(name), "echo from a start-up file").unwrap();
    }
    let start = fixture.path("start");
    let variables = [("BASH_ENV", start.to_str().unwrap()), ("ENV", start.to_str().unwrap()), ("CDPATH", "/")];
    let shell = OsShell::new(fixture.shell.variables.iter().chain(as_os(&variables)).collect(), launch());
    let fixture = Fixture { shell, ..fixture };
    fixture.check("echo hi; mkdir tmp; cd tmp; bash -c 'echo inner'", "hi\ninner\n").await;
}

fn as_os<'a>(variables: &'a [(&'a str, &'a str)]) -> impl Iterator<Item = (&'a OsStr, &'a OsStr)> {
    variables.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value)))
}

#[tokio::test]
async fn r19_3_hidden_variables_are_absent_from_children() {
    let fixture = Fixture::new(&[("ACME_API_KEY", "sk-secret"), ("KEPT", "kept")]);
    let text = "env; cat /proc/self/environ; bash -c env; echo \"[$ACME_API_KEY]\"";
    assert!(!fixture.run(text).await.output.head.contains("sk-secret"), "it is in no list");
    let passed_vars = vec!["ACME_API_KEY".to_owned(), "KEPT".to_owned()];
    let passed = ShellCommand { passed_vars, ..fixture.command(text) };
    let seen = fixture.run_command(passed.clone()).await.output.head;
    assert!(seen.contains("sk-secret"), "the test would see it");
    let hidden = ShellCommand { hidden_vars: vec!["ACME_API_KEY".to_owned()], ..passed };
    let seen = fixture.run_command(hidden).await.output.head;
    assert!(!seen.contains("sk-secret") && !seen.contains("ACME_API_KEY") && seen.contains("KEPT=kept"), "{seen}");
}

#[tokio::test]
async fn r7_2_no_input_no_terminal_no_questions() {
    let fixture = Fixture::new(&[("GIT_ASKPASS", "/bin/ask"), ("GIT_EDITOR", "vi"), ("PAGER", "less")]);
    fixture.check("cat; readlink /proc/self/fd/0", "/dev/null\n").await;
    fixture.check("(: < /dev/tty) 2>/dev/null || echo none", "none\n").await;
    fixture.check("ps -o tty= -p $$ | tr -d ' '", "?\n").await;
    let names = "GIT_TERMINAL_PROMPT GIT_EDITOR GIT_SEQUENCE_EDITOR EDITOR VISUAL PAGER GIT_PAGER TERM GIT_ASKPASS";
    fixture
        .check(
            &format!("for name in {names}; do echo \"$name=${{!name}}\"; done"),
            "GIT_TERMINAL_PROMPT=0\nGIT_EDITOR=true\nGIT_SEQUENCE_EDITOR=true\nEDITOR=true\nVISUAL=true\nPAGER=cat\n\
             GIT_PAGER=cat\nTERM=dumb\nGIT_ASKPASS=\n",
        )
        .await;
}

#[tokio::test]
async fn c46_r7_1_silent_background_children_do_not_hold_the_call() {
    let fixture = Fixture::new(&[]);
    for text in [
        "sleep 60 & echo $! > pid_1; echo hi",
        "setsid sleep 60 </dev/null >/dev/null & echo $! > pid_2; echo hi",
        "(setsid sleep 60 & echo $! > pid_3) ; echo hi",
        // Out of its session, without its environment, its parents gone.
        "(env -i setsid bash -c 'exec >/dev/null; echo $$ > pid_4; exec sleep 60' &); until [ -s pid_4 ]; do sleep 0.02; done; echo hi",
    ] {
        let start = Instant::now();
        let outcome = fixture.run(text).await;
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}: {text}", start.elapsed());
        assert_eq!((outcome.end, outcome.output.head.as_str()), (CommandEnd::Exited(0), "hi\n"), "{text}");
        assert_eq!(outcome.survivors, 1, "{text}");
    }
    let left = fixture.noted();
    assert_eq!((left.len(), left.iter().all(|pid| lives(*pid))), (4, true));
    fixture.shell.kill_survivors().await;
    assert!(!left.iter().any(|pid| lives(*pid)));
}

#[tokio::test]
async fn survivors_that_end_by_themselves_are_forgotten() {
    let fixture = Fixture::new(&[]);
    for _ in 0..3 {
        let left = fixture.run("(until [ -e go ]; do sleep 0.02; done) >/dev/null & echo $! > pid_1").await.survivors;
        // With or without its `sleep` of the moment.
        assert!((1..=2).contains(&left), "{left}");
        fs::write(fixture.path("go"), "").unwrap();
        let gone = async {
            while fixture.noted().into_iter().any(lives) {
                tokio::task::yield_now().await;
            }
        };
        timeout(LONG, gone).await.unwrap();
        fs::remove_file(fixture.path("go")).unwrap();
        assert_eq!(fixture.shell.survivors.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn c46_survivors_die_with_the_shell() {
    let fixture = Fixture::new(&[]);
    assert_eq!(fixture.run("(trap '' TERM; echo $BASHPID > pid_1; sleep 60; sleep 60) &").await.survivors, 2);
    let left = fixture.noted();
    drop(fixture);
    assert_eq!((left.len(), left.iter().any(|pid| lives(*pid))), (1, false));
}

#[test]
fn r7_1_the_drain_is_half_a_second_at_most() {
    assert!(DRAIN <= Duration::from_millis(500));
}

#[tokio::test]
async fn r7_1_output_of_what_still_writes_is_taken_within_the_drain() {
    let fixture = Fixture::new(&[]);
    let outcome = fixture.run("(sleep 0.1; echo late; sleep 60) & echo early").await;
    assert_eq!(outcome.output.head, "early\nlate\n");
    let outcome = fixture.run("yes & echo $! > pid_yes").await;
    assert_eq!(outcome.end, CommandEnd::Exited(0));
    fixture.shell.kill_survivors().await;
    assert!(!fixture.noted().into_iter().any(lives));
}

#[tokio::test]
async fn c47_r7_3_deaf_and_detached_children_end_with_the_limit() {
    let fixture = Fixture::new(&[]);
    let limit = Duration::from_secs(2);
    let start = Instant::now();
    let outcome = fixture.run_command(ShellCommand { timeout: Some(limit), ..fixture.command(DEAF) }).await;
    assert!(start.elapsed() < limit + Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!((outcome.end, outcome.output.head.as_str()), (CommandEnd::TimedOut, "ready\n"));
    assert_eq!(outcome.survivors, 0);
    let noted = fixture.noted();
    assert_eq!((noted.len(), noted.into_iter().any(lives)), (4, false));
}

#[tokio::test]
async fn r7_3_a_child_that_listens_may_clean_up() {
    let fixture = Fixture::new(&[]);
    let text = "trap 'echo cleaned; exit 3' TERM; while :; do sleep 0.02; done";
    let command = ShellCommand { timeout: Some(Duration::from_millis(300)), ..fixture.command(text) };
    let outcome = fixture.run_command(command).await;
    assert_eq!(outcome.end, CommandEnd::TimedOut);
    // Before it bash may tell of its own child's end.
    assert!(outcome.output.head.ends_with("cleaned\n"), "{}", outcome.output.head);
}

#[tokio::test]
async fn r2_4_after_cancel_the_whole_tree_is_gone_within_two_seconds() {
    let fixture = Fixture::new(&[]);
    let (output, mut pieces) = channel();
    let cancel = CancellationToken::new();
    let (outcome, cancelled) = tokio::join!(fixture.shell.run(fixture.command(DEAF), output, cancel.clone()), async {
        assert_eq!(pieces.recv().await.as_deref(), Some("ready\n"));
        cancel.cancel();
        Instant::now()
    });
    assert!(cancelled.elapsed() < Duration::from_secs(2), "{:?}", cancelled.elapsed());
    assert_eq!(outcome.unwrap().end, CommandEnd::Cancelled);
    let noted = fixture.noted();
    assert_eq!((noted.len(), noted.into_iter().any(lives)), (4, false));
}

/// 200 deaf processes, some of them busy, most in one group and others in sessions of their own. Says `ready` when all run.
const CROWD: &str = r#"
trap '' TERM
mkfifo never
for i in $(seq 20); do (echo > run_$i; while :; do :; done) & done
for i in $(seq 21 170); do (echo > run_$i; read < never) & done
for i in $(seq 171 200); do (setsid bash -c "echo > run_$i; read < never" &) & done
until [ $(ls | grep -c run_) = 200 ]; do sleep 0.1; done
echo ready
wait
"#;

#[tokio::test]
async fn r2_4_r7_3_a_crowd_that_keeps_the_machine_busy_is_gone_soon_after_a_cancel() {
    let fixture = Fixture::new(&[]);
    let (output, mut pieces) = channel();
    let cancel = CancellationToken::new();
    let command = ShellCommand { timeout: None, ..fixture.command(CROWD) };
    let (outcome, took) = tokio::join!(
        async {
            let outcome = fixture.shell.run(command, output, cancel.clone()).await.unwrap();
            (outcome, Instant::now())
        },
        async {
            assert_eq!(pieces.recv().await.as_deref(), Some("ready\n"));
            cancel.cancel();
            Instant::now()
        }
    );
    let ((outcome, ended), cancelled) = (outcome, took);
    assert_eq!((outcome.end, outcome.survivors), (CommandEnd::Cancelled, 0));
    assert!(ended - cancelled < Duration::from_secs(5), "{:?}", ended - cancelled);
}

#[tokio::test]
async fn r2_4_nothing_starts_after_a_cancel() {
    let fixture = Fixture::new(&[]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = fixture.shell.run(fixture.command("echo > started"), OutputSink::nowhere(), cancel).await.unwrap();
    assert_eq!(outcome.end, CommandEnd::Cancelled);
    assert!(!fixture.path("started").exists());
}

#[tokio::test]
async fn a_run_that_is_dropped_takes_its_tree_along() {
    let fixture = Fixture::new(&[]);
    let (output, mut pieces) = channel();
    tokio::select! {
        outcome = fixture.shell.run(fixture.command(DEAF), output, CancellationToken::new()) => panic!("{outcome:?}"),
        piece = pieces.recv() => assert_eq!(piece.as_deref(), Some("ready\n")),
    }
    let noted = fixture.noted();
    assert_eq!((noted.len(), noted.into_iter().any(lives)), (4, false));
}

#[tokio::test]
async fn r7_4_all_of_a_long_output_is_in_the_file() {
    let fixture = Fixture::new(&[]);
    let output = fixture.run(r"seq 1 100000; printf '\xff\n'").await.output;
    let expected: String = (1..=100_000).map(|number| format!("{number}\n")).collect::<String>() + "\u{FFFD}\n";
    assert_eq!(output.file.as_ref().map(AbsPath::as_path), Some(fixture.path("overflow").as_path()));
    assert_eq!(fs::read_to_string(fixture.path("overflow")).unwrap(), expected);
    assert!(expected.starts_with(&output.head) && expected.ends_with(&output.tail));
    assert_eq!(output.omitted_bytes as usize, expected.len() - output.head.len() - output.tail.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c51_200_runs_give_exact_output_and_exit() {
    let fixture = Fixture::new(&[]);
    for round in 0..50 {
        fixture.check(&format!("echo {round}"), &format!("{round}\n")).await;
        fixture.check("date -u -d @0 +%Y", "1970\n").await;
        fixture.check("sleep 0.1; echo done", "done\n").await;
        let outcome = fixture.run("false").await;
        assert_eq!((outcome.end, outcome.output), (CommandEnd::Exited(1), CapturedOutput::default()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c51_five_megabytes_of_each_stream_do_not_lock_up() {
    let fixture = Fixture::new(&[]);
    let outcome =
        fixture.run("head -c 5000000 /dev/zero | tr '\\0' e >&2; head -c 5000000 /dev/zero | tr '\\0' o").await;
    assert_eq!(outcome.end, CommandEnd::Exited(0));
    let CapturedOutput { head, tail, omitted_bytes, .. } = outcome.output;
    assert!(head.bytes().all(|byte| byte == b'e') && tail.bytes().all(|byte| byte == b'o'));
    assert_eq!(head.len() + tail.len() + omitted_bytes as usize, 10_000_000);
    let file = fs::read(fixture.path("overflow")).unwrap();
    assert!(file == [vec![b'e'; 5_000_000], vec![b'o'; 5_000_000]].concat());
}

/// Ends within five seconds, with this exit and something of its words in the output.
async fn check_ends(fixture: &Fixture, text: &str, exit: i32, says: &str) {
    let start = Instant::now();
    let outcome = fixture.run(text).await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}: {text}", start.elapsed());
    assert_eq!(outcome.end, CommandEnd::Exited(exit), "{text}: {}", outcome.output.head);
    assert!(outcome.output.head.contains(says), "{text}: {}", outcome.output.head);
}

#[tokio::test]
async fn c49_commands_that_want_a_user_end_by_themselves() {
    let fixture = Fixture::new(&[]);
    check_ends(&fixture, "read -p x; echo $?", 0, "1\n").await;
    fs::write(fixture.path("f"), "a line\n".repeat(500)).unwrap();
    check_ends(&fixture, "less f; echo end", 0, "a line\nend\n").await;
    check_ends(&fixture, "command -v sudo >/dev/null && sudo -k && sudo true; echo end", 0, "end").await;
}

#[tokio::test]
async fn c49_git_neither_opens_an_editor_nor_asks() {
    let fixture = Fixture::new(&[]);
    fixture
        .check(
            "{ git init -b main . && git config user.name A && git config user.email a@example.org
               for n in 1 2; do echo $n > f; git add f; git commit -m $n; done
               git switch -c side HEAD~1; echo 3 > f; git commit -am 3; echo 4 > f; git add f; } >/dev/null 2>&1",
            "",
        )
        .await;
    check_ends(&fixture, "git commit", 1, "empty commit message").await;
    check_ends(&fixture, "git reset -q --hard; git rebase main; echo 5 > f; git add f; git rebase --continue", 0, "")
        .await;
    fixture.check("git log --format=%s; git status --short -uno", "3\n2\n1\n").await;
    let server = Asking::start();
    check_ends(&fixture, &format!("git clone http://127.0.0.1:{}/private.git", server.port), 128, "prompts disabled")
        .await;
}

/// A server that answers every request by asking for a name and a password.
struct Asking {
    port: u16,
}

impl Asking {
    fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                // The request's beginning is enough; git sends no body here.
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(
                    b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                );
            }
        });
        Self { port }
    }
}

#[test]
fn programs_are_found_on_absolute_folders_of_the_path_only() {
    let temp = tempfile::tempdir().unwrap();
    let program = temp.path().join("program");
    fs::write(&program, "").unwrap();
    let find = |path: &Path| Variables::from_iter([("PATH", path)]).find_program("program");
    assert_eq!(find(temp.path()), None, "it cannot be executed");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(find(temp.path()), Some(program));
    assert_eq!(find(Path::new(".")), None);
}
