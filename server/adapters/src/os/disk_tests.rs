#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::*;

/// A temporary folder whose path has no links.
fn temp() -> (tempfile::TempDir, AbsPath) {
    let temp = tempfile::tempdir().unwrap();
    let path = AbsPath::new(temp.path().canonicalize().unwrap()).unwrap();
    (temp, path)
}

fn bytes_of(text: &str) -> Expected {
    Expected::Bytes(ContentHash::of(text.as_bytes()))
}

/// The ways to say what a file with this text has in it.
fn each_of(text: &str) -> [Expected; 2] {
    [bytes_of(text), Expected::Exactly(text.as_bytes().to_vec().into())]
}

fn text_at(path: &AbsPath) -> String {
    fs::read_to_string(path.as_path()).unwrap()
}

fn names(folder: &AbsPath) -> Vec<String> {
    OsDisk.list(folder).unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn reads_whole_files_and_ranges() {
    let (_temp, ws) = temp();
    let file = ws.join("a.txt");
    fs::write(file.as_path(), "0123456789").unwrap();
    assert_eq!(OsDisk.read(&file), Ok(b"0123456789".to_vec()));
    assert_eq!(OsDisk.read_range(&file, 3, 4), Ok(b"3456".to_vec()));
    assert_eq!(OsDisk.read_range(&file, 8, 40), Ok(b"89".to_vec()));
    assert_eq!(OsDisk.read_range(&file, 80, 4), Ok(Vec::new()));
    assert_eq!(OsDisk.stat(&file).map(|stat| (stat.kind, stat.len)), Ok((FileKind::File, 10)));
}

#[test]
fn errors_name_what_is_wrong() {
    let (_temp, ws) = temp();
    let (missing, file) = (ws.join("missing"), ws.join("file"));
    fs::write(file.as_path(), "x").unwrap();
    assert_eq!(OsDisk.read(&missing), Err(DiskError::NotFound(missing.clone())));
    assert_eq!(OsDisk.stat(&missing), Err(DiskError::NotFound(missing.clone())));
    assert_eq!(OsDisk.list(&missing), Err(DiskError::NotFound(missing)));
    assert_eq!(OsDisk.read(&ws), Err(DiskError::IsDirectory(ws.clone())));
    assert_eq!(OsDisk.read(&file.join("below")), Err(DiskError::NotFound(file.join("below"))));
    assert_eq!(OsDisk.list(&file), Err(other(&file, "is not a directory")));
    assert_eq!(
        OsDisk.write(&file.join("below"), b"", Expected::Absent),
        Err(other(&file.join("below"), "a folder on its way is a file"))
    );
    assert_eq!(OsDisk.write(&ws, b"", Expected::Absent), Err(DiskError::IsDirectory(ws)));
}

#[test]
fn a_pipe_is_refused_and_never_waited_for() {
    let (_temp, ws) = temp();
    let pipe = ws.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, pipe.as_path(), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let refused = Err(other(&pipe, "is not a regular file"));
    assert_eq!(OsDisk.read(&pipe).map(|_| ()), refused);
    assert_eq!(OsDisk.write(&pipe, b"x", bytes_of("")), refused);
}

#[test]
fn lists_in_byte_order_with_the_kind_of_the_target() {
    let (_temp, ws) = temp();
    fs::create_dir(ws.join("b").as_path()).unwrap();
    fs::write(ws.join("a").as_path(), "").unwrap();
    fs::write(ws.join("B").as_path(), "").unwrap();
    symlink("b", ws.join("to_b").as_path()).unwrap();
    symlink("nowhere", ws.join("to_nowhere").as_path()).unwrap();
    let entry = |name: &str, kind, is_link| DirEntry { name: name.to_owned(), kind, is_link };
    assert_eq!(
        OsDisk.list(&ws).unwrap(),
        [
            entry("B", FileKind::File, false),
            entry("a", FileKind::File, false),
            entry("b", FileKind::Directory, false),
            entry("to_b", FileKind::Directory, true),
            entry("to_nowhere", FileKind::Other, true),
        ]
    );
}

#[test]
fn real_paths_follow_links_as_far_as_anything_exists() {
    let (_temp, ws) = temp();
    fs::create_dir_all(ws.join("real/inner").as_path()).unwrap();
    symlink("real", ws.join("relative").as_path()).unwrap();
    symlink(ws.join("real/inner").as_path(), ws.join("absolute").as_path()).unwrap();
    symlink("absolute/../sibling", ws.join("dots").as_path()).unwrap();
    symlink("loop_b", ws.join("loop_a").as_path()).unwrap();
    symlink("loop_a", ws.join("loop_b").as_path()).unwrap();
    let check = |path: &str, real: &str| {
        assert_eq!(OsDisk.real_path(&ws.join(path)), Ok(ws.join(real)), "{path}");
    };
    check("real/inner", "real/inner");
    check("relative/inner", "real/inner");
    check("absolute", "real/inner");
    check("relative/new/file", "real/new/file");
    // `..` of a link's target is that of the folder it leads to.
    check("dots", "real/sibling");
    assert!(matches!(OsDisk.real_path(&ws.join("loop_a/x")), Err(DiskError::Other { .. })));
}

#[test]
fn writes_new_files_with_their_folders_and_the_usual_mode() {
    let (_temp, ws) = temp();
    let (file, reference) = (ws.join("a/b/new.txt"), ws.join("reference"));
    OsDisk.write(&file, b"text", Expected::Absent).unwrap();
    fs::write(reference.as_path(), "").unwrap();
    assert_eq!(text_at(&file), "text");
    let mode = |path: &AbsPath| fs::metadata(path.as_path()).unwrap().mode();
    assert_eq!(mode(&file), mode(&reference));
    assert_eq!(names(&ws.join("a/b")), ["new.txt"]);
}

#[test]
fn writes_existing_files_keeping_their_mode_and_owner() {
    let (_temp, ws) = temp();
    let file = ws.join("run.sh");
    fs::write(file.as_path(), "old").unwrap();
    fs::set_permissions(file.as_path(), fs::Permissions::from_mode(0o750)).unwrap();
    let before = fs::metadata(file.as_path()).unwrap();
    OsDisk.write(&file, b"new", bytes_of("old")).unwrap();
    let after = fs::metadata(file.as_path()).unwrap();
    assert_eq!(text_at(&file), "new");
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino(), "it is replaced by a rename");
    assert_eq!(names(&ws), ["run.sh"]);
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let (_temp, ws) = temp();
    let file = ws.join("generated");
    fs::write(file.as_path(), "old").unwrap();
    fs::set_permissions(file.as_path(), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(OsDisk.write(&file, b"new", bytes_of("old")), Err(DiskError::Denied(file.clone())));
    assert_eq!(text_at(&file), "old");
}

#[test]
fn overwriting_in_place_leaves_no_old_tail() {
    let (_temp, ws) = temp();
    fs::write(ws.join("f").as_path(), "a long old text").unwrap();
    let folder = Folder::open(ws.as_path(), Missing::Fail).unwrap();
    overwrite(&ws.join("f"), folder.open_to_write(OsStr::new("f")).unwrap(), b"new").unwrap();
    assert_eq!(text_at(&ws.join("f")), "new");
}

#[test]
fn writes_through_links_and_keeps_them() {
    let (_temp, ws) = temp();
    fs::create_dir(ws.join("real").as_path()).unwrap();
    fs::write(ws.join("real/f").as_path(), "old").unwrap();
    symlink("real/f", ws.join("link").as_path()).unwrap();
    symlink("real", ws.join("folder").as_path()).unwrap();
    let link = ws.join("link");
    assert_eq!(OsDisk.write(&link, b"one", Expected::Absent), Err(DiskError::Exists(link.clone())));
    OsDisk.write(&link, b"one", bytes_of("old")).unwrap();
    OsDisk.write(&ws.join("folder/f"), b"two", bytes_of("one")).unwrap();
    assert_eq!(text_at(&ws.join("real/f")), "two");
    assert_eq!(fs::read_link(ws.join("link").as_path()).unwrap(), Path::new("real/f"));
    OsDisk.remove(&ws.join("link"), ContentHash::of(b"two")).unwrap();
    assert_eq!(names(&ws.join("real")), Vec::<String>::new());
}

#[test]
fn a_file_with_several_names_keeps_them() {
    let (_temp, ws) = temp();
    fs::write(ws.join("a").as_path(), "a long old text").unwrap();
    fs::hard_link(ws.join("a").as_path(), ws.join("b").as_path()).unwrap();
    OsDisk.write(&ws.join("a"), b"new", bytes_of("a long old text")).unwrap();
    assert_eq!((text_at(&ws.join("a")), text_at(&ws.join("b"))), ("new".to_owned(), "new".to_owned()));
    assert_eq!(names(&ws), ["a", "b"]);
}

#[test]
fn what_is_not_as_expected_is_left_alone() {
    let (_temp, ws) = temp();
    let (file, missing) = (ws.join("f"), ws.join("missing"));
    fs::write(file.as_path(), "theirs").unwrap();
    assert_eq!(OsDisk.write(&file, b"ours", Expected::Absent), Err(DiskError::Exists(file.clone())));
    for expected in ["old", "their", "theirs or so", ""].iter().flat_map(|text| each_of(text)) {
        assert_eq!(OsDisk.write(&file, b"ours", expected.clone()), Err(DiskError::Changed(file.clone())));
        assert_eq!(OsDisk.write(&missing, b"ours", expected), Err(DiskError::NotFound(missing.clone())));
    }
    assert_eq!(OsDisk.remove(&file, ContentHash::of(b"old")), Err(DiskError::Changed(file.clone())));
    assert_eq!(OsDisk.remove(&missing, ContentHash::of(b"")), Err(DiskError::NotFound(missing)));
    assert_eq!(text_at(&file), "theirs");
    assert_eq!(names(&ws), ["f"]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    /// Around the sizes of the pieces that are read.
    #[test]
    fn a_file_holds_its_own_bytes_and_no_others(
        pieces in 0_usize..3,
        around in -2_isize..3,
        at in proptest::prelude::any::<proptest::sample::Index>(),
        ends in 0_usize..3,
    ) {
        let (_temp, ws) = temp();
        let file = ws.join("f");
        let len = (pieces * (64 << 10)).saturating_add_signed(around);
        let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        fs::write(file.as_path(), &bytes).unwrap();
        proptest::prop_assert_eq!(OsDisk.holds_real(&file, &bytes), Ok(true));
        let mut others = vec![[bytes.as_slice(), &[0; 1][..], &[0; 70_000][..ends * 35_000]].concat()];
        if !bytes.is_empty() {
            let at = at.index(len);
            others.push(bytes[..at].to_vec());
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            others.push(flipped);
        }
        for other in others {
            proptest::prop_assert_eq!(OsDisk.holds_real(&file, &other), Ok(false));
            proptest::prop_assert!(matches!(OsDisk.write_real(&file, b"", Expected::Exactly(other.into())), Err(DiskError::Changed(_))));
        }
        proptest::prop_assert_eq!(OsDisk.write_real(&file, b"new", Expected::Exactly(bytes.into())), Ok(()));
        proptest::prop_assert_eq!(text_at(&file), "new");
    }
}

#[test]
fn a_change_in_the_last_moment_is_not_overwritten() {
    let (_temp, ws) = temp();
    let (file, new) = (ws.join("f"), ws.join("new"));
    let change = |path: &AbsPath| fs::write(path.as_path(), "theirs").unwrap();
    for expected in each_of("old") {
        fs::write(file.as_path(), "old").unwrap();
        let written = write_in_folder(&file, b"ours", expected, || change(&file));
        assert_eq!(written, Err(DiskError::Changed(file.clone())));
    }
    assert_eq!(write_in_folder(&new, b"ours", Expected::Absent, || change(&new)), Err(DiskError::Exists(new.clone())));
    assert_eq!((text_at(&file), text_at(&new)), ("theirs".to_owned(), "theirs".to_owned()));
    assert_eq!(names(&ws), ["f", "new"]);
}

#[test]
fn c63_dangling_link_resolves_to_where_it_points() {
    let (_temp, root) = temp();
    let (ws, outside) = (root.join("ws"), root.join("outside"));
    fs::create_dir(ws.as_path()).unwrap();
    fs::create_dir(outside.as_path()).unwrap();
    symlink("../outside/not-yet", ws.join("x").as_path()).unwrap();
    symlink(outside.join("no/folder").as_path(), ws.join("y").as_path()).unwrap();
    assert_eq!(OsDisk.real_path(&ws.join("x")), Ok(outside.join("not-yet")));
    assert_eq!(OsDisk.real_path(&ws.join("y/z")), Ok(outside.join("no/folder/z")));
    // Whoever judged `ws/x` as it is spelled cannot write through it.
    assert_eq!(OsDisk.write_real(&ws.join("x"), b"ours", Expected::Absent), Err(DiskError::Changed(ws.join("x"))));
    assert_eq!(names(&outside), Vec::<String>::new());
}

#[test]
fn c63_folder_swapped_for_a_link_after_the_check_is_not_followed() {
    let (_temp, root) = temp();
    let (folder, outside) = (root.join("ws/folder"), root.join("outside"));
    fs::create_dir_all(folder.as_path()).unwrap();
    fs::create_dir(outside.as_path()).unwrap();
    fs::write(folder.join("f").as_path(), "old").unwrap();
    fs::write(outside.join("f").as_path(), "old").unwrap();
    let real = OsDisk.real_path(&folder.join("f")).unwrap();
    let new = OsDisk.real_path(&folder.join("sub/new")).unwrap();
    let swap = || {
        fs::rename(folder.as_path(), root.join("ws/moved").as_path()).unwrap();
        symlink(outside.as_path(), folder.as_path()).unwrap();
    };
    let swap_back = || {
        fs::remove_file(folder.as_path()).unwrap();
        fs::rename(root.join("ws/moved").as_path(), folder.as_path()).unwrap();
    };

    // Between the check of the permission and the write.
    swap();
    assert_eq!(OsDisk.write_real(&real, b"ours", bytes_of("old")), Err(DiskError::Changed(real.clone())));
    assert_eq!(OsDisk.write_real(&new, b"ours", Expected::Absent), Err(DiskError::Changed(new.clone())));
    swap_back();
    // Within the write.
    assert_eq!(write_in_folder(&real, b"ours", bytes_of("old"), swap), Err(DiskError::Changed(real.clone())));
    swap_back();
    let new = folder.join("new");
    assert_eq!(write_in_folder(&new, b"ours", Expected::Absent, swap), Err(DiskError::Changed(new.clone())));

    for place in [&outside, &root.join("ws/moved")] {
        assert_eq!(names(place), ["f"]);
        assert_eq!(text_at(&place.join("f")), "old");
    }
}

#[test]
fn c63_folder_swapped_for_a_link_after_the_check_is_not_read_through() {
    let (_temp, root) = temp();
    let (folder, outside) = (root.join("ws/folder"), root.join("outside"));
    fs::create_dir_all(folder.as_path()).unwrap();
    fs::create_dir(outside.as_path()).unwrap();
    fs::write(folder.join("f").as_path(), "inside").unwrap();
    fs::write(outside.join("f").as_path(), "outside").unwrap();
    let real = OsDisk.real_path(&folder.join("f")).unwrap();
    assert_eq!(OsDisk.read_real(&real), Ok(b"inside".to_vec()));
    assert_eq!(OsDisk.hash_real(&real), Ok(ContentHash::of(b"inside")));
    assert_eq!(OsDisk.holds_real(&real, b"inside"), Ok(true));
    assert_eq!(OsDisk.read_range_real(&real, 2, 3), Ok(b"sid".to_vec()));
    assert_eq!(OsDisk.list_real(&folder), OsDisk.list(&folder));
    fs::rename(folder.as_path(), root.join("ws/moved").as_path()).unwrap();
    symlink(outside.as_path(), folder.as_path()).unwrap();
    assert_eq!(OsDisk.read_real(&real), Err(DiskError::Changed(real.clone())));
    assert_eq!(OsDisk.hash_real(&real), Err(DiskError::Changed(real.clone())));
    assert_eq!(OsDisk.holds_real(&real, b"outside"), Err(DiskError::Changed(real.clone())));
    assert_eq!(OsDisk.read_range_real(&real, 0, 9), Err(DiskError::Changed(real.clone())));
    assert_eq!(OsDisk.list_real(&folder), Err(DiskError::Changed(folder.clone())));
}

#[test]
fn lists_of_real_folders_tell_links_and_kinds_as_other_lists_do() {
    let (_temp, ws) = temp();
    fs::create_dir(ws.join("d").as_path()).unwrap();
    fs::write(ws.join("f").as_path(), "").unwrap();
    symlink("d", ws.join("to_d").as_path()).unwrap();
    symlink("nowhere", ws.join("to_nowhere").as_path()).unwrap();
    assert_eq!(OsDisk.list_real(&ws), OsDisk.list(&ws));
    assert_eq!(OsDisk.list_real(&ws).unwrap().len(), 4);
    assert_eq!(OsDisk.list_real(&ws.join("missing")), Err(DiskError::NotFound(ws.join("missing"))));
}

/// The path was judged as it leads inside; another program swaps the folder as fast as it can.
#[test]
fn c63_a_racing_swap_never_leads_a_read_or_a_write_outside() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let (_temp, root) = temp();
    let (folder, moved, outside) = (root.join("ws/folder"), root.join("ws/moved"), root.join("outside"));
    fs::create_dir_all(folder.as_path()).unwrap();
    fs::create_dir(outside.as_path()).unwrap();
    fs::write(folder.join("f").as_path(), "inside").unwrap();
    fs::write(outside.join("f").as_path(), "outside").unwrap();
    fs::write(outside.join("only outside").as_path(), "").unwrap();
    let (real, new) = (folder.join("f"), folder.join("new"));
    let done = AtomicBool::new(false);
    let (mut reads, mut refusals) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // In between, a write may make the folder anew.
                fs::rename(folder.as_path(), moved.as_path()).unwrap();
                while symlink(outside.as_path(), folder.as_path()).is_err() {
                    let _ = fs::remove_dir_all(folder.as_path());
                }
                fs::remove_file(folder.as_path()).unwrap();
                while fs::rename(moved.as_path(), folder.as_path()).is_err() {
                    let _ = fs::remove_dir_all(folder.as_path());
                }
            }
        });
        // As long as it takes to have seen both, and some more.
        for turn in 0..200_000 {
            match OsDisk.read_real(&real) {
                Ok(bytes) => {
                    assert_eq!(bytes, b"inside");
                    reads += 1;
                }
                Err(_) => refusals += 1,
            }
            let _ = OsDisk.write_real(&new, b"ours", Expected::Absent);
            if let Ok(entries) = OsDisk.list_real(&folder) {
                assert!(entries.iter().all(|entry| entry.name != "only outside"), "{entries:?}");
            }
            if turn > 2_000 && reads > 50 && refusals > 50 {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(reads > 0 && refusals > 0, "{reads} reads, {refusals} refusals");
    assert_eq!(names(&outside), ["f", "only outside"]);
    assert_eq!(text_at(&outside.join("f")), "outside");
}

#[tokio::test]
async fn the_files_port_reaches_the_disk() {
    use copydesk_engine::ports::Files as _;
    let (_temp, ws) = temp();
    let files = super::super::files::DiskFiles::new(std::sync::Arc::new(OsDisk));
    let file = ws.join("f");
    files.write(file.clone(), b"one".to_vec(), Expected::Absent).await.unwrap();
    files.write_real(file.clone(), b"two".to_vec().into(), bytes_of("one")).await.unwrap();
    assert_eq!(files.read(file.clone()).await, Ok(b"two".to_vec()));
    assert_eq!(files.read_range(file.clone(), 1, 1).await, Ok(b"w".to_vec()));
    assert_eq!(files.stat(file.clone()).await.map(|stat| (stat.kind, stat.len)), Ok((FileKind::File, 3)));
    assert_eq!(files.real_path(file.clone()).await, Ok(file.clone()));
    assert_eq!(files.list(ws.clone()).await.unwrap().len(), 1);
    assert_eq!(files.list_real(ws.clone()).await.unwrap().len(), 1);
    assert_eq!(files.read_real(file.clone()).await, Ok(b"two".to_vec()));
    assert_eq!(files.read_range_real(file.clone(), 1, 1).await, Ok(b"w".to_vec()));
    files.remove(file.clone(), ContentHash::of(b"two")).await.unwrap();
    assert_eq!(files.read(file.clone()).await, Err(DiskError::NotFound(file)));
}

#[test]
fn a_renamed_file_keeps_mode_and_replaces_nothing() {
    let (_temp, ws) = temp();
    let (from, to, taken) = (ws.join("a.sh"), ws.join("new/folder/b.sh"), ws.join("taken"));
    fs::write(from.as_path(), "x").unwrap();
    fs::set_permissions(from.as_path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(taken.as_path(), "taken").unwrap();
    let hash = ContentHash::of(b"x");
    assert_eq!(OsDisk.rename_real(&from, &taken, hash), Err(DiskError::Exists(taken.clone())));
    assert_eq!(OsDisk.rename_real(&from, &to, ContentHash::of(b"y")), Err(DiskError::Changed(from.clone())));
    assert_eq!((text_at(&from), text_at(&taken)), ("x".to_owned(), "taken".to_owned()));
    OsDisk.rename_real(&from, &to, hash).unwrap();
    assert_eq!(text_at(&to), "x");
    assert_eq!(fs::metadata(to.as_path()).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(OsDisk.rename_real(&from, &to, hash), Err(DiskError::NotFound(from)));
}

#[test]
fn c63_a_rename_follows_no_link_that_came_on_its_way() {
    let (_temp, ws) = temp();
    let outside = ws.join("outside");
    fs::create_dir(outside.as_path()).unwrap();
    fs::write(ws.join("a").as_path(), "x").unwrap();
    symlink(outside.as_path(), ws.join("folder").as_path()).unwrap();
    let to = ws.join("folder/b");
    assert_eq!(OsDisk.rename_real(&ws.join("a"), &to, ContentHash::of(b"x")), Err(DiskError::Changed(to)));
    assert_eq!((names(&outside), text_at(&ws.join("a"))), (Vec::new(), "x".to_owned()));
}

#[test]
fn r5_3_what_was_deleted_comes_back_with_its_mode_and_folders() {
    let (_temp, ws) = temp();
    let file = ws.join("new/deep/run.sh");
    OsDisk.create_real(&file, b"#!/bin/sh\n", 0o751).unwrap();
    assert_eq!(OsDisk.stat(&file).unwrap().mode, Some(0o751));
    assert_eq!(text_at(&file), "#!/bin/sh\n");
    assert_eq!(names(&ws.join("new/deep")), ["run.sh"], "no temporary file is left");
    assert_eq!(OsDisk.create_real(&file, b"other", 0o600), Err(DiskError::Exists(file.clone())));
    assert_eq!(text_at(&file), "#!/bin/sh\n");
    OsDisk.set_mode_real(&file, 0o640).unwrap();
    assert_eq!(OsDisk.stat(&file).unwrap().mode, Some(0o640));
}

#[test]
fn r5_3_only_an_empty_folder_is_removed() {
    let (_temp, ws) = temp();
    let (folder, file, link) = (ws.join("d"), ws.join("d/f"), ws.join("link"));
    fs::create_dir(folder.as_path()).unwrap();
    fs::write(file.as_path(), "x").unwrap();
    symlink(folder.as_path(), link.as_path()).unwrap();
    assert_eq!(OsDisk.remove_folder_real(&folder), Err(other(&folder, "something is in it")));
    assert_eq!(OsDisk.remove_folder_real(&link), Err(DiskError::Changed(link.clone())));
    assert_eq!(OsDisk.remove_folder_real(&file), Err(DiskError::Changed(file.clone())));
    fs::remove_file(file.as_path()).unwrap();
    OsDisk.remove_folder_real(&folder).unwrap();
    assert_eq!(OsDisk.remove_folder_real(&folder), Err(DiskError::NotFound(folder)));
    assert_eq!(names(&ws), ["link"]);
}

#[test]
fn r5_1_c23_only_what_may_have_come_by_halves_is_torn() {
    let (_temp, ws) = temp();
    let (pipe, file, read_only) = (ws.join("pipe"), ws.join("file"), ws.join("read-only"));
    rustix::fs::mknodat(rustix::fs::CWD, pipe.as_path(), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for file in [&file, &read_only] {
        fs::write(file.as_path(), "x").unwrap();
    }
    fs::set_permissions(read_only.as_path(), fs::Permissions::from_mode(0o444)).unwrap();
    let below = file.join("below");
    let too_long = ws.join("n".repeat(300));
    for refused in [&pipe, &below, &ws, &read_only, &too_long] {
        for expected in [Expected::Absent, bytes_of("x")] {
            let written = OsDisk.write_real(refused, b"y", expected);
            assert!(!matches!(written, Ok(()) | Err(DiskError::Torn { .. })), "{written:?}");
        }
        let moved = [
            OsDisk.rename_real(refused, &file.join("other"), ContentHash::of(b"x")),
            OsDisk.rename_real(&file, refused, ContentHash::of(b"x")),
            OsDisk.create_real(refused, b"y", 0o600),
        ];
        for moved in moved {
            assert!(!matches!(moved, Ok(()) | Err(DiskError::Torn { .. })), "{moved:?}");
        }
    }
    assert_eq!((text_at(&file), text_at(&read_only)), ("x".to_owned(), "x".to_owned()));
    // What is written in its place may end anywhere.
    if let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") {
        let written = overwrite(&file, full, b"y");
        assert!(matches!(written, Err(DiskError::Torn { .. })), "{written:?}");
    }
}
