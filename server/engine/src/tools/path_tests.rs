//! Names of roots in the paths of every tool that takes one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::message::ToolStatus;
use crate::permission::Verdict;
use crate::ports::{LanguageAnswer, LanguageFound};
use crate::registry::Registry;
use crate::workbench::{Bench, path};
use copydesk_workspace::disk::Disk as _;
use copydesk_workspace::position::PositionEncoding;

/// The arguments by which tools take paths.
const PATHS: [&str; 4] = ["filePath", "path", "workdir", "patchText"];

/// A call of each tool below a folder, with the name of the file or folder that it means there.
fn calls(below: &str) -> Vec<(&'static str, Value, &'static str)> {
    let file = format!("{below}/f");
    let edit = json!({"oldString": "KEY", "newString": "new"});
    let patch = |body: String| json!({ "patchText": format!("*** Begin Patch\n{body}\n*** End Patch\n") });
    vec![
        ("read", json!({"filePath": file}), "/f"),
        ("edit", json!({"filePath": file, "oldString": "KEY", "newString": "new"}), "/f"),
        ("multiedit", json!({"filePath": file, "edits": [edit]}), "/f"),
        ("write", json!({"filePath": format!("{below}/n"), "content": "new\n"}), "/n"),
        ("lsp", json!({"operation": "hover", "filePath": file, "line": 1, "symbol": "KEY"}), "/f"),
        ("grep", json!({"pattern": "KEY", "path": file}), "/f"),
        ("glob", json!({"pattern": "*", "path": below}), ""),
        ("list", json!({"path": below}), ""),
        ("bash", json!({"command": "make", "workdir": below}), ""),
        ("apply_patch", patch(format!("*** Update File: {file}\n@@\n-KEY\n+new")), "/f"),
        ("apply_patch", patch(format!("*** Add File: {below}/n\n+new")), "/n"),
        ("apply_patch", patch(format!("*** Delete File: {file}")), "/f"),
        ("apply_patch", patch(format!("*** Update File: k\n*** Move to: {below}/n\n@@\n-KEY\n+new")), "/n"),
    ]
}

/// Roots of which two have one name; `KEY` stands in these files, and in `/w/k`.
fn bench(files: &[&str]) -> Bench {
    let mut bench = Bench::trusting().rule("bash", "*", Verdict::Allow);
    bench.facts.roots.extend(["/web", "/lib/web", "/api"].map(path));
    bench.put("/w/k", "KEY\n");
    for file in files {
        bench.put(file, "KEY\n");
    }
    bench.diagnostics.knows(Ok(LanguageAnswer {
        by: "played".to_owned(),
        encoding: PositionEncoding::Utf8,
        found: LanguageFound::Text("a key".to_owned()),
    }));
    bench
}

/// What the tool has done there, where the folder is this one.
fn is_done(bench: &Bench, tool: &str, input: &Value, folder: &str, outcome: &str) -> bool {
    let text = |name: &str| bench.disk.read(&path(&format!("{folder}{name}"))).ok();
    let (was, is) = (Some(b"KEY\n".to_vec()), Some(b"new\n".to_vec()));
    match tool {
        "edit" | "multiedit" => text("/f") == is,
        "write" => text("/n") == is && text("/f") == was,
        "apply_patch" => {
            let patch = input["patchText"].as_str().unwrap();
            let (f, n) = match () {
                () if patch.contains("Delete") => (None, None),
                () if patch.contains("Add") || patch.contains("Move") => (was, is),
                () => (is, None),
            };
            (text("/f"), text("/n")) == (f, n)
        }
        "bash" => bench.shell.commands().last().unwrap().folder == path(folder),
        "lsp" => bench.diagnostics.questions().last().unwrap().file.path == path(&format!("{folder}/f")),
        "read" => outcome.contains(&format!("<path>{folder}/f</path>")),
        "list" => outcome.contains("f"),
        _ => outcome.contains(&format!("{folder}/f")),
    }
}

#[test]
fn r20_1_every_tool_that_takes_a_path_is_held_to_it() {
    let takes = |parameters: &Value| PATHS.iter().any(|name| !parameters["properties"][name].is_null());
    let registry = Registry::builtin();
    let taking = registry.parameters().filter(|(_, parameters)| takes(parameters)).map(|(name, _)| name);
    let called: BTreeSet<String> = calls("x").into_iter().map(|(tool, ..)| tool.to_owned()).collect();
    assert_eq!(taking.collect::<BTreeSet<_>>(), called);
}

#[tokio::test]
async fn r20_1_a_name_of_one_root_leads_there_and_a_dot_to_the_folder() {
    for (below, folder, ambiguous) in [
        ("api/sub", "/api/sub", None),
        ("./api/sub", "/w/api/sub", Some("api")),
        ("w/sub", "/w/sub", None),
        ("/api/sub", "/api/sub", Some("api")),
        ("sub", "/w/sub", None),
    ] {
        for (tool, input, _) in calls(below) {
            let mut bench = bench(&[&format!("{folder}/f")]);
            bench.facts.ambiguous.extend(ambiguous.map(str::to_owned));
            let result = bench.call(tool, input.clone()).await.result;
            assert_eq!(result.status, ToolStatus::Completed, "{tool} {input}: {}", result.text);
            assert!(is_done(&bench, tool, &input, folder, &result.text), "{tool} {input}: {}", result.text);
        }
    }
}

#[tokio::test]
async fn r20_1_what_may_be_meant_twice_is_an_error_that_lists_both_and_does_nothing() {
    let files = ["/web/sub/f", "/lib/web/sub/f", "/api/sub/f", "/w/api/sub/f", "/w/k"];
    for (below, folders) in [("web/sub", ["/web/sub", "/lib/web/sub"]), ("api/sub", ["/api/sub", "/w/api/sub"])] {
        for (tool, input, name) in calls(below) {
            let mut bench = bench(&files);
            bench.facts.ambiguous.push("api".to_owned());
            let text = bench.failed(tool, input.clone()).await;
            let expected = format!("{below}{name} is ambiguous here. Name one of these, absolute as they are:\n");
            let listed = folders.map(|folder| format!("{folder}{name}")).join("\n");
            assert!(text.contains(&(expected + &listed)), "{tool} {input}: {text}");
            assert!(files.iter().all(|file| bench.text(file) == "KEY\n"), "{tool} {input}");
            let is_new = |folder: &&str| bench.disk.stat(&path(&format!("{folder}/n"))).is_ok();
            assert!(!folders.iter().any(is_new) && bench.shell.commands().is_empty(), "{tool} {input}");
        }
    }
}
