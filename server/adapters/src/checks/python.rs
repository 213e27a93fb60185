//! Python's own compiler, asked to compile and nothing else: no module is imported, no `.pyc` written.

use std::ffi::OsString;

use copydesk_engine::ports::{Diagnostic, DiagnosticSeverity};
use serde::Deserialize;

/// The text is passed as characters, so that a coding line in it says nothing.
const SCRIPT: &str = r#"
import json, sys, warnings
found = []
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    try:
        with open(sys.argv[1], encoding="utf-8", newline="") as file:
            compile(file.read(), "check", "exec", dont_inherit=True)
    except SyntaxError as error:
        found.append({"line": error.lineno or 1, "column": error.offset or 1, "message": error.msg, "error": True})
    except (ValueError, RecursionError, MemoryError) as error:
        found.append({"line": 1, "column": 1, "message": str(error), "error": True})
for warning in warned:
    found.append({"line": warning.lineno, "column": 1, "message": str(warning.message), "error": False})
print(json.dumps(found))
"#;

pub(super) fn arguments() -> Vec<OsString> {
    // Isolated, and without the site's start-up files.
    ["-I", "-S", "-c", SCRIPT].into_iter().map(OsString::from).collect()
}

/// `None` where the script itself could not run.
pub(super) fn parse(output: &str) -> Option<Vec<Diagnostic>> {
    #[derive(Deserialize)]
    struct Found {
        line: usize,
        column: i64,
        message: String,
        error: bool,
    }
    let found: Vec<Found> = serde_json::from_str(output).ok()?;
    let problem = |found: Found| Diagnostic {
        line: found.line.max(1),
        // Some errors have a column of -1 or 0.
        column: usize::try_from(found.column).unwrap_or(1).max(1),
        severity: if found.error { DiagnosticSeverity::Error } else { DiagnosticSeverity::Warning },
        message: found.message,
        source: Some("python".to_owned()),
    };
    Some(found.into_iter().map(problem).collect())
}
