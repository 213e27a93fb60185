//! Writes what others read of our additions: a JSON Schema, TypeScript types, and the tables of `docs/protocol.md`. All three come from [`METHODS`] and the
//! types of [`crate::additions`]. Writes text only: files are the caller's.

mod markdown;
mod typescript;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::additions::{ClientOptIn, LoadMeta, LoadedMeta, OutcomeMeta, PROTOCOL, ServerOptIn};
use crate::methods::{Gate, Kind, METHODS, Method, Side, Type};

pub use markdown::with_tables;
pub use typescript::typescript;

/// The JSON Schema of our additions: the types under `$defs`, and the methods of ours with references to them under `x-methods`.
pub fn json_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    generator.subschema_for::<ClientOptIn>();
    generator.subschema_for::<ServerOptIn>();
    generator.subschema_for::<OutcomeMeta>();
    generator.subschema_for::<LoadMeta>();
    generator.subschema_for::<LoadedMeta>();
    let methods: Map<String, Value> =
        METHODS.iter().filter_map(|method| Some((method.name.to_owned(), describe(method, &mut generator)?))).collect();
    let mut definitions: Vec<(String, Value)> = generator.take_definitions(true).into_iter().collect();
    definitions.sort_by(|(left, _), (right, _)| left.cmp(right));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Copydesk's additions to LSP and ACP",
        "description": format!("Protocol version {PROTOCOL}. Generated; see docs/protocol.md."),
        "$defs": definitions.into_iter().collect::<Map<String, Value>>(),
        "x-methods": methods,
    })
}

/// `None` for a method of ACP's.
fn describe(method: &Method, generator: &mut SchemaGenerator) -> Option<Value> {
    let mut reference = |of: Type| match of {
        Type::Ours { schema, .. } => Some(schema(generator).to_value()),
        Type::Acp { .. } => None,
    };
    let mut row = json!({
        "description": method.doc,
        "from": side(method.from),
        "capability": method.gate.key(),
        "stability": method.stability.name(),
    });
    match method.kind {
        Kind::Request { params, result } => {
            row["params"] = reference(params)?;
            row["result"] = reference(result)?;
        }
        Kind::Notification { params } => row["params"] = reference(params)?,
    }
    Some(row)
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Daemon => "daemon",
    }
}

/// The gate as a reader of the documentation sees it.
fn capability(gate: Gate) -> String {
    format!("`{}`", gate.key())
}

/// The types that travel outside of a method, with the place where they stand.
fn loose_types() -> [(String, &'static str); 5] {
    [
        (ClientOptIn::schema_name().into_owned(), "`capabilities.experimental.copydesk` of the params of `initialize`"),
        (ServerOptIn::schema_name().into_owned(), "`capabilities.experimental.copydesk` of the result of `initialize`"),
        (
            OutcomeMeta::schema_name().into_owned(),
            "`outcome._meta.copydesk` of the result of `session/request_permission`",
        ),
        (LoadMeta::schema_name().into_owned(), "`_meta.copydesk` of the params of `session/load` and `session/resume`"),
        (
            LoadedMeta::schema_name().into_owned(),
            "`_meta.copydesk` of the results of `session/load` and `session/resume`",
        ),
    ]
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
