//! The editor finds the faults that it is there for. The daemon of these tests is a list of messages.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// Says `messages` once it is initialized, answers `shutdown`, ends on `exit`.
fn editor_of(messages: &[Value]) -> FakeEditor {
    let messages = messages.to_vec();
    FakeEditor::in_memory(move |mut reader, mut writer| async move {
        let mut input = Vec::new();
        let mut told = false;
        loop {
            while let Some((message, rest)) = split(&input) {
                input = rest;
                let answer = match message["method"].as_str() {
                    Some("initialize") => {
                        json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "capabilities": {} } })
                    }
                    Some("session/new") => {
                        json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "sessionId": "s" } })
                    }
                    Some("shutdown") => json!({ "jsonrpc": "2.0", "id": message["id"], "result": null }),
                    Some("exit") => return,
                    Some("textDocument/didOpen") if !std::mem::replace(&mut told, true) => {
                        for message in &messages {
                            writer.write_all(&wire::frame(message, Dialect::Lsp)).await.unwrap();
                        }
                        continue;
                    }
                    _ => continue,
                };
                writer.write_all(&wire::frame(&answer, Dialect::Lsp)).await.unwrap();
            }
            if reader.read_buf(&mut input).await.unwrap() == 0 {
                return;
            }
        }
    })
}

fn split(input: &[u8]) -> Option<(Value, Vec<u8>)> {
    let head = input.windows(4).position(|window| window == b"\r\n\r\n")?;
    let length: usize = std::str::from_utf8(&input[..head]).ok()?.strip_prefix("Content-Length: ")?.parse().ok()?;
    let body = input.get(head + 4..head + 4 + length)?;
    Some((serde_json::from_slice(body).unwrap(), input[head + 4 + length..].to_vec()))
}

const URI: &str = "file:///a.txt";

fn edit(version: i64, edits: Value) -> Value {
    let change = json!({ "textDocument": { "uri": URI, "version": version }, "edits": edits });
    json!({
        "jsonrpc": "2.0", "id": "e", "method": "workspace/applyEdit",
        "params": { "label": "edit", "edit": { "documentChanges": [change] } }
    })
}

fn replace(start: (u32, u32), end: (u32, u32), text: &str) -> Value {
    let place = |(line, character): (u32, u32)| json!({ "line": line, "character": character });
    json!({ "range": { "start": place(start), "end": place(end) }, "newText": text })
}

/// The faults after the daemon has said these messages to an editor with an open document, and the document.
async fn faults(messages: &[Value]) -> (Vec<String>, Document) {
    let mut editor = editor_of(messages);
    editor.initialize(Capabilities::default()).await;
    editor.open_document(URI, "text", "eins 😀 zwei\ndrei\n");
    // An answer to this comes after everything that the daemon says.
    let state = Arc::clone(&editor.state);
    let faults = editor.try_finish().await.err().unwrap_or_default();
    let document = state.lock().unwrap().documents[URI].clone();
    (faults, document)
}

#[tokio::test]
async fn a_daemon_without_fault_has_none() {
    let (found, document) =
        faults(&[edit(1, json!([replace((0, 8), (0, 12), "due"), replace((1, 0), (1, 4), "tre")]))]).await;
    assert_eq!(found, [] as [String; 0]);
    assert_eq!((document.text.as_str(), document.version), ("eins 😀 due\ntre\n", 2));
}

#[tokio::test]
async fn an_edit_of_another_version_is_a_fault_and_is_not_applied() {
    for version in [0, 2] {
        let (found, document) = faults(&[edit(version, json!([replace((0, 0), (0, 4), "x")]))]).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("but the document has version 1"), "{found:?}");
        assert_eq!((document.text.as_str(), document.version), ("eins 😀 zwei\ndrei\n", 1));
    }
}

#[tokio::test]
async fn edits_that_name_no_place_or_overlap_are_faults() {
    for edits in [
        json!([replace((0, 6), (0, 7), "half of a pair")]),
        json!([replace((0, 40), (0, 40), "beyond")]),
        json!([replace((9, 0), (9, 0), "beyond")]),
        json!([replace((0, 0), (0, 4), "a"), replace((0, 2), (0, 5), "b")]),
        json!([replace((1, 0), (0, 0), "backwards")]),
    ] {
        let (found, document) = faults(&[edit(1, edits.clone())]).await;
        assert_eq!(found.len(), 1, "{edits}: {found:?}");
        assert_eq!(document.version, 1);
    }
}

#[tokio::test]
async fn what_nobody_looked_at_is_a_fault() {
    let (found, _) = faults(&[
        json!({ "jsonrpc": "2.0", "method": "window/showMessage", "params": { "message": "hello" } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "nobody/answers" }),
        json!({ "jsonrpc": "2.0", "id": 77, "result": null }),
    ])
    .await;
    assert_eq!(found.len(), 3, "{found:?}");
}

#[tokio::test]
async fn a_second_answer_is_a_fault() {
    let (found, _) = faults(&[json!({ "jsonrpc": "2.0", "id": 1, "result": {} })]).await;
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("second answer"), "{found:?}");
}

#[tokio::test]
async fn a_session_message_that_is_not_acp_s_is_a_fault() {
    let update = json!({ "sessionUpdate": "plan" });
    let message =
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } });
    let (found, _) = faults(&[message]).await;
    assert!(found.iter().any(|fault| fault.contains("no SessionNotification")), "{found:?}");
}

#[tokio::test]
async fn a_notification_of_a_session_that_no_answer_has_told_of_is_a_fault() {
    let update = json!({ "sessionUpdate": "plan", "entries": [] });
    let message =
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } });
    let (found, _) = faults(&[message]).await;
    assert!(found.iter().any(|fault| fault.contains("of which no answer has told yet")), "{found:?}");
}

#[tokio::test]
async fn an_answer_without_a_result_is_a_fault() {
    let (found, _) = faults(&[json!({ "jsonrpc": "2.0", "id": 77 })]).await;
    assert!(found.iter().any(|fault| fault.contains("either a result or an error")), "{found:?}");
}

#[tokio::test]
async fn what_a_script_answers_or_the_daemon_takes_back_is_accounted_for() {
    let ask = json!({ "sessionId": "s", "toolCall": { "toolCallId": "c" }, "options": [] });
    let plan = json!({ "sessionUpdate": "plan", "entries": [] });
    let mut editor = editor_of(&[
        json!({ "jsonrpc": "2.0", "id": 1, "method": "_copydesk/save", "params": { "uris": [URI] } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "session/request_permission", "params": ask }),
        json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 2 } }),
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": plan } }),
        json!({ "jsonrpc": "2.0", "method": "window/logMessage", "params": {} }),
    ]);
    editor.initialize(Capabilities::default()).await;
    editor.script("_copydesk/save", |_| json!({ "unsaved": [] }));
    editor.disregard("window/logMessage");
    editor.request("session/new", json!({ "cwd": "/", "mcpServers": [] })).await.unwrap();
    editor.open_document(URI, "text", "");
    assert_eq!(editor.await_update("plan").await, plan);
    editor.finish().await;
}
