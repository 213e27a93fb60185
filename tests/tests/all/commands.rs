//! What commands change, found and recorded by the built daemon, whatever becomes of it. Needs the program: `cargo build -p copydesk`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use copydesk_adapters::store::sqlite::SqliteStore;
use copydesk_engine::ids::SessionId;
use copydesk_engine::ports::{By, Changes as _};
use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use copydesk_workspace::path::AbsPath;
use serde_json::json;

/// In the project, with the user's Git.
fn git(home: &Home, script: &str) -> String {
    let output = std::process::Command::new("bash")
        .args(["-ec", script])
        .current_dir(home.workspace())
        .env("HOME", home.path())
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "a")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "a@example.com")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs these commands one after the other, each in a call of its own, then says so.
async fn runs(commands: &'static [&'static str]) -> (ScriptedModel, Home) {
    let model = ScriptedModel::start(Script::function(move |request| match commands.get(request.results().len()) {
        Some(command) => Reply::call("bash", json!({ "command": command })),
        None => Reply::text("done"),
    }))
    .await;
    let home = Home::new();
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "bash": "allow" } }));
    (model, home)
}

fn store(home: &Home) -> SqliteStore {
    SqliteStore::new(AbsPath::new(home.data().join("copydesk/copydesk.db")).unwrap())
}

#[tokio::test]
async fn c26_r5_1_what_commands_changed_is_read_at_once_and_recorded_with_what_was_there() {
    const COMMANDS: &[&str] = &[
        "sed -i s/a/b/ f; rm gone; mv p q; printf '\\000\\377' >bin",
        "mkdir made; for name in 1 2; do echo $name >made/$name; done",
        "cat f",
    ];
    let (model, home) = runs(COMMANDS).await;
    let document = uri(&home.write("f", "a\n"));
    home.write("gone", [0, 1]);
    home.write("p", "moved\n");
    git(&home, "git init -q .; git add -A; git commit -qm first");
    let editor = FakeEditor::open(home.clone()).await;
    editor.disregard("session/update");
    editor.open_document(&document, "text", "a\n");
    let shown = document.clone();
    editor.script("_copydesk/files_changed", move |params| {
        assert_eq!(params["files"], json!([{ "uri": shown, "kind": "changed" }]), "the others are not the editor's");
        json!({ "reloaded": [], "conflicts": [] })
    });
    let session = editor.new_session().await;
    editor.turn(&session, "go").await;
    let requests = model.requests();
    let results = requests.last().unwrap().results();
    assert!(results[0].contains("f was changed meanwhile"), "{results:?}");
    assert!(results[1].contains("[files on the disk: created made/1, made/2]"), "{results:?}");
    assert!(results[2].starts_with("b"), "{results:?}");
    editor.finish().await;

    let (store, session) = (store(&home), SessionId::new(&session));
    let mut rows = Vec::new();
    for row in store.list(session.clone()).await.unwrap() {
        assert_eq!(row.by, By::Command);
        let mut states = Vec::new();
        for state in [row.before, row.after] {
            let bytes = match state {
                Some(content) => store.content(session.clone(), content.hash).await.unwrap(),
                None => None,
            };
            states.push(bytes.map_or("-".to_owned(), |bytes| format!("{:?}", String::from_utf8_lossy(&bytes))));
        }
        let name = row.path.relative_to(&AbsPath::new(home.workspace()).unwrap()).unwrap();
        rows.push(format!("{name}: {} {}", states[0], states[1]));
    }
    assert_eq!(
        rows,
        [
            "bin: - \"\\0\u{fffd}\"",
            "f: \"a\\n\" \"b\\n\"",
            "gone: \"\\0\\u{1}\" -",
            "p: \"moved\\n\" -",
            "q: - \"moved\\n\"",
            "made/1: - \"1\\n\"",
            "made/2: - \"2\\n\"",
        ]
    );
    model.finish();
}

/// At once, before an editor's watcher could have told: the buffer that was clean shows the file, the other one is the user's, and both are read as they stand.
#[tokio::test]
async fn c26_r6_3_a_clean_buffer_is_read_again_and_an_unsaved_one_is_a_conflict() {
    let calls = [
        ("read", json!({ "filePath": "clean" })),
        ("read", json!({ "filePath": "unsaved" })),
        ("bash", json!({ "command": "sed -i s/a/b/ clean unsaved" })),
        ("read", json!({ "filePath": "clean" })),
        ("read", json!({ "filePath": "unsaved" })),
        ("grep", json!({ "pattern": "line" })),
    ];
    let model = ScriptedModel::start(Script::function(move |request| match calls.get(request.results().len()) {
        Some((tool, input)) => Reply::call(tool, input.clone()),
        None => Reply::text("done"),
    }))
    .await;
    let home = Home::new();
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "bash": "allow" } }));
    let [clean, unsaved] = ["clean", "unsaved"].map(|name| uri(&home.write(name, "a line\n")));
    let editor = FakeEditor::open(home.clone()).await;
    editor.disregard("session/update");
    for document in [&clean, &unsaved] {
        editor.open_document(document, "text", "a line\n");
    }
    editor.type_text(&unsaved, (0, 0), (0, 0), "typed ");
    let session = editor.new_session().await;
    let prompt = editor.prompt(&session, "go");
    let (id, params) = editor.await_request("_copydesk/files_changed").await;
    let changed = |document: &str| json!({ "uri": document, "kind": "changed" });
    assert_eq!(params["files"], json!([changed(&clean), changed(&unsaved)]));
    editor.type_text(&clean, (0, 0), (0, 1), "b");
    editor.respond(&id, json!({ "reloaded": [clean], "conflicts": [unsaved] }));
    assert_eq!(editor.await_response(prompt).await.unwrap()["stopReason"], "end_turn");

    let requests = model.requests();
    let results = requests.last().unwrap().results();
    assert!(results[2].contains("[clean was changed meanwhile"), "{results:?}");
    assert!(results[2].contains(&format!("[conflict: {unsaved} has unsaved text")), "{results:?}");
    assert!(!results[2].contains(&format!("[conflict: {clean}")), "{results:?}");
    assert!(results[3].contains("1: b line") && !results[3].contains("a line"), "{results:?}");
    assert!(results[4].contains("1: typed a line") && !results[4].contains("b line"), "{results:?}");
    assert!(results[5].contains("b line") && results[5].contains("typed a line"), "{results:?}");
    assert_eq!(editor.document(&clean).text, "b line\n");
    assert_eq!(editor.document(&unsaved).text, "typed a line\n", "no reload takes what is unsaved");
    for name in ["clean", "unsaved"] {
        assert_eq!(std::fs::read_to_string(home.workspace().join(name)).unwrap(), "b line\n");
    }
    let told = editor.take_notifications("window/showMessage");
    let [conflict] = &told[..] else { panic!("{told:?}") };
    let text = conflict["message"].as_str().unwrap();
    assert!(text.starts_with(&format!("{unsaved} has unsaved text in the editor")), "{text}");
    editor.finish().await;
    model.finish();
}

/// Whose environment names the home: git of the daemon's, and what the user's commands have left.
fn processes(home: &Home) -> Vec<String> {
    let path = home.path().display().to_string();
    let of = |entry: std::fs::DirEntry| {
        let environment = std::fs::read(entry.path().join("environ")).ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok().filter(|line| !line.is_empty())?;
        String::from_utf8_lossy(&environment).contains(&path).then(|| String::from_utf8_lossy(&line).into_owned())
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}");
}

fn size(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| size(&entry.path())).sum(),
        Err(_) => std::fs::metadata(path).map_or(0, |found| found.len()),
    }
}

/// Text that hardly packs.
fn noise(seed: u64) -> String {
    let mut state = seed;
    let line = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{state:016x}\n")
    };
    (0..20_000).map(line).collect()
}

const KEEPS: &str = "find . -name .git -prune -exec find {} -printf '%p %y %s %m %T@\\n' \\; | sort; \
                     find . -path '*/.git/*' -type f -exec sha256sum {} + | sort; cat sub/.git";

#[tokio::test]
async fn c35_a_daemon_killed_in_mid_turn_leaves_repositories_alone_and_nothing_behind() {
    const COMMANDS: &[&str] = &[
        "for file in big*; do echo more >>$file; sed -i s/^0/1/ $file; done; echo v >>vendor/x/v; echo s >>sub/s",
        "touch started; sleep 1000",
    ];
    let (model, home) = runs(COMMANDS).await;
    let touched: u64 = (1..=3)
        .map(|at| {
            let text = noise(at);
            home.write(format!("big{at}"), &text);
            text.len() as u64
        })
        .sum();
    git(
        &home,
        "git init -q ../other; git -C ../other commit -q --allow-empty -m o; git init -q .; git add -A; git commit -qm first; \
         git -c protocol.file.allow=always submodule -q add ../other sub; git commit -qm sub; git init -q vendor/x; echo 1 >vendor/x/v; git status",
    );
    let before = git(&home, KEEPS);
    let editor = FakeEditor::open(home.clone()).await;
    editor.disregard("session/update");
    editor.answer_permissions_with("allow_once");
    let session = editor.new_session().await;
    editor.prompt(&session, "go");
    until("the second command runs", || home.workspace().join("started").exists()).await;
    editor.kill().await;
    until("no process is left", || processes(&home).is_empty()).await;
    assert_eq!(git(&home, KEEPS), before);
    assert_eq!(git(&home, "git fsck 2>&1; git status --porcelain | head -3"), " M big1\n M big2\n M big3\n");

    // What the first command did can be taken back all the same.
    let (store, session) = (store(&home), SessionId::new(&session));
    let rows = store.list(session.clone()).await.unwrap();
    assert_eq!(rows.len(), 3);
    for (row, at) in rows.iter().zip(1..) {
        let bytes = store.content(session.clone(), row.before.unwrap().hash).await.unwrap();
        assert!(bytes.is_some_and(|bytes| bytes == noise(at).into_bytes()));
    }
    drop(store);
    let stored = size(&home.data().join("copydesk"));
    assert!(stored < 2 * touched, "{stored} of {touched}");
    model.finish();
}

/// A `git` that hangs as soon as it is told to.
fn hanging_git(home: &Home) -> (PathBuf, PathBuf) {
    let folder = home.path().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let pids = home.path().join("pids");
    let real = git(home, "command -v git");
    let script = format!(
        "#!/bin/bash\ncase \"$*\" in *diff-files*) echo $$ >>{}; exec sleep 1000;; esac\nexec {} \"$@\"\n",
        pids.display(),
        real.trim()
    );
    std::fs::write(folder.join("git"), script).unwrap();
    std::fs::set_permissions(folder.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    (folder, pids)
}

#[tokio::test]
async fn c35_r2_4_no_git_is_left_by_a_cancel_or_a_kill_during_a_snapshot() {
    for is_killed in [false, true] {
        let (model, mut home) = runs(&["touch f"]).await;
        git(&home, "git init -q .; git commit -q --allow-empty -m first");
        let (folder, pids) = hanging_git(&home);
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        home.set_variable("PATH", &path);
        let editor = FakeEditor::open(home.clone()).await;
        editor.disregard("session/update");
        let session = editor.new_session().await;
        let prompt = editor.prompt(&session, "go");
        until("git hangs", || size(&pids) > 0).await;
        let is_gone = |pid: &str| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().is_empty();
        let git_is_gone = || std::fs::read_to_string(&pids).unwrap().lines().all(is_gone);
        if is_killed {
            editor.kill().await;
            until("git is gone", git_is_gone).await;
        } else {
            editor.notify("session/cancel", json!({ "sessionId": session }));
            assert_eq!(editor.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
            // Not with the daemon, but before it.
            until("git is gone", git_is_gone).await;
            editor.finish().await;
        }
        assert!(!home.workspace().join("f").exists(), "nothing was run");
        model.finish();
    }
}
