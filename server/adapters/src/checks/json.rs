//! JSON, in our own process.

use copydesk_engine::ports::{Diagnostic, DiagnosticSeverity};
use copydesk_workspace::path::AbsPath;
use serde::de::IgnoredAny;

/// Files and folders whose programs allow comments and trailing commas in `.json`.
const WITH_COMMENTS: [&str; 8] =
    ["tsconfig", "jsconfig", ".eslintrc", "devcontainer", "api-extractor", "opencode", "deno", "copydesk"];
const FOLDERS_WITH_COMMENTS: [&str; 4] = [".vscode", ".devcontainer", ".zed", ".opencode"];

/// At most one problem. `None` where the file may hold more than JSON.
pub(super) fn check(path: &AbsPath, text: &str) -> Option<Vec<Diagnostic>> {
    let stem = path.name();
    let with_comments = WITH_COMMENTS.iter().any(|name| {
        // `tsconfig.json` and `tsconfig.build.json`, not `tsconfigs.json`.
        stem.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
    });
    let folder = path.parent().map(|folder| folder.name()).unwrap_or_default();
    if with_comments || FOLDERS_WITH_COMMENTS.contains(&folder.as_str()) {
        return None;
    }
    let Err(error) = serde_json::from_str::<IgnoredAny>(text) else { return Some(Vec::new()) };
    let lines: Vec<_> = text.split('\n').map(str::as_bytes).collect();
    // Column 0 is the line's end before; serde_json counts bytes, from one.
    let (line, bytes_before) = match (error.line(), error.column()) {
        (line @ 2.., 0) => (line - 1, usize::MAX),
        (line, column) => (line.max(1), column.saturating_sub(1)),
    };
    let bytes = lines.get(line - 1).copied().unwrap_or_default();
    let before = &bytes[..bytes_before.min(bytes.len())];
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    Some(vec![Diagnostic {
        line,
        column: String::from_utf8_lossy(before).chars().count() + 1,
        severity: DiagnosticSeverity::Error,
        message: text.strip_suffix(&place).unwrap_or(&text).to_owned(),
        source: Some("json".to_owned()),
    }])
}
