//! What programs write that their options or endings name, what words may mean behind options that are not known, and which programs run a command of their
//! own words.

use super::command::Call;
use super::expansion::{Expanded, Scope};
use super::file_programs::{Operands, Program};
use super::options::Arg;
use super::programs::{at_home, uses};
use super::{FileAccess, FileUse, Place};

/// What programs write that their options name.
pub(super) fn outputs(by: &str, words: &[Arg], scope: &Scope) -> Vec<FileUse> {
    let options: &[&str] = match by {
        "curl" => {
            &["-o", "--output", "--output-dir", "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--stderr"]
        }
        "less" => &["-o", "-O", "--log-file", "--LOG-FILE"],
        "ssh" => &["-E"],
        "wget" => &["-O", "--output-document", "-o", "--output-file", "-a", "-P", "--directory-prefix"],
        "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++" | "ld" | "as" | "rustc" | "tsc" | "pandoc" => {
            &["-o", "--output"]
        }
        "unzip" => &["-d"],
        "tar" | "bsdtar" => &["-C", "--directory"],
        "patch" => &["-o", "--output", "-d", "--directory"],
        "openssl" => &["-out", "-keyout"],
        "gpg" => &["-o", "--output"],
        _ => &[],
    };
    let mut found = Vec::new();
    for (at, arg) in words.iter().enumerate() {
        let text = arg.text.as_deref().unwrap_or(&arg.raw);
        for option in options {
            let value = match text.strip_prefix(option) {
                Some("") => words.get(at + 1).cloned(),
                Some(rest) if option.starts_with("--") && rest.starts_with('=') => {
                    Some(arg.text_tail(option.len() + 1))
                }
                Some(_) if option.len() == 2 => Some(arg.text_tail(2)),
                _ => None,
            };
            found.extend(value.iter().flat_map(|value| uses(value, by, FileAccess::Write, scope)));
        }
    }
    // The last word is what they copy to; of a host, that is no file here.
    let target = words.last().filter(|arg| arg.text.as_deref().is_none_or(|text| !text.contains(':')));
    match by {
        "rsync" | "scp" => found.extend(target.iter().flat_map(|arg| uses(arg, by, FileAccess::Write, scope))),
        "patch" | "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" => {
            let named = words.iter().filter(|arg| !arg.raw.starts_with(['-', '+']));
            found.extend(named.flat_map(|arg| uses(arg, by, FileAccess::Write, scope)));
        }
        _ => {}
    }
    found
}

/// The file that is made of one: with an ending more, or one less.
pub(super) fn packed(name: &str, arg: &Arg, scope: &Scope) -> Vec<FileUse> {
    const ENDINGS: [&str; 5] = [".gz", ".bz2", ".xz", ".zst", ".z"];
    let Some(text) = arg.text.as_deref() else {
        return vec![FileUse {
            span: arg.span.clone(),
            by: name.to_owned(),
            access: FileAccess::Write,
            place: Place::Unknown(arg.raw.clone()),
        }];
    };
    let stripped = ENDINGS.iter().filter_map(|ending| text.strip_suffix(ending)).map(str::to_owned);
    let added = ENDINGS.iter().map(|ending| format!("{text}{ending}"));
    let made: Vec<String> = stripped.chain(added).collect();
    made.iter()
        .flat_map(|made| {
            let values = Some(vec![Expanded::literal(made)]);
            uses(&Arg { text: Some(made.clone()), values, ..arg.clone() }, name, FileAccess::Write, scope)
        })
        .collect()
}

/// Programs that are made to run a command of their words, where that was not found in them.
pub(super) fn runs_its_words(name: &str, call: &Call) -> bool {
    let words = call.words();
    let second = words.first().and_then(|arg| arg.text.as_deref()).unwrap_or_default();
    match name {
        "watch" | "parallel" | "flock" | "script" => !words.is_empty(),
        "npm" | "pnpm" | "yarn" | "bun" => matches!(second, "exec" | "x" | "dlx") && words.len() > 1,
        "uv" | "poetry" | "pipenv" | "pdm" | "hatch" => second == "run" && words.len() > 1,
        "rlwrap" | "watchexec" | "perf" | "start-stop-daemon" | "su" => !words.is_empty(),
        "tmux" | "screen" => {
            const LOOKING: [&str; 8] =
                ["", "ls", "list-sessions", "list-windows", "list-panes", "has-session", "capture-pane", "-ls"];
            !LOOKING.contains(&second)
        }
        "direnv" | "mise" | "asdf" => matches!(second, "exec" | "x"),
        _ => false,
    }
}

/// Any beginning of a long option is one too.
pub(super) fn is_strange(program: &Program, given: &str) -> bool {
    program.strange.iter().any(|strange| *strange == given || given.len() > 2 && strange.starts_with(given))
}

/// The word, or what stands behind its `=`, as a file.
pub(super) fn at_most(name: &str, program: &Program, arg: &Arg, scope: &Scope) -> Vec<FileUse> {
    if program.operands == Operands::None {
        return Vec::new();
    }
    let text = arg.text.as_deref().unwrap_or_default();
    let value = match text.find('=').filter(|_| text.starts_with('-')) {
        Some(sign) => at_home(arg.text_tail(sign + 1), scope),
        None if text.starts_with('-') => return Vec::new(),
        None => arg.clone(),
    };
    let mut files = uses(&value, name, FileAccess::Read, scope);
    if program.may_write() {
        files.extend(uses(&value, name, FileAccess::Write, scope));
    }
    files
}
