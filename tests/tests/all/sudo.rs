//! The real `sudo`, which asks a user for his password, through the built daemon. Root alone can make a user with a password; where the tests are run by
//! somebody else they have nothing to try. Needs the program: `cargo build -p copydesk`.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::FakeEditor;
use copydesk_tests::scripted_model::{Reply, ScriptedModel};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::command_prompts::{is_nowhere, secrets};
use super::questions::{finish, forms, told};

const RIGHT: &str = "hunter2-and-more";
const WRONG: &str = "hunter3-and-less";
/// Of `RIGHT` (crypt(5), SHA-512).
const HASH: &str = "$6$copydesk$mZepknX9ybUURoro32aPVhdO1HZt14QWacTJ/JXL2tlpP1IjLAu4jl0eCbOYNf55LuQBAQDgvHBJpPlJqOXhb1";
const ASKS: &str = "The command asks: [sudo] password for nobody:";

/// A user `nobody` who has a password and may do everything with it, seen by the daemon and its commands alone: in a mount namespace of theirs.
struct Machine {
    etc: TempDir,
}

impl Machine {
    /// `None` where there is nothing to try.
    fn new(defaults: &str) -> Option<Self> {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        let has_namespaces = || {
            let unshare = std::process::Command::new("unshare").args(["--mount", "true"]).status();
            unshare.is_ok_and(|status| status.success())
        };
        if !is_root || !Path::new("/usr/bin/sudo").exists() || !has_namespaces() {
            return None;
        }
        let etc = tempfile::tempdir().unwrap();
        let shadow = std::fs::read_to_string("/etc/shadow").unwrap();
        let others: String =
            shadow.lines().filter(|line| !line.starts_with("nobody:")).map(|line| format!("{line}\n")).collect();
        let sudoers = format!("Defaults env_reset, use_pty{defaults}\nroot ALL=(ALL) ALL\nnobody ALL=(ALL) ALL\n");
        let files =
            [("shadow", format!("{others}nobody:{HASH}:19000:0:99999:7:::\n"), 0o640), ("sudoers", sudoers, 0o440)];
        for (name, text, mode) in files {
            let path = etc.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        Some(Self { etc })
    }

    /// A home of that user, whose programs are in the namespace.
    fn home(&self, model: &ScriptedModel) -> Home {
        const ENTER: &str = "mount --bind \"$1/shadow\" /etc/shadow && mount --bind \"$1/sudoers\" /etc/sudoers && \
                             mount -t tmpfs none /run/sudo && mount -t tmpfs none /var/lib/sudo && shift && \
                             exec setpriv --reuid=65534 --regid=65534 --clear-groups -- \"$@\"";
        let mut home = Home::new();
        let permission = json!({ "bash": "allow", "bash_unconfined": { "*": "allow" } });
        home.use_model_with(&model.base_url(), json!({}), json!({ "permission": permission }));
        home.give_up_root();
        let etc = self.etc.path().to_str().unwrap();
        home.start_by(&["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", etc]);
        home
    }
}

fn runs(command: &str) -> Reply {
    Reply::call(
        "bash",
        json!({ "command": command, "interactive": true, "unconfined": "It needs the rights of root." }),
    )
}

async fn client(home: Home, capabilities: Value) -> FakeEditor {
    let client = FakeEditor::open_acp(home, capabilities).await;
    client.disregard("session/update");
    client
}

/// The user is asked for his password, and this is what he says: a line, or that he does not.
async fn says(client: &FakeEditor, line: Option<&str>) {
    let (id, params) = client.await_request("elicitation/create").await;
    assert_eq!((&params["message"], &params["_meta"]["copydesk"]["secret"]), (&json!(ASKS), &json!(true)));
    client.respond(
        &id,
        match line {
            Some(line) => json!({ "action": "accept", "content": { "line": line } }),
            None => json!({ "action": "decline" }),
        },
    );
}

/// Of processes of any user.
fn running(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())).count()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waits = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waits).await.unwrap_or_else(|_| panic!("{what}"));
}

#[tokio::test]
async fn c49_r7_2_a_password_for_sudo_is_typed_by_the_user_and_stored_nowhere() {
    // The second shows a star for each character, for which it takes the terminal out of its line mode.
    for (defaults, typed) in [("", &[WRONG, RIGHT][..]), (", pwfeedback", &[RIGHT])] {
        let Some(machine) = Machine::new(defaults) else { return };
        let model = ScriptedModel::start([runs("sudo id -u; sudo -n id -un"), Reply::text("Done.")]).await;
        let client = client(machine.home(&model), secrets()).await;
        let session = client.new_session().await;
        let prompt = client.prompt(&session, "go");
        for line in typed {
            says(&client, Some(line)).await;
        }
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "end_turn", "{defaults}");
        let said = told(&model);
        assert!(said.contains("\n0\nroot\n") && !said.contains('*'), "{said}");
        assert_eq!(said.matches("Sorry, try again.").count(), typed.len() - 1, "{said}");
        let requests: String = model.requests().iter().map(|request| request.body.to_string()).collect();
        for password in [RIGHT, WRONG] {
            assert!(!requests.contains(password) && !client.home().log().contains(password));
            is_nowhere(&client.home().path(), password);
        }
        finish(model, client).await;
    }
}

#[tokio::test]
async fn c49_a_wrong_password_ends_sudo_and_the_model_is_told() {
    let Some(machine) = Machine::new(", passwd_tries=1") else { return };
    let model = ScriptedModel::start([runs("sudo id -u"), Reply::text("Done.")]).await;
    let client = client(machine.home(&model), secrets()).await;
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    says(&client, Some(WRONG)).await;
    client.await_response(prompt).await.unwrap();
    let said = told(&model);
    assert!(said.contains("1 incorrect password attempt") && !said.contains(WRONG), "{said}");
    is_nowhere(&client.home().path(), WRONG);
    finish(model, client).await;
}

/// It gives the program that it runs a terminal of its own, behind which nobody but root can look.
#[tokio::test]
async fn c49_what_a_program_asks_under_sudo_is_put_to_the_user_too() {
    let Some(machine) = Machine::new("") else { return };
    let asks = "sudo bash -c 'read -p \"Name? \" a; read -sp \"New password: \" b; echo \"<$a ${#b} $b>\"'";
    let model = ScriptedModel::start([runs(asks), Reply::text("Done.")]).await;
    let client = client(machine.home(&model), secrets()).await;
    let session = client.new_session().await;
    let prompt = client.prompt(&session, "go");
    says(&client, Some(RIGHT)).await;
    for (message, is_secret, line) in
        [("The command asks: Name?", false, "Ada"), ("The command asks: New password:", true, WRONG)]
    {
        let (id, params) = client.await_request("elicitation/create").await;
        assert_eq!((&params["message"], &params["_meta"]["copydesk"]["secret"]), (&json!(message), &json!(is_secret)));
        client.respond(&id, json!({ "action": "accept", "content": { "line": line } }));
    }
    client.await_response(prompt).await.unwrap();
    let said = told(&model);
    assert!(said.contains(&format!("<Ada {} [typed]>", WRONG.len())), "{said}");
    for password in [RIGHT, WRONG] {
        is_nowhere(&client.home().path(), password);
    }
    finish(model, client).await;
}

#[tokio::test]
async fn c49_sudo_ends_where_nobody_gives_a_password() {
    for (capabilities, refuses) in [(secrets(), true), (forms(), false), (json!({}), false)] {
        let Some(machine) = Machine::new("") else { return };
        let model = ScriptedModel::start([runs("sudo id -u"), Reply::text("Done.")]).await;
        let client = client(machine.home(&model), capabilities).await;
        let session = client.new_session().await;
        let start = Instant::now();
        let prompt = client.prompt(&session, "go");
        if refuses {
            says(&client, None).await;
        }
        client.await_response(prompt).await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        let said = told(&model);
        assert!(said.contains("sudo: a password is required") || said.contains("no password was provided"), "{said}");
        assert!(said.contains("it was told that there is none"), "{said}");
        finish(model, client).await;
    }
}

#[tokio::test]
async fn c49_r2_3_a_cancel_ends_sudo_at_its_prompt_and_what_it_has_started() {
    for (seconds, is_typed) in [("86411", false), ("86412", true)] {
        let Some(machine) = Machine::new("") else { return };
        let model = ScriptedModel::start([runs(&format!("sudo sleep {seconds}"))]).await;
        let client = client(machine.home(&model), secrets()).await;
        let session = client.new_session().await;
        let prompt = client.prompt(&session, "go");
        if is_typed {
            says(&client, Some(RIGHT)).await;
            // bash, sudo twice, and what it runs.
            until("sleep is started", || running("sleep") > 0 && running(seconds) >= 2).await;
        } else {
            client.await_request("elicitation/create").await;
        }
        let start = Instant::now();
        client.notify("session/cancel", json!({ "sessionId": session }));
        assert_eq!(client.await_response(prompt).await.unwrap()["stopReason"], "cancelled");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        until(&format!("sudo sleep {seconds} is ended"), || running(seconds) == 0).await;
        finish(model, client).await;
    }
}

/// No rights are to be had there: it is not asked for a password, and the model is told why.
#[tokio::test]
async fn r8_5_in_the_sandbox_sudo_does_not_ask() {
    let Some(machine) = Machine::new("") else { return };
    let call = Reply::call("bash", json!({ "command": "sudo id -u", "interactive": true }));
    let model = ScriptedModel::start([call, Reply::text("Done.")]).await;
    let client = client(machine.home(&model), secrets()).await;
    let session = client.new_session().await;
    client.turn(&session, "go").await;
    let said = told(&model);
    assert!(said.contains("no new privileges") && said.contains("unconfined"), "{said}");
    finish(model, client).await;
}

/// Root's processes are not the user's to end, but sudo hands on what it is told.
#[tokio::test]
async fn c49_r2_3_a_command_of_root_without_a_terminal_ends_with_its_time_or_the_turn() {
    let Some(machine) = Machine::new(", !authenticate") else { return };
    for (seconds, timeout) in [("86413", json!(1500)), ("86414", Value::Null)] {
        let mut call =
            json!({ "command": format!("sudo sleep {seconds}"), "unconfined": "It needs the rights of root." });
        if !timeout.is_null() {
            call["timeout"] = timeout.clone();
        }
        let after = if timeout.is_null() { None } else { Some(Reply::text("Done.")) };
        let replies: Vec<Reply> = [Reply::call("bash", call)].into_iter().chain(after).collect();
        let model = ScriptedModel::start(replies).await;
        let client = client(machine.home(&model), secrets()).await;
        let session = client.new_session().await;
        let prompt = client.prompt(&session, "go");
        until("it runs", || running(seconds) >= 2).await;
        let start = Instant::now();
        if timeout.is_null() {
            client.notify("session/cancel", json!({ "sessionId": session }));
        }
        let answer = client.await_response(prompt).await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        let reason = if timeout.is_null() { "cancelled" } else { "end_turn" };
        assert_eq!(answer["stopReason"], reason);
        if !timeout.is_null() {
            assert!(told(&model).contains("timed out: ended with all its processes"), "{}", told(&model));
        }
        until("it is ended", || running(seconds) == 0).await;
        finish(model, client).await;
    }
}
