#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

#[test]
fn folders_follow_xdg_and_ignore_relative_values() {
    let check = |variables: &[(&str, &str)], config: &str, data: &str, temp: &str| {
        let folders = OsEnvironment::new(variables.iter().copied().collect()).folders();
        let user = rustix::process::getuid().as_raw();
        assert_eq!(
            folders,
            Folders { home: path("/h"), config: path(config), data: path(data), temp: path(&format!("{temp}-{user}")) }
        );
    };
    check(&[("HOME", "/h")], "/h/.config", "/h/.local/share/copydesk", "/tmp/copydesk");
    check(
        &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d"), ("TMPDIR", "/t")],
        "/c",
        "/d/copydesk",
        "/t/copydesk",
    );
    check(
        &[("HOME", "/h"), ("XDG_CONFIG_HOME", "c"), ("XDG_DATA_HOME", ""), ("TMPDIR", "")],
        "/h/.config",
        "/h/.local/share/copydesk",
        "/tmp/copydesk",
    );
}

#[test]
fn variables_are_those_given() {
    let environment = OsEnvironment::new([("HOME", "/h"), ("NAME", "value")].into_iter().collect());
    assert_eq!(environment.var("NAME").as_deref(), Some("value"));
    assert_eq!(environment.var("PATH"), None);
}

#[test]
fn keys_come_from_variables_then_from_the_file() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("auth.json");
    let stored =
        r#"{"acme": {"type": "api", "key": "stored\n"}, "odd": {"type": "oauth", "refresh": "r"}, "worse": 7}"#;
    std::fs::write(&file, stored).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let variables: Variables = [("EMPTY", " "), ("SECOND", "from variable"), ("THIRD", "x")].into_iter().collect();
    let secrets = OsSecrets::new(variables, &AbsPath::new(temp.path()).unwrap());
    let key = |provider: &str, names: &[&str]| {
        secrets.key(provider, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(key("acme", &["FIRST", "EMPTY", "SECOND", "THIRD"]).as_deref(), Some("from variable"));
    assert_eq!(key("acme", &["FIRST", "EMPTY"]).as_deref(), Some("stored"));
    assert_eq!(key("odd", &[]), None);
    assert_eq!(key("worse", &[]), None);
    assert_eq!(key("unknown", &[]), None);

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(key("acme", &[]), None, "a file that others can read is refused");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&file, "{").unwrap();
    assert_eq!(key("acme", &[]), None);
}

#[test]
fn ids_ascend_within_one_millisecond_and_have_26_characters() {
    let ids = OsIds::default();
    let made: Vec<_> = std::iter::repeat_with(|| ids.next("ses")).take(10_000).collect();
    assert!(made.is_sorted_by(|a, b| a < b));
    for id in &made {
        let rest = id.strip_prefix("ses_").unwrap();
        assert_eq!(rest.len(), 26, "{id}");
        assert!(rest.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    }
    // Those of another daemon, started later, follow.
    std::iter::repeat_with(|| OsClock.now()).find(|now| now.0 << 12 > ids.last.load(Ordering::Relaxed) as i64).unwrap();
    assert!(OsIds::default().next("ses") > made[made.len() - 1]);
}

#[test]
fn ids_ascend_when_the_clock_goes_back() {
    let future = (u64::try_from(OsClock.now().0).unwrap() + 1_000_000) << 12;
    let ids = OsIds { last: AtomicU64::new(future) };
    let (first, second) = (ids.next("msg"), ids.next("msg"));
    assert!(first < second);
    assert_eq!(first[4..18], format!("{:014x}", future + 1));
}

#[test]
fn today_names_weekday_month_day_and_year() {
    let today = OsClock.today();
    let parts: Vec<_> = today.split(' ').collect();
    assert!(
        matches!(parts[..], [weekday, month, day, year]
        if weekday.len() == 3 && month.len() == 3 && day.len() == 2 && year.len() == 4),
        "{today}"
    );
    let parsed = jiff::civil::Date::strptime("%a %b %d %Y", &today).unwrap();
    let now = jiff::ZonedDateTime::now();
    // Midnight may have come in between.
    assert!([now.date(), now.date().yesterday().unwrap()].contains(&parsed));
}
