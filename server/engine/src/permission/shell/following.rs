//! Programs that follow the links which they find below a folder, by default or by an option; after their manuals. Where a folder itself is a link, they all
//! do.

use super::command::Call;
use super::options::{Arg, Order};
use super::version_control::{abbreviates, has_letter};
use super::{FileAccess, FileUse, FoundLinks, file_programs};

/// Marks the uses of `call` among `files` by which what links lead to is read or changed too.
pub(super) fn mark(name: &str, call: &Call, files: &mut [FileUse]) {
    let is_known = |arg: &Arg| name == "find" || !arg.is_open_pattern();
    let links = if follows(name, call, is_known) {
        FoundLinks::Followed
    } else if follows(name, call, |_| true) {
        FoundLinks::FollowedWhereNamed
    } else {
        return;
    };
    // What others write is a folder that they put something into.
    let changes = matches!(name, "chmod" | "chown" | "chgrp" | "find");
    for used in files.iter_mut().filter(|used| changes || used.access == FileAccess::Read) {
        used.links = links;
    }
}

/// `counts`: of the words that may be options, those that are taken for some.
fn follows(name: &str, call: &Call, counts: impl Fn(&Arg) -> bool) -> bool {
    let words = call.words();
    // A word that is not known may be the option too.
    let is_open = call.is_open || words.iter().any(|arg| arg.text.is_none() && arg.may_be_option() && counts(arg));
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
        "ls" | "dir" | "vdir" => {
            !is_flat(name, words) && has(&['L'], &["--dereference"]) && has(&['R'], &["--recursive"])
        }
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

/// Whether `ls` tells of folders themselves, and of nothing below.
fn is_flat(name: &str, words: &[Arg]) -> bool {
    let parsed = file_programs::program(name).map(|program| program.options.parse(words, Order::Mixed));
    parsed.is_some_and(|parsed| parsed.is_told() && parsed.has(&["d", "directory"]))
}
