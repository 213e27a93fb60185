//! What an ask for an edit shows, and that nothing else is done: of every tool that edits, the built-in list decides which these are.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeMap;

use copydesk_workspace::disk::Disk as _;
use serde_json::{Value, json};

use crate::message::{FileDiff, ToolStatus};
use crate::permission::Verdict::Ask;
use crate::ports::{OptionKind, Preview};
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
    ]
}

fn bench() -> Bench {
    let bench = Bench::new().rule("edit", "*", Ask);
    for (file, text) in FILES {
        bench.put(file, text);
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
    let edits = registry.names().filter(|name| registry.kind(name) == ToolKind::Edit);
    let called = calls();
    let missing: Vec<&str> = edits.filter(|name| called.iter().all(|(called, ..)| called != name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[tokio::test]
async fn r4_1_r4_3_an_ask_has_the_whole_texts_of_each_file_and_just_these_are_made() {
    for (tool, input, files) in calls() {
        let bench = bench();
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
        let bench = bench();
        let before = texts(&bench);
        bench.client.answer_all(OptionKind::RejectOnce);
        bench.call(tool, input).await;
        assert_eq!(texts(&bench), before, "{tool}");
    }
}

#[tokio::test]
async fn r4_3_where_the_file_changes_under_the_ask_what_comes_was_shown_too() {
    for (tool, input, _) in calls().into_iter().filter(|(_, _, files)| files.contains(&"/w/a")) {
        let bench = bench();
        let uri = bench.open("/w/a", 3, "one\ntwo\nthree\n");
        let typed = Typing { at: 0, text: "typed\n" };
        let (outcome, last) = tokio::join!(bench.call(tool, input), async {
            let ask = bench.client.next_ask().await;
            bench.editor.types(&uri, &typed);
            let first = shown(&ask.ask.preview);
            ask.select(OptionKind::AllowOnce, None);
            first
        });
        assert_eq!(outcome.result.status, ToolStatus::Completed, "{tool}: {}", outcome.result.text);
        let after = last.iter().find(|diff| diff.path == path("/w/a")).unwrap().after.clone().unwrap();
        assert_eq!(
            bench.buffer("/w/a"),
            format!("typed\n{after}"),
            "{tool}: the hunks that were shown, beside the user's line"
        );
    }
}
