//! What commands ask at their terminal, answered by the user through every face, on the built daemon. Needs the program: `cargo build -p copydesk`.

use std::time::{Duration, Instant};

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, FakeEditor};
use copydesk_tests::pty::Pty;
use copydesk_tests::scripted_model::{Reply, ScriptedModel};
use serde_json::{Value, json};

use super::questions::{finish, forms, run, told};

const TYPED: &str = "hunter2-and-more";

/// Asks for a line, then for a secret, and shows what it has got.
fn commands_that_ask() -> Reply {
    let command = "read -p 'Name? ' a; read -sp 'Password: ' b; echo \"<${#a} ${#b} $b>\"";
    Reply::call("bash", json!({ "command": command, "interactive": true }))
}

fn where_commands_are_free(model: &ScriptedModel) -> Home {
    let home = Home::new();
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "bash": "allow" } }));
    home
}

pub(super) fn secrets() -> Value {
    json!({ "elicitation": { "form": { "_meta": { "copydesk": { "secrets": true } } } } })
}

/// Nothing below this folder holds the text.
pub(super) fn is_nowhere(folder: &std::path::Path, text: &str) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            is_nowhere(&entry.path(), text);
        } else if kind.is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let holds = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!holds, "{}", entry.path().display());
        }
    }
}

#[tokio::test]
async fn c49_r7_2_the_user_types_what_a_command_asks_and_it_is_stored_nowhere() {
    for face in ["acp", "serve"] {
        let script = [commands_that_ask(), Reply::text("Done.")];
        let model = ScriptedModel::start(script).await;
        let home = where_commands_are_free(&model);
        let client = match face {
            "acp" => FakeEditor::open_acp(home, secrets()).await,
            _ => {
                let opt_in = json!({ "protocol": 1, "acp": secrets() });
                FakeEditor::open_with(home, Capabilities { opt_in, ..Capabilities::default() }).await
            }
        };
        client.disregard("session/update");
        let session = client.new_session().await;
        let prompt = client.prompt(&session, "go");
        for (message, is_secret, line) in
            [("The command asks: Name?", false, "Ada"), ("The command asks: Password:", true, TYPED)]
        {
            let (id, params) = client.await_request("elicitation/create").await;
            assert_eq!(
                (&params["message"], &params["_meta"]["copydesk"]["secret"]),
                (&json!(message), &json!(is_secret))
            );
            client.respond(&id, json!({ "action": "accept", "content": { "line": line } }));
        }
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn", "{face}");
        let said = told(&model);
        assert!(said.contains(&format!("<3 {} [typed]>", TYPED.len())) && said.contains("typed 2 lines"), "{said}");
        let requests: String = model.requests().iter().map(|request| request.body.to_string()).collect();
        assert!(!requests.contains(TYPED));
        is_nowhere(&client.home().path(), TYPED);
        finish(model, client).await;
    }
}

#[tokio::test]
async fn c49_a_client_that_keeps_no_secrets_is_asked_for_none() {
    let script = [commands_that_ask(), commands_that_ask(), Reply::text("Done.")];
    for capabilities in [forms(), json!({})] {
        let takes_forms = capabilities == forms();
        let model = ScriptedModel::start(script.clone()).await;
        let home = where_commands_are_free(&model);
        let client = FakeEditor::open_acp(home, capabilities).await;
        client.disregard("session/update");
        let session = client.new_session().await;
        let start = Instant::now();
        let prompt = client.prompt(&session, "go");
        if takes_forms {
            for line in ["Ada", "Grace"] {
                let (id, params) = client.await_request("elicitation/create").await;
                assert_eq!(params["message"], "The command asks: Name?");
                client.respond(&id, json!({ "action": "accept", "content": { "line": line } }));
            }
        }
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn");
        // C49: each of the two within five.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let said = told(&model);
        assert!(said.contains(if takes_forms { "<3 0 >" } else { "<0 0 >" }), "{said}");
        assert!(said.contains("it was told that there is none"), "{said}");
        finish(model, client).await;
    }
}

#[tokio::test]
async fn c49_r2_3_a_cancel_withdraws_what_a_command_asks() {
    let model = ScriptedModel::start([commands_that_ask()]).await;
    let home = where_commands_are_free(&model);
    let client = FakeEditor::open_acp(home, secrets()).await;
    client.disregard("session/update");
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    client.await_request("elicitation/create").await;
    client.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
    // `finish` fails on a question that is left open.
    finish(model, client).await;
}

#[tokio::test]
async fn c49_at_a_terminal_the_user_types_and_a_password_is_not_shown() {
    let model = ScriptedModel::start([commands_that_ask(), Reply::text("Done.")]).await;
    let home = where_commands_are_free(&model);
    let mut terminal = Pty::spawn(run(&home));
    let shown = terminal.expect("Your input > ").await;
    assert!(shown.contains("? The command asks: Name?"), "{shown}");
    terminal.type_text("Ada\n");
    let shown = terminal.expect("Your input, which is not shown > ").await;
    assert!(shown.contains("Ada") && shown.contains("? The command asks: Password:"), "{shown}");
    terminal.type_text(&format!("{TYPED}\n"));
    let (code, rest) = terminal.end().await;
    assert!(code == Some(0) && rest.contains("Done.") && !rest.contains(TYPED), "{rest}");
    assert!(told(&model).contains(&format!("<3 {} [typed]>", TYPED.len())), "{}", told(&model));
    is_nowhere(&home.path(), TYPED);
    model.finish();
}
