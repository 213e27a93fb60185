//! The scripted model server that all are measured against: npm's `aimock`, which speaks the wire protocols of all of them, and a raw client of it, whose
//! times are the floor that every agent stands on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Dialect, Peer};
use super::median;

/// Of the namespace, which is nobody else's.
pub(super) const PORT: u16 = 4010;

pub(in crate::bench) struct Server(Child);

impl Server {
    /// Answers `ONETURN` at once, `TENREAD` after ten calls of the peer's own read tool.
    pub(super) fn start(root: &Path, work: &Path, peer: &Peer, files: &Path) -> Result<Self, String> {
        Self::scripted(root, work, &fixtures(peer.dialect, files))
    }

    /// Answers as `fixtures` of aimock say.
    pub(in crate::bench) fn scripted(root: &Path, work: &Path, fixtures: &Value) -> Result<Self, String> {
        let script = work.join("script.json");
        std::fs::write(&script, fixtures.to_string()).map_err(|error| error.to_string())?;
        let child = Command::new("node")
            .arg(root.join("target/tools/peers/aimock/node_modules/@copilotkit/aimock/dist/cli.js"))
            .args(["-p", &PORT.to_string(), "--log-level", "silent", "-f"])
            .arg(&script)
            .env("AIMOCK_STRICT_TURN_INDEX", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("node: {error}"))?;
        let server = Self(child);
        let patience = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", PORT)).is_err() {
            if Instant::now() > patience {
                return Err("the scripted model server did not start".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// The median time of a client that does nothing but the requests of such a turn.
    pub(super) fn raw_turns(&self, calls: usize, turns: usize) -> Result<Duration, String> {
        let prompt = if calls == 0 { "ONETURN" } else { "TENREAD" };
        let mut times = Vec::new();
        for turn in 0..=turns {
            let began = Instant::now();
            for step in 0..=calls {
                request(&messages(prompt, step))?;
            }
            if turn > 0 {
                times.push(began.elapsed());
            }
        }
        Ok(median(times))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn fixtures(dialect: Dialect, files: &Path) -> Value {
    let mut fixtures: Vec<Value> = (0..10)
        .map(|index| {
            let path = files.join(format!("f{index}.txt"));
            let (name, arguments) = match dialect {
                Dialect::Acp { read, parameter } => (read, json!({ parameter: path })),
                Dialect::Codex => ("exec_command", json!({ "cmd": format!("cat {}", path.display()), "login": false })),
            };
            let call = json!({ "id": format!("call_{index}"), "name": name, "arguments": arguments });
            // With the tool's name: requests for titles carry the same prompt and offer no tools.
            let when = json!({ "userMessage": "TENREAD", "toolName": name, "turnIndex": index });
            json!({ "match": when, "response": { "toolCalls": [call] } })
        })
        .collect();
    let last = json!({ "userMessage": "TENREAD", "turnIndex": 10 });
    fixtures.push(json!({ "match": last, "response": { "content": "ALLREAD" } }));
    fixtures.push(json!({ "match": { "userMessage": "ONETURN" }, "response": { "content": "PONG" } }));
    // Titles, summaries, warm-ups.
    fixtures.push(json!({ "match": {}, "response": { "content": "ok" } }));
    json!({ "fixtures": fixtures })
}

/// The history of a turn before its step `step` (from 0).
fn messages(prompt: &str, step: usize) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": prompt })];
    for index in 0..step {
        let id = format!("call_{index}");
        let call = json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } });
        messages.push(json!({ "role": "assistant", "tool_calls": [call] }));
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": format!("file {index}") }));
    }
    Value::Array(messages)
}

/// One streamed request on a connection of its own, read to its end.
fn request(messages: &Value) -> Result<(), String> {
    let read = json!({ "type": "function", "function": { "name": "read", "parameters": { "type": "object" } } });
    let body = json!({ "model": "gpt-mock", "stream": true, "messages": messages, "tools": [read] }).to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(("127.0.0.1", PORT)).map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    stream.write_all(format!("{head}{body}").as_bytes()).map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    // The server keeps the connection whatever it is asked: the answer ends with the empty chunk.
    while !answer.ends_with(b"\r\n0\r\n\r\n") {
        match stream.read(&mut piece).map_err(|error| error.to_string())? {
            0 => break,
            count => answer.extend_from_slice(&piece[..count]),
        }
    }
    if answer.starts_with(b"HTTP/1.1 200") { Ok(()) } else { Err(String::from_utf8_lossy(&answer).into_owned()) }
}
