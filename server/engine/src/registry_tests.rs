use serde_json::json;

use super::*;
use crate::permission::{Origin, Verdict};
use crate::testing::{Boundaries, Toy, ToyTool};

fn names(tools: &[&'static str], model: &str, rules: &[Rule]) -> Vec<String> {
    let toy = |name: &&'static str| ToyTool::new(name, Toy::Echo, "free", Boundaries::default()) as Arc<dyn AnyTool>;
    let registry = Registry::new(tools.iter().map(toy));
    registry.offered(rules, model).map(|tool| tool.name().to_owned()).collect()
}

#[test]
fn a_model_gets_patches_or_edits() {
    let all = ["apply_patch", "edit", "multiedit", "read", "write"];
    for (model, patches) in [
        ("gpt-5.2-codex", true),
        ("openai/gpt-5", true),
        ("gpt-4.1", false),
        ("gpt-oss-120b", false),
        ("claude-sonnet-4-5", false),
        ("qwen3-coder", false),
    ] {
        let expected: &[&str] =
            if patches { &["apply_patch", "read"] } else { &["edit", "multiedit", "read", "write"] };
        assert_eq!(names(&all, model, &[]), expected, "{model}");
    }
    assert_eq!(names(&["edit", "read", "write"], "gpt-5", &[]), ["edit", "read", "write"], "where nothing else edits");
}

#[test]
fn the_built_in_tools_are_offered_to_the_models_that_know_them() {
    let registry = Registry::builtin();
    let offered = |model: &str| registry.offered(&[], model).map(|tool| tool.name().to_owned()).collect::<Vec<_>>();
    let changes = |model: &str| {
        let is_change = |name: &String| ["apply_patch", "edit", "multiedit", "write"].contains(&name.as_str());
        offered(model).into_iter().filter(is_change).collect::<Vec<_>>()
    };
    assert_eq!(changes("gpt-5.2-codex"), ["apply_patch"]);
    assert_eq!(changes("gpt-4o"), ["edit", "multiedit", "write"]);
    assert_eq!(changes("gpt-oss-120b"), ["edit", "multiedit", "write"]);
}

#[test]
fn what_rules_deny_and_what_is_invalid_is_not_offered() {
    let deny = |permission: &str| Rule {
        permission: permission.to_owned(),
        pattern: "*".to_owned(),
        verdict: Verdict::Deny,
        origin: Origin::Editor,
    };
    let all = ["apply_patch", "edit", "grep", "invalid", "multiedit", "read"];
    assert_eq!(names(&all, "m", &[deny("grep")]), ["edit", "multiedit", "read"]);
    assert_eq!(names(&all, "gpt-5", &[deny("edit")]), ["grep", "read"]);
    assert_eq!(names(&all, "m", &[deny("edit")]), ["grep", "read"]);
    assert_eq!(names(&all, "m", &[deny("*")]), [""; 0]);
}

#[test]
fn schemas_are_those_of_the_portable_subset() {
    for tool in crate::tools::builtin() {
        let schema = tool.parameters();
        assert_eq!(portable(&schema).to_string(), schema.to_string(), "{}", tool.name());
        assert_eq!(schema["type"], json!("object"));
    }
}
