//! `find`: what it runs on the files that it finds, and which it changes.

use super::command::Call;
use super::expansion::Scope;
use super::options::Arg;
use super::{FileAccess, FileUse, Place, following, programs};

#[derive(Default)]
pub(super) struct Found {
    /// Commands of `-exec` and its like; a word that holds `{}` is not known.
    pub(super) runs: Vec<Vec<Arg>>,
    pub(super) files: Vec<FileUse>,
    pub(super) unknown: Vec<&'static str>,
    pub(super) is_file_work: bool,
    pub(super) deletes: bool,
}

pub(super) fn read(call: &Call, scope: &Scope) -> Found {
    let words = call.words();
    let mut found = Found { is_file_work: !call.is_open, ..Found::default() };
    if call.is_open {
        found.unknown.push("words are added to `find` that could run anything");
    }
    let mut at = 0;
    while words.get(at).is_some_and(|arg| matches!(arg.text.as_deref(), Some("-H" | "-L" | "-P"))) {
        at += 1;
    }
    let begins_expression = |arg: &Arg| arg.text.as_deref().is_some_and(|text| text.starts_with(['-', '(', '!', ',']));
    let start = at;
    while words.get(at).is_some_and(|arg| !begins_expression(arg)) {
        at += 1;
    }
    let roots = &words[start..at];
    let mut access = FileAccess::Read;
    let mut lists_roots = false;
    while let Some(arg) = words.get(at) {
        at += 1;
        let Some(text) = arg.text.as_deref() else {
            found.unknown.push("a test of `find` that is computed");
            found.is_file_work = false;
            continue;
        };
        match text {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let end =
                    words[at..].iter().position(|arg| arg.text.as_deref() == Some(";") || ends_with_plus(arg, words));
                let Some(end) = end else {
                    found.unknown.push("a command of `find` without its end");
                    return found;
                };
                let run = &words[at..at + end];
                if run.is_empty() {
                    found.unknown.push("a command of `find` without its words");
                }
                let holds =
                    |arg: &Arg| arg.raw.contains("{}") || arg.text.as_deref().is_some_and(|text| text.contains("{}"));
                found.runs.push(run.iter().map(|arg| if holds(arg) { arg.opaque() } else { arg.clone() }).collect());
                at += end + 1;
            }
            "-delete" => {
                access = FileAccess::Write;
                found.deletes = true;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                match words.get(at) {
                    Some(file) => found.files.extend(programs::uses(file, "find", FileAccess::Write, scope)),
                    None => found.is_file_work = false,
                }
                at += if text == "-fprintf" { 2 } else { 1 };
            }
            "-newer" | "-anewer" | "-cnewer" | "-samefile" | "-files0-from" => {
                if let Some(file) = words.get(at) {
                    found.files.extend(programs::uses(file, "find", FileAccess::Read, scope));
                }
                lists_roots |= text == "-files0-from";
                at += 1;
            }
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex" | "-iregex"
            | "-lname" | "-ilname" | "-type" | "-xtype" | "-size" | "-mtime" | "-mmin" | "-atime" | "-amin"
            | "-ctime" | "-cmin" | "-maxdepth" | "-mindepth" | "-perm" | "-user" | "-group" | "-uid" | "-gid"
            | "-links" | "-inum" | "-fstype" | "-printf" | "-regextype" | "-newermt" | "-used" => {
                // A value that is not one literal word might be no word, or several.
                if words.get(at).is_none_or(|value| value.text.is_none()) {
                    found.unknown.push("a test of `find` that is computed");
                    found.is_file_work = false;
                }
                at += 1;
            }
            "-print"
            | "-print0"
            | "-ls"
            | "-prune"
            | "-quit"
            | "-depth"
            | "-d"
            | "-empty"
            | "-true"
            | "-false"
            | "-a"
            | "-and"
            | "-o"
            | "-or"
            | "-not"
            | "!"
            | "("
            | ")"
            | ","
            | "-xdev"
            | "-mount"
            | "-follow"
            | "-readable"
            | "-writable"
            | "-executable"
            | "-daystart"
            | "-noleaf"
            | "-nouser"
            | "-nogroup"
            | "-warn"
            | "-nowarn"
            | "-ignore_readdir_race" => {}
            _ => {
                found.unknown.push("a test of `find` that is not known");
                found.is_file_work = false;
            }
        }
    }
    if lists_roots {
        let place = Place::Unknown("the files that a list names".to_owned());
        found.files.push(FileUse::new(call.span.clone(), "find", access, place));
    } else if roots.is_empty() {
        found.files.extend(programs::here(&call.span, "find", access, scope));
    }
    for root in roots {
        if root.values.is_none() && root.may_be_option() {
            found.unknown.push("a word of `find` that is computed");
        }
        found.files.extend(programs::uses(root, "find", access, scope));
    }
    following::mark("find", call, &mut found.files);
    found.is_file_work &= found.files.iter().all(|used| !matches!(used.place, Place::Unknown(_)));
    found
}

/// `+` ends a command only directly behind `{}`; GNU takes any word for one that holds it, and runs nothing then.
fn ends_with_plus(arg: &Arg, words: &[Arg]) -> bool {
    let at = words.iter().position(|word| std::ptr::eq(word, arg)).unwrap_or_default();
    arg.text.as_deref() == Some("+")
        && at.checked_sub(1).is_some_and(|before| words[before].text.as_deref().is_none_or(|text| text.contains("{}")))
}
