//! One diagnostic of LSP to the engine's, whoever sent it.

use copydesk_engine::ports::{Diagnostic, DiagnosticSeverity};
use copydesk_workspace::position::{Position, PositionEncoding, offset_of};
use ropey::Rope;
use serde::Deserialize;
use serde_json::Value;

/// `None` for what is no diagnostic. Places are clamped to `text`, the text that it speaks of.
pub fn from_lsp(value: Value, text: &Rope, encoding: PositionEncoding) -> Option<Diagnostic> {
    let LspDiagnostic { range, severity, code, source, message } = serde_json::from_value(value).ok()?;
    let start = Position { line: range.start.line, column: range.start.character };
    let at = text.byte_to_char(offset_of(text, start, encoding));
    let line = text.char_to_line(at);
    let code = match code {
        Value::String(code) => Some(code),
        Value::Number(code) => Some(code.to_string()),
        _ => None,
    };
    let source: Vec<String> = [source, code].into_iter().flatten().collect();
    Some(Diagnostic {
        line: line + 1,
        column: at - text.line_to_char(line) + 1,
        severity: match severity {
            Some(2) => DiagnosticSeverity::Warning,
            Some(3) => DiagnosticSeverity::Information,
            Some(4) => DiagnosticSeverity::Hint,
            _ => DiagnosticSeverity::Error,
        },
        message,
        source: (!source.is_empty()).then(|| source.join(" ")),
    })
}

#[derive(Deserialize)]
struct LspDiagnostic {
    range: Range,
    severity: Option<u32>,
    #[serde(default)]
    code: Value,
    source: Option<String>,
    message: String,
}

#[derive(Deserialize)]
struct Range {
    start: LspPosition,
}

#[derive(Deserialize)]
struct LspPosition {
    line: u32,
    character: u32,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_counted_in_characters_whatever_the_server_counts() {
        let text = Rope::from("ok\n\u{1f600}é x\n");
        let check = |encoding, character, column| {
            let range = json!({"start": {"line": 1, "character": character}, "end": {"line": 1, "character": 99}});
            let value = json!({"range": range, "message": "m", "severity": 2, "code": 7, "source": "s"});
            let found = from_lsp(value, &text, encoding).unwrap();
            assert_eq!((found.line, found.column), (2, column), "{encoding:?}");
            assert_eq!((found.severity, found.source.as_deref()), (DiagnosticSeverity::Warning, Some("s 7")));
        };
        check(PositionEncoding::Utf8, 7, 4);
        check(PositionEncoding::Utf16, 4, 4);
        check(PositionEncoding::Utf32, 3, 4);
        check(PositionEncoding::Utf32, 1000, 5);
        assert_eq!(from_lsp(json!({"message": "no range"}), &text, PositionEncoding::Utf8), None);
    }
}
