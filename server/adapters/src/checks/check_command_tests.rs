#![expect(clippy::unwrap_used, reason = "a test may panic")]

use copydesk_engine::ports::DiagnosticSeverity;
use ropey::Rope;

use super::*;

/// A toolchain's first start on a busy machine takes its time.
const LONG: Duration = Duration::from_secs(60);

fn target(path: &Path, text: &str) -> DiagnosticsTarget {
    DiagnosticsTarget { path: AbsPath::new(path).unwrap(), open: None, text: Rope::from(text) }
}

/// Of a file that exists nowhere: what is checked is the text.
async fn report(path: &str, text: &str) -> DiagnosticsReport {
    let checks = CheckCommands::new(Variables::of_process());
    checks.of(target(&Path::new("/nonexistent/project").join(path), text), LONG).await
}

async fn check(path: &str, text: &str, expected: &[&str]) {
    let DiagnosticsReport::Ready(problems) = report(path, text).await else { panic!("{path}: {text}") };
    let lines: Vec<_> = problems.iter().map(in_one_line).collect();
    assert_eq!(lines, expected, "{path}: {text}");
}

fn in_one_line(problem: &Diagnostic) -> String {
    let severity = match problem.severity {
        DiagnosticSeverity::Error => "error",
        DiagnosticSeverity::Warning => "warning",
        DiagnosticSeverity::Information | DiagnosticSeverity::Hint => "other",
    };
    let source = problem.source.as_deref().unwrap_or_default();
    format!("{}:{} {severity}: {} ({source})", problem.line, problem.column, problem.message)
}

#[tokio::test]
async fn r17_1_rustc_checks_a_file_that_stands_alone() {
    check("a.rs", "pub fn one() -> u32 {\n    1\n}\n", &[]).await;
    check("a.rs", "fn main() {\n    println!(\"hi\");\n}\n", &[]).await;
    check(
        "a.rs",
        "fn main() {\n    let _é: u32 = \"text\";\n    let unused = 1;\n}\n",
        &["2:19 error: mismatched types: expected `u32`, found `&str` (rustc E0308)"],
    )
    .await;
    check(
        "a.rs",
        "fn main() {\n    let unused = 1;\n}\n",
        &["2:9 warning: unused variable: `unused` (rustc unused_variables)"],
    )
    .await;
    // The problem is found in the macro's own crate; its place is the call.
    let text = "struct A;\nfn main() {\n    assert_eq!(A, A);\n}\n";
    let DiagnosticsReport::Ready(problems) = report("a.rs", text).await else { panic!() };
    assert!(!problems.is_empty() && problems.iter().all(|problem| problem.line == 3), "{problems:?}");
}

#[tokio::test]
async fn r17_3_what_was_found_of_a_text_is_known_without_waiting() {
    let checks = CheckCommands::new(Variables::of_process());
    let broken = target(Path::new("/nonexistent/a.json"), "{");
    assert_eq!(checks.of(broken.clone(), Duration::ZERO).await, DiagnosticsReport::NotReady);
    let found = checks.of(broken.clone(), LONG).await;
    assert!(matches!(&found, DiagnosticsReport::Ready(problems) if problems.len() == 1), "{found:?}");
    assert_eq!(checks.of(broken, Duration::ZERO).await, found);
    let other = target(Path::new("/nonexistent/a.json"), "{}");
    assert_eq!(checks.of(other, Duration::ZERO).await, DiagnosticsReport::NotReady, "of another text nothing is known");
}

#[tokio::test]
async fn a_rust_file_that_needs_others_is_not_judged() {
    assert_eq!(report("a.rs", "mod other;\nfn main() { let x: u32 = \"\"; }\n").await, DiagnosticsReport::Unavailable);
    assert_eq!(report("a.rs", "extern crate serde;\n").await, DiagnosticsReport::Unavailable);

    let package = tempfile::tempdir().unwrap();
    std::fs::create_dir(package.path().join("src")).unwrap();
    let file = target(&package.path().join("src/a.rs"), "fn broken(");
    let checks = CheckCommands::new(Variables::of_process());
    assert!(matches!(checks.of(file.clone(), LONG).await, DiagnosticsReport::Ready(problems) if !problems.is_empty()));
    std::fs::write(package.path().join("Cargo.toml"), "").unwrap();
    assert_eq!(checks.of(file, LONG).await, DiagnosticsReport::Unavailable);
}

#[tokio::test]
async fn r17_1_node_checks_scripts_and_modules() {
    check("a.js", "const a = require('x');\nreturn a;\n", &[]).await;
    check("a.js", "import a from 'x';\nexport default await a;\n", &[]).await;
    check("a.cjs", "const é = ;\n", &["1:11 error: Unexpected token ';' (node)"]).await;
    check("a.mjs", "export const a = 1;\n\tlet b = (;\n", &["2:11 error: Unexpected token ';' (node)"]).await;
    check("a.js", "import a from 'x';\nconst b = (;\n", &["2:12 error: Unexpected token ';' (node)"]).await;
    check("a.js", "const a = 1;\nfunction f() {\n", &["3:1 error: Unexpected end of input (node)"]).await;
    assert_eq!(report("a.js", "const a = <div/>;\n").await, DiagnosticsReport::Unavailable);
}

#[tokio::test]
async fn the_package_says_what_a_script_is() {
    let package = tempfile::tempdir().unwrap();
    let checks = CheckCommands::new(Variables::of_process());
    let file = target(&package.path().join("src/a.js"), "import a from 'x';\n");
    for (manifest, clean) in [(r#"{"type": "commonjs"}"#, false), (r#"{"type": "module"}"#, true), ("{}", true)] {
        std::fs::write(package.path().join("package.json"), manifest).unwrap();
        let DiagnosticsReport::Ready(problems) = checks.of(file.clone(), LONG).await else { panic!("{manifest}") };
        assert_eq!(problems.is_empty(), clean, "{manifest}: {problems:?}");
    }
}

#[tokio::test]
async fn r17_1_python_is_compiled_and_not_run() {
    let temp = tempfile::tempdir().unwrap();
    let mark = temp.path().join("ran");
    check("a.py", &format!("# coding: latin-1\nopen({:?}, 'w')\nimport nothing\n", mark.display()), &[]).await;
    assert!(!mark.exists());
    check("a.py", "x = 1\nif x\n    pass\n", &["2:5 error: expected ':' (python)"]).await;
    let DiagnosticsReport::Ready(problems) = report("a.py", "x = 1\nx is 1\n").await else { panic!() };
    assert!(
        matches!(&problems[..], [Diagnostic { line: 2, severity: DiagnosticSeverity::Warning, .. }]),
        "{problems:?}"
    );
}

#[tokio::test]
async fn r17_1_bash_reads_and_does_not_run() {
    let temp = tempfile::tempdir().unwrap();
    let mark = temp.path().join("ran");
    check("a.sh", &format!("touch {0}\necho $(touch {0})\n", mark.display()), &[]).await;
    assert!(!mark.exists());
    check("a.bash", "if true; then\n  echo\nfi\n)\n", &["4:1 error: syntax error near unexpected token `)' (bash)"])
        .await;
    check("a.sh", "#!/usr/bin/env -S bash -e\n(\n", &["3:1 error: syntax error: unexpected end of file (bash)"]).await;
    assert_eq!(report("a.sh", "#!/usr/bin/env zsh\n(\n").await, DiagnosticsReport::Unavailable);
    assert_eq!(report("a.sh", "#!/bin/fish\nend\n").await, DiagnosticsReport::Unavailable);
}

#[tokio::test]
async fn r17_1_json_is_parsed_here() {
    check("a.json", "{\"a\": [1, 2]}\n", &[]).await;
    check("a.json", "{\n  \"é\": tru\n}\n", &["2:11 error: expected ident (json)"]).await;
    check("a.json", "{\"a\": 1,}", &["1:9 error: key must be a string (json)"]).await;
    check("a.json", "", &["1:1 error: EOF while parsing a value (json)"]).await;
    for name in ["tsconfig.json", "tsconfig.build.json", ".vscode/settings.json"] {
        assert_eq!(report(name, "{ // why\n}").await, DiagnosticsReport::Unavailable, "{name}");
    }
}

#[tokio::test]
async fn other_files_and_missing_programs_are_unavailable() {
    for name in ["a.txt", "Makefile", "a.rs.orig"] {
        assert_eq!(report(name, "(").await, DiagnosticsReport::Unavailable, "{name}");
    }
    let checks = CheckCommands::new([("PATH", "/nonexistent")].into_iter().collect());
    for name in ["a.rs", "a.js", "a.py", "a.sh"] {
        let target = target(&Path::new("/nonexistent").join(name), "(");
        assert_eq!(checks.of(target, LONG).await, DiagnosticsReport::Unavailable, "{name}");
    }
}

/// A folder with a program of that name.
fn fake(name: &str, script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(name);
    // By another process: a program cannot be started while a child forked meanwhile still holds it open for writing.
    let written = std::process::Command::new("bash")
        .args(["-c", "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"", "bash"])
        .arg(format!("#!/bin/bash\n{script}\n"))
        .arg(&program)
        .status();
    assert!(written.unwrap().success());
    folder
}

fn with_program_in(folder: &Path, variables: &[(&str, &str)]) -> CheckCommands {
    let path = format!("{}:/usr/bin:/bin", folder.display());
    CheckCommands::new([("PATH", path.as_str())].iter().chain(variables).copied().collect())
}

#[tokio::test]
async fn r17_2_a_check_that_takes_too_long_is_not_ready_and_killed() {
    let folder = fake("node", "echo $$ > \"$(dirname \"$0\")/pid\"; exec sleep 60");
    let checks = with_program_in(folder.path(), &[]);
    let start = std::time::Instant::now();
    let report = checks.of(target(Path::new("/nonexistent/a.cjs"), ""), Duration::from_secs(1)).await;
    assert_eq!(report, DiagnosticsReport::NotReady);
    assert!(start.elapsed() < Duration::from_secs(10));
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    let gone = async {
        let stat = format!("/proc/{}/stat", pid.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, gone).await.unwrap();
}

#[tokio::test]
async fn r19_3_checkers_see_no_key_and_load_no_code() {
    let folder = fake("node", "env > \"$(dirname \"$0\")/env\"");
    let checks = with_program_in(
        folder.path(),
        &[("ACME_API_KEY", "sk-secret"), ("NODE_OPTIONS", "--require=/x"), ("BASH_ENV", "/x"), ("HOME", "/home/x")],
    );
    checks.of(target(Path::new("/nonexistent/a.cjs"), ""), LONG).await;
    let seen = std::fs::read_to_string(folder.path().join("env")).unwrap();
    assert!(seen.contains("HOME=/home/x"), "{seen}");
    for hidden in ["ACME_API_KEY", "sk-secret", "NODE_OPTIONS", "BASH_ENV"] {
        assert!(!seen.contains(hidden), "{seen}");
    }
}

#[tokio::test]
async fn a_broken_toolchain_says_nothing_about_the_file() {
    for (name, file) in [("rustc", "a.rs"), ("node", "a.js"), ("python3", "a.py"), ("bash", "a.sh")] {
        let folder = fake(name, "echo 'error: no toolchain is installed' >&2; exit 1");
        let checks = with_program_in(folder.path(), &[]);
        let report = checks.of(target(&Path::new("/nonexistent").join(file), ""), LONG).await;
        assert_eq!(report, DiagnosticsReport::Unavailable, "{name}");
    }
}
