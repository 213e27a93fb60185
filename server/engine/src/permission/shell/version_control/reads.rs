//! Files that options of git name, to be read or configured.

use super::losses::{abbreviates, has_letter};
use super::settings::only_asks;
use crate::permission::shell::FileAccess;
use crate::permission::shell::expansion::Scope;
use crate::permission::shell::options::Arg;
use crate::permission::shell::programs::{Judged, uses};

/// A beginning of a long option will do.
pub(super) fn by_options(name: &str, words: &[Arg], scope: &Scope, judged: &mut Judged) {
    const FILES: [&str; 9] = [
        "--file",
        "--template",
        "--pathspec-from-file",
        "--contents",
        "--exclude-from",
        "--ignore-revs-file",
        "--exclude-per-directory",
        "--from-file",
        "--no-index",
    ];
    let ends = words.iter().position(|arg| arg.text.as_deref() == Some("--")).unwrap_or(words.len());
    for (at, arg) in words[..ends].iter().enumerate() {
        let of_long = FILES.iter().any(|option| abbreviates(arg, option, 4));
        let of_short = match name {
            "commit" | "tag" | "notes" | "merge" | "commit-tree" => has_letter(arg, 'F') || has_letter(arg, 't'),
            "config" | "grep" => has_letter(arg, 'f'),
            "blame" | "annotate" => has_letter(arg, 'S'),
            "ls-files" | "clean" => has_letter(arg, 'X'),
            _ => false,
        };
        if !of_long && !of_short {
            continue;
        }
        let text = arg.text.as_deref().unwrap_or_default();
        let attached = match text.find('=') {
            Some(sign) if of_long => Some(arg.text_tail(sign + 1)),
            // `-f.env`, unless it stands in the value of another option: `-mFix`.
            _ if of_short => text
                .find(['F', 't', 'f', 'S', 'X', 'm', 'c', 'C', 'e', 'u', 'L', 'A', 'B'])
                .filter(|&at| at + 1 < text.len() && text[at..].starts_with(['F', 't', 'f', 'S', 'X']))
                .map(|at| arg.text_tail(at + 1)),
            _ => None,
        };
        let file = attached.or_else(|| words.get(at + 1).cloned());
        judged.files.extend(file.iter().flat_map(|file| uses(file, "git", FileAccess::Read, scope)));
        // What is configured is written too, unless it is only asked for.
        if name == "config" && !only_asks(words) {
            judged.files.extend(file.iter().flat_map(|file| uses(file, "git", FileAccess::Write, scope)));
        }
    }
}
