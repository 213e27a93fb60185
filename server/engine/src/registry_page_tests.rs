//! `docs/tools.md` is what the registry says. `cargo xtask schemas` writes it anew: it runs this test with `UPDATE_GENERATED=1`.

use std::fmt::Write as _;

use serde_json::Value;

use super::*;
use crate::agent::{BUILD, PLAN};
use crate::workbench::Bench;

const HEAD: &str = "# Tools

Made from the code by `cargo xtask schemas`; a test compares it. Each tool is told to the model by its description and its parameters, as they stand here. `{folder}`
stands for the folder of the session. Which tools there are is set by `tools` in [the configuration](configuration.md), what they may do by `permission`,
see [Permissions](permissions.md).

";

#[test]
fn the_committed_page_of_tools_is_what_the_registry_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let generated = page();
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == generated, "docs/tools.md is out of date: run `cargo xtask schemas`");
}

fn page() -> String {
    let registry = Registry::builtin();
    let facts = Bench::new().facts;
    let specs = registry.all().specs(&facts);
    let shown: Vec<(&Arc<dyn AnyTool>, &ToolSpec)> = registry
        .names()
        .filter_map(|name| Some((registry.find(name)?, specs.iter().find(|spec| spec.name == name)?)))
        .collect();
    let mut page = HEAD.to_owned();
    page.push_str("| tool | what it does | offered | permission |\n| --- | --- | --- | --- |\n");
    for (tool, spec) in &shown {
        let name = tool.name();
        let first = spec.description.lines().next().unwrap_or_default();
        let permission = permission::permission_of(name);
        let _ = writeln!(
            page,
            "| [`{name}`](#{name}) | {} | {} | `{permission}` |",
            cell(&first.replace(&facts.folder.to_string(), "{folder}")),
            offered(&registry, name)
        );
    }
    for (tool, spec) in shown {
        let _ = writeln!(page, "\n## {}\n", tool.name());
        let folder = facts.folder.to_string();
        page.extend(
            spec.description
                .lines()
                .map(|line| format!("{}\n", format!("> {line}").trim_end()).replace(&folder, "{folder}")),
        );
        let parameters = parameters(&spec.parameters);
        if !parameters.is_empty() {
            let _ = writeln!(page, "\n| parameter | type | what it is |\n| --- | --- | --- |\n{parameters}");
            page.truncate(page.trim_end().len());
            page.push('\n');
        }
    }
    page
}

/// In a session with a user who has set nothing.
fn offered(registry: &Registry, name: &str) -> &'static str {
    let is_offered = |agent: &str, model: &str, switches: &[(&str, bool)]| {
        let tools = switches.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect();
        let mut agent = Agent { tools, ..Agent::new(agent, None) };
        agent.rules.extend(permission::agent_rules(&agent.name, None));
        let model = ModelRef { provider: "p".to_owned(), model: model.to_owned() };
        let now = Situation { agent: &agent, model: &model, has_user: true, has_skills: true };
        registry.offered(&now).find(name).is_some()
    };
    match (is_offered(BUILD, "claude", &[]), is_offered(BUILD, "gpt-5", &[])) {
        (true, true) => "yes",
        (true, false) => "to models that edit",
        (false, true) => "to models that write patches",
        (false, false) if is_offered(PLAN, "claude", &[]) => "to the agent `plan`",
        (false, false) if is_offered(BUILD, "claude", &[(name, true)]) => "where it is switched on",
        (false, false) => panic!("{name} is offered to nobody"),
    }
}

/// The rows of all parameters, each before those of its fields.
fn parameters(schema: &Value) -> String {
    rows(schema, "")
}

/// `above`: what holds the fields of this schema, as a path with its last dot.
fn rows(schema: &Value, above: &str) -> String {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|entry| entry.as_str() == Some(name)))
    };
    let row = |(name, of): (&String, &Value)| {
        let optional = if required(name) { "" } else { ", optional" };
        let text = cell(of["description"].as_str().unwrap_or_default());
        let fields = match of["items"].is_null() {
            true => rows(of, &format!("{above}{name}.")),
            false => rows(&of["items"], &format!("{above}{name}[].")),
        };
        format!("| `{above}{name}` | {}{optional} | {text} |\n{fields}", kind(of))
    };
    schema["properties"].as_object().into_iter().flatten().map(row).collect()
}

fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        return words
            .iter()
            .map(|word| format!("`{}`", word.as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
            .join(", ");
    }
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some(kind) => kind.to_owned(),
        None => "any".to_owned(),
    }
}

fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
