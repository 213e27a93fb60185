//! One agent that is measured: started, spoken to in its own protocol, and ended with all its children.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[derive(Debug)]
pub(in crate::bench) struct Peer {
    pub(super) name: &'static str,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(&'static str, String)>,
    pub(super) dialect: Dialect,
    /// How often its start is measured: the slow ones less.
    pub(super) starts: usize,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::bench) enum Dialect {
    /// With the name of its tool that reads a file, and of that tool's parameter for the path.
    Acp { read: &'static str, parameter: &'static str },
    /// codex's app-server: JSON lines without `jsonrpc`. It reads by a shell command.
    Codex,
}

pub(in crate::bench) struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    dialect: Dialect,
    folder: PathBuf,
    next: u64,
    /// Notifications since the last turn began.
    told: Vec<Value>,
}

impl Agent {
    /// With the time from the start of the process to the answered `initialize`.
    pub(in crate::bench) fn start(peer: &Peer, folder: &Path) -> Result<(Self, Duration), String> {
        let started = Instant::now();
        let mut child = Command::new(&peer.program)
            .args(&peer.arguments)
            .env_clear()
            .envs(peer.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{}: {error}", peer.program.display()))?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut agent =
            Self { child, input, output, dialect: peer.dialect, folder: folder.to_owned(), next: 0, told: Vec::new() };
        let params = match peer.dialect {
            Dialect::Acp { .. } => json!({
                "protocolVersion": 1,
                "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            }),
            Dialect::Codex => json!({ "clientInfo": { "name": "bench", "title": "bench", "version": "1" } }),
        };
        agent.call("initialize", &params)?;
        let took = started.elapsed();
        if matches!(peer.dialect, Dialect::Codex) {
            agent.send(&json!({ "method": "initialized" }))?;
        }
        Ok((agent, took))
    }

    /// One more than `turns`, each in a session of its own; the first is left out.
    pub(super) fn turns(&mut self, prompt: &str, turns: usize) -> Result<Vec<Duration>, String> {
        let mut times = Vec::with_capacity(turns);
        for turn in 0..=turns {
            let time = match self.dialect {
                Dialect::Acp { .. } => self.acp_turn(prompt)?,
                Dialect::Codex => self.codex_turn(prompt)?,
            };
            if turn > 0 {
                times.push(time);
            }
        }
        Ok(times)
    }

    /// A turn of ACP in a session of its own. With its answer.
    pub(in crate::bench) fn turn(&mut self, prompt: &str) -> Result<(Value, Duration), String> {
        let session = self.call("session/new", &json!({ "cwd": self.folder, "mcpServers": [] }))?;
        self.told.clear();
        let began = Instant::now();
        let params = json!({ "sessionId": session["sessionId"], "prompt": [{ "type": "text", "text": prompt }] });
        let answer = self.call("session/prompt", &params)?;
        Ok((answer, began.elapsed()))
    }

    fn acp_turn(&mut self, prompt: &str) -> Result<Duration, String> {
        let (answer, took) = self.turn(prompt)?;
        let is_call = |told: &&Value| told["params"]["update"]["sessionUpdate"] == "tool_call";
        let reads = self.told.iter().filter(is_call).count();
        expect(answer["stopReason"] == "end_turn", prompt, reads, &answer)?;
        Ok(took)
    }

    fn codex_turn(&mut self, prompt: &str) -> Result<Duration, String> {
        let thread = self.call("thread/start", &json!({ "cwd": self.folder }))?;
        self.told.clear();
        let began = Instant::now();
        let params = json!({ "threadId": thread["thread"]["id"], "input": [{ "type": "text", "text": prompt }] });
        self.call("turn/start", &params)?;
        while !self.told.iter().any(|told| told["method"] == "turn/completed") {
            let message = self.receive()?;
            self.take(&message)?;
        }
        let took = began.elapsed();
        let is_command =
            |told: &&Value| told["method"] == "item/started" && told["params"]["item"]["type"] == "commandExecution";
        let reads = self.told.iter().filter(is_command).count();
        expect(true, prompt, reads, &Value::Null)?;
        Ok(took)
    }

    /// Kilobytes of the process and its children.
    pub(super) fn resident(&self) -> u64 {
        let mut todo = vec![self.child.id()];
        let mut sum = 0;
        while let Some(process) = todo.pop() {
            let rollup = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
            let resident = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
            sum += resident.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or_default();
            for task in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
                let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
                todo.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
            }
        }
        sum
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if matches!(self.dialect, Dialect::Acp { .. }) {
            message["jsonrpc"] = json!("2.0");
        }
        self.send(&message)?;
        loop {
            let mut message = self.receive()?;
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(format!("{method}: {error}")),
                    None => Ok(message["result"].take()),
                };
            }
            self.take(&message)?;
        }
    }

    /// Allows what is asked, refuses every other request.
    fn take(&mut self, message: &Value) -> Result<(), String> {
        let Some(id) = message.get("id") else {
            self.told.push(message.clone());
            return Ok(());
        };
        let answer = match (self.dialect, message["method"].as_str()) {
            (Dialect::Acp { .. }, Some("session/request_permission")) => {
                let options = message["params"]["options"].as_array().map(Vec::as_slice).unwrap_or_default();
                let allows = |option: &&Value| option["kind"].as_str().is_some_and(|kind| kind.starts_with("allow"));
                let option = &options.iter().find(allows).ok_or("an ask without a way to allow")?["optionId"];
                let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
                json!({ "jsonrpc": "2.0", "id": id, "result": outcome })
            }
            (Dialect::Acp { .. }, Some(_)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "not here" } })
            }
            (Dialect::Codex, Some(_)) => json!({ "id": id, "result": { "decision": "accept" } }),
            // A late answer to nothing.
            (_, None) => return Ok(()),
        };
        self.send(&answer)
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush()).map_err(|error| error.to_string())
    }

    /// Lines that are no JSON are skipped: peers print their warnings.
    fn receive(&mut self) -> Result<Value, String> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Err("it closed its output".to_owned());
            }
            if let Ok(message) = serde_json::from_str(&line) {
                return Ok(message);
            }
        }
    }
}

/// Peers leave children behind: their group is ended, whatever they do.
impl Drop for Agent {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        for signal in ["-TERM", "-KILL"] {
            // Nothing may be left to signal.
            let _ = Command::new("kill").args([signal, "--", &group]).stderr(Stdio::null()).status();
            std::thread::sleep(Duration::from_millis(200));
        }
        let _ = self.child.wait();
    }
}

/// A turn that did not do its reads is no turn to compare with.
fn expect(ended: bool, prompt: &str, reads: usize, answer: &Value) -> Result<(), String> {
    let wanted = if prompt == "TENREAD" { 10 } else { 0 };
    if ended && reads == wanted {
        Ok(())
    } else {
        Err(format!("{prompt}: {reads} reads instead of {wanted}; {answer}"))
    }
}
