//! What the editor knows: its documents, what it sent, what came, and what was wrong with it.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::document::{Document, Encoding};
use super::wire::Dialect;
use super::{Scripts, wire};
use crate::acp_schema::{self, Part, Side};

/// What happens to `workspace/applyEdit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditPolicy {
    /// Applied, told by `didChange`, answered `applied: true`.
    Apply,
    /// Answered `applied: false` with this reason.
    Refuse(String),
    /// Answered `applied: true`, and nothing happens, as some editors do.
    Claim,
    /// Left to the test, by `await_request`.
    Ask,
}

/// One `workspace/applyEdit` that was applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    pub label: Option<String>,
    pub uris: Vec<String>,
}

pub(super) struct State {
    pub(super) documents: HashMap<String, Document>,
    pub(super) encoding: Encoding,
    pub(super) responses: HashMap<i64, Value>,
    pub(super) strays: VecDeque<Value>,
    pub(super) scripts: Scripts,
    pub(super) versioned_edits: bool,
    pub(super) edit_policy: EditPolicy,
    pub(super) stale_edits_are_expected: bool,
    pub(super) applied: Vec<Applied>,
    /// What a prompt may be, as it was told last.
    pub(super) commands: Value,
    /// Those that an answer or a request has named.
    sessions: HashSet<String>,
    pub(super) ended: bool,
    dialect: Dialect,
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
    last_id: i64,
    /// Requests of ours, with what they said.
    unanswered: HashMap<i64, (String, Value)>,
    /// Of the daemon's requests, in order: those that the test has not seen.
    requests: VecDeque<(Value, String, Value)>,
    /// Ids of the daemon's requests that have no answer, with their methods.
    open: HashMap<String, String>,
    notifications: VecDeque<(String, Value)>,
    disregarded: HashSet<String>,
    faults: Vec<String>,
}

impl State {
    pub(super) fn new(input: mpsc::UnboundedSender<Vec<u8>>, dialect: Dialect) -> Self {
        Self {
            documents: HashMap::new(),
            encoding: Encoding::Utf16,
            responses: HashMap::new(),
            strays: VecDeque::new(),
            scripts: HashMap::new(),
            versioned_edits: true,
            edit_policy: EditPolicy::Apply,
            stale_edits_are_expected: false,
            applied: Vec::new(),
            commands: Value::Null,
            sessions: HashSet::new(),
            ended: false,
            dialect,
            input: Some(input),
            last_id: 0,
            unanswered: HashMap::new(),
            requests: VecDeque::new(),
            open: HashMap::new(),
            notifications: VecDeque::new(),
            disregarded: HashSet::new(),
            faults: Vec::new(),
        }
    }

    pub(super) fn send_request(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        if let Some(session) = params["sessionId"].as_str() {
            self.sessions.insert(session.to_owned());
        }
        self.unanswered.insert(id, (method.to_owned(), params.clone()));
        self.send(with_params(json!({ "jsonrpc": "2.0", "id": id, "method": method }), params));
        id
    }

    pub(super) fn forget_request(&mut self, id: i64) {
        assert!(self.ended, "a request needs an answer while the daemon runs");
        self.unanswered.remove(&id);
    }

    pub(super) fn send_notification(&mut self, method: &str, params: Value) {
        self.conform(method, Side::Agent, Part::Params, &params);
        self.send(with_params(json!({ "jsonrpc": "2.0", "method": method }), params));
    }

    pub(super) fn send_raw(&mut self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            // The end of the daemon is seen by its output.
            let _ = input.send(bytes);
        }
    }

    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    pub(super) fn input_is_open(&self) -> bool {
        self.input.is_some()
    }

    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Messages of ACP are as its schema says, in both directions.
    fn conform(&mut self, method: &str, side: Side, part: Part, value: &Value) {
        let is_acp = match self.dialect {
            Dialect::Lsp => method.starts_with("session/"),
            Dialect::Acp => true,
        };
        if let Some(fault) = is_acp.then(|| acp_schema::fault(method, side, part, value)).flatten() {
            self.fault(fault);
        }
    }

    /// One message of the daemon's.
    pub(super) fn receive(&mut self, message: Value) {
        if message["jsonrpc"] != "2.0" {
            self.fault(format!("a message without \"jsonrpc\": \"2.0\": {message}"));
        }
        match (message.get("id"), message["method"].as_str()) {
            (Some(id), Some(method)) => self.receive_request(id.clone(), method.to_owned(), message["params"].clone()),
            (None, Some(method)) => self.receive_notification(method.to_owned(), message["params"].clone()),
            (Some(_), None) => self.receive_response(message),
            (None, None) => self.fault(format!("a message that is nothing: {message}")),
        }
    }

    fn receive_response(&mut self, message: Value) {
        if message.get("result").is_some() == message.get("error").is_some() {
            self.fault(format!("an answer needs either a result or an error: {message}"));
        }
        if let Some(session) = message["result"]["sessionId"].as_str() {
            self.sessions.insert(session.to_owned());
        }
        let Some(id) = message["id"].as_i64().filter(|id| (1..=self.last_id).contains(id)) else {
            return self.strays.push_back(message);
        };
        let Some((method, params)) = self.unanswered.remove(&id) else {
            return self.fault(format!("request {id} got a second answer: {message}"));
        };
        // What was refused need not have been right.
        if let Some(result) = message.get("result") {
            self.conform(&method, Side::Agent, Part::Params, &params);
            self.conform(&method, Side::Agent, Part::Result, result);
        }
        self.responses.insert(id, message);
    }

    fn receive_notification(&mut self, method: String, params: Value) {
        match (self.dialect, method.as_str()) {
            (Dialect::Lsp, "$/cancelRequest") => return self.cancel(&params["id"]),
            (Dialect::Acp, "$/cancel_request") => return self.cancel(&params["requestId"]),
            _ => self.check_sent(&method, &params),
        }
        if let Some(session) = params["sessionId"].as_str().filter(|session| !self.sessions.contains(*session)) {
            let fault = format!("{method} of session {session}, of which no answer has told yet: {params}");
            self.fault(fault);
        }
        // Told of every session, and looked at by the tests that are about them.
        if params["update"]["sessionUpdate"] == "available_commands_update" {
            self.commands = params["update"]["availableCommands"].clone();
            return;
        }
        if !self.disregarded.contains(&method) {
            self.notifications.push_back((method, params));
        }
    }

    /// The daemon has lost interest in a request of its own.
    fn cancel(&mut self, id: &Value) {
        self.requests.retain(|(request, ..)| request != id);
        if self.open.contains_key(&id.to_string()) {
            self.answer(id, Err((-32800, "cancelled".to_owned())));
        }
    }

    /// Plain ACP has no other methods than its own.
    fn check_sent(&mut self, method: &str, params: &Value) {
        if self.dialect == Dialect::Acp && !acp_schema::knows(method, Side::Client) {
            self.fault(format!("{method} is no method of an ACP client"));
        }
        self.conform(method, Side::Client, Part::Params, params);
    }

    fn receive_request(&mut self, id: Value, method: String, params: Value) {
        if self.open.insert(id.to_string(), method.clone()).is_some() {
            return self.fault(format!("the id {id} is used again before its answer, by {method}"));
        }
        self.check_sent(&method, &params);
        if method == "workspace/applyEdit" && self.edit_policy != EditPolicy::Ask {
            let answer = self.apply_edit(&params);
            return self.answer(&id, Ok(answer));
        }
        match self.scripts.get_mut(&method) {
            Some(script) => {
                let answer = script(&params);
                self.answer(&id, Ok(answer));
            }
            None => self.requests.push_back((id, method, params)),
        }
    }

    /// The answer to `workspace/applyEdit`. Nothing of it is applied unless all of it can be.
    fn apply_edit(&mut self, params: &Value) -> Value {
        let refused = |reason: &str| json!({ "applied": false, "failureReason": reason });
        match &self.edit_policy {
            EditPolicy::Refuse(reason) => return refused(reason),
            EditPolicy::Claim => return json!({ "applied": true }),
            EditPolicy::Apply | EditPolicy::Ask => {}
        }
        let Some(changes) = self.changes(&params["edit"]) else {
            self.fault(format!("an edit in another form than the one that was announced: {params}"));
            return refused("not in this form");
        };
        let mut changed = Vec::new();
        for change in &changes {
            let uri = change["textDocument"]["uri"].as_str().unwrap_or_default().to_owned();
            let Some(document) = self.documents.get(&uri) else {
                self.fault(format!("an edit of {uri:?}, which is not open"));
                return refused("a document is not open");
            };
            if change["textDocument"]["version"] != document.version {
                let (version, edit) = (document.version, &change["textDocument"]);
                if !self.stale_edits_are_expected {
                    self.fault(format!("an edit names {edit}, but the document has version {version}"));
                }
                return refused("the document has changed");
            }
            let mut document = document.clone();
            let edits = change["edits"].as_array().map_or(&[] as &[Value], Vec::as_slice);
            match document.apply(edits, self.encoding) {
                Ok(content) => changed.push((uri, document, content)),
                Err(wrong) => {
                    self.fault(wrong);
                    return refused("the edit is wrong");
                }
            }
        }
        let uris = changed.iter().map(|(uri, ..)| uri.clone()).collect();
        self.applied.push(Applied { label: params["label"].as_str().map(str::to_owned), uris });
        for (uri, document, content) in changed {
            self.documents.insert(uri.clone(), document);
            self.send_change(&uri, content);
        }
        json!({ "applied": true })
    }

    /// Each with its document's version: where versions are not announced, an edit holds `changes` without them.
    fn changes(&self, edit: &Value) -> Option<Vec<Value>> {
        if self.versioned_edits {
            return edit["documentChanges"].as_array().cloned();
        }
        let changes = edit["changes"].as_object().filter(|_| edit.get("documentChanges").is_none())?;
        let version = |uri: &str| self.documents.get(uri).map(|document| document.version);
        let named = changes
            .iter()
            .map(|(uri, edits)| json!({ "textDocument": { "uri": uri, "version": version(uri) }, "edits": edits }));
        Some(named.collect())
    }

    pub(super) fn answer(&mut self, id: &Value, outcome: Result<Value, (i64, String)>) {
        if let (Ok(result), Some(method)) = (&outcome, self.open.get(&id.to_string()).cloned()) {
            self.conform(&method, Side::Client, Part::Result, result);
        }
        self.answer_unchecked(id, outcome);
    }

    pub(super) fn answer_unchecked(&mut self, id: &Value, outcome: Result<Value, (i64, String)>) {
        assert!(self.open.remove(&id.to_string()).is_some(), "the test answers {id} twice, or without a request");
        let message = match outcome {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        };
        self.send(message);
    }

    pub(super) fn open_document(&mut self, uri: &str, language: &str, text: &str) {
        let document = Document { language: language.to_owned(), version: 1, text: text.to_owned() };
        assert!(self.documents.insert(uri.to_owned(), document).is_none(), "{uri} is open already");
        let item = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.send_notification("textDocument/didOpen", json!({ "textDocument": item }));
    }

    pub(super) fn type_text(&mut self, uri: &str, start: (usize, usize), end: (usize, usize), text: &str) {
        let encoding = self.encoding;
        let document = self.documents.get_mut(uri).expect("an open document");
        let range = json!({ "start": document.position(start, encoding), "end": document.position(end, encoding) });
        let content =
            document.apply(&[json!({ "range": range, "newText": text })], encoding).expect("a place in the text");
        self.send_change(uri, content);
    }

    pub(super) fn save_document(&mut self, uri: &str) {
        let text = self.documents.get(uri).expect("an open document").text.clone();
        if let Some(path) = uri.strip_prefix("file://") {
            std::fs::write(path, text).expect("the file can be written");
        }
        self.send_notification("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    }

    pub(super) fn close_document(&mut self, uri: &str) {
        assert!(self.documents.remove(uri).is_some(), "{uri} is not open");
        self.send_notification("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    pub(super) fn disregard(&mut self, method: &str) {
        self.disregarded.insert(method.to_owned());
        self.notifications.retain(|(of, _)| of != method);
    }

    pub(super) fn take_notification(&mut self, method: &str, fits: &impl Fn(&Value) -> bool) -> Option<Value> {
        let at = self.notifications.iter().position(|(of, params)| of == method && fits(params))?;
        self.notifications.remove(at).map(|(_, params)| params)
    }

    pub(super) fn take_request(&mut self, method: &str) -> Option<(Value, Value)> {
        let at = self.requests.iter().position(|(_, of, _)| of == method)?;
        self.requests.remove(at).map(|(id, _, params)| (id, params))
    }

    /// All that is wrong, what was not accounted for included.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = self.faults.clone();
        faults.extend(
            self.notifications
                .iter()
                .map(|(method, params)| format!("nobody looked at the notification {method} {params}")),
        );
        faults.extend(
            self.requests.iter().map(|(_, method, params)| format!("nobody looked at the request {method} {params}")),
        );
        faults.extend(self.strays.iter().map(|message| format!("nobody asked for the answer {message}")));
        faults.extend(self.responses.values().map(|message| format!("nobody looked at the answer {message}")));
        faults.extend(self.unanswered.iter().map(|(id, (method, _))| format!("request {id}, {method}, has no answer")));
        faults
    }

    /// What has come, for the message of a failing test.
    pub(super) fn summary(&self) -> String {
        format!("so far:\n- {}", self.faults().join("\n- "))
    }

    fn send_change(&mut self, uri: &str, content: Vec<Value>) {
        let document = self.documents.get_mut(uri).expect("an open document");
        document.version += 1;
        let item = json!({ "uri": uri, "version": document.version });
        self.send_notification("textDocument/didChange", json!({ "textDocument": item, "contentChanges": content }));
    }

    fn send(&mut self, message: Value) {
        self.send_raw(wire::frame(&message, self.dialect));
    }
}

fn with_params(mut message: Value, params: Value) -> Value {
    if !params.is_null() {
        message["params"] = params;
    }
    message
}
