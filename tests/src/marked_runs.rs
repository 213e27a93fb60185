//! Runs bash texts in the sandbox with marker programs in the place of all others, and tells which of them ran with which words, and which files came to be.
//! What a marker prints is nothing, so that no text computes a command out of another's output.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use copydesk::wiring::SUPERVISE;
use copydesk_adapters::os::environment::Variables;
use copydesk_adapters::os::shell::OsShell;
use copydesk_engine::ports::{CommandEnd, Confinement, OutputSink, SandboxPolicy, Shell as _, ShellCommand};
use copydesk_workspace::path::AbsPath;
use tokio_util::sync::CancellationToken;

use crate::daemon::program;
use crate::shell_texts::PROGRAMS;

/// What texts did, with the folders in which they did it.
pub struct Runs {
    pub all: Vec<Ran>,
    _root: tempfile::TempDir,
}

/// What one text did.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Where it ran, and its home folder.
    pub folder: AbsPath,
    pub home: AbsPath,
    /// In the order in which they started.
    pub executed: Vec<Executed>,
    /// Files that were not there before.
    pub created: Vec<PathBuf>,
    pub errors: String,
}

/// A program that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    pub folder: PathBuf,
    /// Its name first.
    pub words: Vec<String>,
}

/// Real programs that texts may name.
const WRAPPERS: [&str; 11] =
    ["env", "nohup", "nice", "timeout", "stdbuf", "setsid", "xargs", "find", "bash", "sh", "sleep"];

/// One write, so that those of markers that run beside each other do not mix: bash writes at each line break.
const MARK: &str = r#"printf '%s\037' "$#" "$PWD" NAME WORDS >>"$MARKER_LOG""#;

/// What stands below a run's folder before it runs; `w` is where it runs.
const FOLDERS: [&str; 5] = ["w", "w/a", "w/a/b", "w/c", "home"];
const FILES: [&str; 6] = ["f", "w/f", "w/a/f", "w/a/b/f", "w/c/f", "home/f"];

/// Runs each of `texts` as `bash -c` would, one after the other. Waits for all that they leave behind.
pub async fn run(texts: &[&str]) -> Runs {
    let root = tempfile::tempdir().expect("a temporary folder");
    let base = root.path().canonicalize().expect("the folder stands");
    programs(&base.join("bin"));
    for number in 0..texts.len() {
        let run = base.join("runs").join(number.to_string());
        fs::create_dir_all(&run).expect("a folder for the run");
        for folder in FOLDERS {
            fs::create_dir(run.join(folder)).expect("its folders");
        }
        for file in FILES {
            fs::write(run.join(file), "").expect("its files");
        }
        symlink("a/b", run.join("w/l")).expect("its link");
    }
    let all: String = texts.iter().flat_map(|text| [text, "\0"]).collect();
    fs::write(base.join("texts"), all).expect("the texts");
    fs::write(base.join("driver"), driver(&base)).expect("the driver");
    drive(&base, texts).await;
    let all = (0..texts.len()).map(|number| ran(&base.join("runs").join(number.to_string()))).collect();
    Runs { all, _root: root }
}

fn programs(bin: &Path) {
    fs::create_dir_all(bin).expect("a folder for programs");
    for name in PROGRAMS {
        let script =
            format!("#!/bin/sh\n{}\nexit $(( $# % 2 ))\n", MARK.replace("NAME", name).replace("WORDS", "\"$@\""));
        fs::write(bin.join(name), script).expect("a marker");
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).expect("a marker that runs");
    }
    let path = std::env::var_os("PATH").expect("a PATH");
    for name in WRAPPERS {
        if let Some(real) = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()) {
            symlink(real, bin.join(name)).expect("a wrapper");
        }
    }
}

/// Markers that the shell itself calls are functions, which is much faster than programs. Whether one fails tells the number of its words, so that all ways
/// through a text are gone. All that a text leaves running holds the descriptor 9.
/// Some texts never end in bash 5.2, as one with a loop and a heredoc within `$(( … $(…) ))`, and of some what they leave behind: the limit is for both.
fn driver(base: &Path) -> String {
    let base = base.display();
    let mut driver = format!("export PATH={base}/bin\n");
    for name in PROGRAMS {
        let mark = MARK.replace("NAME", name).replace("WORDS", r#""${@//$'\n'/$'\036'}""#);
        driver.push_str(&format!("{name}() {{ builtin {mark}; return $(( $# % 2 )); }}\nexport -f {name}\n"));
    }
    driver.push_str(&format!(
        r#"n=0
while IFS= read -r -d '' text <&8; do
    run={base}/runs/$n
    cd "$run/w" || exit 7
    export MARKER_LOG=$run/log HOME=$run/home OLDPWD=$run/w/c
    timeout -s KILL 9 bash -c ': "$(exec 9>&1 >/dev/null; bash -c "$0" </dev/null 2>"$1")"' "$text" "$run/errors" 8<&-
    n=$((n + 1))
done 8<{base}/texts
"#
    ));
    driver
}

async fn drive(base: &Path, texts: &[&str]) {
    let path = |path: PathBuf| AbsPath::new(path).expect("an absolute path");
    let shell = OsShell::new(Variables::of_process(), vec![program().into(), SUPERVISE.into()]);
    let policy = SandboxPolicy {
        writable: vec![path(base.to_owned())],
        readable: Vec::new(),
        unreadable: Vec::new(),
        network: false,
        temp: path(base.join("temp")),
    };
    let confined = shell.sandbox().is_enforced();
    let command = ShellCommand {
        command: "bash ./driver".to_owned(),
        folder: path(base.to_owned()),
        timeout: Some(Duration::from_secs(120)),
        overflow: path(base.join("overflow")),
        hidden_vars: Vec::new(),
        passed_vars: Vec::new(),
        // Where the system has none: markers do no harm.
        confinement: if confined { Confinement::Sandbox(policy) } else { Confinement::None },
    };
    let outcome = shell.run(command, OutputSink::nowhere(), CancellationToken::new()).await.expect("bash runs");
    let ended = (0..texts.len()).take_while(|number| base.join(format!("runs/{number}/errors")).exists()).count();
    assert_eq!(outcome.end, CommandEnd::Exited(0), "at {:?}: {}", texts.get(ended.max(1) - 1), outcome.output.head);
    assert_eq!(ended, texts.len(), "not all texts ran");
}

fn ran(run: &Path) -> Ran {
    let path = |name: &str| AbsPath::new(run.join(name)).expect("an absolute path");
    let mut created = BTreeSet::new();
    files_below(run, &mut created);
    for known in FILES.iter().chain(&["log", "errors"]) {
        created.remove(&run.join(known));
    }
    let log = fs::read(run.join("log")).unwrap_or_default();
    let errors = fs::read(run.join("errors")).unwrap_or_default();
    Ran {
        folder: path("w"),
        home: path("home"),
        executed: executed(&String::from_utf8_lossy(&log)),
        created: created.into_iter().collect(),
        errors: String::from_utf8_lossy(&errors).into_owned(),
    }
}

fn files_below(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder stands").flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), found),
            Ok(kind) if kind.is_file() => {
                found.insert(entry.path());
            }
            _ => {}
        }
    }
}

fn executed(log: &str) -> Vec<Executed> {
    let mut fields = log.split_terminator('\u{1f}').map(|field| field.replace('\u{1e}', "\n"));
    let mut all = Vec::new();
    while let Some(count) = fields.next() {
        let count: usize = count.parse().expect("a count of words");
        let folder = fields.next().expect("a folder").into();
        all.push(Executed { folder, words: fields.by_ref().take(count + 1).collect() });
    }
    all
}
