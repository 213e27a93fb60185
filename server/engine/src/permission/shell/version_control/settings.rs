//! Settings of git, by its general options and by `git config`: which of them may name a program to run.

use super::WITH_VALUE;
use super::losses::{ANYTHING, HISTORY, abbreviates, has, has_letter, starts};
use crate::permission::shell::options::Arg;
use crate::permission::shell::programs::Judged;

/// `-C DIR` leads elsewhere; `-c` and others may name programs to run.
pub(super) fn by_options(words: &[Arg], judged: &mut Judged) {
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
            if setting.starts_with("alias.") || setting.is_empty() {
                judged.effect.loses = Some(ANYTHING);
            }
            if ["gc.prune", "gc.reflog", "gc.worktreeprune"].iter().any(|key| setting.starts_with(key)) {
                judged.effect.loses = Some(HISTORY);
            }
            if !is_calm_key(setting.split('=').next().unwrap_or_default()) && !CALM_SETTINGS.contains(&setting.as_str())
            {
                judged.unknown.push((arg.span.clone(), "a setting of git that may name a program to run"));
            }
        } else if !CALM.contains(&text) {
            judged.unknown.push((arg.span.clone(), "an option by which git runs or reads something else"));
            if starts(arg, "--config-env") {
                judged.effect.loses = Some(ANYTHING);
            }
            if WITH_VALUE.contains(&text) {
                words.next();
            }
        } else if text == "-C" {
            words.next();
        }
    }
}

const CALM_SETTINGS: [&str; 3] = ["core.pager=cat", "core.fsmonitor=false", "core.fsmonitor="];

/// Keys of settings that neither name a program nor lead to further settings.
const CALM_KEYS: [&str; 26] = [
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
    "core.eol",
    "core.safecrlf",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.abbrev",
    "core.precomposeunicode",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "fetch.prune",
    "rebase.autostash",
    "rerere.enabled",
    "merge.conflictstyle",
    "diff.algorithm",
];

/// `key`: in small letters.
fn is_calm_key(key: &str) -> bool {
    CALM_KEYS.iter().any(|calm| if calm.ends_with('.') { key.starts_with(calm) } else { key == *calm })
}

/// Whether `git config` sets what is code, for this or a later command.
pub(super) fn configures_code(words: &[Arg]) -> bool {
    const READS: [&str; 11] = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
        "--get-colorbool",
        "--list",
        "-l",
        "--unset",
        "--unset-all",
        "--remove-section",
    ];
    const TAKES: [&str; 8] = ["-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"];
    let edits = |arg: &Arg| has_letter(arg, 'e') || abbreviates(arg, "--edit", 3);
    if words.iter().any(edits) {
        return true;
    }
    if has(words, &READS) {
        return false;
    }
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|before| has(&words[before..at], &TAKES));
    let operands: Vec<&Arg> =
        words.iter().enumerate().filter(|(at, arg)| !starts(arg, "-") && !is_value(*at)).map(|(_, arg)| arg).collect();
    let operands = match operands.first().and_then(|first| first.text.as_deref()) {
        Some("get" | "list" | "unset" | "remove-section") => return false,
        Some("edit" | "rename-section") => return true,
        Some("set") => &operands[1..],
        _ => &operands[..],
    };
    match operands {
        [key, _, ..] => key.text.as_deref().is_none_or(|key| !is_calm_key(&key.to_ascii_lowercase())),
        _ => false,
    }
}
