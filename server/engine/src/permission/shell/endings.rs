//! Files that are named after others, with an ending more or less: what is packed, and the copies that are kept of what is written over.

use super::expansion::{Expanded, Scope};
use super::options::Arg;
use super::programs::uses;
use super::syntax::Span;
use super::{FileAccess, FileUse, Place};

/// The file that is made of one: with an ending more, or one less.
pub(super) fn packed(name: &str, arg: &Arg, scope: &Scope) -> Vec<FileUse> {
    const ENDINGS: [&str; 11] = [".gz", ".bz2", ".bz", ".xz", ".lzma", ".zst", ".z", ".Z", "-gz", "-z", "_z"];
    const ARCHIVES: [&str; 7] = [".tgz", ".taz", ".tbz", ".tbz2", ".txz", ".tlz", ".tzst"];
    // What `bunzip2` makes of any other.
    const OTHERS: [&str; 6] = [".gz", ".bz2", ".xz", ".zst", ".z", ".out"];
    let Some(text) = arg.text.as_deref() else {
        return vec![FileUse::new(arg.span.clone(), name, FileAccess::Write, Place::Unknown(arg.raw.clone()))];
    };
    let stripped = ENDINGS.iter().filter_map(|ending| text.strip_suffix(ending)).map(str::to_owned);
    let archives = ARCHIVES.iter().filter_map(|ending| text.strip_suffix(ending)).map(|name| format!("{name}.tar"));
    let added = OTHERS.iter().map(|ending| format!("{text}{ending}"));
    let made: Vec<String> = stripped.chain(archives).chain(added).collect();
    made.iter()
        .flat_map(|made| {
            let values = Some(vec![Expanded::literal(made)]);
            uses(&Arg { text: Some(made.clone()), values, ..arg.clone() }, name, FileAccess::Write, scope)
        })
        .collect()
}

/// Copies of what is written over, by the names that `--suffix` gives them.
pub(super) fn kept_copies(name: &str, targets: &[&Arg], ending: Option<&Arg>, span: &Span) -> Vec<Arg> {
    // No file is more by such an ending than it was.
    const USUAL: [&str; 5] = [".bak", ".old", ".orig", ".save", "~"];
    let Some(ending) = ending.and_then(|ending| ending.text.as_deref()) else {
        return vec![Arg::literal(name, span.clone()).opaque()];
    };
    let mut found = Vec::new();
    for target in targets {
        let Some(text) = target.text.as_deref() else {
            found.push(target.opaque());
            continue;
        };
        // Of what a folder gets, each file at any depth may be kept so.
        let is_usual = USUAL.contains(&ending);
        let kept = Arg::literal(&format!("{text}{ending}"), target.span.clone());
        found.push(if is_usual { kept } else { kept.opaque() });
    }
    found
}
