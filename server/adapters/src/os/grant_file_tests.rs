#![expect(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt as _;

use copydesk_engine::ids::Millis;
use copydesk_engine::permission::{Agents, Cover, Grant, GrantScope};

use super::*;

fn folder() -> (tempfile::TempDir, AbsPath) {
    let temp = tempfile::tempdir().unwrap();
    let data = AbsPath::new(temp.path().join("data")).unwrap();
    (temp, data)
}

fn grant(id: &str, command: &str) -> KeptGrant {
    let grant = Grant {
        agents: Agents::Only("build".to_owned()),
        permission: "bash".to_owned(),
        cover: Cover::Prefix(command.to_owned()),
    };
    KeptGrant { id: id.to_owned(), scope: GrantScope::User, grant, given: Millis(1) }
}

async fn ids(file: &GrantFile) -> Vec<String> {
    file.all().await.unwrap().iter().map(|kept| kept.id.clone()).collect()
}

fn put(data: &AbsPath, text: &str) {
    let path = data.join("grants.json");
    std::fs::create_dir_all(data.as_path()).unwrap();
    std::fs::write(path.as_path(), text).unwrap();
    std::fs::set_permissions(path.as_path(), std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[tokio::test]
async fn r9_1_two_daemons_see_what_the_other_has_kept_and_removed() {
    let (_temp, data) = folder();
    let (one, other) = (GrantFile::in_folder(&data), GrantFile::in_folder(&data));
    let changes = one.changes();
    assert_eq!(ids(&other).await, Vec::<String>::new());
    one.add(vec![grant("a", "git log"), grant("b", "make")]).await.unwrap();
    assert!(changes.has_changed().unwrap());
    assert_eq!(ids(&other).await, ["a", "b"]);
    other.add(vec![grant("c", "git log"), grant("d", "ls")]).await.unwrap();
    assert_eq!(ids(&one).await, ["a", "b", "d"], "the same is kept once");
    let removed = one.remove(vec!["a".to_owned(), "x".to_owned()]).await.unwrap();
    assert_eq!(removed, [grant("a", "git log")]);
    assert_eq!(ids(&other).await, ["b", "d"]);
    assert_eq!(ids(&GrantFile::in_folder(&data)).await, ["b", "d"], "a daemon that starts later");
}

#[tokio::test]
async fn what_is_known_is_not_read_again() {
    let (_temp, data) = folder();
    let file = GrantFile::in_folder(&data);
    file.add(vec![grant("a", "make")]).await.unwrap();
    let (first, second) = (file.all().await.unwrap(), file.all().await.unwrap());
    assert!(Arc::ptr_eq(&first, &second));
}

#[tokio::test]
async fn r9_1_a_torn_file_grants_nothing_and_is_not_overwritten() {
    let torn = r#"{"version": 1, "grants": [{"id": "a", "#;
    let narrowed = r#"{"version": 1, "grants": [{"id": "a", "scope": "user", "given": 1, "until": 2, "grant": {"agents": "every", "permission": "bash", "cover": "all"}}]}"#;
    let newer = r#"{"version": 2, "grants": []}"#;
    for text in [torn, narrowed, newer, "", "[]"] {
        let (_temp, data) = folder();
        let file = GrantFile::in_folder(&data);
        file.add(vec![grant("a", "make")]).await.unwrap();
        put(&data, text);
        for _ in 0..2 {
            let error = file.all().await.unwrap_err();
            assert!(matches!(&error, GrantStoreError::Unusable { .. }), "{text}: {error}");
            assert!(error.to_string().contains("grants.json"), "{error}");
        }
        assert!(file.add(vec![grant("b", "ls")]).await.is_err(), "{text}");
        assert!(file.remove(vec!["a".to_owned()]).await.is_err(), "{text}");
        assert_eq!(std::fs::read_to_string(data.join("grants.json").as_path()).unwrap(), text);
        let aside = file.begin_anew().unwrap().unwrap();
        assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
        file.add(vec![grant("b", "ls")]).await.unwrap();
        assert_eq!(ids(&file).await, ["b"]);
        assert_eq!(file.begin_anew().unwrap(), None);
    }
}

#[tokio::test]
async fn r9_1_a_file_that_others_could_have_written_grants_nothing() {
    let (_temp, data) = folder();
    let file = GrantFile::in_folder(&data);
    file.add(vec![grant("a", "make")]).await.unwrap();
    assert_eq!(ids(&file).await, ["a"]);
    let path = data.join("grants.json");
    std::fs::set_permissions(path.as_path(), std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(file.all().await, Err(GrantStoreError::Unusable { .. })));
}
