#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use copydesk_workspace::disk::MemoryDisk;
use copydesk_workspace::path::AbsPath;

use super::*;
use crate::engine::Engine;
use crate::ports::Ports;
use crate::testing::{FakeEnvironment, FakeModel, World};

const USER: &str = "/home/user/.config/copydesk/copydesk.jsonc";
const PROJECT: &str = "/home/user/project/copydesk.json";

fn survey<const N: usize>(files: &[(&str, &str)], variables: [(&str, &str); N]) -> Survey {
    let world = World::new(FakeModel::new().0);
    let put = |disk: &MemoryDisk| {
        for (file, text) in files {
            disk.put(&AbsPath::new(file).unwrap(), text.as_bytes());
        }
    };
    put(&world.disk);
    let ports = Ports { environment: FakeEnvironment::new(variables), ..world.ports.clone() };
    let engine: Arc<Engine> = Engine::new(ports);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(engine.survey(world.folder()))
}

fn check(survey: &Survey, key: &str, expected: &[&str]) {
    let said: Vec<String> = survey
        .explain(key)
        .into_iter()
        .map(|said| {
            let mark = if said.in_force { "+" } else { "-" };
            format!("{mark} {}:{}: {} = {}", said.source, said.line, said.key, said.value)
        })
        .collect();
    assert_eq!(said, expected, "{key}");
}

#[test]
fn a_key_is_followed_from_the_weakest_to_the_strongest() {
    let survey = survey(
        &[
            (USER, "{\n  \"model\": \"openai/user\",\n  \"tool_output\": { \"max_lines\": 10 }\n}"),
            (PROJECT, "{\n\"model\": \"openai/project\" }"),
        ],
        [("COPYDESK_CONFIG_CONTENT", r#"{"tool_output": {"max_bytes": 5}}"#)],
    );
    check(
        &survey,
        "model",
        &[
            "- /home/user/.config/copydesk/copydesk.jsonc:2: model = \"openai/user\"",
            "+ /home/user/project/copydesk.json:2: model = \"openai/project\"",
        ],
    );
    check(
        &survey,
        "tool_output",
        &[
            "+ /home/user/.config/copydesk/copydesk.jsonc:3: tool_output.max_lines = 10",
            "+ variable COPYDESK_CONFIG_CONTENT:1: tool_output.max_bytes = 5",
        ],
    );
    check(&survey, "default_agent", &[]);
    assert_eq!(survey.config.model.as_ref().unwrap().model, "project");
}

#[test]
fn rules_of_a_project_replace_none_of_the_user_s() {
    let survey = survey(
        &[
            (USER, r#"{"permission": {"bash": {"git push *": "allow", "*.sh": "ask"}}}"#),
            (PROJECT, r#"{"permission": {"bash": {"git push *": "deny"}}}"#),
        ],
        [],
    );
    check(
        &survey,
        "permission.bash.git push *",
        &[
            "+ /home/user/.config/copydesk/copydesk.jsonc:1: permission.bash.git push * = \"allow\"",
            "+ /home/user/project/copydesk.json:1: permission.bash.git push * = \"deny\"",
        ],
    );
    // A name that holds a dot.
    check(
        &survey,
        "permission.bash.*.sh",
        &["+ /home/user/.config/copydesk/copydesk.jsonc:1: permission.bash.*.sh = \"ask\""],
    );
}

#[test]
fn secrets_are_never_shown() {
    let text = r#"{"provider": {"work": {"options": {
        "baseURL": "{env:WORK_URL}", "apiKey": "sk-plain-secret", "headers": {"X-Team": "desk-secret"}, "chunkTimeout": 5
    }}, "llama.cpp": {"name": "{file:/secret.txt}", "options": {"extra": {"access_token": "t-secret"}}}}}"#;
    let survey = survey(&[(USER, text), ("/secret.txt", "file-secret")], [("WORK_URL", "https://env-secret/v1")]);
    let all: String = survey.explain("").iter().map(|said| format!("{} = {}\n", said.key, said.value)).collect();
    assert!(all.contains("chunkTimeout = 5") && all.contains("(hidden)"), "{all}");
    assert!(!all.contains("secret") && !all.contains("desk"), "{all}");
}

#[test]
fn every_place_is_listed_with_what_was_found() {
    let survey = survey(
        &[(USER, "{}"), (PROJECT, "{ broken"), ("/home/user/project/.copydesk/agent/a.md", "---\nmode: all\n---\nHi")],
        [("COPYDESK_CONFIG", "/nowhere.json"), ("COPYDESK_PERMISSION", "\"ask\"")],
    );
    let found = |name: &str| {
        let place = survey.places.iter().find(|place| place.source.to_string() == name);
        place.map(|place| place.found)
    };
    assert_eq!(found(USER), Some(Found::Taken));
    assert_eq!(found(PROJECT), Some(Found::LeftOut));
    assert_eq!(found("/home/user/.config/opencode/opencode.json"), Some(Found::Absent));
    assert_eq!(found("/home/user/project/opencode.json"), Some(Found::Absent));
    assert_eq!(found("/home/user/project/.copydesk/agent/a.md"), Some(Found::Taken));
    assert_eq!(found("variable COPYDESK_PERMISSION"), Some(Found::Taken));
    let order: Vec<String> = survey.places.iter().map(|place| place.source.to_string()).collect();
    let at = |name: &str| order.iter().position(|place| place == name);
    assert!(at(USER) < at(PROJECT) && at(PROJECT) < at("variable COPYDESK_PERMISSION"), "{order:#?}");
}

#[test]
fn keys_are_described_by_the_schema() {
    assert_eq!(describe("model").as_deref(), Some("The model to talk to, as `provider/model`."));
    for known in ["agent.my.own.steps", "provider.llama.cpp.options.baseURL", "tool_output.max_lines", "permission"] {
        assert!(describe(known).is_some(), "{known}");
    }
    for unknown in ["modell", "tool_output.lines", "agent.build.stepss"] {
        assert_eq!(describe(unknown), None, "{unknown}");
    }
}
