//! What a command of version control discards that nothing else holds (R5.5).

use crate::permission::shell::command::Call;
use crate::permission::shell::options::Arg;
use crate::permission::shell::without_options::behind;

pub(super) const TRACKED: &str = "uncommitted changes of tracked files";
pub(super) const UNTRACKED: &str = "files that are not tracked";
/// Nobody has looked at it before it went, and a stash is easily forgotten or dropped.
pub(super) const MOVED: &str = "uncommitted changes in the work tree, which only a stash holds then";
pub(super) const STASHED: &str = "stashed changes";
pub(super) const COMMITS: &str = "commits that no branch holds any more";
pub(super) const REMOTE: &str = "commits on the remote that no branch there holds any more";
pub(super) const WORKTREE: &str = "uncommitted changes of another work tree";
pub(super) const HISTORY: &str = "the history from which lost commits could be found again";
pub(super) const REPOSITORY: &str = "the repository with all that was not pushed";
pub(super) const ANYTHING: &str = "whatever the words that are not known discard";

/// What would be lost. Words that are not known may be any option.
pub(super) fn losses(name: &str, words: &[Arg]) -> Option<&'static str> {
    let long = |name: &str, least: usize| words.iter().any(|arg| abbreviates(arg, name, least));
    let short = |letter: char| {
        words.iter().take_while(|arg| arg.text.as_deref() != Some("--")).any(|arg| has_letter(arg, letter))
    };
    let forced = short('f') || long("--force", 3);
    // The last word counts: `-n --no-dry-run`.
    let takes_back = |option: &str| long(option, 6);
    // What stands behind it is a text, whatever it begins with.
    let takes_text = |arg: Option<&Arg>| {
        matches!(name, "commit" | "tag" | "merge" | "stash" | "notes")
            && arg.and_then(|arg| arg.text.as_deref()).is_some_and(|text| matches!(text, "-m" | "-am" | "--message"))
    };
    let computed = words.iter().enumerate().any(|(at, arg)| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        arg.text.is_none() && arg.may_be_option() && !arg.is_open_pattern() && !takes_text(before)
    });
    let first = words.iter().find(|arg| !starts(arg, "-")).and_then(|arg| arg.text.as_deref());
    let lost = match name {
        "reset" => (long("--hard", 3) || long("--merge", 3) || long("--keep", 3)).then_some(TRACKED),
        "checkout" => checkout(words, forced),
        "switch" => {
            let creates = short('C') || long("--force-create", 8);
            let merges = short('m') || long("--merge", 3) || long("--conflict", 4);
            if forced || merges || long("--discard-changes", 3) { Some(TRACKED) } else { creates.then_some(COMMITS) }
        }
        "restore" => {
            let staged_only = (long("--staged", 4) || short('S'))
                && !takes_back("--no-staged")
                && !(long("--worktree", 3) || short('W'));
            (!staged_only).then_some(TRACKED)
        }
        "clean" => {
            // `-e` takes what follows for a pattern, whatever it looks like.
            let excludes = short('e') || long("--exclude", 3);
            let shows_only = !excludes && !takes_back("--no-dry-run") && (short('n') || long("--dry-run", 3));
            (!shows_only).then_some(UNTRACKED)
        }
        "stash" => stash(words),
        "apply" => {
            let shows_only = ["--check", "--stat", "--numstat", "--summary"].iter().any(|option| has(words, &[option]));
            let shows_not = ["--no-check", "--no-stat", "--no-numstat", "--no-summary"].into_iter().any(takes_back);
            let reverts = short('R') || long("--reverse", 5);
            (reverts && (!shows_only || shows_not || long("--apply", 5))).then_some(TRACKED)
        }
        "worktree" => match first {
            Some("remove") if forced => Some(WORKTREE),
            Some("prune") => None,
            Some("add") if forced || has(words, &["-B"]) => Some(COMMITS),
            _ => None,
        },
        "branch" => {
            let deletes = short('D') || forced && (short('d') || long("--delete", 3));
            (deletes || forced || short('M') || short('C')).then_some(COMMITS)
        }
        "tag" => (short('d') || forced || long("--delete", 3)).then_some(COMMITS),
        "push" => {
            let forces = forced
                || long("--force-with-lease", 8)
                || long("--mirror", 3)
                || long("--delete", 3)
                || long("--prune", 4)
                || short('d');
            let by_ref = words.iter().any(|arg| {
                arg.text.as_deref().is_some_and(|text| text.starts_with('+') || text.starts_with(':') && text.len() > 1)
            });
            (forces || by_ref).then_some(REMOTE)
        }
        "rebase" => {
            let goes_on = ["--continue", "--skip", "--quit", "--edit-todo", "--show-current-patch"]
                .iter()
                .any(|option| has(words, &[option]));
            if has(words, &["--skip"]) || has(words, &["--abort"]) {
                Some(TRACKED)
            } else {
                (!goes_on).then_some(COMMITS)
            }
        }
        "merge" | "cherry-pick" | "revert" | "am" | "bisect" => {
            (long("--abort", 3) || long("--skip", 3) || name == "bisect" && first == Some("reset")).then_some(TRACKED)
        }
        "commit" => long("--amend", 4).then_some(COMMITS),
        "reflog" => matches!(first, Some("expire" | "delete")).then_some(HISTORY),
        "gc" | "prune" | "maintenance" => (name == "prune" || long("--prune", 3)).then_some(HISTORY),
        "update-ref" | "symbolic-ref" => {
            (short('d') || long("--delete", 3) || long("--stdin", 3) || name == "update-ref").then_some(COMMITS)
        }
        "filter-branch" | "filter-repo" | "replace" => Some(COMMITS),
        "fast-import" => forced.then_some(COMMITS),
        "rm" => (forced && (takes_back("--no-cached") || !long("--cached", 3))).then_some(TRACKED),
        "mv" => forced.then_some(UNTRACKED),
        "checkout-index" => (forced || short('a')).then_some(TRACKED),
        "read-tree" => (long("--reset", 3) || short('u')).then_some(TRACKED),
        "submodule" => match first {
            Some("deinit") if forced => Some(TRACKED),
            Some("update") if forced => Some(TRACKED),
            Some("foreach") => None,
            _ => None,
        },
        "fetch" | "pull" => {
            let by_ref = words.iter().any(|arg| starts(arg, "+"));
            (forced || by_ref).then_some(COMMITS)
        }
        "remote" => matches!(first, Some("remove" | "rm" | "prune")).then_some(COMMITS),
        "notes" => matches!(first, Some("remove" | "prune")).then_some(COMMITS),
        "sparse-checkout" => None,
        _ => None,
    };
    const HARMLESS_WITH_ANY: [&str; 16] = [
        "status",
        "log",
        "diff",
        "show",
        "blame",
        "grep",
        "ls-files",
        "ls-tree",
        "rev-parse",
        "rev-list",
        "describe",
        "shortlog",
        "cat-file",
        "show-ref",
        "for-each-ref",
        "name-rev",
    ];
    lost.or_else(|| (computed && !HARMLESS_WITH_ANY.contains(&name)).then_some(ANYTHING))
}

/// What is stashed is gone from the work tree, and what a stash gives back is gone from the stash.
fn stash(words: &[Arg]) -> Option<&'static str> {
    let Some(first) = words.iter().find(|arg| !starts(arg, "-")) else { return Some(MOVED) };
    match first.text.as_deref() {
        Some("list" | "show" | "create" | "store" | "apply" | "export") => None,
        Some("drop" | "clear" | "pop" | "branch" | "import") => Some(STASHED),
        Some(_) => Some(MOVED),
        None => Some(ANYTHING),
    }
}

/// A branch alone is switched to, and git refuses where that would lose something. Whatever may be a path is written over.
fn checkout(words: &[Arg], forced: bool) -> Option<&'static str> {
    let has_separator = has(words, &["--"]);
    let creates = words.iter().any(|arg| {
        has_letter(arg, 'b')
            || abbreviates(arg, "--orphan", 3)
            || abbreviates(arg, "--track", 3)
            || has_letter(arg, 't')
    });
    let recreates = words.iter().any(|arg| has_letter(arg, 'B'));
    let by_path = words.iter().any(|arg| {
        has_letter(arg, 'p')
            || abbreviates(arg, "--patch", 3)
            || abbreviates(arg, "--pathspec-from-file", 5)
            || abbreviates(arg, "--ours", 4)
            || abbreviates(arg, "--theirs", 4)
            || abbreviates(arg, "--merge", 3)
            || abbreviates(arg, "--conflict", 4)
            || has_letter(arg, 'm')
    });
    let operands: Vec<&Arg> = words.iter().filter(|arg| !starts(arg, "-")).collect();
    if forced || by_path || has_separator {
        return Some(TRACKED);
    }
    if recreates {
        return Some(COMMITS);
    }
    if creates {
        return None;
    }
    // One word may be a branch or, where none has its name, a file.
    let looks_like_path = |arg: &&Arg| {
        arg.text.as_deref().is_none_or(|text| {
            matches!(text, "." | "..")
                || text.starts_with(['.', ':', '*', '/'])
                || text.ends_with('/')
                || text.contains('.') && !text.starts_with('v')
        })
    };
    (operands.len() > 1 || operands.iter().any(looks_like_path)).then_some(TRACKED)
}

/// Where a file program works on the repository itself, and where one takes changes back.
pub(in crate::permission::shell) fn discards_repository(name: &str, call: &Call) -> Option<&'static str> {
    if name == "patch" {
        let words = call.words();
        let reverts = words.iter().any(|arg| has_letter(arg, 'R') || abbreviates(arg, "--reverse", 5));
        return (reverts && !has(words, &["--dry-run"])).then_some(TRACKED);
    }
    if matches!(name, "gh" | "glab") {
        let words = call.words();
        let says = |verb: &[&str]| behind(verb, words).is_none_or(|places| !places.is_empty());
        let forces = words.iter().any(|arg| abbreviates(arg, "--force", 5) || has_letter(arg, 'f'));
        let of_branch = forces && (says(&["repo", "sync"]) || says(&["pr", "checkout"]) || says(&["mr", "checkout"]));
        let of_remote = says(&["repo", "delete"]) || words.iter().any(|arg| abbreviates(arg, "--delete-branch", 9));
        return if of_remote { Some(REMOTE) } else { of_branch.then_some(COMMITS) };
    }
    let of_git = |arg: &Arg| {
        let text = arg.text.as_deref().unwrap_or(&arg.raw).trim_end_matches('/');
        text == ".git"
            || text.ends_with("/.git")
            || text.contains("/.git/")
            || text.starts_with(".git/")
            || matches!(text, ".hg" | ".jj" | ".svn")
    };
    let any_value = |arg: &Arg| {
        let values = arg.values.iter().flatten();
        values.map(|value| value.text()).any(|text| {
            let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
            name == ".git" || name.starts_with('.') && name.contains(['*', '?', '[']) || text.contains("/.git/")
        })
    };
    (matches!(name, "rm" | "mv" | "shred" | "unlink" | "find" | "truncate" | "rsync")
        && call.words().iter().any(|arg| of_git(arg) || any_value(arg)))
    .then_some(REPOSITORY)
}

pub(super) fn has(words: &[Arg], texts: &[&str]) -> bool {
    words.iter().any(|arg| arg.text.as_deref().is_some_and(|text| texts.contains(&text)))
}

pub(super) fn starts(arg: &Arg, head: &str) -> bool {
    arg.text.as_deref().unwrap_or(&arg.raw).starts_with(head)
}

/// Git takes any beginning of a long option that is no beginning of another.
pub(in crate::permission::shell) fn abbreviates(arg: &Arg, option: &str, least: usize) -> bool {
    let Some(text) = arg.text.as_deref() else { return false };
    let text = text.split('=').next().unwrap_or_default();
    text.len() >= least && option.starts_with(text) && text.starts_with("--")
}

/// A letter in a cluster of short options: `-fd` holds `d`.
pub(in crate::permission::shell) fn has_letter(arg: &Arg, letter: char) -> bool {
    let Some(letters) = arg.text.as_deref().and_then(|text| text.strip_prefix('-')) else { return false };
    !letters.starts_with('-') && letters.contains(letter)
}
