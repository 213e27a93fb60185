//! The `Diagnostics` port by check commands. The text that is asked about is checked, saved or not, in a temporary folder outside of the workspace.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use copydesk_engine::ports::{BoxFuture, Diagnostic, Diagnostics, DiagnosticsReport, DiagnosticsTarget};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{bash, json, node, python, rustc};
use crate::os::environment::Variables;

const CHECKS: &[(&[&str], Checker)] = &[
    (&["rs"], Checker::Rustc),
    (&["js", "mjs", "cjs"], Checker::Node),
    (&["py", "pyi"], Checker::Python),
    (&["sh", "bash"], Checker::Bash),
    (&["json"], Checker::Json),
];

/// All that a checker sees of our environment: where programs and their toolchains are found. No key is among them (R19.3), and nothing by which
/// a program loads further code (`NODE_OPTIONS`, `BASH_ENV`, …).
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VOLTA_HOME",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
];

#[derive(Clone, Copy)]
enum Checker {
    Rustc,
    Node,
    Python,
    Bash,
    Json,
}

pub struct CheckCommands {
    variables: Variables,
    /// The newest last; what is known of a text without running anything.
    known: Mutex<VecDeque<Known>>,
}

struct Known {
    path: AbsPath,
    text: ContentHash,
    problems: Vec<Diagnostic>,
}

/// Texts whose problems are kept: those that a turn or two went over.
const KEPT: usize = 64;

impl CheckCommands {
    pub fn new(variables: Variables) -> Self {
        Self { variables, known: Mutex::default() }
    }

    fn known(&self, path: &AbsPath, text: ContentHash) -> Option<Vec<Diagnostic>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().rev().find(|known| known.text == text && known.path == *path).map(|known| known.problems.clone())
    }

    fn keep(&self, path: AbsPath, text: ContentHash, problems: &[Diagnostic]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.text != text || known.path != path);
        if known.len() == KEPT {
            known.pop_front();
        }
        known.push_back(Known { path, text, problems: problems.to_vec() });
    }

    /// `None`: nobody here can judge this file.
    async fn check(&self, checker: Checker, path: AbsPath, text: String) -> Option<Vec<Diagnostic>> {
        match checker {
            Checker::Rustc => {
                let in_package = blocking(move || rustc::in_cargo_package(&path)).await?;
                if in_package {
                    return None;
                }
                let ran = self.run("rustc", "check.rs", &text, rustc::arguments(&text)).await?;
                ran.judge(&text, rustc::parse(&ran.stderr, &ran.file)?)
            }
            Checker::Node => {
                let kinds = blocking(move || node::kinds(&path)).await?;
                let mut problems = Vec::new();
                for kind in kinds {
                    let ran = self.run("node", kind.file_name(), &text, vec!["--check".into()]).await?;
                    let found = ran.judge(&text, node::parse(&ran.stderr, &ran.file)?)?;
                    if found.is_empty() {
                        return Some(found);
                    }
                    problems.extend(found);
                }
                // The reading that got furthest is the one that was meant.
                problems.into_iter().max_by_key(|problem| (problem.line, problem.column)).map(|furthest| vec![furthest])
            }
            Checker::Python => {
                let ran = self.run("python3", "check.py", &text, python::arguments()).await?;
                ran.judge(&text, python::parse(&ran.stdout)?)
            }
            Checker::Bash => {
                if !bash::is_for_bash(&text) {
                    return None;
                }
                let ran = self.run("bash", "check.sh", &text, bash::arguments()).await?;
                ran.judge(&text, bash::parse(&ran.stderr, &ran.file))
            }
            Checker::Json => blocking(move || json::check(&path, &text)).await?,
        }
    }

    /// `None` where the program is missing or cannot be started. Killed when this is dropped.
    async fn run(&self, program: &str, file_name: &'static str, text: &str, arguments: Vec<OsString>) -> Option<Ran> {
        let program = self.variables.find_program(program)?;
        let text = text.to_owned();
        let folder = blocking(move || write_alone(file_name, &text)).await?;
        let folder = folder.inspect_err(|error| tracing::warn!(%error, "no temporary file for a check")).ok()?;
        let file = folder.path().join(file_name);
        let output = Command::new(&program)
            .args(arguments)
            .arg(&file)
            .current_dir(folder.path())
            .env_clear()
            .envs(INHERITED.iter().filter_map(|name| Some((name, self.variables.get(name)?))))
            // Messages are parsed.
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .output()
            .await
            .inspect_err(|error| tracing::warn!(program = %program.display(), %error, "a check could not be started"))
            .ok()?;
        Some(Ran {
            file,
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

impl Diagnostics for CheckCommands {
    fn of(&self, target: DiagnosticsTarget, wait: Duration) -> BoxFuture<'_, DiagnosticsReport> {
        Box::pin(async move {
            let Some(checker) = checker_of(&target.path) else { return DiagnosticsReport::Unavailable };
            let hash = ContentHash::of_rope(&target.text);
            if wait.is_zero() {
                let known = self.known(&target.path, hash);
                return known.map_or(DiagnosticsReport::NotReady, DiagnosticsReport::Ready);
            }
            match timeout(wait, self.check(checker, target.path.clone(), target.text.to_string())).await {
                Ok(Some(problems)) => {
                    self.keep(target.path, hash, &problems);
                    DiagnosticsReport::Ready(problems)
                }
                Ok(None) => DiagnosticsReport::Unavailable,
                Err(_) => DiagnosticsReport::NotReady,
            }
        })
    }
}

struct Ran {
    /// The temporary file, as the program names it.
    file: PathBuf,
    success: bool,
    stdout: String,
    stderr: String,
}

impl Ran {
    /// In order of place. `None` where the program failed without a problem that explains it: a broken toolchain says nothing about the file.
    fn judge(&self, text: &str, mut problems: Vec<Diagnostic>) -> Option<Vec<Diagnostic>> {
        if !self.success && problems.is_empty() {
            return None;
        }
        for problem in &mut problems {
            let line = text.lines().nth(problem.line.saturating_sub(1)).unwrap_or_default();
            problem.column = problem.column.clamp(1, line.chars().count() + 1);
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Some(problems)
    }
}

fn checker_of(path: &AbsPath) -> Option<Checker> {
    let extension = path.extension()?;
    CHECKS.iter().find(|(extensions, _)| extensions.contains(&extension)).map(|(_, checker)| *checker)
}

fn write_alone(file_name: &str, text: &str) -> io::Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("copydesk-check-").tempdir()?;
    std::fs::write(Path::join(folder.path(), file_name), text)?;
    Ok(folder)
}

/// `None` after a panic, which its thread has logged: it costs this check.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    spawn_blocking(work).await.ok()
}

#[cfg(test)]
#[path = "check_command_tests.rs"]
mod tests;
