//! The commands that are said to change nothing (`engine::permission::shell::proven`): each of their options is run, in a folder that they could change, and what
//! the folder holds is compared. Where `strace` works, what they open, run and connect to is looked at as well. Linux only, whose programs the list names.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use copydesk_engine::permission::shell::proven::{FIND_TESTS, READ_ONLY, ReadOnly, Words};
use copydesk_engine::permission::shell::{Surroundings, analyse};
use copydesk_workspace::path::AbsPath;

fn reads_only(text: &str) -> bool {
    let (folder, home) = (AbsPath::new("/w").unwrap(), AbsPath::new("/home/u").unwrap());
    let analysis = analyse(text, Surroundings { folder: &folder, home: &home });
    analysis.unknown.is_empty() && analysis.commands.iter().all(|command| command.effect.reads_only)
}

/// Operands with which a program does its work.
fn operands(program: &str) -> &'static str {
    match program {
        "cd" => "sub",
        "cmp" | "comm" | "diff" | "paste" => "one two",
        "date" | "nproc" | "uname" | "whoami" | "id" => "",
        "grep" => "line one sub/three",
        "tr" => "a b",
        "type" => "ls",
        "find" => "sub",
        "true" | "false" | ":" => "-n -e --help a",
        "readlink" => "link",
        _ => "one",
    }
}

fn value(program: &str, option: &str) -> &'static str {
    match (program, option) {
        ("cut", "d" | "delimiter" | "output-delimiter") => "x",
        ("date", "d" | "date") => "yesterday",
        ("grep", "f") => "one",
        ("ls", "sort") => "size",
        ("ls", "time") => "atime",
        ("ls", "time-style") => "iso",
        ("nl", "b" | "f" | "h") => "a",
        ("nl", "n") => "ln",
        ("od", "A") => "x",
        ("od", "t") => "x1",
        ("sort", "t" | "field-separator") => ",",
        ("stat", "c" | "format" | "printf") => "%s",
        ("realpath", "relative-to" | "relative-base") => ".",
        _ => "1",
    }
}

/// Each option by itself, and the command without any.
fn forms(proven: &ReadOnly) -> Vec<String> {
    let ReadOnly { program, short, long, words } = *proven;
    let operands = operands(program);
    let mut forms = vec![format!("{program} {operands}")];
    if words == Words::Format {
        forms.push(format!("{program} -u +%F"));
    }
    if words == Words::Tests {
        forms.extend(FIND_TESTS.iter().filter_map(|(test, count)| find_form(test, *count)));
    }
    let bytes: Vec<char> = short.chars().collect();
    for (at, &letter) in bytes.iter().enumerate().filter(|(_, letter)| **letter != ':') {
        let takes = bytes.get(at + 1) == Some(&':') && bytes.get(at + 2) != Some(&':');
        let option = match letter {
            '#' => "-5".to_owned(),
            _ if takes => format!("-{letter} {}", value(program, &letter.to_string())),
            _ => format!("-{letter}"),
        };
        forms.push(format!("{program} {option} {operands}"));
    }
    for long in long {
        let name = long.trim_end_matches(['=', '?']);
        let value = if long.ends_with('=') { format!("={}", value(program, name)) } else { String::new() };
        forms.push(format!("{program} --{name}{value} {operands}"));
    }
    forms
}

fn find_form(test: &str, count: usize) -> Option<String> {
    let value = match test {
        "!" | "-not" => {
            return Some(format!("find sub \\{} -name one", test.trim_start_matches('\\')).replace("\\-", "-"));
        }
        "(" | ")" => return Some("find sub \\( -name one \\)".to_owned()),
        "-a" | "-o" => return Some(format!("find sub -name one {test} -name two")),
        "-type" => "f",
        "-newer" => "one",
        "-printf" => "'%p\\n'",
        "-perm" | "-size" | "-mtime" | "-mmin" | "-maxdepth" | "-mindepth" => "1",
        _ => "'*'",
    };
    Some(if count == 0 { format!("find sub {test}") } else { format!("find sub {test} {value}") })
}

/// A folder with names that could be taken for options, programs of the names of real ones, and a repository that would run things.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir_all(path.join("sub/.git")).unwrap();
    for (name, text) in [
        ("one", "line 1\nline 2\n"),
        ("two", "line 1\nline 3\n"),
        ("sub/three", "line\n"),
        ("-rf", ""),
        ("--output=stolen", ""),
        ("sub/.git/config", "[core]\n\tfsmonitor = touch stolen\n\tpager = touch stolen\n"),
        ("ls", "#!/bin/sh\ntouch stolen\n"),
    ] {
        fs::write(path.join(name), text).unwrap();
    }
    fs::set_permissions(path.join("ls"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("one", path.join("link")).unwrap();
    folder
}

/// Everything below `folder`: kind, mode, time of the last change, and content.
fn held(folder: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let data = path.symlink_metadata().unwrap();
        let content = if data.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        all.insert(path.clone(), (data.mode(), data.ctime(), data.ctime_nsec(), content));
        if data.is_dir() {
            all.extend(held(&path));
        }
    }
    all
}

/// Containers may forbid it. Then less is proven, which is said.
fn traced() -> bool {
    let probe = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).stdin(Stdio::null()).output();
    let why = match probe {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    let text = format!(
        "WARNING: strace does not work here, so nothing looks at what read-only commands open, run and connect to: {why}\n"
    );
    // Not by the macro, which is kept back where a test succeeds.
    std::io::stderr().write_all(text.as_bytes()).unwrap();
    false
}

fn run(script: &str, folder: &Path, trace: Option<&Path>) -> Output {
    let mut command = match trace {
        Some(trace) => {
            let mut strace = Command::new("strace");
            strace.args(["-f", "-qq", "-s", "512", "-e", "trace=%file,%network,%process", "-o"]).arg(trace).arg("bash");
            strace
        }
        None => Command::new("bash"),
    };
    command.args(["-c", script]).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// Calls by which something is changed, run or reached, but for what every program does to start.
fn suspicious(trace: &str, program: &str) -> Vec<String> {
    const CHANGES: [&str; 20] = [
        "mkdir",
        "rmdir",
        "unlink",
        "rename",
        "link(",
        "linkat",
        "symlink",
        "chmod",
        "fchmod",
        "chown",
        "lchown",
        "truncate",
        "utime",
        "mknod",
        "mount",
        "setxattr",
        "lsetxattr",
        "creat(",
        "bind(",
        "sendto",
    ];
    let is_suspicious = |line: &&str| {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let operand = call.split('"').nth(1).unwrap_or_default();
        if call.starts_with("execve") {
            let name = operand.rsplit('/').next().unwrap_or_default();
            return name != "bash" && name != program;
        }
        if call.starts_with("open") {
            let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| call.contains(flag));
            return writes && !matches!(operand, "/dev/null" | "/dev/tty");
        }
        let remote = call.starts_with("socket(") && !call.starts_with("socket(AF_UNIX");
        remote || CHANGES.iter().any(|change| call.starts_with(change))
    };
    trace.lines().filter(is_suspicious).map(str::to_owned).collect()
}

#[test]
fn r8_1_read_only_commands_change_reach_and_run_nothing() {
    let traced = traced();
    for proven in READ_ONLY {
        let folder = folder();
        let before = held(folder.path());
        let forms = forms(proven);
        for form in &forms {
            assert!(reads_only(form), "not read-only: {form}");
        }
        // Each in a shell of its own, so that `cd` leads no other astray.
        let script: String = forms.iter().map(|form| format!("({form}); [ $? -lt 126 ] || exit 9\n")).collect();
        let traces = tempfile::tempdir().unwrap();
        let trace = traces.path().join("trace");
        let output = run(&script, folder.path(), traced.then_some(trace.as_path()));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(9), "{}: {errors}", proven.program);
        for unknown in ["invalid option", "unrecognized option", "unknown predicate", "requires an argument"] {
            // A builtin of this name says so, where it was not meant to be run.
            assert!(!errors.contains(unknown), "{}: {errors}", proven.program);
        }
        assert_eq!(held(folder.path()), before, "{} has changed something", proven.program);
        if traced {
            let suspicious = suspicious(&fs::read_to_string(&trace).unwrap(), proven.program);
            assert!(suspicious.is_empty(), "{}: {suspicious:#?}", proven.program);
        }
    }
}

/// The check itself sees what is wrong.
#[test]
fn r8_1_a_command_that_changes_or_runs_something_is_found_out() {
    let folder = folder();
    let before = held(folder.path());
    run("sort one -o two", folder.path(), None);
    assert_ne!(held(folder.path()), before);
    let line = |call: &str| suspicious(&format!("12 {call}"), "sort").len();
    assert_eq!(line("execve(\"/usr/bin/sort\", [\"sort\"], 0x1 /* 1 var */) = 0"), 0);
    assert_eq!(line("execve(\"/usr/bin/gzip\", [\"gzip\"], 0x1 /* 1 var */) = 0"), 1);
    assert_eq!(line("openat(AT_FDCWD, \"one\", O_RDONLY|O_CLOEXEC) = 3"), 0);
    assert_eq!(line("openat(AT_FDCWD, \"two\", O_WRONLY|O_CREAT, 0666) = 3"), 1);
    assert_eq!(line("unlinkat(AT_FDCWD, \"two\", 0) = 0"), 1);
    assert_eq!(line("socket(AF_INET, SOCK_STREAM, 0) = 3"), 1);
}

#[test]
fn r8_1_forms_that_are_not_proven_are_not_read_only() {
    for text in [
        "date -s tomorrow",
        "date 01010000",
        "date --set=x",
        "date $x",
        "sort -o two one",
        "sort one -otwo",
        "sort --output=two one",
        "sort --outp=two one",
        "sort --compress-program=sh one",
        "sort $x",
        "uniq one two",
        "uniq o* ",
        "uniq {one,two}",
        "find . -delete",
        "find . -name x -delete",
        "find . -exec cat {} \\;",
        "find . -fprint x",
        "find . $x",
        "find $x",
        "find . -name $x -print",
        "tail -f one",
        "cat * -x",
        "diff -l one two",
        "grep --file=x y",
        "git log",
        "git status",
        "ls | xargs cat",
        "./ls",
        "sub/ls",
        "sudo ls",
        "bash -c",
        "sh one",
        "printf -v x y",
        "cat \"$x\"",
        "hostname x",
        "command rm x",
        "PATH=. ls",
        "tee x",
        "sed p one",
    ] {
        assert!(!reads_only(text), "{text}");
    }
    for text in ["ls; tac one | head -n 3 && false", "(cd sub && ls -la)", "tac one | wc -l", "grep -rn x . | sort -u"]
    {
        assert!(reads_only(text), "{text}");
    }
}
