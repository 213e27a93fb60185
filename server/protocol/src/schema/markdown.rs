//! The tables of `docs/protocol.md`, between their markers.

use serde_json::Value;

use super::{capability, json_schema, loose_types, side};
use crate::methods::{Kind, METHODS, Method, Type};
use crate::schema::typescript::type_of;

/// The document with its tables as they are now: what stands between `<!-- generated: NAME -->` and `<!-- end -->` is replaced. `None`: a marker is missing.
pub fn with_tables(document: &str) -> Option<String> {
    let document = replace(document, "additions", &methods_table(|of| matches!(of, Type::Ours { .. })))?;
    let document = replace(&document, "session methods", &methods_table(|of| matches!(of, Type::Acp { .. })))?;
    replace(&document, "types", &types())
}

fn replace(document: &str, name: &str, with: &str) -> Option<String> {
    let start = format!("<!-- generated: {name} -->\n");
    let (before, rest) = document.split_once(&start)?;
    let (_, after) = rest.split_once("<!-- end -->")?;
    Some(format!("{before}{start}\n{with}\n<!-- end -->{after}"))
}

fn methods_table(of: impl Fn(Type) -> bool) -> String {
    let rows = METHODS.iter().filter(|method| of(params(method))).map(|method| {
        let (kind, result) = match method.kind {
            Kind::Request { result, .. } => ("request", format!("`{}`", result.name())),
            Kind::Notification { .. } => ("notification", "–".to_owned()),
        };
        let from = side(method.from);
        let (name, params) = (method.name, params(method).name());
        let (gate, stability) = (capability(method.gate), method.stability.name());
        format!("| `{name}` | {from} | {kind} | `{params}` | {result} | {gate} | {stability} | {} |\n", method.doc)
    });
    let head = "| method | sent by | kind | params | result | capability | stability | what it does |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    head.to_owned() + &rows.collect::<String>()
}

fn params(method: &Method) -> Type {
    match method.kind {
        Kind::Request { params, .. } | Kind::Notification { params } => params,
    }
}

/// One section a type.
fn types() -> String {
    let schema = json_schema();
    let mut text = String::new();
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        text += &format!("### `{name}`\n\n");
        if let Some((_, place)) = loose_types().into_iter().find(|(loose, _)| loose == name) {
            text += &format!("At {place}.\n\n");
        }
        if let Some(doc) = definition["description"].as_str() {
            text += &format!("{doc}\n\n");
        }
        text += &match definition["properties"].as_object() {
            Some(properties) => {
                let rows = properties.iter().map(|(field, of)| property(field, of, definition)).collect::<String>();
                format!("| field | type | |\n| --- | --- | --- |\n{rows}\n")
            }
            None => format!("`{}`\n\n", type_of(definition)),
        };
    }
    text.trim_end().to_owned() + "\n"
}

fn property(field: &str, of: &Value, definition: &Value) -> String {
    let required = definition["required"].as_array().is_some_and(|required| required.iter().any(|name| name == field));
    let optional = if required { "" } else { "?" };
    let shown = type_of(of).replace('|', "\\|");
    format!(
        "| `{field}{optional}` | `{shown}` | {} |\n",
        of["description"].as_str().unwrap_or_default().replace('\n', " ")
    )
}
