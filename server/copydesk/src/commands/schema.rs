//! `copydesk schema`: the JSON Schemas that others build on, as they are in this program. The committed copies are in `schemas/`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use copydesk_engine::config::config_schema;
use copydesk_engine::registry::Registry;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Schema {
    /// Of configuration files
    Config,
    /// Of what Copydesk adds to LSP and ACP
    Protocol,
    /// Of the parameters of the built-in tools
    Tools,
}

pub fn run(which: Schema, out: &mut dyn Write) -> io::Result<ExitCode> {
    let schema = match which {
        Schema::Config => config_schema(),
        Schema::Protocol => copydesk_protocol::schema::json_schema(),
        Schema::Tools => tools(),
    };
    writeln!(out, "{schema:#}")?;
    Ok(ExitCode::SUCCESS)
}

fn tools() -> Value {
    let tools: serde_json::Map<String, Value> = Registry::builtin().parameters().collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Parameters of Copydesk's tools",
        "$defs": tools,
    })
}
