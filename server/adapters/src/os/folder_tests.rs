#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// Both ways of opening see the same links.
#[test]
fn c63_nothing_is_opened_through_a_link_with_and_without_openat2() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("real/inner")).unwrap();
    fs::write(root.join("real/inner/f"), "text").unwrap();
    symlink("real", root.join("folder")).unwrap();
    symlink("real/inner/f", root.join("file")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    for (name, open) in [("openat2", open_real as fn(&Path, OFlags) -> _), ("walk", walk)] {
        let check = |path: &str, flags, expected: Result<(), Errno>| {
            assert_eq!(open(&root.join(path), flags).map(|_: OwnedFd| ()), expected, "{name}: {path}");
        };
        check("real/inner/f", OFlags::NONBLOCK, Ok(()));
        check("real/inner", OFlags::DIRECTORY, Ok(()));
        check("folder/inner/f", OFlags::NONBLOCK, Err(Errno::LOOP));
        check("folder", OFlags::DIRECTORY, Err(Errno::LOOP));
        check("file", OFlags::NONBLOCK, Err(Errno::LOOP));
        check("dangling", OFlags::NONBLOCK, Err(Errno::LOOP));
        check("real/missing", OFlags::NONBLOCK, Err(Errno::NOENT));
        check("real/inner/f", OFlags::DIRECTORY, Err(Errno::NOTDIR));
    }
}

fn walk(real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    walk_to(real, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC)
}
