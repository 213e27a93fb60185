//! An editor that the test plays, strict about what the daemon sends: it fails the test if a message was not accounted for, if a request got two answers, or if
//! an edit names another version than the document has. Its framing and its positions are its own, so that they check the daemon's.
//!
//! Messages are accounted for when the test awaits or takes them, when a script answers them, or when the test disregards their method.

mod capabilities;
mod client;
mod document;
mod state;
mod wire;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Child;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::acp_schema;
use crate::daemon::Home;

pub use capabilities::Capabilities;
pub use document::{Document, Encoding};
pub use state::{Applied, EditPolicy};

use state::State;
use wire::Dialect;

/// How long any single thing is waited for.
pub const LIMIT: Duration = Duration::from_secs(20);

pub struct FakeEditor {
    state: Arc<Mutex<State>>,
    /// Told after every message and at the end.
    arrived: Arc<Notify>,
    dialect: Dialect,
    daemon: Daemon,
    home: Option<Home>,
    /// What the daemon answered to `initialize`.
    initialized: Value,
    finished: bool,
}

enum Daemon {
    Process(Box<Child>),
    Task(JoinHandle<()>),
}

/// An error that the daemon answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub code: i64,
    pub message: String,
}

impl FakeEditor {
    /// Starts the built daemon in this home.
    pub fn spawn(home: Home) -> Self {
        let mut child = home.serve();
        let reader = child.stdout.take().expect("a pipe");
        let writer = child.stdin.take().expect("a pipe");
        Self::new(Box::new(reader), Box::new(writer), Dialect::Lsp, Daemon::Process(Box::new(child)), Some(home))
    }

    /// Starts the built daemon in this home, and initializes it with the home's project as its folder.
    pub async fn open(home: Home) -> Self {
        let folders = vec![uri(&home.workspace())];
        Self::open_with(home, Capabilities { folders, ..Capabilities::default() }).await
    }

    /// Starts the built daemon in this home, and initializes it.
    pub async fn open_with(home: Home, capabilities: Capabilities) -> Self {
        let mut editor = Self::spawn(home);
        editor.initialize(capabilities).await;
        editor
    }

    /// Over an in-memory stream: `serve` is given the daemon's ends of it.
    pub fn in_memory<F>(
        serve: impl FnOnce(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (ours, theirs) = tokio::io::duplex(256 * 1024);
        let (their_reader, their_writer) = tokio::io::split(theirs);
        let task = tokio::spawn(serve(Box::new(their_reader), Box::new(their_writer)));
        let (reader, writer) = tokio::io::split(ours);
        Self::new(Box::new(reader), Box::new(writer), Dialect::Lsp, Daemon::Task(task), None)
    }

    fn new(
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
        dialect: Dialect,
        daemon: Daemon,
        home: Option<Home>,
    ) -> Self {
        let state = Arc::new(Mutex::new(State::new(wire::write(writer), dialect)));
        let arrived = Arc::new(Notify::new());
        tokio::spawn(wire::read(reader, dialect, Arc::clone(&state), Arc::clone(&arrived)));
        Self { state, arrived, dialect, daemon, home, initialized: Value::Null, finished: false }
    }

    /// The home of a daemon that was spawned.
    pub fn home(&self) -> &Home {
        self.home.as_ref().expect("the daemon was spawned")
    }

    /// The process of a daemon that was spawned, while it runs.
    pub fn process(&self) -> Option<u32> {
        match &self.daemon {
            Daemon::Process(child) => child.id(),
            Daemon::Task(_) => None,
        }
    }

    /// `initialize` and `initialized`: the capabilities that the daemon answered.
    pub async fn initialize(&mut self, capabilities: Capabilities) -> Value {
        self.state().versioned_edits = capabilities.versioned_edits;
        let answer = self.request("initialize", capabilities.params()).await.expect("initialize is answered");
        self.script("workspace/configuration", move |params| {
            let items = params["items"].as_array().expect("a list of sections");
            let of =
                |item: &Value| if item["section"] == "copydesk" { capabilities.settings.clone() } else { Value::Null };
            items.iter().map(of).collect()
        });
        self.initialized = answer["capabilities"].clone();
        let agent = &self.initialized["experimental"]["copydesk"];
        if !agent.is_null() {
            let named = [("Implementation", "agentInfo"), ("AgentCapabilities", "agentCapabilities")];
            let faults = named.iter().filter_map(|(name, field)| acp_schema::fault_of(name, &agent[*field]));
            faults.for_each(|fault| self.state().fault(fault));
        }
        let encoding = match self.initialized["positionEncoding"].as_str() {
            None | Some("utf-16") => Encoding::Utf16,
            Some("utf-8") => Encoding::Utf8,
            Some("utf-32") => Encoding::Utf32,
            Some(other) => panic!("an unknown position encoding: {other}"),
        };
        self.state().encoding = encoding;
        self.notify("initialized", json!({}));
        self.initialized.clone()
    }

    /// Sends a request: its id.
    pub fn send(&self, method: &str, params: Value) -> i64 {
        self.state().send_request(method, params)
    }

    /// Sends a request and waits for its answer.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, Refusal> {
        let id = self.send(method, params);
        self.await_response(id).await
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.state().send_notification(method, params);
    }

    /// Bytes as they are: for what no honest editor sends. Answers to ids in them come by [`Self::await_stray`], unless `send` gave the id out.
    pub fn raw(&self, bytes: impl Into<Vec<u8>>) {
        self.state().send_raw(bytes.into());
    }

    /// The end of the daemon's input.
    pub fn close_input(&self) {
        self.state().close_input();
    }

    /// The answer of a request that [`Self::send`] sent.
    pub async fn await_response(&self, id: i64) -> Result<Value, Refusal> {
        let answer = self.until(&format!("the answer to request {id}"), |state| state.responses.remove(&id)).await;
        match answer.get("error") {
            Some(error) => Err(Refusal {
                code: error["code"].as_i64().expect("an error has a code"),
                message: error["message"].as_str().expect("an error has a message").to_owned(),
            }),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Whether the answer has come.
    pub fn is_answered(&self, id: i64) -> bool {
        self.state().responses.contains_key(&id)
    }

    /// A request that needs no answer, since the connection has ended before it.
    pub fn forget_request(&self, id: i64) {
        self.state().forget_request(id);
    }

    /// For a request to a daemon that has ended: it may have been answered on the way out.
    pub async fn forget_or_take(&self, id: i64) {
        if self.is_answered(id) {
            drop(self.await_response(id).await);
        } else {
            self.forget_request(id);
        }
    }

    /// The next answer to an id that was never given out, null included: what [`Self::raw`] brought about.
    pub async fn await_stray(&self) -> Value {
        self.until("an answer to a raw message", |state| state.strays.pop_front()).await
    }

    /// The params of the next notification of this method; others stay.
    pub async fn await_notification(&self, method: &str) -> Value {
        self.await_notification_that(method, |_| true).await
    }

    /// The params of the first notification of this method that fits; others stay.
    pub async fn await_notification_that(&self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.until(&format!("a notification {method}"), |state| state.take_notification(method, &fits)).await
    }

    /// The params of all notifications of this method that have come.
    pub fn take_notifications(&self, method: &str) -> Vec<Value> {
        let mut state = self.state();
        std::iter::from_fn(|| state.take_notification(method, &|_| true)).collect()
    }

    /// The `update` of the first `session/update` with this tag; other updates stay.
    pub async fn await_update(&self, tag: &str) -> Value {
        let mut params =
            self.await_notification_that("session/update", |params| params["update"]["sessionUpdate"] == tag).await;
        params["update"].take()
    }

    /// The names of the commands that a prompt may be.
    pub async fn await_commands(&self) -> Vec<String> {
        let commands = self.until("the commands of a session", |state| state.commands.as_array().cloned()).await;
        commands.iter().map(|command| command["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// The next request of this method that no script answers, to be answered by [`Self::respond`].
    pub async fn await_request(&self, method: &str) -> (Value, Value) {
        self.until(&format!("a request {method}"), |state| state.take_request(method)).await
    }

    /// Answers a request of the daemon's.
    pub fn respond(&self, id: &Value, result: Value) {
        self.state().answer(id, Ok(result));
    }

    /// The same with what no honest client answers.
    pub fn respond_wrongly(&self, id: &Value, result: Value) {
        self.state().answer_unchecked(id, Ok(result));
    }

    pub fn respond_with_error(&self, id: &Value, code: i64, message: &str) {
        self.state().answer(id, Err((code, message.to_owned())));
    }

    /// From now on requests of this method are answered by `answer`, given their params.
    pub fn script(&self, method: &str, answer: impl FnMut(&Value) -> Value + Send + 'static) {
        self.state().scripts.insert(method.to_owned(), Box::new(answer));
    }

    /// Requests of this method are left to the test again.
    pub fn unscript(&self, method: &str) {
        self.state().scripts.remove(method);
    }

    /// From now on each ask is answered with its first option of this kind (`allow_once`, `allow_always`, `reject_once`).
    pub fn answer_permissions_with(&self, kind: &'static str) {
        self.script("session/request_permission", move |params| {
            let options = params["options"].as_array().expect("an ask has options");
            let chosen = options.iter().find(|option| option["kind"] == kind).expect("an option of this kind");
            json!({ "outcome": { "outcome": "selected", "optionId": chosen["optionId"] } })
        });
    }

    /// From now on notifications of this method are accounted for unseen.
    pub fn disregard(&self, method: &str) {
        self.state().disregard(method);
    }

    /// How `workspace/applyEdit` is taken from now on.
    pub fn take_edits(&self, policy: EditPolicy) {
        self.state().edit_policy = policy;
    }

    /// Edits whose version is not the document's are refused, and no fault, from now on: for tests in which the user types meanwhile.
    pub fn expect_stale_edits(&self) {
        self.state().stale_edits_are_expected = true;
    }

    /// The edits that were applied so far.
    pub fn applied(&self) -> Vec<Applied> {
        self.state().applied.clone()
    }

    /// The n-th applied edit, counted from one.
    pub async fn await_applied(&self, count: usize) -> Applied {
        self.until(&format!("edit {count}"), |state| state.applied.get(count - 1).cloned()).await
    }

    /// `session/new` in the home's project: the session's id.
    pub async fn new_session(&self) -> String {
        let params = json!({ "cwd": self.home().workspace(), "mcpServers": [] });
        let answer = self.request("session/new", params).await.expect("a session");
        answer["sessionId"].as_str().expect("an id").to_owned()
    }

    /// `session/prompt` with a text: the id of the request.
    pub fn prompt(&self, session: &str, text: &str) -> i64 {
        self.send("session/prompt", prompt_params(session, text))
    }

    /// A turn of a text, up to its end by the model.
    pub async fn turn(&self, session: &str, text: &str) {
        let prompt = self.prompt(session, text);
        assert_eq!(self.await_response(prompt).await.expect("an answer")["stopReason"], "end_turn");
    }

    /// `textDocument/didOpen`, with version 1.
    pub fn open_document(&self, uri: &str, language: &str, text: &str) {
        self.state().open_document(uri, language, text);
    }

    /// The user replaces a range (0-based lines and characters, counted in `char`s) and the daemon is told by `textDocument/didChange`.
    pub fn type_text(&self, uri: &str, start: (usize, usize), end: (usize, usize), text: &str) {
        self.state().type_text(uri, start, end, text);
    }

    /// `textDocument/didSave`; the file is written if it has a path.
    pub fn save_document(&self, uri: &str) {
        self.state().save_document(uri);
    }

    pub fn close_document(&self, uri: &str) {
        self.state().close_document(uri);
    }

    /// An open document as it is now.
    pub fn document(&self, uri: &str) -> Document {
        self.state().documents.get(uri).cloned().unwrap_or_else(|| panic!("{uri} is not open"))
    }

    /// Waits for the daemon's end without asking for it: its exit code (`None` in memory or after a signal) and how long it took.
    pub async fn await_end(&mut self) -> (Option<i32>, Duration) {
        let start = Instant::now();
        self.until("the end of the daemon's output", |state| state.ended.then_some(())).await;
        let code = match &mut self.daemon {
            Daemon::Process(child) => {
                tokio::time::timeout(LIMIT, child.wait()).await.expect("the daemon ends").expect("its status").code()
            }
            Daemon::Task(task) => {
                tokio::time::timeout(LIMIT, task).await.expect("the daemon ends").expect("it does not panic");
                None
            }
        };
        (code, start.elapsed())
    }

    /// Ends the daemon as LSP says, or as ACP does by the end of its input, unless it has ended, and fails the test on any fault.
    pub async fn finish(self) {
        if let Err(faults) = self.try_finish().await {
            panic!("the daemon is at fault:\n- {}", faults.join("\n- "));
        }
    }

    /// As [`Self::finish`], but gives the faults out.
    pub async fn try_finish(mut self) -> Result<(), Vec<String>> {
        self.finished = true;
        let mut faults = Vec::new();
        let ended = self.state().ended;
        if !ended {
            if self.dialect == Dialect::Acp {
                self.close_input();
            } else if self.state().input_is_open() {
                match self.request("shutdown", Value::Null).await {
                    Ok(Value::Null) => {}
                    other => faults.push(format!("shutdown was answered {other:?}")),
                }
                self.notify("exit", Value::Null);
            }
            let (code, _) = self.await_end().await;
            if !matches!(code, None | Some(0)) && faults.is_empty() && !self.initialized.is_null() {
                faults.push(format!("the exit code after shutdown is {code:?}"));
            }
        }
        faults.extend(self.state().faults());
        let unnamed = self.home.as_ref().map(Home::unnamed).unwrap_or_default();
        faults.extend(unnamed.iter().map(|name| format!("docs/privacy.md does not name {name}")));
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Kills the daemon, and forgets what it has said: how long its output stayed open behind it.
    pub async fn kill(mut self) -> Duration {
        self.finished = true;
        match &mut self.daemon {
            Daemon::Process(child) => child.start_kill().expect("the daemon is killed"),
            Daemon::Task(task) => task.abort(),
        }
        let start = Instant::now();
        self.until("the end of the daemon's output", |state| state.ended.then_some(())).await;
        start.elapsed()
    }

    async fn until<T>(&self, what: &str, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        let waiting = async {
            loop {
                let arrived = self.arrived.notified();
                tokio::pin!(arrived);
                arrived.as_mut().enable();
                let ended = {
                    let mut state = self.state();
                    if let Some(found) = look(&mut state) {
                        return found;
                    }
                    state.ended
                };
                if ended {
                    self.fail(&format!("{what} will not come: the daemon has ended"));
                }
                arrived.await;
            }
        };
        match tokio::time::timeout(LIMIT, waiting).await {
            Ok(found) => found,
            Err(_) => self.fail(&format!("{what} has not come within {LIMIT:?}")),
        }
    }

    fn fail(&self, what: &str) -> ! {
        let log = self.home.as_ref().map(Home::log).unwrap_or_default();
        let seen = self.state().summary();
        panic!("{what}\n{seen}\nlog of the daemon:\n{log}");
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while it was locked")
    }
}

impl Drop for FakeEditor {
    fn drop(&mut self) {
        if let Daemon::Task(task) = &self.daemon {
            task.abort();
        }
        if !self.finished && !std::thread::panicking() {
            panic!("a test ends with `finish().await`, which looks at what was not accounted for");
        }
    }
}

/// The params of `session/prompt` with a text.
pub fn prompt_params(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

/// The `file:` URI of a path without characters that need escaping.
pub fn uri(path: &std::path::Path) -> String {
    let path = path.to_str().expect("a path in UTF-8");
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    assert!(path.chars().all(plain), "{path} needs escaping");
    format!("file://{path}")
}

type Scripts = HashMap<String, Box<dyn FnMut(&Value) -> Value + Send>>;

#[cfg(test)]
#[path = "fake_editor_tests.rs"]
mod tests;
