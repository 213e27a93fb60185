//! Files of a commit, with the real program.

use std::path::Path;
use std::process::Command as Program;

use super::*;

fn git(folder: &Path, arguments: &[&str]) {
    let ended = Program::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "core.autocrlf=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

async fn committed(folder: &Path, names: &[&str]) -> Result<Vec<Option<Committed>>, VersionControlError> {
    let git = GitHead::new(Variables::of_process());
    git.committed(AbsPath::new(folder).unwrap(), names.iter().map(|name| (*name).to_owned()).collect()).await
}

fn file(bytes: &[u8], mode: u32) -> Option<Committed> {
    Some(Committed { bytes: Some(bytes.to_vec()), mode })
}

#[tokio::test]
async fn files_are_those_of_the_commit_that_is_checked_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    git(at, &["init", "-q"]);
    assert_eq!(committed(at, &["a.txt"]).await, Ok(vec![None]), "there is no commit yet");
    std::fs::create_dir(at.join("sub")).unwrap();
    let odd = "sub/b *\n\"\u{e9}\u{1f430}.txt";
    for (name, bytes) in [("a.txt", &b"a\r\n"[..]), (odd, b"\xff\0\n"), ("empty", b""), ("tool", b"#!/bin/sh\n")] {
        std::fs::write(at.join(name), bytes).unwrap();
    }
    std::os::unix::fs::symlink("a.txt", at.join("link")).unwrap();
    std::fs::set_permissions(at.join("tool"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    git(at, &["add", "-A"]);
    git(at, &["commit", "-qm", "first"]);
    // Neither the work tree nor the index counts.
    std::fs::write(at.join("a.txt"), "changed").unwrap();
    std::fs::write(at.join("new"), "new").unwrap();
    git(at, &["add", "-A"]);
    let names = ["tool", "new", "a.txt", odd, "sub", "link", "sub/*", "empty"];
    let expected = vec![
        file(b"#!/bin/sh\n", 0o755),
        None,
        file(b"a\r\n", 0o644),
        file(b"\xff\0\n", 0o644),
        None,
        None,
        None,
        file(b"", 0o644),
    ];
    assert_eq!(committed(at, &names).await.unwrap(), expected);
}

#[tokio::test]
async fn more_names_than_one_command_line_takes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    git(at, &["init", "-q"]);
    let names: Vec<String> = (0..NAMES * 2 + 3).map(|number| format!("{number}.txt")).collect();
    for name in &names {
        std::fs::write(at.join(name), name).unwrap();
    }
    git(at, &["add", "-A"]);
    git(at, &["commit", "-qm", "first"]);
    let found = committed(at, &names.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
    let expected: Vec<_> = names.iter().map(|name| file(name.as_bytes(), 0o644)).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn nothing_that_a_repository_configures_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    git(at, &["init", "-q"]);
    let trap = at.join("trap");
    std::fs::write(&trap, format!("#!/bin/sh\ntouch '{}'\ncat\n", at.join("sprung").display())).unwrap();
    std::fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(at.join("a.txt"), "a\n").unwrap();
    std::fs::write(at.join(".gitattributes"), "* filter=trap diff=trap\n").unwrap();
    git(at, &["add", "-A"]);
    git(at, &["commit", "-qm", "first"]);
    let trap = trap.to_str().unwrap();
    for key in
        ["core.fsmonitor", "core.pager", "filter.trap.smudge", "diff.trap.textconv", "core.sshCommand", "core.editor"]
    {
        git(at, &["config", key, trap]);
    }
    assert_eq!(committed(at, &["a.txt"]).await, Ok(vec![file(b"a\n", 0o644)]));
    assert!(!at.join("sprung").exists());
}

#[tokio::test]
async fn what_cannot_be_read_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let failed = committed(folder.path(), &["a.txt"]).await.unwrap_err();
    assert!(
        matches!(&failed, VersionControlError::Failed { reason, .. } if reason.contains("not a git repository")),
        "{failed}"
    );
    let nowhere = GitHead::new([("PATH", folder.path())].into_iter().collect());
    let none = nowhere.committed(AbsPath::new(folder.path()).unwrap(), Vec::new()).await;
    assert_eq!(none, Err(VersionControlError::NoGit));
}
