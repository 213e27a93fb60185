//! Version control: which commands reach the network, what a repository makes them run, which files they touch. What they discard is said in `losses`.

use super::code::Run;
use super::command::Call;
use super::expansion::Scope;
use super::options::{Arg, Order, Spec};
use super::programs::{Judged, here, likely_files, uses};
use super::syntax::Span;
use super::{Effect, FileAccess, FileUse, Landing};
use losses::{ANYTHING, COMMITS, HISTORY, REMOTE, STASHED, TRACKED, UNTRACKED, has, losses, starts};

mod losses;
mod reads;
mod settings;
mod writes;

pub(super) use losses::{abbreviates, discards_repository, has_letter};
pub(super) use writes::named_after;

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
    settings::by_options(&words[..at], &mut judged);
    for pair in words[..at].windows(2).filter(|pair| pair[0].text.as_deref() == Some("-C")) {
        judged.files.extend(uses(&pair[1], "cd", FileAccess::Read, scope));
    }
    let scope = moved(&words[..at], scope);
    let rest = &words[at + 1..];
    let Some(name) = words[at].text.as_deref() else {
        judged.unknown.push((words[at].span.clone(), "the command of git is named by an expansion"));
        judged.effect.loses = Some(ANYTHING);
        return judged;
    };
    let sets_alias = name == "config" && rest.iter().any(|arg| starts(arg, "alias.") || arg.text.is_none());
    if name == "config" && settings::configures_code(rest) {
        judged.unknown.push((words[at].span.clone(), "a setting of git that may name a program to run"));
    }
    let loses = losses(name, rest).or(judged.effect.loses).or(sets_alias.then_some(ANYTHING));
    if let Some(arg) = rest.iter().find(|arg| runs_its_value(name, arg)) {
        judged.unknown.push((arg.span.clone(), "an option by which git runs a program"));
    }
    if runs_its_words(name, rest) {
        judged.unknown.push((words[at].span.clone(), "git runs a program that stands in its words"));
    }
    if name == "bisect" && has(rest, &["run"]) || name == "submodule" && has(rest, &["foreach"]) {
        judged.unknown.push((words[at].span.clone(), "git runs a command that stands in its words"));
        let command = rest.iter().skip_while(|arg| !matches!(arg.text.as_deref(), Some("run" | "foreach"))).skip(1);
        let command: Option<Vec<&str>> =
            command.skip_while(|arg| starts(arg, "-")).map(|arg| arg.text.as_deref()).collect();
        judged.runs.extend(command.filter(|words| !words.is_empty()).map(|words| Run::here(words.join(" "))));
    }
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
    files(name, rest, &words[at].span, &scope, &mut judged);
    judged
}

/// Commands of git that are made to run a program of their words.
fn runs_its_words(name: &str, words: &[Arg]) -> bool {
    match name {
        // It tells the passwords that git has, or asks a program for them.
        "credential" => true,
        "remote-ext" | "remote-fd" | "merge-index" | "instaweb" | "web--browse" | "shell" | "for-each-repo" => true,
        "send-email" => words.iter().any(|arg| {
            let text = arg.text.as_deref().unwrap_or("--cmd");
            text.starts_with("--") && (text.contains("cm") || text.starts_with("--sm") || text.starts_with("--se"))
        }),
        _ => false,
    }
}

/// Options, and beginnings of such, whose value git runs, and addresses that do so.
fn runs_its_value(name: &str, arg: &Arg) -> bool {
    let long = |option: &str| abbreviates(arg, option, 3);
    match name {
        "grep" => has_letter(arg, 'O') || long("--open-files-in-pager"),
        "rebase" => has_letter(arg, 'x') || long("--exec"),
        "difftool" => has_letter(arg, 'x') || long("--extcmd"),
        "clone" | "fetch" | "pull" | "ls-remote" | "fetch-pack" => {
            long("--upload-pack")
                || long("--exec")
                || name == "clone" && (has_letter(arg, 'u') || long("--template") || long("--config"))
                || name == "clone" && (starts(arg, "-c") || arg.raw == "-c")
                || arg.text.as_deref().is_some_and(|text| text.contains("::"))
        }
        "push" | "send-pack" => {
            long("--receive-pack") || long("--exec") || arg.text.as_deref().is_some_and(|text| text.contains("::"))
        }
        "archive" | "remote" | "submodule" if arg.text.as_deref().is_some_and(|text| text.contains("ext::")) => true,
        "archive" => long("--exec"),
        "init" => long("--template"),
        "filter-branch" => long("--tree-filter"),
        _ => false,
    }
}

pub(super) fn moved(words: &[Arg], scope: &Scope) -> Scope {
    let mut scope = scope.clone();
    for pair in words.windows(2) {
        if pair[0].text.as_deref() == Some("-C") {
            scope.folders = super::expansion::folders(&pair[1], &scope);
            scope.moved = true;
        }
    }
    scope
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
        "config" if settings::only_asks(words) => None,
        "config" => Some("changes what git runs"),
        "remote" if words.is_empty() || has(words, &["-v", "get-url"]) => None,
        _ if KNOWN.contains(&name) => {
            Some("git runs what the repository configures: hooks, filters, fsmonitor, external diff")
        }
        _ => Some("a command that git does not have itself: an alias or another program"),
    }
}

/// `span`: that of its name.
fn files(name: &str, words: &[Arg], span: &Span, scope: &Scope, judged: &mut Judged) {
    writes::by_options(name, words, scope, judged);
    judged.files.extend(writes::by_words(name, words, span, scope));
    reads::by_options(name, words, scope, judged);
    let operands: Vec<&Arg> = words.iter().filter(|arg| !starts(arg, "-")).collect();
    match name {
        "rm" | "mv" | "restore" | "clean" => {
            for (at, arg) in operands.iter().enumerate() {
                // What is moved can be read where it is then.
                if name == "mv" {
                    judged.files.extend(uses(arg, "git mv", FileAccess::Read, scope));
                }
                let written = uses(arg, if name == "mv" { "git mv" } else { "git" }, FileAccess::Write, scope);
                let is_source = name == "mv" && at + 1 < operands.len();
                let leaves = |used: FileUse| if is_source { FileUse { lands: Landing::Leaves, ..used } } else { used };
                judged.files.extend(written.into_iter().map(leaves));
            }
        }
        "checkout" => {
            // One word is a branch or, where no branch has its name, a file.
            if let [one] = operands.as_slice()
                && losses(name, words).is_none()
                && !words.iter().any(|arg| has_letter(arg, 'b') || starts(arg, "--orphan"))
            {
                judged.files.extend(uses(one, "git checkout", FileAccess::Write, scope).into_iter().filter_map(
                    |used| match used.place {
                        super::Place::File(path) => Some(FileUse { place: super::Place::Maybe(path), ..used }),
                        _ => None,
                    },
                ));
            }
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
        // Names, and nothing that files hold.
        "ls-files" => {}
        _ => judged.files.extend(likely_files("git", words, scope)),
    }
}

pub(super) fn other(program: &str, call: &Call, scope: &Scope) -> Judged {
    let words = call.words();
    // Their general options take values in the next word.
    const VALUES: [&str; 9] =
        ["-R", "--repository", "--cwd", "--config", "--repo", "--at-op", "--at-operation", "--config-file", "--color"];
    let takes_value = |at: usize| {
        at.checked_sub(1).and_then(|before| words[before].text.as_deref()).is_some_and(|text| VALUES.contains(&text))
    };
    let first = (0..words.len()).find(|&at| !starts(&words[at], "-") && !takes_value(at));
    let name = first.and_then(|at| words[at].text.as_deref()).unwrap_or_default();
    let configures = words
        .iter()
        .any(|arg| arg.text.as_deref().is_some_and(|text| text.starts_with("alias.") || text.contains("=alias.")));
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
        ("svn", "cleanup") => words.iter().any(|arg| starts(arg, "--remove")).then_some(UNTRACKED),
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
            loses: loses.or(configures.then_some(ANYTHING)),
            network,
            runs_unseen: Some("runs what the repository configures".to_owned()),
            ..Effect::default()
        },
        files: likely_files(program, words, scope),
        ..Judged::default()
    }
}
