//! The schema of a tool's arguments: made portable between providers, and the faults of arguments in words that a model can act on. Decodes nothing.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{ToolError, portable};

/// Faults told at once: a model mends them together.
const MOST_FAULTS: usize = 5;

/// JSON Schema with an object at its root, without references, keys sorted: equal bytes in every request, so that providers can cache it.
pub(super) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = portable(&settings.into_generator().into_root_schema_for::<T>().to_value());
    // The root's own words are for readers of the code.
    if let Value::Object(root) = &mut schema {
        root.shift_remove("description");
    }
    schema
}

/// Models write `null` for what they leave out, also inside of lists. What `schema` does not name is left alone there: it may be another tool's.
pub(super) fn without_nulls(mut input: Value, schema: &Value) -> Value {
    if let Value::Object(fields) = &mut input {
        fields.retain(|_, value| !value.is_null());
    }
    drop_nulls(&mut input, schema);
    input
}

fn drop_nulls(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            let named = &schema["properties"];
            fields.retain(|name, value| !value.is_null() || named.get(name).is_none());
            for (name, value) in fields.iter_mut() {
                drop_nulls(value, &named[name.as_str()]);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_nulls(item, &schema["items"])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// JSON Schema takes `3.0` for an integer, the decoder does not.
pub(super) fn with_whole_numbers(mut input: Value) -> Value {
    make_whole(&mut input);
    input
}

fn make_whole(value: &mut Value) {
    /// Beyond this not every whole number is one of these fractions.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|whole| number.is_f64() && whole.fract() == 0.0 && whole.abs() < EXACT);
            if let Some(whole) = whole {
                *number = (whole as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(fields) => fields.values_mut().for_each(make_whole),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

pub(super) fn check(tool: &str, validator: &Validator, input: &Value) -> Result<(), ToolError> {
    let faults: Vec<String> = validator.iter_errors(input).take(MOST_FAULTS).map(|error| fault(&error)).collect();
    if faults.is_empty() { Ok(()) } else { Err(wrong(tool, &faults)) }
}

pub(super) fn wrong(tool: &str, faults: &[String]) -> ToolError {
    ToolError::Tell(format!(
        "The arguments of {tool} do not fit:\n- {}\nNothing was done. Repeat the call with corrected arguments.",
        faults.join("\n- ")
    ))
}

fn fault(error: &ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    let at = at.trim_start_matches('/').replace('/', ".");
    let at = if at.is_empty() { "the arguments".to_owned() } else { format!("`{at}`") };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().map_or_else(|| property.to_string(), |name| format!("`{name}`"));
            if at == "the arguments" { format!("{name} is missing") } else { format!("{name} is missing in {at}") }
        }
        ValidationErrorKind::Type { kind } => wrong_type(&at, kind, error.instance()),
        _ => format!("{at}: {error}"),
    }
}

fn wrong_type(at: &str, expected: &TypeKind, found: &Value) -> String {
    let expected = match expected {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(many) => many.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or "),
    };
    match found {
        Value::String(_) if expected != "string" => {
            format!("{at} must be of type {expected}, but is the string {}: write it without quotes", shortened(found))
        }
        other => format!("{at} must be of type {expected}, but is {}: {}", type_name(other), shortened(other)),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
