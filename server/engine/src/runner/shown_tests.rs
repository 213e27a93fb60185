//! What an ask for an edit shows, and that nothing else is done: of every tool that edits, the built-in list decides which these are.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeMap;

use copydesk_workspace::disk::Disk as _;
use copydesk_workspace::position::{Position, PositionEncoding};
use serde_json::{Value, json};

use crate::message::{FileDiff, ToolStatus};
use crate::permission::Verdict::Ask;
use crate::ports::{LanguageAnswer, LanguageChange, LanguageFound, OptionKind, Preview};
use crate::registry::Registry;
use crate::tool::ToolKind;
use crate::workbench::{Bench, Typing, path};

const FILES: [(&str, &str); 3] = [("/w/a", "one\ntwo\nthree\n"), ("/w/b", "b\n"), ("/w/c", "c\r\nd")];

/// Calls of each tool, with the files that they touch.
fn calls() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    let edit = |old: &str, new: &str| json!({"oldString": old, "newString": new});
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-two\n+2\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n@@\n-c\n+C\n*** Add File: n\n+new\n*** End Patch\n";
    vec![
        ("edit", json!({"filePath": "a", "oldString": "two", "newString": "2"}), vec!["/w/a"]),
        ("edit", json!({"filePath": "c", "oldString": "d", "newString": "e\nf"}), vec!["/w/c"]),
        ("edit", json!({"filePath": "n", "oldString": "", "newString": "new\n"}), vec!["/w/n"]),
        ("multiedit", json!({"filePath": "a", "edits": [edit("three", "3"), edit("one", "1")]}), vec!["/w/a"]),
        ("write", json!({"filePath": "n", "content": "new"}), vec!["/w/n"]),
        ("apply_patch", json!({ "patchText": patch }), vec!["/w/a", "/w/b", "/w/c", "/w/d", "/w/n"]),
        ("lsp", lsp("rename", "newName", "2"), vec!["/w/a"]),
        ("lsp", lsp("codeAction", "title", "Split"), vec!["/w/a", "/w/b", "/w/c", "/w/d", "/w/n"]),
    ]
}

fn lsp(operation: &str, key: &str, value: &str) -> Value {
    json!({"operation": operation, "filePath": "a", "line": 2, "symbol": "two", key: value})
}

/// Of the language server, to each question of a call.
fn answers(input: &Value) -> Vec<LanguageChange> {
    let edit = |file: &str, line: u32, columns: std::ops::Range<u32>, text: &str| {
        let at = |column| Position { line, column };
        let edits = vec![(at(columns.start)..at(columns.end), text.to_owned())];
        LanguageChange::Edit { path: path(file), version: None, edits }
    };
    let renamed = edit("/w/a", 1, 0..3, "2");
    match input["operation"].as_str() {
        Some("rename") => vec![renamed],
        Some(_) => vec![
            renamed,
            LanguageChange::Delete { path: path("/w/b") },
            LanguageChange::Move { from: path("/w/c"), to: path("/w/d") },
            edit("/w/d", 0, 0..1, "C"),
            LanguageChange::Create { path: path("/w/n") },
            edit("/w/n", 0, 0..0, "new\n"),
        ],
        None => Vec::new(),
    }
}

/// For one call, which may be prepared twice.
fn bench(input: &Value) -> Bench {
    let bench = Bench::new().rule("edit", "*", Ask);
    for (file, text) in FILES {
        bench.put(file, text);
    }
    for _ in 0..6 {
        let found = LanguageFound::Changes(answers(input));
        bench.diagnostics.knows(Ok(LanguageAnswer {
            by: "played".to_owned(),
            encoding: PositionEncoding::Utf8,
            found,
        }));
    }
    bench
}

/// All that stands on the disk.
fn texts(bench: &Bench) -> BTreeMap<String, String> {
    let names = ["/w/a", "/w/b", "/w/c", "/w/d", "/w/n"];
    let text = |name: &str| Some((name.to_owned(), String::from_utf8(bench.disk.read(&path(name)).ok()?).unwrap()));
    names.into_iter().filter_map(text).collect()
}

fn shown(preview: &Preview) -> Vec<FileDiff> {
    let Preview::Edit(diffs) = preview else { panic!("an edit is asked without its texts: {preview:?}") };
    diffs.clone()
}

#[test]
fn r4_1_every_tool_that_edits_is_held_to_it() {
    let registry = Registry::builtin();
    let called = calls();
    for (tool, input, _) in &called {
        assert_eq!(registry.kind(tool, input), ToolKind::Edit, "{tool} {input}: clients show it as an edit");
    }
    let is_edit = |name: &str| registry.kind(name, &Value::Null) == ToolKind::Edit;
    // What a tool would touch is told by its look where it edits what its arguments do not name.
    let reaches = |name: &str| registry.find(name).is_some_and(|tool| tool.reaches());
    let edits = registry.names().filter(|name| is_edit(name) || reaches(name));
    let missing: Vec<&str> = edits.filter(|name| called.iter().all(|(called, ..)| called != name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn r4_1_what_a_tool_that_also_edits_only_looks_up_is_no_edit() {
    let registry = Registry::builtin();
    let of = |input: Value| registry.kind("lsp", &input);
    for input in
        [json!({}), json!({"operation": "hover"}), json!({"operation": "ren"}), json!({"operation": "codeAction"})]
    {
        assert_eq!(of(input.clone()), ToolKind::Search, "{input}");
    }
    assert_eq!(of(json!({"operation": "rename"})), ToolKind::Edit, "still streaming");
    assert_eq!(of(json!({"operation": "codeAction", "title": null})), ToolKind::Search);
}

#[tokio::test]
async fn r4_1_r4_3_an_ask_has_the_whole_texts_of_each_file_and_just_these_are_made() {
    for (tool, input, files) in calls() {
        let bench = bench(&input);
        let before = texts(&bench);
        let (outcome, diffs) = tokio::join!(bench.call(tool, input.clone()), async {
            let ask = bench.client.next_ask().await;
            let diffs = shown(&ask.ask.preview);
            let mut paths: Vec<String> = diffs.iter().map(|diff| diff.path.to_string()).collect();
            paths.sort();
            assert_eq!(paths, files, "{tool}: one a file");
            for diff in &diffs {
                assert_eq!(
                    diff.before.as_ref().map(String::from).as_ref(),
                    before.get(&diff.path.to_string()),
                    "{tool}"
                );
            }
            assert_eq!(texts(&bench), before, "{tool}: nothing is written before the answer");
            ask.select(OptionKind::AllowOnce, None);
            diffs
        });
        assert_eq!(outcome.result.status, ToolStatus::Completed, "{tool}: {}", outcome.result.text);
        let mut expected = before;
        for FileDiff { path, after, .. } in diffs {
            match after {
                Some(after) => expected.insert(path.to_string(), after.to_string()),
                None => expected.remove(&path.to_string()),
            };
        }
        assert_eq!(texts(&bench), expected, "{tool}: what was shown, and nothing else");
        assert_eq!(bench.client.asks().len(), 1);
    }
}

#[tokio::test]
async fn r4_3_what_is_rejected_leaves_every_file_alone() {
    for (tool, input, _) in calls() {
        let bench = bench(&input);
        let before = texts(&bench);
        bench.client.answer_all(OptionKind::RejectOnce);
        bench.call(tool, input).await;
        assert_eq!(texts(&bench), before, "{tool}");
    }
}

#[tokio::test]
async fn r4_3_where_the_file_changes_under_the_ask_what_comes_was_shown_too() {
    for (tool, input, _) in calls().into_iter().filter(|(_, _, files)| files.contains(&"/w/a")) {
        let bench = bench(&input);
        let uri = bench.open("/w/a", 3, "one\ntwo\nthree\n");
        // A call that names a line means that of the text as it is: above it nothing is typed.
        let is_above = input["line"].is_null();
        let typed = Typing { at: if is_above { 0 } else { FILES[0].1.len() }, text: "typed\n" };
        let (outcome, last) = tokio::join!(bench.call(tool, input), async {
            let ask = bench.client.next_ask().await;
            bench.editor.types(&uri, &typed);
            let first = shown(&ask.ask.preview);
            ask.select(OptionKind::AllowOnce, None);
            first
        });
        assert_eq!(outcome.result.status, ToolStatus::Completed, "{tool}: {}", outcome.result.text);
        let after = last.iter().find(|diff| diff.path == path("/w/a")).unwrap().after.clone().unwrap();
        let expected = if is_above { format!("typed\n{after}") } else { format!("{after}typed\n") };
        assert_eq!(bench.buffer("/w/a"), expected, "{tool}: the hunks that were shown, beside the user's line");
    }
}
