//! Files and folders that commands of git write because their words say so, beside the work tree and what the repository keeps.

use super::losses::{abbreviates, has_letter};
use crate::permission::shell::expansion::Scope;
use crate::permission::shell::options::{Arg, Order, Parsed, Spec};
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
        if !is_prefix && LONG.iter().any(|option| abbreviates(arg, option, 4)) {
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
    let operands = operands(name, words);
    let first = operands.first().and_then(|arg| arg.text.as_deref());
    let behind = |count: usize| operands.get(count..).unwrap_or_default();
    let meant: Vec<Arg> = match name {
        "worktree" => match first {
            Some("add") => behind(1).iter().take(1).cloned().collect(),
            Some("move" | "remove") => behind(1).to_vec(),
            Some("list" | "lock" | "unlock" | "prune" | "repair") => Vec::new(),
            _ => operands.clone(),
        },
        "bundle" => match first {
            Some("create") => behind(1).iter().take(1).cloned().collect(),
            Some("verify" | "list-heads" | "unbundle") => Vec::new(),
            _ => operands.clone(),
        },
        "clone" => match operands.as_slice() {
            [source] => named_after(source),
            all => all.get(1).cloned().into_iter().collect(),
        },
        "submodule" => match (first, behind(1)) {
            (Some("add"), [source]) => named_after(source),
            (Some("add"), [_, folder, ..]) => vec![folder.clone()],
            _ => Vec::new(),
        },
        "init" => operands.first().cloned().into_iter().collect(),
        "merge-file" => operands.first().cloned().into_iter().collect(),
        "mailinfo" => operands.iter().take(2).cloned().collect(),
        "pack-objects" | "svn" => operands.last().cloned().into_iter().collect(),
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
            !words.iter().any(elsewhere)
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

/// Words that are neither options nor their values.
fn operands(name: &str, words: &[Arg]) -> Vec<Arg> {
    const VALUED: Spec =
        Spec { short: "b:B:o:c:u:j:", long: &["reason=", "branch=", "depth=", "origin=", "reference=", "name="] };
    const BUNDLE: Spec = Spec { short: "", long: &["version="] };
    let spec = if name == "bundle" { BUNDLE } else { VALUED };
    let parsed: Parsed = spec.parse(words, Order::Mixed);
    parsed.operands
}

/// Without a folder of its own a copy has the name of its source.
fn named_after(source: &Arg) -> Vec<Arg> {
    let Some(text) = source.text.as_deref() else { return vec![source.opaque()] };
    let name = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default().trim_end_matches(".git");
    if name.is_empty() { Vec::new() } else { vec![Arg::literal(name, source.span.clone())] }
}
