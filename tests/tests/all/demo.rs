//! The demo as a newcomer starts it: the built program, nothing configured, no network.

use std::path::{Path, PathBuf};
use std::time::Duration;

use copydesk_tests::daemon::Home;
use tokio::time::timeout;

#[tokio::test]
async fn the_demo_shows_a_whole_turn_and_leaves_nothing_behind() {
    let home = Home::new();
    // rustc may be a proxy of rustup's, which looks for its toolchains in the real home.
    let of_home = || Path::new(&std::env::var_os("HOME").unwrap()).join(".rustup");
    let rustup = std::env::var_os("RUSTUP_HOME").map_or_else(of_home, PathBuf::from);
    let temp = tempfile::tempdir().unwrap();
    let output = home.command(&["demo"]).env("RUSTUP_HOME", rustup).env("TMPDIR", temp.path()).output();
    let output = timeout(Duration::from_secs(120), output).await.unwrap().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}\n{}", home.log());

    let milestones = [
        "The model is a script, and so is the user.",
        "Read greet.rs",
        "1: /// A greeting for `name`.",
        "-    format!(\"Hello {name}\")",
        "mismatched types: expected `String`, found `&str`",
        "Fixed by this edit",
        "[ask]",
        "[user]   (scripted)",
        "1 passed",
        "[turn] end_turn",
        "Done:",
    ];
    let mut rest = shown.as_str();
    for milestone in milestones {
        rest =
            rest.split_once(milestone).unwrap_or_else(|| panic!("{milestone} is missing or too early in:\n{shown}")).1;
    }
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0, "its folder is removed");
    assert_eq!(std::fs::read_dir(home.data()).unwrap().count(), 0, "the user's data are not touched");
}
