#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests, which compare committed files")]
//! The committed outputs are those of the code. `cargo xtask schemas` writes them: it runs these tests with `UPDATE_GENERATED=1`.

use std::path::{Path, PathBuf};

use super::*;
use crate::methods;

const HOW: &str = "run `cargo xtask schemas`";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares, or writes where it is wished.
fn check(path: &str, expected: &str) {
    let file = root().join(path);
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|wish| wish == "1") {
        std::fs::write(&file, expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == expected, "{path} is not what the code says: {HOW}");
}

#[test]
fn generated_json_schema_is_current() {
    check("schemas/protocol.schema.json", &(serde_json::to_string_pretty(&json_schema()).unwrap() + "\n"));
}

#[test]
fn generated_typescript_is_current() {
    check("schemas/protocol.d.ts", &typescript());
}

#[test]
fn generated_tables_of_the_documentation_are_current() {
    let path = "docs/protocol.md";
    let document = std::fs::read_to_string(root().join(path)).unwrap();
    let Some(expected) = with_tables(&document) else { panic!("{path} has lost a marker `<!-- generated: … -->`") };
    check(path, &expected);
}

#[test]
fn every_addition_has_our_prefix_and_every_other_method_is_of_acp() {
    for method in METHODS {
        let (Kind::Request { params, .. } | Kind::Notification { params }) = method.kind;
        let ours = matches!(params, Type::Ours { .. });
        assert_eq!(ours, method.name.starts_with("_copydesk/"), "{}", method.name);
    }
    let names: Vec<&str> = methods::additions().collect();
    assert_eq!(
        names,
        [
            methods::DIAGNOSTICS,
            methods::LANGUAGE,
            methods::SAVE,
            methods::FILES_CHANGED,
            methods::TRUST_CHANGED,
            methods::GRANTS,
            methods::UNDO,
            methods::CHANGES,
            methods::CHANGED,
            methods::DIFF
        ]
    );
}

#[test]
fn no_type_of_ours_is_unknown_to_the_writer_of_typescript() {
    let foreign = [
        "ClientOptIn.acp",
        "ServerOptIn.agentInfo",
        "ServerOptIn.agentCapabilities",
        "DocumentDiagnostics.diagnostics",
        "LanguageParams.params",
        "LanguageResult.result",
    ];
    let schema = json_schema();
    let mut unknown = Vec::new();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        for (field, of) in definition["properties"].as_object().into_iter().flatten() {
            if typescript::type_of(of).contains("unknown") {
                unknown.push(format!("{name}.{field}"));
            }
        }
        if definition["properties"].is_null() {
            assert!(!typescript::type_of(definition).contains("unknown"), "{name}");
        }
    }
    unknown.sort();
    let mut foreign = foreign.map(str::to_owned);
    foreign.sort();
    assert_eq!(unknown, foreign);
}
