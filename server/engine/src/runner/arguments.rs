//! The arguments of a call as models send them: JSON, nothing at all, or JSON inside a string (C79). Schemas are the tool's.

use serde_json::{Map, Value};

/// What is wrong with arguments that are no object, and how they are kept.
#[derive(Debug, PartialEq)]
pub(crate) struct NotAnObject {
    pub(crate) input: Value,
    pub(crate) text: String,
}

pub(crate) fn parse(raw: &str) -> Result<Value, NotAnObject> {
    let empty = || Ok(Value::Object(Map::new()));
    if raw.trim().is_empty() {
        return empty();
    }
    let value: Value = match serde_json::from_str(raw) {
        Ok(value) => value,
        Err(error) => {
            let text = format!(
                "The arguments are not valid JSON: {error}. Nothing was done. Repeat the call with one JSON object."
            );
            return Err(NotAnObject { input: Value::String(raw.to_owned()), text });
        }
    };
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => empty(),
        Value::String(inner) if inner.trim().is_empty() => empty(),
        Value::String(inner) => match serde_json::from_str(&inner) {
            Ok(object @ Value::Object(_)) => Ok(object),
            Ok(Value::Null) => empty(),
            _ => Err(not_an_object(Value::String(inner))),
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(not_an_object(value)),
    }
}

fn not_an_object(input: Value) -> NotAnObject {
    let text =
        "The arguments must be one JSON object with the tool's parameters by name. Nothing was done. Repeat the call.";
    NotAnObject { input, text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, expected: Result<&str, &str>) {
        let found = parse(raw).map(|value| value.to_string()).map_err(|error| error.input.to_string());
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{raw:?}");
    }

    #[test]
    fn c79_empty_arguments_are_an_empty_object() {
        for raw in ["", "  \n", "null", "{}", "\"\"", "\" \"", "\"null\"", "\"{}\""] {
            check(raw, Ok("{}"));
        }
        check(r#""{\"a\":1}""#, Ok(r#"{"a":1}"#));
        check(r#"{"a":1}"#, Ok(r#"{"a":1}"#));
        check("[1]", Err("[1]"));
        check("{\"a\":", Err(r#""{\"a\":""#));
        check("\"text\"", Err("\"text\""));
    }
}
