//! JSON Schemas in the subset that every provider takes: one object, no references, no `null` beside another type, no number formats, bounds that fit
//! into a JSON number. Whatever a schema comes from, it goes through here; an encoder narrows it further where its provider takes less still.

use serde_json::{Map, Value, json};

/// The largest integer that every reader of JSON holds exactly (RFC 8259, 6).
const LARGEST: i64 = (1 << 53) - 1;

/// Equal schemas give equal bytes: keys are sorted, so that providers can cache them. What the subset cannot say is widened, never narrowed: it is for the
/// model; arguments are checked against the tool's own schema.
pub fn portable(schema: &Value) -> Value {
    let mut shaped = shape(schema, schema, &mut Vec::new());
    if let Value::Object(root) = &mut shaped {
        root.insert("type".to_owned(), json!("object"));
        root.entry("properties").or_insert_with(|| json!({}));
    } else {
        shaped = json!({"type": "object", "properties": {}});
    }
    shaped.sort_all_objects();
    shaped
}

/// `open` are the references that are being inlined: one inside of itself becomes "anything".
fn shape(schema: &Value, root: &Value, open: &mut Vec<String>) -> Value {
    let Value::Object(fields) = schema else {
        // `true` and `false` are schemas too.
        return json!({});
    };
    let mut shaped = Map::new();
    if let Some(reference) = fields.get("$ref").and_then(Value::as_str)
        && !open.iter().any(|name| name == reference)
        && let Some(target) = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
    {
        open.push(reference.to_owned());
        if let Value::Object(target) = shape(target, root, open) {
            shaped = target;
        }
        open.pop();
    }
    for (key, value) in fields {
        match key.as_str() {
            "$ref" | "$schema" | "$id" | "$comment" | "$defs" | "definitions" | "format" | "title" => {}
            "default" if value.is_null() => {}
            "const" => {
                shaped.insert("enum".to_owned(), json!([value]));
            }
            "enum" => {
                let words: Vec<&Value> =
                    value.as_array().into_iter().flatten().filter(|word| !word.is_null()).collect();
                shaped.insert(key.clone(), if words.is_empty() { value.clone() } else { json!(words) });
            }
            "type" => {
                shaped.extend(one_type(value).map(|kind| (key.clone(), kind)));
            }
            "properties" | "patternProperties" => {
                let each = |(name, value): (&String, &Value)| (name.clone(), shape(value, root, open));
                let properties = value.as_object().map(|map| map.iter().map(each).collect::<Map<_, _>>());
                shaped.insert(key.clone(), Value::Object(properties.unwrap_or_default()));
            }
            // What is so anyway costs words, and is unknown to some.
            "additionalProperties" if *value == Value::Bool(true) => {}
            "additionalProperties" if value.is_boolean() => {
                shaped.insert(key.clone(), value.clone());
            }
            "items" | "additionalProperties" | "not" | "contains" => {
                shaped.insert(key.clone(), shape(value, root, open));
            }
            "anyOf" | "oneOf" | "allOf" => {
                let one = |value: &Value| !is_null(value);
                let branches = value.as_array().into_iter().flatten().filter(|value| one(value));
                join(&mut shaped, key, branches.map(|branch| shape(branch, root, open)).collect());
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                shaped.extend(
                    value.as_f64().filter(|bound| bound.abs() <= LARGEST as f64).map(|_| (key.clone(), value.clone())),
                );
            }
            _ => {
                shaped.insert(key.clone(), value.clone());
            }
        }
    }
    close_bounds(&mut shaped);
    Value::Object(shaped)
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

/// `null` beside another type goes; of several types all stay.
fn one_type(kind: &Value) -> Option<Value> {
    let Value::Array(kinds) = kind else { return Some(kind.clone()) };
    let kinds: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    match kinds.as_slice() {
        [] => None,
        [only] => Some((*only).clone()),
        several => Some(json!(several)),
    }
}

/// A single branch is the schema itself; branches that are words alone are one list of words.
fn join(shaped: &mut Map<String, Value>, key: &str, mut branches: Vec<Value>) {
    if branches.len() == 1
        && let Some(Value::Object(only)) = branches.pop()
    {
        // The words beside a reference are about this place, those of the target about all.
        for (key, value) in only {
            shaped.entry(key).or_insert(value);
        }
        return;
    }
    let words = |branch: &Value| branch.get("enum").and_then(Value::as_array).cloned();
    let all: Option<Vec<Vec<Value>>> = branches.iter().map(words).collect();
    match all {
        Some(words) if key != "allOf" && !words.is_empty() => {
            let kind = branches.first().and_then(|branch| branch.get("type").cloned());
            shaped.extend(kind.map(|kind| ("type".to_owned(), kind)));
            shaped.insert("enum".to_owned(), Value::Array(words.into_iter().flatten().collect()));
        }
        _ if branches.is_empty() => {}
        _ => {
            // `oneOf` is refused by some, and for a model it says no more.
            let key = if key == "oneOf" { "anyOf" } else { key };
            shaped.insert(key.to_owned(), Value::Array(branches));
        }
    }
}

/// Open bounds of integers become closed ones, which more providers know.
fn close_bounds(shaped: &mut Map<String, Value>) {
    if shaped.get("type").is_none_or(|kind| kind != "integer") {
        return;
    }
    for (open, closed, step) in [("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)] {
        if let Some(bound) = shaped.shift_remove(open).as_ref().and_then(Value::as_i64) {
            shaped.insert(closed.to_owned(), json!(bound + step));
        }
    }
}

#[cfg(test)]
#[path = "portable_tests.rs"]
mod tests;
