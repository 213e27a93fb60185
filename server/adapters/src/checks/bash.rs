//! `bash -n`: reads a script, runs nothing of it.

use std::ffi::OsString;
use std::path::Path;

use copydesk_engine::ports::{Diagnostic, DiagnosticSeverity};

/// False where the first line names another interpreter than bash or a POSIX shell.
pub(super) fn is_for_bash(text: &str) -> bool {
    let Some(interpreter) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else { return true };
    let mut words = interpreter.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let name = match words.next() {
        Some("env") => words.find(|word| !word.starts_with('-') && !word.contains('=')),
        name => name,
    };
    matches!(name, Some("bash" | "sh" | "dash" | "ash"))
}

pub(super) fn arguments() -> Vec<OsString> {
    ["--noprofile", "--norc", "-n"].into_iter().map(OsString::from).collect()
}

/// Lines such as `/tmp/check.sh: line 3: syntax error near unexpected token 'fi'`. A line behind it that repeats the text of the script is left out.
pub(super) fn parse(output: &str, file: &Path) -> Vec<Diagnostic> {
    let prefix = format!("{}: line ", file.display());
    let problem = |line: &str| {
        let (number, message) = line.strip_prefix(&prefix)?.split_once(": ")?;
        let severity =
            if message.starts_with("warning: ") { DiagnosticSeverity::Warning } else { DiagnosticSeverity::Error };
        (!message.starts_with('`')).then_some(Diagnostic {
            line: number.parse().ok()?,
            column: 1,
            severity,
            message: message.to_owned(),
            source: Some("bash".to_owned()),
        })
    };
    output.lines().filter_map(problem).collect()
}
