#![expect(clippy::unwrap_used, reason = "a test may panic")]
//! Questions to a server that the test plays: what it is sent, and what is made of its answers.

use std::collections::VecDeque;
use std::sync::Mutex;

use copydesk_engine::ports::{
    DiagnosticsTarget, LanguageAction, LanguageCall, LanguageChange, LanguagePlace, LanguageSymbol,
};
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::Position;
use ropey::Rope;

use super::*;

struct Played {
    answers: Mutex<VecDeque<Value>>,
    sent: Mutex<Vec<(String, Value)>>,
}

impl Caller for Played {
    fn name(&self) -> &str {
        "played"
    }

    fn encoding(&self) -> PositionEncoding {
        PositionEncoding::Utf16
    }

    fn call<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Called, LanguageError>> {
        self.sent.lock().unwrap().push((method.to_owned(), params));
        let result = self.answers.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(async move { Ok(Called { result, encoding: PositionEncoding::Utf8 }) })
    }

    fn runs_commands(&self) -> bool {
        true
    }

    /// As the next answer has it.
    fn edits_of(&self, command: Value) -> BoxFuture<'_, Result<Called, LanguageError>> {
        self.call("workspace/executeCommand", command)
    }
}

fn path(name: &str) -> AbsPath {
    AbsPath::new("/w").unwrap().join(name)
}

fn span(line: u32, start: u32, end: u32) -> Value {
    json!({ "start": { "line": line, "character": start }, "end": { "line": line, "character": end } })
}

fn place(name: &str, line: u32, start: u32, end: u32) -> LanguagePlace {
    let at = |column| Position { line, column };
    LanguagePlace { path: path(name), range: at(start)..at(end) }
}

/// The text is `é😀x = f(1)`, on the second line.
async fn asked(
    about: LanguageAbout,
    answers: &[Value],
) -> (Result<LanguageFound, LanguageError>, Vec<(String, Value)>) {
    let text = Rope::from("one\né😀x = f(1)\n");
    let file = DiagnosticsTarget { path: path("a.py"), open: None, text };
    let question = LanguageQuestion { about, file, others: Vec::new() };
    let played = Played { answers: Mutex::new(answers.iter().cloned().collect()), sent: Mutex::default() };
    let answer =
        ask(&question, vec![json!({ "range": span(0, 0, 1) }), json!({ "range": span(1, 0, 1) })], &played).await;
    if let Ok(answer) = &answer {
        assert_eq!((answer.by.as_str(), answer.encoding), ("played", PositionEncoding::Utf8));
    }
    (answer.map(|answer| answer.found), played.sent.into_inner().unwrap())
}

#[tokio::test]
async fn places_are_sent_in_the_columns_of_the_server_and_taken_in_every_form() {
    let answers = [
        json!({ "uri": "file:///w/b.py", "range": span(3, 4, 5) }),
        json!([{ "uri": "file:///w/b.py", "range": span(3, 4, 5) }, { "uri": "file:///w/b.py", "range": span(3, 4, 5) }]),
        json!([{ "targetUri": "file:///w/b.py", "targetRange": span(0, 0, 9), "targetSelectionRange": span(3, 4, 5) }]),
    ];
    for answer in answers {
        // The byte of `x`: é has two, the face four.
        let (found, sent) = asked(LanguageAbout::Definition(10), &[answer]).await;
        assert_eq!(found.unwrap(), LanguageFound::Places(vec![place("b.py", 3, 4, 5)]));
        let params = json!({ "textDocument": { "uri": "file:///w/a.py" }, "position": { "line": 1, "character": 3 } });
        assert_eq!(sent, [("textDocument/definition".to_owned(), params)]);
    }
    let (found, _) =
        asked(LanguageAbout::References(4), &[json!([{ "uri": "jdt://x", "range": span(0, 0, 0) }, 7])]).await;
    assert_eq!(found.unwrap(), LanguageFound::Places(Vec::new()));
    let (found, _) = asked(LanguageAbout::Implementation(4), &[Value::Null]).await;
    assert_eq!(found.unwrap(), LanguageFound::Places(Vec::new()));
}

#[tokio::test]
async fn hover_is_one_text() {
    let check = async |contents: Value, expected: &str| {
        let (found, _) = asked(LanguageAbout::Hover(4), &[json!({ "contents": contents })]).await;
        assert_eq!(found.unwrap(), LanguageFound::Text(expected.to_owned()));
    };
    check(json!({ "kind": "markdown", "value": "**x**\n" }), "**x**").await;
    check(json!("plain"), "plain").await;
    check(json!([{ "language": "py", "value": "x: int" }, "words"]), "```py\nx: int\n```\n\nwords").await;
    check(Value::Null, "").await;
}

#[tokio::test]
async fn symbols_hold_each_other_or_stand_in_a_list() {
    let inner = json!({ "name": "m", "kind": 6, "range": span(2, 0, 9), "selectionRange": span(2, 4, 5) });
    let outer =
        json!({ "name": "C", "kind": 5, "range": span(1, 0, 9), "selectionRange": span(1, 6, 7), "children": [inner] });
    let (found, _) = asked(LanguageAbout::DocumentSymbols, &[json!([outer])]).await;
    let symbol =
        |name: &str, kind, place, depth| LanguageSymbol { name: name.to_owned(), kind, container: None, place, depth };
    let expected = [symbol("C", "class", place("a.py", 1, 6, 7), 0), symbol("m", "method", place("a.py", 2, 4, 5), 1)];
    assert_eq!(found.unwrap(), LanguageFound::Symbols(expected.to_vec()));
    let of = |name: &str, kind: u64| json!({ "name": name, "kind": kind, "containerName": "C", "location": { "uri": "file:///w/b.py", "range": span(1, 0, 1) } });
    let (found, sent) =
        asked(LanguageAbout::WorkspaceSymbols("f".to_owned()), &[json!([of("f", 12), of("s", 15)])]).await;
    let expected =
        LanguageSymbol { container: Some("C".to_owned()), ..symbol("f", "function", place("b.py", 1, 0, 1), 0) };
    assert_eq!(found.unwrap(), LanguageFound::Symbols(vec![expected]));
    assert_eq!(sent, [("workspace/symbol".to_owned(), json!({ "query": "f" }))]);
}

#[tokio::test]
async fn calls_stand_in_the_text_of_who_calls() {
    let item = |name: &str| json!({ "name": "f", "kind": 12, "uri": format!("file:///w/{name}"), "range": span(0, 0, 9), "selectionRange": span(0, 4, 5) });
    let symbol = |name: &str| LanguageSymbol {
        name: "f".to_owned(),
        kind: "function",
        container: None,
        place: place(name, 0, 4, 5),
        depth: 0,
    };
    let check = async |about: LanguageAbout, method: &str, end: &str, stands_in: &str| {
        let call = json!([{ end: item("b.py"), "fromRanges": [span(7, 1, 2)] }]);
        let (found, sent) = asked(about, &[json!([item("a.py")]), call]).await;
        let calls = vec![place(stands_in, 7, 1, 2)];
        assert_eq!(found.unwrap(), LanguageFound::Calls(vec![LanguageCall { symbol: symbol("b.py"), calls }]));
        assert_eq!(sent[1], (method.to_owned(), json!({ "item": item("a.py") })));
    };
    check(LanguageAbout::IncomingCalls(4), "callHierarchy/incomingCalls", "from", "b.py").await;
    check(LanguageAbout::OutgoingCalls(4), "callHierarchy/outgoingCalls", "to", "a.py").await;
}

#[tokio::test]
async fn edits_come_in_both_forms_and_in_their_order() {
    let rename = || LanguageAbout::Rename { at: 4, to: "new".to_owned() };
    let edit = json!([{ "range": span(1, 0, 3), "newText": "new" }]);
    let edits = || {
        let at = |column| Position { line: 1, column };
        vec![(at(0)..at(3), "new".to_owned())]
    };
    let (found, sent) =
        asked(rename(), &[json!({ "changes": { "file:///w/b.py": edit }, "versions": { "file:///w/b.py": 4 } })]).await;
    let expected = LanguageChange::Edit { path: path("b.py"), version: Some(4), edits: edits() };
    assert_eq!(found.unwrap(), LanguageFound::Changes(vec![expected]));
    assert_eq!(sent[0].1["newName"], "new");
    let changes = json!({ "documentChanges": [
        { "kind": "create", "uri": "file:///w/n.py" },
        { "kind": "rename", "oldUri": "file:///w/o.py", "newUri": "file:///w/p.py" },
        { "textDocument": { "uri": "file:///w/p.py", "version": null }, "edits": edit },
        { "kind": "delete", "uri": "file:///w/d.py" },
    ]});
    let (found, _) = asked(rename(), &[changes]).await;
    let expected = vec![
        LanguageChange::Create { path: path("n.py") },
        LanguageChange::Move { from: path("o.py"), to: path("p.py") },
        LanguageChange::Edit { path: path("p.py"), version: None, edits: edits() },
        LanguageChange::Delete { path: path("d.py") },
    ];
    assert_eq!(found.unwrap(), LanguageFound::Changes(expected));
    // Of an edit nothing is left out.
    for broken in [
        json!({ "changes": { "untitled:x": edit } }),
        json!({ "changes": { "file:///w/b.py": [{ "range": 7 }] } }),
        json!({ "documentChanges": [{ "kind": "explode", "uri": "file:///w/b.py" }] }),
    ] {
        assert!(matches!(asked(rename(), &[broken]).await.0, Err(LanguageError::Refused { .. })));
    }
}

#[tokio::test]
async fn code_actions_are_listed_and_only_edits_are_made() {
    let actions = json!([
        { "title": "Import f", "kind": "quickfix", "isPreferred": true, "edit": { "changes": { "file:///w/a.py": [] } } },
        { "title": "Later", "data": 7 },
        { "title": "Run", "command": { "command": "x", "title": "Run" } },
        { "title": "Run too", "edit": {}, "command": { "command": "x", "title": "Run" } },
        { "title": "Nothing", "edit": { "documentChanges": [] } },
        { "title": "Not now", "edit": { "changes": {} }, "disabled": { "reason": "no selection" } },
    ]);
    let (found, sent) = asked(LanguageAbout::CodeActions(4..10), std::slice::from_ref(&actions)).await;
    let action =
        |title: &str| LanguageAction { title: title.to_owned(), kind: None, is_preferred: false, obstacle: None };
    let more_than_edit =
        "a command of the server that may do more than edit, so it is not run; make the change yourself";
    // What is disabled is not offered.
    let expected = vec![
        LanguageAction { kind: Some("quickfix".to_owned()), is_preferred: true, ..action("Import f") },
        action("Later"),
        LanguageAction { obstacle: Some(more_than_edit.to_owned()), ..action("Run") },
        LanguageAction { obstacle: Some(more_than_edit.to_owned()), ..action("Run too") },
        action("Nothing"),
    ];
    assert_eq!(found.unwrap(), LanguageFound::Actions(expected));
    // Problems of these lines alone.
    assert_eq!(sent[0].1["context"]["diagnostics"], json!([{ "range": span(1, 0, 1) }]));
    let edit = json!({ "changes": { "file:///w/a.py": [{ "range": span(0, 0, 0), "newText": "import f\n" }] } });
    let make = |title: &str| LanguageAbout::CodeAction { at: 4..10, title: title.to_owned() };
    let (found, sent) = asked(make("Later"), &[actions.clone(), json!({ "title": "Later", "edit": edit })]).await;
    assert!(matches!(found.unwrap(), LanguageFound::Changes(changes) if changes.len() == 1));
    assert_eq!(sent[1], ("codeAction/resolve".to_owned(), json!({ "title": "Later", "data": 7 })));
    for odd in [json!([]), json!(["x"]), json!("x"), json!(3), json!(true), Value::Null] {
        let (found, _) = asked(make("Later"), &[actions.clone(), odd]).await;
        assert!(found.unwrap_err().to_string().contains("nothing to change there"));
    }
    for (title, says) in [
        ("Not now", "no selection"),
        ("Run", "a command of the server that may do more"),
        ("Run too", "a command of the server that may do more"),
        ("Nothing", "nothing to change there"),
        ("Gone", "there is no code action \"Gone\""),
    ] {
        let (found, _) = asked(make(title), std::slice::from_ref(&actions)).await;
        assert!(found.unwrap_err().to_string().contains(says), "{title}");
    }
}

#[tokio::test]
async fn an_action_that_is_a_command_is_the_one_edit_that_the_command_asks_for() {
    let edit = json!({ "changes": { "file:///w/a.py": [{ "range": span(0, 0, 0), "newText": "import f\n" }] } });
    let command = json!({ "title": "Fix", "command": "gopls.apply_fix", "arguments": [{ "fix": 1 }] });
    let run =
        ("workspace/executeCommand".to_owned(), json!({ "command": "gopls.apply_fix", "arguments": [{ "fix": 1 }] }));
    let fix = || LanguageAbout::CodeAction { at: 4..10, title: "Fix".to_owned() };
    let listed = asked(LanguageAbout::CodeActions(4..10), &[json!([command])]).await.0.unwrap();
    assert!(matches!(listed, LanguageFound::Actions(actions) if actions[0].obstacle.is_none()));
    let (found, sent) = asked(fix(), &[json!([command]), json!([edit])]).await;
    assert!(matches!(found.unwrap(), LanguageFound::Changes(changes) if changes.len() == 1));
    assert_eq!(sent[1], run);
    // Beside an edit that does nothing.
    let beside = json!({ "title": "Fix", "edit": {}, "command": command });
    let (found, sent) = asked(fix(), &[json!([beside]), json!([edit])]).await;
    assert!(matches!(found.unwrap(), LanguageFound::Changes(changes) if changes.len() == 1));
    assert_eq!(sent[1], run);
    // The command comes with the answer to the second question.
    let later = json!({ "title": "Fix", "data": 7 });
    let resolved = json!({ "title": "Fix", "command": command });
    let (found, sent) = asked(fix(), &[json!([later]), resolved, json!([edit])]).await;
    assert!(matches!(found.unwrap(), LanguageFound::Changes(changes) if changes.len() == 1));
    assert_eq!((sent[1].0.as_str(), &sent[2]), ("codeAction/resolve", &run));
    for (edits, says) in [(json!([]), "nothing to change"), (json!([edit, edit]), "in several steps")] {
        let (found, _) = asked(fix(), &[json!([command]), edits]).await;
        assert!(found.unwrap_err().to_string().contains(says), "{says}");
    }
}
