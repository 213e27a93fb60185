//! TypeScript types of our additions, written from their JSON Schema. Knows only the forms of schema that our types have; anything else is `unknown`.

use serde_json::Value;

use super::json_schema;

const HEADER: &str = "// Types of Copydesk's additions to LSP and ACP. Generated from the table of methods: do not edit.\n// ACP's own types are those of its SDK.\n";

/// The text of `schemas/protocol.d.ts`.
pub fn typescript() -> String {
    let schema = json_schema();
    let mut text = HEADER.to_owned();
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        text += "\n";
        text += &comment(definition, "");
        text += &declaration(name, definition);
    }
    text += &methods(&schema, "DaemonRequests", "What the daemon asks of the client", "daemon", true);
    text += &methods(&schema, "ClientRequests", "What the client asks of the daemon", "client", true);
    text += &methods(&schema, "DaemonNotifications", "What the daemon tells the client", "daemon", false);
    text + &methods(&schema, "ClientNotifications", "What the client tells the daemon", "client", false)
}

/// The requests, or the notifications, of one side.
fn methods(schema: &Value, name: &str, doc: &str, from: &str, requests: bool) -> String {
    let mut text = format!("\n/** {doc}, by the names of the methods. */\nexport interface {name} {{\n");
    let all = schema["x-methods"].as_object().into_iter().flatten();
    for (name, method) in all.filter(|(_, method)| method["from"] == from && method["result"].is_null() != requests) {
        text += &comment(method, "  ");
        let params = type_of(&method["params"]);
        text += &match requests {
            true => format!("  \"{name}\": {{ params: {params}; result: {} }};\n", type_of(&method["result"])),
            false => format!("  \"{name}\": {params};\n"),
        };
    }
    text + "}\n"
}

fn declaration(name: &str, definition: &Value) -> String {
    let Some(properties) = definition["properties"].as_object() else {
        return format!("export type {name} = {};\n", type_of(definition));
    };
    let required: Vec<&str> =
        definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = format!("export interface {name} {{\n");
    for (field, of) in properties {
        let optional = if required.contains(&field.as_str()) { "" } else { "?" };
        text += &comment(of, "  ");
        text += &format!("  {field}{optional}: {};\n", type_of(of));
    }
    text + "}\n"
}

fn comment(of: &Value, indent: &str) -> String {
    match of["description"].as_str() {
        Some(doc) => format!("{indent}/** {} */\n", doc.replace('\n', " ").replace("*/", "* /")),
        None => String::new(),
    }
}

/// The type that a schema describes, in TypeScript's words.
pub(super) fn type_of(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or("unknown").to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    for key in ["enum", "oneOf", "anyOf"] {
        if let Some(choices) = schema[key].as_array() {
            let shown = |choice: &Value| if key == "enum" { choice.to_string() } else { type_of(choice) };
            return choices.iter().map(shown).collect::<Vec<_>>().join(" | ");
        }
    }
    match &schema["type"] {
        Value::String(name) => named(name, schema),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).map(|name| named(name, schema)).collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

fn named(name: &str, schema: &Value) -> String {
    match name {
        "integer" | "number" => "number".to_owned(),
        "string" | "boolean" | "null" => name.to_owned(),
        "object" if schema["properties"].is_object() => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields: Vec<String> = fields.map(|(field, of)| format!("{field}: {}", type_of(of))).collect();
            format!("{{ {} }}", fields.join("; "))
        }
        "array" => {
            let item = type_of(&schema["items"]);
            if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
        }
        _ => "unknown".to_owned(),
    }
}
