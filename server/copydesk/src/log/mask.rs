//! Keys out of a line of text: the known ones by their values, others by what stands before them. Pure.

const MASK: &str = "[hidden]";

/// What stands before a secret, in lower case, and behind it a quote, `:` or `=`.
const NAMES: [&str; 7] = ["authorization", "api-key", "api_key", "apikey", "access_token", "refresh_token", "password"];

/// Schemes of the header `Authorization`: the secret is what follows.
const SCHEMES: [&str; 2] = ["bearer ", "basic "];

/// How keys of several providers begin.
const PREFIX: &str = "sk-";

/// What follows is a key from so many characters on.
const MIN_KEY: usize = 8;

pub(super) fn mask(text: &str, known: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in known {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), MASK);
        }
    }
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let start = secret_at(&lower, at);
        let len = start.map_or(0, |start| run(&text[start..]));
        match start.filter(|_| len > 0) {
            Some(start) => {
                out.push_str(&text[at..start]);
                out.push_str(MASK);
                at = start + len;
            }
            None => {
                let next = text[at..].chars().next().map_or(1, char::len_utf8);
                out.push_str(&text[at..at + next]);
                at += next;
            }
        }
    }
    out
}

/// Where a secret starts whose mark starts at `at`.
fn secret_at(lower: &str, at: usize) -> Option<usize> {
    let rest = lower.get(at..)?;
    if let Some(scheme) = SCHEMES.iter().find(|scheme| rest.starts_with(**scheme)) {
        return Some(at + scheme.len());
    }
    let inside_a_word = lower[..at].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '-');
    if rest.starts_with(PREFIX) && !inside_a_word && run(rest) >= PREFIX.len() + MIN_KEY {
        return Some(at);
    }
    let name = NAMES.iter().find(|name| rest.starts_with(**name))?;
    let value = rest[name.len()..].trim_start_matches(['"', '\'', '\\']);
    let value = value.trim_start().strip_prefix([':', '='])?.trim_start();
    let value = value.strip_prefix("some(").unwrap_or(value).trim_start_matches(['"', '\'', '\\']);
    // The scheme stays: what comes behind it is found by it.
    let is_scheme = SCHEMES.iter().any(|scheme| value.starts_with(scheme));
    (!is_scheme && !value.starts_with(MASK)).then_some(lower.len() - value.len())
}

/// Bytes of the word that `text` begins with.
fn run(text: &str) -> usize {
    let ends = |character: char| character.is_whitespace() || "\"'\\,;)}]&".contains(character);
    text.find(ends).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(mask(text, &["known-value".to_owned()]), expected);
    }

    #[test]
    fn keys_are_masked_wherever_they_stand() {
        check("the key known-value, twice known-value", "the key [hidden], twice [hidden]");
        check("Authorization: Bearer abc.def-1", "Authorization: Bearer [hidden]");
        check("authorization: Basic dXNlcjpwdw==", "authorization: Basic [hidden]");
        check(r#"{"Authorization":"token-1","x":1}"#, r#"{"Authorization":"[hidden]","x":1}"#);
        check(r#"{\"x-api-key\": \"abc\"}"#, r#"{\"x-api-key\": \"[hidden]\"}"#);
        check("apiKey: Some(\"abc\")", "apiKey: Some(\"[hidden]\")");
        check("GET /v1?api_key=abc&q=1", "GET /v1?api_key=[hidden]&q=1");
        check("sent sk-ant-api03-AAAA to", "sent [hidden] to");
        check("password=p\u{e4}ss end", "password=[hidden] end");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in [
            "",
            "no password was given",
            "authorization is needed",
            "the task-manager-process runs; sk-1",
            "api_key: known by nobody? no: \u{1f511}",
            "bearer of news",
        ] {
            let expected = text.replace(": known", ": [hidden]").replace("bearer of", "bearer [hidden]");
            check(text, &expected);
        }
    }
}
