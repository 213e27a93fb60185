#![expect(clippy::expect_used, reason = "a test may panic")]

use std::time::Duration;

use copydesk_engine::ports::SandboxPolicy;
use copydesk_workspace::path::AbsPath;

use super::*;

fn command(confined: bool, passed: &[&str]) -> ShellCommand {
    let path = |text: &str| AbsPath::new(text).expect("absolute");
    let policy = SandboxPolicy {
        writable: Vec::new(),
        unreadable: Vec::new(),
        readable: Vec::new(),
        network: false,
        temp: path("/t"),
    };
    ShellCommand {
        command: "env".to_owned(),
        folder: path("/"),
        timeout: Some(Duration::from_secs(1)),
        overflow: path("/t/x"),
        hidden_vars: vec!["ACME_API_KEY".to_owned()],
        passed_vars: passed.iter().map(|name| (*name).to_owned()).collect(),
        confinement: if confined { Confinement::Sandbox(policy) } else { Confinement::None },
    }
}

/// The names that pass, sorted.
fn names(variables: &[(&str, &str)], command: &ShellCommand) -> Vec<String> {
    let variables: Variables = variables.iter().copied().collect();
    let mut names: Vec<String> =
        of(&variables, command).into_iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const MIXED: [(&str, &str); 19] = [
    ("PATH", "/bin"),
    ("LC_ALL", "C"),
    ("CARGO_HOME", "/c"),
    ("CARGO_REGISTRY_TOKEN", "x"),
    ("MISE_GITHUB_TOKEN", "x"),
    ("DATABASE_URL", "postgres://u:p@h/d"),
    ("AWS_SECRET_ACCESS_KEY", "x"),
    ("GITHUB_TOKEN", "x"),
    ("ACME_API_KEY", "sk-123456789"),
    ("COPY_OF_KEY", "sk-123456789"),
    ("BASH_ENV", "/evil"),
    ("BASH_FUNC_ls%%", "() { evil; }"),
    ("SSH_AUTH_SOCK", "/run/agent"),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"),
    ("https_proxy", "http://proxy:3128"),
    ("HTTP_PROXY", "http://me:pw@proxy:3128"),
    ("COPYDESK_CONFIG_CONTENT", "{}"),
    ("ANYTHING", "x"),
    ("PYTHONPATH", "/p"),
];

#[test]
fn r19_3_children_get_the_listed_variables_alone() {
    let inside = ["CARGO_HOME", "GOCACHE", "LC_ALL", "PATH", "PYTHONPATH", "TMPDIR", "https_proxy", "npm_config_cache"];
    assert_eq!(names(&MIXED, &command(true, &[])), inside);
    let outside =
        ["CARGO_HOME", "DBUS_SESSION_BUS_ADDRESS", "LC_ALL", "PATH", "PYTHONPATH", "SSH_AUTH_SOCK", "https_proxy"];
    assert_eq!(names(&MIXED, &command(false, &[])), outside);
}

/// Neither by its name, nor by a pattern, nor under another name.
#[test]
fn r19_3_no_word_of_the_user_passes_a_providers_key() {
    let all = names(&MIXED, &command(false, &["*", "ACME_API_KEY", "COPY_OF_KEY", "BASH_ENV"]));
    for never in ["ACME_API_KEY", "COPY_OF_KEY", "BASH_ENV", "BASH_FUNC_ls%%"] {
        assert!(!all.contains(&never.to_owned()), "{never}");
    }
    assert_eq!(all.len(), MIXED.len() - 4);
}

#[test]
fn the_user_passes_more_by_name_and_by_beginning() {
    let passed = names(&MIXED, &command(true, &["DATABASE_URL", "AWS_*", "ANY"]));
    assert!(passed.contains(&"DATABASE_URL".to_owned()) && passed.contains(&"AWS_SECRET_ACCESS_KEY".to_owned()));
    assert!(!passed.contains(&"ANYTHING".to_owned()));
}

#[test]
fn the_temporary_folder_of_the_sandbox_replaces_the_users() {
    let variables: Variables = [("TMPDIR", "/tmp"), ("TEMP", "/tmp"), ("GOCACHE", "/mine")].into_iter().collect();
    let value = |of: &[(OsString, OsString)], name: &str| {
        of.iter().find(|(other, _)| other == name).map(|(_, value)| value.to_string_lossy().into_owned())
    };
    let inside = of(&variables, &command(true, &[]));
    assert_eq!((value(&inside, "TMPDIR").as_deref(), value(&inside, "TEMP")), (Some("/t"), None));
    assert_eq!(value(&inside, "GOCACHE").as_deref(), Some("/mine"));
    let outside = of(&variables, &command(false, &[]));
    assert_eq!((value(&outside, "TMPDIR").as_deref(), value(&outside, "npm_config_cache")), (Some("/tmp"), None));
}
