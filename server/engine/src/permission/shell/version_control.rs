//! Version control: which commands discard work that nothing else holds (R5.5), which reach the network, and what a repository makes them run.

use super::command::Call;
use super::expansion::Scope;
use super::options::{Arg, Order, Parsed, Spec};
use super::programs::{Judged, here, likely_files, uses};
use super::{Effect, FileAccess};

const TRACKED: &str = "uncommitted changes of tracked files";
const UNTRACKED: &str = "files that are not tracked";
const STASHED: &str = "stashed changes";
const COMMITS: &str = "commits that no branch holds any more";
const REMOTE: &str = "commits on the remote that no branch there holds any more";
const WORKTREE: &str = "uncommitted changes of another work tree";
const HISTORY: &str = "the history from which lost commits could be found again";
const REPOSITORY: &str = "the repository with all that was not pushed";
const ANYTHING: &str = "whatever the words that are not known discard";

/// General options of git that take a value in the next word.
const WITH_VALUE: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// Where the subcommand stands in the words behind `git`.
pub(super) fn subcommand(words: &[Arg]) -> Option<usize> {
    let mut at = 0;
    while let Some(arg) = words.get(at) {
        match arg.text.as_deref() {
            Some(text) if WITH_VALUE.contains(&text) => at += 2,
            Some(text) if text.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
    None
}

/// For a command to which words are added that are not known.
pub(super) fn may_lose(call: &Call) -> Option<&'static str> {
    let base = call.program()?.rsplit('/').next()?;
    (base == "git").then_some(ANYTHING)
}

pub(super) fn git(call: &Call, scope: &Scope) -> Judged {
    let words = call.words();
    let mut judged = Judged::default();
    let Some(at) = subcommand(words) else {
        judged.effect.is_file_work = false;
        return judged;
    };
    general_options(&words[..at], &mut judged);
    let scope = moved(&words[..at], scope);
    let rest = &words[at + 1..];
    let Some(name) = words[at].text.as_deref() else {
        judged.unknown.push((words[at].span.clone(), "the command of git is named by an expansion"));
        judged.effect.loses = Some(ANYTHING);
        return judged;
    };
    let loses = losses(name, rest);
    judged.effect = Effect {
        loses,
        network: matches!(
            name,
            "push"
                | "fetch"
                | "pull"
                | "clone"
                | "ls-remote"
                | "send-pack"
                | "fetch-pack"
                | "svn"
                | "p4"
                | "send-email"
                | "request-pull"
                | "lfs"
        ) || name == "remote" && has(rest, &["update", "show", "prune"])
            || name == "submodule" && has(rest, &["update", "add"])
            || name == "archive" && rest.iter().any(|arg| starts(arg, "--remote"))
            || name == "maintenance",
        runs_unseen: runs_unseen(name, rest).map(str::to_owned),
        ..Effect::default()
    };
    files(name, rest, &scope, &mut judged);
    judged
}

/// `-C DIR` leads elsewhere; `-c` and others may name programs to run.
fn general_options(words: &[Arg], judged: &mut Judged) {
    const CALM_KEYS: [&str; 12] = [
        "color.",
        "user.name",
        "user.email",
        "core.quotepath",
        "core.autocrlf",
        "advice.",
        "init.defaultbranch",
        "log.showsignature",
        "commit.gpgsign",
        "tag.gpgsign",
        "core.pager=cat",
        "core.fsmonitor=false",
    ];
    const CALM: [&str; 12] = [
        "-C",
        "--no-pager",
        "-P",
        "-p",
        "--paginate",
        "--no-replace-objects",
        "--literal-pathspecs",
        "--glob-pathspecs",
        "--no-optional-locks",
        "--version",
        "--help",
        "--bare",
    ];
    let mut words = words.iter();
    while let Some(arg) = words.next() {
        let text = arg.text.as_deref().unwrap_or_default();
        if text == "-c" {
            let setting =
                words.next().and_then(|setting| setting.text.as_deref()).unwrap_or_default().to_ascii_lowercase();
            if !CALM_KEYS.iter().any(|key| setting.starts_with(key)) {
                judged.unknown.push((arg.span.clone(), "a setting of git that may name a program to run"));
            }
        } else if !CALM.contains(&text) {
            judged.unknown.push((arg.span.clone(), "an option by which git runs or reads something else"));
            if WITH_VALUE.contains(&text) {
                words.next();
            }
        } else if text == "-C" {
            words.next();
        }
    }
}

fn moved(words: &[Arg], scope: &Scope) -> Scope {
    let mut scope = scope.clone();
    for pair in words.windows(2) {
        if pair[0].text.as_deref() == Some("-C") {
            scope.folders = super::command::folders(&pair[1], &scope);
            scope.moved = true;
        }
    }
    scope
}

/// What would be lost. Words that are not known may be any option.
fn losses(name: &str, words: &[Arg]) -> Option<&'static str> {
    let long = |name: &str, least: usize| words.iter().any(|arg| abbreviates(arg, name, least));
    let short = |letter: char| {
        words.iter().take_while(|arg| arg.text.as_deref() != Some("--")).any(|arg| has_letter(arg, letter))
    };
    let forced = short('f') || long("--force", 3);
    // What stands behind it is a text, whatever it begins with.
    let takes_text = |arg: Option<&Arg>| {
        name == "commit"
            && arg.and_then(|arg| arg.text.as_deref()).is_some_and(|text| matches!(text, "-m" | "-am" | "--message"))
    };
    let computed = words.iter().enumerate().any(|(at, arg)| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        arg.text.is_none() && arg.may_be_option() && !takes_text(before)
    });
    let first = words.iter().find(|arg| !starts(arg, "-")).and_then(|arg| arg.text.as_deref());
    let lost = match name {
        "reset" => (long("--hard", 3) || long("--merge", 3) || long("--keep", 3)).then_some(TRACKED),
        "checkout" => checkout(words, forced),
        "switch" => {
            let creates = short('C') || long("--force-create", 8);
            if forced || long("--discard-changes", 3) { Some(TRACKED) } else { creates.then_some(COMMITS) }
        }
        "restore" => {
            let staged_only = (long("--staged", 4) || short('S')) && !(long("--worktree", 3) || short('W'));
            (!staged_only).then_some(TRACKED)
        }
        "clean" => {
            let shows_only = short('n') || long("--dry-run", 3);
            (!shows_only).then_some(UNTRACKED)
        }
        "stash" => matches!(first, Some("drop" | "clear" | "pop")).then_some(STASHED).filter(|_| first != Some("pop")),
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
        "rm" => (forced && !(long("--cached", 3))).then_some(TRACKED),
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
            if name == "pull" && (long("--rebase", 3) || short('r') || long("--autostash", 6)) {
                return None;
            }
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

fn runs_unseen(name: &str, words: &[Arg]) -> Option<&'static str> {
    const PLUMBING: [&str; 22] = [
        "rev-parse",
        "rev-list",
        "ls-tree",
        "show-ref",
        "for-each-ref",
        "merge-base",
        "symbolic-ref",
        "var",
        "name-rev",
        "check-ignore",
        "check-ref-format",
        "check-attr",
        "count-objects",
        "cat-file",
        "hash-object",
        "version",
        "mktree",
        "write-tree",
        "verify-pack",
        "show-index",
        "stripspace",
        "column",
    ];
    const KNOWN: [&str; 62] = [
        "add",
        "am",
        "apply",
        "archive",
        "bisect",
        "blame",
        "annotate",
        "branch",
        "bundle",
        "checkout",
        "cherry",
        "cherry-pick",
        "clean",
        "clone",
        "commit",
        "commit-tree",
        "config",
        "describe",
        "diff",
        "diff-files",
        "diff-index",
        "diff-tree",
        "fetch",
        "format-patch",
        "fsck",
        "gc",
        "grep",
        "init",
        "log",
        "ls-files",
        "ls-remote",
        "merge",
        "mv",
        "notes",
        "pull",
        "push",
        "range-diff",
        "read-tree",
        "rebase",
        "reflog",
        "remote",
        "repack",
        "reset",
        "restore",
        "revert",
        "rm",
        "shortlog",
        "show",
        "show-branch",
        "sparse-checkout",
        "stash",
        "status",
        "submodule",
        "switch",
        "tag",
        "update-index",
        "update-ref",
        "whatchanged",
        "worktree",
        "prune",
        "replace",
        "checkout-index",
    ];
    if PLUMBING.contains(&name) && !words.iter().any(|arg| starts(arg, "--textconv") || starts(arg, "--filters")) {
        return None;
    }
    match name {
        "rebase" if words.iter().any(|arg| has_letter(arg, 'x') || abbreviates(arg, "--exec", 4)) => {
            Some("runs a command for each commit")
        }
        "bisect" if has(words, &["run"]) => Some("runs a command for each commit"),
        "submodule" if has(words, &["foreach"]) => Some("runs a command in each submodule"),
        "difftool" | "mergetool" | "gui" | "gitk" | "instaweb" | "web--browse" | "help" => {
            Some("runs a tool that git is configured with")
        }
        "filter-branch" => Some("runs a command for each commit"),
        "config" if has(words, &["--get", "--get-all", "--list", "-l", "get", "list"]) => None,
        "config" => Some("changes what git runs"),
        "remote" if words.is_empty() || has(words, &["-v", "get-url"]) => None,
        _ if KNOWN.contains(&name) => {
            Some("git runs what the repository configures: hooks, filters, fsmonitor, external diff")
        }
        _ => Some("a command that git does not have itself: an alias or another program"),
    }
}

fn files(name: &str, words: &[Arg], scope: &Scope, judged: &mut Judged) {
    const OUTPUTS: Spec = Spec { short: "", long: &["output=", "output-directory=", "to-stdout"] };
    let parsed: Parsed = OUTPUTS.parse(words, Order::Mixed);
    if let Some(file) = parsed.value(&["output", "output-directory"]) {
        judged.files.extend(uses(file, "git", FileAccess::Write, scope));
    }
    if matches!(name, "format-patch" | "archive") {
        for pair in words.windows(2) {
            if pair[0].text.as_deref() == Some("-o") {
                judged.files.extend(uses(&pair[1], "git", FileAccess::Write, scope));
            }
        }
        for arg in words.iter().filter(|arg| starts(arg, "-o") && arg.raw.len() > 2) {
            judged.files.extend(uses(&arg.text_tail(2), "git", FileAccess::Write, scope));
        }
    }
    let operands: Vec<&Arg> = words.iter().filter(|arg| !starts(arg, "-")).collect();
    match name {
        "rm" | "mv" | "restore" | "clean" => {
            for arg in operands {
                judged.files.extend(uses(arg, "git", FileAccess::Write, scope));
            }
        }
        "clone" | "init" | "worktree" | "submodule" => {
            if let Some(arg) =
                operands.last().filter(|arg| arg.text.as_deref().is_none_or(|text| text.starts_with(['/', '.', '~'])))
            {
                judged.files.extend(uses(arg, "git", FileAccess::Write, scope));
            }
            judged.files.extend(likely_files("git", words, scope));
        }
        "checkout" => {
            for arg in &operands {
                judged.files.extend(
                    uses(arg, "git", FileAccess::Write, scope).into_iter().filter(|_| losses(name, words).is_some()),
                );
            }
        }
        "commit" | "tag" | "notes" => {
            // The text of `-m` is no path.
            let spec = Spec {
                short: "m:F:C:c:t:au:sqvnpS::eo",
                long: &["message=", "file=", "template=", "author=", "date="],
            };
            let parsed = spec.parse(words, Order::Mixed);
            for given in
                parsed.given.iter().filter(|given| matches!(given.name.as_str(), "F" | "file" | "t" | "template"))
            {
                judged.files.extend(given.value.iter().flat_map(|file| uses(file, "git", FileAccess::Read, scope)));
            }
            let known: Vec<Arg> = parsed.operands.into_iter().filter(|arg| arg.text.is_some()).collect();
            judged.files.extend(likely_files("git", &known, scope));
        }
        "grep" => {
            let paths: Vec<Arg> = operands.iter().skip(1).map(|arg| (*arg).clone()).collect();
            judged.files.extend(likely_files("git", &paths, scope));
            if paths.is_empty() {
                judged.files.extend(here(
                    &words.first().map_or(0..0, |arg| arg.span.clone()),
                    "git",
                    FileAccess::Read,
                    scope,
                ));
            }
        }
        "push" | "fetch" | "pull" | "remote" | "branch" | "switch" | "config" | "ls-remote" => {
            judged.files.extend(
                operands
                    .iter()
                    .filter(|arg| arg.text.as_deref().is_some_and(|text| text.starts_with(['/', '.', '~'])))
                    .flat_map(|arg| uses(arg, "git", FileAccess::Read, scope)),
            );
        }
        _ => judged.files.extend(likely_files("git", words, scope)),
    }
}

pub(super) fn other(program: &str, call: &Call, scope: &Scope) -> Judged {
    let words = call.words();
    let name = words.iter().find(|arg| !starts(arg, "-")).and_then(|arg| arg.text.as_deref()).unwrap_or_default();
    let short = |letter: char| words.iter().any(|arg| has_letter(arg, letter));
    let long = |name: &str, least: usize| words.iter().any(|arg| abbreviates(arg, name, least));
    let loses = match (program, name) {
        ("hg", "revert" | "rev") => Some(TRACKED),
        ("hg", "update" | "up" | "checkout" | "co" | "merge") => (short('C') || long("--clean", 4)).then_some(TRACKED),
        ("hg", "purge" | "clean") => Some(UNTRACKED),
        ("hg", "strip" | "rollback" | "histedit" | "rebase" | "amend" | "uncommit" | "prune") => Some(COMMITS),
        ("hg", "shelve") => (short('d') || long("--delete", 4) || long("--cleanup", 4)).then_some(STASHED),
        ("hg", "push") => (short('f') || long("--force", 4)).then_some(REMOTE),
        ("svn", "revert") => Some(TRACKED),
        ("svn", "cleanup") => long("--remove", 5).then_some(UNTRACKED),
        ("svn", "delete" | "del" | "remove" | "rm") => long("--force", 4).then_some(TRACKED),
        ("jj", "abandon" | "restore" | "undo") => Some(TRACKED),
        ("jj", "op" | "operation") => Some(HISTORY),
        ("jj", "util") => words.iter().any(|arg| arg.text.as_deref() == Some("gc")).then_some(HISTORY),
        _ => words.iter().any(|arg| arg.text.is_none() && arg.may_be_option()).then_some(ANYTHING),
    };
    let network = matches!(
        name,
        "push"
            | "pull"
            | "clone"
            | "incoming"
            | "outgoing"
            | "in"
            | "out"
            | "commit"
            | "ci"
            | "checkout"
            | "co"
            | "update"
            | "up"
            | "export"
            | "switch"
            | "git"
    ) && !(program == "hg"
        && matches!(name, "commit" | "ci" | "update" | "up" | "checkout" | "co" | "export"));
    Judged {
        effect: Effect {
            loses,
            network,
            runs_unseen: Some("runs what the repository configures".to_owned()),
            ..Effect::default()
        },
        files: likely_files(program, words, scope),
        ..Judged::default()
    }
}

/// Where a file program works on the repository itself.
pub(super) fn discards_repository(name: &str, call: &Call) -> Option<&'static str> {
    let of_git = |arg: &Arg| {
        let text = arg.text.as_deref().unwrap_or(&arg.raw).trim_end_matches('/');
        text == ".git"
            || text.ends_with("/.git")
            || text.contains("/.git/")
            || text.starts_with(".git/")
            || matches!(text, ".hg" | ".jj" | ".svn")
    };
    (matches!(name, "rm" | "mv" | "shred" | "unlink" | "truncate" | "rsync") && call.words().iter().any(of_git))
        .then_some(REPOSITORY)
}

fn has(words: &[Arg], texts: &[&str]) -> bool {
    words.iter().any(|arg| arg.text.as_deref().is_some_and(|text| texts.contains(&text)))
}

fn starts(arg: &Arg, head: &str) -> bool {
    arg.text.as_deref().unwrap_or(&arg.raw).starts_with(head)
}

/// Git takes any beginning of a long option that is no beginning of another.
fn abbreviates(arg: &Arg, option: &str, least: usize) -> bool {
    let Some(text) = arg.text.as_deref() else { return false };
    let text = text.split('=').next().unwrap_or_default();
    text.len() >= least && option.starts_with(text) && text.starts_with("--")
}

/// A letter in a cluster of short options: `-fd` holds `d`.
fn has_letter(arg: &Arg, letter: char) -> bool {
    let Some(letters) = arg.text.as_deref().and_then(|text| text.strip_prefix('-')) else { return false };
    !letters.starts_with('-') && letters.contains(letter)
}
