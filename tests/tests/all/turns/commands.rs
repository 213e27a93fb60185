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
            "sandbox": { "environment": ["HARMLESS", "BY_*"] },
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

#[tokio::test]
async fn c53_r9_2_rules_for_single_commands_hold_inside_longer_texts() {
    let rules = json!({ "permission": { "bash": { "git log *": "allow", "echo *": "allow", "rm *": "deny" } } });
    let commands =
        ["A=1 echo one 2>&1 | echo two", "echo a && rm kept.txt", "echo \"$(rm kept.txt)\"", "bash -c 'rm kept.txt'"];
    let mut replies: Vec<Reply> = commands.iter().map(|command| bash(command)).collect();
    replies.push(Reply::text("done"));
    let (model, editor, session) = start_with(replies, json!({}), rules).await;
    let kept = editor.home().workspace().join("kept.txt");
    std::fs::write(&kept, "x").unwrap();
    // Nothing is asked: an ask would go without an answer.
    assert_eq!(say(&editor, &session, "go").await, "end_turn");
    let results = last_results(&model);
    assert_holds(&results[0], "two");
    for denied in &results[1..] {
        assert_holds(denied, "`rm kept.txt`: denied by rule bash \"rm *\"");
    }
    assert!(kept.exists());
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn c59_the_ask_marks_the_part_that_made_it_a_question() {
    let rules = json!({ "permission": { "bash": { "echo *": "allow", "git push *": "ask" } } });
    let script = [bash("echo one && git push --dry-run \u{202e}x; echo two")];
    let (model, editor, session) = start_with(script, json!({}), rules).await;
    let prompt = editor.prompt(&session, "go");
    let (id, params) = editor.await_request("session/request_permission").await;
    let command = &params["_meta"]["copydesk"]["command"];
    assert_eq!(command["shown"], "echo one && git push --dry-run \\u{202e}x; echo two");
    assert_eq!(command["asked"].as_array().unwrap().len(), 1);
    let part = &command["asked"][0];
    assert_eq!((part["start"].as_u64(), part["line"].as_u64()), (Some(12), Some(1)));
    assert_eq!(part["text"], "git push --dry-run \\u{202e}x");
    assert_holds(part["reason"].as_str().unwrap(), "asked by rule bash \"git push *\": ask");
    assert_holds(&params["toolCall"]["content"].to_string(), "Asked because of");
    editor.respond(&id, selected(&params, "reject_once"));
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    editor.finish().await;
    model.finish();
}
