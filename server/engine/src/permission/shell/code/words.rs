//! Words that are code by themselves, whatever option stands before them: scripts and commands of programs' own languages, settings that name a program.

use super::{ANY, BINUTILS};
use crate::permission::shell::options::Arg;
use crate::permission::shell::{letters, variables};

/// Why a word is code by itself.
pub(super) fn is_code(name: &str, at: usize, arg: &Arg, words: &[Arg]) -> Option<&'static str> {
    let text = arg.text.as_deref().unwrap_or(&arg.raw);
    let lower = text.to_ascii_lowercase();
    let holds = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
    let before = at.checked_sub(1).and_then(|before| words.get(before)?.text.as_deref()).unwrap_or_default();
    let is_code = match name {
        // In its oldest form options come without a dash.
        "tar" | "bsdtar" | "gtar" => at == 0 && !text.starts_with('-') && text.contains(['I', 'F']),
        "less" | "more" | "most" => {
            let calm = |rest: &str| {
                matches!(rest, "F" | "G" | "g")
                    || rest.bytes().all(|byte| byte.is_ascii_digit())
                    || rest.starts_with('/') && !rest.contains(['\n', '!', '|'])
            };
            text.strip_prefix('+').is_some_and(|rest| !calm(rest))
        }
        "vi" | "vim" | "nvim" | "view" | "gvim" | "vimdiff" | "rvim" => {
            text.strip_prefix('+').is_some_and(|rest| !rest.bytes().all(|byte| byte.is_ascii_digit()))
        }
        "openssl" => at == 0 && text == "engine",
        "npm" | "pnpm" | "yarn" => {
            const SETTINGS: [&str; 6] = ["git", "shell", "editor", "viewer", "browser", "yarnpath"];
            let sets = words.iter().any(|arg| matches!(arg.raw.as_str(), "set" | "config" | "c"));
            if sets && SETTINGS.contains(&lower.split('=').next().unwrap_or_default().replace("yarn-", "yarn").as_str())
            {
                return Some(ANY);
            }
            holds(&["script-shell", "node-options", "init-module", "onload-script"]) && !text.starts_with("--")
        }
        "make" | "gmake" => {
            if names_program(text) {
                return Some("a variable by which the build runs a program of the command's own choice");
            }
            arg.is_process || make_word(text, before)
        }
        "zip" => text.starts_with('-') && !text.starts_with("--") && text.contains("TT"),
        "jq" | "gojq" | "jaq" => imports(text),
        "rename" | "prename" | "file-rename" => !text.starts_with('-') && !only_renames(text),
        _ if BINUTILS.contains(&name) => text.starts_with('@'),
        "socat" => holds(&["exec:", "system:", "shell:"]),
        "go" => {
            words.first().is_some_and(|verb| verb.raw == "env") && matches!(text, "-w" | "--w")
                || holds(&["extld"])
                || lower.contains("ldflags") && arg.text.is_none()
        }
        "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++" | "ld" => {
            let is_other = text.starts_with("-fuse-ld=") && text.contains('/');
            text.starts_with('@') || is_other || holds(&["-plugin,"])
        }
        "curl" => text.starts_with("--expand-"),
        "aws" if at > 1 => before == "set" && words[0].raw == "configure" && !matches!(text, "region" | "output"),
        "cargo" => holds(&["linker="]),
        "hg" if words.first().is_some_and(|verb| verb.raw == "bisect") => text == "-c",
        "mvn" | "mvnw" => holds(&["exec.executable", "exec:exec"]),
        "cmake" => text.starts_with("-D") && names_builder(text),
        "gh" | "glab" if at == 1 && before == "alias" => matches!(text, "set" | "import"),
        "gh" if at > 1 && words[0].raw == "config" => matches!(text, "editor" | "pager" | "browser"),
        // Options for `git clone` itself.
        "gh" if words.get(1).is_some_and(|verb| matches!(verb.raw.as_str(), "clone" | "fork")) => passes_on(at, words),
        "yq" => holds(&["load(", "load_", "system("]),
        "rustc" => text.starts_with('@') || holds(&["linker=", "codegen-backend=", "fuse-ld=/", "fuse-ld=."]),
        "sqlite3" | "sqlite" => {
            let is_file = at < words.len() && !words[..at].iter().any(|arg| !arg.raw.starts_with('-'));
            !is_file && text.lines().any(|line| dot_command(line.trim_start()))
                || text.starts_with("-A")
                || holds(&["load_extension", "edit(", "readfile(", "writefile(", "attach"])
                || holds(&["vacuum"]) && holds(&["into"])
        }
        "psql" => text.contains('\\') || holds(&["program"]) || lower.starts_with("-f") || holds(&["--file"]),
        "mysql" | "mariadb" => {
            const COMMANDS: [&str; 8] =
                ["system ", "source ", "outfile", "dumpfile", "load data", "load xml", "tee ", "pager "];
            text.contains('\\') || holds(&COMMANDS)
        }
        "dc" => text.contains('!'),
        "m4" => holds(&["syscmd"]),
        _ => false,
    };
    is_code.then_some(ANY)
}

/// `CC=gcc`, `SHELL=x`.
fn names_program(setting: &str) -> bool {
    let Some((name, _)) = setting.split_once('=').filter(|_| !setting.starts_with('-')) else { return false };
    let name = name.trim_end_matches([':', '+', '?', '!']);
    variables::steers(name) && !name.ends_with("FLAGS") || name.contains("SHELL")
}

/// `-DCMAKE_C_COMPILER_LAUNCHER=x`, where it is none of the usual ones.
fn names_builder(setting: &str) -> bool {
    const USUAL: [&str; 11] =
        ["", "gcc", "g++", "cc", "c++", "clang", "clang++", "ccache", "sccache", "distcc", "mold"];
    let Some((name, value)) = setting.split_once('=') else { return false };
    let name = name.split(':').next().unwrap_or_default();
    ["COMPILER", "LAUNCHER", "LINKER", "PROGRAM", "COMMAND"].iter().any(|end| name.ends_with(end))
        && !USUAL.contains(&value)
}

/// Settings of a program that is built with, and build files from the input.
fn make_word(text: &str, before: &str) -> bool {
    let is_input = |file: &str| file == "-" || ["/dev/", "/proc/"].iter().any(|folder| file.starts_with(folder));
    let is_long = |option: &str| {
        option.len() > 2 && ["--file", "--makefile"].iter().any(|long| long.starts_with(option.trim_end_matches('=')))
    };
    let cluster = |option: &str| option.starts_with('-') && !option.starts_with("--");
    if is_input(text) && (is_long(before) || cluster(before) && before.ends_with('f')) {
        return true;
    }
    if let Some((letters, file)) = text.split_once('f').filter(|_| cluster(text)) {
        return is_input(file) && !letters.contains(|letter| letters::takes_value("make", letter));
    }
    match text.split_once('=') {
        Some((name, value)) if !text.starts_with('-') => {
            let name = name.trim_end_matches([':', '+', '?', '!']);
            name == "MAKEFLAGS"
                || text[..text.len() - value.len() - 1].ends_with('!')
                || value.contains(['`', '$', ';', '|', '&'])
        }
        Some((option, file)) => is_long(option) && is_input(file),
        None => false,
    }
}

/// A filter of jq that reads further files: `import "a" as $a;`.
fn imports(filter: &str) -> bool {
    ["import", "include"].iter().any(|word| {
        filter.match_indices(word).any(|(at, _)| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
            let behind = filter[at + word.len()..].trim_start();
            !filter[..at].ends_with(is_part) && behind.starts_with(['"', '#'])
        })
    })
}

/// A substitution of plain signs: any other expression is code in Perl.
fn only_renames(expression: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._- \\$^*+?|".contains(c);
    let flags = expression.rsplit('/').next().unwrap_or_default();
    match expression.strip_prefix("s/") {
        Some(_) => expression.chars().all(is_plain) && flags.chars().all(|c| matches!(c, 'g' | 'i')),
        None => expression.chars().all(|c| c.is_ascii_alphanumeric() || "/._- *?".contains(c)),
    }
}

/// A command of sqlite's own, of which a beginning will do. Others than these write, read or run something.
fn dot_command(line: &str) -> bool {
    const CALM: [&str; 26] = [
        "header",
        "bail",
        "changes",
        "databases",
        "dbinfo",
        "dump",
        "echo",
        "eqp",
        "exit",
        "explain",
        "fullschema",
        "headers",
        "help",
        "indexes",
        "indices",
        "limit",
        "mode",
        "nullvalue",
        "print",
        "quit",
        "schema",
        "separator",
        "show",
        "stats",
        "tables",
        "timer",
    ];
    let Some(command) = line.strip_prefix('.') else { return false };
    let name = command.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    !name.is_empty() && name != "width" && !CALM.contains(&name)
}

/// Behind `--`, but for options of `git clone` that say what is fetched.
fn passes_on(at: usize, words: &[Arg]) -> bool {
    const CALM: [&str; 11] = [
        "--depth",
        "--branch",
        "--single-branch",
        "--recurse-submodules",
        "--quiet",
        "--bare",
        "--mirror",
        "--no-tags",
        "--filter",
        "--no-checkout",
        "--shallow-since",
    ];
    let ends = words.iter().position(|arg| arg.text.as_deref() == Some("--"));
    let Some(arg) = words.get(at).filter(|_| ends.is_some_and(|ends| at > ends)) else { return false };
    let text = arg.text.as_deref().unwrap_or("-");
    let is_calm = CALM.contains(&text.split('=').next().unwrap_or_default()) || matches!(text, "-b" | "-q" | "-n");
    text.starts_with('-') && !is_calm || text.contains("::")
}
