//! `node --check`: syntax alone, nothing is run.

use std::path::Path;

use copydesk_engine::ports::{Diagnostic, DiagnosticSeverity};
use copydesk_workspace::path::AbsPath;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    CommonJs,
    Module,
}

impl Kind {
    pub(super) fn file_name(self) -> &'static str {
        match self {
            Self::CommonJs => "check.cjs",
            Self::Module => "check.mjs",
        }
    }
}

/// What the file may be, by its extension, else by `type` of the nearest `package.json`. Without either node reads a file by what is in it, so both
/// are tried; `--check` of such a file itself finds nothing in modules (seen in Node 20).
pub(super) fn kinds(path: &AbsPath) -> Vec<Kind> {
    match path.extension() {
        Some("mjs") => vec![Kind::Module],
        Some("cjs") => vec![Kind::CommonJs],
        _ => match package_type(path).as_deref() {
            Some("module") => vec![Kind::Module],
            Some("commonjs") => vec![Kind::CommonJs],
            _ => vec![Kind::CommonJs, Kind::Module],
        },
    }
}

/// The first syntax error, which is all that node tells:
///
/// ```text
/// /tmp/check.cjs:1
/// const a = ;
///           ^
///
/// SyntaxError: Unexpected token ';'
/// ```
///
/// `None` where the text is JSX, which node does not know.
pub(super) fn parse(output: &str, file: &Path) -> Option<Vec<Diagnostic>> {
    let prefix = format!("{}:", file.display());
    let mut lines = output.lines().skip_while(|line| !line.starts_with(&prefix));
    let number = lines.next().and_then(|line| line[prefix.len()..].parse().ok());
    let Some(line) = number else { return Some(Vec::new()) };
    let mark = lines.nth(1).unwrap_or_default();
    let column = mark.chars().position(|character| character == '^').map_or(1, |before| before + 1);
    let Some(error) = lines.find(|line| line.starts_with("SyntaxError: ")) else { return Some(Vec::new()) };
    let message = error["SyntaxError: ".len()..].to_owned();
    if message == "Unexpected token '<'" {
        return None;
    }
    let source = Some("node".to_owned());
    Some(vec![Diagnostic { line, column, severity: DiagnosticSeverity::Error, message, source }])
}

fn package_type(path: &AbsPath) -> Option<String> {
    #[derive(Deserialize)]
    struct Package {
        r#type: Option<String>,
    }
    let mut packages = path.as_path().ancestors().skip(1).map(|folder| folder.join("package.json"));
    let package = packages.find_map(|package| std::fs::read(package).ok())?;
    serde_json::from_slice::<Package>(&package).ok()?.r#type
}
