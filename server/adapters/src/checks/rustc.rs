//! rustc, for a file that stands alone. In a Cargo package nothing is checked: `cargo check` would run build scripts and macros of the project, and
//! rustc alone would not find what the file uses.

use std::ffi::OsString;
use std::path::Path;

use copydesk_engine::ports::{Diagnostic, DiagnosticSeverity};
use copydesk_workspace::path::AbsPath;
use serde::Deserialize;

/// A module or crate that is not found beside the copy: the file does not stand alone.
const NEEDS_OTHERS: [&str; 2] = ["E0463", "E0583"];

pub(super) fn in_cargo_package(path: &AbsPath) -> bool {
    path.as_path().ancestors().skip(1).any(|folder| folder.join("Cargo.toml").exists())
}

/// Metadata only: nothing is linked, and the result goes with the temporary folder that is the current one.
pub(super) fn arguments(text: &str) -> Vec<OsString> {
    let is_program = text.lines().any(|line| line.contains("fn main("));
    let crate_type = if is_program { "bin" } else { "lib" };
    // 2021: the newest edition that every compiler in use knows.
    ["--edition=2021", "--error-format=json", "--emit=metadata", "--crate-name=check", "-ocheck.rmeta", "--crate-type"]
        .into_iter()
        .chain([crate_type])
        .map(OsString::from)
        .collect()
}

/// One JSON value a line, see "JSON Output" in the rustc book. `None` where the file does not stand alone.
pub(super) fn parse(output: &str, file: &Path) -> Option<Vec<Diagnostic>> {
    let messages = output.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let mut problems = Vec::new();
    for message in messages {
        let severity = match message.level.as_str() {
            "warning" => DiagnosticSeverity::Warning,
            "note" | "help" | "failure-note" => continue,
            _ => DiagnosticSeverity::Error,
        };
        let code = message.code.as_ref().map(|code| code.code.as_str());
        if code.is_some_and(|code| NEEDS_OTHERS.contains(&code)) {
            return None;
        }
        // Without a place it sums up the others.
        let Some(span) = message.spans.iter().find(|span| span.is_primary) else { continue };
        let place = span.in_file(file).unwrap_or(span);
        let text = match &span.label {
            Some(label) if !label.is_empty() => format!("{}: {label}", message.message),
            _ => message.message,
        };
        problems.push(Diagnostic {
            line: place.line_start,
            column: place.column_start,
            severity,
            message: text,
            source: Some(code.map_or_else(|| "rustc".to_owned(), |code| format!("rustc {code}"))),
        });
    }
    Some(problems)
}

#[derive(Deserialize)]
struct Message {
    message: String,
    code: Option<Code>,
    level: String,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    is_primary: bool,
    line_start: usize,
    column_start: usize,
    label: Option<String>,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl Span {
    /// Of a problem inside a macro of another crate: the place where the file calls it.
    fn in_file(&self, file: &Path) -> Option<&Span> {
        let mut span = self;
        while Path::new(&span.file_name) != file {
            span = &span.expansion.as_ref()?.span;
        }
        Some(span)
    }
}
