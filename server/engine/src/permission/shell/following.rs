//! Programs that follow the links which they find below a folder, by default or by an option; after their manuals. Where a folder itself is a link, they all
//! do.

use super::command::Call;
use super::version_control::{abbreviates, has_letter};
use super::{FileAccess, FileUse, FoundLinks};

/// Marks the uses of `call` among `files` by which what links lead to is read or changed too.
pub(super) fn mark(name: &str, call: &Call, files: &mut [FileUse]) {
    if !follows(name, call) {
        return;
    }
    // What others write is a folder that they put something into.
    let changes = matches!(name, "chmod" | "chown" | "chgrp" | "find");
    for used in files.iter_mut().filter(|used| changes || used.access == FileAccess::Read) {
        used.links = FoundLinks::Followed;
    }
}

fn follows(name: &str, call: &Call) -> bool {
    let words = call.words();
    // A word that is not known may be the option too.
    let is_open = call.is_open || words.iter().any(|arg| arg.text.is_none() && arg.may_be_option());
    let given = |letters: &[char], long: &[&str]| {
        words.iter().any(|arg| {
            letters.iter().any(|letter| has_letter(arg, *letter))
                || long.iter().any(|option| abbreviates(arg, option, 4))
        })
    };
    let has = |letters: &[char], long: &[&str]| is_open || given(letters, long);
    let is = |option: &str| words.iter().any(|arg| arg.text.as_deref() == Some(option));
    match name {
        "grep" | "egrep" | "fgrep" | "zgrep" => has(&['R'], &["--dereference-recursive"]),
        "rg" => has(&['L'], &["--follow"]),
        // That of BSD follows by `-r`.
        "cp" => {
            let keeps = given(&['P', 'd', 'a'], &[]) || is("--no-dereference") || is("--archive");
            has(&['L'], &["--dereference"]) || has(&['r'], &[]) && !keeps
        }
        "ls" | "dir" | "vdir" => has(&['L'], &["--dereference"]) && has(&['R'], &["--recursive"]),
        "du" => has(&['L'], &["--dereference"]),
        "tree" => has(&['l'], &[]),
        "find" => is_open || is("-L") || is("-follow"),
        "chmod" | "chown" | "chgrp" => has(&['L'], &[]),
        "diff" => is_open || !is("--no-dereference"),
        "tar" | "bsdtar" | "gtar" => {
            let old = words.first().and_then(|arg| arg.text.as_deref()).filter(|text| !text.starts_with('-'));
            has(&['h', 'L'], &["--dereference"]) || old.is_some_and(|letters| letters.contains('h'))
        }
        "rsync" => has(&['L', 'k'], &["--copy-links", "--copy-unsafe-links", "--copy-dirlinks"]),
        "zip" => is_open || !given(&['y'], &[]) && !is("--symlinks"),
        "scp" | "7z" | "7za" => true,
        "ag" | "ack" | "ugrep" | "ug" | "rga" | "pt" | "sift" => {
            has(&['f', 'L', 'R', 'S'], &["--follow", "--dereference", "--dereference-recursive"])
        }
        _ => false,
    }
}
