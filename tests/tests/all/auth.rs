//! `copydesk auth` as a user runs it.

use std::process::{Output, Stdio};

use copydesk_tests::daemon::Home;
use copydesk_tests::pty::Pty;
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
    let entries = format!(
        r#"{{"anthropic": {{"type": "api", "key": "x"}}, "groq": {{"type": "api", "key": "{KEY}"}},
            "mistral": {{"type": "api", "key": "a\nb"}}, "": {{"type": "api", "key": "c"}}, "\u001b[2J": {{"type": "api", "key": "d"}}}}"#
    );
    std::fs::write(theirs.join("auth.json"), entries).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(theirs.join("auth.json"), mode).unwrap();
    assert_eq!(said(&home, &["import"], "").await, "Imported the keys of groq.\n");

    assert_eq!(said(&home, &["logout", "groq"], "").await, "The key of groq is removed.\n");
    assert!(said(&home, &["logout", "groq"], "").await.starts_with("failed: No key is stored for groq"));
    assert_eq!(said(&home, &["list"], "").await, "anthropic  sk-0…cdef\n");
}

#[tokio::test]
async fn what_is_no_key_or_no_provider_is_refused_whole_and_nothing_draws_on_the_terminal() {
    let home = Home::new();
    let long = "k".repeat((16 << 10) + 1);
    for key in ["", " \n", "a\nb\n", "\u{1b}[2J", "schlüssel", &long] {
        assert!(said(&home, &["login", "anthropic"], key).await.starts_with("failed: A key is one line"), "{key:?}");
    }
    let mut child = home.command(&["auth", "login", "anthropic"]).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\xff\xfe\n").await.unwrap();
    let errors = String::from_utf8(child.wait_with_output().await.unwrap().stderr).unwrap();
    assert!(errors.starts_with("A key is one line"), "{errors}");
    for provider in ["", " ", "a\nb", "\u{1b}[1m"] {
        assert!(said(&home, &["login", provider], KEY).await.starts_with("failed: A provider has"), "{provider:?}");
    }
    assert!(!home.data().join("copydesk/auth.json").exists());

    std::fs::create_dir_all(home.data().join("copydesk")).unwrap();
    let file = home.data().join("copydesk/auth.json");
    std::fs::write(&file, r#"{"\u001b[2Jx": {"type": "api", "key": "k"}}"#).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(said(&home, &["list"], "").await, "\\u{1b}[2Jx  …\n");
    assert!(said(&home, &["logout", "\u{1b}y"], "").await.contains("for \\u{1b}y;"));
}

/// The kernel cuts a line that is typed, and says nothing of it.
#[tokio::test]
async fn a_key_that_the_terminal_may_have_cut_is_not_stored() {
    let home = Home::new();
    let mut terminal = Pty::spawn(home.command(&["auth", "login", "anthropic"]));
    terminal.expect("(not shown): ").await;
    terminal.type_text(&"k".repeat(5000));
    terminal.type_text("\n");
    terminal.expect("Give it by standard input").await;
    let (code, _) = terminal.end().await;
    assert_eq!(code, Some(1));
    assert!(!home.data().join("copydesk/auth.json").exists());
    let stored = said(&home, &["login", "anthropic"], &"k".repeat(5000)).await;
    assert!(stored.starts_with("The key of anthropic is stored"), "{stored}");
}

#[tokio::test]
async fn a_login_that_is_given_up_leaves_the_terminal_as_it_was() {
    let home = Home::new();
    let mut shell = tokio::process::Command::new("bash");
    // The shell is left alone by the Ctrl-C, and shows how it finds the terminal.
    shell.args(["--norc", "-c", "trap : INT; \"$0\" auth login anthropic; echo \"ended $?\"; stty -a"]);
    let program = home.command(&[]);
    let program = program.as_std();
    shell.arg(program.get_program()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut terminal = Pty::spawn(shell);
    terminal.expect("(not shown): ").await;
    terminal.type_text("half a ke");
    terminal.type_text("\u{3}");
    terminal.expect("ended 130").await;
    let (_, state) = terminal.end().await;
    assert!(state.contains(" echo ") && !state.contains(" -echo "), "{state}");
    assert!(!home.data().join("copydesk/auth.json").exists());
}
