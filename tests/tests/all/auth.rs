//! `copydesk auth` as a user runs it.

use std::process::{Output, Stdio};

use copydesk_tests::daemon::Home;
use tokio::io::AsyncWriteExt;

const KEY: &str = "sk-0123456789abcdef";

async fn auth(home: &Home, arguments: &[&str], input: &str) -> Output {
    let mut command = home.command(&[&["auth"], arguments].concat());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = tokio::time::timeout(std::time::Duration::from_secs(30), child.wait_with_output()).await;
    output.expect("an end in time").unwrap()
}

async fn said(home: &Home, arguments: &[&str], input: &str) -> String {
    let output = auth(home, arguments, input).await;
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(!text.contains(KEY), "a key is never said: {text}");
    let mark = if output.status.success() { "" } else { "failed: " };
    format!("{mark}{text}").replace(&home.path().display().to_string(), "~")
}

#[tokio::test]
async fn keys_are_stored_listed_removed_and_imported() {
    let home = Home::new();
    let file = "~/.local/share/copydesk/auth.json";
    let nothing = format!("No keys are stored. `copydesk auth login PROVIDER` stores one in {file}.\n");
    assert_eq!(said(&home, &["list"], "").await, nothing);
    let stored = format!("The key of anthropic is stored in {file}.\n");
    assert_eq!(said(&home, &["login", "anthropic"], &format!("{KEY}\n")).await, stored);
    assert_eq!(said(&home, &["list"], "").await, "anthropic  sk-0…cdef\n");
    let mode =
        std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(home.data().join("copydesk/auth.json")).unwrap());
    assert_eq!(mode & 0o777, 0o600);

    assert!(said(&home, &["login", "openai"], "").await.starts_with("failed: A key is one line"));
    assert!(said(&home, &["import"], "").await.starts_with("failed: opencode has stored no keys in"));
    let theirs = home.data().join("opencode");
    std::fs::create_dir_all(&theirs).unwrap();
    let entries =
        format!(r#"{{"anthropic": {{"type": "api", "key": "x"}}, "groq": {{"type": "api", "key": "{KEY}"}}}}"#);
    std::fs::write(theirs.join("auth.json"), entries).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(theirs.join("auth.json"), mode).unwrap();
    assert_eq!(said(&home, &["import"], "").await, "Imported the keys of groq.\n");

    assert_eq!(said(&home, &["logout", "groq"], "").await, "The key of groq is removed.\n");
    assert!(said(&home, &["logout", "groq"], "").await.starts_with("failed: No key is stored for groq"));
    assert_eq!(said(&home, &["list"], "").await, "anthropic  sk-0…cdef\n");
}
