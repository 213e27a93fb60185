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
    for (text, raw, leaves) in [
        ("exit 7", 7 << 8, false),
        ("kill -KILL $$", 9, false),
        // Orphans that have ended are none.
        ("(true &); (setsid true &); wait; true", 0, false),
        ("(env -i setsid sleep 600 &) ; exit 1", 1 << 8, true),
    ] {
        let (mut supervised, mut tree) = spawn(bash(text)).unwrap();
        let exit = supervised.wait().await.unwrap();
        assert_eq!(exit.status.into_raw(), raw, "{text}");
        // It may not have ended yet.
        assert!(exit.leaves == leaves || text.contains("true"), "{text}");
        assert_eq!(tree.kill(), 0, "{text}");
        supervised.collect(Duration::from_secs(30)).await;
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
