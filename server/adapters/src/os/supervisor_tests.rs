#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Stdio;

use super::*;

/// This test's program as the supervisor of the commands of other tests.
pub(in crate::os) fn launch() -> Vec<OsString> {
    let name = "os::supervisor::tests::a_supervisor_ends_with_its_daemon";
    ["/proc/self/exe", "--exact", name, "--nocapture", "--test-threads=1"].map(OsString::from).to_vec()
}

/// In a supervisor's process (it has no variables) the supervisor itself.
#[test]
fn a_supervisor_ends_with_its_daemon() {
    if std::env::vars_os().next().is_none() {
        return supervise().unwrap();
    }
    let [program, arguments @ ..] = &launch()[..] else { unreachable!() };
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut alone = std::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Before it was told of a command: there is none.
    drop(ours);
    assert!(!alone.wait().unwrap().success(), "it says that it was told of none");
}

fn bash(text: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", text]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn spawn(command: Command) -> io::Result<(Supervised, ProcessTree)> {
    Launch::new(launch()).spawn(command, "marker".to_owned(), || Ok(()))
}

#[tokio::test]
async fn the_end_of_the_direct_child_is_reported_with_what_it_leaves() {
    let temp = tempfile::tempdir().unwrap();
    // Orphans that have ended are none: it waits until both are, whoever has collected them.
    let ended = format!(
        "cd {}; (true & echo $! > a); (setsid true & echo $! > b); for orphan in $(cat a b); do while kill -0 $orphan; do :; done; done; exit 4",
        temp.path().display()
    );
    for (text, raw, leaves) in [
        ("exit 7", 7 << 8, false),
        ("kill -KILL $$", 9, false),
        (&ended, 4 << 8, false),
        ("(env -i setsid sleep 600 &) ; exit 1", 1 << 8, true),
    ] {
        let (mut supervised, mut tree) = spawn(bash(text)).unwrap();
        let exit = supervised.wait().await.unwrap();
        assert_eq!((exit.status.into_raw(), exit.leaves), (raw, leaves), "{text}");
        assert_eq!(tree.kill(), 0, "{text}");
        assert!(supervised.collect(Duration::from_secs(30)).await, "{text}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_an_error_and_leaves_no_supervisor() {
    let missing = spawn(Command::new("/nonexistent/program"));
    assert_eq!(missing.map(drop).unwrap_err().kind(), io::ErrorKind::NotFound);
    let refused = Launch::new(launch()).spawn(bash("true"), String::new(), || Err(io::ErrorKind::StorageFull.into()));
    assert!(refused.is_err());
    for words in [vec![], vec!["/nonexistent/supervisor".into()], vec!["/bin/true".into(); 8]] {
        let temp = tempfile::tempdir().unwrap();
        let text = format!("sleep 600; touch {}/ran", temp.path().display());
        let refused = Launch::new(words).spawn(bash(&text), String::new(), || Ok(()));
        assert_eq!(refused.map(drop).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

#[tokio::test]
async fn a_killed_supervisor_is_no_exit() {
    let (mut supervised, mut tree) = spawn(bash("kill -KILL $PPID; while :; do sleep 1; done")).unwrap();
    assert!(supervised.wait().await.is_none());
    assert!(tree.count_living() >= 1, "the command lives, and is known without it");
    assert_eq!(tree.kill(), 0);
}

#[tokio::test]
async fn a_supervisor_that_is_told_to_end_or_stopped_stays_with_its_command() {
    let text = "for signal in HUP INT TERM; do kill -$signal $PPID; done; (env -i setsid sleep 600 &); exit 5";
    let (mut supervised, mut tree) = spawn(bash(text)).unwrap();
    let exit = supervised.wait().await.unwrap();
    assert_eq!((exit.status.code(), exit.leaves), (Some(5), true));
    assert_eq!((tree.count_living(), tree.kill()), (1, 0));

    let (supervised, mut tree) = spawn(bash("kill -STOP $PPID; while :; do sleep 1; done")).unwrap();
    let supervisor = supervised.supervisor.id().unwrap();
    let is_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{supervisor}/stat")).unwrap();
        stat[stat.rfind(')').unwrap() + 1..].trim_start().starts_with('T')
    };
    timeout(Duration::from_secs(30), async {
        while !is_stopped() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    assert_eq!(tree.kill(), 0);
    let Supervised { mut supervisor, .. } = supervised;
    timeout(Duration::from_secs(30), supervisor.wait()).await.unwrap().unwrap();
}

/// As when the daemon is killed: nothing looks for what is left but the supervisor.
#[tokio::test]
async fn the_end_of_the_connection_ends_all_that_is_left() {
    let temp = tempfile::tempdir().unwrap();
    let fifo = temp.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    // Deaf, stopped, and out of sight: each holds the pipe open as long as it lives.
    let text = format!(
        "exec 9>{}; trap '' TERM; (env -i setsid bash -c 'kill -STOP $$' &); (env -i setsid sleep 600 &); echo up >&9; while :; do sleep 600; done",
        fifo.display()
    );
    let (supervised, tree) = spawn(bash(&text)).unwrap();
    let (up, is_up) = tokio::sync::oneshot::channel();
    let reader = tokio::task::spawn_blocking(move || {
        let mut fifo = std::fs::File::open(fifo).unwrap();
        let mut word = [0; 3];
        fifo.read_exact(&mut word).unwrap();
        up.send(word).unwrap();
        fifo.read_to_end(&mut Vec::new()).unwrap()
    });
    assert_eq!(&timeout(Duration::from_secs(30), is_up).await.unwrap().unwrap(), b"up\n");
    drop((supervised, tree));
    assert_eq!(timeout(Duration::from_secs(30), reader).await.unwrap().unwrap(), 0);
}

/// In a process of its own one that forks and leaves its session at each step, a byte to its output each time.
#[test]
fn a_process_that_is_never_there() {
    if std::env::var_os("FORKS_AND_LEAVES").is_none() {
        return;
    }
    loop {
        let written = rustix::io::write(rustix::stdio::stdout(), b".").is_ok();
        #[expect(unsafe_code, reason = "nothing else forks")]
        // SAFETY: what follows makes system calls alone.
        match unsafe { libc::fork() } {
            0 if written => drop(rustix::process::setsid()),
            _ => unsafe { libc::_exit(0) },
        }
    }
}

/// What is started by `text` with its output in a pipe: how much it has written, once all that hold the pipe are gone.
async fn written_until_all_are_gone(text: &str, end: impl FnOnce(Supervised, ProcessTree) + Send + 'static) -> usize {
    let (reader, writer) = io::pipe().unwrap();
    let mut command = bash(text);
    command.env("TEST", std::env::current_exe().unwrap()).stdout(writer);
    let (supervised, tree) = spawn(command).unwrap();
    let read = tokio::task::spawn_blocking(move || {
        let mut reader = reader;
        // It runs.
        reader.read_exact(&mut [0; 50]).unwrap();
        end(supervised, tree);
        50 + reader.read_to_end(&mut Vec::new()).unwrap()
    });
    timeout(Duration::from_secs(60), read).await.unwrap().unwrap()
}

const FORKS_AND_LEAVES: &str = "FORKS_AND_LEAVES=1 exec \"$TEST\" --exact os::supervisor::tests::a_process_that_is_never_there --nocapture --test-threads=1";

#[tokio::test]
async fn r7_3_what_forks_and_leaves_at_each_step_is_ended() {
    let written = written_until_all_are_gone(FORKS_AND_LEAVES, |supervised, mut tree| {
        tree.kill();
        drop((supervised, tree));
    });
    assert!(written.await > 50);
}

/// As when the daemon is killed.
#[tokio::test]
async fn r7_3_what_forks_and_leaves_ends_with_the_connection() {
    let written = written_until_all_are_gone(FORKS_AND_LEAVES, |supervised, tree| drop((supervised, tree)));
    assert!(written.await > 50);
}
