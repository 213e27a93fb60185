use super::*;
use crate::testing::FakeEnvironment;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn facts(folder: &str) -> Facts {
    Facts {
        folder: path(folder),
        roots: vec![path(folder), path("/other")],
        worktree: path(folder),
        ambiguous: Vec::new(),
        platform: "linux",
        temp: path("/tmp/copydesk-7"),
        spill: path("/home/user/.local/share/copydesk/tool-output"),
        max_lines: 2000,
        max_bytes: 51_200,
        command_timeout: 120_000,
        year: "2026".to_owned(),
    }
}

fn enforced() -> SandboxSupport {
    SandboxSupport::Enforced { by: "a test".to_owned(), gaps: Vec::new() }
}

const USUAL: Rights = Rights { workspace: WorkspaceRight::Change, network: NetworkRight::AsSet };

fn policy_in(folder: &str, settings: &SandboxSettings, rights: Rights) -> SandboxPolicy {
    policy_with([], folder, settings, rights)
}

fn policy_with<const N: usize>(
    variables: [(&str, &str); N],
    folder: &str,
    settings: &SandboxSettings,
    rights: Rights,
) -> SandboxPolicy {
    match confine(settings, &enforced(), &facts(folder), &*FakeEnvironment::new(variables), rights) {
        Confinement::Sandbox(policy) => policy,
        Confinement::None => panic!("not confined"),
    }
}

fn policy(settings: &SandboxSettings, rights: Rights) -> SandboxPolicy {
    policy_in("/w", settings, rights)
}

#[test]
fn without_settings_the_workspace_and_temp_can_be_changed_and_there_is_no_network() {
    let policy = policy(&SandboxSettings::default(), USUAL);
    assert_eq!(policy.writable, [path("/w"), path("/other")]);
    assert_eq!(policy.temp, path("/tmp/copydesk-7"));
    assert!(!policy.network);
}

#[test]
fn r8_5_secrets_of_home_and_of_our_own_are_unreadable() {
    let policy = policy(&SandboxSettings::default(), USUAL);
    for secret in [
        "/home/user/.ssh",
        "/home/user/.gnupg",
        "/home/user/.aws",
        "/home/user/.azure",
        "/home/user/.config/gcloud",
        "/home/user/.kube",
        "/home/user/.docker/config.json",
        "/home/user/.netrc",
        "/home/user/.git-credentials",
        "/home/user/.config/git/credentials",
        "/home/user/.pypirc",
        "/home/user/.cargo/credentials.toml",
        "/home/user/.mozilla",
        "/home/user/.bash_history",
        "/home/user/.local/share/copydesk",
        "/home/user/.config/copydesk/copydesk.jsonc",
        "/home/user/.copydesk/copydesk.json",
        "/home/user/.config/opencode/opencode.json",
        "/home/user/.local/share/opencode/auth.json",
    ] {
        assert!(policy.unreadable.contains(&path(secret)), "{secret}");
    }
    let spill = path("/home/user/.local/share/copydesk/tool-output");
    assert_eq!(policy.readable, [spill], "outputs can be paged");
}

#[test]
fn secrets_are_found_where_the_folders_were_moved() {
    let folders = Folders {
        home: path("/home/user"),
        config: path("/etc/me"),
        data: path("/srv/data/copydesk"),
        temp: path("/tmp"),
    };
    let found = secrets(&folders);
    for secret in [
        "/etc/me/gcloud",
        "/srv/data/keyrings",
        "/srv/data/opencode/auth.json",
        "/srv/data/copydesk",
        "/etc/me/copydesk/copydesk.jsonc",
    ] {
        assert!(found.contains(&path(secret)), "{secret}");
    }
}

#[test]
fn settings_widen_and_narrow() {
    let settings = SandboxSettings {
        writable: vec![path("/cache"), path("/w")],
        readable: vec![path("/home/user/.npmrc"), path("/home/user/.config")],
        unreadable: vec![path("/srv/keys"), path("/home/user/.ssh")],
        network: true,
        ..SandboxSettings::default()
    };
    let policy = policy(&settings, USUAL);
    assert_eq!(policy.writable, [path("/w"), path("/other"), path("/cache")]);
    assert!(policy.network);
    let hides = |secret: &str| policy.unreadable.iter().filter(|found| **found == path(secret)).count();
    assert_eq!((hides("/srv/keys"), hides("/home/user/.ssh")), (1, 1));
    assert_eq!((hides("/home/user/.npmrc"), hides("/home/user/.config/gh")), (0, 0));
}

#[test]
fn r8_5_secrets_are_found_where_variables_have_moved_them() {
    for (variable, value, hidden) in [
        ("COPYDESK_CONFIG", "/srv/c.json", &["/srv/c.json"][..]),
        ("COPYDESK_CONFIG", "../c.json", &["/c.json"]),
        ("COPYDESK_CONFIG_DIR", "/srv/d", &["/srv/d/copydesk.json", "/srv/d/copydesk.jsonc"]),
        ("OPENCODE_CONFIG", "/srv/o.json", &["/srv/o.json"]),
        ("OPENCODE_CONFIG_DIR", "/srv/o", &["/srv/o/opencode.json", "/srv/o/opencode.jsonc"]),
        ("CARGO_HOME", "/srv/cargo", &["/srv/cargo/credentials", "/srv/cargo/credentials.toml"]),
        ("NPM_CONFIG_USERCONFIG", "/srv/npmrc", &["/srv/npmrc"]),
        ("npm_config_userconfig", "/srv/npmrc", &["/srv/npmrc"]),
        ("PIP_CONFIG_FILE", "/srv/pip.conf", &["/srv/pip.conf"]),
        ("AWS_SHARED_CREDENTIALS_FILE", "/srv/aws", &["/srv/aws"]),
        ("KUBECONFIG", "/srv/one::/srv/two", &["/srv/one", "/srv/two"]),
        ("GNUPGHOME", "/srv/gnupg", &["/srv/gnupg"]),
        ("DOCKER_CONFIG", "/srv/docker", &["/srv/docker/config.json"]),
        ("GH_CONFIG_DIR", "/srv/gh", &["/srv/gh"]),
        ("NETRC", "/srv/netrc", &["/srv/netrc"]),
        // Without these nothing would run.
        ("PIP_CONFIG_FILE", "/dev/null", &[]),
        ("GNUPGHOME", "/home/user", &[]),
        ("GNUPGHOME", "/", &[]),
        ("NETRC", "", &[]),
        // Of the project.
        ("KUBECONFIG", "kube.yaml", &[]),
        ("AWS_SHARED_CREDENTIALS_FILE", "/other/aws", &[]),
        ("GH_CONFIG_DIR", "/w", &[]),
    ] {
        let mut policy = policy_with([(variable, value)], "/w", &SandboxSettings::default(), USUAL);
        let usual = policy_with([], "/w", &SandboxSettings::default(), USUAL);
        policy.unreadable.retain(|place| !usual.unreadable.contains(place));
        assert_eq!(policy.unreadable, hidden.iter().map(|place| path(place)).collect::<Vec<_>>(), "{variable}={value}");
    }
    // The home folder as a workspace is no project.
    let policy = policy_with([("NETRC", "/home/user/my/netrc")], "/home/user", &SandboxSettings::default(), USUAL);
    assert!(policy.unreadable.contains(&path("/home/user/my/netrc")));
    let lifted = SandboxSettings { readable: vec![path("/srv")], ..SandboxSettings::default() };
    let policy = policy_with([("NETRC", "/srv/netrc")], "/w", &lifted, USUAL);
    assert!(!policy.unreadable.contains(&path("/srv/netrc")));
}

#[test]
fn temporary_folders_are_told_apart_by_their_project() {
    let folders = FakeEnvironment::new([]).folders();
    let name = |project: &str| temp_of(&folders, &path(project)).to_string();
    assert_eq!(name("/w"), name("/w"));
    assert_ne!(name("/w"), name("/v"));
    let name = name("/w");
    let hash = name.strip_prefix("/tmp/copydesk-").unwrap();
    assert!(hash.len() == TEMP_DIGITS && hash.chars().all(|digit| digit.is_ascii_hexdigit()), "{name}");
}

#[test]
fn a_call_has_the_rights_that_it_was_given() {
    let settings = SandboxSettings { writable: vec![path("/cache")], ..SandboxSettings::default() };
    let read_only = Rights { workspace: WorkspaceRight::Read, network: NetworkRight::Full };
    let policy = policy(&settings, read_only);
    assert_eq!(policy.writable, []);
    assert!(policy.network);
}

#[test]
fn a_workspace_in_a_place_of_secrets_stays_whole() {
    let policy = policy_in("/home/user/.config/gh/scripts", &SandboxSettings::default(), USUAL);
    assert!(!policy.unreadable.contains(&path("/home/user/.config/gh")));
    assert!(policy.unreadable.contains(&path("/home/user/.ssh")));
}

#[test]
fn there_is_no_confinement_where_it_is_off_or_the_system_has_none() {
    let environment = &*FakeEnvironment::new([]);
    let off = SandboxSettings { enabled: false, ..SandboxSettings::default() };
    let missing = SandboxSupport::Missing { reason: "an old kernel".to_owned() };
    assert_eq!(confine(&off, &enforced(), &facts("/w"), environment, USUAL), Confinement::None);
    assert_eq!(confine(&SandboxSettings::default(), &missing, &facts("/w"), environment, USUAL), Confinement::None);
}
