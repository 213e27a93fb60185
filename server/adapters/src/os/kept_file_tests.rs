#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use super::*;

type Counts = BTreeMap<String, u32>;

fn file() -> (tempfile::TempDir, KeptFile) {
    let temp = tempfile::tempdir().unwrap();
    let file = KeptFile::at(temp.path().join("data/counts.json"));
    (temp, file)
}

fn put(file: &KeptFile, text: &str, mode: u32) {
    std::fs::create_dir_all(file.folder()).unwrap();
    std::fs::write(file.path(), text).unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
}

fn count(file: &KeptFile, name: &str) -> u32 {
    let add = |counts: &mut Counts| {
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        Some(*count)
    };
    file.change(add).unwrap().unwrap()
}

fn names(file: &KeptFile) -> Vec<String> {
    let entries = std::fs::read_dir(file.folder()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_kept_is_its_owners_alone_and_replaced_whole() {
    let (_temp, file) = file();
    assert_eq!(file.stamp(), None);
    assert_eq!(file.read::<Counts>().unwrap(), Counts::new());
    assert_eq!(count(&file, "a"), 1);
    let stamp = file.stamp().unwrap();
    assert_eq!(file.stamp(), Some(stamp));
    assert_eq!(count(&file, "a"), 2);
    assert_ne!(file.stamp(), Some(stamp));
    assert_eq!(std::fs::metadata(file.path()).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(names(&file), ["counts.json"]);
}

#[test]
fn a_folder_that_is_made_for_it_is_its_owners_alone_and_one_that_stands_is_left_as_it_is() {
    let temp = tempfile::tempdir().unwrap();
    let mode = |path: &str| std::fs::metadata(temp.path().join(path)).unwrap().mode() & 0o7777;
    std::fs::create_dir(temp.path().join("share")).unwrap();
    std::fs::set_permissions(temp.path().join("share"), std::fs::Permissions::from_mode(0o755)).unwrap();
    count(&KeptFile::at(temp.path().join("share/made/data/counts.json")), "a");
    assert_eq!([mode("share"), mode("share/made"), mode("share/made/data")], [0o755, 0o700, 0o700]);
}

#[test]
fn a_link_stays_one_and_what_it_leads_to_is_replaced() {
    let (temp, file) = file();
    let real = temp.path().join("dotfiles/real.json");
    std::fs::create_dir_all(real.parent().unwrap()).unwrap();
    std::fs::create_dir_all(file.folder()).unwrap();
    std::fs::write(&real, r#"{"a": 7}"#).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("../dotfiles/real.json", file.path()).unwrap();
    assert_eq!(count(&file, "a"), 8);
    assert!(file.path().is_symlink());
    let kept: Counts = serde_json::from_slice(&std::fs::read(&real).unwrap()).unwrap();
    assert_eq!(kept, Counts::from([("a".to_owned(), 8)]));
    assert_eq!(names(&file), ["counts.json"]);

    std::fs::remove_file(&real).unwrap();
    let lost = file.change(|counts: &mut Counts| counts.insert("a".to_owned(), 1).or(Some(0))).unwrap_err();
    assert!(matches!(lost, KeptFileError::Io { doing: "written", .. }), "a link to nothing is not replaced: {lost}");
    assert!(file.path().is_symlink());
}

#[test]
fn nothing_is_written_where_nothing_changes() {
    let (_temp, file) = file();
    count(&file, "a");
    let stamp = file.stamp();
    assert_eq!(file.change(|_: &mut Counts| None::<()>).unwrap(), None);
    assert_eq!(file.stamp(), stamp);
}

#[test]
fn changes_made_at_once_are_all_kept() {
    let (_temp, file) = file();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).map(|_| count(&file, "a")).max());
        }
    });
    assert_eq!(file.read::<Counts>().unwrap()["a"], 160);
}

#[test]
fn a_torn_file_is_said_and_not_overwritten_and_can_be_set_aside() {
    let (_temp, file) = file();
    for number in 1..3 {
        put(&file, "{\"a\": 1,", 0o600);
        assert!(matches!(file.read::<Counts>(), Err(KeptFileError::Malformed { line: 1, .. })));
        let changed = file.change(|counts: &mut Counts| counts.insert("b".to_owned(), 1).or(Some(0)));
        assert!(matches!(changed, Err(KeptFileError::Malformed { .. })));
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "{\"a\": 1,");
        let aside = file.set_aside().unwrap().unwrap();
        assert_eq!(aside, file.folder().join(format!("counts.json.damaged-{number}")));
        assert_eq!(std::fs::read_to_string(aside).unwrap(), "{\"a\": 1,");
        assert_eq!(file.read::<Counts>().unwrap(), Counts::new());
    }
    assert_eq!(file.set_aside().unwrap(), None);
}

#[test]
fn what_others_could_have_written_is_not_used_until_it_is_closed_to_them() {
    let (_temp, file) = file();
    file.close_to_others().unwrap();
    put(&file, "{\"a\": 1}", 0o602);
    assert!(matches!(file.read::<Counts>(), Err(KeptFileError::Exposed { mode: 0o602, .. })));
    let changed = file.change(|counts: &mut Counts| counts.insert("b".to_owned(), 1).or(Some(0)));
    assert!(matches!(changed, Err(KeptFileError::Exposed { .. })));
    file.close_to_others().unwrap();
    assert_eq!(file.read::<Counts>().unwrap()["a"], 1);
}
