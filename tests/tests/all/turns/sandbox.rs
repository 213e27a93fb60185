//! Commands in the sandbox, through the daemon: what it refuses is told, what runs outside of it is asked, and the end of the daemon is theirs.

use super::*;

/// Whether this system has one, by the daemon's own word.
async fn has_sandbox() -> bool {
    let output = Home::new().command(&["doctor", "--format", "json"]).output().await.unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let check = report["checks"].as_array().unwrap().iter().find(|check| check["check"] == "sandbox").unwrap().clone();
    match check["status"].as_str().unwrap() {
        "ok" => {
            assert_holds(check["text"].as_str().unwrap(), "keys and other secrets are hidden");
            true
        }
        other => {
            assert_eq!(other, "warning");
            assert_holds(check["text"].as_str().unwrap(), "none: ");
            false
        }
    }
}

/// Asks the kernel itself, so that a daemon which finds no sandbox does not leave the tests of it out.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn r8_5_where_the_kernel_has_landlock_the_doctor_finds_the_sandbox() {
    const ASKS_FOR_THE_VERSION: u32 = 1;
    #[expect(unsafe_code, reason = "no crate asks for the version")]
    // SAFETY: with this flag the kernel reads no attributes.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, ASKS_FOR_THE_VERSION)
    };
    let actions = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    let has_filters = actions.split_whitespace().any(|action| action == "errno");
    assert_eq!(has_sandbox().await, version >= 3 && has_filters, "Landlock {version}, {actions}");
}

#[tokio::test]
async fn r8_5_what_the_sandbox_refuses_is_told_and_lifted_by_an_ask() {
    let home = Home::new();
    let outside = home.path().join("outside");
    let text = format!("echo x > {}", outside.display());
    let again = json!({ "command": text, "description": "d", "unconfined": "the user keeps notes there" });
    let secret = home.path().join("home/.ssh");
    let keys = format!("cat {}/id; env", secret.display());
    let model = ScriptedModel::start([bash(&text), bash(&keys), Reply::call("bash", again), Reply::text("done")]).await;
    home.use_model_with(&model.base_url(), json!({}), json!({ "sandbox": { "unreadable": [secret] } }));
    std::fs::create_dir_all(&secret).unwrap();
    std::fs::write(secret.join("id"), "SECRET").unwrap();
    let (editor, session) = open(home).await;
    let prompt = editor.prompt(&session, "go");
    let enforced = has_sandbox().await;
    for call in 0..3 {
        let (id, params) = editor.await_request("session/request_permission").await;
        let whole = params.to_string();
        assert_eq!(whole.contains("OUTSIDE OF THE SANDBOX, with all of your rights"), enforced && call == 2, "{whole}");
        assert_eq!(outside.exists(), !enforced && call > 0);
        editor.respond(&id, selected(&params, "allow_once"));
    }
    assert_eq!(stop_reason(&editor, prompt).await, "end_turn");
    assert!(outside.exists(), "the user has lifted it");
    let results = last_results(&model);
    if enforced {
        assert_holds(&results[0], "Permission denied");
        assert_holds(&results[0], "it ran in the sandbox");
        assert_holds(&results[0], "`unconfined`");
        assert!(!results[1].contains("SECRET"), "{}", results[1]);
        assert_holds(&results[1], "TMPDIR=");
    }
    editor.finish().await;
    model.finish();
}

/// What runs, what it has left behind, and what an earlier command has left behind.
#[tokio::test]
async fn r11_4_c75_a_killed_daemon_leaves_no_command_behind() {
    let (left, child, running) = (Beacon::new().await, Beacon::new().await, Beacon::new().await);
    let earlier = format!("(setsid bash -c '{}; sleep 600') </dev/null >/dev/null 2>&1 & sleep 0.2", left.light());
    let deaf = format!(
        "trap '' TERM INT HUP; (setsid env -i bash -c '{}; while :; do sleep 600; done') & {}; while :; do sleep 600; done",
        child.light(),
        running.light()
    );
    let (model, mut editor, session) = start([bash(&earlier), bash(&deaf)]).await;
    editor.answer_permissions_with("allow_once");
    let prompt = editor.prompt(&session, "go");
    let (left, child, running) = (left.seen().await, child.seen().await, running.seen().await);
    let process = editor.process().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-s", "KILL", &process]).status().unwrap().success());
    editor.await_end().await;
    for connection in [left, child, running] {
        assert_gone(connection, Duration::from_secs(5)).await;
    }
    editor.forget_or_take(prompt).await;
    editor.finish().await;
    model.finish();
}
