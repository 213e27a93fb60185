//! What the four wire protocols accept as a tool, as their providers document and enforce it, written down as code; and all built-in tools held against it.

use serde_json::{Map, Value, json};

use super::*;
use crate::workbench::Bench;

type Rules = fn(&ToolSpec) -> Result<(), String>;

/// By wire protocol. Strict mode of OpenAI's two (every property required, no other ones allowed) is claimed for no tool, so its subset binds none.
const WIRES: [(&str, Rules); 4] = [
    ("Anthropic Messages", anthropic),
    ("OpenAI Chat Completions", openai),
    ("OpenAI Responses", openai),
    ("Gemini", gemini),
];

const COMBINED: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// `input_schema`: JSON Schema of draft 2020-12, an object, nothing combined at its root.
fn anthropic(tool: &ToolSpec) -> Result<(), String> {
    name(&tool.name, 128, "")?;
    let root = root(tool)?;
    if !jsonschema::meta::is_valid(&tool.parameters) {
        return Err("it is no JSON Schema".to_owned());
    }
    if let Some(key) = COMBINED.iter().find(|key| root.contains_key(**key)) {
        return Err(format!("`{key}` stands at the root"));
    }
    each(&tool.parameters, "", &mut |at, schema| {
        required_is_there(at, schema)?;
        for key in properties(schema).map(|properties| properties.keys()).into_iter().flatten() {
            name(key, 64, ".").map_err(|problem| format!("{at}: {problem}"))?;
        }
        no_reference(at, schema)
    })
}

/// `parameters` of both OpenAI protocols: the same, and arrays say what they hold.
fn openai(tool: &ToolSpec) -> Result<(), String> {
    name(&tool.name, 64, "")?;
    let root = root(tool)?;
    let at_root = COMBINED.iter().chain(&["enum", "not"]).find(|key| root.contains_key(**key));
    if let Some(key) = at_root {
        return Err(format!("`{key}` stands at the root"));
    }
    if !root.contains_key("properties") {
        return Err("an object without `properties` at the root".to_owned());
    }
    if !jsonschema::meta::is_valid(&tool.parameters) {
        return Err("it is no JSON Schema".to_owned());
    }
    each(&tool.parameters, "", &mut |at, schema| {
        required_is_there(at, schema)?;
        array_has_items(at, schema)?;
        no_reference(at, schema)
    })
}

/// The subset of OpenAPI 3.0 that `Schema` of the Gemini API is. A function without parameters is declared without a schema.
fn gemini(tool: &ToolSpec) -> Result<(), String> {
    const KNOWN: [&str; 20] = [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "anyOf",
        "propertyOrdering",
        "default",
        "items",
    ];
    const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];
    name(&tool.name, 63, ".")?;
    if !tool.name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return Err("the name begins with neither a letter nor `_`".to_owned());
    }
    let root = root(tool)?;
    if properties(root).is_none_or(Map::is_empty) && root.len() <= 2 {
        return Ok(());
    }
    each(&tool.parameters, "", &mut |at, schema| {
        let known = |key: &str| KNOWN.contains(&key) || ["minimum", "maximum"].contains(&key);
        if let Some(key) = schema.keys().find(|key| !known(key)) {
            return Err(format!("{at}: `{key}` is unknown"));
        }
        if schema.contains_key("anyOf") {
            return if schema.len() == 1 { Ok(()) } else { Err(format!("{at}: `anyOf` stands beside others")) };
        }
        let Some(kind) = schema.get("type").and_then(Value::as_str).filter(|kind| TYPES.contains(kind)) else {
            return Err(format!("{at}: it has not one type"));
        };
        if let Some(words) = schema.get("enum") {
            let words = words.as_array().map(Vec::as_slice).unwrap_or_default();
            let is_word = |word: &Value| word.as_str().is_some_and(|word| !word.is_empty());
            if kind != "string" || words.is_empty() || !words.iter().all(is_word) {
                return Err(format!("{at}: only words can be enumerated"));
            }
        }
        if kind == "object" && properties(schema).is_some_and(Map::is_empty) {
            return Err(format!("{at}: `properties` is empty"));
        }
        required_is_there(at, schema)?;
        array_has_items(at, schema)
    })
}

fn name(name: &str, longest: usize, more: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || more.contains(c);
    match !name.is_empty() && name.len() <= longest && name.chars().all(fits) {
        true => Ok(()),
        false => Err(format!("the name {name:?} does not fit")),
    }
}

fn root(tool: &ToolSpec) -> Result<&Map<String, Value>, String> {
    let root = tool.parameters.as_object().ok_or("it is no object")?;
    if root.get("type") != Some(&json!("object")) {
        return Err("the root is not of type object".to_owned());
    }
    if tool.description.trim().is_empty() {
        return Err("there is no description".to_owned());
    }
    Ok(root)
}

fn properties(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn required_is_there(at: &str, schema: &Map<String, Value>) -> Result<(), String> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let is_known = |name: &str| properties(schema).is_some_and(|properties| properties.contains_key(name));
    match required.filter_map(Value::as_str).find(|name| !is_known(name)) {
        Some(name) => Err(format!("{at}: {name} is required and is no property")),
        None => Ok(()),
    }
}

fn array_has_items(at: &str, schema: &Map<String, Value>) -> Result<(), String> {
    let is_array = schema.get("type") == Some(&json!("array"));
    match is_array && !schema.get("items").is_some_and(Value::is_object) {
        true => Err(format!("{at}: an array without `items`")),
        false => Ok(()),
    }
}

fn no_reference(at: &str, schema: &Map<String, Value>) -> Result<(), String> {
    match schema.contains_key("$ref") {
        true => Err(format!("{at}: a reference")),
        false => Ok(()),
    }
}

type Rule<'a> = dyn FnMut(&str, &Map<String, Value>) -> Result<(), String> + 'a;

/// Of the schema and all in it.
fn each(schema: &Value, at: &str, rule: &mut Rule<'_>) -> Result<(), String> {
    let Some(fields) = schema.as_object() else { return Err(format!("{at}: no schema: {schema}")) };
    rule(at, fields)?;
    for (name, property) in properties(fields).into_iter().flatten() {
        each(property, &format!("{at}.{name}"), rule)?;
    }
    for key in ["items", "not", "additionalProperties"] {
        if let Some(inner) = fields.get(key).filter(|inner| inner.is_object()) {
            each(inner, &format!("{at}[{key}]"), rule)?;
        }
    }
    for key in COMBINED {
        for branch in fields.get(key).and_then(Value::as_array).into_iter().flatten() {
            each(branch, &format!("{at}[{key}]"), rule)?;
        }
    }
    Ok(())
}

#[test]
fn all_four_wire_protocols_accept_every_built_in_tool() {
    let bench = Bench::new();
    let specs = Registry::builtin().all().specs(&bench.facts);
    assert!(specs.len() >= 10);
    let mut faults = Vec::new();
    for spec in &specs {
        for (wire, rules) in WIRES {
            faults.extend(rules(spec).err().map(|fault| format!("{wire} refuses {}: {fault}", spec.name)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Which of the four refuse it, in their order.
fn refusing(name: &str, parameters: Value) -> String {
    let spec = ToolSpec { name: name.to_owned(), description: "A tool.".to_owned(), parameters };
    WIRES.iter().map(|(_, rules)| if rules(&spec).is_err() { '-' } else { '+' }).collect()
}

#[test]
fn the_rules_refuse_what_the_protocols_refuse() {
    let with = |property: Value| json!({"type": "object", "properties": {"a": property}});
    let check =
        |parameters: Value, expected: &str| assert_eq!(refusing("tool", parameters.clone()), expected, "{parameters}");
    check(with(json!({"type": "string"})), "++++");
    check(json!({"type": "object", "properties": {}}), "++++");
    check(json!({"type": "string"}), "----");
    check(json!({"type": "object"}), "+--+");
    check(json!({"type": "object", "properties": {}, "anyOf": [{"type": "object"}]}), "----");
    check(json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}), "----");
    check(with(json!({"type": "array"})), "+---");
    check(with(json!({"type": "text"})), "----");
    check(with(json!({"$ref": "#/$defs/a"})), "----");
    check(with(json!({"type": ["string", "null"]})), "+++-");
    check(with(json!({"const": "a"})), "+++-");
    check(with(json!({"type": "integer", "exclusiveMinimum": 0})), "+++-");
    check(with(json!({"type": "integer", "enum": [1, 2]})), "+++-");
    check(with(json!({"type": "object", "properties": {}})), "+++-");
    check(with(json!({"type": "object", "additionalProperties": true})), "+++-");
    check(with(json!({"anyOf": [{"type": "string"}], "description": "x"})), "+++-");
    check(json!({"type": "object", "properties": {"a b": {"type": "string"}}}), "-+++");
    let plain = || json!({"type": "object", "properties": {}});
    assert_eq!(refusing("a.b", plain()), "---+");
    assert_eq!(refusing("1a", plain()), "+++-");
    assert_eq!(refusing("", plain()), "----");
    assert_eq!(refusing(&"a".repeat(65), plain()), "+---");
}
