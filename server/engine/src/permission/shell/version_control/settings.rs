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

/// Whether `git config` only tells what is set.
pub(super) fn only_asks(words: &[Arg]) -> bool {
    const ASKS: [&str; 8] =
        ["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool", "--list", "-l"];
    let (options, operands) = words.split_at(first_operand(words));
    has(options, &ASKS) || operands.first().is_some_and(|verb| matches!(verb.text.as_deref(), Some("get" | "list")))
}

/// Of `git config`, whose options end there: what stands behind is a key, a value or a pattern of values, whatever it looks like.
fn first_operand(words: &[Arg]) -> usize {
    const TAKES: [&str; 8] = ["-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"];
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|before| has(&words[before..at], &TAKES));
    (0..words.len()).find(|at| !starts(&words[*at], "-") && !is_value(*at)).unwrap_or(words.len())
}

/// Whether `git config` sets what is code, for this or a later command.
pub(super) fn configures_code(words: &[Arg]) -> bool {
    const REMOVES: [&str; 3] = ["--unset", "--unset-all", "--remove-section"];
    let edits = |arg: &Arg| has_letter(arg, 'e') || abbreviates(arg, "--edit", 3);
    if words.iter().any(edits) {
        return true;
    }
    let (options, operands) = words.split_at(first_operand(words));
    if only_asks(words) || has(options, &REMOVES) {
        return false;
    }
    let operands = match operands.first().and_then(|first| first.text.as_deref()) {
        Some("unset" | "remove-section") => return false,
        Some("edit" | "rename-section") => return true,
        Some("set") => &operands[1 + first_operand(&operands[1..])..],
        _ => operands,
    };
    match operands {
        [key, _, ..] => key.text.as_deref().is_none_or(|key| !is_calm_key(&key.to_ascii_lowercase())),
        _ => false,
    }
}
