//! `lsp` over a language server that the test plays.

use std::sync::Arc;

use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::{Position, PositionEncoding};
use serde_json::json;

use super::*;
use crate::permission::Verdict;
use crate::ports::{LanguageAction, LanguageCall, LanguageChange, LanguagePlace, LanguageSymbol, OptionKind};
use crate::workbench::{Bench, path};

const A: &str = "def old(n):\n    return n\n\nprint(old(1))\n";
const B: &str = "from a import old\n\nprint(\"é\", old(2))\n";

fn at(line: u32, column: u32) -> Position {
    Position { line, column }
}

fn place(file: &str, line: u32, column: u32) -> LanguagePlace {
    LanguagePlace { path: path(file), range: at(line, column)..at(line, column + 3) }
}

fn found(found: LanguageFound) -> Result<LanguageAnswer, LanguageError> {
    Ok(LanguageAnswer { by: "played".to_owned(), encoding: PositionEncoding::Utf8, found })
}

fn edit(file: &str, version: Option<i32>, places: &[(u32, u32)]) -> LanguageChange {
    let edits = places.iter().map(|(line, column)| (at(*line, *column)..at(*line, column + 3), "new".to_owned()));
    LanguageChange::Edit { path: path(file), version, edits: edits.collect() }
}

/// Both of the files, with the places of the name.
fn both() -> Vec<LanguageChange> {
    vec![edit("/w/a.py", None, &[(0, 4), (3, 6)]), edit("/w/b.py", None, &[(0, 14), (2, 12)])]
}

fn bench(bench: Bench) -> Bench {
    bench.put("/w/a.py", A).put("/w/b.py", B);
    bench
}

fn input(operation: &str, line: usize, symbol: &str) -> Value {
    json!({ "operation": operation, "filePath": "a.py", "line": line, "symbol": symbol })
}

fn rename() -> Value {
    json!({ "operation": "rename", "filePath": "a.py", "line": 1, "symbol": "old", "newName": "new" })
}

#[tokio::test]
async fn r10_1_places_are_shown_with_their_lines_and_capped() {
    let bench = bench(Bench::new());
    let places = vec![place("/w/a.py", 0, 4), place("/w/b.py", 2, 12)];
    bench.diagnostics.knows(found(LanguageFound::Places(places)));
    let text = bench.done("lsp", input("findReferences", 4, "old")).await;
    assert_eq!(text, "references of old at a.py:4, by played:\na.py:1:5: def old(n):\nb.py:3:12: print(\"é\", old(2))");
    let questions = bench.diagnostics.questions();
    assert_eq!(questions[0].about, LanguageAbout::References(A.find("old(1)").unwrap()));
    bench.diagnostics.knows(found(LanguageFound::Places(vec![place("/w/a.py", 0, 4); 150])));
    let text = bench.done("lsp", input("goToDefinition", 1, "old")).await;
    assert_eq!((text.lines().count(), text.lines().last().unwrap()), (102, "and 50 more"));
}

#[tokio::test]
async fn r6_1_what_is_unsaved_is_asked_about_and_shown() {
    let bench = bench(Bench::new());
    bench.open("/w/a.py", 7, "x = 1\ndef old(): pass\n");
    bench.diagnostics.knows(found(LanguageFound::Places(vec![place("/w/a.py", 1, 4)])));
    let text = bench.done("lsp", input("goToDefinition", 2, "old")).await;
    assert!(text.ends_with("a.py:2:5: def old(): pass"), "{text}");
    let question = &bench.diagnostics.questions()[0];
    assert_eq!(question.file.open.as_ref().map(|(_, version)| *version), Some(7));
    assert!(question.file.text.to_string().starts_with("x = 1"));
}

#[tokio::test]
async fn r8_5_no_line_of_a_file_is_shown_that_the_model_may_not_read_unasked() {
    let bench = bench(Bench::new().rule("read", "*secret.py", Verdict::Deny).rule("read", "*asked.py", Verdict::Ask));
    bench.put("/w/secret.py", "old = 1\n").put("/w/asked.py", "old = 2\n").put("/lib/x.py", "old = 3\n");
    let files = ["/w/secret.py", "/w/asked.py", "/lib/x.py", "/w/b.py"];
    bench.diagnostics.knows(found(LanguageFound::Places(files.map(|file| place(file, 0, 0)).to_vec())));
    let text = bench.done("lsp", input("findReferences", 1, "old")).await;
    assert!(
        !text.contains("= 1") && !text.contains("= 2") && !text.contains("= 3") && !text.contains("secret"),
        "{text}"
    );
    assert!(text.contains("\nasked.py:1\n../lib/x.py:1\nb.py:1:1: from a import old\n"), "{text}");
    assert!(text.ends_with("1 more are in files that rules keep from you."), "{text}");
}

#[tokio::test]
async fn questions_need_the_permission_lsp() {
    let bench = bench(Bench::new().rule("lsp", "*", Verdict::Ask));
    bench.client.answer_all(OptionKind::AllowOnce);
    bench.diagnostics.knows(found(LanguageFound::Text("int".to_owned())));
    assert_eq!(bench.done("lsp", input("hover", 1, "old")).await, "hover of old at a.py:1, by played:\nint");
    assert_eq!(bench.client.asks().len(), 1);
    let denied = self::bench(Bench::new().rule("lsp", "*", Verdict::Deny));
    denied.failed("lsp", input("hover", 1, "old")).await;
    assert!(denied.diagnostics.questions().is_empty());
}

#[tokio::test]
async fn symbols_calls_and_actions_are_lines() {
    let bench = bench(Bench::new());
    let symbol = |name: &str, depth| LanguageSymbol {
        name: name.to_owned(),
        kind: "function",
        container: (depth > 0).then(|| "C".to_owned()),
        place: place("/w/a.py", 0, 4),
        depth,
    };
    let check = async |answer: LanguageFound, input: Value, expected: &str| {
        bench.diagnostics.knows(found(answer));
        assert_eq!(bench.done("lsp", input).await, expected);
    };
    let symbols = LanguageFound::Symbols(vec![symbol("C", 0), symbol("m", 1)]);
    let expected = "symbols of a.py, by played:\nfunction C a.py:1:5\n  function m (in C) a.py:1:5";
    check(symbols, json!({ "operation": "documentSymbol", "filePath": "a.py" }), expected).await;
    let symbols = LanguageFound::Symbols(vec![symbol("old", 0)]);
    let expected = "symbols of the workspace of \"ol\", by played:\nfunction old a.py:1:5";
    check(symbols, json!({ "operation": "workspaceSymbol", "filePath": "a.py", "query": "ol" }), expected).await;
    // Those of libraries where the project has none.
    let of_library = || LanguageSymbol { place: place("/lib/b.py", 0, 4), ..symbol("older", 0) };
    let query = || json!({ "operation": "workspaceSymbol", "filePath": "a.py", "query": "ol" });
    check(LanguageFound::Symbols(vec![of_library(), symbol("old", 0)]), query(), expected).await;
    let expected = "symbols of the workspace of \"ol\", by played:\nfunction older ../lib/b.py:1";
    check(LanguageFound::Symbols(vec![of_library()]), query(), expected).await;
    let calls =
        LanguageFound::Calls(vec![LanguageCall { symbol: symbol("f", 0), calls: vec![place("/w/a.py", 3, 6)] }]);
    let expected =
        "incoming calls of old at a.py:1, by played:\nfunction f a.py:1:5\n  called at a.py:4:7: print(old(1))";
    check(calls, input("incomingCalls", 1, "old"), expected).await;
    let action = |title: &str, obstacle: Option<&str>| LanguageAction {
        title: title.to_owned(),
        kind: Some("quickfix".to_owned()),
        is_preferred: obstacle.is_none(),
        obstacle: obstacle.map(str::to_owned),
    };
    let actions = LanguageFound::Actions(vec![action("Fix", None), action("Run", Some("a command"))]);
    let expected =
        "code actions of a.py:1:1, by played:\n- Fix (quickfix), preferred\n- Run (quickfix): not to be had, a command";
    check(actions, json!({ "operation": "codeAction", "filePath": "a.py", "line": 1 }), expected).await;
    let expected = "No implementation of old at a.py:1: played found nothing.";
    check(LanguageFound::Places(Vec::new()), input("goToImplementation", 1, "old"), expected).await;
}

#[tokio::test]
async fn a_place_that_is_not_there_is_named() {
    let bench = bench(Bench::new());
    let check = async |input: Value, says: &str| {
        let text = bench.failed("lsp", input).await;
        assert!(text.contains(says), "{text}");
    };
    let with = |extra: Value| {
        let mut input = json!({ "operation": "hover", "filePath": "a.py" });
        input.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        input
    };
    check(with(json!({})), "`line` is missing").await;
    check(with(json!({ "line": 99, "symbol": "old" })), "the file has only 5 lines").await;
    check(with(json!({ "line": 2, "symbol": "old" })), "\"old\" does not stand in line 2, which is: return n").await;
    check(with(json!({ "line": 2 })), "give `symbol` or `character`").await;
    check(json!({ "operation": "hover", "filePath": "c.py", "line": 1, "character": 1 }), "c.py does not exist").await;
    assert!(bench.diagnostics.questions().is_empty());
    check(input("hover", 1, "old"), "no language server looks at such files here").await;
    // A word that only begins like it is passed over.
    assert_eq!(find_word("older old", "old"), Some(6));
    assert_eq!(find_word("older", "old"), Some(0));
}

#[tokio::test]
async fn r4_1_a_rename_is_one_question_with_all_diffs_and_one_undo_step() {
    let bench = bench(Bench::new());
    bench.editor.free.lock().unwrap().shown = false;
    bench.client.answer_all(OptionKind::AllowOnce);
    bench.open("/w/a.py", 3, A);
    for _ in 0..3 {
        bench.diagnostics.knows(found(LanguageFound::Changes(both())));
    }
    let text = bench.done("lsp", rename()).await;
    assert!(text.starts_with("played renamed old to new:\nM a.py: 2 lines added, 2 removed\nM b.py:"), "{text}");
    assert_eq!(bench.buffer("/w/a.py"), A.replace("old", "new"));
    assert_eq!((bench.text("/w/a.py"), bench.text("/w/b.py")), (A.to_owned(), B.replace("old", "new")));
    let asks = bench.client.asks();
    let Preview::Edit(diffs) = &asks[0].preview else { unreachable!("an edit") };
    assert_eq!((asks.len(), diffs.len(), bench.editor.requests().len()), (1, 2, 1));
    // The last word is that of a server that has these very texts.
    let questions = bench.diagnostics.questions();
    let others: Vec<&AbsPath> = questions.last().unwrap().others.iter().map(|(path, _)| path).collect();
    assert_eq!(others, [&path("/w/a.py"), &path("/w/b.py")]);
}

#[tokio::test]
async fn a_rename_touches_nothing_where_one_of_its_files_is_denied() {
    let bench = bench(Bench::trusting().rule("edit", "b.py", Verdict::Deny));
    for _ in 0..3 {
        bench.diagnostics.knows(found(LanguageFound::Changes(both())));
    }
    bench.failed("lsp", rename()).await;
    assert_eq!((bench.text("/w/a.py"), bench.text("/w/b.py")), (A.to_owned(), B.to_owned()));
}

#[tokio::test]
async fn edits_that_were_made_for_another_text_are_not_taken() {
    let stale = vec![edit("/w/a.py", None, &[(0, 4)]), edit("/w/b.py", None, &[(2, 0)])];
    let versioned = vec![edit("/w/a.py", Some(2), &[(0, 4)])];
    // In the last answer another file than in the first.
    let grown = vec![edit("/w/a.py", None, &[(0, 4)]), edit("/w/c.py", None, &[(0, 4)])];
    for (last, file) in [(stale, "b.py"), (versioned, "a.py"), (grown, "c.py")] {
        let bench = bench(Bench::trusting());
        bench.put("/w/c.py", A);
        bench.open("/w/a.py", 3, A);
        for _ in 0..2 {
            bench.diagnostics.knows(found(LanguageFound::Changes(vec![
                edit("/w/a.py", None, &[(0, 4)]),
                edit("/w/b.py", None, &[(0, 14)]),
            ])));
        }
        bench.diagnostics.knows(found(LanguageFound::Changes(last)));
        let text = bench.failed("lsp", rename()).await;
        assert!(text.contains("the language server speaks of another text of /w/") && text.contains(file), "{text}");
        assert_eq!(
            (bench.buffer("/w/a.py"), bench.text("/w/b.py"), bench.text("/w/c.py")),
            (A.to_owned(), B.to_owned(), A.to_owned())
        );
        assert!(bench.editor.requests().is_empty());
    }
}

#[tokio::test]
async fn files_are_made_moved_and_deleted_with_an_edit() {
    let bench = bench(Bench::trusting());
    bench.put("/w/gone.py", "x\n");
    let changes = vec![
        LanguageChange::Create { path: path("/w/made.py") },
        LanguageChange::Edit {
            path: path("/w/made.py"),
            version: None,
            edits: vec![(at(0, 0)..at(0, 0), "m = 1\n".to_owned())],
        },
        LanguageChange::Move { from: path("/w/b.py"), to: path("/w/moved.py") },
        edit("/w/moved.py", None, &[(0, 14)]),
        LanguageChange::Delete { path: path("/w/gone.py") },
        edit("/w/a.py", None, &[(0, 4)]),
        edit("/w/a.py", None, &[(3, 6)]),
    ];
    for _ in 0..3 {
        bench.diagnostics.knows(found(LanguageFound::Changes(changes.clone())));
    }
    bench.done("lsp", json!({ "operation": "codeAction", "filePath": "a.py", "line": 1, "title": "Split" })).await;
    assert_eq!((bench.text("/w/made.py").as_str(), bench.text("/w/a.py")), ("m = 1\n", A.replace("old", "new")));
    assert_eq!(bench.text("/w/moved.py"), B.replacen("old", "new", 1));
    let is_there = |file: &str| copydesk_workspace::disk::Disk::stat(&*bench.disk, &path(file)).is_ok();
    assert!(!is_there("/w/b.py") && !is_there("/w/gone.py"));
    let questions = bench.diagnostics.questions();
    assert_eq!(questions[0].about, LanguageAbout::CodeAction { at: 0..11, title: "Split".to_owned() });
}

#[tokio::test]
async fn a_server_that_is_not_ready_is_asked_once_more() {
    let bench = bench(Bench::new());
    bench.diagnostics.knows(Err(LanguageError::NotReady));
    bench.diagnostics.knows(found(LanguageFound::Text("int".to_owned())));
    assert!(bench.done("lsp", input("hover", 1, "old")).await.ends_with("int"));
    let nothing = found(LanguageFound::Changes(Vec::new()));
    bench.diagnostics.knows(nothing);
    assert!(bench.failed("lsp", rename()).await.contains("played has nothing to change there"));
}

#[tokio::test]
async fn r6_4_what_is_typed_while_a_server_thinks_is_never_edited_by_its_old_places() {
    let bench = bench(Bench::trusting());
    bench.open("/w/a.py", 3, A);
    let insert = LanguageChange::Edit {
        path: path("/w/a.py"),
        version: None,
        edits: vec![(at(1, 4)..at(1, 10), "yield".to_owned())],
    };
    for _ in 0..3 {
        bench.diagnostics.knows(found(LanguageFound::Changes(vec![insert.clone()])));
    }
    // During the last of the three questions.
    let overlay = Arc::clone(&bench.overlay);
    let typed = bench.document("/w/a.py", 4, &format!("# typed\n{A}"));
    bench.diagnostics.during(2, move || overlay.open(typed));
    let action = json!({ "operation": "codeAction", "filePath": "a.py", "line": 2, "title": "Yield" });
    let text = bench.failed("lsp", action).await;
    assert!(text.contains("the language server speaks of another text of /w/a.py"), "{text}");
    assert_eq!(bench.buffer("/w/a.py"), format!("# typed\n{A}"));
    // A file that is not open, changed by somebody else.
    let bench = self::bench(Bench::trusting());
    for _ in 0..3 {
        let changes = vec![
            edit("/w/a.py", None, &[(0, 4)]),
            LanguageChange::Edit {
                path: path("/w/b.py"),
                version: None,
                edits: vec![(at(0, 0)..at(0, 0), "import new\n".to_owned())],
            },
        ];
        bench.diagnostics.knows(found(LanguageFound::Changes(changes)));
    }
    let disk = Arc::clone(&bench.disk);
    bench.diagnostics.during(2, move || disk.put(&path("/w/b.py"), format!("#!/bin/python\n{B}")));
    bench.failed("lsp", rename()).await;
    assert_eq!((bench.text("/w/a.py"), bench.text("/w/b.py")), (A.to_owned(), format!("#!/bin/python\n{B}")));
}

/// A server that lies changes nothing, and is told apart from a user who types: nobody is asked thrice.
#[tokio::test]
async fn edits_that_contradict_themselves_change_nothing() {
    let changed =
        |edits: Vec<(Range<Position>, String)>| LanguageChange::Edit { path: path("/w/a.py"), version: None, edits };
    let moved = |from: &str, to: &str| LanguageChange::Move { from: path(from), to: path(to) };
    let text = |text: &str| text.to_owned();
    let lies: Vec<(Vec<LanguageChange>, &str)> = vec![
        (vec![changed(vec![(at(0, 7)..at(0, 4), text("new"))])], "ends before it begins"),
        (vec![changed(vec![(at(3, 9)..at(0, 4), text("new"))])], "ends before it begins"),
        (vec![changed(vec![(at(0, 0)..at(0, 7), text("a")), (at(0, 4)..at(0, 9), text("b"))])], "do not fit"),
        (vec![moved("/w/a.py", "/w/b.py")], "/w/b.py exists already"),
        (vec![moved("/w/a.py", "/w/c.py"), moved("/w/b.py", "/w/c.py")], "/w/c.py exists already"),
        (vec![LanguageChange::Create { path: path("/w/c.py") }, moved("/w/b.py", "/w/c.py")], "/w/c.py exists already"),
        (
            vec![moved("/w/a.py", "/w/c.py"), LanguageChange::Create { path: path("/w/c.py") }],
            "/w/c.py would be made, and exists already",
        ),
        (vec![LanguageChange::Delete { path: path("/w/a.py") }, edit("/w/a.py", None, &[(0, 4)])], "/w/a.py is gone"),
        (vec![edit("/w/a.py", None, &[(0, 4)]), edit("/w/link.py", None, &[(0, 4)])], "are one file"),
    ];
    for (lie, says) in lies {
        let bench = bench(Bench::trusting());
        bench.disk.put_link(&path("/w/link.py"), "/w/a.py");
        for _ in 0..9 {
            bench.diagnostics.knows(found(LanguageFound::Changes(lie.clone())));
        }
        let text = bench
            .failed("lsp", json!({ "operation": "codeAction", "filePath": "a.py", "line": 1, "title": "Lie" }))
            .await;
        assert!(text.contains("Nothing was changed") && text.contains(says), "{text}");
        assert_eq!((bench.text("/w/a.py"), bench.text("/w/b.py")), (A.to_owned(), B.to_owned()));
        assert!(bench.diagnostics.questions().len() <= 3);
    }
}

/// A path of an answer names the same file in the next call, wherever the session is.
#[tokio::test]
async fn r20_1_paths_that_are_shown_are_those_that_calls_take() {
    let check = async |folder: &str, roots: &[&str], ambiguous: &[&str]| {
        let mut bench = Bench::trusting();
        let files = ["/w/a.py", "/w/sub/a.py", "/w/sub/lib/a.py", "/other/lib/a.py", "/other/lib/sub/a.py"];
        for file in files {
            bench.put(file, A);
        }
        bench.facts.folder = path(folder);
        bench.facts.roots = roots.iter().map(|root| path(root)).collect();
        bench.facts.ambiguous = ambiguous.iter().map(|name| (*name).to_owned()).collect();
        bench.diagnostics.knows(found(LanguageFound::Places(files.map(|file| place(file, 0, 4)).to_vec())));
        let text = bench.done("lsp", json!({ "operation": "findReferences", "filePath": format!("{folder}/a.py"), "line": 1, "symbol": "old" })).await;
        let shown: Vec<AbsPath> = text
            .lines()
            .skip(1)
            .map(|line| {
                let (shown, _) = line.split_once(":1").unwrap();
                super::super::path::resolve(shown, &bench.facts).unwrap()
            })
            .collect();
        assert_eq!(shown, files.map(path), "{text}");
    };
    check("/w", &["/w"], &[]).await;
    check("/w/sub", &["/w/sub"], &[]).await;
    check("/w/sub", &["/w/sub", "/other/lib"], &["lib"]).await;
    check("/w", &["/w", "/other/lib", "/w/sub"], &["sub"]).await;
}

#[tokio::test]
async fn r8_3_a_server_that_edits_outside_of_the_workspace_needs_the_user_s_word() {
    let bench = bench(Bench::trusting());
    bench.put("/home/user/.profile", "old\n");
    bench.disk.put_link(&path("/w/inside.py"), "/home/user/.profile");
    for file in ["/home/user/.profile", "/w/inside.py", "/w/../home/user/.profile"] {
        for _ in 0..3 {
            bench.diagnostics.knows(found(LanguageFound::Changes(vec![
                edit("/w/a.py", None, &[(0, 4)]),
                edit(file, None, &[(0, 0)]),
            ])));
        }
        let asked = bench.client.asks().len();
        let (outcome, ()) = tokio::join!(bench.call("lsp", rename()), async {
            bench.client.next_ask().await.select(OptionKind::RejectOnce, None);
        });
        assert_ne!(outcome.result.status, crate::message::ToolStatus::Completed);
        assert_eq!(bench.client.asks().len(), asked + 1);
        assert_eq!((bench.text("/home/user/.profile").as_str(), bench.text("/w/a.py")), ("old\n", A.to_owned()));
    }
}
