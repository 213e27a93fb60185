//! Grants and modes of permission on the built program: over ACP, by `copydesk permissions`, and in `copydesk run`. Needs `cargo build -p copydesk`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::FakeEditor;
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::{Value, json};

async fn start(script: impl Into<Script>) -> (ScriptedModel, Home) {
    let model = ScriptedModel::start(script).await;
    let home = Home::new();
    home.use_model(&model.base_url());
    (model, home)
}

fn command(text: &str) -> Reply {
    Reply::call("bash", json!({ "command": text, "description": "Run it" }))
}

/// The command first, then the end of the turn.
fn runs(text: &'static str) -> Script {
    Script::function(move |request| if request.results().is_empty() { command(text) } else { Reply::text("Done.") })
}

/// Standard output, or `failed: ` with standard error; the home as `~`.
async fn permissions(home: &Home, arguments: &[&str]) -> String {
    let (code, output, errors) = home.ended(&[&["permissions"], arguments].concat()).await;
    let text = if code == Some(0) { output } else { format!("failed: {errors}") };
    text.replace(&home.path().display().to_string(), "~")
}

async fn listed(home: &Home) -> Vec<Value> {
    let mut list: Value = serde_json::from_str(&permissions(home, &["--json"]).await).unwrap();
    list["grants"].take().as_array().unwrap().clone()
}

/// The option of the ask whose label begins so.
fn option<'a>(ask: &'a Value, label: &str) -> &'a Value {
    let options = ask["options"].as_array().unwrap();
    let found = options.iter().find(|option| option["name"].as_str().unwrap().starts_with(label));
    &found.unwrap_or_else(|| panic!("{label}: {options:?}"))["optionId"]
}

async fn turn_that_is_asked(client: &FakeEditor, session: &str, label: &str) -> Value {
    let prompt = client.prompt(session, "go");
    let (ask, params) = client.await_request("session/request_permission").await;
    client.respond(&ask, json!({ "outcome": { "outcome": "selected", "optionId": option(&params, label) } }));
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
    params
}

async fn grants(client: &FakeEditor, session: &str, revoke: &[&str]) -> Value {
    let params = json!({ "sessionId": session, "revoke": revoke });
    client.request("_copydesk/grants", params).await.unwrap()
}

#[tokio::test]
async fn r9_1_what_is_allowed_in_a_project_is_seen_by_other_daemons_and_taken_back() {
    let (model, home) = start(runs("touch made")).await;
    home.write("src/.hidden/a.txt", "a\n");
    let before = listing(&home.workspace());
    let client = FakeEditor::open_acp(home.clone(), json!({})).await;
    client.disregard("session/update");
    let session = client.new_session().await;
    let ask = turn_that_is_asked(&client, &session, "Allow in this project: ").await;
    let labels: Vec<_> = ask["options"].as_array().unwrap().iter().map(|option| option["kind"].clone()).collect();
    assert_eq!(labels, ["allow_once", "allow_always", "allow_always", "reject_once"]);
    assert!(ask["options"][2]["name"].as_str().unwrap().ends_with("(agent build)"), "{ask}");

    // Another daemon, and a later session.
    let other = FakeEditor::open_acp(home.clone(), json!({})).await;
    other.disregard("session/update");
    let elsewhere = other.new_session().await;
    other.turn(&elsewhere, "go").await;
    let answer = grants(&other, &elsewhere, &[]).await;
    assert_eq!((&answer["revoked"], answer["grants"].as_array().unwrap().len()), (&json!(0), 1), "{answer}");
    let grant = &answer["grants"][0];
    assert_eq!((&grant["scope"], &grant["agent"]), (&json!("project"), &json!("build")));
    let kept = listed(&home).await;
    assert_eq!((kept.len(), &kept[0]["id"], &kept[0]["project"]), (1, &grant["id"], &json!("~/project")));
    let file = home.data().join("copydesk/grants.json");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(file).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let mut made = listing(&home.workspace());
    assert_eq!(made.remove(Path::new("made")), Some(Vec::new()), "the command has run");
    assert_eq!(made, before, "nothing is kept in the repository");

    // Taken back in one window, it is asked again in the other.
    let answer = grants(&client, &session, &[grant["id"].as_str().unwrap(), "grt_unknown"]).await;
    assert_eq!((&answer["revoked"], &answer["grants"]), (&json!(1), &json!([])));
    let again = other.new_session().await;
    turn_that_is_asked(&other, &again, "Allow once").await;
    assert_eq!(other.request("_copydesk/grants", json!({ "sessionId": "ses_nobody" })).await.unwrap_err().code, -32002);
    client.finish().await;
    other.finish().await;
    assert!(
        listing(&home.workspace()).keys().eq(before.keys().chain([&PathBuf::from("made")]).collect::<BTreeSet<_>>())
    );
    model.finish();
}

/// Everything below `folder`: files with what they hold, folders without.
fn listing(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(folder).unwrap().to_owned();
            let is_folder = path.symlink_metadata().unwrap().is_dir();
            all.insert(name, if is_folder { Vec::new() } else { std::fs::read(&path).unwrap() });
            left.extend(is_folder.then_some(path));
        }
    }
    all
}

/// The option of the session by which a client of ACP takes answers back.
fn listed_option(options: &Value) -> Option<&Value> {
    options.as_array().unwrap().iter().find(|option| option["id"] == "grants")
}

#[tokio::test]
async fn r9_1_a_client_of_acp_lists_and_takes_back_by_an_option_of_the_session() {
    let (model, home) = start(runs("touch made")).await;
    let client = FakeEditor::open_acp(home.clone(), json!({})).await;
    let created = client.request("session/new", json!({ "cwd": home.workspace(), "mcpServers": [] })).await.unwrap();
    assert_eq!(listed_option(&created["configOptions"]), None, "nothing is allowed yet");
    let session = created["sessionId"].as_str().unwrap().to_owned();
    turn_that_is_asked(&client, &session, "Allow in this project: ").await;

    let told: Vec<Value> = client
        .take_notifications("session/update")
        .into_iter()
        .filter(|told| told["update"]["sessionUpdate"] == "config_option_update")
        .collect();
    let option = listed_option(&told.last().unwrap()["update"]["configOptions"]).unwrap();
    let values = option["options"].as_array().unwrap();
    assert_eq!(
        (values.len(), &option["currentValue"], &values[0]["name"]),
        (2, &json!("keep"), &json!("1 answer holds"))
    );
    assert_eq!(values[1]["name"], "Take back: bash \"touch\" with any arguments (agent build)");
    assert_eq!(values[1]["description"], "Allowed in this project");

    let set = |value: &Value| json!({ "sessionId": session, "configId": "grants", "value": value });
    let refused = client.request("session/set_config_option", set(&json!("grt_nobody"))).await.unwrap_err();
    assert_eq!(refused.code, -32602);
    let kept = client.request("session/set_config_option", set(&json!("keep"))).await.unwrap();
    assert!(listed_option(&kept["configOptions"]).is_some());
    let taken = client.request("session/set_config_option", set(&values[1]["value"])).await.unwrap();
    assert_eq!(listed_option(&taken["configOptions"]), None);
    let later = client.new_session().await;
    turn_that_is_asked(&client, &later, "Allow once").await;
    client.disregard("session/update");
    client.finish().await;
    model.finish();
}

#[tokio::test]
async fn r9_1_grants_are_listed_given_and_taken_back_on_the_command_line() {
    let home = Home::new();
    assert_eq!(permissions(&home, &[]).await, "Nothing is allowed for longer than a session.\n");
    let given = permissions(&home, &["allow", "bash", "git log *", "--everywhere"]).await;
    assert!(given.starts_with("Allowed from now on:\nEverywhere:\n"), "{given}");
    assert!(given.ends_with("bash \"git log\" with any arguments (agent build)\n"), "{given}");
    permissions(&home, &["allow", "bash", "git log *", "--everywhere"]).await;
    permissions(&home, &["allow", "edit", "a.txt", "--project", "--every-agent"]).await;
    permissions(&home, &["allow", "bash", "make", "--project", "--agent", "plan"]).await;
    let list = permissions(&home, &[]).await;
    assert!(list.contains("Everywhere:\n") && list.contains("In ~/project:\n"), "{list}");
    let kept = listed(&home).await;
    let texts: Vec<_> = kept.iter().map(|grant| grant["text"].as_str().unwrap()).collect();
    assert_eq!(
        texts,
        [
            "bash \"git log\" with any arguments (agent build)",
            "edit \"a.txt\" (every agent)",
            "bash \"make\" (agent plan)"
        ]
    );
    assert!(permissions(&home, &["allow", "ba*", "x", "--project"]).await.starts_with("failed: A grant is for one"));
    assert!(permissions(&home, &["allow", "bash", "x"]).await.starts_with("failed: "), "a place must be named");
    assert!(permissions(&home, &["revoke", "grt_nobody"]).await.starts_with("failed: Nothing has such an id"));
    let taken = permissions(&home, &["revoke", kept[1]["id"].as_str().unwrap()]).await;
    assert!(taken.starts_with("Taken back:\nIn ~/project:\n") && taken.contains("edit \"a.txt\""), "{taken}");
    let cleared = permissions(&home, &["clear", "--project"]).await;
    assert!(cleared.contains("bash \"make\"") && !cleared.contains("git log"), "{cleared}");
    assert_eq!(listed(&home).await.len(), 1);
    permissions(&home, &["clear"]).await;
    assert_eq!(listed(&home).await, Vec::<Value>::new());
    assert_eq!(permissions(&home, &["clear"]).await, "Nothing was allowed there.\n");
}

#[tokio::test]
async fn r9_1_a_torn_file_is_said_and_kept_when_one_begins_anew() {
    let home = Home::new();
    permissions(&home, &["allow", "bash", "make", "--everywhere"]).await;
    let file = home.data().join("copydesk/grants.json");
    std::fs::write(&file, "{\"version\": 1, \"grants\": [").unwrap();
    for arguments in [&["list"][..], &["allow", "bash", "x", "--everywhere"], &["revoke", "a"], &["clear", "--project"]]
    {
        let said = permissions(&home, arguments).await;
        assert!(said.starts_with("failed: ") && said.contains("grants.json is not valid JSON"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"version\": 1, \"grants\": [");
    let said = permissions(&home, &["clear"]).await;
    assert!(said.contains("grants.json.damaged-1"), "{said}");
    assert_eq!(permissions(&home, &[]).await, "Nothing is allowed for longer than a session.\n");
}

#[tokio::test]
async fn r9_1_what_the_command_line_allows_everywhere_is_not_asked_and_an_explicit_deny_beats_it() {
    let (model, home) = start(runs("echo hi > made")).await;
    permissions(&home, &["allow", "bash", "*", "--everywhere"]).await;
    permissions(&home, &["allow", "edit", "made", "--everywhere"]).await;
    let run = async |home: &Home| {
        let (_, output, errors) = home.ended(&["run", "go"]).await;
        output + &errors
    };
    let said = run(&home).await;
    assert!(home.workspace().join("made").exists(), "{said}");
    std::fs::remove_file(home.workspace().join("made")).unwrap();
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "bash": { "echo *": "deny" } } }));
    let said = run(&home).await;
    assert!(!home.workspace().join("made").exists() && said.contains("denied by rule bash \"echo *\""), "{said}");
    model.finish();
}

#[tokio::test]
async fn r9_3_the_mode_is_an_option_of_the_session_told_and_kept_with_it() {
    let make =
        |name: &str| Reply::call("bash", json!({ "command": format!("mkdir {name}"), "description": "Make a folder" }));
    let (model, home) = start([
        make("one"),
        Reply::text("Done."),
        make("two"),
        Reply::text("Done."),
        make("three"),
        Reply::text("Done."),
    ])
    .await;
    let client = FakeEditor::open_acp(home.clone(), json!({})).await;
    let new = json!({ "cwd": home.workspace(), "mcpServers": [] });
    let opened = client.request("session/new", new).await.unwrap();
    let permission = |options: &Value| {
        options.as_array().unwrap().iter().find(|option| option["id"] == "permission").unwrap().clone()
    };
    assert_eq!(permission(&opened["configOptions"])["currentValue"], "ask");
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    turn_that_is_asked(&client, &session, "Allow once").await;
    let set = |value: &str| json!({ "sessionId": session, "configId": "permission", "value": value });
    assert_eq!(client.request("session/set_config_option", set("free")).await.unwrap_err().code, -32602);
    let answer = client.request("session/set_config_option", set("workspace")).await.unwrap();
    assert_eq!(permission(&answer["configOptions"])["currentValue"], "workspace");
    let told = client.await_update("config_option_update").await;
    assert_eq!(permission(&told["configOptions"])["currentValue"], "workspace");
    client.disregard("session/update");
    client.turn(&session, "go").await;
    client.finish().await;

    let later = FakeEditor::open_acp(home.clone(), json!({})).await;
    later.disregard("session/update");
    let load = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    let loaded = later.request("session/load", load).await.unwrap();
    assert_eq!(permission(&loaded["configOptions"])["currentValue"], "workspace");
    later.turn(&session, "go").await;
    assert!(home.workspace().join("three").is_dir());
    later.finish().await;
    model.finish();
}

#[tokio::test]
async fn r9_3_the_mode_is_chosen_on_the_command_line_and_in_the_configuration() {
    let write = || Reply::call("write", json!({ "filePath": "a.txt", "content": "text\n" }));
    let (model, home) = start([write(), Reply::text("Done."), write(), Reply::text("Done.")]).await;
    let file = home.workspace().join("a.txt");
    let run = async |arguments: &[&str]| home.ended(&[&["run"], arguments].concat()).await.0;
    assert_eq!(run(&["--permission-mode", "workspace", "go"]).await, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "text\n");
    assert_eq!(run(&["--permission-mode", "free", "go"]).await, Some(2));
    std::fs::remove_file(&file).unwrap();
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission_mode": "workspace" }));
    assert_eq!(run(&["go"]).await, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "text\n");
    model.finish();
}
