//! The beginning of a JSON object as far as it can be told, for titles of calls whose arguments still stream. Never used to run anything.

use serde_json::{Value, json};

/// `{}` where nothing can be told yet. A string that is cut is taken as far as it goes.
pub(super) fn parse(text: &str) -> Value {
    let mut closers = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    // Where the text can be cut, before a key or a value that is not whole.
    let mut safe = (0, Vec::new());
    for (index, c) in text.char_indices() {
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => in_string = true,
            '{' | '[' => {
                closers.push(if c == '{' { '}' } else { ']' });
                safe = (index + 1, closers.clone());
            }
            '}' | ']' => {
                closers.pop();
                safe = (index + 1, closers.clone());
            }
            ',' => safe = (index, closers.clone()),
            _ => {}
        }
    }
    let whole = if in_string {
        let text = if escaped { &text[..text.len() - 1] } else { text };
        closed(&format!("{text}\""), &closers)
    } else {
        closed(text, &closers)
    };
    let object = |value: Value| value.is_object().then_some(value);
    whole.and_then(object).or_else(|| closed(&text[..safe.0], &safe.1).and_then(object)).unwrap_or_else(|| json!({}))
}

fn closed(text: &str, closers: &[char]) -> Option<Value> {
    let text: String = text.chars().chain(closers.iter().rev().copied()).collect();
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_gives_what_can_be_told() {
        let text = r#"{"path": "a\"b", "n": 12, "list": [{"x": "yz"}]}"#;
        for end in 0..=text.len() {
            assert!(parse(&text[..end]).is_object());
        }
        let check = |beginning: &str, expected: Value| assert_eq!(parse(beginning), expected, "{beginning}");
        check("", json!({}));
        check("[1", json!({}));
        check(r#"{"pa"#, json!({}));
        check(r#"{"path": "a\"#, json!({"path": "a"}));
        check(r#"{"path": "a", "con"#, json!({"path": "a"}));
        check(r#"{"path": "a", "content":"#, json!({"path": "a"}));
        check(r#"{"path": "a", "list": [{"x": "y"#, json!({"path": "a", "list": [{"x": "y"}]}));
        check(text, json!({"path": "a\"b", "n": 12, "list": [{"x": "yz"}]}));
    }
}
