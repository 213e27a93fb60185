#![expect(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

fn file() -> (tempfile::TempDir, AuthFile) {
    let temp = tempfile::tempdir().unwrap();
    let file = AuthFile::in_folder(&AbsPath::new(temp.path().join("data")).unwrap());
    (temp, file)
}

fn mode(file: &AuthFile) -> u32 {
    std::fs::metadata(file.path()).unwrap().mode() & 0o7777
}

fn shown(file: &AuthFile) -> Vec<String> {
    file.list().unwrap().into_iter().map(|stored| format!("{} {}", stored.provider, stored.shown)).collect()
}

#[test]
fn keys_are_stored_for_their_owner_alone_and_shown_masked() {
    let (_temp, file) = file();
    assert_eq!(shown(&file), Vec::<String>::new());
    file.store("openai", " sk-0123456789abcdef\n").unwrap();
    file.store("anthropic", "short").unwrap();
    assert_eq!(mode(&file), 0o600);
    assert_eq!(file.key("openai").unwrap().as_deref(), Some("sk-0123456789abcdef"));
    assert_eq!(shown(&file), ["anthropic …", "openai sk-0…cdef"]);
    assert!(file.remove("openai").unwrap());
    assert!(!file.remove("openai").unwrap());
    assert_eq!(shown(&file), ["anthropic …"]);
    let left: Vec<_> =
        std::fs::read_dir(file.path().parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["auth.json"]);
}

#[test]
fn what_is_no_key_is_not_stored() {
    let (_temp, file) = file();
    for key in ["", " \n", "two\nlines", "a\u{7}b"] {
        assert!(matches!(file.store("openai", key), Err(AuthError::NoKey)), "{key:?}");
    }
    assert!(!file.path().exists());
}

#[test]
fn entries_of_other_kinds_are_kept() {
    let (_temp, file) = file();
    std::fs::create_dir_all(file.path().parent().unwrap()).unwrap();
    let oauth = r#"{"copilot": {"type": "oauth", "refresh": "r", "expires": 5}, "worse": 7}"#;
    std::fs::write(file.path(), oauth).unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
    file.store("openai", "sk-0123456789abcdef").unwrap();
    assert_eq!(shown(&file), ["copilot (oauth)", "openai sk-0…cdef", "worse (unknown kind)"]);
    let stored: Value = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
    assert_eq!(stored["copilot"], json!({"type": "oauth", "refresh": "r", "expires": 5}));
}

#[test]
fn a_file_that_is_broken_or_open_to_others_is_said_and_not_lost() {
    let (_temp, file) = file();
    std::fs::create_dir_all(file.path().parent().unwrap()).unwrap();
    std::fs::write(file.path(), r#"{"openai": {"type": "api", "key": "sk-0123456789abcdef"},"#).unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
    let error = file.store("anthropic", "key").unwrap_err();
    assert!(
        matches!(error, AuthError::File(KeptFileError::Malformed { .. })) && !error.to_string().contains("sk-"),
        "{error}"
    );
    assert!(std::fs::read_to_string(file.path()).unwrap().contains("sk-0123456789abcdef"));

    std::fs::write(file.path(), r#"{"openai": {"type": "api", "key": "sk-0123456789abcdef"}}"#).unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(file.key("openai"), Err(AuthError::Exposed { mode: 0o644, .. })));
    // Written anew, it is for its owner alone.
    file.store("anthropic", "key").unwrap();
    assert_eq!(mode(&file), 0o600);
    assert_eq!(shown(&file).len(), 2);
}

#[test]
fn keys_are_imported_where_none_is_stored() {
    let (temp, file) = file();
    file.store("openai", "sk-mine-0123456789").unwrap();
    let other = AuthFile::at(temp.path().join("opencode.json"));
    let text = r#"{"openai": {"type": "api", "key": "theirs"}, "https://corp/": {"type": "api", "key": "corp"}, "copilot": {"type": "oauth"}}"#;
    std::fs::write(other.path(), text).unwrap();
    std::fs::set_permissions(other.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(file.import(&other).unwrap(), ["https://corp"]);
    assert_eq!(file.key("openai").unwrap().as_deref(), Some("sk-mine-0123456789"));
    assert_eq!(file.key("https://corp").unwrap().as_deref(), Some("corp"));
    assert_eq!(file.import(&other).unwrap(), Vec::<String>::new());
    assert_eq!(file.import(&AuthFile::at(temp.path().join("gone"))).unwrap(), Vec::<String>::new());
}
