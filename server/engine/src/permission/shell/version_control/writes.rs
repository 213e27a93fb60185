//! Files and folders that commands of git write because their words say so, beside the work tree and what the repository keeps.

use super::losses::{abbreviates, has_letter};
use crate::permission::shell::expansion::Scope;
use crate::permission::shell::options::{Arg, Order, Spec};
use crate::permission::shell::outputs::unknown;
use crate::permission::shell::programs::{Judged, here, uses};
use crate::permission::shell::syntax::Span;
use crate::permission::shell::{FileAccess, FileUse};

const BY: &str = "git";

/// Options whose value is written, whatever the command; git takes beginnings of them.
const LONG: [&str; 9] = [
    "--output",
    "--output-directory",
    "--separate-git-dir",
    "--prefix",
    "--export-marks",
    "--export-pack-edges",
    "--split-index-file",
    "--index-output",
    "--bundle-uri-file",
];

/// Letters that do the same.
const SHORT: [(&str, char); 5] =
    [("archive", 'o'), ("format-patch", 'o'), ("mailsplit", 'o'), ("bugreport", 'o'), ("index-pack", 'o')];

const CLONE: Spec = Spec {
    short: "lsqvn46b:o:u:c:j:",
    long: &[
        "also-filter-submodules",
        "bare",
        "branch=",
        "bundle-uri=",
        "config=",
        "depth=",
        "dissociate",
        "filter=",
        "ipv4",
        "ipv6",
        "jobs=",
        "local",
        "mirror",
        "no-checkout",
        "no-hardlinks",
        "no-local",
        "no-reject-shallow",
        "no-remote-submodules",
        "no-shallow-submodules",
        "no-single-branch",
        "no-tags",
        "origin=",
        "progress",
        "quiet",
        "recurse-submodules?",
        "recursive?",
        "ref-format=",
        "reference-if-able=",
        "reference=",
        "reject-shallow",
        "remote-submodules",
        "revision=",
        "separate-git-dir=",
        "server-option=",
        "shallow-exclude=",
        "shallow-since=",
        "shallow-submodules",
        "shared",
        "single-branch",
        "sparse",
        "tags",
        "template=",
        "upload-pack=",
        "verbose",
    ],
};
const INIT: Spec = Spec {
    short: "qb:",
    long: &[
        "bare",
        "initial-branch=",
        "object-format=",
        "quiet",
        "ref-format=",
        "separate-git-dir=",
        "shared?",
        "template=",
    ],
};
const WORKTREE: Spec = Spec {
    short: "fdqb:B:",
    long: &[
        "checkout",
        "detach",
        "force",
        "guess-remote",
        "lock",
        "no-checkout",
        "no-guess-remote",
        "no-relative-paths",
        "no-track",
        "orphan",
        "quiet",
        "reason=",
        "relative-paths",
        "track",
    ],
};
const SUBMODULE: Spec = Spec {
    short: "fqb:",
    long: &["branch=", "depth=", "force", "name=", "progress", "quiet", "ref-format=", "reference="],
};
const BUNDLE: Spec =
    Spec { short: "q", long: &["all-progress", "all-progress-implied", "progress", "quiet", "version="] };
const MERGE_FILE: Spec = Spec {
    short: "pqL:",
    long: &[
        "diff-algorithm=",
        "diff3",
        "marker-size=",
        "object-id",
        "ours",
        "quiet",
        "stdout",
        "theirs",
        "union",
        "zdiff3",
    ],
};
const MAILINFO: Spec =
    Spec { short: "kbunm", long: &["encoding=", "message-id", "no-scissors", "quoted-cr=", "scissors"] };

/// `words` behind the command's name.
pub(super) fn by_options(name: &str, words: &[Arg], scope: &Scope, judged: &mut Judged) {
    let ends = words.iter().position(|arg| arg.text.as_deref() == Some("--")).unwrap_or(words.len());
    let mut written = |file: Option<Arg>| {
        judged.files.extend(file.iter().flat_map(|file| uses(file, BY, FileAccess::Write, scope)));
    };
    for (at, arg) in words[..ends].iter().enumerate() {
        let next = || words.get(at + 1).cloned();
        // Of an archive it is what its names begin with.
        let is_prefix = name != "checkout-index" && abbreviates(arg, "--prefix", 3);
        let is_root = matches!(name, "apply" | "am") && abbreviates(arg, "--directory", 4);
        if is_root || !is_prefix && LONG.iter().any(|option| abbreviates(arg, option, 4)) {
            let given = arg.text.as_deref().and_then(|text| text.find('=')).map(|sign| arg.text_tail(sign + 1));
            written(given.or_else(next));
        }
        let letter = SHORT.iter().find(|(command, letter)| *command == name && has_letter(arg, *letter));
        if let Some((_, letter)) = letter {
            let text = arg.text.as_deref().unwrap_or_default();
            let behind = text.find(*letter).map_or(text.len(), |at| at + 1);
            written(if behind < text.len() { Some(arg.text_tail(behind)) } else { next() });
        }
    }
}

/// What stands in its words without options. `span`: that of the command's name.
pub(super) fn by_words(name: &str, words: &[Arg], span: &Span, scope: &Scope) -> Vec<FileUse> {
    let at = words.iter().position(|arg| !arg.raw.starts_with('-')).unwrap_or(words.len());
    let behind = words.get(at + 1..).unwrap_or_default();
    let meant: Vec<Arg> = match (name, words.get(at).and_then(|verb| verb.text.as_deref())) {
        ("worktree", Some("add")) => operands(WORKTREE, behind, Order::Mixed, 1),
        ("worktree", Some("list" | "lock" | "unlock" | "prune" | "repair")) => Vec::new(),
        ("worktree", _) => every(behind),
        // Behind its file stands what goes into it.
        ("bundle", Some("create")) => operands(BUNDLE, behind, Order::OptionsFirst, 1),
        ("bundle", Some("verify" | "list-heads" | "unbundle")) => Vec::new(),
        ("clone", _) => copy(CLONE, words),
        ("submodule", Some("add")) => copy(SUBMODULE, behind),
        ("submodule", None) => every(behind),
        ("init", _) => operands(INIT, words, Order::Mixed, 1),
        ("interpret-trailers", _) if words.iter().any(|arg| abbreviates(arg, "--in-place", 4)) => every(words),
        ("merge-file", _) => operands(MERGE_FILE, words, Order::Mixed, 1),
        ("mailinfo", _) => operands(MAILINFO, words, Order::Mixed, 2),
        ("bundle" | "pack-objects" | "svn", _) => every(words),
        _ => Vec::new(),
    };
    let mut files: Vec<FileUse> = meant.iter().flat_map(|arg| uses(arg, BY, FileAccess::Write, scope)).collect();
    // What the patch names may lie anywhere.
    if name == "apply" && words.iter().any(|arg| abbreviates(arg, "--unsafe-paths", 4)) {
        files.push(unknown(BY, span));
    }
    let writes_here = match name {
        "format-patch" => {
            let elsewhere = |arg: &Arg| {
                has_letter(arg, 'o') || abbreviates(arg, "--output-directory", 10) || abbreviates(arg, "--stdout", 5)
            };
            words.iter().any(|arg| abbreviates(arg, "--no-stdout", 6)) || !words.iter().any(elsewhere)
        }
        "unpack-file" | "bugreport" | "diagnose" => true,
        _ => false,
    };
    if writes_here {
        let filled = here(span, "git format-patch", FileAccess::Write, scope);
        files.extend(filled);
    }
    files
}

/// The first words that are neither options nor their values: `count` of them, or all where an option is not known.
fn operands(spec: Spec, words: &[Arg], order: Order, count: usize) -> Vec<Arg> {
    let parsed = spec.parse(words, order);
    if parsed.is_told() { parsed.operands.into_iter().take(count).collect() } else { every(words) }
}

/// Where a copy of a repository lands.
fn copy(spec: Spec, words: &[Arg]) -> Vec<Arg> {
    let parsed = spec.parse(words, Order::Mixed);
    match parsed.operands.as_slice() {
        _ if !parsed.is_told() => {
            every(words).iter().flat_map(|arg| [vec![arg.clone()], named_after(arg)].concat()).collect()
        }
        [source] => named_after(source),
        [_, folder, ..] => vec![folder.clone()],
        [] => Vec::new(),
    }
}

/// Any of them may be meant.
fn every(words: &[Arg]) -> Vec<Arg> {
    words.iter().filter(|arg| !arg.raw.starts_with('-')).cloned().collect()
}

/// Without a folder of its own a copy has the name of its source.
pub(in crate::permission::shell) fn named_after(source: &Arg) -> Vec<Arg> {
    let Some(text) = source.text.as_deref() else { return vec![source.opaque()] };
    let text = text.trim_end_matches('/').trim_end_matches("/.git").trim_end_matches('/');
    let name = text.rsplit(['/', ':']).next().unwrap_or_default().trim_end_matches(".git").trim_end_matches(".bundle");
    if name.is_empty() { Vec::new() } else { vec![Arg::literal(name, source.span.clone())] }
}
