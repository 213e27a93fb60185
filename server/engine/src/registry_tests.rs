use serde_json::json;

use super::*;
use crate::permission::{Origin, Rule, Verdict};
use crate::testing::{Boundaries, Toy, ToyTool};

fn toy(name: &'static str) -> Arc<dyn AnyTool> {
    ToyTool::new(name, Toy::Echo, "free", Boundaries::default())
}

fn agent(rules: &[Rule], tools: &[(&str, bool)]) -> Agent {
    Agent {
        rules: rules.to_vec(),
        tools: tools.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect(),
        ..Agent::new("build", None)
    }
}

fn offered(registry: &Registry, agent: &Agent, model: &str, has_user: bool) -> Vec<String> {
    let model = ModelRef { provider: "p".to_owned(), model: model.to_owned() };
    let offered = registry.offered(&Situation { agent, model: &model, has_user, has_skills: true });
    offered.names().map(str::to_owned).collect()
}

/// Of the ways to change files.
fn changes(model: &str, tools: &[(&str, bool)]) -> Vec<String> {
    let mut offered = offered(&Registry::builtin(), &agent(&[], tools), model, true);
    offered.retain(|name| ["apply_patch", "edit", "multiedit", "write"].contains(&name.as_str()));
    offered
}

fn deny(permission: &str) -> Rule {
    let (permission, pattern) = (permission.to_owned(), "*".to_owned());
    Rule { permission, pattern, verdict: Verdict::Deny, origin: Origin::Editor }
}

#[test]
fn a_model_gets_patches_or_edits() {
    for (model, patches) in [
        ("gpt-5.2-codex", true),
        ("openai/gpt-5", true),
        ("gpt-4.1", false),
        ("gpt-oss-120b", false),
        ("claude-sonnet-4-5", false),
        ("qwen3-coder", false),
    ] {
        let expected: &[&str] = if patches { &["apply_patch"] } else { &["edit", "multiedit", "write"] };
        assert_eq!(changes(model, &[]), expected, "{model}");
    }
}

#[test]
fn a_model_whose_patches_are_switched_off_edits() {
    assert_eq!(changes("gpt-5", &[("apply_patch", false)]), ["edit", "multiedit", "write"]);
    assert_eq!(changes("gpt-5", &[("apply_patch", true), ("edit", true)]), ["apply_patch"]);
    assert_eq!(changes("m", &[("apply_patch", true)]), ["edit", "multiedit", "write"], "no model gets both");
    assert_eq!(changes("m", &[("edit", false)]), ["multiedit", "write"]);
}

#[test]
fn what_rules_deny_and_what_is_invalid_is_not_offered() {
    let registry = Registry::builtin();
    let of = |rules: &[Rule], model: &str| offered(&registry, &agent(rules, &[]), model, true);
    let all = of(&[], "m");
    assert!(all.is_sorted() && !all.contains(&INVALID.to_owned()), "{all:?}");
    let without = |gone: &[&str]| all.iter().filter(|name| !gone.contains(&name.as_str())).cloned().collect::<Vec<_>>();
    assert_eq!(of(&[deny("grep")], "m"), without(&["grep"]));
    let edits = ["edit", "write", "multiedit"];
    assert_eq!(of(&[deny("edit")], "m"), without(&edits));
    assert_eq!(of(&[deny("edit")], "gpt-5"), without(&edits), "patches are edits");
    assert_eq!(of(&[deny("bash")], "m"), without(&["bash", "job"]), "jobs are commands");
    assert_eq!(of(&[deny("*")], "m"), [""; 0]);
    let mut exception = deny("edit");
    exception.pattern = "*.md".to_owned();
    assert_eq!(of(&[exception], "m"), all, "a deny for some files hides nothing");
}

#[test]
fn switches_decide_over_the_table_and_rules_over_switches() {
    fn nothing() -> Registry {
        let plain = Listed::always(toy("plain"));
        let off = Listed::always(toy("off")).on_if(|_| false);
        let asks = Listed::always(toy("asks")).only_if(|now| now.has_user);
        let hosted = Listed::always(toy("hosted")).on_if(|situation| situation.model.provider == "q");
        Registry { tools: vec![plain, off, asks, hosted] }
    }
    let check = |rules: &[Rule], tools: &[(&str, bool)], has_user: bool, expected: &[&str]| {
        assert_eq!(offered(&nothing(), &agent(rules, tools), "m", has_user), expected, "{tools:?}");
    };
    check(&[], &[], true, &["asks", "plain"]);
    check(&[], &[], false, &["plain"]);
    check(&[], &[("asks", true)], false, &["plain"]);
    check(&[], &[("off", true), ("hosted", true), ("plain", false)], true, &["asks", "hosted", "off"]);
    check(&[deny("off")], &[("off", true)], true, &["asks", "plain"]);
    let model = ModelRef { provider: "q".to_owned(), model: "m".to_owned() };
    let agent = agent(&[], &[]);
    let here = nothing().offered(&Situation { agent: &agent, model: &model, has_user: false, has_skills: true });
    assert_eq!(here.names().collect::<Vec<_>>(), ["hosted", "plain"]);
}

#[test]
fn the_order_is_that_of_the_table_and_a_later_tool_takes_the_place_of_its_name() {
    let names = |registry: &Registry| registry.names().map(str::to_owned).collect::<Vec<_>>();
    let builtin = names(&Registry::builtin());
    let at = |name: &str| builtin.iter().position(|known| known == name).unwrap();
    assert_eq!(at("invalid"), 0);
    for pair in ["bash", "read", "glob", "grep", "edit", "multiedit", "write", "todowrite", "apply_patch"].windows(2) {
        assert!(at(pair[0]) < at(pair[1]), "{pair:?}");
    }
    let custom = Registry::builtin().with([toy("own"), toy("read")]);
    assert_eq!(names(&custom), [builtin, vec!["own".to_owned()]].concat());
    assert_eq!(custom.kind("read", &Value::Null), ToolKind::Other, "a custom tool beats the built-in one");
}

#[test]
fn a_name_in_other_letters_is_repaired_where_it_can_mean_one_tool_alone() {
    let registry = Registry::new([toy("read"), toy("Find_It"), toy("find_it"), toy("ask")]);
    let find = |name: &str| registry.all().find(name).map(|tool| tool.name().to_owned());
    assert_eq!(find("READ").as_deref(), Some("read"));
    assert_eq!(find("Ask").as_deref(), Some("ask"));
    assert_eq!(find("Find_It").as_deref(), Some("Find_It"));
    assert_eq!(find("FIND_IT"), None, "it could be either");
    assert_eq!(find("reads"), None);
}

#[test]
fn schemas_are_those_of_the_portable_subset() {
    for (name, schema) in Registry::builtin().parameters() {
        assert_eq!(portable(&schema).to_string(), schema.to_string(), "{name}");
        assert_eq!(schema["type"], json!("object"));
    }
}

#[test]
fn r21_1_the_title_of_a_call_is_bounded_but_for_commands() {
    let registry = Registry::builtin();
    let facts = crate::workbench::Bench::new().facts;
    let long = "x".repeat(100_000);
    for (tool, input) in [
        ("grep", json!({ "pattern": long })),
        ("glob", json!({ "pattern": "*", "path": long })),
        ("read", json!({ "filePath": long })),
        ("webfetch", json!({ "url": long })),
        (long.as_str(), json!({})),
    ] {
        let title = registry.title(tool, &input, &facts);
        assert!(title.chars().count() == 301 && title.ends_with('…'), "{} characters", title.chars().count());
    }
    assert!(registry.title("bash", &json!({ "command": long }), &facts).len() >= long.len(), "nothing of it hides");
}

/// Of each tool from what a call may hold, and from nothing: models send arguments piece by piece.
#[test]
fn each_title_is_one_line_that_says_what_is_done_to_what() {
    let (registry, facts) = (Registry::builtin(), crate::workbench::Bench::new().facts);
    let arguments = serde_json::json!({
        "filePath": "/w/src/a.rs",
        "path": "src",
        "pattern": "fn\n main",
        "command": "make\nrun",
        "patchText": "*** Begin Patch\n*** Delete File: a\n*** End Patch",
        "url": "https://docs.rs/x",
        "query": "rust\u{202e} async",
        "action": "kill",
        "id": "job_1",
        "name": "review",
        "operation": "hover",
        "line": 3,
        "todos": [{"content": "edit", "status": "pending", "priority": "high"}],
        "questions": [{"header": "Colour", "question": "Which one?", "options": []}],
        "tool_calls": [{"tool": "read", "parameters": {}}],
        "tool": "spell",
    });
    let titles = |arguments: &Value| {
        let title = |name: &str| {
            let title = registry.title(name, arguments, &facts);
            assert!(title.lines().count() == 1 && !title.contains('\u{202e}'), "{name}: {title:?}");
            format!("{name}: {title}")
        };
        registry.names().map(title).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(titles(&arguments), @r"
    invalid: Unknown tool spell
    question: Asked 1 question
    bash: make
    job: Kill fn\n main of job_1
    read: Read src/a.rs
    list: List src
    glob: Find fn\n main in src
    grep: Search fn\n main in src
    edit: Edit src/a.rs
    multiedit: Edit src/a.rs
    write: Write src/a.rs
    webfetch: Fetch https://docs.rs/x
    todowrite: 1 todos
    todoread: Look at the list of things to do
    websearch: Search the web: rust\u{202e} async
    codesearch: Search public code: rust\u{202e} async
    skill: Load skill review
    lsp: hover src/a.rs:3
    apply_patch: Patch a
    plan_exit: Leave plan mode
    plan_enter: Enter plan mode
    batch: 1 call at once
    ");
    insta::assert_snapshot!(titles(&Value::Null), @r"
    invalid: Unknown tool
    question: Asked 0 questions
    bash: Run a command
    job: Background jobs
    read: Read
    list: List the workspace
    glob: Find
    grep: Search
    edit: Edit
    multiedit: Edit
    write: Write
    webfetch: Fetch
    todowrite: 0 todos
    todoread: Look at the list of things to do
    websearch: Search the web
    codesearch: Search public code
    skill: Load skill
    lsp: lsp
    apply_patch: Patch
    plan_exit: Leave plan mode
    plan_enter: Enter plan mode
    batch: 0 calls at once
    ");
}
