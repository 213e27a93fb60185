//! `apply_patch` beside codex's own program of that name, on patches that are made here. Where the two part, the kind of the patch says why, and so does
//! the page of kinds. Needs the program (`cargo xtask tools`).

#[path = "patch_oracle/kinds.rs"]
mod kinds;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use copydesk_engine::message::{Finish, PromptPart};
use copydesk_engine::ports::{ModelMessage, OptionKind};
use copydesk_engine::registry::Registry;
use copydesk_engine::testing::{FakeModel, World, config};
use copydesk_tests::acp_schema::tools;
use copydesk_tests::choices::Choices;
use copydesk_workspace::disk::{Disk as _, FileKind, MemoryDisk};
use copydesk_workspace::path::AbsPath;
use serde_json::json;

use kinds::{KINDS, Relation, Tree};

/// Patches of each kind.
const EACH: u64 = 9;

#[tokio::test]
async fn c21_c22_c23_patches_do_what_codex_does_with_them_or_what_is_safer() {
    let codex = codex();
    let mut wrong = String::new();
    for (kind, relation) in KINDS {
        for seed in 0..EACH {
            let case = kind.make(&mut Choices::from_seed(seed * 1000 + *kind as u64));
            let text = kind.whole(&case.body);
            let (theirs, is_taken_there) = beside(&codex, &case.before, &text).await;
            let (ours, answer) = ours(&case.before, &text).await;
            let found = match (&answer, is_taken_there) {
                (Ok(_), true) if ours == theirs => Relation::Same,
                (Ok(_), true) => Relation::Differs,
                (Ok(_), false) => Relation::CodexRefuses,
                (Err(_), true) => Relation::OursRefuses,
                (Err(_), false) => Relation::NeitherTakesIt,
            };
            let is_whole = answer.is_ok() || ours == case.before;
            let is_known = found != Relation::Differs || kind.is_known_difference(&case, &ours, &theirs);
            if found != *relation || !is_whole || !is_known {
                let before = &case.before;
                let _ = writeln!(
                    wrong,
                    "{kind:?} {seed}: {found:?}\n{text}before {before:?}\nours {ours:?}\ncodex {theirs:?}\n{answer:?}\n"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn codex() -> PathBuf {
    let packages = tools().join("codex/node_modules/@openai");
    let platform = std::fs::read_dir(&packages).unwrap().filter_map(|entry| {
        let vendor = entry.unwrap().path().join("vendor");
        let target = std::fs::read_dir(vendor).ok()?.next()?.unwrap();
        Some(target.path().join("bin/codex"))
    });
    platform.into_iter().find(|program| program.exists()).expect("codex is installed: `cargo xtask tools`")
}

/// Whether it is taken, and the files afterwards.
async fn beside(codex: &Path, before: &Tree, patch: &str) -> (Tree, bool) {
    let temp = tempfile::tempdir().unwrap();
    let (program, work) = (temp.path().join("apply_patch"), temp.path().join("work"));
    std::os::unix::fs::symlink(codex, &program).unwrap();
    std::fs::create_dir(&work).unwrap();
    for (name, text) in before {
        let path = work.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut command = tokio::process::Command::new(program);
    command
        .arg(patch.replace("{root}", work.to_str().unwrap()))
        .current_dir(&work)
        .env_clear()
        .env("HOME", temp.path())
        .stdin(Stdio::null());
    let output = command.output().await.unwrap();
    (read_tree(&work), output.status.success())
}

fn read_tree(root: &Path) -> Tree {
    let (mut tree, mut folders) = (Tree::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                tree.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    tree
}

/// The files afterwards, and what the model is told.
async fn ours(before: &Tree, patch: &str) -> (Tree, Result<String, String>) {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    world.client.answer_all(OptionKind::AllowOnce);
    for (name, text) in before {
        world.disk.put(&world.folder().join(name), text.as_bytes());
    }
    let mut config = config();
    for model in &mut config.models {
        model.sent_as.model = "gpt-5".to_owned();
    }
    let patch = patch.replace("{root}", &world.folder().to_string());
    let engine = world.engine(Registry::builtin());
    let session = world.session(&engine, config).await.unwrap();
    let turn = session.prompt(vec![PromptPart::Text { text: "go".to_owned() }]).unwrap();
    let asked = player.next_request().await;
    asked.call("c1", "apply_patch", &json!({ "patchText": patch }).to_string());
    asked.finish(Finish::ToolCalls);
    let told = player.next_request().await;
    let Some(ModelMessage::Results(results)) = told.request.messages.last() else { panic!("{:?}", told.request) };
    let text = results[0].split().0.to_owned();
    let answer = if results[0].is_error { Err(text) } else { Ok(text) };
    told.text("done");
    told.finish(Finish::Stop);
    turn.await;
    (tree_below(&world.disk, &world.folder()), answer)
}

/// All that lies there.
fn tree_below(disk: &MemoryDisk, root: &AbsPath) -> Tree {
    let (mut tree, mut folders) = (Tree::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in disk.list(&folder).unwrap() {
            let path = folder.join(&entry.name);
            if entry.kind == FileKind::Directory {
                folders.push(path);
            } else {
                tree.insert(path.relative_to(root).unwrap(), String::from_utf8(disk.read(&path).unwrap()).unwrap());
            }
        }
    }
    tree
}
