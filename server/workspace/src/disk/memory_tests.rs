//! The disk in memory keeps the contract of the trait.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn disk() -> MemoryDisk {
    let disk = MemoryDisk::new();
    disk.put(&path("/w/src/a.rs"), "a");
    disk.put_link(&path("/w/link.rs"), "src/a.rs");
    disk.put_link(&path("/w/folder"), "/w/src");
    disk.put_link(&path("/w/dangling"), "folder/../new/b.rs");
    disk.put_link(&path("/w/loop"), "loop2");
    disk.put_link(&path("/w/loop2"), "/w/loop");
    disk
}

#[test]
fn r18_2_links_lead_to_one_real_path() {
    let disk = disk();
    for spelling in ["/w/src/a.rs", "/w/link.rs", "/w/folder/a.rs", "/w/folder/../src/a.rs"] {
        let path = path(spelling);
        assert_eq!(disk.real_path(&path).unwrap().to_string(), "/w/src/a.rs", "{spelling}");
        assert_eq!(disk.read(&path).unwrap(), b"a", "{spelling}");
    }
}

#[test]
fn a_missing_path_is_resolved_as_deep_as_it_exists() {
    let disk = disk();
    for (spelling, real) in [
        ("/w/folder/x/y.rs", "/w/src/x/y.rs"),
        ("/w/dangling", "/w/new/b.rs"),
        ("/nowhere/x", "/nowhere/x"),
        ("/", "/"),
    ] {
        assert_eq!(disk.real_path(&path(spelling)).unwrap().to_string(), real);
    }
    assert_eq!(disk.read(&path("/w/dangling")), Err(DiskError::NotFound(path("/w/dangling"))));
}

#[test]
fn a_loop_of_links_and_a_file_used_as_a_folder_are_errors() {
    let disk = disk();
    for spelling in ["/w/loop", "/w/loop/x", "/w/src/a.rs/x"] {
        assert!(matches!(disk.real_path(&path(spelling)), Err(DiskError::Other { .. })), "{spelling}");
        assert!(matches!(disk.read(&path(spelling)), Err(DiskError::Other { .. })), "{spelling}");
    }
}

#[test]
fn writing_goes_through_links_and_checks_what_is_expected() {
    let disk = disk();
    let link = path("/w/link.rs");
    let a = ContentHash::of(b"a");
    assert_eq!(disk.write(&link, b"b", Expected::Absent), Err(DiskError::Exists(link.clone())));
    assert_eq!(disk.write(&link, b"b", Expected::Bytes(ContentHash::of(b"x"))), Err(DiskError::Changed(link.clone())));
    disk.write(&link, b"b", Expected::Bytes(a)).unwrap();
    assert_eq!(disk.read(&path("/w/src/a.rs")).unwrap(), b"b");
    let exactly = |bytes: &'static [u8]| Expected::Exactly(bytes.into());
    assert_eq!(disk.write(&link, b"c", exactly(b"a")), Err(DiskError::Changed(link.clone())));
    disk.write(&link, b"c", exactly(b"b")).unwrap();
    let real = path("/w/src/a.rs");
    assert_eq!((disk.holds_real(&real, b"c"), disk.holds_real(&real, b"b")), (Ok(true), Ok(false)));
    assert_eq!(disk.holds_real(&link, b"c"), Err(DiskError::Changed(link)));
    assert!(disk.list(&path("/w")).unwrap().iter().any(|entry| entry.name == "link.rs" && entry.is_link));

    disk.write(&path("/w/dangling"), b"new", Expected::Absent).unwrap();
    assert_eq!(disk.read(&path("/w/new/b.rs")).unwrap(), b"new");
    let gone = path("/w/gone");
    for expected in [Expected::Bytes(a), exactly(b"a")] {
        assert_eq!(disk.write(&gone, b"", expected), Err(DiskError::NotFound(gone.clone())));
    }
    let folder = path("/w/folder");
    assert_eq!(disk.write(&folder, b"", Expected::Absent), Err(DiskError::IsDirectory(folder)));
}

#[test]
fn removing_goes_through_links() {
    let disk = disk();
    let link = path("/w/link.rs");
    assert_eq!(disk.remove(&link, ContentHash::of(b"x")), Err(DiskError::Changed(link.clone())));
    disk.remove(&link, ContentHash::of(b"a")).unwrap();
    let target = path("/w/src/a.rs");
    assert_eq!(disk.stat(&target), Err(DiskError::NotFound(target)));
    assert!(disk.list(&path("/w")).unwrap().iter().any(|entry| entry.name == "link.rs"));
}

#[test]
fn entries_come_in_order_with_the_kind_of_their_target() {
    let disk = disk();
    let entries: Vec<_> =
        disk.list(&path("/w")).unwrap().into_iter().map(|entry| (entry.name, entry.kind, entry.is_link)).collect();
    assert_eq!(
        entries,
        [
            ("dangling".into(), FileKind::Other, true),
            ("folder".into(), FileKind::Directory, true),
            ("link.rs".into(), FileKind::File, true),
            ("loop".into(), FileKind::Other, true),
            ("loop2".into(), FileKind::Other, true),
            ("src".into(), FileKind::Directory, false),
        ]
    );
    assert!(matches!(disk.list(&path("/w/src/a.rs")), Err(DiskError::Other { .. })));
    assert_eq!(disk.stat(&path("/w/folder")).unwrap().kind, FileKind::Directory);
}

#[test]
fn ranges_are_cut_to_the_file() {
    let disk = MemoryDisk::new();
    disk.put(&path("/f"), "abcdef");
    for (offset, len, expected) in [(0, 3, "abc"), (4, 9, "ef"), (9, 1, ""), (u64::MAX, usize::MAX, "")] {
        assert_eq!(disk.read_range(&path("/f"), offset, len).unwrap(), expected.as_bytes());
    }
}

#[test]
fn a_failure_is_put_in_and_mended() {
    let disk = disk();
    let target = path("/w/src/a.rs");
    let denied = DiskError::Denied(target.clone());
    let a = Expected::Bytes(ContentHash::of(b"a"));
    disk.fail(Operation::Write, &target, denied.clone());
    assert_eq!(disk.write(&path("/w/link.rs"), b"b", a.clone()), Err(denied));
    assert_eq!(disk.read(&target).unwrap(), b"a");
    disk.mend(Operation::Write, &target);
    disk.write(&target, b"b", a).unwrap();
    disk.take(&path("/w/src"));
    assert_eq!(disk.read(&target), Err(DiskError::NotFound(target)));
}

#[test]
fn a_path_that_was_judged_and_is_a_link_by_now_is_not_written() {
    let disk = disk();
    let link = path("/w/link.rs");
    let a = Expected::Bytes(ContentHash::of(b"a"));
    assert_eq!(disk.write_real(&link, b"b", a.clone()), Err(DiskError::Changed(link)));
    disk.write_real(&path("/w/src/a.rs"), b"b", a).unwrap();
}

#[test]
fn a_rename_replaces_nothing_and_follows_no_links() {
    let disk = disk();
    let (from, hash) = (path("/w/src/a.rs"), ContentHash::of(b"a"));
    disk.put(&path("/w/b"), "b");
    assert_eq!(disk.rename_real(&from, &path("/w/b"), hash), Err(DiskError::Exists(path("/w/b"))));
    assert_eq!(disk.rename_real(&from, &path("/w/folder/b"), hash), Err(DiskError::Changed(path("/w/folder/b"))));
    assert_eq!(disk.rename_real(&from, &path("/w/c"), ContentHash::of(b"b")), Err(DiskError::Changed(from.clone())));
    disk.rename_real(&from, &path("/w/x/c"), hash).unwrap();
    assert_eq!(disk.read(&path("/w/x/c")).unwrap(), b"a");
    assert_eq!(disk.rename_real(&from, &path("/w/d"), hash), Err(DiskError::NotFound(from)));
}
