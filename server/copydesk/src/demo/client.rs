//! The demo's editor: one open document, applied edits, and a user who allows what is asked. Prints all that it is told and answers.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_protocol::rpc::{
    self, CallError, CancelDialect, Framing, Handler, Notification, Options, Peer, Reply, Request, RpcError,
};
use copydesk_workspace::diff::unified;
use copydesk_workspace::edit::{EditSet, TextEdit};
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::{Position, PositionEncoding, offset_of};
use copydesk_workspace::uri::uri_from_path;
use ropey::Rope;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot};

const ENCODING: PositionEncoding = PositionEncoding::Utf8;

/// How the turn came out.
pub(super) struct Outcome {
    /// Of the buffer.
    pub(super) text: String,
    /// Whether the model came to the end of its script.
    pub(super) finished: bool,
}

/// Opens `greet.rs` and sends the prompt.
pub(super) async fn drive(
    transport: DuplexStream,
    project: &AbsPath,
    text: &str,
    out: &mut (dyn Write + Send),
) -> std::io::Result<Outcome> {
    let path = project.join("greet.rs");
    let (told, mut lines) = mpsc::channel(256);
    let buffer = Arc::new(Mutex::new(Buffer { path: path.clone(), text: Rope::from_str(text), version: 1 }));
    let (reads, writes) = tokio::io::split(transport);
    let options = Options { framing: Framing::ContentLength, cancel: CancelDialect::Lsp };
    let (connected, peer) = oneshot::channel();
    let editor = buffer.clone();
    let connection = tokio::spawn(rpc::serve(Box::new(reads), Box::new(writes), options, move |peer| {
        // Its receiver waits a few lines below.
        let _ = connected.send(peer.clone());
        Arc::new(Editor { peer, buffer: editor, told })
    }));
    let peer = peer.await.map_err(std::io::Error::other)?;
    let talk = converse(peer, project, &path, text);
    tokio::pin!(talk);
    let stopped = loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => write!(out, "{line}")?,
            stopped = &mut talk => break stopped,
        }
    };
    while let Ok(line) = lines.try_recv() {
        write!(out, "{line}")?;
    }
    match &stopped {
        Ok(reason) => writeln!(out, "\n[turn] {reason}")?,
        Err(error) => writeln!(out, "\n[turn] failed: {error}")?,
    }
    connection.await.map_err(std::io::Error::other)?;
    let text = buffer.lock().unwrap_or_else(PoisonError::into_inner).text.to_string();
    Ok(Outcome { text, finished: stopped.is_ok_and(|reason| reason == "end_turn") })
}

async fn converse(peer: Peer, project: &AbsPath, path: &AbsPath, text: &str) -> Result<String, String> {
    let call = async |method: &str, params: Value| peer.request(method, params).await.map_err(|error| describe(&error));
    let tell = async |method: &str, params: Value| {
        peer.notify(method, params).await.map_err(|_| "the daemon has ended".to_owned())
    };
    call(
        "initialize",
        json!({
            "processId": null,
            "workspaceFolders": [{ "uri": uri_from_path(project), "name": "project" }],
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
                "experimental": { "copydesk": { "protocol": 1, "acp": {}, "save": true } },
            },
        }),
    )
    .await?;
    tell("initialized", json!({})).await?;
    let document = json!({ "uri": uri_from_path(path), "languageId": "rust", "version": 1, "text": text });
    tell("textDocument/didOpen", json!({ "textDocument": document })).await?;
    let session = call("session/new", json!({ "cwd": project, "mcpServers": [] })).await?;
    let prompt =
        json!([{ "type": "text", "text": "The test in greet.rs fails. Please mend the function and run the test." }]);
    let turn = call("session/prompt", json!({ "sessionId": session["sessionId"], "prompt": prompt })).await;
    call("shutdown", Value::Null).await?;
    tell("exit", Value::Null).await?;
    turn.map(|turn| turn["stopReason"].as_str().unwrap_or("no reason").to_owned())
}

fn describe(error: &CallError) -> String {
    match error {
        CallError::Remote(error) => error.message.clone(),
        CallError::Closed => "the daemon has ended".to_owned(),
    }
}

struct Buffer {
    path: AbsPath,
    text: Rope,
    version: i32,
}

struct Editor {
    peer: Peer,
    buffer: Arc<Mutex<Buffer>>,
    told: mpsc::Sender<String>,
}

impl Handler for Editor {
    fn request(&self, request: Request) -> Reply {
        let params = request.params;
        match request.method.as_str() {
            "workspace/applyEdit" => {
                let applied = self.buffer.lock().unwrap_or_else(PoisonError::into_inner).apply(&params);
                let (peer, told) = (self.peer.clone(), self.told.clone());
                Reply::Abortable(Box::pin(async move {
                    let (diff, change) = applied.map_err(RpcError::invalid_params)?;
                    say(&told, format!("\n[editor] applies one edit to the buffer (one undo step):\n{diff}")).await;
                    // A closed connection ends the demo elsewhere.
                    let _ = peer.notify("textDocument/didChange", change).await;
                    Ok(json!({ "applied": true }))
                }))
            }
            "session/request_permission" => {
                let told = self.told.clone();
                Reply::Abortable(Box::pin(async move {
                    say(&told, format!("\n[ask]    {}\n", params["toolCall"]["title"].as_str().unwrap_or_default()))
                        .await;
                    for block in params["toolCall"]["content"].as_array().into_iter().flatten() {
                        say(&told, indent(block["content"]["text"].as_str().unwrap_or_default())).await;
                    }
                    let option = params["options"]
                        .as_array()
                        .and_then(|options| options.iter().find(|option| option["kind"] == "allow_once"));
                    let option = option.ok_or_else(|| RpcError::invalid_params("nothing can be allowed"))?;
                    say(&told, format!("[user]   (scripted) {}\n", option["name"].as_str().unwrap_or_default())).await;
                    Ok(json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } }))
                }))
            }
            "_copydesk/save" => {
                let saved = self.buffer.lock().unwrap_or_else(PoisonError::into_inner).save();
                let (peer, told) = (self.peer.clone(), self.told.clone());
                Reply::Abortable(Box::pin(async move {
                    let uri = saved.map_err(|error| RpcError::internal(error.to_string()))?;
                    say(&told, "[editor] saves the buffer before the command\n".to_owned()).await;
                    let _ = peer.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } })).await;
                    Ok(json!({ "unsaved": [] }))
                }))
            }
            "_copydesk/files_changed" => Reply::Now(Ok(json!({ "reloaded": [], "conflicts": [] }))),
            method => Reply::Now(Err(RpcError::method_not_found(method))),
        }
    }

    fn notification(&self, notification: Notification) {
        let line = match notification.method.as_str() {
            "session/update" => update(&notification.params["update"]),
            "window/showMessage" => {
                Some(format!("[notice] {}\n", notification.params["message"].as_str().unwrap_or_default()))
            }
            _ => None,
        };
        // The channel holds more lines than the whole turn has; a lost line of the demo's output would harm nobody.
        if let Some(line) = line {
            let _ = self.told.try_send(line);
        }
    }
}

impl Buffer {
    /// The diff, and the parameters of the `didChange` that follows.
    fn apply(&mut self, params: &Value) -> Result<(String, Value), String> {
        let change = &params["edit"]["documentChanges"][0];
        if change["textDocument"]["version"].as_i64() != Some(i64::from(self.version)) {
            return Err("the edit is for another version".to_owned());
        }
        let sent = change["edits"].as_array().ok_or("there are no edits")?;
        let edits: Option<Vec<_>> = sent
            .iter()
            .map(|edit| {
                let at = |end: &str| {
                    let position = &edit["range"][end];
                    let number = |name: &str| position[name].as_u64().and_then(|number| u32::try_from(number).ok());
                    Some(offset_of(
                        &self.text,
                        Position { line: number("line")?, column: number("character")? },
                        ENCODING,
                    ))
                };
                Some(TextEdit { range: at("start")?..at("end")?, text: edit["newText"].as_str()?.to_owned() })
            })
            .collect();
        let edits = EditSet::new(&self.text, edits.ok_or("the edits were not understood")?)
            .map_err(|error| error.to_string())?;
        let after = edits.apply(&self.text).map_err(|error| error.to_string())?;
        let diff = unified(&self.path.name(), &self.text, &after, 1);
        self.text = after;
        self.version += 1;
        let document = json!({ "uri": uri_from_path(&self.path), "version": self.version });
        Ok((diff, json!({ "textDocument": document, "contentChanges": [{ "text": self.text.to_string() }] })))
    }

    fn save(&mut self) -> std::io::Result<String> {
        std::fs::write(self.path.as_path(), self.text.to_string())?;
        Ok(uri_from_path(&self.path))
    }
}

/// How an update is printed; `None` for those that show nothing new.
fn update(update: &Value) -> Option<String> {
    match update["sessionUpdate"].as_str()? {
        "agent_message_chunk" => Some(update["content"]["text"].as_str()?.to_owned()),
        "tool_call" => Some(format!("\n[tool]   {}\n", update["title"].as_str()?)),
        "tool_call_update" if matches!(update["status"].as_str(), Some("completed" | "failed")) => {
            let texts = update["content"].as_array()?.iter().filter_map(|block| block["content"]["text"].as_str());
            Some(format!("[result] {}\n{}\n", update["status"].as_str()?, texts.map(indent).collect::<String>()))
        }
        _ => None,
    }
}

async fn say(told: &mpsc::Sender<String>, line: String) {
    // The reader is gone only when the demo is.
    let _ = told.send(line).await;
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("         {line}\n")).collect()
}
