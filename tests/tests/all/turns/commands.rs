//! Commands in whole turns: their output, and what they see of the daemon.

use super::*;

#[tokio::test]
async fn c46_c51_r7_4_output_of_every_kind_comes_back() {
    let commands = [
        ("head -c 3000000 /dev/zero | tr '\\0' x; echo the end", "the end"),
        ("printf 'a\\377\\000b'", "exit code 0"),
        ("sleep 600 & echo hi", "1 process that it started still runs"),
        ("false", "exit code 1"),
        ("kill -9 $$", "signal 9"),
        ("exit 300", "exit code 44"),
        ("read -p name? x; echo \"<$x>\"", "<>"),
        ("cat /dev/tty", "exit code 1"),
    ];
    let mut replies: Vec<Reply> = commands.iter().map(|(command, _)| bash(command)).collect();
    replies.push(Reply::call("bash", json!({ "command": "pwd", "description": "d", "workdir": "nowhere" })));
    replies.push(Reply::text("done"));
    let (model, editor, session) = start(replies).await;
    editor.answer_permissions_with("allow_once");
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    let results = last_results(&model);
    for ((command, expected), result) in commands.iter().zip(&results) {
        assert!(result.contains(expected), "{command}: {}", &result[result.len().saturating_sub(400)..]);
        assert!(result.len() < 100_000, "{command}: {}", result.len());
    }
    assert_holds(results.last().unwrap(), "nowhere");
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn r19_3_no_key_reaches_a_command() {
    let look = "env; echo; cat /proc/$PPID/environ && echo readable; cat /proc/$PPID/mem && echo readable; true";
    let model = ScriptedModel::start([bash(look), Reply::text("done")]).await;
    let mut home = Home::new();
    for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_OWN_KEY", "BY_ENV"] {
        home.set_variable(name, "sekrit");
    }
    home.set_variable("HARMLESS", "kept");
    home.configure(
        &json!({
            "model": "scripted/model",
            "provider": {
                "scripted": { "options": { "baseURL": model.base_url(), "apiKey": "{env:MY_OWN_KEY}" }, "models": { "model": {} }, "env": ["BY_ENV"] },
            },
        })
        .to_string(),
    );
    // As users run it: with debugging off, and without the rights of root.
    home.set_variable("COPYDESK_LOG", "warn");
    home.give_up_root();
    let (editor, session) = open(home).await;
    editor.answer_permissions_with("allow_once");
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    assert_eq!(model.requests()[0].authorization(), Some("Bearer sekrit"));
    let result = &last_results(&model)[0];
    assert!(!result.contains("sekrit"), "{result}");
    assert!(!result.contains("readable"), "{result}");
    assert_holds(result, "HARMLESS=kept");
    editor.finish().await;
    model.finish();
}
