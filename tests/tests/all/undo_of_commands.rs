//! Undo and review of what commands have changed, by the built daemon, in a work tree of Git and outside of one: bytes, modes and folders come back, and what
//! the user wrote stays. Needs the program: `cargo build -p copydesk`.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::{Value, json};

struct Desk {
    model: ScriptedModel,
    editor: FakeEditor,
    session: String,
}

impl Desk {
    /// Where commands run one after the other, a turn each.
    async fn new(home: Home, in_git: bool, commands: &'static [&'static str]) -> Self {
        let model = ScriptedModel::start(Script::function(move |request| {
            let results = request.results().len();
            match commands.get(results).filter(|_| request.said().len() >= results) {
                Some(command) => Reply::call("bash", json!({ "command": command })),
                None => Reply::text("done"),
            }
        }))
        .await;
        home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "bash": "allow" } }));
        if in_git {
            let script = "git init -q .; git add -A; git -c user.name=a -c user.email=a@example.com commit -qm first";
            let output = Command::new("bash").args(["-ec", script]).current_dir(home.workspace()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let editor = FakeEditor::open(home).await;
        editor.disregard("session/update");
        editor.disregard("_copydesk/changed");
        editor.script("_copydesk/files_changed", |_| json!({ "reloaded": [], "conflicts": [] }));
        let session = editor.new_session().await;
        Self { model, editor, session }
    }

    async fn turn(&self) {
        self.editor.turn(&self.session, "go").await;
    }

    async fn ask(&self, method: &str, mut params: Value) -> Value {
        params["sessionId"] = json!(self.session);
        self.editor.request(method, params).await.unwrap()
    }

    async fn undo(&self, what: &str) -> Value {
        self.ask("_copydesk/undo", json!({ "what": what })).await
    }

    fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        let root = self.editor.home().workspace();
        walk(&root, &root, &mut tree);
        tree
    }

    async fn finish(self) {
        self.editor.finish().await;
        self.model.finish();
    }
}

/// Each file and folder with its mode and its bytes.
fn walk(root: &Path, folder: &Path, tree: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.ends_with(".git") {
            continue;
        }
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let bytes = if path.is_dir() { String::new() } else { format!("{:?}", std::fs::read(&path).unwrap()) };
        tree.insert(path.strip_prefix(root).unwrap().display().to_string(), format!("{mode:o} {bytes}"));
        if path.is_dir() {
            walk(root, &path, tree);
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn outcome<'a>(report: &'a Value, name: &str) -> &'a str {
    let files = report["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["uri"].as_str().is_some_and(|uri| uri.ends_with(&format!("/{name}"))));
    file.unwrap_or_else(|| panic!("{name} in {report}"))["outcome"].as_str().unwrap()
}

fn prepared() -> Home {
    let home = Home::new();
    home.write("text", "one\ntwo\n");
    set_mode(&home.write("tool.sh", "#!/bin/sh\n"), 0o644);
    set_mode(&home.write("old.bin", [0, 255, 1]), 0o755);
    home.write("gone.txt", "gone\r\n");
    home.write("deep/er/gone.bin", [0, 1]);
    home.write("name.txt", "renamed\n");
    home.write("folder/a", "in a folder\n");
    home.write("turned", "a file\n");
    home.write("packed/x", "a folder\n");
    home
}

#[tokio::test]
async fn c33_c35_r5_1_what_a_command_did_is_undone_and_redone_in_git_and_outside_of_it() {
    const COMMANDS: &[&str] =
        &["sed -i s/two/TWO/ text; chmod 755 tool.sh; printf '\\000\\001' >old.bin; rm gone.txt; \
        rm -r deep; mv name.txt other.txt; mv folder moved; mkdir -p made/in; for n in 1 2 3; do echo $n >made/in/$n; \
        done; rm turned; mkdir turned; echo x >turned/x; rm -r packed; echo y >packed"];
    for in_git in [true, false] {
        let desk = Desk::new(prepared(), in_git, COMMANDS).await;
        let before = desk.tree();
        desk.turn().await;
        let after = desk.tree();
        assert!(after["tool.sh"].starts_with("755") && after.contains_key("moved/a"), "{after:?}");
        for (what, tree) in [("last", &before), ("redo", &after), ("last", &before)] {
            let report = desk.undo(what).await;
            assert_eq!(&desk.tree(), tree, "{what}, in Git: {in_git}: {report}");
        }
        desk.finish().await;
    }
}

#[tokio::test]
async fn c33_r5_2_what_the_user_wrote_beside_a_command_stays() {
    const COMMANDS: &[&str] = &["sed -i s/two/TWO/ text; chmod 755 tool.sh; mv name.txt other.txt; rm gone.txt; \
        mkdir made; echo 1 >made/1; echo 2 >made/2"];
    for in_git in [true, false] {
        let home = prepared();
        let path = |name: &str| home.workspace().join(name);
        let desk = Desk::new(home.clone(), in_git, COMMANDS).await;
        let open = |name: &str, text: &str| {
            let document = uri(&path(name));
            desk.editor.open_document(&document, "text", text);
            document
        };
        let tool = open("tool.sh", "#!/bin/sh\n");
        let gone = open("gone.txt", "gone\r\n");
        let name = open("name.txt", "renamed\n");
        desk.editor.type_text(&name, (0, 0), (0, 0), "unsaved ");
        desk.turn().await;
        std::fs::write(path("text"), "mine\none\nTWO\n").unwrap();
        std::fs::write(path("made/1"), "mine\n").unwrap();
        std::fs::write(path("made/mine"), "mine\n").unwrap();
        let report = desk.undo("last").await;
        let read = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();
        assert_eq!(read("text"), "mine\none\ntwo\n");
        assert_eq!((read("made/1").as_str(), read("made/mine").as_str()), ("mine\n", "mine\n"));
        assert!(!path("made/2").exists());
        assert_eq!(outcome(&report, "made/1"), "conflict");
        // A clean document's file is back, also the mode of one whose text is the same.
        assert_eq!(read("gone.txt"), "gone\r\n");
        assert_eq!(desk.editor.document(&gone).text, "gone\r\n");
        assert_eq!(desk.editor.document(&tool).text, "#!/bin/sh\n");
        let mode = std::fs::metadata(path("tool.sh")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o644, "in Git: {in_git}: {report}");
        // What the file held stands on the disk at one of its names, whatever becomes of the buffer.
        assert_eq!(desk.editor.document(&name).text, "unsaved renamed\n");
        assert_eq!(read("name.txt") + &read("other.txt"), "renamed\n", "{report}");
        desk.finish().await;
    }
}

#[tokio::test]
async fn r4_2_what_a_command_did_is_rejected_and_nothing_of_the_users_with_it() {
    const COMMANDS: &[&str] = &["sed -i s/two/TWO/ text; printf '\\000\\001' >old.bin; rm gone.txt; rm -r deep; \
        echo 1 >made1; echo 2 >made2; mv name.txt other.txt"];
    let home = prepared();
    let path = |name: &str| home.workspace().join(name);
    let desk = Desk::new(home.clone(), true, COMMANDS).await;
    desk.turn().await;
    std::fs::write(path("made2"), "mine\n2\n").unwrap();
    std::fs::write(path("text"), "mine\none\nTWO\n").unwrap();
    let list = desk.ask("_copydesk/changes", json!({ "reject": "all" })).await;
    let read = |name: &str| std::fs::read(path(name)).unwrap_or_default();
    assert_eq!(read("text"), b"mine\none\ntwo\n", "{list}");
    assert_eq!(read("old.bin"), [0, 255, 1]);
    assert_eq!(std::fs::metadata(path("old.bin")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!((read("gone.txt"), read("deep/er/gone.bin")), (b"gone\r\n".to_vec(), vec![0, 1]));
    assert!(!path("made1").exists() && !path("other.txt").exists());
    assert_eq!(read("made2"), b"mine\n", "what the user wrote into it stays");
    assert_eq!(read("name.txt"), b"renamed\n");
    // There is nothing left of the turn, and to undo it takes nothing of the user's.
    let _ = desk.editor.request("_copydesk/undo", json!({ "sessionId": desk.session, "what": "last" })).await;
    assert_eq!((read("text"), read("made2")), (b"mine\none\ntwo\n".to_vec(), b"mine\n".to_vec()));
    assert_eq!(read("name.txt"), b"renamed\n");
    desk.finish().await;
}
#[tokio::test]
async fn c33_r5_1_a_generator_of_many_files_is_listed_accepted_and_undone() {
    const COMMANDS: &[&str] =
        &["mkdir -p out; for n in $(seq 900); do echo $n >out/$n; done", "echo more >>out/1; echo last >one-more"];
    let home = Home::new();
    home.write("keep", "keep\n");
    let desk = Desk::new(home, false, COMMANDS).await;
    desk.editor.answer_permissions_with("allow_once");
    let before = desk.tree();
    desk.turn().await;
    let list = desk.ask("_copydesk/changes", json!({})).await;
    assert_eq!(list["files"].as_array().unwrap().len(), 900);
    desk.turn().await;
    let list = desk.ask("_copydesk/changes", json!({})).await;
    assert_eq!(list["files"].as_array().unwrap().len(), 901);
    let list = desk.ask("_copydesk/changes", json!({ "accept": "all" })).await;
    assert_eq!(list["decided"].as_array().unwrap().len(), 901, "accepted");
    for _ in 0..2 {
        desk.undo("last").await;
    }
    assert_eq!(desk.tree(), before);
    desk.finish().await;
}
